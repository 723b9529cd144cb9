"""A next hop that the RIB lacks: which end of the session keeps the prefix back, and whose story it is."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from fabric.values.finding import Finding
from fabric.values.snapshot import Snapshot
from fabric.whatif.faults import LoseNextHop, LoseRoute
from fabric.whatif.synthetic import Synthetic
from tests.checks.bench import judged, only, small
from tests.whatif.clos import clos

PREFIX, LEAF, OTHER, SPINE = "10.101.3.0/25", "p1-l1", "p1-l3", "s0"
# p1-l1 Ethernet256 to s0 Ethernet16.
HERE, THERE = "10.254.0.9", "10.254.0.8"
LOST = LoseNextHop(LEAF, PREFIX, HERE, "rib")


def _peer(snapshot: Snapshot, device: str, peer: str, **changes: Any) -> Snapshot:
    state = snapshot.switches[device]
    bgp = {**(state.bgp or {}), peer: dataclasses.replace((state.bgp or {})[peer], **changes)}
    return dataclasses.replace(snapshot, switches={**snapshot.switches, device: dataclasses.replace(state, bgp=bgp)})


def _sent(snapshot: Snapshot) -> int:
    count = (snapshot.switches[SPINE].bgp or {})[THERE].prefixes_sent
    assert count
    return count


def _told(snapshot: Snapshot) -> Finding:
    finding = only(judged(small().plan, snapshot))
    assert (finding.code, finding.device, finding.port) == ("BGP-03", LEAF, "Ethernet256")
    assert f"RIB lacks next hop {HERE} over Ethernet256 (s0) for {PREFIX}" in (finding.observed or "")
    return finding


def test_sent_and_not_taken_is_a_filter_here() -> None:
    finding = _told(small().snapshot([LOST]))
    assert "p1-l1 refuses" in (finding.evidence or "")
    assert f"inbound prefix-list, filter-list or route-map for {HERE}" in (finding.remedy or "")
    assert f"clear bgp ipv4 unicast {HERE} soft in" in (finding.remedy or "")


def test_not_sent_is_a_filter_at_the_neighbour() -> None:
    snapshot = small().snapshot([LOST])
    finding = _told(_peer(snapshot, SPINE, THERE, prefixes_sent=_sent(snapshot) - 1))
    assert "s0 Ethernet16 sends" in (finding.evidence or "")
    assert (finding.remedy or "").startswith("on s0: ")
    assert f"neighbors {THERE} advertised-routes" in (finding.remedy or "")


def test_taken_and_not_used_is_multipath() -> None:
    snapshot = small().snapshot([LOST])
    taken = (snapshot.switches[LEAF].bgp or {})[HERE].prefixes_received or 0
    finding = _told(_peer(snapshot, LEAF, HERE, prefixes_received=taken + 1))
    assert "maximum-paths" in (finding.remedy or "")


@pytest.mark.parametrize("device", [LEAF, SPINE])
def test_without_counts_both_ends_are_to_be_asked(device: str) -> None:
    peer = HERE if device == LEAF else THERE
    gone: dict[str, Any] = {"prefixes_received": None} if device == LEAF else {"prefixes_sent": None}
    finding = _told(_peer(small().snapshot([LOST]), device, peer, **gone))
    assert f"`vtysh -c 'show bgp ipv4 unicast neighbors {THERE} advertised-routes'` on s0" in (finding.remedy or "")
    assert "an inbound filter of p1-l1 drops it; without, an outbound filter of s0" in (finding.remedy or "")


def test_a_prefix_of_the_other_family_is_asked_for_in_its_own_words() -> None:
    plan = clos(rails=4, nodes=4)
    switches = {
        name: dataclasses.replace(switch, networks=(*switch.networks, f"2001:db8:{number:x}::/64"))
        for number, (name, switch) in enumerate(plan.switches.items(), 1)
    }
    plan = dataclasses.replace(plan, switches=switches, routing=dataclasses.replace(plan.routing, unnumbered=True))
    fabric = Synthetic(plan)
    rib = fabric.snapshot().switches[LEAF].rib
    prefix = switches[OTHER].networks[-1]
    assert rib is not None
    hop = next(hop for hop in rib[prefix].next_hops if hop.port == "Ethernet256")
    snapshot = fabric.snapshot()
    left = tuple(one for one in rib[prefix].next_hops if one is not hop)
    table = {**rib, prefix: dataclasses.replace(rib[prefix], next_hops=left)}
    state = dataclasses.replace(snapshot.switches[LEAF], rib=table, kernel=None, appl=None, asic=None)
    report = judged(plan, dataclasses.replace(snapshot, switches={**snapshot.switches, LEAF: state}), only=["ecmp"])
    (finding,) = (one for one in report.findings if one.code == "BGP-03")
    assert finding.port == "Ethernet256"
    assert "show bgp ipv6 unicast" in (finding.remedy or "")


# Whose story it is


def _unannounced(gone_at_home: bool) -> Snapshot:
    """p1-l3 no longer announces its prefix: nobody else has it."""
    others = [name for name in small().plan.switches if name != OTHER]
    faults = [LoseRoute(name, PREFIX, layer) for name in others for layer in ("rib", "kernel", "appl", "asic")]
    if gone_at_home:
        faults += [LoseRoute(OTHER, PREFIX, layer) for layer in ("rib", "kernel", "appl", "asic")]
    return small().snapshot(faults)


@pytest.mark.parametrize(
    ("gone", "words", "remedy"),
    [
        (False, "though it has the route itself", f"`network {PREFIX}` is missing"),
        (True, f"and has no route to {PREFIX} itself, which it must originate", f"`ip route {PREFIX} blackhole`"),
    ],
)
def test_a_leaf_that_stopped_announcing_is_one_story_for_all_who_miss_it(gone: bool, words: str, remedy: str) -> None:
    finding = only(judged(small().plan, _unannounced(gone)))
    assert (finding.code, finding.device, finding.port) == ("BGP-03", OTHER, None)
    assert words in (finding.observed or "")
    assert remedy in (finding.remedy or "")
    assert {one.device for one in finding.consequences} == {"s0", "s1", "p1-l0", "p1-l1", "p1-l2"}


def test_a_filter_beside_a_leaf_that_stopped_announcing_stays_a_story_of_its_own() -> None:
    others = [name for name in small().plan.switches if name != OTHER]
    faults: list[Any] = [
        LoseRoute(name, PREFIX, layer) for name in others for layer in ("rib", "kernel", "appl", "asic")
    ]
    faults.append(LoseNextHop("p1-l0", "10.101.2.0/25", "10.254.0.1", "rib"))
    report = judged(small().plan, small().snapshot(faults))
    assert sorted(one.device or "" for one in report.findings) == ["p1-l0", OTHER]
