"""SAKURAONE's instance, value by value: facts ai-fabric.md section 8, written here by its formulas alone."""

from __future__ import annotations

from collections import Counter

from fabric.values.plan import LifeState, Network, Plan, PortUse, Role


def test_counts(sakuraone: Plan) -> None:
    assert Counter(switch.role for switch in sakuraone.switches.values()) == {
        Role.LEAF: 16, Role.SPINE: 8, Role.STORAGE: 2,
    }  # fmt: skip
    nodes = [host for host in sakuraone.hosts.values() if host.host_class == "h100"]
    assert len([host for host in nodes if host.state is LifeState.IN_SERVICE]) == 100
    assert len([host for host in nodes if host.reserve and host.state is LifeState.PLANNED]) == 28
    cables = Counter((cable.network, cable.kind) for cable in sakuraone.cables.values())
    assert cables == {
        (Network.COMPUTE, PortUse.HOST): 800,
        (Network.COMPUTE, PortUse.FABRIC): 512,
        (Network.STORAGE, PortUse.HOST): 216,
    }


def test_switch_numbers(sakuraone: Plan) -> None:
    for pod in (1, 2):
        for rail in range(8):
            leaf = sakuraone.switches[f"p{pod}-l{rail}"]
            assert (leaf.index, leaf.pod, leaf.rail) == (8 * (pod - 1) + rail, pod, rail)
            assert leaf.asn == 4200000000 + 100 * pod + 10 + rail
            block = f"10.{100 + pod}.{rail}.0/25"
            assert leaf.loopbacks == (f"10.255.0.{16 * pod + rail + 1}/32",)
            assert leaf.networks == (*leaf.loopbacks, block)
            assert leaf.aggregates == (block,)
            assert sum(1 for _ in leaf.sessions()) == 32
            assert (leaf.hwsku, leaf.device_type) == ("Accton-AS9817-64O", "LeafRouter")
            assert leaf.onie_platform == "x86_64-accton_as9817_64o-r0"
    for number in range(8):
        spine = sakuraone.switches[f"s{number}"]
        assert (spine.asn, spine.loopbacks) == (4200000000, (f"10.255.0.{number + 1}/32",))
        assert (spine.networks, spine.aggregates, spine.pod, spine.device_type) == (
            spine.loopbacks, (), None, "SpineRouter",
        )  # fmt: skip
        assert sum(1 for _ in spine.sessions()) == 64


def test_every_host_link(sakuraone: Plan) -> None:
    hcas = ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7", "mlx5_11"]
    for pod in (1, 2):
        for place in range(64):
            if place < 50:
                name = f"gpu{50 * (pod - 1) + place + 1:03d}"
            else:
                name = f"gpu{101 + 14 * (pod - 1) + place - 50:03d}"
            host = sakuraone.hosts[name]
            assert (host.pod, host.place, host.reserve) == (pod, place, place >= 50)
            for rail in range(8):
                nic = host.nics[f"rail{rail}"]
                assert (nic.switch, nic.switch_port) == (f"p{pod}-l{rail}", f"Ethernet{4 * place}")
                assert nic.addresses == (f"10.{100 + pod}.{rail}.{2 * place + 1}/31",)
                assert nic.gateways == (f"10.{100 + pod}.{rail}.{2 * place}",)
                assert (nic.hca, nic.rail, nic.speed_mbps) == (hcas[rail], rail, 400000)
                port = sakuraone.switches[nic.switch].ports[nic.switch_port]
                assert port.addresses == (f"10.{100 + pod}.{rail}.{2 * place}/31",)
                assert (port.peer_device, port.peer_port, port.peer_addresses) == (name, nic.name, nic.addresses)
                assert (port.use, port.speed_mbps, port.cable_m, port.subport) == (
                    PortUse.HOST, 400000, 5, 1 + place % 2,
                )  # fmt: skip
                if place < 50:
                    assert nic.cable == f"{name}:{nic.name}--{nic.switch}:{nic.switch_port}"
                    assert (port.admin_up, port.lossless, port.cable_row_m, port.cable) == (True, True, 5, nic.cable)
                    assert nic.cable in sakuraone.cables
                else:
                    assert (nic.cable, nic.state) == (None, LifeState.PLANNED)
                    assert (port.admin_up, port.lossless, port.cable_row_m, port.cable) == (False, False, None, None)
                    assert port.state is LifeState.PLANNED


