"""From a snapshot to a report, with what stands beside the intent: holds, and how far back to look."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.errors import InputError, Problem
from fabric.state import state_paths

if TYPE_CHECKING:
    from fabric.values.change import Held
    from fabric.values.finding import Report
    from fabric.values.plan import Plan
    from fabric.values.snapshot import Snapshot

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def check_fabric(
    plan: Plan,
    intent: Path,
    *,
    snapshot: Snapshot,
    state: Path | None = None,
    baseline: Snapshot | None = None,
    window: str | float | None = None,
    only: Collection[str] | None = None,
    scope: Sequence[str] = (),
    devices: Iterable[str] = (),
    history: Sequence[Snapshot] = (),
    changes: bool = False,
) -> Report:
    """Run the checks of a fabric on a snapshot, with what stands in its state beside the intent (holds).

    `scope` are words of `fabric.checks.scope`, `devices` names that are added to it. `window` is a time such as 60s, or
    seconds. `changes`: judge the baseline too and say what is new and what is gone since. Raises InputError for words,
    times and files that are wrong.
    """
    from fabric.checks import run_checks
    from fabric.checks.scope import scope_devices
    from fabric.diagnose import compare

    if changes and baseline is None:
        raise InputError(Problem("nothing to compare with", "give --baseline, a snapshot from before"))
    wanted = scope_devices(plan, scope) | frozenset(devices)
    held = read_holds(intent, state)
    report = run_checks(
        plan,
        snapshot,
        baseline=baseline,
        window_s=seconds(window) if isinstance(window, str) else window,
        only=only,
        scope=wanted,
        held=held,
        history=history,
    )
    if not changes or baseline is None:
        return report
    before = run_checks(plan, baseline, only=only, scope=wanted, held=held)
    return dataclasses.replace(report, changes=compare(before, report))


def understood(
    plan: Plan,
    *,
    times: Iterable[str | None] = (),
    only: Collection[str] | None = None,
    scope: Sequence[str] = (),
) -> None:
    """InputError for words and times that are wrong: told before anybody is asked for a password."""
    from fabric.checks import unknown_checks
    from fabric.checks.scope import scope_devices

    for text in times:
        if text is not None:
            seconds(text)
    problems = unknown_checks(only)
    if problems:
        raise InputError(problems)
    scope_devices(plan, scope)


def read_holds(intent: Path, state: Path | None) -> tuple[Held, ...]:
    """State made by hand and kept on purpose, as `railfab hold` wrote it; none when there is no such file."""
    import json

    from fabric.values.change import Held

    path = state_paths(intent, state).holds
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise InputError(Problem(f"cannot read it: {error}", "repair or remove it", file=str(path))) from None
    if isinstance(rows, dict):
        rows = rows.get("holds", [])
    return tuple(
        Held(
            device=str(row["device"]),
            item=str(row.get("item") or ""),
            observed=str(row.get("observed") or ""),
            desired=str(row.get("desired") or ""),
            reason=str(row.get("reason") or ""),
            until=row.get("until"),
        )
        for row in rows
        if isinstance(row, dict) and "device" in row
    )


def seconds(text: str) -> float:
    """`60s`, `5m`, `1h`, `2d` or a bare number of seconds."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", text)
    if match is None or float(match[1]) <= 0:
        raise InputError(Problem(f"{text!r} is no time", "write 60s, 5m, 1h or 2d"))
    return float(match[1]) * _UNITS[match[2]]
