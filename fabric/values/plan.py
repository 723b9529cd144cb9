"""The Plan: the one frozen answer to what every port, session, queue and NIC must be.

`render` writes it as configuration and `checks` judge live state against it, so what we push is what we check.
Units: speeds in Mb/s, lengths in metres, buffer figures in bytes, times as their names say.
Addresses are text with prefix length (`10.254.0.0/31`) unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class LifeState(StrEnum):
    """Where an object stands in its life. `planned` is not "missing"; `out-of-service` is "known down"."""

    PLANNED = "planned"
    INSTALLED = "installed"
    IN_SERVICE = "in-service"
    OUT_OF_SERVICE = "out-of-service"


class Role(StrEnum):
    """Tier of a switch."""

    LEAF = "leaf"
    SPINE = "spine"
    SUPERSPINE = "superspine"
    STORAGE = "storage"


class Network(StrEnum):
    """Which of the fabrics of a site a device belongs to. They share no switch."""

    COMPUTE = "compute"
    STORAGE = "storage"


class PortUse(StrEnum):
    """What a port is for. `service` ports (10/25G) and `unused` ones carry no fabric cable."""

    HOST = "host"
    FABRIC = "fabric"
    SERVICE = "service"
    UNUSED = "unused"


@dataclass(frozen=True, slots=True)
class Outage:
    """Why something is out of service, who said so, and until when (ISO date, or None for open end)."""

    reason: str
    owner: str = ""
    until: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedPort:
    """One logical port of a switch (a whole cage, or one child of a breakout).

    `addresses` are ours and `peer_addresses` the far end's, same order. `peer_asn` is set where an eBGP session
    runs over this port. `cable_m` is the planned length; `cable_row_m` the CABLE_LENGTH row used for it (the
    smallest lookup row not shorter), None where the platform has no such row or the port is not lossless.
    `peer_port` is a switch port name or a NIC name (`rail0`). `lossless` says whether PFC rows are rendered.
    """

    name: str
    alias: str
    index: int
    subport: int
    lanes: tuple[int, ...]
    speed_mbps: int
    fec: str
    mtu: int
    use: PortUse
    admin_up: bool
    state: LifeState
    parent: str
    lossless: bool = False
    cable_m: int = 0
    cable_row_m: int | None = None
    peer_device: str | None = None
    peer_port: str | None = None
    peer_alias: str | None = None
    rail: int | None = None
    plane: int | None = None
    parallel: int | None = None
    addresses: tuple[str, ...] = ()
    peer_addresses: tuple[str, ...] = ()
    peer_asn: int | None = None
    cable: str | None = None
    outage: Outage | None = None


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """One switch: identity, place, ports, and what it announces.

    `networks` are the prefixes it originates in BGP (loopbacks and host aggregates); `aggregates` the subset held
    up by a blackhole route. `breakouts` maps a cage's first port to the breakout mode string of platform.json.
    `device_type` is DEVICE_METADATA type (it chooses SONiC's hash seed). `serial` and `base_mac` come from the
    ledger once learned on purpose. `vlans` maps a VLAN of the host ports to our gateway addresses in it (empty when
    host links are routed). `segment` counts the groups of leaves inside a pod from 0.
    """

    name: str
    role: Role
    network: Network
    index: int
    platform: str
    onie_platform: str
    hwsku: str
    device_type: str
    asn: int
    loopbacks: tuple[str, ...]
    mgmt_address: str
    mgmt_gateway: str | None
    ports: Mapping[str, PlannedPort]
    breakouts: Mapping[str, str] = field(default_factory=dict)
    networks: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    state: LifeState = LifeState.IN_SERVICE
    outage: Outage | None = None
    pod: int | None = None
    rail: int | None = None
    plane: int | None = None
    rack: str | None = None
    unit: int | None = None
    serial: str | None = None
    base_mac: str | None = None
    vlans: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    segment: int | None = None

    def sessions(self) -> Iterator[PlannedPort]:
        """Ports that carry an eBGP session, in port order."""
        return (port for port in self.ports.values() if port.peer_asn is not None)


@dataclass(frozen=True, slots=True)
class PlannedNic:
    """One NIC of a host. `name` is `rail0`...; `hca` (mlx5_0) and `netdev` are attributes of it."""

    name: str
    network: Network
    rail: int | None
    hca: str | None
    netdev: str | None
    pci: str | None
    speed_mbps: int
    mtu: int
    switch: str
    switch_port: str
    addresses: tuple[str, ...]
    gateways: tuple[str, ...]
    state: LifeState = LifeState.IN_SERVICE
    mac: str | None = None
    cable: str | None = None


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One host. `place` counts from 0 inside its pod. Reserve places have state planned and no cable yet."""

    name: str
    pod: int
    place: int
    host_class: str
    nics: Mapping[str, PlannedNic]
    state: LifeState = LifeState.IN_SERVICE
    outage: Outage | None = None
    mgmt_address: str | None = None
    rack: str | None = None
    unit: int | None = None
    reserve: bool = False


@dataclass(frozen=True, slots=True)
class PlannedCable:
    """One cable. `name` is `"DEV:PORT--DEV:PORT"` with sorted ends; `kind` is host or fabric."""

    name: str
    a_device: str
    a_port: str
    b_device: str
    b_port: str
    kind: PortUse
    network: Network
    speed_mbps: int
    length_m: int
    state: LifeState
    rail: int | None = None
    pod: int | None = None
    plane: int | None = None
    parallel: int | None = None
    medium: str | None = None


def cable_name(device_a: str, port_a: str, device_b: str, port_b: str) -> str:
    """The contract's name of a cable: ends sorted by (device, port)."""
    low, high = sorted(((device_a, port_a), (device_b, port_b)))
    return f"{low[0]}:{low[1]}--{high[0]}:{high[1]}"


@dataclass(frozen=True, slots=True)
class EcnProfile:
    """A named WRED/ECN profile: thresholds in bytes, probability in per cent."""

    name: str
    min_bytes: int
    max_bytes: int
    probability: int


@dataclass(frozen=True, slots=True)
class QosPlan:
    """RoCE settings of the fabric, the same for every port and NIC.

    One lossless class: `roce_dscp` -> traffic class / queue / priority group / PFC priority `lossless_tc`;
    CNP `cnp_dscp` -> strict queue `cnp_tc`. Watchdog times in ms. `mtu` is the switch MTU, `host_mtu` the NIC's.
    """

    profile: str
    lossless: bool
    roce_dscp: int
    lossless_tc: int
    cnp_dscp: int
    cnp_tc: int
    ecn: EcnProfile
    dynamic_th: int
    mtu: int
    host_mtu: int
    watchdog_detection_ms: int
    watchdog_restoration_ms: int
    watchdog_poll_ms: int
    watchdog_action: str


@dataclass(frozen=True, slots=True)
class HeadroomRow:
    """One row of pg_profile_lookup.ini, in bytes; `threshold` is the dynamic_th."""

    speed_mbps: int
    cable_m: int
    size: int
    xon: int
    xoff: int
    threshold: int
    xon_offset: int | None = None


@dataclass(frozen=True, slots=True)
class BufferProfile:
    """A BUFFER_PROFILE row: pool name, size in bytes, and either a dynamic or a static threshold."""

    pool: str
    size: int
    dynamic_th: int | None = None
    static_th: int | None = None


@dataclass(frozen=True, slots=True)
class BufferPool:
    """A BUFFER_POOL row, bytes. `xoff` is the shared headroom pool (ingress lossless only)."""

    kind: str
    mode: str
    size: int
    xoff: int | None = None


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """Buffer figures of one platform. `source` says where they come from, `borrowed_from` whose they really are.

    `model` is SONiC's buffer_model (traditional | dynamic). In the traditional model SONiC's buffer manager makes
    the lossless priority groups from CABLE_LENGTH and the rows; they are never drift.
    """

    platform: str
    model: str
    pools: Mapping[str, BufferPool]
    profiles: Mapping[str, BufferProfile]
    rows: tuple[HeadroomRow, ...]
    source: str
    borrowed_from: str | None = None
    ingress_profile_list: tuple[str, ...] = ()
    egress_profile_list: tuple[str, ...] = ()
    asic: str = ""
    cell_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class RoutingPlan:
    """How switches route. `mode` is frr (our text, split-unified) | bgpcfgd | frr-mgmt. Times in seconds."""

    mode: str = "frr"
    keepalive_s: int = 3
    hold_s: int = 9
    connect_s: int = 10
    maximum_paths: int = 64
    unnumbered: bool = False
    bfd: bool = False
    weighted_ecmp: bool = False
    prefix_limit: int | None = None
    ipv4: bool = True
    ipv6: bool = False


@dataclass(frozen=True, slots=True)
class Services:
    """Management-plane servers every switch uses."""

    ntp: tuple[str, ...] = ()
    syslog: tuple[str, ...] = ()
    dns: tuple[str, ...] = ()
    mgmt_network: str = "172.31.0.0/16"
    mgmt_vrf: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything the fabric must be. `intent_hash` is sha256 of the composed intent; `notes` must be shown to
    whoever reads an output (borrowed buffer figures, design warnings)."""

    name: str
    intent_hash: str
    release: str
    switches: Mapping[str, SwitchPlan]
    hosts: Mapping[str, HostPlan]
    cables: Mapping[str, PlannedCable]
    qos: QosPlan
    buffers: Mapping[str, BufferPlan]
    routing: RoutingPlan = field(default_factory=RoutingPlan)
    services: Services = field(default_factory=Services)
    notes: tuple[str, ...] = ()
    schema: str = "railfab.plan/1"

    def port(self, device: str, port: str) -> PlannedPort | None:
        """The planned port, or None when the switch or the port is not in the Plan."""
        switch = self.switches.get(device)
        return switch.ports.get(port) if switch else None
