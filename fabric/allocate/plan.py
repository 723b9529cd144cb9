"""Ledger numbers to the Plan: every port, session, address and NIC written out.

Written for 3,840 switches: what is the same for many objects (unused ports, lane tuples) is one object, addresses are
made from whole numbers, and each object is made once.
"""

from __future__ import annotations

from collections.abc import Mapping

from fabric.allocate.book import Book
from fabric.allocate.host_links import HostLinks
from fabric.allocate.ledger import Ledger
from fabric.allocate.panels import Box, Panels
from fabric.allocate.plan_hosts import PlanHosts
from fabric.allocate.plan_links import PlanLinks
from fabric.allocate.plots import Plots
from fabric.allocate.pools import text4, text6
from fabric.allocate.settings import buffer_plans, qos_plan, routing_plan, services
from fabric.allocate.states import States
from fabric.errors import AllocationError
from fabric.intent.shapes import Override
from fabric.model.fabric import Fabric
from fabric.values.plan import HostPlan, Plan, PlannedCable, Role, SwitchPlan


def make_plan(fabric: Fabric, ledger: Ledger, book: Book, plots: Plots, lossy: bool = False) -> Plan:
    """The Plan of a fabric whose ledger holds everything. AllocationError when two things want one port or cage."""
    intent = fabric.intent
    buffers, notes = buffer_plans(fabric)
    qos = qos_plan(intent, lossy)
    states = States(fabric)
    panels = Panels(fabric, book, qos, buffers)
    links = HostLinks(intent.addressing, book, plots)
    cables: dict[str, PlannedCable] = {}
    PlanLinks(fabric, plots, panels, states, cables).write(ledger)
    hosts = PlanHosts(fabric, ledger, book, plots, panels, states, links, cables).write()
    panels.refuse()
    writer = _Switches(fabric, ledger, book, plots, panels, states, links)
    switches = {name: writer.switch(box) for name, box in panels.boxes.items()}
    states.finish(switches, hosts, cables)
    _check_identities(switches, hosts)
    return Plan(
        name=intent.name,
        intent_hash=fabric.file.sha256,
        release=intent.release,
        switches=switches,
        hosts=hosts,
        cables=cables,
        qos=qos,
        buffers=buffers,
        routing=routing_plan(intent),
        services=services(intent),
        notes=tuple(notes),
    )


class _Switches:
    """Writes out switches whose ports are filled."""

    def __init__(
        self, fabric: Fabric, ledger: Ledger, book: Book, plots: Plots, panels: Panels, states: States, links: HostLinks
    ) -> None:
        self.fabric = fabric
        self.intent = fabric.intent
        self.ledger = ledger
        self.book = book
        self.plots = plots
        self.panels = panels
        self.states = states
        self.links = links
        self.rack = fabric.lengths.rack

    def switch(self, box: Box) -> SwitchPlan:
        """The plan of one switch."""
        name, node = box.name, box.node
        run, offset = self.book.of_switch[name]
        override = self.intent.devices.get(name, Override())
        state, outage = self.states.switch(name)
        loopbacks = self._loopbacks(name, override)
        blocks: tuple[str, ...] = ()
        if node.role is Role.LEAF:
            blocks = self.links.prefixes(name)
        elif node.role is Role.STORAGE:
            pools = [
                p[node.number] for p in (self.plots.storage_nodes, self.plots.storage_servers) if node.number < len(p)
            ]
            blocks = tuple(str(prefix) for pool in pools for prefix in pool.prefixes)
        ports, breakouts = self.panels.ports(box)
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
            aggregates=blocks if self.links.vlan is None else (),
            state=state,
            outage=outage,
            pod=node.pod,
            rail=node.rail,
            plane=node.plane,
            rack=self.rack(name),
            unit=override.unit,
            serial=identity.serial if identity is not None else None,
            base_mac=identity.base_mac if identity is not None else None,
            vlans={self.links.vlan: self.links.pair(name, 0)[0]}
            if self.links.vlan is not None and node.role is Role.LEAF
            else {},
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
            "\n".join(f"address {one}; correct the override in devices, or the ledger" for one in wrong[:20])
        )
