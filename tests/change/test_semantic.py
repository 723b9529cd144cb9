"""What is a difference and what is only another spelling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.change import semantic
from fabric.values.device_config import Tables


def diffs(desired: Tables, running: Tables) -> list[tuple[str, str]]:
    return [(one.table, one.key) for one in semantic.diff(desired, running)]


def test_f004_bracketed_references_are_the_same(shared: Path) -> None:
    """Both of SONiC's own files say the same QoS configuration, before and after its migrator."""
    folder = shared / "real" / "qos"
    before, after = (
        json.loads((folder / f"qos_tables_db_field_value_reference_format_{version}.json").read_text())
        for version in ("3_0_1", "3_0_3")
    )
    for tables in (before, after):
        for other in ("VERSIONS|DATABASE", "SNMP", "SNMP_COMMUNITY"):
            tables.pop(other, None)
    assert any("[" in str(row) for rows in before.values() for row in rows.values()), "the old form is in the file"
    assert diffs(after, before) == []


@pytest.mark.parametrize(
    ("table", "field", "ours", "theirs"),
    [
        ("PORT_QOS_MAP", "dscp_to_tc_map", "AZURE", "[DSCP_TO_TC_MAP|AZURE]"),
        ("PORT_QOS_MAP", "dscp_to_tc_map", "AZURE", "DSCP_TO_TC_MAP|AZURE"),
        ("PORT_QOS_MAP", "pfc_enable", "3,4", "4,3"),
        ("BUFFER_PG", "profile", "one", "[BUFFER_PROFILE|one]"),
        ("BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list", "a,b", "[BUFFER_PROFILE|a],[BUFFER_PROFILE|b]"),
        ("SWITCH_HASH", "ecmp_hash", ["SRC_IP", "DST_IP"], "DST_IP,SRC_IP"),
        ("PORT", "lanes", "1,2,3,4", "1, 2, 3, 4"),
        ("PORT", "mtu", "9216", 9216),
        ("DEVICE_METADATA", "frr_mgmt_framework_config", "false", "False"),
    ],
)  # fmt: skip
def test_other_spellings_of_a_value(table: str, field: str, ours: Any, theirs: Any) -> None:
    keys = {"DEVICE_METADATA": "localhost", "SWITCH_HASH": "GLOBAL", "BUFFER_PG": "Ethernet0|3"}
    key = keys.get(table, "Ethernet0")
    assert diffs({table: {key: {field: ours}}}, {table: {key: {field: theirs}}}) == []


@pytest.mark.parametrize(
    ("table", "field", "ours", "theirs"),
    [
        ("PORT", "lanes", "1,2,3,4", "4,3,2,1"),
        ("PORT_QOS_MAP", "pfc_enable", "3", "3,4"),
        ("PORT", "alias", "Eth1(Port1)", "Eth1(Port2)"),
        ("WRED_PROFILE", "green_min_threshold", "1000", "2000"),
    ],
)
def test_real_differences(table: str, field: str, ours: str, theirs: str) -> None:
    assert diffs({table: {"Ethernet0": {field: ours}}}, {table: {"Ethernet0": {field: theirs}}}) == [
        (table, "Ethernet0")
    ]


def test_defaults_are_the_same_as_absence() -> None:
    bare = {"PORT": {"Ethernet0": {"lanes": "1", "speed": "1"}}}
    full = {"PORT": {"Ethernet0": {**bare["PORT"]["Ethernet0"], "mtu": "9100", "admin_status": "down"}}}
    assert diffs(full, bare) == []
    assert diffs(bare, full) == []
    raised = {"PORT": {"Ethernet0": {**bare["PORT"]["Ethernet0"], "mtu": "9216"}}}
    assert diffs(raised, bare) == [("PORT", "Ethernet0")]


def test_an_absent_routing_mode_is_separated_not_what_yang_says() -> None:
    """docker_init.sh treats an absent field as `separated` although the model's default says `unified`."""
    ours: Tables = {"DEVICE_METADATA": {"localhost": {"docker_routing_config_mode": "unified"}}}
    assert diffs(ours, {"DEVICE_METADATA": {"localhost": {"hwsku": "x"}}}) != []


def test_ranges_and_single_queues_say_the_same() -> None:
    ranged = {"BUFFER_QUEUE": {"Ethernet0|3-4": {"profile": "one"}}}
    single = {"BUFFER_QUEUE": {"Ethernet0|3": {"profile": "one"}, "Ethernet0|4": {"profile": "one"}}}
    assert diffs(ranged, single) == []
    assert diffs(single, ranged) == []
    mixed = {"BUFFER_QUEUE": {"Ethernet0|3": {"profile": "one"}, "Ethernet0|4": {"profile": "two"}}}
    found = diffs(mixed, ranged)
    assert ("BUFFER_QUEUE", "Ethernet0|3-4") in found
    assert ("BUFFER_QUEUE", "Ethernet0|3") in found, "it leaned on the range that goes"
    assert ("BUFFER_QUEUE", "Ethernet0|4") in found


def test_addresses_in_keys() -> None:
    ours: Tables = {"INTERFACE": {"Ethernet0": {}, "Ethernet0|fd00::1/127": {}}}
    theirs: Tables = {"INTERFACE": {"Ethernet0": {"NULL": "NULL"}, "Ethernet0|FD00:0:0::1/127": {"NULL": "NULL"}}}
    assert diffs(ours, theirs) == []


def test_foreign_rows_and_fields_are_left_alone() -> None:
    desired: Tables = {"DEVICE_METADATA": {"localhost": {"hostname": "p1-l0"}}, "INTERFACE": {"Ethernet0": {}}}
    running: Tables = {
        "DEVICE_METADATA": {"localhost": {"hostname": "p1-l0", "mac": "02:00:5e:00:00:01", "timezone": "UTC"}},
        "FEATURE": {"bgp": {"state": "enabled"}},
        "INTERFACE": {"Ethernet0": {}, "Vlan100": {}},
        "VLAN": {"Vlan100": {"vlanid": "100"}},
    }
    assert diffs(desired, running) == []


def test_rows_the_buffer_manager_writes_are_not_ours() -> None:
    profile = "pg_lossless_400000_5m_profile"
    desired: Tables = {"BUFFER_PG": {"Ethernet0|0": {"profile": "ingress_lossy_profile"}}}
    running: Tables = {
        "BUFFER_PG": {"Ethernet0|0": {"profile": "ingress_lossy_profile"}, "Ethernet0|3": {"profile": profile}},
        "BUFFER_PROFILE": {profile: {"size": "0"}},
    }
    assert diffs(desired, running) == []


def test_rows_that_would_fight_ours_go_even_when_we_have_none() -> None:
    assert diffs({"PORT": {}}, {"BGP_NEIGHBOR": {"10.0.0.1": {"asn": "65200"}}}) == [("BGP_NEIGHBOR", "10.0.0.1")]
