"""Give numbers to what has none yet. What the ledger holds is never changed.

The rules by which the first numbers are given reproduce facts of `ai-fabric.md` section 8 for its fabric; everything
later takes the next free number.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence

from fabric.allocate.book import Book
from fabric.allocate.front import Front
from fabric.allocate.ledger import Layout, Ledger
from fabric.allocate.links import Links
from fabric.allocate.numbers import Numbers
from fabric.allocate.plots import NEVER, Plots, key_of
from fabric.allocate.seats import Seats
from fabric.errors import AllocationError
from fabric.model.fabric import Fabric
from fabric.values.plan import Network


def grow(fabric: Fabric, ledger: Ledger, plots: Plots) -> tuple[Ledger, Book]:
    """The ledger with an entry for everything in the fabric, and the book it was made in.

    AllocationError lists every problem; nothing is written.
    """
    book = Book.open(ledger)
    if book.collisions:
        raise AllocationError(
            "the ledger gives things twice: "
            + "; ".join(book.collisions)
            + "; delete the newer of the two lines, it will be given free numbers"
        )
    layout = _layout(fabric, ledger, plots)
    _pools(book, plots)
    _fixed_management(fabric, book, plots)
    problems = list(_fixed_loopbacks(fabric, plots))
    front = Front(fabric)
    seats = Seats(fabric, book, plots, front, problems)
    links = Links(fabric, book, plots, front, problems)
    seats.occupy()
    links.occupy()
    Numbers(fabric, book, plots, problems).give()
    seats.give()
    links.give()
    seats.give_storage()
    if problems or book.collisions:
        raise AllocationError("\n".join(dict.fromkeys([*problems, *book.collisions])))
    return book.ledger(ledger, layout), book


def _layout(fabric: Fabric, ledger: Ledger, plots: Plots) -> Layout:
    """What names are made of may not change under a fabric that stands."""
    compute = fabric.intent.compute
    now = Layout(
        compute.attachment,
        compute.planes,
        fabric.leaves_per_segment,
        plots.block_length,
        plots.step_length,
        plots.pod_length,
    )
    before = ledger.layout
    if before is None or not ledger.switches:
        return now
    wrong = []
    if before.attachment != now.attachment:
        wrong.append(f"attachment was {before.attachment}, is {now.attachment}")
    if before.planes != now.planes:
        wrong.append(f"planes were {before.planes}, are {now.planes}")
    segments = max(pod.segments for pod in fabric.pods.values())
    if before.leaves_per_segment != now.leaves_per_segment and segments > 1:
        wrong.append(
            f"leaves of a segment were {before.leaves_per_segment}, are {now.leaves_per_segment}, "
            f"and pods have {segments} segments"
        )
    if wrong:
        raise AllocationError(
            "this would rename or re-cable leaves that stand: "
            + "; ".join(wrong)
            + "; begin a new intent for a new fabric"
        )
    return now


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


def _fixed_management(fabric: Fabric, book: Book, plots: Plots) -> None:
    """Addresses of the management network that the intent gives away itself: the gateway's and overrides."""
    management = fabric.intent.management
    base = plots.mgmt.base(0)
    fixed = [("the gateway", management.gateway)] if management.gateway is not None else []
    fixed += [(name, entry.mgmt_address) for name, entry in fabric.intent.devices.items() if entry.mgmt_address]
    for owner, address in fixed:
        number = int(ipaddress.ip_address(address or "")) - base
        if 0 <= number < plots.mgmt.size and (owner == "the gateway" or book.mgmt.free(number, 1)):
            book.mgmt.take(number, 1, owner)


def _fixed_loopbacks(fabric: Fabric, plots: Plots) -> Iterator[str]:
    """What is wrong with loopbacks the intent gives itself. They may lie outside of every pool, but in no pool of
    something else, and be of a family the fabric has."""
    used: list[tuple[str, Sequence[str]]] = [("addressing.reserved", fabric.intent.addressing.reserved), *NEVER]
    used += [(key_of(what), prefixes) for what, prefixes in plots.prefixes().items() if "loopbacks" not in what]
    taken = [(what, ipaddress.ip_network(prefix)) for what, prefixes in used for prefix in prefixes]
    for name, entry in fabric.intent.devices.items():
        if entry.loopback is None:
            continue
        address = ipaddress.ip_address(entry.loopback)
        storage = name in fabric.switches and fabric.switches[name].network is Network.STORAGE
        if address.version == 6 and (storage or not plots.ipv6):
            yield f"devices.{name}.loopback: {address} is IPv6, which {'storage' if storage else 'this fabric'} has not"
        for what, prefix in taken:
            if address in prefix:
                yield f"devices.{name}.loopback: {address} lies in {prefix} ({what}); take one of a loopback pool"
