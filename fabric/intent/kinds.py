"""The words an intent is written with: speeds, names, node lists, prefixes, dates.

Each is a plain Python type with a validator whose message says what to write instead.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

MAX_NAMES = 100_000

_SPEED = re.compile(r"(10|25|40|50|100|200|400|800|1600)G\Z")
_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\Z")
_NODE_PATTERN = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*\{n(:0[1-9]d)?\}\Z")


def _speed(value: Any) -> int:
    if isinstance(value, str) and (match := _SPEED.match(value)):
        return int(match.group(1)) * 1000
    raise ValueError(f"{value!r} is no port speed; write it as 400G (10G 25G 40G 50G 100G 200G 400G 800G 1600G)")


def check_name(value: str) -> str:
    """A host name: letters, digits and inner dashes, at most 63. ValueError otherwise."""
    if not _NAME.match(value):
        raise ValueError(f"{value!r} is no host name; use letters, digits and inner dashes, at most 63")
    return value


def node_list(value: Any) -> tuple[str, ...]:
    """Expand a Slurm node list (`gpu[001-050],gpu060`), or a YAML list of them, into names in that order.

    ValueError for a broken list, a name that is no host name, a name given twice, or more than 100,000 names.
    """
    from hostlist import BadHostlist, expand_hostlist

    parts = value if isinstance(value, list) else [value]
    names: list[str] = []
    for part in parts:
        if not isinstance(part, str) or not part.strip():
            raise ValueError(f"{part!r} is no node list; write it as Slurm does: gpu[001-050]")
        size = 1
        for low, high in re.findall(r"(\d+)-(\d+)", part):
            if len(low) > 9 or len(high) > 9:
                raise ValueError(f"{part!r} has a number that is too long")
            size = max(size, int(high) - int(low) + 1)
        if size > MAX_NAMES:
            raise ValueError(f"{part!r} is more than {MAX_NAMES} names")
        try:
            names.extend(expand_hostlist(part, allow_duplicates=True))
        except BadHostlist as error:
            raise ValueError(f"{part!r} is no node list ({error}); write it as Slurm does: gpu[001-050]") from None
    if len(names) > MAX_NAMES:
        raise ValueError(f"{len(names)} names; the limit is {MAX_NAMES}")
    for name in names:
        check_name(name)
    if len({name.lower() for name in names}) != len(names):
        seen: set[str] = set()
        twice = next(n for n in names if n.lower() in seen or seen.add(n.lower()))  # type: ignore[func-returns-value]
        raise ValueError(f"{twice} is given twice; keep one")
    return tuple(names)


def _nodes(value: Any) -> int | tuple[str, ...]:
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= MAX_NAMES:
            raise ValueError(f"{value} nodes; write a number from 0 to {MAX_NAMES}")
        return value
    return node_list(value)


def _prefix(version: int) -> Callable[[str], str]:
    def check(value: str) -> str:
        if "/" not in value:
            raise ValueError(
                f"{value!r} has no prefix length; write it as {'10.0.0.0/16' if version == 4 else 'fd00::/48'}"
            )
        try:
            network = ipaddress.ip_network(value, strict=True)
        except ValueError as error:
            raise ValueError(
                f"{value!r} is no prefix ({error}); write it as {'10.0.0.0/16' if version == 4 else 'fd00::/48'}"
            ) from None
        if network.version != version:
            raise ValueError(f"{value!r} is IPv{network.version}; IPv{version} belongs here")
        return str(network)

    return check


def _address(value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise ValueError(f"{value!r} is no address; write it as 192.0.2.1, without a length") from None


def _server(value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        pass
    labels = value.rstrip(".").split(".")
    if not value or len(value) > 253 or not all(_NAME.match(label) for label in labels) or labels[-1].isdigit():
        raise ValueError(f"{value!r} is neither an address nor a host name")
    return value


def _day(value: str) -> str:
    try:
        date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value!r} is no date; write it as 2026-12-31") from None
    return value


def _node_pattern(value: str) -> str:
    if not _NODE_PATTERN.match(value):
        raise ValueError(f"{value!r} is no name pattern; write it as gpu{{n:03d}}")
    return value


def check_asn(value: int) -> int:
    """A usable AS number: 1..4294967294, not 23456 (AS_TRANS, RFC 6793) and not 65535 (RFC 7300)."""
    if not 1 <= value <= 4294967294 or value in (23456, 65535):
        raise ValueError(f"{value} is no usable AS number; take one from 4200000000 to 4294967294 (RFC 6996)")
    return value


def _text(value: str) -> str:
    if any(ord(char) < 32 or ord(char) == 127 for char in value):
        raise ValueError("control characters are not allowed here; write one line of text")
    return value


Speed = Annotated[
    int,
    BeforeValidator(_speed),
    WithJsonSchema({"type": "string", "pattern": "^(10|25|40|50|100|200|400|800|1600)G$", "examples": ["400G"]}),
]
Name = Annotated[
    str,
    AfterValidator(check_name),
    WithJsonSchema({"type": "string", "pattern": "^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$"}),
]
Names = Annotated[
    tuple[str, ...],
    BeforeValidator(node_list),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}], "examples": ["gpu[001-050]"]}
    ),
]
Nodes = Annotated[
    int | tuple[str, ...],
    BeforeValidator(_nodes),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}},
            ],
            "examples": ["gpu[001-050]", 50],
        }
    ),
]
Prefix4 = Annotated[str, AfterValidator(_prefix(4))]
Prefix6 = Annotated[str, AfterValidator(_prefix(6))]
Address = Annotated[str, AfterValidator(_address)]
Server = Annotated[str, AfterValidator(_server)]
Day = Annotated[str, AfterValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
NodePattern = Annotated[str, AfterValidator(_node_pattern)]
Asn = Annotated[int, AfterValidator(check_asn)]
Text = Annotated[str, Field(max_length=200), AfterValidator(_text)]
# Names that reach files and shells of hosts: no white space, quotes or slashes. Limits are the kernel's (IFNAMSIZ,
# IB_DEVICE_NAME_MAX) and PCI's address form.
ClassName = Annotated[str, Field(max_length=63, pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]*$")]
Hca = Annotated[str, Field(max_length=63, pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]*$")]
Netdev = Annotated[str, Field(max_length=15, pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]*$")]
PciAddress = Annotated[str, Field(pattern=r"^([0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$")]
Metres = Annotated[int, Field(ge=1, le=2000)]
PlatformKey = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
