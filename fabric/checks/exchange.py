"""Wrong cables that are one mistake: two boxes in each other's place, two rails or cages exchanged.

Each tangle alone is right already; telling many that share a reason as one is what a person does first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabric.checks.replug import Pair, Replug, Tangle
from fabric.checks.view import Life, View
from fabric.diagnose.claim import End


@dataclass(frozen=True, slots=True)
class Story:
    """One mistake and its repair.

    `exchanged`: devices that stand in each other's place, each with whose place it holds (device -> planned there).
    `pattern`: how the tangles hang together, for the words: "", "devices", "rails" or "cages".
    """

    tangles: tuple[Tangle, ...]
    moves: tuple[Replug, ...]
    pattern: str = ""
    exchanged: tuple[tuple[str, str], ...] = ()

    @property
    def planned(self) -> tuple[Pair, ...]:
        """Planned cables in it."""
        return tuple(pair for tangle in self.tangles for pair in tangle.planned)

    @property
    def observed(self) -> tuple[Pair, ...]:
        """Cables as they are."""
        return tuple(pair for tangle in self.tangles for pair in tangle.observed)

    @property
    def hidden(self) -> tuple[Pair, ...]:
        """Cables that nobody sees but must be there."""
        return tuple(tangle.hidden for tangle in self.tangles if tangle.hidden is not None)


def stories(view: View, tangles: Iterable[Tangle]) -> list[Story]:
    """Group tangles into mistakes and choose for each the repair that visits the fewest places."""
    left = list(tangles)
    found: list[Story] = []
    for group, pairs in _exchanged_devices(view, left):
        found.append(_story(view, group, "devices", pairs))
        taken = {id(tangle) for tangle in group}
        left = [tangle for tangle in left if id(tangle) not in taken]
    for pattern, groups in (("rails", _exchanged_rails(view, left)), ("cages", _exchanged_cages(view, left))):
        for group in groups:
            if any(id(tangle) not in {id(one) for one in left} for tangle in group):
                continue
            found.append(_story(view, group, pattern))
            taken = {id(tangle) for tangle in group}
            left = [tangle for tangle in left if id(tangle) not in taken]
    found.extend(_story(view, [tangle], "") for tangle in left)
    return found


def _story(view: View, group: Sequence[Tangle], pattern: str, exchanged: tuple[tuple[str, str], ...] = ()) -> Story:
    """Pick one option a tangle: together they touch the fewest devices, then each the shortest way."""
    if len(group) == 1:
        return Story(tuple(group), min(group[0].options, key=lambda moves: _effort(view, moves)), pattern, exchanged)
    sides: list[tuple[Replug, ...]] = []
    for side in (0, -1):
        sides.append(tuple(step for tangle in group for step in tangle.options[side]))
    by_hosts = tuple(step for tangle in group for step in _at_hosts(view, tangle))
    by_switches = tuple(step for tangle in group for step in _at_switches(view, tangle))
    best = min((by_hosts, by_switches, *sides), key=lambda moves: (len(_visited(moves)), _effort(view, moves)))
    return Story(tuple(group), best, pattern, exchanged)


def _at_hosts(view: View, tangle: Tangle) -> tuple[Replug, ...]:
    return max(tangle.options, key=lambda moves: sum(step.to[0] in view.plan.hosts for step in moves))


def _at_switches(view: View, tangle: Tangle) -> tuple[Replug, ...]:
    return min(tangle.options, key=lambda moves: sum(step.to[0] in view.plan.hosts for step in moves))


def _visited(moves: Iterable[Replug]) -> set[str]:
    return {end[0] for step in moves for end in (step.from_, step.to)}


def _effort(view: View, moves: Sequence[Replug]) -> tuple[int, int, int, tuple[Replug, ...]]:
    """How far people walk: between racks or pods, then between boxes, then how many boxes they open."""
    far = between = 0
    for step in moves:
        if step.from_[0] != step.to[0]:
            between += 1
            far += _where(view, step.from_[0]) != _where(view, step.to[0])
    return far, between, len(_visited(moves)), tuple(moves)


def _where(view: View, device: str) -> tuple[object, ...]:
    host = view.plan.hosts.get(device)
    if host is not None:
        return host.pod, host.rack
    switch = view.plan.switches[device]
    return switch.pod, switch.rack


def _exchanged_devices(view: View, tangles: Sequence[Tangle]) -> list[tuple[list[Tangle], tuple[tuple[str, str], ...]]]:
    """Devices all of whose cables arrive, port for port, at one other device."""
    votes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    strays: set[str] = set()
    for tangle in tangles:
        for pair in tangle.observed:
            for near, far in (pair, pair[::-1]):
                planned = view.far(near)
                if planned is None or planned[0] == far[0]:
                    continue
                if planned[1] == far[1]:
                    votes[planned[0]][far[0]] += 1
                else:
                    strays.add(planned[0])
    takes: dict[str, str] = {}
    for device, counts in votes.items():
        if len(counts) == 1 and device not in strays:
            other, count = next(iter(counts.items()))
            if count > 1 and count == _live_cables(view, device) and _same_kind(view, device, other):
                takes[device] = other
    groups = []
    for chain in _chains(takes):
        members = {device for pair in chain for device in pair}
        group = [tangle for tangle in tangles if _within(tangle, members)]
        if len(group) > 1:
            groups.append((group, tuple(chain)))
    return groups


def _live_cables(view: View, device: str) -> int:
    """Planned cables of a device in service."""
    plan = view.plan
    ports: Iterable[str] = plan.switches[device].ports if device in plan.switches else plan.hosts[device].nics
    links = (view.of_end.get((device, port)) for port in ports)
    return sum(link is not None and link.life in (Life.SERVICE, Life.INSTALLED) for link in links)


def _same_kind(view: View, one: str, other: str) -> bool:
    a, b = view.plan.switches.get(one), view.plan.switches.get(other)
    return (a is None and b is None) or (a is not None and b is not None and a.role == b.role)


def _chains(takes: dict[str, str]) -> list[list[tuple[str, str]]]:
    """Rings and chains of "whose cables arrive where"; a device two others arrive at is in none."""
    arrivals: dict[str, int] = defaultdict(int)
    for other in takes.values():
        arrivals[other] += 1
    done: set[str] = set()
    chains = []
    starts = sorted(takes, key=lambda device: (arrivals[device] > 0, device))
    for start in starts:
        chain: list[tuple[str, str]] = []
        here = start
        while here in takes and here not in done and arrivals[takes[here]] == 1:
            done.add(here)
            chain.append((here, takes[here]))
            here = takes[here]
        if chain:
            chains.append(chain)
    return chains


def _within(tangle: Tangle, members: set[str]) -> bool:
    return all(one[0] in members or other[0] in members for one, other in tangle.planned)


def _exchanged_rails(view: View, tangles: Sequence[Tangle]) -> list[list[Tangle]]:
    """The same two (or more) leaves crossed for every node of a rack or pod: a bundle went to the wrong switch."""
    groups: dict[tuple[frozenset[str], tuple[object, ...]], list[Tangle]] = defaultdict(list)
    for tangle in tangles:
        hosts = {end[0] for pair in tangle.planned for end in pair if end[0] in view.plan.hosts}
        leaves = frozenset(end[0] for pair in tangle.planned for end in pair if end[0] in view.plan.switches)
        if len(hosts) == 1 and len(leaves) > 1 and tangle.is_ring:
            groups[leaves, _where(view, next(iter(hosts)))].append(tangle)
    return [
        group
        for (leaves, where), group in groups.items()
        if len(group) >= 3 and len(group) == _hosts_between(view, leaves, where)
    ]


def _hosts_between(view: View, leaves: frozenset[str], where: tuple[object, ...]) -> int:
    """How many hosts of a rack (or pod) are cabled to all of `leaves`."""
    counts: dict[str, set[str]] = defaultdict(set)
    for leaf in leaves:
        for port in view.plan.switches[leaf].ports:
            link = view.of_end.get((leaf, port))
            if link is not None and link.host and link.life in (Life.SERVICE, Life.INSTALLED):
                counts[link.b[0]].add(leaf)
    return sum(seen == leaves and _where(view, host) == where for host, seen in counts.items())


def _exchanged_cages(view: View, tangles: Sequence[Tangle]) -> list[list[Tangle]]:
    """All children of two cages crossed: one plug of a twin module, or the modules, sit in each other's cage."""
    groups: dict[tuple[str, frozenset[str]], list[Tangle]] = defaultdict(list)
    for tangle in tangles:
        if len(tangle.planned) != 2 or not tangle.is_ring:
            continue
        ends = [end for pair in tangle.planned for end in pair]
        for device in {end[0] for end in ends if end[0] in view.plan.switches}:
            mine: list[End] = [end for end in ends if end[0] == device]
            ports = [view.plan.port(*end) for end in mine]
            parents = frozenset(port.parent for port in ports if port is not None)
            if len(mine) == 2 and len(parents) == 2:
                groups[device, parents].append(tangle)
    return [
        group
        for (device, parents), group in groups.items()
        if len(group) > 1 and _all_children(view, device, parents, group)
    ]


def _all_children(view: View, device: str, parents: frozenset[str], group: Sequence[Tangle]) -> bool:
    ends = {end for tangle in group for pair in tangle.planned for end in pair if end[0] == device}
    children = {(device, port.name) for port in view.plan.switches[device].ports.values() if port.parent in parents}
    return {end for end in children if end in view.of_end} == ends
