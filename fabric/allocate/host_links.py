"""Addresses of host links: the block of a leaf and its two ends."""

from __future__ import annotations

from fabric.allocate.book import Book
from fabric.allocate.plots import Plots
from fabric.allocate.pools import text4, text6
from fabric.errors import AllocationError
from fabric.intent.shapes import Addressing


class HostLinks:
    """Host prefixes of leaves, routed (a /31 or /127 a NIC) or as one VLAN a leaf."""

    def __init__(self, addressing: Addressing, book: Book, plots: Plots) -> None:
        self.vlan = addressing.vlan if addressing.host_links == "vlan" else None
        self.book = book
        self.plots = plots
        addresses = 1 << (32 - plots.block_length)
        # In a VLAN the network, the leaf and the broadcast address are no host's.
        self.room = addresses - 3 if self.vlan else addresses // 2

    def pair(self, leaf: str, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Addresses of the leaf and of NIC `number` of a leaf's block."""
        plots = self.plots
        run, offset = self.book.of_switch[leaf]
        block = (run.hosts or 0) + offset
        ours: tuple[str, ...] = ()
        theirs: tuple[str, ...] = ()
        if plots.ipv4:
            if number >= self.room:
                raise AllocationError(
                    f"{leaf}: the ledger gives a host link number {number}, its /{plots.block_length} has {self.room}; "
                    "delete the ledger line of that host, it will be given a free number"
                )
            base = plots.blocks.base(block)
            if self.vlan:
                length = plots.block_length
                ours, theirs = (f"{text4(base + 1)}/{length}",), (f"{text4(base + 2 + number)}/{length}",)
            else:
                ours, theirs = (f"{text4(base + 2 * number)}/31",), (f"{text4(base + 2 * number + 1)}/31",)
        if plots.ipv6:
            base = plots.blocks6.base(block)
            if self.vlan:
                ours, theirs = (*ours, f"{text6(base + 1)}/64"), (*theirs, f"{text6(base + 2 + number)}/64")
            else:
                ours = (*ours, f"{text6(base + 2 * number)}/127")
                theirs = (*theirs, f"{text6(base + 2 * number + 1)}/127")
        return ours, theirs

    def prefixes(self, leaf: str) -> tuple[str, ...]:
        """The host prefixes of a leaf."""
        run, offset = self.book.of_switch[leaf]
        if run.hosts is None:
            return ()
        block = run.hosts + offset
        found: list[str] = []
        if self.plots.ipv4:
            found.append(f"{text4(self.plots.blocks.base(block))}/{self.plots.block_length}")
        if self.plots.ipv6:
            found.append(f"{text6(self.plots.blocks6.base(block))}/64")
        return tuple(found)
