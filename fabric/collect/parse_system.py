"""Who and what the switch is: release, platform, serial, MAC, uptime, clock, reboot cause; running CONFIG_DB."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabric.collect.scalars import absent, clean, number
from fabric.collect.tables import load_json
from fabric.errors import CollectError
from fabric.values.device_config import Tables

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class System:
    """What the `system` section says. Times in seconds; `asics` is 1 unless the platform has several."""

    asics: int = 1
    clock: float | None = None
    uptime_s: float | None = None
    swss_uptime_s: float | None = None
    hostname: str | None = None
    eth0_mac: str | None = None
    release: str | None = None
    onie_platform: str | None = None
    reboot_cause: str | None = None


def system(text: str) -> System:
    """Read the `system` section; what is not there is None."""
    words: dict[str, str] = {}
    files: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        head, _, rest = line.partition(" ")
        if head == "file" and rest.startswith("/"):
            current = files.setdefault(rest, [])
        elif current is not None:
            current.append(line)
        elif rest:
            words.setdefault(head, rest.strip())
    uptime = number(words.get("uptime"))
    started = number(words.get("swss"))
    asics = words.get("asics", "1")
    return System(
        asics=int(asics) if asics.isascii() and asics.isdigit() and 0 < int(asics[:4]) < 1000 else 1,
        clock=number(words.get("clock")),
        uptime_s=uptime,
        # systemd counts microseconds of CLOCK_MONOTONIC; 0 means "never started".
        swss_uptime_s=uptime - started / 1e6 if uptime is not None and started and started / 1e6 <= uptime else None,
        hostname=_or_none(words.get("hostname")),
        eth0_mac=mac(words.get("eth0")),
        release=_release(files.get("/etc/sonic/sonic_version.yml", [])),
        onie_platform=_setting(files.get("/host/machine.conf", []), "onie_platform", "="),
        reboot_cause=_reboot_cause(files),
    )


def _or_none(value: str | None) -> str | None:
    return None if absent(value) else clean(value)


def mac(value: str | None) -> str | None:
    """A MAC address in lower case with colons, or None."""
    text = (value or "").strip().lower().replace("-", ":")
    return text if re.fullmatch(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", text, re.ASCII) else None


def _setting(lines: list[str], name: str, separator: str) -> str | None:
    for line in lines:
        key, found, value = line.partition(separator)
        if found and key.strip() == name:
            return _or_none(value.strip().strip("'\""))
    return None


def _release(lines: list[str]) -> str | None:
    """`build_version` without the brand: `SONiC.202411.1234-abc` and `202411.1234-abc` are both `202411.1234-abc`."""
    version = _setting(lines, "build_version", ":")
    return version.removeprefix("SONiC.").removeprefix("SONiC-OS-") if version else None


def _reboot_cause(files: Mapping[str, list[str]]) -> str | None:
    text = "\n".join(files.get("/host/reboot-cause/previous-reboot-cause.json", [])).strip()
    if text:
        try:
            data: Any = load_json(text)
        except CollectError:
            data = None
        if isinstance(data, dict) and isinstance(data.get("cause"), str):
            parts = [clean(data["cause"])]
            user = data.get("user")
            if isinstance(user, str) and not absent(user):
                parts.append(f"by {clean(user)}")
            return " ".join(parts)
    lines = [line for line in files.get("/host/reboot-cause/reboot-cause.txt", []) if line.strip()]
    return clean(lines[0]) if lines else None


def eeprom(rows: Mapping[str, Row]) -> tuple[str | None, str | None]:
    """Serial number and base MAC of STATE_DB EEPROM_INFO rows (ONIE TLV 0x23 and 0x24)."""
    serial = rows.get("0x23", {}).get("Value")
    return _or_none(serial), mac(rows.get("0x24", {}).get("Value"))


def config(rows: Mapping[str, Row]) -> Tables:
    """CONFIG_DB hashes (`TABLE|key`) as tables; a field `x@` is a list. CollectError when it has no metadata row.

    The row marker `NULL` stands for "no field". Secrets were left out on the switch.
    """
    tables: dict[str, dict[str, dict[str, str | list[str]]]] = {}
    for key, row in rows.items():
        table, bar, name = key.partition("|")
        if not bar:
            continue
        fields: dict[str, str | list[str]] = {}
        for field, value in row.items():
            if field == "NULL":
                continue
            if field.endswith("@"):
                fields[field[:-1]] = value.split(",") if value else []
            else:
                fields[field] = value
        tables.setdefault(table, {})[name] = fields
    if "localhost" not in tables.get("DEVICE_METADATA", {}):
        raise CollectError("CONFIG_DB has no DEVICE_METADATA: it is empty or not loaded yet")
    return tables


def fdb(rows: Mapping[str, Row]) -> dict[str, str]:
    """MAC -> port of STATE_DB FDB_TABLE (`Vlan100:aa:bb:...`). Routed ports learn none: an empty table is normal."""
    found: dict[str, str] = {}
    for key, row in rows.items():
        address = mac(key.partition(":")[2])
        port = row.get("port")
        if address and port:
            found[address] = clean(port)
    return found
