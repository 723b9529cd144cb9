"""The cable plan: every cable once, both ends exact, in every format."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from openpyxl import load_workbook

from fabric.allocate import load_plan
from fabric.cabling import bill, cable_rows, render_plan, write_plan
from fabric.cabling.rows import COLUMNS, natural
from fabric.cli.entry import run
from fabric.errors import InputError
from fabric.values.plan import Network, Plan
from tests.schemas import problems


@pytest.fixture(scope="session")
def sakuraone(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "sakuraone.yaml")


@pytest.fixture(scope="session")
def lab(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "lab.yaml")


def test_every_cable_once_and_the_bill(sakuraone: Plan) -> None:
    rows = cable_rows(sakuraone)
    assert [row.name for row in rows].count("gpu001:rail0--p1-l0:Ethernet0") == 1
    assert len({row.name for row in rows}) == len(rows) == len(sakuraone.cables) == 1528
    assert bill(rows) == [
        ("compute", "400G (2x cage)", 400, 5, 800),
        ("compute", "800G", 800, 40, 512),
        ("storage", "200G (4x cage)", 200, 20, 216),
    ]
    assert len(cable_rows(sakuraone, network=Network.COMPUTE, pod=1)) == 400 + 256
    assert len(cable_rows(sakuraone, device="s0")) == 64


def test_both_ends_are_exact(sakuraone: Plan) -> None:
    (row,) = [row for row in cable_rows(sakuraone) if row.name == "gpu001:rail1--p1-l1:Ethernet0"]
    nic, leaf = row.a, row.b
    assert (nic.device, nic.port, nic.nic, nic.hca, nic.cage) == ("gpu001", "rail1", "rail1", "mlx5_1", None)
    assert (leaf.device, leaf.alias, leaf.cage, leaf.lanes, leaf.lane_group) == (
        "p1-l1",
        "Eth1/1(Port1)",
        1,
        "25,26,27,28",
        1,
    )
    assert (row.speed_gbps, row.length_m, row.rail, row.pod) == (400, 5, 1, 1)
    assert row.label_a == "gpu001 rail1/mlx5_1 > p1-l1 Eth1/1(Port1)"
    assert row.label_b == "p1-l1 Eth1/1(Port1) > gpu001 rail1/mlx5_1"


def test_racks_stand_on_the_label(lab: Plan) -> None:
    switches = {name: replace(switch, rack="R7", unit=41) for name, switch in lab.switches.items()}
    hosts = {name: replace(host, rack="R8") for name, host in lab.hosts.items()}
    row = cable_rows(replace(lab, switches=switches, hosts=hosts), device="gpu001")[0]
    assert row.label_b == "p1-l0 Eth1/1(Port1) [R7 U41] > gpu001 rail0/mlx5_0 [R8]"


def test_csv_and_json_and_dot_say_the_same(lab: Plan) -> None:
    rows = cable_rows(lab)
    table = list(csv.DictReader(io.StringIO(render_plan(".csv", rows, "lab").decode())))
    document = json.loads(render_plan(".json", rows, "lab", ("a note",)))
    assert tuple(table[0]) == COLUMNS
    assert problems(document) == []
    assert document["notes"] == ["a note"]
    assert (
        [line["cable"] for line in table] == [cable["name"] for cable in document["cables"]] == [r.name for r in rows]
    )
    assert document["cables"][0]["a"]["alias"] == table[0]["a_alias"]
    assert document["cables"][0]["b"]["rack"] is None
    dot = render_plan(".dot", rows, "lab").decode()
    assert dot.count(" -- ") == 32
    assert '"gpu001":"rail0" -- "p1-l0":"Ethernet0"' in dot


def test_xlsx_has_cables_and_bill_and_no_formula(lab: Plan) -> None:
    hosts = {name: replace(host, rack="=1+1") for name, host in lab.hosts.items()}
    data = render_plan(".xlsx", cable_rows(replace(lab, hosts=hosts)), "lab")
    book = load_workbook(io.BytesIO(data))
    assert book.sheetnames == ["cables", "bill"]
    page = book["cables"]
    assert page.max_row == 33
    assert page["A1"].value == "cable"
    assert page.freeze_panes == "B2"
    cells = [cell for row in page.iter_rows() for cell in row if cell.value == "=1+1"]
    assert cells
    assert {cell.data_type for cell in cells} == {"s"}


def test_labels_one_an_end(lab: Plan) -> None:
    rows = cable_rows(lab)
    sheet = render_plan(".html", rows, "lab", labels=True).decode()
    assert sheet.count("<div ") == 64
    assert "http" not in sheet
    table = list(csv.DictReader(io.StringIO(render_plan(".csv", rows, "lab", labels=True).decode())))
    assert len(table) == 64
    assert (table[-1]["end"], table[0]["fabric"]) == ("b", "lab")
    evil = {name: replace(host, rack="<script>") for name, host in lab.hosts.items()}
    assert "<script>" not in render_plan(".html", cable_rows(replace(lab, hosts=evil)), "lab", labels=True).decode()


def test_a_wrong_ending_or_folder_writes_nothing(lab: Plan, tmp_path: Path) -> None:
    rows = cable_rows(lab)
    with pytest.raises(InputError, match=r"use \.csv, \.xlsx"):
        write_plan(tmp_path / "plan.doc", rows, "lab")
    with pytest.raises(InputError, match="cannot be written"):
        write_plan(tmp_path / "no" / "plan.csv", rows, "lab")
    assert list(tmp_path.iterdir()) == []


def test_natural_order() -> None:
    assert sorted(["gpu10", "gpu2", "p1-l10", "p1-l9"], key=natural) == ["gpu2", "gpu10", "p1-l9", "p1-l10"]


def test_verb(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    intent = str(tree / "topology" / "lab.yaml")
    out = tmp_path / "plan.csv"
    assert run(["cables", intent, "-o", str(out)]) == 0
    assert "32 cables" in capsys.readouterr().out
    assert run(["cables", intent, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["cables"]) == 32
    assert run(["cables", intent, "--labels", "-o", str(tmp_path / "labels.html")]) == 0
    assert "64 labels" in capsys.readouterr().out
    assert run(["cables", intent, "--compare", str(out)]) == 0
    assert "0 missing" in capsys.readouterr().out
    assert run(["cables", intent, "--device", "nobody"]) == 2
    assert run(["cables", intent, "-o", str(tmp_path / "plan.doc")]) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--pod", "9"], "lab has no pod 9"),
        (["--pod", "-1"], "lab has no pod -1"),
        (["--network", "storage"], "lab has no network storage"),
        (["--device", "gpu999"], "lab has no device gpu999"),
        (["--compare", "x.csv", "-o", "y.csv"], "--compare looks at the whole list"),
        (["--compare", "x.csv", "--pod", "1"], "--compare looks at the whole list"),
    ],
)
def test_an_empty_list_is_never_nothing_to_plug(
    tree: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert run(["cables", str(tree / "topology" / "lab.yaml"), *options]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""
