"""One pass over a Plan: what every switch carries down, up, and towards each neighbour. Speeds in Mb/s.

Everything else in this room reads the census, so that a fabric of 400,000 port ends is walked once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fabric.values.plan import HostPlan, LifeState, Network, Plan, PlannedPort, PortUse, Role, SwitchPlan

_RANK = {Role.STORAGE: 0, Role.LEAF: 0, Role.SPINE: 1, Role.SUPERSPINE: 2}


@dataclass(slots=True)
class Bundle:
    """The parallel cables between two switches, seen from one of them."""

    links: int = 0
    mbps: int = 0
    slowest: int = 0
    fastest: int = 0


@dataclass(slots=True)
class SwitchCensus:
    """One switch: `hosts` are host ports that count (reserve places do not), `below` and `above` the bundles to
    lower and upper switches, `level` those to switches of its own tier."""

    switch: SwitchPlan
    hosts: int = 0
    host_mbps: int = 0
    reserve_ports: int = 0
    below: dict[str, Bundle] = field(default_factory=dict)
    above: dict[str, Bundle] = field(default_factory=dict)
    level: dict[str, Bundle] = field(default_factory=dict)

    @property
    def down_mbps(self) -> int:
        """Towards hosts and lower switches."""
        return self.host_mbps + sum(bundle.mbps for bundle in self.below.values())

    @property
    def up_mbps(self) -> int:
        """Towards upper switches."""
        return sum(bundle.mbps for bundle in self.above.values())

    @property
    def uplinks(self) -> int:
        """Number of cables towards upper switches."""
        return sum(bundle.links for bundle in self.above.values())

    @property
    def fastest_uplink(self) -> int:
        """Speed of the fastest cable upwards, 0 when there is none."""
        return max((bundle.fastest for bundle in self.above.values()), default=0)


@dataclass(frozen=True, slots=True)
class Census:
    """All switches of a Plan by name, and the NICs that count by network."""

    switches: Mapping[str, SwitchCensus]
    nics: Mapping[Network, int]
    cables: Mapping[Network, int]

    def of(self, network: Network, *roles: Role) -> list[SwitchCensus]:
        """Switches of one network, of these tiers when any are named."""
        return [
            entry
            for entry in self.switches.values()
            if entry.switch.network is network and (not roles or entry.switch.role in roles)
        ]


def counts(host: HostPlan | None) -> bool:
    """Whether a host is part of the design load: a reserve place that has never been used is not."""
    return host is not None and not (host.reserve and host.state is LifeState.PLANNED)


def rank(role: Role) -> int:
    """Tier number: 0 where hosts are cabled, upwards from there."""
    return _RANK[role]


def take(plan: Plan) -> Census:
    """Walk the Plan once."""
    switches: dict[str, SwitchCensus] = {}
    roles = {name: _RANK[switch.role] for name, switch in plan.switches.items()}
    counting = {name for name, host in plan.hosts.items() if counts(host)}
    for name, switch in plan.switches.items():
        entry = SwitchCensus(switch)
        mine = roles[name]
        for port in switch.ports.values():
            if port.use is PortUse.FABRIC:
                if port.peer_device is not None:
                    _add(entry, mine, roles.get(port.peer_device, mine), port)
            elif port.use is PortUse.HOST and port.peer_device is not None:
                if port.peer_device in counting:
                    entry.hosts += 1
                    entry.host_mbps += port.speed_mbps
                else:
                    entry.reserve_ports += 1
        switches[name] = entry
    nics = dict.fromkeys(Network, 0)
    for name in counting:
        for nic in plan.hosts[name].nics.values():
            nics[nic.network] += 1
    return Census(switches, nics, _cables(plan, counting))


def _add(entry: SwitchCensus, mine: int, theirs: int, port: PlannedPort) -> None:
    bundles = entry.above if theirs > mine else entry.below if theirs < mine else entry.level
    peer = port.peer_device or ""
    bundle = bundles.get(peer)
    if bundle is None:
        bundle = bundles[peer] = Bundle(slowest=port.speed_mbps)
    bundle.links += 1
    bundle.mbps += port.speed_mbps
    bundle.slowest = min(bundle.slowest, port.speed_mbps)
    bundle.fastest = max(bundle.fastest, port.speed_mbps)


def _cables(plan: Plan, counting: Iterable[str]) -> dict[Network, int]:
    """Cables by network; those of reserve places that were never used do not count."""
    present = set(plan.switches).union(counting)
    cables = dict.fromkeys(Network, 0)
    for cable in plan.cables.values():
        if cable.a_device in present and cable.b_device in present:
            cables[cable.network] += 1
    return cables
