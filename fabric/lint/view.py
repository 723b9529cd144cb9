"""What a rule sees of one configuration, and how it says what it found."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fabric.values.device_config import Row, Tables
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import HeadroomRow

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_PORT = re.compile(r"Ethernet(?:-BP)?\d+")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")

# Tables that hold addresses of this switch: table -> the interface is a front-panel port.
ADDRESS_TABLES = (
    "INTERFACE",
    "LOOPBACK_INTERFACE",
    "PORTCHANNEL_INTERFACE",
    "VLAN_INTERFACE",
    "VLAN_SUB_INTERFACE",
    "MGMT_INTERFACE",
)


def text(value: str | list[str] | None) -> str:
    """A field's value as one text, lists joined as Redis holds them."""
    if value is None:
        return ""
    return value if isinstance(value, str) else ",".join(map(str, value))


def numbers(value: str | list[str] | None) -> frozenset[int]:
    """Priorities of `pfc_enable` and its like: `"3,4"` is {3, 4}."""
    return frozenset(int(part) for part in text(value).split(",") if part.strip().isdigit())


def index_range(value: str) -> range | None:
    """Queues or priority groups of a key's last part: `3-4` is 3 and 4. None when it is neither."""
    match = _RANGE.fullmatch(value)
    if match is None:
        return None
    first = int(match[1])
    return range(first, int(match[2] or first) + 1)


def whole(value: str | list[str] | None) -> int | None:
    """The whole number a field holds, or None."""
    content = text(value).strip()
    return int(content) if content.isascii() and content.removeprefix("-").isdigit() else None


@dataclass(frozen=True, slots=True)
class Address:
    """One address row: `table`|`key`, the interface's name and the address with its length."""

    table: str
    key: str
    name: str
    interface: Interface


@dataclass(frozen=True)
class Config:
    """One switch's tables with what several rules ask of them. References are bare names (old forms undone)."""

    tables: Tables
    device: str | None = None
    platform_rows: Sequence[HeadroomRow] | None = None
    _expanded: dict[str, dict[str, list[tuple[str, range, Row]]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def rows(self, table: str) -> Mapping[str, Row]:
        """Rows of a table; none when it is absent."""
        return self.tables.get(table, {})

    def has(self, table: str) -> bool:
        """Whether the table has any row."""
        return bool(self.tables.get(table))

    @cached_property
    def metadata(self) -> Row:
        """DEVICE_METADATA|localhost."""
        return self.rows("DEVICE_METADATA").get("localhost", {})

    @cached_property
    def ports(self) -> Mapping[str, Row]:
        """PORT rows by name."""
        return self.rows("PORT")

    @cached_property
    def whole_switch(self) -> bool:
        """Whether this is a switch's configuration and not a fragment of one (a QoS or buffer file)."""
        return self.has("PORT")

    @cached_property
    def addresses(self) -> tuple[Address, ...]:
        """Every address row whose address can be read."""
        found = []
        for table in ADDRESS_TABLES:
            for key in self.rows(table):
                name, _, prefix = key.partition("|")
                if "/" not in prefix:
                    continue
                try:
                    found.append(Address(table, key, name, ipaddress.ip_interface(prefix)))
                except ValueError:
                    continue
        return tuple(found)

    @cached_property
    def port_maps(self) -> Mapping[str, Row]:
        """PORT_QOS_MAP rows of ports; the row `global` is the switch-level default and no port."""
        return {key: row for key, row in self.rows("PORT_QOS_MAP").items() if key != "global"}

    @cached_property
    def lossless(self) -> Mapping[str, frozenset[int]]:
        """Port -> its PFC priorities, for ports that have any."""
        found = {port: numbers(row.get("pfc_enable")) for port, row in self.port_maps.items()}
        return {port: priorities for port, priorities in found.items() if priorities}

    @cached_property
    def cable_lengths(self) -> Mapping[str, str]:
        """Port -> CABLE_LENGTH text (`40m`), over all rows of the table."""
        return {port: text(length) for row in self.rows("CABLE_LENGTH").values() for port, length in row.items()}

    @cached_property
    def traditional(self) -> bool:
        """Whether SONiC's buffer manager takes headroom from the lookup file. Absent means traditional."""
        return text(self.metadata.get("buffer_model")) != "dynamic"

    def expand(self, table: str) -> Mapping[str, list[tuple[str, range, Row]]]:
        """Port -> (key, queues or priority groups, row) of BUFFER_PG, BUFFER_QUEUE or QUEUE."""
        if table in self._expanded:
            return self._expanded[table]
        found: dict[str, list[tuple[str, range, Row]]] = {}
        for key, row in self.rows(table).items():
            names, _, index = key.rpartition("|")
            numbers_of = index_range(index)
            if numbers_of is None:
                continue
            for port in names.rpartition("|")[2].split(","):
                found.setdefault(port, []).append((key, numbers_of, row))
        self._expanded[table] = found
        return found


def found(
    code: str,
    where: tuple[str, str | None, str | None],
    what: str,
    remedy: str,
    *,
    value: str | list[str] | None = None,
    allowed: str | None = None,
    status: Status = Status.FAIL,
    severity: Severity | None = None,
    confidence: Confidence = Confidence.CERTAIN,
    device: str | None = None,
    port: str | None = None,
) -> Finding:
    """A finding about table, key and field `where`. It names them, the value, why it is wrong and what to do."""
    table, key, name = where
    if port is None and key is not None:
        match = _PORT.match(key)
        port = match[0] if match else None
    if port is None and name is not None and _PORT.fullmatch(name):
        port = name
    place = f"{table}|{key}" if key is not None else table or '""'
    if name is not None:
        place += f" field {name}"
    if value is not None:
        place += f' = "{text(value)}"'
    if severity is None:
        severity = Severity.BLOCK if status is Status.FAIL else Severity.WARN
    return Finding(
        code=code,
        status=status,
        severity=severity,
        confidence=confidence,
        device=device,
        port=port,
        observed=what,
        expected=allowed,
        evidence=place,
        remedy=remedy,
    )


def some(names: Iterable[str], most: int = 4) -> str:
    """Names for a message: the first few, and how many more there are."""
    listed = sorted(names, key=natural)
    more = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {more} more" if more > 0 else "")


def natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key that puts Ethernet8 before Ethernet16."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]
