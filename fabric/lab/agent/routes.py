"""Routes: what zebra sends over FPM into APPL_DB ROUTE_TABLE, and from there into ASIC_DB.

fpmsyncd and orchagent's part. A route's way down is a chain, and `withhold` cuts it at one place: a next hop that
never arrives in APPL_DB, or one that arrives there and not in the ASIC, as a failed SAI call leaves it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping

from fabric.lab.agent import oids as sai
from fabric.lab.agent.config import Config
from fabric.lab.agent.netlink import RTM_DELROUTE, RTM_NEWROUTE, Route, messages, read_route
from fabric.lab.agent.oids import Oids
from fabric.lab.agent.ports import Ports
from fabric.lab.agent.rows import Rows

_FRAME = struct.Struct(">BBH")
_MAIN_TABLE = 254
_BLACKHOLES = (6, 7, 8)
# linux/rtnetlink.h RTPROT_*; names as fpmsyncd writes them
_PROTOCOLS = {2: "kernel", 4: "static", 11: "zebra", 186: "bgp", 188: "ospf", 196: "static"}
_CHAIN = ("ROUTE_ENTRY:", "NEXT_HOP", "ROUTER_INTERFACE:", "NEIGHBOR_ENTRY:")
_ASIC = "ASIC_STATE:SAI_OBJECT_TYPE_"


class Stream:
    """The byte stream of one FPM connection, cut into routes: (prefix as in APPL_DB, route or None when withdrawn)."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[str, Route | None]]:
        """Take in bytes, give out what they complete. ValueError when this is no FPM."""
        self._buffer += data
        place = 0
        while len(self._buffer) - place >= _FRAME.size:
            version, kind, length = _FRAME.unpack_from(self._buffer, place)
            if version != 1 or length < _FRAME.size:
                raise ValueError(f"not FPM: version {version}, length {length}")
            if len(self._buffer) - place < length:
                break
            if kind == 1:
                body = bytes(self._buffer[place + _FRAME.size : place + length])
                for message, view in messages(body):
                    if message in (RTM_NEWROUTE, RTM_DELROUTE) and (route := read_route(view)):
                        yield appl_prefix(route.prefix), route if message == RTM_NEWROUTE else None
            place += length
        del self._buffer[:place]


