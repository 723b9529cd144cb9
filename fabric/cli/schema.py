"""`railfab schema`: JSON Schema of intents, for editors and pipelines."""

from __future__ import annotations

import click


@click.command(
    help="Print the JSON Schema of intents. Editors complete and check with it: `# yaml-language-server: $schema=...`."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write it to a file instead.")
def command(output: str | None) -> None:
    """Print the JSON Schema of intents."""
    from pathlib import Path

    from fabric.intent import schema_text

    text = schema_text()
    if output is None:
        click.echo(text, nl=False)
        return
    from fabric.files import write_whole

    write_whole(Path(output), text)
