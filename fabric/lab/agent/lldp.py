"""LLDP: naming ports as lldpmgrd does, and lldpd's neighbours into APPL_DB as lldp_syncd does.

Sources: sonic-buildimage dockers/docker-lldp/lldpmgrd, sonic-dbsyncd src/lldp_syncd/daemon.py.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from fabric.lab.agent.rows import Rows

_LLDPCLI = "/etc/twin/lib/lldpcli"
POLL_S = 10.0  # lldp_syncd's interval
_CHASSIS = {"ifalias": "2", "mac": "4", "ip": "5", "ifname": "6", "local": "7"}
_PORT = {"ifalias": "1", "mac": "3", "ip": "4", "ifname": "5", "local": "7"}
_CAPABILITIES = {
    "Other": 0x80,
    "Repeater": 0x40,
    "Bridge": 0x20,
    "Wlan": 0x10,
    "Router": 0x08,
    "Tel": 0x04,
    "Docsis": 0x02,
    "Station": 0x01,
}
_AGE = re.compile(r"(\d+) days?, (\d+):(\d+):(\d+)")
_NAME = re.compile(r"Ethernet\d+|eth0")


class Lldp:
    """The lldpd of one switch, reached by its socket."""

    def __init__(self, socket: str, appl: Rows) -> None:
        self._socket, self._appl = socket, appl
        self._named: dict[str, tuple[str, str]] = {}
        self._muted: set[str] = set()
        self._lock = asyncio.Lock()

    def forget(self, port: str | None = None) -> None:
        """lldpd knows nothing of this port any more (its device was made anew), or of any (it was restarted)."""
        if port is None:
            self._named.clear()
        else:
            self._named.pop(port, None)

    async def name_ports(self, up: Iterable[str], ports: Mapping[str, Mapping[str, str]]) -> bool:
        """Give ports that are up their alias and description; a port that is down is left as it is.

        True when anything was said to lldpd.
        """
        lines, said = [], {}
        for name in up:
            if name in self._muted:
                continue
            row = ports.get(name, {})
            want = (row.get("alias") or name, row.get("description", ""))
            if self._named.get(name) != want:
                line = f"configure ports {name} lldp portidsubtype local {_quoted(want[0])}"
                lines.append(line + (f" description {_quoted(want[1])}" if want[1] else ""))
                said[name] = want
        if not lines:
            return False
        if await self.say([*lines, "update"]):
            self._named |= said
        return True

    async def started(self) -> None:
        """lldpd has been started: it knows nothing yet, and is paused."""
        self.forget()
        if self._muted:
            await self.say([self._pattern()])

    async def mute(self, port: str, on: bool) -> Mapping[str, Any] | None:
        """Take LLDP off a port in both directions, or put it back. What the port used to send, when that is known."""
        async with self._lock:
            said = await self._run(["-f", "json0", "show", "interfaces", "ports", port])
        (self._muted.add if on else self._muted.discard)(port)
        self.forget(port)
        if on:
            await self.say([self._pattern()])
        else:
            # Back on, but silent until it bears its name again: else the far end would know it by two.
            await self.say(["pause", self._pattern()])
        found = json.loads(said).get("lldp", []) if said else []
        return next((one for outer in found for one in outer.get("interface", [])), None)

    def _pattern(self) -> str:
        return "configure system interface pattern " + ",".join(
            ("Ethernet[0-9]*", "eth0", *(f"!{port}" for port in self._muted))
        )

    async def say(self, lines: Iterable[str]) -> bool:
        """Have lldpcli run some lines. False when lldpd does not listen."""
        async with self._lock:
            return (await self._run([], "\n".join(lines) + "\n")) is not None

    async def poll(self) -> bool:
        """Read the neighbours and write the rows; False, and the rows stay as they are, when lldpd does not answer."""
        async with self._lock:
            said = await self._run(["-f", "json0", "show", "neighbors"])
            about_us = await self._run(["-f", "json0", "show", "chassis"])
        try:
            rows = {f"LLDP_ENTRY_TABLE:{name}": row for name, row in entries(json.loads(said or "")).items()}
            chassis = local_chassis(json.loads(about_us or ""))
        except ValueError:
            return False
        self._appl.keep_only(rows, lambda key: key.startswith("LLDP_ENTRY_TABLE:"))
        self._appl.put("LLDP_LOC_CHASSIS", chassis)
        return True

    async def _run(self, arguments: list[str], text: str | None = None) -> str | None:
        process = await asyncio.create_subprocess_exec(
            _LLDPCLI,
            "-u",
            self._socket,
            *arguments,
            stdin=asyncio.subprocess.PIPE if text is not None else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        out, _ = await process.communicate(text.encode() if text is not None else None)
        return out.decode(errors="replace") if process.returncode == 0 else None


def entries(data: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """LLDP_ENTRY_TABLE rows of an `lldpctl -f json0` answer; of several neighbours on a port the last one stays."""
    rows = {}
    for outer in data.get("lldp", []):
        for interface in outer.get("interface", []):
            name = interface.get("name", "")
            if _NAME.fullmatch(name):
                rows[name] = _entry(interface)
    return rows


def local_chassis(data: Mapping[str, Any]) -> dict[str, str]:
    """The LLDP_LOC_CHASSIS row of an `lldpcli -f json0 show chassis` answer."""
    for outer in data.get("local-chassis", []):
        for chassis in outer.get("chassis", []):
            return {
                "lldp_loc_chassis_id_subtype": _CHASSIS.get(_first(chassis, "id", "type"), "7"),
                "lldp_loc_chassis_id": _first(chassis, "id"),
                "lldp_loc_sys_name": _first(chassis, "name"),
                "lldp_loc_sys_desc": _first(chassis, "descr"),
                "lldp_loc_man_addr": ",".join(item.get("value", "") for item in chassis.get("mgmt-ip", [])),
                "lldp_loc_sys_cap_supported": _capabilities(chassis, enabled=False),
                "lldp_loc_sys_cap_enabled": _capabilities(chassis, enabled=True),
            }
    return {}


def _entry(interface: Mapping[str, Any]) -> dict[str, str]:
    chassis: Mapping[str, Any] = next(iter(interface.get("chassis", [])), {})
    port: Mapping[str, Any] = next(iter(interface.get("port", [])), {})
    return {
        "lldp_rem_port_id_subtype": _PORT.get(_first(port, "id", "type"), "7"),
        "lldp_rem_port_id": _first(port, "id"),
        "lldp_rem_port_desc": _first(port, "descr"),
        "lldp_rem_chassis_id_subtype": _CHASSIS.get(_first(chassis, "id", "type"), "7"),
        "lldp_rem_chassis_id": _first(chassis, "id"),
        "lldp_rem_sys_name": _first(chassis, "name"),
        "lldp_rem_sys_desc": _first(chassis, "descr"),
        "lldp_rem_man_addr": ",".join(item.get("value", "") for item in chassis.get("mgmt-ip", [])),
        "lldp_rem_time_mark": _seconds(interface.get("age", "")),
        "lldp_rem_index": str(interface.get("rid", "")),
        "lldp_rem_sys_cap_supported": _capabilities(chassis, enabled=False),
        "lldp_rem_sys_cap_enabled": _capabilities(chassis, enabled=True),
    }


def _first(node: Mapping[str, Any], key: str, field: str = "value") -> str:
    found = node.get(key, [])
    return str(found[0].get(field, "")) if found else ""


def _seconds(age: str) -> str:
    match = _AGE.search(age)
    if not match:
        return "0"
    days, hours, minutes, seconds = map(int, match.groups())
    return str(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _capabilities(chassis: Mapping[str, Any], enabled: bool) -> str:
    listed = chassis.get("capability", [])
    if not listed:
        return ""
    bits = 0
    for item in listed:
        if not enabled or item.get("enabled"):
            bits |= _CAPABILITIES.get(item.get("type", ""), 0)
    return f"{bits:02X} 00"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "").replace('"', "") + '"'
