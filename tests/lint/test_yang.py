"""SONiC's own models judge. Mutations are those of sonic.md section 9 (what YANG catches)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.errors import LintError
from fabric.lint import YangModels, lint_tables
from fabric.lint._yang_text import parse, read_tables
from fabric.values.finding import Status
from tests.lint.sound import ROWS, Tables, leaf


@pytest.fixture(scope="session")
def models(yang_folder: Path) -> YangModels:
    pytest.importorskip(
        "oopt_gnpy_libyang", reason="the wheel oopt-gnpy-libyang is not here: pip install 'railfab[yang]'"
    )
    return YangModels(yang_folder)


Change = Callable[[Tables], Any]


def field(table: str, key: str, name: str, value: str | list[str] | None) -> Change:
    def change(tables: Tables) -> None:
        row = tables.setdefault(table, {}).setdefault(key, {})
        if value is None:
            del row[name]
        else:
            row[name] = value

    return change


REFUSED: list[tuple[str, Change, str, str | None, str | None]] = [
    # id, change, table, key, field that the violation must name
    ("no-lanes", field("PORT", "Ethernet0", "lanes", None), "PORT", "Ethernet0", "lanes"),
    ("no-speed", field("PORT", "Ethernet0", "speed", None), "PORT", "Ethernet0", "speed"),
    ("speed-out-of-range", field("PORT", "Ethernet0", "speed", "9999999"), "PORT", "Ethernet0", "speed"),
    ("mtu-out-of-range", field("PORT", "Ethernet0", "mtu", "99999"), "PORT", "Ethernet0", "mtu"),
    ("unknown-field", field("PORT", "Ethernet0", "bogus", "1"), "PORT", "Ethernet0", "bogus"),
    ("ip-row-without-parent", lambda t: t["INTERFACE"].pop("Ethernet0"), "INTERFACE", "Ethernet0|10.0.0.0/31", None),
    (
        "peer-is-no-address",
        lambda t: t["BGP_NEIGHBOR"].update({"Ethernet0": {"asn": "1"}}),
        "BGP_NEIGHBOR",
        "Ethernet0",
        None,
    ),
    ("peer-field-of-framework", field("BGP_NEIGHBOR", "10.0.0.1", "bfd", "true"), "BGP_NEIGHBOR", "10.0.0.1", "bfd"),
    ("no-scheduler", field("QUEUE", "Ethernet0|3", "scheduler", "gone"), "QUEUE", "Ethernet0|3", "scheduler"),
    ("no-profile", field("BUFFER_PG", "Ethernet0|0", "profile", "gone"), "BUFFER_PG", "Ethernet0|0", "profile"),
    ("no-map", field("PORT_QOS_MAP", "Ethernet0", "tc_to_pg_map", "gone"), "PORT_QOS_MAP", "Ethernet0", "tc_to_pg_map"),
    ("dscp-64", field("DSCP_TO_TC_MAP", "AZURE", "64", "1"), "DSCP_TO_TC_MAP", "AZURE", "64"),
    ("tc-99", field("DSCP_TO_TC_MAP", "AZURE", "3", "99"), "DSCP_TO_TC_MAP", "AZURE", "3"),
    (
        "probability",
        field("WRED_PROFILE", "ROCE", "green_drop_probability", "101"),
        "WRED_PROFILE",
        "ROCE",
        "green_drop_probability",
    ),
    (
        "min-above-max",
        field("WRED_PROFILE", "ROCE", "green_min_threshold", "9000000"),
        "WRED_PROFILE",
        "ROCE",
        "green_max_threshold",
    ),
    ("weight-zero", field("SCHEDULER", "lossless", "weight", "0"), "SCHEDULER", "lossless", "weight"),
    (
        "detection-below-poll",
        field("PFC_WD", "Ethernet0", "detection_time", "100"),
        "PFC_WD",
        "Ethernet0",
        "detection_time",
    ),
    (
        "space-in-priorities",
        field("PORT_QOS_MAP", "Ethernet0", "pfc_enable", "3, 4"),
        "PORT_QOS_MAP",
        "Ethernet0",
        "pfc_enable",
    ),
    ("cable-without-m", field("CABLE_LENGTH", "AZURE", "Ethernet0", "5"), "CABLE_LENGTH", "AZURE", "Ethernet0"),
    ("device-type", field("DEVICE_METADATA", "localhost", "type", "Leaf"), "DEVICE_METADATA", "localhost", "type"),
    (
        "text-for-a-list",
        field("SWITCH_HASH", "GLOBAL", "ecmp_hash", "SRC_IP,DST_IP"),
        "SWITCH_HASH",
        "GLOBAL",
        "ecmp_hash",
    ),
    (
        "hash-field",
        field("SWITCH_HASH", "GLOBAL", "ecmp_hash", ["SRC_IP", "BTH"]),
        "SWITCH_HASH",
        "GLOBAL",
        "ecmp_hash",
    ),
    (
        "row-nobody-knows",
        lambda t: t["DEVICE_METADATA"].update({"elsewhere": {}}),
        "DEVICE_METADATA",
        "elsewhere",
        None,
    ),
    (
        "eleven-ntp-servers",
        lambda t: t.update(NTP_SERVER={f"192.0.2.{n}": {} for n in range(11)}),
        "NTP_SERVER",
        "192.0.2.10",
        None,
    ),
    ("big-red-switch", field("PFC_WD", "GLOBAL", "BIG_RED_SWITCH", "enable"), "PFC_WD", "GLOBAL", "BIG_RED_SWITCH"),
    (
        "polled-watchdog-group",
        field("FLEX_COUNTER_TABLE", "PFCWD", "POLL_INTERVAL", "1000"),
        "FLEX_COUNTER_TABLE",
        "PFCWD",
        "POLL_INTERVAL",
    ),
    (
        "framework-af-true",
        lambda t: t.update(BGP_NEIGHBOR_AF={"default|10.0.0.1|ipv4_unicast": {"admin_status": "true"}}),
        "BGP_NEIGHBOR_AF",
        "default|10.0.0.1|ipv4_unicast",
        "admin_status",
    ),
    (
        "max-paths-257",
        lambda t: t.update(
            BGP_GLOBALS={"default": {"local_asn": "1"}},
            BGP_GLOBALS_AF={"default|ipv4_unicast": {"max_ebgp_paths": "257"}},
        ),
        "BGP_GLOBALS_AF",
        "default|ipv4_unicast",
        "max_ebgp_paths",
    ),
    (
        "routed-vlan-member",
        lambda t: t.update(
            VLAN={"Vlan100": {"vlanid": "100"}}, VLAN_MEMBER={"Vlan100|Ethernet0": {"tagging_mode": "untagged"}}
        ),
        "VLAN_MEMBER",
        "Vlan100|Ethernet0",
        None,
    ),
]


@pytest.mark.parametrize(
    ("change", "table", "key", "name"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_models_refuse_and_say_where(
    models: YangModels, change: Change, table: str, key: str | None, name: str | None
) -> None:
    tables = leaf()
    change(tables)
    violations = models.judge(tables)
    assert (table, key, name) in {(found.table, found.key, found.field) for found in violations}, violations
    for violation in violations:
        assert violation.why
        assert violation.remedy
        assert "\n" not in violation.why


def test_sound_leaf_is_valid(models: YangModels) -> None:
    assert models.judge(leaf()) == []
    assert models.unknown_tables(leaf()) == ()
    assert lint_tables(leaf(), yang=models, platform_rows=ROWS) == []


ACCEPTED: list[tuple[str, Change]] = [
    ("mac-upper-case", field("DEVICE_METADATA", "localhost", "mac", "02:00:5E:00:00:01")),
    ("null-profile", field("BUFFER_PG", "Ethernet0|3", "profile", "NULL")),
    ("adv-speeds-as-text", field("PORT", "Ethernet0", "adv_speeds", "400000,800000")),
    (
        "profile-list-as-text",
        field(
            "BUFFER_PORT_INGRESS_PROFILE_LIST",
            "Ethernet0",
            "profile_list",
            "ingress_lossy_profile,egress_lossless_profile",
        ),
    ),
    ("list-of-one-empty-text", field("ACL_TABLE", "X", "ports", [""])),
    ("hash-fields", field("SWITCH_HASH", "GLOBAL", "ecmp_hash", ["SRC_IP", "DST_IP", "L4_SRC_PORT"])),
    ("cable-0m", field("CABLE_LENGTH", "AZURE", "Ethernet0", "0m")),
    ("global-row", field("PORT_QOS_MAP", "global", "dscp_to_tc_map", "AZURE")),
]


@pytest.mark.parametrize("change", [case[1] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED])
def test_models_accept(models: YangModels, change: Change) -> None:
    tables = leaf()
    change(tables)
    if "ACL_TABLE" in tables:
        tables["ACL_TABLE"]["X"]["type"] = "L3"
    assert models.judge(tables) == []


def test_all_faults_of_a_file_are_named_at_once(models: YangModels) -> None:
    tables = leaf()
    for case in REFUSED[:5]:
        case[1](tables)
    names = {(violation.key, violation.field) for violation in models.judge(tables)}
    assert {("Ethernet0", "lanes"), ("Ethernet0", "mtu"), ("Ethernet0", "bogus")} <= names


def test_messages_offer_what_the_model_takes(models: YangModels) -> None:
    tables = leaf()
    tables["PORT"]["Ethernet0"] |= {"admin_status": "UP", "mtuu": "9100"}
    told = {violation.field: violation for violation in models.judge(tables)}
    assert told["admin_status"].allowed == "one of up, down"
    assert told["mtuu"].remedy == "did you mean mtu?"


def test_verdicts_do_not_leak_into_the_next(models: YangModels) -> None:
    broken = leaf()
    broken["PORT"]["Ethernet0"]["speed"] = "fast"
    assert models.judge(broken)
    assert models.judge(leaf()) == []
    assert len(models.judge(broken)) == 1


def test_unknown_table_is_stated_not_refused(models: YangModels) -> None:
    tables = leaf() | {"RAILFAB_NOTES": {"a": {"b": "c"}}}
    findings = lint_tables(tables, yang=models, platform_rows=ROWS)
    assert [(finding.code, finding.status) for finding in findings] == [("CFG-06", Status.WARN)]
    assert "RAILFAB_NOTES" in (findings[0].evidence or "")


def test_own_rule_and_model_say_one_thing_once(models: YangModels) -> None:
    tables = leaf()
    for row in tables["PORT_QOS_MAP"].values():
        row["dscp_to_tc_map"] = "DSCP_TO_TC_MAP|AZURE"
    del tables["INTERFACE"]["Ethernet0"]
    codes = [finding.code for finding in lint_tables(tables, yang=models, platform_rows=ROWS)]
    assert sorted(codes) == ["CFG-20", "CFG-30"]


def test_fragment_is_unknown_where_it_points_outside_itself(models: YangModels) -> None:
    tables = {name: rows for name, rows in leaf().items() if name in ("QUEUE", "SCHEDULER", "WRED_PROFILE")}
    findings = lint_tables(tables, yang=models)
    assert [(finding.code, finding.status) for finding in findings] == [("CFG-08", Status.UNKNOWN)]


def test_models_of_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(LintError, match="no such folder"):
        YangModels(tmp_path / "gone")
    with pytest.raises(LintError, match=r"sonic-port\.yang is missing"):
        YangModels(tmp_path)
    (tmp_path / "sonic-port.yang").write_text("module sonic-port {\n  container x {\n")
    with pytest.raises(LintError, match=r"sonic-port\.yang:3: not a YANG module"):
        YangModels(tmp_path)


def test_text_of_a_model_is_understood() -> None:
    module = parse(
        """
        module sonic-x { // a comment with { braces }
          prefix x; /* and ; another */
          grouping common { leaf shared { type string; } }
          container sonic-x { container X {
            list X_LIST { key "name ip-prefix"; leaf name { type string; }
              leaf ip-prefix { type string { pattern "a" + 'b;{'; } }
              uses common; choice c { case one { leaf-list many { type string; } } } }
            container GLOBAL { leaf poll { type uint8; } }
            list MAP_LIST { key "name2 a b"; leaf name2 { type string; } leaf a { type string; }
              leaf b { type string; } list MAP { key "from"; leaf from { type string; } leaf to { type string; } } }
          } } }
        """,
        "x.yang",
    )
    shape = read_tables({"sonic-x": module})["X"]
    row, parts = shape.row("eth0|10.0.0.0/31") or (None, ())
    assert row is not None
    assert parts == ("eth0", "10.0.0.0/31")
    assert set(row.leaves) == {"name", "ip-prefix", "shared", "many"}
    assert row.is_leaf_list("many")
    assert (shape.row("GLOBAL") or (None,))[0] is shape.containers["GLOBAL"]
    mapped = (shape.row("x|y|z") or (None,))[0]
    assert mapped is not None
    assert mapped.inner == ("MAP", "from", "to")
    assert shape.row("a|b|c|d") is None
