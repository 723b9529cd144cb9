"""The NIC side of a host: addresses, routes and rules, sysctls, RoCE units, NCCL site file. Rail NICs and nothing else.

DSCP, priority and MTU are those of the switches because both come from the same Plan. Facts: ai-fabric 3.7 and 3.8.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from fabric.errors import RenderError
from fabric.render.device import bare, version_of, with_prefix
from fabric.render.guard import RESERVED_TABLES, Bounds, guard
from fabric.render.order import natural
from fabric.render.policy import Templates, templates
from fabric.values.device_config import HostFiles
from fabric.values.plan import HostPlan, LifeState, Network, Plan, PlannedNic, Role

# What may stand in a unit file or a path: the kernel's names of interfaces (15 characters), HCAs and PCI addresses.
_DEVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")
_HCA = re.compile(r"[A-Za-z0-9_]{1,32}")
_PCI = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_MAC = re.compile(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}")
_DEFAULTS = {4: "0.0.0.0/0", 6: "::/0"}
# A rail as addresses see it: rail and plane of the leaf, and IP version.
_Rail = tuple[int | None, int | None, int]


@dataclass(frozen=True, slots=True)
class Route:
    """`table` None is the main table: never a default route."""

    to: str
    via: str
    table: int | None


@dataclass(frozen=True, slots=True)
class Rule:
    """Traffic from this address looks its routes up in this table."""

    source: str
    table: int


@dataclass(frozen=True, slots=True)
class NicFiles:
    """One rail NIC as the templates see it. `device` is the interface's name, `unit` the same as systemd spells it."""

    name: str
    device: str
    unit: str
    hca: str | None
    pci: str | None
    mac: str | None
    mtu: int
    addresses: tuple[str, ...]
    routes: tuple[Route, ...]
    rules: tuple[Rule, ...]
    needs_name: bool
    ipv6: bool


def render_hosts(plan: Plan, host: str, templates_folder: Path | None = None) -> HostFiles:
    """Files of one host by path below its root; none for a place that has no host yet.

    RenderError when a file would touch the default route, the management network or a NIC that is not a rail's.
    """
    return HostRenderer(plan, templates(templates_folder)).files(host)


