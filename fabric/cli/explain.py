"""`railfab explain`: what a finding means and what to do."""

from __future__ import annotations

import click


@click.command()
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.explain/1).")
def command(code: str | None, as_json: bool) -> int:
    """Say what CODE (such as TOPO-01) means, how to see it by hand on SONiC, and what to do. Without CODE: list all."""
    from fabric.report.explain import codes, document_of, lines_of

    known = codes()
    if code is not None and code.strip().upper() not in known:
        from difflib import get_close_matches

        near = get_close_matches(code.strip().upper(), known, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else "`railfab explain` lists all codes"
        raise click.UsageError(f"there is no code {code!r}; {hint}")
    wanted = sorted(known) if code is None else [code.strip().upper()]
    if as_json:
        from fabric.report import document

        click.echo(document(document_of(wanted)), nl=False)
    elif code is None:
        for name in wanted:
            click.echo(f"{name:8} {known[name].title}")
    else:
        click.echo("\n".join(lines_of(wanted[0])))
    return 0
