"""Markdown for tickets and merge requests."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.report.harmless import harmless
from fabric.report.terminal import moment, place, verdict_of
from fabric.values.finding import Finding, Report, Status
from fabric.values.plan import Plan

_SIGN = {Status.FAIL: "FAIL", Status.UNKNOWN: "CANNOT TELL", Status.WARN: "WARN", Status.PASS: "ok"}


def markdown(report: Report, plan: Plan) -> str:
    """The report as Markdown: the summary, a table of what to do, each finding folded out below."""
    return "\n".join(_lines(report, plan)) + "\n"


def _lines(report: Report, plan: Plan) -> Iterator[str]:
    summary = report.summary
    word, _ = verdict_of(summary)
    yield f"# {plan.name}: {word}"
    yield ""
    when = f"{moment(report.taken_at)}. " if report.taken_at else ""
    yield (
        f"{when}{summary.fail} failed, {summary.unknown} cannot tell, {summary.warn} warnings, "
        f"{summary.passed:,} passed; {summary.devices} switches asked."
    )
    if summary.missing_devices:
        yield ""
        yield f"No data from {', '.join(cell(name) for name in summary.missing_devices)}."
    if report.findings:
        yield ""
        yield "| | code | where | what to do |"
        yield "| --- | --- | --- | --- |"
        for finding in report.findings:
            yield (
                f"| {_SIGN[finding.status]} | {finding.code} | {cell(place(finding))} | "
                f"{cell(finding.remedy or finding.observed or '')} |"
            )
        for finding in report.findings:
            yield from _finding(finding)
    if report.notes:
        yield ""
        yield "Notes:"
        yield ""
        for note in report.notes:
            yield f"- {cell(note)}"


def _finding(finding: Finding) -> Iterator[str]:
    yield ""
    yield f"## {finding.code} {cell(place(finding))}"
    yield ""
    for label, text in (("Seen", finding.observed), ("Planned", finding.expected), ("Because", finding.evidence)):
        if text:
            yield f"- {label}: {cell(text)}"
    for step, move in enumerate(finding.moves, 1):
        yield (
            f"{step}. `{move.from_.device}:{move.from_.port}` to `{move.to.device}:{move.to.port}` "
            f"(cable `{move.cable}`)"
        )
    for below in finding.consequences:
        yield f"- Hence: {below.code} {cell(place(below))}: {cell(below.observed or '')}"


def cell(text: str) -> str:
    """Text that stays inside a table cell and does nothing there: what a switch sends is not markup."""
    flat = " ".join(harmless(text).split())
    for character in "\\`*_[]<>|#":
        flat = flat.replace(character, "\\" + character)
    return flat
