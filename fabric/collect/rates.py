"""What changed between two samples of one switch: deltas and rates; restarts, wraps and clears told apart. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric.errors import InputError, Problem
from fabric.values.snapshot import SwitchState

_WRAP = 1 << 64
# A counter this close to 2^64 can have wrapped; any other that fell was cleared (swss or the ASIC started again).
_NEAR_WRAP = _WRAP - (1 << 60)
# Flex counters of ports are polled every second, queues every ten (facts: sonic.md 8.44): shorter windows say nothing.
SHORTEST_WINDOW_S = 2.0


@dataclass(frozen=True, slots=True)
class Delta:
    """How much a counter grew. `per_s` is the rate over the window.

    `cleared`: the counter started again inside the window; `value` is what it counted since, a lower bound.
    """

    value: int
    per_s: float
    cleared: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """Growth of every counter of a switch: key (port, or `port:3`) -> counter -> Delta.

    A counter that only one sample has is absent: no data is not zero. `restarted`: swss or the switch came up again
    between the samples. `flaps`: port -> ups and downs counted in the window, None where it cannot be said.
    """

    device: str
    seconds: float
    restarted: bool
    ports: Mapping[str, Mapping[str, Delta]] = field(default_factory=dict)
    queues: Mapping[str, Mapping[str, Delta]] = field(default_factory=dict)
    pgs: Mapping[str, Mapping[str, Delta]] = field(default_factory=dict)
    flaps: Mapping[str, int | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def delta(before: int, after: int, seconds: float, *, restarted: bool = False) -> Delta:
    """Growth of one counter over `seconds` (> 0). A restart makes `after` all there is, even when it is larger."""
    if restarted:
        return Delta(after, after / seconds, cleared=True)
    if after >= before:
        return Delta(after - before, (after - before) / seconds)
    if before >= _NEAR_WRAP:
        grown = after + _WRAP - before
        return Delta(grown, grown / seconds)
    return Delta(after, after / seconds, cleared=True)


def grown(
    before: Mapping[str, Mapping[str, int | str]] | None,
    after: Mapping[str, Mapping[str, int | str]] | None,
    seconds: float,
    *,
    restarted: bool = False,
) -> dict[str, dict[str, Delta]]:
    """Growth of every whole-number field both samples have."""
    found: dict[str, dict[str, Delta]] = {}
    for key, row in (after or {}).items():
        old = (before or {}).get(key)
        if old is None:
            continue
        deltas = {
            name: delta(earlier, value, seconds, restarted=restarted)
            for name, value in row.items()
            if isinstance(value, int) and isinstance(earlier := old.get(name), int)
        }
        if deltas:
            found[key] = deltas
    return found


def window(before: SwitchState, after: SwitchState) -> Window:
    """Everything that changed between two samples. InputError when they are not two samples of one switch in order."""
    if before.device != after.device:
        raise InputError(Problem(f"samples of {before.device} and {after.device} make no window", "give two of one"))
    seconds = after.taken_at - before.taken_at
    if seconds <= 0:
        raise InputError(Problem(f"{after.device}: the samples are {seconds:g} s apart", "give the earlier one first"))
    restarted = started_again(before, after)
    notes = []
    if seconds < SHORTEST_WINDOW_S:
        notes.append(f"a window of {seconds:.1f} s is shorter than the switch polls its counters")
    if restarted:
        notes.append("swss or the switch started again inside the window: counts are since then")
    return Window(
        device=after.device,
        seconds=seconds,
        restarted=restarted,
        ports=grown(before.counters, after.counters, seconds, restarted=restarted),
        queues=grown(before.queues, after.queues, seconds, restarted=restarted),
        pgs=grown(before.pgs, after.pgs, seconds, restarted=restarted),
        flaps=_flaps(before, after, restarted=restarted),
        notes=tuple(notes),
    )


def started_again(before: SwitchState, after: SwitchState) -> bool:
    """Whether swss (or the whole switch) came up between two samples: its uptime is shorter than the time between.

    Without an uptime, a fall of every port's flap count says it too.
    """
    seconds = after.taken_at - before.taken_at
    for name in ("swss_uptime_s", "uptime_s"):
        old, new = getattr(before, name), getattr(after, name)
        if new is not None and new + 5 < seconds:
            return True
        if old is not None and new is not None and new < old:
            return True
    pairs = [
        (old.flap_count, new.flap_count)
        for name, new in (after.ports or {}).items()
        if (old := (before.ports or {}).get(name)) is not None
    ]
    known = [(old, new) for old, new in pairs if old is not None and new is not None]
    return bool(known) and any(new < old for old, new in known)


def _flaps(before: SwitchState, after: SwitchState, *, restarted: bool) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for name, new in (after.ports or {}).items():
        old = (before.ports or {}).get(name)
        if restarted or old is None or old.flap_count is None or new.flap_count is None:
            found[name] = None
        else:
            found[name] = new.flap_count - old.flap_count if new.flap_count >= old.flap_count else None
    return found
