"""ECMP (BGP-03): the equal-cost next hops the Plan leaves, given the live sessions, in RIB, kernel, APPL_DB and ASIC.

What is known down (a dark cable, a dead session) is taken out of the expectation first, so that a claim here is
about forwarding only, and names the layer where a next hop got lost. Layers below a loss repeat it and say nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from fabric.checks import kept_back, tables, vlans, weights
from fabric.checks._cabling_words import some
from fabric.checks.bgp import bare
from fabric.checks.expected import Routes
from fabric.checks.judged import Judged
from fabric.checks.layers import APPL, ASIC, KERNEL, RIB, Loss, Ports, Seen, compare, unmasked
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.snapshot import Neighbour, Route, SwitchState


def judge(view: View) -> Judged:
    """Judge every prefix of the Plan on every switch in scope, layer by layer."""
    judged = Judged()
    routes = Routes(view)
    lost: list[tuple[str, Loss]] = []
    for name in view.switches:
        state = view.state(name)
        if state is None or state.rib is None:
            continue
        seen = compare(view, routes, name, state)
        judged.passed += seen.passed
        below = (
            *_claims(view, name, state, seen.losses),
            *_refused(view, name, seen),
            *_waiting(view, name, seen.waiting),
        )
        judged.claims.extend(claim for layer, claim in below if layer is not ASIC)
        claims, room = tables.judge(view, name, [claim for layer, claim in below if layer is ASIC])
        judged.claims.extend(claims)
        judged.passed += room
        weights.judge(view, routes, name, state, judged)
        if seen.losses[RIB]:
            lost.append((name, seen.losses[RIB]))
    mute = _mute(view, routes, lost)
    judged.claims.extend(_mute_claim(view, device, prefixes) for device, prefixes in mute.items())
    judged.claims.extend(_rib_claim(view, name, loss, routes, mute) for name, loss in lost)
    _neighbours(view, judged)
    vlans.judge(view, judged)
    return judged


def _claims(view: View, name: str, state: SwitchState, losses: dict[str, Loss]) -> Iterator[tuple[str, Claim]]:
    """One claim a layer below the RIB. Kernel and APPL_DB are fed by the same zebra: an equal loss in both is one."""
    twins = losses[KERNEL], losses[APPL]
    label = KERNEL
    if twins[0] and twins[0] == twins[1]:
        label = f"{KERNEL} and {APPL}"
        losses[APPL] = Loss()
    for layer, loss in losses.items():
        if loss and layer is not RIB:
            if layer is ASIC and state.appl is not None:
                loss.gone = [prefix for prefix in loss.gone if prefix in state.appl or unmasked(state.appl, prefix)]
                if not loss:
                    continue
            yield layer, _layer_claim(view, name, state, label if layer is KERNEL else layer, loss)


_REMEDIES = {
    KERNEL: "on {device}: `ip route show PREFIX` lacks what `vtysh -c 'show ip route PREFIX'` has, so zebra's group in "
    "the kernel is incomplete: `vtysh -c 'clear bgp HOP'` writes it anew (that session's routes are away for some "
    "seconds); if it comes back, `sudo systemctl restart bgp` with the switch drained (`sudo TSA`)",
    APPL: "on {device}: `sonic-db-cli APPL_DB HGETALL ROUTE_TABLE:PREFIX` lacks what `ip route show PREFIX` has, so "
    "fpmsyncd did not pass it on: `docker exec bgp supervisorctl status fpmsyncd`, then `docker exec bgp supervisorctl "
    "restart fpmsyncd`, else `sudo systemctl restart bgp` with the switch drained (`sudo TSA`)",
    ASIC: "on {device}: `show arp | grep -w HOP` (no MAC: `ping -c 3 HOP`), `crm show resources nexthop group` (none "
    "left: ECMP-05), `grep -i orchagent /var/log/syslog | tail` (SAI errors); all fine: `sudo route_check.py` and "
    "`sudo config interface shutdown` and `startup` of PORT program it anew",
}


def _mute(view: View, routes: Routes, lost: list[tuple[str, Loss]]) -> dict[str, list[str]]:
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


def _expects(view: View, routes: Routes, name: str, prefix: str, device: str) -> bool:
    ports = routes.table(name).get(routes.origin[prefix], frozenset())
    return any(_far(view, name, port) == device for port in ports)


def _has_rib(view: View, name: str) -> bool:
    state = view.state(name)
    return state is not None and state.rib is not None and name in view.switches


def _mute_claim(view: View, device: str, prefixes: list[str]) -> Claim:
    """Drained, filtered, or no longer the origin it is planned to be: the three look alike from outside."""
    state = view.state(device)
    first = min(prefixes)
    ip, family = ("ipv6", "ipv6") if ":" in first else ("ip", "ipv4")
    own = [prefix for prefix in prefixes if prefix in view.plan.switches[device].networks]
    absent = [prefix for prefix in own if state is not None and state.rib is not None and prefix not in state.rib]
    has = "though it has the route itself"
    drained = f"`TSC` on {device} shows whether it is drained (`TSB` ends that, `railfab hold {device}` keeps it)"
    if absent:
        has = f"and has no route to {_prefixes(absent)} itself, which it must originate"
        remedy = (
            f"on {device}: `vtysh -c 'show {ip} route {min(absent)}'` is empty: `{ip} route {min(absent)} blackhole` "
            f"(or Loopback0) is missing; `railfab drift INTENT` shows it, `railfab plan` and `apply` put it back"
        )
    elif own:
        remedy = (
            f"{drained}; else `vtysh -c 'show running-config bgpd'` there: `network {first}` is missing, or an "
            "outbound route-map or prefix-list refuses it (`railfab drift INTENT` names the line)"
        )
    else:
        remedy = (
            f"{drained}; else `vtysh -c 'show bgp {family} unicast {first}'` there says `Not advertised to any peer`: "
            "look at its outbound route-maps (`railfab drift INTENT` names the line)"
        )
    return _claim(
        view,
        device,
        Cause.ROUTE_LOST,
        expected=f"{device} announces {_prefixes(prefixes)} to all of its neighbours",
        observed=f"{device} announces {_prefixes(prefixes)} to none of its neighbours, {has}",
        evidence="every neighbour with a session to it lacks it",
        ports=frozenset(),
        remedy=remedy,
    )


def _rib_claim(
    view: View,
    name: str,
    loss: Loss,
    routes: Routes,
    mute: Mapping[str, list[str]],
) -> Claim:
    expected = routes.table(name)
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
    first = min(shown or loss.stale, default="")
    if own or not blamed:
        evidence, remedy = kept_back.told(view, name, ports, first)
    else:
        evidence = f"{some(sorted(blamed), 4)} cannot give what they do not have themselves"
        remedy = f"nothing on {name}: mend {some(sorted(blamed), 4)}, which its own finding explains, and look again"
    want = expected.get(routes.origin.get(first, -1), frozenset())
    if shown:
        said = f"RIB lacks {_hops(view, name, ports)} for {_prefixes(shown)}"
        if loss.gone:
            said = f"RIB has no route to {_prefixes(loss.gone)}"
    else:
        said = f"RIB has next hops it should not have: {_hops(view, name, ports)} for {_prefixes(loss.stale)}"
        evidence = "by the sessions that are up no equal-cost path goes there"
        family = "ipv6" if ":" in first else "ipv4"
        remedy = (
            f"`vtysh -c 'show bgp {family} unicast {first}'` on {name}: who announces it there (a route leaked by a "
            "switch in between, or a session to the wrong place); check cabling first"
        )
    return _claim(
        view,
        name,
        Cause.ROUTE_LOST,
        expected=f"{len(want)} equal next hops for {first} by the plan, minus what is known down",
        observed=f"{name}: {said}",
        evidence=evidence,
        remedy=remedy,
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


def _layer_claim(view: View, name: str, state: SwitchState, layer: str, loss: Loss) -> Claim:
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
    first = min(loss.missing or loss.gone or loss.stale)
    route: Route | None = state.rib.get(first)
    count = len(route.next_hops) if route is not None else 0
    left = count - len(loss.missing.get(first, ())) if first in loss.missing else None
    return _claim(
        view,
        name,
        Cause.ECMP,
        expected=f"{layer} has the {count} next hops that the RIB has for {first}",
        observed=f"{name}: {'; '.join(parts)}",
        evidence=f"RIB {count} next hops, {layer} {left if left is not None else 'other ones'} for {first}",
        ports=ports,
        remedy=_typed(
            view, name, layer, first, ports or Ports(view, name)(route.next_hops if route is not None else ())
        ),
    )


def _claim(
    view: View,
    name: str,
    cause: Cause,
    *,
    expected: str,
    observed: str,
    evidence: str,
    ports: frozenset[str],
    blamed: frozenset[str] = frozenset(),
    status: Status = Status.FAIL,
    remedy: str,
) -> Claim:
    switch = view.plan.switches[name]
    links = [link for link in (view.of_end.get((name, port)) for port in sorted(ports)) if link is not None]
    single = len(links) == 1
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


def _typed(view: View, name: str, layer: str, prefix: str, ports: frozenset[str]) -> str:
    """The remedy of a layer with the names of this loss in it: the first of its ports, and the next hop there."""
    port = view.plan.port(name, min(ports, default=""))
    hop = bare(port.peer_addresses)[0] if port is not None and port.peer_addresses else ""
    words = _REMEDIES.get(layer, _REMEDIES[KERNEL])
    if ":" in prefix:
        words = words.replace("ip route", "ipv6 route").replace("`ipv6 route show", "`ip -6 route show")
    for mark, value in (("{device}", name), ("PREFIX", prefix), ("HOP", hop), ("PORT", port.name if port else "")):
        words = words.replace(mark, value or mark)
    return words


def _refused(view: View, name: str, seen: Seen) -> Iterator[tuple[str, Claim]]:
    """Routes that FRR itself calls rejected, waiting, or not installed (F067, F069)."""
    for prefixes, word, layer, status in (
        (seen.refused, "rejected by the kernel, which keeps an older route or none", KERNEL, Status.FAIL),
        (seen.rejected, "rejected by the forwarding layer", ASIC, Status.FAIL),
        (seen.dropped, "not installed", KERNEL, Status.FAIL),
        (seen.pending, "still queued for installation", ASIC, Status.WARN),
    ):
        if prefixes:
            claim = _claim(
                view,
                name,
                Cause.ECMP,
                expected="every selected route installed and offloaded",
                observed=f"{name}: {_prefixes(prefixes)} {word}",
                evidence="`show ip route json` flags",
                ports=frozenset(),
                status=status,
                remedy=(
                    f"on {name}: `grep zebra /var/log/syslog | tail` says why; often `set src` names an address that "
                    f"is "
                    f"not there (`ip -br address show Loopback0`), or a next hop is not on a connected port (`ip "
                    f"route get "
                    f"ADDRESS`); then `vtysh -c 'clear bgp * soft in'`"
                    if layer is KERNEL
                    else f"on {name}: look again after 15 s; if it stays, `docker exec bgp supervisorctl status zebra "
                    "fpmsyncd` and `grep -i orchagent /var/log/syslog | tail`; `crm show resources all` for a full "
                    "table"
                ),
            )
            yield layer, claim


def _waiting(view: View, name: str, prefixes: list[str]) -> Iterator[tuple[str, Claim]]:
    """Selected routes that the ASIC has not confirmed (F067): a warning at first, a failure when it lasts.

    route_check itself looks again after 15 s three times, so an earlier sample decides.
    """
    if not prefixes:
        return
    before, now = view.before(name), view.state(name)
    late = []
    if before is not None and before.rib is not None and now is not None and now.taken_at - before.taken_at >= 15:
        rib = before.rib
        late = [prefix for prefix in prefixes if prefix in rib and not rib[prefix].offloaded]
    shown = late or prefixes
    claim = _claim(
        view,
        name,
        Cause.ECMP,
        expected="every selected route offloaded, as others of this switch are",
        observed=f"{name}: {_prefixes(shown)} not offloaded" + (", and not in the baseline either" if late else " yet"),
        evidence="`show ip route json`: no `offloaded`; with suppress-fib-pending it is not announced until it is",
        remedy=f"on {name}: `sudo route_check.py` (it waits 15 s itself); routes it names: `grep -i orchagent "
        "/var/log/syslog | tail` and `crm show resources all`; none named: `docker exec bgp supervisorctl restart "
        "fpmsyncd` tells zebra again",
        ports=frozenset(),
        status=Status.FAIL if late else Status.WARN,
    )
    yield ASIC, claim


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
        remedy=f"on {far[0]}: `ip -br address` must show {entry.address} on {far[1]}, and `ip -br link` must show it "
        f"up; "
        f"then on {end[0]}: `ping -c 3 -I {end[1]} {entry.address}`",
    )
    return Claim(Cause.NEIGHBOUR, finding, cables=frozenset({link.name}), devices=frozenset({link.a[0], link.b[0]}))
