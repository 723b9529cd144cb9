"""The pools of one intent, ready to turn numbers into addresses."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from fabric.allocate.book import Spans
from fabric.allocate.ledger import Layout
from fabric.allocate.pools import Pool, check_disjoint
from fabric.errors import AllocationError
from fabric.intent.shapes import Addressing, Management
from fabric.model.fabric import Fabric

# Never anybody's pool: RFC 6890, RFC 4291; SONiC's own containers use 240.127.1.0/24.
NEVER: list[tuple[str, list[str] | tuple[str, ...]]] = [
    ("this network", ["0.0.0.0/8"]),
    ("host loopback", ["127.0.0.0/8", "::1/128"]),
    ("link-local", ["169.254.0.0/16", "fe80::/10"]),
    ("multicast", ["224.0.0.0/4", "ff00::/8"]),
    ("class E", ["240.0.0.0/4"]),
]


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers `first` to `end` (exclusive) of the management network."""

    network: ipaddress.IPv4Network
    first: int
    end: int

    def fit(self, taken: Spans, count: int) -> int | None:
        """The first gap of `count` numbers, None when there is none."""
        return taken.fit(count, self.end, self.first)

    def __str__(self) -> str:
        if self.first >= self.end:
            return f"{self.network}, which has none"
        return f"{self.network[self.first]} to {self.network[self.end - 1]}"


@dataclass(frozen=True, slots=True)
class Plots:
    """Pools by use. Lengths: `block_length` of a leaf's hosts, `step_length` of the step between leaves,
    `pod_length` of the step between pods."""

    loopbacks: Pool
    fabric: Pool
    blocks: Pool
    block_length: int
    step_length: int
    pod_length: int
    loopbacks6: Pool
    fabric6: Pool
    blocks6: Pool
    mgmt: Pool
    switch_mgmt: Range
    host_mgmt: Range
    storage_loopbacks: Pool | None
    storage_nodes: tuple[Pool, ...]
    storage_servers: tuple[Pool, ...]
    ipv4: bool
    ipv6: bool

    def prefixes(self) -> dict[str, tuple[str, ...]]:
        """Every pool in use by name, as the ledger remembers it."""
        named: list[tuple[str, Pool]] = [("mgmt", self.mgmt)]
        named.append(("loopbacks", self.loopbacks))  # router ids are IPv4 in every family
        if self.ipv4:
            named += [("fabric", self.fabric), ("hosts", self.blocks)]
        if self.ipv6:
            named += [("loopbacks6", self.loopbacks6), ("fabric6", self.fabric6), ("hosts6", self.blocks6)]
        if self.storage_loopbacks is not None:
            named.append(("storage-loopbacks", self.storage_loopbacks))
        for number, pool in enumerate(self.storage_nodes):
            named.append((f"storage-nodes-{number}", pool))
        for number, pool in enumerate(self.storage_servers):
            named.append((f"storage-servers-{number}", pool))
        return {what: tuple(str(prefix) for prefix in pool.prefixes) for what, pool in named}

    @property
    def blocks_per_pod(self) -> int:
        """Steps between leaves in one step between pods."""
        return 1 << (self.step_length - self.pod_length)

    @property
    def loopback_size(self) -> int:
        """Loopbacks there are in every family in use."""
        return min(self.loopbacks.size, self.loopbacks6.size) if self.ipv6 else self.loopbacks.size

    @property
    def fabric_size(self) -> int:
        """Fabric links there are addresses for."""
        return self._least(self.fabric, self.fabric6)

    @property
    def block_size(self) -> int:
        """Host blocks there are."""
        return self._least(self.blocks, self.blocks6)

    def short(self, what: str) -> str:
        """The pool that runs out first of `what` (loopbacks, fabric, hosts), with its key and size, for messages."""
        four, six = {
            "loopbacks": (self.loopbacks, self.loopbacks6),
            "fabric": (self.fabric, self.fabric6),
            "hosts": (self.blocks, self.blocks6),
        }[what]
        router_ids = what == "loopbacks"  # IPv4 in every family
        listed = [(four, what)] if self.ipv4 or router_ids else []
        listed += [(six, f"{what}6")] if self.ipv6 else []
        pool, name = min(listed, key=lambda entry: entry[0].size)
        prefixes = ", ".join(str(prefix) for prefix in pool.prefixes)
        remedy = "begin with a larger" if name.endswith("6") else "append a further prefix to"
        return f"left in {prefixes} ({pool.size} in all); {remedy} {key_of(name)}"

    def _least(self, four: Pool, six: Pool) -> int:
        return min(pool.size for pool, used in ((four, self.ipv4), (six, self.ipv6)) if used)


def key_of(what: str) -> str:
    """Key path in the intent of a pool as the ledger names it."""
    if what == "mgmt":
        return "management.network"
    if what.startswith("storage-"):
        kind, _, number = what.removeprefix("storage-").partition("-")
        return f"storage.{kind}" if not number else f"storage.{kind.removesuffix('s')}_pools.{number}"
    return "addressing.hosts.pools" if what == "hosts" else f"addressing.{what}"


