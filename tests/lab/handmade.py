"""A small fabric written down by hand, and configuration for it: the twin is tested without the rest of railfab."""

from __future__ import annotations

import ipaddress
import json
from typing import Any

from fabric.values.plan import (
    EcnProfile,
    HostPlan,
    LifeState,
    Network,
    Plan,
    PlannedCable,
    PlannedNic,
    PlannedPort,
    PortUse,
    QosPlan,
    Role,
    SwitchPlan,
    cable_name,
)

_QOS = QosPlan("roce", False, 26, 3, 48, 6, EcnProfile("ROCE", 1, 2, 5), 0, 9100, 9000, 400, 800, 200, "drop")


def plan(
    leaves: int = 4, spines: int = 2, hosts: int = 4, parallel: int = 2, name: str = "handmade", mark: str = ""
) -> Plan:
    """`leaves` rails of one pod, every host with a NIC on each, `parallel` cables between each leaf and spine.

    `mark` stands before the name of every device, so that its processes can be told from others'.
    """
    ports: dict[str, dict[str, PlannedPort]] = {}
    nics: dict[str, dict[str, PlannedNic]] = {}
    cables: dict[str, PlannedCable] = {}
    fabric_links = ipaddress.IPv4Network("10.100.0.0/16").subnets(new_prefix=31)
    leaf_names = [f"{mark}p1-l{number}" for number in range(leaves)]
    spine_names = [f"{mark}s{number}" for number in range(spines)]
    for rail, leaf in enumerate(leaf_names):
        for place in range(hosts):
            link = ipaddress.ip_network((int(ipaddress.ip_address("10.0.0.0")) + rail * 65536 + place * 2, 31))
            ours, theirs = (f"{address}/31" for address in link)
            host = f"{mark}gpu{place + 1:03d}"
            port = _port(leaf, place, 400000, PortUse.HOST, ours, theirs, host, f"rail{rail}", rail)
            ports.setdefault(leaf, {})[port.name] = port
            cable = cable_name(leaf, port.name, host, f"rail{rail}")
            nics.setdefault(host, {})[f"rail{rail}"] = PlannedNic(
                f"rail{rail}",
                Network.COMPUTE,
                rail,
                f"mlx5_{rail}",
                f"rail{rail}",
                None,
                400000,
                9000,
                leaf,
                port.name,
                (theirs,),
                (ours.split("/")[0],),
                cable=cable,
            )
            cables[cable] = _cable(cable, PortUse.HOST, rail)
        for number, spine in enumerate(spine_names):
            for lane in range(parallel):
                ours, theirs = (f"{address}/31" for address in next(fabric_links).hosts())
                up = _port(
                    leaf, hosts + number * parallel + lane, 800000, PortUse.FABRIC, ours, theirs, spine, "", rail
                )
                down = _port(spine, rail * parallel + lane, 800000, PortUse.FABRIC, theirs, ours, leaf, up.name, None)
                ports[leaf][up.name] = _facing(up, down.name, 65000 + number)
                ports.setdefault(spine, {})[down.name] = _facing(down, up.name, 65100 + rail)
                cable = cable_name(leaf, up.name, spine, down.name)
                cables[cable] = _cable(cable, PortUse.FABRIC, None)
    switches = {}
    for number, switch in enumerate([*leaf_names, *spine_names]):
        leaf_number = number if switch in leaf_names else None
        switches[switch] = SwitchPlan(
            name=switch,
            role=Role.LEAF if leaf_number is not None else Role.SPINE,
            network=Network.COMPUTE,
            index=number if leaf_number is not None else number - leaves,
            platform="accton-as9817-64o",
            onie_platform="x86_64-accton_as9817_64o-r0",
            hwsku="Accton-AS9817-64O",
            device_type="LeafRouter" if leaf_number is not None else "SpineRouter",
            asn=65100 + number if leaf_number is not None else 65000 + number - leaves,
            loopbacks=(f"10.255.0.{number + 1}/32",),
            mgmt_address=f"172.31.0.{number + 11}/16",
            mgmt_gateway="172.31.0.1",
            ports=ports[switch],
            networks=(f"10.255.0.{number + 1}/32", *((f"10.{number}.0.0/16",) if leaf_number is not None else ())),
            aggregates=(f"10.{number}.0.0/16",) if leaf_number is not None else (),
        )
    return Plan(
        name=name,
        intent_hash="",
        release="202505",
        switches=switches,
        hosts={host: HostPlan(host, 1, number, "gpu", own) for number, (host, own) in enumerate(nics.items())},
        cables=cables,
        qos=_QOS,
        buffers={},
    )


