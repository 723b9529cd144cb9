"""JSON documents of the contract (docs/json.md): one schema a kind, absent is null, stdout holds nothing else."""

from __future__ import annotations

import json
from typing import Any

from fabric.values.codec import plain
from fabric.values.finding import Report, finding_json, summary_json


def check_document(report: Report, fabric: str) -> dict[str, Any]:
    """`railfab check --json`: railfab.check/1."""
    return {
        "schema": "railfab.check/1",
        "fabric": fabric,
        "taken_at": report.taken_at,
        "findings": [finding_json(finding) for finding in report.findings],
        "summary": summary_json(report.summary),
        "notes": list(report.notes),
    }


def document(data: dict[str, Any]) -> str:
    """A document as text: two spaces of indent, a newline at the end."""
    return json.dumps(plain(data), indent=2, ensure_ascii=False) + "\n"
