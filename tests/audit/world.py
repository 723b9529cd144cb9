"""Answers that a fabric with known faults would give: each switch picks a next cable at random, by source port."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from ipaddress import ip_interface

from fabric.audit.answers import Answer, Answers
from fabric.audit.flights import Flight
from fabric.values.plan import Plan

# (switch, cable it came in on, cable out) -> the cable really taken, or None where the frame is swallowed.
Forwarding = Callable[[str, str, str], str | None]


def fly(
    plan: Plan,
    flown: Sequence[Flight],
    seed: int,
    forward: Forwarding = lambda _switch, _entry, cable: cable,
    policed: float = 0.0,
    slow: Collection[str] = (),
) -> Answers:
    """`policed` is the share of answers the switches' CPUs do not give; answers over `slow` cables take 50 ms."""
    dice = random.Random(seed)
    addresses = {
        (switch.name, port.cable): str(ip_interface(port.addresses[0]).ip)
        for switch in plan.switches.values()
        for port in switch.ports.values()
        if port.cable and port.addresses
    }
    host_cables = {(host.name, nic.name): nic.cable or "" for host in plan.hosts.values() for nic in host.nics.values()}
    flights: dict[str, dict[int, dict[int, Answer | None]]] = {}
    for flight in flown:
        sweep: dict[int, dict[int, Answer | None]] = {}
        for port in range(flight.ports[0], flight.ports[1] + 1):
            at, entry = flight.source_leaf, host_cables[(flight.source_host, flight.source_nic)]
            by_ttl: dict[int, Answer | None] = {}
            alive = True
            for ttl in flight.ttls:
                answered = alive and dice.random() >= policed
                took = 50.0 if entry in slow else 0.2 + dice.random() / 10
                by_ttl[ttl] = Answer(addresses[(at, entry)], took, "transit") if answered else None
                if not alive or at == flight.target_leaf:
                    continue
                chosen = dice.choice(sorted(flight.next_cables[at]))
                taken = forward(at, entry, chosen)
                if taken is None:
                    alive = False
                    continue
                at, entry = _far(plan, taken, at), taken
            sweep[port] = by_ttl
        flights[flight.name] = sweep
    return Answers(flights, sum(len(sweep) * flight.hops for flight, sweep in zip(flown, flights.values())))


def _far(plan: Plan, cable: str, near: str) -> str:
    planned = plan.cables[cable]
    return planned.b_device if planned.a_device == near else planned.a_device
