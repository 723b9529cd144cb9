"""Hosts and storage servers: NICs, cables and the ports that carry them."""

from __future__ import annotations

from dataclasses import replace

from fabric.allocate.book import Book
from fabric.allocate.host_links import HostLinks
from fabric.allocate.ledger import HostRun, Identity, Ledger
from fabric.allocate.panels import Panels, slot_at
from fabric.allocate.plots import Plots
from fabric.allocate.pools import text4
from fabric.allocate.seats import auto_names
from fabric.allocate.slots import slots_of
from fabric.allocate.states import States
from fabric.intent.shapes import Override
from fabric.model.fabric import Fabric, HostGroup
from fabric.values.plan import (
    HostPlan,
    LifeState,
    Network,
    Outage,
    PlannedCable,
    PlannedNic,
    PortUse,
    cable_name,
)


class PlanHosts:
    """Writes out the hosts of a fabric."""

    def __init__(
        self, fabric: Fabric, ledger: Ledger, book: Book, plots: Plots, panels: Panels, states: States,
        links: HostLinks, cables: dict[str, PlannedCable],
    ) -> None:  # fmt: skip
        self.fabric = fabric
        self.intent = fabric.intent
        self.ledger = ledger
        self.book = book
        self.plots = plots
        self.panels = panels
        self.states = states
        self.links = links
        self.cables = cables
        self.host_mtu = panels.qos.host_mtu
        self.rack = fabric.lengths.rack

    def write(self) -> dict[str, HostPlan]:
        """Plan every host with its NICs, cables and leaf ports; storage servers last."""
        hosts: dict[str, HostPlan] = {}
        for group in self.fabric.hosts:
            names = group.names if group.names is not None else tuple(auto_names(self.book, group)[: group.count])
            for name in names:
                run, offset = self.book.of_host[name]
                hosts[name] = self._host(name, group, run, offset)
        self._storage(hosts)
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
        macs = self.ledger.identities.get(name, Identity()).nics
        nics: dict[str, PlannedNic] = {}
        for spot in fabric.spots[group.host_class]:
            leaf = fabric.leaf(group.pod, run.segment, spot.leaf, spot.plane)
            box = self.panels.boxes[leaf]
            metres = fabric.lengths.between(leaf, name, default)
            table = slots_of(box.platform, spot.speed_mbps)
            slot = slot_at(box, table, run.slot + offset * run.ports + spot.child)
            ours, theirs = self.links.pair(leaf, run.address + offset * run.ports + spot.child)
            cable = cable_name(leaf, slot.port.name, name, spot.name) if cabled else None
            link_state, link_outage = self.states.host_link(cable, leaf, slot.port.name, state, outage)
            self.panels.put(
                box, slot, PortUse.HOST, link_state, link_outage, metres, name, spot.name, spot.rail, None,
                () if self.links.vlan else ours, theirs, None, cable,
            )  # fmt: skip
            nics[spot.name] = PlannedNic(
                spot.name, Network.COMPUTE, spot.rail, spot.hca, spot.netdev, spot.pci, spot.speed_mbps,
                kind.mtu or self.host_mtu, leaf, slot.port.name, theirs, tuple(a.partition("/")[0] for a in ours),
                link_state, macs.get(spot.name), cable,
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
        macs = self.ledger.identities.get(name, Identity()).nics
        nics: dict[str, PlannedNic] = {}
        for nic in range(count):
            k, child = nic % len(tops), nic // len(tops)
            box = self.panels.boxes[tops[k]]
            slot = slot_at(box, slots_of(box.platform, speed), run.slot + offset * run.ports + child)
            base = pools[k].base(run.address + offset * run.ports + child)
            ours, theirs = f"{text4(base)}/31", f"{text4(base + 1)}/31"
            label = f"storage{nic}"
            metres = self.fabric.lengths.between(box.name, name, storage.length_m)
            cable = cable_name(box.name, slot.port.name, name, label) if cabled else None
            link_state, link_outage = self.states.host_link(cable, box.name, slot.port.name, state, outage)
            self.panels.put(
                box, slot, PortUse.HOST, link_state, link_outage, metres, name, label, None, None,
                (ours,), (theirs,), None, cable, storage=True,
            )  # fmt: skip
            nics[label] = PlannedNic(
                label, Network.STORAGE, None, hca[nic] if hca else None, netdev[nic] if netdev else None,
                pci[nic] if pci else None, speed, self.host_mtu, box.name, slot.port.name, (theirs,), (text4(base),),
                link_state, macs.get(label), cable,
            )  # fmt: skip
            if cable is not None:
                self._host_cable(cable, box.name, slot.port.name, name, label, Network.STORAGE, speed, metres,
                                 link_state, None, None, k)  # fmt: skip
        return nics

    def _mgmt_text(self, address: str) -> str:
        return f"{address}/{self.intent.management.network.partition('/')[2]}"
