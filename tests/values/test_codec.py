from __future__ import annotations

import json
from typing import Any

import pytest

from fabric.errors import InputError
from fabric.values import codec
from fabric.values.finding import Finding, Move, Place, Severity, Status, exit_code, finding_json, summarize
from fabric.values.plan import HeadroomRow, LifeState, PlannedNic
from fabric.values.snapshot import NextHop, PortState, Route, Snapshot, SwitchState


def _snapshot() -> Snapshot:
    route = Route("10.0.0.0/31", "bgp", (NextHop("10.0.0.1", "Ethernet0"), NextHop("10.0.0.3", "Ethernet8", 2)))
    port = PortState("Ethernet0", oper_up=True, speed_mbps=400000, lanes=(1, 2, 3, 4), last_up_time=12.5)
    switch = SwitchState("p1-l0", 10.0, ports={"Ethernet0": port}, rib={route.prefix: route})
    return Snapshot("lab", 9.0, 11.0, {"p1-l0": switch}, missing={"s0": "no answer in 5 s"})


def test_a_value_survives_the_round_trip() -> None:
    snapshot = _snapshot()
    assert codec.loads(Snapshot, codec.dumps(snapshot), "x.json") == snapshot


def test_absent_is_null_and_never_missing() -> None:
    document = json.loads(codec.dumps(_snapshot()))
    port = document["switches"]["p1-l0"]["ports"]["Ethernet0"]
    assert port["mtu"] is None
    assert document["schema"] == "railfab.snapshot/1"


def test_a_newer_file_with_an_unknown_field_is_read() -> None:
    document = codec.plain(_snapshot()) | {"colour": "blue"}
    assert codec.decode(Snapshot, document) == _snapshot()


def test_an_older_file_without_an_optional_field_takes_its_default() -> None:
    document = codec.plain(_snapshot())
    del document["missing"]
    assert codec.decode(Snapshot, document).missing == {}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("schema",), "railfab.snapshot/9", "schema is 'railfab.snapshot/9'"),
        (("started_at",), "soon", "started_at: expected float, found str"),
        (("started_at",), True, "started_at: expected float, found bool"),
        (("switches", "p1-l0", "ports", "Ethernet0", "mtu"), "9100", "switches.p1-l0.ports.Ethernet0.mtu"),
        (("switches", "p1-l0", "ports", "Ethernet0", "lanes"), 4, "expected a list, found int"),
        (("switches",), [], "switches: expected an object, found list"),
    ],
)
def test_what_does_not_fit_is_named_by_its_key_path(path: tuple[str, ...], value: Any, expected: str) -> None:
    document = codec.plain(_snapshot())
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(InputError) as caught:
        codec.decode(Snapshot, document)
    assert expected in str(caught.value)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(InputError, match="xoff: is missing"):
        codec.decode(HeadroomRow, {"speed_mbps": 1, "cable_m": 5, "size": 1, "xon": 0, "threshold": 0})


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, b"\xff\xfe\x00"])
def test_what_is_not_json_names_the_file(text: str | bytes) -> None:
    with pytest.raises(InputError) as caught:
        codec.loads(Snapshot, text, "broken.json")
    assert "broken.json: not JSON" in str(caught.value)


def test_an_unknown_word_lists_those_that_exist() -> None:
    nic = codec.plain(
        PlannedNic("rail0", "compute", 0, None, None, None, 400000, 9100, "l0", "Ethernet0", (), ())  # type: ignore[arg-type]
    )
    nic["state"] = "asleep"
    with pytest.raises(InputError) as caught:
        codec.decode(PlannedNic, nic)
    assert all(state.value in str(caught.value) for state in LifeState)


def test_findings_nest_and_spell_moves_as_the_contract_does() -> None:
    move = Move("a:p--b:q", Place("a", "p"), Place("a", "r"))
    child = Finding("BGP-01", Status.FAIL, device="p1-l0")
    finding = Finding("TOPO-01", Status.FAIL, moves=(move,), consequences=(child,))
    document = finding_json(finding)
    assert document["moves"] == [
        {"cable": "a:p--b:q", "from": {"device": "a", "port": "p"}, "to": {"device": "a", "port": "r"}}
    ]
    assert document["consequences"] == [finding_json(child)]
    assert codec.decode(Finding, codec.plain(finding)) == finding


_FAIL, _WARN = Finding("X-01", Status.FAIL), Finding("X-01", Status.WARN, Severity.WARN)
_UNKNOWN = Finding("X-01", Status.UNKNOWN)


@pytest.mark.parametrize(
    ("findings", "passed", "missing", "strict", "code"),
    [
        ((), 3, (), False, 0),
        ((), 0, (), False, 2),
        ((_WARN,), 3, (), False, 0),
        ((_WARN,), 3, (), True, 1),
        ((_FAIL,), 0, (), False, 1),
        ((_UNKNOWN,), 3, (), False, 2),
        ((_FAIL, _UNKNOWN), 3, (), False, 1),
        ((), 3, ("s0",), False, 2),
    ],
)
def test_exit_codes_never_call_missing_data_healthy(
    findings: tuple[Finding, ...], passed: int, missing: tuple[str, ...], strict: bool, code: int
) -> None:
    assert exit_code(summarize(findings, passed, 4, missing), strict) == code
