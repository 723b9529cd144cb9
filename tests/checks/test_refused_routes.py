"""A route the kernel rejected: FRR says failed and marks no next hop for the FIB (seen on the twin, FRR 8.4)."""

from __future__ import annotations

import dataclasses
import json

from fabric.collect.parse_frr import rib
from fabric.values.finding import Status
from fabric.values.snapshot import NextHop
from tests.checks.bench import judged, only, small


def test_it_is_one_finding_against_the_kernel_whatever_old_route_stands_there() -> None:
    snapshot = small().snapshot()
    state = snapshot.switches["p1-l2"]
    assert state.rib is not None
    assert state.kernel is not None
    prefix = next(name for name, route in state.rib.items() if route.protocol == "bgp" and len(route.next_hops) == 4)
    refused = dataclasses.replace(state.rib[prefix], failed=True, installed=False, offloaded=None)
    old = dataclasses.replace(state.kernel[prefix], next_hops=state.kernel[prefix].next_hops[:1])
    changed = dataclasses.replace(state, rib={**state.rib, prefix: refused}, kernel={**state.kernel, prefix: old})
    report = judged(small().plan, dataclasses.replace(snapshot, switches={**snapshot.switches, "p1-l2": changed}))
    finding = only(report)
    assert (finding.code, finding.status, finding.device) == ("BGP-03", Status.FAIL, "p1-l2")
    assert "rejected by the kernel" in (finding.observed or "")


def test_its_next_hops_are_those_frr_chose() -> None:
    hops = [{"ip": f"10.254.0.{n}", "interfaceName": f"Ethernet{n}", "active": True, "weight": 1} for n in (17, 19)]
    entry = {"protocol": "bgp", "selected": True, "destSelected": True, "failed": True, "nexthops": hops}
    route = rib(json.dumps({"10.101.0.0/25": [entry]}))["10.101.0.0/25"]
    assert route.next_hops == (NextHop("10.254.0.17", "Ethernet17"), NextHop("10.254.0.19", "Ethernet19"))
    assert route.failed
    assert route.installed is False
