"""Tables about the switch itself: metadata, ports, addresses, neighbours, management, counters, hash."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.errors import RenderError
from fabric.render.releases import since
from fabric.render.scope import Scope
from fabric.values.device_config import Row
from fabric.values.plan import LifeState, PlannedPort, PortUse

Rows = dict[str, Row]
_LONGEST_DESCRIPTION = 255  # sonic-port.yang


def with_prefix(address: str) -> str:
    """An address with its prefix length; a bare one gets the host's (/32 or /128)."""
    return address if "/" in address else f"{address}/{128 if ':' in address else 32}"


def version_of(address: str) -> int:
    """4 or 6, of an address or prefix of the Plan (which holds valid ones only)."""
    return 6 if ":" in address else 4


def bare(address: str) -> str:
    """The address without its prefix length."""
    return address.partition("/")[0]


def metadata(scope: Scope) -> Rows:
    """DEVICE_METADATA|localhost. No mac: it is the box's own (EEPROM)."""
    plan, switch = scope.plan, scope.switch
    if not 0 < switch.asn < 2**32 or switch.asn == 23456:
        raise RenderError(f"{switch.name}: ASN {switch.asn} cannot be used; give one from 1 to 4294967295 but 23456")
    row: dict[str, str | list[str]] = {
        "hostname": switch.name,
        "hwsku": switch.hwsku,
        "platform": switch.onie_platform,
        "type": switch.device_type,
        "bgp_asn": str(switch.asn),
        "docker_routing_config_mode": {"frr": "split-unified", "frr-mgmt": "unified"}.get(
            plan.routing.mode, "separated"
        ),
        "frr_mgmt_framework_config": "true" if plan.routing.mode == "frr-mgmt" else "false",
        "buffer_model": scope.buffers.model if scope.buffers else "traditional",
        **{key: str(value) for key, value in scope.policy("device")["metadata"].items()},
    }
    if scope.release.suppress_fib:
        row["suppress-fib-pending"] = "enabled"
    if plan.routing.ipv6:
        # Without it SONiC's own BGP manager announces Loopback0 as a /64 (bgpd.main.conf.j2).
        row["bgp_adv_lo_prefix_as_128"] = "true"
    return {"localhost": dict(sorted(row.items()))}


def ports(scope: Scope) -> Rows:
    """PORT: every port of the box, used or not.

    Refused, because YANG lets them pass: lanes or aliases used twice, and cables whose ends differ.
    """
    policy = scope.policy("ports")
    common = {key: str(value) for key, value in policy["fields"].items()}
    lanes: dict[int, str] = {}
    aliases: dict[str, str] = {}
    rows: Rows = {}
    for port in scope.ports:
        for lane in port.lanes:
            if (other := lanes.setdefault(lane, port.name)) != port.name:
                raise RenderError(
                    f"{scope.switch.name}: lane {lane} is used by {other} and {port.name}; correct the breakout"
                )
        if (other := aliases.setdefault(port.alias, port.name)) != port.name:
            raise RenderError(f"{scope.switch.name}: alias {port.alias} is used by {other} and {port.name}")
        _ends_agree(scope, port)
        row: dict[str, str | list[str]] = {
            "admin_status": "up" if port.admin_up else "down",
            "alias": port.alias,
        }
        if port.peer_device is not None and policy["description"]:
            description = policy["description"].format(port=port.name, peer=port.peer_device, peer_port=port.peer_port)
            if len(description) > _LONGEST_DESCRIPTION:
                raise RenderError(
                    f"{scope.switch.name}: {port.name}: a description of {len(description)} characters; SONiC takes "
                    f"{_LONGEST_DESCRIPTION}: shorten it in templates/config_db/ports.yaml"
                )
            row["description"] = description
        if port.fec:
            row["fec"] = port.fec
        row["index"] = str(port.index)
        row["lanes"] = ",".join(map(str, port.lanes))
        row["mtu"] = str(port.mtu)
        row |= common
        row["speed"] = str(port.speed_mbps)
        row["subport"] = str(port.subport)
        rows[port.name] = row
    return rows


