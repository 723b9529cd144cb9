"""What JSON may hold, old reference forms, redis-style dumps."""

from __future__ import annotations

from typing import Any

import pytest

from fabric.lint import lint_tables
from fabric.lint.shape import read_tables
from fabric.values.finding import Status


@pytest.mark.parametrize(
    ("value", "code", "status"),
    [
        (None, "CFG-02", Status.FAIL),
        (True, "CFG-02", Status.FAIL),
        ({"a": "b"}, "CFG-02", Status.FAIL),
        ([None], "CFG-02", Status.FAIL),
        ([True], "CFG-02", Status.FAIL),
        (9100, "CFG-03", Status.WARN),
        (91.5, "CFG-03", Status.FAIL),
        ([1, 2], "CFG-03", Status.WARN),
        ([], "CFG-04", Status.WARN),
    ],
)
def test_values_that_redis_cannot_hold(value: Any, code: str, status: Status) -> None:
    tables, findings = read_tables({"PORT": {"Ethernet0": {"lanes": "1", "mtu": value}}})
    (finding,) = findings
    assert (finding.code, finding.status, finding.port) == (code, status, "Ethernet0")
    assert "PORT|Ethernet0 field mtu" in (finding.evidence or "")
    assert tables["PORT"]["Ethernet0"]["lanes"] == "1"


def test_numbers_are_read_as_their_text() -> None:
    tables, _ = read_tables({"PORT": {"Ethernet0": {"mtu": 9100, "lanes": [1, 2]}}})
    assert tables == {"PORT": {"Ethernet0": {"mtu": "9100", "lanes": ["1", "2"]}}}


@pytest.mark.parametrize("data", [None, [], "text", 3, {"PORT": []}, {"PORT": {"Ethernet0": "x"}}])
def test_what_is_no_config_db_is_said_and_nothing_breaks(data: Any) -> None:
    findings = lint_tables(data)
    assert [finding.code for finding in findings] == ["CFG-01"]


def test_empty_table_is_a_warning() -> None:
    (finding,) = lint_tables({"VLAN": {}})
    assert (finding.code, finding.status, finding.evidence) == ("CFG-04", Status.WARN, "VLAN")


def test_f003_bracketed_reference_is_understood_and_said() -> None:
    data = {
        "DSCP_TO_TC_MAP": {"ROCE": {str(dscp): "0" for dscp in range(64)}},
        "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|ROCE]"}},
        "BUFFER_PORT_INGRESS_PROFILE_LIST": {"Ethernet0": {"profile_list": "[BUFFER_PROFILE|a],[BUFFER_PROFILE|b]"}},
        "BUFFER_PROFILE": {"a": {"dynamic_th": "1"}, "b": {"dynamic_th": "1"}},
    }
    tables, findings = read_tables(data)
    assert tables["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"] == "ROCE"
    assert tables["BUFFER_PORT_INGRESS_PROFILE_LIST"]["Ethernet0"]["profile_list"] == "a,b"
    assert {finding.code for finding in findings} == {"CFG-05"}
    assert not [finding for finding in lint_tables(data) if finding.status is Status.FAIL]


def test_bracketed_text_that_is_no_reference_stays() -> None:
    tables, findings = read_tables({"PORT": {"Ethernet0": {"alias": "Eth1(Port1)", "description": "[spare]"}}})
    assert tables["PORT"]["Ethernet0"]["description"] == "[spare]"
    assert findings == []


def test_lists_of_ports_in_one_key_become_one_row_a_port() -> None:
    tables, findings = read_tables({"QUEUE": {"Ethernet1,Ethernet2|3-4": {"scheduler": "a"}}})
    assert tables["QUEUE"] == {"Ethernet1|3-4": {"scheduler": "a"}, "Ethernet2|3-4": {"scheduler": "a"}}
    assert [finding.code for finding in findings] == ["CFG-05"]


def test_redis_style_dump_is_nested() -> None:
    data = {
        "CONFIG_DB_INITIALIZED": "1",
        "INTERFACE|Ethernet0": {"NULL": "NULL"},
        "INTERFACE|Ethernet0|10.0.0.0/31": {"NULL": "NULL"},
        "ACL_TABLE|X": {"type": "hash", "ttl": -0.001, "value": {"ports@": "Ethernet0,Ethernet4"}},
    }
    tables, findings = read_tables(data)
    assert findings == []
    assert tables == {
        "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}},
        "ACL_TABLE": {"X": {"ports": ["Ethernet0", "Ethernet4"]}},
    }
