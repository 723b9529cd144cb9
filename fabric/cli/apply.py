"""`railfab apply`: roll a plan out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabric.deploy import Health, Options
    from fabric.transport.login import Login
    from fabric.values.change import ChangePlan, Run


@click.command()
@click.argument("plan_file", metavar="PLAN", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--yes", is_flag=True, help="Agree to the plan without being asked; for pipelines.")
@click.option("--only", multiple=True, metavar="SWITCH", help="These switches of the plan only; may repeat.")
@click.option("--idle-nodes", metavar="NODES", help="Nodes without a job, as Slurm writes them: gpu[001-050].")
@click.option("--ask-slurm", is_flag=True, help="Idle nodes are those sinfo says run nothing.")
@click.option("--accept-impact", multiple=True, metavar="SWITCH", help="Hit the jobs below this one; may repeat.")
@click.option("--accept-mixed", is_flag=True, help="Roll a change that is harmful while only half the fabric has it.")
@click.option("--break-lock", is_flag=True, help="Take over the lock of another run that is dead.")
@click.option(
    "--confirm", type=click.IntRange(min=5), metavar="SECONDS", help="A switch undoes what is not confirmed by then."
)
@click.option(
    "--patience", type=click.FloatRange(min=0.05), default=1.0, metavar="FACTOR", help="All deadlines times this."
)
@click.option("--no-confirm", is_flag=True, help="Do not arm the timer by which a switch undoes an unconfirmed change.")
@click.option("--no-health", is_flag=True, help="Do not check the fabric after each wave.")
@click.option("--deadline", type=click.IntRange(min=30), metavar="SECONDS", help="The whole run's; default 6 hours.")
@click.option("--resume", metavar="RUN", help="Go on with a run that was ended; give no PLAN. RUN may be `last`.")
@click.option("--intent", type=click.Path(path_type=Path), envvar="RAILFAB_INTENT", help="The intent, when elsewhere.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.apply/1).")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def command(
    plan_file: Path | None,
    yes: bool,
    only: tuple[str, ...],
    idle_nodes: str | None,
    ask_slurm: bool,
    accept_impact: tuple[str, ...],
    accept_mixed: bool,
    break_lock: bool,
    confirm: int | None,
    patience: float,
    no_confirm: bool,
    no_health: bool,
    deadline: int | None,
    resume: str | None,
    intent: Path | None,
    state: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Apply PLAN wave by wave, checking the fabric in between; undo the wave that goes wrong.

    Exit 0 when all is healthy, 1 when a switch failed or was put back, 2 when nothing was sent.
    """
    from fabric.allocate import load_plan
    from fabric.cli.health import LiveHealth
    from fabric.cli.which import intent_of
    from fabric.deploy import Options, agree, apply, host_side
    from fabric.deploy import resume as go_on
    from fabric.deploy.idle import idle_from_slurm
    from fabric.deploy.order import Deadlines
    from fabric.deploy.over_ssh import nornir_of, switches_of
    from fabric.deploy.record import named_run, plan_of_run
    from fabric.deploy.report import plan_text, run_document, run_text, sentence
    from fabric.gate.nodes import expand
    from fabric.render import render_hosts
    from fabric.state import state_paths
    from fabric.transport.login import Login, terminal_prompt
    from fabric.values.change import ChangePlan
    from fabric.values.codec import dumps, loads

    if (plan_file is None) == (resume is None):
        raise click.UsageError("give PLAN, or --resume RUN")
    if plan_file is not None:
        change_plan = loads(ChangePlan, _bytes(plan_file), str(plan_file))
        where = intent or plan_file.parent / change_plan.intent
        paths = state_paths(where, state)
    else:
        where = intent_of(intent)
        paths = state_paths(where, state)
        resume = named_run(paths.runs, resume or "last")
        change_plan = plan_of_run(paths.runs, resume)
    # What is pushed is given for good: numbers must not move when the intent grows.
    plan = load_plan(where, state=state, write_ledger=True)
    active = [name for name, change in change_plan.changes.items() if change.method != "none" and not change.refused]
    switches_of(plan, [*only, *accept_impact])
    if only:
        active = [name for name in active if name in only]
    deadlines = (Deadlines() if confirm is None else Deadlines(confirm=confirm)).scaled(patience)
    options = Options(
        deadlines=deadlines,
        break_lock=break_lock,
        commit_confirm=not no_confirm,
        only=frozenset(only) if only else None,
        run_deadline_s=float(deadline or Options.RUN_DEADLINE_S),
        idle=(*(expand(idle_nodes) if idle_nodes else ()), *(idle_from_slurm(expand) if ask_slurm else ())),
        accepted=accept_impact,
        accept_mixed=accept_mixed,
    )
    agree(change_plan, plan, options)
    if not yes:
        click.echo(plan_text(change_plan), err=True)
        if not click.confirm(f"Apply this to {len(active)} switches of {change_plan.fabric}?", err=True):
            click.echo("railfab: nothing was sent", err=True)
            return 2
    login = Login.from_environment(paths.known_hosts, ask=terminal_prompt())
    login.require_known_hosts()
    options = with_new_password(options, login, change_plan)
    health = LiveHealth(plan, where, state, login)
    if active and not no_health:
        health.remember(active)
    judge: Health = (lambda _wave, _changed: {}) if no_health else health
    nornir = nornir_of(plan, login, active)
    with progress(not quiet and not as_json) as processors:
        if resume is not None:
            run = go_on(paths.runs, resume, nornir, plan, judge, options=options, processors=processors)
        else:
            run = apply(change_plan, nornir, plan, judge, paths.runs, options=options, processors=processors)
    unwell = {} if no_health or not active or not _all_good(run) else health.at_the_end(active)
    if _all_good(run) and not only:
        files = host_side.digests(render_hosts(plan, host) for host in plan.hosts)
        host_side.write_known(paths.folder / "hosts.json", files)
    if as_json:
        click.echo(dumps({**run_document(run), "unwell": unwell}), nl=False)
    else:
        click.echo(run_text(run), nl=False)
        for name, reason in unwell.items():
            click.echo(f"NOT WELL {name}: {reason}")
        if not active:
            click.echo(sentence(change_plan))
    return exit_code(run, unwell)