def _ends_agree(scope: Scope, port: PlannedPort) -> None:
    """A link whose ends differ in speed, FEC or MTU stays down, or drops what one end may send."""
    far = scope.plan.port(port.peer_device, port.peer_port) if port.peer_device and port.peer_port else None
    if far is None or port.state is LifeState.PLANNED:
        return
    ours, theirs = (port.speed_mbps, port.fec, port.mtu), (far.speed_mbps, far.fec, far.mtu)
    if ours != theirs:
        raise RenderError(
            f"{scope.switch.name}:{port.name} has speed, FEC and MTU {ours}, its far end "
            f"{port.peer_device}:{port.peer_port} has {theirs}; both ends of a cable must agree"
        )


def breakouts(scope: Scope) -> Rows:
    """BREAKOUT_CFG: the mode string of platform.json, verbatim, of each cage the Plan gives one."""
    return {
        port.name: {"brkout_mode": scope.switch.breakouts[port.name]}
        for port in scope.ports
        if port.name in scope.switch.breakouts
    }


def interfaces(scope: Scope) -> Rows:
    """INTERFACE: the bare row and one row an address. Unnumbered fabric ports have the bare row alone."""
    rows: Rows = {}
    for port in scope.fabric:
        if scope.plan.routing.unnumbered and port.use is PortUse.FABRIC:
            rows[port.name] = {"ipv6_use_link_local_only": "enable"}
        elif port.addresses:
            rows[port.name] = {}
            for address in port.addresses:
                rows[f"{port.name}|{address}"] = {}
    return rows


def vlans(scope: Scope) -> dict[str, Rows]:
    """VLAN, VLAN_MEMBER and VLAN_INTERFACE where the intent puts the hosts of a leaf into one subnet."""
    rows: dict[str, Rows] = {"VLAN": {}, "VLAN_MEMBER": {}, "VLAN_INTERFACE": {}}
    for number, gateways in scope.switch.vlans.items():
        name = f"Vlan{number}"
        rows["VLAN"][name] = {"vlanid": str(number)}
        for port in scope.fabric:
            if port.use is PortUse.HOST and not port.addresses:
                rows["VLAN_MEMBER"][f"{name}|{port.name}"] = {"tagging_mode": "untagged"}
        rows["VLAN_INTERFACE"][name] = {}
        for gateway in gateways:
            rows["VLAN_INTERFACE"][f"{name}|{gateway}"] = {}
    return rows


def loopbacks(scope: Scope) -> Rows:
    """LOOPBACK_INTERFACE: Loopback0 and its addresses."""
    rows: Rows = {"Loopback0": {}}
    for address in scope.switch.loopbacks:
        rows[f"Loopback0|{with_prefix(address)}"] = {}
    return rows


def management(scope: Scope) -> dict[str, Rows]:
    """MGMT_PORT, MGMT_INTERFACE (which needs the former) and, where asked, MGMT_VRF_CONFIG.

    Without a gateway there is no MGMT_INTERFACE row: SONiC's model takes none without one (its `must` on the address),
    so the address stays what the box has.
    """
    switch = scope.switch
    tables: dict[str, Rows] = {
        "MGMT_PORT": {
            "eth0": {key: str(value) for key, value in scope.policy("device")["management_port"].items()},
        },
    }
    if switch.mgmt_gateway:
        tables["MGMT_INTERFACE"] = {f"eth0|{switch.mgmt_address}": {"gwaddr": bare(switch.mgmt_gateway)}}
    if scope.plan.services.mgmt_vrf:
        tables["MGMT_VRF_CONFIG"] = {"vrf_global": {"mgmtVrfEnabled": "true"}}
    return tables


