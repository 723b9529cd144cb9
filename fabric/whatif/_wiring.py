"""Which plug sits where, and which links carry, under a set of faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fabric.errors import InputError, Problem
from fabric.values.finding import Place
from fabric.values.plan import LifeState, Plan
from fabric.whatif import faults as f
from fabric.whatif._seen import alive

End = tuple[str, str]


def base_far(plan: Plan) -> dict[End, End]:
    """Far end of every installed cable, both ways."""
    far: dict[End, End] = {}
    for cable in plan.cables.values():
        if alive(cable.state) or cable.state is LifeState.OUT_OF_SERVICE:
            a, b = (cable.a_device, cable.a_port), (cable.b_device, cable.b_port)
            far[a], far[b] = b, a
    return far


def absent(plan: Plan) -> set[str]:
    """Devices of the plan that are not powered: planned, or out of service."""
    return {name for name, switch in plan.switches.items() if not alive(switch.state)} | {
        name for name, host in plan.hosts.items() if not alive(host.state)
    }


@dataclass(slots=True)
class Wiring:
    """The physical truth: `far` and `carrier` of any end. Built from the plan's cables and a list of faults."""

    plan: Plan
    far_planned: Mapping[End, End]
    dead: set[str]
    now: float = 0.0
    occupant: dict[End, End] = field(default_factory=dict)
    location: dict[End, End] = field(default_factory=dict)
    cut: set[End] = field(default_factory=set)
    shut: set[End] = field(default_factory=set)
    unplugged: set[End] = field(default_factory=set)
    settings: dict[End, dict[str, object]] = field(default_factory=dict)
    silent: set[End] = field(default_factory=set)
    unseen: set[End] = field(default_factory=set)
    rows: dict[End, list[f.LldpRow]] = field(default_factory=dict)
    no_bgpd: set[str] = field(default_factory=set)
    sessions_down: dict[End, f.SessionDown] = field(default_factory=dict)
    ups_and_downs: dict[End, tuple[int, float]] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def far(self, end: End) -> End | None:
        """The end at the other side of the cable that is plugged in here now; None when nothing is."""
        other = self.far_planned.get(self.occupant.get(end, end))
        return None if other is None else self.location.get(other, other)

    def carrier(self, end: End) -> bool:
        """Whether the link at this end is up."""
        far = self.far(end)
        return far is not None and self._ready(end) and self._ready(far) and self._fits(end, far)

    def _ready(self, end: End) -> bool:
        device, port = end
        if device in self.dead or end in self.cut or end in self.shut or end in self.unplugged:
            return False
        planned = self.plan.port(device, port)
        return planned is None or planned.admin_up

    def _fits(self, end: End, far: End) -> bool:
        if not self.occupant and not self.settings:
            return True
        here, there = self._mode(end), self._mode(far)
        return here[0] == there[0] and (here[1] == there[1] or "" in (here[1], there[1]))

    def _mode(self, end: End) -> tuple[object, object]:
        changed = self.settings.get(end, {})
        planned = self.plan.port(*end)
        if planned is not None:
            return changed.get("speed_mbps", planned.speed_mbps), changed.get("fec", planned.fec)
        return changed.get("speed_mbps", self.plan.hosts[end[0]].nics[end[1]].speed_mbps), changed.get("fec", "")

    def apply(self, fault: f.Fault) -> None:
        """Take one fault into account. InputError when it names something the plan does not have."""
        match fault:
            case f.Swap(a, b):
                self._move({self._end(a): self._end(b), self._end(b): self._end(a)})
            case f.Replug(into):
                moves = {self._end(plug): self._end(at) for plug, at in into.items()}
                if set(moves) != set(moves.values()):
                    raise InputError(Problem("a Replug must be a permutation of places", "list every plug that moves"))
                self._move(moves)
            case f.Cut(at):
                end = self._end(at)
                self.cut.add(self.location.get(end, end))
                self._touch(end)
                self._count(end, 1, 600.0)
            case f.Flap(at, times, when):
                end = self._end(at)
                self._touch(end)
                self._count(end, 2 * times, 10.0 if when is None else self.now - when)
            case f.AdminDown(at):
                self.shut.add(self._end(at))
                self._touch(self._end(at))
                self._count(self._end(at), 1, 600.0)
            case f.Unplugged(at):
                self.unplugged.add(self._end(at))
                self._touch(self._end(at))
                self._count(self._end(at), 1, 600.0)
            case f.Setting(at, name, value):
                self.settings.setdefault(self._end(at), {})[name] = value
                self._touch(self._end(at))
            case f.NoLldp(at):
                self.silent.add(self._end(at))
                self._touch(self._end(at))
            case f.NoLldpSeen(at):
                self.unseen.add(self._end(at))
                self._touch(self._end(at))
            case f.LldpRow(at):
                self.rows.setdefault(self._end(at), []).append(fault)
                self._touch(self._end(at))
            case f.BgpdDown(device):
                self.no_bgpd.add(self._switch(device))
                self.touched.add(device)
                self.touched.update(
                    port.peer_device for port in self.plan.switches[device].sessions() if port.peer_device
                )
            case f.SessionDown(at):
                end = self._end(at)
                self.sessions_down[end] = fault
                self._touch(end)
            case f.Dead(device):
                self.dead.add(self._device(device))
                for end in [end for end in self.far_planned if end[0] == device]:
                    self._touch(end)
                    self._count(end, 1, 600.0)
            case f.Rebooted(device, when):
                for port in self.plan.switches[self._switch(device)].ports:
                    end = (device, port)
                    far = self.far(end)
                    self._touch(end)
                    if far is not None and self.carrier(end):
                        self.ups_and_downs[far] = (2, 300.0 if when is None else self.now - when)
            case f.BitErrors(at) | f.Counter(at) | f.PfcStorm(at) | f.Sensor(at):
                self.touched.add(self._end(at)[0])
            case f.LoseNextHop(device) | f.LoseRoute(device) | f.StaleGroups(device):
                self.touched.add(self._switch(device))
            case f.Unreachable(device) | f.Missing(device):
                self.touched.add(self._device(device))

    def lldp_passes(self, end: End) -> bool:
        """Whether this end gets the other's LLDP frames."""
        far = self.far(end)
        return end not in self.silent and end not in self.unseen and far is not None and far not in self.silent

    def session_up(self, end: End, unnumbered: bool) -> bool:
        """Whether the planned eBGP session over this end is established."""
        device, name = end
        planned = self.plan.port(device, name)
        far = self.far(end)
        if planned is None or far is None or planned.peer_asn is None or not self.carrier(end):
            return False
        if device in self.no_bgpd or far[0] in self.no_bgpd or end in self.sessions_down or far in self.sessions_down:
            return False
        if not unnumbered:
            return far == (planned.peer_device, planned.peer_port)
        there = self.plan.port(*far)
        if there is None:
            return False
        return self.plan.switches[far[0]].asn == planned.peer_asn and there.peer_asn == self.plan.switches[device].asn

    def _move(self, moves: Mapping[End, End]) -> None:
        """Take the plug that sits in each key and put it into the value."""
        plugs = {at: self.occupant.get(at, at) for at in moves}
        for at in moves:
            self._touch(at)
        for at, to in moves.items():
            self.occupant[to] = plugs[at]
            self.location[plugs[at]] = to
        for at in moves:
            self._touch(at)

    def _touch(self, end: End) -> None:
        self.touched.add(end[0])
        for far in (self.far(end), self.far_planned.get(end)):
            if far is not None:
                self.touched.add(far[0])

    def _count(self, end: End, changes: int, age_s: float) -> None:
        ends: Iterable[End | None] = (end, self.far(end))
        for at in ends:
            if at is not None:
                self.ups_and_downs[at] = (self.ups_and_downs.get(at, (0, 0.0))[0] + changes, age_s)

    def _end(self, place: Place) -> End:
        end = (place.device, place.port)
        host = self.plan.hosts.get(place.device)
        if self.plan.port(*end) is None and (host is None or place.port not in host.nics):
            raise InputError(Problem(f"the plan has no {place.device}:{place.port}", "name a port or NIC of the plan"))
        return end

    def _device(self, name: str) -> str:
        if name not in self.plan.switches and name not in self.plan.hosts:
            raise InputError(Problem(f"the plan has no device {name}", "name a switch or host of the plan"))
        return name

    def _switch(self, name: str) -> str:
        if name not in self.plan.switches:
            raise InputError(Problem(f"the plan has no switch {name}", "name a switch of the plan"))
        return name
