"""JSON patches: escaping, empty tables, and that they lead where they must."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.change import semantic
from fabric.change.patch import patch, pointer

Config = dict[str, dict[str, dict[str, Any]]]


def patched(start: Any, operations: list[Any]) -> Any:
    return jsonpatch.apply_patch(start, [dict(one) for one in operations])  # type: ignore[misc]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("INTERFACE", "Ethernet0|10.0.0.0/31"), "/INTERFACE/Ethernet0|10.0.0.0~131"),
        (("asic0", "INTERFACE", "Ethernet0|10.0.0.0/31"), "/asic0/INTERFACE/Ethernet0|10.0.0.0~131"),
        (("PORT", "a~b", "c~1"), "/PORT/a~0b/c~01"),
    ],
)
def test_f018_pointers_are_escaped_once(parts: tuple[str, ...], text: str) -> None:
    assert pointer(*parts) == text


def test_f018_a_row_with_a_prefix_length_goes_in_and_out() -> None:
    running: Config = {"INTERFACE": {"Ethernet0": {}}}
    desired: Config = {"INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}}}
    for scope in (None, "asic0"):
        operations = patch(semantic.diff(desired, running), running, scope)
        start: Any = {scope: running} if scope else running
        result = patched(start, list(operations))
        assert (result[scope] if scope else result) == desired


def test_f026_a_table_that_ends_up_empty_goes_whole() -> None:
    running: Config = {"DEVICE_NEIGHBOR": {"Ethernet0": {"name": "s0"}}, "PORT": {"Ethernet0": {"lanes": "1"}}}
    desired: Config = {"DEVICE_NEIGHBOR": {}, "PORT": {"Ethernet0": {"lanes": "1"}}}
    operations = patch(semantic.diff(desired, running), running)
    assert operations == [{"op": "remove", "path": "/DEVICE_NEIGHBOR"}]
    assert all(semantic.apply(semantic.diff(desired, running), running).values())


def test_a_new_table_is_added_whole() -> None:
    desired: Config = {"NTP_SERVER": {"192.0.2.1": {"iburst": "on"}}}
    assert patch(semantic.diff(desired, {}), {}) == [
        {"op": "add", "path": "/NTP_SERVER", "value": {"192.0.2.1": {"iburst": "on"}}}
    ]


_ports = st.sampled_from(["Ethernet0", "Ethernet8", "Ethernet16"])
_texts = st.text(alphabet="ab~/ |", min_size=1, max_size=4)
_rows = st.dictionaries(
    st.sampled_from(["description", "mtu", "speed", "lanes", "mac", "pfc_asym"]), _texts, max_size=4
)
_configs = st.fixed_dictionaries(
    {},
    optional={
        "PORT": st.dictionaries(_ports, _rows, max_size=3),
        "INTERFACE": st.dictionaries(st.sampled_from(["Ethernet0", "Ethernet0|10.0.0.0/31"]), st.just({}), max_size=2),
        "QUEUE": st.dictionaries(
            st.sampled_from(["Ethernet0|3", "Ethernet0|4", "Ethernet0|3-4"]),
            st.dictionaries(st.sampled_from(["scheduler", "wred_profile"]), _texts, max_size=2),
            max_size=3,
        ),
        "FEATURE": st.dictionaries(
            st.sampled_from(["bgp", "lldp"]), st.fixed_dictionaries({"state": _texts}), max_size=2
        ),
        "FOREIGN": st.dictionaries(_texts, _rows, max_size=2),
    },
)


@settings(max_examples=300, deadline=None)
@given(desired=_configs, running=_configs)
def test_a_patch_leads_to_what_is_wanted_and_nowhere_else(desired: Config, running: Config) -> None:
    desired = {table: rows for table, rows in desired.items() if rows and table != "FOREIGN"}
    running = {table: rows for table, rows in running.items() if rows}
    found = semantic.diff(desired, running)
    result = patched(running, list(patch(found, running)))
    assert all(result.values()), "no table is left empty"
    assert result.get("FOREIGN") == running.get("FOREIGN")
    assert semantic.diff(desired, result) == [], "nothing is left to do"
    assert semantic.diff(desired, semantic.apply(found, running)) == []


def test_a_row_that_a_range_takes_in_goes_with_the_same_patch() -> None:
    desired = {"QUEUE": {"Ethernet0|3-4": {"scheduler": "a"}}}
    running = {"QUEUE": {"Ethernet0|3": {"scheduler": "a"}, "Ethernet0|4": {"scheduler": "b"}}}
    assert semantic.apply(semantic.diff(desired, running), running) == desired
    assert semantic.diff(desired, {"QUEUE": {f"Ethernet0|{queue}": {"scheduler": "a"} for queue in (3, 4)}}) == []
