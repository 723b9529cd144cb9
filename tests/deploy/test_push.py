"""One switch and several through a push: what is sent, proved, kept, undone, and said."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from fabric.values.change import Impact, Outcome
from tests.deploy.conftest import Bench

Make = Callable[..., Bench]


def test_nothing_to_do_is_nothing_sent(bench: Make) -> None:
    made = bench("p1-l0")
    change_plan = made.plan_now()
    assert change_plan.changes["p1-l0"].method == "none"
    run = made.push(change_plan)
    assert run.devices["p1-l0"].outcome is Outcome.UNCHANGED
    assert not any("config " in command for command in made.switches["p1-l0"].commands if "sh -s" not in command)


def test_first_provisioning_of_a_factory_box(bench: Make) -> None:
    made = bench("p1-l0", fresh=True)
    change_plan = made.plan_now()
    change = change_plan.changes["p1-l0"]
    assert (change.method, change.impact) == ("reload", Impact.RELOADS_SWITCH)
    run = made.push(change_plan)
    assert run.devices["p1-l0"].outcome is Outcome.APPLIED, run.devices["p1-l0"]
    switch = made.switches["p1-l0"]
    state = switch.read()
    config = state["config"]
    # The image's own rows stay, the factory's go.
    assert config["DEVICE_METADATA"]["localhost"]["mac"] == "02:00:5e:00:00:01"
    assert config["VERSIONS"]["DATABASE"]["VERSION"] == "version_202505_01"
    assert config["FEATURE"]["telemetry"] == {"state": "enabled"}
    assert config["MGMT_INTERFACE"] == {"eth0|192.0.2.1/24": {"gwaddr": "192.0.2.254"}}
    assert "BGP_NEIGHBOR" not in config
    assert "Ethernet0|10.0.0.0/31" not in config["INTERFACE"]
    assert "Loopback0|10.1.0.1/32" not in config["LOOPBACK_INTERFACE"]
    assert state["saved"] == config
    assert state["reloads"] == 1
    assert switch.frr_file() == made.desired["p1-l0"].frr
    assert not (switch.root / "run/railfab.lock").exists()
    # And it is done: the next plan finds nothing.
    assert made.plan_now().changes["p1-l0"].method == "none"


def test_patch_and_routing_commands_touch_only_what_differs(bench: Make) -> None:
    made = bench("p1-l0")
    made.alter("p1-l0", "PORT", "Ethernet0", description="new text")
    made.alter_frr("p1-l0", "timers connect 10", "timers connect 7")
    change_plan = made.plan_now()
    change = change_plan.changes["p1-l0"]
    assert change.method == "gcu+frr"
    assert change.impact is Impact.HITLESS
    assert [operation["path"] for operation in change.patch] == ["/PORT/Ethernet0/description"]
    assert [line.strip() for line in change.frr_commands][1:-1] == ["neighbor SPINE_V4 timers connect 7"]
    run = made.push(change_plan)
    assert run.devices["p1-l0"].outcome is Outcome.APPLIED, run.devices["p1-l0"]
    state = made.switches["p1-l0"].read()
    assert state["bgp_pid"] == 100, "bgp was not restarted"
    assert "timers connect 7" in state["frr"]
    assert state["saved"]["PORT"]["Ethernet0"]["description"] == "new text"
    assert made.switches["p1-l0"].frr_file() == made.desired["p1-l0"].frr


def test_gate_that_says_no_undoes_the_wave(bench: Make) -> None:
    made = bench("p1-l0", "p1-l1")
    before = {name: switch.read() for name, switch in made.switches.items()}
    for name in made.switches:
        made.alter(name, "PORT", "Ethernet0", description="new text")
        made.alter_frr(name, "timers connect 10", "timers connect 7")
    run = made.push(health=lambda wave, changed: {"p1-l0": "BGP-01: session down"})
    assert run.stopped is not None
    assert "BGP-01: session down" in run.stopped
    outcomes = sorted(device.outcome for device in run.devices.values())
    assert outcomes == [Outcome.ROLLED_BACK, Outcome.SKIPPED]
    for name, switch in made.switches.items():
        state = switch.read()
        assert state["config"] == before[name]["config"]
        assert "timers connect 10" in state["frr"]
        assert state["saved"] == before[name]["saved"]
        assert not (switch.root / "run/railfab.lock").exists()
        assert not (switch.root / "etc/sonic/railfab/pending.json").exists()


def test_waves_grow_from_a_canary(bench: Make) -> None:
    made = bench("p1-l0", "p1-l1", "p1-l2", "s0")
    for name in made.switches:
        made.alter(name, "PORT", "Ethernet0", description="new text")
    seen: list[tuple[str, ...]] = []

    def health(wave: object, changed: list[str]) -> dict[str, str]:
        seen.append(tuple(changed))
        return {}

    run = made.push(health=health)
    assert {device.outcome for device in run.devices.values()} == {Outcome.APPLIED}
    assert seen[0] == ("s0",), "a spine first"
    assert [len(changed) for changed in seen] == [1, 2, 3, 4]


def test_run_record_is_complete_and_holds_no_configuration(bench: Make) -> None:
    made = bench("p1-l0", fresh=True)
    state = made.switches["p1-l0"].read()
    state["config"]["SNMP_COMMUNITY"] = {"hunter2": {"TYPE": "RO"}}
    state["config"]["TACPLUS"] = {"global": {"passkey": "hunter2"}}
    made.switches["p1-l0"].write({**state, "saved": state["config"]})
    run = made.push()
    assert run.devices["p1-l0"].outcome is Outcome.APPLIED
    folder = made.runs / run.run_id
    assert sorted(path.name for path in folder.iterdir()) == ["journal.jsonl", "plan.json", "run.json"]
    for path in folder.iterdir():
        assert "hunter2" not in path.read_text(), f"{path.name} holds a secret"
    # Yet the switch keeps it.
    assert made.switches["p1-l0"].read()["config"]["TACPLUS"] == {"global": {"passkey": "hunter2"}}
    whats = [exchange.what for exchange in run.devices["p1-l0"].exchanges]
    for step in ("lock", "keep what is there", "whole configuration", "confirm", "save", "unlock"):
        assert step in whats


def test_what_nornir_logs_is_not_on_stderr() -> None:
    """A refused switch is told once, in our words; in a process of its own, as pytest has handlers at the root."""
    code = "import logging, fabric.deploy.roll; logging.getLogger('nornir.core.task').error('Traceback')"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stderr == ""
