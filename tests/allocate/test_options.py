"""What an intent may ask for beyond the usual: planes, tiers, mixes, address families, states, racks, overrides."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.allocate import allocate, load_all, load_plan
from fabric.errors import AllocationError
from fabric.intent import load_text
from fabric.values import codec
from fabric.values.plan import LifeState, Network, Plan, PortUse, Role

Written = Callable[..., Path]


def plan_of(document: dict[str, Any]) -> Plan:
    return allocate(load_text(yaml.safe_dump(document, sort_keys=False)))[2]


def lab(**compute: Any) -> dict[str, Any]:
    return {
        "name": "x",
        "buffers_from": "dell-z9864f",
        "classes": {"h100": {"nics": 4, "speed": "400G"}},
        "compute": {
            "rails": 4,
            "leaf": {"platform": "accton-as9817-64o"},
            "spine": {"platform": "accton-as9817-64o", "count": 2, "links": 2, "speed": "800G"},
            "pods": [{"nodes": "gpu[001-004]"}],
            **compute,
        },
    }


def test_f143_two_nic_generations_on_one_leaf() -> None:
    document = lab(
        pods=[{"hosts": [{"nodes": "new[01-32]", "class": "h100"}, {"nodes": "old[01-32]", "class": "a100"}]}]
    )
    document["classes"]["a100"] = {"nics": 4, "speed": "200G"}
    plan = plan_of(document)
    for rail in range(4):
        leaf = plan.switches[f"p1-l{rail}"]
        modes = Counter(leaf.breakouts[f"Ethernet{8 * cage}"] for cage in range(64))
        assert modes == {"2x400G[200G]": 16, "4x200G[100G]": 8, "1x800G": 40}
        speeds = Counter(port.speed_mbps for port in leaf.ports.values() if port.use is PortUse.HOST)
        assert speeds == {400000: 32, 200000: 32}
        rows = {port.speed_mbps: port.cable_row_m for port in leaf.ports.values() if port.lossless}
        assert rows == {400000: 5, 200000: 5, 800000: 40}
    assert plan.hosts["old01"].nics["rail0"].switch_port == "Ethernet128"


def test_fewer_nics_than_rails_and_the_rail_of_each() -> None:
    document = lab(pods=[{"class": "old", "nodes": "a[1-2]"}])
    document["classes"]["old"] = {"nics": 2, "speed": "200G", "rails": [3, 1], "hca": ["mlx5_7", "mlx5_2"]}
    plan = plan_of(document)
    nics = plan.hosts["a1"].nics
    assert {name: (nic.switch, nic.hca) for name, nic in nics.items()} == {
        "rail3": ("p1-l3", "mlx5_7"),
        "rail1": ("p1-l1", "mlx5_2"),
    }


def test_hosts_at_the_end_of_the_box_and_a_hwsku_that_fixes_them() -> None:
    last = plan_of(lab(leaf={"platform": "accton-as9817-64o", "hosts": "last"}))
    leaf = last.switches["p1-l0"]
    assert next(name for name, port in leaf.ports.items() if port.use is PortUse.HOST) == "Ethernet256"
    assert next(name for name, port in leaf.ports.items() if port.use is PortUse.FABRIC) == "Ethernet0"
    fixed = plan_of(lab(leaf={"platform": "arista-7060x6-64pe-b-p32o64"}))
    leaf = fixed.switches["p1-l0"]
    assert leaf.hwsku == "Arista-7060X6-64PE-B-P32O64"
    assert [name for name, port in leaf.ports.items() if port.use is PortUse.HOST] == [
        "Ethernet256", "Ethernet260", "Ethernet264", "Ethernet268",
    ]  # fmt: skip
    assert [name for name, port in leaf.ports.items() if port.use is PortUse.FABRIC] == [
        "Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24",
    ]  # fmt: skip


def test_planes_share_nothing() -> None:
    plan = plan_of(lab(planes=2, pods=[{"nodes": "g[1-2]"}, {"nodes": "g[3-4]"}]))
    assert sorted(plan.switches)[:4] == ["p1-l0a", "p1-l0b", "p1-l1a", "p1-l1b"]
    assert [name for name in plan.switches if name.startswith("s")] == ["s0a", "s1a", "s0b", "s1b"]
    nic = plan.hosts["g1"].nics
    assert sorted(nic) == [f"rail{rail}{plane}" for rail in range(4) for plane in "ab"]
    assert nic["rail2b"].speed_mbps == 200000
    assert nic["rail2b"].switch == "p1-l2b"
    for cable in plan.cables.values():
        planes = {plan.switches[end].plane for end in (cable.a_device, cable.b_device) if end in plan.switches}
        assert planes == {cable.plane}
    spines = {plan.switches[name].asn for name in ("s0a", "s1a")}, {plan.switches[name].asn for name in ("s0b", "s1b")}
    assert spines == ({4200000000}, {4200000001})


def test_racks_with_one_or_two_switches() -> None:
    one = plan_of(lab(attachment="tor", places=8))
    assert sorted(name for name in one.switches if "-l" in name) == ["p1-l0"]
    assert one.switches["p1-l0"].rail is None
    assert [nic.switch_port for nic in one.hosts["gpu002"].nics.values()] == [
        "Ethernet16", "Ethernet20", "Ethernet24", "Ethernet28",
    ]  # fmt: skip
    two = plan_of(lab(attachment="tor", tor_leaves=2, places=8))
    assert {name: nic.switch for name, nic in two.hosts["gpu001"].nics.items()} == {
        "rail0": "p1-l0", "rail1": "p1-l1", "rail2": "p1-l0", "rail3": "p1-l1",
    }  # fmt: skip


def test_rail_only_islands() -> None:
    plan = plan_of(lab(attachment="rail-only", pods=[{"nodes": "g[1-2]"}, {"nodes": "g[3-4]"}]))
    assert sorted(name for name in plan.switches if "-s" in name) == sorted(
        f"r{rail}-s{spine}" for rail in range(4) for spine in range(2)
    )
    for cable in plan.cables.values():
        rails = {plan.switches[end].rail for end in (cable.a_device, cable.b_device) if end in plan.switches}
        assert rails == {cable.rail}
    document = lab(attachment="rail-only")
    del document["compute"]["spine"]
    assert {switch.role for switch in plan_of(document).switches.values()} == {Role.LEAF}


def test_three_tiers() -> None:
    plan = plan_of(
        lab(
            pods=[{"count": 3, "segments": 2, "nodes": 4}],
            superspine={"platform": "accton-as9817-64o", "count": 4, "groups": 2, "links": 2, "speed": "800G"},
        )
    )
    assert Counter(switch.role for switch in plan.switches.values()) == {
        Role.LEAF: 24, Role.SPINE: 6, Role.SUPERSPINE: 4,
    }  # fmt: skip
    assert {switch.asn for switch in plan.switches.values() if switch.role is Role.SUPERSPINE} == {4210000000}
    assert {name: plan.switches[name].asn for name in ("p1-s0", "p1-s1", "p2-s0", "p3-s1")} == {
        "p1-s0": 4200000100, "p1-s1": 4200000100, "p2-s0": 4200000200, "p3-s1": 4200000300,
    }  # fmt: skip
    assert plan.switches["p2-l5"].asn == 4200000215
    assert (plan.switches["p2-l5"].segment, plan.switches["p2-l5"].rail) == (1, 1)
    pairs = Counter(
        tuple(sorted((cable.a_device, cable.b_device)))
        for cable in plan.cables.values()
        if cable.kind is PortUse.FABRIC and "ss" in cable.a_device + cable.b_device
    )
    assert pairs == {
        tuple(sorted((f"p{pod}-s{spine}", f"ss{2 * spine + top}"))): 2
        for pod in (1, 2, 3)
        for spine in (0, 1)
        for top in (0, 1)
    }


def test_uplinks_that_do_not_divide_are_dealt_out_evenly() -> None:
    plan = plan_of(
        lab(
            pods=[{"count": 3, "nodes": 2}],
            superspine={"platform": "accton-as9817-64o", "count": 3, "uplinks": 4, "speed": "800G"},
        )
    )
    up = Counter(cable.a_device for cable in plan.cables.values() if cable.b_device.startswith("ss"))
    assert set(up.values()) == {4}
    down = Counter(cable.b_device for cable in plan.cables.values() if cable.b_device.startswith("ss"))
    assert set(down.values()) == {8}


@pytest.mark.parametrize("family", ["ipv6", "dual"])
def test_ipv6(family: str) -> None:
    document = lab()
    document["addressing"] = {"family": family}
    plan = plan_of(document)
    leaf = plan.switches["p1-l1"]
    versions = [6] if family == "ipv6" else [4, 6]
    assert [ipaddress.ip_interface(entry).version for entry in leaf.loopbacks] == [4, 6]
    assert [ipaddress.ip_interface(entry).version for entry in leaf.ports["Ethernet256"].addresses] == versions
    assert sorted({ipaddress.ip_network(entry).version for entry in leaf.networks}) == versions
    nic = plan.hosts["gpu002"].nics["rail1"]
    assert len(nic.addresses) == len(nic.gateways) == len(versions)
    for ours, theirs in zip(leaf.ports["Ethernet4"].addresses, nic.addresses, strict=True):
        a, b = ipaddress.ip_interface(ours), ipaddress.ip_interface(theirs)
        assert (a.network, int(a.ip) % 2) == (b.network, 0)
        assert any(b.ip in ipaddress.ip_network(block) for block in leaf.aggregates)
    assert (plan.routing.ipv4, plan.routing.ipv6) == (4 in versions, True)


def test_unnumbered_links_and_back(written: Written) -> None:
    unnumbered = ("  fabric: [", "  fabric_links: unnumbered\n  fabric: [")
    plan = load_plan(written("lab", unnumbered), write_ledger=True)
    port = plan.switches["p1-l0"].ports["Ethernet256"]
    assert (port.addresses, port.peer_asn, plan.routing.unnumbered) == ((), 4200000000, True)
    numbered = load_all(written("lab"), write_ledger=True)
    port = numbered.plan.switches["p1-l0"].ports["Ethernet256"]
    assert port.addresses == ("10.254.0.0/31",)
    again = load_all(written("lab", unnumbered))
    assert not again.grown
    assert again.plan.switches["p1-l0"].ports["Ethernet256"].addresses == ()


def test_hosts_in_a_vlan() -> None:
    document = lab()
    document["addressing"] = {"host_links": "vlan", "vlan": 200}
    plan = plan_of(document)
    leaf = plan.switches["p1-l2"]
    (block,) = leaf.networks[1:]
    network = ipaddress.ip_network(block)
    assert leaf.aggregates == ()
    assert leaf.vlans == {200: (f"{network[1]}/{network.prefixlen}",)}
    assert all(port.addresses == () for port in leaf.ports.values() if port.use is PortUse.HOST)
    nics = [host.nics["rail2"] for host in plan.hosts.values()]
    assert [nic.addresses for nic in nics] == [(f"{network[2 + n]}/{network.prefixlen}",) for n in range(4)]
    assert {nic.gateways for nic in nics} == {(str(network[1]),)}


def test_life_cycle(written: Written) -> None:
    states = """states:
  - {pods: [2], state: planned}
  - {switches: s3, state: out-of-service, reason: fan tray, owner: noc, until: 2026-12-31}
  - {nodes: "gpu[007-008]", state: out-of-service, reason: GPU 3 fell off the bus, owner: hw}
  - {nodes: gpu101, state: in-service}
  - {cables: ["s0:Ethernet0--p1-l0:Ethernet256"], state: out-of-service, reason: flaps, owner: noc}
  - {ports: ["p1-l1:Ethernet8"], state: installed}
  - {optics: ["p1-l2:Ethernet12"], state: out-of-service, reason: dirty, owner: noc}
