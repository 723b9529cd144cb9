"""Where the snapshots of a check come from: files, the live switches, the history. No verb of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabric.values.plan import Plan
    from fabric.values.snapshot import Snapshot

# What repeat offenders are told by; more snapshots than this say nothing new.
_PARTS = ("ports", "counters")
_MOST = 24


@dataclass(frozen=True, slots=True)
class Sources:
    """What a check looks at. `trend`: (time, summary) of earlier reports the watcher kept, oldest first."""

    snapshot: Snapshot
    baseline: Snapshot | None = None
    history: tuple[Snapshot, ...] = ()
    trend: tuple[tuple[float, dict[str, int]], ...] = field(default=())


def sources(
    plan: Plan,
    intent: Path,
    state: Path | None,
    *,
    snapshot: Path | None,
    baseline: str | None,
    sample: str | None = None,
    history: str | None = None,
) -> Sources:
    """The snapshot to judge, its baseline, and what came before: from files, the history, or asked of every switch now.

    `baseline` is a file, or a time such as 1h: the last snapshot of the history from before then. `sample`: ask twice,
    this far apart, and judge what counted in between. `history`: how far back to look for repeat offenders. InputError
    for a bad file, TransportError when nothing can be asked at all; a switch that does not answer stands in the
    snapshot's `missing`.
    """
    from fabric.collect import files
    from fabric.errors import InputError, Problem

    if sample is not None and (snapshot is not None or baseline is not None):
        raise InputError(Problem("--sample asks the live fabric twice", "leave --snapshot and --baseline out"))
    # Files are read first: a bad one is told before anybody is asked.
    before = files.read(Path(baseline)) if baseline is not None and _is_file(baseline) else None
    if snapshot is not None:
        first, now = None, files.read(snapshot)
    else:
        first, now = _ask(plan, intent, state, sample)
    if baseline is not None:
        first = before or _earlier(plan, intent, state, baseline, now)
    past, trend = _past(plan, intent, state, history, now)
    return Sources(now, first, past, trend)


def _ask(plan: Plan, intent: Path, state: Path | None, sample: str | None) -> tuple[Snapshot | None, Snapshot]:
    from fabric.collect.over_ssh import collect_over_ssh
    from fabric.gate.source import seconds
    from fabric.state import state_paths
    from fabric.transport.login import Login, terminal_prompt
    from fabric.transport.session import Target
    from fabric.values.plan import LifeState

    targets = [
        Target(switch.name, switch.mgmt_address.partition("/")[0])
        for switch in plan.switches.values()
        if switch.state in (LifeState.IN_SERVICE, LifeState.INSTALLED)
    ]
    login = Login.from_environment(state_paths(intent, state).known_hosts, ask=terminal_prompt())
    window_s = None if sample is None else seconds(sample)
    first, second = collect_over_ssh(plan.name, targets, login, window_s=window_s, keep_raw=False)
    return None if first is None else first.snapshot, second.snapshot


def _is_file(baseline: str) -> bool:
    path = Path(baseline)
    return path.exists() or not baseline[:1].isdigit() or bool(path.suffix)


def _earlier(plan: Plan, intent: Path, state: Path | None, baseline: str, now: Snapshot) -> Snapshot:
    from fabric.collect.history import History
    from fabric.errors import InputError, Problem
    from fabric.gate.source import seconds

    where = _history_of(intent, state)
    if where is not None:
        with History(where) as history:
            found = history.as_of(now.ended_at - seconds(baseline), plan.name)
        if found is not None:
            return found
    raise InputError(
        Problem(
            f"the history has no snapshot from {baseline} ago", "give a file, or keep one: `railfab collect --history`"
        )
    )


def _past(
    plan: Plan, intent: Path, state: Path | None, back: str | None, now: Snapshot
) -> tuple[tuple[Snapshot, ...], tuple[tuple[float, dict[str, int]], ...]]:
    if back is None:
        return (), ()
    from fabric.collect.history import History
    from fabric.gate.source import seconds

    where = _history_of(intent, state)
    if where is None:
        return (), ()
    since = now.ended_at - seconds(back)
    with History(where) as history:
        taken = [one for one in history.taken(plan.name, since=since) if one.ended_at < now.ended_at]
        step = max(1, -(-len(taken) // _MOST))
        kept = taken[::-1][::step][::-1]
        past = tuple(history.load(one.number, _PARTS) for one in kept)
        notes = history.notes("report", since=since)
    return past, tuple((at, data["summary"]) for at, data in notes if isinstance(data.get("summary"), dict))


def _history_of(intent: Path, state: Path | None) -> Path | None:
    """The history of the intent, if there is one: nothing is created by looking."""
    from fabric.state import state_paths

    path = state_paths(intent, state).history
    return path if path.exists() else None
