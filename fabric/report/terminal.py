"""A report for a person at a terminal: the summary first, then what to do, then the findings in full.

Lines are made once, as pieces with a style; a pipe gets their text and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from fabric.report.harmless import harmless
from fabric.values.finding import Changes, Finding, Report, Severity, Status, Summary

# One line: pieces of (text, style). Styles are rich's words; "" is none.
Line = tuple[tuple[str, str], ...]

_STYLE = {Status.FAIL: "bold red", Status.UNKNOWN: "bold yellow", Status.WARN: "yellow", Status.PASS: "green"}
_NOT_JUDGED = "not judged: "
_WORD = {Status.FAIL: "FAIL", Status.UNKNOWN: "CANNOT TELL", Status.WARN: "WARN", Status.PASS: "ok"}


def render_text(report: Report, fabric: str, verbose: bool = False) -> str:
    """The report as plain text."""
    return "\n".join("".join(text for text, _ in line) for line in report_lines(report, fabric, verbose)) + "\n"


def report_lines(report: Report, fabric: str, verbose: bool = False) -> Iterator[Line]:
    """The report as styled lines. `verbose` shows consequences in full, else they are counted."""
    for line in _lines(report, fabric, verbose):
        yield tuple((harmless(text), style) for text, style in line)


def _lines(report: Report, fabric: str, verbose: bool) -> Iterator[Line]:
    yield from _head(report, fabric)
    if report.changes is not None:
        yield from _changes(report.changes)
    if report.findings:
        yield from _to_do(report.findings)
        yield ()
        for number, finding in enumerate(report.findings, 1):
            yield from finding_lines(finding, number, verbose)
    skipped = [note.removeprefix(_NOT_JUDGED) for note in report.notes if note.startswith(_NOT_JUDGED)]
    if skipped:
        yield ((f"{_NOT_JUDGED}{'; '.join(skipped)}", "dim"),)
    for note in report.notes:
        if not note.startswith(_NOT_JUDGED):
            yield (("note: ", "dim"), (note, "dim"))


def verdict_of(summary: Summary) -> tuple[str, str]:
    """One word for a summary, and its style."""
    if summary.fail:
        return "FAIL", "bold red"
    judged = summary.passed + summary.warn
    if summary.unknown or summary.missing_devices or not judged:
        return "CANNOT TELL", "bold yellow"
    return ("HEALTHY, with warnings", "bold yellow") if summary.warn else ("HEALTHY", "bold green")


def _head(report: Report, fabric: str) -> Iterator[Line]:
    summary = report.summary
    word, style = verdict_of(summary)
    when = f"  {moment(report.taken_at)}" if report.taken_at else ""
    yield ((f"{fabric}{when}  ", "bold"), (word, style))
    counts = [f"{summary.fail} failed", f"{summary.unknown} cannot tell", f"{summary.warn} warnings"]
    yield ((f"{', '.join(counts)}, {summary.passed:,} passed; {summary.devices} switches asked", ""),)
    if summary.missing_devices:
        yield ((f"no data from {_few(summary.missing_devices, 6)}", "yellow"),)


def _changes(changes: Changes) -> Iterator[Line]:
    since = f" ({moment(changes.since)})" if changes.since is not None else ""
    yield (
        (
            f"since the baseline{since}: {len(changes.new)} new, {len(changes.gone)} gone, {changes.same} as before",
            "bold",
        ),
    )
    for word, style, findings in (("new", "bold red", changes.new), ("gone", "green", changes.gone)):
        for finding in findings:
            yield ((f"  {word + ':':6}", style), (f"{finding.code} {place(finding)}: {finding.observed or ''}", ""))


def moment(seconds: float) -> str:
    """A time as people write it, UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _to_do(findings: Iterable[Finding]) -> Iterator[Line]:
    yield ()
    yield (("What to do", "bold"),)
    for number, finding in enumerate(findings, 1):
        yield (
            (f"{number:3}. ", ""),
            (f"{place(finding)}: ", "bold"),
            (finding.remedy or finding.observed or finding.code, ""),
        )


def finding_lines(finding: Finding, number: int, verbose: bool) -> Iterator[Line]:
    """One finding in full."""
    for line in _finding(finding, number, verbose):
        yield tuple((harmless(text), style) for text, style in line)


def _finding(finding: Finding, number: int, verbose: bool) -> Iterator[Line]:
    blocks = " (blocks jobs)" if finding.severity is Severity.BLOCK and finding.status is not Status.WARN else ""
    grade = f", {finding.confidence.value}" if finding.confidence is not None else ""
    yield (
        (f"{number:3}. ", ""),
        (f"{_WORD[finding.status]}{blocks} ", _STYLE[finding.status]),
        (f"{finding.code} ", "bold cyan"),
        (f"{place(finding)}{grade}", "bold"),
    )
    for label, text in (
        ("seen", finding.observed),
        ("planned", finding.expected),
        ("because", finding.evidence),
        ("do", finding.remedy),
    ):
        if text:
            yield ((f"     {label + ':':9}", "dim"), (text, ""))
    if finding.moves:
        yield ((f"     moves:   {len(finding.moves)}", "dim"),)
        for step, move in enumerate(finding.moves[:24], 1):
            yield (
                (
                    f"       {step}. {move.from_.device}:{move.from_.port} -> {move.to.device}:{move.to.port}"
                    f"   [{move.cable}]",
                    "",
                ),
            )
        if len(finding.moves) > 24:
            yield ((f"       ... {len(finding.moves) - 24} more (--json has all)", "dim"),)
    yield from _under(finding, verbose)


def _under(finding: Finding, verbose: bool) -> Iterator[Line]:
    below = list(_flat(finding.consequences))
    if not below:
        return
    if not verbose:
        counts = Counter(one.code for one in below)
        listed = ", ".join(f"{count} x {code}" if count > 1 else code for code, count in sorted(counts.items()))
        yield (("     hence:   ", "dim"), (f"{listed} (-v shows them)", "dim"))
        return
    for one in below:
        yield (
            ("     hence:   ", "dim"),
            (f"{_WORD[one.status]} {one.code} {place(one)}: ", _STYLE[one.status]),
            (one.observed or "", ""),
        )


def _flat(findings: Iterable[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield finding
        yield from _flat(finding.consequences)


def place(finding: Finding) -> str:
    """Where it is, the way a person says it: switch and port, node and NIC, rails."""
    parts = []
    if finding.device:
        parts.append(f"{finding.device} {finding.port}" if finding.port else finding.device)
    if finding.node:
        parts.append(f"{finding.node} {finding.nic}" if finding.nic else finding.node)
    elif finding.nodes:
        parts.append(f"nodes {_few(finding.nodes, 4)}")
    if finding.rails and not finding.nic:
        parts.append(
            ("rail " if len(finding.rails) == 1 else "rails ") + _few([str(rail) for rail in finding.rails], 8)
        )
    return ", ".join(parts) or "fabric"


def _few(names: Iterable[str], most: int) -> str:
    listed = list(names)
    shown = ", ".join(listed[:most])
    return shown if len(listed) <= most else f"{shown} and {len(listed) - most} more"
