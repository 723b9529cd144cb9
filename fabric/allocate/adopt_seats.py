"""Seats of hosts of a running fabric as ledger runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fabric.allocate.adopt_links import Tell
from fabric.allocate.book import Book
from fabric.allocate.ledger import HostRun, StorageRun
from fabric.allocate.names import fold, joined
from fabric.allocate.plots import Plots
from fabric.allocate.pools import Pool
from fabric.allocate.seen import SeenPort, SeenSwitch
from fabric.allocate.slots import slots_of
from fabric.model.fabric import Fabric, HostGroup
from fabric.values.plan import Network


def adopt_seats(fabric: Fabric, plots: Plots, book: Book, seen: Mapping[str, SeenSwitch], tell: Tell) -> None:
    """Add a run for every host whose leaves agree on where it sits; what does not fit is told."""
    ports = _host_ports(fabric, seen)
    runs: list[HostRun] = []
    for group in fabric.hosts:
        for name in group.names or ():
            if name not in book.of_host and name in ports:
                run = _seat(fabric, plots, book, group, name, ports[name], tell)
                if run is not None:
                    book.mgmt.take(run.mgmt, 1, name)
                    runs.append(run)
    for run in runs:
        book.mgmt.release(run.mgmt)
    runs.sort(key=lambda run: (run.pod, run.segment, run.place))
    for run in joined(runs, _continues, lambda one, other: replace(one, names=one.names + other.names)):
        book.add_hosts(run)
    _adopt_storage(fabric, plots, book, ports, tell)


def _host_ports(fabric: Fabric, seen: Mapping[str, SeenSwitch]) -> dict[str, list[tuple[str, SeenPort]]]:
    """Host name -> the (switch, port) that name it as neighbour."""
    found: dict[str, list[tuple[str, SeenPort]]] = {}
    for name, switch in seen.items():
        if name in fabric.switches:
            for port in switch.ports.values():
                if port.neighbour is not None and port.neighbour[0] not in fabric.switches:
                    found.setdefault(port.neighbour[0], []).append((name, port))
    return found


def _seat(
    fabric: Fabric, plots: Plots, book: Book, group: HostGroup, name: str, ports: list[tuple[str, SeenPort]], tell: Tell
) -> HostRun | None:
    pod = fabric.pods[group.pod]
    spots = fabric.spots[group.host_class]
    speed, width = spots[0].speed_mbps, fabric.ports_of(group.host_class)
    for segment in range(pod.segments):
        leaves = {fabric.leaf(group.pod, segment, spot.leaf, spot.plane) for spot in spots}
        here = [(switch, port) for switch, port in ports if switch in leaves]
        if not here:
            continue
        slots: set[int] = set()
        numbers: set[int] = set()
        for switch in leaves:
            table = {slot.port.name: n for n, slot in enumerate(slots_of(fabric.platform_of(switch), speed))}
            on = [port for at, port in here if at == switch]
            if len(on) == 0:
                continue
            if any(port.speed_mbps != speed or port.name not in table for port in on):
                tell(name, None, "seat", f"{switch} {on[0].name}", f"its port is not {speed // 1000}G")
                return None
            slots.add(min(table[port.name] for port in on))
            held = [_number(plots, book, switch, port) for port in on]
            given = [number for number in held if number is not None]
            if given:
                numbers.add(min(given))
        text = ", ".join(f"{switch} {port.name}" for switch, port in here[:4])
        if len(slots) != 1 or len(numbers) != 1:
            tell(name, None, "seat", text, "its leaves do not have it on the same port with the same address number")
            return None
        slot, number = slots.pop(), numbers.pop()
        place = number // width
        if place >= pod.places or any(
            run.pod == group.pod and run.segment == segment and run.place <= place < run.place + len(run.names)
            for run in book.hosts
        ):
            tell(name, None, "seat", text, f"place {place} of pod {group.pod} does not exist or is taken")
            return None
        mgmt = plots.host_mgmt.fit(book.mgmt, 1)
        if mgmt is None:
            tell(name, None, "seat", text, "no management address is left for it; give a larger management.hosts")
            return None
        return HostRun((name,), group.pod, segment, place, slot, speed, group.host_class, mgmt, number, width)
    tell(
        name, None, "seat", ", ".join(f"{switch} {port.name}" for switch, port in ports[:4]), "not on leaves of its pod"
    )
    return None


def _number(plots: Plots, book: Book, leaf: str, port: SeenPort) -> int | None:
    """Link number of a host port in its leaf's block."""
    found = book.of_switch.get(leaf)
    if found is None or found[0].hosts is None:
        return None
    block = found[0].hosts + found[1]
    for entry in port.addresses:
        if entry.version == 4 and plots.blocks.index(entry.ip) == block:
            return (int(entry.ip) - plots.blocks.base(block)) // 2
    return None


