"""Sessions and next hops: RIB, kernel, APPL_DB, ASIC_DB, and who is to blame."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from fabric.checks.reach import bits, reach
from fabric.values.change import Held
from fabric.values.finding import Severity, Status
from fabric.values.plan import Plan
from fabric.values.snapshot import FibRoute, Neighbour, NextHop, Snapshot
from fabric.whatif.faults import BgpdDown, Cut, Dead, LoseNextHop, LoseRoute, SessionDown, StaleGroups
from fabric.whatif.synthetic import Synthetic, place
from tests.checks.bench import BEFORE, everything, judge, judged, only, small, top, two_pods
from tests.whatif.clos import clos

PREFIX = "10.101.3.0/25"


def edit(snapshot: Snapshot, device: str, **changes: Any) -> Snapshot:
    state = dataclasses.replace(snapshot.switches[device], **changes)
    return dataclasses.replace(snapshot, switches={**snapshot.switches, device: state})


def routed(snapshot: Snapshot, device: str, layer: str, prefix: str, **changes: Any) -> Snapshot:
    """One route of one layer changed."""
    table = dict(getattr(snapshot.switches[device], layer))
    table[prefix] = dataclasses.replace(table[prefix], **changes)
    return edit(snapshot, device, **{layer: table})


# Reach


def _adjacent(plan: Plan) -> dict[str, dict[str, tuple[str, ...]]]:
    table: dict[str, dict[str, tuple[str, ...]]] = {}
    for switch in plan.switches.values():
        for port in switch.sessions():
            assert port.peer_device is not None
            of = table.setdefault(switch.name, {})
            of[port.peer_device] = (*of.get(port.peer_device, ()), port.name)
    return table


def test_reach_is_what_bgp_makes_of_the_sessions() -> None:
    """Against the generator's own search, switch by switch and prefix by prefix."""
    for fabric in (small(), two_pods()):
        plan, snapshot = fabric.plan, fabric.snapshot()
        found = reach({name: switch.asn for name, switch in plan.switches.items()}, _adjacent(plan))
        for name, state in snapshot.switches.items():
            for origin, switch in plan.switches.items():
                for prefix in switch.networks:
                    route = (state.rib or {}).get(prefix)
                    hops = route.next_hops if route is not None and route.protocol == "bgp" else ()
                    assert found.ports(name, origin) == frozenset(hop.port for hop in hops), (name, prefix)


def test_spines_never_hold_each_others_loopback() -> None:
    plan = small().plan
    found = reach({name: switch.asn for name, switch in plan.switches.items()}, _adjacent(plan))
    assert found.ports("s0", "s1") == frozenset()
    assert len(found.ports("p1-l0", "s1")) == 2


def test_a_spine_without_a_leaf_takes_no_valley() -> None:
    plan = small().plan
    adjacent = _adjacent(plan)
    del adjacent["p1-l3"]["s0"]
    del adjacent["s0"]["p1-l3"]
    found = reach({name: switch.asn for name, switch in plan.switches.items()}, adjacent)
    assert found.ports("s0", "p1-l3") == frozenset()
    assert found.ports("p1-l0", "p1-l3") == frozenset({"Ethernet272", "Ethernet280"})


def test_bits_are_counted_from_zero() -> None:
    assert list(bits(0b101001)) == [0, 3, 5]


# Layers


@pytest.mark.parametrize(
    ("layer", "name"), [("rib", "RIB"), ("kernel", "kernel"), ("appl", "APPL_DB"), ("asic", "ASIC_DB")]
)
def test_a_lost_next_hop_is_named_at_its_layer(layer: str, name: str) -> None:
    finding = only(judge(small(), [LoseNextHop("p1-l1", PREFIX, "10.254.0.9", layer)]))
    assert (finding.code, finding.status, finding.severity) == ("BGP-03", Status.FAIL, Severity.BLOCK)
    assert (finding.device, finding.port, finding.rail) == ("p1-l1", "Ethernet256", 1)
    assert f"{name} lacks next hop 10.254.0.9 over Ethernet256 (s0) for {PREFIX}" in (finding.observed or "")


@pytest.mark.parametrize("layer", ["kernel", "appl", "asic"])
def test_a_lost_route_is_named_at_its_layer(layer: str) -> None:
    finding = only(judge(small(), [LoseRoute("p1-l1", PREFIX, layer)]))
    assert f"has no route to {PREFIX}" in (finding.observed or "")


