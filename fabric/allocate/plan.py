"""Ledger numbers to the Plan: every port, session, address and NIC written out.

Written for 3,840 switches: what is the same for many objects (unused ports, lane tuples) is one object, addresses are
made from whole numbers, and each object is made once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from fabric.allocate.book import Book, asn_of
from fabric.allocate.ledger import HostRun, Ledger, LinkRun
from fabric.allocate.plots import Plots
from fabric.allocate.pools import text4, text6
from fabric.allocate.seats import auto_names
from fabric.allocate.settings import buffer_plans, qos_plan, routing_plan, services
from fabric.allocate.slots import Slot, slots_of
from fabric.allocate.states import States
from fabric.errors import AllocationError
from fabric.intent.shapes import Override
from fabric.model.fabric import Fabric, HostGroup, Mesh, SwitchNode
from fabric.platforms import Platform
from fabric.values.plan import (
    BufferPlan,
    HostPlan,
    LifeState,
    Network,
    Outage,
    Plan,
    PlannedCable,
    PlannedNic,
    PlannedPort,
    PortUse,
    QosPlan,
    Role,
    SwitchPlan,
    cable_name,
)


class _Box(NamedTuple):
    """What building needs of one switch, looked up once."""

    name: str
    node: SwitchNode
    platform: Platform
    asn: int
    state: LifeState
    used: dict[str, PlannedPort]
    modes: dict[int, str]


def make_plan(fabric: Fabric, ledger: Ledger, book: Book, plots: Plots, lossy: bool = False) -> Plan:
    """The Plan of a fabric whose ledger holds everything. AllocationError when two things want one cage."""
    return _Maker(fabric, ledger, book, plots, lossy).plan()


class _Maker:
    def __init__(self, fabric: Fabric, ledger: Ledger, book: Book, plots: Plots, lossy: bool) -> None:
        self.fabric = fabric
        self.intent = fabric.intent
        self.ledger = ledger
        self.book = book
        self.plots = plots
        self.buffers, self.notes = buffer_plans(fabric)
        self.qos: QosPlan = qos_plan(self.intent, lossy)
        self.states = States(fabric)
        self.numbered = self.intent.addressing.fabric_links == "numbered"
        self.vlan = self.intent.addressing.vlan if self.intent.addressing.host_links == "vlan" else None
        self.mtu = self.qos.mtu
        self.host_mtu = self.qos.host_mtu
        self.cables: dict[str, PlannedCable] = {}
        self.nics: dict[str, dict[str, PlannedNic]] = {}
        self.boxes: dict[str, _Box] = {}
        self.rack = fabric.lengths.rack
        self.rows = {key: _row_table(plan) for key, plan in self.buffers.items()}
        self.clashes: list[str] = []
        self.clashes_of_kind: set[str] = set()
        self.unused: dict[tuple[str, str, str], tuple[PlannedPort, ...]] = {}

    def plan(self) -> Plan:
        for name, node in self.fabric.switches.items():
            run, place = self.book.of_switch[name]
            asn = self.intent.devices.get(name, Override()).asn or asn_of(run, place)
            state, _ = self.states.switch(name)
            platform = self.fabric.platforms[node.platform]
            self.boxes[name] = _Box(name, node, platform, asn, state, {}, {})
        for link_run in self.ledger.links:
            self._links(link_run)
        hosts = self._hosts()
        self._storage(hosts)
        switches = {name: self._switch(box) for name, box in self.boxes.items()}
        if self.clashes:
            raise AllocationError(
                "ports are given twice: "
                + "; ".join(self.clashes[:20])
                + "; delete one of the two ledger lines of each"
            )
        if self.clashes_of_kind:
            raise AllocationError(
                "ends of a link would not come up: "
                + "; ".join(sorted(self.clashes_of_kind)[:10])
                + "; take a speed that both platforms make of equally many lanes"
            )
        self.states.finish(switches, hosts, self.cables)
        _check_identities(switches, hosts)
        return Plan(
            name=self.intent.name,
            intent_hash=self.fabric.file.sha256,
            release=self.intent.release,
            switches=switches,
            hosts=hosts,
            cables=self.cables,
            qos=self.qos,
            buffers=self.buffers,
            routing=routing_plan(self.intent),
            services=services(self.intent),
            notes=tuple(self.notes),
        )

    # -- fabric links

    def _links(self, run: LinkRun) -> None:
        wanted = _wanted(self.fabric, run)
        if not wanted:
            return
        boxes = self.boxes
        tables = {name: slots_of(boxes[name].platform, run.speed_mbps) for pair in wanted for name in pair}
        between = self.fabric.lengths.between
        for lower, upper, lower_slot, upper_slot, parallel, number in _each_link(run):
            mesh = wanted.get((lower, upper))
            if mesh is None or (mesh.links is not None and parallel >= mesh.links):
                continue
            metres = between(lower, upper, mesh.length_m)
            a, b = boxes[lower], boxes[upper]
            low, high = _slot(a, tables[lower], lower_slot), _slot(b, tables[upper], upper_slot)
            if low.port.fec != high.port.fec or len(low.port.lanes) != len(high.port.lanes):
                self.clashes_of_kind.add(
                    f"{lower} {low.port.name} ({len(low.port.lanes)} lanes, FEC {low.port.fec}) and {upper} "
                    f"{high.port.name} ({len(high.port.lanes)} lanes, FEC {high.port.fec})"
                )
            name = cable_name(lower, low.port.name, upper, high.port.name)
            state, outage = self.states.link(name, lower, low.port.name, upper, high.port.name)
            ours, theirs = self._pair(number) if number is not None and self.numbered else ((), ())
            rail = a.node.rail if b.node.rail is not None else None
            self._put(
                a, low, PortUse.FABRIC, state, outage, metres, upper, high, rail, parallel, ours, theirs, b.asn, name
            )
            self._put(
                b, high, PortUse.FABRIC, state, outage, metres, lower, low, rail, parallel, theirs, ours, a.asn, name
            )
            ends = (lower, low.port.name, upper, high.port.name)
            if (upper, high.port.name) < (lower, low.port.name):
                ends = (upper, high.port.name, lower, low.port.name)
            self.cables[name] = PlannedCable(
                name, *ends, PortUse.FABRIC, a.node.network, run.speed_mbps, metres, state,
                rail, a.node.pod, a.node.plane, parallel,
            )  # fmt: skip

    def _pair(self, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        plots = self.plots
        ours: tuple[str, ...] = ()
        theirs: tuple[str, ...] = ()
        if plots.ipv4:
            base = plots.fabric.base(number)
            ours, theirs = (f"{text4(base)}/31",), (f"{text4(base + 1)}/31",)
        if plots.ipv6:
            base = plots.fabric6.base(number)
            ours, theirs = (*ours, f"{text6(base)}/127"), (*theirs, f"{text6(base + 1)}/127")
        return ours, theirs

    def _put(
        self, box: _Box, slot: Slot, use: PortUse, state: LifeState, outage: Outage | None, metres: int,
        peer: str, peer_slot: Slot | str, rail: int | None, parallel: int | None,
        addresses: tuple[str, ...], peer_addresses: tuple[str, ...], peer_asn: int | None, cable: str | None,
        storage: bool = False,
    ) -> None:  # fmt: skip
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
        storage_lossless = self.intent.storage is not None and self.intent.storage.lossless
        lossless = (
            self.qos.lossless
            and box.node.platform in self.buffers
            and not planned
            and (not storage or storage_lossless)
        )
        row = self.rows[box.node.platform].get(port.speed_mbps) if lossless else None
        alias = None if isinstance(peer_slot, str) else peer_slot.port.alias
        box.used[port.name] = PlannedPort(
            port.name, port.alias, port.index, port.subport, port.lanes, port.speed_mbps, port.fec, self.mtu, use,
            state is LifeState.IN_SERVICE or state is LifeState.INSTALLED, state, slot.parent, lossless, metres,
            _at_least(row, metres), peer, peer_slot if isinstance(peer_slot, str) else peer_slot.port.name, alias,
            rail, box.node.plane, parallel, addresses, peer_addresses, peer_asn, cable, outage,
        )  # fmt: skip

    # -- hosts

    def _hosts(self) -> dict[str, HostPlan]:
        hosts: dict[str, HostPlan] = {}
        for group in self.fabric.hosts:
            names = group.names if group.names is not None else tuple(auto_names(self.book, group)[: group.count])
            for name in names:
                run, offset = self.book.of_host[name]
                hosts[name] = self._host(name, group, run, offset)
        return hosts

    def _host(self, name: str, group: HostGroup, run: HostRun, offset: int) -> HostPlan:
        fabric = self.fabric
        pod = fabric.pods[group.pod]
        place = run.place + offset
        state, outage = self.states.host(name, group)
        override = self.intent.devices.get(name, Override())
        cabled = not (group.reserve and state is LifeState.PLANNED)
        kind = self.intent.classes[group.host_class]
        default = self.intent.compute.leaf.host_length_m
        planes = self.intent.compute.planes > 1
        macs = self.ledger.identities.get(name)
        nics: dict[str, PlannedNic] = {}
        for spot in fabric.spots[group.host_class]:
            leaf = fabric.leaf(group.pod, run.segment, spot.leaf, spot.plane)
            box = self.boxes[leaf]
            metres = fabric.lengths.between(leaf, name, default)
            table = slots_of(box.platform, spot.speed_mbps)
            slot = _slot(box, table, run.slot + offset * run.ports + spot.child)
            ours, theirs = self._host_pair(leaf, run.address + offset * run.ports + spot.child)
            cable = cable_name(leaf, slot.port.name, name, spot.name) if cabled else None
            link_state, link_outage = self.states.host_link(cable, leaf, slot.port.name, state, outage)
            self._put(
                box, slot, PortUse.HOST, link_state, link_outage, metres, name, spot.name, spot.rail, None,
                () if self.vlan else ours, theirs, None, cable,
            )  # fmt: skip
            nics[spot.name] = PlannedNic(
                spot.name, Network.COMPUTE, spot.rail, spot.hca, spot.netdev, spot.pci, spot.speed_mbps,
                kind.mtu or self.host_mtu, leaf, slot.port.name, theirs, tuple(a.partition("/")[0] for a in ours),
                link_state, macs.nics.get(spot.name) if macs is not None else None, cable,
            )  # fmt: skip
            if cable is not None:
                self._host_cable(cable, leaf, slot.port.name, name, spot.name, Network.COMPUTE, spot.speed_mbps, metres,
                                 link_state, spot.rail, group.pod, spot.plane if planes else None)  # fmt: skip
        return HostPlan(
            name, group.pod, run.segment * pod.places + place, group.host_class, nics, state, outage,
            self._mgmt_text(override.mgmt_address or text4(self.plots.mgmt.base(run.mgmt + offset))),
            self.rack(name), override.unit, group.reserve,
        )  # fmt: skip

    def _host_cable(
        self, cable: str, leaf: str, port: str, host: str, nic: str, network: Network, speed: int, metres: int,
        state: LifeState, rail: int | None, pod: int | None, plane: int | None,
    ) -> None:  # fmt: skip
        ends = (leaf, port, host, nic) if (leaf, port) < (host, nic) else (host, nic, leaf, port)
        self.cables[cable] = PlannedCable(cable, *ends, PortUse.HOST, network, speed, metres, state, rail, pod, plane)

    def _host_pair(self, leaf: str, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Addresses of the leaf and of NIC `number` of a leaf's block."""
        plots = self.plots
        run, offset = self.book.of_switch[leaf]
        block = (run.hosts or 0) + offset
        ours: tuple[str, ...] = ()
        theirs: tuple[str, ...] = ()
        if plots.ipv4:
            base = plots.blocks.base(block)
            if self.vlan:
                length = plots.block_length
                ours, theirs = (f"{text4(base + 1)}/{length}",), (f"{text4(base + 2 + number)}/{length}",)
            else:
                ours, theirs = (f"{text4(base + 2 * number)}/31",), (f"{text4(base + 2 * number + 1)}/31",)
        if plots.ipv6:
            base = plots.blocks6.base(block)
            if self.vlan:
                ours, theirs = (*ours, f"{text6(base + 1)}/64"), (*theirs, f"{text6(base + 2 + number)}/64")
            else:
                ours = (*ours, f"{text6(base + 2 * number)}/127")
                theirs = (*theirs, f"{text6(base + 2 * number + 1)}/127")
        return ours, theirs

    def _blocks(self, leaf: str) -> tuple[str, ...]:
        """The host prefixes of a leaf."""
        run, offset = self.book.of_switch[leaf]
        if run.hosts is None:
            return ()
        block = run.hosts + offset
        found: list[str] = []
        if self.plots.ipv4:
            found.append(f"{text4(self.plots.blocks.base(block))}/{self.plots.block_length}")
        if self.plots.ipv6:
            found.append(f"{text6(self.plots.blocks6.base(block))}/64")
        return tuple(found)

    # -- storage

    def _storage(self, hosts: dict[str, HostPlan]) -> None:
        storage = self.intent.storage
        if storage is None:
            return
        tops = [name for name, node in self.fabric.switches.items() if node.network is Network.STORAGE]
        for group in self.fabric.hosts:
            nics = self.intent.classes[group.host_class].storage
            if nics is None:
                continue
            names = group.names if group.names is not None else tuple(auto_names(self.book, group)[: group.count])
            listed = (nics.hca, nics.netdev, nics.pci)
            for name in names:
                host = hosts[name]
                cabled = not (host.reserve and host.state is LifeState.PLANNED)
                made = self._storage_nics(name, tops, nics.nics, nics.speed, listed, host.state, host.outage, cabled)
                hosts[name] = replace(host, nics={**host.nics, **made})
        for servers in storage.servers:
            for number, name in enumerate(servers.nodes):
                state, outage = self.states.plain_host(name)
                made = self._storage_nics(name, tops, servers.ports, servers.speed, ([], [], []), state, outage, True)
                run, offset = self.book.of_storage[name]
                override = self.intent.devices.get(name, Override())
                hosts[name] = HostPlan(
                    name, 0, number, "storage-server", made, state, outage,
                    self._mgmt_text(override.mgmt_address or text4(self.plots.mgmt.base((run.mgmt or 0) + offset))),
                    self.rack(name), override.unit,
                )  # fmt: skip

    def _storage_nics(
        self, name: str, tops: list[str], count: int, speed: int, listed: tuple[list[str], list[str], list[str]],
        state: LifeState, outage: Outage | None, cabled: bool,
    ) -> dict[str, PlannedNic]:  # fmt: skip
        storage = self.intent.storage
        assert storage is not None
        run, offset = self.book.of_storage[name]
        pools = self.plots.storage_nodes if run.kind == "node" else self.plots.storage_servers
        hca, netdev, pci = listed
        nics: dict[str, PlannedNic] = {}
        for nic in range(count):
            k, child = nic % len(tops), nic // len(tops)
            box = self.boxes[tops[k]]
            slot = _slot(box, slots_of(box.platform, speed), run.slot + offset * run.ports + child)
            base = pools[k].base(run.address + offset * run.ports + child)
            ours, theirs = f"{text4(base)}/31", f"{text4(base + 1)}/31"
            label = f"storage{nic}"
            metres = self.fabric.lengths.between(box.name, name, storage.length_m)
            cable = cable_name(box.name, slot.port.name, name, label) if cabled else None
            link_state, link_outage = self.states.host_link(cable, box.name, slot.port.name, state, outage)
            self._put(
                box, slot, PortUse.HOST, link_state, link_outage, metres, name, label, None, None,
                (ours,), (theirs,), None, cable, storage=True,
            )  # fmt: skip
            nics[label] = PlannedNic(
                label, Network.STORAGE, None, hca[nic] if hca else None, netdev[nic] if netdev else None,
                pci[nic] if pci else None, speed, self.host_mtu, box.name, slot.port.name, (theirs,), (text4(base),),
                link_state, None, cable,
            )  # fmt: skip
            if cable is not None:
                self._host_cable(cable, box.name, slot.port.name, name, label, Network.STORAGE, speed, metres,
                                 link_state, None, None, k)  # fmt: skip
        return nics

    # -- switches

    def _switch(self, box: _Box) -> SwitchPlan:
        name, node = box.name, box.node
        run, offset = self.book.of_switch[name]
        override = self.intent.devices.get(name, Override())
        state, outage = self.states.switch(name)
        loopbacks = self._loopbacks(name, override)
        blocks: tuple[str, ...] = ()
        if node.role is Role.LEAF:
            blocks = self._blocks(name)
        elif node.role is Role.STORAGE:
            pools = [
                p[node.number] for p in (self.plots.storage_nodes, self.plots.storage_servers) if node.number < len(p)
            ]
            blocks = tuple(str(prefix) for pool in pools for prefix in pool.prefixes)
        ports, breakouts = self._ports(box)
        address = override.mgmt_address
        gateway = self.intent.management.gateway
        identity = self.ledger.identities.get(name)
        return SwitchPlan(
            name=name,
            role=node.role,
            network=node.network,
            index=run.index + offset,
            platform=box.platform.key,
            onie_platform=box.platform.onie_platform,
            hwsku=box.platform.hwsku,
            device_type=node.device_type,
            asn=box.asn,
            loopbacks=loopbacks,
            mgmt_address=self._mgmt_text(address or text4(self.plots.mgmt.base(run.mgmt + offset))),
            mgmt_gateway=gateway,
            ports=ports,
            breakouts=breakouts,
            networks=(*(entry for entry in loopbacks if self.plots.ipv4 or ":" in entry), *blocks),
            aggregates=blocks if self.vlan is None else (),
            state=state,
            outage=outage,
            pod=node.pod,
            rail=node.rail,
            plane=node.plane,
            rack=self.rack(name),
            unit=override.unit,
            serial=identity.serial if identity is not None else None,
            base_mac=identity.base_mac if identity is not None else None,
            vlans={self.vlan: self._host_pair(name, 0)[0]} if self.vlan is not None and node.role is Role.LEAF else {},
            segment=node.segment,
        )

    def _loopbacks(self, name: str, override: Override) -> tuple[str, ...]:
        run, offset = self.book.of_switch[name]
        if run.loopback is None:
            pool = self.plots.storage_loopbacks
            assert pool is not None
            return (f"{override.loopback or text4(pool.base(self.fabric.switches[name].number + 1))}/32",)
        number = run.loopback + offset
        found: list[str] = []
        if override.loopback is not None:
            found.append(f"{override.loopback}/{128 if ':' in override.loopback else 32}")
        if not any("." in entry for entry in found):
            found.insert(0, f"{text4(self.plots.loopbacks.base(number))}/32")
        if self.plots.ipv6 and not any(":" in entry for entry in found):
            found.append(f"{text6(self.plots.loopbacks6.base(number))}/128")
        return tuple(found)

    def _mgmt_text(self, address: str) -> str:
        return f"{address}/{self.intent.management.network.partition('/')[2]}"

    def _ports(self, box: _Box) -> tuple[dict[str, PlannedPort], dict[str, str]]:
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


