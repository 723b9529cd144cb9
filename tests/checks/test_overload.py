"""What lost uplinks leave (BGP-05), with and without weights, as the tables say and not as the intent hopes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from fabric.checks import run_checks
from fabric.values.finding import Finding, Report, Severity, Status
from fabric.values.plan import Plan
from fabric.values.snapshot import Snapshot
from fabric.whatif.faults import Cut, Fault, LoseNextHop
from fabric.whatif.synthetic import Synthetic, place
from tests.checks.bench import everything
from tests.whatif.clos import clos

# 5 hosts of 400G on 4 uplinks of 800G: three links carry them, but not half of their traffic on one.
LOST = [Cut(place("p1-l3:Ethernet256"))]


@cache
def plan(weighted: bool) -> Plan:
    """One pod, 4 rails, 2 spines with 2 links a pair, 5 nodes."""
    made = clos(rails=4, nodes=5)
    return dataclasses.replace(made, routing=dataclasses.replace(made.routing, weighted_ecmp=weighted))


@cache
def fabric(weighted: bool) -> Synthetic:
    return Synthetic(plan(weighted))


def _run(weighted: bool, snapshot: Snapshot) -> Report:
    return run_checks(plan(weighted), snapshot, only=["links", "bgp", "ecmp"])


def _overload(report: Report) -> list[Finding]:
    return [one for one in everything(report.findings) if one.code == "BGP-05"]


def _plain_weights(snapshot: Snapshot, layers: Iterable[str]) -> Snapshot:
    """All weights 1 in these layers of every leaf: the route map, or the ASIC, does not do it."""
    switches = dict(snapshot.switches)
    for name, state in switches.items():
        tables: dict[str, Any] = {
            layer: {
                prefix: dataclasses.replace(
                    route, next_hops=tuple(dataclasses.replace(hop, weight=1) for hop in route.next_hops)
                )
                for prefix, route in getattr(state, layer).items()
            }
            for layer in layers
        }
        switches[name] = dataclasses.replace(state, **tables)
    return dataclasses.replace(snapshot, switches=switches)


def test_plain_bgp_overloads_what_is_left_to_a_leaf() -> None:
    (finding,) = _overload(_run(False, fabric(False).snapshot(LOST)))
    assert (finding.device, finding.status, finding.severity) == ("p1-l3", Status.FAIL, Severity.BLOCK)
    assert "through s0 loads the 800G that is left with 125%" in (finding.observed or "")
    assert "shut the other sessions of p1-l3 to s0" in (finding.remedy or "")


def test_weights_that_are_in_force_leave_no_overload_and_no_finding_about_them() -> None:
    report = _run(True, fabric(True).snapshot(LOST))
    assert {one.code for one in everything(report.findings)} == {"PHY-05", "BGP-01"}


@pytest.mark.parametrize("layers", [("rib", "kernel", "appl", "asic"), ("asic",)], ids=["route-map", "asic"])
def test_weights_that_only_the_intent_has_do_not_excuse(layers: tuple[str, ...]) -> None:
    report = _run(True, _plain_weights(fabric(True).snapshot(LOST), layers))
    (finding,) = _overload(report)
    assert (finding.device, finding.status) == ("p1-l3", Status.FAIL)
    assert "loads the 800G that is left with 125%, because other leaves do not weigh it" in (finding.observed or "")
    assert "ECMP-06" in (finding.remedy or "")
    assert "ECMP-06" in {one.code for one in everything(report.findings)}


def test_weights_of_some_leaves_count_for_their_part() -> None:
    snapshot = fabric(True).snapshot(LOST)
    one = _plain_weights(snapshot, ("asic",))
    mixed = dataclasses.replace(snapshot, switches={**snapshot.switches, "p1-l0": one.switches["p1-l0"]})
    assert _overload(_run(True, mixed)) == [], "a third of the senders at half, two thirds at a third: 97 % of the link"


@pytest.mark.parametrize("weighted", [False, True])
def test_no_weight_makes_room_where_all_uplinks_together_are_too_few(weighted: bool) -> None:
    faults: list[Fault] = [Cut(place(f"p1-l3:{port}")) for port in ("Ethernet256", "Ethernet264")]
    report = _run(weighted, fabric(weighted).snapshot(faults))
    (finding,) = _overload(report)
    assert "can send 2000G into 1600G of uplinks (125%)" in (finding.observed or "")
    assert "keep jobs off p1-l3" in (finding.remedy or "")


def test_leaves_that_tell_nothing_are_no_overload_but_holes() -> None:
    snapshot = fabric(True).snapshot(LOST)
    mute = {
        name: dataclasses.replace(state, rib=None, kernel=None, appl=None, asic=None)
        for name, state in snapshot.switches.items()
    }
    report = _run(True, dataclasses.replace(snapshot, switches=mute))
    assert _overload(report) == []
    assert "COV-01" in {one.code for one in everything(report.findings)}


def test_a_healthy_weighted_fabric_is_silent_and_a_lost_next_hop_is_still_one_story() -> None:
    assert _run(True, fabric(True).snapshot()).findings == ()
    lost = LoseNextHop("p1-l0", "10.101.3.0/25", "10.254.0.1", "asic")
    assert [one.code for one in _run(True, fabric(True).snapshot([lost])).findings] == ["BGP-03"]
