"""JSON documents of the contract (docs/json.md): one schema a kind, absent is null, stdout holds nothing else."""

from __future__ import annotations

import json
from typing import Any

from fabric.values.codec import plain
from fabric.values.finding import Changes, Report, finding_json, summary_json


def check_document(report: Report, fabric: str) -> dict[str, Any]:
    """`railfab check --json`: railfab.check/1."""
    return {
        "schema": "railfab.check/1",
        "fabric": fabric,
        "taken_at": report.taken_at,
        "findings": [finding_json(finding) for finding in report.findings],
        "summary": summary_json(report.summary),
        "notes": list(report.notes),
        "changes": _changes(report.changes),
    }


def _changes(changes: Changes | None) -> dict[str, Any] | None:
    """New and gone findings against the baseline; null where no comparison was asked for."""
    if changes is None:
        return None
    return {
        "since": changes.since,
        "new": [finding_json(finding) for finding in changes.new],
        "gone": [finding_json(finding) for finding in changes.gone],
        "same": changes.same,
    }


def document(data: dict[str, Any]) -> str:
    """A document as text: two spaces of indent, a newline at the end."""
    return json.dumps(plain(data), indent=2, ensure_ascii=False) + "\n"