"""
    plan = load_plan(written("sakuraone", ("qos: {profile: sakura}", states)))
    assert plan.switches["p2-l4"].state is LifeState.PLANNED
    assert plan.hosts["gpu051"].state is LifeState.PLANNED
    assert plan.hosts["gpu051"].nics["rail0"].cable is not None
    spine = plan.switches["s3"]
    assert spine.outage is not None
    assert (spine.state, spine.outage.reason, spine.outage.until) == (
        LifeState.OUT_OF_SERVICE, "fan tray", "2026-12-31",
    )  # fmt: skip
    leaf = plan.switches["p1-l0"]
    to_s3 = [port for port in leaf.ports.values() if port.peer_device == "s3"]
    assert {(port.state, port.admin_up, port.outage) for port in to_s3} == {
        (LifeState.OUT_OF_SERVICE, False, spine.outage)
    }
    first = leaf.ports["Ethernet256"]
    assert (first.state, first.outage.reason if first.outage else None) == (LifeState.OUT_OF_SERVICE, "flaps")
    assert plan.cables["p1-l0:Ethernet256--s0:Ethernet0"].state is LifeState.OUT_OF_SERVICE
    assert not plan.switches["s0"].ports["Ethernet0"].admin_up
    assert leaf.ports["Ethernet24"].state is LifeState.OUT_OF_SERVICE  # gpu007
    reserve = plan.hosts["gpu101"]
    assert (reserve.reserve, reserve.state) == (True, LifeState.IN_SERVICE)
    port = leaf.ports["Ethernet200"]
    assert (port.admin_up, port.lossless, port.cable) == (True, True, "gpu101:rail0--p1-l0:Ethernet200")
    assert plan.hosts["gpu101"].nics["storage0"].cable is not None
    installed = plan.switches["p1-l1"].ports["Ethernet8"]
    assert (installed.state, installed.admin_up) == (LifeState.INSTALLED, True)
    assert plan.switches["p1-l2"].ports["Ethernet12"].state is LifeState.OUT_OF_SERVICE
    pod2 = [port for port in plan.switches["s0"].ports.values() if (port.peer_device or "").startswith("p2-")]
    assert {(port.state, port.admin_up, port.lossless) for port in pod2} == {(LifeState.PLANNED, False, False)}


def test_cable_lengths_follow_the_racks(written: Written) -> None:
    racks = """racks:
  pitch_m: 1
  row_m: 10
  slack_m: 3
  places:
    A1: {row: 0, column: 0, devices: "gpu[001-002],p1-l[0-3]"}
    A3: {row: 0, column: 2, devices: "gpu[003-004]"}
    B9: {row: 3, column: 30, devices: s0}
