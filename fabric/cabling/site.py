"""A site's own cable list in, and what differs from the plan.

Columns are found by their names: ours (`a_device`, `a_port`, ...), those of SONiC's lab lists (`StartDevice`,
`StartPort`, `EndDevice`, `EndPort`, `BandWidth`) and the usual others. Ports may be given by name, by either
spelling of the alias, NICs by name, HCA or netdev. Speeds are Mb/s where the number is 1000 or more, else Gb/s.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric.errors import InputError, Problem
from fabric.files import read_bounded
from fabric.values.plan import Plan, PlannedCable, cable_name

_NAMES = {
    "a_device": ("a_device", "startdevice", "from_device", "source_device", "device_a", "device1", "local_device"),
    "a_port": ("a_port", "startport", "from_port", "source_port", "port_a", "port1", "local_port"),
    "b_device": ("b_device", "enddevice", "to_device", "destination_device", "device_b", "device2", "remote_device"),
    "b_port": ("b_port", "endport", "to_port", "destination_port", "port_b", "port2", "remote_port"),
    "speed": ("speed", "speed_gbps", "speed_mbps", "bandwidth"),
    "length": ("length_m", "length"),
    "autoneg": ("autoneg",),
}
# 300,000 cables of a list with every column we write are 120 MB.
_MOST = 1 << 28
_HOST_NAMES = ("hostname", "device", "name")
_ON, _OFF = {"on", "true", "yes", "1"}, {"off", "false", "no", "0"}


@dataclass(frozen=True, slots=True)
class SiteCable:
    """One line of a site's list, as written. Speed in Mb/s, length in metres, None where not said."""

    line: int
    a_device: str
    a_port: str
    b_device: str
    b_port: str
    speed_mbps: int | None = None
    length_m: int | None = None
    autoneg: bool | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs. `kind`: missing (planned, not listed), extra (listed, not planned), moved (one end is
    elsewhere), speed, length. `line` is the line of the site's list, None for a missing cable."""

    kind: str
    line: int | None
    cable: str
    expected: str | None
    observed: str | None


def read_site(path: Path, devices: Path | None = None) -> list[SiteCable]:
    """Read a site's list. InputError holds every bad line with its number (field case F121): unknown column names,
    empty cells, a device that is not in `devices` (a CSV with a host name column), one port on two lines."""
    table, header, lines = _table(path)
    known = _devices(devices) if devices is not None else None
    columns = _columns(path, header)
    problems: list[Problem] = []
    cables: list[SiteCable] = []
    taken: dict[tuple[str, str], int] = {}
    strangers: dict[str, list[int]] = {}
    for number, record in zip(lines, table, strict=True):
        try:
            cable = _cable(number, {key: record[at].strip() for key, at in columns.items() if at < len(record)})
        except ValueError as error:
            problems.append(Problem(str(error), "correct this line", file=path.name, line=number))
            continue
        for device, port in ((cable.a_device, cable.a_port), (cable.b_device, cable.b_port)):
            if known is not None and device not in known:
                strangers.setdefault(device, []).append(number)
            first = taken.setdefault((device, port), number)
            if first != number:
                problems.append(
                    Problem(
                        f"{device} {port} stands on line {first} too", "one cable a port", file=path.name, line=number
                    )
                )
        cables.append(cable)
    if devices is not None:
        problems.extend(_strangers(strangers, devices.name, path.name))
    if problems:
        raise InputError(problems)
    return cables


def compare(plan: Plan, site: Iterable[SiteCable], source: str) -> list[Difference]:
    """Differences between the Plan and a site's list, by line. InputError names lines whose device or port the Plan
    does not have."""
    names = _spellings(plan)
    problems: list[Problem] = []
    strangers: dict[str, list[int]] = {}
    listed: list[tuple[SiteCable, tuple[str, str], tuple[str, str]]] = []
    for cable in site:
        ends = []
        for device, port in ((cable.a_device, cable.a_port), (cable.b_device, cable.b_port)):
            ports = names.get(device)
            found = ports.get(port.lower()) if ports is not None else None
            if ports is None:
                strangers.setdefault(device, []).append(cable.line)
            elif found is None:
                problems.append(
                    Problem(f"{device} has no port {port}", "give its name or alias", file=source, line=cable.line)
                )
            else:
                ends.append((device, found))
        if len(ends) == 2:
            listed.append((cable, ends[0], ends[1]))
    problems.extend(_strangers(strangers, "the plan", source))
    if problems:
        raise InputError(problems)
    return _differences(plan, listed)


def _strangers(strangers: Mapping[str, list[int]], where: str, source: str) -> Iterable[Problem]:
    """One problem a device that nobody knows, at its first line, with the others."""
    for device, lines in strangers.items():
        more = sorted(set(lines))[1:]
        also = f" (also line{'s' if len(more) > 1 else ''} {', '.join(map(str, more[:5]))}" if more else ""
        also += (f" and {len(more) - 5} more)" if len(more) > 5 else ")") if more else ""
        yield Problem(
            f"device {device} is not in {where}{also}", "add it, or correct the name", file=source, line=lines[0]
        )


