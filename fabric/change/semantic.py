"""What differs in meaning between two CONFIG_DBs, in the parts that are ours.

The same configuration is written in many ways: bracketed references of older releases (F004), comma strings and
lists, `True` and `true`, `3-4` and `3` plus `4`, absent fields that have a default. None of these is a change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address, ip_interface

from fabric.values.device_config import Row, Tables
from fabric.values.ownership import owns_field, owns_row

# Fields whose items have no order: leaf-lists of the YANG models and the strings that stand for one
# (sonic-yang-mgmt sonic_yang_ext.py, LEAF_LIST_WITH_STRING_VALUE_DICT). `lanes` is not here: lane order counts.
_UNORDERED = frozenset(
    (
        "pfc_enable",
        "pfcwd_sw_enable",
        "adv_speeds",
        "adv_interface_types",
        "profile_list",
        "ecmp_hash",
        "lag_hash",
        "src_intf",
        "ports",
        "ip_range",
    )
)
# What a switch does when the field is absent. Source beside each.
DEFAULTS: Mapping[tuple[str, str], str] = {
    ("PORT", "admin_status"): "down",  # sonic-port.yang
    ("PORT", "mtu"): "9100",  # swss cfgmgr/portmgr.h DEFAULT_MTU_STR
    ("PORT", "description"): "",  # lldpmgrd: an empty one is not advertised
    ("PORT", "pfc_asym"): "off",  # swss orchagent/portsorch.cpp
    ("DEVICE_METADATA", "docker_routing_config_mode"): "separated",  # docker-fpm-frr docker_init.sh
    ("DEVICE_METADATA", "frr_mgmt_framework_config"): "false",  # sonic-device_metadata.yang
    ("DEVICE_METADATA", "default_pfcwd_status"): "disable",  # sonic-device_metadata.yang
    ("DEVICE_METADATA", "synchronous_mode"): "enable",  # sonic-device_metadata.yang
    ("DEVICE_METADATA", "bgp_adv_lo_prefix_as_128"): "false",  # sonic-device_metadata.yang
    ("WRED_PROFILE", "ecn"): "ecn_none",  # sonic-wred-profile.yang
    ("WRED_PROFILE", "wred_green_enable"): "false",
    ("WRED_PROFILE", "wred_yellow_enable"): "false",
    ("WRED_PROFILE", "wred_red_enable"): "false",
    ("WRED_PROFILE", "green_drop_probability"): "100",
    ("WRED_PROFILE", "yellow_drop_probability"): "100",
    ("WRED_PROFILE", "red_drop_probability"): "100",
    ("SCHEDULER", "type"): "WRR",  # sonic-scheduler.yang
    ("SCHEDULER", "weight"): "1",
    ("SCHEDULER", "meter_type"): "bytes",
    ("MGMT_PORT", "admin_status"): "up",  # sonic-mgmt_port.yang
}
_RANGED = frozenset(("QUEUE", "BUFFER_QUEUE", "BUFFER_PG"))
_BRACKETED = re.compile(r"^\[([A-Z][A-Z0-9_]*)\|([^\]]+)\]$")
_MAC = re.compile(r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$")
_REFERRED = (
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "SCHEDULER",
    "WRED_PROFILE",
    "DSCP_TO_TC_MAP",
    "DOT1P_TO_TC_MAP",
    "TC_TO_QUEUE_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
)


@dataclass(frozen=True, slots=True)
class RowDiff:
    """One row that differs. `key` is as the running configuration spells it (or ours when it has none).

    `before` is the running row, None when absent; `after` what the row must become (foreign fields kept), None when
    it must go; `fields` are the fields of ours that differ, as (running, desired).
    """

    table: str
    key: str
    before: Row | None
    after: Row | None
    fields: Mapping[str, tuple[str | list[str] | None, str | list[str] | None]]


def diff(desired: Tables, running: Tables) -> list[RowDiff]:
    """Every owned row that differs in meaning, in the order tables and rows are met (desired first)."""
    found: list[RowDiff] = []
    for table in [*desired, *(name for name in running if name not in desired)]:
        found += _table(table, desired.get(table, {}), running.get(table, {}), desired)
    return found


def apply(diffs: list[RowDiff], running: Tables) -> dict[str, dict[str, Row]]:
    """`running` with the differences made; no table is left empty (F026)."""
    result: dict[str, dict[str, Row]] = {table: dict(rows) for table, rows in running.items()}
    for one in diffs:
        rows = result.setdefault(one.table, {})
        if one.after is None:
            rows.pop(one.key, None)
        else:
            rows[one.key] = one.after
    return {table: rows for table, rows in result.items() if rows}


def canonical(table: str, field: str, value: object) -> str:
    """One spelling for all spellings of a value; equal text means equal meaning."""
    if isinstance(value, (list, tuple)):
        return ",".join(sorted(_scalar(str(item)) for item in value if item != ""))
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value).strip()
    if field in _UNORDERED:
        return ",".join(sorted(_scalar(part) for part in re.split(r"[,;]", text) if part.strip()))
    if field == "lanes":
        return text.replace(" ", "")
    if table == "PORT" and field in ("description", "alias"):
        return text
    return _scalar(text)


def canonical_key(key: str) -> str:
    """One spelling of a key: addresses compressed and in lower case."""
    if ":" not in key and "/" not in key:
        return key
    return "|".join(_address(part) for part in key.split("|"))


def canonical_row(table: str, row: Row) -> dict[str, str]:
    """A row by canonical values, without fields that stand at their default, and without SONiC's NULL marker."""
    result = {}
    for name, value in row.items():
        if name == "NULL":
            continue
        text = canonical(table, name, value)
        if DEFAULTS.get((table, name)) != text:
            result[name] = text
    return result