class Routes:
    """The routes of one switch."""

    def __init__(self, ports: Ports, config: Config, oids: Oids, appl: Rows, asic: Rows, counters: Rows) -> None:
        self._ports, self._config, self._oids, self._appl, self._asic = ports, config, oids, appl, asic
        self._counters = counters
        self._routes: dict[str, Route] = {}
        self._withheld: dict[str, set[tuple[str, str]]] = {"appl": set(), "asic": set()}

    def learn(self, prefix: str, route: Route | None) -> None:
        """A route was installed or withdrawn by zebra."""
        if route is None or route.table != _MAIN_TABLE:
            self._routes.pop(prefix, None)
        else:
            self._routes[prefix] = route

    def forget(self) -> None:
        """zebra is gone, and all its routes with it."""
        self._routes.clear()

    def withhold(self, layer: str, prefix: str, hop: str, on: bool) -> None:
        """Keep a next hop of a prefix from arriving in `layer` (appl or asic), or let it arrive again."""
        place = (appl_prefix(prefix), hop)
        (self._withheld[layer].add if on else self._withheld[layer].discard)(place)

    def has(self, prefix: str, hop: str) -> bool:
        """Whether zebra has sent this next hop for this prefix."""
        route = self._routes.get(appl_prefix(prefix))
        return bool(route and any(gateway == hop for gateway, _, _ in route.hops))

    def publish(self) -> None:
        """Write ROUTE_TABLE and the ASIC's chain of objects."""
        rows: dict[str, dict[str, str]] = {}
        chain = _Chain(self._oids, self._ports)
        for name in {key.partition("|")[0] for key in self._config.rows("INTERFACE")}:
            chain.interface(name, self._config)
        for name, address in self._ports.neighbours:
            chain.neighbour(name, address, self._ports.neighbours[name, address])
        for address in self._ports.own_addresses():
            chain.own(address)
        for prefix, route in self._routes.items():
            row = self._row(prefix, route)
            if row is None:
                continue
            rows[f"ROUTE_TABLE:{prefix}"] = row
            if row.get("blackhole") == "true":
                chain.drop(prefix)
                continue
            weights = [int(weight) for weight in row.get("weight", "1").split(",")]
            hops = list(zip(row["ifname"].split(","), row["nexthop"].split(","), weights))
            missing = {hop for known, hop in self._withheld["asic"] if known == prefix}
            chain.route(prefix, [hop for hop in hops if hop[1] not in missing])
        self._appl.keep_only(rows, lambda key: key.startswith("ROUTE_TABLE:"))
        self._asic.keep_only(chain.rows, lambda key: key.startswith(_ASIC) and key[len(_ASIC) :].startswith(_CHAIN))
        self._counters.put("CRM:STATS", _table_use(chain.rows))

    def _row(self, prefix: str, route: Route) -> dict[str, str] | None:
        protocol = _PROTOCOLS.get(route.protocol, str(route.protocol))
        if route.kind in _BLACKHOLES:
            return {"blackhole": "true", "protocol": protocol}
        missing = {hop for known, hop in self._withheld["appl"] if known == prefix}
        any_hop = "::" if ":" in prefix else "0.0.0.0"
        hops = [
            (device, gateway or any_hop, weight)
            for gateway, index, weight in route.hops
            if (device := self._ports.device(index)) and gateway not in missing
        ]
        # fpmsyncd skips what leaves through the management port.
        if not hops or any(device in ("eth0", "lo", "docker0") for device, _, _ in hops):
            return None
        row = {
            "nexthop": ",".join(gateway for _, gateway, _ in hops),
            "ifname": ",".join(device for device, _, _ in hops),
            "protocol": protocol,
        }
        if len(hops) > 1:
            row["weight"] = ",".join(str(weight) for _, _, weight in hops)
        return row


# Sizes of an ASIC that is none: CRM's words, the object that fills the table, and how many there is room for.
_TABLES = (
    ("ipv4_route", "ROUTE_ENTRY:", 100_000),
    ("ipv6_route", "ROUTE_ENTRY:", 50_000),
    ("ipv4_nexthop", "NEXT_HOP:", 16_384),
    ("ipv4_neighbor", "NEIGHBOR_ENTRY:", 16_384),
    ("nexthop_group", "NEXT_HOP_GROUP:", 512),
    ("nexthop_group_member", "NEXT_HOP_GROUP_MEMBER:", 16_384),
)


