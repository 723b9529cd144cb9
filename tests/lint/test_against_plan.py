"""Files against the intent: what render writes is sound and equal; every mutant of it is caught."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.allocate import load_plan
from fabric.cli.entry import run
from fabric.lint import YangModels, lint_tables
from fabric.lint.report import lint_paths
from fabric.render import render_switch
from fabric.values.device_config import DeviceConfig
from fabric.values.finding import Status


@pytest.fixture(scope="session")
def rendered(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A copy of the lab's intent and the folder render wrote from it."""
    folder = tmp_path_factory.mktemp("lab")
    intent = folder / "lab.yaml"
    intent.write_text((tree / "topology/lab.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert run(["render", str(intent), "-o", str(folder / "out")]) == 0
    return intent, folder / "out"


def test_rendered_files_are_sound_and_equal(rendered: tuple[Path, Path], yang_folder: Path) -> None:
    pytest.importorskip("oopt_gnpy_libyang", reason="the wheel oopt-gnpy-libyang is not here")
    intent, out = rendered
    plan = load_plan(intent)
    report = lint_paths(
        [out],
        yang=YangModels(yang_folder),
        rows_for=lambda device, _: plan.buffers[plan.switches[device].platform].rows,
        expected={name: lambda name=name: render_switch(plan, name) for name in plan.switches},  # type: ignore[misc]
    )
    assert [finding for entry in report.files for finding in entry.findings if finding.status is not Status.WARN] == []
    assert report.judged == len(plan.switches)
    assert report.summary.missing_devices == ()
    assert report.exit_code() == 0


def mutants(config: DeviceConfig) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """One mutant a table and kind of field: a row gone, and each field of the row with the most fields changed."""
    for table, rows in config.tables.items():
        fullest = max(rows, key=lambda key: len(rows[key]))
        for key in {next(iter(rows)), fullest}:
            gone: Any = copy.deepcopy(dict(config.tables))
            del gone[table][key]
            yield "CFG-90", f"{table}|{key}", gone
        seen: set[str] = set()
        for key, row in rows.items():
            for name, value in row.items():
                if name in seen:
                    continue
                seen.add(name)
                changed: Any = copy.deepcopy(dict(config.tables))
                changed[table][key][name] = value[:-1] if isinstance(value, list) else f"{value}0"
                yield "CFG-91", f"{table}|{key} field {name}", changed


@pytest.mark.parametrize("switch", ["p1-l0", "s0"])
def test_every_mutant_is_caught(rendered: tuple[Path, Path], switch: str) -> None:
    config = render_switch(load_plan(rendered[0]), switch)
    survivors = []
    count = 0
    for code, place, tables in mutants(config):
        count += 1
        told = {
            (finding.code, (finding.evidence or "").partition(" = ")[0])
            for finding in lint_tables(tables, expected=config)
        }
        if (code, place) not in told:
            survivors.append((code, place))
    assert survivors == []
    assert count > 100


def test_command_names_the_row_that_differs(
    rendered: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    intent, out = rendered
    tables = json.loads((out / "p1-l0/config_db.json").read_text(encoding="utf-8"))
    tables["DSCP_TO_TC_MAP"][next(iter(tables["DSCP_TO_TC_MAP"]))]["26"] = "0"
    (tmp_path / "config_db.json").write_text(json.dumps(tables), encoding="utf-8")
    text = (out / "p1-l0/frr.conf").read_text(encoding="utf-8")
    (tmp_path / "frr.conf").write_text(text + "no ip forwarding\n", encoding="utf-8")
    assert run(["lint", str(tmp_path), "--intent", str(intent)]) == 1
    said = capsys.readouterr().out
    assert "FAIL CFG-91 DSCP_TO_TC_MAP|" in said
    assert 'FAIL CFG-93 frr.conf = "no ip forwarding"' in said


def test_switches_without_a_file_are_missing(
    rendered: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    intent, out = rendered
    for name in ("p1-l0", "s0"):
        (tmp_path / name).mkdir()
        for file in ("config_db.json", "frr.conf"):
            (tmp_path / name / file).write_bytes((out / name / file).read_bytes())
    assert run(["lint", str(tmp_path), "--intent", str(intent)]) == 2
    assert "no file for 4 switches of the Plan: p1-l1, p1-l2, p1-l3, s1" in capsys.readouterr().out


def test_stranger_is_not_in_the_plan(
    rendered: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config_db.json"
    path.write_text('{"DEVICE_METADATA": {"localhost": {"hostname": "elsewhere"}}}')
    assert run(["lint", str(path), "--intent", str(rendered[0])]) == 1
    assert "CFG-94" in capsys.readouterr().out
