"""Weighted ECMP (ECMP-06): the weights of next hops, from the sessions that are up to the RIB and down to the ASIC.

Each switch announces a route with the number of paths it has itself; the receiver shares its traffic by that. With
everything up all weights are equal; a spine that lost one of two links towards a leaf gets half the share. Only shares
are compared: FRR writes them in percent, an ASIC may write them otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
    known: dict[tuple[int, int], _Weights | None] = {}
    for prefix, route in state.rib.items():
        hops = route.next_hops
        if route.protocol != "bgp" or len(hops) < 2 or route.failed:
            continue
        have = _weights(hops)
        number = routes.origin.get(prefix)
        if number is not None:
            key = (id(hops), number)
            if key not in known:
                known[key] = _expected(routes, view, name, number, have)
            want = known[key]
            if want is not None:
                if _alike(have, want):
                    judged.passed += 1
                else:
                    wrong.setdefault(RIB, []).append((prefix, have, want))
        for layer, table in lower:
            fib = table.get(prefix)
            if fib is None or fib.unresolved:
                continue  # BGP-03 says so.
            if fib.next_hops is hops:
                judged.passed += 1
                continue
            below = _weights(fib.next_hops)
            if below.keys() != have.keys():
                continue
            if _alike(below, have):
                judged.passed += 1
            else:
                wrong.setdefault(layer, []).append((prefix, below, have))
                break  # Layers below repeat it.
    judged.claims.extend(_claims(view, name, wrong))


def _layers(state: SwitchState) -> tuple[tuple[str, Mapping[str, FibRoute] | None], ...]:
    return (KERNEL, state.kernel), (APPL, state.appl), (ASIC, state.asic)


def _weights(hops: Sequence[NextHop]) -> _Weights:
    """Next hop (its address, else its port) -> weight. Some layers do not say the port."""
    found: dict[str, int] = {}
    for hop in hops:
        at = hop.address or hop.port
        found[at] = found.get(at, 0) + hop.weight
    return found


def _expected(routes: Routes, view: View, name: str, number: int, have: _Weights) -> _Weights | None:
    """Paths that the switch behind each next hop has; None when a hold or a lost next hop leaves it open."""
    if routes.maybe is not routes.sure:
        return None
    ports = routes.table(name).get(number, frozenset())
    origin = list(view.plan.switches)[number]
    found: dict[str, int] = {}
    for port in ports:
        planned = view.plan.port(name, port)
        far = view.far((name, port))
        if planned is None or far is None:
            return None
        paths = 1 if far[0] == origin else min(routes.most, len(routes.table(far[0]).get(number, ())))
        at = next((a for a in (a.partition("/")[0] for a in planned.peer_addresses) if a in have), port)
        found[at] = paths
    return found if found.keys() == have.keys() and all(found.values()) else None


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
