"""`railfab adopt`: fill the ledger from a running fabric."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fabric.allocate.adopt import Adoption
    from fabric.allocate.seen import SeenSwitch


@click.command()
@click.argument("intent", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "source",
    required=True,
    type=click.Path(path_type=Path),
    help="A snapshot (`railfab collect`), or a folder of NAME/config_db.json (with NAME/frr.conf) or NAME.json files.",
)
@click.option(
    "--names",
    type=click.Path(path_type=Path),
    help="YAML file of `our name: their name`, where switches are called otherwise.",
)
@click.option("--state", type=click.Path(path_type=Path), help="Folder of ledger and state of the intent.")
@click.option("--dry-run", is_flag=True, help="Tell only; write no ledger.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(intent: Path, source: Path, names: Path | None, state: Path | None, dry_run: bool, as_json: bool) -> int:
    """Fill the ledger of INTENT from a running fabric, so that the first plan changes nothing it need not.

    Lists everything the ledger cannot hold, and every number the Plan will have otherwise.

    Exit codes: 0 all is as it runs, 1 something is listed, 2 nothing could be adopted.
    """
    from fabric.allocate.adopt import adopt
    from fabric.allocate.ledger import ELSEWHERE, read, write
    from fabric.files import turn
    from fabric.intent import load
    from fabric.state import state_paths

    file = load(intent)
    path = state_paths(intent, state).ledger
    seen, renamed = _seen(source), _names(names)
    with nullcontext() if dry_run else turn(path.parent, ELSEWHERE):
        adoption = adopt(file, read(path), seen, renamed)
        if not dry_run:
            write(adoption.ledger, path)
    if as_json:
        from fabric.values.codec import dumps

        click.echo(dumps(_document(adoption, path, dry_run)), nl=False)
    else:
        _print(adoption, path, dry_run)
    return 1 if adoption.unplaced else 0


def _seen(source: Path) -> list[SeenSwitch]:
    from fabric.allocate.seen import of_folder, of_state
    from fabric.errors import InputError

    if source.is_dir():
        return of_folder(source)
    from fabric.collect.files import read

    found = [of_state(state) for state in read(source).switches.values()]
    kept = [switch for switch in found if switch is not None]
    if not kept:
        raise InputError(f"{source}: the snapshot has no running configuration; collect with it (no --only)")
    return kept


def _names(path: Path | None) -> dict[str, str]:
    from fabric.intent.load import load_names

    return load_names(path) if path is not None else {}


def _document(adoption: Adoption, path: Path, dry_run: bool) -> dict[str, Any]:
    return {
        "schema": "railfab.adopt/1",
        "ledger": str(path),
        "written": not dry_run,
        "adopted": {"switches": adoption.switches, "links": adoption.links, "hosts": adoption.hosts},
        "unplaced": list(adoption.unplaced),
        "summary": {"unplaced": len(adoption.unplaced)},
    }


def _print(adoption: Adoption, path: Path, dry_run: bool) -> None:
    for entry in adoption.unplaced:
        place = entry.device if entry.port is None else f"{entry.device} {entry.port}"
        text = f"{place}: {entry.what}: runs {entry.observed or 'nothing'}"
        if entry.planned is not None:
            text += f", the plan has {entry.planned}"
        click.echo(text + (f" ({entry.remedy})" if entry.remedy else ""))
    written = "would be written" if dry_run else "written"
    click.echo(
        f"{adoption.switches} switches, {adoption.links} links, {adoption.hosts} hosts adopted; "
        f"{len(adoption.unplaced)} things are otherwise; {path} {written}"
    )
