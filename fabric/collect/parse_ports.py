"""Ports: APPL_DB PORT_TABLE, STATE_DB PORT_TABLE and PORT_OPERR_TABLE (facts: sonic.md 5.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fabric.collect.scalars import absent, clean, integer, speed_mbps, up, utc_time
from fabric.errors import CollectError
from fabric.values.snapshot import PortState

Row = Mapping[str, str]
_MARKERS = frozenset({"PortConfigDone", "PortInitDone"})


def ports(appl: Mapping[str, Row], state: Mapping[str, Row], *, done_marker: bool = True) -> dict[str, PortState]:
    """Port name -> state. `appl` and `state` are the PORT_TABLE rows of the two databases by port name.

    CollectError when APPL_DB has no port at all: a switch always has some, so an empty table is no answer.
    `done_marker`: require that portsyncd finished (`PortInitDone`), else ports may be missing.
    """
    found: dict[str, PortState] = {}
    for name, row in appl.items():
        if name not in _MARKERS:
            found[clean(name)] = _port(clean(name), row, state.get(name, {}))
    if not found:
        raise CollectError("APPL_DB has no port: swss is not up")
    if done_marker and not _MARKERS & appl.keys():
        raise CollectError("ports are still being made (no PortInitDone)")
    return found


def _port(name: str, row: Row, state: Row) -> PortState:
    return PortState(
        name=name,
        oper_up=up(row.get("oper_status")),
        admin_up=up(row.get("admin_status")),
        speed_mbps=speed_mbps(row.get("speed")),
        oper_speed_mbps=speed_mbps(state.get("speed")),
        mtu=integer(row.get("mtu")),
        fec=_word(row.get("fec")),
        oper_fec=_word(state.get("fec")),
        lanes=_lanes(row.get("lanes")),
        alias=_word(row.get("alias")),
        index=integer(row.get("index")),
        description=clean(row["description"]) if "description" in row else None,
        autoneg=_word(row.get("autoneg")),
        flap_count=integer(row.get("flap_count")),
        last_up_time=utc_time(row.get("last_up_time")),
        last_down_time=utc_time(row.get("last_down_time")),
    )


def _word(value: str | None) -> str | None:
    return None if absent(value) and value not in ("none", "None") else clean(value)


def _lanes(value: str | None) -> tuple[int, ...]:
    numbers = [integer(lane) for lane in (value or "").split(",")]
    return tuple(lane for lane in numbers if lane is not None) if None not in numbers else ()


def errors_by_port(state: Mapping[str, Row]) -> dict[str, dict[str, str]]:
    """PORT_OPERR_TABLE rows by port: counts and times as SONiC has them."""
    return {
        clean(name): {clean(field): clean(value) for field, value in row.items() if not absent(value)}
        for name, row in state.items()
    }


def switch_table(appl: Mapping[str, Row]) -> dict[str, str]:
    """SWITCH_TABLE:switch: hash seeds and the like."""
    return {clean(field): clean(value) for field, value in appl.get("switch", {}).items()}


def is_front_panel(name: str) -> bool:
    """Whether the name is a port that can hold a fabric cable (`Ethernet0`, not `Ethernet-BP0` or `eth0`)."""
    return re.fullmatch(r"Ethernet\d+", name, re.ASCII) is not None
