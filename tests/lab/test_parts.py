"""The twin's parts by themselves: readers of netlink, FPM, Redis and lldpd, rows, host files, blueprint."""

from __future__ import annotations

import dataclasses
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.errors import LabError
from fabric.lab import hostnet
from fabric.lab._faults import _without
from fabric.lab._wires import nic_batch
from fabric.lab.agent import lldp
from fabric.lab.agent.netlink import read_route
from fabric.lab.agent.routes import Stream, appl_prefix
from fabric.lab.agent.rows import Rows
from fabric.lab.blueprint import Blueprint, NicBox, draw
from fabric.lab.box.database import Tables, commands, merged, plain, port_range, text
from fabric.lab.box.redis import RedisError, _take, encode
from fabric.render import render_hosts
from fabric.values import codec
from fabric.values.plan import LifeState
from tests.lab import handmade


def attribute(kind: int, payload: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(payload), kind) + payload + bytes(-len(payload) % 4)


def hop(index: int, gateway: bytes, weight: int = 1) -> bytes:
    inner = attribute(5, gateway)
    return struct.pack("=HBBi", 8 + len(inner), 0, weight - 1, index) + inner


def route_message(
    prefix: bytes, length: int, body: bytes, kind: int = 1, message: int = 24, protocol: int = 186
) -> bytes:
    family = 2 if len(prefix) == 4 else 10
    data = struct.pack("=BBBBBBBBI", family, length, 0, 0, 254, protocol, 0, kind, 0) + attribute(1, prefix) + body
    netlink = struct.pack("=IHHII", 16 + len(data), message, 0, 0, 0) + data
    return struct.pack(">BBH", 1, 1, 4 + len(netlink)) + netlink


ECMP = route_message(
    bytes([10, 1, 0, 0]), 16, attribute(9, hop(7, bytes([10, 100, 0, 1])) + hop(8, bytes([10, 100, 0, 3]), 2))
)
SINGLE = route_message(
    bytes([10, 255, 0, 9]), 32, attribute(5, bytes([10, 100, 0, 1])) + attribute(4, struct.pack("=I", 7))
)
BLACKHOLE = route_message(bytes([10, 0, 0, 0]), 16, b"", kind=6, protocol=196)
SIX = route_message(
    bytes.fromhex("fd00" + "0" * 28), 64, attribute(5, bytes(15) + b"\1") + attribute(4, struct.pack("=I", 7))
)
GONE = route_message(bytes([10, 1, 0, 0]), 16, b"", message=25)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=30))
def test_fpm_stream_however_it_is_cut(sizes: list[int]) -> None:
    data = ECMP + SINGLE + BLACKHOLE + SIX + GONE
    stream, seen, place = Stream(), [], 0
    for size in [*sizes, len(data)]:
        seen += list(stream.feed(data[place : place + size]))
        place += size
    assert [prefix for prefix, _ in seen] == ["10.1.0.0/16", "10.255.0.9", "10.0.0.0/16", "fd00::/64", "10.1.0.0/16"]
    first = seen[0][1]
    assert first is not None
    assert first.hops == [("10.100.0.1", 7, 1), ("10.100.0.3", 8, 2)]
    assert seen[1][1] is not None
    assert seen[1][1].hops == [("10.100.0.1", 7, 1)]
    assert seen[2][1] is not None
    assert (seen[2][1].kind, seen[2][1].hops) == (6, [])
    assert seen[4][1] is None


def test_what_is_not_fpm_is_refused() -> None:
    with pytest.raises(ValueError, match="not FPM"):
        list(Stream().feed(b"GET / HTTP/1.1\r\n"))


def test_routes_of_other_families_are_left_out() -> None:
    assert read_route(memoryview(struct.pack("=BBBBBBBBI", 28, 0, 0, 0, 254, 186, 0, 1, 0))) is None


@pytest.mark.parametrize(
    ("prefix", "row"),
    [
        ("10.0.0.0/31", "10.0.0.0/31"),
        ("10.0.0.1/32", "10.0.0.1"),
        ("fd00::1/128", "fd00::1"),
        ("fd00::/64", "fd00::/64"),
    ],
)
def test_prefix_as_appl_db_writes_it(prefix: str, row: str) -> None:
    assert appl_prefix(prefix) == row


ANSWERS: list[tuple[bytes, Any]] = [
    (b"+OK\r\n", "OK"),
    (b":42\r\n", 42),
    (b"$-1\r\n", None),
    (b"$0\r\n\r\n", ""),
    (b"$5\r\na\r\nbc\r\n", "a\r\nbc"),
    (b"*0\r\n", []),
    (b"*2\r\n$1\r\nx\r\n*1\r\n:7\r\n", ["x", [7]]),
]


