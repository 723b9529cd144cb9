"""Shortest AS paths of a whole fabric, and route tables that are made when they are read.

Switches with the same neighbours are one class: a breadth-first search runs over classes, not switches, so that a
fabric of thousands of switches costs as much as one pod of each kind. A route table keeps no route: it knows which
sessions lead to which class. 3,840 switches with full tables would otherwise need tens of gigabytes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass, replace
from typing import TypeVar

from fabric.values.snapshot import NextHop

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Session:
    """An established session of a switch, with the next hops its routes get (by address family 4 and 6)."""

    port: str
    peer: str
    hop4: NextHop | None
    hop6: NextHop | None


class Routing:
    """What BGP makes of established sessions: eBGP, AS path length, multipath, loops refused.

    `sessions`: switch -> its established sessions in port order (switches without bgpd are absent).
    `asns`, `origins`: switch -> ASN, and the prefixes it originates. `maximum_paths` as configured. `weighted`: each
    switch announces how many paths it has (weighted ECMP), and next hops get their share of that in percent, as FRR
    writes it.
    """

    def __init__(
        self,
        sessions: Mapping[str, tuple[Session, ...]],
        asns: Mapping[str, int],
        origins: Mapping[str, tuple[str, ...]],
        maximum_paths: int,
        weighted: bool = False,
    ) -> None:
        self._sessions = sessions
        # With as many sessions between every two neighbours all shares are equal; only then tables come in bulk.
        between = Counter((name, session.peer) for name, of in sessions.items() for session in of)
        self._uneven = weighted and len(set(between.values())) > 1
        self._weighed: dict[tuple[tuple[NextHop, ...], tuple[int, ...]], tuple[NextHop, ...]] = {}
        self._maximum_paths = maximum_paths
        self._neighbours = {name: frozenset(session.peer for session in of) for name, of in sessions.items()}
        self._origins: dict[str, tuple[str, ...]] = {name: origins[name] for name in sessions}
        self.prefixes: dict[str, tuple[str, ...]] = {}
        for name, prefixes in self._origins.items():
            for prefix in prefixes:
                self.prefixes[prefix] = (*self.prefixes.get(prefix, ()), name)
        shared = {asn for asn, count in Counter(asns.values()).items() if count > 1}
        numbers: dict[tuple[frozenset[str], int | None], int] = {}
        self._class: dict[str, int] = {}
        self._members: list[list[str]] = []
        self._class_asn: list[int | None] = []
        for name, neighbours in self._neighbours.items():
            asn = asns[name] if asns[name] in shared else None
            number = numbers.setdefault((neighbours, asn), len(numbers))
            if number == len(self._members):
                self._members.append([])
                self._class_asn.append(asn)
            self._class[name] = number
            self._members[number].append(name)
        self._class_neighbours = [
            sorted({self._class[peer] for peer in self._neighbours[members[0]]}) for members in self._members
        ]
        self._search: dict[int, tuple[list[int], list[tuple[int, ...]]]] = {}
        self._hops: dict[tuple[str, tuple[int, ...], int], tuple[NextHop, ...]] = {}
        self._direct: dict[tuple[str, str, int], tuple[NextHop, ...]] = {}
        self._shared_prefixes = len(self.prefixes) != sum(len(prefixes) for prefixes in self._origins.values())
        self._last: tuple[str, tuple[tuple[tuple[NextHop, ...], tuple[str, ...]], ...]] | None = None
        self._together: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._families: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def adjacency(self) -> Mapping[str, frozenset[str]]:
        """Switch -> switches it has at least one session with."""
        return self._neighbours

    def next_hops(self, name: str, prefix: str) -> tuple[NextHop, ...]:
        """Equal-cost next hops of `name` for a prefix somebody else originates; empty when it has no route."""
        if name not in self._class:
            return ()
        owners = self.prefixes.get(prefix, ())
        family = 6 if ":" in prefix else 4
        if len(owners) == 1:
            hops = self._towards(name, owners[0], family)
            return self._shared_out(name, owners[0], family, hops) if self._uneven else hops
        if name in owners:
            return ()
        reached = [(self._distance(name, owner), owner) for owner in owners]
        near = min((distance for distance, _ in reached if distance), default=0)
        found: dict[NextHop, None] = {}
        for distance, owner in reached:
            if distance == near and near:
                found.update(dict.fromkeys(self._towards(name, owner, family)))
        return tuple(found)[: self._maximum_paths]

    def _shared_out(self, name: str, owner: str, family: int, hops: tuple[NextHop, ...]) -> tuple[NextHop, ...]:
        """The same next hops, each weighed by the paths that the switch behind it has; as they are when even."""
        behind = {session.port: session.peer for session in self._sessions[name]}
        peers = [behind[hop.port] for hop in hops]
        paths = tuple(1 if peer == owner else len(self._towards(peer, owner, family)) for peer in peers)
        if len(set(paths)) < 2:
            return hops
        known = self._weighed.get((hops, paths))
        if known is None:
            total = sum(paths)
            known = tuple(replace(hop, weight=max(1, 100 * count // total)) for hop, count in zip(hops, paths))
            self._weighed[hops, paths] = known
        return known

    def received(self, name: str) -> tuple[dict[str, int], int]:
        """Peer switch -> prefixes `name` uses from one session with it; and the prefixes it has a BGP route for."""
        counts: dict[str, int] = dict.fromkeys(self._neighbours.get(name, ()), 0)
        by_class: dict[int, int] = defaultdict(int)
        own = self._class.get(name)
        if own is None:
            return counts, 0
        reached = len(self._origins[name])
        for number, members in enumerate(self._members):
            total = sum(len(self._origins[member]) for member in members if member != name)
            if number == own:
                via = tuple(self._class_neighbours[own]) if self._class_asn[own] is None else ()
            elif number in self._class_neighbours[own]:
                reached += total
                continue
            else:
                via = self._found(number)[1][own]
            if via:
                reached += total
            for peer_class in via:
                by_class[peer_class] += total
        for peer in counts:
            counts[peer] = len(self._origins[peer]) + by_class[self._class[peer]]
        return counts, reached

    def bulk(self, name: str) -> tuple[tuple[tuple[NextHop, ...], tuple[str, ...]], ...] | None:
        """All BGP routes of `name` as (next hops, prefixes that have them); None where a prefix has several owners, or
        weights differ.

        The prefix tuples are shared between switches, so that a reader can know them again by identity.
        """
        if self._shared_prefixes or self._uneven:
            return None
        # A reader asks for the layers of one switch after the other.
        if self._last is None or self._last[0] != name:
            self._last = (name, tuple(self._bulk(name)))
        return self._last[1]

    def _bulk(self, name: str) -> Iterator[tuple[tuple[NextHop, ...], tuple[str, ...]]]:
        own = self._class.get(name)
        if own is None:
            return
        near = set(self._class_neighbours[own])
        far: dict[tuple[int, ...], list[int]] = {}
        for number, members in enumerate(self._members):
            if number == own:
                via = tuple(self._class_neighbours[own]) if self._class_asn[own] is None else ()
                for member in members if via else ():
                    if member != name:
                        yield from self._both(name, member, self._origins[member])
            elif number in near:
                for member in members:
                    yield from self._both(name, member, self._origins[member])
            else:
                via = self._found(number)[1][own]
                if via:
                    far.setdefault(via, []).append(number)
        for numbers in far.values():
            key = tuple(numbers)
            prefixes = self._together.get(key)
            if prefixes is None:
                owners = [member for number in numbers for member in self._members[number]]
                prefixes = tuple(prefix for owner in owners for prefix in self._origins[owner])
                self._together[key] = prefixes
            yield from self._both(name, self._members[numbers[0]][0], prefixes)

    def _both(
        self, name: str, owner: str, prefixes: tuple[str, ...]
    ) -> Iterator[tuple[tuple[NextHop, ...], tuple[str, ...]]]:
        """The prefixes of one group by address family, with the next hops towards `owner`."""
        families = self._families.get(prefixes)
        if families is None:
            six = tuple(prefix for prefix in prefixes if ":" in prefix)
            four = prefixes if not six else tuple(prefix for prefix in prefixes if ":" not in prefix)
            families = self._families[prefixes] = (four, six)
        for family, of in zip((4, 6), families):
            hops = self._towards(name, owner, family) if of else ()
            if hops:
                yield hops, of

    def _distance(self, name: str, owner: str) -> int:
        if owner in self._neighbours[name]:
            return 1
        own, target = self._class[name], self._class[owner]
        if own == target:
            return 2 if self._neighbours[name] and self._class_asn[own] is None else 0
        return self._found(target)[0][own]

    def _towards(self, name: str, owner: str, family: int) -> tuple[NextHop, ...]:
        if name == owner:
            return ()
        if owner in self._neighbours[name]:
            key = (name, owner, family)
            hops = self._direct.get(key)
            if hops is None:
                hops = self._direct[key] = self._over(name, lambda peer: peer == owner, family)
            return hops
        own, target = self._class[name], self._class[owner]
        if own == target:
            via = tuple(self._class_neighbours[own]) if self._class_asn[own] is None else ()
        else:
            via = self._found(target)[1][own]
        if not via:
            return ()
        found = self._hops.get((name, via, family))
        if found is None:
            classes = set(via)
            found = self._over(name, lambda peer: self._class[peer] in classes, family)
            self._hops[name, via, family] = found
        return found

    def _over(self, name: str, wanted: Callable[[str], bool], family: int) -> tuple[NextHop, ...]:
        hops = (
            session.hop4 if family == 4 else session.hop6 for session in self._sessions[name] if wanted(session.peer)
        )
        return tuple(hop for hop in hops if hop is not None)[: self._maximum_paths]

    def _found(self, target: int) -> tuple[list[int], list[tuple[int, ...]]]:
        """Distance of each class to `target` (0: no route) and the neighbour classes its best paths go through."""
        known = self._search.get(target)
        if known is not None:
            return known
        count = len(self._members)
        distance = [0] * count
        via: list[tuple[int, ...]] = [()] * count
        paths: list[frozenset[int]] = [frozenset()] * count
        asn = self._class_asn
        target_asn = asn[target]
        paths[target] = frozenset(() if target_asn is None else (target_asn,))
        level, reached = 0, [target]
        done = {target}
        while reached:
            level += 1
            candidates: dict[int, list[int]] = {}
            for number in reached:
                for neighbour in self._class_neighbours[number]:
                    if neighbour not in done and asn[neighbour] not in paths[number]:
                        candidates.setdefault(neighbour, []).append(number)
            for number, parents in candidates.items():
                distance[number] = level
                via[number] = tuple(parents)
                own = asn[number]
                paths[number] = paths[parents[0]] if own is None else paths[parents[0]] | {own}
            reached = list(candidates)
            done.update(reached)
        self._search[target] = (distance, via)
        return distance, via


class RouteTable(Mapping[str, V]):
    """One layer of one switch: its own routes, and BGP's made on reading. `edits`: prefix -> route, None: absent."""

    __slots__ = ("_edits", "_length", "_make", "_name", "_own", "_routing")

    def __init__(
        self,
        routing: Routing,
        name: str,
        own: Mapping[str, V],
        make: Callable[[str, tuple[NextHop, ...]], V],
        edits: Mapping[str, V | None] | None = None,
    ) -> None:
        self._routing = routing
        self._name = name
        self._own = own
        self._make = make
        self._edits: Mapping[str, V | None] = edits or {}
        self._length: int | None = None

    def edited(self, edits: Mapping[str, V | None]) -> RouteTable[V]:
        """The same table with routes replaced, or removed where the new one is None."""
        return RouteTable(self._routing, self._name, self._own, self._make, {**self._edits, **edits})

    def bulk(self) -> tuple[tuple[tuple[NextHop, ...], tuple[str, ...]], ...] | None:
        """BGP's routes as (next hops, prefixes); a prefix of `special` is not as it says there."""
        return self._routing.bulk(self._name)

    @property
    def special(self) -> Mapping[str, V | None]:
        """Routes that `bulk` does not speak for: the switch's own, and edited ones (None: absent)."""
        return {**self._own, **self._edits}

    def __getitem__(self, prefix: str) -> V:
        if prefix in self._edits:
            edited = self._edits[prefix]
            if edited is None:
                raise KeyError(prefix)
            return edited
        own = self._own.get(prefix)
        if own is not None:
            return own
        hops = self._routing.next_hops(self._name, prefix)
        if not hops:
            raise KeyError(prefix)
        return self._make(prefix, hops)

    def _pairs(self) -> Iterator[tuple[str, V]]:
        edits, own, make, next_hops, name = self._edits, self._own, self._make, self._routing.next_hops, self._name
        for prefix, route in own.items():
            if prefix not in edits:
                yield prefix, route
        for prefix in self._routing.prefixes:
            if prefix in edits or prefix in own:
                continue
            hops = next_hops(name, prefix)
            if hops:
                yield prefix, make(prefix, hops)
        for prefix, edited in edits.items():
            if edited is not None:
                yield prefix, edited

    def __iter__(self) -> Iterator[str]:
        return (prefix for prefix, _ in self._pairs())

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(1 for _ in self._pairs())
        return self._length

    def items(self) -> ItemsView[str, V]:
        """Pairs, each route made once."""
        return _Items(self)

    def values(self) -> ValuesView[V]:
        """Routes, each made once."""
        return _Values(self)

    def __repr__(self) -> str:
        return f"RouteTable({self._name}, {len(self)} routes)"


class _Items(ItemsView[str, V]):
    def __init__(self, table: RouteTable[V]) -> None:
        super().__init__(table)
        self._table = table

    def __iter__(self) -> Iterator[tuple[str, V]]:
        return self._table._pairs()


class _Values(ValuesView[V]):
    def __init__(self, table: RouteTable[V]) -> None:
        super().__init__(table)
        self._table = table

    def __iter__(self) -> Iterator[V]:
        return (route for _, route in self._table._pairs())


def same_paths(before: Routing, after: Routing) -> bool:
    """Whether every switch has the same neighbour switches: then only the ends of changed sessions route anew."""
    return before.adjacency() == after.adjacency()