class HostRenderer:
    """Renders the hosts of one Plan. What is the same on alike hosts is rendered and checked once."""

    def __init__(self, plan: Plan, files: Templates) -> None:
        self.plan = plan
        self.templates = files
        self.classes = files.host_classes
        self._alike: dict[tuple[object, ...], Mapping[str, str]] = {}
        self._prefixes = rail_prefixes(plan)
        self._own_templates = files.changed("host/*.j2")
        self._kept_away = (ip_network(plan.services.mgmt_network),)

    def files(self, name: str) -> HostFiles:
        """All files of host `name`; see `render_hosts`."""
        own, shared = self.parts(name)
        return HostFiles(name, dict(sorted({**own, **shared}.items())))

    def parts(self, name: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Files that are the host's own, and files that it shares with all alike hosts (the same object for each)."""
        host = self.plan.hosts.get(name)
        if host is None:
            raise RenderError(f"{name}: no such host in plan {self.plan.name}")
        if host.state is LifeState.PLANNED:
            return {}, {}
        policy = {**self.classes["default"], **self.classes["classes"].get(host.host_class, {})}
        nics = self._nics(host, policy)
        if not nics:
            return {}, {}
        alike = (host.host_class, tuple((nic.device, nic.hca, nic.pci, nic.mtu) for nic in nics))
        own = dict(self._network(host, policy, nics))
        bounds = Bounds(frozenset(nic.device for nic in nics), frozenset(policy["management"]), self._kept_away)
        if alike not in self._alike:
            self._alike[alike] = dict(self._shared(host, policy, nics))
            guard(name, bounds, {**own, **self._alike[alike]})
        elif self._own_templates:
            guard(name, bounds, own)  # railfab's own are the same for all; another's may tell hosts apart
        return own, self._alike[alike]

    def _nics(self, host: HostPlan, policy: Mapping[str, Any]) -> tuple[NicFiles, ...]:
        rails = [nic for nic in host.nics.values() if nic.network is Network.COMPUTE and nic.addresses]
        rails.sort(key=lambda nic: natural(nic.name))
        served: set[_Rail] = set()
        nics = tuple(self._nic(host, nic, policy, place, served) for place, nic in enumerate(rails))
        devices = [nic.device for nic in nics]
        twice = {device for device in devices if devices.count(device) > 1}
        if twice:
            raise RenderError(
                f"{host.name}: {', '.join(sorted(twice))} is named for two NICs; correct `netdev` of the class"
            )
        return nics

    def _nic(
        self, host: HostPlan, nic: PlannedNic, policy: Mapping[str, Any], place: int, served: set[_Rail]
    ) -> NicFiles:
        device = nic.netdev or nic.name
        what = f"{host.name}: {nic.name}"
        for value, form, kind in (
            (device, _DEVICE, "interface name"),
            (nic.hca, _HCA, "HCA name"),
            (nic.pci, _PCI, "PCI address"),
            (nic.mac, _MAC, "MAC"),
        ):
            if value is not None and not form.fullmatch(value):
                raise RenderError(f"{what}: {value!r} is no {kind}; correct it in the host class")
        if device in policy["management"]:
            raise RenderError(
                f"{what}: {device} is a management interface (templates/host/classes.yaml); host files never touch one"
            )
        if nic.mtu > self.plan.qos.mtu:
            raise RenderError(f"{what}: MTU {nic.mtu} is above the switches' {self.plan.qos.mtu}")
        table = policy["table_base"] + place
        if table in RESERVED_TABLES:
            raise RenderError(f"{what}: routing table {table} is the kernel's own; choose another table_base")
        routes, rules = self._ways(nic, table, served, policy["rail_routes"])
        return NicFiles(
            name=nic.name,
            device=device,
            unit=device.replace("-", "\\x2d"),
            hca=nic.hca,
            pci=nic.pci,
            mac=nic.mac,
            mtu=nic.mtu,
            addresses=nic.addresses,
            routes=routes,
            rules=rules,
            ipv6=any(":" in address for address in nic.addresses),
            needs_name=nic.netdev is None and (nic.mac is not None or nic.pci is not None),
        )

    def _ways(
        self, nic: PlannedNic, table: int, served: set[_Rail], most: int
    ) -> tuple[tuple[Route, ...], tuple[Rule, ...]]:
        """Everything from the NIC's address leaves by the NIC; what is for its rail does so in the main table too.

        Where several NICs of the host share a rail's prefixes (leaves without rails), the first has those routes. Of a
        rail with more prefixes than `most` none are written: RDMA binds its address and needs the NIC's own table only.
        """
        leaf = self.plan.switches[nic.switch]
        main: list[Route] = []
        own: list[Route] = []
        rules: list[Rule] = []
        for address, gateway in zip(nic.addresses, nic.gateways, strict=True):
            version, via = version_of(address), bare(gateway)
            rail = (leaf.rail, leaf.plane, version)
            if rail not in served:
                served.add(rail)
                prefixes = self._prefixes.get(rail, ())
                subnet = "" if address.endswith(("/31", "/127")) else str(ip_network(address, strict=False))
                if len(prefixes) <= most:
                    main += [Route(prefix, via, None) for prefix in prefixes if prefix != subnet]
            own.append(Route(_DEFAULTS[version], via, table))
            rules.append(Rule(with_prefix(bare(address)), table))
        return (*main, *own), tuple(rules)

    def _network(
        self, host: HostPlan, policy: Mapping[str, Any], nics: tuple[NicFiles, ...]
    ) -> Iterator[tuple[str, str]]:
        if policy["network"] == "netplan":
            yield "etc/netplan/60-railfab.yaml", self.templates.text("host/netplan.yaml.j2", host=host.name, nics=nics)
        for nic in nics:
            if policy["network"] == "networkd":
                text = self.templates.text(
                    "host/networkd.network.j2", host=host.name, nic=nic, emit_lldp=policy["lldp"] == "networkd"
                )
                yield f"etc/systemd/network/60-railfab-{nic.name}.network", text
            if nic.needs_name:
                text = self.templates.text("host/networkd.link.j2", nic=nic)
                yield f"etc/systemd/network/10-railfab-{nic.name}.link", text

    def _shared(
        self, host: HostPlan, policy: Mapping[str, Any], nics: tuple[NicFiles, ...]
    ) -> Iterator[tuple[str, str]]:
        qos = self.plan.qos
        vendor = _vendor(host, policy, nics)
        names: dict[str, Any] = {
            "nics": nics,
            "hcas": [nic.hca for nic in nics if nic.hca],
            "lossless": qos.lossless,
            "roce_dscp": qos.roce_dscp,
            "cnp_dscp": qos.cnp_dscp,
            "priority": qos.lossless_tc,
            "cnp_priority": qos.cnp_tc,
            "pfc": ",".join("1" if qos.lossless and tc == qos.lossless_tc else "0" for tc in range(8)),
            # The two low bits of the ToS byte: ECN-capable, so that switches mark and do not drop.
            "tos": qos.roce_dscp * 4 + 2,
            **{key: policy[key] for key in ("qps", "timeout", "gid_index")},
        }
        yield "etc/sysctl.d/60-railfab.conf", self.templates.text("host/sysctl.conf.j2", **names)
        unit = f"host/{vendor}/railfab-roce.service.j2"
        yield "etc/systemd/system/railfab-roce.service", self.templates.text(unit, **names)
        if vendor == "nvidia":
            script = self.templates.text("host/nvidia/railfab-nic-firmware.j2", **names)
            yield "usr/local/sbin/railfab-nic-firmware", script
        if policy["lldp"] == "lldpd":
            yield "etc/lldpd.d/railfab.conf", self.templates.text("host/lldpd.conf.j2", **names)
        yield "etc/nccl.conf", self.templates.text("host/nccl.conf.j2", **names)


def rail_prefixes(plan: Plan) -> dict[_Rail, tuple[str, ...]]:
    """Rail -> host prefixes of all its leaves, as they are announced.

    RenderError for one that would take the place of a host's default route, or of its way to management.
    """
    management = ip_network(plan.services.mgmt_network)
    found: dict[_Rail, list[Any]] = {}
    for switch in plan.switches.values():
        if switch.network is not Network.COMPUTE or switch.role is not Role.LEAF:
            continue
        own = {with_prefix(address) for address in switch.loopbacks}
        for prefix in switch.networks:
            if with_prefix(prefix) not in own:
                to = ip_network(prefix)
                found.setdefault((switch.rail, switch.plane, to.version), []).append(to)
    for to in (to for networks in found.values() for to in networks):
        if to.prefixlen == 0 or (to.version == management.version and to.overlaps(management)):
            raise RenderError(
                f"a host route to {to} would take the place of the default route or of management ({management}); "
                "correct the host pools of the intent"
            )
    return {rail: tuple(map(str, sorted(networks))) for rail, networks in found.items()}


@functools.cache
def _vendor_of(hca: str) -> str | None:
    return "nvidia" if hca.startswith("mlx") else "broadcom" if hca.startswith("bnxt") else None


def _vendor(host: HostPlan, policy: Mapping[str, Any], nics: tuple[NicFiles, ...]) -> str:
    """nvidia or broadcom. Broadcom's tool needs the HCA's name."""
    chosen = str(policy["nic"])
    if chosen == "auto":
        found = {_vendor_of(nic.hca) for nic in nics if nic.hca} or {"nvidia"}
        vendor = found.pop()
        if found or vendor is None:
            raise RenderError(
                f"{host.name}: cannot tell the maker of its NICs from their HCA names; set `nic` of class "
                f"{host.host_class} in templates/host/classes.yaml"
            )
        chosen = vendor
    if chosen == "broadcom" and any(nic.hca is None for nic in nics):
        raise RenderError(f"{host.name}: Broadcom's set-up tool needs HCA names; give `hca` in class {host.host_class}")
    return chosen
