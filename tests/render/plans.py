"""A small Plan built by hand: two leaves, a spine, a storage switch, two hosts and a reserve place."""

from __future__ import annotations

from ipaddress import ip_interface

from fabric.values.plan import (
    BufferPlan,
    BufferPool,
    BufferProfile,
    EcnProfile,
    HeadroomRow,
    HostPlan,
    LifeState,
    Network,
    Plan,
    PlannedNic,
    PlannedPort,
    PortUse,
    QosPlan,
    Role,
    RoutingPlan,
    Services,
    SwitchPlan,
)

LEAF_ASN, SPINE_ASN = 4200000110, 4200000000
GIGS_400, GIGS_800 = 400_000, 800_000


def qos(**changes: object) -> QosPlan:
    values: dict[str, object] = {
        "profile": "sakura",
        "lossless": True,
        "roce_dscp": 26,
        "lossless_tc": 3,
        "cnp_dscp": 48,
        "cnp_tc": 6,
        "ecn": EcnProfile("sakura", 2_000_000, 10_000_000, 1),
        "dynamic_th": 1,
        "mtu": 9100,
        "host_mtu": 9000,
        "watchdog_detection_ms": 400,
        "watchdog_restoration_ms": 800,
        "watchdog_poll_ms": 200,
        "watchdog_action": "drop",
    }
    return QosPlan(**(values | changes))  # type: ignore[arg-type]


def buffers(**changes: object) -> BufferPlan:
    """Tomahawk 5 figures of another box (Dell Z9864F), as an AS9817-64O borrows them."""
    values: dict[str, object] = {
        "platform": "accton-as9817-64o",
        "model": "traditional",
        "pools": {
            "egress_lossless_pool": BufferPool("egress", "static", 165867080),
            "ingress_lossless_pool": BufferPool("ingress", "dynamic", 162539680, 33374584),
        },
        "profiles": {
            "egress_lossless_profile": BufferProfile("egress_lossless_pool", 0, static_th=165867080),
            "egress_lossy_profile": BufferProfile("egress_lossless_pool", 1778, dynamic_th=0),
            "ingress_lossy_profile": BufferProfile("ingress_lossless_pool", 0, static_th=165867080),
        },
        "rows": tuple(
            HeadroomRow(speed, metres, 18796, 0, xoff, 0, 3556)
            for speed, metres, xoff in (
                (GIGS_400, 5, 393192),
                (GIGS_400, 40, 446024),
                (GIGS_400, 300, 839216),
                (GIGS_800, 5, 729488),
                (GIGS_800, 40, 835406),
                (GIGS_800, 300, 1621536),
            )
        ),
        "source": "sonic-buildimage device/dell/x86_64-dell_z9864f-r0",
        "borrowed_from": "dell-z9864f",
        "asic": "th5",
        "cell_bytes": 254,
    }
    return BufferPlan(**(values | changes))  # type: ignore[arg-type]


def _v6(text: str) -> str:
    return str(ip_interface(text))


def _lanes(cage: int) -> tuple[int, ...]:
    return tuple(range(8 * cage + 1, 8 * cage + 9))


def _switch(name: str, role: Role, index: int, asn: int, loopback: int, **more: object) -> dict[str, object]:
    return {
        "name": name,
        "role": role,
        "network": Network.STORAGE if role is Role.STORAGE else Network.COMPUTE,
        "index": index,
        "platform": "accton-as9817-64o",
        "onie_platform": "x86_64-accton_as9817_64o-r0",
        "hwsku": "Accton-AS9817-64O",
        "device_type": "SpineRouter" if role is Role.SPINE else "LeafRouter",
        "asn": asn,
        "loopbacks": (f"10.255.0.{loopback}/32", _v6(f"fd00:255::{loopback:x}/128")),
        "mgmt_address": f"172.31.0.{loopback}/16",
        "mgmt_gateway": "172.31.255.254",
        **more,
    }


def _host_port(leaf: str, rail: int, place: int, state: LifeState) -> PlannedPort:
    cage, half = divmod(place, 2)
    planned = state is LifeState.PLANNED
    return PlannedPort(
        name=f"Ethernet{4 * place}",
        alias=f"Eth{cage + 1}/{half + 1}(Port{cage + 1})",
        index=cage + 1,
        subport=half + 1,
        lanes=_lanes(cage)[4 * half : 4 * half + 4],
        speed_mbps=GIGS_400,
        fec="rs",
        mtu=9100,
        use=PortUse.HOST,
        admin_up=not planned,
        state=state,
        parent=f"Ethernet{8 * cage}",
        lossless=True,
        cable_m=3,
        cable_row_m=5,
        peer_device=None if planned else f"gpu{place + 1:03}",
        peer_port=None if planned else f"rail{rail}",
        rail=rail,
        addresses=(f"10.101.{rail}.{2 * place}/31", _v6(f"fd00:101:{rail + 1}::{2 * place:x}/127")),
        peer_addresses=(f"10.101.{rail}.{2 * place + 1}/31", _v6(f"fd00:101:{rail + 1}::{2 * place + 1:x}/127")),
    )


