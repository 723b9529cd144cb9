"""Node x rail: the worst that any finding says about each NIC, for the heat map and the metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabric.values.finding import Finding, Report, Status
from fabric.values.plan import LifeState, Network, Plan

_RANK = {"ok": 0, "planned": 0, "out": 0, "warn": 1, "unknown": 2, "fail": 3}
_LEVEL = {Status.FAIL: "fail", Status.UNKNOWN: "unknown", Status.WARN: "warn", Status.PASS: "ok"}


@dataclass(frozen=True, slots=True)
class RailMatrix:
    """`cells`: (node, rail) -> ok, warn, unknown or fail; `why`: what says so. Nodes in the order of the Plan."""

    nodes: tuple[str, ...]
    rails: tuple[int, ...]
    cells: dict[tuple[str, int], str]
    why: dict[tuple[str, int], str]


def rail_matrix(plan: Plan, report: Report) -> RailMatrix:
    """The matrix of the compute network's nodes in service."""
    cells: dict[tuple[str, int], str] = {}
    why: dict[tuple[str, int], str] = {}
    start = "ok" if report.summary.passed else "unknown"
    names = []
    for host in plan.hosts.values():
        if host.state is not LifeState.IN_SERVICE:
            continue
        rails = [nic.rail for nic in host.nics.values() if nic.network is Network.COMPUTE and nic.rail is not None]
        if rails:
            names.append(host.name)
            cells.update({(host.name, rail): start for rail in rails})
    for finding in _all(report.findings):
        level = _LEVEL[finding.status]
        nodes = finding.nodes or ((finding.node,) if finding.node else ())
        for node in nodes:
            for rail in finding.rails:
                key = (node, rail)
                if key in cells and _RANK[level] > _RANK[cells[key]]:
                    cells[key] = level
                    why[key] = f"{finding.code}: {finding.observed or ''}"
    missing = set(report.summary.missing_devices)
    for host_name, nic_rail, switch in _attached(plan):
        if switch in missing and cells.get((host_name, nic_rail)) in ("ok", "warn"):
            cells[host_name, nic_rail] = "unknown"
            why[host_name, nic_rail] = f"COV-01: no data from {switch}"
    rails_seen = tuple(sorted({rail for _, rail in cells}))
    return RailMatrix(tuple(names), rails_seen, cells, why)


def _attached(plan: Plan) -> Iterator[tuple[str, int, str]]:
    for host in plan.hosts.values():
        for nic in host.nics.values():
            if nic.rail is not None and nic.network is Network.COMPUTE:
                yield host.name, nic.rail, nic.switch


def _all(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    for finding in findings:
        yield finding
        yield from _all(finding.consequences)
