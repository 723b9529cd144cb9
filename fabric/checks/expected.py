"""Which routes every switch should have, by the sessions that are up now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from fabric.checks.bgp import session_up
from fabric.checks.reach import Reach, reach
from fabric.checks.view import Life, View


class Routes:
    """What every switch should have: reach over sessions that are up, and over those that may be."""

    def __init__(self, view: View) -> None:
        plan = view.plan
        asns = {name: switch.asn for name, switch in plan.switches.items()}
        sure: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
        maybe: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
        doubt = False
        for link in view.all_links:
            if link.host or link.a_port.peer_asn is None or link.life is Life.PLANNED:
                continue
            up = session_up(view, link)
            if up is False:
                continue
            if view.hold_on(link.a) or view.hold_on(link.b):
                up = None  # Held by hand (drained, for instance): routes may come this way or not.
            doubt |= up is None
            for near, far in ((link.a, link.b), (link.b, link.a)):
                for table in (maybe,) if up is None else (sure, maybe):
                    table[near[0]][far[0]] = (*table[near[0]].get(far[0], ()), near[1])
        self.sure: Reach = reach(asns, sure)
        self.maybe: Reach = reach(asns, maybe) if doubt else self.sure
        self.neighbours = sure
        self._tables: dict[str, dict[int, frozenset[str]]] = {}
        self.most = plan.routing.maximum_paths
        self.networks = [switch.networks for switch in plan.switches.values()]
        # A prefix that several switches announce is compared between layers only.
        self.origin: dict[str, int] = {}
        shared: set[str] = set()
        for number, networks in enumerate(self.networks):
            for prefix in networks:
                if self.origin.setdefault(prefix, number) != number:
                    shared.add(prefix)
        for prefix in shared:
            del self.origin[prefix]

        # (switches, origin) -> whether all of them have as many paths to it; leaves share their spines.
        self.even: dict[tuple[frozenset[str], int], bool] = {}
        self._masks: dict[int, tuple[Sequence[str], int, bool]] = {}

    def mask(self, prefixes: Sequence[str]) -> tuple[int, bool]:
        """Origins of prefixes as bits, and whether every network of each of them is there; kept by identity."""
        known = self._masks.get(id(prefixes))
        if known is None:
            counts: dict[int, int] = defaultdict(int)
            mask, whole = 0, True
            for prefix in prefixes:
                number = self.origin.get(prefix)
                if number is None:
                    whole = False
                else:
                    counts[number] += 1
                    mask |= 1 << number
            whole = whole and all(count == len(self.networks[number]) for number, count in counts.items())
            known = self._masks[id(prefixes)] = (prefixes, mask, whole)
        return known[1], known[2]

    def table(self, name: str) -> dict[int, frozenset[str]]:
        """Ports over which a switch should reach each origin; kept, for switches that lost something."""
        found = self._tables.get(name)
        if found is None:
            found = self._tables[name] = self.sure.by_bit(name)
        return found
