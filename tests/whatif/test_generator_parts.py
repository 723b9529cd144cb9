"""What the generator makes beside routes and ports: table sizes, VLANs of hosts, weights; checks find them right."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.checks import run_checks
from fabric.values.codec import dumps, loads
from fabric.values.finding import Report
from fabric.values.plan import Plan
from fabric.values.snapshot import Snapshot
from fabric.whatif.faults import Cut, Fault, Swap
from fabric.whatif.synthetic import Synthetic, place
from tests.whatif.clos import clos


@cache
def weighted() -> Plan:
    plan = clos(rails=4, nodes=4)
    return dataclasses.replace(plan, routing=dataclasses.replace(plan.routing, weighted_ecmp=True))


@pytest.fixture(scope="module")
def bridged(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Synthetic:
    """lab.yaml with its hosts in a VLAN a leaf."""
    intent = tmp_path_factory.mktemp("vlan") / "lab.yaml"
    text = (tree / "topology" / "lab.yaml").read_text()
    intent.write_text(text.replace("addressing:\n", "addressing:\n  host_links: vlan\n  vlan: 100\n"))
    return Synthetic(load_plan(intent, write_ledger=False))


def _judge(fabric: Synthetic, *faults: Fault) -> Report:
    return run_checks(fabric.plan, fabric.snapshot(list(faults)), only=["cabling", "links", "bgp", "ecmp"])


# Tables


def test_tables_are_counted_from_the_routes() -> None:
    crm = Synthetic(clos(rails=4, nodes=4)).snapshot().switches["p1-l0"].crm
    assert crm is not None
    # One group for both families of leaves behind all uplinks, one for each spine's own loopback.
    assert (crm["nexthop_group_used"], crm["nexthop_group_member_used"], crm["ipv4_nexthop_used"]) == (3, 8, 4)
    asic = Synthetic(clos(rails=4, nodes=4)).snapshot().switches["p1-l0"].asic
    assert crm["ipv4_route_used"] + crm["ipv6_route_used"] == len(asic or {})
    assert crm["nexthop_group_used"] + crm["nexthop_group_available"] == 512


def test_tables_survive_their_file_and_are_judged() -> None:
    fabric = Synthetic(clos(rails=4, nodes=4))
    snapshot = fabric.snapshot()
    assert loads(Snapshot, dumps(snapshot), "x") == snapshot
    report = run_checks(fabric.plan, snapshot, only=["ecmp"])
    assert not any("CRM" in note for note in report.notes)


# VLANs


def test_a_bridged_fabric_is_healthy_and_every_nic_is_judged(bridged: Synthetic) -> None:
    report = _judge(bridged)
    assert report.findings == ()
    leaf = bridged.snapshot().switches["p1-l0"]
    assert len(leaf.fdb or {}) == 4
    assert {entry.port for entry in leaf.neighbours or () if entry.address.startswith("10.101.")} == {"Vlan100"}
    without = dataclasses.replace(leaf, fdb=None)
    snapshot = bridged.snapshot()
    blind = dataclasses.replace(snapshot, switches={**snapshot.switches, "p1-l0": without})
    fewer = run_checks(bridged.plan, blind, only=["cabling", "links", "bgp", "ecmp"])
    assert fewer.summary.passed == report.summary.passed - 4, "the FDB of four NICs"


def test_a_swap_inside_a_vlan_is_one_cabling_story_though_every_address_answers(bridged: Synthetic) -> None:
    report = _judge(bridged, Swap(place("p1-l0:Ethernet0"), place("p1-l0:Ethernet4")))
    assert [one.code for one in report.findings] == ["TOPO-01"]
    assert {one.code for one in report.findings[0].consequences} == {"ADDR-05"}


def test_a_swap_of_rails_leaves_addresses_that_nobody_answers_for(bridged: Synthetic) -> None:
    report = _judge(bridged, Swap(place("p1-l0:Ethernet0"), place("p1-l1:Ethernet0")))
    assert [one.code for one in report.findings] == ["TOPO-01"]
    assert {one.code for one in report.findings[0].consequences} == {"ADDR-04"}


# Weights


def _weights(fabric: Synthetic, fault: Fault, leaf: str, prefix: str) -> list[int]:
    rib = fabric.snapshot([fault]).switches[leaf].rib
    assert rib is not None
    return [hop.weight for hop in rib[prefix].next_hops]


def test_weights_are_those_frr_writes() -> None:
    """FRR 8.4 on the twin with this fault: 16, 16, 33, 33 on other leaves, equal ones on the leaf itself."""
    fabric, cut = Synthetic(weighted()), Cut(place("p1-l3:Ethernet256"))
    assert _weights(fabric, cut, "p1-l0", "10.101.3.0/25") == [16, 16, 33, 33]
    assert len(set(_weights(fabric, cut, "p1-l3", "10.101.0.0/25"))) == 1
    assert _weights(fabric, cut, "p1-l0", "10.101.1.0/25") == [1, 1, 1, 1]


def test_weights_agree_in_all_layers_and_with_the_check() -> None:
    fabric = Synthetic(weighted())
    report = _judge(fabric, Cut(place("p1-l3:Ethernet256")))
    assert [one.code for one in report.findings] == ["PHY-05"]
    assert "ECMP-06" not in {one.code for one in report.findings[0].consequences}