def with_new_password(options: Options, login: Login, change_plan: ChangePlan) -> Options:
    """RAILFAB_NEW_PASSWORD for boxes from the factory; LoginError when they would keep the one everybody knows."""
    import os
    from dataclasses import replace

    from fabric.errors import LoginError
    from fabric.transport.login import FACTORY_PASSWORD

    new = os.environ.get("RAILFAB_NEW_PASSWORD") or None
    fresh = [name for wave in change_plan.waves if wave.fresh for name in wave.devices]
    if fresh and login.password == FACTORY_PASSWORD and new is None:
        raise LoginError(
            f"{', '.join(fresh[:4])}: new boxes with the factory's password; set RAILFAB_NEW_PASSWORD to what they "
            "shall have from now on; nothing was sent"
        )
    return replace(options, user=login.user, new_password=new)


def exit_code(run: Run, unwell: dict[str, str]) -> int:
    """0 all as planned and healthy; 2 when every switch was refused before anything was sent; 1 otherwise."""
    from fabric.deploy import good, untouched

    if good(run) and not unwell:
        return 0
    return 2 if not unwell and all(untouched(device) for device in run.devices.values()) else 1


def _all_good(run: Run) -> bool:
    from fabric.deploy import good

    return good(run)


def _bytes(path: Path) -> bytes:
    from fabric.errors import InputError, Problem

    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            Problem(f"cannot be read: {error.strerror}", "railfab plan INTENT -o PLAN writes one", file=str(path))
        ) from None


@contextmanager
def progress(shown: bool) -> Iterator[Callable[[str, int], Sequence[Any]] | None]:
    """A bar for each part of a run when a person looks, None otherwise."""
    import sys

    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from fabric.nornir_plugins.processors import ProgressProcessor

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield lambda title, total: [ProgressProcessor(progress, total, title)]
