"""The Snapshot: what was seen, when, from where, and what is missing.

A part that was not collected is None and has a `Hole` saying why; an empty mapping means "asked, and there is
none". Raw answers are kept beside (compressed) by `collect`; these are the typed ones. Times are seconds since
1970, UTC, unless a name says otherwise. Counters are raw and cumulative; rates are made from two snapshots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric.values.device_config import Tables


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of a device's data that is missing, and why. `part` is a field name of SwitchState or HostState."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class PortState:
    """A port as APPL_DB/STATE_DB have it. None where the switch did not say.

    `flap_count` counts ups and downs since swss start (SONiC 202311+). `speed_mbps` is configured speed.
    """

    name: str
    oper_up: bool | None = None
    admin_up: bool | None = None
    speed_mbps: int | None = None
    oper_speed_mbps: int | None = None
    mtu: int | None = None
    fec: str | None = None
    oper_fec: str | None = None
    lanes: tuple[int, ...] = ()
    alias: str | None = None
    index: int | None = None
    description: str | None = None
    autoneg: str | None = None
    flap_count: int | None = None
    last_up_time: float | None = None
    last_down_time: float | None = None
    mac: str | None = None


@dataclass(frozen=True, slots=True)
class LldpNeighbour:
    """One neighbour on one local port, as sent. Subtypes are the words of IEEE 802.1AB (mac, ifname, local, ...)."""

    local_port: str
    system_name: str = ""
    chassis_id: str = ""
    chassis_subtype: str = ""
    port_id: str = ""
    port_subtype: str = ""
    port_description: str = ""
    system_description: str = ""
    management_addresses: tuple[str, ...] = ()
    age_s: float | None = None


@dataclass(frozen=True, slots=True)
class BgpPeer:
    """One eBGP session. `peer` is an address, or a port name when unnumbered. `state` is FRR's word."""

    peer: str
    state: str
    remote_asn: int | None = None
    local_asn: int | None = None
    prefixes_received: int | None = None
    prefixes_sent: int | None = None
    uptime_s: float | None = None
    established: int | None = None
    dropped: int | None = None
    description: str = ""
    last_reset: str = ""
    policy_blocked: bool = False
    admin_down: bool = False
    bfd_state: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class NextHop:
    """A next hop: address (empty for connected) and outgoing port. `weight` is FRR's or SAI's."""

    address: str
    port: str
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Route:
    """One selected route of FRR's RIB. `next_hops` are the active ones that FRR marked for the FIB."""

    prefix: str
    protocol: str
    next_hops: tuple[NextHop, ...]
    inactive: tuple[NextHop, ...] = ()
    installed: bool | None = None
    offloaded: bool | None = None
    failed: bool = False
    queued: bool = False
    blackhole: bool = False


@dataclass(frozen=True, slots=True)
class FibRoute:
    """A route in the kernel, APPL_DB or ASIC_DB. `unresolved` lists objects of the chain that lead nowhere."""

    prefix: str
    next_hops: tuple[NextHop, ...]
    protocol: str = ""
    blackhole: bool = False
    local: bool = False
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An ARP/ND entry. `state` is the kernel's word (REACHABLE, STALE, FAILED, PERMANENT, ...)."""

    address: str
    port: str
    mac: str
    state: str


@dataclass(frozen=True, slots=True)
class Optic:
    """A transceiver: identity, sensors and the module's own thresholds, as numbers where they are numbers.

    `sensors` and `thresholds` keep SONiC's field names (rx1power dBm, temperature C, voltage V, tx1bias mA);
    `flags` are latched flags that are set.
    """

    port: str
    present: bool | None = None
    kind: str = ""
    vendor: str = ""
    model: str = ""
    serial: str = ""
    cable_m: float | None = None
    sensors: Mapping[str, float] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    state: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class SwitchState:
    """Everything one round trip to a switch gave.

    counters: port -> COUNTERS_DB field (without `SAI_PORT_STAT_`) -> value; rates: port -> RATES field -> value
    (FEC_PRE_BER, RX_BPS bytes/s, ...); queues / pgs: `Ethernet0:3` -> field (without the SAI prefix) -> value,
    watchdog fields (PFC_WD_*) included in queues, as text where they are text. `rib`, `kernel`, `appl`, `asic`:
    prefix -> route. `switch`: APPL_DB SWITCH_TABLE:switch (hash seeds). `config`: running CONFIG_DB.
    `errors_by_port`: STATE_DB PORT_OPERR_TABLE. `crm`: COUNTERS_DB CRM:STATS without `crm_stats_`: use of the ASIC's
    tables (`nexthop_group_used`, `nexthop_group_available`, ...), as old as CRM's polling interval.
    """

    device: str
    taken_at: float
    duration_s: float = 0.0
    source: str = ""
    holes: tuple[Hole, ...] = ()
    hostname: str | None = None
    release: str | None = None
    onie_platform: str | None = None
    hwsku: str | None = None
    serial: str | None = None
    base_mac: str | None = None
    chassis_id: str | None = None
    uptime_s: float | None = None
    reboot_cause: str | None = None
    swss_uptime_s: float | None = None
    clock: float | None = None
    config: Tables | None = None
    frr: str | None = None
    ports: Mapping[str, PortState] | None = None
    lldp: tuple[LldpNeighbour, ...] | None = None
    bgp: Mapping[str, BgpPeer] | None = None
    rib: Mapping[str, Route] | None = None
    kernel: Mapping[str, FibRoute] | None = None
    appl: Mapping[str, FibRoute] | None = None
    asic: Mapping[str, FibRoute] | None = None
    neighbours: tuple[Neighbour, ...] | None = None
    fdb: Mapping[str, str] | None = None
    optics: Mapping[str, Optic] | None = None
    counters: Mapping[str, Mapping[str, int]] | None = None
    rates: Mapping[str, Mapping[str, float]] | None = None
    queues: Mapping[str, Mapping[str, int | str]] | None = None
    pgs: Mapping[str, Mapping[str, int | str]] | None = None
    watermarks: Mapping[str, Mapping[str, int]] | None = None
    errors_by_port: Mapping[str, Mapping[str, str]] | None = None
    switch: Mapping[str, str] | None = None
    bgp_local_asn: int | None = None
    notes: tuple[str, ...] = ()
    crm: Mapping[str, int] | None = None

    def hole(self, part: str) -> str | None:
        """Why `part` is missing, or None when it is there."""
        for hole in self.holes:
            if hole.part == part:
                return hole.reason
        return "not collected" if getattr(self, part, None) is None else None


@dataclass(frozen=True, slots=True)
class NicState:
    """One NIC of a host as the host sees it."""

    netdev: str
    nic: str | None = None
    mac: str | None = None
    pci: str | None = None
    hca: str | None = None
    oper_up: bool | None = None
    speed_mbps: int | None = None
    mtu: int | None = None
    addresses: tuple[str, ...] = ()
    carrier_down_count: int | None = None
    gids: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostState:
    """What a host said, over SSH or in a file a node agent dropped."""

    host: str
    taken_at: float
    source: str = ""
    holes: tuple[Hole, ...] = ()
    nics: Mapping[str, NicState] | None = None
    lldp: tuple[LldpNeighbour, ...] | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The fabric as seen between `started_at` and `ended_at`. `now` for checks is `ended_at`.

    `missing` maps a device of the Plan to the reason we have nothing from it.
    """

    fabric: str
    started_at: float
    ended_at: float
    switches: Mapping[str, SwitchState] = field(default_factory=dict)
    hosts: Mapping[str, HostState] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    schema: str = "railfab.snapshot/1"
