"""LLDP: LLDP_ENTRY_TABLE rows, lldpctl in all its JSON shapes, `show lldp table` text (facts: sonic.md 5.3 and 6).

Rows are kept as sent: what they mean is judged elsewhere. eth0 rows are kept too; the fabric never uses them (F033).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from fabric.collect.scalars import absent, clean, integer
from fabric.collect.tables import load_json
from fabric.errors import CollectError
from fabric.values.snapshot import LldpNeighbour

# IEEE 802.1AB subtypes, in lldpd's words.
_CHASSIS = {"1": "chassis", "2": "ifalias", "3": "port", "4": "mac", "5": "ip", "6": "ifname", "7": "local"}
_PORT = {"1": "ifalias", "2": "port", "3": "mac", "4": "ip", "5": "ifname", "6": "agent", "7": "local"}


def from_table(rows: Mapping[str, Mapping[str, str]]) -> tuple[tuple[LldpNeighbour, ...], tuple[str, ...]]:
    """Neighbours of LLDP_ENTRY_TABLE rows (local port -> fields), and notes on rows that say nothing (F041)."""
    neighbours: list[LldpNeighbour] = []
    notes: list[str] = []
    for port, row in rows.items():
        chassis, port_id = row.get("lldp_rem_chassis_id", ""), row.get("lldp_rem_port_id", "")
        if absent(chassis) and absent(port_id) and absent(row.get("lldp_rem_sys_name")):
            notes.append(f"lldp: the row of {clean(port)} names no neighbour; left out")
            continue
        neighbours.append(
            LldpNeighbour(
                local_port=clean(port),
                system_name=clean(row.get("lldp_rem_sys_name")),
                chassis_id=_identity(chassis, row.get("lldp_rem_chassis_id_subtype") == "4"),
                chassis_subtype=_CHASSIS.get(row.get("lldp_rem_chassis_id_subtype", ""), ""),
                port_id=_identity(port_id, row.get("lldp_rem_port_id_subtype") == "3"),
                port_subtype=_PORT.get(row.get("lldp_rem_port_id_subtype", ""), ""),
                port_description=clean(row.get("lldp_rem_port_desc")),
                system_description=clean(row.get("lldp_rem_sys_desc")),
                management_addresses=tuple(
                    clean(address) for address in row.get("lldp_rem_man_addr", "").split(",") if not absent(address)
                ),
                age_s=_seconds(row.get("lldp_rem_time_mark")),
            )
        )
    return tuple(neighbours), tuple(notes)


def _identity(value: object, is_mac: bool) -> str:
    text = clean(value)
    return text.lower() if is_mac else text


def _seconds(value: str | None) -> float | None:
    seconds = integer(value)
    return None if seconds is None else float(seconds)


def local_chassis(row: Mapping[str, str]) -> str | None:
    """Our own chassis id as lldpd announces it (LLDP_LOC_CHASSIS)."""
    value = row.get("lldp_loc_chassis_id")
    return None if absent(value) else clean(value).lower()


def from_lldpctl(text: str) -> tuple[LldpNeighbour, ...]:
    """Neighbours of `lldpctl -f json` or `json0`; every neighbour of a port is kept.

    All shapes lldpd has had are read the same: lists or single objects (F037), chassis keyed by system name or not
    (F038), values bare or wrapped. CollectError when it is not lldpctl's output at all.
    """
    data = load_json(_json_part(text))
    if isinstance(data, dict) and "lldpNeighbors" in data:
        raise CollectError("this is EOS's LLDP output; only lldpd's is read")
    body = data.get("lldp") if isinstance(data, dict) else None
    if body is None:
        raise CollectError("not the output of lldpctl: no `lldp` in it")
    neighbours: list[LldpNeighbour] = []
    for part in _many(body):
        if not isinstance(part, dict):
            raise CollectError("not the output of lldpctl: `lldp` holds no interfaces")
        for entry in _many(part.get("interface")):
            neighbours.extend(_interfaces(entry))
    return tuple(neighbours)


def _json_part(text: str) -> str:
    """The JSON of an answer that may have error lines before it (F139)."""
    start = text.find("{")
    if start < 0:
        raise CollectError("not the output of lldpctl: no JSON in it")
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise CollectError(f"not JSON: {str(error)[:120] or 'nested too deep'}") from None
    if text[end:].strip():
        raise CollectError("more than one JSON document where lldpctl writes one")
    return text[start:end]


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _interfaces(entry: Any) -> Iterable[LldpNeighbour]:
    if not isinstance(entry, dict):
        raise CollectError("not the output of lldpctl: an interface is no object")
    if isinstance(entry.get("name"), str):
        yield from _neighbour(entry["name"], entry)
        return
    for name, body in entry.items():
        for one in _many(body):
            if not isinstance(one, dict):
                raise CollectError("not the output of lldpctl: an interface is no object")
            yield from _neighbour(name, one)


def _neighbour(local_port: str, body: Mapping[str, Any]) -> Iterable[LldpNeighbour]:
    port = _first(body.get("port"))
    port_type, port_id = _id(port)
    for chassis_part in _many(body.get("chassis")) or [{}]:
        name, chassis = _chassis(chassis_part)
        chassis_type, chassis_id = _id(chassis)
        if not (name or chassis_id or port_id):
            continue
        yield LldpNeighbour(
            local_port=clean(local_port),
            system_name=clean(name),
            chassis_id=_identity(chassis_id, chassis_type == "mac"),
            chassis_subtype=chassis_type,
            port_id=_identity(port_id, port_type == "mac"),
            port_subtype=port_type,
            port_description=clean(_value(port.get("descr"))),
            system_description=clean(_value(chassis.get("descr"))),
            management_addresses=tuple(clean(_value(one)) for one in _many(chassis.get("mgmt-ip")) if _value(one)),
            age_s=_age(body.get("age")),
        )


def _first(value: Any) -> Mapping[str, Any]:
    first = _many(value)[:1]
    return first[0] if first and isinstance(first[0], dict) else {}


def _value(value: Any) -> str:
    """A value bare (`"x"`), wrapped (`{"value": "x"}`) or in a list of one."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("value")
    return value if isinstance(value, str) else "" if value is None or isinstance(value, (dict, list)) else str(value)


