"""Routes below FRR: the kernel (`ip -j route`), APPL_DB, and ASIC_DB with its object chain resolved to ports.

Facts: sonic.md 5.7. Prefixes are written as FRR writes them (`10.255.0.1/32`), so that layers can be compared by key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any

from fabric.collect.parse_frr import by_port
from fabric.collect.scalars import clean, integer
from fabric.collect.tables import load_json
from fabric.errors import CollectError
from fabric.values.snapshot import FibRoute, Neighbour, NextHop

Row = Mapping[str, str]
_CONNECTED = frozenset({"0.0.0.0", "::", ""})
_KERNEL_PROTOCOLS = {"186": "bgp", "196": "static", "11": "zebra", "2": "kernel", "3": "boot", "4": "static"}
_DROP_TYPES = frozenset({"blackhole", "unreachable", "prohibit"})
# The object type stands in the top 16 bits of a SAI object id (SAI saitypes.h, as SONiC's syncd encodes it).
_PORT, _LAG, _NEXT_HOP, _GROUP, _RIF = 0x1, 0x2, 0x4, 0x5, 0x6


def prefix_of(text: str) -> str | None:
    """A prefix in its usual form, host bits kept out, length added; None when it is none."""
    address, slash, length = text.partition("/")
    if not slash:
        text = f"{address}/{128 if ':' in address else 32}"
    elif ":" not in address and length.isascii() and length.isdigit() and address.count(".") == 3:
        # Most routes are already in form; building an object for each would be most of the time.
        last = address.rpartition(".")[2]
        if (
            length == "32"
            or (last == "0" and length == "24")
            or (length == "31" and last.isdigit() and not int(last) % 2)
        ):
            try:
                valid = all(0 <= int(octet) < 256 for octet in address.split("."))
            except ValueError:
                valid = False
            if valid and len(text) < 19:
                return text
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        return None


def _hops(hops: list[NextHop], known: dict[tuple[NextHop, ...], tuple[NextHop, ...]]) -> tuple[NextHop, ...]:
    found = tuple(sorted(hops, key=by_port))
    return known.setdefault(found, found)


def kernel(*texts: str) -> dict[str, FibRoute]:
    """Routes of `ip -j route show` outputs (IPv4 and IPv6). Routes of eth0 and lo are kept; link-local ones are not.

    An IPv6 route split over several entries is put together. Empty text is no route (old iproute2 prints nothing).
    """
    found: dict[str, list[NextHop]] = {}
    how: dict[str, tuple[str, bool]] = {}
    for text, any_prefix in zip(texts, ("0.0.0.0/0", "::/0")):
        rows = load_json(text) if text.strip() else []
        if not isinstance(rows, list):
            raise CollectError("not the output of `ip -j route`")
        for row in rows:
            if not isinstance(row, dict) or not isinstance(row.get("dst"), str):
                if row == {}:
                    continue
                raise CollectError("not the output of `ip -j route`")
            prefix = any_prefix if row["dst"] == "default" else prefix_of(row["dst"])
            if prefix is None:
                raise CollectError(f"the kernel has a route to {clean(row['dst'])[:40]!r}")
            if prefix.startswith(("fe80:", "ff00:")):
                continue
            protocol = clean(row.get("protocol"))
            drop = row.get("type") in _DROP_TYPES
            how.setdefault(prefix, (_KERNEL_PROTOCOLS.get(protocol, protocol), drop))
            found.setdefault(prefix, []).extend([] if drop else _kernel_hops(row))
    known: dict[tuple[NextHop, ...], tuple[NextHop, ...]] = {}
    return {
        prefix: FibRoute(prefix, _hops(hops, known), protocol=how[prefix][0], blackhole=how[prefix][1])
        for prefix, hops in found.items()
    }


def _kernel_hops(row: Mapping[str, Any]) -> list[NextHop]:
    several = row.get("nexthops")
    parts = several if isinstance(several, list) else [row]
    hops: list[NextHop] = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        flags = part.get("flags")
        if isinstance(flags, list) and "dead" in flags:
            continue
        via = part.get("via")
        address = part.get("gateway") or (via.get("host") if isinstance(via, dict) else "")
        weight = part.get("weight")
        hops.append(NextHop(clean(address), clean(part.get("dev")), weight if isinstance(weight, int) else 1))
    return hops


def neighbours(text: str) -> tuple[Neighbour, ...]:
    """Entries of `ip -j neigh show`, IPv4 and IPv6, eth0's too; multicast and link-local noise left out."""
    rows = load_json(text) if text.strip() else []
    if not isinstance(rows, list):
        raise CollectError("not the output of `ip -j neigh`")
    found: list[Neighbour] = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("dst"), str):
            raise CollectError("not the output of `ip -j neigh`")
        state = row.get("state")
        words = [clean(word) for word in state] if isinstance(state, list) else [clean(state)]
        if "NOARP" in words:
            continue
        found.append(
            Neighbour(clean(row["dst"]), clean(row.get("dev")), clean(row.get("lladdr")).lower(), ",".join(words))
        )
    return tuple(found)


