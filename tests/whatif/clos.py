"""A small two-tier plan made by hand, for tests that must not depend on allocation."""

from __future__ import annotations

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

QOS = QosPlan(
    profile="test", lossless=True, roce_dscp=26, lossless_tc=3, cnp_dscp=48, cnp_tc=6,
    ecn=EcnProfile("E", 2_000_000, 10_000_000, 1), dynamic_th=1, mtu=9100, host_mtu=9000,
    watchdog_detection_ms=400, watchdog_restoration_ms=400, watchdog_poll_ms=200, watchdog_action="drop",
)  # fmt: skip


def clos(*, pods: int = 1, rails: int = 2, spines: int = 2, parallel: int = 2, nodes: int = 2, spares: int = 1) -> Plan:
    """Rail-optimised leaf-spine: `rails` leaves a pod, `parallel` links a leaf-spine pair, `nodes` hosts a pod."""
    leaf_ports: dict[str, dict[str, PlannedPort]] = {}
    spine_ports: dict[str, dict[str, PlannedPort]] = {f"s{s}": {} for s in range(spines)}
    cables: dict[str, PlannedCable] = {}
    hosts: dict[str, HostPlan] = {}
    switches: dict[str, SwitchPlan] = {}
    links = 0
    for pod in range(1, pods + 1):
        for rail in range(rails):
            leaf, asn = f"p{pod}-l{rail}", 4200000000 + 100 * pod + 10 + rail
            ports = leaf_ports[leaf] = {}
            for place in range(nodes + spares):
                name = f"Ethernet{4 * place}"
                host = f"gpu{(pod - 1) * nodes + place + 1:03d}"
                real = place < nodes
                cable = cable_name(leaf, name, host, f"rail{rail}") if real else None
                ports[name] = PlannedPort(
                    name=name, alias=f"etp{place // 2 + 1}{'ab'[place % 2]}", index=place // 2 + 1,
                    subport=place % 2 + 1, lanes=tuple(range(4 * place, 4 * place + 4)), speed_mbps=400_000, fec="rs",
                    mtu=9100, use=PortUse.HOST, admin_up=real,
                    state=LifeState.IN_SERVICE if real else LifeState.PLANNED, parent=f"Ethernet{8 * (place // 2)}",
                    lossless=real, cable_m=5, peer_device=host if real else None,
                    peer_port=f"rail{rail}" if real else None, rail=rail,
                    addresses=(f"10.{100 + pod}.{rail}.{2 * place}/31",),
                    peer_addresses=(f"10.{100 + pod}.{rail}.{2 * place + 1}/31",), cable=cable,
                )  # fmt: skip
                if cable:
                    cables[cable] = PlannedCable(
                        cable, leaf, name, host, f"rail{rail}", PortUse.HOST, Network.COMPUTE, 400_000, 5,
                        LifeState.IN_SERVICE, rail=rail, pod=pod,
                    )  # fmt: skip
            for spine in range(spines):
                for j in range(parallel):
                    name = f"Ethernet{256 + 8 * (spine * parallel + j)}"
                    other = f"Ethernet{8 * (((pod - 1) * rails + rail) * parallel + j)}"
                    net = f"10.{254 - links // 32768}.{links // 128 % 256}"
                    even, odd = f"{net}.{2 * links % 256}", f"{net}.{2 * links % 256 + 1}"
                    links += 1
                    cable = cable_name(leaf, name, f"s{spine}", other)
                    shared = {
                        "subport": 0, "lanes": tuple(range(8)), "speed_mbps": 800_000, "fec": "rs", "mtu": 9100,
                        "use": PortUse.FABRIC, "admin_up": True, "state": LifeState.IN_SERVICE, "lossless": True,
                        "cable_m": 40, "parallel": j, "cable": cable,
                    }  # fmt: skip
                    cage = 33 + spine * parallel + j
                    ports[name] = PlannedPort(
                        name=name, alias=f"etp{cage}", index=cage, parent=name, peer_device=f"s{spine}",
                        peer_port=other, peer_alias=f"etp{int(other[8:]) // 8 + 1}", addresses=(f"{even}/31",),
                        peer_addresses=(f"{odd}/31",), peer_asn=4200000000, **shared,  # type: ignore[arg-type]
                    )  # fmt: skip
                    spine_ports[f"s{spine}"][other] = PlannedPort(
                        name=other, alias=f"etp{int(other[8:]) // 8 + 1}", index=int(other[8:]) // 8 + 1, parent=other,
                        peer_device=leaf, peer_port=name, peer_alias=f"etp{cage}", addresses=(f"{odd}/31",),
                        peer_addresses=(f"{even}/31",), peer_asn=asn, **shared,  # type: ignore[arg-type]
                    )  # fmt: skip
                    cables[cable] = PlannedCable(
                        cable, leaf, name, f"s{spine}", other, PortUse.FABRIC, Network.COMPUTE, 800_000, 40,
                        LifeState.IN_SERVICE, pod=pod, parallel=j,
                    )  # fmt: skip
            loopback, aggregate = (
                f"10.255.{(16 * pod + rail + 1) // 256}.{(16 * pod + rail + 1) % 256}/32",
                f"10.{100 + pod}.{rail}.0/25",
            )
            switches[leaf] = _switch(leaf, Role.LEAF, asn, loopback, ports, (aggregate,), len(switches), pod, rail)
        for place in range(nodes):
            name = f"gpu{(pod - 1) * nodes + place + 1:03d}"
            nics = {}
            for rail in range(rails):
                nics[f"rail{rail}"] = PlannedNic(
                    name=f"rail{rail}", network=Network.COMPUTE, rail=rail, hca=f"mlx5_{rail}",
                    netdev=f"ens{rail}f0np0", pci=f"0000:{rail:02x}:00.0", speed_mbps=400_000, mtu=9000,
                    switch=f"p{pod}-l{rail}", switch_port=f"Ethernet{4 * place}",
                    addresses=(f"10.{100 + pod}.{rail}.{2 * place + 1}/31",),
                    gateways=(f"10.{100 + pod}.{rail}.{2 * place}",),
                    cable=cable_name(f"p{pod}-l{rail}", f"Ethernet{4 * place}", name, f"rail{rail}"),
                )  # fmt: skip
            hosts[name] = HostPlan(name=name, pod=pod, place=place, host_class="gpu", nics=nics)
    for spine in range(spines):
        switches[f"s{spine}"] = _switch(
            f"s{spine}", Role.SPINE, 4200000000, f"10.{255 if spine < 16 else 249}.0.{spine + 1}/32",
            spine_ports[f"s{spine}"], (), len(switches), None, None,
        )  # fmt: skip
    return Plan("test", "0" * 64, "202411", switches, hosts, cables, QOS, {})


def _switch(
    name: str,
    role: Role,
    asn: int,
    loopback: str,
    ports: dict[str, PlannedPort],
    aggregates: tuple[str, ...],
    index: int,
    pod: int | None,
    rail: int | None,
) -> SwitchPlan:
    return SwitchPlan(
        name=name, role=role, network=Network.COMPUTE, index=index, platform="accton-as9817-64o",
        onie_platform="x86_64-accton_as9817_64o-r0", hwsku="Accton-AS9817-64O",
        device_type="LeafRouter" if role is Role.LEAF else "SpineRouter", asn=asn, loopbacks=(loopback,),
        mgmt_address=f"172.31.{(10 + index) // 256}.{(10 + index) % 256}/16", mgmt_gateway=None, ports=ports,
        networks=(loopback, *aggregates), aggregates=aggregates, pod=pod, rail=rail,
    )  # fmt: skip
