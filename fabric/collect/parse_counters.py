"""COUNTERS_DB through its name maps: ports, rates, queues with their watchdog, priority groups, watermarks.

Facts: sonic.md 5.5. Raw and cumulative; `fabric.collect.rates` makes rates of two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeVar

from fabric.collect.scalars import absent, clean, integer, number
from fabric.collect.tables import Database, named
from fabric.errors import CollectError

T = TypeVar("T")
Row = Mapping[str, str]
_PREFIXES = ("SAI_PORT_STAT_", "SAI_QUEUE_STAT_", "SAI_INGRESS_PRIORITY_GROUP_STAT_", "SAI_BUFFER_POOL_STAT_")
_WATERMARKS = (
    ("queue", "COUNTERS_QUEUE_NAME_MAP"),
    ("pg", "COUNTERS_PG_NAME_MAP"),
    ("pool", "COUNTERS_BUFFER_POOL_NAME_MAP"),
)


@cache
def field_name(name: str) -> str:
    """The field without SAI's prefix; an estimate of the poller keeps its mark: `EST_PFC_3_RX_PAUSE_DURATION_US`."""
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name[len(prefix) :]
    return f"EST_{name[14:]}" if name.startswith("EST_PORT_STAT_") else name


def _rows(database: Database, name_map: str, table: str) -> Mapping[str, Mapping[str, str]]:
    rows = named(database, name_map, table)
    if not rows:
        raise CollectError(f"COUNTERS_DB has no {name_map}: counters are not polled, or swss is not up")
    return rows


def port_counters(database: Database) -> dict[str, dict[str, int]]:
    """Port -> counter -> value since swss start. CollectError without a name map, or when no port has a counter."""
    rows = _rows(database, "COUNTERS_PORT_NAME_MAP", "COUNTERS")
    found = _each(rows, _whole)
    if not any(found.values()):
        raise CollectError("no port has counters: polling is off (counterpoll port)")
    return found


def _each(rows: Mapping[str, Row], read: Callable[[Row], T]) -> dict[str, T]:
    """Each row read once: rows that are one object become one object again."""
    read_before: dict[int, T] = {}
    found: dict[str, T] = {}
    for name, row in rows.items():
        value = read_before.get(id(row))
        if value is None:
            value = read_before[id(row)] = read(row)
        found[clean(name)] = value
    return found


def _whole(row: Row) -> dict[str, int]:
    return {field_name(name): value for name, text in row.items() if (value := integer(text)) is not None}


def port_rates(database: Database) -> dict[str, dict[str, float]]:
    """Port -> rate. `RX_BPS` and `TX_BPS` are bytes a second in the database, whatever their name says."""
    rows = _rows(database, "COUNTERS_PORT_NAME_MAP", "RATES")
    return _each(
        rows, lambda row: {clean(name): value for name, text in row.items() if (value := number(text)) is not None}
    )


def _marked(row: Row, head: str) -> dict[str, int]:
    return {f"{head}_{name}": value for name, value in _whole(row).items()}


def _mixed(row: Row) -> dict[str, int | str]:
    found: dict[str, int | str] = {}
    for name, text in row.items():
        value = integer(text)
        if value is not None:
            found[field_name(name)] = value
        elif name.startswith("PFC_WD_") and not absent(text):
            found[name] = clean(text)
    return found


def queues(database: Database) -> dict[str, dict[str, int | str]]:
    """`Ethernet0:3` -> fields of a unicast queue, its watchdog's (PFC_WD_*) among them, text where it is text."""
    return _each(_rows(database, "COUNTERS_QUEUE_NAME_MAP", "COUNTERS"), _mixed)


def priority_groups(database: Database) -> dict[str, dict[str, int | str]]:
    """`Ethernet0:3` -> fields of an ingress priority group."""
    return _each(_rows(database, "COUNTERS_PG_NAME_MAP", "COUNTERS"), _mixed)


def watermarks(database: Database) -> dict[str, dict[str, int]]:
    """`queue:Ethernet0:3`, `pg:Ethernet0:3`, `pool:ingress_lossless_pool` -> `USER_X`, `PERSISTENT_X` in bytes.

    USER is since somebody cleared it, PERSISTENT since swss start. CollectError when there is no map at all.
    """
    found: dict[str, dict[str, int]] = {}
    seen = False
    for kind, name_map in _WATERMARKS:
        for table in ("USER_WATERMARKS", "PERSISTENT_WATERMARKS"):
            rows = named(database, name_map, table)
            seen = seen or bool(rows)
            head = table.partition("_")[0]
            for name, values in _each(rows or {}, lambda row, head=head: _marked(row, head)).items():  # type: ignore[misc]
                if values:
                    key = f"{kind}:{name}"
                    found[key] = found[key] | values if key in found else values
    if not seen:
        raise CollectError("COUNTERS_DB has no queue or priority group map: watermarks are not polled")
    return found


def crm(database: Database) -> dict[str, int]:
    """CRM:STATS without `crm_stats_`. CollectError when orchagent has written none yet, or none that is a number."""
    head = "crm_stats_"
    rows = database.hashes.get("CRM:STATS", {})
    found = {
        clean(name[len(head) :]): value
        for name, text in rows.items()
        if name.startswith(head) and (value := integer(text)) is not None and value >= 0
    }
    if not found:
        raise CollectError("COUNTERS_DB has no CRM:STATS: CRM has not polled yet, or cannot on this platform")
    return found
