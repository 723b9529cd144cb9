"""Rules about addresses and prefixes: parents, host bits, overlaps, management."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from fabric.lint.view import ADDRESS_TABLES, Address, Config, found, text
from fabric.values.finding import Finding, Status

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Tables whose rows name prefixes, not addresses of ours: where the prefix stands, counted in parts of the key.
_PREFIX_KEYS = {"STATIC_ROUTE": -1, "BGP_GLOBALS_AF_NETWORK": -1, "BGP_GLOBALS_AF_AGGREGATE_ADDR": -1}


def address_rows_have_parents(config: Config) -> Iterator[Finding]:
    """CFG-20: `INTERFACE|Ethernet0|10.0.0.0/31` needs `INTERFACE|Ethernet0` (F001); management MGMT_PORT (F006)."""
    for table in ADDRESS_TABLES:
        if table == "MGMT_INTERFACE":
            continue
        rows = config.rows(table)
        for key in rows:
            name, _, prefix = key.partition("|")
            if prefix and name not in rows:
                what = f"the row {table}|{name} is missing; SONiC drops the address"
                yield found("CFG-20", (table, key, None), what, f'add "{name}": {{}} to {table}')
    for key in config.rows("MGMT_INTERFACE"):
        name = key.partition("|")[0]
        if config.whole_switch and name not in config.rows("MGMT_PORT"):
            what = f"MGMT_PORT has no row {name}; later port breakouts are refused"
            yield found("CFG-20", ("MGMT_INTERFACE", key, None), what, f'add "{name}" to MGMT_PORT')


def addresses_are_hosts(config: Config) -> Iterator[Finding]:
    """CFG-21: an interface cannot have its subnet's own address; a prefix in a route must have no host bits."""
    for table in ADDRESS_TABLES:
        for key in config.rows(table):
            prefix = key.partition("|")[2]
            if not prefix:
                continue
            try:
                interface = ipaddress.ip_interface(prefix)
            except ValueError as error:
                what = f"no address with length: {error}"
                yield found("CFG-21", (table, key, None), what, "write ADDRESS/LENGTH")
                continue
            if "/" not in prefix:
                what = "the length of the prefix is missing"
                yield found("CFG-21", (table, key, None), what, "write ADDRESS/LENGTH")
                continue
            network = interface.network
            if network.prefixlen >= network.max_prefixlen - 1:
                continue
            if interface.ip == network.network_address:
                what = f"this is the address of the subnet {network} itself, not of an interface in it"
                yield found("CFG-21", (table, key, None), what, "take a host address of the subnet")
            elif network.version == 4 and interface.ip == network.broadcast_address:
                what = f"this is the broadcast address of {network}"
                yield found("CFG-21", (table, key, None), what, "take a host address of the subnet")
    for key in config.rows("LOOPBACK_INTERFACE"):
        prefix = key.partition("|")[2]
        if prefix and "/" in prefix and prefix.rpartition("/")[2] not in ("32", "128"):
            what = "a loopback address with a subnet around it; only a host prefix is announced as expected"
            where = ("LOOPBACK_INTERFACE", key, None)
            yield found("CFG-21", where, what, "write /32 or /128", status=Status.WARN)
    for table, part in _PREFIX_KEYS.items():
        for key in config.rows(table):
            yield from _prefix(table, key, None, key.split("|")[part])
    for key, row in config.rows("BGP_PEER_RANGE").items():
        ranges = row.get("ip_range", [])
        for prefix in ranges if isinstance(ranges, list) else ranges.split(","):
            yield from _prefix("BGP_PEER_RANGE", key, "ip_range", prefix)


def _prefix(table: str, key: str, field: str | None, prefix: str) -> Iterator[Finding]:
    try:
        ipaddress.ip_network(prefix)
    except ValueError:
        try:
            network = ipaddress.ip_network(prefix, strict=False)
        except ValueError as error:
            yield found("CFG-21", (table, key, field), f"no prefix: {error}", "write NETWORK/LENGTH")
            return
        what = f"host bits are set; the prefix is {network}"
        yield found("CFG-21", (table, key, field), what, f"write {network}", value=prefix if field else None)


def _vrf(config: Config, address: Address) -> str:
    if address.table == "MGMT_INTERFACE":
        management = config.rows("MGMT_VRF_CONFIG").get("vrf_global", {})
        return "mgmt" if text(management.get("mgmtVrfEnabled")) == "true" else "default"
    row = config.rows(address.table).get(address.name, {})
    return text(row.get("vrf_name")) or text(row.get("vnet_name")) or "default"


def subnets_are_apart(config: Config) -> Iterator[Finding]:
    """CFG-22: one subnet, one interface (in one VRF). YANG accepts the same /31 on two ports."""
    tables: dict[tuple[str, int], list[tuple[Network, Address]]] = {}
    for address in config.addresses:
        if address.interface.ip.is_link_local:
            continue
        network = address.interface.network
        tables.setdefault((_vrf(config, address), network.version), []).append((network, address))
    for placed in tables.values():
        placed.sort(key=lambda entry: (int(entry[0].network_address), entry[0].prefixlen))
        open_networks: list[tuple[Network, Address]] = []
        for network, address in placed:
            start = int(network.network_address)
            open_networks = [entry for entry in open_networks if int(entry[0].broadcast_address) >= start]
            for outer, other in open_networks:
                if other.name == address.name and other.table == address.table:
                    continue
                same = outer == network
                what = (
                    f"{other.name} is in the same subnet ({other.table}|{other.key})"
                    if same
                    else f"inside {outer} of {other.name} ({other.table}|{other.key})"
                )
                remedy = "give each cable a subnet of its own"
                yield found("CFG-22", (address.table, address.key, None), what, remedy)
            open_networks.append((network, address))


def gateways_are_near(config: Config) -> Iterator[Finding]:
    """CFG-23: the management gateway stands in the management subnet."""
    for key, row in config.rows("MGMT_INTERFACE").items():
        gateway, prefix = text(row.get("gwaddr")), key.partition("|")[2]
        if not gateway or "/" not in prefix:
            continue
        where = ("MGMT_INTERFACE", key, "gwaddr")
        try:
            near = ipaddress.ip_address(gateway) in ipaddress.ip_interface(prefix).network
        except ValueError:
            yield found("CFG-23", where, "no address", "write the gateway's address", value=gateway)
            continue
        if not near:
            what = f"outside {ipaddress.ip_interface(prefix).network}: the switch cannot reach its gateway"
            yield found("CFG-23", where, what, "write a gateway of the subnet", value=gateway)


RULES = (address_rows_have_parents, addresses_are_hosts, subnets_are_apart, gateways_are_near)
