"""A leaf whose hosts share a VLAN: what its ARP table and its FDB hold."""

from __future__ import annotations

from collections.abc import Mapping

from fabric.values.plan import Plan, SwitchPlan
from fabric.values.snapshot import Neighbour
from fabric.whatif._seen import Identities, alive

End = tuple[str, str]


def bridged(
    plan: Plan, switch: SwitchPlan, heard: Mapping[str, End], identities: Identities
) -> tuple[tuple[Neighbour, ...], dict[str, str]]:
    """ARP entries and FDB (MAC -> port) of a switch. `heard`: port that is up -> the end that is plugged in there.

    A NIC is learned where it is plugged in, and answers for its own address from any port of the VLAN; one that is
    not there, or not up, is asked for in vain.
    """
    fdb: dict[str, str] = {}
    at: set[End] = set()
    for port, (device, far) in heard.items():
        host = plan.hosts.get(device)
        if host is not None and switch.ports[port].peer_asn is None:
            fdb[identities.nic(host, host.nics[far])] = port
            at.add((device, far))
    entries = []
    for vlan in switch.vlans:
        for host in plan.hosts.values():
            for nic in host.nics.values():
                if nic.switch != switch.name or not alive(host.state) or not alive(nic.state):
                    continue
                here = (host.name, nic.name) in at
                mac = identities.nic(host, nic) if here else ""
                for address in nic.addresses:
                    state = "REACHABLE" if here else "FAILED"
                    entries.append(Neighbour(address.partition("/")[0], f"Vlan{vlan}", mac, state))
    return tuple(entries), fdb
