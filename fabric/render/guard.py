"""What host files may say: rail NICs and nothing else. Read back from the finished text, whoever wrote the template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

import yaml

from fabric.errors import RenderError
from fabric.render.operator_yaml import loader

# Routing tables of the kernel's own: unspec, default, main, local.
RESERVED_TABLES = frozenset((0, 253, 254, 255))
# A route wider than this in the main table is a default route by another name (0.0.0.0/1 and 128.0.0.0/1).
_WIDEST = 8
_MAIN_RULE = 32766
_Net = IPv4Network | IPv6Network
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SYSCTL = re.compile(r"net[./]ipv[46][./](?:conf|neigh)[./](?P<nic>[^=\s]+)[./]\w+")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a host's files may name: `devices` are its rail NICs, `management` interfaces that no file may touch, and
    `networks` what the main table must never be told to reach by a rail."""

    devices: frozenset[str]
    management: frozenset[str] = frozenset()
    networks: tuple[_Net, ...] = field(default=())


def guard(host: str, bounds: Bounds, files: Mapping[str, str]) -> None:
    """RenderError for a file that names an interface that is no rail NIC, takes in addresses by DHCP or router
    advertisement, or would change the default route or the way to management."""
    for path, text in files.items():
        problem = _problem(path, text, bounds)
        if problem:
            raise RenderError(f"{host}: {path}: {problem}; host files touch rail NICs only, correct the template")


def _problem(path: str, text: str, bounds: Bounds) -> str | None:
    if path.startswith("etc/netplan/"):
        return _netplan(text, bounds)
    if path.endswith((".network", ".link")):
        return _networkd(path, text, bounds)
    if path.startswith("etc/sysctl.d/"):
        return _sysctls(text, bounds)
    if path.startswith(("etc/systemd/system/", "usr/")):
        # NCCL and lldpd may name management (bootstrap, ports to leave out); what runs as root may not.
        named = next((word for word in _WORD.findall(text) if word in bounds.management), None)
        return f"names {named}" if named else None
    return None


def _netplan(text: str, bounds: Bounds) -> str | None:
    try:
        content = yaml.load(text, Loader=loader())  # noqa: S506 - a safe loader, in C
        network = dict(content["network"])
        nics = network.pop("ethernets")
        network.pop("version")
        if network:
            return f"has {', '.join(sorted(network))}"
        for device, nic in nics.items():
            if device not in bounds.devices:
                return f"names {device}"
            if "match" in nic or "set-name" in nic:
                return f"{device} could be another interface (match, set-name)"
            if "gateway4" in nic or "gateway6" in nic:
                return f"{device} could take a default route (gateway)"
            if any(nic.get(key) is not False for key in ("dhcp4", "dhcp6", "accept-ra")):
                return f"{device} could take a default route (dhcp4, dhcp6 and accept-ra must be false)"
            problem = next(_netplan_ways(nic, bounds), None)
            if problem:
                return f"{device} {problem}"
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        return f"is no netplan file ({type(error).__name__}: {' '.join(str(error).split())})"
    return None


def _netplan_ways(nic: Mapping[str, Any], bounds: Bounds) -> Iterator[str]:
    for route in nic.get("routes", ()):
        table = route.get("table", 254)
        yield from _route_problem(str(route["to"]), isinstance(table, int) and table not in RESERVED_TABLES, bounds)
    for rule in nic.get("routing-policy", ()):
        yield from _rule_problem(str(rule.get("from", "")), rule.get("priority"), bounds)


def _route_problem(to: str, own_table: bool, bounds: Bounds) -> Iterator[str]:
    if own_table:
        return
    network = ip_network("0.0.0.0/0" if to in ("", "default", "0/0") else to, strict=False)
    if network.prefixlen == 0:
        yield "would change the default route"
    elif network.prefixlen < _WIDEST:
        yield f"would change the default route in all but name ({to})"
    elif any(network.version == other.version and network.overlaps(other) for other in bounds.networks):
        yield f"would change the way to management ({to})"


def _rule_problem(source: str, priority: object, bounds: Bounds) -> Iterator[str]:
    network = ip_network(source, strict=False) if source not in ("", "all", "default") else None
    if network is None or network.prefixlen < _WIDEST:
        yield f"would send what is not its own by a rail (rule from {source or 'anywhere'})"
    elif any(network.version == other.version and network.overlaps(other) for other in bounds.networks):
        yield f"would send what is from management by a rail (rule from {source})"
    if not str(priority).isdigit() or not 0 < int(str(priority)) < _MAIN_RULE:
        yield f"has a rule that does not come before the main table (priority {priority})"


def _networkd(path: str, text: str, bounds: Bounds) -> str | None:
    sections: list[tuple[str, list[tuple[str, str]]]] = []
    for line in text.splitlines():
        if line.startswith("["):
            sections.append((line.strip("[] \t"), []))
        elif "=" in line and not line.startswith(("#", ";")):
            if not sections:
                return "has a setting outside any section"
            key, _, value = line.partition("=")
            sections[-1][1].append((key.strip(), value.strip()))
    matches = [settings for section, settings in sections if section == "Match"]
    if len(matches) != 1 or not matches[0]:
        return "matches every interface (one [Match] is needed)"
    if path.endswith(".link"):
        names = [
            value for section, settings in sections for key, value in settings if (section, key) == ("Link", "Name")
        ]
        if any(name not in bounds.devices for name in names) or len(names) != 1:
            return f"renames to {', '.join(names) or 'nothing'}"
        return None
    if [key for key, _ in matches[0]] != ["Name"] or matches[0][0][1] not in bounds.devices:
        return f"matches {', '.join(value for _, value in matches[0])}"
    try:
        problem = next((problem for name, got in sections for problem in _section(name, got, bounds)), None)
    except ValueError as error:
        return f"is no networkd file ({error})"
    if problem is None and not any(name == "Network" for name, _ in sections):
        return "could take a default route (no [Network] that says DHCP=no and IPv6AcceptRA=no)"
    return problem


def _section(name: str, settings: list[tuple[str, str]], bounds: Bounds) -> Iterator[str]:
    last = dict(settings)
    if len(last) < len(settings) and name in ("Route", "RoutingPolicyRule"):
        yield f"has a setting twice in [{name}]"
    if name == "Network" and (
        "Gateway" in last
        or last.get("DHCP") != "no"
        or last.get("IPv6AcceptRA", "").lower() not in ("no", "false", "0")
    ):
        yield "could take a default route (gateway, DHCP or IPv6AcceptRA)"
    if name == "Route":
        table = last.get("Table", "main")
        own_table = table.isdigit() and int(table) not in RESERVED_TABLES
        yield from _route_problem(last.get("Destination", ""), own_table, bounds)
    if name == "RoutingPolicyRule":
        yield from _rule_problem(last.get("From", ""), last.get("Priority"), bounds)


def _sysctls(text: str, bounds: Bounds) -> str | None:
    for line in text.splitlines():
        setting = line.strip().lstrip("-")
        if not setting or setting.startswith(("#", ";")):
            continue
        found = _SYSCTL.match(setting)
        if found is None or found["nic"].replace("/", ".") not in bounds.devices:
            return f"sets {setting.partition('=')[0].strip()}, which is not of a rail NIC alone"
    return None
