"""What a CONFIG_DB difference costs when it is applied, from rules that each name their source.

`facts` sources: `sonic.md` and `gcu.md` sections; SONiC sources are `repository:path` (sonic-net). What has no rule
is classed as a reload: the dearest class is the honest one for what nobody has looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface

from fabric.change.semantic import RowDiff, canonical_row
from fabric.values.change import Impact, Step
from fabric.values.device_config import Row, Tables

_SORTER = "sonic-utilities:generic_config_updater/patch_sorter.py RequiredValueIdentifier (sonic.md 4.3)"
_VALIDATORS = "sonic-utilities:generic_config_updater/gcu_field_operation_validators.conf.json (sonic.md 4.3)"
_PATHS = "sonic.md 4.6"

# Rows that the updater changes only while their port is admin down: it shuts the port and opens it again.
PORT_CRITICAL = frozenset(
    (
        "BUFFER_PG",
        "BUFFER_QUEUE",
        "BUFFER_PORT_INGRESS_PROFILE_LIST",
        "BUFFER_PORT_EGRESS_PROFILE_LIST",
        "PORT_QOS_MAP",
        "QUEUE",
    )
)
# A fabric in which some boxes have the old value and some the new one drops or pauses the wrong traffic while it rolls.
MIXED_HAZARD: Mapping[str, str] = {
    "DSCP_TO_TC_MAP": "traffic classes differ from box to box",
    "TC_TO_QUEUE_MAP": "queues differ from box to box",
    "TC_TO_PRIORITY_GROUP_MAP": "priority groups differ from box to box",
    "MAP_PFC_PRIORITY_TO_QUEUE": "PFC pauses another queue on each box",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": "PFC answers for another priority group on each box",
    "PORT_QOS_MAP": "the lossless class differs from box to box",
}
# FEATURE rows whose service carries traffic or routes.
_CARRIERS = frozenset(("bgp", "swss", "syncd", "teamd"))
# HWSKUs the updater's watchdog and buffer validators know (TH5 and Spectrum boxes; the same file). A Broadcom name
# matches as a part of the HWSKU, an NVIDIA name as a whole; case does not count.
_BROADCOM = (
    *("Nokia-IXR7220-H3", "Nokia-IXR7220-H4-64D", "Nokia-IXR7220-H4-32D"),
    *("Nokia-IXR7220-H5-64D", "Nokia-IXR7220-H5-64O", "Nokia-IXR7220-H5-32D"),
    *("Arista-7060X6-64DE", "Arista-7060X6-64PE", "Arista-7060X6-16PE-384C-B-O128S2"),
    *("Nokia-IXR7220-H6-64", "Nokia-IXR7220-H6-P128", "Nokia-IXR7220-H6-O256"),
)
_NVIDIA = (
    *("ACS-SN5600", "Mellanox-SN5600-O128", "Mellanox-SN5600-V256", "Mellanox-SN5600-C256S1", "ACS-SN5400"),
    *("Mellanox-SN5600-C224O8", "Mellanox-SN5610N-C256S2", "Mellanox-SN5610N-C224O8", "ACS-SN5640"),
    *("Mellanox-SN5640-C512S2", "Mellanox-SN5640-C448O16", "Mellanox-SN5640-C512X2"),
    *("Mellanox-SN5640-C508O1X2", "Mellanox-SN5640-O128X2", "ACS-SN6600_LD", "ACS-SN6810_LD"),
)


@dataclass(frozen=True, slots=True)
class Context:
    """What a rule may look at: the running tables, the HWSKU, and which BGP peers a port carries."""

    running: Tables
    hwsku: str
    sessions: Mapping[str, tuple[str, ...]]

    def port_up(self, port: str) -> bool:
        """Whether the port is admin up as it runs."""
        row = self.running.get("PORT", {}).get(port)
        return row is not None and canonical_row("PORT", row).get("admin_status") == "up"

    def over(self, port: str) -> tuple[str, ...]:
        """BGP peers over this port."""
        return self.sessions.get(port, ())


def validator_knows(hwsku: str) -> bool:
    """Whether the updater's validators take PFC_WD and BUFFER_PROFILE fields on this HWSKU."""
    name = hwsku.lower()
    return any(known.lower() in name for known in _BROADCOM) or name in {known.lower() for known in _NVIDIA}


def port_of(key: str) -> str | None:
    """The port a row is about, None for rows about no port (`PORT_QOS_MAP|global`)."""
    port = key.split("|", 1)[0]
    return port if port.startswith("Ethernet") else None


def classify(one: RowDiff, context: Context) -> Iterator[Step]:
    """The row's difference as steps, each with its class and the rule that gave it."""
    if one.before is None or one.after is None:
        impact, why, ports, sessions = _row_rule(one, context)
        before = None if one.before is None else _text(one.before)
        after = None if one.after is None else _text(one.after)
        yield Step(one.table, one.key, None, before, after, impact, why, ports, sessions)
        return
    for name, (before_value, after_value) in one.fields.items():
        impact, why, ports, sessions = _field_rule(one, name, context)
        yield Step(one.table, one.key, name, _value(before_value), _value(after_value), impact, why, ports, sessions)


