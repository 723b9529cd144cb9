"""`railfab check`: judge live state against the model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabric.report.trend import Trend
    from fabric.values.finding import Report
    from fabric.values.plan import Plan

_FORMATS = ("text", "json", "junit", "md", "html", "prom")


@click.command()
@click.argument("intent", type=click.Path(path_type=Path))
@click.option(
    "--snapshot", type=click.Path(path_type=Path), metavar="FILE", help="Judge this instead of the live fabric."
)
@click.option("--baseline", metavar="FILE", help="Earlier snapshot to compare with; or a time (1h): from the history.")
@click.option("--history", metavar="TIME", help="How far back to look for repeat offenders: 24h.")
@click.option("--sample", metavar="TIME", help="Ask the live fabric twice, this far apart; judge what counted.")
@click.option("--changes", is_flag=True, help="Judge the baseline too: what is new, what is gone.")
@click.option("--window", metavar="TIME", help="How far back a flap counts: 60s, 5m, 1h.")
@click.option("--only", metavar="NAMES", help="These checks only: cabling,links,bgp,ecmp,roce.")
@click.option(
    "--scope", multiple=True, metavar="PART", help="pod=1, rack=R1, rail=3, role=spine or a name; may repeat."
)
@click.option("--format", "form", type=click.Choice(_FORMATS), default="text", help="Kind of report.")
@click.option(
    "-o", "--output", "out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write there."
)
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.check/1).")
@click.option("--strict", is_flag=True, help="Warnings exit 1 too.")
@click.option("-v", "--verbose", is_flag=True, help="Show consequences in full.")
def command(
    intent: Path,
    snapshot: Path | None,
    baseline: str | None,
    history: str | None,
    sample: str | None,
    changes: bool,
    window: str | None,
    only: str | None,
    scope: tuple[str, ...],
    form: str,
    out: Path | None,
    state: Path | None,
    as_json: bool,
    strict: bool,
    verbose: bool,
) -> int:
    """Judge cabling, links, BGP, ECMP and RoCE of a fabric against INTENT, and say what to do.

    Without --snapshot it reads the live switches; a check of the whole fabric also leaves each node's verdict for the
    Slurm prolog. Exit 0 healthy, 1 findings, 2 could not tell.
    """
    from fabric.allocate import load_plan
    from fabric.cli.live import sources
    from fabric.gate.source import check_fabric, understood
    from fabric.values.finding import exit_code

    plan = load_plan(intent, state=state)
    understood(plan, times=(window, sample, history), only=_names(only), scope=scope)
    seen = sources(plan, intent, state, snapshot=snapshot, baseline=baseline, sample=sample, history=history)
    report = check_fabric(
        plan,
        intent,
        state=state,
        snapshot=seen.snapshot,
        baseline=seen.baseline,
        history=seen.history,
        window=window,
        only=_names(only),
        scope=scope,
        changes=changes,
    )
    if snapshot is None and only is None and not scope:
        from fabric.gate import record, write_record
        from fabric.state import state_paths

        target = state_paths(intent, state).verdict
        try:
            write_record(target, record(plan, report))
        except OSError as error:
            # The answer is not lost for that; a prolog that reads an old record says unknown.
            click.echo(
                f"railfab: no verdict left for the prolog: {target}: {error.strerror}; give --state DIR", err=True
            )
    _write(plan, report, "json" if as_json else form, out, verbose, seen.trend)
    return exit_code(report.summary, strict)


def _names(only: str | None) -> Sequence[str] | None:
    return None if only is None else [name.strip() for name in only.split(",") if name.strip()]


def _write(plan: Plan, report: Report, form: str, out: Path | None, verbose: bool, trend: Trend) -> None:
    from fabric.report import write_report

    if out is None and form == "text" and sys.stdout.isatty():
        from fabric.report.screen import show

        show(report, plan.name, verbose)
        return
    text = write_report(form, report, plan, verbose=verbose, trend=trend)
    if out is None:
        click.echo(text, nl=False)
    else:
        from fabric.report import save

        save(out, text)
