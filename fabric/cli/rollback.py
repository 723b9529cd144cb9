"""`railfab rollback`: undo a run."""

from __future__ import annotations

from pathlib import Path

import click

from fabric.cli.which import INTENT_HELP, intent_of


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--intent", type=click.Path(path_type=Path), envvar="RAILFAB_INTENT", help=INTENT_HELP)
@click.option("--only", multiple=True, metavar="SWITCH", help="These switches of the run only; may repeat.")
@click.option("--yes", is_flag=True, help="Do it without being asked; for pipelines.")
@click.option("--break-lock", is_flag=True, help="Take over the lock of another run that is dead.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.rollback/1).")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def command(
    run_id: str,
    intent: Path | None,
    only: tuple[str, ...],
    yes: bool,
    break_lock: bool,
    state: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Put the switches of RUN back to what they ran before it, in the opposite order. RUN may be `last`.

    Exit 0 when all are as before, 1 when one is not, 2 when nothing was sent.
    """
    from fabric.allocate import load_plan
    from fabric.cli.apply import progress
    from fabric.deploy.again import rollback
    from fabric.deploy.over_ssh import nornir_of
    from fabric.deploy.record import named_run, plan_of_run
    from fabric.deploy.report import rollback_text, run_document, run_text
    from fabric.deploy.roll import Options
    from fabric.state import state_paths
    from fabric.transport.login import Login, terminal_prompt
    from fabric.values.change import Outcome
    from fabric.values.codec import dumps

    where = intent_of(intent)
    plan = load_plan(where, state=state)
    paths = state_paths(where, state)
    run_id = named_run(paths.runs, run_id)
    change_plan = plan_of_run(paths.runs, run_id)
    if not yes:
        click.echo(rollback_text(change_plan, run_id), err=True)
        if not click.confirm("Put these switches back?", err=True):
            click.echo("railfab: nothing was sent", err=True)
            return 2
    login = Login.from_environment(paths.known_hosts, ask=terminal_prompt())
    login.require_known_hosts()
    with progress(not quiet and not as_json) as processors:
        run = rollback(
            paths.runs,
            run_id,
            nornir_of(plan, login, [name for name in change_plan.changes if name in plan.switches]),
            plan,
            only=only,
            options=Options(break_lock=break_lock),
            processors=processors,
        )
    click.echo(dumps(run_document(run, "rollback")) if as_json else run_text(run), nl=False)
    bad = (Outcome.ROLLBACK_FAILED, Outcome.APPLIED, Outcome.PENDING, Outcome.FAILED)
    asked = [device for name, device in run.devices.items() if not only or name in only]
    return 1 if run.stopped or any(device.outcome in bad for device in asked) else 0