def _differences(plan: Plan, listed: list[tuple[SiteCable, tuple[str, str], tuple[str, str]]]) -> list[Difference]:
    planned: dict[tuple[str, str], PlannedCable] = {}
    for cable in plan.cables.values():
        planned[(cable.a_device, cable.a_port)] = cable
        planned[(cable.b_device, cable.b_port)] = cable
    differences: list[Difference] = []
    seen: set[str] = set()
    for line, a, b in listed:
        name = cable_name(*a, *b)
        wanted = plan.cables.get(name)
        if wanted is not None:
            seen.add(name)
            differences.extend(_attributes(line, wanted))
            continue
        there = [planned[end] for end in (a, b) if end in planned]
        seen.update(cable.name for cable in there)
        differences.append(
            Difference(
                kind="moved" if there else "extra",
                line=line.line,
                cable=name,
                expected=", ".join(cable.name for cable in there) or None,
                observed=name,
            )
        )
    differences.extend(
        Difference(kind="missing", line=None, cable=name, expected=name, observed=None)
        for name in plan.cables
        if name not in seen
    )
    return differences


def _attributes(line: SiteCable, wanted: PlannedCable) -> Iterable[Difference]:
    if line.speed_mbps is not None and line.speed_mbps != wanted.speed_mbps:
        yield Difference("speed", line.line, wanted.name, f"{wanted.speed_mbps} Mb/s", f"{line.speed_mbps} Mb/s")
    if line.length_m is not None and line.length_m != wanted.length_m:
        yield Difference("length", line.line, wanted.name, f"{wanted.length_m} m", f"{line.length_m} m")


def _spellings(plan: Plan) -> dict[str, dict[str, str]]:
    """Device -> what a port may be called, lower case -> its name in the Plan."""
    from fabric.errors import PlatformError
    from fabric.platforms import load

    names: dict[str, dict[str, str]] = {}
    for switch in plan.switches.values():
        ports: dict[str, str] = {}
        try:
            others: Mapping[str, tuple[str, ...]] = load(switch.platform).other_aliases
        except PlatformError:
            others = {}
        for port in switch.ports.values():
            for text in (*others.get(port.name, ()), port.alias, port.name):
                ports[text.lower()] = port.name
        names[switch.name] = ports
    for host in plan.hosts.values():
        names[host.name] = {
            text.lower(): nic.name for nic in host.nics.values() for text in (nic.netdev, nic.hca, nic.name) if text
        }
    return names


def _table(path: Path) -> tuple[list[list[str]], list[str], list[int]]:
    try:
        text = read_bounded(path, _MOST, "give a CSV file").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(Problem("not UTF-8 text", "save it as CSV (UTF-8)", file=path.name)) from None
    head = text.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
    table: list[list[str]] = []
    lines: list[int] = []
    try:
        for record in reader:
            if any(cell.strip() for cell in record):
                table.append(record)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(Problem(f"not CSV: {error}", "correct it", file=path.name, line=reader.line_num)) from None
    if not table:
        raise InputError(Problem("empty", "give a list with a header line", file=path.name, line=1))
    return table[1:], [cell.strip().lower().replace(" ", "_") for cell in table[0]], lines[1:]


def _columns(path: Path, header: list[str]) -> dict[str, int]:
    columns = {
        key: next(header.index(name) for name in names if name in header)
        for key, names in _NAMES.items()
        if any(name in header for name in names)
    }
    missing = [key for key in ("a_device", "a_port", "b_device", "b_port") if key not in columns]
    if missing:
        names = ", ".join(f"{key} (or {_NAMES[key][1]})" for key in missing)
        raise InputError(Problem(f"no column {names}", "name the columns in the first line", file=path.name, line=1))
    return columns


def _cable(line: int, cells: Mapping[str, str]) -> SiteCable:
    ends = []
    for key in ("a_device", "a_port", "b_device", "b_port"):
        value = cells.get(key, "")
        if not value:
            raise ValueError(f"{key} is empty")
        ends.append(value)
    return SiteCable(
        line,
        ends[0],
        ends[1],
        ends[2],
        ends[3],
        speed_mbps=_speed(cells.get("speed", "")),
        length_m=_length(cells.get("length", "")),
        autoneg=_switch(cells.get("autoneg", "")),
    )


def _speed(text: str) -> int | None:
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,7})\s*(g|gbps|gb/s|m|mbps|mb/s)?", text.lower())
    if match is None:
        raise ValueError(f"{text!r} is no speed; write 400G or 400000")
    number, unit = int(match[1]), match[2] or ""
    return number * 1000 if unit.startswith("g") or (not unit and number < 1000) else number


def _length(text: str) -> int | None:
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,5})(?:\.0+)?\s*m?", text.lower())
    if match is None:
        raise ValueError(f"{text!r} is no length in whole metres")
    return int(match[1])


def _switch(text: str) -> bool | None:
    if not text:
        return None
    if text.lower() in _ON:
        return True
    if text.lower() in _OFF:
        return False
    raise ValueError(f"{text!r} is neither on nor off")


def _devices(path: Path) -> set[str]:
    table, header, _ = _table(path)
    column = next((header.index(name) for name in _HOST_NAMES if name in header), None)
    if column is None:
        raise InputError(Problem("no column Hostname", "name the columns in the first line", file=path.name, line=1))
    return {record[column].strip() for record in table if column < len(record)}