def test_F070_layers_below_a_loss_repeat_it_and_say_nothing() -> None:
    faults = [LoseNextHop("p1-l1", PREFIX, "10.254.0.9", layer) for layer in ("rib", "kernel", "appl", "asic")]
    assert "RIB lacks" in (only(judge(small(), faults)).observed or "")
    faults = [LoseNextHop("p1-l1", PREFIX, "10.254.0.9", layer) for layer in ("appl", "asic")]
    assert "APPL_DB lacks" in (only(judge(small(), faults)).observed or "")


def test_kernel_and_appl_losing_the_same_is_one_finding() -> None:
    faults = [LoseNextHop("p1-l1", PREFIX, "10.254.0.9", layer) for layer in ("kernel", "appl", "asic")]
    assert "kernel and APPL_DB lacks" in (only(judge(small(), faults)).observed or "")


def test_the_next_hop_group_fault_is_kernel_against_rib() -> None:
    finding = only(judge(small(), [StaleGroups("p1-l2")]))
    assert "kernel lacks 3 next hops" in (finding.observed or "")
    assert (finding.evidence or "").startswith("RIB 4 next hops, kernel 1 for")


def test_a_next_hop_too_many_below_the_rib_still_forwards_into_nothing() -> None:
    fabric = small()
    extra = (*fabric.snapshot().switches["p1-l0"].asic[PREFIX].next_hops, NextHop("10.0.0.9", "Ethernet0"))  # type: ignore[index]
    finding = only(judged(fabric.plan, routed(fabric.snapshot(), "p1-l0", "asic", PREFIX, next_hops=extra)))
    assert "ASIC_DB still uses" in (finding.observed or "")


def test_a_chain_that_leads_nowhere_is_a_loss() -> None:
    fabric = small()
    snapshot = routed(fabric.snapshot(), "p1-l0", "asic", PREFIX, next_hops=(), unresolved=("oid:0x5000000000abc",))
    assert "ASIC_DB lacks 4 next hops" in (only(judged(fabric.plan, snapshot)).observed or "")


def test_F067_rejected_and_queued_routes_are_told_from_good_ones() -> None:
    fabric = small()
    rejected = routed(fabric.snapshot(), "p1-l0", "rib", PREFIX, failed=True)
    assert "rejected by the forwarding layer" in (only(judged(fabric.plan, rejected)).observed or "")
    waiting = routed(fabric.snapshot(), "p1-l0", "rib", PREFIX, queued=True)
    assert only(judged(fabric.plan, waiting)).status is Status.WARN


def test_F067_a_route_that_is_not_offloaded_warns_and_fails_when_it_lasts() -> None:
    fabric = small()
    slow = routed(fabric.snapshot(), "p1-l0", "rib", PREFIX, offloaded=None)
    finding = only(judged(fabric.plan, slow))
    assert (finding.code, finding.status) == ("BGP-03", Status.WARN)
    assert f"{PREFIX} not offloaded yet" in (finding.observed or "")
    before = routed(fabric.snapshot(at=BEFORE), "p1-l0", "rib", PREFIX, offloaded=None)
    assert only(judged(fabric.plan, slow, baseline=before)).status is Status.FAIL


def test_a_switch_that_does_not_track_offloading_is_not_judged_by_it() -> None:
    fabric = small()
    rib = {
        prefix: dataclasses.replace(route, offloaded=None)
        for prefix, route in (fabric.snapshot().switches["p1-l0"].rib or {}).items()
    }
    assert judged(fabric.plan, edit(fabric.snapshot(), "p1-l0", rib=rib)).findings == ()


def test_F069_a_route_that_is_not_installed_fails() -> None:
    fabric = small()
    lost = routed(fabric.snapshot(), "p1-l0", "rib", PREFIX, installed=False)
    assert "not installed" in (only(judged(fabric.plan, lost)).observed or "")


def test_F066_connected_and_static_prefixes_have_their_own_rules() -> None:
    """A connected prefix that the kernel spells in another way is not compared."""
    fabric = small()
    snapshot = fabric.snapshot()
    kernel = {key: route for key, route in (snapshot.switches["p1-l0"].kernel or {}).items() if "10.254" not in key}
    assert judged(fabric.plan, edit(snapshot, "p1-l0", kernel=kernel)).findings == ()


def test_host_routes_without_their_length_are_the_same_in_appl_db() -> None:
    fabric = small()
    snapshot = fabric.snapshot()
    appl: dict[str, FibRoute] = {
        key.removesuffix("/32"): route for key, route in (snapshot.switches["p1-l0"].appl or {}).items()
    }
    assert judged(fabric.plan, edit(snapshot, "p1-l0", appl=appl)).findings == ()


