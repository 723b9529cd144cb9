"""Weights and table sizes on the live twin: what FRR, the kernel and the databases really hold, judged."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.checks import Limits, run_checks
from fabric.values.codec import loads
from fabric.values.finding import Finding, Report, Status
from fabric.values.plan import Plan
from fabric.values.snapshot import Snapshot
from tests.checks.bench import everything
from tests.twin_fixtures import LabTwin, wait

pytestmark = [pytest.mark.twin, pytest.mark.slow]
_RAILFAB = str(Path(sys.executable).parent / "railfab")
_SHARE = "set extcommunity bandwidth num-multipaths"
LEAF, OTHER, SPINE = "p1-l0", "p1-l1", "s0"


def _outbound(twin: LabTwin, switch: str, *lines: str) -> None:
    """Lines into the outbound route map of a switch, and its routes told anew."""
    text = twin.run(switch, "vtysh", "-c", "show running-config")
    (name,) = set(re.findall(r"^route-map (TO_\S+) permit 110$", text, re.MULTILINE))
    typed = ("configure terminal", f"route-map {name} permit 110", *lines, "end", "clear bgp ipv4 unicast * soft out")
    twin.run(switch, "vtysh", *(word for line in typed for word in ("-c", line)))


def _weights(twin: LabTwin, prefix: str) -> list[int]:
    said = json.loads(twin.run(LEAF, "vtysh", "-c", f"show ip route {prefix} json"))
    return [hop["weight"] for hop in said[prefix][0]["nexthops"]] if said else []


def _passed_on(twin: LabTwin, prefix: str, weights: list[int]) -> bool:
    row = twin.row(LEAF, "APPL_DB", f"ROUTE_TABLE:{prefix}")
    return row.get("weight") == ",".join(map(str, weights))


def _look(twin: LabTwin, folder: Path) -> Snapshot:
    place = folder / "snapshot.json"
    done = twin.outside(_RAILFAB, "collect", str(twin.intent), "-o", str(place))
    assert done.returncode == 0, done.stderr
    return loads(Snapshot, place.read_text(), "snapshot.json")


def _weighted(twin: LabTwin) -> Plan:
    return dataclasses.replace(twin.plan, routing=dataclasses.replace(twin.plan.routing, weighted_ecmp=True))


def _shares(report: Report) -> dict[str, Finding]:
    return {one.device or "": one for one in everything(report.findings) if one.code == "ECMP-06"}


@pytest.fixture
def weighted(lab_twin: LabTwin) -> Iterator[LabTwin]:
    """The twin with the line that weighted ECMP adds to every outbound route map, and one of two links to a leaf cut.

    As it was at the end.
    """
    port = next(port for port in lab_twin.plan.switches[SPINE].sessions() if port.peer_device == OTHER)
    for switch in lab_twin.plan.switches:
        _outbound(lab_twin, switch, _SHARE)
    lab_twin.fault("cut", f"{SPINE}:{port.name}")
    try:
        yield lab_twin
    finally:
        lab_twin.fault("cut", f"{SPINE}:{port.name}", undo=True)
        for switch in lab_twin.plan.switches:
            _outbound(lab_twin, switch, "no set extcommunity bandwidth")
        wait(lab_twin.converged, 60, "the twin to be as it was")


def test_weights_of_frr_are_judged_at_every_layer(weighted: LabTwin, tmp_path: Path) -> None:
    plan, prefix = _weighted(weighted), weighted.plan.switches[OTHER].aggregates[0]
    right = [16, 16, 33, 33]
    wait(lambda: _weights(weighted, prefix) == right and _passed_on(weighted, prefix, right), 40, "weights in the RIB")

    def look() -> Report:
        return run_checks(plan, _look(weighted, tmp_path), only=["links", "bgp", "ecmp"])

    report = wait(lambda: None if _shares(found := look()) else found, 40, "every leaf to weigh every prefix")
    assert [one.code for one in report.findings] == ["PHY-05"], "the cut cable, and nothing about weights"

    # Somebody's tool writes the kernel's route anew, with all next hops and without their weights.
    before = weighted.run(LEAF, "ip", "route", "show", prefix).replace("\n", " ").split()
    before = [word for word in before if word not in ("offload", "rt_offload", "trap")]
    plain = [re.sub(r"^(16|33)$", "1", word) for word in before]
    weighted.run(LEAF, "ip", "route", "replace", *plain)
    try:
        told = _shares(look())
    finally:
        weighted.run(LEAF, "ip", "route", "replace", *before)
    assert set(told) == {LEAF}
    assert told[LEAF].status is Status.FAIL
    assert f"{LEAF}: kernel shares {prefix} as" in (told[LEAF].observed or "")

    # A spine that says nothing of its paths, nor passes on what the leaf said of its own: FRR then weighs none.
    for switch in (OTHER, SPINE):
        _outbound(weighted, switch, "no set extcommunity bandwidth")
    wait(lambda: len(set(_weights(weighted, prefix))) == 1, 40, "weights to go")
    told = wait(
        lambda: found if {LEAF, "p1-l2", "p1-l3"} <= set(found := _shares(look())) else None, 40, "all to say it"
    )
    assert told[LEAF].status is Status.WARN
    assert f"{LEAF}: RIB shares" in (told[LEAF].observed or "")


def test_table_use_of_the_twin_is_what_its_asic_db_holds(lab_twin: LabTwin, tmp_path: Path) -> None:
    """The counts are real, the sizes are of no ASIC: what is nearly full is so by the limit, not by the table."""
    snapshot = _look(lab_twin, tmp_path)
    state = snapshot.switches[LEAF]
    assert state.crm is not None
    assert state.asic is not None
    groups = {route.next_hops for route in state.asic.values() if len(route.next_hops) > 1}
    assert state.crm["nexthop_group_used"] == len(groups) > 0
    assert state.crm["nexthop_group_member_used"] == sum(map(len, groups))
    assert state.crm["ipv4_route_used"] == len([prefix for prefix in state.asic if ":" not in prefix])
    size = state.crm["nexthop_group_used"] + state.crm["nexthop_group_available"]
    assert not [one for one in run_checks(lab_twin.plan, snapshot, only=["ecmp"]).findings if one.code == "ECMP-05"]
    limits = Limits(table_share=(len(groups) - 0.5) / size)
    report = run_checks(lab_twin.plan, snapshot, only=["ecmp"], limits=limits)
    told = {one.device: one.observed or "" for one in report.findings if one.code == "ECMP-05"}
    assert f"ECMP groups {len(groups)} of {size}" in told[LEAF]
