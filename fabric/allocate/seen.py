"""What a running switch says of itself, taken from CONFIG_DB, FRR text and LLDP, for adoption."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fabric.errors import InputError, Problem
from fabric.files import read_bounded
from fabric.values.device_config import DeviceConfig, Row, Tables
from fabric.values.snapshot import SwitchState

_MOST = 1 << 26  # bytes of a CONFIG_DB; a large one is 2 MB

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_ROUTER_BGP = re.compile(r"^router bgp (\d+)", re.MULTILINE)
_OWN_PREFIX = re.compile(r"^(?:ip route (\S+) (?:blackhole|Null0)| +network (\S+))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SeenPort:
    """One port as it runs. `neighbour` is (device, port) by LLDP, else by DEVICE_NEIGHBOR; port may be empty."""

    name: str
    speed_mbps: int | None
    lanes: tuple[int, ...]
    addresses: tuple[Interface, ...]
    neighbour: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class SeenSwitch:
    """One switch as it runs. None where it did not say. `prefixes` are those it announces or holds up itself."""

    name: str
    asn: int | None
    loopbacks: tuple[Interface, ...]
    management: Interface | None
    ports: Mapping[str, SeenPort] = field(default_factory=dict)
    prefixes: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = ()
    serial: str | None = None
    base_mac: str | None = None


def of_config(config: DeviceConfig) -> SeenSwitch:
    """A switch by its configuration alone."""
    return _seen(config.device, config.tables, config.frr, {}, None, None)


def of_state(state: SwitchState) -> SeenSwitch | None:
    """A switch by what was collected of it; None when its configuration was not (then nothing can be adopted)."""
    if state.config is None:
        return None
    lldp: dict[str, tuple[str, str]] = {}
    for row in state.lldp or ():
        if row.system_name:
            lldp[row.local_port] = (row.system_name.partition(".")[0], row.port_id)
    return _seen(state.hostname or state.device, state.config, state.frr, lldp, state.serial, state.base_mac)


def _seen(
    name: str,
    tables: Tables,
    frr: str | None,
    lldp: Mapping[str, tuple[str, str]],
    serial: str | None,
    mac: str | None,
) -> SeenSwitch:
    metadata: Row = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    asn = _number(metadata.get("bgp_asn"))
    if frr is not None and (found := _ROUTER_BGP.search(frr)):
        asn = int(found.group(1))
    by_port = _addresses(tables, "INTERFACE")
    ports: dict[str, SeenPort] = {}
    neighbours = tables.get("DEVICE_NEIGHBOR", {})
    for port, row in tables.get("PORT", {}).items():
        peer = lldp.get(port)
        if peer is None and port in neighbours:
            said = neighbours[port]
            device = said.get("name")
            if isinstance(device, str) and device:
                peer = (device, str(said.get("port", "")))
        lanes = str(row.get("lanes", ""))
        ports[port] = SeenPort(
            port,
            _number(row.get("speed")),
            tuple(int(lane) for lane in lanes.split(",") if lane.strip().isdigit()),
            tuple(by_port.get(port, ())),
            peer,
        )
    hostname = metadata.get("hostname")
    loopbacks = _addresses(tables, "LOOPBACK_INTERFACE").get("Loopback0", [])
    management = [entry for entry in _addresses(tables, "MGMT_INTERFACE").get("eth0", []) if entry.version == 4]
    return SeenSwitch(
        str(hostname) if isinstance(hostname, str) and hostname else name,
        asn,
        tuple(loopbacks),
        management[0] if management else None,
        ports,
        _prefixes(frr or ""),
        serial,
        mac or (str(metadata["mac"]) if isinstance(metadata.get("mac"), str) else None),
    )


def _prefixes(frr: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    found: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
    for held, announced in _OWN_PREFIX.findall(frr):
        try:
            found.append(ipaddress.ip_network(held or announced))
        except ValueError:
            continue
    return tuple(dict.fromkeys(found))


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, str) and value.isdigit() else None


def _addresses(tables: Tables, table: str) -> dict[str, list[Interface]]:
    found: dict[str, list[Interface]] = {}
    for key in tables.get(table, {}):
        port, _, text = key.partition("|")
        if not text:
            continue
        try:
            found.setdefault(port, []).append(ipaddress.ip_interface(text))
        except ValueError:
            continue
    return found


def of_folder(folder: Path) -> list[SeenSwitch]:
    """Switches of a folder: NAME/config_db.json with NAME/frr.conf where it is, or NAME.json.

    InputError names every file that is no CONFIG_DB, and tells when there is none.
    """
    found: list[SeenSwitch] = []
    problems: list[Problem] = []
    files = [(path.parent.name, path) for path in sorted(folder.glob("*/config_db.json"))]
    files += [(path.stem, path) for path in sorted(folder.glob("*.json"))]
    for name, path in files:
        try:
            tables = json.loads(read_bounded(path, _MOST))
        except InputError as error:
            problems.extend(error.problems)
            continue
        except (ValueError, RecursionError) as error:
            problems.append(Problem(f"not JSON: {error}", "give CONFIG_DB as SONiC saves it", file=str(path)))
            continue
        if not _is_config(tables):
            problems.append(Problem("no CONFIG_DB: tables of rows belong here", "remove it", file=str(path)))
            continue
        text = path.with_name("frr.conf")
        frr = None
        if path.name == "config_db.json" and text.is_file():
            frr = text.read_text(encoding="utf-8", errors="replace")
        found.append(of_config(DeviceConfig(name, tables, frr)))
    if not found and not problems:
        problems.append(Problem("holds no config_db.json", "give NAME/config_db.json or NAME.json", file=str(folder)))
    if problems:
        raise InputError(problems)
    return found


def _is_config(tables: object) -> bool:
    return isinstance(tables, dict) and all(
        isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values()) for rows in tables.values()
    )
