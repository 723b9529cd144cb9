"""Links between switches, from ledger runs to planned ports and cables."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.allocate.ledger import Ledger, LinkRun
from fabric.allocate.panels import Panels, slot_at
from fabric.allocate.plots import Plots
from fabric.allocate.pools import text4, text6
from fabric.allocate.slots import slots_of
from fabric.allocate.states import States
from fabric.errors import AllocationError
from fabric.model.fabric import Fabric, Mesh
from fabric.values.plan import PlannedCable, PortUse, cable_name


class PlanLinks:
    """Writes out the links of a ledger that the fabric wants."""

    def __init__(
        self, fabric: Fabric, plots: Plots, panels: Panels, states: States, cables: dict[str, PlannedCable]
    ) -> None:
        self.fabric = fabric
        self.plots = plots
        self.panels = panels
        self.states = states
        self.cables = cables
        self.numbered = fabric.intent.addressing.fabric_links == "numbered"
        self.unlike: set[str] = set()

    def write(self, ledger: Ledger) -> None:
        """Plan every link. AllocationError when two ends would never come up (field case F052)."""
        for run in ledger.links:
            self._links(run)
        if self.unlike:
            raise AllocationError(
                "ends of a link would not come up: "
                + "; ".join(sorted(self.unlike)[:10])
                + "; take a speed that both platforms make of equally many lanes"
            )

    def _links(self, run: LinkRun) -> None:
        wanted = _wanted(self.fabric, run)
        if not wanted:
            return
        boxes = self.panels.boxes
        tables = {name: slots_of(boxes[name].platform, run.speed_mbps) for pair in wanted for name in pair}
        between = self.fabric.lengths.between
        for lower, upper, lower_slot, upper_slot, parallel, number in _each_link(run):
            mesh = wanted.get((lower, upper))
            if mesh is None or (mesh.links is not None and parallel >= mesh.links):
                continue
            metres = between(lower, upper, mesh.length_m)
            a, b = boxes[lower], boxes[upper]
            low, high = slot_at(a, tables[lower], lower_slot), slot_at(b, tables[upper], upper_slot)
            if low.port.fec != high.port.fec or len(low.port.lanes) != len(high.port.lanes):
                self.unlike.add(
                    f"{lower} {low.port.name} ({len(low.port.lanes)} lanes, FEC {low.port.fec}) and {upper} "
                    f"{high.port.name} ({len(high.port.lanes)} lanes, FEC {high.port.fec})"
                )
            name = cable_name(lower, low.port.name, upper, high.port.name)
            state, outage = self.states.link(name, lower, low.port.name, upper, high.port.name)
            ours, theirs = self._pair(number) if number is not None and self.numbered else ((), ())
            rail = a.node.rail if b.node.rail is not None else None
            self.panels.put(
                a, low, PortUse.FABRIC, state, outage, metres, upper, high, rail, parallel, ours, theirs, b.asn, name
            )
            self.panels.put(
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
