"""Each design rule is broken once and named; nothing else stands beside it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.design import judge
from fabric.design.topology import hash_seed
from fabric.values.finding import Finding, Status, exit_code
from fabric.values.plan import LifeState, Network, Outage, Plan, PlannedCable, PortUse
from tests.design.conftest import Made, with_nic, with_port, with_switch

TODAY = "2026-01-01"


def found(plan: Plan, today: str = TODAY) -> list[Finding]:
    return [finding for finding in judge(plan, today).report.findings if finding.status is Status.FAIL]


def warned(plan: Plan) -> list[Finding]:
    return [finding for finding in judge(plan, TODAY).report.findings if finding.status is Status.WARN]


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings}


def test_a_good_plan_breaks_nothing(lab: Plan, sakuraone: Plan) -> None:
    assert found(lab) == []
    assert found(sakuraone) == []


def test_topo_01_a_nic_on_the_leaf_of_another_rail(lab: Plan) -> None:
    one, two = lab.hosts["gpu001"].nics["rail0"], lab.hosts["gpu001"].nics["rail1"]
    plan = with_nic(lab, "gpu001", "rail0", switch=two.switch, switch_port=two.switch_port)
    assert one.switch != two.switch
    (finding,) = [finding for finding in found(plan) if finding.code == "TOPO-01"]
    assert (finding.node, finding.nic, finding.device) == ("gpu001", "rail0", two.switch)


def test_topo_01_rails_of_a_pod_carry_the_same(made: Made) -> None:
    plan = made("lab", ("nics: 4", "nics: 3"), ("[mlx5_0, mlx5_1, mlx5_2, mlx5_4]", "[mlx5_0, mlx5_1, mlx5_2]"))
    # Rail 3 has no NIC at all: its leaf is idle, but the rails in use are equal.
    assert found(plan) == []


def test_topo_02_a_missing_parallel_cable_and_a_far_end_of_another_mind(lab: Plan) -> None:
    port = next(port for port in lab.switches["p1-l0"].ports.values() if port.use is PortUse.FABRIC)
    gone = with_port(lab, "p1-l0", port.name, use=PortUse.UNUSED, peer_device=None, peer_port=None)
    findings = found(gone)
    assert "TOPO-02" in codes(findings)
    assert any(finding.device == "p1-l0" and "1 cables" in str(finding.observed) for finding in findings)
    assert any(finding.port == port.peer_port and finding.device == port.peer_device for finding in findings)


def test_topo_02_both_ends_run_at_one_speed(lab: Plan) -> None:
    port = next(port for port in lab.switches["p1-l0"].ports.values() if port.use is PortUse.FABRIC)
    plan = with_port(lab, "p1-l0", port.name, speed_mbps=400_000)
    assert any("800000 Mb/s at s" in str(finding.observed) for finding in found(plan))


def test_topo_03_an_oversubscribed_leaf(made: Made) -> None:
    plan = made("sakuraone", ("count: 8, links: 4", "count: 8, links: 3"))
    (finding,) = [finding for finding in found(plan) if finding.code == "TOPO-03"]
    assert "1.042:1" in str(finding.observed)
    assert exit_code(judge(plan, TODAY).report.summary) == 1


def test_topo_03_losing_one_spine_is_a_warning(made: Made) -> None:
    plan = made("sakuraone", ("count: 8, links: 4", "count: 7, links: 4"))
    (finding,) = [finding for finding in warned(plan) if finding.code == "TOPO-03"]
    assert "1.042:1" in str(finding.observed)


def test_topo_04_leaves_cabled_to_each_other(lab: Plan) -> None:
    ports = {
        name: next(p for p in lab.switches[name].ports.values() if p.use is PortUse.FABRIC)
        for name in ("p1-l0", "p1-l1")
    }
    plan = with_port(lab, "p1-l0", ports["p1-l0"].name, peer_device="p1-l1", peer_port=ports["p1-l1"].name)
    plan = with_port(plan, "p1-l1", ports["p1-l1"].name, peer_device="p1-l0", peer_port=ports["p1-l0"].name)
    assert any(finding.code == "TOPO-04" and "p1-l1" in str(finding.observed) for finding in found(plan))


def test_topo_05_a_cable_between_planes_and_between_rails(lab: Plan) -> None:
    plan = with_switch(with_switch(lab, "p1-l0", plane=0), "s1", plane=1)
    assert any(finding.code == "TOPO-05" and "plane 1" in str(finding.observed) for finding in found(plan))
    plan = with_switch(lab, "s1", rail=2)
    assert {finding.rail for finding in found(plan) if finding.code == "TOPO-05"} == {0, 1, 3}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"lanes": (1, 2, 3, 4)}, "lanes 1,2,3,4"),
        ({"speed_mbps": 100_000}, "cannot run at 100G"),
    ],
)
def test_topo_06_lanes_and_speed_of_the_mode(lab: Plan, fields: dict[str, object], said: str) -> None:
    nic = lab.hosts["gpu001"].nics["rail0"]
    findings = found(with_port(lab, nic.switch, nic.switch_port, **fields))
    assert any(finding.code == "TOPO-06" and said in str(finding.observed) for finding in findings)


def test_topo_06_a_mode_that_is_not_there(lab: Plan) -> None:
    switch = lab.switches["p1-l0"]
    cage = next(iter(switch.breakouts))
    plan = with_switch(lab, "p1-l0", breakouts={**switch.breakouts, cage: "1x200G"})
    findings = found(plan)
    assert codes(findings) == {"TOPO-06"}
    assert "modes that exist" in str(findings[0].observed)


def test_topo_06_reserve_places_are_pre_provisioned_and_down(sakuraone: Plan) -> None:
    reserve = next(host for host in sakuraone.hosts.values() if host.reserve)
    nic = reserve.nics["rail0"]
    up = found(with_port(sakuraone, nic.switch, nic.switch_port, admin_up=True))
    assert [(finding.code, finding.node, finding.observed) for finding in up] == [("TOPO-06", reserve.name, "admin up")]
    gone = found(with_port(sakuraone, nic.switch, nic.switch_port, peer_device=None, peer_port=None))
    assert any(finding.code == "TOPO-06" and finding.observed == "none" for finding in gone)


def test_topo_07_storage_and_compute_share_nothing(sakuraone: Plan) -> None:
    both = [nic for nic in sakuraone.hosts["gpu001"].nics.values() if nic.network is Network.STORAGE]
    plan = with_nic(sakuraone, "gpu001", both[0].name, network=Network.COMPUTE)
    assert "TOPO-07" in codes(found(plan))
    plan = with_switch(sakuraone, "p1-l0", network=Network.STORAGE)
    assert any(finding.code == "TOPO-07" and finding.node for finding in found(plan))


def test_topo_07_one_storage_switch_for_a_host(made: Made) -> None:
    plan = made("sakuraone", ("storage: {nics: 2", "storage: {nics: 1"))
    (finding,) = found(plan)
    assert finding.code == "TOPO-07"
    assert len(finding.nodes) == 100


def test_topo_08_and_bgp_02_ecmp_width(sakuraone: Plan) -> None:
    plan = replace(sakuraone, routing=replace(sakuraone.routing, maximum_paths=16))
    findings = found(plan)
    assert codes(findings) == {"BGP-02"}
    assert len(findings) == 16
    assert findings[0].expected == "maximum-paths of at least 32"


def test_ecmp_03_two_tiers_of_one_device_type(made: Made) -> None:
    plan = made("lab", ("length_m: 40}", "length_m: 40, device_type: LeafRouter}"))
    assert "ECMP-03" in codes(warned(plan))
    assert hash_seed("FabricSpineRouter") == hash_seed("SpineRouter") == 25
    assert (hash_seed("ToRRouter"), hash_seed("LeafRouter"), hash_seed("BackEndLeafRouter")) == (0, 10, 10)


def test_life_01_an_outage_beyond_its_date(lab: Plan) -> None:
    late = Outage(reason="optic on order", owner="noc", until="2025-12-31")
    plan = with_switch(lab, "s1", outage=late, state=LifeState.OUT_OF_SERVICE)
    host = replace(lab.hosts["gpu002"], outage=late, state=LifeState.OUT_OF_SERVICE)
    plan = replace(plan, hosts={**plan.hosts, "gpu002": host})
    switch, node = (finding for finding in warned(plan) if finding.code == "LIFE-01")
    assert {switch.device, node.device} == {"s1", None}
    assert {switch.node, node.node} == {None, "gpu002"}
    assert "optic on order (noc)" in str(switch.observed)
    assert "LIFE-01" not in codes(list(judge(plan, "2025-12-31").report.findings))


def test_life_01_says_an_outage_once(made: Made) -> None:
    states = """states:
  - {switches: s1, state: out-of-service, reason: fan, owner: noc, until: "2025-12-01"}
  - {cables: ["p1-l0:Ethernet256--s0:Ethernet0"], state: out-of-service, reason: optic, owner: noc, until: "2025-12-02"}
