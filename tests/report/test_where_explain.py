"""What on-call asks first: where is it, and what does this code mean."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fabric.checks.catalogue import CATALOGUE
from fabric.cli.entry import run
from fabric.report.explain import codes
from fabric.report.where import seen, where
from tests.checks.bench import small, with_hosts

PLAN = small().plan


@pytest.mark.parametrize(
    ("name", "kind", "found", "fact"),
    [
        ("gpu003", "host", "gpu003", "rail1 p1-l1 Ethernet8 (etp2a)"),
        ("gpu003:rail1", "nic", "gpu003:rail1", "p1-l1 Ethernet8 (etp2a)"),
        ("gpu003:mlx5_1", "nic", "gpu003:rail1", "10.101.1.5/31"),
        ("gpu003:ens1f0np0", "nic", "gpu003:rail1", "400G, MTU 9000"),
        ("s1", "switch", "s1", "spine of the compute network"),
        ("p1-l0:Ethernet256", "port", "p1-l0:Ethernet256", "s0 Ethernet0 (etp1)"),
        ("p1-l0:etp33", "port", "p1-l0:Ethernet256", "4200000000"),
        ("10.101.1.5", "nic", "gpu003:rail1", "p1-l1 Ethernet8 (etp2a)"),
        ("10.254.0.1", "port", "s0:Ethernet0", "p1-l0 Ethernet256 (etp33)"),
        ("10.255.0.2", "switch", "s1", "10.255.0.2/32"),
        ("p1-l0:Ethernet256--s0:Ethernet0", "cable", "p1-l0:Ethernet256--s0:Ethernet0", "800G"),
    ],
)
def test_every_kind_of_name_is_found(name: str, kind: str, found: str, fact: str) -> None:
    (one,) = where(PLAN, name)
    assert (one.kind, one.name) == (kind, found)
    assert any(fact in value for _, value in one.facts)


def test_an_alias_that_many_switches_have_lists_them_all() -> None:
    assert {one.name for one in where(PLAN, "etp1")} == {"s0:Ethernet0", "s1:Ethernet0"}


@pytest.mark.parametrize(
    "name", ["gpu999", "p1-l0:Ethernet999", "", "10.9.9.9", "02:00:00:00:00:99", "gpu001:rail9", "::"]
)
def test_nothing_is_guessed(name: str) -> None:
    assert where(PLAN, name) == []


def test_a_mac_the_plan_does_not_have_is_found_in_live_state() -> None:
    snapshot = with_hosts().snapshot()
    mac = next(row.mac for row in snapshot.switches["p1-l2"].neighbours or () if row.port == "Ethernet4")
    found = {one.name for one in seen(PLAN, snapshot, mac.upper())}
    assert "p1-l2:Ethernet4" in found
    assert seen(PLAN, snapshot, "02:00:00:00:00:99") == []


def test_where_on_the_command_line(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    lab = str(tree / "topology" / "lab.yaml")
    assert run(["where", lab, "gpu002:rail3"]) == 0
    assert "p1-l3 Ethernet4" in capsys.readouterr().out
    assert run(["where", "gpu002", "--intent", lab, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["found"][0]["kind"]) == ("railfab.where/1", "host")
    assert run(["where", lab, "gpu0002"]) == 2
    assert "did you mean gpu002" in capsys.readouterr().err


# Codes

_CODE = re.compile(r'"([A-Z]{2,5}-\d{2})"')


def test_every_code_the_source_can_emit_is_explained(tree: Path) -> None:
    emitted = {
        code
        for path in (tree / "fabric").rglob("*.py")
        if path.name not in ("catalogue.py", "codes.py")
        for code in _CODE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(emitted) > 60
    assert emitted - set(codes()) == set()


def test_entries_are_whole() -> None:
    for code, entry in CATALOGUE.items():
        assert re.fullmatch(r"[A-Z]{2,5}-\d{2}", code)
        assert entry.title
        assert entry.title[0].islower() or entry.title[:2] in ("a ", "DS", "PF", "MT", "BG")
        assert entry.meaning.endswith(".")
        assert entry.remedy.endswith(".")
        assert entry.verify
        assert all(command.strip() for command in entry.verify)


def test_explain_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "topo-01"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("TOPO-01: ")
    assert "show lldp neighbors" in said
    assert run(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(codes())
    assert run(["explain", "CFG-10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["codes"][0]["code"] == "CFG-10"
    assert run(["explain", "TOPO-99"]) == 2
