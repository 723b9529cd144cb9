"""`railfab gate`: go or no-go for a job's nodes."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("intent", type=click.Path(path_type=Path))
@click.option("--nodes", required=True, metavar="LIST", help="Slurm's syntax: 'gpu[001-032],gpu040'.")
@click.option(
    "--snapshot", type=click.Path(path_type=Path), metavar="FILE", help="Judge this instead of the live fabric."
)
@click.option("--baseline", metavar="FILE", help="Earlier snapshot to compare with; or a time (1h): from the history.")
@click.option("--history", metavar="TIME", help="How far back to look for repeat offenders: 24h.")
@click.option("--sample", metavar="TIME", help="Ask the live fabric twice, this far apart; judge what counted.")
@click.option("--window", metavar="TIME", help="How far back a flap counts: 60s, 5m, 1h.")
@click.option("--only", metavar="NAMES", help="These checks only: cabling,links,bgp,ecmp,roce.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.gate/1).")
@click.option("--strict", is_flag=True, help="A warning exits 1 too.")
def command(
    intent: Path,
    nodes: str,
    snapshot: Path | None,
    baseline: str | None,
    history: str | None,
    sample: str | None,
    window: str | None,
    only: str | None,
    state: Path | None,
    as_json: bool,
    strict: bool,
) -> int:
    """Say whether a job may start on these nodes: their NICs, rails, leaves and the paths above.

    Exit 0 go or warn, 1 no-go, 2 unknown.
    """
    from fabric.allocate import load_plan
    from fabric.cli.live import sources
    from fabric.gate import expand, gate_document, judge
    from fabric.gate.judge import exit_code, known
    from fabric.gate.source import check_fabric, understood

    names = expand(nodes)
    plan = load_plan(intent, state=state)
    known(plan, names)
    checks = None if only is None else [name.strip() for name in only.split(",") if name.strip()]
    understood(plan, times=(window, sample, history), only=checks)
    seen = sources(plan, intent, state, snapshot=snapshot, baseline=baseline, sample=sample, history=history)
    report = check_fabric(
        plan,
        intent,
        state=state,
        snapshot=seen.snapshot,
        baseline=seen.baseline,
        history=seen.history,
        window=window,
        only=checks,
    )
    verdict = judge(plan, report, names)
    if as_json:
        from fabric.report import document

        click.echo(document(gate_document(plan, verdict)), nl=False)
    else:
        from fabric.report.verdict import verdict_lines

        lines = verdict_lines(verdict, plan.name)
        if sys.stdout.isatty():
            from fabric.report.screen import show_lines

            show_lines(lines)
        else:
            click.echo("\n".join("".join(text for text, _ in line) for line in lines))
    return exit_code(verdict, strict)