@pytest.mark.parametrize(("data", "value"), ANSWERS)
def test_redis_answers_whole_and_cut(data: bytes, value: Any) -> None:
    assert _take(bytearray(data), 0) == (value, len(data))
    for length in range(len(data)):
        assert _take(bytearray(data[:length]), 0) is None


def test_redis_errors_and_commands() -> None:
    taken = _take(bytearray(b"-ERR no\r\n"), 0)
    assert taken is not None
    assert isinstance(taken[0], RedisError)
    assert encode(["SET", b"k\r\n", 7]) == b"*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$1\r\n7\r\n"


class FakeRedis:
    """Takes pipelines and keeps the hashes they make."""

    def __init__(self) -> None:
        self.hashes: dict[str, dict[str, str]] = {}

    def pipeline(self, steps: list[tuple[Any, ...]]) -> list[int]:
        for verb, key, *rest in steps:
            row = self.hashes.setdefault(key, {})
            if verb == "DEL":
                del self.hashes[key]
            elif verb == "HSET":
                row.update(zip(rest[::2], rest[1::2]))
            else:
                for field in rest:
                    del row[field]
        return [0] * len(steps)


_ROW = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2"]))
_TABLE = st.dictionaries(st.sampled_from(["T:a", "T:b", "U:a"]), _ROW)


@given(st.lists(_TABLE, max_size=6))
def test_rows_end_as_wanted_whatever_came_before(states: list[dict[str, dict[str, str]]]) -> None:
    redis = FakeRedis()
    rows = Rows(redis)  # type: ignore[arg-type]
    for state in states:
        rows.keep_only(
            {key: row for key, row in state.items() if key.startswith("T:")}, lambda key: key.startswith("T:")
        )
        rows.flush()
        assert redis.hashes == {key: row or {"NULL": "NULL"} for key, row in state.items() if key.startswith("T:")}


def test_lldp_rows_are_those_lldp_syncd_makes(shared: Path) -> None:
    """Fields of a row made from a real lldpctl answer, against a real table of the same project."""
    real = json.loads((shared / "real/lldp/LLDP_ENTRY_TABLE.json").read_text())
    answer = json.loads((shared / "real/lldp/lldpctl.json").read_text())
    listed = {"lldp": [{"interface": [_as_list(one) for one in _flat(answer["lldp"]["interface"])]}]}
    rows = lldp.entries(listed)
    assert rows
    for row in rows.values():
        assert set(row) == set(real["LLDP_ENTRY_TABLE:Ethernet0"])
    for name, row in rows.items():
        wanted = real.get(f"LLDP_ENTRY_TABLE:{name}")
        if wanted:
            for field in ("lldp_rem_port_id_subtype", "lldp_rem_chassis_id_subtype", "lldp_rem_sys_cap_supported"):
                assert row[field] == wanted[field], (name, field)


def _flat(interfaces: Any) -> list[dict[str, Any]]:
    listed = interfaces if isinstance(interfaces, list) else [interfaces]
    return [{"name": name, **body} for one in listed for name, body in one.items()]


def _as_list(one: dict[str, Any]) -> dict[str, Any]:
    """The collapsed form (`json`) as the list form (`json0`), which the agent reads."""
    name, chassis = next(iter(one["chassis"].items())) if "id" not in one["chassis"] else ("", one["chassis"])
    body = {
        "id": [chassis["id"]],
        "name": [{"value": name}],
        "descr": [{"value": chassis.get("descr", "")}],
        "mgmt-ip": [{"value": way} for way in _many(chassis.get("mgmt-ip", []))],
        "capability": _many(chassis.get("capability", [])),
    }
    port = {"id": [one["port"]["id"]], "descr": [{"value": one["port"].get("descr", "")}]}
    return {"name": one["name"], "rid": one["rid"], "age": one["age"], "chassis": [body], "port": [port]}


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_tables_to_redis_and_back() -> None:
    tables: Tables = {"PORT": {"Ethernet0": {"lanes": "1,2", "hash": ["A", "B"]}}, "INTERFACE": {"Ethernet0": {}}}
    made = list(commands(tables))
    assert made == [
        ("HSET", "PORT|Ethernet0", "lanes", "1,2", "hash@", "A,B"),
        ("HSET", "INTERFACE|Ethernet0", "NULL", "NULL"),
    ]
    assert (
        plain({str(name): str(value) for name, value in zip(made[0][2::2], made[0][3::2])})
        == tables["PORT"]["Ethernet0"]
    )
    assert plain({"NULL": "NULL"}) == {}
    assert merged({"A": {"x": {"f": "1", "g": "1"}}}, {"A": {"x": {"f": "2"}}}) == {"A": {"x": {"f": "2", "g": "1"}}}
    assert list(json.loads(text({"PORT": {"Ethernet8": {}, "Ethernet16": {}, "Ethernet0": {}}}))["PORT"]) == [
        "Ethernet0",
        "Ethernet8",
        "Ethernet16",
    ]
    assert port_range("Ethernet[0-8]", ["Ethernet0", "Ethernet8", "Ethernet16"]) == ["Ethernet0", "Ethernet8"]


