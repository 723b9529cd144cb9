"""Weighted ECMP (ECMP-06): the weights of next hops, from the sessions that are up to the RIB and down to the ASIC.

Each switch announces a route with the number of paths it has itself; the receiver shares its traffic by that. With
everything up all weights are equal; a spine that lost one of two links towards a leaf gets half the share. Only shares
are compared: FRR writes them in percent, an ASIC may write them otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fabric.checks._cabling_words import some
from fabric.checks.expected import Routes
from fabric.checks.judged import Judged
from fabric.checks.layers import APPL, ASIC, KERNEL, RIB
from fabric.checks.view import View
from fabric.diagnose.claim import Cause, Claim
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.snapshot import FibRoute, NextHop, SwitchState

# Two shares this close, relative to the larger, are one: half of what one lost link of four makes.
_TOLERANCE = 0.12
# Sums that weights are rounded to: percent (FRR), and what fits a byte.
_SCALES = (100, 255)

_Weights = Mapping[str, int]


def judge(view: View, routes: Routes, name: str, state: SwitchState, judged: Judged) -> None:
    """Judge one switch; nothing when the Plan has no weights."""
    if not view.plan.routing.weighted_ecmp or state.rib is None:
        return
    lower = [(layer, table) for layer, table in _layers(state) if table is not None]
    wrong: dict[str, list[tuple[str, _Weights, _Weights]]] = {}
    weighed = _Weighed()
    wanted = _Wanted(view, routes, name)
    for prefix, route in state.rib.items():
        hops = route.next_hops
        if route.protocol != "bgp" or len(hops) < 2 or route.failed:
            continue
        number = routes.origin.get(prefix)
        if number is not None:
            if weighed.equal(hops) and wanted.equal(number):
                judged.passed += 1
            else:
                have = weighed(hops)
                want = wanted(number, have)
                if want is not None and _alike(have, want):
                    judged.passed += 1
                elif want is not None:
                    wrong.setdefault(RIB, []).append((prefix, have, want))
        for layer, table in lower:
            fib = table.get(prefix)
            if fib is None or fib.unresolved:
                continue  # BGP-03 says so.
            if fib.next_hops is hops:
                judged.passed += 1
                continue
            have, below = weighed(hops), weighed(fib.next_hops)
            if below.keys() != have.keys():
                continue
            if _alike(below, have):
                judged.passed += 1
            else:
                wrong.setdefault(layer, []).append((prefix, below, have))
                break  # Layers below repeat it.
    judged.claims.extend(_claims(view, name, wrong))


class _Weighed:
    """Weights by next hop (its address, else its port: some layers do not say it); each tuple is looked at once."""

    def __init__(self) -> None:
        # id -> (the tuple itself, kept so that its id is not used again; its weights; whether they are equal)
        self._known: dict[int, tuple[tuple[NextHop, ...], _Weights, bool]] = {}

    def _look(self, hops: tuple[NextHop, ...]) -> tuple[tuple[NextHop, ...], _Weights, bool]:
        known = self._known.get(id(hops))
        if known is None:
            found: dict[str, int] = {}
            for hop in hops:
                at = hop.address or hop.port
                found[at] = found.get(at, 0) + hop.weight
            known = self._known[id(hops)] = (hops, found, len(set(found.values())) == 1)
        return known

    def __call__(self, hops: tuple[NextHop, ...]) -> _Weights:
        return self._look(hops)[1]

    def equal(self, hops: tuple[NextHop, ...]) -> bool:
        return self._look(hops)[2]


class _Wanted:
    """Paths that the switch behind each next hop has to an origin; None when a hold or lost next hop leaves it open."""

    def __init__(self, view: View, routes: Routes, name: str) -> None:
        self._view, self._routes, self._name = view, routes, name
        self._origins = list(view.plan.switches)
        self._sure = routes.maybe is routes.sure
        # id of a set of ports (the reach shares them among origins) -> the set, and the switches behind it
        self._behind: dict[int, tuple[frozenset[str], frozenset[str]]] = {}
        self._equal: dict[int, bool] = {}

    def equal(self, number: int) -> bool:
        """Whether all next switches have as many paths, so that all weights are equal."""
        found = self._equal.get(number)
        if found is None:
            found = self._equal[number] = self._sure and self._one_count(number)
        return found

    def _one_count(self, number: int) -> bool:
        ports = self._routes.table(self._name).get(number)
        if not ports:
            return False
        behind = self._behind.get(id(ports))
        if behind is None:
            fars = (self._view.far((self._name, port)) for port in ports)
            behind = self._behind[id(ports)] = (ports, frozenset(far[0] if far is not None else "" for far in fars))
        key = (behind[1], number)
        even = self._routes.even.get(key)
        if even is None:
            even = "" not in behind[1] and len({self._paths(far, number) for far in behind[1]}) == 1
            self._routes.even[key] = even
        return even

    def _paths(self, far: str, number: int) -> int:
        if far == self._origins[number]:
            return 1
        return min(self._routes.most, len(self._routes.table(far).get(number, ())))

    def __call__(self, number: int, have: _Weights) -> _Weights | None:
        if not self._sure:
            return None
        found: dict[str, int] = {}
        for port in self._routes.table(self._name).get(number, ()):
            planned = self._view.plan.port(self._name, port)
            far = self._view.far((self._name, port))
            if planned is None or far is None:
                return None
            at = next((a for a in (a.partition("/")[0] for a in planned.peer_addresses) if a in have), port)
            found[at] = self._paths(far[0], number)
        return found if found.keys() == have.keys() and all(found.values()) else None


def _layers(state: SwitchState) -> tuple[tuple[str, Mapping[str, FibRoute] | None], ...]:
    return (KERNEL, state.kernel), (APPL, state.appl), (ASIC, state.asic)


def _alike(one: _Weights, other: _Weights) -> bool:
    """Whether two sets of weights share traffic alike, as far as whole numbers can say."""
    of_one, of_other = sum(one.values()), sum(other.values())
    if of_one <= 0 or of_other <= 0:
        return False
    if all(
        abs(one[at] / of_one - other[at] / of_other) <= _TOLERANCE * max(one[at] / of_one, other[at] / of_other)
        for at in one
    ):
        return True
    return any(
        all(max(1, scale * other[at] // of_other) == one[at] for at in one)
        or all(max(1, round(scale * other[at] / of_other)) == one[at] for at in one)
        for scale in _SCALES
    )


def _claims(view: View, name: str, wrong: Mapping[str, list[tuple[str, _Weights, _Weights]]]) -> Iterator[Claim]:
    rail = view.plan.switches[name].rail
    for layer, found in wrong.items():
        prefix, have, want = min(found, key=lambda one: one[0])
        source = "the sessions that are up" if layer is RIB else RIB
        many = f"{prefix} and {len(found) - 1} more prefixes" if len(found) > 1 else prefix
        finding = Finding(
            code="ECMP-06",
            status=Status.WARN if layer is RIB else Status.FAIL,
            severity=Severity.WARN,
            confidence=Confidence.LIKELY if layer is RIB else Confidence.CERTAIN,
            device=name,
            rail=rail,
            rails=(rail,) if rail is not None else (),
            expected=f"weights by {source} for {prefix}: {_words(want)}",
            observed=f"{name}: {layer} shares {many} as {_words(have)}",
            evidence=f"weights of next hops in {layer} against {source}",
            remedy=f"on {name}: `vtysh -c 'show bgp ipv4 unicast {prefix}'` shows the link bandwidth each neighbour "
            "sent, and the outbound route map of a neighbour that sent none lacks it"
            if layer is RIB
            else f"on {name}: `vtysh -c 'show ip route {prefix}'` against the weight field of APPL_DB ROUTE_TABLE; a "
            "release or ASIC without weighted groups cannot do it: switch routing.weighted_ecmp off",
        )
        yield Claim(Cause.BALANCE, finding, devices=frozenset({name}))


def _words(weights: _Weights) -> str:
    total = sum(weights.values()) or 1
    return some([f"{at} {weight / total:.0%}" for at, weight in sorted(weights.items())], 8)
