"""What changed from one report to the next: findings that appeared, and those that cleared. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fabric.values.finding import Finding, Status, finding_json

Key = tuple[str | int | None, ...]


def key(finding: Finding) -> Key:
    """What makes a finding the same one in the next report: its code and place, not its words or numbers."""
    return finding.code, finding.device, finding.port, finding.node, finding.nic, finding.cable, finding.rail


@dataclass(frozen=True, slots=True)
class Event:
    """One finding that appeared, grew worse or milder, or cleared. Times are seconds since 1970.

    `kind` is appeared | changed | cleared. `since` is when the finding was first seen, `times` how often it came back
    before within the memory of the watcher.
    """

    kind: str
    at: float
    since: float
    finding: Finding
    times: int = 0

    def document(self, fabric: str) -> dict[str, Any]:
        """`railfab.watch-event/1`."""
        return {
            "schema": "railfab.watch-event/1",
            "fabric": fabric,
            "kind": self.kind,
            "at": self.at,
            "since": self.since,
            "times": self.times,
            "finding": finding_json(self.finding),
        }


@dataclass(slots=True)
class _Open:
    finding: Finding
    since: float
    absent: int = 0


class Ledger:
    """Findings that are open. A finding clears when `clear_after` reports in a row do not have it (hysteresis).

    A report that could not tell about a device clears nothing of it: no data is not repair.
    """

    def __init__(self, clear_after: int = 2, memory_s: float = 86400.0) -> None:
        self._clear_after = clear_after
        self._memory_s = memory_s
        self._open: dict[Key, _Open] = {}
        self._before: dict[Key, list[float]] = {}

    def open(self) -> list[Finding]:
        """Findings that have not cleared yet, oldest first."""
        return [one.finding for one in sorted(self._open.values(), key=lambda one: one.since)]

    def take(self, findings: Iterable[Finding], at: float, blind: Iterable[str] = ()) -> list[Event]:
        """Events of a report taken at `at`. `blind`: devices nothing is known of this time."""
        now = {key(finding): finding for finding in findings if finding.status is not Status.PASS}
        unseen = set(blind)
        events = [self._seen(one, finding, at) for one, finding in now.items()]
        found = [event for event in events if event is not None]
        for one in [known for known in self._open if known not in now]:
            entry = self._open[one]
            if unseen & {entry.finding.device, entry.finding.node}:
                continue
            entry.absent += 1
            if entry.absent >= self._clear_after:
                del self._open[one]
                found.append(Event("cleared", at, entry.since, entry.finding, self._times(one, at)))
                self._before.setdefault(one, []).append(at)
        return found

    def _seen(self, one: Key, finding: Finding, at: float) -> Event | None:
        entry = self._open.get(one)
        if entry is None:
            self._open[one] = _Open(finding, at)
            return Event("appeared", at, at, finding, self._times(one, at))
        changed = (entry.finding.status, entry.finding.severity) != (finding.status, finding.severity)
        entry.finding, entry.absent = finding, 0
        return Event("changed", at, entry.since, finding, self._times(one, at)) if changed else None

    def _times(self, one: Key, at: float) -> int:
        times = [when for when in self._before.get(one, ()) if at - when <= self._memory_s]
        if times:
            self._before[one] = times
        else:
            self._before.pop(one, None)
        return len(times)
