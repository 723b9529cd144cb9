"""Field cases that touch allocation: each was somebody's bad night."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.errors import AllocationError, RailfabError
from fabric.state import state_paths
from fabric.values.plan import PortUse, Role

Written = Callable[..., Path]


def test_f011_a_port_given_twice_names_both(written: Written) -> None:
    path = written("lab")
    load_plan(path, write_ledger=True)
    ledger = state_paths(path).ledger
    text = ledger.read_text()
    line = next(row for row in text.splitlines() if "gpu[001-004]" in row)
    halves = (
        line.replace("gpu[001-004]", "gpu[001-002]"),
        line.replace("gpu[001-004]", "gpu[003-004]")
        .replace("place: 0, slot: 0", "place: 2, slot: 1")
        .replace("mgmt: 257, address: 0", "mgmt: 259, address: 2"),
    )
    ledger.write_text(text.replace(line, "\n".join(halves)))
    with pytest.raises(AllocationError, match="p1-l0: Ethernet4 for gpu002 and for gpu003"):
        load_plan(path)


def test_f011_a_cage_cannot_run_in_two_modes(written: Written) -> None:
    path = written("lab")
    load_plan(path, write_ledger=True)
    ledger = state_paths(path).ledger
    ledger.write_text(ledger.read_text().replace("lower_slot: 32", "lower_slot: 1"))
    with pytest.raises(AllocationError, match=r"cage Ethernet8 as 1x800G and, for gpu004, as 2x400G\[200G\]"):
        load_plan(path)


def test_f016_service_ports_never_carry_the_fabric(written: Written) -> None:
    plan = load_plan(written("sakuraone"))
    for switch in plan.switches.values():
        service = [port for port in switch.ports.values() if port.use is PortUse.SERVICE]
        assert [port.name for port in service] == ["Ethernet512", "Ethernet513"]
        assert {(port.speed_mbps, port.peer_device, port.admin_up) for port in service} == {(25000, None, False)}


def test_f052_ends_that_would_not_come_up_are_refused(written: Written) -> None:
    """100G on one lane against 100G on two: such a pair stays down for ever."""
    path = written(
        "lab",
        ("spine: {platform: accton-as9817-64o", "spine: {platform: nvidia-sn5600"),
        ("speed: 800G", "speed: 100G"),
        ("buffers_from: dell-z9864f\n", ""),
    )
    with pytest.raises(AllocationError, match=r"p1-l0 Ethernet256 \(1 lanes, FEC rs\) and s0 Ethernet0 \(2 lanes"):
        load_plan(path)


def test_f061_tiers_hash_with_seeds_of_their_own(tree: Path) -> None:
    two = load_plan(tree / "topology" / "lab.yaml")
    assert {switch.role: switch.device_type for switch in two.switches.values()} == {
        Role.LEAF: "LeafRouter",
        Role.SPINE: "SpineRouter",
    }
    three = load_plan(tree / "topology" / "gpu32768.yaml")
    types = {switch.role: switch.device_type for switch in three.switches.values()}
    assert len(set(types.values())) == 3


def test_f118_three_hundred_leaves_have_prefixes_inside_their_pool(tree: Path) -> None:
    plan = load_plan(tree / "topology" / "gpu32768.yaml")
    blocks = [block for switch in plan.switches.values() for block in switch.aggregates]
    assert len(set(blocks)) == len(blocks) == 512
    assert all(int(octet) < 256 for block in blocks for octet in block.partition("/")[0].split("."))
    assert {block.split(".")[1] for block in blocks} <= {str(n) for n in range(16)}


def test_the_unexpected_is_one_of_ours(written: Written) -> None:
    """Garbage in a ledger never gives a traceback."""
    path = written("lab")
    load_plan(path, write_ledger=True)
    ledger = state_paths(path).ledger
    good = ledger.read_text()
    for old, new in (
        ("slot: 0", "slot: 99999"),
        ("upper_slot: 0", "upper_slot: 99999"),
        ("loopback: 17", "loopback: 99999"),
        ("mgmt: 3", "mgmt: 9999999"),
        ("hosts: 0}", "hosts: 9999}"),
        ("address: 0}", "address: 999999}"),
        ("class: h100", "class: nothing"),
        ("pod: 1", "pod: 77"),
        ("segment: 0", "segment: 5"),
        ("links: 2", "links: 3"),
        ("speed: 800000", "speed: 7"),
        ("speed: 400000", "speed: 7"),
        ('"s[0-1]", index', '"x[0-1]", index'),
        ("[10.254.0.0/22]", "[nonsense]"),
        ("block: 25", "block: 250"),
        ("step: 24", "step: 3"),
    ):
        assert old in good, old
        ledger.write_text(good.replace(old, new))
        with suppress(RailfabError):
            load_plan(path)
