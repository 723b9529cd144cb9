"""Synthetic snapshots: what the plan says is what is seen, and a fault changes exactly what it must."""

from __future__ import annotations

import pytest

from fabric.errors import InputError
from fabric.values.codec import dumps, loads
from fabric.values.finding import Place
from fabric.values.plan import Plan
from fabric.values.snapshot import NextHop, Snapshot, SwitchState
from fabric.whatif import faults as f
from fabric.whatif.synthetic import Synthetic, healthy, merged, place
from tests.whatif.clos import clos


@pytest.fixture(scope="module")
def plan() -> Plan:
    return clos()


@pytest.fixture(scope="module")
def fabric(plan: Plan) -> Synthetic:
    return Synthetic(plan, hosts=True)


@pytest.fixture(scope="module")
def well(fabric: Synthetic) -> Snapshot:
    return fabric.snapshot()


def hops(state: SwitchState, layer: str, prefix: str) -> set[str]:
    return {hop.port for hop in getattr(state, layer)[prefix].next_hops}


def different(well: Snapshot, broken: Snapshot) -> set[str]:
    return {name for name in well.switches if broken.switches.get(name) is not well.switches[name]}


def test_every_planned_link_is_up_and_every_layer_has_the_full_width(plan: Plan, well: Snapshot) -> None:
    leaf, spine = well.switches["p1-l0"], well.switches["s0"]
    for layer in ("rib", "kernel", "appl", "asic"):
        assert hops(leaf, layer, "10.101.1.0/25") == {"Ethernet256", "Ethernet264", "Ethernet272", "Ethernet280"}
        assert hops(spine, layer, "10.101.1.0/25") == {"Ethernet16", "Ethernet24"}
        assert hops(leaf, layer, "10.255.0.1/32") == {"Ethernet256", "Ethernet264"}
    assert spine.rib is not None
    assert "10.255.0.2/32" not in spine.rib, "a spine never holds another spine's loopback: one ASN"
    assert leaf.ports is not None
    assert {name for name, port in leaf.ports.items() if not port.oper_up} == {"Ethernet8"}, "the spare place"
    for name, state in well.switches.items():
        assert state.bgp is not None
        assert all(peer.state == "Established" for peer in state.bgp.values())
        assert len(state.bgp) == len(list(plan.switches[name].sessions()))


def test_prefixes_received_are_those_that_have_this_next_hop(well: Snapshot) -> None:
    for state in well.switches.values():
        assert state.bgp is not None
        assert state.rib is not None
        for address, peer in state.bgp.items():
            using = [r for r in state.rib.values() if any(hop.address == address for hop in r.next_hops)]
            assert peer.prefixes_received == len(using)
        learned = [route for route in state.rib.values() if route.protocol == "bgp"]
        own = [route for route in state.rib.values() if route.prefix.startswith("10.255") or route.blackhole]
        own = [route for route in own if route.protocol != "bgp"]
        sent = next(iter(state.bgp.values())).prefixes_sent
        assert sent == (len(own) if state.device.startswith("p") else len(learned) + len(own))


def test_lldp_rows_are_what_sonic_and_hosts_send(well: Snapshot) -> None:
    leaf = well.switches["p1-l0"]
    assert leaf.lldp is not None
    rows = {row.local_port: row for row in leaf.lldp}
    assert rows["Ethernet0"].system_name == "gpu001"
    assert rows["Ethernet0"].port_subtype == "mac"
    assert rows["Ethernet0"].port_description == "ens0f0np0"
    assert (rows["Ethernet256"].system_name, rows["Ethernet256"].port_id) == ("s0", "etp1")
    assert rows["Ethernet256"].chassis_id == well.switches["s0"].chassis_id
    assert "Ethernet8" not in rows
    host = well.hosts["gpu001"].lldp
    assert host is not None
    assert [(row.local_port, row.system_name, row.port_id) for row in host] == [
        ("ens0f0np0", "p1-l0", "etp1a"),
        ("ens1f0np0", "p1-l1", "etp1a"),
    ]


