"""Which end of a session keeps a route back: what the neighbour sent over it, what was taken, what was used.

The session is Established at both ends and one next hop is missing all the same. Switches of one role get the same
from their neighbour and have the same to take, so a session that sends or takes fewer prefixes than its equals is the
one with a filter. Counts alone never make a claim; they tell a lost next hop's reader where to look first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from statistics import median

from fabric.checks._cabling_words import some
from fabric.checks.bgp import bare
from fabric.checks.view import Link, View
from fabric.diagnose.claim import End
from fabric.values.plan import PlannedPort
from fabric.values.snapshot import BgpPeer


class Side(Enum):
    """Where the path stops: not sent, sent and not taken, taken and not used; or nobody can tell."""

    SENDER = "sender"
    RECEIVER = "receiver"
    CHOICE = "choice"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class _Session:
    """One session of the switch that lacks the route: its own end, the far end, and what was found."""

    near: End
    far: End
    neighbour: str
    ourselves: str
    side: Side
    words: str


def told(view: View, name: str, ports: Iterable[str], prefix: str) -> tuple[str, str]:
    """Evidence and remedy for a switch whose RIB lacks next hops over `ports` for `prefix`."""
    sessions = [found for port in sorted(ports) if (found := _session(view, name, port, ":" in prefix)) is not None]
    family = "ipv6" if ":" in prefix else "ipv4"
    evidence = "the sessions are Established at both ends"
    if not sessions:
        return evidence, _either(name, None, family, prefix)
    sides = {session.side for session in sessions}
    first = sessions[0]
    said = [session.words for session in sessions if session.words]
    if said:
        evidence = f"{evidence}; {some(said, 2)}"
    if sides == {Side.SENDER}:
        return evidence, (
            f"on {first.far[0]}: `vtysh -c 'show bgp {family} unicast neighbors {first.ourselves} advertised-routes'` "
            f"lacks {prefix}: take the outbound prefix-list or route-map away that keeps it back "
            f"(`railfab drift INTENT` names the line), then `vtysh -c 'clear bgp {family} unicast {first.ourselves} "
            "soft out'`"
        )
    if sides == {Side.RECEIVER}:
        return evidence, (
            f"the prefix is sent and {name} does not take it: `vtysh -c 'show running-config bgpd'` on {name} has an "
            f"inbound prefix-list, filter-list or route-map for {first.neighbour} (`railfab drift INTENT` names the "
            f"line); remove it, then `vtysh -c 'clear bgp {family} unicast {first.neighbour} soft in'`"
        )
    if sides == {Side.CHOICE}:
        return evidence, (
            f"`vtysh -c 'show bgp {family} unicast {prefix}'` on {name}: a path that is there without `multipath` has "
            "another AS path length or weight than the best, or `maximum-paths` is too small (`railfab drift INTENT` "
            "names the line)"
        )
    return evidence, _either(name, first, family, prefix)


def _either(name: str, session: _Session | None, family: str, prefix: str) -> str:
    """What to type when counts do not say which end it is."""
    far = session.far[0] if session is not None else "the neighbour"
    ourselves = session.ourselves if session is not None else "ADDRESS"
    return (
        f"`vtysh -c 'show bgp {family} unicast neighbors {ourselves} advertised-routes'` on {far}: with {prefix} in it "
        f"an inbound filter of {name} drops it; without, an outbound filter of {far} (`railfab drift INTENT` names the "
        "line on either)"
    )


def _session(view: View, name: str, port: str, six: bool) -> _Session | None:
    link = view.of_end.get((name, port))
    far = view.far((name, port))
    if link is None or far is None or far[0] not in view.plan.switches:
        return None
    near = (name, port)
    neighbour, here = _peer(view, near, six)
    ourselves, there = _peer(view, far, six)
    side, words = _side(view, link, near, far, here, there, six)
    return _Session(near, far, neighbour, ourselves, side, words)


def _side(
    view: View, link: Link, near: End, far: End, here: BgpPeer | None, there: BgpPeer | None, six: bool
) -> tuple[Side, str]:
    sent, taken = _sent(there), here.prefixes_received if here is not None else None
    others = [count for _, peer in _equals(view, far, link, six) if (count := _sent(peer)) is not None]
    if sent is None or not others:
        return Side.OPEN, ""
    where = f"{far[0]} {far[1]}"
    if sent < max(others):
        return Side.SENDER, f"{where} sends {_prefixes(sent)}, {max(others)} over its other sessions of this kind"
    as_others = f"{where} sends {_prefixes(sent)}, as over its other sessions of this kind"
    # A leaf's own prefixes come back to it and are refused, over every session alike.
    refused = []
    for end, peer in _equals(view, near, link, six):
        beyond = view.far(end)
        offered = _sent(_peer(view, beyond, six)[1]) if beyond is not None else None
        if offered is not None and peer.prefixes_received is not None:
            refused.append(offered - peer.prefixes_received)
    if taken is None or not refused:
        return Side.OPEN, as_others
    usual = round(median(refused))
    if sent - taken > usual:
        return Side.RECEIVER, (
            f"{as_others}; {near[0]} refuses {sent - taken} of what this session brings and {usual} over its others"
        )
    return Side.CHOICE, f"{as_others}; {near[0]} takes of them what it takes over its others"


def _prefixes(count: int) -> str:
    return f"{count} prefix" if count == 1 else f"{count} prefixes"


def _sent(peer: BgpPeer | None) -> int | None:
    return peer.prefixes_sent if peer is not None and peer.state == "Established" else None


def _equals(view: View, end: End, link: Link, six: bool) -> Iterator[tuple[End, BgpPeer]]:
    """The other sessions of the switch of `end` to switches of the role that is at the far end of it."""
    far = view.far(end)
    for port in view.plan.switches[end[0]].sessions():
        other = view.plan.switches.get(port.peer_device or "")
        if far is None or other is None or port.cable == link.name:
            continue
        _, peer = _peer(view, (end[0], port.name), six)
        if peer is not None and peer.state == "Established" and other.role is view.plan.switches[far[0]].role:
            yield (end[0], port.name), peer


def _peer(view: View, end: End, six: bool) -> tuple[str, BgpPeer | None]:
    """The neighbour of a session as its own switch names it, and what that switch says of it."""
    port = view.plan.port(*end)
    state = view.state(end[0])
    name = _neighbour(view, port, six)
    return name, (state.bgp or {}).get(name) if state is not None else None


def _neighbour(view: View, port: PlannedPort | None, six: bool) -> str:
    if port is None:
        return ""
    if view.plan.routing.unnumbered:
        return port.name
    known = bare(port.peer_addresses)
    return next((address for address in known if (":" in address) is six), known[0] if known else port.name)
