"""One switch's routes, layer by layer: what each lost against the one that feeds it, and the RIB against the Plan.

Large tables come in bulk: next hops and the prefixes that have them. Where bulk fits the expectation nothing is read
route by route; else everything is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

from fabric.checks.expected import Routes
from fabric.checks.reach import bits
from fabric.checks.view import View
from fabric.values.snapshot import FibRoute, NextHop, Route, SwitchState

RIB, KERNEL, APPL, ASIC = "RIB", "kernel", "APPL_DB", "ASIC_DB"
_Bulk = tuple[tuple[tuple[NextHop, ...], tuple[str, ...]], ...]


class InBulk(Protocol):
    """A route table that can give BGP's routes by next hops, all of them selected, installed and resolved.

    `special` prefixes are not as `bulk` says. Layers that hold the same give the very same tuples.
    """

    def bulk(self) -> _Bulk | None:
        """(next hops, prefixes) of all BGP routes; None when it cannot."""

    @property
    def special(self) -> Mapping[str, Route | FibRoute | None]:
        """Routes to be read one by one."""


@dataclass(slots=True)
class Loss:
    """What one layer of one switch lost: prefix -> ports missing; whole routes; ports that should not be there."""

    missing: dict[str, frozenset[str]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    stale: dict[str, frozenset[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.missing or self.gone or self.stale)


@dataclass(slots=True)
class Seen:
    """Everything about one switch: losses by layer, what FRR itself calls bad, and how much was right."""

    expected: Mapping[int, frozenset[str]]
    losses: dict[str, Loss]
    refused: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    passed: int = 0


class Ports:
    """Next hops to the set of ports they leave by; equal tuples of one object are looked at once."""

    def __init__(self, view: View, device: str) -> None:
        self._view = view
        self._device = device
        # id -> (the tuple itself, kept so that its id is not used again; its ports)
        self._known: dict[int, tuple[tuple[NextHop, ...], frozenset[str]]] = {}
        self._by_address: dict[str, str] | None = None

    def __call__(self, hops: tuple[NextHop, ...]) -> frozenset[str]:
        known = self._known.get(id(hops))
        if known is None:
            known = (hops, frozenset(hop.port or self._port(hop.address) for hop in hops))
            self._known[id(hops)] = known
        return known[1]

    def _port(self, address: str) -> str:
        if self._by_address is None:
            self._by_address = {
                peer.partition("/")[0]: port.name
                for port in self._view.plan.switches[self._device].ports.values()
                for peer in port.peer_addresses
            }
        return self._by_address.get(address, address)


def compare(view: View, routes: Routes, name: str, state: SwitchState) -> Seen:
    """Judge all routes of one switch."""
    assert state.rib is not None
    reader = _Reader(view, routes, name, state)
    return reader.in_bulk() or reader.one_by_one(state.rib.items())


class _Reader:
    """Reads the tables of one switch."""

    def __init__(self, view: View, routes: Routes, name: str, state: SwitchState) -> None:
        self._routes = routes
        self._name = name
        self._state = state
        self._lower = [(layer, table) for layer, table in _layers(state) if table is not None]
        self._ports = Ports(view, name)

    def in_bulk(self) -> Seen | None:
        """The fast way: None when the tables do not offer it, or when anything in them is not as it should be."""
        tables = [self._state.rib, *(table for _, table in self._lower)]
        if not all(hasattr(type(table), "bulk") for table in tables):
            return None
        whole = [(table.bulk(), table.special) for table in cast("list[InBulk]", tables)]
        first = whole[0][0]
        if first is None or any(not _same(first, bulk) for bulk, _ in whole[1:]):
            return None
        origin = self._routes.origin
        special = {prefix for _, routes in whole for prefix in routes}
        aside = 0
        for prefix in special:
            number = origin.get(prefix)
            if number is not None:
                aside |= 1 << number
        groups: dict[frozenset[str], int] = {}
        for group in self._routes.sure.groups.get(self._name, ()):
            groups[group.ports] = groups.get(group.ports, 0) | group.origins
        wanted = 0
        for origins in groups.values():
            wanted |= origins
        covered = count = 0
        for hops, prefixes in first:
            mask, complete = self._routes.mask(prefixes)
            beside = mask & aside
            mask ^= beside
            if not complete or mask & ~groups.get(self._ports(hops), 0):
                return None
            covered |= mask
            count += len(prefixes) - sum(len(self._routes.networks[number]) for number in bits(beside))
        if wanted & ~aside & ~covered:
            return None
        seen = self.one_by_one(self._special(special, aside), some_of=bits(aside))
        seen.passed += count * len(tables)
        return seen

    def _special(self, special: set[str], aside: int) -> Iterable[tuple[str, Route]]:
        """Routes of prefixes that are not in bulk, and of the other prefixes of the same origins."""
        rib = self._state.rib
        assert rib is not None
        for number in bits(aside):
            special = special.union(self._routes.networks[number])
        for prefix in sorted(special):
            route = rib.get(prefix)
            if route is not None:
                yield prefix, route

    def one_by_one(self, rib: Iterable[tuple[str, Route]], some_of: Iterable[int] | None = None) -> Seen:
        """The thorough way, for a whole RIB, or for the routes of `some_of` the origins."""
        routes, lower, ports = self._routes, self._lower, self._ports
        losses: dict[str, Loss] = {layer: Loss() for layer in (RIB, KERNEL, APPL, ASIC)}
        expected: Mapping[int, frozenset[str]]
        expected = routes.sure.by_bit(self._name) if some_of is None else _Lazy(routes, self._name)
        allowed = expected if routes.maybe is routes.sure else routes.maybe.by_bit(self._name)
        seen = Seen(expected, losses)
        origin, most = routes.origin, routes.most
        met = passed = 0
        offloads = False
        waiting: list[str] = []
        for prefix, route in rib:
            if route.protocol != "bgp":
                continue
            hops = route.next_hops
            have = ports(hops)
            number = origin.get(prefix)
            if number is not None:
                want = expected.get(number)
                if want is not None:
                    met += 1
                if want is have or want == have:
                    passed += 1
                else:
                    _compare_rib(losses[RIB], prefix, have, want or frozenset(), allowed.get(number, frozenset()), most)
            if route.failed and route.offloaded is None:
                # The kernel said no: what the layers below hold is older than the RIB and is not judged by it.
                seen.refused.append(prefix)
                continue
            if route.offloaded:
                offloads = True
            elif not route.failed:
                waiting.append(prefix)
            if route.failed:
                seen.rejected.append(prefix)
            elif route.queued:
                seen.pending.append(prefix)
            elif route.installed is False:
                seen.dropped.append(prefix)
            upper = have
            for layer, table in lower:
                fib = table.get(prefix)
                if fib is None:
                    fib = unmasked(table, prefix)
                    if fib is None:
                        losses[layer].gone.append(prefix)
                        continue
                if fib.next_hops is hops and not fib.unresolved:
                    passed += 1
                    upper = have
                    continue
                below = ports(fib.next_hops)
                above = upper if layer is ASIC else have
                if below == above and not fib.unresolved:
                    passed += 1
                else:
                    # What only the RIB lost is told once, there.
                    known = losses[RIB].missing.get(prefix)
                    _compare(losses[layer], prefix, below, above, have if known is None else have | known)
                upper = below
        if offloads:
            seen.waiting = waiting  # A switch that never says offloaded does not track it.
        seen.passed = passed
        if some_of is not None:
            self._gone(seen, some_of)
        elif met < sum(len(routes.networks[number]) for number in expected):
            self._gone(seen, expected)
        return seen

    def _gone(self, seen: Seen, numbers: Iterable[int]) -> None:
        """Prefixes of these origins that should be in the RIB and are not."""
        routes, rib = self._routes, self._state.rib
        assert rib is not None
        for number in numbers:
            if seen.expected.get(number) is None:
                continue
            for prefix in routes.networks[number]:
                if number == routes.origin.get(prefix) and prefix not in rib:
                    seen.losses[RIB].gone.append(prefix)


class _Lazy(Mapping[int, frozenset[str]]):
    """Expected ports by origin, looked up when asked: a healthy table asks for a handful."""

    def __init__(self, routes: Routes, name: str) -> None:
        self._routes = routes
        self._name = name

    def __getitem__(self, number: int) -> frozenset[str]:
        mask = 1 << number
        for group in self._routes.sure.groups.get(self._name, ()):
            if group.origins & mask:
                return group.ports
        raise KeyError(number)

    def __iter__(self) -> Iterator[int]:
        return iter(self._routes.table(self._name))

    def __len__(self) -> int:
        return len(self._routes.table(self._name))


def _same(one: _Bulk, other: _Bulk | None) -> bool:
    """Whether two layers hold the very same groups; by identity, which is enough and costs nothing."""
    return (
        other is not None and len(one) == len(other) and all(a[0] is b[0] and a[1] is b[1] for a, b in zip(one, other))
    )


def _layers(state: SwitchState) -> tuple[tuple[str, Mapping[str, FibRoute] | None], ...]:
    return (KERNEL, state.kernel), (APPL, state.appl), (ASIC, state.asic)


def unmasked(table: Mapping[str, FibRoute], prefix: str) -> FibRoute | None:
    """APPL_DB writes host routes without their length (facts sonic 5.7)."""
    if prefix.endswith("/32"):
        return table.get(prefix[:-3])
    return table.get(prefix[:-4]) if prefix.endswith("/128") else None


def _compare_rib(
    loss: Loss, prefix: str, have: frozenset[str], want: frozenset[str], may: frozenset[str], most: int
) -> None:
    missing, extra = want - have, have - may
    if len(want) > most and len(have) == most:
        missing = frozenset()  # FRR takes as many as it may; which ones is its own choice.
    if missing:
        loss.missing[prefix] = missing
    if extra:
        loss.stale[prefix] = extra


def _compare(loss: Loss, prefix: str, below: frozenset[str], above: frozenset[str], rib: frozenset[str]) -> None:
    """A layer against the one that feeds it; what is too much is judged by the RIB."""
    missing, extra = above - below, below - rib
    if missing or not below:
        loss.missing[prefix] = missing or above
    if extra:
        loss.stale[prefix] = extra