def test_a_snapshot_survives_its_file(well: Snapshot) -> None:
    again = loads(Snapshot, dumps(well), "x")
    assert again == well


def test_swapped_host_cables_are_seen_at_both_leaves_and_nowhere_else(fabric: Synthetic, well: Snapshot) -> None:
    broken = fabric.snapshot([f.Swap(place("p1-l0:Ethernet0"), place("p1-l1:Ethernet0"))])
    assert different(well, broken) == {"p1-l0", "p1-l1"}
    rows = {row.local_port: row for row in broken.switches["p1-l0"].lldp or ()}
    assert (rows["Ethernet0"].system_name, rows["Ethernet0"].port_description) == ("gpu001", "ens1f0np0")
    assert [(row.local_port, row.system_name) for row in broken.hosts["gpu001"].lldp or ()] == [
        ("ens0f0np0", "p1-l1"),
        ("ens1f0np0", "p1-l0"),
    ]
    assert broken.switches["p1-l0"].bgp == well.switches["p1-l0"].bgp


def test_swapping_back_is_healthy(fabric: Synthetic, well: Snapshot) -> None:
    swap = f.Swap(place("p1-l0:Ethernet0"), place("p1-l1:Ethernet4"))
    assert fabric.snapshot([swap, swap]) == well


def test_three_plugs_in_a_ring(fabric: Synthetic) -> None:
    a, b, c = (Place("p1-l0", "Ethernet0"), Place("p1-l0", "Ethernet4"), Place("p1-l1", "Ethernet0"))
    broken = fabric.snapshot([f.Replug({a: b, b: c, c: a})])
    seen = {
        (name, row.local_port): (row.system_name, row.port_description)
        for name in ("p1-l0", "p1-l1")
        for row in broken.switches[name].lldp or ()
    }
    assert seen["p1-l0", "Ethernet4"] == ("gpu001", "ens0f0np0")
    assert seen["p1-l1", "Ethernet0"] == ("gpu002", "ens0f0np0")
    assert seen["p1-l0", "Ethernet0"] == ("gpu001", "ens1f0np0")


def test_swapped_parallel_links_lose_both_sessions(fabric: Synthetic) -> None:
    broken = fabric.snapshot([f.Swap(place("p1-l0:Ethernet256"), place("p1-l0:Ethernet264"))])
    leaf = broken.switches["p1-l0"]
    assert [peer.state for peer in (leaf.bgp or {}).values()] == ["Active", "Active", "Established", "Established"]
    assert hops(leaf, "rib", "10.101.1.0/25") == {"Ethernet272", "Ethernet280"}
    assert leaf.ports is not None
    assert leaf.ports["Ethernet256"].oper_up


def test_a_host_plug_in_a_spine_port_does_not_come_up(fabric: Synthetic) -> None:
    broken = fabric.snapshot([f.Swap(place("p1-l0:Ethernet0"), place("p1-l0:Ethernet256"))])
    ports = broken.switches["p1-l0"].ports
    assert ports is not None
    assert not ports["Ethernet0"].oper_up
    assert not ports["Ethernet256"].oper_up


def test_a_cut_takes_one_next_hop_at_both_ends(fabric: Synthetic, well: Snapshot) -> None:
    broken = fabric.snapshot([f.Cut(place("p1-l0:Ethernet256"))])
    assert different(well, broken) == {"p1-l0", "s0"}
    for layer in ("rib", "kernel", "appl", "asic"):
        assert hops(broken.switches["p1-l0"], layer, "10.101.1.0/25") == {"Ethernet264", "Ethernet272", "Ethernet280"}
        assert hops(broken.switches["s0"], layer, "10.101.0.0/25") == {"Ethernet8"}
    ports = broken.switches["p1-l0"].ports
    assert ports is not None
    assert (ports["Ethernet256"].oper_up, ports["Ethernet256"].flap_count) == (False, 2)


