"""Configuration of one device: Desired and Running are one type, so that they can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# CONFIG_DB: table -> key -> field -> value. A value is a string, or a list for a YANG leaf-list.
Row = Mapping[str, str | list[str]]
Tables = Mapping[str, Mapping[str, Row]]


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """CONFIG_DB tables and FRR text of one switch.

    `frr` is the text of frr.conf (desired) or of `show running-config` (running); None when the switch was
    not asked or the mode has none. `running_mode` etc. stand in the tables (DEVICE_METADATA|localhost).
    """

    device: str
    tables: Tables
    frr: str | None = None
    schema: str = "railfab.device-config/1"


@dataclass(frozen=True, slots=True)
class HostFiles:
    """The rendered NIC side of one host: relative path -> text. Paths are relative to the root of the host."""

    host: str
    files: Mapping[str, str] = field(default_factory=dict)