def test_every_fabric_link(sakuraone: Plan) -> None:
    for pod in (1, 2):
        for rail in range(8):
            number = 8 * (pod - 1) + rail
            leaf = sakuraone.switches[f"p{pod}-l{rail}"]
            for uplink in range(32):
                spine, parallel = uplink // 4, uplink % 4
                near = leaf.ports[f"Ethernet{256 + 8 * uplink}"]
                far = sakuraone.switches[f"s{spine}"].ports[f"Ethernet{8 * (4 * number + parallel)}"]
                index = 32 * number + uplink
                third, last = divmod(2 * index, 256)
                assert (near.peer_device, near.peer_port, near.peer_alias) == (f"s{spine}", far.name, far.alias)
                assert (far.peer_device, far.peer_port, far.peer_alias) == (leaf.name, near.name, near.alias)
                assert near.addresses == far.peer_addresses == (f"10.254.{third}.{last}/31",)
                assert far.addresses == near.peer_addresses == (f"10.254.{third}.{last + 1}/31",)
                assert (near.parallel, far.parallel) == (parallel, parallel)
                assert (near.peer_asn, far.peer_asn) == (4200000000, leaf.asn)
                assert near.cable == far.cable == f"{leaf.name}:{near.name}--s{spine}:{far.name}"
                assert (near.speed_mbps, near.cable_m, near.cable_row_m, near.lossless) == (800000, 40, 40, True)


def test_breakouts(sakuraone: Plan) -> None:
    for rail in range(8):
        leaf = sakuraone.switches[f"p1-l{rail}"]
        for cage in range(64):
            mode = leaf.breakouts[f"Ethernet{8 * cage}"]
            assert mode == ("2x400G[200G]" if cage < 32 else "1x800G")
    assert {
        mode for port, mode in sakuraone.switches["s0"].breakouts.items() if port not in ("Ethernet512", "Ethernet513")
    } == {"1x800G"}


def test_storage(sakuraone: Plan) -> None:
    for k in (0, 1):
        switch = sakuraone.switches[f"st{k}"]
        assert (switch.asn, switch.loopbacks) == (4200009000 + k, (f"10.255.0.{201 + k}/32",))
        assert switch.networks[1:] == (f"10.120.{k}.0/24", f"10.121.{k}.0/28")
        assert list(switch.sessions()) == []
        for number in range(100):
            nic = sakuraone.hosts[f"gpu{number + 1:03d}"].nics[f"storage{k}"]
            assert (nic.switch, nic.switch_port) == (switch.name, f"Ethernet{2 * number}")
            assert nic.addresses == (f"10.120.{k}.{2 * number + 1}/31",)
            assert nic.gateways == (f"10.120.{k}.{2 * number}",)
            assert switch.ports[nic.switch_port].lossless is False
        for d in range(8):
            port = switch.ports[f"Ethernet{200 + 2 * d}"]
            assert port.addresses == (f"10.121.{k}.{2 * d}/31",)
            assert (port.peer_device, port.speed_mbps, port.state) == (f"es{d // 2 + 1}", 200000, LifeState.IN_SERVICE)
        assert all(port.peer_device not in ("st0", "st1") for port in switch.ports.values())


def test_one_roce_class_and_borrowed_buffers_are_said(sakuraone: Plan) -> None:
    qos = sakuraone.qos
    assert (qos.roce_dscp, qos.lossless_tc, qos.cnp_dscp, qos.cnp_tc) == (26, 3, 48, 6)
    assert (qos.ecn.min_bytes, qos.ecn.max_bytes, qos.ecn.probability) == (2_000_000, 10_000_000, 1)
    assert (qos.dynamic_th, qos.mtu, qos.host_mtu, qos.watchdog_detection_ms) == (1, 9100, 9100, 400)
    buffers = sakuraone.buffers["accton-as9817-64o"]
    assert buffers.borrowed_from == "dell-z9864f-o64"
    assert any("dell-z9864f-o64" in note for note in sakuraone.notes)


def test_lab(lab: Plan) -> None:
    assert sorted(lab.switches) == ["p1-l0", "p1-l1", "p1-l2", "p1-l3", "s0", "s1"]
    assert sorted(lab.hosts) == ["gpu001", "gpu002", "gpu003", "gpu004"]
    assert all(len(host.nics) == 4 for host in lab.hosts.values())
    ends = Counter((cable.kind, cable.speed_mbps) for cable in lab.cables.values())
    assert ends == {(PortUse.HOST, 400000): 16, (PortUse.FABRIC, 800000): 16}
    assert [switch.mgmt_address for switch in lab.switches.values()] == [
        f"172.31.0.{number}/16" for number in (3, 4, 5, 6, 1, 2)
    ]
    assert [host.mgmt_address for host in lab.hosts.values()] == [f"172.31.1.{n}/16" for n in (1, 2, 3, 4)]
    assert not any(host.reserve for host in lab.hosts.values())
