"""Where is it? A node, NIC, port, alias, MAC, address, cable or switch: both ends, rack, rail, state."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass

from fabric.values.plan import HostPlan, LifeState, Outage, Plan, PlannedNic, PlannedPort, SwitchPlan
from fabric.values.snapshot import Snapshot

_MAC = re.compile(r"^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$|^[0-9a-f]{4}(\.[0-9a-f]{4}){2}$")


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that a name means. `kind` is switch, host, nic, port or cable; `facts` in the order to show."""

    kind: str
    name: str
    facts: tuple[tuple[str, str], ...]


def where(plan: Plan, name: str) -> list[Found]:
    """Everything in the Plan that `name` means, exact matches only; empty when nothing does."""
    wanted = name.strip()
    lower = wanted.lower()
    found: list[Found] = []
    if not wanted:
        return found
    device, colon, part = wanted.partition(":")
    if "--" in wanted and wanted in plan.cables:
        found.append(_cable(plan, wanted))
    elif colon and not _MAC.match(lower) and device in plan.switches and part:
        found.extend(_ports(plan, plan.switches[device], part))
    elif colon and device in plan.hosts and part:
        found.extend(_nics(plan, plan.hosts[device], part))
    elif wanted in plan.switches:
        found.append(_switch(plan.switches[wanted]))
    elif wanted in plan.hosts:
        found.append(_host(plan, plan.hosts[wanted]))
    elif _MAC.match(lower):
        found.extend(_by_mac(plan, lower))
    else:
        found.extend(_by_address(plan, wanted) if _is_address(wanted) else _by_label(plan, lower))
    return found


def seen(plan: Plan, snapshot: Snapshot, name: str) -> list[Found]:
    """Where the live fabric shows a MAC, an address or a serial number: neighbour tables, LLDP, modules."""
    plain = _plain(name)
    found = []
    for device, state in snapshot.switches.items():
        for entry in state.neighbours or ():
            if plain in (_plain(entry.mac), _plain(entry.address)):
                found.append(_live(plan, device, entry.port, f"neighbour {entry.address} {entry.mac} {entry.state}"))
        for row in state.lldp or ():
            if plain in (_plain(row.port_id), _plain(row.chassis_id), _plain(row.system_name)):
                said = f"{row.system_name or row.chassis_id} {row.port_id}"
                found.append(_live(plan, device, row.local_port, f"hears by LLDP {said}"))
        for port, optic in (state.optics or {}).items():
            if plain == _plain(optic.serial):
                found.append(_live(plan, device, port, f"module {optic.vendor} {optic.model} {optic.serial}"))
        if plain in (_plain(state.serial or ""), _plain(state.base_mac or "")):
            found.append(Found("seen", device, (("switch", f"serial {state.serial}, MAC {state.base_mac}"),)))
    return found


def _plain(text: str) -> str:
    lower = text.strip().lower()
    return re.sub(r"[.:-]", "", lower) if _MAC.match(lower) else lower or "\0"


def _live(plan: Plan, device: str, port: str, what: str) -> Found:
    planned = plan.port(device, port)
    peer = f"{planned.peer_device} {planned.peer_port}" if planned is not None and planned.peer_device else None
    return Found("seen", f"{device}:{port}", _facts(("live", what), ("planned there", peer)))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True


def _by_mac(plan: Plan, text: str) -> Iterator[Found]:
    plain = _plain(text)
    for host in plan.hosts.values():
        for nic in host.nics.values():
            if nic.mac and _plain(nic.mac) == plain:
                yield _nic(plan, host, nic)
    for switch in plan.switches.values():
        if switch.base_mac and _plain(switch.base_mac) == plain:
            yield _switch(switch)


def _by_address(plan: Plan, text: str) -> Iterator[Found]:
    address = ipaddress.ip_interface(text).ip

    def has(addresses: tuple[str, ...]) -> bool:
        return any(ipaddress.ip_interface(one).ip == address for one in addresses)

    for switch in plan.switches.values():
        if has(switch.loopbacks) or (switch.mgmt_address and has((switch.mgmt_address,))):
            yield _switch(switch)
        for port in switch.ports.values():
            if has(port.addresses):
                yield _port(plan, switch, port)
    for host in plan.hosts.values():
        if host.mgmt_address and has((host.mgmt_address,)):
            yield _host(plan, host)
        for nic in host.nics.values():
            if has(nic.addresses):
                yield _nic(plan, host, nic)


def _by_label(plan: Plan, lower: str) -> Iterator[Found]:
    """An alias, a serial number, a rack, a PCI address: whatever stands on a label."""
    for switch in plan.switches.values():
        if lower in ((switch.serial or "").lower(), (switch.rack or "").lower()) and lower:
            yield _switch(switch)
        for port in switch.ports.values():
            if port.alias.lower() == lower:
                yield _port(plan, switch, port)
    for host in plan.hosts.values():
        if lower == (host.rack or "").lower():
            yield _host(plan, host)
        for nic in host.nics.values():
            if lower == (nic.pci or "").lower() or lower == f"{host.name}-{nic.name}".lower():
                yield _nic(plan, host, nic)


def _ports(plan: Plan, switch: SwitchPlan, part: str) -> Iterator[Found]:
    for port in switch.ports.values():
        if part.lower() in (port.name.lower(), port.alias.lower()):
            yield _port(plan, switch, port)


