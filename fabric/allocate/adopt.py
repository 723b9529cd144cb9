"""Adopt a running fabric: fill the ledger with the numbers it has, so that the first plan changes nothing.

What the ledger can express is taken over; everything else is listed with what was seen and what the Plan will have
instead. Nothing is guessed: a host is seated only where a switch names it (LLDP or DEVICE_NEIGHBOR), a link is taken
only where both of its ends agree on one /31.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fabric.allocate.adopt_links import Tell, adopt_links
from fabric.allocate.adopt_seats import adopt_seats
from fabric.allocate.book import Book, Spans
from fabric.allocate.grow import grow
from fabric.allocate.ledger import Identity, Ledger, SwitchRun
from fabric.allocate.names import fold, joined, unfold
from fabric.allocate.numbers import Numbers
from fabric.allocate.plan import make_plan
from fabric.allocate.plots import Plots, plots_of
from fabric.allocate.seen import SeenSwitch
from fabric.errors import AllocationError, InputError, Problem
from fabric.intent.kinds import check_asn
from fabric.intent.load import IntentFile
from fabric.model.fabric import Fabric, SwitchGroup, build
from fabric.values.plan import Network, Plan, PortUse, Role


@dataclass(frozen=True, slots=True)
class Unplaced:
    """One thing of the running fabric that the ledger cannot hold, or that the Plan has otherwise."""

    device: str
    port: str | None
    what: str
    observed: str | None
    planned: str | None
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Adoption:
    """The filled ledger, its Plan, and all that is not as the fabric runs."""

    ledger: Ledger
    plan: Plan
    unplaced: tuple[Unplaced, ...]
    switches: int
    links: int
    hosts: int


def adopt(
    file: IntentFile, ledger: Ledger, seen: Sequence[SeenSwitch], names: Mapping[str, str] | None = None
) -> Adoption:
    """Fill a ledger from what was seen. What the ledger holds already stays.

    `names` maps our names of switches to theirs where they differ. InputError when nothing seen belongs to the intent;
    AllocationError when what was seen contradicts itself in a way that cannot be listed.
    """
    ledger = replace(ledger, names={**ledger.names, **(names or {})})
    fabric = build(file, ledger.names)
    by_name = {switch.name: switch for switch in seen}
    if len(by_name) != len(seen):
        twice = sorted(name for name in by_name if sum(switch.name == name for switch in seen) > 1)
        raise InputError(
            Problem(f"{', '.join(twice)}: two of what was seen call themselves so", "keep the one that is right")
        )
    _check_names(file, fabric, by_name, names or {})
    plots = plots_of(fabric, ledger.layout if ledger.switches else None)
    book = Book.open(ledger)
    if book.collisions:
        raise AllocationError("the ledger gives things twice: " + "; ".join(book.collisions))
    before = len(book.of_host)
    unplaced: list[Unplaced] = []
    for name in by_name:
        if name not in fabric.switches:
            unplaced.append(
                Unplaced(name, None, "switch", name, None, "no switch of the intent has this name: map it with --names")
            )
    tell = _Teller(unplaced)
    switches = _Switches(fabric, plots, book, tell)
    for group in fabric.groups:
        switches.collect(group, by_name)
    count = switches.settle()
    links = adopt_links(fabric, plots, book, by_name, tell)
    adopt_seats(fabric, plots, book, by_name, tell)
    if book.collisions:
        raise AllocationError("what was seen contradicts itself: " + "; ".join(book.collisions))
    hosts = len(book.of_host) - before
    identities = {**ledger.identities, **_identities(by_name, fabric)}
    filled = book.ledger(replace(ledger, identities=identities), ledger.layout)
    grown, book = grow(fabric, filled, plots)
    plan = make_plan(fabric, grown, book, plots)
    unplaced.extend(differences(plan, by_name))
    unique = dict.fromkeys(unplaced)
    return Adoption(grown, plan, tuple(unique), count, links, hosts)


class _Teller:
    """Lets the parts of an adoption add to its list."""

    def __init__(self, unplaced: list[Unplaced]) -> None:
        self._unplaced = unplaced

    def __call__(self, device: str, port: str | None, what: str, observed: str, remedy: str) -> None:
        self._unplaced.append(Unplaced(device, port, what, observed, None, remedy))


def _check_names(file: IntentFile, fabric: Fabric, by_name: Mapping[str, SeenSwitch], names: Mapping[str, str]) -> None:
    problems = []
    plain = build(file).switches
    for ours, theirs in names.items():
        if ours not in plain:
            problems.append(Problem(f"names: the intent has no switch {ours}", "correct it", file=str(file.path)))
        if theirs in plain and theirs not in names:
            problems.append(Problem(f"names: {theirs} is the name of another switch", "rename it too"))
    if not problems and not any(name in fabric.switches for name in by_name):
        seen = ", ".join(sorted(by_name)[:5]) or "none"
        wanted = ", ".join(list(fabric.switches)[:5])
        problems.append(
            Problem(f"no switch seen ({seen}) is one of the intent's ({wanted})", "map names with --names FILE")
        )
    if problems:
        raise InputError(problems)


@dataclass(slots=True)
class _Numbers:
    """Numbers of one switch. None where nothing usable was seen."""

    asn: int | None = None
    loopback: int | None = None
    mgmt: int | None = None
    block: int | None = None


class _Switches:
    """Takes over the numbers of switches. All that were seen are held before one is given anew, so that a new number
    never is one that somebody has."""

    def __init__(self, fabric: Fabric, plots: Plots, book: Book, tell: Tell) -> None:
        self.fabric = fabric
        self.plots = plots
        self.book = book
        self.tell = tell
        self._held: list[tuple[SwitchGroup, str, _Numbers]] = []
        self._asns: dict[int, str] = {}

    def collect(self, group: SwitchGroup, seen: Mapping[str, SeenSwitch]) -> None:
        """Read the numbers of a group; tell of those that cannot be held."""
        for name in group.names:
            switch = seen.get(name)
            if switch is None or name in self.book.of_switch:
                continue
            numbers = _Numbers(asn=self._asn(group, switch))
            text = _listed({str(entry) for entry in switch.loopbacks}) or "none"
            if group.network is not Network.STORAGE:
                spot = next((entry.ip for entry in switch.loopbacks if entry.version == 4), None)
                number = self.plots.loopbacks.index(spot) if spot is not None else None
                remedy = f"add its prefix to addressing.loopbacks, or set devices.{name}.loopback"
                numbers.loopback = self._take(self.book.loopbacks, number, name, "loopback", text, remedy)
            if switch.management is not None:
                number = self.plots.mgmt.index(switch.management.ip)
                remedy = "correct management.network"
                text = str(switch.management)
                numbers.mgmt = self._take(self.book.mgmt, number, name, "management address", text, remedy)
            if group.role is Role.LEAF:
                blocks = self._blocks(switch)
                number = next(iter(blocks)) if len(blocks) == 1 else None
                remedy = "hosts of a leaf must lie in one block of addressing.hosts: correct pools, leaf and block"
                numbers.block = self._take(
                    self.book.blocks, number, name, "host prefix", _host_addresses(switch), remedy
                )
            self._held.append((group, name, numbers))

    def _take(self, spans: Spans, number: int | None, name: str, what: str, observed: str, remedy: str) -> int | None:
        if number is not None and not spans.free(number, 1):
            number, remedy = None, "another device has it"
        if number is None:
            self.tell(name, None, what, observed, remedy)
            return None
        spans.take(number, 1, name)
        return number

    def _asn(self, group: SwitchGroup, switch: SeenSwitch) -> int | None:
        shares = group.role in (Role.SPINE, Role.SUPERSPINE)
        remedy = ""
        if switch.asn is None:
            remedy = "the switch runs no BGP that was seen"
        else:
            try:
                check_asn(switch.asn)
            except ValueError as error:
                remedy = str(error)
            owner = self._asns.get(switch.asn) or self.book.asns.get(switch.asn)
            if owner is not None and not (shares and set(unfold(owner)) & set(group.names)):
                remedy = f"{owner} has it too; " + (
                    "spines of one tier share one" if shares else "a leaf needs its own"
                )
        if remedy:
            self.tell(switch.name, None, "AS number", str(switch.asn or "none"), remedy)
            return None
        assert switch.asn is not None
        self._asns[switch.asn] = switch.name
        return switch.asn

    def _blocks(self, switch: SeenSwitch) -> set[int]:
        hosts = [
            entry.ip
            for port in switch.ports.values()
            for entry in port.addresses
            if port.neighbour is None or port.neighbour[0] not in self.fabric.switches
        ]
        held = [prefix.network_address for prefix in switch.prefixes if prefix.prefixlen == self.plots.block_length]
        found = {self.plots.blocks.index(address) for address in (*hosts, *held) if address.version == 4}
        return {number for number in found if number is not None}

    def settle(self) -> int:
        """Give what is missing, and put all into the book. Returns the number of switches."""
        book, plots = self.book, self.plots
        numbers = Numbers(self.fabric, book, plots, [])
        runs: list[SwitchRun] = []
        counts: dict[tuple[Role, Network], int] = {}
        for run in book.switches:
            node = self.fabric.switches.get(run.names[0])
            if node is not None:
                counts[node.role, node.network] = max(
                    counts.get((node.role, node.network), 0), run.index + len(run.names)
                )
        for asn, name in self._asns.items():
            book.asns.setdefault(asn, name)
        for group, name, held in self._held:
            storage = group.network is Network.STORAGE
            if held.loopback is None and not storage:
                held.loopback = book.loopbacks.fit(1, plots.loopback_size, 1)
                book.loopbacks.take(held.loopback or 0, 1, name)
            if held.mgmt is None:
                held.mgmt = plots.switch_mgmt.fit(book.mgmt, 1)
                book.mgmt.take(held.mgmt or 0, 1, name)
            if held.block is None and group.role is Role.LEAF:
                held.block = book.blocks.fit(1, plots.block_size)
                book.blocks.take(held.block or 0, 1, name)
            if held.asn is None:
                held.asn = numbers.asn(group, self.fabric.switches[name].number, (name,))[0]
                book.asns[held.asn] = name
        for group, name, held in self._held:
            shares = group.role in (Role.SPINE, Role.SUPERSPINE)
            index = counts.get((group.role, group.network), 0)
            counts[group.role, group.network] = index + 1
            runs.append(
                SwitchRun((name,), index, held.asn or 0, 0 if shares else 1, held.loopback, held.mgmt or 0, held.block)
            )
            for spans, number in ((book.loopbacks, held.loopback), (book.mgmt, held.mgmt), (book.blocks, held.block)):
                if number is not None:
                    spans.release(number)
        for asn in [asn for asn, owner in book.asns.items() if owner in {name for _, name, _ in self._held}]:
            del book.asns[asn]
        for run in joined(runs, _continues, lambda one, other: replace(one, names=one.names + other.names)):
            book.add_switches(run)
        return len(runs)


def _host_addresses(switch: SeenSwitch) -> str:
    listed = [str(entry) for port in switch.ports.values() for entry in port.addresses]
    return f"{listed[0]} and {len(listed) - 1} more" if len(listed) > 1 else (listed or ["none"])[0]


def _continues(one: SwitchRun, other: SwitchRun) -> bool:
    count = len(one.names)

    def next_to(first: int | None, second: int | None) -> bool:
        return first is second is None or (first is not None and second == first + count)

    return (
        "," not in fold(one.names + other.names)
        and one.asn_step == other.asn_step
        and other.asn == one.asn + count * one.asn_step
        and other.index == one.index + count
        and other.mgmt == one.mgmt + count
        and next_to(one.loopback, other.loopback)
        and next_to(one.hosts, other.hosts)
    )


def _identities(seen: Mapping[str, SeenSwitch], fabric: Fabric) -> dict[str, Identity]:
    return {
        name: Identity(switch.serial, switch.base_mac)
        for name, switch in seen.items()
        if name in fabric.switches and (switch.serial or switch.base_mac)
    }


def differences(plan: Plan, seen: Mapping[str, SeenSwitch]) -> list[Unplaced]:
    """Where the Plan has other numbers than the running fabric: AS numbers, addresses, speeds, lanes, port by port."""
    found: list[Unplaced] = []
    for name, switch in plan.switches.items():
        running = seen.get(name)
        if running is None:
            found.append(Unplaced(name, None, "switch", None, name, "it was not seen; its numbers are new"))
            continue
        if running.asn != switch.asn:
            found.append(Unplaced(name, None, "AS number", _text(running.asn), str(switch.asn)))
        ours, theirs = set(switch.loopbacks), {str(entry) for entry in running.loopbacks}
        if ours != theirs:
            found.append(Unplaced(name, None, "loopback", _listed(theirs), _listed(ours)))
        if running.management is not None and str(running.management) != switch.mgmt_address:
            found.append(Unplaced(name, None, "management address", str(running.management), switch.mgmt_address))
        for port in switch.ports.values():
            if port.use not in (PortUse.FABRIC, PortUse.HOST):
                continue
            there = running.ports.get(port.name)
            if there is None:
                found.append(Unplaced(name, port.name, "port", None, f"{port.speed_mbps // 1000}G", "breakout differs"))
                continue
            if there.speed_mbps != port.speed_mbps or there.lanes != port.lanes:
                found.append(
                    Unplaced(
                        name, port.name, "breakout",
                        f"{(there.speed_mbps or 0) // 1000}G on {len(there.lanes)} lanes",
                        f"{port.speed_mbps // 1000}G on {len(port.lanes)} lanes",
                    )
                )  # fmt: skip
            ours, theirs = set(port.addresses), {str(entry) for entry in there.addresses}
            if ours != theirs:
                found.append(Unplaced(name, port.name, "address", _listed(theirs), _listed(ours)))
        for there in running.ports.values():
            planned = switch.ports.get(there.name)
            if there.addresses and (planned is None or planned.use not in (PortUse.FABRIC, PortUse.HOST)):
                text = _listed({str(entry) for entry in there.addresses})
                found.append(Unplaced(name, there.name, "address", text, None, "the intent has nothing on this port"))
    return found


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _listed(entries: set[str]) -> str | None:
    return ", ".join(sorted(entries)) or None
