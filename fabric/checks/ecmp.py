"""ECMP (BGP-03): the equal-cost next hops the Plan leaves, given the live sessions, in RIB, kernel, APPL_DB and ASIC.

What is known down (a dark cable, a dead session) is taken out of the expectation first, so that a claim here is
about forwarding only, and names the layer where a next hop got lost. Layers below a loss repeat it and say nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fabric.checks._cabling_words import some
from fabric.checks.bgp import session_up
from fabric.checks.judged import Judged
from fabric.checks.reach import Reach, reach
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.snapshot import FibRoute, Neighbour, NextHop, Route, SwitchState

_RIB, _KERNEL, _APPL, _ASIC = "RIB", "kernel", "APPL_DB", "ASIC_DB"


@dataclass(slots=True)
class _Loss:
    """What one layer of one switch lost: prefix -> ports missing; whole routes; ports that should not be there."""

    missing: dict[str, frozenset[str]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    stale: dict[str, frozenset[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.missing or self.gone or self.stale)


def judge(view: View) -> Judged:
    """Judge every prefix of the Plan on every switch in scope, layer by layer."""
    judged = Judged()
    routes = _Routes(view)
    lost: list[tuple[str, _Loss, dict[int, frozenset[str]]]] = []
    for name in view.switches:
        state = view.state(name)
        if state is None or state.rib is None:
            continue
        loss, expected = _switch(view, routes, name, state, judged)
        if loss:
            lost.append((name, loss, expected))
    mute = _mute(view, routes, [(name, loss) for name, loss, _ in lost])
    judged.claims.extend(_mute_claim(view, device, prefixes) for device, prefixes in mute.items())
    judged.claims.extend(_rib_claim(view, name, loss, expected, routes, mute) for name, loss, expected in lost)
    _neighbours(view, judged)
    return judged


class _Routes:
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

    def table(self, name: str) -> dict[int, frozenset[str]]:
        """Ports over which a switch should reach each origin; kept, for switches that lost something."""
        found = self._tables.get(name)
        if found is None:
            found = self._tables[name] = self.sure.by_bit(name)
        return found


class _Ports:
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


def _switch(
    view: View, routes: _Routes, name: str, state: SwitchState, judged: Judged
) -> tuple[_Loss, dict[int, frozenset[str]]]:
    """Judge one switch; gives back what its RIB lost, to be told when all are known, and what it should have."""
    assert state.rib is not None
    losses: dict[str, _Loss] = {layer: _Loss() for layer in (_RIB, _KERNEL, _APPL, _ASIC)}
    lower = [(layer, table) for layer, table in _layers(state) if table is not None]
    expected = routes.sure.by_bit(name)
    allowed = expected if routes.maybe is routes.sure else routes.maybe.by_bit(name)
    ports = _Ports(view, name)
    origin, most = routes.origin, routes.most
    refused: list[str] = []
    rejected: list[str] = []
    pending: list[str] = []
    dropped: list[str] = []
    met = passed = 0
    for prefix, route in state.rib.items():
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
                _compare_rib(losses[_RIB], prefix, have, want or frozenset(), allowed.get(number, frozenset()), most)
        if route.failed and route.offloaded is None:
            # The kernel said no: what the layers below hold is older than the RIB and is not judged by it.
            refused.append(prefix)
            continue
        if route.failed:
            rejected.append(prefix)
        elif route.queued:
            pending.append(prefix)
        elif route.installed is False:
            dropped.append(prefix)
        upper = have
        for layer, table in lower:
            fib = table.get(prefix)
            if fib is None:
                fib = _unmasked(table, prefix)
                if fib is None:
                    losses[layer].gone.append(prefix)
                    continue
            if fib.next_hops is hops and not fib.unresolved:
                passed += 1
                upper = have
                continue
            below = ports(fib.next_hops)
            above = upper if layer is _ASIC else have
            if below == above and not fib.unresolved:
                passed += 1
            else:
                # What only the RIB lost is told once, there.
                known = losses[_RIB].missing.get(prefix)
                _compare(losses[layer], prefix, below, above, have if known is None else have | known)
            upper = below
    if met < sum(len(routes.networks[number]) for number in expected):
        for number in expected:
            for prefix in routes.networks[number]:
                if number == origin.get(prefix) and prefix not in state.rib:
                    losses[_RIB].gone.append(prefix)
    judged.passed += passed
    judged.claims.extend(_claims(view, name, state, losses))
    judged.claims.extend(_refused(view, name, refused, rejected, pending, dropped))
    return losses[_RIB], expected


def _layers(state: SwitchState) -> tuple[tuple[str, Mapping[str, FibRoute] | None], ...]:
    return (_KERNEL, state.kernel), (_APPL, state.appl), (_ASIC, state.asic)


def _unmasked(table: Mapping[str, FibRoute], prefix: str) -> FibRoute | None:
    """APPL_DB writes host routes without their length (facts sonic 5.7)."""
    if prefix.endswith("/32"):
        return table.get(prefix[:-3])
    return table.get(prefix[:-4]) if prefix.endswith("/128") else None


def _compare_rib(
    loss: _Loss, prefix: str, have: frozenset[str], want: frozenset[str], may: frozenset[str], most: int
) -> None:
    missing, extra = want - have, have - may
    if len(want) > most and len(have) == most:
        missing = frozenset()  # FRR takes as many as it may; which ones is its own choice.
    if missing:
        loss.missing[prefix] = missing
    if extra:
        loss.stale[prefix] = extra


def _compare(loss: _Loss, prefix: str, below: frozenset[str], above: frozenset[str], rib: frozenset[str]) -> None:
    """A layer against the one that feeds it; what is too much is judged by the RIB."""
    missing, extra = above - below, below - rib
    if missing or not below:
        loss.missing[prefix] = missing or above
    if extra:
        loss.stale[prefix] = extra


def _claims(view: View, name: str, state: SwitchState, losses: dict[str, _Loss]) -> Iterator[Claim]:
    """One claim a layer below the RIB. Kernel and APPL_DB are fed by the same zebra: an equal loss in both is one."""
    twins = losses[_KERNEL], losses[_APPL]
    label = _KERNEL
    if twins[0] and twins[0] == twins[1]:
        label = f"{_KERNEL} and {_APPL}"
        losses[_APPL] = _Loss()
    for layer, loss in losses.items():
        if loss and layer is not _RIB:
            if layer is _ASIC and state.appl is not None:
                loss.gone = [prefix for prefix in loss.gone if prefix in state.appl or _unmasked(state.appl, prefix)]
                if not loss:
                    continue
            yield _layer_claim(view, name, state, label if layer is _KERNEL else layer, loss)


_REMEDIES = {
    _RIB: "`vtysh -c 'show bgp ipv4 unicast PREFIX'` on {device}: the path is filtered, not multipath "
    "(maximum-paths), or its neighbour does not announce it",
    _KERNEL: "`ip route show PREFIX` and `ip nexthop` against `vtysh -c 'show ip route PREFIX'` on {device}: zebra's "
    "group in the kernel is incomplete; bounce one session of the group, or restart bgp in a quiet moment",
    _APPL: "`sonic-db-cli APPL_DB HGETALL ROUTE_TABLE:PREFIX` on {device}: fpmsyncd did not pass it on; restart bgp "
    "in a quiet moment",
    _ASIC: "`sudo route_check.py` and `show arp` on {device}: orchagent did not program it (unresolved neighbour, full "
    "group table: `crm show resources nexthop group`)",
}


def _mute(view: View, routes: _Routes, lost: list[tuple[str, _Loss]]) -> dict[str, list[str]]:
    """Switches that have routes and give them to none of their neighbours: drained, or filtered. -> the prefixes."""
    missed: dict[tuple[str, str], set[str]] = defaultdict(set)
    for name, loss in lost:
        for prefix, ports in loss.missing.items():
            for port in ports:
                missed[_far(view, name, port), prefix].add(name)
        for prefix in loss.gone:
            for port in routes.table(name)[routes.origin[prefix]]:
                missed[_far(view, name, port), prefix].add(name)
    found: dict[str, list[str]] = defaultdict(list)
    for (device, prefix), missing in missed.items():
        if len(missing) > 1 and device and not _lacks(view, device, prefix):
            asked = {
                name
                for name in routes.neighbours.get(device, ())
                if _expects(view, routes, name, prefix, device) and _has_rib(view, name)
            }
            if missing >= asked:
                found[device].append(prefix)
    return found


def _expects(view: View, routes: _Routes, name: str, prefix: str, device: str) -> bool:
    ports = routes.table(name).get(routes.origin[prefix], frozenset())
    return any(_far(view, name, port) == device for port in ports)


def _has_rib(view: View, name: str) -> bool:
    state = view.state(name)
    return state is not None and state.rib is not None and name in view.switches


def _mute_claim(view: View, device: str, prefixes: list[str]) -> Claim:
    return _claim(
        view,
        device,
        Cause.ROUTE_LOST,
        layer=_RIB,
        prefix=prefixes[0],
        expected=f"{device} announces {_prefixes(prefixes)} to all of its neighbours",
        observed=f"{device} announces {_prefixes(prefixes)} to none of its neighbours, though it has the route itself",
        evidence="every neighbour with a session to it lacks it",
        ports=frozenset(),
        remedy=f"on {device}: `TSC` shows whether it is drained (`TSB` ends that; `railfab hold {device}` keeps it on "
        "purpose); else look at its outbound route-maps",
    )


def _rib_claim(
    view: View,
    name: str,
    loss: _Loss,
    expected: dict[int, frozenset[str]],
    routes: _Routes,
    mute: Mapping[str, list[str]],
) -> Claim:
    blamed: set[str] = set()
    own: dict[str, frozenset[str]] = {}
    pairs = dict(loss.missing)
    pairs.update({prefix: expected[routes.origin[prefix]] for prefix in loss.gone})
    for prefix, ports in pairs.items():
        lost = {port: _far(view, name, port) for port in ports}
        innocent = frozenset(
            port for port, far in lost.items() if not _lacks(view, far, prefix) and prefix not in mute.get(far, ())
        )
        if innocent:
            own[prefix] = innocent
        blamed.update(far for port, far in lost.items() if port not in innocent and far)
    shown = own or pairs
    ports = frozenset(port for of in (*shown.values(), *loss.stale.values()) for port in of)
    first = next(iter(shown), next(iter(loss.stale), ""))
    want = expected.get(routes.origin.get(first, -1), frozenset())
    if shown:
        said = f"RIB lacks {_hops(view, name, ports)} for {_prefixes(shown)}"
        if loss.gone:
            said = f"RIB has no route to {_prefixes(loss.gone)}"
    else:
        said = f"RIB has next hops it should not have: {_hops(view, name, ports)} for {_prefixes(loss.stale)}"
    return _claim(
        view,
        name,
        Cause.ROUTE_LOST,
        layer=_RIB,
        prefix=first,
        expected=f"{len(want)} equal next hops for {first} by the plan, minus what is known down",
        observed=f"{name}: {said}",
        evidence="all sessions counted here are Established at both ends",
        ports=ports,
        blamed=frozenset() if own else frozenset(blamed),
        status=Status.FAIL if shown else Status.WARN,
    )


def _lacks(view: View, device: str, prefix: str) -> bool:
    """Whether a neighbour has no route itself, so that it cannot announce one."""
    state = view.state(device)
    if state is None or state.rib is None:
        return False
    return prefix not in state.rib and prefix not in view.plan.switches[device].networks


def _layer_claim(view: View, name: str, state: SwitchState, layer: str, loss: _Loss) -> Claim:
    assert state.rib is not None
    parts = []
    ports: frozenset[str] = frozenset()
    if loss.missing:
        ports = frozenset(port for of in loss.missing.values() for port in of)
        parts.append(f"{layer} lacks {_hops(view, name, ports)} for {_prefixes(loss.missing)}")
    if loss.gone:
        parts.append(f"{layer} has no route to {_prefixes(loss.gone)}")
    if loss.stale:
        stale = frozenset(port for of in loss.stale.values() for port in of)
        ports |= stale
        parts.append(f"{layer} still uses {_hops(view, name, stale)} for {_prefixes(loss.stale)}")
    first = next(iter([*loss.missing, *loss.gone, *loss.stale]))
    route: Route | None = state.rib.get(first)
    count = len(route.next_hops) if route is not None else 0
    left = count - len(loss.missing.get(first, ())) if first in loss.missing else None
    return _claim(
        view,
        name,
        Cause.ECMP,
        layer=layer,
        prefix=first,
        expected=f"{layer} has the {count} next hops that the RIB has for {first}",
        observed=f"{name}: {'; '.join(parts)}",
        evidence=f"RIB {count} next hops, {layer} {left if left is not None else 'other ones'} for {first}",
        ports=ports,
    )


def _claim(
    view: View,
    name: str,
    cause: Cause,
    *,
    layer: str,
    prefix: str,
    expected: str,
    observed: str,
    evidence: str,
    ports: frozenset[str],
    blamed: frozenset[str] = frozenset(),
    status: Status = Status.FAIL,
    remedy: str | None = None,
) -> Claim:
    switch = view.plan.switches[name]
    links = [link for link in (view.of_end.get((name, port)) for port in sorted(ports)) if link is not None]
    single = len(links) == 1
    remedy = remedy or _REMEDIES.get(layer, _REMEDIES[_KERNEL]).replace("{device}", name).replace(
        "PREFIX", prefix or "PREFIX"
    )
    finding = Finding(
        code="BGP-03",
        status=status,
        severity=Severity.BLOCK if status is Status.FAIL else Severity.WARN,
        confidence=Confidence.CERTAIN,
        device=name,
        port=(links[0].a if links[0].a[0] == name else links[0].b)[1] if single else None,
        rail=switch.rail,
        rails=(switch.rail,) if switch.rail is not None else (),
        cable=links[0].name if single else None,
        expected=expected,
        observed=observed,
        evidence=evidence,
        remedy=remedy,
    )
    return Claim(
        cause, finding, cables=frozenset(link.name for link in links), devices=frozenset({name}), blamed=blamed
    )


def _refused(
    view: View, name: str, refused: list[str], rejected: list[str], pending: list[str], dropped: list[str]
) -> Iterator[Claim]:
    """Routes that FRR itself calls rejected, waiting, or not installed (F067, F069)."""
    for prefixes, word, status in (
        (refused, "rejected by the kernel, which keeps an older route or none", Status.FAIL),
        (rejected, "rejected by the forwarding layer", Status.FAIL),
        (dropped, "not installed", Status.FAIL),
        (pending, "still queued for installation", Status.WARN),
    ):
        if prefixes:
            yield _claim(
                view,
                name,
                Cause.ECMP,
                layer=_KERNEL if prefixes is refused or prefixes is dropped else _ASIC,
                prefix=prefixes[0],
                expected="every selected route installed and offloaded",
                observed=f"{name}: {_prefixes(prefixes)} {word}",
                evidence="`show ip route json` flags",
                ports=frozenset(),
                status=status,
            )


def _far(view: View, name: str, port: str) -> str:
    far = view.far((name, port))
    return far[0] if far is not None else ""


def _hops(view: View, name: str, ports: frozenset[str]) -> str:
    said = []
    for port in sorted(ports):
        planned = view.plan.port(name, port)
        address = planned.peer_addresses[0].partition("/")[0] if planned and planned.peer_addresses else ""
        far = _far(view, name, port)
        said.append(f"{address} over {port} ({far})" if address else f"{port} ({far})" if far else port)
    plural = "next hop" if len(said) == 1 else f"{len(said)} next hops:"
    return f"{plural} {some(said, 4)}"


def _prefixes(prefixes: Mapping[str, object] | list[str]) -> str:
    names = sorted(prefixes)
    return names[0] if len(names) == 1 else f"{len(names)} prefixes ({some(names, 3)})"


def _neighbours(view: View, judged: Judged) -> None:
    """Addresses of planned neighbours that a switch asked for and did not get (F071); STALE forwards."""
    for name in view.switches:
        state = view.state(name)
        if state is None:
            continue
        for entry in state.neighbours or ():
            if entry.state not in ("FAILED", "INCOMPLETE"):
                continue
            end = (name, entry.port)
            link = view.of_end.get(end)
            port = view.plan.port(*end)
            if link is None or port is None or link.life is not Life.SERVICE or view.up(end) is not True:
                continue
            if any(address.partition("/")[0] == entry.address for address in port.peer_addresses):
                judged.claims.append(_silent_neighbour(view, link, end, entry))


def _silent_neighbour(view: View, link: Link, end: End, entry: Neighbour) -> Claim:
    far = link.b if link.a == end else link.a
    finding = Finding(
        code="ADDR-04",
        status=Status.FAIL,
        severity=Severity.BLOCK if link.host else Severity.WARN,
        confidence=Confidence.LIKELY,
        device=end[0],
        port=end[1],
        node=link.b[0] if link.host else None,
        nic=link.b[1] if link.host else None,
        rail=link.rail,
        nodes=(link.b[0],) if link.host else (),
        rails=(link.rail,) if link.rail is not None else (),
        cable=link.name,
        expected=f"{entry.address} answers on {view.name(end)}",
        observed=f"{view.name(end)}: neighbour {entry.address} ({far[0]} {far[1]}) is {entry.state}",
        evidence="neighbour table of the switch",
        remedy=f"look at the address of {far[0]} {far[1]} (`ip -br address`), then ping it from {end[0]}",
    )
    return Claim(Cause.NEIGHBOUR, finding, cables=frozenset({link.name}), devices=frozenset({link.a[0], link.b[0]}))
