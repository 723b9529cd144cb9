"""The answer to "may this job start on these nodes?"."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fabric.values.finding import Finding, Summary


class Answer(StrEnum):
    """go and warn exit 0, no-go exits 1, unknown exits 2."""

    GO = "go"
    WARN = "warn"
    NO_GO = "no-go"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A go / no-go for `nodes`, with the findings that touch them. `taken_at` is seconds since 1970, UTC."""

    verdict: Answer
    nodes: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    summary: Summary = field(default_factory=Summary)
    taken_at: float | None = None
    schema: str = "railfab.gate/1"