def _chassis(chassis: Any) -> tuple[str, Mapping[str, Any]]:
    """System name and body: `{"leaf1": {"id": ...}}`, `{"id": ...}` or `{"name": [...], "id": [...]}`."""
    if not isinstance(chassis, dict):
        return "", {}
    if "id" in chassis or "name" in chassis:
        # A switch may really be called "id": then its body holds the chassis id.
        inner = chassis.get("id")
        if len(chassis) == 1 and isinstance(inner, dict) and isinstance(inner.get("id"), dict):
            return "id", inner
        return _value(chassis.get("name")), chassis
    if len(chassis) == 1:
        name, body = next(iter(chassis.items()))
        if isinstance(body, dict):
            return name, body
    return "", chassis


def _id(holder: Mapping[str, Any]) -> tuple[str, str]:
    one = _first(holder.get("id"))
    kind = one.get("type")
    return (kind if isinstance(kind, str) else "", _value(one.get("value")))


def _age(value: object) -> float | None:
    """lldpd's `55 days, 00:25:58`."""
    match = (
        re.fullmatch(r"\s*(\d{1,6}) days?, (\d\d):(\d\d):(\d\d)\s*", value, re.ASCII)
        if isinstance(value, str)
        else None
    )
    if match is None:
        return None
    days, hours, minutes, seconds = (int(piece) for piece in match.groups())
    return float(days * 86400 + hours * 3600 + minutes * 60 + seconds)


def from_show_table(text: str) -> tuple[tuple[LldpNeighbour, ...], tuple[str, ...]]:
    """Neighbours of saved `show lldp table` text, and other lines as notes (F139).

    Columns are cut where the header has them, never split at blanks (F027). Only for text somebody saved: railfab
    itself asks the database.
    """
    lines = text.splitlines()
    header = next((i for i, line in enumerate(lines) if line.startswith("LocalPort") and "RemotePortID" in line), None)
    if header is None:
        raise CollectError("not `show lldp table`: it has no header line")
    names = ("LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr")
    starts = [lines[header].find(name) for name in names]
    if -1 in starts:
        raise CollectError("not `show lldp table`: its header has other columns")
    notes = [clean(line) for line in lines[:header] if line.strip()]
    neighbours: list[LldpNeighbour] = []
    for line in lines[header + 1 :]:
        if not line.strip() or set(line.strip()) <= {"-", " "} or line.startswith("Total entries"):
            continue
        cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None])]
        if not re.fullmatch(r"\S+", cells[0]):
            notes.append(clean(line))
            continue
        neighbours.append(
            LldpNeighbour(
                local_port=clean(cells[0]),
                system_name=clean(cells[1]),
                port_id=clean(cells[2]),
                port_description=clean(cells[4]),
            )
        )
    return tuple(neighbours), tuple(notes)