"""
    plan = load_plan(written("lab", ("qos: {profile: sakura}", racks)))
    lengths = {
        end: cable.length_m
        for cable in plan.cables.values()
        for end in (cable.a_device, cable.b_device)
        if "l" not in end
    }
    assert lengths == {"gpu001": 3, "gpu002": 3, "gpu003": 5, "gpu004": 5, "s0": 63, "s1": 40}
    port = plan.switches["p1-l0"].ports["Ethernet256"]
    assert (port.cable_m, port.cable_row_m) == (63, 300)
    assert plan.switches["s0"].rack == "B9"
    assert plan.hosts["gpu003"].rack == "A3"


def test_no_lookup_row_is_long_enough(written: Written) -> None:
    plan = load_plan(written("lab", ("length_m: 40", "length_m: 400")))
    port = plan.switches["p1-l0"].ports["Ethernet256"]
    assert (port.lossless, port.cable_m, port.cable_row_m) == (True, 400, None)


def test_lossy_and_platforms_without_figures(written: Written) -> None:
    lossy = load_plan(written("lab"), lossy=True)
    assert not lossy.qos.lossless
    assert not any(port.lossless for switch in lossy.switches.values() for port in switch.ports.values())
    bare = load_plan(written("lab", ("buffers_from: dell-z9864f\n", "")))
    assert bare.buffers == {}
    assert not any(port.lossless for switch in bare.switches.values() for port in switch.ports.values())
    assert any("no buffer figures" in note for note in bare.notes)


def test_per_device_overrides(written: Written) -> None:
    devices = """devices:
  s1: {asn: 4200000999, loopback: 10.255.0.100, mgmt_address: 172.31.0.200, rack: Z, unit: 12,
    device_type: not-provisioned}
  p1-l3: {platform: dell-z9864f-o64}
  gpu001: {mgmt_address: 172.31.9.9, rack: Y1, unit: 3}
