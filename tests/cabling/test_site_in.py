"""A site's own cable list: units, names, line numbers, differences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.allocate import load_plan
from fabric.cabling import cable_rows, compare, read_site, render_plan
from fabric.cabling.site import SiteCable
from fabric.cli.entry import run
from fabric.errors import InputError
from fabric.values.plan import Plan
from tests.schemas import problems

Lines = Callable[..., Path]


@pytest.fixture(scope="session")
def lab(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "lab.yaml")


@pytest.fixture
def site(tmp_path: Path) -> Lines:
    def write(*lines: str) -> Path:
        path = tmp_path / "site.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def test_f121_real_lab_list_units_and_autoneg(shared: Path) -> None:
    cables = read_site(shared / "real" / "cabling" / "sonic_lab_links.csv")
    assert cables[0] == SiteCable(2, "str-msn2700-01", "Ethernet0", "str-7260-10", "Ethernet1", 40_000, None, True)
    assert {cable.speed_mbps for cable in cables} == {10_000, 40_000}
    assert {cable.autoneg for cable in cables} == {True, False, None}


def test_f121_a_device_that_is_not_in_the_device_list_has_its_line(shared: Path, tmp_path: Path) -> None:
    folder = shared / "real" / "cabling"
    assert len(read_site(folder / "sonic_lab_links.csv", folder / "sonic_lab_devices.csv")) == 77
    devices = tmp_path / "devices.csv"
    text = (folder / "sonic_lab_devices.csv").read_text()
    devices.write_text("\n".join(line for line in text.splitlines() if not line.startswith("vnut-t0-0")))
    with pytest.raises(InputError) as caught:
        read_site(folder / "sonic_lab_links.csv", devices)
    assert [(problem.line, problem.what) for problem in caught.value.problems] == [
        (36, "device vnut-t0-01 is not in devices.csv (also line 37)"),
        (38, "device vnut-t0-02 is not in devices.csv (also line 39)"),
    ]


@pytest.mark.parametrize(
    ("text", "mbps"),
    [("400", 400_000), ("400G", 400_000), ("400 Gbps", 400_000), ("400000", 400_000), ("40000M", 40_000), ("", None)],
)
def test_f121_speed_units(site: Lines, text: str, mbps: int | None) -> None:
    (cable,) = read_site(site("a_device,a_port,b_device,b_port,speed", f"a,1,b,2,{text}"))
    assert cable.speed_mbps == mbps


def test_all_bad_lines_are_named_at_once(site: Lines) -> None:
    path = site(
        "from_device,from_port,to_device,to_port,length",
        "a,1,b,1,5",
        "a,1,c,1,5m",
        "a,,c,2,5",
        "d,1,e,1,far",
    )
    with pytest.raises(InputError) as caught:
        read_site(path)
    assert [(problem.line, problem.what) for problem in caught.value.problems] == [
        (3, "a 1 stands on line 2 too"),
        (4, "a_port is empty"),
        (5, "'far' is no length in whole metres"),
    ]


def test_columns_must_be_there(site: Lines) -> None:
    with pytest.raises(InputError, match=r"site\.csv:1: no column b_device \(or enddevice\)"):
        read_site(site("a_device,a_port,x", "a,1,b"))
    with pytest.raises(InputError, match="empty"):
        read_site(site(""))


def test_names_are_found_by_alias_hca_and_with_semicolons(lab: Plan, site: Lines) -> None:
    path = site("a_device;a_port;b_device;b_port", "gpu001;mlx5_0;p1-l0;Eth1/1(Port1)")
    differences = compare(lab, read_site(path), path.name)
    assert {difference.kind for difference in differences} == {"missing"}
    assert len(differences) == 31


def test_a_swap_is_two_moved_cables_with_their_lines(lab: Plan, site: Lines) -> None:
    path = site(
        "a_device,a_port,b_device,b_port,speed,length_m",
        "gpu001,rail0,p1-l1,Ethernet0,400G,5",
        "gpu001,rail1,p1-l0,Ethernet0,400G,5",
        "gpu002,rail0,p1-l0,Ethernet4,200G,7",
    )
    differences = compare(lab, read_site(path), path.name)
    assert [(d.kind, d.line) for d in differences if d.kind != "missing"] == [
        ("moved", 2),
        ("moved", 3),
        ("speed", 4),
        ("length", 4),
    ]
    moved = differences[0]
    assert moved.observed == "gpu001:rail0--p1-l1:Ethernet0"
    assert "gpu001:rail0--p1-l0:Ethernet0" in str(moved.expected)
    missing = {d.cable for d in differences if d.kind == "missing"}
    assert "gpu001:rail0--p1-l0:Ethernet0" not in missing  # it is the moved one, not a second fault
    assert len(missing) == 32 - 3


def test_an_unplanned_cable_is_extra(lab: Plan, site: Lines) -> None:
    path = site("a_device,a_port,b_device,b_port", "p1-l0,Ethernet512,p1-l1,Ethernet512")
    extra = [difference for difference in compare(lab, read_site(path), path.name) if difference.kind == "extra"]
    assert [(difference.line, difference.expected) for difference in extra] == [(2, None)]


def test_unknown_device_and_port_have_their_lines(lab: Plan, site: Lines) -> None:
    path = site(
        "a_device,a_port,b_device,b_port",
        "gpu001,rail0,p9-l0,Ethernet0",
        "gpu002,rail0,p9-l0,Ethernet4",
        "gpu003,rail9,p1-l0,Ethernet8",
    )
    with pytest.raises(InputError) as caught:
        compare(lab, read_site(path), path.name)
    assert sorted((problem.line or 0, problem.what) for problem in caught.value.problems) == [
        (2, "device p9-l0 is not in the plan (also line 3)"),
        (4, "gpu003 has no port rail9"),
    ]


def test_verb_exit_codes_and_json(tree: Path, site: Lines, capsys: pytest.CaptureFixture[str]) -> None:
    intent = str(tree / "topology" / "lab.yaml")
    path = site("a_device,a_port,b_device,b_port", "gpu001,rail0,p1-l1,Ethernet0")
    assert run(["cables", intent, "--compare", str(path), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert problems(document) == []
    assert document["summary"]["moved"] == 1
    assert run(["cables", intent, "--compare", str(path)]) == 1
    assert "site.csv:2: moved gpu001:rail0--p1-l1:Ethernet0" in capsys.readouterr().out
    assert run(["cables", intent, "--compare", "nowhere.csv"]) == 2


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.randoms(use_true_random=False))
def test_our_own_plan_in_any_order_has_no_difference(lab: Plan, tmp_path: Path, seed: object) -> None:
    lines = render_plan(".csv", cable_rows(lab), "lab").decode().splitlines()
    body = lines[1:]
    seed.shuffle(body)  # type: ignore[attr-defined]
    path = tmp_path / "own.csv"
    path.write_text("\n".join([lines[0], *body]) + "\n")
    assert compare(lab, read_site(path), path.name) == []


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_line_ends_and_marks_of_spreadsheets(lab: Plan, tmp_path: Path, separator: str) -> None:
    path = tmp_path / "site.csv"
    rows = [["a_device", "a_port", "b_device", "b_port", "note"]]
    rows += [[c.a_device, c.a_port, c.b_device, c.b_port, '"two\nlines"'] for c in lab.cables.values()]
    path.write_bytes(b"\xef\xbb\xbf" + "".join(separator.join(row) + "\r\n" for row in rows).encode())
    assert compare(lab, read_site(path), "site.csv") == []


def test_a_list_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabric.cabling.site._MOST", 1000)
    with pytest.raises(InputError, match=r"/dev/zero: is larger than 1000 bytes"):
        read_site(Path("/dev/zero"))
