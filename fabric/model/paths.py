"""Expected equal-cost next hops: which local ports BGP uses towards each originating switch.

Plain eBGP, one session a cable: the shortest AS path wins, all equally long ones are used (multipath-relax), a path
that holds the own AS number is dropped (RFC 4271 9.1.2). Nothing else is assumed about tiers, so what the AS numbers
allow is what is expected, valleys included. Planned and out-of-service cables and switches carry nothing.

Switches with the same neighbours are twins: they see the same next-hop switches. Only one of each family of twins is
worked out, so an intact fabric of 3,840 switches costs seconds and a broken one a little more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fabric.values.plan import LifeState, Plan, PortUse

_CARRIES = (LifeState.IN_SERVICE, LifeState.INSTALLED)
_NOTHING: frozenset[str] = frozenset()


@dataclass(slots=True)
class NextHops:
    """Next hops of a fabric with given things down. Ask by switch name; unknown names raise KeyError.

    `links[switch][neighbour]` are the local port names of `switch` that lead to `neighbour` and carry traffic.
    """

    links: Mapping[str, Mapping[str, frozenset[str]]]
    maximum_paths: int
    _family_of: Mapping[str, int]
    _families: tuple[tuple[str, ...], ...]
    _near: tuple[int, ...]
    _asn: tuple[int, ...]
    _shared: Mapping[int, int]
    _tables: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    _unions: dict[tuple[str, int, str | None], frozenset[str]] = field(default_factory=dict)

    def ports(self, switch: str, origin: str) -> frozenset[str]:
        """Local ports of `switch` towards what `origin` announces. Empty: no route (or its own)."""
        if switch == origin:
            return _NOTHING
        mine, theirs = self._family_of[switch], self._family_of[origin]
        via = self._table(theirs)[0][mine]
        if not via:
            return _NOTHING
        # The origin's own ports and its twins' count apart: only then does the answer depend on which twin it is.
        named = origin if via >> len(self._families) or via >> theirs & 1 else None
        key = (switch, via, named)
        found = self._unions.get(key)
        if found is None:
            found = self._unions[key] = self._union(switch, via, origin)
        return found

    def hops(self, switch: str, origin: str) -> int | None:
        """AS path length from `switch` to `origin`, None without a route, 0 for itself."""
        if switch == origin:
            return 0
        mine, theirs = self._family_of[switch], self._family_of[origin]
        via, depth = self._table(theirs)
        return depth[mine] if via[mine] else None

    def width(self, switch: str, origin: str) -> int:
        """Number of next hops BGP installs: no more than maximum-paths."""
        return min(len(self.ports(switch, origin)), self.maximum_paths)

    def of(self, switch: str) -> dict[str, frozenset[str]]:
        """Ports towards each origin that `switch` has a route to. Equal sets are one object."""
        found: dict[str, frozenset[str]] = {}
        for origin in self._family_of:
            ports = self.ports(switch, origin)
            if ports:
                found[origin] = ports
        return found

    def groups(self, switch: str) -> dict[frozenset[str], tuple[str, ...]]:
        """The distinct next-hop groups of a switch, and the origins each leads to."""
        found: dict[frozenset[str], list[str]] = {}
        for origin, ports in self.of(switch).items():
            found.setdefault(ports, []).append(origin)
        return {ports: tuple(origins) for ports, origins in found.items()}

    def _union(self, switch: str, via: int, origin: str) -> frozenset[str]:
        links = self.links[switch]
        top = len(self._families)
        found: set[str] = set()
        if via >> top:
            found |= links[origin]
        for family in _bits(via & ((1 << top) - 1)):
            for name in self._families[family]:
                if name not in (origin, switch):
                    found |= links.get(name, _NOTHING)
        return frozenset(found)

    def _table(self, origin: int) -> tuple[list[int], list[int]]:
        """For one origin of a family: per family the families (bits) its next hops are of, and the path length."""
        found = self._tables.get(origin)
        if found is None:
            found = self._tables[origin] = self._spread(origin)
        return found

    def _spread(self, origin: int) -> tuple[list[int], list[int]]:
        """Let the announcement of one switch of family `origin` spread, one AS at a time."""
        count = len(self._families)
        itself = 1 << count
        near, shared = self._near, self._shared
        via = [0] * count
        depth = [0] * count
        # Bits of AS numbers that several switches share, on the path each family passes on.
        path = [0] * count
        holding: dict[int, int] = dict.fromkeys(shared.values(), 0)
        first = shared.get(self._asn[origin])
        start = 1 << first if first is not None else 0
        if first is not None:
            holding[first] |= itself
        frontier = itself
        around = near[origin]
        settled = 0 if len(self._families[origin]) > 1 else 1 << origin
        length = 0
        while around:
            length += 1
            fresh = 0
            for family in _bits(around):
                candidates = near[family] & frontier
                if frontier & itself and near[family] >> origin & 1:
                    candidates |= itself
                own = shared.get(self._asn[family])
                if own is not None:
                    candidates &= ~holding[own]
                if not candidates:
                    continue
                via[family] = candidates
                depth[family] = length
                chosen = candidates & -candidates
                passed = start if chosen == itself else path[chosen.bit_length() - 1]
                path[family] = passed | (1 << own if own is not None else 0)
                fresh |= 1 << family
            for family in _bits(fresh):
                for bit in _bits(path[family]):
                    holding[bit] |= 1 << family
            settled |= fresh
            frontier = fresh
            around = 0
            for family in _bits(fresh):
                around |= near[family]
            around &= ~settled
        return via, depth


def expected_next_hops(
    plan: Plan,
    down_cables: Iterable[str] = (),
    down_devices: Iterable[str] = (),
    down_ports: Iterable[tuple[str, str]] = (),
) -> NextHops:
    """Equal-cost next hops of the planned fabric, with cables (by name), devices and (device, port)s taken away."""
    cables, devices, ports = set(down_cables), set(down_devices), set(down_ports)
    alive = {name for name, switch in plan.switches.items() if switch.state in _CARRIES and name not in devices}
    links: dict[str, dict[str, set[str]]] = {name: {} for name in plan.switches}
    for cable in plan.cables.values():
        if cable.kind is not PortUse.FABRIC or cable.state not in _CARRIES or cable.name in cables:
            continue
        a, b = cable.a_device, cable.b_device
        if a not in alive or b not in alive or (a, cable.a_port) in ports or (b, cable.b_port) in ports:
            continue
        links[a].setdefault(b, set()).add(cable.a_port)
        links[b].setdefault(a, set()).add(cable.b_port)
    frozen = {name: {peer: frozenset(names) for peer, names in peers.items()} for name, peers in links.items()}
    holders: dict[int, int] = {}
    for switch in plan.switches.values():
        holders[switch.asn] = holders.get(switch.asn, 0) + 1
    shared = {asn: number for number, asn in enumerate(asn for asn, held in holders.items() if held > 1)}
    families: dict[tuple[object, ...], list[str]] = {}
    for name, switch in plan.switches.items():
        own = switch.asn if switch.asn in shared else None
        families.setdefault((frozenset(frozen[name]), own, switch.role, switch.network), []).append(name)
    listed = tuple(tuple(names) for names in families.values())
    family_of = {name: number for number, names in enumerate(listed) for name in names}
    near = [0] * len(listed)
    for number, names in enumerate(listed):
        for peer in frozen[names[0]]:
            near[number] |= 1 << family_of[peer]
    return NextHops(
        links=frozen,
        maximum_paths=plan.routing.maximum_paths,
        _family_of=family_of,
        _families=listed,
        _near=tuple(near),
        _asn=tuple(plan.switches[names[0]].asn for names in listed),
        _shared=shared,
    )


def _bits(value: int) -> Iterable[int]:
    """Positions of the set bits, lowest first."""
    while value:
        low = value & -value
        yield low.bit_length() - 1
        value ^= low
