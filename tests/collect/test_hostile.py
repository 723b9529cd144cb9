"""Garbage, cut-off, huge, foreign and hostile answers: never a crash, never taken for data."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.collect import parse_counters, parse_frr, parse_lldp, parse_optics, parse_ports, parse_routes, parse_system
from fabric.collect.answer import split
from fabric.collect.hosts import parse_host
from fabric.collect.parts import FIELDS, Part
from fabric.collect.switch import parse_switch
from fabric.collect.tables import Database, from_flat
from fabric.errors import CollectError
from fabric.values.snapshot import SwitchState

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)
ROWS = st.dictionaries(
    st.text(max_size=20), st.dictionaries(st.text(max_size=20), st.text(max_size=30), max_size=5), max_size=5
)


def answer(**sections: str) -> str:
    """An answer with these sections (`__` for `.`), each ended well."""
    parts = ["\n@@t begin system\nasics 1\nclock 10\nuptime 100\n\n@@t end system 0\n"]
    for name, text in sections.items():
        name = name.replace("__", ".")
        parts.append(f"\n@@t begin {name}\n{text}\n\n@@t end {name} 0\n")
    return "".join(parts) + "\n@@t done\n"


def slices(hashes: dict[str, Any]) -> str:
    return json.dumps({"h": hashes, "m": {}})


GOOD = answer(
    db__APPL_DB=slices(
        {
            "PORT_TABLE:PortInitDone": {"lanes": "0"},
            "PORT_TABLE:Ethernet0": {"oper_status": "up", "speed": "400000", "lanes": "1,2,3,4"},
            "LLDP_ENTRY_TABLE:Ethernet0": {"lldp_rem_sys_name": "s0", "lldp_rem_port_id": "etp1"},
            "ROUTE_TABLE:10.0.0.0/24": {"nexthop": "10.1.0.1", "ifname": "Ethernet0", "protocol": "bgp"},
        }
    ),
    db__STATE_DB=slices({"TRANSCEIVER_INFO|Ethernet0": {"type": "OSFP"}}),
    db__CONFIG_DB=slices({"DEVICE_METADATA|localhost": {"hwsku": "X"}}),
    frr__rib4='{"10.0.0.0/24":[{"protocol":"bgp","selected":true,"nexthops":[{"ip":"10.1.0.1","fib":true}]}]}',
    frr__rib6="{}",
    frr__bgp='{"ipv4Unicast":{"as":1,"peers":{"10.1.0.1":{"state":"Established","remoteAs":2}}}}',
    frr__config="frr version 10\nend",
    kernel4='[{"dst":"10.0.0.0/24","gateway":"10.1.0.1","dev":"Ethernet0","protocol":"bgp"}]',
    kernel6="[]",
    neighbours="[]",
    lldpctl='{"lldp":[{"interface":[{"name":"Ethernet0","chassis":[{"name":[{"value":"s0"}]}],"port":[{"id":[{"type":"local","value":"etp1"}]}]}]}]}',
)
WANTED = (
    Part.PORTS, Part.LLDP, Part.APPL, Part.RIB, Part.BGP, Part.KERNEL, Part.FRR, Part.CONFIG, Part.OPTICS,
    Part.NEIGHBOURS, Part.FDB,
)  # fmt: skip


def read(text: str | bytes) -> SwitchState:
    return parse_switch("leaf", text, 1.0, parts=WANTED, token="t")


def test_the_good_answer_is_good() -> None:
    assert read(GOOD).holes == ()


@QUICK
@given(st.integers(0, len(GOOD)))
def test_an_answer_cut_anywhere_is_a_hole_or_whole(where: int) -> None:
    good = read(GOOD)
    try:
        state = read(GOOD[:where])
    except CollectError:
        return
    holes = {hole.part for hole in state.holes}
    for part in WANTED:
        for name in FIELDS[part]:
            value = getattr(state, name)
            if value is None:
                assert name in holes, f"{name} is missing and nobody says so"
            elif name == "lldp" and any("from the database" in note for note in state.notes):
                assert [row.system_name for row in state.lldp or ()] == ["s0"]
            elif name not in ("errors_by_port", "ports"):
                assert value == getattr(good, name), f"half of {name} passes for all of it"


@QUICK
@given(st.integers(0, len(GOOD) - 1), st.binary(min_size=1, max_size=6))
def test_a_damaged_answer_never_crashes(where: int, junk: bytes) -> None:
    data = GOOD.encode()
    with contextlib.suppress(CollectError):
        read(data[:where] + junk + data[where + len(junk) :])


@QUICK
@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    for text in (data, b"\n@@t begin db.APPL_DB\n" + data + b"\n@@t end db.APPL_DB 0\n"):
        try:
            state = read(text)
        except CollectError:
            continue
        assert state.holes


@QUICK
@given(JSON)
def test_json_of_any_shape_is_refused_or_read(data: Any) -> None:
    text = json.dumps(data)
    readers: list[Callable[[str], object]] = [
        parse_frr.rib, parse_frr.bgp_summary, parse_frr.bfd_states, parse_lldp.from_lldpctl, parse_routes.kernel,
        parse_routes.neighbours, lambda text: Database().add(text), parse_frr.running_config, parse_system.system,
    ]  # fmt: skip
    for reader in readers:
        with contextlib.suppress(CollectError):
            reader(text)


@QUICK
@given(JSON)
def test_json_of_any_shape_deeper_in_a_right_one(data: Any) -> None:
    shapes: list[tuple[Callable[[str], object], Any]] = [
        (parse_frr.rib, {"10.0.0.0/8": data}),
        (parse_frr.rib, {"10.0.0.0/8": [{"selected": True, "nexthops": data}]}),
        (parse_frr.rib, {"10.0.0.0/8": [{"selected": True, "nexthops": [data]}]}),
        (parse_frr.bgp_summary, {"ipv4Unicast": data}),
        (parse_frr.bgp_summary, {"ipv4Unicast": {"peers": data}}),
        (parse_frr.bgp_summary, {"ipv4Unicast": {"peers": {"1.1.1.1": data}}}),
        (parse_lldp.from_lldpctl, {"lldp": data}),
        (parse_lldp.from_lldpctl, {"lldp": {"interface": data}}),
        (parse_lldp.from_lldpctl, {"lldp": {"interface": {"Ethernet0": {"chassis": data, "port": data, "age": data}}}}),
        (parse_routes.kernel, [data]),
        (parse_routes.kernel, [{"dst": "10.0.0.0/8", "nexthops": data, "protocol": data}]),
        (parse_routes.neighbours, [{"dst": "10.0.0.1", "state": data, "lladdr": data}]),
        (lambda text: Database().add(text), {"h": {"PORT_TABLE:x": data}}),
        (lambda text: Database().add(text), {"h": {}, "m": [data]}),
        (lambda text: Database().add(text), {"h": {}, "m": [{"map": "a", "table": "b", "fields": [1], "rows": data}]}),
    ]  # fmt: skip
    for reader, shape in shapes:
        with contextlib.suppress(CollectError):
            reader(json.dumps(shape))


@QUICK
@given(ROWS)
def test_rows_of_any_content_are_refused_or_read(rows: dict[str, dict[str, str]]) -> None:
    readers: list[Callable[[], object]] = [
        lambda: parse_ports.ports(rows, rows, done_marker=False),
        lambda: parse_lldp.from_table(rows),
        lambda: parse_routes.appl(rows, rows, rows),
        lambda: parse_routes.asic(rows, {}, {}),
        lambda: parse_routes.asic({f"ROUTE_ENTRY:{key}": row for key, row in rows.items()}, {}, {}),
        lambda: parse_optics.optics({f"TRANSCEIVER_DOM_SENSOR|{key}": row for key, row in rows.items()}),
        lambda: parse_system.config(rows),
        lambda: parse_system.fdb(rows),
        lambda: parse_counters.port_counters(from_flat({**rows, "COUNTERS_PORT_NAME_MAP": dict.fromkeys(rows, "x")})),
        lambda: parse_counters.watermarks(from_flat(rows)),
    ]  # fmt: skip
    for reader in readers:
        with contextlib.suppress(CollectError):
            reader()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("\n\n", id="blank"),
        pytest.param("Debian GNU/Linux 12\nAuthorized users only $ # \n", id="F102-banner"),
        pytest.param("the input device is not a TTY\n", id="F099-tty"),
        pytest.param("Traceback (most recent call last):\n  File x\nValueError: speed\n", id="F107-traceback"),
        pytest.param("sudo: a password is required\n", id="F110-sudo"),
        pytest.param("<html><body>502</body></html>", id="html"),
        pytest.param(b"\xff\xfe\x00\x01" * 100, id="not-utf8"),
        pytest.param("{" * 100_000, id="deep"),
        pytest.param("@@t begin", id="half-marker"),
        pytest.param("@@x begin system\n@@x end system 0\n@@x done\n", id="token-of-another-run"),
    ],
)
def test_an_answer_with_nothing_of_ours_is_an_error(text: str | bytes) -> None:
    with pytest.raises(CollectError):
        read(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("the input device is not a TTY", "wants a terminal", id="F099"),
        pytest.param("Traceback (most recent call last):\n  x\nKeyError: 'speed'", "traceback", id="F107"),
        pytest.param("bgpd is not running", "bgpd is not running", id="bgpd"),
        pytest.param('{"ipv4Unicast":{"peers":', "not JSON", id="cut"),
        pytest.param("[]", "FRR|\\[\\]", id="list"),
        pytest.param("", "nothing", id="empty"),
        pytest.param("{" * 5000, "depth|deep|not JSON", id="deep"),
        pytest.param('{"a":' * 3000 + "1" + "}" * 3000, "depth|deep|not JSON", id="deep-but-valid"),
        pytest.param('{"ipv4Unicast":' + "9" * 5000 + "}", "not JSON", id="endless-number"),
    ],
)
def test_words_instead_of_bgp_are_a_hole_with_the_words(text: str, reason: str) -> None:
    good = re.sub(r"(begin frr\.bgp\n).*?(\n\n@@t end frr\.bgp)", lambda m: m[1] + text + m[2], GOOD, flags=re.DOTALL)
    state = read(good)
    assert state.bgp is None
    hole = state.hole("bgp")
    assert hole is not None
    assert re.search(reason, hole), hole
    assert state.rib is not None, "other parts are read all the same"


def test_error_lines_before_lldp_rows_are_kept_as_a_note() -> None:
    """F139: one namespace has no container; the table of the others is right."""
    text = (
        "Error response from daemon: container x is not running\nfailed in asic1\n"
        "LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr\n"
        "-----------  --------------  --------------  ------------  -----------------\n"
        "Ethernet0    spine1          etp1            BR            Ethernet0\n"
        "--------------------------------------------------\nTotal entries displayed:  1\n"
    )
    rows, notes = parse_lldp.from_show_table(text)
    assert [(row.local_port, row.system_name, row.port_id) for row in rows] == [("Ethernet0", "spine1", "etp1")]
    assert notes == ("Error response from daemon: container x is not running", "failed in asic1")


def test_f027_a_row_without_a_device_is_cut_by_columns() -> None:
    text = (
        "LocalPort    RemoteDevice        RemotePortID    Capability    RemotePortDescr\n"
        "-----------  ------------------  --------------  ------------  -----------------\n"
        "Ethernet4                        fortyGigE0/0                  Ethernet1\n"
    )
    (row,), _ = parse_lldp.from_show_table(text)
    assert (row.local_port, row.system_name, row.port_id, row.port_description) == (
        "Ethernet4", "", "fortyGigE0/0", "Ethernet1",
    )  # fmt: skip
    with pytest.raises(CollectError):
        parse_lldp.from_show_table("the input device is not a TTY\n")


def test_f041_a_row_with_only_a_time_mark_is_left_out_with_a_note() -> None:
    rows, notes = parse_lldp.from_table(
        {"eth0": {"lldp_rem_time_mark": "100"}, "Ethernet0": {"lldp_rem_sys_name": "s0", "lldp_rem_port_id": "etp1"}}
    )
    assert [row.local_port for row in rows] == ["Ethernet0"]
    assert notes == ("lldp: the row of eth0 names no neighbour; left out",)


ONE = {"id": {"type": "mac", "value": "AA:BB"}, "descr": "d"}
PORT = {"id": {"type": "ifname", "value": "etp1"}, "descr": "Ethernet0"}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"lldp": {"interface": {"Ethernet0": {"chassis": {"leaf1": ONE}, "port": PORT}}}}, id="object"),
        pytest.param({"lldp": {"interface": [{"Ethernet0": {"chassis": {"leaf1": ONE}, "port": PORT}}]}}, id="list"),
        pytest.param(
            {"lldp": [{"interface": [{
                "name": "Ethernet0",
                "chassis": [{"name": [{"value": "leaf1"}], "id": [ONE["id"]], "descr": [{"value": "d"}]}],
                "port": [{"id": [PORT["id"]], "descr": [{"value": "Ethernet0"}]}],
            }]}]},
            id="json0",
        ),
    ],
)  # fmt: skip
def test_f037_f038_three_shapes_one_record(document: Any) -> None:
    (row,) = parse_lldp.from_lldpctl(json.dumps(document))
    assert (row.local_port, row.system_name, row.chassis_id) == ("Ethernet0", "leaf1", "aa:bb")
    assert (row.port_id, row.port_description, row.system_description) == ("etp1", "Ethernet0", "d")


def test_f033_many_neighbours_of_one_port_are_all_kept() -> None:
    entries = [{"eth0": {"chassis": {f"m{n}": ONE}, "port": PORT}} for n in range(3)]
    rows = parse_lldp.from_lldpctl(json.dumps({"lldp": {"interface": entries}}))
    assert [(row.local_port, row.system_name) for row in rows] == [("eth0", "m0"), ("eth0", "m1"), ("eth0", "m2")]


def test_f032_two_neighbours_of_a_fabric_port_are_both_kept() -> None:
    chassis = {"id": {"type": "mac", "value": "02:00:5e:00:00:01"}}
    entries = [
        {"Ethernet38": {"chassis": chassis, "port": {"id": {"type": "mac", "value": "02:00:5E:00:00:09"}}}},
        {"Ethernet38": {"chassis": chassis, "port": {"id": {"type": "ifname", "value": "etp10c"}}}},
    ]
    rows = parse_lldp.from_lldpctl(json.dumps({"lldp": {"interface": entries}}))
    assert [(row.port_subtype, row.port_id) for row in rows] == [("mac", "02:00:5e:00:00:09"), ("ifname", "etp10c")]


def test_lldpctl_that_sees_nothing_while_the_database_has_rows_is_no_answer() -> None:
    state = read(re.sub(r'\{"lldp":\[\{"interface".*\}\]\}\n', '{"lldp":[{}]}\n', GOOD))
    assert state.lldp is None
    assert "one of them is wrong" in (state.hole("lldp") or "")


def test_multi_asic_names_merge_and_routes_are_a_stated_hole() -> None:
    text = answer(
        **{
            "db.APPL_DB": slices({"PORT_TABLE:PortInitDone": {"x": "1"}}),
            "db.APPL_DB@asic0": slices({"PORT_TABLE:Ethernet0": {"oper_status": "up"}}),
            "db.APPL_DB@asic1": slices({"PORT_TABLE:Ethernet4": {"oper_status": "up"}}),
            "db.STATE_DB": slices({}), "db.STATE_DB@asic0": slices({}), "db.STATE_DB@asic1": slices({}),
        }
    ).replace("asics 1", "asics 2")  # fmt: skip
    state = parse_switch("chassis", text, 1.0, parts={Part.PORTS, Part.APPL, Part.RIB})
    assert set(state.ports or ()) == {"Ethernet0", "Ethernet4"}
    assert state.hole("appl") == "2 ASICs with tables of their own; not put together"
    assert state.hole("rib") is not None
    lost = text.replace("db.APPL_DB@asic1", "db.APPL_DB@asic9")
    lost = re.sub(r"\n@@t begin db\.APPL_DB@asic9.*?asic9 0\n", "", lost, flags=re.DOTALL)
    partly = parse_switch("chassis", lost, 1.0, parts={Part.PORTS})
    assert partly.ports is None, "one ASIC that did not answer is not a smaller switch"


def test_a_host_answer_of_any_kind() -> None:
    with pytest.raises(CollectError):
        parse_host("gpu001", "bash: sh: command not found", 1.0)


def test_marker_text_inside_an_answer_is_only_believed_with_our_token() -> None:
    text = "\n@@mine begin a\nx\n@@other end a 0\n@@other done\ny\n@@mine end a 0\n@@mine done\n"
    cut = split(text, token="mine")
    assert cut.sections["a"].text == "x\n@@other end a 0\n@@other done\ny"
    assert cut.complete


def test_real_answers_damaged_one_byte_at_a_time(shared: Path) -> None:
    """Every 97th byte of real JSON replaced: read differently or refused, never a crash."""
    for name, reader in (
        ("routing/ip_route.json", parse_frr.rib),
        ("routing/show_ip_bgp_summary.json", parse_frr.bgp_summary),
        ("lldp/lldpctl.json", parse_lldp.from_lldpctl),
    ):
        text = (shared / "real" / name).read_text()
        for where in range(0, len(text), 97 if len(text) < 20_000 else 997):
            try:
                reader(text[:where] + "}" + text[where + 1 :])
            except CollectError:
                continue