def _slot(box: _Box, table: tuple[Slot, ...], number: int) -> Slot:
    """A slot of a switch; AllocationError when its platform has no such one (any more)."""
    if number >= len(table):
        speed = table[0].port.speed_mbps // 1000
        raise AllocationError(
            f"{box.name}: the ledger gives it port number {number} of {speed}G, {box.platform.key} has {len(table)}; "
            "keep its platform, or delete the ledger lines that name it"
        )
    return table[number]


def _wanted(fabric: Fabric, run: LinkRun) -> dict[tuple[str, str], Mesh]:
    """Pairs of a ledger run that the fabric still wants, with the mesh they are of."""
    found: dict[tuple[str, str], Mesh] = {}
    lowers, uppers = set(run.lowers), set(run.uppers)
    for mesh in fabric.meshes:
        if mesh.speed_mbps != run.speed_mbps or lowers.isdisjoint(mesh.lowers) or uppers.isdisjoint(mesh.uppers):
            continue
        if run.deal is None and mesh.links is not None and run.first >= mesh.links:
            continue
        for lower in mesh.lowers:
            if lower in lowers:
                for upper in mesh.uppers:
                    if upper in uppers:
                        found[lower, upper] = mesh
    return found


def _each_link(run: LinkRun) -> Iterator[tuple[str, str, int, int, int, int | None]]:
    """lower, upper, slot on each, parallel index, fabric link number, of every link of a run."""
    width = len(run.uppers)
    address = run.address
    if run.deal is None:
        links = run.links
        for a, lower in enumerate(run.lowers):
            for b, upper in enumerate(run.uppers):
                for j in range(links):
                    at = b * links + j
                    number = None if address is None else address + a * width * links + at
                    yield lower, upper, run.lower_slot + at, run.upper_slot + a * links + j, run.first + j, number
        return
    for a, lower in enumerate(run.lowers):
        for u in range(run.links):
            n = run.deal + a * run.links + u
            number = None if address is None else address + a * run.links + u
            yield lower, run.uppers[n % width], run.lower_slot + u, run.upper_slot + n // width, u // width, number


