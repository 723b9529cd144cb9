"""What is refused, before anything is written, with words that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.allocate import load_all, load_plan
from fabric.allocate.ledger import dump, read, write
from fabric.errors import AllocationError, InputError, RailfabError
from fabric.state import state_paths

Written = Callable[..., Path]


def refused(path: Path, kind: type[RailfabError] = AllocationError) -> str:
    ledger = state_paths(path).ledger
    before = ledger.read_bytes() if ledger.exists() else None
    with pytest.raises(kind) as caught:
        load_plan(path, write_ledger=True)
    assert (ledger.read_bytes() if ledger.exists() else None) == before
    return str(caught.value)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        pytest.param([("[10.255.0.0/25]", "[10.255.0.0/30]")], "append a further prefix to addressing.loopbacks",
                     id="loopbacks-exhausted"),
        pytest.param([("[10.254.0.0/22]", "[10.254.0.0/28]")], "append a further prefix to addressing.fabric",
                     id="links-exhausted"),
        pytest.param([("[10.101.0.0/16]", "[10.101.0.0/23]"), ("pod: 16", "pod: 23")],
                     "append a further prefix to addressing.hosts.pools", id="F118-host-blocks-exhausted"),
        pytest.param([("[10.254.0.0/22]", "[10.101.4.0/22]")], "overlaps", id="fabric-in-hosts"),
        pytest.param([("[10.254.0.0/22]", "[172.31.4.0/22]")], "overlaps management.network", id="management"),
        pytest.param([("[10.254.0.0/22]", "[127.0.0.0/22]")], "host loopback 127.0.0.0/8 overlaps addressing.fabric",
                     id="127"),
        pytest.param([("[10.254.0.0/22]", "[169.254.0.0/22]")], "link-local 169.254.0.0/16 overlaps addressing.fabric",
                     id="link-local"),
        pytest.param([("[10.254.0.0/22]", "[240.127.1.0/24]")], "overlaps class E", id="class-e"),
        pytest.param([("[10.254.0.0/22]", "[10.254.0.0/22]\n  reserved: [10.254.1.0/24]")],
                     "addressing.reserved 10.254.1.0/24 overlaps addressing.fabric", id="reserved"),
        pytest.param([("block: 25", "block: 26")], "holds too few addresses for 64", id="block-too-small"),
        pytest.param([("leaf: 24", "leaf: 26")], "smaller than block", id="step-too-small"),
        pytest.param([("count: 2, links: 2", "count: 2, links: 40")], "no 80 free ports of 800G up to s[0-1]",
                     id="uplinks"),
        pytest.param([("count: 2, links: 2", "count: 2, links: 17")], "no 68 free ports of 800G down to p1-l[0-3]",
                     id="downlinks"),
        pytest.param([("network: 172.31.0.0/16", "network: 172.31.0.0/29")], "management addresses left",
                     id="management-exhausted"),
        pytest.param([("qos: {", "routing: {leaf_asn: 23345}\nqos: {")], "hold 23456", id="AS23456"),
        pytest.param([("qos: {", "routing: {leaf_asn: 4294967190}\nqos: {")], "no usable AS number", id="asn-past-end"),
        pytest.param([("qos: {", "devices: {s0: {loopback: 10.255.0.17}}\nqos: {")],
                     "10.255.0.17 belongs to p1-l0 and to s0", id="loopback-override"),
        pytest.param([("qos: {", "devices: {s0: {asn: 4200000110}}\nqos: {")], "AS number 4200000110 belongs to",
                     id="asn-override"),
        pytest.param([("qos: {", "devices: {s0: {loopback: 10.254.0.1}}\nqos: {")], "lies in 10.254.0.0/22",
                     id="loopback-on-a-link"),
    ],
)  # fmt: skip
def test_refused(written: Written, pairs: list[tuple[str, str]], words: str) -> None:
    assert words in refused(written("lab", *pairs))


@pytest.mark.parametrize(
    ("pairs", "path", "words"),
    [
        pytest.param([("speed: 800G", "speed: 1600G")], "compute.spine.speed", "no breakout mode makes ports of 1600G",
                     id="speed"),
        pytest.param([("speed: 400G", "speed: 25G")], "classes.h100.speed", "modes that exist", id="F013-mode"),
        pytest.param([("spine: {platform: accton-as9817-64o", "spine: {platform: acme")], "compute.spine.platform",
                     "no platform 'acme'", id="platform"),
        pytest.param([("dell-z9864f", "acme")], "buffers_from", "no platform 'acme'", id="lender"),
        pytest.param([("qos: {", "devices: {s7: {rack: A}}\nqos: {")], "devices.s7", "there is no device s7",
                     id="device"),
        pytest.param([("qos: {", "states: [{switches: s7, state: planned}]\nqos: {")], "states.0.switches",
                     "there is no switch s7", id="state-switch"),
        pytest.param([("qos: {", "states: [{ports: ['p1-l0:Ethernet516'], state: planned}]\nqos: {")],
                     "states.0.ports", "there is no port p1-l0:Ethernet516", id="F008-port"),
        pytest.param([("qos: {", "states: [{nodes: gpu999, state: planned}]\nqos: {")], "states.0.nodes",
                     "there is no node gpu999", id="state-node"),
    ],
)  # fmt: skip
def test_refused_with_line(written: Written, pairs: list[tuple[str, str]], path: str, words: str) -> None:
    file = written("lab", *pairs)
    with pytest.raises(InputError) as caught:
        load_plan(file)
    hit = [problem for problem in caught.value.problems if problem.path == path]
    assert hit, caught.value
    assert words in f"{hit[0].what}; {hit[0].remedy}"
    assert hit[0].file == str(file)
    assert hit[0].line


def test_buffers_of_another_asic_do_not_stand_in(written: Written) -> None:
    with pytest.raises(RailfabError, match="buffers_from") as caught:
        load_plan(written("lab", ("dell-z9864f", "nvidia-sn5600")))
    assert "ASIC" in str(caught.value)


def test_a_management_override_that_is_taken_is_refused_and_a_free_one_is_kept_free(written: Written) -> None:
    override = ("qos: {", "devices: {s0: {mgmt_address: 172.31.0.3}}\nqos: {")
    fresh = load_plan(written("lab", override))
    assert fresh.switches["s0"].mgmt_address == "172.31.0.3/16"
    assert len({switch.mgmt_address for switch in fresh.switches.values()}) == 6
    load_plan(written("lab"), write_ledger=True)
    assert "172.31.0.3 belongs to p1-l0 and to s0" in refused(written("lab", override))


def test_pools_in_use_are_appended_never_changed(written: Written) -> None:
    path = written("lab")
    first = load_plan(path, write_ledger=True)
    again = written("lab", ("[10.254.0.0/22]", "[10.254.0.0/22, 10.253.0.0/24]"))
    assert load_plan(again).cables == first.cables
    assert "pools in use were changed: fabric was" in refused(written("lab", ("[10.254.0.0/22]", "[10.253.0.0/22]")))


def test_a_further_pool_is_used_when_the_first_is_full(written: Written) -> None:
    path = written("lab", ("[10.254.0.0/22]", "[10.254.0.0/27]"))
    load_plan(path, write_ledger=True)
    more = ("count: 2, links: 2", "count: 2, links: 3")
    assert "no 8 link addresses left" in refused(written("lab", ("[10.254.0.0/22]", "[10.254.0.0/27]"), more))
    plan = load_plan(written("lab", ("[10.254.0.0/22]", "[10.254.0.0/27, 10.253.0.0/27]"), more))
    addresses = {entry for port in plan.switches["s0"].ports.values() for entry in port.addresses}
    assert {entry.rpartition(".")[0] for entry in addresses} == {"10.254.0", "10.253.0"}


def test_two_branches_that_grew_collide_loudly(written: Written) -> None:
    path = written("lab")
    load_plan(path, write_ledger=True)
    ledger = state_paths(path).ledger
    ours = written("lab", ("- nodes: gpu[001-004]", "- nodes: gpu[001-004]\n    - nodes: gpu[005-006]"),
                   ("[10.101.0.0/16]", "[10.101.0.0/16, 10.102.0.0/16]"))  # fmt: skip
    load_plan(ours, write_ledger=True)
    text = ledger.read_text()
    line = next(row for row in text.splitlines() if '"p2-l[0-3]"' in row)
    ledger.write_text(text.replace(line, line + "\n" + line.replace("p2-l", "p3-l")))
    message = refused(ours)
    assert "the ledger gives things twice" in message
    assert "loopback number 33 belongs to p2-l[0-3] and to p3-l[0-3]" in message
    assert "AS number 4200000210" in message


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("railfab.ledger/1", "railfab.ledger/9", 3, "schema is not railfab.ledger/1"),
        ("loopback: 17", "loopback: -17", 12, "not negative"),
        ("loopback: 17", "loopback: x", 12, "whole number"),
        ('"p1-l[0-3]", index', '"p1-l[3-0]", index', 12, "no range"),
        ("mgmt: 3", "mgmt: 3, mgmt: 4", 12, "stands twice"),
        ("<<<", "<<<", 1, ""),
    ],
)
def test_a_broken_ledger_is_told_with_its_line(written: Written, old: str, new: str, line: int, words: str) -> None:
    path = written("lab")
    load_plan(path, write_ledger=True)
    ledger = state_paths(path).ledger
    text = ledger.read_text()
    ledger.write_text("<<<<<<< ours\n" + text if old == "<<<" else text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_plan(path)
    hit = [problem for problem in caught.value.problems if words in problem.what]
    assert hit, caught.value
    if words:
        assert hit[0].line == line
    assert hit[0].file == str(ledger)


def test_nothing_is_written_unless_asked_and_only_when_something_was_added(written: Written) -> None:
    path = written("lab")
    ledger = state_paths(path).ledger
    load_plan(path)
    assert not ledger.exists()
    assert load_all(path, write_ledger=True).grown
    stamp = ledger.stat().st_mtime_ns
    assert not load_all(path, write_ledger=True).grown
    assert ledger.stat().st_mtime_ns == stamp


def test_state_moves_the_ledger(written: Written, tmp_path: Path) -> None:
    path = written("lab")
    load_plan(path, state=tmp_path / "elsewhere", write_ledger=True)
    assert (tmp_path / "elsewhere" / "lab.ledger.yaml").exists()
    assert not state_paths(path).ledger.exists()


def test_a_ledger_is_never_half_written(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written("lab")
    load_plan(path, write_ledger=True)
    ledger = state_paths(path).ledger
    before = ledger.read_text()

    def fail(_self: Path, _target: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match=r"cannot be written: disk full; .*--state"):
        write(read(ledger), ledger)
    assert ledger.read_text() == before == dump(read(ledger))
    assert [entry.name for entry in ledger.parent.iterdir() if entry.name.startswith(".lab")] == []


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("speed: 400G", "speed: 200G")], "delete its ledger line to seat it again"),
        ([("speed: 800G, length_m: 40", "speed: 400G, length_m: 40")], "800G by the ledger and 400G by the intent"),
        ([("block: 25", "block: 24")], "every host address would change"),
        ([("  rails: 4\n", "  rails: 4\n  planes: 2\n")], "would rename or re-cable"),
        ([("  rails: 4\n", "  rails: 4\n  attachment: tor\n")], "would rename or re-cable"),
    ],
)
def test_changes_that_would_move_cables_are_refused(written: Written, pairs: list[tuple[str, str]], words: str) -> None:
    load_plan(written("lab"), write_ledger=True)
    assert words in refused(written("lab", *pairs))


def test_f119_the_message_names_the_pool_and_the_number(written: Written) -> None:
    message = refused(written("lab", ("[10.254.0.0/22]", "[10.254.0.0/28]")))
    assert "10.254.0.0/28" in message
    assert "8 in all" in message
    assert "p1-l[0-3]" in message


def test_f116_unequal_uplinks_never_share_a_prefix(written: Written) -> None:
    path = written("lab")
    before = load_plan(path, write_ledger=True)
    wider = load_plan(written("lab", ("count: 2, links: 2", "count: 3, links: 3")))
    addresses = [
        entry for switch in wider.switches.values() for port in switch.ports.values() for entry in port.addresses
    ]
    assert len(set(addresses)) == len(addresses)
    assert before.cables.items() <= wider.cables.items()
