"""What every check looks at: the Plan beside the Snapshot, indexed once.

Nothing here judges. `now` is the end of the snapshot; no clock is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum

from fabric.checks.limits import Limits
from fabric.diagnose.claim import End
from fabric.values.change import Held
from fabric.values.plan import (
    LifeState,
    Outage,
    Plan,
    PlannedCable,
    PlannedNic,
    PlannedPort,
    PortUse,
    SwitchPlan,
)
from fabric.values.snapshot import NicState, PortState, Snapshot, SwitchState


class Life(IntEnum):
    """How a cable is judged: fully, with warnings only, as known down, or not at all (not there yet)."""

    SERVICE = 0
    INSTALLED = 1
    KNOWN_DOWN = 2
    PLANNED = 3


# How notes about what was not judged begin; writers may put them together.
NOT_JUDGED = "not judged: "

_LIFE = {
    LifeState.IN_SERVICE: Life.SERVICE,
    LifeState.INSTALLED: Life.INSTALLED,
    LifeState.OUT_OF_SERVICE: Life.KNOWN_DOWN,
    LifeState.PLANNED: Life.PLANNED,
}


@dataclass(slots=True)
class Link:
    """A planned cable with its two ends looked up. For a host cable `a` is the switch and `b` the NIC."""

    name: str
    cable: PlannedCable
    a: End
    b: End
    a_port: PlannedPort
    b_port: PlannedPort | PlannedNic
    host: bool
    life: Life

    @property
    def rail(self) -> int | None:
        """Rail of the cable, None on a fabric cable."""
        return self.cable.rail if self.cable.rail is not None else self.a_port.rail if self.host else None


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of the fabric to judge. Empty means all of it. A cable is in scope when one of its ends is."""

    devices: frozenset[str] = frozenset()

    def holds(self, *devices: str) -> bool:
        """Whether any of `devices` is in scope."""
        return not self.devices or any(device in self.devices for device in devices)


@dataclass(slots=True)
class View:
    """Plan and Snapshot side by side; made once a run by `look`. `links` are those in scope, `all_links` all."""

    plan: Plan
    snapshot: Snapshot
    baseline: Snapshot | None
    window_s: float | None
    limits: Limits
    scope: Scope
    now: float
    links: list[Link]
    all_links: list[Link]
    of_end: dict[End, Link]
    held: dict[End, Held]
    held_devices: dict[str, Held]
    expired: tuple[Held, ...] = ()
    history: Sequence[Snapshot] = ()
    only: frozenset[str] | None = None
    switches: dict[str, SwitchPlan] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    spans: dict[str, float | None] = field(default_factory=dict)

    def state(self, device: str) -> SwitchState | None:
        """What the switch said, or None when we have nothing from it."""
        return self.snapshot.switches.get(device)

    def before(self, device: str) -> SwitchState | None:
        """What the switch said in the baseline, if there is one."""
        return self.baseline.switches.get(device) if self.baseline is not None else None

    def port(self, end: End) -> PortState | None:
        """Live state of a switch port, None when not known."""
        state = self.snapshot.switches.get(end[0])
        return state.ports.get(end[1]) if state is not None and state.ports is not None else None

    def port_before(self, end: End) -> PortState | None:
        """State of a switch port in the baseline, None when not known."""
        state = self.before(end[0])
        return state.ports.get(end[1]) if state is not None and state.ports is not None else None

    def nic(self, end: End) -> NicState | None:
        """What the host itself said about a NIC, None when not known."""
        host = self.snapshot.hosts.get(end[0])
        if host is None or host.nics is None:
            return None
        state = host.nics.get(end[1])
        if state is not None:
            return state
        netdev = self.plan.hosts[end[0]].nics[end[1]].netdev
        return next((nic for nic in host.nics.values() if nic.nic == end[1] or nic.netdev == netdev), None)

    def far(self, end: End) -> End | None:
        """The planned other end of the cable in `end`."""
        link = self.of_end.get(end)
        if link is None:
            return None
        return link.b if link.a == end else link.a

    def up(self, end: End) -> bool | None:
        """Whether the link is up at this end: a switch port, or a NIC when its host was asked; None: not known."""
        if end[0] in self.plan.switches:
            port = self.port(end)
            return port.oper_up if port is not None else None
        nic = self.nic(end)
        return nic.oper_up if nic is not None else None

    def asks(self, check: str) -> bool:
        """Whether a check is part of this run."""
        return self.only is None or check in self.only

    def skip(self, what: str, why: str) -> None:
        """Say what this run did not judge, and what it would take."""
        self.note(f"{NOT_JUDGED}{what} ({why})")

    def note(self, text: str) -> None:
        """Say something about the run that is no finding (what was not asked, what had no data)."""
        if text not in self.notes:
            self.notes.append(text)

    def hold_on(self, end: End) -> Held | None:
        """The hold in force on a port or its device: state made by hand and kept on purpose."""
        return self.held.get(end) or self.held_devices.get(end[0])

    def name(self, end: End) -> str:
        """A place as a person finds it: `p1-l0 Ethernet0 (Eth1/1(Port1))` or `gpu001 rail0`."""
        port = self.plan.port(*end)
        if port is not None and port.alias and port.alias != port.name:
            return f"{end[0]} {end[1]} ({port.alias})"
        return f"{end[0]} {end[1]}"


