"""Numbers of switches: index, AS number, loopback, management address, host block."""

from __future__ import annotations

from fabric.allocate.book import Book, asn_of
from fabric.allocate.ledger import SwitchRun
from fabric.allocate.names import fold, runs
from fabric.allocate.plots import Plots
from fabric.intent.kinds import check_asn
from fabric.model.fabric import Fabric, SwitchGroup
from fabric.values.plan import Network, Role

# A group's loopbacks begin at 1 modulo 16, so that a pod of 8 leaves can grow to 15 beside its neighbours.
_LOOPBACK_STEP = 16
# Leaves of a pod have AS numbers 10..99 of the pod's hundred; more go to a range of their own.
_LEAVES_PER_HUNDRED = 90
_OVERFLOW = 5_000_000


class Numbers:
    """Gives numbers to switches that have none."""

    def __init__(self, fabric: Fabric, book: Book, plots: Plots, problems: list[str]) -> None:
        self.fabric = fabric
        self.intent = fabric.intent
        self.book = book
        self.plots = plots
        self.problems = problems
        self._asn_overflow = self.intent.routing.leaf_asn + _OVERFLOW

    def give(self) -> None:
        """Give numbers to every switch of the fabric that has none."""
        for group in self.fabric.groups:
            missing = [name for name in group.names if name not in self.book.of_switch]
            for names in runs(missing):
                self._switch_run(group, names)
        self._check_complete()
        self._check_shared()
        wanted = {name: override.asn for name, override in self.intent.devices.items() if override.asn is not None}
        for name, asn in wanted.items():
            owner = self.book.asns.get(asn)
            if owner is not None and name in self.fabric.switches and owner != name:
                self.problems.append(f"devices.{name}.asn: AS number {asn} belongs to {owner}; take another")

    def _check_complete(self) -> None:
        """A line of the ledger may lack nothing its switches need."""
        for name, node in self.fabric.switches.items():
            run = self.book.of_switch[name][0]
            wanting = [
                what
                for what, number, needed in (
                    ("loopback", run.loopback, node.network is not Network.STORAGE),
                    ("hosts", run.hosts, node.role is Role.LEAF),
                )
                if needed and number is None
            ]
            if wanting:
                self.problems.append(f"{name}: its ledger line has no {' and no '.join(wanting)}; delete the line")

    def _check_shared(self) -> None:
        """Spines of different pods, and of different tiers, must not share an AS number: routes between them would be
        dropped by their own loop check."""
        owners: dict[tuple[int, int | None, int | None], str] = {}
        for group in self.fabric.groups:
            if group.role not in (Role.SPINE, Role.SUPERSPINE):
                continue
            for name in group.names:
                run, place = self.book.of_switch[name]
                asn = asn_of(run, place)
                owner = owners.setdefault((asn, group.plane, group.rail), group.key)
                if owner != group.key:
                    self.problems.append(f"AS number {asn} belongs to {owner} and to {group.key}; each needs its own")
                    break

    def _switch_run(self, group: SwitchGroup, names: tuple[str, ...]) -> None:
        count = len(names)
        number = self.fabric.switches[names[0]].number
        index = 1 + max(
            (run.index + len(run.names) - 1 for run in self.book.switches if self._alike(run, group)), default=-1
        )
        asn, step = self.asn(group, number, names)
        for value in (asn, asn + step * (count - 1)):
            try:
                check_asn(value)
            except ValueError as error:
                self.problems.append(f"{fold(names)}: {error}")
        if step and asn <= 23456 < asn + step * count:
            self.problems.append(f"{fold(names)}: AS numbers {asn} to {asn + count - 1} hold 23456, which is reserved")
        loopback = None if group.network is Network.STORAGE else self._loopback(group, count)
        mgmt = self.plots.switch_mgmt.fit(self.book.mgmt, count)
        if mgmt is None:
            self.problems.append(
                f"{fold(names)}: no {count} management addresses left in {self.plots.switch_mgmt}; "
                "give a larger management.switches"
            )
            mgmt = self.book.mgmt.end
        hosts = self._block(group, count) if group.role is Role.LEAF else None
        run = SwitchRun(names, index, asn, step, loopback, mgmt, hosts)
        self.book.add_switches(run)

    def _alike(self, run: SwitchRun, group: SwitchGroup) -> bool:
        node = self.fabric.switches.get(run.names[0])
        return node is not None and node.role is group.role and node.network is group.network

    def _loopback(self, group: SwitchGroup, count: int) -> int:
        spans, size = self.book.loopbacks, self.plots.loopback_size
        kin = [run for name in group.names if (found := self.book.of_switch.get(name)) for run in (found[0],)]
        if kin:
            after = max((run.loopback or 0) + len(run.names) for run in kin)
            if spans.free(after, count) and after + count <= size:
                return after
        start = 1 if spans.end == 0 else -(-spans.end // _LOOPBACK_STEP) * _LOOPBACK_STEP + 1
        if start + count <= size:
            return start
        fitted = spans.fit(count, size, 1)
        if fitted is not None:
            return fitted
        self.problems.append(f"{fold(group.names)}: no {count} loopbacks {self.plots.short('loopbacks')}")
        return max(spans.end, start)

    def asn(self, group: SwitchGroup, number: int, names: tuple[str, ...]) -> tuple[int, int]:
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
            asn = routing.spine_asn + 100 * (group.pod or 0) + island
            while asn in self.book.asns:
                asn += 1
            return asn, 0
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
        self.problems.append(f"{fold(group.names)}: no {count} host blocks {plots.short('hosts')}")
        return start
