"""Hosts in a VLAN: ARP entry, FDB entry and port agree, or the switch sends a rail's traffic elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache

import pytest

from fabric.checks.proof import arp_proof
from fabric.checks.view import look
from fabric.values.finding import Report, Severity, Status
from fabric.values.plan import Plan
from fabric.values.snapshot import Neighbour, Snapshot
from tests.checks.bench import judged, only, small

LEAF = "p1-l1"
PORTS = tuple(
    port.name for port in small().plan.switches[LEAF].ports.values() if port.peer_device in small().plan.hosts
)


@cache
def plan() -> Plan:
    """The small fabric with the hosts of one leaf in VLAN 100."""
    known = small().plan
    leaf = known.switches[LEAF]
    ports = {
        name: dataclasses.replace(port, addresses=()) if name in PORTS else port for name, port in leaf.ports.items()
    }
    leaf = dataclasses.replace(leaf, ports=ports, vlans={100: ("10.101.1.126/25",)})
    return dataclasses.replace(known, switches={**known.switches, LEAF: leaf})


def seen(fdb: Mapping[str, str] | None, state: str = "REACHABLE", macs: Mapping[str, str] | None = None) -> Snapshot:
    """The leaf with its hosts' ARP entries on Vlan100, and an FDB of `fdb` (by port, empty string: none)."""
    snapshot = small().snapshot()
    switch = snapshot.switches[LEAF]
    entries = []
    table: dict[str, str] = {}
    for entry in switch.neighbours or ():
        if entry.port not in PORTS:
            entries.append(entry)
            continue
        mac = (macs or {}).get(entry.port, entry.mac)
        entries.append(Neighbour(entry.address, "Vlan100", "" if state == "FAILED" else mac, state))
        learned = (fdb or {}).get(entry.port, entry.port)
        if learned:
            table[mac] = learned
    switch = dataclasses.replace(switch, neighbours=tuple(entries), fdb=None if fdb is None else table)
    return dataclasses.replace(snapshot, switches={**snapshot.switches, LEAF: switch})


def run(snapshot: Snapshot, of: Plan | None = None) -> Report:
    return judged(of or plan(), snapshot, only=["ecmp"])


def test_what_agrees_passes_and_no_fdb_is_not_counted_as_agreement() -> None:
    right, without = run(seen({})), run(seen(None))
    assert right.findings == without.findings == ()
    assert right.summary.passed == without.summary.passed + len(PORTS)


def test_a_mac_learned_on_another_port_blocks_and_names_both_nodes() -> None:
    finding = only(run(seen({PORTS[0]: PORTS[2]})))
    assert (finding.code, finding.status, finding.severity) == ("ADDR-05", Status.FAIL, Severity.BLOCK)
    assert (finding.device, finding.port, finding.node, finding.rail) == (LEAF, PORTS[0], "gpu001", 1)
    assert f"out of {PORTS[2]} (gpu003 rail1), not {PORTS[0]}" in (finding.observed or "")


def test_a_mac_learned_on_an_uplink_is_named() -> None:
    assert "out of Ethernet256, not" in (only(run(seen({PORTS[0]: "Ethernet256"}))).observed or "")


def test_live_neighbours_that_were_not_learned_are_one_warning() -> None:
    finding = only(run(seen(dict.fromkeys(PORTS, ""))))
    assert (finding.code, finding.status, finding.port) == ("ADDR-05", Status.WARN, None)
    assert finding.nodes == ("gpu001", "gpu002", "gpu003", "gpu004")


def test_an_idle_nic_that_aged_out_is_no_finding() -> None:
    assert run(seen(dict.fromkeys(PORTS, ""), state="STALE")).findings == ()


def test_another_mac_than_the_nics_answers_for_its_address() -> None:
    host = plan().hosts["gpu001"]
    nics = {**host.nics, "rail1": dataclasses.replace(host.nics["rail1"], mac="02:00:00:00:00:01")}
    known = dataclasses.replace(plan(), hosts={**plan().hosts, "gpu001": dataclasses.replace(host, nics=nics)})
    finding = only(run(seen({}, macs={PORTS[0]: "02:00:00:00:00:99"}), known))
    assert (finding.code, finding.status, finding.node) == ("ADDR-05", Status.FAIL, "gpu001")
    assert "02:00:00:00:00:99 answers for" in (finding.observed or "")


def test_F071_a_failed_neighbour_in_the_vlan_is_named() -> None:
    report = run(seen({}, state="FAILED"))
    assert {(finding.code, finding.status) for finding in report.findings} == {("ADDR-04", Status.FAIL)}


def test_routed_host_links_are_not_judged_by_the_fdb() -> None:
    assert run(seen({PORTS[0]: PORTS[2]}), small().plan).findings == ()


@pytest.mark.parametrize(
    ("fdb", "state", "proof"),
    [({}, "REACHABLE", True), ({PORTS[0]: PORTS[2]}, "REACHABLE", None), (None, "REACHABLE", None),
     ({}, "FAILED", False)],
)  # fmt: skip
def test_second_evidence_of_a_cable_comes_from_arp_and_fdb_together(
    fdb: Mapping[str, str] | None, state: str, proof: bool | None
) -> None:
    view = look(plan(), seen(fdb, state))
    assert arp_proof(view, view.of_end[LEAF, PORTS[0]]) is proof
