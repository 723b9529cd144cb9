"""Hosts of a leaf in one VLAN: ARP entry, FDB entry and physical port of each NIC must agree (ADDR-05).

Where host links are routed there is no MAC table in the way and nothing is judged here. In a VLAN the switch forwards
by what it learned: a MAC learned on another port sends a rail's traffic to the wrong machine while every link, route
and session is green (facts ai-fabric 1.2). An idle NIC's MAC ages out of the FDB before its ARP entry: that is no
finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fabric.checks._cabling_words import some
from fabric.checks.judged import Judged
from fabric.checks.proof import vlan_entry
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.snapshot import Neighbour, SwitchState

_ALIVE = frozenset({"REACHABLE", "DELAY", "PROBE"})


@dataclass(frozen=True, slots=True)
class _Wrong:
    link: Link
    observed: str
    evidence: str
    remedy: str
    code: str = "ADDR-05"


def judge(view: View, judged: Judged) -> None:
    """Judge the host links of every switch in scope whose hosts are in a VLAN."""
    owners: dict[str, tuple[str, str]] = {}
    if any(view.plan.switches[name].vlans for name in view.switches):
        for host in view.plan.hosts.values():
            owners.update({nic.mac.lower(): (host.name, nic.name) for nic in host.nics.values() if nic.mac})
    for name in view.switches:
        state = view.state(name)
        if state is None or not view.plan.switches[name].vlans or state.neighbours is None:
            continue
        links = [
            link
            for port in view.plan.switches[name].ports
            if (link := view.of_end.get((name, port))) is not None
            and link.host
            and link.life is Life.SERVICE
            and view.up(link.a) is True
        ]
        _switch(view, name, state, links, owners, judged)


def _switch(
    view: View,
    name: str,
    state: SwitchState,
    links: Iterable[Link],
    owners: Mapping[str, tuple[str, str]],
    judged: Judged,
) -> None:
    table = state.fdb
    unlearned: list[Link] = []
    for link in links:
        entry = vlan_entry(view, link)
        if entry is None:
            continue  # The switch never asked for this address.
        wrong = _arp(view, link, entry, owners)
        if wrong is None and entry.mac and table is not None:
            port = table.get(entry.mac)
            if port is None:
                if entry.state in _ALIVE:
                    unlearned.append(link)
                continue
            if port == link.a[1]:
                judged.passed += 1
                continue
            wrong = _elsewhere(view, link, entry, port)
        if wrong is not None:
            judged.claims.append(_claim(wrong))
    if unlearned:
        judged.claims.append(_unlearned(name, unlearned))


def _arp(view: View, link: Link, entry: Neighbour, owners: Mapping[str, tuple[str, str]]) -> _Wrong | None:
    """What the ARP entry alone says: nobody answers, or somebody else does."""
    host, nic = link.b
    if entry.state in ("FAILED", "INCOMPLETE"):
        return _Wrong(
            link,
            f"{view.name(link.a)}: neighbour {entry.address} ({host} {nic}) is {entry.state} on {entry.port}",
            "neighbour table of the switch",
            f"on {host}: `ip -br address` must show {entry.address} on {nic}, and `ip -br link` must show it up; "
            f"then on "
            f"{link.a[0]}: `ping -c 3 -I {entry.port} {entry.address}`",
            code="ADDR-04",
        )
    seen = view.nic(link.b)
    known = {mac.lower() for mac in (getattr(link.b_port, "mac", None), seen.mac if seen is not None else None) if mac}
    if not entry.mac or not known or entry.mac in known:
        return None
    who = owners.get(entry.mac)
    whose = f" (that of {who[0]} {who[1]})" if who is not None else ""
    return _Wrong(
        link,
        f"{link.a[0]}: {entry.mac}{whose} answers for {entry.address}, the address of {host} {nic}",
        f"ARP entry on {entry.port}; the MAC of {host} {nic} is {', '.join(sorted(known))}",
        f"on {host}: `arping -D -c 3 -I IF {entry.address}` answers when somebody else has it, and `show mac | grep -i "
        f"{entry.mac}` on {link.a[0]} says on which port; if the NIC of {host} was replaced, its MAC stands in the "
        "ledger under identities: change it there",
    )


def _elsewhere(view: View, link: Link, entry: Neighbour, port: str) -> _Wrong:
    other = view.of_end.get((link.a[0], port))
    there = f"{port} ({other.b[0]} {other.b[1]})" if other is not None and other.host else port
    return _Wrong(
        link,
        f"{link.a[0]} sends what is for {link.b[0]} {link.b[1]} ({entry.address}) out of {there}, "
        f"not {link.a[1]}: it learned {entry.mac} there",
        f"ARP {entry.address} is {entry.mac} ({entry.state}), FDB has it on {port}, the plan on {link.a[1]}",
        f"`show mac` on {link.a[0]}; cables right: clear the entry (`sonic-clear fdb all`) and see whether it comes "
        f"back (a loop, or {entry.mac} used twice); cables wrong: follow the cabling finding",
    )


def _claim(wrong: _Wrong) -> Claim:
    link = wrong.link
    finding = Finding(
        code=wrong.code,
        status=Status.FAIL,
        severity=Severity.BLOCK,
        confidence=Confidence.LIKELY,
        device=link.a[0],
        port=link.a[1],
        node=link.b[0],
        nic=link.b[1],
        rail=link.rail,
        nodes=(link.b[0],),
        rails=(link.rail,) if link.rail is not None else (),
        cable=link.name,
        expected=f"ARP, FDB and port of {link.b[0]} {link.b[1]} agree on {link.a[0]} {link.a[1]}",
        observed=wrong.observed,
        evidence=wrong.evidence,
        remedy=wrong.remedy,
    )
    return Claim(Cause.NEIGHBOUR, finding, cables=frozenset({link.name}), devices=frozenset({link.a[0], link.b[0]}))


def _unlearned(name: str, links: list[Link]) -> Claim:
    """Live neighbours whose MAC the switch has on no port: their packets are flooded to every host of the VLAN."""
    single = links[0] if len(links) == 1 else None
    hosts = tuple(sorted({link.b[0] for link in links}))
    rails = tuple(sorted({link.rail for link in links if link.rail is not None}))
    finding = Finding(
        code="ADDR-05",
        status=Status.WARN,
        severity=Severity.WARN,
        confidence=Confidence.LIKELY,
        device=name,
        port=single.a[1] if single is not None else None,
        node=single.b[0] if single is not None else None,
        nic=single.b[1] if single is not None else None,
        rail=rails[0] if len(rails) == 1 else None,
        nodes=hosts,
        rails=rails,
        cable=single.name if single is not None else None,
        expected="the MAC of every live neighbour learned on its port",
        observed=f"{name}: {len(links)} live neighbours with no FDB entry ({some(list(hosts), 4)})",
        evidence="neighbour table (REACHABLE) against STATE_DB FDB_TABLE",
        remedy=f"`show mac` on {name} twice, some seconds apart: still missing while they send means the ASIC does not "
        "learn; restart swss in a quiet moment",
    )
    return Claim(
        Cause.NEIGHBOUR, finding, cables=frozenset(link.name for link in links), devices=frozenset({name, *hosts})
    )
