"""Seats of hosts: place in a pod, port slots on its leaves and on the storage switches."""

from __future__ import annotations

from collections.abc import Sequence

from fabric.allocate.book import Book, Spans
from fabric.allocate.front import Front
from fabric.allocate.ledger import HostRun, StorageRun
from fabric.allocate.names import fold, runs, split
from fabric.allocate.plots import Plots
from fabric.model.fabric import Fabric, HostGroup
from fabric.values.plan import Network


class Seats:
    """Gives seats to hosts that have none."""

    def __init__(self, fabric: Fabric, book: Book, plots: Plots, front: Front, problems: list[str]) -> None:
        self.fabric = fabric
        self.intent = fabric.intent
        self.book = book
        self.plots = plots
        self.front = front
        self.problems = problems
        self._next_number: int | None = None

    def occupy(self) -> None:
        """Take the ports of every seat the ledger holds."""
        for run in self.book.hosts:
            if run.pod in self.fabric.pods and run.segment < self.fabric.pods[run.pod].segments:
                for leaf in self._leaves(run.pod, run.segment):
                    self.front.take(leaf, run.speed_mbps, run.slot, len(run.names) * run.ports)
        for seat in self.book.storage:
            for name in self._storage_switches():
                self.front.take(name, seat.speed_mbps, seat.slot, len(seat.names) * seat.ports)

    def _storage_switches(self) -> list[str]:
        return [group.names[0] for group in self.fabric.groups if group.network is Network.STORAGE]

    def give(self) -> None:
        """Give every host of a pod its seat."""
        claimed = {name for group in self.fabric.hosts if group.names is not None for name in group.names}
        for group in self.fabric.hosts:
            if group.names is not None:
                self._seat(group, [name for name in group.names if name not in self.book.of_host], auto=False)
                self._check_seats(group, group.names)
            else:
                have = [name for name in auto_names(self.book, group) if name not in claimed]
                if len(have) < group.count:
                    self._seat(group, self._fresh(group.count - len(have)), auto=True)
                self._check_seats(group, have)

    def _fresh(self, count: int) -> list[str]:
        pattern = self.intent.compute.node_name
        known = self._next_number
        if known is None:
            prefix = pattern.partition("{")[0]
            used = [0]
            for name in (*self.book.of_host, *(n for g in self.fabric.hosts for n in g.names or ())):
                parts = split(name)
                if parts is not None and parts[0] == prefix and not parts[2]:
                    used.append(parts[1])
            known = max(used) + 1
        self._next_number = known + count
        return [pattern.format(n=number) for number in range(known, known + count)]

    def _check_seats(self, group: HostGroup, names: Sequence[str]) -> None:
        """A host's seat must still be what the intent says of it."""
        for name in names:
            found = self.book.of_host.get(name)
            if found is None:
                continue
            run = found[0]
            speed, ports = self.fabric.spots[group.host_class][0].speed_mbps, self.fabric.ports_of(group.host_class)
            if (run.speed_mbps, run.ports) != (speed, ports):
                self.problems.append(
                    f"{name} has {run.ports} x {run.speed_mbps // 1000}G a leaf by the ledger and {ports} x "
                    f"{speed // 1000}G by class {group.host_class}; delete its ledger line to seat it again"
                )
                return
            segments = self.fabric.pods[group.pod].segments
            if run.pod == group.pod and run.segment >= segments:
                self.problems.append(
                    f"{name} sits in segment {run.segment} of pod {run.pod} by the ledger and there are {segments}; "
                    "raise segments again, or delete its ledger line to seat it anew"
                )
                return
            if run.pod != group.pod:
                self.problems.append(
                    f"{name} has its place in pod {run.pod} by the ledger and stands in pod {group.pod} of the intent; "
                    "move it back, or delete it from the ledger to give it a new place"
                )
                return

    def _seat(self, group: HostGroup, names: Sequence[str], auto: bool) -> None:
        """Give places, port slots and management numbers to hosts of one group."""
        if not names:
            return
        pod = self.fabric.pods[group.pod]
        spots = self.fabric.spots[group.host_class]
        speed = spots[0].speed_mbps
        ports = self.fabric.ports_of(group.host_class)
        segments = range(pod.segments) if group.segment is None else range(group.segment, group.segment + 1)
        waiting = list(names)
        for segment in segments:
            taken = self._places(group.pod, segment)
            free = list(range(max(taken, default=-1) + 1, pod.places))
            free += [place for place in range(pod.places) if place not in taken and place not in free]
            while waiting and free:
                stretch = 1
                while stretch < min(len(waiting), len(free)) and free[stretch] == free[0] + stretch:
                    stretch += 1
                batch = runs(waiting[:stretch])[0]
                if not self._seat_run(group, segment, free[0], batch, speed, ports, auto):
                    return
                waiting, free = waiting[len(batch) :], free[len(batch) :]
        if waiting:
            self.problems.append(
                f"pod {group.pod}: no place for {fold(waiting)}: {pod.segments} x {pod.places} places are taken "
                "(places of hosts that left the intent stay theirs until their ledger line is deleted); "
                "raise places or segments"
            )

    def _places(self, pod: int, segment: int) -> set[int]:
        return {
            place
            for run in self.book.hosts
            if run.pod == pod and run.segment == segment
            for place in range(run.place, run.place + len(run.names))
        }

    def _seat_run(
        self, group: HostGroup, segment: int, place: int, names: tuple[str, ...], speed: int, ports: int, auto: bool
    ) -> bool:
        leaves = self._leaves(group.pod, segment)
        count = len(names) * ports
        here = [run for run in self.book.hosts if run.pod == group.pod and run.segment == segment]
        before = [run for run in here if run.speed_mbps == speed and run.ports == ports and run.place < place]
        last = max(before, key=lambda run: run.place, default=None)
        if last is not None:
            start = last.slot + (place - last.place) * ports
        else:
            start = self.front.host_start(leaves[0], speed, group.pod)
        slot = self.front.free(leaves, speed, count, start)
        if slot is None:
            slot = self.front.free(leaves, speed, count, 0)
        if slot is None:
            self.problems.append(
                f"pod {group.pod} segment {segment}: no {count} free ports of {speed // 1000}G on {fold(leaves)} "
                f"({self.fabric.switches[leaves[0]].platform}) for {fold(names)}; use fewer hosts or uplinks"
            )
            return False
        address = self._link_numbers(here, place * ports, count)
        if address is None:
            self.problems.append(
                f"pod {group.pod} segment {segment}: no {count} host links left in a /{self.plots.block_length} for "
                f"{fold(names)}; seat them in another segment or pod"
            )
            return False
        mgmt = self.plots.host_mgmt.fit(self.book.mgmt, len(names))
        if mgmt is None:
            self.problems.append(
                f"{fold(names)}: no {len(names)} management addresses left in {self.plots.host_mgmt}; "
                "give a larger management.hosts"
            )
            return False
        for leaf in leaves:
            self.front.take(leaf, speed, slot, count)
        self.book.add_hosts(
            HostRun(
                names,
                group.pod,
                segment,
                place,
                slot,
                speed,
                group.host_class,
                mgmt,
                address,
                ports,
                auto,
                auto and group.reserve,
            )
        )
        return True

    def _link_numbers(self, here: Sequence[HostRun], wanted: int, count: int) -> int | None:
        """First of `count` free link numbers in the blocks of a segment: those of the places when they are free."""
        # Routed: two addresses a link. In a VLAN: network, gateway and broadcast are nobody's.
        room = 1 << (32 - self.plots.block_length)
        size = room // 2 if self.intent.addressing.host_links == "routed" else room - 3
        spans = Spans("host link", [])
        for run in here:
            spans.take(run.address, len(run.names) * run.ports, run.names[0])
        if spans.free(wanted, count) and wanted + count <= size:
            return wanted
        return spans.fit(count, size)

    def _leaves(self, pod: int, segment: int) -> list[str]:
        compute = self.intent.compute
        return [
            self.fabric.leaf(pod, segment, leaf, plane)
            for plane in range(compute.planes)
            for leaf in range(self.fabric.leaves_per_segment)
        ]

    def give_storage(self) -> None:
        """Give hosts and storage servers their ports on the storage switches: nodes, then servers, then reserve."""
        storage = self.intent.storage
        if storage is None:
            return
        switches = self._storage_switches()
        for reserve in (False, True):
            if reserve:
                for servers in storage.servers:
                    ports = -(-servers.ports // storage.switches)
                    self._storage_run(switches, servers.nodes, "server", ports, servers.speed)
            for group in self.fabric.hosts:
                nics = self.intent.classes[group.host_class].storage
                if nics is None or group.reserve is not reserve:
                    continue
                names = group.names if group.names is not None else tuple(auto_names(self.book, group)[: group.count])
                self._storage_run(switches, names, "node", -(-nics.nics // storage.switches), nics.speed)

    def _storage_run(self, switches: list[str], names: Sequence[str], kind: str, ports: int, speed: int) -> None:
        for name in names:
            found = self.book.of_storage.get(name)
            if found is not None and (found[0].speed_mbps, found[0].ports, found[0].kind) != (speed, ports, kind):
                self.problems.append(
                    f"{name} has {found[0].ports} x {found[0].speed_mbps // 1000}G a storage switch by the ledger and "
                    f"{ports} x {speed // 1000}G by the intent; delete its storage line to seat it again"
                )
                return
        for batch in runs([name for name in names if name not in self.book.of_storage]):
            count = len(batch) * ports
            slot = self.front.free(switches, speed, count, 0)
            spans = [run for run in self.book.storage if run.kind == kind]
            address = max((run.address + len(run.names) * run.ports for run in spans), default=0)
            pools = self.plots.storage_nodes if kind == "node" else self.plots.storage_servers
            room = min((pool.size for pool in pools), default=0)
            if slot is None or address + count > room:
                what = f"ports of {speed // 1000}G on" if slot is None else f"addresses in the {kind} pools of"
                self.problems.append(
                    f"storage: no {count} free {what} {fold(switches)} for {fold(batch)}; use fewer or larger ones"
                )
                return
            mgmt = None
            if kind == "server":
                mgmt = self.plots.host_mgmt.fit(self.book.mgmt, len(batch))
                if mgmt is None:
                    self.problems.append(
                        f"{fold(batch)}: no {len(batch)} management addresses left in {self.plots.host_mgmt}; "
                        "give a larger management.hosts"
                    )
                    return
            for name in switches:
                self.front.take(name, speed, slot, count)
            self.book.add_storage(StorageRun(batch, kind, address, slot, ports, speed, mgmt))


def auto_names(book: Book, group: HostGroup) -> list[str]:
    """Names chosen by us for a group of hosts that the intent gives by number, in order."""
    return [
        name
        for run in book.hosts
        if run.auto and run.pod == group.pod and run.host_class == group.host_class and run.reserve is group.reserve
        if group.segment is None or run.segment == group.segment
        for name in run.names
    ]
