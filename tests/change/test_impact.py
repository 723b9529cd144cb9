"""What a change costs: every rule of the table, with its source, on a real switch's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabric.allocate import load_plan
from fabric.change import compute
from fabric.render import render_switch
from fabric.values.change import DeviceChange, Impact
from fabric.values.device_config import DeviceConfig


@pytest.fixture(scope="module")
def leaf(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> DeviceConfig:
    plan = load_plan(tree / "topology" / "lab.yaml", state=tmp_path_factory.mktemp("state"))
    return render_switch(plan, "p1-l0")


def altered(config: DeviceConfig, table: str, key: str, fields: Mapping[str, str | None] | None) -> DeviceConfig:
    tables: dict[str, Any] = {one: dict(rows) for one, rows in config.tables.items()}
    rows = tables.setdefault(table, {})
    if fields is None:
        del rows[key]
    else:
        row = {**rows.get(key, {}), **fields}
        rows[key] = {name: value for name, value in row.items() if value is not None}
    return replace(config, tables={one: rows for one, rows in tables.items() if rows})


def uplink(config: DeviceConfig) -> str:
    return next(key for key in config.tables["INTERFACE"] if "|10.254." in key).split("|")[0]


def with_hwsku(config: DeviceConfig, name: str) -> DeviceConfig:
    return altered(config, "DEVICE_METADATA", "localhost", {"hwsku": name})


# (table, key or "uplink", fields, impact, method, ports flap, sessions reset)
CASES = [
    ("PORT", "uplink", {"description": "x"}, Impact.HITLESS, "gcu", 0, 0),
    ("PORT", "uplink", {"mtu": "9000"}, Impact.HITLESS, "gcu", 0, 0),
    ("PORT", "uplink", {"admin_status": "down"}, Impact.FLAPS_PORTS, "gcu", 1, 1),
    ("PORT", "uplink", {"fec": "none"}, Impact.FLAPS_PORTS, "gcu", 1, 1),
    ("PORT", "uplink", {"speed": "400000"}, Impact.FLAPS_PORTS, "gcu", 1, 1),
    ("PORT", "uplink", {"lanes": "1,2,3,4"}, Impact.RELOADS_SWITCH, "reload", None, 4),
    ("PORT", "uplink", None, Impact.RELOADS_SWITCH, "reload", None, 4),
    ("BREAKOUT_CFG", "Ethernet16", {"brkout_mode": "8x100G"}, Impact.RELOADS_SWITCH, "reload", None, 4),
    ("PORT_QOS_MAP", "uplink", {"pfc_enable": "3,4"}, Impact.FLAPS_PORTS, "gcu", 1, 1),
    ("QUEUE", "uplink|3", {"wred_profile": None}, Impact.FLAPS_PORTS, "gcu", 1, 1),
    ("BUFFER_QUEUE", "uplink|3", {"profile": "egress_lossy_profile"}, Impact.FLAPS_PORTS, "gcu", 1, 1),
    ("DSCP_TO_TC_MAP", "AZURE", {"40": "1"}, Impact.HITLESS, "gcu", 0, 0),
    ("BUFFER_POOL", "ingress_lossless_pool", {"size": "1"}, Impact.RELOADS_SWITCH, "reload", None, 4),
    ("CABLE_LENGTH", "AZURE", {"uplink": "300m"}, Impact.RELOADS_SWITCH, "reload", None, 4),
    ("SWITCH_HASH", "GLOBAL", {"ecmp_hash_algorithm": "XOR"}, Impact.HITLESS, "gcu", 0, 0),
    ("DEVICE_NEIGHBOR", "uplink", {"name": "other"}, Impact.HITLESS, "gcu", 0, 0),
    ("NTP_SERVER", "192.0.2.1", {"iburst": "on"}, Impact.HITLESS, "gcu", 0, 0),
    ("DEVICE_METADATA", "localhost", {"bgp_asn": "65001"}, Impact.RELOADS_SWITCH, "reload", None, 4),
    ("DEVICE_METADATA", "localhost", {"type": "ToRRouter"}, Impact.RELOADS_SWITCH, "reload", None, 4),
    ("FEATURE", "bgp", {"state": "disabled"}, Impact.RESTARTS_BGP, "gcu", 0, 0),
    ("FLEX_COUNTER_TABLE", "PORT", {"POLL_INTERVAL": "2000"}, Impact.HITLESS, "gcu", 0, 0),
    ("STATIC_ROUTE", "192.0.2.0/24", {"nexthop": "10.0.0.1"}, Impact.HITLESS, "gcu", 0, 0),
    ("LOOPBACK_INTERFACE", "Loopback0|10.255.0.17/32", None, Impact.RELOADS_SWITCH, "reload", None, 4),
    ("NO_SUCH_TABLE", "x", {"y": "z"}, Impact.RELOADS_SWITCH, "reload", None, 4),
]


@pytest.mark.parametrize(("table", "key", "fields", "impact", "method", "flaps", "resets"), CASES)
def test_class_of_a_change(
    leaf: DeviceConfig, table: str, key: str, fields: Any, impact: Impact, method: str, flaps: int | None, resets: int
) -> None:
    port = uplink(leaf)
    running = leaf
    if table == "FEATURE":
        running = altered(leaf, "FEATURE", "bgp", {"state": "enabled"})
    named = (
        {port if name == "uplink" else name: value for name, value in fields.items()} if fields is not None else None
    )
    change = compute(altered(running, table, key.replace("uplink", port), named), running)
    assert change.steps, "the change is seen"
    assert (change.impact, change.method) == (impact, method), change.steps
    if flaps is not None:
        assert len(change.ports_flapped) == flaps
        assert change.ports_flapped in ((), (port,))
    assert len(change.sessions_reset) == resets
    assert all(len(step.why) > 10 for step in change.steps), "each step names its rule"


def test_port_critical_rows_of_a_port_that_is_down_flap_nothing(leaf: DeviceConfig) -> None:
    port = next(name for name, row in leaf.tables["PORT"].items() if row.get("admin_status") == "down")
    change = compute(altered(leaf, "QUEUE", f"{port}|3", {"scheduler": "scheduler.0"}), leaf)
    assert change.ports_flapped == ()
    assert change.impact is Impact.HITLESS


def test_an_address_that_goes_takes_its_session(leaf: DeviceConfig) -> None:
    key = next(key for key in leaf.tables["INTERFACE"] if "|10.254." in key)
    change = compute(altered(leaf, "INTERFACE", key, None), leaf)
    assert change.impact is Impact.RESETS_SESSIONS
    assert len(change.sessions_reset) == 1


def test_buffer_profiles_only_where_the_updater_knows_the_box(leaf: DeviceConfig) -> None:
    name, row = next((n, r) for n, r in leaf.tables["BUFFER_PROFILE"].items() if "dynamic_th" in r)
    fields = {"dynamic_th": "-3" if row["dynamic_th"] != "-3" else "-2"}
    unknown = compute(altered(leaf, "BUFFER_PROFILE", name, fields), leaf)
    assert unknown.method == "reload", "Accton is in no list of the updater"
    known = with_hwsku(leaf, "Arista-7060X6-64PE-B-P32O64")
    change = compute(altered(known, "BUFFER_PROFILE", name, fields), known)
    assert (change.method, change.impact) == ("gcu", Impact.HITLESS)


def test_watchdog_goes_by_command_where_no_patch_can_carry_it(leaf: DeviceConfig) -> None:
    port = uplink(leaf)
    change = compute(altered(leaf, "PFC_WD", port, {"detection_time": "300"}), leaf)
    assert change.patch == ()
    assert change.impact is Impact.HITLESS
    assert len(change.commands) == 1
    assert change.commands[0].startswith("pfcwd start --action ")
    assert change.commands[0].endswith(f" {port} 300")
    known = with_hwsku(leaf, "Nokia-IXR7220-H5-64D")
    patched = compute(altered(known, "PFC_WD", port, {"detection_time": "300"}), known)
    assert [dict(one) for one in patched.patch] == [
        {"op": "replace", "path": f"/PFC_WD/{port}/detection_time", "value": "300"}
    ]
    assert patched.commands == ()


def test_f080_watchdog_is_restarted_when_its_priorities_change(leaf: DeviceConfig) -> None:
    ports = sorted(key for key in leaf.tables["PORT_QOS_MAP"] if key.startswith("Ethernet"))[:2]
    both = leaf
    for port in ports:
        both = altered(both, "PORT_QOS_MAP", port, {"pfc_enable": "3,4"})
    change = compute(leaf, both)
    stops = [command for command in change.commands if command.startswith("pfcwd stop")]
    starts = [command for command in change.commands if command.startswith("pfcwd start")]
    assert stops == [f"pfcwd stop {port}" for port in ports]
    assert len(starts) == 1
    assert all(port in starts[0] for port in ports)
    assert change.commands.index(starts[0]) > change.commands.index(stops[-1])


def speeds(config: DeviceConfig, count: int) -> DeviceConfig:
    ports = [name for name, row in config.tables["PORT"].items() if row.get("speed") == "800000"][:count]
    assert len(ports) == count
    for port in ports:
        config = altered(config, "PORT", port, {"speed": "400000"})
    return config


def test_f020_speed_of_many_ports_is_refused_in_one_patch(leaf: DeviceConfig) -> None:
    change = compute(speeds(leaf, 12), leaf)
    assert change.refused is not None
    assert "12 ports" in change.refused
    assert "--reload" in change.refused
    assert "batches" in change.refused
    accepted = compute(speeds(leaf, 12), leaf, by_reload=True)
    assert (accepted.refused, accepted.method) == (None, "reload")
    assert compute(speeds(leaf, 2), leaf).refused is None


def test_queue_rows_of_many_ports_are_refused_in_one_patch(tree: Path, tmp_path: Path) -> None:
    plan = load_plan(tree / "topology" / "sakuraone.yaml", state=tmp_path)
    config = render_switch(plan, "p1-l0")
    target = config
    for key in [key for key in config.tables["QUEUE"] if key.endswith("|3")][:20]:
        target = altered(target, "QUEUE", key, {"wred_profile": None})
    change = compute(target, config)
    assert change.refused is not None
    assert "20 ports" in change.refused


def test_dangling_rows_of_others_are_named(leaf: DeviceConfig) -> None:
    """F008, F024: a row that names a port the switch has not blocks every later replace and rollback."""
    running = altered(leaf, "VLAN_SUB_INTERFACE", "EthernetNR|198.51.100.4", {"admin_status": "up"})
    running = altered(running, "VLAN_MEMBER", "Vlan100|Ethernet9999", {"tagging_mode": "untagged"})
    change = compute(leaf, running)
    assert change.method == "none"
    assert [row.split(" names ")[0] for row in change.foreign] == [
        "VLAN_SUB_INTERFACE|EthernetNR|198.51.100.4",
        "VLAN_MEMBER|Vlan100|Ethernet9999",
    ]


def test_the_digest_moves_with_our_parts_only(leaf: DeviceConfig) -> None:
    from fabric.change import digest

    base = digest(leaf, leaf.tables)
    foreign = altered(leaf, "CRM", "Config", {"polling_interval": "300"})
    assert digest(altered(foreign, "DEVICE_METADATA", "localhost", {"timezone": "UTC"}), leaf.tables) == base
    assert digest(altered(leaf, "PORT", uplink(leaf), {"mtu": "9000"}), leaf.tables) != base
    assert leaf.frr is not None
    assert digest(replace(leaf, frr=leaf.frr.replace("timers bgp 3 9", "timers bgp 1 3")), leaf.tables) != base


def test_first_provisioning_flaps_what_is_up_and_resets_what_is_there(leaf: DeviceConfig) -> None:
    box = DeviceConfig(
        "p1-l0",
        {"DEVICE_METADATA": {"localhost": {"hostname": "sonic"}}, "PORT": {"Ethernet0": {"admin_status": "up"}}},
        "hostname sonic\nend\n",
    )
    change: DeviceChange = compute(leaf, box)
    assert (change.method, change.ports_flapped, change.sessions_reset) == ("reload", ("Ethernet0",), ())
    assert change.target is not None
    assert change.target["DEVICE_METADATA"]["localhost"]["hostname"] == "p1-l0"
