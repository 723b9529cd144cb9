"""Collecting findings: failures and warnings stand, passes are counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fabric.values.finding import Confidence, Finding, Severity, Status


@dataclass(slots=True)
class Tally:
    """Findings so far and the number of things that were judged good."""

    findings: list[Finding] = field(default_factory=list)
    passed: int = 0

    def fail(self, code: str, *, severity: Severity = Severity.BLOCK, **fields: Any) -> None:
        """A rule is broken. `fields` are those of Finding."""
        self._add(code, Status.FAIL, severity, fields)

    def warn(self, code: str, *, severity: Severity = Severity.WARN, **fields: Any) -> None:
        """A rule is met with a note somebody must read."""
        self._add(code, Status.WARN, severity, fields)

    def _add(self, code: str, status: Status, severity: Severity, fields: dict[str, Any]) -> None:
        self.findings.append(
            Finding(code=code, status=status, severity=severity, confidence=Confidence.CERTAIN, **fields)
        )
