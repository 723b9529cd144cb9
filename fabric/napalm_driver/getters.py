"""What a switch said, in NAPALM's shapes. Pure. NAPALM has no null: it writes -1, -1.0 or an empty text instead."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from fabric.values.snapshot import PortState, SwitchState


def facts(state: SwitchState) -> dict[str, Any]:
    """get_facts."""
    name = state.hostname or ""
    return {
        "hostname": name,
        "fqdn": name,
        "vendor": "SONiC",
        "model": state.hwsku or state.onie_platform or "",
        "serial_number": state.serial or "",
        "os_version": state.release or "",
        "uptime": state.uptime_s if state.uptime_s is not None else -1.0,
        "interface_list": list(state.ports or ()),
    }


def interfaces(state: SwitchState) -> dict[str, dict[str, Any]]:
    """get_interfaces; speed in Mb/s, last_flapped in seconds since then."""
    return {
        name: {
            "is_up": bool(port.oper_up),
            "is_enabled": bool(port.admin_up),
            "description": port.description or "",
            "last_flapped": _since(port, state.taken_at),
            "mtu": port.mtu if port.mtu is not None else -1,
            "speed": float(port.oper_speed_mbps or port.speed_mbps or -1),
            "mac_address": (port.mac or "").upper(),
        }
        for name, port in (state.ports or {}).items()
    }


def interface_counters(state: SwitchState) -> dict[str, dict[str, int]]:
    """get_interfaces_counters."""
    return {name: _counters(row) for name, row in (state.counters or {}).items()}


def interface_addresses(state: SwitchState) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """get_interfaces_ip, from CONFIG_DB."""
    found: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
    for table in ("INTERFACE", "LOOPBACK_INTERFACE", "VLAN_INTERFACE", "PORTCHANNEL_INTERFACE", "MGMT_INTERFACE"):
        for key in (state.config or {}).get(table, {}):
            name, bar, prefix = key.partition("|")
            if not bar:
                continue
            try:
                address = ipaddress.ip_interface(prefix)
            except ValueError:
                continue
            family = found.setdefault(name, {}).setdefault(f"ipv{address.version}", {})
            family[str(address.ip)] = {"prefix_length": address.network.prefixlen}
    return found


def lldp_neighbors(state: SwitchState) -> dict[str, list[dict[str, str]]]:
    """get_lldp_neighbors."""
    found: dict[str, list[dict[str, str]]] = {}
    for row in state.lldp or ():
        found.setdefault(row.local_port, []).append(
            {"hostname": row.system_name or row.chassis_id, "port": row.port_id or row.port_description}
        )
    return found


def lldp_neighbors_detail(state: SwitchState, interface: str = "") -> dict[str, list[dict[str, Any]]]:
    """get_lldp_neighbors_detail, of one interface or all."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in state.lldp or ():
        if interface and row.local_port != interface:
            continue
        found.setdefault(row.local_port, []).append(
            {
                "parent_interface": "",
                "remote_port": row.port_id,
                "remote_chassis_id": row.chassis_id,
                "remote_port_description": row.port_description,
                "remote_system_name": row.system_name,
                "remote_system_description": row.system_description,
                "remote_system_capab": [],
                "remote_system_enable_capab": [],
            }
        )
    return found


def bgp_neighbors(state: SwitchState, router_id: str = "") -> dict[str, dict[str, Any]]:
    """get_bgp_neighbors of the default VRF."""
    peers = {}
    for name, peer in (state.bgp or {}).items():
        up = peer.state == "Established"
        family = "ipv6" if ":" in name else "ipv4"
        accepted = peer.prefixes_received if peer.prefixes_received is not None else -1
        peers[name] = {
            "is_up": up,
            "is_enabled": not peer.admin_down,
            "uptime": int(peer.uptime_s) if up and peer.uptime_s is not None else -1,
            "remote_as": peer.remote_asn if peer.remote_asn is not None else -1,
            "local_as": peer.local_asn or state.bgp_local_asn or -1,
            "remote_id": "",
            "description": peer.description,
            "address_family": {
                family: {
                    "received_prefixes": accepted,
                    "accepted_prefixes": accepted,
                    "sent_prefixes": peer.prefixes_sent if peer.prefixes_sent is not None else -1,
                }
            },
        }
    return {"global": {"router_id": router_id, "peers": peers}}


def arp_table(state: SwitchState) -> list[dict[str, Any]]:
    """get_arp_table: IPv4 neighbours that have an address."""
    return [
        {"interface": row.port, "mac": row.mac.upper(), "ip": row.address, "age": -1.0}
        for row in state.neighbours or ()
        if row.mac and ":" not in row.address
    ]


def routes_to(state: SwitchState, destination: str, protocol: str = "", longer: bool = False) -> dict[str, Any]:
    """get_route_to: routes of the RIB for a prefix, or with `longer` also those inside it."""
    try:
        wanted = ipaddress.ip_network(destination, strict=False)
    except ValueError:
        return {}
    found: dict[str, Any] = {}
    for prefix, route in (state.rib or {}).items():
        network = ipaddress.ip_network(prefix, strict=False)
        if network.version != wanted.version or (protocol and route.protocol != protocol):
            continue
        inside = network.subnet_of(wanted) if longer else network == wanted  # type: ignore[arg-type]
        if not inside:
            continue
        found[prefix] = [
            {
                "protocol": route.protocol,
                "current_active": True,
                "last_active": False,
                "age": -1,
                "next_hop": hop.address,
                "outgoing_interface": hop.port,
                "selected_next_hop": True,
                "preference": -1,
                "inactive_reason": "",
                "routing_table": "default",
                "protocol_attributes": {},
            }
            for hop in route.next_hops
        ]
    return found


def _since(port: PortState, now: float) -> float:
    times = [moment for moment in (port.last_up_time, port.last_down_time) if moment is not None]
    return max(0.0, now - max(times)) if times else -1.0


def _counters(row: Mapping[str, int]) -> dict[str, int]:
    names = {
        "octets": "OCTETS",
        "unicast_packets": "UCAST_PKTS",
        "discards": "DISCARDS",
        "errors": "ERRORS",
    }
    shown = {}
    for way, direction in (("tx", "OUT"), ("rx", "IN")):
        for ours, theirs in names.items():
            shown[f"{way}_{ours}"] = row.get(f"IF_{direction}_{theirs}", -1)
        # SONiC counts what is not unicast as one.
        shown[f"{way}_multicast_packets"] = row.get(f"IF_{direction}_NON_UCAST_PKTS", -1)
        shown[f"{way}_broadcast_packets"] = -1
    return shown