def config_db(whole: Plan, name: str) -> dict[str, dict[str, dict[str, Any]]]:
    """What a push would lay over the factory tables of a switch."""
    switch = whole.switches[name]
    tables: dict[str, dict[str, dict[str, Any]]] = {
        "DEVICE_METADATA": {
            "localhost": {
                "hostname": name,
                "type": switch.device_type,
                "bgp_asn": str(switch.asn),
                "docker_routing_config_mode": "split-unified",
            }
        },
        "LOOPBACK_INTERFACE": {"Loopback0": {}, f"Loopback0|{switch.loopbacks[0]}": {}},
        "PORT": {},
        "INTERFACE": {},
    }
    for port in switch.ports.values():
        tables["PORT"][port.name] = {"admin_status": "up", "mtu": "9100", "fec": "rs"}
        tables["INTERFACE"][port.name] = {}
        tables["INTERFACE"][f"{port.name}|{port.addresses[0]}"] = {}
    return tables


def frr_conf(whole: Plan, name: str) -> str:
    """The routing of a switch: one session a fabric cable, the loopback and the rail's aggregate announced."""
    switch = whole.switches[name]
    lines = [f"hostname {name}"]
    lines += [f"ip route {prefix} blackhole" for prefix in switch.aggregates]
    lines += [
        f"router bgp {switch.asn}",
        f" bgp router-id {switch.loopbacks[0].split('/')[0]}",
        " bgp bestpath as-path multipath-relax",
        " no bgp ebgp-requires-policy",
        " no bgp default ipv4-unicast",
        " timers bgp 3 9",
    ]
    sessions = list(switch.sessions())
    for port in sessions:
        peer = port.peer_addresses[0].split("/")[0]
        lines += [f" neighbor {peer} remote-as {port.peer_asn}", f" neighbor {peer} timers connect 1"]
    lines.append(" address-family ipv4 unicast")
    lines += [f"  network {prefix}" for prefix in switch.networks]
    lines += [f"  neighbor {port.peer_addresses[0].split('/')[0]} activate" for port in sessions]
    lines += ["  maximum-paths 64", " exit-address-family", "exit"]
    return "\n".join(lines) + "\n"


def over(base: dict[str, Any], tables: dict[str, dict[str, dict[str, Any]]]) -> str:
    """JSON text of `tables` laid over `base`."""
    merged = json.loads(json.dumps(base))
    for table, rows in tables.items():
        for key, row in rows.items():
            merged.setdefault(table, {}).setdefault(key, {}).update(row)
    return json.dumps(merged, indent=4) + "\n"


def _port(
    device: str,
    slot: int,
    speed: int,
    use: PortUse,
    ours: str,
    theirs: str,
    peer: str,
    peer_port: str,
    rail: int | None,
) -> PlannedPort:
    name = f"Ethernet{slot * 8}"
    return PlannedPort(
        name=name,
        alias=f"Eth{slot + 1}",
        index=slot + 1,
        subport=0,
        lanes=tuple(range(slot * 8 + 1, slot * 8 + 9)),
        speed_mbps=speed,
        fec="rs",
        mtu=9100,
        use=use,
        admin_up=True,
        state=LifeState.IN_SERVICE,
        parent=name,
        peer_device=peer,
        peer_port=peer_port,
        rail=rail,
        addresses=(ours,),
        peer_addresses=(theirs,),
        cable=cable_name(device, name, peer, peer_port) if peer_port else None,
    )


def _facing(port: PlannedPort, peer_port: str, peer_asn: int) -> PlannedPort:
    from dataclasses import replace

    return replace(port, peer_port=peer_port, peer_asn=peer_asn)


def _cable(name: str, use: PortUse, rail: int | None) -> PlannedCable:
    ends = [end.split(":") for end in name.split("--")]
    (a_device, a_port), (b_device, b_port) = ends
    speed = 400000 if use is PortUse.HOST else 800000
    return PlannedCable(
        name, a_device, a_port, b_device, b_port, use, Network.COMPUTE, speed, 5, LifeState.IN_SERVICE, rail
    )
