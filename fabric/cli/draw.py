"""`railfab draw`: pictures of the fabric, and its graph for other tools."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="draw")
@click.argument("intent", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help=".svg .html .dot .graphml .clab.yml topology.conf topology.yaml",
)
@click.option("--pod", type=int, help="this pod and what it is cabled to")
@click.option("--state", type=click.Path(path_type=Path, file_okay=False), help="folder of the ledger")
def command(intent: Path, output: Path, pod: int | None, state: Path | None) -> int:
    """Draw INTENT. Large fabrics are folded; --pod draws one pod in full."""
    from fabric.allocate import load_plan
    from fabric.draw import write_drawing

    plan = load_plan(intent, state=state)
    write_drawing(plan, output, pod)
    click.echo(str(output))
    for note in plan.notes:
        click.echo(f"note: {note}", err=True)
    return 0
