"""`railfab lint`: judge config_db.json files by our rules, SONiC's YANG models and the Plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fabric.lint.report import RowsFor
    from fabric.values.device_config import DeviceConfig
    from fabric.values.plan import HeadroomRow, Plan


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option("--yang", type=click.Path(path_type=Path), metavar="DIR", help="Folder of SONiC's YANG models.")
@click.option("--intent", type=click.Path(path_type=Path), help="Compare each file with what this intent renders.")
@click.option("--state", type=click.Path(path_type=Path), help="Folder of ledger and state of the intent.")
@click.option("--templates", type=click.Path(path_type=Path), help="Folder laid over railfab's own templates.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--strict", is_flag=True, help="Warnings exit 1 too.")
def command(
    paths: tuple[Path, ...],
    yang: Path | None,
    intent: Path | None,
    state: Path | None,
    templates: Path | None,
    as_json: bool,
    strict: bool,
) -> int:
    """Judge config_db.json files: our rules, SONiC's YANG models, the Plan.

    PATH is a file, or a folder that holds config_db.json files (as `railfab render` writes them).

    Exit codes: 0 sound, 1 findings, 2 a file or a reference could not be judged.
    """
    from fabric.lint import YangModels
    from fabric.lint.report import lint_paths, report_json, report_lines

    models = YangModels(yang) if yang is not None else None
    plan = None
    if intent is not None:
        from fabric.allocate import load_plan

        plan = load_plan(intent, state=state)
    report = lint_paths(
        paths,
        yang=models,
        rows_for=_rows_for(plan),
        expected=None if plan is None else _expected(plan, templates),
    )
    if as_json:
        click.echo(report_json(report), nl=False)
    else:
        for line in report_lines(report):
            click.echo(line)
    return report.exit_code(strict)


def _expected(plan: Plan, templates: Path | None) -> dict[str, Callable[[], DeviceConfig]]:
    from fabric.render import render_switch

    return {name: partial(render_switch, plan, name, templates) for name in plan.switches}


def _rows_for(plan: Plan | None) -> RowsFor:
    from fabric.lint.report import catalogue_rows

    def rows(device: str, hwsku: str) -> Sequence[HeadroomRow] | None:
        if plan is not None and device in plan.switches:
            buffers = plan.buffers.get(plan.switches[device].platform)
            return buffers.rows if buffers is not None else None
        return catalogue_rows(hwsku)

    return rows