def test_next_hops_without_a_port_are_known_by_their_address() -> None:
    fabric = small()
    snapshot = fabric.snapshot()
    asic = {
        key: dataclasses.replace(
            route, next_hops=tuple(NextHop(hop.address, "" if hop.address else hop.port) for hop in route.next_hops)
        )
        for key, route in (snapshot.switches["p1-l0"].asic or {}).items()
    }
    assert judged(fabric.plan, edit(snapshot, "p1-l0", asic=asic)).findings == ()


def test_the_kernel_may_be_missing_where_the_databases_are_not() -> None:
    fabric = small()
    assert judged(fabric.plan, edit(fabric.snapshot(), "p1-l0", kernel=None)).findings == ()


def test_F064_more_paths_than_allowed_are_expected_in_number_only() -> None:
    plan = clos(rails=4, nodes=4)
    plan = dataclasses.replace(plan, routing=dataclasses.replace(plan.routing, maximum_paths=3))
    assert judged(plan, Synthetic(plan).snapshot()).findings == ()


def test_F071_failed_neighbours_are_found_and_stale_ones_forward() -> None:
    fabric = small()
    for state, count in (("STALE", 0), ("REACHABLE", 0), ("FAILED", 1), ("INCOMPLETE", 1)):
        entry = Neighbour("10.101.0.1", "Ethernet0", "", state)
        report = judged(fabric.plan, edit(fabric.snapshot(), "p1-l0", neighbours=(entry,)))
        assert [finding.code for finding in report.findings] == ["ADDR-04"] * count


# Known down is no loss


def test_a_dead_uplink_takes_its_next_hops_out_of_the_expectation() -> None:
    report = judge(small(), [Cut(place("p1-l0:Ethernet256"))])
    assert "BGP-03" not in {one.code for one in everything(report.findings)}


def test_a_leaf_cut_from_one_spine_is_expected_elsewhere_without_it() -> None:
    report = judge(small(), [Cut(place("p1-l3:Ethernet256")), Cut(place("p1-l3:Ethernet264"))])
    assert "BGP-03" not in {one.code for one in everything(report.findings)}


def test_a_dead_spine_takes_its_paths_out_of_the_expectation() -> None:
    report = judge(two_pods(), [Dead("s2")])
    assert top(report) == [("DEV-01", "fail")]
    assert "BGP-03" not in {one.code for one in everything(report.findings)}


def test_two_dead_bgpd_are_two_findings() -> None:
    report = judge(small(), [BgpdDown("p1-l3"), BgpdDown("s1")])
    assert sorted((finding.code, finding.device) for finding in report.findings) == [
        ("BGP-01", "p1-l3"),
        ("BGP-01", "s1"),
    ]


# Blame


def _without(snapshot: Snapshot, device: str, ports: set[str], prefix: str) -> Snapshot:
    """A RIB (and all below) without these ports for a prefix."""
    state = snapshot.switches[device]
    changes: dict[str, Any] = {}
    for layer in ("rib", "kernel", "appl", "asic"):
        table = dict(getattr(state, layer))
        route = table[prefix]
        table[prefix] = dataclasses.replace(
            route, next_hops=tuple(hop for hop in route.next_hops if hop.port not in ports)
        )
        changes[layer] = table
    return edit(snapshot, device, **changes)


def _gone(snapshot: Snapshot, device: str, prefix: str) -> Snapshot:
    state = snapshot.switches[device]
    changes: dict[str, Any] = {}
    for layer in ("rib", "kernel", "appl", "asic"):
        table = dict(getattr(state, layer))
        del table[prefix]
        changes[layer] = table
    return edit(snapshot, device, **changes)


def test_a_spine_that_lost_a_route_explains_the_leaves_that_miss_it() -> None:
    fabric = small()
    snapshot = _gone(fabric.snapshot(), "s0", PREFIX)
    for leaf in ("p1-l0", "p1-l1", "p1-l2"):
        snapshot = _without(snapshot, leaf, {"Ethernet256", "Ethernet264"}, PREFIX)
    finding = only(judged(fabric.plan, snapshot))
    assert (finding.device, finding.code) == ("s0", "BGP-03")
    assert f"RIB has no route to {PREFIX}" in (finding.observed or "")
    assert {one.device for one in finding.consequences} == {"p1-l0", "p1-l1", "p1-l2"}


def test_a_drained_spine_is_one_finding_and_names_the_way_out() -> None:
    fabric = small()
    snapshot = fabric.snapshot()
    for leaf in ("p1-l0", "p1-l1", "p1-l2"):
        snapshot = _without(snapshot, leaf, {"Ethernet256", "Ethernet264"}, PREFIX)
    finding = only(judged(fabric.plan, snapshot))
    assert finding.device == "s0"
    assert "to none of its neighbours" in (finding.observed or "")
    assert "TSC" in (finding.remedy or "")
    assert judged(fabric.plan, snapshot, held=[Held("s0", "drained", "", "")]).summary.fail == 0


