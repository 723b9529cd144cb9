"""Every real SONiC state file is read right: values below were read in the files by eye, not by the parsers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fabric.collect import parse_counters, parse_frr, parse_lldp, parse_optics, parse_ports, parse_routes, parse_system
from fabric.collect.tables import Database, from_flat
from fabric.errors import CollectError
from fabric.values.snapshot import FibRoute, NextHop


def flat(shared: Path, name: str) -> Database:
    return from_flat(json.loads((shared / "real" / name).read_text()))


def text(shared: Path, name: str) -> str:
    return (shared / "real" / name).read_text()


# State databases


def test_appl_db_ports(shared: Path) -> None:
    database = flat(shared, "state/appl_db.json")
    state = flat(shared, "state/state_db.json")
    ports = parse_ports.ports(database.table("PORT_TABLE:"), state.table("PORT_TABLE|"), done_marker=False)
    assert len(ports) == 12
    port = ports["Ethernet0"]
    assert (port.oper_up, port.admin_up, port.speed_mbps, port.mtu, port.fec) == (False, True, 25000, 9100, "rs")
    assert (port.oper_speed_mbps, port.oper_fec, port.lanes, port.alias) == (100000, "rs", (0,), "Ethernet0")
    assert (port.flap_count, port.autoneg, port.description) == (3, "on", "ARISTA01T2:Ethernet1")
    # Sat Jan 18 00:08:42 2025 UTC, and the "Sat Jan 17" that really was a Friday.
    assert port.last_up_time == 1737158922.0
    assert port.last_down_time == 1737072282.0
    assert not parse_ports.is_front_panel("Ethernet-IB0")
    with pytest.raises(CollectError, match="PortInitDone"):
        parse_ports.ports(database.table("PORT_TABLE:"), {})
    assert parse_ports.switch_table(database.table("SWITCH_TABLE:")) == {"vxlan_port": "13550"}


def test_state_db_port_errors(shared: Path) -> None:
    errors = parse_ports.errors_by_port(flat(shared, "state/state_db.json").table("PORT_OPERR_TABLE|"))
    assert errors["Ethernet72"] == {}
    assert errors["Ethernet64"]["mac_remote_fault_count"] == "14483"
    assert errors["Ethernet64"]["mac_local_fault_time"] == "2025-01-17 18:40:56"


def test_state_db_optics(shared: Path) -> None:
    optics = parse_optics.optics(flat(shared, "state/state_db.json").hashes)
    first = optics["Ethernet0"]
    assert (first.kind, first.vendor, first.model) == ("QSFP28 or later", "Mellanox", "MFA1A00-C003")
    assert (first.serial, first.cable_m, first.present) == ("MT1706FT02064", 3.0, True)
    assert first.sensors["rx2power"] == -0.4871
    assert first.sensors["temperature"] == 30.9258
    assert "tx1power" not in first.sensors, "N/A is no number"
    assert first.thresholds["rxpowerlowalarm"] == -13.5067
    assert first.error == "Blocking Error|High temperature"
    eighth = optics["Ethernet8"]
    assert eighth.sensors["rx3power"] == -22.9243
    assert eighth.sensors["laser_temperature"] == 47.7265625
    assert eighth.thresholds["txbiashighalarm"] == 14.996
    coherent = optics["Ethernet44"]
    assert coherent.state == "READY"
    assert coherent.error == ""
    assert coherent.flags == ()


def test_state_db_identity(shared: Path) -> None:
    rows = flat(shared, "state/state_db.json").table("EEPROM_INFO|")
    assert parse_system.eeprom(rows) == ("TH0F6N2RCET0007600NG", "0c:29:ef:cf:ac:a0")


def test_t1_state_db_in_redis_dump_form(shared: Path) -> None:
    database = flat(shared, "state/t1/state_db.json")
    optics = parse_optics.optics(database.hashes)
    assert len(optics) == 34
    assert (optics["Ethernet0"].vendor, optics["Ethernet0"].serial) == ("Molex", "901120073")
    assert optics["Ethernet0"].sensors["rx1power"] == -40.0, "-inf: no light at all"
    assert optics["Ethernet0"].sensors["voltage"] == 0.0


def test_counters_db(shared: Path) -> None:
    database = flat(shared, "state/counters_db.json")
    counters = parse_counters.port_counters(database)
    assert set(counters) == {"Ethernet0", "Ethernet4", "Ethernet8"}
    first = counters["Ethernet0"]
    assert (first["IF_IN_OCTETS"], first["IF_IN_ERRORS"], first["IF_IN_DISCARDS"]) == (800, 10, 100)
    assert (first["PFC_3_RX_PKTS"], first["PFC_3_TX_PKTS"]) == (203, 213)
    assert first["IF_IN_FEC_NOT_CORRECTABLE_FRAMES"] == 3
    assert [first[f"IF_IN_FEC_CODEWORD_ERRORS_S{n}"] for n in (0, 7, 8)] == [1000000, 300000, 0]
    assert first["EST_PFC_3_RX_PAUSE_DURATION_US"] == 20000003
    rates = parse_counters.port_rates(database)
    assert rates["Ethernet0"] == {"RX_BPS": 2e9, "RX_PPS": 247e3, "TX_BPS": 1.5e9, "TX_PPS": 183e3}


def test_counters_db_queues_groups_and_watchdog(shared: Path) -> None:
    database = flat(shared, "state/counters_db.json")
    queues = parse_counters.queues(database)
    stormed = queues["Ethernet0:3"]
    assert stormed["PFC_WD_STATUS"] == "stormed"
    assert stormed["PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"] == 1
    assert stormed["WRED_ECN_MARKED_PACKETS"] == 19
    assert stormed["DROPPED_PACKETS"] == 19
    assert queues["Ethernet4:3"]["PFC_WD_STATUS"] == "operational"
    types = database.hashes["COUNTERS_QUEUE_TYPE_MAP"]
    names = database.hashes["COUNTERS_QUEUE_NAME_MAP"]
    assert set(queues) == {name for name, oid in names.items() if types[oid] != "SAI_QUEUE_TYPE_MULTICAST"}
    assert parse_counters.priority_groups(database)["Ethernet0:3"] == {"DROPPED_PACKETS": 803}


def test_counters_db_watermarks(shared: Path) -> None:
    marks = parse_counters.watermarks(flat(shared, "state/counters_db.json"))
    assert marks["queue:Ethernet0:0"] == {
        "USER_SHARED_WATERMARK_BYTES": 2057328, "PERSISTENT_SHARED_WATERMARK_BYTES": 3057328,
    }  # fmt: skip
    assert marks["pg:Ethernet0:3"]["USER_XOFF_ROOM_WATERMARK_BYTES"] == 103
    assert marks["pool:ingress_lossless_pool"] == {
        "USER_WATERMARK_BYTES": 3000, "USER_XOFF_ROOM_WATERMARK_BYTES": 432640,
        "PERSISTENT_WATERMARK_BYTES": 4000, "PERSISTENT_XOFF_ROOM_WATERMARK_BYTES": 863616,
    }  # fmt: skip


def test_t1_counters_db(shared: Path) -> None:
    raw = json.loads(text(shared, "state/t1/counter_db.json"))
    database = from_flat(raw)
    names = raw["COUNTERS_PORT_NAME_MAP"]["value"]
    counters = parse_counters.port_counters(database)
    assert set(counters) == set(names)
    for port, oid in names.items():
        expected = raw[f"COUNTERS:{oid}"]["value"]["SAI_PORT_STAT_IF_IN_UCAST_PKTS"]
        assert counters[port]["IF_IN_UCAST_PKTS"] == int(expected)
    assert len(parse_counters.queues(database)) > 100
    assert len(parse_counters.priority_groups(database)) == len(raw["COUNTERS_PG_NAME_MAP"]["value"])


def test_flat_config_db(shared: Path) -> None:
    tables = parse_system.config(flat(shared, "state/flat-config_db.json").hashes)
    metadata = tables["DEVICE_METADATA"]["localhost"]
    assert metadata["hwsku"] == "Mellanox-SN3800-D112C8"
    assert len(tables["PORT"]) == 32
    assert len(tables["QUEUE"]) == 203
    assert isinstance(next(iter(tables["ACL_TABLE"].values())).get("ports"), list)


def test_multi_asic_files(shared: Path) -> None:
    database = flat(shared, "state/multi-asic/appl_db.json")
    ports = parse_ports.ports(database.table("PORT_TABLE:"), {}, done_marker=False)
    assert "Ethernet-BP0" in ports
    assert [name for name in ports if parse_ports.is_front_panel(name)] == [
        name for name in ports if re.fullmatch(r"Ethernet\d+", name)
    ]
    tables = parse_system.config(flat(shared, "state/multi-asic/config_db.json").hashes)
    assert tables["DEVICE_METADATA"]["localhost"]["sub_role"] == "FrontEnd"


# Routes


def test_routes_of_appl_db(shared: Path) -> None:
    database = flat(shared, "state/route/appl_db.json")
    routes = parse_routes.appl(
        database.table("ROUTE_TABLE:"), database.table("NEXTHOP_GROUP_TABLE:"),
        database.table("CLASS_BASED_NEXT_HOP_GROUP_TABLE:"),
    )  # fmt: skip
    assert routes["1.1.1.0/24"].next_hops == (NextHop("", "Ethernet0"),)
    assert routes["10.1.0.32/32"].next_hops == (NextHop("", "Loopback0"),)
    assert routes["20.0.0.0/24"].next_hops == (NextHop("1.1.1.2", "Ethernet0"),)
    assert [(hop.address, hop.port) for hop in routes["20c0:e6e0:0:80::/64"].next_hops] == [
        ("fc00::72", "PortChannel0001"), ("fc00::76", "PortChannel0002"),
        ("fc00::7a", "PortChannel0003"), ("fc00::7e", "PortChannel0004"),
    ]  # fmt: skip
    assert routes["192.168.0.0/22"].next_hops == routes["20c0:e6e0:0:80::/64"].next_hops
    assert routes["10.0.0.0/16"].next_hops == (NextHop("10.0.0.1", "Ethernet0"),), "through its next hop group"
    assert routes["10.1.0.0/16"].next_hops == (NextHop("10.0.0.1", "Ethernet0"),), "through a class based group"
    assert all(not route.unresolved for route in routes.values())


def test_routes_of_asic_db_down_to_ports(shared: Path) -> None:
    objects = flat(shared, "state/route/asic_db.json").table("ASIC_STATE:SAI_OBJECT_TYPE_")
    ports = {"Ethernet0": "oid:0x1000000000170"}
    lags = {f"PortChannel000{n}": f"oid:0x200000000059{c}" for n, c in ((1, "9"), (2, "a"), (3, "b"), (4, "c"))}
    routes = parse_routes.asic(objects, ports, lags)
    assert routes["0.0.0.0/0"] == FibRoute("0.0.0.0/0", (), blackhole=True)
    assert routes["1.1.1.1/32"].local
    assert routes["1.1.1.0/24"].next_hops == (NextHop("", "Ethernet0"),)
    assert routes["10.212.0.0/16"].next_hops == (NextHop("1.1.1.2", "Ethernet0"),)
    group = routes["20c0:e6e0:0:80::/64"]
    assert {(hop.address, hop.port) for hop in group.next_hops} == {
        ("fc00::72", "PortChannel0001"), ("fc00::76", "PortChannel0002"),
        ("fc00::7a", "PortChannel0003"), ("fc00::7e", "PortChannel0004"),
    }  # fmt: skip
    assert group.unresolved == ()
    assert routes["192.168.0.0/22"].next_hops == group.next_hops


def test_a_chain_of_asic_db_that_leads_nowhere_is_said(shared: Path) -> None:
    objects = flat(shared, "state/route/asic_db.json").table("ASIC_STATE:SAI_OBJECT_TYPE_")
    routes = parse_routes.asic(objects, {}, {})
    assert routes["10.212.0.0/16"].next_hops == (NextHop("1.1.1.2", ""),)
    assert routes["10.212.0.0/16"].unresolved == ("no name for oid:0x1000000000170",)
    del objects["NEXT_HOP:oid:0x400000000066f"]
    lags = {f"PortChannel000{n}": f"oid:0x200000000059{c}" for n, c in ((1, "9"), (2, "a"), (3, "b"), (4, "c"))}
    group = parse_routes.asic(objects, {"Ethernet0": "oid:0x1000000000170"}, lags)["20c0:e6e0:0:80::/64"]
    assert group.unresolved == ("NEXT_HOP:oid:0x400000000066f",)
    assert len(group.next_hops) == 3


def test_asic_db_sample_with_a_tunnel(shared: Path) -> None:
    objects = flat(shared, "state/asic_db.json").table("ASIC_STATE:SAI_OBJECT_TYPE_")
    routes = parse_routes.asic(objects, {"Ethernet0": "oid:0x10000000004a4"}, {})
    assert routes["10.3.1.1/32"].unresolved == ("ROUTER_INTERFACE:oid:0x6000000000501",)
    assert routes["10.2.1.1/32"].unresolved == ("NEXT_HOP:oid:0x40000000015d8 is SAI_NEXT_HOP_TYPE_TUNNEL_ENCAP",)
    assert routes["fc00::76/128"].next_hops == ()


# FRR


def test_ip_route_json(shared: Path) -> None:
    routes = parse_frr.rib(text(shared, "routing/ip_route.json"))
    default = routes["0.0.0.0/0"]
    assert (default.protocol, default.installed) == ("bgp", True)
    assert default.next_hops == (NextHop("10.0.0.1", "PortChannel0002"), NextHop("10.0.0.5", "PortChannel0005"))
    raw = json.loads(text(shared, "routing/ip_route.json"))
    assert set(routes) == set(raw)
    connected = routes["10.0.0.0/31"]
    assert connected.protocol == "connected"
    assert connected.next_hops[0].address == ""


def test_ip_special_routes(shared: Path) -> None:
    routes = parse_frr.rib(text(shared, "routing/ip_special_route.json"))
    assert routes["10.3.0.4/31"].blackhole
    assert routes["10.5.0.4/31"].blackhole
    assert routes["10.5.0.8/31"].blackhole
    assert routes["10.6.5.0/31"].queued
    assert not routes["10.6.0.8/31"].queued


@pytest.mark.parametrize("name", ["ip_special_recursive_route.json", "ip_specific_route.json"])
def test_one_route(shared: Path, name: str) -> None:
    raw = json.loads(text(shared, f"routing/{name}"))
    (prefix,) = raw
    route = parse_frr.rib(text(shared, f"routing/{name}"))[prefix]
    expected = sorted(
        (hop["ip"], hop["interfaceName"]) for hop in raw[prefix][0]["nexthops"] if hop.get("fib") and "ip" in hop
    )
    assert sorted((hop.address, hop.port) for hop in route.next_hops) == expected
    assert route.protocol == "bgp"


def test_ipv6_route_json(shared: Path) -> None:
    raw = json.loads(text(shared, "routing/ipv6_route.json"))
    routes = parse_frr.rib(text(shared, "routing/ipv6_route.json"))
    assert set(routes) == set(raw)
    for prefix, entries in raw.items():
        best = next((entry for entry in entries if entry.get("destSelected")), None)
        if best is None:
            assert routes[prefix].next_hops == (), prefix
            continue
        expected = {
            (hop.get("ip", ""), hop.get("interfaceName", ""))
            for hop in best["nexthops"]
            if hop.get("fib") and not hop.get("recursive") and not hop.get("duplicate")
        }
        assert {(hop.address, hop.port) for hop in routes[prefix].next_hops} == expected, prefix


def test_bgp_summary(shared: Path) -> None:
    peers, local = parse_frr.bgp_summary(text(shared, "routing/show_ip_bgp_summary.json"))
    assert local == 65100
    assert set(peers) == {"3.3.3.2", "3.3.3.8", "10.0.0.1"}
    peer = peers["10.0.0.1"]
    assert (peer.state, peer.remote_asn, peer.local_asn) == ("Established", 65222, 65200)
    assert (peer.prefixes_received, peer.prefixes_sent, peer.uptime_s) == (8514, 12, 326.0)
    assert (peer.established, peer.dropped, peer.description) == (1, 0, "ARISTA01T2")


def test_ipv4_bgp_summary(shared: Path) -> None:
    raw: dict[str, Any] = json.loads(text(shared, "routing/ipv4_bgp_summary.json"))
    peers, local = parse_frr.bgp_summary(text(shared, "routing/ipv4_bgp_summary.json"))
    rows = raw["ipv4Unicast"]["peers"]
    assert set(peers) == set(rows)
    assert local == raw["ipv4Unicast"]["as"]
    assert {name: peer.state for name, peer in peers.items()} == {name: row["state"] for name, row in rows.items()}


def test_no_bgp_neighbour_is_an_answer(shared: Path) -> None:
    assert parse_frr.bgp_summary(text(shared, "routing/no_bgp_neigh.json")) == ({}, None)


# LLDP


def test_lldp_entry_table(shared: Path) -> None:
    rows = json.loads(text(shared, "lldp/LLDP_ENTRY_TABLE.json"))
    neighbours, notes = parse_lldp.from_table(from_flat(rows).table("LLDP_ENTRY_TABLE:"))
    assert notes == ()
    assert len(neighbours) == len(rows) - 1
    assert parse_lldp.local_chassis(rows["LLDP_LOC_CHASSIS"]) == "7c:fe:90:63:f4:66"
    first = next(row for row in neighbours if row.local_port == "Ethernet0")
    assert (first.system_name, first.port_id, first.port_subtype) == ("switch13", "Ethernet1", "ifname")
    assert (first.chassis_id, first.chassis_subtype) == ("00:11:22:33:44:55", "mac")
    assert first.port_description == "this is a port description"
    assert first.management_addresses == ("10.3.147.196",)
    assert first.age_s == 18545.0
    assert next(row for row in neighbours if row.local_port == "eth0").management_addresses == ()


def test_lldpctl_of_a_switch_agrees_with_its_database_rows(shared: Path) -> None:
    live = parse_lldp.from_lldpctl(text(shared, "lldp/lldpctl.json"))
    rows, _ = parse_lldp.from_table(
        from_flat(json.loads(text(shared, "lldp/LLDP_ENTRY_TABLE.json"))).table("LLDP_ENTRY_TABLE:")
    )
    by_port = {row.local_port: row for row in live}
    assert len(live) == len(by_port) == len(rows)
    for row in rows:
        seen = by_port[row.local_port]
        assert (seen.system_name, seen.port_id, seen.chassis_id) == (row.system_name, row.port_id, row.chassis_id)
    assert by_port["eth0"].age_s == 5 * 3600 + 9 * 60 + 2


def test_f038_lldpctl_with_and_without_a_system_name(shared: Path) -> None:
    nameless, named = parse_lldp.from_lldpctl(text(shared, "lldp/interface_only.json"))
    assert (nameless.local_port, nameless.system_name, nameless.port_id) == ("Ethernet0", "", "Ethernet1")
    assert nameless.chassis_id == "00:11:22:33:44:55"
    assert nameless.management_addresses == ("10.3.147.196",)
    assert (named.local_port, named.system_name, named.port_id) == ("Ethernet100", "switch13", "Ethernet26")


def test_f037_lldpctl_with_one_interface_as_an_object(shared: Path) -> None:
    (only,) = parse_lldp.from_lldpctl(text(shared, "lldp/lldpctl_mgmt_only.json"))
    assert (only.local_port, only.system_name, only.port_id) == ("eth0", "switchad11", "535")
    assert (only.port_subtype, only.port_description) == ("local", "ge-0/0/15.0")


def test_lldpctl_without_a_neighbour(shared: Path) -> None:
    assert parse_lldp.from_lldpctl(text(shared, "lldp/short_short.json")) == ()


def test_lldpctl_of_gpu_servers(shared: Path) -> None:
    lag, management = parse_lldp.from_lldpctl(text(shared, "lldp/clnet36.json"))
    assert (lag.local_port, lag.system_name, lag.port_id) == ("ens14f0np0", "CL-A052A", "Twenty-FiveGigE1/0/16")
    assert (lag.port_description, lag.age_s) == ("SDN_LAGG", 55 * 86400 + 25 * 60 + 58)
    assert (management.system_name, management.port_id) == ("CL-RLF233", "FourHundredGigE1/0/98")
    (breakout,) = parse_lldp.from_lldpctl(text(shared, "lldp/dracog24.json"))
    assert (breakout.port_id, breakout.system_name) == ("ethernet12a", "TJWQHY_D2_401-C-01-47.VEGS0-0-50")
    assert breakout.management_addresses == ("33.239.145.151", "fdbd:dc41:199:4901::21ef:9197")


def test_json0_of_linux_is_read_and_other_systems_refused(shared: Path) -> None:
    import yaml

    answers = yaml.safe_load(text(shared, "lldp/lldp-linux-eos-junos.yml"))["input"]
    third, fourth = parse_lldp.from_lldpctl(answers["cumulus"])
    assert (third.local_port, third.system_name, third.port_id) == ("swp3", "leaf03", "Ethernet5")
    assert (fourth.local_port, fourth.chassis_id) == ("swp4", "44:38:39:c7:6b:83")
    assert third.management_addresses == ("192.168.121.236",)
    for other in answers:
        if other != "cumulus":
            with pytest.raises(CollectError):
                parse_lldp.from_lldpctl(answers[other])


# Optics as text


def test_show_interfaces_transceiver_eeprom(shared: Path) -> None:
    optics = parse_optics.from_cli_text(text(shared, "optics/show_interfaces_transceiver_eeprom.txt"))
    assert len(optics) == 32
    first = optics["Ethernet0"]
    assert (first.vendor, first.model, first.serial) == ("CISCO-LEONI", "L45593-K218-C20", "LCC2419G92W-B")
    assert (first.cable_m, first.present) == (2.0, True)
    assert [port for port, optic in optics.items() if not optic.present] == [
        "Ethernet232",
        "Ethernet240",
        "Ethernet248",
    ]


def test_every_file_is_covered(shared: Path) -> None:
    here = Path(__file__).read_text()
    for folder in ("state", "lldp", "routing", "optics"):
        for file in (shared / "real" / folder).rglob("*"):
            if file.is_file():
                assert file.name in here, f"{file.name} is read by no test"
