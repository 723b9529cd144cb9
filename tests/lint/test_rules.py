"""Our own rules, one small break at a time. Ids carry the field case (F...) or the fact that asks for the rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.lint import CODES, lint_tables
from fabric.values.finding import Finding, Status
from tests.lint.sound import ROWS, Tables, leaf

Break = Callable[[Tables], Any]


def judge(tables: Tables) -> list[Finding]:
    return lint_tables(tables, platform_rows=ROWS, device="p1-l0")


def put(table: str, key: str, **fields: str) -> Break:
    """Set fields of a row; an empty text removes the field."""

    def change(tables: Tables) -> None:
        row = tables.setdefault(table, {}).setdefault(key, {})
        for name, value in fields.items():
            if value:
                row[name] = value
            else:
                row.pop(name, None)

    return change


def drop(table: str, key: str | None = None) -> Break:
    return lambda tables: tables[table].pop(key) if key is not None else tables.pop(table)


def add(table: str, key: str, **fields: str) -> Break:
    return lambda tables: tables.setdefault(table, {}).update({key: dict(fields)})


def every(table: str, **fields: str) -> Break:
    def change(tables: Tables) -> None:
        for key in list(tables[table]):
            put(table, key, **fields)(tables)

    return change


def both(*changes: Break) -> Break:
    def change(tables: Tables) -> None:
        for one in changes:
            one(tables)

    return change


def dscp(number: int, tc: str) -> Break:
    return lambda tables: tables["DSCP_TO_TC_MAP"]["AZURE"].update({str(number): tc})


def rename(table: str, old: str, new: str) -> Break:
    return lambda tables: tables[table].update({new: tables[table].pop(old)})


FAIL, WARN = Status.FAIL, Status.WARN

CASES: list[tuple[str, Break, str, Status, str]] = [
    # what it is, the break, the code, fail or warn, words of the place (table, key, field) and of the message
    ("F001-no-parent-row", drop("INTERFACE", "Ethernet0"), "CFG-20", FAIL, "INTERFACE|Ethernet0|10.0.0.0/31"),
    ("F001-no-loopback-parent", drop("LOOPBACK_INTERFACE", "Loopback0"), "CFG-20", FAIL, "Loopback0|10.255.0.1/32"),
    (
        "F003-reference-with-table",
        put("PORT_QOS_MAP", "Ethernet0", dscp_to_tc_map="DSCP_TO_TC_MAP|AZURE"),
        "CFG-30",
        FAIL,
        "PORT_QOS_MAP|Ethernet0 field dscp_to_tc_map",
    ),
    ("F003-no-such-map", every("PORT_QOS_MAP", tc_to_queue_map="ROCE"), "CFG-30", FAIL, "field tc_to_queue_map"),
    ("F006-no-mgmt-port", drop("MGMT_PORT"), "CFG-20", FAIL, "MGMT_INTERFACE|eth0|172.31.0.11/16"),
    ("F008-unknown-port", add("QUEUE", "Ethernet516|3", scheduler="lossless"), "CFG-17", FAIL, "QUEUE|Ethernet516|3"),
    (
        "F008-typo-in-sub-interface",
        add("VLAN_SUB_INTERFACE", "EthernetNR|198.51.100.4"),
        "CFG-17",
        FAIL,
        "VLAN_SUB_INTERFACE|EthernetNR",
    ),
    ("F008-unknown-neighbour-port", add("DEVICE_NEIGHBOR", "Ethernet999", name="s9"), "CFG-17", FAIL, "Ethernet999"),
    ("F008-unknown-cable-port", put("CABLE_LENGTH", "AZURE", Ethernet516="5m"), "CFG-17", FAIL, "Ethernet516"),
    ("F010-asn-zero", put("DEVICE_METADATA", "localhost", bgp_asn="0"), "CFG-40", FAIL, "bgp_asn"),
    ("F010-asn-none", put("DEVICE_METADATA", "localhost", bgp_asn="None"), "CFG-40", FAIL, "bgp_asn"),
    ("F010-asn-too-large", put("DEVICE_METADATA", "localhost", bgp_asn="4294967296"), "CFG-40", FAIL, "bgp_asn"),
    ("F010-asn-dotted", put("DEVICE_METADATA", "localhost", bgp_asn="64512.1"), "CFG-40", FAIL, "write 4227858433"),
    ("F010-asn-space", put("DEVICE_METADATA", "localhost", bgp_asn=" 65001"), "CFG-40", FAIL, "spaces"),
    ("F010-asn-trans", put("BGP_NEIGHBOR", "10.0.0.1", asn="23456"), "CFG-40", FAIL, "BGP_NEIGHBOR|10.0.0.1"),
    ("F011-lanes-twice", put("PORT", "Ethernet20", lanes="12,13,14,15"), "CFG-10", FAIL, "Ethernet20"),
    ("F011-lanes-are-words", put("PORT", "Ethernet20", lanes="a,b"), "CFG-10", FAIL, "a, b is no lane"),
    ("F011-no-lanes", put("PORT", "Ethernet20", lanes=""), "CFG-10", FAIL, "PORT|Ethernet20 field lanes"),
    ("F014-no-cable-length", put("CABLE_LENGTH", "AZURE", Ethernet16=""), "CFG-70", FAIL, "Ethernet16"),
    (
        "F017-global-differs",
        both(add("PORT_QOS_MAP", "global", dscp_to_tc_map="OTHER"), add("DSCP_TO_TC_MAP", "OTHER")),
        "CFG-54",
        WARN,
        "PORT_QOS_MAP|global field dscp_to_tc_map",
    ),
    ("F024-rule-without-table", add("ACL_RULE", "GONE|RULE_1", PRIORITY="1"), "CFG-30", FAIL, "ACL_RULE|GONE|RULE_1"),
    ("F048-autoneg-on-y-cable", put("PORT", "Ethernet16", autoneg="on"), "CFG-14", WARN, "Ethernet16 field autoneg"),
    ("F052-no-rs-fec", put("PORT", "Ethernet16", fec="fc"), "CFG-13", FAIL, "PORT|Ethernet16 field fec"),
    ("F052-fec-none", put("PORT", "Ethernet0", fec="none"), "CFG-13", FAIL, "PORT|Ethernet0 field fec"),
    ("F052-fec-absent", put("PORT", "Ethernet0", fec=""), "CFG-13", WARN, "PORT|Ethernet0 field fec"),
    ("F061-tiers-hash-alike", put("DEVICE_METADATA", "localhost", type="SpineRouter"), "CFG-45", WARN, "s0, s1"),
    ("F079-watchdog-off", drop("PFC_WD"), "CFG-61", FAIL, "default_pfcwd_status is disable"),
    ("F079-watchdog-misses-a-port", drop("PFC_WD", "Ethernet20"), "CFG-61", FAIL, "PFC_WD|Ethernet20"),
    ("F086-no-lookup-row", put("CABLE_LENGTH", "AZURE", Ethernet16="30m"), "CFG-71", FAIL, "5m, 40m"),
    ("F088-lossless-at-0m", put("CABLE_LENGTH", "AZURE", Ethernet16="0m"), "CFG-70", FAIL, "Ethernet16"),
    (
        "F089-old-length",
        both(
            add("BUFFER_PG", "Ethernet16|3", profile="pg_lossless_400000_40m_profile"),
            add("BUFFER_PROFILE", "pg_lossless_400000_40m_profile", pool="ingress_lossless_pool", size="1"),
        ),
        "CFG-72",
        FAIL,
        "headroom for 40m, and the cable length is 5m",
    ),
    (
        "F089-old-speed",
        both(
            add("BUFFER_PG", "Ethernet16|3", profile="pg_lossless_800000_5m_profile"),
            add("BUFFER_PROFILE", "pg_lossless_800000_5m_profile", pool="ingress_lossless_pool", size="1"),
        ),
        "CFG-72",
        FAIL,
        "headroom for 800000 Mb/s",
    ),
    ("F094-queue-without-wred", put("QUEUE", "Ethernet16|3", wred_profile=""), "CFG-55", FAIL, "QUEUE|Ethernet16|3"),
    (
        "F094-no-wred-table",
        both(every("QUEUE", wred_profile=""), drop("WRED_PROFILE")),
        "CFG-55",
        FAIL,
        "WRED_PROFILE is missing",
    ),
    ("F094-profile-marks-nothing", put("WRED_PROFILE", "ROCE", ecn="ecn_none"), "CFG-55", FAIL, "WRED_PROFILE|ROCE"),
    (
        "F095-drops-instead-of-marking",
        put(
            "WRED_PROFILE",
            "ROCE",
            ecn="ecn_green",
            wred_yellow_enable="true",
            yellow_min_threshold="1",
            yellow_max_threshold="2",
        ),
        "CFG-56",
        FAIL,
        "yellow packets of a lossless queue",
    ),
    (
        "F095-pause-before-marking",
        both(
            add("BUFFER_PROFILE", "own", pool="ingress_lossless_pool", size="0", static_th="1048576"),
            add("BUFFER_PG", "Ethernet16|3", profile="own"),
            put("CABLE_LENGTH", "AZURE", Ethernet16="0m"),
        ),
        "CFG-76",
        FAIL,
        "pause at 1048576 bytes",
    ),
    ("F097-null-on-traditional", add("BUFFER_PG", "Ethernet16|3", profile="NULL"), "CFG-73", FAIL, "BUFFER_PG"),
    ("alias-twice", put("PORT", "Ethernet20", alias="etp3a"), "CFG-11", FAIL, "Ethernet16 has this alias too"),
    ("subport-twice", put("PORT", "Ethernet20", subport="1"), "CFG-12", FAIL, "Ethernet20 field subport"),
    ("subport-missing-on-one", put("PORT", "Ethernet20", subport=""), "CFG-12", FAIL, "Ethernet20 field subport"),
    (
        "subports-missing",
        both(put("PORT", "Ethernet16", subport=""), put("PORT", "Ethernet20", subport="")),
        "CFG-12",
        WARN,
        "none has a subport",
    ),
    ("no-admin-status", put("PORT", "Ethernet20", admin_status=""), "CFG-15", WARN, "Ethernet20 field admin_status"),
    ("breakout-disagrees", put("BREAKOUT_CFG", "Ethernet16", brkout_mode="4x200G"), "CFG-16", FAIL, "makes 4 ports"),
    ("breakout-is-no-mode", put("BREAKOUT_CFG", "Ethernet16", brkout_mode="2 x 400"), "CFG-16", FAIL, "brkout_mode"),
    ("mtu-differs", put("PORT", "Ethernet20", mtu="1500"), "CFG-18", WARN, "Ethernet20 field mtu"),
    ("host-bits-network-address", add("INTERFACE", "Ethernet20|10.9.0.0/24"), "CFG-21", FAIL, "10.9.0.0/24"),
    ("host-bits-broadcast", add("INTERFACE", "Ethernet20|10.9.0.255/24"), "CFG-21", FAIL, "broadcast"),
    (
        "host-bits-in-route",
        add("STATIC_ROUTE", "default|10.0.0.1/24", nexthop="10.0.0.1"),
        "CFG-21",
        FAIL,
        "10.0.0.0/24",
    ),
    ("no-address", add("INTERFACE", "Ethernet20|10.0.0.300/31"), "CFG-21", FAIL, "10.0.0.300/31"),
    ("no-length", add("INTERFACE", "Ethernet20|10.0.9.1"), "CFG-21", FAIL, "length"),
    ("loopback-subnet", add("LOOPBACK_INTERFACE", "Loopback0|10.254.0.1/24"), "CFG-21", WARN, "10.254.0.1/24"),
    ("same-subnet-twice", add("INTERFACE", "Ethernet20|10.0.0.1/31"), "CFG-22", FAIL, "same subnet"),
    ("subnet-inside-another", add("INTERFACE", "Ethernet20|10.0.0.9/28"), "CFG-22", FAIL, "inside 10.0.0.0/28"),
    ("fabric-covers-management", add("INTERFACE", "Ethernet20|172.31.0.12/16"), "CFG-22", FAIL, "MGMT_INTERFACE"),
    (
        "gateway-out-of-reach",
        put("MGMT_INTERFACE", "eth0|172.31.0.11/16", gwaddr="192.0.2.1"),
        "CFG-23",
        FAIL,
        "gwaddr",
    ),
    (
        "route-map-without-body",
        both(
            add("ROUTE_MAP_SET", "ALLOW"), add("BGP_NEIGHBOR_AF", "default|10.0.0.1|ipv4_unicast", route_map_in="ALLOW")
        ),
        "CFG-31",
        FAIL,
        "BGP_NEIGHBOR_AF|default|10.0.0.1|ipv4_unicast field route_map_in",
    ),
    ("peer-without-type", put("DEVICE_METADATA", "localhost", type=""), "CFG-41", FAIL, "field type"),
    ("peer-without-loopback", drop("LOOPBACK_INTERFACE"), "CFG-41", FAIL, "LOOPBACK_INTERFACE|Loopback0"),
    ("peer-without-router-id", drop("LOOPBACK_INTERFACE", "Loopback0|10.255.0.1/32"), "CFG-41", FAIL, "router_id"),
    ("local-addr-missing", put("BGP_NEIGHBOR", "10.0.0.1", local_addr=""), "CFG-42", FAIL, "local_addr"),
    ("local-addr-not-ours", put("BGP_NEIGHBOR", "10.0.0.1", local_addr="10.0.9.9"), "CFG-42", FAIL, "10.0.9.9"),
    ("local-addr-of-another-cable", put("BGP_NEIGHBOR", "10.0.0.1", local_addr="10.0.0.2"), "CFG-42", WARN, "outside"),
    (
        "two-masters",
        put("DEVICE_METADATA", "localhost", docker_routing_config_mode="split-unified"),
        "CFG-43",
        FAIL,
        "BGP_NEIGHBOR",
    ),
    (
        "framework-without-maps",
        both(
            put("DEVICE_METADATA", "localhost", frr_mgmt_framework_config="true"),
            add("BGP_PEER_GROUP_AF", "default|S|ipv4_unicast", admin_status="up"),
        ),
        "CFG-44",
        FAIL,
        "route_map_in",
    ),
    (
        "framework-without-ecmp",
        both(
            put("DEVICE_METADATA", "localhost", frr_mgmt_framework_config="true"),
            add("BGP_GLOBALS_AF", "default|ipv4_unicast"),
        ),
        "CFG-44",
        WARN,
        "max_ebgp_paths",
    ),
    (
        "dscp-map-with-a-hole",
        lambda tables: tables["DSCP_TO_TC_MAP"]["AZURE"].pop("40"),
        "CFG-50",
        WARN,
        "DSCP_TO_TC_MAP|AZURE",
    ),
    ("roce-in-a-lossy-class", both(dscp(26, "0"), dscp(3, "3")), "CFG-51", WARN, "field 26"),
    ("nothing-is-lossless", dscp(26, "0"), "CFG-51", FAIL, "no DSCP leads to a priority with PFC"),
    ("notifications-are-lossless", dscp(48, "3"), "CFG-51", WARN, "field 48"),
    ("pause-stops-another-queue", put("MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", **{"3": "4"}), "CFG-52", FAIL, "queue 4"),
    ("no-class-for-the-group", put("TC_TO_PRIORITY_GROUP_MAP", "AZURE", **{"3": "0"}), "CFG-52", FAIL, "group 3"),
    (
        "two-lossless-classes",
        put("PORT_QOS_MAP", "Ethernet16", pfc_enable="3,4", pfcwd_sw_enable="3,4"),
        "CFG-53",
        WARN,
        "Ethernet16 field pfc_enable",
    ),
    ("asymmetric-pfc", put("PORT", "Ethernet16", pfc_asym="on"), "CFG-53", FAIL, "pfc_asym"),
    ("threshold-over-32-bits", put("WRED_PROFILE", "ROCE", green_max_threshold=str(2**31)), "CFG-56", FAIL, "negative"),
    ("minimum-above-maximum", put("WRED_PROFILE", "ROCE", green_min_threshold="3000000"), "CFG-56", FAIL, "above"),
    ("threshold-missing", put("WRED_PROFILE", "ROCE", green_max_threshold=""), "CFG-56", FAIL, "green_max_threshold"),
    ("notifications-wait", put("SCHEDULER", "cnp", type="DWRR"), "CFG-57", WARN, "not strict"),
    ("notifications-dropped-early", put("QUEUE", "Ethernet16|6", wred_profile="ROCE"), "CFG-57", WARN, "Ethernet16|6"),
    ("watched-without-pfc", put("PORT_QOS_MAP", "Ethernet16", pfcwd_sw_enable="3,4"), "CFG-60", FAIL, "priority 4"),
    ("watches-nothing", put("PORT_QOS_MAP", "Ethernet16", pfcwd_sw_enable=""), "CFG-60", FAIL, "Ethernet16"),
    (
        "watchdog-on-lossy-port",
        put("PORT_QOS_MAP", "Ethernet16", pfc_enable="", pfcwd_sw_enable=""),
        "CFG-61",
        WARN,
        "PFC_WD|Ethernet16",
    ),
    ("watchdog-without-action", put("PFC_WD", "Ethernet16", action=""), "CFG-62", FAIL, "field action"),
    ("watchdog-unknown-action", put("PFC_WD", "Ethernet16", action="explode"), "CFG-62", FAIL, "field action"),
    ("watchdog-without-detection", put("PFC_WD", "Ethernet16", detection_time=""), "CFG-62", FAIL, "detection_time"),
    (
        "watchdog-restores-too-soon",
        put("PFC_WD", "Ethernet16", restoration_time="300"),
        "CFG-62",
        WARN,
        "restoration_time",
    ),
    ("watchdog-detects-below-poll", put("PFC_WD", "Ethernet16", detection_time="100"), "CFG-62", FAIL, "poll interval"),
    ("big-red-switch", put("PFC_WD", "GLOBAL", BIG_RED_SWITCH="enable"), "CFG-62", FAIL, "BIG_RED_SWITCH"),
    (
        "group-by-hand-and-cable",
        both(
            add("BUFFER_PROFILE", "own", pool="ingress_lossless_pool", size="0", dynamic_th="0"),
            add("BUFFER_PG", "Ethernet16|3", profile="own"),
        ),
        "CFG-70",
        WARN,
        "written by hand",
    ),
    ("xoff-on-egress-pool", put("BUFFER_POOL", "egress_lossless_pool", xoff="1"), "CFG-74", FAIL, "egress"),
    (
        "profile-without-threshold",
        put("BUFFER_PROFILE", "egress_lossless_profile", static_th=""),
        "CFG-74",
        WARN,
        "no threshold",
    ),
    (
        "profile-with-two-thresholds",
        put("BUFFER_PROFILE", "egress_lossless_profile", dynamic_th="1"),
        "CFG-74",
        FAIL,
        "both thresholds",
    ),
    ("queue-named-twice", add("QUEUE", "Ethernet16|3-4", scheduler="lossless"), "CFG-75", FAIL, "Ethernet16|3-4"),
    ("headroom-oversubscribed", put("BUFFER_POOL", "ingress_lossless_pool", xoff="2000000"), "CFG-77", WARN, "1.23"),
    (
        "headroom-twice-oversubscribed",
        put("BUFFER_POOL", "ingress_lossless_pool", xoff="1000000"),
        "CFG-77",
        FAIL,
        "2.46",
    ),
    (
        "headroom-of-groups-written-by-hand",
        both(
            add("BUFFER_PROFILE", "own", pool="ingress_lossless_pool", size="0", dynamic_th="0", xoff="40000000"),
            add("BUFFER_PG", "Ethernet16|3", profile="own"),
            put("CABLE_LENGTH", "AZURE", Ethernet16="0m"),
        ),
        "CFG-77",
        WARN,
        "1.26",
    ),
    ("pool-missing", put("BUFFER_PROFILE", "egress_lossless_profile", pool="gone"), "CFG-30", FAIL, "BUFFER_POOL"),
]


@pytest.mark.parametrize(
    ("change", "code", "status", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_break_is_named(change: Break, code: str, status: Status, words: str) -> None:
    tables = leaf()
    change(tables)
    findings = [finding for finding in judge(tables) if finding.code == code]
    assert findings, [f"{finding.code} {finding.evidence}" for finding in judge(tables)]
    told = [f"{finding.evidence}: {finding.observed} {finding.expected} {finding.remedy}" for finding in findings]
    assert any(words in text for text in told), told
    assert {finding.status for finding in findings} == {status}
    for finding in findings:
        assert finding.evidence
        assert finding.observed
        assert finding.remedy
        assert finding.device == "p1-l0"


def test_sound_configuration_has_no_finding() -> None:
    assert judge(leaf()) == []


def test_every_break_here_has_a_known_code_and_every_single_switch_code_a_break() -> None:
    used = {case[2] for case in CASES}
    assert used <= set(CODES)
    single = {code for code in CODES if "CFG-10" <= code < "CFG-80"}
    assert single == used


@pytest.mark.parametrize(
    "asn", ["1", "64512", "4200000001", "4294967295"], ids=["least", "private", "F010-four-bytes", "largest"]
)
def test_as_numbers_that_are_fine(asn: str) -> None:
    tables = leaf()
    tables["DEVICE_METADATA"]["localhost"]["bgp_asn"] = asn
    assert judge(tables) == []


def test_f088_unused_port_at_0m_is_fine() -> None:
    tables = leaf()
    for table in ("PORT_QOS_MAP", "PFC_WD"):
        del tables[table]["Ethernet16"]
    tables["CABLE_LENGTH"]["AZURE"]["Ethernet16"] = "0m"
    assert judge(tables) == []


def test_f097_null_is_right_in_the_dynamic_model() -> None:
    tables = leaf()
    tables["DEVICE_METADATA"]["localhost"]["buffer_model"] = "dynamic"
    tables["BUFFER_PG"]["Ethernet16|3"] = {"profile": "NULL"}
    assert judge(tables) == []


def test_f061_leaf_and_spine_types_are_clean() -> None:
    tables = leaf()
    assert not [finding for finding in judge(tables) if finding.code == "CFG-45"]


def test_f017_global_row_is_no_port() -> None:
    tables = leaf()
    tables["PORT_QOS_MAP"]["global"] = {"dscp_to_tc_map": "AZURE"}
    assert judge(tables) == []


def test_rows_written_back_by_the_buffer_manager_are_no_fault() -> None:
    tables = leaf()
    tables["BUFFER_PROFILE"]["pg_lossless_400000_5m_profile"] = {"pool": "ingress_lossless_pool", "size": "18796"}
    tables["BUFFER_PG"]["Ethernet16|3"] = {"profile": "pg_lossless_400000_5m_profile"}
    assert judge(tables) == []


def test_group_written_by_hand_at_0m_is_fine() -> None:
    tables = leaf()
    tables["BUFFER_PROFILE"]["own"] = {"pool": "ingress_lossless_pool", "size": "18796", "dynamic_th": "0"}
    tables["BUFFER_PG"]["Ethernet16|3"] = {"profile": "own"}
    tables["CABLE_LENGTH"]["AZURE"]["Ethernet16"] = "0m"
    assert judge(tables) == []


def test_secondary_address_on_the_same_port_is_fine() -> None:
    tables = leaf()
    tables["INTERFACE"]["Ethernet20|10.7.0.1/24"] = {}
    tables["INTERFACE"]["Ethernet20|10.7.0.2/24"] = {"secondary": "true"}
    assert not [finding for finding in judge(tables) if finding.code == "CFG-22"]


def test_same_subnet_in_two_vrfs_is_fine() -> None:
    tables = leaf()
    tables["VRF"] = {"Vrf1": {}}
    tables["INTERFACE"]["Ethernet20"] = {"vrf_name": "Vrf1"}
    tables["INTERFACE"]["Ethernet20|10.0.0.1/31"] = {}
    assert not [finding for finding in judge(tables) if finding.code == "CFG-22"]


def test_every_code_stands_in_the_documentation(tree: Path) -> None:
    told = (tree / "docs/lint.md").read_text(encoding="utf-8")
    for code, entry in CODES.items():
        row = next(line for line in told.splitlines() if line.startswith(f"| {code} |"))
        for words in (entry.title, entry.meaning, entry.verify, entry.remedy):
            assert words.replace("|", "\\|") in row