def test_losing_every_link_of_a_pair_removes_that_spine_for_the_leaf_and_the_leaf_for_the_spine(
    fabric: Synthetic,
) -> None:
    broken = fabric.snapshot([f.Cut(place("p1-l0:Ethernet256")), f.Cut(place("p1-l0:Ethernet264"))])
    assert hops(broken.switches["p1-l0"], "rib", "10.101.1.0/25") == {"Ethernet272", "Ethernet280"}
    assert hops(broken.switches["p1-l1"], "rib", "10.101.0.0/25") == {"Ethernet272", "Ethernet280"}
    spine = broken.switches["s0"].rib
    assert spine is not None
    assert "10.101.0.0/25" not in spine, "the way through another leaf carries the spine's own ASN"


def test_flap_counts_both_ends_and_both_ways(fabric: Synthetic, well: Snapshot) -> None:
    broken = fabric.snapshot([f.Flap(place("p1-l0:Ethernet256"), times=3)])
    for device, port in (("p1-l0", "Ethernet256"), ("s0", "Ethernet0")):
        ports, before = broken.switches[device].ports, well.switches[device].ports
        assert ports is not None
        assert before is not None
        assert (ports[port].flap_count or 0) - (before[port].flap_count or 0) == 6
        assert ports[port].oper_up
    peers = broken.switches["p1-l0"].bgp
    assert peers is not None
    assert (peers["10.254.0.1"].dropped, peers["10.254.0.1"].state) == (3, "Established")


@pytest.mark.parametrize("layer", ["rib", "kernel", "appl", "asic"])
def test_a_next_hop_is_lost_in_one_layer_only(fabric: Synthetic, well: Snapshot, layer: str) -> None:
    broken = fabric.snapshot([f.LoseNextHop("p1-l0", "10.101.1.0/25", "10.254.0.3", layer)])
    assert different(well, broken) == {"p1-l0"}
    for other in ("rib", "kernel", "appl", "asic"):
        expected = 3 if other == layer else 4
        assert len(hops(broken.switches["p1-l0"], other, "10.101.1.0/25")) == expected
    without = fabric.snapshot([f.LoseRoute("p1-l0", "10.101.1.0/25", layer)])
    table = getattr(without.switches["p1-l0"], layer)
    assert "10.101.1.0/25" not in table
    assert "10.101.1.0/25" not in dict(table)
    assert len(table) == len(getattr(well.switches["p1-l0"], layer)) - 1


def test_stale_groups_leave_one_member_in_the_kernel(fabric: Synthetic) -> None:
    leaf = fabric.snapshot([f.StaleGroups("p1-l0")]).switches["p1-l0"]
    assert hops(leaf, "kernel", "10.101.1.0/25") == {"Ethernet256"}
    assert len(hops(leaf, "rib", "10.101.1.0/25")) == 4


def test_dead_bgpd_is_a_hole_there_and_lost_sessions_at_its_peers(fabric: Synthetic) -> None:
    broken = fabric.snapshot([f.BgpdDown("s1")])
    assert broken.switches["s1"].bgp is None
    assert broken.switches["s1"].hole("bgp") == "bgpd is not running"
    assert hops(broken.switches["p1-l0"], "rib", "10.101.1.0/25") == {"Ethernet256", "Ethernet264"}
    states = {peer.peer: peer.state for peer in (broken.switches["p1-l0"].bgp or {}).values()}
    assert states == {
        "10.254.0.1": "Established", "10.254.0.3": "Established", "10.254.0.5": "Active", "10.254.0.7": "Active",
    }  # fmt: skip


def test_a_dead_leaf_is_missing_and_dark_at_its_neighbours(fabric: Synthetic) -> None:
    broken = fabric.snapshot([f.Dead("p1-l0")])
    assert broken.missing == {"p1-l0": "no route to host"}
    assert "p1-l0" not in broken.switches
    ports = broken.switches["s0"].ports
    assert ports is not None
    assert [name for name, port in ports.items() if not port.oper_up] == ["Ethernet0", "Ethernet8"]
    nics = broken.hosts["gpu001"].nics
    assert nics is not None
    assert [nic.oper_up for nic in nics.values()] == [False, True]