# Sessions


def test_a_single_session_down_warns_and_names_both_ends() -> None:
    finding = only(judge(small(), [SessionDown(place("p1-l0:Ethernet256"))]))
    assert (finding.code, finding.severity) == ("BGP-01", Severity.WARN)
    assert "p1-l0 says Active" in (finding.observed or "")
    assert "s0 says Active" in (finding.observed or "")


def peer(snapshot: Snapshot, device: str, address: str, **changes: Any) -> Snapshot:
    table = dict(snapshot.switches[device].bgp or {})
    table[address] = dataclasses.replace(table[address], **changes)
    return edit(snapshot, device, bgp=table)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"policy_blocked": True, "prefixes_received": 0}, "(Policy)"),
        ({"remote_asn": 65001}, "has AS 65001 at 10.254.0.1, planned is 4200000000"),
        ({"prefixes_received": 0}, "gets no prefix from 10.254.0.1"),
        ({"state": "Idle", "admin_down": True}, "shut by hand"),
    ],
)
def test_established_is_not_enough(changes: dict[str, Any], words: str) -> None:
    fabric = small()
    report = judged(fabric.plan, peer(fabric.snapshot(), "p1-l0", "10.254.0.1", **changes), only=["bgp"])
    assert words in (only(report).observed or "")


def test_bfd_must_be_up_where_the_plan_has_it() -> None:
    plan = small().plan
    wanted = dataclasses.replace(plan, routing=dataclasses.replace(plan.routing, bfd=True))
    report = judged(wanted, small().snapshot(), only=["bgp"])
    assert "no BFD session up" in (report.findings[0].observed or "") or report.findings[0].consequences


def test_a_session_the_plan_does_not_have_is_a_warning() -> None:
    fabric = small()
    table = dict(fabric.snapshot().switches["p1-l0"].bgp or {})
    table["192.0.2.1"] = dataclasses.replace(table["10.254.0.1"], peer="192.0.2.1")
    finding = only(judged(fabric.plan, edit(fabric.snapshot(), "p1-l0", bgp=table)))
    assert (finding.status, finding.code) == (Status.WARN, "BGP-01")
    assert "192.0.2.1" in (finding.observed or "")


# Tables in bulk


def _plain(snapshot: Snapshot) -> Snapshot:
    """The same snapshot with every route table an ordinary dictionary of routes of its own."""
    switches = {}
    for name, state in snapshot.switches.items():
        layers: dict[str, Any] = {}
        for layer in ("rib", "kernel", "appl", "asic"):
            table = getattr(state, layer)
            if table is not None:
                layers[layer] = {
                    prefix: dataclasses.replace(route, next_hops=(*route.next_hops[:1], *route.next_hops[1:]))
                    for prefix, route in table.items()
                }
        switches[name] = dataclasses.replace(state, **layers)
    return dataclasses.replace(snapshot, switches=switches)


@pytest.mark.parametrize(
    "faults",
    [
        [],
        [LoseNextHop("p1-l1", PREFIX, "10.254.0.17", "asic")],
        [LoseNextHop("p1-l1", PREFIX, "10.254.0.17", "rib"), LoseRoute("s1", "10.102.1.0/25", "appl")],
        [LoseRoute("p2-l1", PREFIX, "rib")],
        [StaleGroups("p2-l2")],
        [BgpdDown("s1"), Cut(place("p1-l0:Ethernet256"))],
        [Dead("p2-l3")],
        [SessionDown(place("p1-l2:Ethernet264")), LoseNextHop("p1-l0", "10.255.0.2/32", "10.254.0.5", "kernel")],
    ],
    ids=["healthy", "asic", "rib-and-route", "rib-route", "groups", "sessions", "dead-leaf", "session-and-kernel"],
)
def test_tables_read_in_bulk_and_route_by_route_say_the_same(faults: list[Any]) -> None:
    fabric = two_pods()
    snapshot = fabric.snapshot(faults)
    fast, slow = judged(fabric.plan, snapshot), judged(fabric.plan, _plain(snapshot))
    assert fast.findings == slow.findings
    assert fast.summary == slow.summary


def test_a_prefix_of_two_owners_is_read_route_by_route() -> None:
    plan = clos(rails=4, nodes=4)
    switches = dict(plan.switches)
    for name in ("p1-l0", "p1-l1"):
        switches[name] = dataclasses.replace(switches[name], networks=(*switches[name].networks, "10.200.0.0/24"))
    plan = dataclasses.replace(plan, switches=switches)
    assert judged(plan, Synthetic(plan).snapshot()).findings == ()
