"""The shape of an intent: what an engineer writes about a fabric, and nothing that can be computed.

Every class is a mapping of the YAML file; unknown keys and wrong types are errors. `railfab schema` exports these
as JSON Schema. Speeds are Mb/s here and `400G` in the file; lengths are metres.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fabric.intent.kinds import (
    Address,
    Asn,
    ClassName,
    Day,
    Hca,
    Metres,
    Name,
    Names,
    Netdev,
    NodePattern,
    Nodes,
    PciAddress,
    PlatformKey,
    Prefix4,
    Prefix6,
    Server,
    Speed,
    Text,
)

State = Literal["planned", "installed", "in-service", "out-of-service"]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class StorageNics(_Shape):
    """NICs of a host on the storage network: NIC i goes to storage switch i modulo their number."""

    nics: int = Field(default=2, ge=1, le=16)
    speed: Speed
    hca: list[Hca] = []
    netdev: list[Netdev] = []
    pci: list[PciAddress] = []


class HostClass(_Shape):
    """A kind of host: how many rail NICs, how fast, and which device is which rail.

    `rails` lists the rail of each NIC in PCI order (default 0, 1, 2, ...). With planes, `speed` is the whole NIC's
    and each of its ports has speed / planes. `hca`, `netdev` and `pci` name the NICs in the same order, one a NIC
    or, with planes, one a port.
    """

    nics: int = Field(ge=1, le=16)
    speed: Speed
    rails: list[int] | None = None
    hca: list[Hca] = []
    netdev: list[Netdev] = []
    pci: list[PciAddress] = []
    mtu: int | None = Field(default=None, ge=1280, le=9216)
    storage: StorageNics | None = None


class LeafTier(_Shape):
    """The switches hosts are cabled to. `hosts` says which end of the box carries them."""

    platform: PlatformKey
    hosts: Literal["first", "last"] = "first"
    host_length_m: Metres = 5
    device_type: Name | None = None


class SpineTier(_Shape):
    """The tier above the leaves. `count` is a fabric's (two tiers) or a pod's (three tiers), per plane and, in a
    rail-only fabric, per rail. `links` is the number of parallel cables of each leaf-spine pair."""

    platform: PlatformKey
    count: int = Field(ge=0, le=1024)
    links: int = Field(default=1, ge=1, le=64)
    speed: Speed
    length_m: Metres = 40
    device_type: Name | None = None


class SuperspineTier(_Shape):
    """The third tier. Super-spines stand in `groups`; spine i of each pod is cabled to group i modulo `groups`.

    Give either `links` (parallel cables of each pair) or `uplinks` (cables of each spine, dealt out evenly).
    """

    platform: PlatformKey
    count: int = Field(ge=1, le=4096)
    groups: int = Field(default=1, ge=1, le=1024)
    links: int | None = Field(default=None, ge=1, le=64)
    uplinks: int | None = Field(default=None, ge=1, le=512)
    speed: Speed
    length_m: Metres = 100
    device_type: Name | None = None

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.links is None) == (self.uplinks is None):
            raise ValueError("give links or uplinks, one of them")
        if self.count % self.groups:
            raise ValueError(f"count {self.count} is no multiple of groups {self.groups}; groups must be equal")
        return self


class HostBlock(_Shape):
    """Some hosts of a pod that are alike. `reserve` hosts are planned places with pre-provisioned ports."""

    nodes: Nodes
    host_class: ClassName = Field(alias="class")
    reserve: bool = False
    segment: int | None = Field(default=None, ge=0)


class Pod(_Shape):
    """A pod, or `count` pods alike. `pod` is its number (default: the next). A pod has `segments` groups of
    leaves with `places` host places each. `nodes` and `reserve` are short for two entries of `hosts`."""

    pod: int | None = Field(default=None, ge=1, le=9999)
    count: int = Field(default=1, ge=1, le=1024)
    segments: int = Field(default=1, ge=1, le=128)
    places: int | None = Field(default=None, ge=1, le=512)
    nodes: Nodes | None = None
    reserve: Nodes | None = None
    host_class: ClassName | None = Field(default=None, alias="class")
    hosts: list[HostBlock] = []
    state: State = "in-service"


class Compute(_Shape):
    """The GPU network."""

    attachment: Literal["rail-optimized", "rail-only", "tor"] = "rail-optimized"
    rails: int = Field(default=8, ge=1, le=16)
    planes: int = Field(default=1, ge=1, le=16)
    tor_leaves: int = Field(default=1, ge=1, le=8, description="leaves of a segment when attachment is tor")
    places: int = Field(default=64, ge=1, le=512, description="host places of a segment")
    node_name: NodePattern = "gpu{n:03d}"
    leaf: LeafTier
    spine: SpineTier | None = None
    superspine: SuperspineTier | None = None
    pods: list[Pod] = Field(min_length=1)


class StorageServers(_Shape):
    """Storage servers: each has `ports` NICs, NIC i on storage switch i modulo their number."""

    nodes: Names
    ports: int = Field(ge=1, le=16)
    speed: Speed


class Storage(_Shape):
    """The storage network: `switches` boxes that share nothing, each a plane of its own."""

    platform: PlatformKey
    switches: int = Field(default=2, ge=1, le=8)
    name: Name = "st"
    asn: Asn = 4200009000
    lossless: bool = False
    servers: list[StorageServers] = []
    length_m: Metres = 20
    device_type: Name | None = None
    loopbacks: Prefix4 = "10.255.255.0/28"
    node_pools: list[Prefix4] = []
    server_pools: list[Prefix4] = []


class HostPools(_Shape):
    """Pools of host prefixes. A leaf gets a `block` out of every `leaf`-sized step, a pod whole `pod`-sized steps.

    Only `pools` is needed: the block then holds all places of a leaf, steps are blocks.
    """

    pools: list[Prefix4] = Field(min_length=1)
    block: int | None = Field(default=None, ge=8, le=31)
    leaf: int | None = Field(default=None, ge=8, le=31)
    pod: int | None = Field(default=None, ge=8, le=31)


class Addressing(_Shape):
    """Address pools. Append a further pool when one is full; never change one that is in use."""

    family: Literal["ipv4", "ipv6", "dual"] = "ipv4"
    fabric_links: Literal["numbered", "unnumbered"] = "numbered"
    host_links: Literal["routed", "vlan"] = "routed"
    vlan: int = Field(default=100, ge=2, le=4094, description="VLAN of the host ports of a leaf")
    loopbacks: list[Prefix4] = ["10.32.0.0/16"]
    fabric: list[Prefix4] = ["10.16.0.0/12"]
    hosts: HostPools = HostPools(pools=["10.0.0.0/12"])
    loopbacks6: Prefix6 = "fd00:0:0:32::/64"
    fabric6: Prefix6 = "fd00:0:0:16::/64"
    hosts6: Prefix6 = "fd00:1::/40"
    reserved: list[Prefix4 | Prefix6] = []


class Management(_Shape):
    """The out-of-band network. Switches and hosts take addresses from their own ranges of it."""

    network: Prefix4 = "172.31.0.0/16"
    switches: Prefix4 | None = None
    hosts: Prefix4 | None = None
    gateway: Address | None = None
    vrf: bool = False


class Routing(_Shape):
    """How switches route; seconds."""

    mode: Literal["frr", "bgpcfgd", "frr-mgmt"] = "frr"
    keepalive_s: int = Field(default=3, ge=1, le=60)
    hold_s: int = Field(default=9, ge=3, le=180)
    connect_s: int = Field(default=10, ge=1, le=120)
    maximum_paths: int = Field(default=64, ge=1, le=512)
    bfd: bool = False
    weighted_ecmp: bool = False
    prefix_limit: int | None = Field(default=None, ge=1)
    spine_asn: Asn = 4200000000
    leaf_asn: Asn = Field(default=4200000000, description="leaf = this + 100 * pod + 10 + leaf")
    superspine_asn: Asn = 4210000000

    @model_validator(mode="after")
    def _timers(self) -> Self:
        if self.hold_s < 3 * self.keepalive_s:
            raise ValueError(f"hold_s {self.hold_s} is less than three times keepalive_s {self.keepalive_s}")
        return self


class Qos(_Shape):
    """RoCE settings. `profile` gives the ECN thresholds; the rest overrides single figures."""

    profile: Literal["sakura", "sonic", "vendor-low"] = "sakura"
    lossless: bool = True
    mtu: int = Field(default=9100, ge=1280, le=9216)
    host_mtu: int | None = Field(default=None, ge=1280, le=9216)
    roce_dscp: int = Field(default=26, ge=0, le=63)
    lossless_tc: int = Field(default=3, ge=0, le=7)
    cnp_dscp: int = Field(default=48, ge=0, le=63)
    cnp_tc: int = Field(default=6, ge=0, le=7)
    ecn_min_bytes: int | None = Field(default=None, ge=1)
    ecn_max_bytes: int | None = Field(default=None, ge=1)
    ecn_probability: int | None = Field(default=None, ge=0, le=100)
    dynamic_th: int = Field(default=1, ge=-8, le=7)
    watchdog_detection_ms: int = Field(default=400, ge=100, le=5000)
    watchdog_restoration_ms: int = Field(default=400, ge=100, le=60000)
    watchdog_poll_ms: int = Field(default=400, ge=100, le=1000)
    watchdog_action: Literal["drop", "forward", "alert"] = "drop"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.host_mtu is not None and self.host_mtu > self.mtu:
            raise ValueError(f"host_mtu {self.host_mtu} is larger than mtu {self.mtu}")
        if self.roce_dscp == self.cnp_dscp or self.lossless_tc == self.cnp_tc:
            raise ValueError("RoCE data and CNP need different DSCP values and different traffic classes")
        if min(self.watchdog_detection_ms, self.watchdog_restoration_ms) < self.watchdog_poll_ms:
            raise ValueError("watchdog_poll_ms must not be longer than detection and restoration")
        return self


class ServicesShape(_Shape):
    """Servers every switch uses."""

    ntp: list[Server] = []
    syslog: list[Server] = []
    dns: list[Address] = []


class Override(_Shape):
    """What differs for one device. Only what is given is changed."""

    asn: Asn | None = None
    mgmt_address: Address | None = None
    loopback: Address | None = None
    platform: PlatformKey | None = None
    device_type: Name | None = None
    rack: Text | None = None
    unit: int | None = Field(default=None, ge=1, le=60)


class Rack(_Shape):
    """A rack: its row and its column in that row, and what stands in it."""

    row: int = Field(ge=0, le=1000)
    column: int = Field(ge=0, le=1000)
    devices: Names = ()


class Racks(_Shape):
    """Where racks stand. With it a cable is as long as its way: columns times `pitch_m`, rows times `row_m`, and
    `slack_m` for both ends' vertical run."""

    pitch_m: float = Field(default=0.6, gt=0, le=10)
    row_m: float = Field(default=3.0, gt=0, le=100)
    slack_m: float = Field(default=4.0, ge=0, le=50)
    places: dict[Text, Rack] = Field(min_length=1)


