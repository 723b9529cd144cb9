"""What is built: names, cables, addresses of hosts and management. Taken from the Plan, and nothing else of it.

What the fabric must be (sessions, prefixes, queues) is left out on purpose: switches start unconfigured, and only
a push can bring them up.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabric.errors import LabError
from fabric.lab import hostnet
from fabric.lab.hostnet import NicSettings
from fabric.values.plan import HostPlan, LifeState, Plan, SwitchPlan, cable_name

Tables = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class NicBox:
    """A NIC of a host: name as in the Plan, MAC, and what the host's rendered network files say about it.

    `sysctls` are the lines of the rendered sysctl file that are about this NIC.
    """

    name: str
    mac: str
    settings: NicSettings
    sysctls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostBox:
    """A host. `mgmt` is its management address with prefix length, None when the Plan gives it none."""

    name: str
    nics: Mapping[str, NicBox]
    mgmt: str | None = None


@dataclass(frozen=True, slots=True)
class SwitchBox:
    """A switch as unpacked: its MAC, its management address, and the CONFIG_DB it has ex works."""

    name: str
    role: str
    mac: str
    mgmt: str
    serial: str
    platform: str
    hwsku: str
    factory: Tables


@dataclass(frozen=True, slots=True)
class Wire:
    """A cable between two ports, ends sorted; `rail` is None between switches of different rails."""

    a_device: str
    a_port: str
    b_device: str
    b_port: str
    rail: int | None = None

    @property
    def name(self) -> str:
        """The contract's name of the cable."""
        return cable_name(self.a_device, self.a_port, self.b_device, self.b_port)


@dataclass(frozen=True, slots=True)
class Blueprint:
    """One twin. `bridge` is the address the lab itself has on the management network, with prefix length.

    `release` is the SONiC release its switches say they run: what they refuse depends on it.
    """

    name: str
    release: str
    bridge: str
    switches: Mapping[str, SwitchBox]
    hosts: Mapping[str, HostBox]
    wires: tuple[Wire, ...]


def draw(plan: Plan, hosts: int | None = None) -> Blueprint:
    """The twin of a Plan: every switch that is in place, and the first `hosts` hosts (None: all).

    Hosts are taken round-robin over the pods, those with GPUs first, so that a small number still uses every pod.
    LabError when two devices share a management address or when the management network has no room for the lab's own.
    """
    switches = {name: switch for name, switch in plan.switches.items() if switch.state is not LifeState.PLANNED}
    if not switches:
        raise LabError(f"{plan.name}: the plan has no switch that is in place, so there is nothing to build")
    chosen = _first_hosts(plan, hosts)
    wires = []
    for cable in plan.cables.values():
        ends = (cable.a_device, cable.b_device)
        if cable.state is LifeState.PLANNED or not all(end in switches or end in chosen for end in ends):
            continue
        wires.append(Wire(cable.a_device, cable.a_port, cable.b_device, cable.b_port, cable.rail))
    network = ipaddress.ip_network(plan.services.mgmt_network)
    bridge = _bridge(network, switches, chosen)
    return Blueprint(
        name=plan.name,
        release=plan.release,
        bridge=bridge,
        switches={name: _switch(plan, switch, network, bridge.split("/")[0]) for name, switch in switches.items()},
        hosts={name: _host(plan, host, network) for name, host in chosen.items()},
        wires=tuple(wires),
    )


def mac_of(*parts: str) -> str:
    """A locally administered MAC that is the same each time for the same names."""
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return ":".join(f"{byte:02x}" for byte in (0x02, *digest[:5]))


def _first_hosts(plan: Plan, count: int | None) -> dict[str, HostPlan]:
    there = [host for host in plan.hosts.values() if host.state is not LifeState.PLANNED and host.nics]
    if count is not None:
        there.sort(key=lambda host: (all(nic.rail is None for nic in host.nics.values()), host.place, host.pod))
    names = {host.name for host in there[:count]}
    return {name: host for name, host in plan.hosts.items() if name in names}