def services(scope: Scope) -> dict[str, Rows]:
    """NTP, NTP_SERVER, SYSLOG_SERVER and DNS_NAMESERVER: one row a server of the Plan."""
    wanted, policy = scope.plan.services, scope.policy("services")
    vrf = "mgmt" if wanted.mgmt_vrf else "default"

    def rows(servers: tuple[str, ...], kind: str, **more: str) -> Rows:
        return {server: {**{key: str(value) for key, value in policy[kind].items()}, **more} for server in servers}

    tables = {
        "NTP_SERVER": rows(wanted.ntp, "ntp_server"),
        "SYSLOG_SERVER": rows(wanted.syslog, "syslog_server", **({"vrf": vrf} if wanted.mgmt_vrf else {})),
        "DNS_NAMESERVER": rows(wanted.dns, "dns_nameserver"),
    }
    if wanted.ntp:
        tables["NTP"] = {"global": {**{key: str(value) for key, value in policy["ntp"].items()}, "vrf": vrf}}
    return tables


def neighbours(scope: Scope) -> dict[str, Rows]:
    """DEVICE_NEIGHBOR and DEVICE_NEIGHBOR_METADATA: what must be at the far end of each cable that is there."""
    plan = scope.plan
    devices: dict[str, PlannedPort] = {}
    expected: Rows = {}
    for port in scope.fabric:
        if port.peer_device is None or port.peer_port is None or port.state is LifeState.PLANNED:
            continue
        expected[port.name] = {"name": port.peer_device, "port": port.peer_port}
        devices.setdefault(port.peer_device, port)
    described: Rows = {}
    for device in devices:
        peer = plan.switches.get(device)
        if peer is None:
            described[device] = {"type": scope.policy("device")["host_type"]}
        else:
            described[device] = {
                "hwsku": peer.hwsku,
                "lo_addr": with_prefix(peer.loopbacks[0]),
                "mgmt_addr": bare(peer.mgmt_address),
                "type": peer.device_type,
            }
    return {"DEVICE_NEIGHBOR": expected, "DEVICE_NEIGHBOR_METADATA": described}


def features(scope: Scope) -> Rows:
    """FEATURE: the state of what the fabric cannot live without."""
    return {name: {"state": str(state)} for name, state in sorted(scope.policy("device")["features"].items())}


def counters(scope: Scope) -> Rows:
    """FLEX_COUNTER_TABLE: the groups railfab reads, where the release has them."""
    rows: Rows = {}
    for group, wanted in sorted(scope.policy("counters").items()):
        if "since" in wanted and not since(scope.release.name, str(wanted["since"])):
            continue
        if wanted.get("lossless") == "yes" and not scope.pfc:
            continue
        row: dict[str, str | list[str]] = {"FLEX_COUNTER_STATUS": "enable"}
        if "interval" in wanted:
            row["POLL_INTERVAL"] = str(wanted["interval"])
        rows[group] = row
    return rows


def switch_hash(scope: Scope) -> Rows:
    """SWITCH_HASH|GLOBAL of the switch's role. The flow label of IPv6 has a name from 202505 on."""
    policy = scope.policy("hash")
    row: dict[str, str | list[str]] = dict(policy["roles"].get(scope.switch.role.value, policy["default"]))
    label = "IPV6_FLOW_LABEL"
    for field, names in row.items():
        if label in names and not since(scope.release.name, "202505"):
            raise RenderError(f"templates/config_db/hash.yaml: {field}: {label} exists from 202505 on; take it out")
    return {"GLOBAL": row}


def tables(scope: Scope) -> Iterator[tuple[str, Rows]]:
    """Every table of this module with its rows."""
    yield "DEVICE_METADATA", metadata(scope)
    yield "PORT", ports(scope)
    yield "BREAKOUT_CFG", breakouts(scope)
    yield "INTERFACE", interfaces(scope)
    yield from vlans(scope).items()
    yield "LOOPBACK_INTERFACE", loopbacks(scope)
    yield from management(scope).items()
    yield from services(scope).items()
    yield from neighbours(scope).items()
    yield "FEATURE", features(scope)
    yield "FLEX_COUNTER_TABLE", counters(scope)
    yield "SWITCH_HASH", switch_hash(scope)