def test_lldp_silence_is_one_row_less_at_each_end(fabric: Synthetic, well: Snapshot) -> None:
    broken = fabric.snapshot([f.NoLldp(place("s0:Ethernet0"))])
    for name, port in (("s0", "Ethernet0"), ("p1-l0", "Ethernet256")):
        missing = set(well.switches[name].lldp or ()) - set(broken.switches[name].lldp or ())
        assert [row.local_port for row in missing] == [port]
    one_way = fabric.snapshot([f.NoLldpSeen(place("s0:Ethernet0"))])
    assert len(one_way.switches["s0"].lldp or ()) == 3
    assert len(one_way.switches["p1-l0"].lldp or ()) == 6


def test_errors_pauses_and_sensors_reach_their_counters(fabric: Synthetic) -> None:
    at = place("p1-l0:Ethernet0")
    leaf = fabric.snapshot(
        [
            f.BitErrors(at, 3e-5, uncorrectable_per_s=2, since_s=60),
            f.PfcStorm(at, 3),
            f.Counter(at, "pgs", "DROPPED_PACKETS", 7, key=3),
            f.Sensor(at, "rx1power", -9.5, flag="rxpowerlowalarm1"),
            f.Setting(at, "mtu", 1500),
        ]
    ).switches["p1-l0"]
    assert leaf.rates is not None
    assert leaf.counters is not None
    assert leaf.queues is not None
    assert leaf.pgs is not None
    assert leaf.optics is not None
    assert leaf.ports is not None
    assert leaf.rates["Ethernet0"]["FEC_PRE_BER"] == 3e-5
    assert leaf.counters["Ethernet0"]["IF_IN_FEC_NOT_CORRECTABLE_FRAMES"] == 120
    assert leaf.queues["Ethernet0:3"]["PFC_WD_STATUS"] == "stormed"
    assert leaf.queues["Ethernet4:3"]["PFC_WD_STATUS"] == "operational"
    assert leaf.pgs["Ethernet0:3"]["DROPPED_PACKETS"] == 7
    assert leaf.optics["Ethernet0"].sensors["rx1power"] == -9.5
    assert leaf.optics["Ethernet0"].flags == ("rxpowerlowalarm1",)
    assert leaf.ports["Ethernet0"].mtu == 1500
    assert leaf.ports["Ethernet0"].oper_up, "an MTU does not take a link down"


def test_an_unequal_fec_takes_the_link_down_at_both_ends(fabric: Synthetic) -> None:
    broken = fabric.snapshot([f.Setting(place("s0:Ethernet0"), "fec", "none")])
    for name, port in (("s0", "Ethernet0"), ("p1-l0", "Ethernet256")):
        ports = broken.switches[name].ports
        assert ports is not None
        assert ports[port].oper_up is False


def test_a_reboot_restarts_counters_and_is_seen_next_door(fabric: Synthetic, well: Snapshot) -> None:
    broken = fabric.snapshot([f.Rebooted("s0", when=well.ended_at - 200)])
    spine = broken.switches["s0"]
    assert spine.uptime_s == 200
    assert spine.counters is not None
    before = well.switches["s0"].counters
    assert before is not None
    assert 0 < spine.counters["Ethernet0"]["IF_IN_OCTETS"] < before["Ethernet0"]["IF_IN_OCTETS"]
    ports = broken.switches["p1-l0"].ports
    assert ports is not None
    assert ports["Ethernet256"].flap_count == 3
    assert ports["Ethernet256"].last_down_time == well.ended_at - 200


