"""`railfab where`: find a node, NIC, port, address or label."""

from __future__ import annotations

from pathlib import Path

import click

from fabric.cli.which import INTENT_HELP, intent_of


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[INTENT] NAME")
@click.option("--intent", type=click.Path(path_type=Path), envvar="RAILFAB_INTENT", metavar="FILE", help=INTENT_HELP)
@click.option("--snapshot", type=click.Path(path_type=Path), metavar="FILE", help="Look for NAME in live state too.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.where/1).")
def command(
    words: tuple[str, ...], intent: Path | None, snapshot: Path | None, state: Path | None, as_json: bool
) -> int:
    """Say what NAME is in the fabric of INTENT, and where: both ends, rack, rail, state.

    NAME is a node, a switch, DEVICE:PORT, an alias, a MAC, an address, a cable, a serial number or a rack. MACs and
    serial numbers that the plan does not have are looked for in --snapshot.
    """
    if len(words) > 2:
        raise click.UsageError("give one NAME, with the INTENT before it or as --intent")
    from fabric.allocate import load_plan
    from fabric.errors import InputError, Problem
    from fabric.report.where import seen, where

    name = words[-1]
    plan = load_plan(Path(words[0]) if len(words) == 2 else intent_of(intent), state=state)
    found = where(plan, name)
    if snapshot is not None:
        from fabric.collect import files

        found.extend(seen(plan, files.read(snapshot), name))
    if not found:
        from difflib import get_close_matches

        near = get_close_matches(name, [*plan.switches, *plan.hosts], n=3)
        hint = (
            f"did you mean {', '.join(near)}?" if near else "give a device, DEVICE:PORT, alias, MAC, address or cable"
        )
        raise InputError(Problem(f"nothing in {plan.name} is called {name!r}", hint))
    if as_json:
        from fabric.report import document

        rows = [{"kind": one.kind, "name": one.name, "facts": dict(one.facts)} for one in found]
        click.echo(document({"schema": "railfab.where/1", "fabric": plan.name, "found": rows}), nl=False)
        return 0
    for number, one in enumerate(found[:20]):
        if number:
            click.echo()
        click.echo(f"{one.kind} {one.name}")
        for label, value in one.facts:
            click.echo(f"  {label + ':':18}{value}")
    if len(found) > 20:
        click.echo(f"\n{len(found) - 20} more; give DEVICE:PORT, or --json for all")
    return 0