def _check_identities(switches: Mapping[str, SwitchPlan], hosts: Mapping[str, HostPlan]) -> None:
    """AllocationError when two devices have one loopback or management address, or a loopback lies where links are.

    The ledger gives none twice: this catches what overrides of the intent do.
    """
    owners: dict[str, str] = {}
    wrong: list[str] = []
    for name, switch in switches.items():
        for entry in (*switch.loopbacks, switch.mgmt_address):
            address = entry.partition("/")[0]
            if owners.setdefault(address, name) != name:
                wrong.append(f"{address} belongs to {owners[address]} and to {name}")
    for name, host in hosts.items():
        if host.mgmt_address is not None:
            address = host.mgmt_address.partition("/")[0]
            if owners.setdefault(address, name) != name:
                wrong.append(f"{address} belongs to {owners[address]} and to {name}")
    for name, switch in switches.items():
        for port in switch.ports.values():
            for entry in port.addresses:
                other = owners.get(entry.partition("/")[0])
                if other is not None:
                    wrong.append(f"{entry.partition('/')[0]} belongs to {other} and to {name} {port.name}")
    if wrong:
        raise AllocationError(
            "addresses are given twice: " + "; ".join(wrong[:20]) + "; correct the override in devices"
        )


def _row_table(plan: BufferPlan) -> Mapping[int, tuple[int, ...]]:
    """Speed -> lengths of the lookup rows, ascending."""
    table: dict[int, list[int]] = {}
    for row in plan.rows:
        table.setdefault(row.speed_mbps, []).append(row.cable_m)
    return {speed: tuple(sorted(lengths)) for speed, lengths in table.items()}


def _at_least(lengths: tuple[int, ...] | None, metres: int) -> int | None:
    """The smallest row that is not shorter than a cable."""
    return next((length for length in lengths or () if length >= metres), None)
