"""`verdict.json`: every node's answer, written after a check of the whole fabric, read by the prolog in no time."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from fabric.gate.judge import by_node, judge
from fabric.values.finding import Report, Severity
from fabric.values.plan import LifeState, Plan

SCHEMA = "railfab.verdicts/1"
_MOST_REASONS = 5


def record(plan: Plan, report: Report) -> dict[str, Any]:
    """Answer and reasons of each node in service. Nodes that are not are "no-go": no job belongs there."""
    nodes: dict[str, dict[str, Any]] = {}
    names = [name for name, host in plan.hosts.items() if host.state is LifeState.IN_SERVICE]
    for name in names:
        verdict = judge(plan, report, [name])
        blocking_first = sorted(verdict.findings, key=lambda finding: finding.severity is not Severity.BLOCK)
        reasons = [f"{finding.code}: {finding.observed}" for finding in blocking_first if finding.observed is not None]
        nodes[name] = {"verdict": by_node(plan, verdict)[name], "reasons": reasons[:_MOST_REASONS]}
    for name, host in plan.hosts.items():
        if name not in nodes:
            nodes[name] = {"verdict": "no-go", "reasons": [f"LIFE-03: {name} is {host.state.value}"]}
    return {"schema": SCHEMA, "fabric": plan.name, "taken_at": report.taken_at, "nodes": nodes}


def write_record(path: Path, data: dict[str, Any]) -> None:
    """Write the record whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".verdict-", suffix=".json")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