def look(
    plan: Plan,
    snapshot: Snapshot,
    *,
    baseline: Snapshot | None = None,
    window_s: float | None = None,
    limits: Limits | None = None,
    scope: Collection[str] = (),
    held: Iterable[Held] = (),
    history: Sequence[Snapshot] = (),
    only: Collection[str] | None = None,
) -> View:
    """Index the Plan beside the Snapshot. `scope` names devices; holds past their end are not obeyed."""
    wanted = Scope(frozenset(scope))
    now = snapshot.ended_at
    links = []
    every = []
    of_end: dict[End, Link] = {}
    odd = {name: _LIFE[switch.state] for name, switch in plan.switches.items() if switch.state != LifeState.IN_SERVICE}
    odd |= {name: _LIFE[host.state] for name, host in plan.hosts.items() if host.state != LifeState.IN_SERVICE}
    for cable in plan.cables.values():
        link = _link(plan, cable, odd)
        if link is None:
            continue
        of_end[link.a] = link
        of_end[link.b] = link
        every.append(link)
        if wanted.holds(link.a[0], link.b[0]):
            links.append(link)
    holds = list(held)
    expired = tuple(hold for hold in holds if is_past(hold.until, now))
    ports, devices = _holds(plan, (hold for hold in holds if hold not in expired))
    return View(
        plan=plan,
        snapshot=snapshot,
        baseline=baseline,
        window_s=window_s,
        limits=limits or Limits(),
        scope=wanted,
        now=now,
        links=links,
        all_links=every,
        of_end=of_end,
        held=ports,
        held_devices=devices,
        expired=expired,
        history=history,
        only=frozenset(only) if only is not None else None,
        switches={name: switch for name, switch in plan.switches.items() if wanted.holds(name)},
    )


def _link(plan: Plan, cable: PlannedCable, odd: Mapping[str, Life]) -> Link | None:
    a, b = (cable.a_device, cable.a_port), (cable.b_device, cable.b_port)
    if cable.a_device not in plan.switches:
        a, b = b, a
    switch = plan.switches.get(a[0])
    a_port = switch.ports.get(a[1]) if switch is not None else None
    b_port: PlannedPort | PlannedNic | None = None
    if a_port is None:
        return None
    host = cable.kind is PortUse.HOST
    if host:
        owner = plan.hosts.get(b[0])
        b_port = owner.nics.get(b[1]) if owner is not None else None
    else:
        b_port = plan.port(*b)
    if b_port is None:
        return None
    life = max(
        _LIFE[cable.state],
        _LIFE[a_port.state],
        _LIFE[b_port.state],
        odd.get(a[0], Life.SERVICE),
        odd.get(b[0], Life.SERVICE),
    )
    return Link(cable.name, cable, a, b, a_port, b_port, host, life)


def _holds(plan: Plan, held: Iterable[Held]) -> tuple[dict[End, Held], dict[str, Held]]:
    """Holds by port and by device. An item is a port, the address of a peer, or nothing; `drained` is the device."""
    ports: dict[End, Held] = {}
    devices: dict[str, Held] = {}
    for hold in held:
        switch = plan.switches.get(hold.device)
        if not hold.item or hold.item == "drained" or switch is None:
            devices[hold.device] = hold
        elif hold.item in switch.ports:
            ports[hold.device, hold.item] = hold
        else:
            for port in switch.ports.values():
                if any(address.partition("/")[0] == hold.item for address in port.peer_addresses):
                    ports[hold.device, port.name] = hold
    return ports, devices


def is_past(until: str | None, now: float) -> bool:
    """Whether an ISO date or time lies before `now` (seconds since 1970). A date lasts to its end, UTC."""
    if not until:
        return False
    try:
        moment = datetime.fromisoformat(until)
    except ValueError:
        return False
    if "T" not in until and " " not in until.strip():
        moment = moment.replace(hour=23, minute=59, second=59)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() < now


def why(outage: Outage | None) -> str:
    """An outage in words."""
    if outage is None:
        return "out of service"
    return outage.reason + (f" ({outage.owner})" if outage.owner else "")