"""
    plan = load_plan(written("lab", ("qos: {profile: sakura}", devices)))
    spine = plan.switches["s1"]
    assert (spine.asn, spine.loopbacks, spine.mgmt_address, spine.rack, spine.unit, spine.device_type) == (
        4200000999, ("10.255.0.100/32",), "172.31.0.200/16", "Z", 12, "not-provisioned",
    )  # fmt: skip
    assert {port.peer_asn for port in plan.switches["p1-l0"].ports.values() if port.peer_device == "s1"} == {4200000999}
    assert plan.switches["p1-l3"].platform == "dell-z9864f-o64"
    assert plan.hosts["gpu001"].mgmt_address == "172.31.9.9/16"
    assert (plan.hosts["gpu001"].rack, plan.hosts["gpu001"].unit) == ("Y1", 3)


def test_one_leaf_of_another_make_has_its_uplinks_where_its_box_has_them(written: Written) -> None:
    devices = "devices:\n  p1-l3: {platform: arista-7060x6-64pe-b-p32o64}\n"
    plan = load_plan(written("lab", ("qos: {profile: sakura}", devices)))
    first = {
        name: next(port.name for port in plan.switches[name].ports.values() if port.use is PortUse.FABRIC)
        for name in ("p1-l2", "p1-l3")
    }
    assert first == {"p1-l2": "Ethernet256", "p1-l3": "Ethernet0"}
    assert plan.hosts["gpu001"].nics["rail3"].switch_port == "Ethernet256"


def test_room_in_pieces_is_used(written: Written) -> None:
    path = written("lab", ("count: 2, links: 2", "count: 2, links: 1"))
    load_plan(path, write_ledger=True)
    ledger = path.with_name("lab.ledger.yaml")
    # A port in the middle of the uplinks is taken: cages 34 to 63 minus 36 to 62 leave pieces of 2 and 1.
    text = ledger.read_text().replace("lower_slot: 32", "lower_slot: 34")
    ledger.write_text(text)
    plan = load_plan(written("lab", ("count: 2, links: 2", "count: 16, links: 2")))
    for rail in range(4):
        leaf = plan.switches[f"p1-l{rail}"]
        used = [port for port in leaf.ports.values() if port.use is PortUse.FABRIC]
        assert len(used) == 32
        assert {port.peer_device for port in used} == {f"s{n}" for n in range(16)}


def test_options_of_the_fabric_reach_the_plan(written: Written) -> None:
    extra = """qos: {profile: vendor-low, ecn_max_bytes: 2000000, mtu: 9216, host_mtu: 9000, watchdog_action: alert}
