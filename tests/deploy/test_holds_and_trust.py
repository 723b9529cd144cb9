"""Holds on file; host keys and identities enrolled on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.change import Hold
from fabric.deploy import trust
from fabric.deploy.holds import parse_item, parse_until, read_holds, write_holds
from fabric.errors import InputError, TransportError
from fabric.transport import Target
from fabric.transport.host_keys import HostKey, enrolled
from fabric.values.plan import Plan
from tests.deploy.conftest import Bench


def test_holds_go_to_file_and_back_and_end(tmp_path: Path) -> None:
    path = tmp_path / "state" / "holds.json"
    open_end = Hold("p1-l0", "Ethernet0", "optic ordered", "kim@noc")
    ends = Hold("p1-l1", None, "RMA", "kim@noc", parse_until("2027-01-31"))
    write_holds(path, [open_end, ends])
    assert read_holds(path, now=0) == [open_end, ends]
    assert read_holds(path, now=1801440000.0) == [open_end], "2027-02-01: the second has ended"
    assert read_holds(tmp_path / "none") == []


@pytest.mark.parametrize("text", ["", "[", '{"holds": 3}', '{"holds": [{"device": 1}]}', "{}"])
def test_a_bad_hold_file_is_an_error_never_no_holds(tmp_path: Path, text: str) -> None:
    path = tmp_path / "holds.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"holds\.json"):
        read_holds(path)


def test_the_gate_reads_what_hold_wrote(tmp_path: Path) -> None:
    from fabric.gate.source import read_holds as gate_holds
    from fabric.state import state_paths

    intent = tmp_path / "lab.yaml"
    write_holds(state_paths(intent).holds, [Hold("p1-l0", "Ethernet0", "optic ordered")])
    held = gate_holds(intent, None)
    assert [(one.device, one.item, one.reason) for one in held] == [("p1-l0", "Ethernet0", "optic ordered")]


def test_items_are_those_of_the_plan(lab_plan: Plan) -> None:
    assert parse_item("p1-l0", lab_plan) == ("p1-l0", None)
    assert parse_item("p1-l0:Ethernet0", lab_plan) == ("p1-l0", "Ethernet0")
    assert parse_item("p1-l0:10.254.0.1", lab_plan) == ("p1-l0", "10.254.0.1")
    for text, words in (("p9", "no switch"), ("p1-l0:Ethernet9999", "no port"), ("p1-l0:", "names no port")):
        with pytest.raises(InputError, match=words):
            parse_item(text, lab_plan)


def test_ends_have_a_time_zone() -> None:
    assert parse_until("2026-12-31") == "2026-12-31T23:59:59+00:00"
    assert parse_until("2026-12-31T18:00+09:00") == "2026-12-31T18:00:00+09:00"
    assert parse_until(None) is None
    with pytest.raises(InputError, match="no time"):
        parse_until("tomorrow")


ONE, OTHER = HostKey("ssh-ed25519", "AAAA"), HostKey("ssh-ed25519", "BBBB")
RSA = HostKey("rsa-sha2-256", "CCCC")
TARGETS = {name: Target(name, f"192.0.2.{n}") for n, name in enumerate(("a", "b", "c", "d"), 1)}


def test_new_known_changed_and_silent_keys(tmp_path: Path) -> None:
    path = tmp_path / "known_hosts"
    path.write_text("192.0.2.1 ssh-ed25519 AAAA\n192.0.2.2 ssh-ed25519 AAAA\n")
    found = {"a": [ONE, RSA], "b": [OTHER], "c": [ONE], "d": TransportError("no answer")}
    offers = trust.offers(TARGETS, path, 22, found)  # type: ignore[arg-type]
    assert [offer.state for offer in offers] == ["known", "changed", "new", "unreachable"]
    trust.enrol(path, [offer for offer in offers if offer.state in ("new", "changed")])
    assert [key.blob for key in enrolled(path, "192.0.2.2", 22)] == ["BBBB"]
    assert [key.blob for key in enrolled(path, "192.0.2.3", 22)] == ["AAAA"]
    again = trust.offers(TARGETS, path, 22, found)  # type: ignore[arg-type]
    assert [offer.state for offer in again][:3] == ["known"] * 3


def test_identity_is_learned_once_and_then_guarded(bench: Callable[..., Bench], tree: Path, tmp_path: Path) -> None:
    made = bench("p1-l0", "p1-l1")
    for number, switch in enumerate(made.switches.values()):
        rows = {"0x23": {"Name": "Serial Number", "Value": f"SN{number}"},
                "0x24": {"Name": "Base MAC Address", "Value": f"02:00:5E:00:00:0{number}"}}  # fmt: skip
        switch.change(STATE_DB={"EEPROM_INFO": rows})
    intent, state = tree / "topology" / "lab.yaml", tmp_path / "own"
    load_plan(intent, state=state, write_ledger=True)
    found = trust.learned(made.plan, made.readings())
    assert [(one.serial, one.new) for one in found] == [("SN0", True), ("SN1", True)]
    assert trust.remember(state / "lab.ledger.yaml", found) == ["p1-l0", "p1-l1"]
    plan = load_plan(intent, state=state)
    assert plan.switches["p1-l1"].serial == "SN1"
    assert (plan.switches["p1-l1"].base_mac or "").lower() == "02:00:5e:00:00:01"
    # The two boxes change places: both are refused, and nothing is learned over what is there.
    made.plan = plan
    states = {name: switch.read()["STATE_DB"] for name, switch in made.switches.items()}
    made.switches["p1-l0"].change(STATE_DB=states["p1-l1"])
    made.switches["p1-l1"].change(STATE_DB=states["p1-l0"])
    assert all("the one learned is" in (change.refused or "") for change in made.plan_now().changes.values())
    moved = trust.learned(plan, made.readings())
    assert [one.changed["serial"] for one in moved] == ["SN0", "SN1"]
    assert trust.remember(state / "lab.ledger.yaml", moved) == []
    # An RMA is named.
    assert trust.remember(state / "lab.ledger.yaml", moved[:1], renew=["p1-l0"]) == ["p1-l0"]
    assert load_plan(intent, state=state).switches["p1-l0"].serial == "SN1"


def test_one_box_at_two_addresses_is_seen() -> None:
    one = trust.Learned("a", "SN1", None, True, {})
    assert trust.duplicates([one, replace(one, device="b"), trust.Learned("c", "SN2", None, True, {})]) == {
        "SN1": ["a", "b"]
    }
