"""Weighted ECMP: shares in every layer against the paths that the next switches have."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from fabric.checks.weights import _alike
from fabric.values.finding import Report, Status
from fabric.values.plan import Plan
from fabric.values.snapshot import Snapshot
from fabric.whatif.faults import Cut
from fabric.whatif.synthetic import place
from tests.checks.bench import everything, judged, only, small

LEAF, PREFIX = "p1-l0", "10.101.3.0/25"
TABLES = ("rib", "kernel", "appl", "asic")


def _plan() -> Plan:
    plan = small().plan
    return dataclasses.replace(plan, routing=dataclasses.replace(plan.routing, weighted_ecmp=True))


def _lost_link() -> Cut:
    """One of the two cables between s0 and the leaf that has the prefix."""
    cable = next(one for one in small().plan.cables.values() if {one.a_device, one.b_device} == {"s0", "p1-l3"})
    return Cut(place(f"{cable.a_device}:{cable.a_port}"))


def _weigh(snapshot: Snapshot, tables: tuple[str, ...], weights: dict[str, int], leaves: tuple[str, ...]) -> Snapshot:
    """Weights by spine for the prefix in some tables of some leaves."""
    switches = dict(snapshot.switches)
    for leaf in leaves:
        state = switches[leaf]
        changes: dict[str, Any] = {}
        for table in tables:
            rows = dict(getattr(state, table))
            hops = tuple(
                dataclasses.replace(hop, weight=weights[small().plan.switches[leaf].ports[hop.port].peer_device or ""])
                for hop in rows[PREFIX].next_hops
            )
            rows[PREFIX] = dataclasses.replace(rows[PREFIX], next_hops=hops)
            changes[table] = rows
        switches[leaf] = dataclasses.replace(state, **changes)
    return dataclasses.replace(snapshot, switches=switches)


def _run(snapshot: Snapshot, plan: Plan | None = None) -> Report:
    return judged(plan or _plan(), snapshot, only=["ecmp"])


def test_equal_weights_are_right_when_all_links_are_up() -> None:
    plain, weighted = _run(small().snapshot(), small().plan), _run(small().snapshot())
    assert weighted.findings == ()
    assert weighted.summary.passed > plain.summary.passed


def test_a_layer_that_lost_the_weights_of_the_rib_fails() -> None:
    rib_only = _weigh(small().snapshot(), ("rib", "kernel", "appl"), {"s0": 25, "s1": 25}, (LEAF,))
    assert _run(rib_only).findings == (), "25 % each is 1 each"
    uneven = _weigh(small().snapshot(), ("asic",), {"s0": 1, "s1": 3}, (LEAF,))
    finding = only(_run(uneven))
    assert (finding.code, finding.status, finding.device) == ("ECMP-06", Status.FAIL, LEAF)
    assert "ASIC_DB shares 10.101.3.0/25" in (finding.observed or "")


@pytest.mark.parametrize(("table", "name"), [("kernel", "kernel"), ("appl", "APPL_DB")])
def test_the_first_wrong_layer_is_named_and_those_below_are_quiet(table: str, name: str) -> None:
    below = TABLES[TABLES.index(table) :]
    finding = only(_run(_weigh(small().snapshot(), below, {"s0": 1, "s1": 3}, (LEAF,))))
    assert f"{name} shares" in (finding.observed or "")


def test_without_weights_in_the_plan_nothing_is_judged() -> None:
    assert _run(_weigh(small().snapshot(), ("asic",), {"s0": 1, "s1": 3}, (LEAF,)), small().plan).findings == ()


def test_a_spine_with_half_its_links_gets_half_the_share() -> None:
    leaves = ("p1-l0", "p1-l1", "p1-l2")
    lost = small().snapshot([_lost_link()])

    def wrong(snapshot: Snapshot) -> dict[str, str]:
        found = everything(_run(snapshot).findings)
        return {one.device or "": one.observed or "" for one in found if one.code == "ECMP-06"}

    # Percent of 1, 1, 2 and 2 paths, as FRR rounds them.
    for weights in ({"s0": 16, "s1": 33}, {"s0": 1, "s1": 2}):
        right = _weigh(lost, TABLES, weights, leaves)
        assert not any(PREFIX in words for words in wrong(right).values())
    unweighted = wrong(lost)
    assert set(unweighted) == set(leaves)
    assert "RIB shares" in unweighted[LEAF]


def test_many_small_shares_round_to_the_same_number() -> None:
    want = {f"a{number}": 4 if number else 3 for number in range(64)}
    assert _alike(dict.fromkeys(want, 1), want), "percent of 64 paths is 1 for all"
    few = {f"a{number}": 4 if number else 3 for number in range(8)}
    assert not _alike(dict.fromkeys(few, 1), few)
