"""Transceivers: the TRANSCEIVER_* tables of STATE_DB of every release, and saved `show interfaces transceiver` text.

Facts: sonic.md 5.4. From 202505 software state, flags and VDM have tables of their own, and only the first child of a
cage has sensor rows; checks map a child to it through the port's `index`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fabric.collect.scalars import DARK_DBM, absent, clean, number
from fabric.errors import CollectError
from fabric.values.snapshot import Optic

Row = Mapping[str, str]
_SENSOR_TABLES = (
    "TRANSCEIVER_DOM_SENSOR",
    "TRANSCEIVER_DOM_TEMPERATURE",
    "TRANSCEIVER_VDM_REAL_VALUE",
    "TRANSCEIVER_PM",
)
_FLAG_TABLES = ("TRANSCEIVER_DOM_FLAG", "TRANSCEIVER_STATUS_FLAG")
_VDM_LEVELS = ("HALARM", "LALARM", "HWARN", "LWARN")
# Before 202505 latched flags stood among the status fields.
_OLD_FLAG = re.compile(r"los|lol|fault|alarm|warn", re.IGNORECASE)
_QUIET = frozenset({"module_state_changed", "tuning_complete"})


def optics(rows: Mapping[str, Row]) -> dict[str, Optic]:
    """Port -> module, from all `TRANSCEIVER_X|port` rows of STATE_DB (full keys). A port without a row has no module.

    A port that only has a status row is a cage xcvrd knows to be empty: `present` False.
    """
    tables: dict[str, dict[str, Row]] = {}
    for key, row in rows.items():
        table, bar, port = key.partition("|")
        if bar and table.startswith("TRANSCEIVER_"):
            tables.setdefault(table, {})[port] = row
    names = dict.fromkeys(
        port
        for table in ("TRANSCEIVER_INFO", "TRANSCEIVER_STATUS_SW", "TRANSCEIVER_STATUS", *_SENSOR_TABLES)
        for port in tables.get(table, ())
    )
    return {clean(port): _optic(port, tables) for port in names}


def _optic(port: str, tables: Mapping[str, Mapping[str, Row]]) -> Optic:
    def row(table: str) -> Row:
        return tables.get(table, {}).get(port, {})

    info = row("TRANSCEIVER_INFO")
    software = {**row("TRANSCEIVER_STATUS"), **row("TRANSCEIVER_STATUS_SW")}
    sensors: dict[str, float] = {}
    for table in _SENSOR_TABLES:
        for name, value in row(table).items():
            found = _sensor(name, value)
            if found is not None:
                sensors[clean(name)] = found
    thresholds = {
        clean(name): v for name, value in row("TRANSCEIVER_DOM_THRESHOLD").items() if (v := number(value)) is not None
    }
    for level in _VDM_LEVELS:
        for name, value in row(f"TRANSCEIVER_VDM_{level}_THRESHOLD").items():
            limit = number(value)
            if limit is not None:
                thresholds[f"{clean(name)}_{level.lower()}"] = limit
    return Optic(
        port=clean(port),
        present=bool(info) or bool(sensors),
        kind=_text(info, "type"),
        vendor=_text(info, "manufacturer", "vendor_name"),
        model=_text(info, "model"),
        serial=_text(info, "serial"),
        cable_m=number(info.get("cable_length")),
        sensors=sensors,
        thresholds=thresholds,
        flags=_flags(row, software),
        state=_text(software, "cmis_state", "module_state"),
        error=_text(software, "error") if _text(software, "status") not in ("1", "") else "",
    )


def _sensor(name: str, value: str) -> float | None:
    if value.strip().lower() == "-inf" and "power" in name:
        return DARK_DBM
    if name.endswith(("_update_time", "_time")):
        return None
    return number(value)


def _text(row: Row, *names: str) -> str:
    return next((clean(row[name]) for name in names if name in row and not absent(row[name])), "")


def _flags(row_of: Callable[[str], Row], status: Row) -> tuple[str, ...]:
    flags: dict[str, None] = {}
    for table in _FLAG_TABLES:
        for name, value in row_of(table).items():
            if value.strip().lower() == "true" and name not in _QUIET:
                flags[clean(name)] = None
    for level in _VDM_LEVELS:
        for name, value in row_of(f"TRANSCEIVER_VDM_{level}_FLAG").items():
            if value.strip().lower() == "true":
                flags[f"{clean(name)}_{level.lower()}"] = None
    for name, value in status.items():
        if value.strip().lower() == "true" and _OLD_FLAG.search(name):
            flags[clean(name)] = None
    return tuple(flags)


_CLI_PORT = re.compile(r"^(\S+): (SFP EEPROM (?:is )?(?:detected|Not detected|not detected)|\S.*)$", re.ASCII)
_CLI_FIELDS = {
    "Identifier": "type",
    "Vendor Name": "manufacturer",
    "Vendor PN": "model",
    "Vendor SN": "serial",
    "Length Cable Assembly(m)": "cable_length",
}


def from_cli_text(text: str) -> dict[str, Optic]:
    """Modules of saved `show interfaces transceiver eeprom` text. railfab itself asks the database.

    CollectError when no line says whether a port has a module.
    """
    found: dict[str, Optic] = {}
    rows: dict[str, dict[str, str]] = {}
    current = ""
    for line in text.splitlines():
        head = _CLI_PORT.match(line)
        if head and "EEPROM" in head.group(2):
            current = clean(head.group(1))
            rows[current] = {} if "not detected" in head.group(2).lower() else {"type": "N/A"}
        elif current and line.startswith(" ") and ":" in line:
            name, _, value = line.strip().partition(":")
            if name in _CLI_FIELDS:
                rows[current][_CLI_FIELDS[name]] = value.strip()
    if not rows:
        raise CollectError("not `show interfaces transceiver eeprom`: no port in it")
    for port, row in rows.items():
        found[port] = _optic(port, {"TRANSCEIVER_INFO": {port: row}}) if row else Optic(port=port, present=False)
    return found
