"""One row a cable: both ends as a technician finds them, type, length and label text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields

from fabric.errors import InputError, Problem
from fabric.values.plan import HostPlan, Network, Plan, PlannedCable, PlannedNic, PlannedPort, PortUse, SwitchPlan


@dataclass(frozen=True, slots=True)
class CableEnd:
    """One end. `port` is a switch port or a NIC name; `cage` the number on the front panel, `lanes` the ASIC lanes,
    `lane_group` which part of a split cage it is (0 = the whole cage); None where the end has no such thing."""

    device: str
    role: str
    port: str
    alias: str | None
    cage: int | None
    lanes: str | None
    lane_group: int | None
    nic: str | None
    hca: str | None
    netdev: str | None
    rack: str | None
    unit: int | None


@dataclass(frozen=True, slots=True)
class CableRow:
    """One cable. `type` is the medium of the intent, else its speed and whether its cage is shared."""

    name: str
    network: str
    kind: str
    state: str
    pod: int | None
    rail: int | None
    plane: int | None
    parallel: int | None
    speed_gbps: int
    length_m: int
    type: str
    a: CableEnd
    b: CableEnd

    @property
    def label_a(self) -> str:
        """Text for the plug at end a: where it goes in, and where the other end is."""
        return _label(self.a, self.b)

    @property
    def label_b(self) -> str:
        """Text for the plug at end b."""
        return _label(self.b, self.a)


END_FIELDS = tuple(field.name for field in fields(CableEnd))
HEAD_FIELDS = tuple(field.name for field in fields(CableRow) if field.name not in ("a", "b"))
COLUMNS = (
    *("cable" if name == "name" else name for name in HEAD_FIELDS),
    *(f"a_{name}" for name in END_FIELDS),
    "a_label",
    *(f"b_{name}" for name in END_FIELDS),
    "b_label",
)


def cable_rows(
    plan: Plan, network: Network | None = None, pod: int | None = None, device: str | None = None
) -> list[CableRow]:
    """Rows of the Plan's cables in order of their ends, those of one network, pod or device where given.

    InputError when the Plan has no such network, pod or device: an empty list would read as "nothing to plug".
    """
    there = (
        (network, "network", {cable.network for cable in plan.cables.values()}),
        (pod, "pod", {switch.pod for switch in plan.switches.values()}),
        (device, "device", plan.switches.keys() | plan.hosts.keys()),
    )
    for wanted, what, known in there:
        if wanted is not None and wanted not in known:
            raise InputError(Problem(f"{plan.name} has no {what} {wanted}", "leave the option out to see all"))
    rows = [
        _row(plan, cable)
        for cable in plan.cables.values()
        if (network is None or cable.network is network)
        and (pod is None or cable.pod == pod)
        and (device is None or device in (cable.a_device, cable.b_device))
    ]
    return sorted(rows, key=lambda row: (row.network, row.kind, natural(row.a.device), natural(row.a.port)))


def bill(rows: Iterable[CableRow]) -> list[tuple[str, str, int, int, int]]:
    """What to order: (network, type, speed in Gb/s, length in metres, number of cables)."""
    counted = Counter((row.network, row.type, row.speed_gbps, row.length_m) for row in rows)
    return [(*key, number) for key, number in sorted(counted.items())]


def flat(row: CableRow) -> list[str | int | None]:
    """Values in the order of COLUMNS."""
    head = [getattr(row, name) for name in HEAD_FIELDS]
    a = [getattr(row.a, name) for name in END_FIELDS]
    b = [getattr(row.b, name) for name in END_FIELDS]
    return [*head, *a, row.label_a, *b, row.label_b]


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """Sort key that puts gpu2 before gpu10."""
    parts: list[tuple[int, str]] = []
    number = ""
    for char in f"{text}\0":
        if char.isdigit() and char.isascii():
            number += char
            continue
        if number:
            parts.append((int(number), ""))
            number = ""
        parts.append((-1, char))
    return tuple(parts)


def _row(plan: Plan, cable: PlannedCable) -> CableRow:
    a = _end(plan, cable.a_device, cable.a_port)
    b = _end(plan, cable.b_device, cable.b_port)
    return CableRow(
        name=cable.name,
        network=cable.network.value,
        kind=cable.kind.value,
        state=cable.state.value,
        pod=cable.pod,
        rail=cable.rail,
        plane=cable.plane,
        parallel=cable.parallel,
        speed_gbps=cable.speed_mbps // 1000,
        length_m=cable.length_m,
        type=cable.medium or _type(plan, cable),
        a=a,
        b=b,
    )


def _type(plan: Plan, cable: PlannedCable) -> str:
    """Speed, and how many ports the cage at the switch end holds: `400G (2x cage)` is half of a split cage."""
    speed = f"{cable.speed_mbps // 1000}G"
    for device, port_name in ((cable.a_device, cable.a_port), (cable.b_device, cable.b_port)):
        switch = plan.switches.get(device)
        port = switch.ports.get(port_name) if switch else None
        if switch is not None and port is not None and port.subport:
            mode = switch.breakouts.get(port.parent)
            count = mode.split("x", 1)[0] if mode else ""
            return f"{speed} ({count}x cage)" if count.isdigit() else f"{speed} (split cage)"
    return speed


def _end(plan: Plan, device: str, name: str) -> CableEnd:
    switch = plan.switches.get(device)
    if switch is not None:
        return _switch_end(switch, name, switch.ports.get(name))
    host = plan.hosts.get(device)
    return _host_end(device, host, name, host.nics.get(name) if host else None)


def _switch_end(switch: SwitchPlan, name: str, port: PlannedPort | None) -> CableEnd:
    return CableEnd(
        device=switch.name,
        role=switch.role.value,
        port=name,
        alias=port.alias if port else None,
        cage=port.index if port else None,
        lanes=",".join(map(str, port.lanes)) if port else None,
        lane_group=port.subport if port else None,
        nic=None,
        hca=None,
        netdev=None,
        rack=switch.rack,
        unit=switch.unit,
    )


def _host_end(device: str, host: HostPlan | None, name: str, nic: PlannedNic | None) -> CableEnd:
    return CableEnd(
        device=device,
        role=PortUse.HOST.value,
        port=name,
        alias=None,
        cage=None,
        lanes=None,
        lane_group=None,
        nic=name,
        hca=nic.hca if nic else None,
        netdev=nic.netdev if nic else None,
        rack=host.rack if host else None,
        unit=host.unit if host else None,
    )


def _label(mine: CableEnd, other: CableEnd) -> str:
    return f"{_place(mine)} > {_place(other)}"


def _place(end: CableEnd) -> str:
    rack = f" [{end.rack}" + (f" U{end.unit}]" if end.unit is not None else "]") if end.rack else ""
    where = end.alias or (f"{end.port}/{end.hca}" if end.hca else end.port)
    return f"{end.device} {where}{rack}"