class StateEntry(_Shape):
    """The life-cycle state of some objects. Give one selector. Out of service needs a reason and an owner."""

    switches: Names | None = None
    nodes: Names | None = None
    pods: list[int] | None = None
    racks: list[str] | None = None
    cables: list[str] | None = None
    ports: list[str] | None = None
    optics: list[str] | None = None
    state: State
    reason: Text | None = None
    owner: Text | None = None
    until: Day | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        selectors = ("switches", "nodes", "pods", "racks", "cables", "ports", "optics")
        if sum(getattr(self, name) is not None for name in selectors) != 1:
            raise ValueError(f"give one of {', '.join(selectors)}")
        if self.state == "out-of-service" and not (self.reason and self.owner):
            raise ValueError("out-of-service needs a reason and an owner")
        if self.state != "out-of-service" and self.until is not None:
            raise ValueError("until belongs to out-of-service only")
        return self


class Intent(_Shape):
    """One site: the compute network, optionally its storage network, and everything all of it shares."""

    name: Name
    release: str = Field(default="202505", pattern=r"^(20\d{4}|master)$", description="SONiC release, quoted")
    compute: Compute
    storage: Storage | None = None
    classes: dict[ClassName, HostClass] = Field(min_length=1)
    addressing: Addressing = Addressing()
    management: Management = Management()
    routing: Routing = Routing()
    qos: Qos = Qos()
    services: ServicesShape = ServicesShape()
    buffers_from: PlatformKey | None = Field(
        default=None,
        description="platform whose measured buffer figures stand in where ours has none; said in every output",
    )
    devices: dict[str, Override] = {}
    racks: Racks | None = None
    states: list[StateEntry] = []
