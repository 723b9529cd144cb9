"""Expected next hops against a plain path-vector simulation of eBGP, and what AS-path rules must give."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.allocate import allocate, load_plan
from fabric.model.paths import NextHops, expected_next_hops
from fabric.values.plan import Plan, PortUse, Role
from tests.model.shapes import Document, documents, file_of

_TIER = {Role.LEAF: 0, Role.STORAGE: 0, Role.SPINE: 1, Role.SUPERSPINE: 2}


def simulated(plan: Plan, down: set[str]) -> dict[str, dict[str, set[str]]]:
    """switch -> origin -> local ports, by exchanging announcements until nothing changes."""
    links: dict[str, dict[str, set[str]]] = {name: {} for name in plan.switches}
    for cable in plan.cables.values():
        if cable.kind is PortUse.FABRIC and cable.name not in down:
            links[cable.a_device].setdefault(cable.b_device, set()).add(cable.a_port)
            links[cable.b_device].setdefault(cable.a_device, set()).add(cable.b_port)
    asn = {name: switch.asn for name, switch in plan.switches.items()}
    best: dict[str, dict[str, tuple[int, ...]]] = {name: {name: ()} for name in plan.switches}
    via: dict[str, dict[str, set[str]]] = {name: {} for name in plan.switches}
    for _ in range(4 * len(plan.switches)):
        before = {name: dict(table) for name, table in best.items()}
        for name in plan.switches:
            offers: dict[str, list[tuple[tuple[int, ...], str]]] = {}
            for peer in links[name]:
                for origin, path in before[peer].items():
                    whole = (asn[peer], *path)
                    if origin != name and asn[name] not in whole:
                        offers.setdefault(origin, []).append((whole, peer))
            best[name] = {name: ()}
            via[name] = {}
            for origin, listed in offers.items():
                shortest = min(len(path) for path, _ in listed)
                equal = [(path, peer) for path, peer in listed if len(path) == shortest]
                best[name][origin] = min(equal)[0]
                via[name][origin] = {port for _, peer in equal for port in links[name][peer]}
        if best == before:
            break
    return via


def as_table(hops: NextHops, plan: Plan) -> dict[str, dict[str, set[str]]]:
    return {name: {origin: set(ports) for origin, ports in hops.of(name).items()} for name in plan.switches}


def plan_of(document: Document) -> Plan:
    return allocate(file_of(document))[2]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=documents(), data=st.data())
def test_equal_to_a_simulation_of_bgp_with_cables_down(document: Document, data: st.DataObject) -> None:
    plan = plan_of(document)
    names = sorted(cable.name for cable in plan.cables.values() if cable.kind is PortUse.FABRIC)
    down = data.draw(st.sets(st.sampled_from(names), max_size=len(names) // 2)) if names else set()
    assert as_table(expected_next_hops(plan, down), plan) == simulated(plan, down)


@settings(max_examples=25, deadline=None)
@given(document=documents(tiers=2, attachment="rail-optimized"), data=st.data())
def test_equal_to_the_simulation_where_every_spine_has_its_own_as(document: Document, data: st.DataObject) -> None:
    plan = plan_of(document)
    spines = [name for name, switch in plan.switches.items() if switch.role is Role.SPINE]
    document["devices"] = {name: {"asn": 4200700000 + number} for number, name in enumerate(spines)}
    plan = plan_of(document)
    names = sorted(cable.name for cable in plan.cables.values() if cable.kind is PortUse.FABRIC)
    down = data.draw(st.sets(st.sampled_from(names), max_size=len(names) // 3))
    assert as_table(expected_next_hops(plan, down), plan) == simulated(plan, down)


@settings(max_examples=40, deadline=None)
@given(document=documents(attachment="rail-optimized"))
def test_every_leaf_reaches_every_leaf_and_no_valley_exists(document: Document) -> None:
    plan = plan_of(document)
    hops = expected_next_hops(plan)
    peers: Mapping[str, Mapping[str, str]] = {
        name: {port.name: port.peer_device or "" for port in switch.ports.values()}
        for name, switch in plan.switches.items()
    }
    leaves = [switch for switch in plan.switches.values() if switch.role is Role.LEAF]
    for one in leaves:
        for other in leaves:
            if one.name == other.name or one.plane != other.plane:
                continue
            assert hops.ports(one.name, other.name), (one.name, other.name)
            assert hops.hops(one.name, other.name) == (2 if one.pod == other.pod or not _three(plan) else 4)
    for name, switch in plan.switches.items():
        for origin, ports in hops.of(name).items():
            assert plan.switches[origin].plane == switch.plane
            for port in ports:
                peer = peers[name][port]
                down = _TIER[plan.switches[peer].role] < _TIER[switch.role]
                if down and peer != origin:
                    # Having gone down, the next step goes down too.
                    for further in hops.ports(peer, origin):
                        after = peers[peer][further]
                        assert _TIER[plan.switches[after].role] < _TIER[plan.switches[peer].role]


def _three(plan: Plan) -> bool:
    return any(switch.role is Role.SUPERSPINE for switch in plan.switches.values())


@settings(max_examples=20, deadline=None)
@given(document=documents(attachment="rail-only"))
def test_rails_of_a_rail_only_fabric_are_islands(document: Document) -> None:
    plan = plan_of(document)
    hops = expected_next_hops(plan)
    for name, switch in plan.switches.items():
        for origin in hops.of(name):
            assert plan.switches[origin].rail == switch.rail


@pytest.fixture(scope="module")
def sakuraone(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return load_plan(tree / "topology" / "sakuraone.yaml", state=tmp_path_factory.mktemp("state"))


def test_sakuraone_fan_out(sakuraone: Plan) -> None:
    hops = expected_next_hops(sakuraone)
    tables = {name: hops.of(name) for name in sakuraone.switches}
    leaf = tables["p1-l0"]
    assert {len(ports) for origin, ports in leaf.items() if "-l" in origin} == {32}
    assert {len(ports) for origin, ports in leaf.items() if origin.startswith("s")} == {4}
    assert len(leaf) == 15 + 8
    spine = tables["s0"]
    assert sorted(spine) == sorted(name for name in sakuraone.switches if "-l" in name)
    assert {len(ports) for ports in spine.values()} == {4}
    assert len(hops.groups("p1-l0")) == 9
    assert len(hops.groups("s0")) == 16
    assert tables["st0"] == {}


def test_a_dead_parallel_link_a_dead_pair_and_a_dead_spine(sakuraone: Plan) -> None:
    pair = [cable.name for cable in sakuraone.cables.values() if {cable.a_device, cable.b_device} == {"p1-l0", "s0"}]
    one = expected_next_hops(sakuraone, pair[:1])
    assert len(one.ports("p1-l0", "p2-l0")) == 31
    assert len(one.ports("p2-l0", "p1-l0")) == 32  # plain BGP does not tell others of a lost parallel link
    assert len(one.ports("s0", "p1-l0")) == 3
    whole = expected_next_hops(sakuraone, pair)
    assert len(whole.ports("p1-l0", "p2-l0")) == 28
    assert len(whole.ports("p2-l0", "p1-l0")) == 28
    assert len(whole.ports("p2-l0", "p1-l1")) == 32
    assert whole.ports("s0", "p1-l0") == frozenset()
    spine = expected_next_hops(sakuraone, down_devices=["s3"])
    assert len(spine.ports("p1-l0", "p2-l0")) == 28
    assert spine.of("s3") == {}
    port = expected_next_hops(sakuraone, down_ports=[("p1-l0", "Ethernet256")])
    assert "Ethernet256" not in port.ports("p1-l0", "p2-l0")


def test_f064_no_more_next_hops_than_maximum_paths(sakuraone: Plan) -> None:
    from dataclasses import replace

    narrow = replace(sakuraone, routing=replace(sakuraone.routing, maximum_paths=16))
    hops = expected_next_hops(narrow)
    assert len(hops.ports("p1-l0", "p2-l0")) == 32
    assert hops.width("p1-l0", "p2-l0") == 16


def test_f073_leaves_that_share_an_as_lose_each_other(sakuraone: Plan) -> None:
    from dataclasses import replace

    same = {
        name: replace(switch, asn=65001) if switch.role is Role.LEAF else switch
        for name, switch in sakuraone.switches.items()
    }
    hops = expected_next_hops(replace(sakuraone, switches=same))
    assert hops.ports("p1-l0", "p1-l1") == frozenset()


def test_unknown_switches_are_no_answer(sakuraone: Plan) -> None:
    with pytest.raises(KeyError):
        expected_next_hops(sakuraone).ports("p9-l0", "s0")
