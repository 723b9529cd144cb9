"""Second evidence of a cable: an address of the planned far end that answers on the very port.

Every cable has its own /31, so a session or a resolved neighbour on it says who is at the other end.
"""

from __future__ import annotations

from fabric.checks.view import Link, View


def second_evidence(view: View, link: Link) -> bool | None:
    """The session of a fabric cable, the ARP entry of a host cable; None when nobody can say."""
    return arp_proof(view, link) if link.host else session_proof(view, link)


def session_proof(view: View, link: Link) -> bool | None:
    """Whether the numbered session over a fabric cable is up; None when there is none or nobody can say."""
    if view.plan.routing.unnumbered or link.a_port.peer_asn is None:
        return None
    said = None
    for end, port in ((link.a, link.a_port), (link.b, view.plan.port(*link.b))):
        state = view.state(end[0])
        if state is None or state.bgp is None or port is None:
            continue
        for address in port.peer_addresses:
            peer = state.bgp.get(address.partition("/")[0])
            if peer is not None:
                said = peer.state == "Established" and peer.remote_asn in (None, port.peer_asn)
                if said:
                    return True
    return said


def arp_proof(view: View, link: Link) -> bool | None:
    """Whether the switch resolved the NIC's own address on the port; None when it did not try or cannot say."""
    state = view.state(link.a[0])
    if state is None or state.neighbours is None:
        return None
    wanted = {address.partition("/")[0] for address in link.a_port.peer_addresses}
    for entry in state.neighbours:
        if entry.port == link.a[1] and entry.address in wanted:
            if entry.state in ("REACHABLE", "STALE", "DELAY", "PROBE") and entry.mac:
                return True
            if entry.state in ("FAILED", "INCOMPLETE"):
                return False
    return None
