"""`railfab platform`: the catalogue of switch models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.group(name="platform")
def command() -> None:
    """Switch models: list, show, import from SONiC's own files."""


@command.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
def list_(as_json: bool) -> None:
    """Keys of every HwSKU in the catalogue."""
    from fabric.platforms import available, load
    from fabric.values.codec import dumps

    if as_json:
        click.echo(
            dumps({"schema": "railfab.platforms/1", "platforms": [_brief(load(key)) for key in available()]}), nl=False
        )
        return
    for key in available():
        box = load(key)
        buffers = "buffers" if box.buffers() else "no buffer figures"
        click.echo(f"{key:32} {box.vendor} {box.hwsku}, {len(box.cages)} cages, {box.asic}, {buffers}")


@command.command()
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
def show(key: str, as_json: bool) -> None:
    """Ports, breakout modes, limits and sources of one HwSKU."""
    from fabric.platforms import load
    from fabric.values.codec import dumps

    box = load(key)
    if as_json:
        ports = [
            {"name": p.name, "alias": p.alias, "index": p.index, "subport": p.subport, "lanes": list(p.lanes)}
            | {"speed_mbps": p.speed_mbps, "fec": p.fec}
            for p in box.ports()
        ]
        click.echo(dumps({"schema": "railfab.platform-ports/1", **_brief(box), "ports": ports}), nl=False)
        return
    click.echo(f"{box.key}: {box.vendor} {box.model}, HwSKU {box.hwsku}, {box.onie_platform}, ASIC {box.asic}")
    click.echo(f"from {box.source.repository}@{box.source.commit} ({box.source.licence})")
    for cage in (*box.cages, *box.service_cages):
        modes = ", ".join(cage.modes)
        click.echo(f"  {cage.first_port:12} cage {cage.index:3}  lanes {cage.lanes[0]}-{cage.lanes[-1]}  {modes}")
    for note in box.notes:
        click.echo(f"note: {note}")


@command.command(name="import")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="write here, not to stdout")
@click.option("--onie", help="ONIE platform string; the directory's name where it is one")
@click.option("--asic", help="ASIC family (th5, spc4, ...); read from the SAI file names where they say it")
@click.option("--vendor", default="unknown", help="for people")
@click.option("--model", help="for people; the directory's name by default")
@click.option("--repository", default="local", help="where the files come from")
@click.option("--commit", default="unknown", help="which commit or image")
@click.option("--licence", default="unknown", help="licence of the source")
def import_(
    directory: Path,
    output: Path | None,
    onie: str | None,
    asic: str | None,
    vendor: str,
    model: str | None,
    repository: str,
    commit: str,
    licence: str,
) -> None:
    """Make a catalogue file from DIRECTORY, laid out like /usr/share/sonic/device/PLATFORM of a switch.

    Put the file into a folder of RAILFAB_PLATFORMS and its HwSKUs can be named in an intent.
    """
    from fabric.errors import InputError, Problem
    from fabric.platforms.importing import Identity, import_directory, known_asic, write_document

    name = directory.resolve().name
    onie = onie or (name if name.startswith(("x86_64-", "arm64-", "aarch64-")) else None)
    asic = asic or (known_asic(directory) if directory.is_dir() else None)
    missing = [option for option, value in (("--onie", onie), ("--asic", asic)) if not value]
    if missing and directory.is_dir():
        raise InputError(
            Problem(f"the files do not say it, so give {' and '.join(missing)}", "e.g. --asic th5", file=name)
        )
    identity = Identity(vendor, model or name, onie or "", asic or "", repository, commit, licence)
    document = import_directory(directory, identity)
    text = write_document(document, output)
    if output is None:
        click.echo(text, nl=False)
        return
    click.echo(f"{output}: {', '.join(document['hwskus'])}")


def _brief(box: Any) -> dict[str, Any]:
    return {
        "key": box.key,
        "vendor": box.vendor,
        "model": box.model,
        "onie_platform": box.onie_platform,
        "hwsku": box.hwsku,
        "asic": box.asic,
        "cages": len(box.cages),
        "modes": list(dict.fromkeys(mode for cage in box.cages for mode in cage.modes)),
        "ecmp_limit": box.ecmp_limit,
        "fixed": box.fixed,
        "hosts_end": box.hosts_end,
        "buffers": list(box.buffer_sets),
        "notes": list(box.notes),
        "source": {
            "repository": box.source.repository,
            "commit": box.source.commit,
            "licence": box.source.licence,
            "paths": list(box.source.paths),
        },
    }
