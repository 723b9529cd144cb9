"""Who probes whom: the fewest leaf pairs whose probes cross every fabric cable in both directions.

A flight is a sweep of source ports from one NIC to another. Its `next_cables` are the equal-cost cables the Plan
expects at each switch on the way (shortest paths, which in a Clos are the valley-free ones).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_interface

from fabric.audit.coverage import probes_needed
from fabric.errors import InputError
from fabric.values.plan import HostPlan, LifeState, Network, Plan, PlannedNic, PlannedPort, PortUse, Role, SwitchPlan

# Linux hands out 32768..60999 to its own sockets; RoCE NICs use 49152..65535 (0xC000 up). The sweep starts there so
# that probes hash as RoCE traffic does.
FIRST_SOURCE_PORT = 49152
_LAST_SOURCE_PORT = 65535
_SHARES = 8


@dataclass(frozen=True, slots=True)
class Flight:
    """One sweep. `next_cables`: switch -> cable -> switch behind it, towards the target leaf; `hops` counts switches.

    `probes` is how many source ports see every path piece with the asked confidence; `paths` how many whole paths.
    """

    name: str
    source_host: str
    source_nic: str
    source: str
    target_host: str
    target_nic: str
    target: str
    source_leaf: str
    target_leaf: str
    next_cables: Mapping[str, Mapping[str, str]]
    hops: int
    paths: int
    probes: int

    @property
    def ttls(self) -> range:
        """1 is answered by the source leaf, `hops` by the target leaf; the target host itself is not asked."""
        return range(1, self.hops + 1)

    @property
    def ports(self) -> tuple[int, int]:
        """First and last UDP source port of the sweep."""
        return FIRST_SOURCE_PORT, FIRST_SOURCE_PORT + self.probes - 1

    def job(self) -> dict[str, object]:
        """This flight as the prober takes it."""
        return {
            "id": self.name,
            "source": self.source,
            "target": self.target,
            "device": self.source_nic,
            "ttls": list(self.ttls),
            "ports": list(self.ports),
        }


def flights(
    plan: Plan,
    *,
    confidence: float = 0.99,
    whole_paths: bool = False,
    nodes: Collection[str] | None = None,
    down_cables: Collection[str] = (),
) -> tuple[Flight, ...]:
    """A ring over the leaves that have a host in service: each probes the next one, so each cable is crossed both ways.

    `confidence` is that of the whole audit: each flight gets its share of the doubt. `whole_paths` asks for enough
    probes to see every end-to-end path (128 on SAKURAONE), not only every cable of each switch (32). `nodes` limits
    sources and targets; `down_cables` are known to be down and not expected.
    IPv4 only: the answers of IPv6 hops are another protocol and are not asked for.
    """
    if not 0 < confidence < 1:
        raise InputError("confidence is between 0 and 1, both excluded, such as 0.99")
    if unknown := sorted(set(nodes or ()) - set(plan.hosts)):
        raise InputError(f"no such node in the Plan: {', '.join(unknown[:5])}; node names are those of the intent")
    ends = [(leaf, found) for leaf in _leaves(plan) if (found := tuple(_host_ends(plan, leaf, nodes)))]
    # The doubt is shared out over flights and layers, with a margin for the answers a policer takes.
    share = 1 - (1 - confidence) / max(1, _SHARES * len(ends))
    flown: list[Flight] = []
    for index, (leaf, sources) in enumerate(ends):
        target, targets = ends[(index + 1) % len(ends)]
        # A host sends nothing into the fabric to reach another NIC of its own.
        pair = next(((one, other) for one in sources for other in targets if one[0] is not other[0]), None)
        if leaf is target or pair is None:
            continue
        flight = _flight(plan, (leaf, *pair[0]), (target, *pair[1]), share, whole_paths, down_cables)
        if flight is not None:
            flown.append(flight)
    return tuple(flown)


def _leaves(plan: Plan) -> Iterator[SwitchPlan]:
    for switch in plan.switches.values():
        if switch.role is Role.LEAF and switch.network is Network.COMPUTE and switch.state is LifeState.IN_SERVICE:
            yield switch


def _host_ends(
    plan: Plan, leaf: SwitchPlan, nodes: Collection[str] | None
) -> Iterator[tuple[HostPlan, PlannedNic, PlannedPort]]:
    """NICs in service on a leaf, in port order."""
    for port in leaf.ports.values():
        if port.use is not PortUse.HOST or port.state is not LifeState.IN_SERVICE or not port.peer_device:
            continue
        host = plan.hosts.get(port.peer_device)
        if host is None or host.state is not LifeState.IN_SERVICE or (nodes is not None and host.name not in nodes):
            continue
        nic = host.nics.get(port.peer_port or "")
        if nic is not None and nic.state is LifeState.IN_SERVICE and _ipv4(nic.addresses):
            yield host, nic, port


def _ipv4(addresses: tuple[str, ...]) -> str | None:
    for address in addresses:
        interface = ip_interface(address)
        if interface.version == 4:
            return str(interface.ip)
    return None


def fabric_neighbours(plan: Plan, switch: str, down_cables: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """(cable, switch behind it) of every fabric cable in service at `switch`."""
    for port in plan.switches[switch].ports.values():
        if port.use is not PortUse.FABRIC or port.state is not LifeState.IN_SERVICE or port.cable in down_cables:
            continue
        peer = plan.switches.get(port.peer_device or "")
        if port.cable and peer is not None and peer.state is LifeState.IN_SERVICE:
            yield port.cable, peer.name


def _flight(
    plan: Plan,
    source: tuple[SwitchPlan, HostPlan, PlannedNic, PlannedPort],
    target: tuple[SwitchPlan, HostPlan, PlannedNic, PlannedPort],
    confidence: float,
    whole_paths: bool,
    down_cables: Collection[str],
) -> Flight | None:
    distance = {target[0].name: 0}
    queue = deque([target[0].name])
    neighbours = {}
    while queue:
        at = queue.popleft()
        neighbours[at] = tuple(fabric_neighbours(plan, at, down_cables))
        for _, peer in neighbours[at]:
            if peer not in distance:
                distance[peer] = distance[at] + 1
                queue.append(peer)
    if source[0].name not in distance:
        return None
    next_cables: dict[str, dict[str, str]] = {}
    layer, paths = {source[0].name: 1}, 1
    width = 1
    while layer:
        following: dict[str, int] = {}
        crossed = 0
        for at, ways in layer.items():
            next_cables[at] = {cable: peer for cable, peer in neighbours[at] if distance[peer] == distance[at] - 1}
            crossed += len(next_cables[at])
            for peer in next_cables[at].values():
                following[peer] = following.get(peer, 0) + ways
        if target[0].name in following:
            paths = following[target[0].name]
        width = max(width, crossed)
        layer = {at: ways for at, ways in following.items() if at != target[0].name}
    asked = probes_needed(paths if whole_paths else width, confidence)
    source_ip, target_ip = _ipv4(source[2].addresses), _ipv4(target[2].addresses)
    if source_ip is None or target_ip is None:
        return None
    return Flight(
        name=f"{source[1].name}:{source[2].name}>{target[1].name}:{target[2].name}",
        source_host=source[1].name,
        source_nic=source[2].name,
        source=source_ip,
        target_host=target[1].name,
        target_nic=target[2].name,
        target=target_ip,
        source_leaf=source[0].name,
        target_leaf=target[0].name,
        next_cables={at: cables for at, cables in next_cables.items() if cables},
        hops=distance[source[0].name] + 1,
        paths=paths,
        probes=min(asked, _LAST_SOURCE_PORT - FIRST_SOURCE_PORT + 1),
    )
