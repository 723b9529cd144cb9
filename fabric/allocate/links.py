"""Links between switches: parallel cables of every pair, or uplinks dealt out evenly; ports and addresses of each."""

from __future__ import annotations

from dataclasses import replace

from fabric.allocate.book import Book
from fabric.allocate.front import Front
from fabric.allocate.ledger import LinkRun
from fabric.allocate.names import fold
from fabric.allocate.plots import Plots
from fabric.allocate.slots import slots_of
from fabric.model.fabric import Fabric, Mesh
from fabric.values.plan import Role


class Links:
    """Gives ports and addresses to links that have none."""

    def __init__(self, fabric: Fabric, book: Book, plots: Plots, front: Front, problems: list[str]) -> None:
        self.fabric = fabric
        self.intent = fabric.intent
        self.book = book
        self.plots = plots
        self.front = front
        self.problems = problems

    def occupy(self) -> None:
        """Take the ports of every link the ledger holds."""
        for run in self.book.links:
            self._occupy_links(run)

    def give(self) -> None:
        """Give every link of the fabric its ports and its address."""
        if self.intent.addressing.fabric_links == "numbered":
            for run in [run for run in self.book.links if run.address is None]:
                count = len(run.lowers) * run.links * (len(run.uppers) if run.deal is None else 1)
                address = self._addresses(count, fold(run.lowers))
                if address is not None:
                    self.book.replace_links(run, replace(run, address=address))
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
            self.front.take(name, run.speed_mbps, run.lower_slot, per_lower)
        if run.deal is None:
            for name in uppers:
                self.front.take(name, run.speed_mbps, run.upper_slot, run.links * len(run.lowers))
            return
        total = run.deal + run.links * len(run.lowers)
        for number, name in enumerate(run.uppers):
            if name in self.fabric.switches:
                first = -(-(run.deal - number) // len(run.uppers)) if run.deal > number else 0
                end = -(-(total - number) // len(run.uppers))
                self.front.take(name, run.speed_mbps, run.upper_slot + first, end - first)

    def _mesh(self, mesh: Mesh) -> None:
        assert mesh.links is not None
        gaps: dict[tuple[str, tuple[tuple[int, tuple[str, ...]], ...]], list[str]] = {}
        wanted = set(mesh.uppers)
        for lower in mesh.lowers:
            have = dict.fromkeys(mesh.uppers, 0)
            for run, _ in self.book.links_of_lower.get(lower, ()):
                if run.speed_mbps != mesh.speed_mbps and wanted.intersection(run.uppers):
                    self.problems.append(
                        f"links of {fold(run.lowers)} to {fold(run.uppers)} are {run.speed_mbps // 1000}G by the "
                        f"ledger and {mesh.speed_mbps // 1000}G by the intent; keep the speed, or delete that "
                        "ledger line to give them new ports"
                    )
                    return
                if run.deal is None:
                    for upper in run.uppers:
                        if upper in wanted:
                            have[upper] = max(have[upper], run.first + run.links)
            # Boxes of one kind number their ports alike, so a run holds one kind on either side.
            missing: dict[tuple[int, str], list[str]] = {}
            for upper, first in have.items():
                if first < mesh.links:
                    missing.setdefault((first, self.fabric.platform_of(upper).key), []).append(upper)
            if missing:
                gap = tuple((first, tuple(uppers)) for (first, _), uppers in missing.items())
                gaps.setdefault((self.fabric.platform_of(lower).key, gap), []).append(lower)
        for (_, gap), lowers in gaps.items():
            for first, uppers in gap:
                self._link_run(mesh, tuple(lowers), uppers, first)

    def _link_run(self, mesh: Mesh, lowers: tuple[str, ...], uppers: tuple[str, ...], first: int) -> None:
        assert mesh.links is not None
        links, speed = mesh.links - first, mesh.speed_mbps
        per_lower, per_upper = len(uppers) * links, len(lowers) * links
        start = self.front.uplink_start(lowers[0], speed, len(mesh.uppers) * mesh.links)
        lower_slot = self.front.free(lowers, speed, per_lower, start)
        upper_slot = self.front.free(uppers, speed, per_upper, 0)
        full = False
        for names, count, begin, side in (
            (lowers, per_lower, start, "up to " + fold(uppers)),
            (uppers, per_upper, 0, "down to " + fold(lowers)),
        ):
            if min(self.front.room(name, speed, begin) for name in names) < count:
                total = len(slots_of(self.fabric.platform_of(names[0]), speed))
                full = True
                self.problems.append(
                    f"{fold(names)}: no {count} free ports of {speed // 1000}G {side}: "
                    f"{self.fabric.switches[names[0]].platform} has {total} in all"
                    + (f", of which {start} are kept for hosts" if names is lowers and start else "")
                    + f"; use fewer links or switches in {self._tier(uppers)}, or fewer places"
                )
        if full:
            return
        if (lower_slot is None or upper_slot is None) and len(uppers) * len(lowers) > 1:
            # Room there is, but not in one piece: give it in smaller ones.
            parts = (
                [(lowers, (upper,)) for upper in uppers] if len(uppers) > 1 else [((one,), uppers) for one in lowers]
            )
            for some_lowers, some_uppers in parts:
                self._link_run(mesh, some_lowers, some_uppers, first)
            return
        if (lower_slot is None or upper_slot is None) and links > 1:
            narrow = replace(mesh, links=first + 1)
            self._link_run(narrow, lowers, uppers, first)
            self._link_run(mesh, lowers, uppers, first + 1)
            return
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
        start = self.front.uplink_start(lowers[0], mesh.speed_mbps, mesh.uplinks)
        slot = self.front.free(lowers, mesh.speed_mbps, mesh.uplinks, start)
        top = -(-(deal + mesh.uplinks * len(lowers)) // len(mesh.uppers))
        room = min(len(slots_of(self.fabric.platform_of(name), mesh.speed_mbps)) for name in mesh.uppers)
        if slot is None or top > room:
            names, need, have = (lowers, mesh.uplinks, 0) if slot is None else (mesh.uppers, top, room)
            self.problems.append(
                f"{fold(names)}: {need} ports of {mesh.speed_mbps // 1000}G are needed"
                + (f", {have} exist" if have else ", not so many are free")
                + f"; use fewer uplinks or more switches in {self._tier(mesh.uppers)}"
            )
            return
        address = self._addresses(mesh.uplinks * len(lowers), fold(lowers))
        run = LinkRun(lowers, mesh.uppers, mesh.uplinks, 0, mesh.speed_mbps, slot, 0, address, deal)
        self._occupy_links(run)
        self.book.add_links(run)

    def _tier(self, uppers: tuple[str, ...]) -> str:
        role = self.fabric.switches[uppers[0]].role
        return "compute.superspine" if role is Role.SUPERSPINE else "compute.spine"

    def _addresses(self, count: int, what: str) -> int | None:
        if self.intent.addressing.fabric_links == "unnumbered":
            return None
        first = self.book.fabric.end
        if first + count > self.plots.fabric_size:
            fitted = self.book.fabric.fit(count, self.plots.fabric_size)
            if fitted is None:
                self.problems.append(f"{what}: no {count} link addresses {self.plots.short('fabric')}")
                return None
            return fitted
        return first
