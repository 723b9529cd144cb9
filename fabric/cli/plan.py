"""`railfab plan`: diff against the running fabric, impact and waves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabric.deploy.reading import Reading
    from fabric.values.change import ChangePlan
    from fabric.values.plan import Plan


@click.command()
@click.argument("intent", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", "out", type=click.Path(path_type=Path, dir_okay=False), metavar="PLAN", help="Write the plan."
)
@click.option(
    "--markdown", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="For a merge request."
)
@click.option("--only", multiple=True, metavar="SWITCH", help="These switches only; may repeat.")
@click.option(
    "--release",
    multiple=True,
    metavar="SWITCH:ITEM",
    help="Undo this state made by hand, and nothing else; may repeat.",
)
@click.option(
    "--reload", "by_reload", multiple=True, metavar="SWITCH", help="Accept a reload where a patch would be too large."
)
@click.option(
    "--yang", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Judge results by these models too."
)
@click.option("--templates", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Overlay ours.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.plan-report/1).")
@click.option("--strict", is_flag=True, help="A switch that could not be read or is refused exits 1.")
@click.option("-v", "--verbose", is_flag=True, help="Show every change.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def command(
    intent: Path,
    out: Path | None,
    markdown: Path | None,
    only: tuple[str, ...],
    release: tuple[str, ...],
    by_reload: tuple[str, ...],
    yang: Path | None,
    templates: Path | None,
    state: Path | None,
    as_json: bool,
    strict: bool,
    verbose: bool,
    quiet: bool,
) -> int:
    """Read every switch of INTENT once, compare it with what it must be, and say what changing it would cost.

    Nothing is changed. Exit 0 with or without changes, 2 when no switch could be read.
    """
    from fabric.deploy.record import write_whole
    from fabric.deploy.report import plan_document, plan_markdown, plan_text
    from fabric.values.codec import dumps

    with _progress(not quiet and not as_json) as said:
        change_plan = plan_live(intent, state, only, release, by_reload, templates, beside=out, said=said, yang=yang)
    if out is not None:
        write_whole(out, dumps(change_plan))
    if markdown is not None:
        write_whole(markdown, plan_markdown(change_plan))
    click.echo(dumps(plan_document(change_plan)) if as_json else plan_text(change_plan, verbose=verbose), nl=False)
    if not as_json and out is not None and any(change.method != "none" for change in change_plan.changes.values()):
        click.echo(f"next: railfab apply {out} --yes", err=True)
    return exit_code(change_plan, strict)


def exit_code(change_plan: ChangePlan, strict: bool) -> int:
    """2 when nothing could be read at all; with `strict` 1 when a switch is refused or was not read."""
    if change_plan.unreachable and not change_plan.changes:
        return 2
    bad = change_plan.unreachable or any(change.refused for change in change_plan.changes.values())
    return 1 if strict and bad else 0


def plan_live(
    intent: Path,
    state: Path | None,
    only: tuple[str, ...] = (),
    release: tuple[str, ...] = (),
    by_reload: tuple[str, ...] = (),
    templates: Path | None = None,
    *,
    beside: Path | None = None,
    said: Callable[[int, str], None] | None = None,
    yang: Path | None = None,
) -> ChangePlan:
    """The plan of a live fabric. `beside` is where it will be written: the intent is named relative to it."""
    return read_live(intent, state, only, release, by_reload, templates, beside=beside, said=said, yang=yang)[1]


def read_live(
    intent: Path,
    state: Path | None,
    only: tuple[str, ...] = (),
    release: tuple[str, ...] = (),
    by_reload: tuple[str, ...] = (),
    templates: Path | None = None,
    *,
    beside: Path | None = None,
    said: Callable[[int, str], None] | None = None,
    yang: Path | None = None,
) -> tuple[Plan, ChangePlan, Mapping[str, Reading]]:
    """The Plan, the differences of the live fabric from it, and what was read."""
    import os
    import time

    from fabric.allocate import load_plan
    from fabric.deploy import host_side
    from fabric.deploy.holds import parse_item, read_holds
    from fabric.deploy.over_ssh import read_fabric, switches_of
    from fabric.deploy.planning import make_plan
    from fabric.lint import ResultJudge, YangModels
    from fabric.render import render_hosts, render_switch
    from fabric.state import state_paths
    from fabric.transport.login import Login, terminal_prompt

    plan = load_plan(intent, state=state)
    paths = state_paths(intent, state)
    releases: dict[str, set[str]] = {}
    for text in release:
        device, item = parse_item(text, plan)
        releases.setdefault(device, set()).add(item or "*")
    names = switches_of(plan, [*only, *(name for name in releases if name not in only)])
    switches_of(plan, by_reload)
    login = Login.from_environment(paths.known_hosts, ask=terminal_prompt())
    readings, missing = read_fabric(
        plan, login, names, done=None if said is None else lambda name: said(len(names), name)
    )
    desired = {name: render_switch(plan, name, templates) for name in readings}
    known = host_side.read_known(paths.folder / "hosts.json")
    files = host_side.digests(render_hosts(plan, host, templates) for host in plan.hosts)
    where = os.path.relpath(intent, beside.parent if beside is not None else Path())
    made = make_plan(
        plan,
        desired,
        readings,
        intent=where,
        now=time.time(),
        unreachable=missing,
        holds=read_holds(paths.holds),
        release=releases,
        by_reload=by_reload,
        hosts=host_side.differing(files, known),
        first_hosts=known is None,
        judge=ResultJudge(plan, None if yang is None else YangModels(yang)),
    )
    return plan, made, readings


@contextmanager
def _progress(shown: bool) -> Iterator[Callable[[int, str], None] | None]:
    import sys

    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("reading switches", total=None)
        yield lambda total, _name: progress.update(bar, total=total, advance=1)
