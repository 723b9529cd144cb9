"""Links of a running fabric as ledger runs: ports, addresses and order as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from fabric.allocate.book import Book
from fabric.allocate.ledger import LinkRun
from fabric.allocate.names import fold, joined
from fabric.allocate.plots import Plots
from fabric.allocate.seen import SeenPort, SeenSwitch
from fabric.allocate.slots import slots_of
from fabric.model.fabric import Fabric, Mesh

Tell = Callable[[str, str | None, str, str, str], None]


class _Link(NamedTuple):
    """One link as ledger numbers. `address` is None on unnumbered links."""

    upper: str
    lower_slot: int
    upper_slot: int
    address: int | None


def adopt_links(fabric: Fabric, plots: Plots, book: Book, seen: Mapping[str, SeenSwitch], tell: Tell) -> int:
    """Add a run for every link of which one end was seen. Returns their number; what does not fit is told."""
    seen = {**seen, **_by_their_neighbours(fabric, seen)}
    ends = _by_prefix(seen)
    count = 0
    for mesh in fabric.meshes:
        if mesh.links is None:
            if any(name in seen for name in mesh.lowers):
                tell(mesh.lowers[0], None, "links", f"to {fold(mesh.uppers)}", "dealt-out uplinks are never adopted")
            continue
        runs: list[LinkRun] = []
        for lower in mesh.lowers:
            if lower in seen and not book.links_of_lower.get(lower):
                found = _links_of(fabric, plots, mesh, seen, lower, ends, tell)
                count += len(found)
                runs.extend(_runs(lower, found, mesh))
        for run in joined(runs, _continues, lambda one, other: replace(one, lowers=one.lowers + other.lowers)):
            book.add_links(run)
    return count


def _by_their_neighbours(fabric: Fabric, seen: Mapping[str, SeenSwitch]) -> dict[str, SeenSwitch]:
    """Switches of the fabric that did not answer, with the ports their neighbours name: one dead spine must not move
    the addresses of every leaf."""
    found: dict[str, dict[str, SeenPort]] = {}
    for switch in seen.values():
        for port in switch.ports.values():
            if port.neighbour is None or port.neighbour[0] in seen or port.neighbour[0] not in fabric.switches:
                continue
            device, far_port = port.neighbour
            others = tuple(
                type(entry)((int(entry.ip) ^ 1, entry.network.prefixlen))
                for entry in port.addresses
                if entry.network.prefixlen == entry.max_prefixlen - 1
            )
            if far_port:
                there = SeenPort(far_port, port.speed_mbps, (), others, (switch.name, port.name))
                found.setdefault(device, {})[far_port] = there
    return {device: SeenSwitch(device, None, (), None, ports) for device, ports in found.items()}


def _by_prefix(seen: Mapping[str, SeenSwitch]) -> dict[object, list[tuple[str, str, int]]]:
    """Point-to-point prefix -> the (switch, port, last bit) that hold an address of it."""
    found: dict[object, list[tuple[str, str, int]]] = {}
    for switch in seen.values():
        for port in switch.ports.values():
            for entry in port.addresses:
                if entry.network.prefixlen >= entry.max_prefixlen - 1:
                    found.setdefault(entry.network, []).append((switch.name, port.name, int(entry.ip) & 1))
    return found


def _links_of(
    fabric: Fabric, plots: Plots, mesh: Mesh, seen: Mapping[str, SeenSwitch], lower: str,
    ends: Mapping[object, list[tuple[str, str, int]]], tell: Tell,
) -> list[_Link]:  # fmt: skip
    mine = {slot.port.name: number for number, slot in enumerate(slots_of(fabric.platform_of(lower), mesh.speed_mbps))}
    links: list[_Link] = []
    uppers = set(mesh.uppers)
    pool = plots.fabric if plots.ipv4 else plots.fabric6
    for port in seen[lower].ports.values():
        far = _far_end(port, lower, ends, seen)
        if far is None or far[0] not in uppers:
            continue
        upper, upper_port = far
        text = f"to {upper} {upper_port}"
        theirs = {
            slot.port.name: number for number, slot in enumerate(slots_of(fabric.platform_of(upper), mesh.speed_mbps))
        }
        if port.speed_mbps != mesh.speed_mbps or port.name not in mine or upper_port not in theirs:
            tell(lower, port.name, "link", text, f"it is not {mesh.speed_mbps // 1000}G on ports of these platforms")
            continue
        address = None
        entry = next((entry for entry in port.addresses if entry.version == pool.prefixes[0].version), None)
        if entry is not None:
            if int(entry.ip) & 1:
                tell(lower, port.name, "link", f"{entry} {text}", "the even address must be on the lower switch")
                continue
            address = pool.index(entry.ip)
            if address is None:
                tell(lower, port.name, "link", f"{entry} {text}", "add its prefix to addressing.fabric")
                continue
        if port.neighbour is not None and port.neighbour[0] in seen and port.neighbour[0] != upper:
            said = ":".join(port.neighbour)
            tell(lower, port.name, "link", f"addresses lead to {upper}, the neighbour says {said}", "check the cable")
        links.append(_Link(upper, mine[port.name], theirs[upper_port], address))
    return sorted(links, key=lambda link: link.lower_slot)


def _far_end(
    port: SeenPort, switch: str, ends: Mapping[object, list[tuple[str, str, int]]], seen: Mapping[str, SeenSwitch]
) -> tuple[str, str] | None:
    """The other end of a port: who has the other address of its prefix, else whom it names."""
    for entry in port.addresses:
        others = [end for end in ends.get(entry.network, ()) if end[:2] != (switch, port.name)]
        if len(others) == 1:
            return others[0][0], others[0][1]
    if not port.addresses and port.neighbour is not None and port.neighbour[0] in seen and port.neighbour[1]:
        return port.neighbour
    return None


def _runs(lower: str, links: list[_Link], mesh: Mesh) -> list[LinkRun]:
    """Links of one lower switch as few runs as they allow."""
    if not links:
        return []
    whole = _regular(lower, links, list(dict.fromkeys(link.upper for link in links)), mesh)
    if whole is not None:
        return [whole]
    runs: list[LinkRun] = []
    for upper in dict.fromkeys(link.upper for link in links):
        pair = [link for link in links if link.upper == upper]
        run = _regular(lower, pair, [upper], mesh)
        if run is not None:
            runs.append(run)
            continue
        for number, link in enumerate(pair):
            one = _regular(lower, [link], [upper], mesh)
            assert one is not None
            runs.append(replace(one, first=number))
    return runs


def _regular(lower: str, links: list[_Link], uppers: list[str], mesh: Mesh) -> LinkRun | None:
    """One run for these links when they follow its formula, else None."""
    parallel, rest = divmod(len(links), len(uppers))
    if rest:
        return None
    first = links[0]
    for number, link in enumerate(links):
        b, j = divmod(number, parallel)
        if link.upper != uppers[b] or link.lower_slot != first.lower_slot + number:
            return None
        if link.upper_slot != first.upper_slot + j:
            return None
        if link.address != (None if first.address is None else first.address + number):
            return None
    return LinkRun(
        (lower,), tuple(uppers), parallel, 0, mesh.speed_mbps, first.lower_slot, first.upper_slot, first.address
    )


def _continues(one: LinkRun, other: LinkRun) -> bool:
    count = len(one.lowers)
    address = None if one.address is None else one.address + count * len(one.uppers) * one.links
    return (
        "," not in fold(one.lowers + other.lowers)
        and (one.uppers, one.links, one.first, one.lower_slot)
        == (other.uppers, other.links, other.first, other.lower_slot)
        and other.upper_slot == one.upper_slot + count * one.links
        and other.address == address
    )
