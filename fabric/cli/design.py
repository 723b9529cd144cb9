"""`railfab design`: check a design; print capacity, spares, oversubscription."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="design")
@click.argument("intent", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout (railfab.design/1)")
@click.option("--strict", is_flag=True, help="warnings exit 1 too")
@click.option("--state", type=click.Path(path_type=Path, file_okay=False), help="folder of the ledger")
@click.option("--today", metavar="DATE", help="judge outages as of this ISO date")
def command(intent: Path, as_json: bool, strict: bool, state: Path | None, today: str | None) -> int:
    """Judge a design before anyone buys a cable; no device is asked.

    Exit 0 when it holds (warnings alone too), 1 when a rule is broken, 2 when the intent is wrong.
    """
    from datetime import date

    from fabric.allocate import load_plan
    from fabric.design import judge
    from fabric.design.show import design_json, design_text
    from fabric.errors import InputError, Problem
    from fabric.values.codec import dumps
    from fabric.values.finding import exit_code

    try:
        day = date.fromisoformat(today).isoformat() if today else date.today().isoformat()
    except ValueError:
        raise InputError(Problem(f"{today!r} is no date", "write it as 2026-12-31", path="--today")) from None
    design = judge(load_plan(intent, state=state), day)
    click.echo(dumps(design_json(design)) if as_json else design_text(design), nl=False)
    return exit_code(design.report.summary, strict)
