"""All design rules over one Plan."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass

from fabric.design import addresses, topology
from fabric.design.capacity import Capacity, measure
from fabric.design.census import take
from fabric.design.lossless import judge_lossless
from fabric.design.tally import Tally
from fabric.values.finding import Finding, Report, Severity, Status, summarize
from fabric.values.plan import Network, Plan

_ORDER = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.WARN: 2, Status.PASS: 3}


@dataclass(frozen=True, slots=True)
class DesignReport:
    """What a design is worth: capacity per network, findings (passes counted), and notes to show with every output."""

    name: str
    capacity: Mapping[Network, Capacity]
    report: Report
    notes: tuple[str, ...] = ()


def judge(plan: Plan, today: str) -> DesignReport:
    """Judge a Plan. `today` is an ISO date, for outages that should have ended. All rules always run to the end."""
    # A Plan of 100,000 GPUs is millions of objects without a cycle: walking them again and again for garbage is a
    # quarter of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _judge(plan, today)
    finally:
        if collecting:
            gc.enable()


def _judge(plan: Plan, today: str) -> DesignReport:
    census = take(plan)
    tally = Tally()
    capacity: dict[Network, Capacity] = {}
    for network in Network:
        if census.of(network):
            capacity[network] = measure(plan, census, network)
            topology.oversubscription(network, capacity[network], tally)
            _after_one_link(network, capacity[network], tally)
    topology.rails(plan, tally)
    topology.rail_symmetry(plan, tally)
    topology.pairs(plan, census, tally)
    topology.spines(census, tally)
    topology.isolation(plan, census, tally)
    topology.storage_hosts(plan, tally)
    topology.ports(plan, tally)
    topology.ecmp_width(plan, census, tally)
    topology.hash_seeds(census, tally)
    topology.outages(plan, today, tally)
    addresses.pairing(plan, tally)
    addresses.numbers(plan, census, tally)
    addresses.mtu(plan, tally)
    judge_lossless(plan, tally)
    findings = tuple(sorted(tally.findings, key=_sort))
    return DesignReport(
        name=plan.name,
        capacity=capacity,
        report=Report(findings, summarize(findings, tally.passed, devices=len(plan.switches))),
        notes=plan.notes,
    )


def _after_one_link(network: Network, capacity: Capacity, tally: Tally) -> None:
    """BGP-05, foreseen: what the far ends of a lost parallel cable do to the ones that are left."""
    load = capacity.remote_load_after_one_link
    if load is None:
        return
    if load <= 1:
        tally.passed += 1
        return
    tally.warn(
        "BGP-05",
        severity=Severity.WARN,
        expected=f"{network.value}: when one cable of a leaf-spine pair is lost, the others carry its load",
        observed=f"they would have to carry {load:.0%} of their rate when the leaf receives at full rate",
        remedy="switch weighted ECMP on (routing.weighted_ecmp), or take the spine out of the leaf's paths meanwhile",
    )


def _sort(finding: Finding) -> tuple[int, str, str]:
    return _ORDER[finding.status], finding.code, finding.device or ""
