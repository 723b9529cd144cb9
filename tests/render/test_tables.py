"""Rows of a switch follow from the Plan: complete, bare, text only; field cases that touch generation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabric.errors import RenderError
from fabric.render import render_switch
from fabric.values.device_config import Tables
from fabric.values.plan import BufferProfile, LifeState, Plan, PlannedPort, PortUse, RoutingPlan, SwitchPlan
from tests.render.plans import buffers, plan, qos


def tables(of: Plan, name: str = "p1-l0") -> Tables:
    return render_switch(of, name).tables


def with_switch(of: Plan, name: str, **changes: object) -> Plan:
    switch = replace(of.switches[name], **changes)  # type: ignore[arg-type]
    return replace(of, switches={**of.switches, name: switch})


def with_port(of: Plan, name: str, port: str, **changes: object) -> Plan:
    ports = of.switches[name].ports
    return with_switch(of, name, ports={**ports, port: replace(ports[port], **changes)})  # type: ignore[arg-type]


def in_service(switch: SwitchPlan) -> list[PlannedPort]:
    return [
        port
        for port in switch.ports.values()
        if port.use in (PortUse.HOST, PortUse.FABRIC) and port.state is not LifeState.PLANNED
    ]


@pytest.mark.parametrize("name", ["p1-l0", "p1-l1", "s0"])
@pytest.mark.parametrize("maker", ["ours", "sonic"])
def test_every_port_in_service_is_complete(name: str, maker: str) -> None:
    of = plan(buffer_plan=buffers(borrowed_from="dell-z9864f" if maker == "ours" else None))
    got = tables(of, name)
    ports = in_service(of.switches[name])
    assert set(got["PORT"]) == set(of.switches[name].ports)
    assert {key for key in got["PFC_WD"] if key != "GLOBAL"} == {port.name for port in ports}
    for port in ports:
        assert {port.name, *(f"{port.name}|{address}" for address in port.addresses)} <= set(got["INTERFACE"])
        assert got["PORT_QOS_MAP"][port.name]["pfc_enable"] == "3"
        assert got["PORT_QOS_MAP"][port.name]["pfcwd_sw_enable"] == "3"
        assert [key for key in got["QUEUE"] if key.startswith(f"{port.name}|")] == [
            f"{port.name}|{q}" for q in range(7)
        ]
        assert {key: row["profile"] for key, row in got["BUFFER_QUEUE"].items() if key.startswith(f"{port.name}|")} == {
            f"{port.name}|0-2": "egress_lossy_profile",
            f"{port.name}|3": "egress_lossless_profile",
            f"{port.name}|4-6": "egress_lossy_profile",
        }
        group = f"{port.name}|3"
        length = got["CABLE_LENGTH"]["AZURE"][port.name]
        if maker == "sonic":
            assert (group in got["BUFFER_PG"], length) == (False, f"{port.cable_row_m}m"), "SONiC makes the group"
        else:
            profile = f"ingress_lossless_{port.speed_mbps}_{port.cable_row_m}m_profile"
            assert (got["BUFFER_PG"][group]["profile"], length) == (profile, "0m"), "we make it, and keep SONiC out"
            assert profile in got["BUFFER_PROFILE"]
        assert got["DEVICE_NEIGHBOR"][port.name] == {"name": port.peer_device, "port": port.peer_port}


def test_own_headroom_profile_has_the_figures_of_the_row() -> None:
    assert tables(plan())["BUFFER_PROFILE"]["ingress_lossless_800000_40m_profile"] == {
        "dynamic_th": "1",
        "pool": "ingress_lossless_pool",
        "size": "18796",
        "xoff": "835406",
        "xon": "0",
        "xon_offset": "3556",
    }


def test_reserve_place_is_ready_but_for_its_lossless_class() -> None:
    got = tables(plan())
    place = "Ethernet8"
    assert got["PORT"][place]["admin_status"] == "down"
    assert got["INTERFACE"][f"{place}|10.101.0.4/31"] == {}
    assert "pfc_enable" not in got["PORT_QOS_MAP"][place]
    assert f"{place}|3" not in got["BUFFER_PG"]
    assert got["CABLE_LENGTH"]["AZURE"][place] == "0m"
    assert place not in got["PFC_WD"]
    assert place not in got["DEVICE_NEIGHBOR"]
    # What would flap a port in use is there before the host is.
    assert got["BUFFER_QUEUE"][f"{place}|3"]["profile"] == "egress_lossless_profile"
    assert got["QUEUE"][f"{place}|3"]["wred_profile"] == "AZURE_LOSSLESS"


def test_unused_port_is_down_and_has_no_other_row() -> None:
    got = tables(plan())
    assert got["PORT"]["Ethernet320"]["admin_status"] == "down"
    others = {table for table, rows in got.items() if any(key.partition("|")[0] == "Ethernet320" for key in rows)}
    assert others == {"PORT"}


@pytest.mark.parametrize("lossy", ["storage", "whole"])
def test_lossy_switch_has_no_pfc(lossy: str) -> None:
    of = plan() if lossy == "storage" else plan(qos_plan=qos(lossless=False))
    got = tables(of, "st0" if lossy == "storage" else "p1-l0")
    assert "PFC_WD" not in got
    assert "MAP_PFC_PRIORITY_TO_QUEUE" not in got
    assert all("pfc_enable" not in row for row in got["PORT_QOS_MAP"].values())
    assert set(got["TC_TO_PRIORITY_GROUP_MAP"]) == {"AZURE_LOSSY"}
    assert set(got["TC_TO_PRIORITY_GROUP_MAP"]["AZURE_LOSSY"].values()) == {"0"}
    assert all(row["profile"] == "egress_lossy_profile" for row in got["BUFFER_QUEUE"].values())
    assert "PFCWD" not in got["FLEX_COUNTER_TABLE"]


def test_dscp_map_is_whole() -> None:
    row = tables(plan())["DSCP_TO_TC_MAP"]["AZURE"]
    assert list(row) == [str(point) for point in range(64)]
    assert {point: tc for point, tc in row.items() if tc != "0"} == {"26": "3", "48": "6"}


def test_queues_cnp_strict_and_roce_marked_never_dropped() -> None:
    got = tables(plan())
    assert got["SCHEDULER"][str(got["QUEUE"]["Ethernet0|6"]["scheduler"])] == {"type": "STRICT"}
    assert [key for key, row in got["QUEUE"].items() if "wred_profile" in row and key.startswith("Ethernet0|")] == [
        "Ethernet0|3"
    ]
    wred = got["WRED_PROFILE"]["AZURE_LOSSLESS"]
    assert (wred["ecn"], wred["green_min_threshold"], wred["green_max_threshold"], wred["green_drop_probability"]) == (
        "ecn_all",
        "2000000",
        "10000000",
        "1",
    )


def test_classes_of_the_intent_move_every_row() -> None:
    got = tables(plan(qos_plan=qos(roce_dscp=24, lossless_tc=4, cnp_dscp=56, cnp_tc=7)))
    assert (got["DSCP_TO_TC_MAP"]["AZURE"]["24"], got["DSCP_TO_TC_MAP"]["AZURE"]["56"]) == ("4", "7")
    assert got["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] == "4"
    assert got["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["4"] == "4"
    assert [key for key in got["BUFFER_QUEUE"] if key.startswith("Ethernet0|")] == [
        "Ethernet0|0-3",
        "Ethernet0|4",
        "Ethernet0|5-7",
    ]
    assert got["SCHEDULER"][str(got["QUEUE"]["Ethernet0|7"]["scheduler"])]["type"] == "STRICT"


def test_dynamic_model_asks_sonic_for_headroom() -> None:
    """F097: NULL belongs to the dynamic model only; there any real length will do."""
    got = tables(plan(buffer_plan=buffers(model="dynamic", borrowed_from=None, asic="spc4", rows=())))
    assert got["BUFFER_PG"]["Ethernet0|3"] == {"profile": "NULL"}
    assert got["CABLE_LENGTH"]["AZURE"]["Ethernet0"] == "3m"
    assert got["DEFAULT_LOSSLESS_BUFFER_PARAMETER"]["AZURE"] == {"default_dynamic_th": "1"}
    assert got["DEVICE_METADATA"]["localhost"]["buffer_model"] == "dynamic"
    assert got["PORT_QOS_MAP"]["Ethernet0"]["pfc_to_pg_map"] == "AZURE"
    assert not any(row["profile"] == "NULL" for row in tables(plan())["BUFFER_PG"].values())


def test_profile_lists_where_the_platform_has_them() -> None:
    lists = {"ingress_profile_list": ("ingress_lossless_profile", "ingress_lossy_profile")}
    got = tables(plan(buffer_plan=buffers(**lists)))
    assert got["BUFFER_PORT_INGRESS_PROFILE_LIST"]["Ethernet0"] == {
        "profile_list": "ingress_lossless_profile,ingress_lossy_profile"
    }
    assert "BUFFER_PORT_EGRESS_PROFILE_LIST" not in got


def test_every_value_is_text_and_no_table_is_empty() -> None:
    """F026, and what must never leave the building."""
    for name in plan().switches:
        for table, rows in tables(plan(), name).items():
            assert rows, table
            for row in rows.values():
                for value in row.values():
                    for text in value if isinstance(value, list) else [value]:
                        assert isinstance(text, str)
                        assert text
                        assert text not in ("None", "null", "True", "False")
                        assert "|" not in text or table in ("PORT",)
                        assert not text.startswith("[")


def test_tables_and_keys_are_in_natural_order() -> None:
    got = tables(plan())
    assert list(got) == sorted(got)
    assert list(got["PORT"]) == ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet256", "Ethernet264", "Ethernet320"]


def test_no_mac_ever() -> None:
    assert "mac" not in tables(plan())["DEVICE_METADATA"]["localhost"]


def test_f001_addresses_have_their_parent_rows() -> None:
    got = tables(plan())
    for table in ("INTERFACE", "LOOPBACK_INTERFACE"):
        assert {key.partition("|")[0] for key in got[table]} <= set(got[table])


def test_f003_references_are_bare_names() -> None:
    row = tables(plan())["PORT_QOS_MAP"]["Ethernet0"]
    assert row["dscp_to_tc_map"] == "AZURE"


def test_f006_management_address_has_its_port() -> None:
    got = tables(plan())
    assert got["MGMT_PORT"]["eth0"]
    assert got["MGMT_INTERFACE"] == {"eth0|172.31.0.17/16": {"gwaddr": "172.31.255.254"}}
    without = tables(with_switch(plan(), "p1-l0", mgmt_gateway=None))
    assert "MGMT_INTERFACE" not in without
    assert without["MGMT_PORT"]


@pytest.mark.parametrize(("asn", "fine"), [(0, False), (4294967296, False), (23456, False), (4200000001, True)])
def test_f010_as_numbers(asn: int, fine: bool) -> None:
    of = with_switch(plan(), "p1-l0", asn=asn)
    if fine:
        assert tables(of)["DEVICE_METADATA"]["localhost"]["bgp_asn"] == str(asn)
    else:
        with pytest.raises(RenderError, match="p1-l0: ASN"):
            tables(of)


def test_f011_lanes_used_twice_name_both_ports() -> None:
    with pytest.raises(RenderError, match=r"lane 2 is used by Ethernet0 and Ethernet4"):
        tables(with_port(plan(), "p1-l0", "Ethernet4", lanes=(2, 3, 4, 5)))


def test_alias_used_twice_is_refused() -> None:
    with pytest.raises(RenderError, match=r"alias Eth1/1\(Port1\) is used by Ethernet0 and Ethernet4"):
        tables(with_port(plan(), "p1-l0", "Ethernet4", alias="Eth1/1(Port1)"))


def test_f014_f088_no_lossless_port_without_cable_length() -> None:
    of = plan(buffer_plan=buffers(borrowed_from=None))
    with pytest.raises(RenderError, match="Ethernet0: no headroom figure"):
        tables(with_port(of, "p1-l0", "Ethernet0", cable_m=0, cable_row_m=0))
    dynamic = plan(buffer_plan=buffers(model="dynamic", borrowed_from=None))
    with pytest.raises(RenderError, match="Ethernet0 is lossless and has no cable length"):
        tables(with_port(dynamic, "p1-l0", "Ethernet0", cable_m=0))


def test_f016_service_port_has_its_speed() -> None:
    service = PlannedPort(
        "Ethernet512", "Eth65(Port65)", 65, 0, (514,), 10_000, "none", 9100, PortUse.SERVICE, False,
        LifeState.IN_SERVICE, "Ethernet512",
    )  # fmt: skip
    of = plan()
    got = tables(with_switch(of, "p1-l0", ports={**of.switches["p1-l0"].ports, "Ethernet512": service}))
    assert (got["PORT"]["Ethernet512"]["speed"], got["PORT"]["Ethernet0"]["speed"]) == ("10000", "400000")
    assert not any(
        key.startswith("Ethernet512") for table in ("INTERFACE", "QUEUE", "PORT_QOS_MAP") for key in got[table]
    )


def test_f017_the_global_map_is_one_of_the_ports_own() -> None:
    got = tables(plan())
    assert got["PORT_QOS_MAP"]["global"] == {"dscp_to_tc_map": got["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"]}


def test_f048_no_autoneg_on_a_split_cage() -> None:
    assert not any({"autoneg", "adv_speeds"} & set(row) for row in tables(plan())["PORT"].values())


def test_f052_both_ends_of_a_cable_agree() -> None:
    for change in ({"fec": "none"}, {"speed_mbps": 400_000}, {"mtu": 9216}):
        with pytest.raises(RenderError, match=r"p1-l0:Ethernet256 .* s0:Ethernet0"):
            tables(with_port(plan(), "s0", "Ethernet0", **change))


def test_f061_tiers_do_not_share_a_hash_seed() -> None:
    kinds = {name: tables(plan(), name)["DEVICE_METADATA"]["localhost"]["type"] for name in ("p1-l0", "s0")}
    assert kinds == {"p1-l0": "LeafRouter", "s0": "SpineRouter"}


def test_f064_more_paths_than_the_image_has() -> None:
    with pytest.raises(RenderError, match="maximum_paths 72 is above the 64"):
        render_switch(plan(release="202405", routing=RoutingPlan(maximum_paths=72)), "p1-l0")
    assert "maximum-paths 72" in (render_switch(plan(routing=RoutingPlan(maximum_paths=72)), "p1-l0").frr or "")


def test_f079_watchdog_rows_are_ours() -> None:
    got = tables(plan())
    assert got["DEVICE_METADATA"]["localhost"]["default_pfcwd_status"] == "disable"
    assert got["PFC_WD"]["GLOBAL"] == {"POLL_INTERVAL": "200"}
    assert got["PFC_WD"]["Ethernet0"] == {
        "action": "drop",
        "detection_time": "400",
        "pfc_stat_history": "enable",
        "restoration_time": "800",
    }
    assert "pfc_stat_history" not in tables(plan(release="202505"))["PFC_WD"]["Ethernet0"]


def test_f086_lookup_is_exact_and_lists_what_there_is() -> None:
    of = plan(buffer_plan=buffers(borrowed_from=None))
    with pytest.raises(RenderError, match=r"400000 Mb/s over 3 m; .* has 5 m, 40 m, 300 m"):
        tables(with_port(of, "p1-l0", "Ethernet0", cable_row_m=30))


def test_f094_roce_queue_has_a_profile_that_exists() -> None:
    got = tables(plan())
    assert {row["wred_profile"] for row in got["QUEUE"].values() if "wred_profile" in row} <= set(got["WRED_PROFILE"])


def test_f095_ecn_acts_before_pfc() -> None:
    small = buffers(pools={**buffers().pools, "ingress_lossless_pool": replace(
        buffers().pools["ingress_lossless_pool"], size=12_000_000)})  # fmt: skip
    with pytest.raises(RenderError, match="PFC would act before ECN"):
        tables(plan(buffer_plan=small))
    with pytest.raises(RenderError, match="0 < min <= max"):
        tables(plan(qos_plan=qos(ecn=replace(qos().ecn, min_bytes=2**31, max_bytes=2**31))))


def test_no_lossless_class_without_figures() -> None:
    with pytest.raises(RenderError, match=r"no buffer figures.*buffers_from.*--lossy"):
        tables(replace(plan(), buffers={}))


def test_platform_without_a_lossy_profile_is_refused() -> None:
    odd = buffers(profiles={"other": BufferProfile("ingress_lossless_pool", 0, dynamic_th=0)})
    with pytest.raises(RenderError, match="none of the profiles ingress_lossy_profile; it has other"):
        tables(plan(buffer_plan=odd))


def test_unknown_switch_names_those_there_are() -> None:
    with pytest.raises(RenderError, match="nope: no such switch in the plan; it has p1-l0, p1-l1, s0, st0"):
        render_switch(plan(), "nope")


def test_description_names_the_port_itself_first() -> None:
    got = tables(plan())["PORT"]
    assert got["Ethernet256"]["description"] == "Ethernet256|to:s0:Ethernet0"
    assert "description" not in got["Ethernet320"]


def test_hosts_in_one_subnet() -> None:
    of = with_port(plan(), "p1-l0", "Ethernet0", addresses=(), peer_addresses=("10.101.0.10/25",))
    got = tables(with_switch(of, "p1-l0", vlans={100: ("10.101.0.1/25",)}))
    assert got["VLAN"] == {"Vlan100": {"vlanid": "100"}}
    assert got["VLAN_MEMBER"] == {"Vlan100|Ethernet0": {"tagging_mode": "untagged"}}
    assert got["VLAN_INTERFACE"] == {"Vlan100": {}, "Vlan100|10.101.0.1/25": {}}
    assert "Ethernet0" not in got["INTERFACE"]


@pytest.mark.parametrize(
    ("release", "counters", "suppress"),
    [
        ("202311", False, False),
        ("202405", False, False),
        ("202411", False, True),
        ("202505", True, True),
        ("202511", True, True),
    ],
)
def test_releases_differ(release: str, counters: bool, suppress: bool) -> None:
    config = render_switch(plan(release=release), "p1-l0")
    assert ("WRED_ECN_QUEUE" in config.tables["FLEX_COUNTER_TABLE"]) is counters
    assert ("suppress-fib-pending" in config.tables["DEVICE_METADATA"]["localhost"]) is suppress
    assert ("bgp suppress-fib-pending" in (config.frr or "")) is suppress
    assert ("no zebra nexthop kernel enable" in (config.frr or "")) is (release < "202511")
    assert ("no fpm use-next-hop-groups" in (config.frr or "")) is (release > "202311")
    assert ("zebra nexthop-group keep 1" in (config.frr or "")) is (release >= "202505")


def test_unknown_release_is_refused() -> None:
    with pytest.raises(RenderError, match=r"'202212' is not known; .* 202311, 202405"):
        render_switch(plan(release="202212"), "p1-l0")
