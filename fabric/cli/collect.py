"""`railfab collect`: read live state into a snapshot."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fabric.transport.session import Target
    from fabric.values.plan import Plan


@click.command()
@click.argument("intent", type=click.Path(path_type=Path), required=False)
@click.option(
    "-o", "--output", "out", type=click.Path(path_type=Path, dir_okay=False), metavar="SNAPSHOT",
    help="Write there: .json, or .json.gz.",
)  # fmt: skip
@click.option(
    "--only", multiple=True, metavar="PARTS", help="Parts or checks: ports,lldp,bgp,... or cabling,links,ecmp."
)
@click.option("--window", metavar="TIME", help="Two samples this far apart; the first becomes SNAPSHOT's .before file.")
@click.option("--scope", multiple=True, metavar="PART", help="pod=1, rack=R1, rail=3, role=spine or a name.")
@click.option("--hosts", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Files of node agents.")
@click.option("--ask-hosts", is_flag=True, help="Ask hosts over SSH too (those with a management address).")
@click.option("--reread", type=click.Path(path_type=Path, dir_okay=False), metavar="RAW", help="Read a .raw.zip again.")
@click.option("--no-raw", is_flag=True, help="Do not keep the raw answers beside SNAPSHOT.")
@click.option("--history", "keep", is_flag=True, help="Put the snapshot into the history of the intent's state too.")
@click.option("--host-script", is_flag=True, help="Print the script a node agent runs, and nothing else.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.collect/1).")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def command(
    intent: Path | None,
    out: Path | None,
    only: tuple[str, ...],
    window: str | None,
    scope: tuple[str, ...],
    hosts: Path | None,
    ask_hosts: bool,
    reread: Path | None,
    no_raw: bool,
    keep: bool,
    host_script: bool,
    state: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Ask every switch of INTENT once over SSH, read only, and write what they said to SNAPSHOT.

    Exit 0 when everything was read, 2 when a device or a part of one could not be.
    """
    from fabric.collect import files, parse_parts, summary

    if host_script:
        from fabric.collect.hosts import host_script as text

        click.echo(text(), nl=False)
        return 0
    if out is None:
        raise click.UsageError("give -o SNAPSHOT: where to write what was read")
    if reread is not None:
        from fabric.collect.gather import reread as again

        snapshot = again(*files.read_raw(reread))
        files.write(out, snapshot)
        return _say(summary.document(snapshot, snapshot_file=str(out), baseline_file=None), as_json)
    if intent is None:
        raise click.UsageError("give INTENT: the fabric to read")

    from fabric.allocate import load_plan
    from fabric.collect.hosts import dropped
    from fabric.collect.over_ssh import collect_over_ssh
    from fabric.gate.source import seconds
    from fabric.state import state_paths
    from fabric.transport.login import Login, terminal_prompt

    parts = parse_parts(only)
    plan = load_plan(intent, state=state)
    paths = state_paths(intent, state)
    given, unreadable = dropped(hosts) if hosts is not None else ({}, {})
    switches = _switches(plan, scope)
    login = Login.from_environment(paths.known_hosts, ask=terminal_prompt())
    with _progress(len(switches), not quiet and not as_json) as said:
        first, second = collect_over_ssh(
            plan.name,
            switches,
            login,
            parts=parts,
            window_s=None if window is None else seconds(window),
            hosts=_hosts(plan) if ask_hosts else (),
            dropped=given,
            progress=said,
        )
    files.write(out, second.snapshot)
    if not no_raw:
        files.write_raw(files.raw_path(out), plan.name, second.raw)
    before = None
    if first is not None:
        before = files.before_path(out)
        files.write(before, first.snapshot)
    if keep:
        from fabric.collect.history import History

        with History(paths.history) as history:
            history.add(second.snapshot)
    for name, problem in unreadable.items():
        click.echo(f"railfab: {name}: {problem}", err=True)
    document = summary.document(
        second.snapshot, snapshot_file=str(out), baseline_file=None if before is None else str(before)
    )
    return max(_say(document, as_json), 2 if unreadable else 0)


def _say(document: dict[str, Any], as_json: bool) -> int:
    from fabric.collect import summary

    if as_json:
        import json

        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        for line in summary.lines(document):
            click.echo(line)
    return 0 if summary.complete(document) else 2


def _switches(plan: Plan, scope: tuple[str, ...]) -> list[Target]:
    from fabric.checks.scope import scope_devices
    from fabric.transport.session import Target
    from fabric.values.plan import LifeState

    wanted = scope_devices(plan, scope)
    return [
        Target(switch.name, switch.mgmt_address.partition("/")[0])
        for switch in plan.switches.values()
        if switch.state is not LifeState.PLANNED and (not scope or switch.name in wanted)
    ]


def _hosts(plan: Plan) -> list[Target]:
    from fabric.transport.session import Target
    from fabric.values.plan import LifeState

    return [
        Target(host.name, host.mgmt_address.partition("/")[0])
        for host in plan.hosts.values()
        if host.mgmt_address and host.state is LifeState.IN_SERVICE
    ]


@contextmanager
def _progress(total: int, wanted: bool) -> Iterator[Callable[[str, str | None], None] | None]:
    """A bar on a terminal's stderr; nothing where nobody looks."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("reading"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total, last="")

        def said(device: str, problem: str | None) -> None:
            bar.update(task, advance=1, last=f"{device}: {problem[:60]}" if problem else device)

        yield said
