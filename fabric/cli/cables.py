"""`railfab cables`: the cable plan out, a site's own list in."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="cables")
@click.argument("intent", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help=".csv .xlsx .json .dot")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout (railfab.cables/1)")
@click.option("--labels", is_flag=True, help="labels for both ends instead of the plan: -o FILE.html or .csv")
@click.option("--compare", "site", type=click.Path(path_type=Path, dir_okay=False), help="CSV of what is cabled now")
@click.option("--devices", type=click.Path(path_type=Path, dir_okay=False), help="CSV of devices the list may name")
@click.option("--network", type=click.Choice(["compute", "storage"]), help="this network only")
@click.option("--pod", type=int, help="this pod only")
@click.option("--device", help="cables of this device only")
@click.option("--state", type=click.Path(path_type=Path, file_okay=False), help="folder of the ledger")
def command(
    intent: Path,
    output: Path | None,
    as_json: bool,
    labels: bool,
    site: Path | None,
    devices: Path | None,
    network: str | None,
    pod: int | None,
    device: str | None,
    state: Path | None,
) -> int:
    """Write the cable plan of INTENT, or compare a site's list with it.

    Exit 0; with --compare 1 when something differs; 2 when a file is wrong.
    """
    from fabric.allocate import load_plan
    from fabric.cabling import cable_rows, compare, read_site, render_plan, write_plan
    from fabric.cabling.write import differences_json, differences_text
    from fabric.errors import InputError, Problem
    from fabric.values.codec import dumps
    from fabric.values.plan import Network

    if site is not None and (output is not None or labels or network or pod is not None or device is not None):
        raise InputError(Problem("--compare looks at the whole list and writes no plan", "leave the other options out"))
    plan = load_plan(intent, state=state)
    if site is not None:
        differences = compare(plan, read_site(site, devices), site.name)
        if as_json:
            click.echo(dumps(differences_json(differences, plan.name)), nl=False)
        else:
            click.echo(differences_text(differences, site.name, len(plan.cables)), nl=False)
        return 1 if differences else 0
    rows = cable_rows(plan, Network(network) if network else None, pod, device)
    if output is not None:
        write_plan(output, rows, plan.name, plan.notes, labels)
        click.echo(f"{output}: {len(rows)} cables" + (f", {2 * len(rows)} labels" if labels else ""), err=as_json)
    if as_json or output is None:
        click.echo(
            render_plan(".json" if as_json else ".csv", rows, plan.name, plan.notes, labels and not as_json), nl=False
        )
    return 0
