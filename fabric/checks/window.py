"""What grew between the baseline and the snapshot: raw counters, with restarts, wraps and gaps told apart.

A counter that only one of the two has is absent: no data is not zero. After a restart nothing is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fabric.checks.view import View

Table = Literal["counters", "queues", "pgs"]
_Rows = Mapping[str, Mapping[str, int | str]]

_WRAP = 1 << 64
_NEAR_WRAP = _WRAP - (1 << 60)
_NONE: Mapping[str, int | str] = {}


@dataclass(slots=True)
class Grown:
    """One row of counters in both samples."""

    new: Mapping[str, int | str]
    old: Mapping[str, int | str]

    def by(self, name: str) -> int | None:
        """How much one counter grew; None when one sample lacks it, or when it was cleared in between."""
        value, earlier = self.new.get(name), self.old.get(name)
        if not isinstance(value, int) or not isinstance(earlier, int):
            return None
        if value >= earlier:
            return value - earlier
        # What it counted since it was cleared is a lower bound of nothing we want.
        return value - earlier + _WRAP if earlier >= _NEAR_WRAP else None


_EMPTY = Grown(_NONE, _NONE)


def span_s(view: View, device: str) -> float | None:
    """Seconds between the two samples of a switch; None without a usable pair (missing, restarted, same time)."""
    if device in view.spans:
        return view.spans[device]
    view.spans[device] = found = _span(view, device)
    return found


def _span(view: View, device: str) -> float | None:
    now, before = view.state(device), view.before(device)
    if now is None or before is None:
        return None
    elapsed = now.taken_at - before.taken_at
    if elapsed <= 0:
        return None
    for age in (now.uptime_s, now.swss_uptime_s):
        if age is not None and age < elapsed:
            return None
    return elapsed


def grown(view: View, device: str, table: Table, key: str) -> Grown:
    """One port (`counters`) or `port:n` (queues, pgs) in both samples; empty when nobody can tell."""
    if span_s(view, device) is None:
        return _EMPTY
    now, before = view.state(device), view.before(device)
    assert now is not None
    assert before is not None
    new: _Rows | None
    old: _Rows | None
    if table == "counters":
        new, old = now.counters, before.counters
    elif table == "queues":
        new, old = now.queues, before.queues
    else:
        new, old = now.pgs, before.pgs
    if new is None or old is None:
        return _EMPTY
    return Grown(new.get(key, _NONE), old.get(key, _NONE))
