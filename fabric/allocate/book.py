"""A ledger opened for looking up and for giving: indices that are taken, and the next free ones.

Opening one checks it: two runs that hold the same name, number, place, slot or address are a collision (a merge of
two branches that both grew) and an AllocationError that names both.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field

from fabric.allocate.ledger import HostRun, Layout, Ledger, LinkRun, StorageRun, SwitchRun
from fabric.allocate.names import fold


@dataclass(slots=True)
class Spans:
    """Ranges of numbers that are taken, each with its owner. `collisions` collects what was taken twice."""

    what: str
    collisions: list[str]
    _starts: list[int] = field(default_factory=list)
    _spans: dict[int, tuple[int, str]] = field(default_factory=dict)

    def take(self, first: int, count: int, owner: str) -> None:
        """Take `count` numbers from `first`; a number taken before is noted as a collision."""
        if count <= 0:
            return
        end = first + count
        place = bisect_right(self._starts, first)
        for near in self._starts[max(0, place - 1) : place + 1]:
            other_end, other = self._spans[near]
            if near < end and first < other_end:
                low = max(first, near)
                self.collisions.append(f"{self.what} {low} belongs to {other} and to {owner}")
                return
        insort(self._starts, first)
        self._spans[first] = (end, owner)

    def release(self, first: int) -> None:
        """Give back the numbers that were taken from `first` on."""
        self._starts.remove(first)
        del self._spans[first]

    def free(self, first: int, count: int) -> bool:
        """Whether `count` numbers from `first` are all free."""
        place = bisect_right(self._starts, first)
        if place and self._spans[self._starts[place - 1]][0] > first:
            return False
        return place == len(self._starts) or self._starts[place] >= first + count

    @property
    def end(self) -> int:
        """One more than the highest number taken, 0 when none is."""
        return self._spans[self._starts[-1]][0] if self._starts else 0

    def fit(self, count: int, size: int, start: int = 0) -> int | None:
        """The first gap of `count` numbers in start..size, None when there is none."""
        at = start
        for first in self._starts:
            end = self._spans[first][0]
            if end <= at:
                continue
            if first >= at + count:
                break
            at = end
        return at if at + count <= size else None


@dataclass(slots=True)
class Book:
    """A ledger with its runs by name. Runs are added, never changed."""

    pools: dict[str, tuple[str, ...]]
    switches: list[SwitchRun] = field(default_factory=list)
    hosts: list[HostRun] = field(default_factory=list)
    links: list[LinkRun] = field(default_factory=list)
    storage: list[StorageRun] = field(default_factory=list)
    of_switch: dict[str, tuple[SwitchRun, int]] = field(default_factory=dict)
    of_host: dict[str, tuple[HostRun, int]] = field(default_factory=dict)
    of_storage: dict[str, tuple[StorageRun, int]] = field(default_factory=dict)
    links_of_lower: dict[str, list[tuple[LinkRun, int]]] = field(default_factory=dict)
    collisions: list[str] = field(default_factory=list)
    loopbacks: Spans = field(init=False)
    mgmt: Spans = field(init=False)
    blocks: Spans = field(init=False)
    fabric: Spans = field(init=False)
    asns: dict[int, str] = field(default_factory=dict)
    shared_asns: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.loopbacks = Spans("loopback number", self.collisions)
        self.mgmt = Spans("management number", self.collisions)
        self.blocks = Spans("host block", self.collisions)
        self.fabric = Spans("fabric link number", self.collisions)

    @classmethod
    def open(cls, ledger: Ledger) -> Book:
        """Open a ledger. Collisions are noted in `collisions`, for one message with everything else."""
        book = cls(dict(ledger.pools))
        for switch in ledger.switches:
            book.add_switches(switch)
        for host in ledger.hosts:
            book.add_hosts(host)
        for link in ledger.links:
            book.add_links(link)
        for seat in ledger.storage:
            book.add_storage(seat)
        return book

    def ledger(self, before: Ledger, layout: Layout | None) -> Ledger:
        """The ledger of what is in the book now; names and identities are those of `before`."""
        return Ledger(
            dict(self.pools),
            tuple(self.switches),
            tuple(self.hosts),
            tuple(self.links),
            tuple(self.storage),
            before.identities,
            layout,
            before.names,
        )

    def add_switches(self, run: SwitchRun) -> None:
        """Add a run of switches."""
        owner = fold(run.names)
        self.switches.append(run)
        for place, name in enumerate(run.names):
            if name in self.of_switch:
                self.collisions.append(f"switch {name} stands twice")
            self.of_switch[name] = (run, place)
        count = len(run.names)
        if run.loopback is not None:
            self.loopbacks.take(run.loopback, count, owner)
        self.mgmt.take(run.mgmt, count, owner)
        if run.hosts is not None:
            self.blocks.take(run.hosts, count, owner)
        if run.asn_step:
            for place in range(count):
                asn = run.asn + place * run.asn_step
                if asn in self.asns:
                    self.collisions.append(f"AS number {asn} belongs to {self.asns[asn]} and to {owner}")
                self.asns[asn] = owner
        else:
            # Spines of one tier share a number, also when they came in two runs; `numbers` checks it between tiers.
            known = self.asns.get(run.asn)
            if known is not None and run.asn not in self.shared_asns:
                self.collisions.append(f"AS number {run.asn} belongs to {known} and to {owner}")
            self.shared_asns.add(run.asn)
            self.asns.setdefault(run.asn, owner)

    def add_hosts(self, run: HostRun) -> None:
        """Add a run of hosts."""
        self.hosts.append(run)
        for place, name in enumerate(run.names):
            if name in self.of_host:
                self.collisions.append(f"host {name} stands twice")
            self.of_host[name] = (run, place)
        self.mgmt.take(run.mgmt, len(run.names), fold(run.names))

    def add_storage(self, run: StorageRun) -> None:
        """Add a run of hosts on the storage network."""
        self.storage.append(run)
        for place, name in enumerate(run.names):
            if name in self.of_storage:
                self.collisions.append(f"host {name} stands twice in storage")
            self.of_storage[name] = (run, place)
        if run.mgmt is not None:
            self.mgmt.take(run.mgmt, len(run.names), fold(run.names))

    def add_links(self, run: LinkRun) -> None:
        """Add a run of links."""
        self.links.append(run)
        for place, name in enumerate(run.lowers):
            self.links_of_lower.setdefault(name, []).append((run, place))
        self._take_addresses(run)

    def replace_links(self, run: LinkRun, by: LinkRun) -> None:
        """Put an address to links that had none."""
        self.links[self.links.index(run)] = by
        for name in run.lowers:
            held = self.links_of_lower[name]
            held[:] = [(by if entry is run else entry, place) for entry, place in held]
        self._take_addresses(by)

    def _take_addresses(self, run: LinkRun) -> None:
        if run.address is not None:
            per_lower = run.links if run.deal is not None else run.links * len(run.uppers)
            owner = f"links {fold(run.lowers)} to {fold(run.uppers)}"
            self.fabric.take(run.address, per_lower * len(run.lowers), owner)


def asn_of(run: SwitchRun, place: int) -> int:
    """AS number of switch `place` of a run."""
    return run.asn + place * run.asn_step