def owned_view(tables: Tables, desired: Tables) -> dict[str, dict[str, dict[str, str]]]:
    """Our parts of `tables` by canonical keys and values: what a digest of running state is made of."""
    view: dict[str, dict[str, dict[str, str]]] = {}
    for table, rows in tables.items():
        kept = {}
        wanted = _by_canonical_key(desired.get(table, {}))
        for key, row in rows.items():
            # `owns_row` looks the key up as we would write it.
            ours = wanted.get(canonical_key(key), key)
            if owns_row(table, ours, row, desired):
                fields = {name: text for name, text in canonical_row(table, row).items() if owns_field(table, name)}
                kept[canonical_key(key)] = fields
        if kept:
            view[table] = kept
    return view


def _table(table: str, desired: Mapping[str, Row], running: Mapping[str, Row], whole: Tables) -> Iterator[RowDiff]:
    spelled = _by_canonical_key(running)
    # Ranges are compared cell by cell only where the two sides do not have the same keys.
    ranged = table in _RANGED and desired.keys() != running.keys()
    alike = _covered(table, desired, running) if ranged else frozenset[str]()
    matched = set()
    for key, row in desired.items():
        there = spelled.get(canonical_key(key))
        if there is not None:
            matched.add(there)
            if running[there] == row:
                continue
            changed = _fields(table, running[there], row)
            if changed:
                kept = {name: value for name, value in running[there].items() if not owns_field(table, name)}
                kept.pop("NULL", None)
                yield RowDiff(table, there, running[there], {**kept, **row}, changed)
        elif key not in alike:
            yield RowDiff(table, key, None, row, {name: (None, value) for name, value in row.items()})
    for key, row in running.items():
        if key not in matched and key not in alike and owns_row(table, key, row, whole):
            yield RowDiff(table, key, row, None, {name: (value, None) for name, value in row.items()})


def _fields(table: str, running: Row, desired: Row) -> dict[str, tuple[str | list[str] | None, str | list[str] | None]]:
    seen, wanted = canonical_row(table, running), canonical_row(table, desired)
    return {
        name: (running.get(name), desired.get(name))
        for name in dict.fromkeys([*wanted, *seen])
        if seen.get(name) != wanted.get(name) and (name in wanted or owns_field(table, name))
    }


def _covered(table: str, desired: Mapping[str, Row], running: Mapping[str, Row]) -> frozenset[str]:
    """Keys of either side that say the same with other ranges: `Ethernet0|3-4` against `|3` and `|4`."""
    there = _cells(table, running)
    wanted = _cells(table, desired)
    satisfied = {
        key: {there[cell][0] for cell in cells}
        for key, cells in _by_key(wanted).items()
        if all(cell in there and there[cell][1] == wanted[cell][1] for cell in cells)
    }
    kept = {
        key
        for key, cells in _by_key(there).items()
        if all(cell in wanted and there[cell][1] == wanted[cell][1] for cell in cells)
    }
    cells_there, cells_wanted = _by_key(there), _by_key(wanted)
    while True:
        # A desired row leans on running rows; it is satisfied only if all of those may stay. One that is not is
        # written in its own form, and then a running row of the same cells must go, though it says the same.
        content = {key for key, leaned in satisfied.items() if leaned <= kept}
        written = {
            cell for key, cells in cells_wanted.items() if key not in content and key not in running for cell in cells
        }
        stays = {key for key in kept if written.isdisjoint(cells_there[key])}
        if stays == kept:
            return frozenset(kept | content)
        kept = stays


_Cell = tuple[str, int]


def _cells(table: str, rows: Mapping[str, Row]) -> dict[_Cell, tuple[str, dict[str, str]]]:
    """What each cell says and which row says it. Rows that claim the same cell say nothing sure: they have no cells."""
    cells: dict[_Cell, tuple[str, dict[str, str]]] = {}
    doubtful: set[str] = set()
    for key, row in rows.items():
        ports, _, span = key.partition("|")
        low, _, high = span.partition("-")
        if not low.isdigit() or (high and not high.isdigit()):
            continue
        meaning = canonical_row(table, row)
        for port in ports.split(","):
            for index in range(int(low), int(high or low) + 1):
                other = cells.setdefault((port, index), (key, meaning))[0]
                if other != key:
                    doubtful |= {key, other}
    return {cell: said for cell, said in cells.items() if said[0] not in doubtful}


def _by_key(cells: Mapping[_Cell, tuple[str, dict[str, str]]]) -> dict[str, list[_Cell]]:
    result: dict[str, list[_Cell]] = {}
    for cell, (key, _) in cells.items():
        result.setdefault(key, []).append(cell)
    return result


def _by_canonical_key(rows: Mapping[str, Row]) -> dict[str, str]:
    return {canonical_key(key): key for key in rows}


@lru_cache(maxsize=65536)
def _scalar(text: str) -> str:
    text = text.strip()
    bracketed = _BRACKETED.match(text)
    if bracketed:
        return bracketed[2]
    table, bar, name = text.partition("|")
    if bar and table in _REFERRED:
        return name
    if text in ("True", "False", "TRUE", "FALSE"):
        return text.lower()
    if _MAC.match(text):
        return text.lower().replace("-", ":")
    return _address(text)


@lru_cache(maxsize=65536)
def _address(text: str) -> str:
    if ":" not in text and "." not in text:
        return text
    try:
        return str(ip_interface(text)) if "/" in text else str(ip_address(text))
    except ValueError:
        return text
