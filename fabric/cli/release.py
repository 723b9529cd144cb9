"""`railfab release`: end a hold."""

from __future__ import annotations

from pathlib import Path

import click

from fabric.cli.which import INTENT_HELP, intent_of


@click.command()
@click.argument("items", nargs=-1, required=True, metavar="DEVICE[:PORT]...")
@click.option("--intent", type=click.Path(path_type=Path), envvar="RAILFAB_INTENT", help=INTENT_HELP)
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.holds/1).")
def command(items: tuple[str, ...], intent: Path | None, state: Path | None, as_json: bool) -> int:
    """End a hold. What was made by hand stays as it is until a plan with --release undoes it."""
    from fabric.allocate import load_plan
    from fabric.deploy.holds import SCHEMA, parse_item, read_holds, write_holds
    from fabric.errors import InputError, Problem
    from fabric.state import state_paths
    from fabric.values.codec import dumps, plain

    where = intent_of(intent)
    plan = load_plan(where, state=state)
    path = state_paths(where, state).holds
    holds = read_holds(path)
    for text in items:
        wanted = parse_item(text, plan)
        left = [hold for hold in holds if (hold.device, hold.item) != wanted]
        if len(left) == len(holds):
            known = ", ".join(hold.device + (f":{hold.item}" if hold.item else "") for hold in holds) or "nothing"
            raise InputError(Problem(f"{text} is not held", f"held: {known}"))
        holds = left
    write_holds(path, holds)
    if as_json:
        click.echo(dumps({"schema": SCHEMA, "holds": plain(holds)}), nl=False)
    else:
        shown = " ".join(f"--release {text}" for text in items)
        click.echo(f"released; to undo what was made by hand: railfab plan {where} {shown} -o PLAN")
    return 0
