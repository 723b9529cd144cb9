"""How full the tables of a switch's ASIC are (CRM:STATS), counted from its routes when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fabric.values.snapshot import FibRoute
from fabric.whatif._routing import RouteTable

# Room for each, of an ASIC that is none; the names are CRM's.
_SIZES = {
    "ipv4_route": 100_000,
    "ipv6_route": 50_000,
    "ipv4_nexthop": 16_384,
    "ipv6_nexthop": 16_384,
    "nexthop_group": 512,
    "nexthop_group_member": 16_384,
}


class Crm(Mapping[str, int]):
    """`NAME_used` and `NAME_available` of one switch."""

    __slots__ = ("_asic", "_counted")

    def __init__(self, asic: Mapping[str, FibRoute]) -> None:
        self._asic = asic
        self._counted: dict[str, int] | None = None

    def _all(self) -> dict[str, int]:
        if self._counted is None:
            used = _used(self._asic)
            self._counted = {f"{name}_used": used[name] for name in _SIZES}
            self._counted |= {f"{name}_available": size - used[name] for name, size in _SIZES.items()}
        return self._counted

    def __getitem__(self, name: str) -> int:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


def _used(asic: Mapping[str, FibRoute]) -> dict[str, int]:
    groups: set[tuple[object, ...]] = set()
    hops: set[str] = set()
    six = total = 0
    bulk = asic.bulk() if isinstance(asic, RouteTable) else None
    if isinstance(asic, RouteTable) and bulk is not None:
        # Edited routes are few, and their old groups mostly stay with other prefixes.
        rows = [(of, prefixes) for of, prefixes in bulk]
        rows += [(route.next_hops, (prefix,)) for prefix, route in asic.special.items() if route is not None]
    else:
        rows = [(route.next_hops, (prefix,)) for prefix, route in asic.items()]
    for of, prefixes in rows:
        total += len(prefixes)
        six += len(prefixes) if ":" in prefixes[0] else 0
        if len(of) > 1:
            groups.add(of)
        hops.update(hop.address for hop in of if hop.address)
    return {
        "ipv4_route": total - six,
        "ipv6_route": six,
        "ipv4_nexthop": sum(":" not in hop for hop in hops),
        "ipv6_nexthop": sum(":" in hop for hop in hops),
        "nexthop_group": len(groups),
        "nexthop_group_member": sum(len(of) for of in groups),
    }
