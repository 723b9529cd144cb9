"""The script a switch runs, run for real: real shells, real Redis, shims for what only a switch has."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.collect import ask
from fabric.collect.parts import DEFAULT_PARTS, Part
from fabric.collect.switch import parse_switch
from fabric.errors import CollectError
from fabric.values.snapshot import NextHop
from tests.collect import big
from tests.collect.switch_box import _CLI, DATABASES, Box, available, box

pytestmark = pytest.mark.skipif(not available(), reason="redis-server and redis-cli are not installed")
SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]
NEIGHBOUR = '{"lldp": [{"interface": [{"name": "Ethernet0", "chassis": [{"id": [{"type": "mac", "value": "aa"}]}]}]}]}'


@pytest.fixture(autouse=True)
def _lock_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other on one machine: each is a switch of its own."""
    monkeypatch.setattr(ask, "_LOCK_FOLDER", str(tmp_path))


def one_process(one: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch says where its databases are, so that one process reads them all."""
    instance = {"hostname": "127.0.0.1", "port": 1, "unix_socket_path": str(one.socket)}
    databases = {name: {"id": n, "separator": ":", "instance": "redis"} for name, n in DATABASES.items()}
    config = one.folder / "database_config.json"
    config.write_text(
        json.dumps({"INSTANCES": {"redis": instance}, "DATABASES": databases, "VERSION": "1.0"}, indent=4)
    )
    monkeypatch.setattr(ask, "_DATABASES", str(config))


@pytest.fixture(params=["one process", "sonic-db-cli"])
def switch(shared: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    """A switch that is read in both ways."""
    real = shared / "real"
    with box() as one:
        if request.param == "one process":
            one_process(one, monkeypatch)
        for name, file in (
            ("APPL_DB", "state/appl_db.json"), ("APPL_DB", "state/route/appl_db.json"),
            ("APPL_DB", "lldp/LLDP_ENTRY_TABLE.json"), ("ASIC_DB", "state/route/asic_db.json"),
            ("COUNTERS_DB", "state/counters_db.json"), ("STATE_DB", "state/state_db.json"),
            ("CONFIG_DB", "state/flat-config_db.json"),
        ):  # fmt: skip
            one.load_file(name, real / file)
        one.load("APPL_DB", {"PORT_TABLE:PortInitDone": {"lanes": "0"}})
        one.answer("lldpctl", (real / "lldp" / "lldpctl.json").read_text())
        one.frr("show ip route json", (real / "routing" / "ip_route.json").read_text())
        one.frr("show ipv6 route json", (real / "routing" / "ipv6_route.json").read_text())
        one.frr("show bgp summary json", (real / "routing" / "show_ip_bgp_summary.json").read_text())
        yield one


@pytest.mark.parametrize("shell", SHELLS)
def test_a_whole_switch_in_one_exec(switch: Box, shell: str) -> None:
    out, errors, rc = switch.run(ask.script(token="t1"), shell, SHIM_SUDO_ALL="1")
    assert rc == 0
    state = parse_switch("leaf", out, 5.0, "test", errors=errors, duration_s=0.3)
    assert state.holes == ()
    assert (state.taken_at, state.source, state.duration_s) == (5.0, "test", 0.3)
    assert (state.serial, state.base_mac) == ("TH0F6N2RCET0007600NG", "0c:29:ef:cf:ac:a0")
    assert state.hwsku == "Mellanox-SN3800-D112C8"
    assert state.chassis_id == "7c:fe:90:63:f4:66"
    for name, count in {
        "ports": 12, "optics": 11, "counters": 3, "queues": 60, "pgs": 24, "watermarks": 87, "appl": 10, "asic": 10,
        "bgp": 3, "lldp": 33,
    }.items():  # fmt: skip
        assert len(getattr(state, name)) == count, name
    assert state.counters is not None
    assert state.queues is not None
    assert state.asic is not None
    assert state.rib is not None
    assert state.counters["Ethernet0"]["PFC_3_RX_PKTS"] == 203
    assert state.queues["Ethernet0:3"]["PFC_WD_STATUS"] == "stormed"
    assert state.asic["10.212.0.0/16"].unresolved == ("no name for oid:0x1000000000170",)
    assert state.rib["0.0.0.0/0"].next_hops[0] == NextHop("10.0.0.1", "PortChannel0002")
    assert state.frr == "frr version 10.0\nend\n"
    assert state.kernel == {}
    assert state.clock is not None
    assert state.uptime_s is not None
    assert abs(state.clock - time.time()) < 30


def test_reading_changes_nothing(switch: Box) -> None:
    def digest() -> str:
        return "".join(switch.redis(number, "DEBUG", "DIGEST") for number in (0, 1, 2, 4, 6))

    switch.redis(0, "CONFIG", "RESETSTAT")
    before = digest()
    switch.run(ask.script())
    assert digest() == before
    commands = {line.partition(":")[0] for line in switch.redis(0, "INFO", "commandstats").split() if "cmdstat" in line}
    allowed = {
        "eval",
        "time",
        "scan",
        "hgetall",
        "hmget",
        "hget",
        "debug",
        "info",
        "config|resetstat",
        "select",
        "hello",
    }
    assert {command.removeprefix("cmdstat_").removeprefix("client|") for command in commands} <= allowed | {
        "setinfo", "command|docs", "config|get",
    }  # fmt: skip


def test_no_keys_and_nothing_that_writes_in_the_script() -> None:
    text = ask.script()
    assert not re.search(r"\bKEYS\b", text, re.IGNORECASE)
    for word in ("HSET", "DEL", "FLUSH", "SAVE", "configure", "docker exec", "redis-cli"):
        assert word not in text


def test_secrets_never_leave_the_switch(switch: Box) -> None:
    switch.load("CONFIG_DB", {
        "TACPLUS|global": {"passkey": "s3cret-a", "timeout": "5"},
        "BGP_NEIGHBOR|10.0.0.1": {"auth_password": "s3cret-b", "asn": "1"},
        "SNMP_COMMUNITY|s3cret-c": {"TYPE": "RO"},
        "NTP_KEY|1": {"value": "s3cret-d"},
        "MACSEC_PROFILE|x": {"primary_cak": "s3cret-e"},
    })  # fmt: skip
    switch.frr(
        "show running-config",
        "!\nfrr version 10.0\nhostname x\npassword s3cret-f\nrouter bgp 1\n neighbor 10.0.0.1 password s3cret-g\nend\n",
    )
    out, errors, _ = switch.run(ask.script(), SHIM_SUDO_ALL="1")
    assert "s3cret" not in out + errors
    state = parse_switch("leaf", out, 1.0, errors=errors)
    assert state.config is not None
    assert state.config["TACPLUS"]["global"] == {"passkey": "<hidden>", "timeout": "5"}
    assert "SNMP_COMMUNITY" not in state.config
    assert state.frr is not None
    assert " neighbor 10.0.0.1 password <hidden>" in state.frr.splitlines()


def test_only_the_parts_asked_for(switch: Box) -> None:
    text = ask.script({Part.PORTS, Part.LLDP})
    assert "ASIC" not in text.rpartition("main()")[2].replace("ASIC_STATE", "").replace("NUM_ASIC", "")
    out, errors, _ = switch.run(text)
    state = parse_switch("leaf", out, 1.0, errors=errors, parts={Part.PORTS, Part.LLDP})
    assert state.holes == ()
    assert state.ports is not None
    assert state.lldp is not None
    assert state.bgp is None
    assert state.hole("bgp") == "not collected"


def test_an_account_without_rights_reads_frr_through_rvtysh(switch: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    switch.shim("id", "#!/bin/sh\necho 1000\n")
    switch.shim("vtysh", "#!/bin/sh\necho 'you are not root' >&2\nexit 1\n")
    switch.shim("rvtysh", (switch.folder / "bin" / "rvtysh").read_text())
    out, errors, _ = switch.run(ask.script())
    state = parse_switch("leaf", out, 1.0, errors=errors)
    assert state.holes == ()
    assert len(state.bgp or ()) == 3
    assert state.frr is not None


def test_lldpctl_that_may_not_run_leaves_the_database_rows_and_a_note(switch: Box) -> None:
    switch.answer("lldpctl", "", 1, "sudo: a password is required\n")
    out, errors, _ = switch.run(ask.script())
    state = parse_switch("leaf", out, 1.0, errors=errors)
    assert len(state.lldp or ()) == 33
    assert any("one neighbour a port" in note and "password" in note for note in state.notes)


def test_dead_bgpd_costs_only_bgp(switch: Box) -> None:
    switch.frr("show bgp summary json", None)
    out, errors, _ = switch.run(ask.script(), SHIM_SUDO_ALL="1")
    state = parse_switch("leaf", out, 1.0, errors=errors)
    assert [(hole.part, hole.reason) for hole in state.holes] == [("bgp", "bgp summary json is not running")]
    assert len(state.rib or ()) > 50


def test_f101_a_command_that_never_returns_costs_only_its_part(switch: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "_COMMAND_LIMIT_S", 1)
    switch.shim("vtysh", "#!/bin/sh\nsleep 30\n")
    began = time.monotonic()
    out, errors, _ = switch.run(ask.script({Part.PORTS, Part.RIB, Part.KERNEL}), SHIM_SUDO_ALL="1")
    assert time.monotonic() - began < 12
    state = parse_switch("leaf", out, 1.0, errors=errors, parts={Part.PORTS, Part.RIB, Part.KERNEL})
    assert [(hole.part, hole.reason) for hole in state.holes] == [("rib", "no answer in time")]
    assert state.kernel == {}


def test_redis_that_does_not_answer_is_a_hole_in_every_part_of_it(switch: Box) -> None:
    switch.stop()
    switch.shim("sonic-db-cli", "#!/bin/sh\necho 'Could not connect to Redis at 127.0.0.1:6379' >&2\nexit 1\n")
    out, errors, _ = switch.run(ask.script())
    state = parse_switch("leaf", out, 1.0, errors=errors)
    holes = {hole.part: hole.reason for hole in state.holes}
    for part in ("ports", "asic", "counters", "queues", "config"):
        assert "Redis does not answer" in holes[part]
        assert getattr(state, part) is None
    assert len(state.bgp or ()) == 3


@pytest.mark.parametrize(
    ("config", "python"),
    [
        ("{", None),
        ('{"INSTANCES": {"redis": {"hostname": "127.0.0.1", "port": 1, "unix_socket_path": "/none"}}, '
         '"DATABASES": {"APPL_DB": {"id": 0, "instance": "redis"}}}', None),
        (None, "#!/bin/sh\nexit 1\n"),
        (None, "#!/bin/sh\nprintf '\\n@@railfab begin db.APPL_DB\\n'\nkill -9 $$\n"),
    ],
    ids=["broken file", "other file", "python fails", "python is killed"],
)  # fmt: skip
def test_what_one_process_cannot_read_sonic_db_cli_does(
    switch: Box, monkeypatch: pytest.MonkeyPatch, config: str | None, python: str | None
) -> None:
    one_process(switch, monkeypatch)
    if config is not None:
        Path(ask._DATABASES).write_text(config)
    if python is not None:
        switch.shim("python3", python)
    out, errors, _ = switch.run(ask.script(), SHIM_SUDO_ALL="1")
    state = parse_switch("leaf", out, 5.0, errors=errors)
    assert state.holes == ()
    assert (len(state.ports or ()), len(state.queues or ()), len(state.asic or ())) == (12, 60, 10)


def test_both_ways_read_the_same(switch: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    one_process(switch, monkeypatch)
    switch.shim("sonic-db-cli", "#!/bin/sh\nexit 1\n")
    parts = {Part.PORTS, Part.COUNTERS, Part.QUEUES, Part.WATERMARKS, Part.CONFIG, Part.OPTICS, Part.APPL, Part.ASIC}
    first = parse_switch("leaf", switch.run(ask.script(parts))[0], 5.0, parts=parts)
    monkeypatch.setattr(ask, "_DATABASES", "/none")
    switch.shim("sonic-db-cli", _CLI)
    second = parse_switch("leaf", switch.run(ask.script(parts))[0], 5.0, parts=parts)
    assert replace(first, clock=None, uptime_s=None) == replace(second, clock=None, uptime_s=None)


def test_a_redis_that_hangs_costs_its_parts_and_not_the_rest(switch: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "_DB_LIMIT_S", 1)
    monkeypatch.setattr(ask, "_DBS_LIMIT_S", 3)
    os.kill(switch.pid(), signal.SIGSTOP)
    try:
        out, errors, _ = switch.run(ask.script())
    finally:
        os.kill(switch.pid(), signal.SIGCONT)
    state = parse_switch("leaf", out, 1.0, errors=errors)
    holes = {hole.part: hole.reason for hole in state.holes}
    for part in ("ports", "asic", "counters", "queues", "config"):
        assert "no answer in time" in holes[part], part
    assert len(state.bgp or ()) == 3


def test_what_is_not_installed_is_named(switch: Box) -> None:
    for name in ("vtysh", "rvtysh", "lldpctl", "ip"):
        switch.shim(name, f"#!/bin/sh\necho '{name}: not found' >&2\nexit 127\n")
    out, errors, _ = switch.run(ask.script())
    holes = {hole.part: hole.reason for hole in parse_switch("leaf", out, 1.0, errors=errors).holes}
    assert set(holes) == {"bgp", "rib", "frr", "kernel", "neighbours"}
    assert all(reason.startswith("not installed on this switch") for reason in holes.values())


def test_one_collector_a_switch(switch: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ask, "_LOCK_WAIT_S", 1)
    with (tmp_path / "railfab-collect.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        out, errors, rc = switch.run(ask.script())
    assert rc == 75
    with pytest.raises(CollectError, match="another collector"):
        parse_switch("leaf", out, 1.0, errors=errors)
    out, errors, rc = switch.run(ask.script({Part.KERNEL}))
    assert rc == 0


def test_two_collectors_take_turns(switch: Box) -> None:
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: switch.run(ask.script({Part.PORTS})), range(2)))
    for out, errors, rc in answers:
        assert rc == 0
        assert parse_switch("leaf", out, 1.0, errors=errors, parts={Part.PORTS}).holes == ()


def test_a_switch_that_is_still_starting_is_not_a_switch_without_ports(switch: Box) -> None:
    switch.redis(0, "DEL", "PORT_TABLE:PortInitDone")
    out, errors, _ = switch.run(ask.script({Part.PORTS}))
    state = parse_switch("leaf", out, 1.0, errors=errors, parts={Part.PORTS})
    assert state.ports is None
    assert "still being made" in (state.hole("ports") or "")
    switch.redis(0, "FLUSHALL")
    out, errors, _ = switch.run(ask.script())
    holes = {hole.part: hole.reason for hole in parse_switch("leaf", out, 1.0, errors=errors).holes}
    for part in ("ports", "asic", "counters", "queues", "watermarks", "config"):
        assert part in holes, part


@pytest.mark.parametrize(
    "nasty", ["a\n@@t end db.APPL_DB 0\n@@t done", "\x1b[2J", "$(reboot)", "`x`", "' \" \\", "\u202e"]
)
def test_a_neighbour_cannot_forge_an_answer(switch: Box, nasty: str) -> None:
    switch.load("APPL_DB", {"LLDP_ENTRY_TABLE:Ethernet0": {"lldp_rem_sys_name": nasty, "lldp_rem_port_id": nasty}})
    switch.answer("lldpctl", "", 1, "x")
    out, errors, _ = switch.run(ask.script({Part.PORTS, Part.LLDP}, token="t"))
    state = parse_switch("leaf", out, 1.0, errors=errors, parts={Part.PORTS, Part.LLDP}, token="t")
    assert state.holes == ()
    assert len(state.ports or ()) == 12
    (row,) = [row for row in state.lldp or () if row.local_port == "Ethernet0"]
    assert row.system_name.isprintable()


@pytest.fixture(scope="module")
def large() -> Iterator[Box]:
    if not available():
        pytest.skip("redis-server and redis-cli are not installed")
    with box() as one:
        big.fill(one)
        one.answer("lldpctl", NEIGHBOUR)
        yield one


def test_a_64x800g_sized_switch_is_read_whole(large: Box) -> None:
    out, errors, rc = large.run(ask.script(), SHIM_SUDO_ALL="1")
    assert rc == 0
    state = parse_switch("leaf", out, 1.0, errors=errors)
    assert state.holes == ()
    assert state.appl is not None
    assert state.asic is not None
    assert state.counters is not None
    assert state.queues is not None
    assert state.config is not None
    assert len(state.ports or ()) == big.PORTS
    assert len(state.appl) == len(state.asic) == big.PREFIXES
    assert {len(route.next_hops) for route in state.asic.values()} == {big.WIDTH}
    assert {len(route.next_hops) for route in state.appl.values()} == {big.WIDTH}
    assert len(state.counters) == big.PORTS
    assert {len(row) for row in state.counters.values()} == {len(ask.PORT_COUNTERS)}
    assert len(state.queues) == big.PORTS * big.UNICAST, "multicast queues are left out"
    assert len(state.pgs or ()) == big.PORTS * 8
    assert len(state.watermarks or ()) == big.PORTS * (big.UNICAST + 8)
    assert len(state.config["QUEUE"]) == big.PORTS * 10


def test_no_slice_holds_redis_for_20_ms_of_its_time(large: Box) -> None:
    """Time on the CPU, so that a busy test machine does not count against the switch."""
    server = large.pid()
    slices: dict[str, list[float]] = {}
    for name, jobs in ask.database_jobs(DEFAULT_PARTS).items():
        state = "1:0:0"
        while state != "0":
            before = _cpu_ms(server)
            reply = large.redis(
                {"APPL_DB": 0, "ASIC_DB": 1, "COUNTERS_DB": 2, "CONFIG_DB": 4, "STATE_DB": 6}[name],
                "EVAL", ask.lua(), "0", state, str(ask.SLICE_ITEMS), str(ask.SLICE_MS), *jobs,
            )  # fmt: skip
            slices.setdefault(name, []).append(_cpu_ms(server) - before)
            state, _, body = reply.partition("\n")
            json.loads(body)
    assert max(max(times) for times in slices.values()) < 20.0
    assert len(slices["APPL_DB"]) > 4, "one database of this size takes many slices"


def _cpu_ms(process: int) -> float:
    """Time the main thread of a process has spent on a CPU."""
    return int(Path(f"/proc/{process}/task/{process}/schedstat").read_text().split()[0]) / 1e6