_Verdict = tuple[Impact, str, tuple[str, ...], tuple[str, ...]]


def _hitless(why: str) -> _Verdict:
    return Impact.HITLESS, why, (), ()


def _reload(why: str) -> _Verdict:
    return Impact.RELOADS_SWITCH, why, (), ()


def _flap(port: str, context: Context, why: str) -> _Verdict:
    return Impact.FLAPS_PORTS, why, (port,), context.over(port)


def _row_rule(one: RowDiff, context: Context) -> _Verdict:
    table, added = one.table, one.before is None
    port = port_of(one.key)
    if table in PORT_CRITICAL:
        if port is None:
            return _hitless(f"not about a port: {_SORTER}")
        if context.port_up(port):
            return _flap(port, context, f"the port is shut while the row changes: {_SORTER}")
        return _hitless(f"the port is admin down already: {_SORTER}")
    if table in ("PORT", "BREAKOUT_CFG"):
        return _reload(f"ports come or go: {_PATHS}, breakout layout")
    if table == "INTERFACE":
        if added or "|" not in one.key:
            return _hitless(f"{_PATHS}, /31s")
        cut = _peers_within(one.key.partition("|")[2], context.over(port or ""))
        if cut:
            return Impact.RESETS_SESSIONS, "the address under the session goes (FRR: interface address delete)", (), cut
        return _hitless(f"no session stands on the address: {_PATHS}, /31s")
    if table == "LOOPBACK_INTERFACE":
        if added:
            return _hitless(f"{_PATHS}, addresses")
        return _reload("sonic.md 4.3: the updater refuses to remove Loopback0")
    if table == "BUFFER_POOL":
        return _reload(f"no pool change is taken: {_VALIDATORS}")
    if table == "BUFFER_PROFILE":
        return _hitless(f"whole profiles are taken: {_VALIDATORS}")
    if table == "PFC_WD":
        return _hitless("sonic.md 2.8: the watchdog starts and stops without touching the port")
    if table == "CABLE_LENGTH":
        return _reload("the whole map comes or goes: sonic.md 2.5, buffer manager")
    if table in ("BGP_NEIGHBOR", "BGP_PEER_RANGE"):
        if added:
            return _hitless("a session that was not there: sonic.md 4.6")
        return Impact.RESETS_SESSIONS, "sonic.md 4.2: the row goes, the session with it", (), (one.key.split("|")[-1],)
    if table.startswith("BGP_GLOBALS") or table.startswith("BGP_PEER_GROUP") or table == "BGP_NEIGHBOR_AF":
        return _reload("sonic.md 1.6: frrcfgd's tables follow the routing mode")
    if table in _LIVE_TABLES:
        return _hitless(_LIVE_TABLES[table])
    return _reload("no rule: classed dearest")


def _field_rule(one: RowDiff, name: str, context: Context) -> _Verdict:
    table = one.table
    port = port_of(one.key)
    if table in PORT_CRITICAL:
        return _row_rule(one, context)
    if table == "PORT" and port is not None:
        return _port_field(one, port, name, context)
    if table == "DEVICE_METADATA":
        return _reload(f"{_PATHS}, device metadata is read when the containers start")
    if table == "BREAKOUT_CFG":
        return _reload(f"{_PATHS}, breakout layout")
    if table == "WRED_PROFILE":
        return _hitless("gcu.md: WRED thresholds in place, 1 move, no flap")
    if table == "BUFFER_POOL":
        return _reload(f"no pool change is taken: {_VALIDATORS}")
    if table == "BUFFER_PROFILE":
        return _profile_field(one, name, context)
    if table == "CABLE_LENGTH":
        if one.fields[name][0] is None:
            return _hitless("sonic.md 2.5: a new length makes its priority group")
        return _reload("field case F089: the buffer manager does not take up a changed length")
    if table == "PFC_WD":
        return _hitless("sonic.md 2.8: the watchdog restarts without touching the port")
    if table == "FEATURE":
        if one.key in _CARRIERS:
            return Impact.RESTARTS_BGP, "sonic.md 1.8: the service that carries routes stops or starts", (), ()
        return _hitless("sonic.md 1.8: a service that carries no traffic")
    if table == "LOOPBACK_INTERFACE":
        return _reload(f"create-only: {_SORTER}")
    if table == "BGP_NEIGHBOR":
        return Impact.RESETS_SESSIONS, "sonic.md 4.2: changed by delete and add", (), (one.key.split("|")[-1],)
    if table in _LIVE_TABLES:
        return _hitless(_LIVE_TABLES[table])
    return _reload("no rule: classed dearest")