def _continues(one: HostRun, other: HostRun) -> bool:
    count = len(one.names)
    return (
        "," not in fold(one.names + other.names)
        and (one.pod, one.segment, one.speed_mbps, one.host_class, one.ports)
        == (other.pod, other.segment, other.speed_mbps, other.host_class, other.ports)
        and other.place == one.place + count
        and other.slot == one.slot + count * one.ports
        and other.address == one.address + count * one.ports
        and other.mgmt == one.mgmt + count
    )


def _adopt_storage(
    fabric: Fabric, plots: Plots, book: Book, ports: Mapping[str, list[tuple[str, SeenPort]]], tell: Tell
) -> None:
    storage = fabric.intent.storage
    if storage is None:
        return
    tops = [group.names[0] for group in fabric.groups if group.network is Network.STORAGE]
    wanted: list[tuple[str, str, int, int]] = []
    for group in fabric.hosts:
        nics = fabric.intent.classes[group.host_class].storage
        if nics is not None:
            wanted += [(name, "node", -(-nics.nics // len(tops)), nics.speed) for name in group.names or ()]
    for servers in storage.servers:
        wanted += [(name, "server", -(-servers.ports // len(tops)), servers.speed) for name in servers.nodes]
    runs: list[StorageRun] = []
    for name, kind, width, speed in wanted:
        here = [(switch, port) for switch, port in ports.get(name, ()) if switch in tops]
        if not here or name in book.of_storage:
            continue
        pools = plots.storage_nodes if kind == "node" else plots.storage_servers
        places = {_storage_place(fabric, switch, port, pools[tops.index(switch)], speed) for switch, port in here}
        firsts = {min(place for place in places if place is not None)} if None not in places else set()
        text = ", ".join(f"{switch} {port.name}" for switch, port in here[:4])
        if len(places) != width or len(firsts) != 1:
            tell(name, None, "storage seat", text, "its ports and addresses on the storage switches do not match")
            continue
        slot, address = firsts.pop()
        mgmt = plots.host_mgmt.fit(book.mgmt, 1) if kind == "server" else None
        if mgmt is not None:
            book.mgmt.take(mgmt, 1, name)
        run = StorageRun((name,), kind, address, slot, width, speed, mgmt)
        last = runs[-1] if runs else None
        if last is not None and _storage_continues(last, run):
            runs[-1] = replace(last, names=last.names + run.names)
        else:
            runs.append(run)
    for run in runs:
        if run.mgmt is not None:
            for number in range(run.mgmt, run.mgmt + len(run.names)):
                book.mgmt.release(number)
        book.add_storage(run)


def _storage_continues(one: StorageRun, other: StorageRun) -> bool:
    count = len(one.names)
    return (
        "," not in fold(one.names + other.names)
        and (one.kind, one.ports, one.speed_mbps) == (other.kind, other.ports, other.speed_mbps)
        and other.address == one.address + count * one.ports
        and other.slot == one.slot + count * one.ports
        and (one.mgmt is None) == (other.mgmt is None)
        and (one.mgmt is None or other.mgmt == one.mgmt + count)
    )


def _storage_place(fabric: Fabric, switch: str, port: SeenPort, pool: Pool, speed: int) -> tuple[int, int] | None:
    """(slot, number of its /31) of a host port of a storage switch."""
    table = {slot.port.name: n for n, slot in enumerate(slots_of(fabric.platform_of(switch), speed))}
    if port.speed_mbps != speed or port.name not in table:
        return None
    for entry in port.addresses:
        if entry.version == 4:
            number = pool.index(entry.ip)
            if number is not None:
                return table[port.name], number
    return None