def _fabric_port(cage: int, ours: int, theirs: int, net: int, side: int, peer: str, peer_port: str) -> PlannedPort:
    return PlannedPort(
        name=f"Ethernet{8 * cage}",
        alias=f"Eth{cage + 1}(Port{cage + 1})",
        index=cage + 1,
        subport=0,
        lanes=_lanes(cage),
        speed_mbps=GIGS_800,
        fec="rs",
        mtu=9100,
        use=PortUse.FABRIC,
        admin_up=True,
        state=LifeState.IN_SERVICE,
        parent=f"Ethernet{8 * cage}",
        lossless=True,
        cable_m=30,
        cable_row_m=40,
        peer_device=peer,
        peer_port=peer_port,
        peer_alias=f"Eth{int(peer_port[8:]) // 8 + 1}(Port{int(peer_port[8:]) // 8 + 1})",
        addresses=(f"10.254.0.{2 * net + side}/31", _v6(f"fd00:254::{2 * net + side:x}/127")),
        peer_addresses=(f"10.254.0.{2 * net + 1 - side}/31", _v6(f"fd00:254::{2 * net + 1 - side:x}/127")),
        peer_asn=theirs,
    )


def plan(
    *,
    release: str = "master",
    routing: RoutingPlan | None = None,
    qos_plan: QosPlan | None = None,
    buffer_plan: BufferPlan | None = None,
) -> Plan:
    """Leaves p1-l0 and p1-l1 with hosts gpu001, gpu002 and reserve place 2; spine s0; storage st0."""
    switches: dict[str, SwitchPlan] = {}
    spine_ports: dict[str, PlannedPort] = {}
    states = (LifeState.IN_SERVICE, LifeState.IN_SERVICE, LifeState.PLANNED)
    for rail in range(2):
        name = f"p1-l{rail}"
        ports = {p.name: p for p in (_host_port(name, rail, place, state) for place, state in enumerate(states))}
        for parallel in range(2):
            net = 2 * rail + parallel
            spine_port, leaf_port = f"Ethernet{8 * net}", f"Ethernet{256 + 8 * parallel}"
            up = _fabric_port(32 + parallel, LEAF_ASN + rail, SPINE_ASN, net, 0, "s0", spine_port)
            ports[leaf_port] = up
            spine_ports[spine_port] = _fabric_port(net, SPINE_ASN, LEAF_ASN + rail, net, 1, name, leaf_port)
        spare = _fabric_port(40, 0, 0, 99, 0, "s0", "Ethernet0")
        ports[spare.name] = PlannedPort(
            spare.name, spare.alias, 41, 0, spare.lanes, GIGS_800, "rs", 9100, PortUse.UNUSED, False,
            LifeState.IN_SERVICE, spare.name,
        )  # fmt: skip
        prefixes = (f"10.101.{rail}.0/25", f"fd00:101:{rail + 1}::/64")
        own = (f"10.255.0.{17 + rail}/32", _v6(f"fd00:255::{17 + rail:x}/128"))
        switches[name] = SwitchPlan(
            **_switch(name, Role.LEAF, rail, LEAF_ASN + rail, 17 + rail),  # type: ignore[arg-type]
            ports=ports,
            breakouts={"Ethernet0": "2x400G[200G]", "Ethernet8": "2x400G[200G]", "Ethernet256": "1x800G"},
            networks=(*own, *prefixes),
            aggregates=prefixes,
            pod=1,
            rail=rail,
        )
    switches["s0"] = SwitchPlan(
        **_switch("s0", Role.SPINE, 0, SPINE_ASN, 1),  # type: ignore[arg-type]
        ports=spine_ports,
        networks=("10.255.0.1/32", "fd00:255::1/128"),
    )
    storage_port = PlannedPort(
        "Ethernet0", "Eth1/1(Port1)", 1, 1, (1, 2), 200_000, "rs", 9100, PortUse.HOST, True, LifeState.IN_SERVICE,
        "Ethernet0", peer_device="gpu001", peer_port="storage0", addresses=("10.120.0.0/31", "fd00:120::/127"),
        peer_addresses=("10.120.0.1/31", "fd00:120::1/127"), cable_m=5,
    )  # fmt: skip
    switches["st0"] = SwitchPlan(
        **_switch("st0", Role.STORAGE, 0, 4200009000, 201),  # type: ignore[arg-type]
        ports={"Ethernet0": storage_port},
        breakouts={"Ethernet0": "4x200G[100G]"},
        networks=("10.255.0.201/32", "10.120.0.0/24", "fd00:255::c9/128", "fd00:120::/64"),
        aggregates=("10.120.0.0/24", "fd00:120::/64"),
    )
    return Plan(
        name="small",
        intent_hash="0" * 64,
        release=release,
        switches=switches,
        hosts={f"gpu{n + 1:03}": _host(n) for n in range(2)},
        cables={},
        qos=qos_plan or qos(),
        buffers={"accton-as9817-64o": buffer_plan or buffers()},
        routing=routing or RoutingPlan(),
        services=Services(ntp=("172.31.255.1",), syslog=("172.31.255.2",), dns=("172.31.255.3",)),
    )


def _host(place: int) -> HostPlan:
    nics = {
        f"rail{rail}": PlannedNic(
            name=f"rail{rail}",
            network=Network.COMPUTE,
            rail=rail,
            hca=f"mlx5_{rail}",
            netdev=f"rail{rail}",
            pci=None,
            speed_mbps=GIGS_400,
            mtu=9000,
            switch=f"p1-l{rail}",
            switch_port=f"Ethernet{4 * place}",
            addresses=(f"10.101.{rail}.{2 * place + 1}/31",),
            gateways=(f"10.101.{rail}.{2 * place}",),
        )
        for rail in range(2)
    }
    return HostPlan(f"gpu{place + 1:03}", 1, place, "hgx-h100", nics)
