"""`railfab hold`: keep state made by hand, with reason and end."""

from __future__ import annotations

from pathlib import Path

import click

from fabric.cli.which import INTENT_HELP, intent_of


@click.command()
@click.argument("items", nargs=-1, metavar="DEVICE[:PORT]...")
@click.option("--intent", type=click.Path(path_type=Path), envvar="RAILFAB_INTENT", help=INTENT_HELP)
@click.option("--reason", help="Why it is so; whoever is on call next reads it.")
@click.option("--until", metavar="TIME", help="When the hold ends: 2026-12-31 or 2026-12-31T18:00+09:00.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.holds/1).")
def command(
    items: tuple[str, ...],
    intent: Path | None,
    reason: str | None,
    until: str | None,
    state: Path | None,
    as_json: bool,
) -> int:
    """Record that a switch or a port is as it is on purpose. Without arguments: list the holds.

    Apply, drift repair and rollback leave it alone, checks and the gate do not count it as broken, until the hold
    ends or `railfab release` ends it.
    """
    import time

    from fabric.allocate import load_plan
    from fabric.change import Hold
    from fabric.deploy.holds import SCHEMA, parse_item, parse_until, read_holds, write_holds
    from fabric.deploy.record import owner
    from fabric.state import state_paths
    from fabric.values.codec import dumps, plain

    where = intent_of(intent)
    plan = load_plan(where, state=state)
    path = state_paths(where, state).holds
    holds = read_holds(path)
    if items:
        if not reason:
            raise click.UsageError("give --reason: whoever is on call next must know why")
        end = parse_until(until)
        since = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        for text in items:
            device, item = parse_item(text, plan)
            holds = [hold for hold in holds if (hold.device, hold.item) != (device, item)]
            holds.append(Hold(device, item, reason, owner(), end, since))
        write_holds(path, holds)
    if as_json:
        click.echo(dumps({"schema": SCHEMA, "holds": plain(holds)}), nl=False)
        return 0
    for hold in holds:
        what = hold.device + (f":{hold.item}" if hold.item else "")
        end_text = f"until {hold.until}" if hold.until else "with no end"
        click.echo(f"{what}  {hold.reason}  ({hold.owner}, since {hold.since}, {end_text})")
    if not holds:
        click.echo("nothing is held")
    return 0