def _port_field(one: RowDiff, port: str, name: str, context: Context) -> _Verdict:
    up = context.port_up(port)
    if name == "admin_status":
        if one.fields[name][1] == "up":
            return _hitless(f"a port that was shut opens: {_PATHS}")
        return _flap(port, context, f"the port is shut: {_PATHS}")
    if name in ("mtu", "description"):
        return _hitless(
            "gcu.md: PORT mtu on two ports, 1 move" if name == "mtu" else "sonic.md 4.2: description, 1 move"
        )
    if name in ("speed", "fec"):
        if up:
            return _flap(port, context, f"{_PATHS}, speed/fec: expect a flap")
        return _hitless(f"{_PATHS}, speed/fec of a port that is admin down")
    if name == "lanes":
        return _reload("sonic.md 4.3: lanes are create-only")
    return _reload(f"{_PATHS}, breakout layout ({name})")


def _profile_field(one: RowDiff, name: str, context: Context) -> _Verdict:
    there, wanted = one.fields[name]
    if name in ("dynamic_th", "xoff") and there is not None and wanted is not None and validator_knows(context.hwsku):
        return _hitless("gcu.md: BUFFER_PROFILE dynamic_th in place, 1 move")
    if not validator_knows(context.hwsku):
        return _reload(f"HWSKU {context.hwsku} is not in the updater's list: {_VALIDATORS}")
    return _reload(f"{name} is not a field the updater takes: {_VALIDATORS}")


# Tables whose rows SONiC takes up while it runs, without a port or a session noticing.
_LIVE_TABLES: Mapping[str, str] = {
    "DSCP_TO_TC_MAP": "sonic.md 4.2: DSCP_TO_TC_MAP one entry, 1 move, no flap",
    "TC_TO_QUEUE_MAP": f"not among the rows that need the port down: {_SORTER}",
    "TC_TO_PRIORITY_GROUP_MAP": f"not among the rows that need the port down: {_SORTER}",
    "MAP_PFC_PRIORITY_TO_QUEUE": f"not among the rows that need the port down: {_SORTER}",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": f"not among the rows that need the port down: {_SORTER}",
    "SCHEDULER": f"not among the rows that need the port down: {_SORTER}",
    "WRED_PROFILE": f"not among the rows that need the port down: {_SORTER}",
    "DEVICE_NEIGHBOR": "sonic.md 1.8: expected cabling, read by show commands and templates",
    "DEVICE_NEIGHBOR_METADATA": "sonic.md 1.8: expected cabling, read by show commands and templates",
    "NTP": "sonic.md 4.3: restarts chrony/ntp",
    "NTP_SERVER": "sonic.md 4.3: restarts chrony/ntp",
    "SYSLOG_SERVER": "sonic.md 4.3: restarts rsyslog-config",
    "DNS_NAMESERVER": f"{_PATHS}, services",
    "FLEX_COUNTER_TABLE": "sonic.md 1.8: counter polling",
    "SWITCH_HASH": f"{_PATHS}, hash: flows move to other members once",
    "STATIC_ROUTE": f"{_PATHS}, static routes",
    "BGP_DEVICE_GLOBAL": "sonic.md 1.5: adds to the outbound map",
    "MGMT_INTERFACE": "management only; it can cut the way we push by",
    "MGMT_PORT": "management only",
    "MGMT_VRF_CONFIG": "management only; it can cut the way we push by",
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": f"not among the rows that need the port down: {_SORTER}",
    "LOSSLESS_TRAFFIC_PATTERN": f"not among the rows that need the port down: {_SORTER}",
    "PREFIX_SET": "sonic.md 1.6: policy objects",
    "PREFIX": "sonic.md 1.6: policy objects",
    "ROUTE_MAP_SET": "sonic.md 1.6: policy objects",
    "ROUTE_MAP": "sonic.md 1.6: policy objects",
}
# A change here can cut the connection it is pushed over.
CUTS_MANAGEMENT = frozenset(("MGMT_INTERFACE", "MGMT_VRF_CONFIG"))


def sessions_by_port(tables: Tables, peers: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Which BGP peers stand on which port: by our address in the peer's subnet, or by name when unnumbered."""
    found: dict[str, list[str]] = {}
    addresses = {}
    for peer in peers:
        if peer.startswith("Ethernet"):
            found.setdefault(peer, []).append(peer)
        else:
            try:
                addresses[ip_address(peer)] = peer
            except ValueError:
                continue
    for key in tables.get("INTERFACE", {}):
        port, bar, prefix = key.partition("|")
        if not bar:
            continue
        try:
            network = ip_interface(prefix).network
        except ValueError:
            continue
        if network.num_addresses <= 4:
            found.setdefault(port, []).extend(addresses[host] for host in network if host in addresses)
        else:
            found.setdefault(port, []).extend(name for host, name in addresses.items() if host in network)
    return {port: tuple(names) for port, names in found.items() if names}


def _peers_within(prefix: str, peers: tuple[str, ...]) -> tuple[str, ...]:
    try:
        network = ip_interface(prefix).network
        return tuple(peer for peer in peers if not peer.startswith("Ethernet") and ip_address(peer) in network)
    except ValueError:
        return ()


def _value(value: str | list[str] | None) -> str | None:
    if value is None:
        return None
    return ",".join(value) if isinstance(value, list) else value


def _text(row: Row) -> str:
    return " ".join(f"{name}={_value(value)}" for name, value in row.items() if name != "NULL") or "(no fields)"
