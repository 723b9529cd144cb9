"""May this job start on these nodes? Only their NICs, rails, leaves and the paths above those count.

A failure that blocks stops the job; what cannot be told about the nodes themselves is "unknown", never "go";
everything else that touches them is a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from fabric.errors import InputError, Problem
from fabric.values.finding import Finding, Report, Severity, Status, finding_json, summarize, summary_json
from fabric.values.plan import HostPlan, LifeState, Plan
from fabric.values.verdict import Answer, Verdict


def judge(plan: Plan, report: Report, nodes: Iterable[str]) -> Verdict:
    """The verdict for a job on `nodes`, from a report over the whole fabric (or at least their part of it).

    InputError names every node that the Plan does not have.
    """
    names = known(plan, nodes)
    hosts = [plan.hosts[name] for name in names]
    touched = _Touched(plan, hosts)
    findings = [finding for finding in report.findings if touched.by(finding)]
    findings.extend(_not_in_service(host) for host in hosts if host.state is not LifeState.IN_SERVICE)
    sick = {(node, rail) for finding in findings for node, rail in _rails_hit(finding)}
    rails = [(host.name, nic.rail) for host in hosts for nic in host.nics.values()]
    missing = [name for name in report.summary.missing_devices if name in touched.leaves]
    summary = summarize(
        findings,
        passed=sum((node, rail) not in sick for node, rail in rails) if report.summary.passed else 0,
        devices=len(touched.leaves),
        missing_devices=missing,
    )
    return Verdict(
        verdict=_answer(findings, judged=bool(report.summary.passed)),
        nodes=names,
        findings=tuple(findings),
        summary=summary,
        taken_at=report.taken_at,
    )


def known(plan: Plan, nodes: Iterable[str]) -> tuple[str, ...]:
    """The nodes, each once; InputError names every node that the Plan does not have."""
    names = tuple(dict.fromkeys(nodes))
    unknown = [name for name in names if name not in plan.hosts]
    if unknown or not names:
        shown = ", ".join(unknown[:10]) + (f" and {len(unknown) - 10} more" if len(unknown) > 10 else "")
        raise InputError(
            Problem(f"the plan has no node {shown}", "check the node list, or put the node into the intent")
            if unknown
            else Problem("no node to judge", "give --nodes 'gpu[001-004]'")
        )
    return names


class _Touched:
    """What a job on these hosts uses: their NICs, the switches these are plugged into, the cables above."""

    def __init__(self, plan: Plan, hosts: list[HostPlan]) -> None:
        self._plan = plan
        self._nodes = {host.name for host in hosts}
        self.leaves = {nic.switch for host in hosts for nic in host.nics.values() if nic.switch}
        self._above = {
            port.peer_device
            for leaf in self.leaves
            if leaf in plan.switches
            for port in plan.switches[leaf].ports.values()
            if port.peer_asn is not None and port.peer_device
        }

    def by(self, finding: Finding) -> bool:
        """Whether a finding (or something under it) touches the job."""
        return any(self._one(one) for one in _all(finding))

    def _one(self, finding: Finding) -> bool:
        named = {*finding.nodes, *((finding.node,) if finding.node else ())}
        if named:
            return bool(named & self._nodes)
        if finding.cable is not None and finding.cable in self._plan.cables:
            cable = self._plan.cables[finding.cable]
            ends = {cable.a_device, cable.b_device}
            if not ends & self._plan.hosts.keys():
                return bool(ends & self.leaves)
            return bool(ends & self._nodes)
        if finding.device is not None:
            return finding.device in self.leaves or finding.device in self._above
        return False


def _all(finding: Finding) -> Iterator[Finding]:
    yield finding
    for below in finding.consequences:
        yield from _all(below)


def _rails_hit(finding: Finding) -> Iterator[tuple[str, int | None]]:
    for one in _all(finding):
        for node in {*one.nodes, *((one.node,) if one.node else ())}:
            for rail in one.rails:
                yield node, rail


def _not_in_service(host: HostPlan) -> Finding:
    outage = host.outage
    why = f": {outage.reason}" if outage is not None else ""
    return Finding(
        code="LIFE-03",
        status=Status.FAIL,
        severity=Severity.BLOCK,
        node=host.name,
        nodes=(host.name,),
        expected=f"{host.name} is in service",
        observed=f"{host.name} is {host.state.value}{why}",
        evidence="the intent",
        remedy="take it out of the job, or put it in service in the intent",
    )


def _answer(findings: Collection[Finding], judged: bool) -> Answer:
    blocking = [finding for finding in findings if finding.severity is Severity.BLOCK]
    if any(finding.status is Status.FAIL for finding in blocking):
        return Answer.NO_GO
    if not judged or any(finding.status is Status.UNKNOWN for finding in blocking):
        return Answer.UNKNOWN
    return Answer.WARN if findings else Answer.GO


def by_node(plan: Plan, verdict: Verdict) -> dict[str, str]:
    """Each node's own answer: one sick node does not hide that the others are fine (F134)."""
    answers = {}
    judged = bool(verdict.summary.passed or verdict.findings)
    for name in verdict.nodes:
        touched = _Touched(plan, [plan.hosts[name]])
        mine = [finding for finding in verdict.findings if touched.by(finding)]
        answers[name] = _answer(mine, judged).value
    return answers


_EXIT = {Answer.GO: 0, Answer.WARN: 0, Answer.NO_GO: 1, Answer.UNKNOWN: 2}


def exit_code(verdict: Verdict, strict: bool = False) -> int:
    """0 go or warn, 1 no-go (a warning too when `strict`), 2 unknown."""
    if strict and verdict.verdict is Answer.WARN:
        return 1
    return _EXIT[verdict.verdict]


def gate_document(plan: Plan, verdict: Verdict) -> dict[str, Any]:
    """`railfab gate --json`: railfab.gate/1."""
    return {
        "schema": verdict.schema,
        "fabric": plan.name,
        "verdict": verdict.verdict.value,
        "taken_at": verdict.taken_at,
        "nodes": list(verdict.nodes),
        "by_node": by_node(plan, verdict),
        "findings": [finding_json(finding) for finding in verdict.findings],
        "summary": summary_json(verdict.summary),
    }
