"""Files against what the Plan renders, and the result of a change against what stood before."""

from __future__ import annotations

import copy

import pytest

from fabric.lint import judge_result, lint_tables
from fabric.lint.expected import compare_text
from fabric.values.device_config import DeviceConfig
from tests.lint.sound import ROWS, Tables, leaf


def against(tables: Tables, expected: Tables | None = None) -> list[tuple[str, str]]:
    config = DeviceConfig("p1-l0", expected if expected is not None else leaf())
    findings = lint_tables(tables, platform_rows=ROWS, expected=config)
    return [
        (finding.code, (finding.evidence or "").partition(" = ")[0])
        for finding in findings
        if finding.code.startswith("CFG-9")
    ]


def test_equal_files_are_silent() -> None:
    assert against(leaf()) == []


def test_every_row_removed_is_named() -> None:
    for table, rows in leaf().items():
        for key in rows:
            tables = leaf()
            del tables[table][key]
            assert ("CFG-90", f"{table}|{key}") in against(tables)


def test_every_field_changed_is_named() -> None:
    for table, rows in leaf().items():
        for key, row in rows.items():
            for name in row:
                tables = leaf()
                tables[table][key][name] = "7777"
                assert ("CFG-91", f"{table}|{key} field {name}") in against(tables)
                del tables[table][key][name]
                assert ("CFG-91", f"{table}|{key} field {name}") in against(tables)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("PORT", "Ethernet512"),
        ("INTERFACE", "Ethernet0|10.9.9.0/31"),
        ("QUEUE", "Ethernet0|5"),
        ("BGP_NEIGHBOR", "10.9.9.9"),
    ],
)
def test_a_row_more_in_a_table_of_ours_is_named(table: str, key: str) -> None:
    tables = leaf()
    tables[table][key] = {}
    assert ("CFG-92", f"{table}|{key}") in against(tables)


def test_peers_of_a_second_master_are_named_where_the_plan_has_none() -> None:
    expected = leaf()
    del expected["BGP_NEIGHBOR"]
    assert ("CFG-92", "BGP_NEIGHBOR|10.0.0.1") in against(leaf(), expected)


def test_what_the_image_and_the_buffer_manager_write_is_no_difference() -> None:
    tables = leaf()
    tables["FEATURE"] = {"bgp": {"state": "enabled"}}
    tables["VERSIONS"] = {"DATABASE": {"VERSION": "version_4_0_3"}}
    tables["DEVICE_METADATA"]["localhost"]["mac"] = "02:00:5e:00:00:01"
    tables["BUFFER_PROFILE"]["pg_lossless_400000_5m_profile"] = {"pool": "ingress_lossless_pool", "size": "18796"}
    tables["BUFFER_PG"]["Ethernet16|3"] = {"profile": "pg_lossless_400000_5m_profile"}
    assert against(tables) == []


def test_lines_of_frr_text_are_named() -> None:
    want = "router bgp 1\n neighbor 10.0.0.1 remote-as 2\n"
    assert list(compare_text(want + "\n\n", want)) == []
    told = [(finding.observed, finding.evidence) for finding in compare_text(want.replace("as 2", "as 3"), want)]
    assert told == [
        ("the Plan has this line and the file has not", 'frr.conf = " neighbor 10.0.0.1 remote-as 2"'),
        ("the file has this line more", 'frr.conf = " neighbor 10.0.0.1 remote-as 3"'),
    ]


def test_f024_what_was_wrong_before_is_not_the_changes_fault() -> None:
    before = leaf()
    before["ACL_RULE"] = {"GONE|RULE_1": {"PRIORITY": "1"}}
    after = copy.deepcopy(before)
    after["PORT"]["Ethernet0"]["mtu"] = "1500"
    verdict = judge_result(before, after, platform_rows=ROWS)
    assert [finding.code for finding in verdict.standing] == ["CFG-30"]
    assert [finding.code for finding in verdict.introduced] == ["CFG-18"]
    assert not verdict.sound


def test_sound_result_with_a_warning_may_be_sent() -> None:
    after = leaf()
    after["PORT"]["Ethernet0"]["mtu"] = "1500"
    verdict = judge_result(leaf(), after, platform_rows=ROWS)
    assert [finding.code for finding in verdict.introduced] == ["CFG-18"]
    assert verdict.sound
