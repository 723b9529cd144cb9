"""Findings: what a check says. Field names and meanings are fixed by the JSON contract (docs/json.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Status(StrEnum):
    """Outcome of one check on one object. `unknown` is "could not tell": never healthy, never a fault."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """What it means for a job: `block` stops it, `warn` lets it run with a note, `info` is a note."""

    BLOCK = "block"
    WARN = "warn"
    INFO = "info"


class Confidence(StrEnum):
    """How good the evidence is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    WEAK = "weak"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One end of a cable: a device and its port (`Ethernet0`) or NIC (`rail3`)."""

    device: str
    port: str


@dataclass(frozen=True, slots=True)
class Move:
    """Take the plug of `cable` out of `from_` and put it into `to`. Moves are applied in order."""

    cable: str
    from_: Place
    to: Place


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a check found.

    `code` is an id of the rule catalogue (TOPO-01, BGP-03, CFG-07, ...). `expected`, `observed`, `evidence` and
    `remedy` are sentences for a person. `consequences` are findings caused by this one: they never stand on top.
    """

    code: str
    status: Status
    severity: Severity = Severity.BLOCK
    confidence: Confidence | None = None
    device: str | None = None
    port: str | None = None
    node: str | None = None
    nic: str | None = None
    rail: int | None = None
    nodes: tuple[str, ...] = ()
    rails: tuple[int, ...] = ()
    cable: str | None = None
    expected: str | None = None
    observed: str | None = None
    evidence: str | None = None
    remedy: str | None = None
    moves: tuple[Move, ...] = ()
    consequences: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over top-level findings and passes; `missing_devices` are those of the Plan we have no data for."""

    passed: int = 0
    fail: int = 0
    warn: int = 0
    unknown: int = 0
    devices: int = 0
    missing_devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """Findings on top against those of the baseline: new, gone, and how many stayed. `since` is its `taken_at`."""

    since: float | None
    new: tuple[Finding, ...] = ()
    gone: tuple[Finding, ...] = ()
    same: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """What one run of checks says: findings on top (fail, warn, unknown; passes are counted) and the summary.

    `notes` say what was not asked or could not be judged, and what must be shown to whoever reads the report.
    `taken_at` is the end of the snapshot, seconds since 1970. `changes` is set where a comparison was asked for.
    """

    findings: tuple[Finding, ...] = ()
    summary: Summary = field(default_factory=Summary)
    notes: tuple[str, ...] = ()
    taken_at: float | None = None
    changes: Changes | None = None


def summarize(
    findings: Iterable[Finding], passed: int = 0, devices: int = 0, missing_devices: Iterable[str] = ()
) -> Summary:
    """Count top-level findings by status. A finding whose status is pass adds to `passed`."""
    counts = dict.fromkeys(Status, 0)
    for finding in findings:
        counts[finding.status] += 1
    return Summary(
        passed=passed + counts[Status.PASS],
        fail=counts[Status.FAIL],
        warn=counts[Status.WARN],
        unknown=counts[Status.UNKNOWN],
        devices=devices,
        missing_devices=tuple(sorted(missing_devices)),
    )


def exit_code(summary: Summary, strict: bool = False) -> int:
    """0 healthy (warnings alone too), 1 findings (or warnings when `strict`), 2 could not tell.

    Findings and holes together are 1. Nothing judged at all is 2: "no data" is never "healthy".
    """
    if summary.fail or (strict and summary.warn):
        return 1
    judged = summary.passed + summary.warn
    if summary.unknown or summary.missing_devices or not judged:
        return 2
    return 0


def finding_json(finding: Finding) -> dict[str, object]:
    """The finding as the JSON contract spells it (`from`, not `from_`)."""
    from fabric.values.codec import plain

    data: dict[str, object] = plain(finding)
    data["moves"] = [{"cable": move.cable, "from": plain(move.from_), "to": plain(move.to)} for move in finding.moves]
    data["consequences"] = [finding_json(consequence) for consequence in finding.consequences]
    return data


def summary_json(summary: Summary) -> dict[str, object]:
    """The summary as the JSON contract spells it (`pass`, a Python keyword)."""
    return {
        "pass": summary.passed,
        "fail": summary.fail,
        "warn": summary.warn,
        "unknown": summary.unknown,
        "devices": summary.devices,
        "missing_devices": list(summary.missing_devices),
    }
