"""State made by hand is sacred: told, kept, undone only by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.change import Hold, Mark, compute, residue
from fabric.change.compute import effective
from fabric.change.held import mark_of
from fabric.render import render_switch
from fabric.values.device_config import DeviceConfig
from tests.change.test_impact import altered, uplink


@pytest.fixture(scope="module")
def leaf(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> DeviceConfig:
    plan = load_plan(tree / "topology" / "lab.yaml", state=tmp_path_factory.mktemp("state"))
    return render_switch(plan, "p1-l0")


def mark(config: DeviceConfig) -> Mark:
    up, watchdog = mark_of(config.tables)
    return Mark("run", "digest", up, watchdog)


def shut(config: DeviceConfig) -> DeviceConfig:
    return altered(config, "PORT", uplink(config), {"admin_status": "down"})


def test_a_port_shut_on_call_is_held(leaf: DeviceConfig) -> None:
    change = compute(leaf, shut(leaf), mark=mark(leaf))
    assert (change.method, change.steps) == ("none", ())
    assert [(held.item, held.observed) for held in change.held] == [(uplink(leaf), "admin_status down")]


def test_without_a_mark_the_careful_reading_holds(leaf: DeviceConfig) -> None:
    assert compute(leaf, shut(leaf)).held != ()


def test_a_port_we_left_down_ourselves_is_opened(leaf: DeviceConfig) -> None:
    """A place that comes into service: the last apply left its port down."""
    before = shut(leaf)
    change = compute(leaf, before, mark=mark(before))
    assert change.held == ()
    assert [dict(one) for one in change.patch] == [
        {"op": "replace", "path": f"/PORT/{uplink(leaf)}/admin_status", "value": "up"}
    ]


def test_other_changes_of_a_held_port_go_on(leaf: DeviceConfig) -> None:
    wanted = altered(leaf, "PORT", uplink(leaf), {"description": "new"})
    change = compute(wanted, shut(leaf), mark=mark(leaf))
    assert [step.field for step in change.steps] == ["description"]
    assert len(change.held) == 1
    after = altered(shut(leaf), "PORT", uplink(leaf), {"description": "new"})
    assert residue(effective(wanted, change), after, change) == []


def test_release_undoes_that_and_nothing_else(leaf: DeviceConfig) -> None:
    running = altered(shut(leaf), "PORT", "Ethernet0", {"description": "drifted"})
    change = compute(leaf, running, mark=mark(leaf), release=[uplink(leaf)])
    assert [(step.key, step.field, step.after) for step in change.steps] == [(uplink(leaf), "admin_status", "up")]
    assert change.held == ()


def test_a_stopped_watchdog_is_held(leaf: DeviceConfig) -> None:
    port = uplink(leaf)
    change = compute(leaf, altered(leaf, "PFC_WD", port, None), mark=mark(leaf))
    assert (change.method, change.commands) == ("none", ())
    assert [(held.item, held.observed) for held in change.held] == [(f"PFC_WD|{port}", "watchdog stopped")]
    never_had = replace(mark(leaf), watchdog=frozenset())
    assert compute(leaf, altered(leaf, "PFC_WD", port, None), mark=never_had).held == ()


def with_shutdown(config: DeviceConfig) -> DeviceConfig:
    assert config.frr is not None
    line = " neighbor 10.254.0.1 description"
    return replace(config, frr=config.frr.replace(line, f" neighbor 10.254.0.1 shutdown\n{line}"))


def test_a_session_shut_on_call_is_held(leaf: DeviceConfig) -> None:
    change = compute(leaf, with_shutdown(leaf), mark=mark(leaf))
    assert (change.method, change.frr_commands) == ("none", ())
    assert [(held.item, held.observed) for held in change.held] == [("10.254.0.1", "neighbor 10.254.0.1 shutdown")]
    assert residue(leaf, with_shutdown(leaf), change) == []
    assert leaf.frr is not None
    wanted = replace(leaf, frr=leaf.frr.replace("timers connect 10", "timers connect 7"))
    other = compute(wanted, with_shutdown(leaf), mark=mark(leaf))
    assert not any("shutdown" in line for line in other.frr_commands)
    assert any("timers connect 7" in line for line in other.frr_commands)


def test_a_released_session_is_opened_alone(leaf: DeviceConfig) -> None:
    assert leaf.frr is not None
    running = with_shutdown(replace(leaf, frr=leaf.frr.replace("timers connect 10", "timers connect 7")))
    change = compute(leaf, running, mark=mark(leaf), release=["10.254.0.1"])
    assert [line.strip() for line in change.frr_commands] == [
        "router bgp 4200000110",
        "no neighbor 10.254.0.1 shutdown",
        "exit",
    ]


TSA = """route-map TO_SPINE_V4 permit 20
 match ip address prefix-list PL_LoopbackV4
 set community 12345:12345 additive
exit
route-map TO_SPINE_V4 permit 30
 match tag 1001
exit
route-map TO_SPINE_V4 deny 40
exit
end
"""


def test_a_drained_switch_is_held(leaf: DeviceConfig) -> None:
    assert leaf.frr is not None
    running = replace(leaf, frr=leaf.frr.replace("end\n", "") + TSA)
    change = compute(leaf, running, mark=mark(leaf))
    assert (change.method, change.frr_commands) == ("none", ())
    assert [held.item for held in change.held] == ["drained"]
    released = compute(leaf, running, mark=mark(leaf), release=["drained"])
    assert [line for line in released.frr_commands if line.startswith("no ")] == [
        "no route-map TO_SPINE_V4 permit 20",
        "no route-map TO_SPINE_V4 permit 30",
        "no route-map TO_SPINE_V4 deny 40",
    ]


def test_a_recorded_hold_is_told_with_its_reason(leaf: DeviceConfig) -> None:
    hold = Hold("p1-l0", uplink(leaf), "optic ordered", "kim@noc", "2027-01-31T00:00:00+00:00")
    change = compute(leaf, shut(leaf), mark=mark(leaf), holds=[hold])
    assert (change.held[0].reason, change.held[0].until) == ("optic ordered", hold.until)


def test_a_held_switch_is_not_touched_at_all(leaf: DeviceConfig) -> None:
    running = altered(leaf, "PORT", "Ethernet0", {"description": "drifted"})
    change = compute(leaf, running, holds=[Hold("p1-l0", None, "RMA")])
    assert (change.method, change.steps) == ("none", ())
    assert change.held[0].reason == "RMA"
    assert "1 rows" in change.held[0].observed
    assert compute(leaf, running, holds=[Hold("p1-l1", None, "other")]).method == "gcu"


def test_a_factory_box_has_nothing_made_by_hand(leaf: DeviceConfig) -> None:
    box = DeviceConfig("p1-l0", {"PORT": {uplink(leaf): {"admin_status": "down"}}}, "end\n")
    assert compute(leaf, box).held == ()