def test_netplan_and_networkd_say_the_same() -> None:
    netplan = """
network:
  version: 2
  ethernets:
    rail0:
      dhcp4: false
      mtu: 9000
      addresses: ["10.0.0.1/31"]
      routes:
        - {to: "10.0.0.0/16", via: "10.0.0.0"}
        - {to: "0.0.0.0/0", via: "10.0.0.0", table: 1000}
      routing-policy: [{from: "10.0.0.1/32", table: 1000, priority: 1000}]
"""
    networkd = """
[Match]
Name=rail0
[Link]
MTUBytes=9000
[Network]
Address=10.0.0.1/31
[Route]
Destination=10.0.0.0/16
Gateway=10.0.0.0
[Route]
Destination=0.0.0.0/0
Gateway=10.0.0.0
Table=1000
[RoutingPolicyRule]
From=10.0.0.1/32
Table=1000
Priority=1000
"""
    first = hostnet.read({"etc/netplan/60-railfab.yaml": netplan})
    second = hostnet.read({"etc/systemd/network/60-railfab-rail0.network": networkd, "etc/nccl.conf": "x"})
    assert first == second
    lines = nic_batch(NicBox("rail0", "02:00:00:00:00:01", first["rail0"]), "02:00:00:00:00:02").splitlines()
    assert lines[0] == "link set rail0 mtu 9000 up"
    assert "neigh replace 10.0.0.0 lladdr 02:00:00:00:00:02 dev rail0 nud permanent" in lines
    assert "route replace 0.0.0.0/0 via 10.0.0.0 dev rail0 table 1000" in lines
    assert "rule add from 10.0.0.1/32 lookup 1000 pref 1000" in lines


def test_unknown_word_in_a_host_file_is_an_error() -> None:
    with pytest.raises(LabError, match="wakeonlan"):
        hostnet.read({"etc/netplan/1.yaml": "network: {ethernets: {rail0: {wakeonlan: true}}}"})


def test_blueprint_has_what_is_physical_and_no_more() -> None:
    plan = handmade.plan()
    blueprint = draw(plan)
    assert codec.loads(Blueprint, codec.dumps(blueprint), "x") == blueprint
    written = codec.dumps(blueprint)
    for secret in ("10.100.0.", "10.255.0.", "65100", "65000"):
        assert secret not in written, "sessions, loopbacks and AS numbers are the push's business"
    assert blueprint.hosts["gpu001"].nics["rail0"].settings == hostnet.read(render_hosts(plan, "gpu001").files)["rail0"]
    assert blueprint.switches["p1-l0"].factory["DEVICE_METADATA"]["localhost"]["hostname"] == "sonic"
    assert not any("admin_status" in row for row in blueprint.switches["p1-l0"].factory["PORT"].values())
    assert len(blueprint.wires) == 32


def test_fewer_hosts_use_every_pod_and_cable_no_one_else() -> None:
    plan = handmade.plan()
    few = draw(plan, hosts=1)
    assert list(few.hosts) == ["gpu001"]
    assert len(few.wires) == 4 + 16
    assert draw(plan, hosts=0).hosts == {}


def test_planned_places_are_not_built() -> None:
    plan = handmade.plan()
    host = dataclasses.replace(plan.hosts["gpu004"], state=LifeState.PLANNED)
    plan = dataclasses.replace(plan, hosts={**plan.hosts, "gpu004": host})
    assert "gpu004" not in draw(plan).hosts
    assert len(draw(plan).wires) == 28


def test_shared_management_address_is_refused() -> None:
    plan = handmade.plan()
    twice = dataclasses.replace(plan.switches["s1"], mgmt_address="172.31.0.11/16")
    with pytest.raises(LabError, match=r"s1 and p1-l0 have the same management address 172\.31\.0\.11"):
        draw(dataclasses.replace(plan, switches={**plan.switches, "s1": twice}))


def test_next_hop_taken_from_a_route_as_ip_prints_it() -> None:
    words = (
        "10.1.0.0/16 proto bgp src 10.255.0.1 metric 20 "
        "nexthop via 10.0.0.1 dev E0 weight 1 nexthop via 10.0.0.3 dev E8 weight 1 linkdown"
    )
    assert _without(words.split(), "10.0.0.1") == (
        "10.1.0.0/16 proto bgp src 10.255.0.1 metric 20 nexthop via 10.0.0.3 dev E8 weight 1".split()
    )
    assert _without(words.split(), "10.0.0.9") is None
    assert _without("10.1.0.0/16 via 10.0.0.1 dev E0".split(), "10.0.0.1") is None
