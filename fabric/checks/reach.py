"""Which equal-cost neighbours BGP leaves for every origin, given the sessions that are up.

eBGP as we plan it: shortest AS path, all equal ones (multipath), a path that already holds one's own ASN refused.
Origins are bits of a whole number, so a round over a whole fabric is a few operations a neighbour, not a search an
origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# switch -> neighbour switch -> its own ports with a session to it
Adjacent = Mapping[str, Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Group:
    """Origins (bits) that a switch reaches over the same ports."""

    origins: int
    ports: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reach:
    """Origins by bit, and for each switch its groups; origins in none of them are not reachable, by design or loss."""

    bit: Mapping[str, int]
    groups: Mapping[str, tuple[Group, ...]]

    def ports(self, switch: str, origin: str) -> frozenset[str]:
        """Ports over which `switch` should reach `origin`; empty when it should not or cannot."""
        mask = self.bit[origin]
        return next((group.ports for group in self.groups.get(switch, ()) if group.origins & mask), frozenset())

    def by_bit(self, switch: str) -> dict[int, frozenset[str]]:
        """Number of the origin's bit -> ports, for all origins of one switch."""
        found: dict[int, frozenset[str]] = {}
        for group in self.groups.get(switch, ()):
            for number in bits(group.origins):
                found[number] = group.ports
        return found


def bits(mask: int) -> Iterable[int]:
    """Numbers of the set bits, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def reach(asns: Mapping[str, int], adjacent: Adjacent) -> Reach:
    """Routes of every switch to every other. `adjacent`: switch -> neighbour -> own ports with a session up."""
    order = list(asns)
    bit = {name: 1 << number for number, name in enumerate(order)}
    same_asn: dict[int, int] = {}
    for name, asn in asns.items():
        same_asn[asn] = same_asn.get(asn, 0) | bit[name]
    known = dict(bit)
    fresh = dict(bit)
    # switch -> ASN of the neighbour it learned from -> origins: enough to see a loop on shortest paths.
    through: dict[str, dict[int, int]] = {name: {} for name in order}
    classes: dict[str, dict[int, list[str]]] = {name: {} for name in order}
    while any(fresh.values()):
        arriving: dict[str, int] = {}
        learned: dict[str, dict[int, int]] = {}
        for name in order:
            neighbours = adjacent.get(name)
            if not neighbours:
                continue
            mine = asns[name]
            # An origin in one's own ASN arrives with a path that holds it already.
            refused = known[name] | same_asn[mine]
            split: dict[int, list[str]] = {}
            got = 0
            for neighbour in neighbours:
                offered = fresh[neighbour]
                if not offered:
                    continue
                offered &= ~refused
                looped = through[neighbour].get(mine)
                if looped:
                    offered &= ~looped
                if not offered:
                    continue
                got |= offered
                _split(split, offered, neighbour)
                by_asn = learned.setdefault(name, {})
                asn = asns[neighbour]
                by_asn[asn] = by_asn.get(asn, 0) | offered
            if got:
                arriving[name] = got
                classes[name].update(split)
        for name in order:
            got = arriving.get(name, 0)
            fresh[name] = got
            known[name] |= got
        for name, by_asn in learned.items():
            into = through[name]
            for asn, mask in by_asn.items():
                into[asn] = into.get(asn, 0) | mask
    groups = {
        name: tuple(
            Group(mask, frozenset(port for neighbour in neighbours for port in adjacent[name][neighbour]))
            for mask, neighbours in of.items()
        )
        for name, of in classes.items()
    }
    return Reach(bit, groups)


def _split(split: dict[int, list[str]], offered: int, neighbour: str) -> None:
    """Refine the classes of origins by which neighbours offer them."""
    rest = offered
    for mask in list(split):
        both = mask & rest
        if not both:
            continue
        owners = split[mask]
        if both == mask:
            owners.append(neighbour)
        else:
            del split[mask]
            split[mask & ~both] = owners
            split[both] = [*owners, neighbour]
        rest &= ~both
        if not rest:
            return
    split[rest] = [neighbour]
