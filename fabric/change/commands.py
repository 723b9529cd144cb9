"""Watchdog changes the updater does not take, as `pfcwd` commands (sonic.md 2.8, sonic-utilities:pfcwd/main.py)."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from fabric.change.semantic import RowDiff
from fabric.values.device_config import Row, Tables


def watchdog_commands(
    by_command: Sequence[RowDiff], every: Sequence[RowDiff], running: Tables, target: Tables
) -> list[str]:
    """Commands to run after the patch, in order: stop, interval, start.

    `by_command` are the watchdog rows that no patch can carry. Where `pfc_enable` or `pfcwd_sw_enable` of a watched
    port changes, its watchdog is restarted: it reads them only when it starts (F080).
    """
    rows = target.get("PFC_WD", {})
    stops = [one.key for one in by_command if one.after is None and one.key != "GLOBAL"]
    stale = [
        one.key
        for one in every
        if one.table == "PORT_QOS_MAP" and one.key in rows and {"pfc_enable", "pfcwd_sw_enable"} & one.fields.keys()
    ]
    restarts = [port for port in stale if port in running.get("PFC_WD", {})]
    starts = [one.key for one in by_command if one.after is not None and one.key != "GLOBAL"]
    commands = [_stop(port) for port in dict.fromkeys([*stops, *restarts])]
    interval = next((one.after for one in by_command if one.key == "GLOBAL" and one.after is not None), None)
    if interval is not None and isinstance(interval.get("POLL_INTERVAL"), str):
        commands.append(f"pfcwd interval {quote(str(interval['POLL_INTERVAL']))}")
    return commands + _starts(dict.fromkeys([*restarts, *starts]), rows)


def _stop(port: str) -> str:
    return f"pfcwd stop {quote(port)}"


def _starts(ports: dict[str, None], rows: dict[str, Row] | object) -> list[str]:
    """One `pfcwd start` for all ports that share their figures."""
    assert isinstance(rows, dict)
    groups: dict[tuple[str, str, str], list[str]] = {}
    for port in ports:
        row = rows.get(port, {})
        figures = (
            str(row.get("action", "drop")),
            str(row.get("restoration_time", "")),
            str(row.get("detection_time", "")),
        )
        groups.setdefault(figures, []).append(port)
    return [
        f"pfcwd start --action {quote(action)} --restoration-time {quote(restore)} "
        f"{' '.join(quote(port) for port in sorted(members, key=_number))} {quote(detect)}"
        for (action, restore, detect), members in groups.items()
    ]


def _number(port: str) -> int:
    digits = "".join(char for char in port if char.isdigit())
    return int(digits or 0)