def _table_use(rows: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """CRM:STATS as orchagent writes it, counted from the objects there are."""
    use: dict[str, str] = {}
    for name, kind, size in _TABLES:
        mine = [key for key in rows if key.startswith(_ASIC + kind)]
        if kind == "ROUTE_ENTRY:":
            six = sum(":" in key.split('"dest":"')[1].split('"')[0] for key in mine)
            used = six if name == "ipv6_route" else len(mine) - six
        else:
            used = len(mine)
        use[f"crm_stats_{name}_used"] = str(used)
        use[f"crm_stats_{name}_available"] = str(size - used)
    return use


class _Chain:
    """ASIC_DB objects of routing, built afresh each time."""

    def __init__(self, oids: Oids, ports: Ports) -> None:
        self._oids, self._ports = oids, ports
        self.rows: dict[str, dict[str, str]] = {}
        self._next_hops: set[tuple[str, str]] = set()

    def interface(self, name: str, config: Config) -> None:
        mtu = config.rows("PORT").get(name, {}).get("mtu", "9100")
        self.rows[f"{_ASIC}ROUTER_INTERFACE:{self._oids.interface(name)}"] = {
            "SAI_ROUTER_INTERFACE_ATTR_MTU": mtu,
            "SAI_ROUTER_INTERFACE_ATTR_PORT_ID": self._oids.port(name),
            "SAI_ROUTER_INTERFACE_ATTR_SRC_MAC_ADDRESS": config.device().get("mac", "").upper(),
            "SAI_ROUTER_INTERFACE_ATTR_TYPE": "SAI_ROUTER_INTERFACE_TYPE_PORT",
            "SAI_ROUTER_INTERFACE_ATTR_VIRTUAL_ROUTER_ID": sai.ROUTER,
        }

    def neighbour(self, name: str, address: str, mac: str) -> None:
        interface = self._oids.interface(name)
        if f"{_ASIC}ROUTER_INTERFACE:{interface}" not in self.rows:
            return
        key = json.dumps({"ip": address, "rif": interface, "switch_id": sai.SWITCH}, separators=(",", ":"))
        self.rows[f"{_ASIC}NEIGHBOR_ENTRY:{key}"] = {"SAI_NEIGHBOR_ENTRY_ATTR_DST_MAC_ADDRESS": mac.upper()}
        self.rows[f"{_ASIC}NEXT_HOP:{self._oids.next_hop((name, address))}"] = {
            "SAI_NEXT_HOP_ATTR_IP": address,
            "SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID": interface,
            "SAI_NEXT_HOP_ATTR_TYPE": "SAI_NEXT_HOP_TYPE_IP",
        }
        self._next_hops.add((name, address))

    def own(self, address: str) -> None:
        length = 128 if ":" in address else 32
        self._entry(f"{address}/{length}", sai.CPU_PORT)

    def drop(self, prefix: str) -> None:
        key = _route_key(prefix)
        self.rows[key] = {"SAI_ROUTE_ENTRY_ATTR_PACKET_ACTION": "SAI_PACKET_ACTION_DROP"}

    def route(self, prefix: str, hops: list[tuple[str, str, int]]) -> None:
        """`hops` are (device, gateway, weight)."""
        if all(gateway in ("0.0.0.0", "::") for _, gateway, _ in hops):
            name = hops[0][0] if hops else ""
            if name.startswith("Ethernet"):
                self._entry(prefix, self._oids.interface(name))
            return
        # A next hop whose neighbour is not resolved is no member: orchagent waits for it.
        usable = [hop for hop in hops if hop[:2] in self._next_hops]
        if not usable:
            return
        if len(usable) == 1:
            self._entry(prefix, self._oids.next_hop(usable[0][:2]))
            return
        group = self._oids.group(frozenset(usable))
        key = f"{_ASIC}NEXT_HOP_GROUP:{group}"
        if key not in self.rows:
            self.rows[key] = {"SAI_NEXT_HOP_GROUP_ATTR_TYPE": "SAI_NEXT_HOP_GROUP_TYPE_DYNAMIC_UNORDERED_ECMP"}
            for device, gateway, weight in usable:
                hop = (device, gateway)
                self.rows[f"{_ASIC}NEXT_HOP_GROUP_MEMBER:{self._oids.member(group, hop)}"] = {
                    "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID": group,
                    "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID": self._oids.next_hop(hop),
                    # routeorch gives a member the weight its APPL_DB row has, and keys groups by it.
                    "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_WEIGHT": str(weight),
                }
        self._entry(prefix, group)

    def _entry(self, prefix: str, target: str) -> None:
        self.rows[_route_key(prefix)] = {
            "SAI_ROUTE_ENTRY_ATTR_NEXT_HOP_ID": target,
            "SAI_ROUTE_ENTRY_ATTR_PACKET_ACTION": "SAI_PACKET_ACTION_FORWARD",
        }


def appl_prefix(prefix: str) -> str:
    """A prefix as APPL_DB writes it: a host route has no length."""
    address, _, length = prefix.partition("/")
    return address if length in ("", "128" if ":" in address else "32") else prefix


def _route_key(prefix: str) -> str:
    if "/" not in prefix:
        prefix += "/128" if ":" in prefix else "/32"
    dest = {"dest": prefix, "switch_id": sai.SWITCH, "vr": sai.ROUTER}
    return f"{_ASIC}ROUTE_ENTRY:{json.dumps(dest, separators=(',', ':'))}"