def plots_of(fabric: Fabric, layout: Layout | None = None) -> Plots:
    """The pools of an intent; sizes of host prefixes are those of the ledger's `layout` once there is one.

    AllocationError for overlaps: between pools, with management, with reserved ranges.
    """
    intent = fabric.intent
    addressing = intent.addressing
    ipv4, ipv6 = addressing.family != "ipv6", addressing.family != "ipv4"
    length, unit, pod_step = _host_steps(fabric, addressing, layout)
    switch_mgmt, host_mgmt = management_ranges(intent.management)
    storage = intent.storage
    plots = Plots(
        loopbacks=Pool.of("addressing.loopbacks", addressing.loopbacks, 32),
        fabric=Pool.of("addressing.fabric", addressing.fabric, 31),
        blocks=Pool.of("addressing.hosts.pools", addressing.hosts.pools, unit),
        block_length=length,
        step_length=unit,
        pod_length=pod_step,
        loopbacks6=Pool.of("addressing.loopbacks6", [addressing.loopbacks6], 128),
        fabric6=Pool.of("addressing.fabric6", [addressing.fabric6], 127),
        blocks6=Pool.of("addressing.hosts6", [addressing.hosts6], 64),
        mgmt=Pool.of("management.network", [intent.management.network], 32),
        switch_mgmt=switch_mgmt,
        host_mgmt=host_mgmt,
        storage_loopbacks=Pool.of("storage.loopbacks", [storage.loopbacks], 32) if storage is not None else None,
        storage_nodes=tuple(Pool.of(f"storage.node_pools.{k}", [pool], 31) for k, pool in enumerate(storage.node_pools))
        if storage is not None
        else (),
        storage_servers=tuple(
            Pool.of(f"storage.server_pools.{k}", [pool], 31) for k, pool in enumerate(storage.server_pools)
        )
        if storage is not None
        else (),
        ipv4=ipv4,
        ipv6=ipv6,
    )
    used: list[tuple[str, list[str] | tuple[str, ...]]] = [
        (key_of(what), prefixes) for what, prefixes in plots.prefixes().items()
    ]
    used.append(("addressing.reserved", list(addressing.reserved)))
    used.extend(NEVER)
    check_disjoint(used)
    return plots


def _host_steps(fabric: Fabric, addressing: Addressing, layout: Layout | None) -> tuple[int, int, int]:
    """Prefix lengths of a leaf's block, of the step between leaves, and of the step between pods."""
    hosts = addressing.hosts
    if layout is not None:
        held = (
            ("block", hosts.block, layout.block),
            ("leaf", hosts.leaf, layout.step),
            ("pod", hosts.pod, layout.pod_step),
        )
        for key, now, before in held:
            if now is not None and now != before:
                raise AllocationError(
                    f"addressing.hosts.{key} was {before} and is {now}: every host address would change; keep {before}"
                )
        return layout.block, layout.step, layout.pod_step
    places = max(pod.places for pod in fabric.pods.values()) * fabric.ports_per_place
    # Routed: two addresses a link. In a VLAN: one a host, the gateway, network and broadcast.
    needed = 2 * places if addressing.host_links == "routed" else places + 3
    fitting = 32 - (needed - 1).bit_length()
    length = hosts.block if hosts.block is not None else fitting
    if length > fitting:
        raise AllocationError(
            f"addressing.hosts.block: a /{length} holds too few addresses for {places} host ports of a leaf; "
            f"write {fitting}"
        )
    unit = hosts.leaf if hosts.leaf is not None else length
    if unit > length:
        raise AllocationError(
            f"addressing.hosts.leaf: step /{unit} is smaller than block /{length}; give a larger step"
        )
    if hosts.pod is None:
        return length, unit, unit
    if hosts.pod > unit:
        raise AllocationError(f"addressing.hosts.pod: step /{hosts.pod} is smaller than a leaf's /{unit}")
    return length, unit, hosts.pod


def management_ranges(management: Management) -> tuple[Range, Range]:
    """Where switches and where hosts get management addresses, as numbers of the network: as given, else the first /24
    (or quarter) for switches, the rest but the last /24 (or quarter) for hosts: the twin's own bridge stands there."""
    network = ipaddress.IPv4Network(management.network)
    size = network.num_addresses
    part = min(256, size // 4)

    def given(prefix: str | None, first: int, end: int) -> Range:
        if prefix is not None:
            part_of = ipaddress.IPv4Network(prefix)
            first = int(part_of.network_address) - int(network.network_address)
            end = first + part_of.num_addresses
        # The network's own address and its broadcast are nobody's.
        return Range(network, max(first, 1), min(end, size - 1))

    switches = given(management.switches, 0, part)
    return switches, given(management.hosts, switches.end + 1, size - part)
