"""A fabric that is not there: Plan (+ faults) -> the Snapshot a collector would have brought home.

    fabric = Synthetic(plan)
    healthy = fabric.snapshot()
    broken = fabric.snapshot([Swap(place("p1-l0:Ethernet0"), place("p1-l1:Ethernet0"))])

Pure: no clock, no randomness. Faults hang together: a swapped fabric cable also takes its sessions down and its next
hops out of every layer, a dead leaf darkens its neighbours. Two snapshots of one fabric at different times `at` give
counters for a window. Snapshots with faults share everything untouched with the healthy one of the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from fabric.values.device_config import DeviceConfig
from fabric.values.plan import LifeState, Plan, PlannedPort, Role, SwitchPlan
from fabric.values.snapshot import (
    BgpPeer,
    Hole,
    HostState,
    LldpNeighbour,
    Neighbour,
    NextHop,
    NicState,
    Optic,
    PortState,
    Snapshot,
    SwitchState,
)
from fabric.whatif import _layers
from fabric.whatif import faults as f
from fabric.whatif._bridge import bridged
from fabric.whatif._crm import Crm
from fabric.whatif._routing import Routing, Session, same_paths
from fabric.whatif._seen import BOOT_AGE_S, Identities, Looks
from fabric.whatif._wiring import End, Wiring, absent, base_far
from fabric.whatif.faults import place

__all__ = ["Synthetic", "healthy", "place"]

_NOW = 1_790_000_000.0
# Seeds orchagent takes from DEVICE_METADATA type (facts/sonic.md 1.1: switch.json.j2).
_SEEDS = {"ToRRouter": "0", "LeafRouter": "10", "SpineRouter": "25"}
ConfigHook = Callable[[str], DeviceConfig]


def healthy(plan: Plan, *, at: float = _NOW, config: ConfigHook | None = None, hosts: bool = False) -> Snapshot:
    """The snapshot of a fabric that is exactly what the plan says."""
    return Synthetic(plan, config=config, hosts=hosts).snapshot(at=at)


@dataclass(slots=True)
class _Time:
    """Everything that was made for one time `at`, and is shared by all snapshots of it."""

    looks: Looks
    states: dict[str, SwitchState]
    hosts: dict[str, HostState]


class Synthetic:
    """Makes snapshots of one plan.

    `config`: called with a switch's name, gives the running configuration the switch shows (`render_switch`'s result
    for a healthy one); without it the parts `config` and `frr` are holes. `hosts`: also what the hosts say.
    """

    def __init__(
        self, plan: Plan, *, config: ConfigHook | None = None, hosts: bool = False, booted: float = _NOW - BOOT_AGE_S
    ) -> None:
        self.plan = plan
        self.identities = Identities(plan)
        self._config = config
        self._with_hosts = hosts
        self._booted = booted
        self._far = base_far(plan)
        self._absent = absent(plan)
        self._asns = {name: switch.asn for name, switch in plan.switches.items()}
        self._origins = {name: switch.networks for name, switch in plan.switches.items()}
        self._sessions = {
            name: sessions
            for name, sessions in ((name, self._sessions_of(name, self._wiring())) for name in plan.switches)
            if name not in self._absent
        }
        self._routing = self._routes(self._sessions)
        self._times: dict[float, _Time] = {}

    def snapshot(self, faults: Iterable[f.Fault] = (), *, at: float = _NOW) -> Snapshot:
        """The fabric at time `at` (seconds since 1970) with these faults, applied in order."""
        time = self._times.get(at)
        if time is None:
            self._times.clear()  # A fabric of thousands of switches is kept in memory for one time only.
            time = self._times[at] = self._make_time(at)
        faults = list(faults)
        wiring = self._wiring(at)
        for fault in faults:
            wiring.apply(fault)
        states: dict[str, SwitchState] = dict(time.states)
        hosts: dict[str, HostState] = dict(time.hosts)
        missing = {
            name: f"out of service since the plan says so: {switch.outage.reason}" if switch.outage else "no answer"
            for name, switch in self.plan.switches.items()
            if name in self._absent and switch.state is LifeState.OUT_OF_SERVICE
        }
        if faults:
            routing = self._rerouted(wiring)
            # With weights every switch hears how many paths are left; without, only whether one is.
            everywhere = routing is not self._routing and (
                self.plan.routing.weighted_ecmp or not same_paths(self._routing, routing)
            )
            for name in self.plan.switches if everywhere else wiring.touched:
                if name not in states or name in wiring.dead:
                    continue
                if name in wiring.touched:
                    states[name] = self._switch(name, wiring, routing, time.looks)
                else:
                    states[name] = self._with_routes(states[name], wiring, routing)
            for name in wiring.touched & set(hosts):
                hosts[name] = self._host(name, wiring, time.looks)
            for fault in faults:
                _late(self.plan, states, hosts, missing, fault, at)
        return Snapshot(
            fabric=self.plan.name, started_at=at - 2.0, ended_at=at, switches=states, hosts=hosts, missing=missing
        )

    def _wiring(self, at: float = _NOW) -> Wiring:
        return Wiring(self.plan, self._far, set(self._absent), now=at)

    def _make_time(self, at: float) -> _Time:
        looks = Looks(self.plan, self.identities, at, self._booted)
        wiring = self._wiring(at)
        time = _Time(looks, {}, {})
        for name in self.plan.switches:
            if name not in self._absent:
                time.states[name] = self._switch(name, wiring, self._routing, looks)
        if self._with_hosts:
            for name in self.plan.hosts:
                if name not in self._absent:
                    time.hosts[name] = self._host(name, wiring, looks)
        return time

    # Routing

    def _sessions_of(self, name: str, wiring: Wiring) -> tuple[Session, ...]:
        unnumbered = self.plan.routing.unnumbered
        found = []
        for port in self.plan.switches[name].sessions():
            if wiring.session_up((name, port.name), unnumbered):
                far = wiring.far((name, port.name))
                assert far is not None
                four, six = self._hops(port, far[0])
                found.append(Session(port.name, far[0], four, six))
        return tuple(found)

    def _hops(self, port: PlannedPort, peer: str) -> tuple[NextHop | None, NextHop | None]:
        addresses = [address.partition("/")[0] for address in port.peer_addresses]
        four = next((a for a in addresses if ":" not in a), None)
        six = next((a for a in addresses if ":" in a), None)
        if self.plan.routing.unnumbered or not addresses:
            octets = self.identities.switch(peer).split(":")
            link_local = f"fe80::{octets[0]}{octets[1]}:{octets[2]}ff:fe{octets[3]}:{octets[4]}{octets[5]}"
            four = six = link_local
        return (
            NextHop(four, port.name) if four is not None else None,
            NextHop(six, port.name) if six is not None else None,
        )

    def _routes(self, sessions: Mapping[str, tuple[Session, ...]]) -> Routing:
        routing = self.plan.routing
        return Routing(sessions, self._asns, self._origins, routing.maximum_paths, routing.weighted_ecmp)

    def _rerouted(self, wiring: Wiring) -> Routing:
        sessions = dict(self._sessions)
        for name in wiring.touched & set(self.plan.switches):
            if name in wiring.dead or name in wiring.no_bgpd:
                sessions.pop(name, None)
            else:
                sessions[name] = self._sessions_of(name, wiring)
        return self._routing if sessions == self._sessions else self._routes(sessions)

    def _with_routes(self, state: SwitchState, wiring: Wiring, routing: Routing) -> SwitchState:
        switch = self.plan.switches[state.device]
        up = {port: (neighbour.oper_up is True) for port, neighbour in (state.ports or {}).items()}
        layers = _layers.layers(self.plan, switch, routing, up)
        bgp = self._bgp(switch, wiring, routing, state.taken_at)
        return replace(state, bgp=bgp, crm=Crm(layers["asic"]), **layers)

    # One device

    def _switch(self, name: str, wiring: Wiring, routing: Routing, looks: Looks) -> SwitchState:
        switch = self.plan.switches[name]
        ports: dict[str, PortState] = {}
        optics: dict[str, Optic] = {}
        lldp: list[LldpNeighbour] = []
        neighbours: list[Neighbour] = []
        shape: list[tuple[str, int, bool, bool]] = []
        up: dict[str, bool] = {}
        heard: dict[str, End] = {}
        counters: dict[str, Mapping[str, int]] = {}
        rates: dict[str, Mapping[str, float]] = {}
        for port in switch.ports.values():
            end = (name, port.name)
            far = wiring.far(end)
            is_up = up[port.name] = far is not None and wiring.carrier(end)
            ports[port.name] = self._port(port, is_up, wiring, end, looks)
            counters[port.name] = looks.counters(port, is_up)
            rates[port.name] = looks.rates(port, is_up)
            shape.append((port.name, port.speed_mbps, is_up, port.lossless))
            if far is not None:
                optics[port.name] = self._optic(switch, port, is_up, wiring, looks)
                if is_up and wiring.lldp_passes(end):
                    lldp.append(self._row(far, port.name, looks))
            for row in wiring.rows.get(end, ()):
                _edit_row(lldp, port.name, row)
            if is_up and far is not None:
                heard[port.name] = far
            if port.peer_device is not None and is_up and port.addresses:
                neighbours.extend(self._neighbours(port, far))
        queues, pgs = looks.tables(tuple(shape))
        fdb: dict[str, str] = {}
        if switch.vlans:
            entries, fdb = bridged(self.plan, switch, heard, self.identities)
            neighbours.extend(entries)
        layers = _layers.layers(self.plan, switch, routing, up)
        mac = self.identities.switch(name)
        config = self._config(name) if self._config else None
        bgp = self._bgp(switch, wiring, routing, looks.at)
        dead_bgpd = name in wiring.no_bgpd
        return SwitchState(
            device=name,
            taken_at=looks.at,
            duration_s=0.4,
            source="synthetic",
            holes=(Hole("bgp", "bgpd is not running"),) if dead_bgpd else (),
            hostname=name,
            release=self.plan.release,
            onie_platform=switch.onie_platform,
            hwsku=switch.hwsku,
            serial=switch.serial or f"SYN{mac.replace(':', '')}",
            base_mac=mac,
            chassis_id=mac,
            uptime_s=looks.at - looks.booted,
            reboot_cause="Power Loss",
            swss_uptime_s=looks.at - looks.booted - 60,
            clock=looks.at,
            config=config.tables if config else None,
            frr=config.frr if config else None,
            ports=ports,
            lldp=tuple(lldp),
            bgp=None if dead_bgpd else bgp,
            neighbours=tuple(neighbours),
            fdb=fdb,
            optics=optics,
            counters=counters,
            rates=rates,
            queues=queues,
            pgs=pgs,
            watermarks={},
            errors_by_port={},
            switch={"ecmp_hash_seed": _SEEDS.get(switch.device_type, "0")},
            bgp_local_asn=switch.asn,
            crm=Crm(layers["asic"]),
            **layers,
        )

    def _port(self, port: PlannedPort, up: bool, wiring: Wiring, end: End, looks: Looks) -> PortState:
        state = looks.port(port, up)
        changes: dict[str, Any] = {}
        if end in wiring.shut:
            changes["admin_up"] = False
        if end in wiring.ups_and_downs:
            count, age_s = wiring.ups_and_downs[end]
            changes |= {"flap_count": 1 + count, "last_down_time": looks.at - age_s}
            changes["last_up_time"] = looks.at - age_s + 2 if up else looks.booted + 90
        changes |= wiring.settings.get(end, {})
        return replace(state, **changes) if changes else state

    def _optic(self, switch: SwitchPlan, port: PlannedPort, up: bool, wiring: Wiring, looks: Looks) -> Optic:
        if (switch.name, port.name) in wiring.unplugged:
            return Optic(port=port.name, present=False)
        first = not port.parent or port.parent == port.name
        cage = port.parent or port.name
        return looks.optic(port, up, f"X{switch.name}{cage}", first, port.cable_m)

    def _row(self, far: End, local_port: str, looks: Looks) -> LldpNeighbour:
        host = self.plan.hosts.get(far[0])
        if host is not None:
            return looks.from_host(host, host.nics[far[1]], local_port)
        switch = self.plan.switches[far[0]]
        return looks.from_switch(switch, switch.ports[far[1]], local_port)

    def _neighbours(self, port: PlannedPort, far: End | None) -> Iterable[Neighbour]:
        planned = far == (port.peer_device, port.peer_port)
        for text in port.peer_addresses:
            address = text.partition("/")[0]
            if not planned or far is None:
                yield Neighbour(address, port.name, "", "FAILED")
            elif far[0] in self.plan.hosts:
                host = self.plan.hosts[far[0]]
                yield Neighbour(address, port.name, self.identities.nic(host, host.nics[far[1]]), "REACHABLE")
            else:
                yield Neighbour(address, port.name, self.identities.switch(far[0]), "REACHABLE")

    def _bgp(self, switch: SwitchPlan, wiring: Wiring, routing: Routing, at: float) -> dict[str, BgpPeer]:
        received, reached = routing.received(switch.name)
        # A leaf carries nobody's traffic: it announces its own prefixes only.
        sent = len(switch.networks) if switch.role is Role.LEAF else reached
        peers: dict[str, BgpPeer] = {}
        unnumbered = self.plan.routing.unnumbered
        for port in switch.sessions():
            end = (switch.name, port.name)
            up = wiring.session_up(end, unnumbered)
            fault = wiring.sessions_down.get(end)
            keys = [port.name] if unnumbered else [a.partition("/")[0] for a in port.peer_addresses]
            count, age_s = wiring.ups_and_downs.get(end, (0, 0.0))
            flaps = (count + 1) // 2 if count else 0
            for key in keys:
                peers[key] = BgpPeer(
                    peer=key,
                    state="Established" if up else fault.state if fault else "Active",
                    remote_asn=port.peer_asn,
                    local_asn=switch.asn,
                    prefixes_received=received.get(port.peer_device or "", 0) if up else 0,
                    prefixes_sent=sent if up else 0,
                    uptime_s=(age_s - 5.0 if flaps else at - self._booted - 120) if up else 0.0,
                    established=1 + flaps if up else 1,
                    dropped=flaps if up else 1,
                    description="",
                    admin_down=bool(fault and fault.admin),
                )
        return peers

    def _host(self, name: str, wiring: Wiring, looks: Looks) -> HostState:
        host = self.plan.hosts[name]
        nics: dict[str, NicState] = {}
        rows: list[LldpNeighbour] = []
        for nic in host.nics.values():
            end = (name, nic.name)
            far, up = wiring.far(end), wiring.carrier(end)
            netdev = nic.netdev or nic.name
            count, _ = wiring.ups_and_downs.get(end, (0, 0.0))
            nics[netdev] = NicState(
                netdev=netdev,
                nic=nic.name,
                mac=self.identities.nic(host, nic),
                pci=nic.pci,
                hca=nic.hca,
                oper_up=up,
                speed_mbps=nic.speed_mbps if up else None,
                mtu=nic.mtu,
                addresses=nic.addresses,
                carrier_down_count=(count + 1) // 2,
            )
            if far is not None and up and far[0] in self.plan.switches and wiring.lldp_passes(end):
                switch = self.plan.switches[far[0]]
                rows.append(looks.from_switch(switch, switch.ports[far[1]], netdev))
        return HostState(host=name, taken_at=looks.at, source="synthetic", nics=nics, lldp=tuple(rows))


def _edit_row(rows: list[LldpNeighbour], port: str, edit: f.LldpRow) -> None:
    """Change the port's row (or add one). `fields` are LldpNeighbour's."""
    index = next((i for i, row in enumerate(rows) if row.local_port == port), None)
    base = LldpNeighbour(local_port=port) if index is None else rows[index]
    changes: dict[str, Any] = dict(edit.fields)
    changed = replace(base, **changes)
    if index is None or edit.extra:
        rows.append(changed)
    else:
        rows[index] = changed


def _late(
    plan: Plan,
    states: dict[str, SwitchState],
    hosts: dict[str, HostState],
    missing: dict[str, str],
    fault: f.Fault,
    at: float,
) -> None:
    """Faults that change what a device says, and nothing of how the fabric hangs together."""
    match fault:
        case f.Dead(device):
            states.pop(device, None)
            if hosts.pop(device, None) is not None or device in plan.switches:
                missing[device] = "no route to host"
        case f.Unreachable(device, reason):
            if states.pop(device, None) is not None or hosts.pop(device, None) is not None:
                missing[device] = reason
        case f.Missing(device, part, reason):
            if device in states:
                state = states[device]
                empty: dict[str, Any] = {part: None}
                states[device] = replace(state, holes=(*state.holes, Hole(part, reason)), **empty)
            elif device in hosts:
                host_empty: dict[str, Any] = {part: None}
                hosts[device] = replace(hosts[device], holes=(*hosts[device].holes, Hole(part, reason)), **host_empty)
        case f.Rebooted(device, when):
            if device in states:
                states[device] = _rebooted(states[device], at, at - 300.0 if when is None else when)
        case _:
            if states:
                _layers.edit(plan, states, fault, at)


def _rebooted(state: SwitchState, at: float, when: float) -> SwitchState:
    age = at - when
    ports = {
        name: replace(port, flap_count=1 if port.oper_up else 0, last_up_time=when + 90 if port.oper_up else None)
        for name, port in (state.ports or {}).items()
    }
    bgp = None
    if state.bgp is not None:
        bgp = {
            key: replace(peer, uptime_s=max(0.0, age - 120), established=1, dropped=0)
            for key, peer in state.bgp.items()
        }
    factor = age / max(1.0, state.uptime_s or age)
    counters = {
        port: {name: int(value * factor) for name, value in fields.items()}
        for port, fields in (state.counters or {}).items()
    }
    tables: dict[str, Any] = {}
    for part in ("queues", "pgs"):
        rows = getattr(state, part) or {}
        tables[part] = {
            key: {name: int(value * factor) if isinstance(value, int) else value for name, value in fields.items()}
            for key, fields in rows.items()
        }
    return replace(
        state,
        uptime_s=age,
        swss_uptime_s=max(0.0, age - 60),
        reboot_cause="reboot",
        ports=ports,
        bgp=bgp,
        counters=counters,
        **tables,
    )


def merged(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Snapshots of parts of one fabric as one (for instance one a pod). The first's name is used."""
    parts = list(snapshots)
    return Snapshot(
        fabric=parts[0].fabric,
        started_at=min(part.started_at for part in parts),
        ended_at=max(part.ended_at for part in parts),
        switches=dict(chain.from_iterable(part.switches.items() for part in parts)),
        hosts=dict(chain.from_iterable(part.hosts.items() for part in parts)),
        missing=dict(chain.from_iterable(part.missing.items() for part in parts)),
    )
