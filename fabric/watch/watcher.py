"""The loop. One round: look, judge against the round before, tell every listener; then wait for the next.

A round that cannot look is a round with every device missing: its report says "cannot tell", and so does whatever is
told. Nothing of a round is told when judging fails: old verdicts grow old, and readers refuse old ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from fabric.errors import RailfabError
from fabric.values.finding import Report, exit_code
from fabric.values.snapshot import Snapshot, SwitchState
from fabric.watch.events import Event, Ledger

# What checks read of earlier snapshots: flaps and uncorrectable codewords.
REMEMBERED = ("ports", "counters")
_IDENTITY = ("device", "taken_at", "source", "uptime_s", "swss_uptime_s")


@dataclass(frozen=True, slots=True)
class Round:
    """One finished round, as listeners get it. `number` counts from 1; `late_s` is how much it overran its time."""

    number: int
    snapshot: Snapshot
    report: Report
    events: tuple[Event, ...]
    open: int
    started_at: float
    ended_at: float
    late_s: float = 0.0


class Judge(Protocol):
    """Snapshot, the round before (None: first), earlier remembered snapshots -> Report."""

    def __call__(self, snapshot: Snapshot, before: Snapshot | None, history: Sequence[Snapshot]) -> Report: ...


Listener = Callable[[Round], None]


class Watcher:
    """Watches one fabric. `devices`: those that should answer, for a round that could not look at all.

    `wait(seconds)` returns True when somebody asked to stop. `remember_s`/`remember`: one slim snapshot is kept every
    so often, so many of them, for checks that know repeat offenders.
    """

    def __init__(
        self,
        fabric: str,
        devices: Sequence[str],
        look: Callable[[], Snapshot],
        judge: Judge,
        listeners: Sequence[Listener],
        *,
        every_s: float,
        clock: Callable[[], float],
        wait: Callable[[float], bool],
        history: Sequence[Snapshot] = (),
        remember_s: float = 3600.0,
        remember: int = 24,
        clear_after: int = 2,
    ) -> None:
        self._fabric = fabric
        self._devices = devices
        self._look = look
        self._judge = judge
        self._listeners = listeners
        self._every_s = every_s
        self._clock = clock
        self._wait = wait
        self._ledger = Ledger(clear_after)
        self._before: Snapshot | None = None
        self._history: deque[Snapshot] = deque((slim(one) for one in history), maxlen=remember)
        self._remember_s = remember_s

    def run(self, rounds: int | None = None) -> int:
        """Go round until asked to stop, or so many times; the exit code of the last report (2 when there is none)."""
        code, number = 2, 0
        due = self._clock()
        while rounds is None or number < rounds:
            number += 1
            late = max(0.0, self._clock() - due)
            code = exit_code(self._round(number, late).report.summary)
            due += self._every_s
            # A round that took longer than its time is followed at once, and not by all that were missed.
            due = max(due, self._clock())
            if (rounds is None or number < rounds) and self._wait(max(0.0, due - self._clock())):
                break
        return code

    def _round(self, number: int, late_s: float) -> Round:
        started = self._clock()
        try:
            snapshot = self._look()
        except RailfabError as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            snapshot = Snapshot(self._fabric, started, self._clock(), missing=dict.fromkeys(self._devices, reason))
        report = self._judge(snapshot, self._before, tuple(self._history))
        events = self._ledger.take(report.findings, snapshot.ended_at, snapshot.missing)
        done = Round(number, snapshot, report, tuple(events), len(self._ledger.open()), started, self._clock(), late_s)
        for tell in self._listeners:
            tell(done)
        if snapshot.switches:
            # Only what was seen can be compared with: a blind round does not become the baseline of the next.
            self._before = snapshot
            if not self._history or snapshot.ended_at - self._history[-1].ended_at >= self._remember_s:
                self._history.append(slim(snapshot))
        return done


def slim(snapshot: Snapshot) -> Snapshot:
    """The snapshot with only what later rounds need of it: months of watching must fit into memory."""
    keep = {*REMEMBERED, *_IDENTITY}
    empty: dict[str, Any] = {
        one.name: None for one in fields(SwitchState) if one.name not in keep and one.default is None
    }
    return replace(
        snapshot,
        switches={name: replace(state, holes=(), notes=(), **empty) for name, state in snapshot.switches.items()},
        hosts={},
    )
