"""The ports of every switch while a Plan is made: what each carries, and the rest as spares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fabric.allocate.book import Book, asn_of
from fabric.allocate.slots import Slot
from fabric.errors import AllocationError
from fabric.intent.shapes import Override
from fabric.model.fabric import Fabric, SwitchNode
from fabric.platforms import Platform
from fabric.values.plan import BufferPlan, LifeState, Outage, PlannedPort, PortUse, QosPlan


class Box(NamedTuple):
    """What is needed of one switch, looked up once. `used` are its ports that carry something, `modes` the breakout
    mode of each cage in use."""

    name: str
    node: SwitchNode
    platform: Platform
    asn: int
    used: dict[str, PlannedPort]
    modes: dict[int, str]


class Panels:
    """All switches of a fabric, filled port by port."""

    def __init__(self, fabric: Fabric, book: Book, qos: QosPlan, buffers: Mapping[str, BufferPlan]) -> None:
        self.qos = qos
        self.buffers = buffers
        self.mtu = qos.mtu
        storage = fabric.intent.storage
        self.storage_lossless = storage is not None and storage.lossless
        self.rows = {key: _row_table(plan) for key, plan in buffers.items()}
        self.clashes: list[str] = []
        self.unused: dict[tuple[str, str, str], tuple[PlannedPort, ...]] = {}
        self.boxes: dict[str, Box] = {}
        for name, node in fabric.switches.items():
            run, place = book.of_switch[name]
            asn = fabric.intent.devices.get(name, Override()).asn or asn_of(run, place)
            self.boxes[name] = Box(name, node, fabric.platforms[node.platform], asn, {}, {})

    def put(
        self, box: Box, slot: Slot, use: PortUse, state: LifeState, outage: Outage | None, metres: int,
        peer: str, peer_slot: Slot | str, rail: int | None, parallel: int | None,
        addresses: tuple[str, ...], peer_addresses: tuple[str, ...], peer_asn: int | None, cable: str | None,
        storage: bool = False,
    ) -> None:  # fmt: skip
        """Use a port. A port or cage that is taken is noted, for `refuse`."""
        port = slot.port
        if port.name in box.used or box.modes.setdefault(slot.cage, slot.mode) != slot.mode:
            before = box.used.get(port.name)
            if before is not None:
                what = f"{port.name} for {before.peer_device} and for {peer}"
            else:
                what = f"cage {slot.parent} as {box.modes[slot.cage]} and, for {peer}, as {slot.mode}"
            self.clashes.append(f"{box.name}: {what}")
            return
        planned = state is LifeState.PLANNED
        lossless = (
            self.qos.lossless
            and box.platform.key in self.buffers
            and not planned
            and (not storage or self.storage_lossless)
        )
        row = self.rows[box.platform.key].get(port.speed_mbps) if lossless else None
        alias = None if isinstance(peer_slot, str) else peer_slot.port.alias
        box.used[port.name] = PlannedPort(
            port.name, port.alias, port.index, port.subport, port.lanes, port.speed_mbps, port.fec, self.mtu, use,
            state is LifeState.IN_SERVICE or state is LifeState.INSTALLED, state, slot.parent, lossless, metres,
            _at_least(row, metres), peer, peer_slot if isinstance(peer_slot, str) else peer_slot.port.name, alias,
            rail, box.node.plane, parallel, addresses, peer_addresses, peer_asn, cable, outage,
        )  # fmt: skip

    def ports(self, box: Box) -> tuple[dict[str, PlannedPort], dict[str, str]]:
        """Every port of a switch in cage order, used or not, and the breakout mode of every cage."""
        ports: dict[str, PlannedPort] = {}
        breakouts: dict[str, str] = {}
        platform, used = box.platform, box.used
        for number, cage in enumerate(platform.cages):
            mode = box.modes.get(number, cage.default_mode)
            breakouts[cage.first_port] = mode
            for spare in self._unused(platform, cage.first_port, mode):
                ports[spare.name] = used.get(spare.name, spare)
        for cage in platform.service_cages:
            breakouts[cage.first_port] = cage.default_mode
        for spare in self._service(platform):
            ports[spare.name] = spare
        if platform.breakout_cfg is False:
            breakouts = {}
        return ports, breakouts

    def _unused(self, platform: Platform, first_port: str, mode: str) -> tuple[PlannedPort, ...]:
        key = (platform.key, first_port, mode)
        found = self.unused.get(key)
        if found is None:
            found = tuple(
                PlannedPort(
                    p.name, p.alias, p.index, p.subport, p.lanes, p.speed_mbps, p.fec, self.mtu, PortUse.UNUSED, False,
                    LifeState.PLANNED, first_port,
                )
                for p in platform.children(first_port, mode)
            )  # fmt: skip
            self.unused[key] = found
        return found

    def _service(self, platform: Platform) -> tuple[PlannedPort, ...]:
        key = (platform.key, "service", "")
        found = self.unused.get(key)
        if found is None:
            found = tuple(
                PlannedPort(
                    p.name, p.alias, p.index, p.subport, p.lanes, p.speed_mbps, p.fec, self.mtu, PortUse.SERVICE, False,
                    LifeState.PLANNED, p.name,
                )
                for p in platform.service_ports
            )  # fmt: skip
            self.unused[key] = found
        return found

    def refuse(self) -> None:
        """AllocationError when a port or cage was wanted twice."""
        if self.clashes:
            raise AllocationError(
                "ports are given twice: "
                + "; ".join(self.clashes[:20])
                + "; delete one of the two ledger lines of each"
            )


def slot_at(box: Box, table: tuple[Slot, ...], number: int) -> Slot:
    """A slot of a switch; AllocationError when its platform has no such one (any more)."""
    if number >= len(table):
        speed = table[0].port.speed_mbps // 1000
        raise AllocationError(
            f"{box.name}: the ledger gives it port number {number} of {speed}G, {box.platform.key} has {len(table)}; "
            "keep its platform, or delete the ledger lines that name it"
        )
    return table[number]


def _row_table(plan: BufferPlan) -> Mapping[int, tuple[int, ...]]:
    """Speed -> lengths of the lookup rows, ascending."""
    table: dict[int, list[int]] = {}
    for row in plan.rows:
        table.setdefault(row.speed_mbps, []).append(row.cable_m)
    return {speed: tuple(sorted(lengths)) for speed, lengths in table.items()}


def _at_least(lengths: tuple[int, ...] | None, metres: int) -> int | None:
    """The smallest row that is not shorter than a cable."""
    return next((length for length in lengths or () if length >= metres), None)
