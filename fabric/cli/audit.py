"""`railfab audit`: probe the paths between hosts."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("intent", type=click.Path(path_type=Path))
@click.option("--nodes", metavar="LIST", help="Probe from and to these nodes only (Slurm's syntax).")
@click.option("--confidence", type=float, default=0.99, show_default=True, help="Of the whole audit, below 1.")
@click.option("--paths", "whole_paths", is_flag=True, help="See every end-to-end path, not only every cable.")
@click.option("--port", type=int, default=4791, show_default=True, help="UDP port; another one hashes differently.")
@click.option("--roce-class", is_flag=True, help="Probe in the lossless class, at most 50 a second a host.")
@click.option("--rate", type=int, default=300, show_default=True, help="Probes a second and host.")
@click.option("--write-jobs", type=click.Path(path_type=Path), metavar="DIR", help="Write HOST.sh there; send nothing.")
@click.option("--answers", type=click.Path(path_type=Path), metavar="DIR", help="Judge HOST.json there; send nothing.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.audit/1).")
@click.option("--strict", is_flag=True, help="Warnings exit 1 too.")
def command(
    intent: Path,
    nodes: str | None,
    confidence: float,
    whole_paths: bool,
    port: int,
    roce_class: bool,
    rate: int,
    write_jobs: Path | None,
    answers: Path | None,
    state: Path | None,
    as_json: bool,
    strict: bool,
) -> int:
    """Send TTL-limited probes between hosts of INTENT and judge what the switches answer.

    Finds cables and paths that are up and swallow traffic, that nobody uses, or that lead the wrong way. Exit 0
    healthy, 1 findings, 2 could not tell. The prober needs root on the hosts and sends at most --rate probes a second.
    """
    from fabric.allocate import load_plan
    from fabric.audit import run
    from fabric.audit.flights import flights
    from fabric.audit.judge import judge
    from fabric.state import state_paths
    from fabric.values.finding import exit_code

    plan = load_plan(intent, state=state)
    names = None
    if nodes is not None:
        from fabric.gate.nodes import expand

        names = expand(nodes)
    flown = flights(plan, confidence=confidence, whole_paths=whole_paths, nodes=names)
    if not flown:
        from fabric.errors import InputError

        raise InputError("no two leaves with a host in service are joined by the fabric: there is no path to probe")
    how = run.manner(plan.qos, roce_class=roce_class, per_second=rate, target_port=port)
    if write_jobs is not None:
        written = run.write_jobs(write_jobs, flown, how)
        click.echo(f"{len(written)} scripts in {write_jobs}; run each on its host as root, keep what it prints as")
        click.echo(f"HOST.json in one folder, then: railfab audit {intent} --answers FOLDER")
        return 0
    if answers is not None:
        seen = run.read_folder(answers, run.by_host(flown))
    else:
        seen = run.fly_over_ssh(plan, flown, how, state_paths(intent, state).known_hosts)
    report = judge(plan, flown, seen)
    if as_json:
        from fabric.report.documents import check_document, document

        click.echo(document(check_document(report, plan.name) | {"schema": "railfab.audit/1"}), nl=False)
    else:
        from fabric.report import write_report

        click.echo(write_report("text", report, plan), nl=False)
    return exit_code(report.summary, strict)
