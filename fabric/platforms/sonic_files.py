"""Readers of the four files SONiC itself loads for a switch model.

`platform.json` (cages and breakout modes), `hwsku.json` (mode each cage boots with), `port_config.ini` (port table),
`pg_profile_lookup.ini` (headroom by speed and cable length). Formats as in sonic-buildimage,
src/sonic-config-engine/portconfig.py, and sonic-swss, cfgmgr/buffermgr.cpp. Every reader raises PlatformError with
file and line, all problems at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import PlatformError, Problem
from fabric.platforms.model import PortSpec, check_ports, port_number
from fabric.platforms.modes import parse_mode, port_count
from fabric.values.plan import HeadroomRow

# Larger than any real file by two orders of magnitude; a wrong path must not fill memory.
_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PortRow:
    """One row of port_config.ini. `speed_mbps`, `index` and `fec` are None where the file has no such column."""

    name: str
    lanes: tuple[int, ...]
    alias: str
    index: int | None
    speed_mbps: int | None
    fec: str | None
    line: int


@dataclass(frozen=True, slots=True)
class CageRow:
    """One entry of platform.json `interfaces`."""

    name: str
    index: int
    lanes: tuple[int, ...]
    modes: Mapping[str, tuple[str, ...]]


def read_port_config(path: Path) -> tuple[PortRow, ...]:
    """Rows of port_config.ini. The last `#` line before the rows names the columns; without one SONiC's order holds
    (name lanes alias index). Lanes, names and aliases must be used once."""
    columns = ["name", "lanes", "alias", "index"]
    rows: list[PortRow] = []
    problems: list[Problem] = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        fields = line.split()
        if not fields:
            continue
        if line.lstrip().startswith("#"):
            words = line.lstrip().lstrip("#").split()
            if "lanes" in words and "name" in words:
                columns = words
            continue
        if len(fields) < len(columns):
            problems.append(_problem(path, number, f"{len(fields)} fields, the header names {len(columns)}"))
            continue
        cells = dict(zip(columns, fields, strict=False))
        try:
            rows.append(_port_row(cells, number))
        except (ValueError, PlatformError) as error:
            problems.append(_problem(path, number, str(error)))
    if not rows and not problems:
        problems.append(Problem("no port in this file", "give a SONiC port_config.ini", file=path.name))
    _raise(problems)
    check_ports(
        path.name,
        [PortSpec(row.name, row.lanes, row.speed_mbps or 0, row.alias, row.index or 0, 0, "none") for row in rows],
    )
    return tuple(rows)


def read_platform_json(path: Path) -> tuple[CageRow, ...]:
    """Entries of platform.json in file order, mode strings verbatim."""
    data = _json(path)
    interfaces = data.get("interfaces")
    if not isinstance(interfaces, dict) or not interfaces:
        raise PlatformError(f"{path.name}: no `interfaces`; this is not a platform.json with breakout modes")
    rows: list[CageRow] = []
    problems: list[Problem] = []
    for name, entry in interfaces.items():
        try:
            rows.append(_cage_row(name, entry))
        except (KeyError, TypeError, ValueError, AttributeError, PlatformError) as error:
            what = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
            problems.append(Problem(what, "correct this entry", file=path.name, path=f"interfaces.{name}"))
    _raise(problems)
    _check_cage_lanes(path, rows)
    return tuple(rows)


def read_hwsku_json(path: Path) -> dict[str, str]:
    """First port of each cage -> the breakout mode it boots with, verbatim."""
    interfaces = _json(path).get("interfaces")
    if not isinstance(interfaces, dict) or not interfaces:
        raise PlatformError(f"{path.name}: no `interfaces`; this is not a hwsku.json")
    problems: list[Problem] = []
    modes: dict[str, str] = {}
    for name, entry in interfaces.items():
        mode = entry.get("default_brkout_mode") if isinstance(entry, dict) else None
        if not isinstance(mode, str):
            problems.append(
                Problem("no default_brkout_mode", "name one of the modes", file=path.name, path=f"interfaces.{name}")
            )
            continue
        try:
            port_number(name)
            parse_mode(mode)
        except PlatformError as error:
            problems.append(Problem(str(error), file=path.name, path=f"interfaces.{name}"))
            continue
        modes[name] = mode
    _raise(problems)
    return modes


def read_headroom_rows(path: Path) -> tuple[HeadroomRow, ...]:
    """Rows of pg_profile_lookup.ini, file order. An empty table is legal (and means: no lossless class here)."""
    rows: dict[tuple[int, int], HeadroomRow] = {}
    problems: list[Problem] = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        try:
            row = _headroom_row(fields)
        except ValueError as error:
            problems.append(_problem(path, number, str(error)))
            continue
        key = (row.speed_mbps, row.cable_m)
        if rows.setdefault(key, row) != row:
            problems.append(_problem(path, number, f"a second, different row for {key[0]} {key[1]}m"))
    _raise(problems)
    return tuple(rows.values())


def read_json_object(path: Path) -> dict[str, Any]:
    """Any JSON object SONiC writes (buffers.json, config_db.json)."""
    return _json(path)


def _port_row(cells: Mapping[str, str], number: int) -> PortRow:
    name = cells["name"]
    port_number(name)
    lanes = tuple(int(lane) for lane in cells["lanes"].split(","))
    if len(set(lanes)) != len(lanes):
        raise ValueError(f"{name} names a lane twice")
    fec = cells.get("fec")
    speed = int(cells["speed"]) if "speed" in cells else None
    if cells.get("role", "Ext") == "Int" or "asic_port_name" in cells:
        raise ValueError(f"{name} is a port of one ASIC of several; railfab does not configure such a box")
    if speed is not None and speed <= 0:
        raise ValueError(f"{name} has speed {speed}")
    return PortRow(
        name=name,
        lanes=lanes,
        alias=cells.get("alias", name),
        index=int(cells["index"]) if "index" in cells else None,
        speed_mbps=speed,
        fec=fec,
        line=number,
    )


def _cage_row(name: str, entry: Any) -> CageRow:
    port_number(name)
    lanes = tuple(int(lane) for lane in str(entry["lanes"]).split(","))
    indexes = {int(index) for index in str(entry["index"]).split(",")}
    if len(indexes) != 1:
        raise ValueError(f"one cage must have one index, found {sorted(indexes)}")
    modes: dict[str, tuple[str, ...]] = {}
    for mode, aliases in entry["breakout_modes"].items():
        needed = port_count(mode)
        if not isinstance(aliases, list) or len(aliases) < needed:
            raise ValueError(f"mode {mode} makes {needed} ports but has {len(aliases)} aliases")
        modes[mode] = tuple(str(alias) for alias in aliases)
    if not modes:
        raise ValueError("no breakout mode")
    return CageRow(name, indexes.pop(), lanes, modes)


def _headroom_row(fields: list[str]) -> HeadroomRow:
    if len(fields) < 6:
        raise ValueError(f"{len(fields)} fields, expected speed cable size xon xoff threshold [xon_offset]")
    if not re.fullmatch(r"\d+m", fields[1]):
        raise ValueError(f"cable length {fields[1]!r} is not whole metres such as 5m")
    speed, size, xon, xoff, threshold = (int(fields[n]) for n in (0, 2, 3, 4, 5))
    return HeadroomRow(
        speed_mbps=speed,
        cable_m=int(fields[1][:-1]),
        size=size,
        xon=xon,
        xoff=xoff,
        threshold=threshold,
        xon_offset=int(fields[6]) if len(fields) > 6 else None,
    )


def _check_cage_lanes(path: Path, rows: list[CageRow]) -> None:
    owner: dict[int, str] = {}
    problems = []
    for row in rows:
        for lane in row.lanes:
            if lane in owner:
                problems.append(
                    Problem(
                        f"lane {lane} is used twice, by {owner[lane]} and {row.name}", "correct one", file=path.name
                    )
                )
            owner[lane] = row.name
    _raise(problems)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise PlatformError(f"{path.name}: larger than {_MAX_BYTES} bytes; this is not a SONiC platform file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise PlatformError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PlatformError(f"{path.name}: not text; give the file as SONiC ships it") from None


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise PlatformError(f"{path.name}: not JSON: {error}") from None
    if not isinstance(data, dict):
        raise PlatformError(f"{path.name}: not a JSON object")
    return data


def _problem(path: Path, line: int, what: str) -> Problem:
    return Problem(what, "correct this row", file=path.name, line=line)


def _raise(problems: list[Problem]) -> None:
    if problems:
        raise PlatformError("\n".join(str(problem) for problem in problems))
