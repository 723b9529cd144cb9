"""What a check says on top, and nothing else: the contract's faults, alone and in pairs."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from fabric.errors import InputError
from fabric.values.finding import Severity, Status, exit_code
from fabric.whatif.faults import (
    AdminDown,
    BgpdDown,
    Cut,
    Dead,
    Fault,
    Flap,
    LoseNextHop,
    Missing,
    NoLldp,
    Rebooted,
    Setting,
    StaleGroups,
    Swap,
    Unplugged,
    Unreachable,
)
from fabric.whatif.synthetic import place
from tests.checks.bench import BEFORE, NOW, everything, judge, judged, only, small, top, two_pods

CONTRACT: dict[str, tuple[Fault, str, str]] = {
    "swap": (Swap(place("p1-l0:Ethernet0"), place("p1-l1:Ethernet0")), "TOPO-01", "fail"),
    "swap-fabric": (Swap(place("p1-l0:Ethernet256"), place("p1-l0:Ethernet272")), "TOPO-02", "fail"),
    "cut": (Cut(place("p1-l2:Ethernet264")), "PHY-05", "fail"),
    "cut-host": (Cut(place("p1-l2:Ethernet4")), "PHY-05", "fail"),
    "flap": (Flap(place("p1-l3:Ethernet272"), 3), "PHY-04", "fail"),
    "flap-host": (Flap(place("p1-l3:Ethernet8"), 1), "PHY-04", "fail"),
    "nexthop-asic": (LoseNextHop("p1-l1", "10.101.3.0/25", "10.254.0.9", "asic"), "BGP-03", "fail"),
    "nexthop-appl": (LoseNextHop("p1-l1", "10.101.3.0/25", "10.254.0.9", "appl"), "BGP-03", "fail"),
    "nexthop-kernel": (LoseNextHop("p1-l1", "10.101.3.0/25", "10.254.0.9", "kernel"), "BGP-03", "fail"),
    "nexthop-rib": (LoseNextHop("p1-l1", "10.101.3.0/25", "10.254.0.9", "rib"), "BGP-03", "fail"),
    "bgpd": (BgpdDown("p1-l3"), "BGP-01", "fail"),
    "bgpd-spine": (BgpdDown("s1"), "BGP-01", "fail"),
    "lldp": (NoLldp(place("p1-l1:Ethernet280")), "TOPO-02", "unknown"),
    "lldp-host": (NoLldp(place("p1-l3:Ethernet12")), "TOPO-01", "unknown"),
    "mtu": (Setting(place("p1-l0:Ethernet264"), "mtu", 1500), "ADDR-03", "fail"),
    "nhg": (StaleGroups("p1-l2"), "BGP-03", "fail"),
}


@pytest.mark.parametrize("name", CONTRACT)
def test_each_fault_is_named_and_nothing_else(name: str) -> None:
    fault, code, status = CONTRACT[name]
    fabric = small()
    report = judge(fabric, [fault], baseline=fabric.snapshot(at=BEFORE), window_s=60)
    assert top(report) == [(code, status)]
    finding = only(report)
    assert finding.remedy
    assert finding.expected
    assert finding.observed
    assert exit_code(report.summary) == (2 if status == "unknown" else 1)


@pytest.mark.parametrize("name", CONTRACT)
def test_it_clears_when_the_fault_is_undone(name: str) -> None:
    fabric = small()
    broken = fabric.snapshot([CONTRACT[name][0]], at=BEFORE)
    report = judge(fabric, (), baseline=None if name.startswith("flap") else broken)
    assert report.findings == ()
    assert exit_code(report.summary) == 0


PAIRS = [
    (one, other)
    for one, other in itertools.combinations(CONTRACT, 2)
    # The first of each would hide the second: dead bgpd, or two faults of one layer on one switch.
    if {one, other} not in ({"nexthop-asic", "nexthop-rib"}, {"nexthop-appl", "nexthop-asic"})
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda name: str(name))
def test_pairs_of_faults_are_both_named_and_nothing_else(one: str, other: str) -> None:
    fabric = small()
    faults = [CONTRACT[one][0], CONTRACT[other][0]]
    # Faults of the routing tables are applied to what the other faults leave: a next hop that is gone cannot be lost.
    try:
        snapshot = fabric.snapshot(faults)
    except InputError as error:
        pytest.skip(f"these two cannot happen together: {error}")
    report = judged(fabric.plan, snapshot, baseline=fabric.snapshot(at=BEFORE), window_s=60)
    expected = {CONTRACT[one][1:], CONTRACT[other][1:]}
    if one.startswith("nexthop") and other.startswith("nexthop"):
        assert set(top(report)) == expected
        return
    assert sorted(set(top(report))) == sorted(expected)
    assert len(report.findings) <= 2


# Devices


def test_a_dead_leaf_is_one_finding() -> None:
    report = judge(two_pods(), [Dead("p1-l0")])
    finding = only(report)
    assert (finding.code, finding.device, finding.severity) == ("DEV-01", "p1-l0", Severity.BLOCK)
    assert finding.nodes == ("gpu001", "gpu002", "gpu003", "gpu004")
    codes = {one.code for one in everything(finding.consequences)}
    assert {"PHY-05", "BGP-01", "BGP-05"} <= codes
    assert report.summary.missing_devices == ("p1-l0",)
    assert exit_code(report.summary) == 1


def test_a_dead_spine_warns_while_the_rest_carries_everything() -> None:
    finding = only(judge(two_pods(), [Dead("s3")]))
    assert (finding.code, finding.severity) == ("DEV-01", Severity.WARN)


def test_a_dead_host_is_one_finding() -> None:
    finding = only(judge(two_pods(), [Dead("gpu006")]))
    assert (finding.code, finding.node, finding.rails) == ("DEV-01", "gpu006", (0, 1, 2, 3))


def test_two_dead_devices_are_two_findings() -> None:
    report = judge(two_pods(), [Dead("p2-l1"), Dead("gpu001")])
    assert {(finding.code, finding.device or finding.node) for finding in report.findings} == {
        ("DEV-01", "p2-l1"),
        ("DEV-01", "gpu001"),
    }


def test_an_unreachable_switch_that_forwards_is_unknown_and_not_dead() -> None:
    finding = only(judge(two_pods(), [Unreachable("p1-l0")]))
    assert (finding.code, finding.status, finding.severity) == ("COV-01", Status.UNKNOWN, Severity.BLOCK)
    assert "still forwards" in (finding.evidence or "")


@pytest.mark.parametrize("part", ["lldp", "ports", "bgp", "rib", "appl", "asic"])
def test_a_hole_is_never_healthy(part: str) -> None:
    report = judge(small(), [Missing("p1-l1", part)])
    assert [finding.code for finding in report.findings if finding.status is Status.UNKNOWN] == ["COV-01"]
    assert not [finding for finding in report.findings if finding.status is Status.FAIL]
    assert exit_code(report.summary) == 2


def test_F056_a_restart_seen_in_uptime_is_one_event() -> None:
    fabric = small()
    report = judge(fabric, [Rebooted("s0", NOW - 30)], baseline=fabric.snapshot(at=BEFORE), window_s=60)
    finding = only(report)
    assert (finding.code, finding.status, finding.device) == ("DEV-02", Status.WARN, "s0")
    assert len(finding.consequences) == 8
    assert exit_code(report.summary) == 0


def test_F056_a_restart_seen_only_by_its_neighbours_is_one_event() -> None:
    fabric = two_pods()
    flaps: list[Fault] = [Flap(place(f"s2:{port}"), 1, when=NOW - 20) for port in fabric.plan.switches["s2"].ports]
    report = judge(fabric, flaps, baseline=fabric.snapshot(at=BEFORE), window_s=60)
    finding = only(report)
    assert (finding.code, finding.device) == ("DEV-02", "s2")
    assert "all of its links" in (finding.evidence or "")


def test_a_port_shut_by_hand_says_so() -> None:
    finding = only(judge(small(), [AdminDown(place("p1-l0:Ethernet256"))]))
    assert finding.code == "PHY-05"
    assert "admin down: somebody shut it" in (finding.evidence or "")
    assert "sudo config interface startup Ethernet256" in (finding.remedy or "")


def test_an_empty_cage_is_the_cause_of_its_dark_link() -> None:
    finding = only(judge(small(), [Unplugged(place("p1-l0:Ethernet256"))]))
    assert finding.code == "PHY-06"
    assert "put a module into p1-l0 Ethernet256" in (finding.remedy or "")


def test_F052_a_fec_difference_explains_the_dark_link() -> None:
    finding = only(judge(small(), [Setting(place("p1-l0:Ethernet256"), "fec", "none")]))
    assert finding.code == "PHY-03"
    assert "FEC none instead of rs" in (finding.observed or "")
    assert "FEC rs" in (finding.evidence or "")
    assert "PHY-05" in {one.code for one in finding.consequences}


def test_F051_all_children_of_a_cage_are_one_finding() -> None:
    finding = only(judge(small(), [Cut(place("p1-l0:Ethernet0")), Cut(place("p1-l0:Ethernet4"))]))
    assert (finding.code, finding.nodes) == ("PHY-05", ("gpu001", "gpu002"))
    assert "all 2 links of cage Ethernet0" in (finding.observed or "")


def test_a_lost_parallel_link_raises_its_severity_when_the_rest_overflows() -> None:
    """2 spines x 2 links of 800G for 4 hosts of 400G: one link less carries all, three less do not."""
    fabric = small()
    assert only(judge(fabric, [Cut(place("p1-l0:Ethernet256"))])).severity is Severity.WARN
    report = judge(fabric, [Cut(place(f"p1-l0:Ethernet{port}")) for port in (256, 264, 272)])
    assert report.findings[0].severity is Severity.BLOCK
    under = [one for one in everything(report.findings) if one.code == "BGP-05"]
    assert len(under) == 1
    assert "200%" in (under[0].observed or "")


def test_every_consequence_keeps_its_code_and_place() -> None:
    report = judge(small(), [Swap(place("p1-l0:Ethernet256"), place("p1-l0:Ethernet272"))])
    below = list(everything(only(report).consequences))
    assert below
    assert all(one.code and (one.device or one.node) and one.observed for one in below)


def test_nothing_at_all_is_not_healthy() -> None:
    fabric = small()
    empty = dataclasses.replace(fabric.snapshot(), switches={}, missing=dict.fromkeys(fabric.plan.switches, "timeout"))
    report = judged(fabric.plan, empty)
    assert exit_code(report.summary) == 2
    assert len(report.summary.missing_devices) == 6
    assert all(finding.status is Status.UNKNOWN for finding in report.findings)
