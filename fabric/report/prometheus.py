"""Prometheus text: what a scraper or the node exporter's textfile collector reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from fabric.report.harmless import harmless
from fabric.report.matrix import rail_matrix
from fabric.values.finding import Finding, Report
from fabric.values.plan import Plan

_LEVEL = {"ok": 0, "warn": 1, "unknown": 2, "fail": 3}


def prometheus(report: Report, plan: Plan) -> str:
    """The report as metrics; every name starts with `railfab_`."""
    return "\n".join(_lines(report, plan)) + "\n"


def _lines(report: Report, plan: Plan) -> Iterator[str]:
    fabric = label(plan.name)
    summary = report.summary
    yield "# HELP railfab_checks Outcome of the last run, by status; findings under another one do not count."
    yield "# TYPE railfab_checks gauge"
    for status, count in (
        ("pass", summary.passed),
        ("fail", summary.fail),
        ("warn", summary.warn),
        ("unknown", summary.unknown),
    ):
        yield f'railfab_checks{{fabric="{fabric}",status="{status}"}} {count}'
    yield "# HELP railfab_devices Switches that should have answered, and those that did not."
    yield "# TYPE railfab_devices gauge"
    yield f'railfab_devices{{fabric="{fabric}",state="expected"}} {summary.devices}'
    yield f'railfab_devices{{fabric="{fabric}",state="missing"}} {len(summary.missing_devices)}'
    if report.taken_at is not None:
        yield "# HELP railfab_snapshot_timestamp_seconds End of the snapshot that was judged."
        yield "# TYPE railfab_snapshot_timestamp_seconds gauge"
        yield f'railfab_snapshot_timestamp_seconds{{fabric="{fabric}"}} {report.taken_at:.3f}'
    yield "# HELP railfab_finding Findings on top, by code and place."
    yield "# TYPE railfab_finding gauge"
    yield from _findings(fabric, report.findings)
    yield "# HELP railfab_rail Worst finding on a node's rail: 0 ok, 1 warn, 2 cannot tell, 3 fail."
    yield "# TYPE railfab_rail gauge"
    for (node, rail), level in rail_matrix(plan, report).cells.items():
        yield f'railfab_rail{{fabric="{fabric}",node="{label(node)}",rail="{rail}"}} {_LEVEL[level]}'


def _findings(fabric: str, findings: Iterable[Finding]) -> Iterator[str]:
    rows: Counter[str] = Counter()
    for finding in findings:
        pairs = (
            ("code", finding.code),
            ("status", finding.status.value),
            ("severity", finding.severity.value),
            ("device", finding.device),
            ("port", finding.port),
            ("node", finding.node),
            ("rail", None if finding.rail is None else str(finding.rail)),
        )
        labels = "".join(f',{name}="{label(value)}"' for name, value in pairs if value is not None)
        rows[f'railfab_finding{{fabric="{fabric}"{labels}}}'] += 1
    for row, count in rows.items():
        yield f"{row} {count}"


def label(text: str) -> str:
    """A label value, escaped as the exposition format wants it."""
    return harmless(text).replace("\\", "\\\\").replace('"', '\\"')
