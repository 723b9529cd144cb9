"""From an intent to a report: where the snapshot comes from, what is held, how far back to look."""

from __future__ import annotations

import gzip
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
    state: Path | None = None,
    snapshot: Path | Snapshot | None = None,
    baseline: Path | Snapshot | None = None,
    window: str | float | None = None,
    only: Collection[str] | None = None,
    scope: Sequence[str] = (),
    devices: Iterable[str] = (),
) -> Report:
    """Run the checks of a fabric: on a snapshot (or the file of one), else on what the live switches say now.

    `scope` are words of `fabric.checks.scope`, `devices` names that are added to it. Raises InputError for bad files
    and words, TransportError when nothing can be reached at all.
    """
    from fabric.checks import run_checks
    from fabric.checks.scope import scope_devices

    wanted = scope_devices(plan, scope) | frozenset(devices)
    window_s = seconds(window) if isinstance(window, str) else window
    seen = read_snapshot(snapshot) if isinstance(snapshot, Path) else snapshot
    if seen is None:
        raise InputError(Problem("no snapshot given", "give --snapshot FILE (`railfab collect` writes one)"))
    return run_checks(
        plan,
        seen,
        baseline=read_snapshot(baseline) if isinstance(baseline, Path) else baseline,
        window_s=window_s,
        only=only,
        scope=wanted,
        held=read_holds(intent, state),
    )


def read_snapshot(path: Path) -> Snapshot:
    """A snapshot file, gzip or plain. InputError names the file and the key path of what is wrong."""
    from fabric.values.codec import loads
    from fabric.values.snapshot import Snapshot

    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(Problem(f"cannot read it: {error}", "give a snapshot file", file=str(path))) from None
    return loads(Snapshot, data, str(path))


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