def test_parts_and_devices_can_be_missing_with_a_reason(fabric: Synthetic) -> None:
    broken = fabric.snapshot([f.Missing("s0", "lldp"), f.Unreachable("s1"), f.Missing("gpu001", "lldp", "no lldpd")])
    assert broken.switches["s0"].lldp is None
    assert broken.switches["s0"].hole("lldp") == "timed out after 10 s"
    assert broken.missing == {"s1": "no answer in 20 s"}
    assert broken.hosts["gpu001"].holes[0].reason == "no lldpd"
    assert hops(broken.switches["p1-l0"], "rib", "10.101.1.0/25") >= {"Ethernet272"}


def test_lldp_rows_can_be_dressed_up(fabric: Synthetic) -> None:
    at = place("p1-l0:Ethernet0")
    rows = (
        fabric.snapshot(
            [f.LldpRow(at, {"system_name": "gpu001.dc.example.net"}), f.LldpRow(at, {"system_name": ""}, extra=True)]
        )
        .switches["p1-l0"]
        .lldp
        or ()
    )
    assert [row.system_name for row in rows if row.local_port == "Ethernet0"] == ["gpu001.dc.example.net", ""]


def test_counters_grow_between_two_times(fabric: Synthetic) -> None:
    first, second = fabric.snapshot(at=1_790_000_000.0), fabric.snapshot(at=1_790_000_060.0)
    a, b = first.switches["s0"].counters, second.switches["s0"].counters
    assert a is not None
    assert b is not None
    grown = b["Ethernet0"]["IF_IN_OCTETS"] - a["Ethernet0"]["IF_IN_OCTETS"]
    assert grown == pytest.approx(800e9 / 8 * 0.4 * 60)


@pytest.mark.parametrize(
    "fault",
    [
        f.Swap(Place("p1-l0", "Ethernet999"), Place("p1-l0", "Ethernet0")),
        f.Cut(Place("gpu001", "rail9")),
        f.Dead("nobody"),
        f.BgpdDown("gpu001"),
        f.LoseNextHop("p1-l0", "192.0.2.0/24", "10.254.0.1", "rib"),
        f.LoseNextHop("p1-l0", "10.101.1.0/25", "192.0.2.1", "rib"),
        f.LoseRoute("p1-l0", "10.101.1.0/25", "brain"),
        f.Replug({Place("p1-l0", "Ethernet0"): Place("p1-l0", "Ethernet4")}),
        f.Counter(Place("p1-l0", "Ethernet0"), "queues", "PACKETS", 1),
    ],
)
def test_impossible_faults_are_refused(fabric: Synthetic, fault: f.Fault) -> None:
    with pytest.raises(InputError):
        fabric.snapshot([fault])


def test_place_is_read_from_text() -> None:
    assert place("p1-l0:Ethernet0") == Place("p1-l0", "Ethernet0")
    for text in ("", "a", "a:", ":b"):
        with pytest.raises(InputError):
            place(text)


def test_parts_of_a_fabric_merge(well: Snapshot) -> None:
    assert merged([well, well]) == well


def test_next_hop_of_dual_stack_and_unnumbered_have_an_address(plan: Plan) -> None:
    from dataclasses import replace

    unnumbered = replace(plan, routing=replace(plan.routing, unnumbered=True))
    leaf = healthy(unnumbered).switches["p1-l0"]
    assert set(leaf.bgp or {}) == {"Ethernet256", "Ethernet264", "Ethernet272", "Ethernet280"}
    rib = leaf.rib
    assert rib is not None
    assert NextHop("fe80::0200:5eff:fe00:0002", "Ethernet256") in rib["10.101.1.0/25"].next_hops


def test_one_fault_in_a_fabric_of_the_size_of_sakuraone_touches_one_row() -> None:
    fabric = Synthetic(clos(pods=2, rails=8, spines=8, parallel=4, nodes=50, spares=14))
    fabric.snapshot()
    broken = fabric.snapshot([f.Swap(place("p1-l0:Ethernet0"), place("p1-l3:Ethernet0"))])
    rib = broken.switches["p1-l0"].rib
    assert rib is not None
    assert len(rib["10.102.7.0/25"].next_hops) == 32
    assert len((broken.switches["s0"].rib or {})["10.102.7.0/25"].next_hops) == 4