def _nics(plan: Plan, host: HostPlan, part: str) -> Iterator[Found]:
    for nic in host.nics.values():
        if part.lower() in {(spelling or "").lower() for spelling in (nic.name, nic.netdev, nic.hca, nic.pci, nic.mac)}:
            yield _nic(plan, host, nic)


def _facts(*pairs: tuple[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple((label, str(value)) for label, value in pairs if value not in (None, "", ()))


def _state(state: LifeState, outage: Outage | None = None) -> str:
    if outage is None:
        return state.value
    until = f", until {outage.until}" if outage.until else ""
    return f"{state.value}: {outage.reason}{until}"


def _place(rack: str | None, unit: int | None) -> str | None:
    return f"rack {rack}" + (f", unit {unit}" if unit is not None else "") if rack else None


def _switch(switch: SwitchPlan) -> Found:
    used = sum(port.peer_device is not None for port in switch.ports.values())
    return Found(
        "switch",
        switch.name,
        _facts(
            ("role", f"{switch.role.value} of the {switch.network.value} network"),
            ("pod", switch.pod),
            ("rail", switch.rail),
            ("place", _place(switch.rack, switch.unit)),
            ("state", _state(switch.state, switch.outage)),
            ("management", switch.mgmt_address),
            ("loopback", ", ".join(switch.loopbacks)),
            ("ASN", switch.asn),
            ("platform", f"{switch.platform} ({switch.hwsku})"),
            ("serial", switch.serial),
            ("MAC", switch.base_mac),
            ("ports in use", f"{used} of {len(switch.ports)}"),
        ),
    )


def _host(plan: Plan, host: HostPlan) -> Found:
    nics = "; ".join(f"{nic.name} {nic.switch} {nic.switch_port}{_alias(plan, nic)}" for nic in host.nics.values())
    return Found(
        "host",
        host.name,
        _facts(
            ("pod", host.pod),
            ("place in the pod", host.place),
            ("place", _place(host.rack, host.unit)),
            ("state", _state(host.state, host.outage) + (" (reserve)" if host.reserve else "")),
            ("management", host.mgmt_address),
            ("NICs", nics),
        ),
    )


def _alias(plan: Plan, nic: PlannedNic) -> str:
    port = plan.port(nic.switch, nic.switch_port)
    return f" ({port.alias})" if port is not None and port.alias != port.name else ""


def _nic(plan: Plan, host: HostPlan, nic: PlannedNic) -> Found:
    cable = plan.cables.get(nic.cable) if nic.cable else None
    return Found(
        "nic",
        f"{host.name}:{nic.name}",
        _facts(
            ("rail", nic.rail),
            ("other end", f"{nic.switch} {nic.switch_port}{_alias(plan, nic)}"),
            ("cable", nic.cable),
            ("length", f"{cable.length_m} m" if cable is not None else None),
            ("place", _place(host.rack, host.unit)),
            ("state", _state(nic.state)),
            ("speed", f"{nic.speed_mbps / 1000:g}G, MTU {nic.mtu}"),
            ("address", ", ".join(nic.addresses)),
            ("gateway", ", ".join(nic.gateways)),
            ("device", ", ".join(filter(None, (nic.netdev, nic.hca, nic.pci)))),
            ("MAC", nic.mac),
        ),
    )


def _port(plan: Plan, switch: SwitchPlan, port: PlannedPort) -> Found:
    peer = None
    if port.peer_device is not None:
        alias = f" ({port.peer_alias})" if port.peer_alias and port.peer_alias != port.peer_port else ""
        peer = f"{port.peer_device} {port.peer_port}{alias}"
    cable = plan.cables.get(port.cable) if port.cable else None
    return Found(
        "port",
        f"{switch.name}:{port.name}",
        _facts(
            ("alias", port.alias),
            ("cage", f"{port.parent} (number {port.index})"),
            ("lanes", ",".join(str(lane) for lane in port.lanes)),
            ("use", port.use.value),
            ("rail", port.rail if port.rail is not None else switch.rail if peer else None),
            ("other end", peer),
            ("cable", port.cable),
            ("length", f"{cable.length_m} m" if cable is not None else None),
            ("place", _place(switch.rack, switch.unit)),
            ("state", _state(port.state, port.outage) + ("" if port.admin_up else ", admin down")),
            ("speed", f"{port.speed_mbps / 1000:g}G, FEC {port.fec}, MTU {port.mtu}"),
            ("address", ", ".join(port.addresses)),
            ("far address", ", ".join(port.peer_addresses)),
            ("far ASN", port.peer_asn),
            ("lossless", "yes" if port.lossless else "no"),
        ),
    )


def _cable(plan: Plan, name: str) -> Found:
    cable = plan.cables[name]
    return Found(
        "cable",
        name,
        _facts(
            ("one end", f"{cable.a_device} {cable.a_port}"),
            ("other end", f"{cable.b_device} {cable.b_port}"),
            ("kind", f"{cable.kind.value}, {cable.network.value}"),
            ("rail", cable.rail),
            ("pod", cable.pod),
            ("parallel", cable.parallel),
            ("speed", f"{cable.speed_mbps / 1000:g}G"),
            ("length", f"{cable.length_m} m"),
            ("medium", cable.medium),
            ("state", cable.state.value),
        ),
    )
