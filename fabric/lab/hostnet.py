"""A host's rendered network files, read back as what they ask the kernel for.

The twin applies the very files that would be put on a host, netplan's or systemd-networkd's, so that a wrong one is
wrong here too. Only what a rail NIC uses is understood; anything else is an error, not silently left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from fabric.errors import LabError

_IGNORED = {"optional", "dhcp4", "dhcp6", "accept-ra", "link-local", "match", "set-name"}


@dataclass(frozen=True, slots=True)
class HostRoute:
    """A route through a NIC; `table` None is the main table."""

    to: str
    via: str
    table: int | None = None


@dataclass(frozen=True, slots=True)
class HostRule:
    """Traffic from a source looks its routes up in a table."""

    source: str
    table: int
    priority: int


@dataclass(frozen=True, slots=True)
class NicSettings:
    """What the files say about one interface."""

    mtu: int | None = None
    addresses: tuple[str, ...] = ()
    routes: tuple[HostRoute, ...] = ()
    rules: tuple[HostRule, ...] = ()


@dataclass(slots=True)
class _Draft:
    mtu: int | None = None
    addresses: list[str] = field(default_factory=list)
    routes: list[HostRoute] = field(default_factory=list)
    rules: list[HostRule] = field(default_factory=list)


def read(files: Mapping[str, str]) -> dict[str, NicSettings]:
    """Interface -> settings, from netplan files and networkd units. LabError for what is not understood."""
    drafts: dict[str, _Draft] = {}
    for path, text in files.items():
        if path.startswith("etc/netplan/"):
            _netplan(path, text, drafts)
        elif path.startswith("etc/systemd/network/") and path.endswith(".network"):
            _networkd(path, text, drafts)
    return {
        name: NicSettings(draft.mtu, tuple(draft.addresses), tuple(draft.routes), tuple(draft.rules))
        for name, draft in drafts.items()
    }


def _netplan(path: str, text: str, drafts: dict[str, _Draft]) -> None:
    document = yaml.safe_load(text) or {}
    for name, body in (document.get("network", {}).get("ethernets") or {}).items():
        draft = drafts.setdefault(name, _Draft())
        for key, value in body.items():
            if key == "mtu":
                draft.mtu = int(value)
            elif key == "addresses":
                draft.addresses += map(str, value)
            elif key == "routes":
                draft.routes += [HostRoute(_default(one), str(one["via"]), one.get("table")) for one in value]
            elif key == "routing-policy":
                draft.rules += [HostRule(str(one["from"]), int(one["table"]), int(one["priority"])) for one in value]
            elif key not in _IGNORED:
                raise LabError(f"{path}: the twin does not know what to do with {name}.{key}")


def _default(route: Mapping[str, Any]) -> str:
    to = str(route["to"])
    if to != "default":
        return to
    return "::/0" if ":" in str(route["via"]) else "0.0.0.0/0"


def _networkd(path: str, text: str, drafts: dict[str, _Draft]) -> None:
    sections = list(_sections(text))
    names = [value for section, pairs in sections if section == "Match" for key, value in pairs if key == "Name"]
    if len(names) != 1:
        raise LabError(f"{path}: the twin needs exactly one Name in [Match]")
    draft = drafts.setdefault(names[0], _Draft())
    for section, pairs in sections:
        values = dict(pairs)
        if section == "Link" and "MTUBytes" in values:
            draft.mtu = int(values["MTUBytes"])
        elif section == "Network":
            draft.addresses += [value for key, value in pairs if key == "Address"]
        elif section == "Route":
            table = values.get("Table")
            draft.routes.append(HostRoute(values["Destination"], values["Gateway"], int(table) if table else None))
        elif section == "RoutingPolicyRule":
            draft.rules.append(HostRule(values["From"], int(values["Table"]), int(values["Priority"])))


def _sections(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    name, pairs = "", []  # type: tuple[str, list[tuple[str, str]]]
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            if name:
                yield name, pairs
            name, pairs = line.strip("[]"), []
        elif "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            pairs.append((key.strip(), value.strip()))
    if name:
        yield name, pairs