"""
    plan = made("lab", ("qos: {profile: sakura}", "qos: {profile: sakura}\n" + states))
    late = [(finding.device, finding.port) for finding in warned(plan) if finding.code == "LIFE-01"]
    assert late == [("p1-l0", "Ethernet256"), ("s1", None)]


def test_addr_01_pairs_and_double_use(lab: Plan) -> None:
    nic = lab.hosts["gpu001"].nics["rail0"]
    port = lab.switches[nic.switch].ports[nic.switch_port]
    swapped = with_port(lab, nic.switch, nic.switch_port, addresses=port.peer_addresses, peer_addresses=port.addresses)
    assert "ADDR-01" in codes(found(swapped))
    other = lab.hosts["gpu002"].nics["rail0"]
    twice = with_port(
        lab, nic.switch, nic.switch_port, addresses=lab.switches[other.switch].ports[other.switch_port].addresses
    )
    assert any(finding.expected == "each address once" for finding in found(twice))


def test_addr_01_an_aggregate_that_does_not_hold_its_hosts(lab: Plan) -> None:
    findings = found(with_switch(lab, "p1-l0", aggregates=("192.0.2.0/24",)))
    assert len(findings) == 4
    assert {finding.code for finding in findings} == {"ADDR-01"}


def test_addr_02_as_numbers(lab: Plan) -> None:
    leaves = found(with_switch(lab, "p1-l1", asn=lab.switches["p1-l0"].asn))
    assert [(finding.code, finding.device) for finding in leaves] == [("ADDR-02", "p1-l1")]
    spines = found(with_switch(lab, "s1", asn=4200000001))
    assert [finding.code for finding in spines] == ["ADDR-02"]
    assert "valleys" in str(spines[0].remedy)
    mixed = found(with_switch(lab, "p1-l1", asn=lab.switches["s0"].asn))
    assert codes(mixed) == {"ADDR-02"}


def test_addr_02_no_loopback(lab: Plan) -> None:
    (finding,) = found(with_switch(lab, "s0", loopbacks=()))
    assert (finding.code, finding.device) == ("ADDR-02", "s0")


def test_addr_03_mtu(lab: Plan) -> None:
    port = next(port for port in lab.switches["p1-l0"].ports.values() if port.use is PortUse.FABRIC)
    both = found(with_port(lab, "p1-l0", port.name, mtu=9216))
    assert {finding.code for finding in both} == {"ADDR-03"}
    small = found(with_nic(lab, "gpu001", "rail0", mtu=1500))
    assert [(finding.code, finding.node, finding.observed) for finding in small] == [("ADDR-03", "gpu001", "1500")]


def test_qos_05_no_row_for_the_length(lab: Plan) -> None:
    port = next(port for port in lab.switches["p1-l0"].ports.values() if port.lossless and port.use is PortUse.FABRIC)
    (finding,) = found(with_port(lab, "p1-l0", port.name, cable_m=500, cable_row_m=None))
    assert (finding.code, finding.port) == ("QOS-05", port.name)
    assert "5m, 40m, 300m" in str(finding.observed)
    short = found(with_port(lab, "p1-l0", port.name, cable_m=45, cable_row_m=40))
    assert codes(short) == {"QOS-05"}


def test_qos_05_lossless_without_figures(lab: Plan) -> None:
    findings = found(replace(lab, buffers={}))
    assert codes(findings) == {"QOS-05"}
    assert len(findings) == 6


def test_qos_05_a_platform_without_figures_is_said(made: Made) -> None:
    plan = made("lab", ("buffers_from: dell-z9864f\n", ""))
    assert not any(port.lossless for switch in plan.switches.values() for port in switch.ports.values())
    assert any(finding.code == "QOS-05" and "RoCE lossy" in str(finding.observed) for finding in warned(plan))
    assert found(plan) == []


def test_qos_06_a_hundred_metres_fails_on_leaves(made: Made) -> None:
    plan = made("sakuraone", ("speed: 800G, length_m: 40", "speed: 800G, length_m: 100"))
    demand = [finding for finding in judge(plan, TODAY).report.findings if finding.code == "QOS-06"]
    leaves = [finding for finding in demand if "p1-l0" in str(finding.observed)]
    assert [finding.status for finding in demand] == [Status.FAIL, Status.FAIL]
    assert "2.14 times" in str(leaves[0].observed)


def test_qos_07_ecn_must_act_before_pfc(lab: Plan) -> None:
    late = replace(lab, qos=replace(lab.qos, ecn=replace(lab.qos.ecn, max_bytes=109_000_000)))
    assert "QOS-07" in codes(warned(late))
    # alpha 2 on 162.5 MB: one congested group may take two thirds of the pool.
    just = replace(lab, qos=replace(lab.qos, ecn=replace(lab.qos.ecn, max_bytes=108_000_000)))
    assert "QOS-07" not in codes(warned(just))


def test_reserve_cables_are_no_cables_yet(sakuraone: Plan) -> None:
    spare = PlannedCable(
        "x", "p1-l0", "Ethernet200", "gpu101", "rail0", PortUse.HOST, Network.COMPUTE, 400_000, 5, LifeState.PLANNED
    )
    plan = replace(sakuraone, cables={**sakuraone.cables, "x": spare})
    assert judge(plan, TODAY).capacity[Network.COMPUTE].cables == 1312


def test_ecmp03_tiers_we_choose_types_for_never_share_a_seed(tree: Path, made: Made) -> None:
    """SONiC gives every type with SpineRouter in its name seed 25: three tiers need three different seeds."""
    for name in ("gpu32768", "gpu98304"):
        text = (tree / "topology" / f"{name}.yaml").read_text()
        plan = made(name, (text, re.sub(r"count: \d+, segments: 8", "count: 2, segments: 8", text)))
        seeds = {switch.role: hash_seed(switch.device_type) for switch in plan.switches.values()}
        assert len(set(seeds.values())) == 3
        assert "ECMP-03" not in {finding.code for finding in judge(plan, "2026-01-01").report.findings}
