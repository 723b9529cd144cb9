"""The four layers of routes of one switch, and faults that change what one switch says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict

from fabric.errors import InputError, Problem
from fabric.values.finding import Place
from fabric.values.plan import Plan, SwitchPlan
from fabric.values.snapshot import BgpPeer, FibRoute, NextHop, Route, SwitchState
from fabric.whatif import faults as f
from fabric.whatif._routing import RouteTable, Routing

LAYERS = ("rib", "kernel", "appl", "asic")


class Layers(TypedDict):
    """Parts of a SwitchState."""

    rib: Mapping[str, Route]
    kernel: Mapping[str, FibRoute]
    appl: Mapping[str, FibRoute]
    asic: Mapping[str, FibRoute]


def layers(plan: Plan, switch: SwitchPlan, routing: Routing, up: Mapping[str, bool]) -> Layers:
    """Routes of a switch whose ports are `up` or not: its own, and what BGP makes of the sessions."""
    rib: dict[str, Route] = {}
    kernel: dict[str, FibRoute] = {}
    appl: dict[str, FibRoute] = {}
    asic: dict[str, FibRoute] = {
        "0.0.0.0/0": FibRoute("0.0.0.0/0", (), blackhole=True),
        "::/0": FibRoute("::/0", (), blackhole=True),
    }
    for prefix in switch.loopbacks:
        _connected(rib, kernel, appl, prefix, "Loopback0")
        asic[prefix] = FibRoute(prefix, (), local=True)
    for port in switch.ports.values():
        if not up.get(port.name):
            continue
        for address in port.addresses:
            prefix = _network(address)
            _connected(rib, kernel, appl, prefix, port.name)
            asic[prefix] = FibRoute(prefix, (NextHop("", port.name),))
            host = f"{address.partition('/')[0]}/{128 if ':' in address else 32}"
            asic[host] = FibRoute(host, (), local=True)
    for number, gateways in switch.vlans.items():
        for address in gateways:
            prefix = _network(address)
            _connected(rib, kernel, appl, prefix, f"Vlan{number}")
            asic[prefix] = FibRoute(prefix, (NextHop("", f"Vlan{number}"),))
            host = f"{address.partition('/')[0]}/{128 if ':' in address else 32}"
            asic[host] = FibRoute(host, (), local=True)
    for prefix in switch.aggregates:
        rib[prefix] = Route(prefix, "static", (), installed=True, offloaded=True, blackhole=True)
        kernel[prefix] = FibRoute(prefix, (), protocol="static", blackhole=True)
        appl[prefix] = kernel[prefix]
        asic[prefix] = FibRoute(prefix, (), blackhole=True)
    management = _network(switch.mgmt_address) if "/" in switch.mgmt_address else plan.services.mgmt_network
    rib[management] = Route(management, "connected", (NextHop("", "eth0"),), installed=True)
    kernel[management] = FibRoute(management, (NextHop("", "eth0"),), protocol="kernel")
    name = switch.name
    return {
        "rib": RouteTable(routing, name, rib, _bgp_route),
        "kernel": RouteTable(routing, name, kernel, _bgp_fib),
        "appl": RouteTable(routing, name, appl, _bgp_fib),
        "asic": RouteTable(routing, name, asic, _asic_fib),
    }


def _connected(
    rib: dict[str, Route], kernel: dict[str, FibRoute], appl: dict[str, FibRoute], prefix: str, port: str
) -> None:
    hops = (NextHop("", port),)
    rib[prefix] = Route(prefix, "connected", hops, installed=True, offloaded=True)
    kernel[prefix] = appl[prefix] = FibRoute(prefix, hops, protocol="kernel")


def _network(address: str) -> str:
    """The prefix of an interface address; the common /31, /32, /127, /128 without the cost of `ipaddress`."""
    host, _, length = address.partition("/")
    if length in ("32", "128"):
        return address
    if length == "31":
        head, _, last = host.rpartition(".")
        return f"{head}.{int(last) & ~1}/31"
    from ipaddress import ip_interface

    return str(ip_interface(address).network)


def _bgp_route(prefix: str, hops: tuple[NextHop, ...]) -> Route:
    return Route(prefix, "bgp", hops, installed=True, offloaded=True)


def _bgp_fib(prefix: str, hops: tuple[NextHop, ...]) -> FibRoute:
    return FibRoute(prefix, hops, protocol="bgp")


def _asic_fib(prefix: str, hops: tuple[NextHop, ...]) -> FibRoute:
    return FibRoute(prefix, hops)


def edit(plan: Plan, states: dict[str, SwitchState], fault: f.Fault, at: float) -> None:
    """Apply a fault that changes what one switch says; other faults are left alone."""
    match fault:
        case f.LoseNextHop(device, prefix, address, layer):
            _route(states, device, prefix, layer, address)
        case f.LoseRoute(device, prefix, layer):
            _route(states, device, prefix, layer, None)
        case f.StaleGroups(device):
            state = states[device]
            kernel = state.kernel
            if isinstance(kernel, RouteTable):
                edits = {
                    prefix: replace(route, next_hops=route.next_hops[:1])
                    for prefix, route in kernel.items()
                    if len(route.next_hops) > 1
                }
                states[device] = replace(state, kernel=kernel.edited(edits))
        case f.BitErrors(where, ber, rate, since_s):
            frames = int(rate * since_s)
            _add(states, where, "counters", "IF_IN_FEC_NOT_CORRECTABLE_FRAMES", frames)
            # 5440 bits a codeword; one corrected bit is close to one corrected symbol at these rates.
            planned = plan.port(where.device, where.port)
            bits = (planned.speed_mbps if planned else 0) * 1e6 * since_s
            _add(states, where, "counters", "IF_IN_FEC_CORRECTABLE_FRAMES", int(bits * ber))
            _add(states, where, "counters", "IF_IN_FEC_SYMBOL_ERRORS", int(bits * ber))
            _set_rate(states, where, "FEC_PRE_BER", ber)
        case f.Counter(where, table, name, value, key):
            _add(states, where, table, name, value, key)
        case f.PfcStorm(where, priority):
            _add(states, where, "counters", f"PFC_{priority}_RX_PKTS", int(at) % 100_000 * 1000)
            _add(states, where, "queues", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", 1, priority)
            _put(states, where, "queues", "PFC_WD_STATUS", "stormed", priority)
        case f.Sensor(where, name, value, flag):
            state = states[where.device]
            optics = dict(state.optics or {})
            optic = optics[where.port]
            flags = (*optic.flags, flag) if flag else optic.flags
            optics[where.port] = replace(optic, sensors={**optic.sensors, name: value}, flags=flags)
            states[where.device] = replace(state, optics=optics)
        case _:
            pass


def _route(states: dict[str, SwitchState], device: str, prefix: str, layer: str, address: str | None) -> None:
    if layer not in LAYERS:
        raise InputError(Problem(f"{layer!r} is no layer", f"one of {', '.join(LAYERS)}"))
    state = states[device]
    table: Any = getattr(state, layer)
    route = table.get(prefix)
    if route is None:
        raise InputError(Problem(f"{device} has no route to {prefix} in its {layer}", "name a prefix that it has"))
    left = None
    if address is not None:
        hops = tuple(hop for hop in route.next_hops if hop.address != address)
        if len(hops) == len(route.next_hops):
            raise InputError(Problem(f"{device} has no next hop {address} for {prefix}", "name one that it has"))
        left = replace(route, next_hops=hops)
    changes: dict[str, Any] = {layer: table.edited({prefix: left})}
    if layer == "rib" and state.bgp is not None:
        changes["bgp"] = _untaken(state.bgp, {hop for hop in route.next_hops if address in (None, hop.address)})
    states[device] = replace(state, **changes)


def _untaken(bgp: Mapping[str, BgpPeer], lost: set[NextHop]) -> dict[str, BgpPeer]:
    """Sessions that brought a path and whose switch no longer takes it: one prefix less."""
    keys = {key for hop in lost for key in (hop.address, hop.port)}
    return {
        key: replace(peer, prefixes_received=max(0, (peer.prefixes_received or 0) - 1)) if key in keys else peer
        for key, peer in bgp.items()
    }


def _row(where: Place, table: str, key: int | None) -> str:
    if (table == "counters") != (key is None):
        raise InputError(Problem(f"{table} of {where.device}:{where.port}: key is {key}", "queues and pgs need a key"))
    return where.port if key is None else f"{where.port}:{key}"


def _add(
    states: dict[str, SwitchState], where: Place, table: str, name: str, value: int, key: int | None = None
) -> None:
    row = _row(where, table, key)
    old = getattr(states[where.device], table)[row].get(name, 0)
    _put(states, where, table, name, old + value, key)


def _put(
    states: dict[str, SwitchState], where: Place, table: str, name: str, value: int | str, key: int | None = None
) -> None:
    row = _row(where, table, key)
    state = states[where.device]
    rows = dict(getattr(state, table))
    rows[row] = {**rows[row], name: value}
    changes: dict[str, Any] = {table: rows}
    states[where.device] = replace(state, **changes)


def _set_rate(states: dict[str, SwitchState], where: Place, name: str, value: float) -> None:
    state = states[where.device]
    rates = dict(state.rates or {})
    rates[where.port] = {**rates[where.port], name: value}
    states[where.device] = replace(state, rates=rates)