def _host(plan: Plan, host: HostPlan, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> HostBox:
    from fabric.render import render_hosts

    files = render_hosts(plan, host.name).files
    settings = hostnet.read(files)
    sysctls = files.get("etc/sysctl.d/60-railfab.conf", "")
    nics = {}
    for nic in host.nics.values():
        if nic.state is LifeState.PLANNED:
            continue
        # In the twin a NIC bears its own name (rail0), whatever the host calls its interface.
        device = nic.netdev or nic.name
        lines = [line for line in sysctls.splitlines() if f".{device}." in line]
        nics[nic.name] = NicBox(
            nic.name,
            nic.mac or mac_of(host.name, nic.name),
            # Files are rendered for rail NICs; how others are set up is the site's matter, so they get the least.
            settings.get(device, hostnet.NicSettings(nic.mtu, nic.addresses)),
            tuple(line.replace(f".{device}.", f".{nic.name}.") for line in lines),
        )
    return HostBox(host.name, nics, _with_length(host.mgmt_address, network) if host.mgmt_address else None)


def _switch(
    plan: Plan, switch: SwitchPlan, network: ipaddress.IPv4Network | ipaddress.IPv6Network, gateway: str
) -> SwitchBox:
    mac = switch.base_mac or mac_of(plan.name, switch.name)
    serial = switch.serial or "TWIN" + mac.replace(":", "")[-8:].upper()
    mgmt = _with_length(switch.mgmt_address, network)
    return SwitchBox(
        name=switch.name,
        role=switch.role.value,
        mac=mac,
        mgmt=mgmt,
        serial=serial,
        platform=switch.onie_platform,
        hwsku=switch.hwsku,
        factory=_factory(plan, switch, mac, mgmt, gateway),
    )


def _factory(plan: Plan, switch: SwitchPlan, mac: str, mgmt: str, gateway: str) -> Tables:
    """CONFIG_DB as the image makes it on first boot, with a management address set by hand.

    PORT rows are those of the hwsku's port table: no admin_status, so every port is down; no address, no BGP.
    Source: sonic-buildimage src/sonic-config-engine (portconfig.py, config_samples.py).
    """
    ports: dict[str, dict[str, Any]] = {}
    for port in switch.ports.values():
        row = {
            "alias": port.alias,
            "index": str(port.index),
            "lanes": ",".join(map(str, port.lanes)),
            "speed": str(port.speed_mbps),
        }
        if port.subport:
            row["subport"] = str(port.subport)
        ports[port.name] = row
    return {
        "DEVICE_METADATA": {
            "localhost": {
                "hostname": "sonic",
                "hwsku": switch.hwsku,
                "platform": switch.onie_platform,
                "mac": mac,
                "type": "LeafRouter",
            }
        },
        "PORT": ports,
        "MGMT_PORT": {"eth0": {"alias": "eth0", "admin_status": "up"}},
        # SONiC's own model refuses the row without a gateway (sonic-mgmt_interface.yang).
        "MGMT_INTERFACE": {f"eth0|{mgmt}": {"gwaddr": switch.mgmt_gateway or gateway}},
        "VERSIONS": {"DATABASE": {"VERSION": f"version_{plan.release}_01"}},
    }


def _with_length(address: str, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> str:
    return address if "/" in address else f"{address}/{network.prefixlen}"


def _bridge(
    network: ipaddress.IPv4Network | ipaddress.IPv6Network,
    switches: Mapping[str, SwitchPlan],
    hosts: Mapping[str, HostPlan],
) -> str:
    taken: dict[str, str] = {}
    for name, address in [(switch.name, switch.mgmt_address) for switch in switches.values()] + [
        (host.name, host.mgmt_address) for host in hosts.values() if host.mgmt_address
    ]:
        bare = address.split("/")[0]
        if bare in taken:
            raise LabError(f"{name} and {taken[bare]} have the same management address {bare}; give each its own")
        taken[bare] = name
    # The gateway's place, so that switches meet something there; else the last address of the network.
    for switch in switches.values():
        gateway = switch.mgmt_gateway
        if gateway and ipaddress.ip_address(gateway) in network and gateway not in taken:
            return f"{gateway}/{network.prefixlen}"
    last = int(network.broadcast_address) - 1
    for number in range(last, max(last - 1024, int(network.network_address)), -1):
        address = str(ipaddress.ip_address(number))
        if address not in taken:
            return f"{address}/{network.prefixlen}"
    raise LabError(f"the management network {network} has no free address for the lab itself")