routing: {mode: frr-mgmt, bfd: true, keepalive_s: 1, hold_s: 3, maximum_paths: 32, weighted_ecmp: true,
  prefix_limit: 100}
services: {ntp: [192.0.2.1, ntp.example.org], syslog: [192.0.2.2], dns: [192.0.2.3]}
"""
    plan = load_plan(written("lab", ("qos: {profile: sakura}", extra)))
    assert (plan.qos.ecn.min_bytes, plan.qos.ecn.max_bytes, plan.qos.ecn.probability) == (150000, 2000000, 100)
    assert (plan.qos.mtu, plan.qos.host_mtu, plan.qos.watchdog_action) == (9216, 9000, "alert")
    assert plan.hosts["gpu001"].nics["rail0"].mtu == 9000
    assert plan.switches["s0"].ports["Ethernet0"].mtu == 9216
    routing = plan.routing
    assert (routing.mode, routing.bfd, routing.keepalive_s, routing.hold_s) == ("frr-mgmt", True, 1, 3)
    assert (routing.maximum_paths, routing.weighted_ecmp, routing.prefix_limit) == (32, True, 100)
    assert (plan.services.ntp, plan.services.syslog, plan.services.dns) == (
        ("192.0.2.1", "ntp.example.org"), ("192.0.2.2",), ("192.0.2.3",),
    )  # fmt: skip
    assert plan.services.mgmt_network == "172.31.0.0/16"


def test_hosts_given_by_number_keep_their_names(written: Written) -> None:
    pools = ("[10.101.0.0/16]", "[10.101.0.0/16, 10.102.0.0/16]")
    path = written("lab", ("nodes: gpu[001-004]", "nodes: 3"), pools)
    first = load_plan(path, write_ledger=True)
    assert list(first.hosts) == ["gpu001", "gpu002", "gpu003"]
    more = written("lab", ("- nodes: gpu[001-004]", "- nodes: 5\n    - nodes: 2"),
                   ("[10.101.0.0/16]", "[10.101.0.0/16, 10.102.0.0/16]"))  # fmt: skip
    second = load_plan(more, write_ledger=True)
    assert {name: (host.pod, host.place) for name, host in second.hosts.items()} == {
        "gpu001": (1, 0), "gpu002": (1, 1), "gpu003": (1, 2), "gpu004": (1, 3), "gpu005": (1, 4),
        "gpu006": (2, 0), "gpu007": (2, 1),
    }  # fmt: skip
    fewer = load_plan(written("lab", ("nodes: gpu[001-004]", "nodes: 2"), pools))
    assert list(fewer.hosts) == ["gpu001", "gpu002"]


def test_a_removed_host_comes_back_to_its_place(written: Written) -> None:
    path = written("lab")
    before = load_plan(path, write_ledger=True)
    gone = load_plan(written("lab", ("gpu[001-004]", "'gpu[001,003-004]'")), write_ledger=True)
    assert gone.switches["p1-l0"].ports["Ethernet4"].use is PortUse.UNUSED
    new = load_plan(written("lab", ("gpu[001-004]", "'gpu[001,003-004],late1'")), write_ledger=True)
    assert new.hosts["late1"].place == 4
    assert load_plan(written("lab")).hosts == before.hosts


def test_fewer_parallel_links_keep_the_others_where_they_are(written: Written) -> None:
    before = load_plan(written("lab"), write_ledger=True)
    after = load_plan(written("lab", ("count: 2, links: 2", "count: 2, links: 1")))
    assert len([cable for cable in after.cables.values() if cable.kind is PortUse.FABRIC]) == 8
    assert after.cables.items() <= before.cables.items()


def test_storage_hosts_and_servers_grow_without_moving(written: Written) -> None:
    before = load_plan(written("sakuraone"), write_ledger=True)
    bigger = written(
        "sakuraone",
        ('{nodes: "es[1-4]", ports: 4', '{nodes: "es[1-6]", ports: 4'),
        ('- {nodes: "gpu[001-050]"', '- {nodes: "gpu[001-050],gpu200"'),
        ("places: 64", "places: 66"),
        ("server_pools: [10.121.0.0/28, 10.121.1.0/28]",
         "server_pools: [10.121.0.0/28, 10.121.1.0/28]"),
    )  # fmt: skip
    with pytest.raises(AllocationError) as caught:
        load_plan(bigger)
    assert "no 1 free ports of 400G on p1-l[0-7]" in str(caught.value)
    assert "no 1 free addresses in the node pools" in str(caught.value)
    assert "no 4 free addresses in the server pools" in str(caught.value)
    bigger = written(
        "sakuraone",
        ('{nodes: "es[1-4]", ports: 4', '{nodes: "es[1-4]", ports: 4'),
        ('reserve: "gpu[115-128]"', 'reserve: "gpu[115-127]"'),
    )
    after = load_plan(bigger)
    assert "gpu128" not in after.hosts
    assert after.hosts.items() <= before.hosts.items()


def test_a_plan_survives_json(written: Written) -> None:
    plan = load_plan(written("sakuraone"))
    assert codec.loads(Plan, codec.dumps(plan), "plan.json") == plan


def test_the_networks_share_no_switch(written: Written) -> None:
    plan = load_plan(written("sakuraone"))
    for cable in plan.cables.values():
        for end in (cable.a_device, cable.b_device):
            if end in plan.switches:
                assert plan.switches[end].network is cable.network
    for host in plan.hosts.values():
        storage = [nic.switch for nic in host.nics.values() if nic.network is Network.STORAGE]
        assert set(storage) == {"st0", "st1"}
