"""`railfab render`: write config_db.json, frr.conf and host files."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("intent", type=click.Path(dir_okay=False, path_type=Path))
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), help="Folder to write; made when missing.")
@click.option("--templates", type=click.Path(path_type=Path), help="Folder laid over railfab's own templates.")
@click.option(
    "--base", type=click.Path(dir_okay=False, path_type=Path), help="A switch's running config_db.json to merge into."
)
@click.option(
    "--state", type=click.Path(path_type=Path), help="Folder of ledger and state, instead of beside the intent."
)
@click.option("--only", multiple=True, metavar="NAME", help="This device only; may be given again.")
@click.option("--lossy", is_flag=True, help="No lossless class: no PFC, no watchdog.")
@click.option("--explain", is_flag=True, help="Print the buffer arithmetic instead of writing files.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def command(
    intent: Path,
    out: Path | None,
    templates: Path | None,
    base: Path | None,
    state: Path | None,
    only: tuple[str, ...],
    lossy: bool,
    explain: bool,
    as_json: bool,
) -> int:
    """Write DIR/<switch>/{config_db.json,frr.conf} and DIR/<host>/... from INTENT."""
    from fabric.allocate import load_plan
    from fabric.render import write

    plan = load_plan(intent, state=state)
    if out is None:
        raise click.UsageError("say where to write with -o DIR, or what to explain with --explain")
    paths = write(plan, out, templates=templates, base=base, lossy=lossy, only=only)
    if as_json:
        import orjson

        document = {"schema": "railfab.render/1", "out": str(out), "files": paths, "notes": plan.notes}
        click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
        return 0
    switches = sum(path.endswith("/config_db.json") for path in paths)
    click.echo(f"{switches} switches, {len(paths)} files in {out}")
    for note in plan.notes:
        click.echo(f"note: {note}")
    return 0