def appl(routes: Mapping[str, Row], groups: Mapping[str, Row], class_groups: Mapping[str, Row]) -> dict[str, FibRoute]:
    """APPL_DB ROUTE_TABLE by prefix, next hop groups resolved. A VRF's routes keep its name: `Vrf1:10.0.0.0/24`."""
    found: dict[str, FibRoute] = {}
    known: dict[tuple[NextHop, ...], tuple[NextHop, ...]] = {}
    texts: dict[tuple[str, ...], tuple[tuple[NextHop, ...], tuple[str, ...]]] = {}
    for key, row in routes.items():
        vrf, _, rest = key.partition(":") if key.startswith("Vrf") else ("", "", key)
        prefix = prefix_of(rest)
        if prefix is None:
            raise CollectError(f"APPL_DB has a route to {clean(rest)[:40]!r}")
        name = f"{clean(vrf)}:{prefix}" if vrf else prefix
        # Thousands of routes have the same next hops: the text is resolved once.
        spelled = tuple(row.get(field, "") for field in ("nexthop", "ifname", "weight", "nexthop_group"))
        resolved = texts.get(spelled)
        if resolved is None:
            unresolved: list[str] = []
            hops = _hops(_appl_hops(row, groups, class_groups, unresolved), known)
            resolved = texts[spelled] = (hops, tuple(unresolved))
        found[name] = FibRoute(
            name,
            resolved[0],
            protocol=clean(row.get("protocol")),
            blackhole=row.get("blackhole", "").lower() == "true",
            unresolved=resolved[1],
        )
    return found


def _appl_hops(
    row: Row, groups: Mapping[str, Row], class_groups: Mapping[str, Row], unresolved: list[str]
) -> list[NextHop]:
    group = row.get("nexthop_group")
    if group:
        if group in groups:
            return _appl_hops({**groups[group], "nexthop_group": ""}, groups, class_groups, unresolved)
        members = class_groups.get(group, {}).get("members", "")
        if not members:
            unresolved.append(f"NEXTHOP_GROUP_TABLE:{clean(group)}")
            return []
        hops: list[NextHop] = []
        for member in members.split(","):
            for hop in _appl_hops({"nexthop_group": member}, groups, {}, unresolved):
                if hop not in hops:
                    hops.append(hop)
        return hops
    ports = [clean(port) for port in row.get("ifname", "").split(",")] if row.get("ifname") else []
    addresses = [clean(address) for address in row.get("nexthop", "").split(",")] if "nexthop" in row else []
    weights = row.get("weight", "").split(",") if row.get("weight") else []
    count = max(len(ports), len(addresses))
    if ports and addresses and len(ports) != len(addresses):
        unresolved.append(f"{len(addresses)} next hops but {len(ports)} ports")
    hops = []
    for i in range(count):
        address = addresses[i] if i < len(addresses) else ""
        port = ports[i] if i < len(ports) else ""
        weight = integer(weights[i]) if i < len(weights) else None
        if address in _CONNECTED and not port:
            continue
        hops.append(NextHop("" if address in _CONNECTED else address, port, weight or 1))
    return hops


def asic(
    objects: Mapping[str, Row], port_names: Mapping[str, str], lag_names: Mapping[str, str]
) -> dict[str, FibRoute]:
    """Routes of ASIC_DB by prefix, down to port names. `objects`: keys without `ASIC_STATE:SAI_OBJECT_TYPE_`.

    `port_names` and `lag_names`: COUNTERS_PORT_NAME_MAP and COUNTERS_LAG_NAME_MAP, name -> object id. Objects of the
    chain that lead nowhere stand in `unresolved`. A route of another virtual router keeps its id in the key.
    """
    chain = _Chain(objects, port_names, lag_names)
    found: dict[str, FibRoute] = {}
    known: dict[tuple[NextHop, ...], tuple[NextHop, ...]] = {}
    main = chain.main_router()
    for key, row in objects.items():
        if not key.startswith("ROUTE_ENTRY:"):
            continue
        try:
            entry = load_json(key[12:])
            destination, router = entry["dest"], entry.get("vr", "")
        except (CollectError, KeyError, TypeError, AttributeError):
            raise CollectError("ASIC_DB has a route entry that is not one") from None
        prefix = prefix_of(destination) if isinstance(destination, str) else None
        if prefix is None:
            raise CollectError(f"ASIC_DB has a route to {clean(destination)[:40]!r}")
        name = prefix if router == main or not main else f"{clean(router)}:{prefix}"
        found[name] = chain.route(name, row, known)
    return found


