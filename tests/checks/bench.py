"""What tests of checks share: small fabrics, a run, and words of its findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from fabric.checks import run_checks
from fabric.values.finding import Finding, Report, Status
from fabric.values.plan import Plan
from fabric.values.snapshot import Snapshot
from fabric.whatif.faults import Fault
from fabric.whatif.synthetic import Synthetic
from tests.whatif.clos import clos

NOW = 1_790_000_000.0
BEFORE = NOW - 60.0


@cache
def small() -> Synthetic:
    """One pod, 4 rails, 2 spines with 2 links a pair, 4 nodes: the shape of lab.yaml."""
    return Synthetic(clos(rails=4, nodes=4))


@cache
def two_pods() -> Synthetic:
    """2 pods x 4 rails x 4 nodes, 4 spines with 2 links a pair."""
    return Synthetic(clos(pods=2, rails=4, spines=4, nodes=4))


@cache
def with_hosts() -> Synthetic:
    """As `small`, and the hosts speak too."""
    return Synthetic(clos(rails=4, nodes=4), hosts=True)


def judge(fabric: Synthetic, faults: Iterable[Fault] = (), **options: Any) -> Report:
    """Run the checks on the fabric with these faults; roce needs a rendered configuration and has tests of its own."""
    options.setdefault("only", ["cabling", "links", "bgp", "ecmp"])
    return run_checks(fabric.plan, fabric.snapshot(faults), **options)


def judged(plan: Plan, snapshot: Snapshot, **options: Any) -> Report:
    """Run the checks on a snapshot, but for roce."""
    options.setdefault("only", ["cabling", "links", "bgp", "ecmp"])
    return run_checks(plan, snapshot, **options)


def top(report: Report) -> list[tuple[str, str]]:
    """(code, status) of what stands on top."""
    return [(finding.code, finding.status.value) for finding in report.findings]


def only(report: Report) -> Finding:
    """The one finding on top."""
    assert len(report.findings) == 1, top(report)
    return report.findings[0]


def everything(findings: Iterable[Finding]) -> Iterator[Finding]:
    """All findings, those under others too."""
    for finding in findings:
        yield finding
        yield from everything(finding.consequences)


def failed(report: Report) -> list[Finding]:
    """Failures on top."""
    return [finding for finding in report.findings if finding.status is Status.FAIL]
