"""`railfab drift`: compare the running fabric with the intent."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("intent", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="SWITCH", help="These switches only; may repeat.")
@click.option("--templates", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Overlay ours.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.drift/1).")
@click.option("--strict", is_flag=True, help="State held by hand exits 1 too.")
@click.option("-v", "--verbose", is_flag=True, help="Show every difference.")
def command(
    intent: Path,
    only: tuple[str, ...],
    templates: Path | None,
    state: Path | None,
    as_json: bool,
    strict: bool,
    verbose: bool,
) -> int:
    """Say where switches of INTENT run something else than they must: configuration, routing, release, platform.

    Rows that are not ours are not drift. Exit 0 none, 1 drift, 2 a switch could not be read and the rest is as it must.
    """
    from fabric.cli.plan import read_live
    from fabric.deploy.drift import drift, drift_document, drift_text, exit_code
    from fabric.values.codec import dumps

    plan, change_plan, readings = read_live(intent, state, only, templates=templates)
    found = drift(plan, change_plan, readings)
    click.echo(dumps(drift_document(found)) if as_json else drift_text(found, verbose=verbose), nl=False)
    return exit_code(found, strict)
