"""Second evidence of a cable: an address of the planned far end that answers on the very port.

Every routed cable has its own /31, so a session or a resolved neighbour on it says who is at the other end.
In a VLAN of hosts the ARP entry names the VLAN, and the FDB the port of its MAC.
"""

from __future__ import annotations

from fabric.checks.view import Link, View
from fabric.values.plan import PlannedNic
from fabric.values.snapshot import Neighbour, SwitchState


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
    if view.plan.switches[link.a[0]].vlans:
        return _learned(view, link, state)
    wanted = {address.partition("/")[0] for address in link.a_port.peer_addresses}
    for entry in state.neighbours:
        if entry.port == link.a[1] and entry.address in wanted:
            if entry.state in ("REACHABLE", "STALE", "DELAY", "PROBE") and entry.mac:
                return True
            if entry.state in ("FAILED", "INCOMPLETE"):
                return False
    return None


def vlan_entry(view: View, link: Link) -> Neighbour | None:
    """The switch's ARP entry for the address of a NIC in a VLAN of hosts; a resolved one before a failed one."""
    switch, state = view.plan.switches[link.a[0]], view.state(link.a[0])
    if state is None or not isinstance(link.b_port, PlannedNic):
        return None
    wanted = {address.partition("/")[0] for address in link.b_port.addresses}
    names = {f"Vlan{number}" for number in switch.vlans}
    found = [entry for entry in state.neighbours or () if entry.port in names and entry.address in wanted]
    return next((entry for entry in found if entry.mac), found[0] if found else None)


def _learned(view: View, link: Link, state: SwitchState) -> bool | None:
    """Whether the MAC that answers for the NIC's address was learned on the very port; None when nobody can say."""
    entry = vlan_entry(view, link)
    if entry is None or state.fdb is None:
        return None
    if entry.state in ("FAILED", "INCOMPLETE"):
        return False
    # A MAC on another port is a finding of its own (fabric.checks.vlans), not proof of silence.
    return True if entry.mac and state.fdb.get(entry.mac) == link.a[1] else None
