"""Give numbers to what has none yet. What the ledger holds is never changed.

The rules by which the first numbers are given reproduce facts of `ai-fabric.md` section 8 for its fabric; everything
later takes the next free number.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from fabric.allocate.book import Book
from fabric.allocate.ledger import HostRun, Ledger, LinkRun, StorageRun, SwitchRun
from fabric.allocate.names import fold, runs, split
from fabric.allocate.plots import Plots
from fabric.allocate.slots import Occupied, slots_of
from fabric.errors import AllocationError
from fabric.model.fabric import Fabric, HostGroup, Mesh, SwitchGroup
from fabric.values.plan import Network, Role

# A group's loopbacks begin at 1 modulo 16, so that a pod of 8 leaves can grow to 15 beside its neighbours.
_LOOPBACK_STEP = 16
# Leaves of a pod have AS numbers 10..99 of the pod's hundred; more go to a range of their own.
_LEAVES_PER_HUNDRED = 90
_OVERFLOW = 5_000_000


def grow(fabric: Fabric, ledger: Ledger, plots: Plots) -> tuple[Ledger, Book]:
    """The ledger with an entry for everything in the fabric. AllocationError lists every problem; nothing is written."""
    book = Book.open(ledger)
    if book.collisions:
        raise AllocationError(
            "the ledger gives things twice: "
            + "; ".join(book.collisions)
            + "; delete the newer of the two lines, it will be given free numbers"
        )
    _pools(book, plots)
    grower = _Grower(fabric, book, plots)
    grower.switches()
    grower.hosts()
    grower.links()
    grower.storage_seats()
    if grower.problems or book.collisions:
        raise AllocationError("\n".join([*grower.problems, *book.collisions]))
    return book.ledger(ledger.identities), book


def _pools(book: Book, plots: Plots) -> None:
    """Remember the pools. A pool that is in the ledger may only be appended to."""
    wrong = []
    for what, prefixes in plots.prefixes().items():
        known = book.pools.get(what)
        if known is not None and prefixes[: len(known)] != known:
            wrong.append(f"{what} was {', '.join(known)} and is {', '.join(prefixes)}")
        book.pools[what] = prefixes
    if wrong:
        raise AllocationError(
            "pools in use were changed: "
            + "; ".join(wrong)
            + "; append further prefixes instead, or begin a new ledger"
        )


class _Grower:
    def __init__(self, fabric: Fabric, book: Book, plots: Plots) -> None:
        self.fabric = fabric
        self.intent = fabric.intent
        self.book = book
        self.plots = plots
        self.problems: list[str] = []
        self.occupied: dict[str, Occupied] = {}
        self._asn_overflow = self.intent.routing.leaf_asn + _OVERFLOW

    # -- switches

    def switches(self) -> None:
        for group in self.fabric.groups:
            missing = [name for name in group.names if name not in self.book.of_switch]
            for names in runs(missing):
                self._switch_run(group, names)
        wanted = {name: override.asn for name, override in self.intent.devices.items() if override.asn is not None}
        for name, asn in wanted.items():
            owner = self.book.asns.get(asn)
            if owner is not None and name in self.fabric.switches and owner != name:
                self.problems.append(f"devices.{name}.asn: AS number {asn} belongs to {owner}; take another")

    def _switch_run(self, group: SwitchGroup, names: tuple[str, ...]) -> None:
        count = len(names)
        number = self.fabric.switches[names[0]].number
        index = 1 + max(
            (run.index + len(run.names) - 1 for run in self.book.switches if self._alike(run, group)), default=-1
        )
        asn, step = self._asn(group, number, names)
        storage = group.network is Network.STORAGE
        loopback = number if storage else self._loopback(group, count)
        mgmt = self.book.switch_mgmt.fit(count, self.plots.switch_mgmt.size, 1)
        if mgmt is None:
            self.problems.append(
                f"{fold(names)}: no {count} management addresses left in {self.plots.switch_mgmt.prefixes[0]}; "
                "give a larger management.switches"
            )
            mgmt = self.book.switch_mgmt.end
        hosts = self._block(group, count) if group.role is Role.LEAF else None
        run = SwitchRun(names, index, asn, step, loopback, mgmt, hosts)
        if storage:
            # Storage loopbacks have a pool of their own: number k of it belongs to storage switch k.
            self.book.switches.append(run)
            for place, name in enumerate(names):
                self.book.of_switch[name] = (run, place)
            self.book.switch_mgmt.take(mgmt, count, fold(names))
        else:
            self.book.add_switches(run)

    def _alike(self, run: SwitchRun, group: SwitchGroup) -> bool:
        node = self.fabric.switches.get(run.names[0])
        return node is not None and node.role is group.role and node.network is group.network

    def _loopback(self, group: SwitchGroup, count: int) -> int:
        spans, size = self.book.loopbacks, self.plots.loopback_size
        kin = [run for name in group.names if (found := self.book.of_switch.get(name)) for run in (found[0],)]
        if kin:
            after = max(run.loopback + len(run.names) for run in kin)
            if spans.free(after, count) and after + count <= size:
                return after
        start = 1 if spans.end == 0 else -(-spans.end // _LOOPBACK_STEP) * _LOOPBACK_STEP + 1
        if start + count <= size:
            return start
        fitted = spans.fit(count, size, 1)
        if fitted is not None:
            return fitted
        self.problems.append(
            f"{fold(group.names)}: no {count} loopbacks left in {', '.join(self.book.pools['loopbacks'])} "
            f"({size} addresses); append a further prefix to addressing.loopbacks"
        )
        return max(spans.end, start)

    def _asn(self, group: SwitchGroup, number: int, names: tuple[str, ...]) -> tuple[int, int]:
        """First AS number of a run, and the step to the next switch (0: they share it)."""
        routing = self.intent.routing
        plane = group.plane or 0
        kin = [found[0] for name in group.names if (found := self.book.of_switch.get(name))]
        if group.network is Network.STORAGE:
            storage = self.intent.storage
            return (storage.asn if storage is not None else 0) + number, 1
        if group.role is not Role.LEAF:
            if kin and kin[0].asn_step == 0:
                return kin[0].asn, 0
            if group.role is Role.SUPERSPINE:
                return routing.superspine_asn + plane, 0
            island = plane if group.rail is None else plane * self.intent.compute.rails + group.rail
            return routing.spine_asn + 100 * (group.pod or 0) + island, 0
        place = plane * len(group.names) + number
        asn = routing.leaf_asn + 100 * (group.pod or 0) + 10 + place
        fits = place + len(names) <= _LEAVES_PER_HUNDRED
        while not fits or any(asn + offset in self.book.asns for offset in range(len(names))):
            asn, self._asn_overflow = self._asn_overflow, self._asn_overflow + len(names)
            fits = True
        return asn, 1

    def _block(self, group: SwitchGroup, count: int) -> int:
        """First host block of a run of leaves: after the blocks of its pod, else in the next free step of a pod."""
        spans, plots = self.book.blocks, self.plots
        step = plots.blocks_per_pod
        own = [
            found[0]
            for name, node in self.fabric.switches.items()
            if node.pod == group.pod and (found := self.book.of_switch.get(name)) and found[0].hosts is not None
        ]
        if own:
            after = max((run.hosts or 0) + len(run.names) for run in own)
            within = after % step != 0 and (after % step) + count <= step
            if (step == 1 or within) and spans.free(after, count) and after + count <= plots.block_size:
                return after
        start = -(-spans.end // step) * step
        if start + count <= plots.block_size:
            return start
        fitted = spans.fit(count, plots.block_size)
        if fitted is not None and step == 1:
            return fitted
        self.problems.append(
            f"{fold(group.names)}: no {count} host blocks left in {', '.join(self.book.pools['hosts'])} "
            f"({plots.block_size} blocks); append a further prefix to addressing.hosts.pools"
        )
        return start

    # -- hosts

    def hosts(self) -> None:
        claimed = {name for group in self.fabric.hosts if group.names is not None for name in group.names}
        for group in self.fabric.hosts:
            if group.names is not None:
                self._seat(group, [name for name in group.names if name not in self.book.of_host], auto=False)
                self._check_pod(group)
            else:
                have = [name for name in self.auto_names(group) if name not in claimed]
                if len(have) < group.count:
                    self._seat(group, self._fresh(group.count - len(have)), auto=True)

    def auto_names(self, group: HostGroup) -> list[str]:
        """Names already chosen for a group that is given by number, in the order they were chosen."""
        return auto_names(self.book, group)

    def _fresh(self, count: int) -> list[str]:
        pattern = self.intent.compute.node_name
        known = getattr(self, "_next_number", None)
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

    def _check_pod(self, group: HostGroup) -> None:
        for name in group.names or ():
            run = self.book.of_host[name][0]
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
        per_place = self.fabric.ports_per_place
        segments = range(pod.segments) if group.segment is None else range(group.segment, group.segment + 1)
        waiting = list(names)
        for segment in segments:
            taken = self._places(group.pod, segment)
            free = [place for place in range(max(taken, default=-1) + 1, pod.places)]
            free += [place for place in range(pod.places) if place not in taken and place not in free]
            while waiting and free:
                stretch = 1
                while stretch < min(len(waiting), len(free)) and free[stretch] == free[0] + stretch:
                    stretch += 1
                batch = runs(waiting[:stretch])[0]
                if not self._seat_run(group, segment, free[0], batch, speed, per_place, auto):
                    return
                waiting, free = waiting[len(batch) :], free[len(batch) :]
        if waiting:
            self.problems.append(
                f"pod {group.pod}: no place for {fold(waiting)}: {pod.segments} x {pod.places} places are taken (places of "
                "hosts that left the intent stay theirs until their ledger line is deleted); raise places or segments"
            )

    def _places(self, pod: int, segment: int) -> set[int]:
        return {
            place
            for run in self.book.hosts
            if run.pod == pod and run.segment == segment
            for place in range(run.place, run.place + len(run.names))
        }

    def _seat_run(
        self, group: HostGroup, segment: int, place: int, names: tuple[str, ...], speed: int, per_place: int, auto: bool
    ) -> bool:
        leaves = self._leaves(group.pod, segment)
        count = len(names) * per_place
        start = 0
        before = [
            run
            for run in self.book.hosts
            if run.pod == group.pod and run.segment == segment and run.speed_mbps == speed and run.place < place
        ]
        last = max(before, key=lambda run: run.place, default=None)
        if last is not None:
            start = last.slot + (place - last.place) * per_place
        else:
            start = self.host_start(leaves[0], speed, group.pod)
        slot = self._free_slots(leaves, speed, count, start)
        if slot is None:
            slot = self._free_slots(leaves, speed, count, 0)
        if slot is None:
            self.problems.append(
                f"pod {group.pod} segment {segment}: no {count} free ports of {speed // 1000}G on {fold(leaves)} "
                f"({self.fabric.switches[leaves[0]].platform}) for {fold(names)}; use fewer hosts or uplinks"
            )
            return False
        mgmt = self.book.host_mgmt.fit(len(names), self.plots.host_mgmt.size, 1)
        if mgmt is None:
            self.problems.append(
                f"{fold(names)}: no {len(names)} management addresses left in {self.plots.host_mgmt.prefixes[0]}; "
                "give a larger management.hosts"
            )
            return False
        for leaf in leaves:
            self._take(leaf, speed, slot, count)
        self.book.add_hosts(
            HostRun(names, group.pod, segment, place, slot, speed, group.host_class, mgmt, auto, auto and group.reserve)
        )
        return True

    def _leaves(self, pod: int, segment: int) -> list[str]:
        compute = self.intent.compute
        return [
            self.fabric.leaf(pod, segment, leaf, plane)
            for plane in range(compute.planes)
            for leaf in range(self.fabric.leaves_per_segment)
        ]

    # -- port slots

    def host_start(self, leaf: str, speed: int, pod: int) -> int:
        """First slot for hosts on a leaf: the first of the box, or where hosts begin when they are last."""
        platform = self.fabric.platform_of(leaf)
        end = platform.hosts_end or self.intent.compute.leaf.hosts
        if end == "first":
            return 0
        slots = slots_of(platform, speed)
        return max(0, len(slots) - self.fabric.pods[pod].places * self.fabric.ports_per_place)

    def uplink_start(self, switch: str, speed: int, count: int) -> int:
        """First slot for uplinks: a leaf's after its host places (or first when hosts are last), else the last ones."""
        node = self.fabric.switches[switch]
        platform = self.fabric.platform_of(switch)
        slots = slots_of(platform, speed)
        if node.role is not Role.LEAF or node.pod is None:
            return max(0, len(slots) - count)
        end = platform.hosts_end or self.intent.compute.leaf.hosts
        if end == "last":
            return 0
        places = self.fabric.pods[node.pod].places * self.fabric.ports_per_place
        hosts = slots_of(platform, self._widest(node.pod))
        cage = hosts[places - 1].cage + 1 if places <= len(hosts) else len(platform.cages)
        return next((number for number, slot in enumerate(slots) if slot.cage >= cage), len(slots))

    def _widest(self, pod: int) -> int:
        """The fastest host speed of a pod: the one its places take most cages with."""
        speeds = [
            spot.speed_mbps
            for group in self.fabric.hosts
            if group.pod == pod
            for spot in self.fabric.spots[group.host_class][:1]
        ]
        return max(speeds, default=max(spots[0].speed_mbps for spots in self.fabric.spots.values()))

    def occupied_by(self, switch: str) -> Occupied:
        """What is taken on a switch, from the ledger on first use."""
        return self.occupied.setdefault(switch, Occupied())

    def _take(self, switch: str, speed: int, first: int, count: int) -> None:
        slots = slots_of(self.fabric.platform_of(switch), speed)
        taken = self.occupied_by(switch)
        for number in range(first, min(first + count, len(slots))):
            taken.take(slots[number], number, speed)

    def _free_slots(self, switches: Sequence[str], speed: int, count: int, start: int) -> int | None:
        """The first run of `count` slots from `start` that is free on every one of these switches."""
        tables = [(slots_of(self.fabric.platform_of(name), speed), self.occupied_by(name)) for name in switches]
        size = min(len(slots) for slots, _ in tables)
        distinct = list({(id(slots), _state(taken)): (slots, taken) for slots, taken in tables}.values())
        first = start
        while first + count <= size:
            blocked = next(
                (
                    number
                    for number in range(first + count - 1, first - 1, -1)
                    if not all(taken.free(slots[number], number, speed) for slots, taken in distinct)
                ),
                None,
            )
            if blocked is None:
                return first
            first = blocked + 1
        return None

    # -- links

    def links(self) -> None:
        for run in self.book.links:
            self._occupy_links(run)
        for mesh in self.fabric.meshes:
            if mesh.uplinks is not None:
                self._deal(mesh)
            else:
                self._mesh(mesh)

    def _occupy_links(self, run: LinkRun) -> None:
        lowers = [name for name in run.lowers if name in self.fabric.switches]
        uppers = [name for name in run.uppers if name in self.fabric.switches]
        per_lower = run.links if run.deal is not None else run.links * len(run.uppers)
        for name in lowers:
            self._take(name, run.speed_mbps, run.lower_slot, per_lower)
        if run.deal is None:
            for name in uppers:
                self._take(name, run.speed_mbps, run.upper_slot, run.links * len(run.lowers))
            return
        total = run.deal + run.links * len(run.lowers)
        for number, name in enumerate(run.uppers):
            if name in self.fabric.switches:
                first = -(-(run.deal - number) // len(run.uppers)) if run.deal > number else 0
                end = -(-(total - number) // len(run.uppers))
                self._take(name, run.speed_mbps, run.upper_slot + first, end - first)

    def _mesh(self, mesh: Mesh) -> None:
        assert mesh.links is not None
        gaps: dict[tuple[tuple[int, tuple[str, ...]], ...], list[str]] = {}
        wanted = set(mesh.uppers)
        for lower in mesh.lowers:
            have = dict.fromkeys(mesh.uppers, 0)
            for run, _ in self.book.links_of_lower.get(lower, ()):
                if run.deal is None:
                    for upper in run.uppers:
                        if upper in wanted:
                            have[upper] = max(have[upper], run.first + run.links)
            missing: dict[int, list[str]] = {}
            for upper, first in have.items():
                if first < mesh.links:
                    missing.setdefault(first, []).append(upper)
            if missing:
                key = tuple((first, tuple(uppers)) for first, uppers in missing.items())
                gaps.setdefault(key, []).append(lower)
        for gap, lowers in gaps.items():
            for first, uppers in gap:
                self._link_run(mesh, tuple(lowers), uppers, first)

    def _link_run(self, mesh: Mesh, lowers: tuple[str, ...], uppers: tuple[str, ...], first: int) -> None:
        assert mesh.links is not None
        links, speed = mesh.links - first, mesh.speed_mbps
        per_lower, per_upper = len(uppers) * links, len(lowers) * links
        start = self.uplink_start(lowers[0], speed, len(mesh.uppers) * mesh.links)
        lower_slot = self._free_slots(lowers, speed, per_lower, start)
        upper_slot = self._free_slots(uppers, speed, per_upper, 0)
        for slot, names, count, side in (
            (lower_slot, lowers, per_lower, "up to " + fold(uppers)),
            (upper_slot, uppers, per_upper, "down to " + fold(lowers)),
        ):
            if slot is None:
                total = len(slots_of(self.fabric.platform_of(names[0]), speed))
                self.problems.append(
                    f"{fold(names)}: no {count} free ports of {speed // 1000}G {side}: {self.fabric.switches[names[0]].platform} "
                    f"has {total} in all, {start if names is lowers else 0} stand before them for hosts or are taken; "
                    "use fewer parallel links, spines or places"
                )
        if lower_slot is None or upper_slot is None:
            return
        address = self._addresses(per_lower * len(lowers), fold(lowers))
        run = LinkRun(lowers, uppers, links, first, speed, lower_slot, upper_slot, address)
        self._occupy_links(run)
        self.book.add_links(run)

    def _deal(self, mesh: Mesh) -> None:
        assert mesh.uplinks is not None
        missing = []
        deal = 0
        for run in self.book.links:
            if run.deal is not None and run.uppers == mesh.uppers:
                deal = max(deal, run.deal + run.links * len(run.lowers))
        for lower in mesh.lowers:
            found = [run for run, _ in self.book.links_of_lower.get(lower, ()) if run.deal is not None]
            if not found:
                missing.append(lower)
            elif any(run.links != mesh.uplinks or run.uppers != mesh.uppers for run in found):
                self.problems.append(
                    f"{lower}: {found[0].links} uplinks to {fold(found[0].uppers)} are dealt already; dealing "
                    f"{mesh.uplinks} to {fold(mesh.uppers)} would move cables; keep uplinks, count and groups"
                )
        if not missing:
            return
        lowers = tuple(missing)
        start = self.uplink_start(lowers[0], mesh.speed_mbps, mesh.uplinks)
        slot = self._free_slots(lowers, mesh.speed_mbps, mesh.uplinks, start)
        top = -(-(deal + mesh.uplinks * len(lowers)) // len(mesh.uppers))
        room = min(len(slots_of(self.fabric.platform_of(name), mesh.speed_mbps)) for name in mesh.uppers)
        if slot is None or top > room:
            names, need, have = (lowers, mesh.uplinks, 0) if slot is None else (mesh.uppers, top, room)
            self.problems.append(
                f"{fold(names)}: {need} ports of {mesh.speed_mbps // 1000}G are needed"
                + (f", {have} exist" if have else ", not so many are free")
                + "; use fewer uplinks or more super-spines"
            )
            return
        address = self._addresses(mesh.uplinks * len(lowers), fold(lowers))
        run = LinkRun(lowers, mesh.uppers, mesh.uplinks, 0, mesh.speed_mbps, slot, 0, address, deal)
        self._occupy_links(run)
        self.book.add_links(run)

    def _addresses(self, count: int, what: str) -> int | None:
        if self.intent.addressing.fabric_links == "unnumbered":
            return None
        first = self.book.fabric.end
        if first + count > self.plots.fabric_size:
            fitted = self.book.fabric.fit(count, self.plots.fabric_size)
            if fitted is None:
                self.problems.append(
                    f"{what}: no {count} link addresses left in {', '.join(self.book.pools['fabric'])} "
                    f"({self.plots.fabric_size} links); append a further prefix to addressing.fabric"
                )
                return None
            return fitted
        return first

    # -- storage

    def storage_seats(self) -> None:
        storage = self.intent.storage
        if storage is None:
            return
        switches = [group.names[0] for group in self.fabric.groups if group.network is Network.STORAGE]
        for run in self.book.storage:
            for name in switches:
                self._take(name, run.speed_mbps, run.slot, len(run.names) * run.ports)
        for reserve in (False, True):
            if reserve:
                for servers in storage.servers:
                    ports = -(-servers.ports // storage.switches)
                    self._storage_run(switches, servers.nodes, "server", ports, servers.speed)
            for group in self.fabric.hosts:
                nics = self.intent.classes[group.host_class].storage
                if nics is None or group.reserve is not reserve:
                    continue
                names = group.names if group.names is not None else tuple(self.auto_names(group)[: group.count])
                self._storage_run(switches, names, "node", -(-nics.nics // storage.switches), nics.speed)

    def _storage_run(self, switches: list[str], names: Sequence[str], kind: str, ports: int, speed: int) -> None:
        for batch in runs([name for name in names if name not in self.book.of_storage]):
            count = len(batch) * ports
            slot = self._free_slots(switches, speed, count, 0)
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
                mgmt = self.book.host_mgmt.fit(len(batch), self.plots.host_mgmt.size, 1)
            for name in switches:
                self._take(name, speed, slot, count)
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


def _state(taken: Occupied) -> int:
    """Equal for switches whose slots are taken alike, so that a check of 64 equal leaves is one check."""
    return hash((frozenset(taken.taken), frozenset(taken.cages.items())))


def overlapping(prefix: str, others: Sequence[str]) -> str | None:
    """The first of `others` that overlaps a prefix."""
    network = ipaddress.ip_network(prefix)
    for other in others:
        candidate = ipaddress.ip_network(other)
        if candidate.version == network.version and candidate.overlaps(network):
            return other
    return None
