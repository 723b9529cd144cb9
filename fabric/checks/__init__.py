"""Judge a live fabric: Plan + Snapshot (+ baseline) -> Report. Pure: no I/O, no clock, no randomness.

    report = run_checks(plan, snapshot, baseline=earlier, window_s=60)

Every check runs to its end; `fabric.diagnose` then puts what another finding causes under it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fabric.checks import bgp, cabling, coverage, ecmp, lifecycle, links, roce
from fabric.checks.judged import Check, Judged
from fabric.checks.limits import Limits
from fabric.checks.view import View, look
from fabric.diagnose import Claim, fold
from fabric.errors import InputError, Problem
from fabric.values.change import Held
from fabric.values.finding import Report, summarize
from fabric.values.plan import Plan
from fabric.values.snapshot import Snapshot

__all__ = ["CHECKS", "Check", "Judged", "Limits", "check_names", "run_checks"]

# The registry: name (as `--only` takes it) -> check, in the order of causes.
CHECKS: dict[str, Check] = {
    "cabling": cabling.judge,
    "links": links.judge,
    "bgp": bgp.judge,
    "ecmp": ecmp.judge,
    "roce": roce.judge,
}


def check_names() -> tuple[str, ...]:
    """Names that `only` takes, in the order of causes."""
    return tuple(CHECKS)


def run_checks(
    plan: Plan,
    snapshot: Snapshot,
    *,
    baseline: Snapshot | None = None,
    window_s: float | None = None,
    only: Collection[str] | None = None,
    history: Sequence[Snapshot] = (),
    limits: Limits | None = None,
    scope: Collection[str] = (),
    held: Iterable[Held] = (),
) -> Report:
    """Run the checks (`only` these by name; None: all) and fold their findings.

    baseline: an earlier snapshot; counters and flaps are judged as what changed since. window_s: how far back a
    `last_down_time` counts as a flap when there is no baseline. history: earlier snapshots, oldest first, for repeat
    offenders. scope: device names to judge (empty: all). held: state made by hand and kept on purpose.
    Raises InputError for an unknown check name, or when the snapshot is of another fabric.
    """
    _refuse(plan, snapshot, baseline, only)
    view = look(
        plan,
        snapshot,
        baseline=baseline,
        window_s=window_s,
        limits=limits,
        scope=scope,
        held=held,
        history=history,
        only=only,
    )
    claims: list[Claim] = []
    passed = 0
    for judged in (coverage.judge(view), lifecycle.judge(view)):
        claims.extend(judged.claims)
        passed += judged.passed
    for name, check in CHECKS.items():
        if view.asks(name):
            judged = check(view)
            claims.extend(judged.claims)
            passed += judged.passed
    findings = fold(claims)
    missing = coverage.missing(view)
    summary = summarize(findings, passed, devices=coverage.expected(view), missing_devices=missing)
    return Report(findings, summary, notes=_notes(view), taken_at=snapshot.ended_at)


def unknown_checks(only: Collection[str] | None) -> list[Problem]:
    """A problem for each name that is no check's."""
    unknown = sorted(set(only or ()) - set(check_names()))
    return [Problem(f"there is no check {name!r}", f"use some of: {', '.join(check_names())}") for name in unknown]


def _refuse(plan: Plan, snapshot: Snapshot, baseline: Snapshot | None, only: Collection[str] | None) -> None:
    problems = unknown_checks(only)
    for kind, one in (("snapshot", snapshot), ("baseline", baseline)):
        if one is not None and one.fabric != plan.name:
            problems.append(
                Problem(
                    f"the {kind} is of fabric {one.fabric!r}, the intent of {plan.name!r}", "give one of this fabric"
                )
            )
    if baseline is not None and baseline.ended_at > snapshot.ended_at:
        problems.append(Problem("the baseline is later than the snapshot", "give the earlier one as baseline"))
    if problems:
        raise InputError(problems)


def _notes(view: View) -> tuple[str, ...]:
    return (*view.notes, *view.plan.notes)
