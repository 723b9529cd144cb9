"""`railfab render`: write config_db.json, frr.conf and host files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fabric.render.explain import Arithmetic
    from fabric.values.plan import Plan


@click.command()
@click.argument("intent", type=click.Path(path_type=Path))
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), metavar="DIR", help="Folder to write.")
@click.option(
    "--templates", type=click.Path(path_type=Path), metavar="DIR", help="Folder laid over railfab's templates."
)
@click.option("--base", type=click.Path(path_type=Path), metavar="FILE", help="Running config_db.json to merge into.")
@click.option("--only", multiple=True, metavar="NAME", help="This switch or host only; may be given again.")
@click.option("--lossy", is_flag=True, help="No lossless class: no PFC, no watchdog.")
@click.option("--explain", is_flag=True, help="Show the buffer arithmetic: headroom, pool demand, ECN before PFC.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.render/1).")
@click.option("--strict", is_flag=True, help="Warnings exit 1 too.")
def command(
    intent: Path,
    out: Path | None,
    templates: Path | None,
    base: Path | None,
    only: tuple[str, ...],
    lossy: bool,
    explain: bool,
    state: Path | None,
    as_json: bool,
    strict: bool,
) -> int:
    """Write DIR/SWITCH/{config_db.json,frr.conf} and DIR/HOST/... from INTENT; DIR/README says how they are used.

    What is given an address for the first time is noted in the intent's ledger, so that it keeps it.

    Exit 0 when all is well (warnings alone too), 1 when the buffers do not hold, 2 when nothing can be rendered.
    """
    if out is None and not explain:
        raise click.UsageError("say where to write with -o DIR, or --explain")
    from fabric.allocate import load_plan
    from fabric.render import write
    from fabric.render.explain import explain as sums_of
    from fabric.render.explain import lines

    plan = load_plan(intent, state=state, write_ledger=out is not None, lossy=lossy)
    written = () if out is None else write(plan, out, templates=templates, base=base, only=only)
    sums = sums_of(plan, templates)
    findings = [finding for one in sums for finding in one.findings]
    if as_json:
        click.echo(_document(plan, out, written, sums), nl=False)
    else:
        for line in lines(sums) if explain else ():
            click.echo(line)
        if out is not None:
            switches = sum(path.endswith("/config_db.json") for path in written)
            click.echo(f"{switches} switches, {len(written)} files in {out}")
        for note in plan.notes:
            click.echo(f"note: {note}")
        for finding in () if explain else findings:
            click.echo(
                f"{finding.status.value}: {finding.code}: {finding.device}: {finding.observed}; {finding.remedy}"
            )
    failed = any(finding.status == "fail" for finding in findings)
    return 1 if failed or (strict and findings) else 0


def _document(plan: Plan, out: Path | None, written: tuple[str, ...], sums: tuple[Arithmetic, ...]) -> str:
    from fabric.values.codec import dumps
    from fabric.values.finding import finding_json

    return dumps(
        {
            "schema": "railfab.render/1",
            "out": None if out is None else str(out),
            "files": written,
            "notes": plan.notes,
            "findings": [finding_json(finding) for one in sums for finding in one.findings],
            "arithmetic": [replace(one, findings=()) for one in sums],
        }
    )