class _Chain:
    def __init__(self, objects: Mapping[str, Row], ports: Mapping[str, str], lags: Mapping[str, str]) -> None:
        self._objects = objects
        self._ports = {oid: clean(name) for name, oid in ports.items()}
        self._lags = {oid: clean(name) for name, oid in lags.items()}
        self._members: dict[str, list[Row]] = defaultdict(list)
        self._resolved: dict[str, tuple[list[NextHop], list[str]]] = {}
        for key, row in objects.items():
            if key.startswith("NEXT_HOP_GROUP_MEMBER:"):
                self._members[row.get("SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID", "")].append(row)

    def main_router(self) -> str:
        """Virtual router most routes are in: the default VRF. Empty when there is only one or none."""
        counts: dict[str, int] = defaultdict(int)
        for key in self._objects:
            if key.startswith("ROUTE_ENTRY:"):
                _, found, rest = key.partition('"vr":"')
                counts[rest.partition('"')[0] if found else ""] += 1
        return max(counts, key=lambda router: (counts[router], router)) if counts else ""

    def route(self, name: str, row: Row, known: dict[tuple[NextHop, ...], tuple[NextHop, ...]]) -> FibRoute:
        target = row.get("SAI_ROUTE_ENTRY_ATTR_NEXT_HOP_ID", "")
        drop = row.get("SAI_ROUTE_ENTRY_ATTR_PACKET_ACTION") in ("SAI_PACKET_ACTION_DROP", "SAI_PACKET_ACTION_DENY")
        if target in ("", "oid:0x0"):
            missing = () if drop else ("route without next hop",)
            return FibRoute(name, (), blackhole=drop, unresolved=missing)
        if _kind(target) == _PORT:
            # The only port a route may lead to is the CPU's: packets to ourselves.
            return FibRoute(name, (), local=True, blackhole=drop)
        hops, unresolved = self._follow(target)
        return FibRoute(name, _hops(hops, known), blackhole=drop, unresolved=tuple(unresolved))

    def _follow(self, oid: str) -> tuple[list[NextHop], list[str]]:
        found = self._resolved.get(oid)
        if found is None:
            kind = _kind(oid)
            if kind == _GROUP:
                found = self._group(oid)
            elif kind == _NEXT_HOP:
                found = self._next_hop(oid)
            elif kind == _RIF:
                found = self._interface(oid, "")
            else:
                found = ([], [clean(oid)])
            self._resolved[oid] = found
        return found

    def _group(self, oid: str) -> tuple[list[NextHop], list[str]]:
        hops: dict[tuple[str, str], int] = {}
        unresolved = [] if f"NEXT_HOP_GROUP:{oid}" in self._objects else [f"NEXT_HOP_GROUP:{clean(oid)}"]
        for member in self._members.get(oid, ()):
            target = member.get("SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID", "")
            weight = integer(member.get("SAI_NEXT_HOP_GROUP_MEMBER_ATTR_WEIGHT")) or 1
            found, missing = self._next_hop(target)
            unresolved.extend(missing)
            for hop in found:
                # The same next hop twice is a weight: orchagent repeats members where the ASIC has no weights.
                at = (hop.address, hop.port)
                hops[at] = hops.get(at, 0) + weight
        if not self._members.get(oid):
            unresolved.append(f"NEXT_HOP_GROUP:{clean(oid)} has no member")
        return [NextHop(address, port, weight) for (address, port), weight in hops.items()], unresolved

    def _next_hop(self, oid: str) -> tuple[list[NextHop], list[str]]:
        row = self._objects.get(f"NEXT_HOP:{oid}")
        if row is None:
            return [], [f"NEXT_HOP:{clean(oid)}"]
        kind = row.get("SAI_NEXT_HOP_ATTR_TYPE", "SAI_NEXT_HOP_TYPE_IP")
        if kind != "SAI_NEXT_HOP_TYPE_IP":
            return [], [f"NEXT_HOP:{clean(oid)} is {clean(kind)}"]
        return self._interface(
            row.get("SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID", ""), clean(row.get("SAI_NEXT_HOP_ATTR_IP"))
        )

    def _interface(self, oid: str, address: str) -> tuple[list[NextHop], list[str]]:
        row = self._objects.get(f"ROUTER_INTERFACE:{oid}")
        if row is None:
            return [NextHop(address, "")] if address else [], [f"ROUTER_INTERFACE:{clean(oid)}"]
        port = row.get("SAI_ROUTER_INTERFACE_ATTR_PORT_ID") or row.get("SAI_ROUTER_INTERFACE_ATTR_VLAN_ID", "")
        if row.get("SAI_ROUTER_INTERFACE_ATTR_TYPE") == "SAI_ROUTER_INTERFACE_TYPE_LOOPBACK":
            return [NextHop(address, "loopback")], []
        name = self._lags.get(port) if _kind(port) == _LAG else self._ports.get(port)
        if name is None:
            return [NextHop(address, "")] if address else [], [f"no name for {clean(port)}"]
        return [NextHop(address, name)], []


def _kind(oid: str) -> int:
    """Object type of a SAI object id such as `oid:0x5000000000689`; 0 when it is none."""
    if not oid.startswith("oid:0x") or len(oid) > 22:
        return 0
    try:
        return int(oid[6:], 16) >> 48
    except ValueError:
        return 0
