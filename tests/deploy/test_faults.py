"""Everything that goes wrong in a push: the truth is told, nothing half-done goes unsaid, and there is a way on."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabric.deploy import Options, resume, rollback
from fabric.deploy.proof import patch_problem
from fabric.deploy.switch import SwitchPush
from fabric.errors import HostKeyError, InputError, LoginError, TransportError
from fabric.transport import Answer
from fabric.values.change import ChangePlan, DeviceRun, Outcome, Run
from tests.deploy.conftest import QUICK, Bench

Make = Callable[..., Bench]


def small(made: Bench, *names: str) -> None:
    """A change of both kinds on these switches."""
    for name in names or made.switches:
        made.alter(name, "PORT", "Ethernet0", description="new text")
        made.alter_frr(name, "timers connect 10", "timers connect 7")


def only(run: Run, name: str = "p1-l0") -> DeviceRun:
    return run.devices[name]


def is_as_before(made: Bench, name: str = "p1-l0") -> None:
    """CONFIG_DB, routing, file, lock, timer: as if nobody had been there."""
    switch = made.switches[name]
    state = switch.read()
    assert state["config"]["PORT"]["Ethernet0"].get("description") != "new text"
    assert "timers connect 10" in state["frr"]
    assert "timers connect 10" in (switch.frr_file() or "")
    assert not (switch.root / "run/railfab.lock").exists()
    assert not (switch.root / "etc/sonic/railfab/pending.json").exists()
    assert list(switch.root.glob("unit-*")) == []


def is_changed(made: Bench, name: str = "p1-l0") -> None:
    state = made.switches[name].read()
    assert state["config"]["PORT"]["Ethernet0"]["description"] == "new text"
    assert "timers connect 7" in state["frr"]
    assert state["saved"]["PORT"]["Ethernet0"]["description"] == "new text"
    assert "timers connect 7" in (made.switches[name].frr_file() or "")


# -- before anything is sent -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TransportError("p1-l0 (192.0.2.1): cannot be reached: no route to host"), "no route to host"),
        (HostKeyError("p1-l0: its host key has CHANGED; nothing was sent"), "CHANGED"),
        (LoginError("p1-l0: no credential of admin was accepted"), "no credential"),
    ],
    ids=["down", "wrong host key", "wrong password"],
)
def test_a_switch_that_cannot_be_reached_at_apply(bench: Make, error: Exception, words: str) -> None:
    made = bench("p1-l0", "p1-l1")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l1"].unreachable = error
    run = made.push(change_plan)
    down = only(run, "p1-l1")
    assert down.outcome is Outcome.FAILED
    assert words in (down.error or "")
    assert "nothing was changed" in down.state
    assert run.stopped is not None
    assert "p1-l1" in run.stopped
    is_changed(made, "p1-l0")


def test_one_of_them_down_at_plan_is_told_and_not_touched(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now(unreachable={"p1-l1": "no answer in 60 s"})
    assert change_plan.unreachable == {"p1-l1": "no answer in 60 s"}
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.APPLIED
    assert only(run, "p1-l1").outcome is Outcome.SKIPPED
    assert "no answer" in (only(run, "p1-l1").error or "")


def test_running_state_that_moved_is_refused(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    switch = made.switches["p1-l0"]
    state = switch.read()
    state["config"]["PORT"]["Ethernet8"]["mtu"] = "1500"
    switch.write(state)
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.REFUSED
    assert "moved since the plan was made" in (only(run).error or "")
    is_as_before(made)


def test_an_old_plan_on_a_switch_that_is_as_planned_is_unchanged(bench: Make) -> None:
    """Somebody applied it before us: nothing to refuse, nothing to do, nothing to put back."""
    made = bench("p1-l0", "p1-l1")
    small(made)
    change_plan = made.plan_now()
    first = made.push(change_plan)
    again = made.push(change_plan)
    assert {one.outcome for one in again.devices.values()} == {Outcome.UNCHANGED}
    assert again.stopped is None
    assert f"by run {first.run_id}" in only(again).state
    assert [one.what for one in only(again).exchanges] == ["read configuration, routing and identity"]
    back = rollback(
        made.runs, again.run_id, made.nornir(), made.plan, options=Options(deadlines=QUICK), connection="fake"
    )
    assert {one.outcome for one in back.devices.values()} == {Outcome.UNCHANGED}
    is_changed(made)


def test_what_is_as_planned_and_not_saved_is_not_called_done(bench: Make) -> None:
    """By hand, or by a run that failed at saving: a reboot would take it away, so the plan does not end there."""
    made = bench("p1-l0")
    made.alter("p1-l0", "PORT", "Ethernet0", description="new text")
    change_plan = made.plan_now()
    switch = made.switches["p1-l0"]
    state = switch.read()
    state["config"]["PORT"]["Ethernet0"]["description"] = "new text"
    switch.write(state)
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.REFUSED
    assert "moved since the plan was made" in (only(run).error or "")


def test_foreign_rows_that_moved_are_no_reason_to_refuse(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    switch = made.switches["p1-l0"]
    state = switch.read()
    state["config"]["CRM"]["Config"]["polling_interval"] = "30"
    switch.write(state)
    assert only(made.push(change_plan)).outcome is Outcome.APPLIED
    assert switch.read()["config"]["CRM"]["Config"]["polling_interval"] == "30"


def test_a_second_pusher_is_refused_and_told_who_is_first(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    lock = {"owner": "kim@noc1", "run_id": "20260101-000000", "since": time.time() - 600}
    (made.switches["p1-l0"].root / "run/railfab.lock").write_text(json.dumps(lock))
    change_plan = made.plan_now()
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.REFUSED
    for words in ("kim@noc1", "20260101-000000", "10 min ago", "--break-lock"):
        assert words in (only(run).error or "")
    assert json.loads((made.switches["p1-l0"].root / "run/railfab.lock").read_text()) == lock
    broken = made.push(change_plan, options=Options(deadlines=QUICK, break_lock=True))
    assert only(broken).outcome is Outcome.APPLIED
    assert not (made.switches["p1-l0"].root / "run/railfab.lock").exists()


def test_a_full_disk_is_refused(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    (made.switches["p1-l0"].root / "df").write_text("/dev/sda 1000000 999000 1000 100% /\n")
    run = made.push()
    assert only(run).outcome is Outcome.REFUSED
    assert "its disk is full: 1000 KB free" in (only(run).error or "")
    is_as_before(made)


def test_a_disk_that_fills_up_while_copies_are_kept(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l0"].fault("config checkpoint", rc=1, err="OSError: [Errno 28] No space left on device\n")
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.REFUSED
    assert "No space left on device" in (only(run).error or "")
    is_as_before(made)


def test_two_leaves_racked_exchanged_are_refused(bench: Make) -> None:
    """The box that answers at p1-l0's address is cabled like p1-l1."""
    made = bench("p1-l0")
    small(made)
    other = made.plan.switches["p1-l1"]
    rows = {
        port.name: {
            "lldp_rem_sys_name": port.peer_device,
            "lldp_rem_port_id": port.peer_alias,
            "lldp_rem_port_id_subtype": "7",
            "lldp_rem_chassis_id": "02:00:5e:00:00:10",
            "lldp_rem_chassis_id_subtype": "4",
            "lldp_rem_port_desc": port.peer_port,
            "lldp_rem_time_mark": "10",
        }
        for port in other.ports.values()
        if port.peer_device in made.plan.switches
    }
    made.switches["p1-l0"].change(APPL_DB={"LLDP_ENTRY_TABLE": rows})
    change = made.plan_now().changes["p1-l0"]
    assert change.refused is not None
    assert "its cables are those of p1-l1" in change.refused
    run = made.push()
    assert only(run).outcome is Outcome.REFUSED
    assert not any("apply-patch" in command for command in made.switches["p1-l0"].commands)
    # A plan made before the exchange is refused by the box itself.
    made.switches["p1-l0"].change(APPL_DB={})
    change_plan = made.plan_now()
    made.switches["p1-l0"].change(APPL_DB={"LLDP_ENTRY_TABLE": rows})
    late = made.push(change_plan)
    assert only(late).outcome is Outcome.REFUSED
    assert "another box answers for p1-l0" in (only(late).error or "")
    is_as_before(made)


def test_another_serial_than_the_one_learned_is_refused(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    made.switches["p1-l0"].change(STATE_DB={"EEPROM_INFO": {"0x23": {"Name": "Serial Number", "Value": "SN-NEW"}}})
    switch = replace(made.plan.switches["p1-l0"], serial="SN-OLD")
    made.plan = replace(made.plan, switches={**made.plan.switches, "p1-l0": switch})
    change = made.plan_now().changes["p1-l0"]
    assert "its serial number is SN-NEW, the one learned is SN-OLD" in (change.refused or "")


def test_an_unfinished_run_on_the_switch_is_refused(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    folder = made.switches["p1-l0"].root / "etc/sonic/railfab"
    folder.mkdir()
    (folder / "pending.json").write_text(json.dumps({"run_id": "20260101-000000"}))
    change_plan = made.plan_now()
    assert any("20260101-000000 awaits confirmation" in note for note in change_plan.notes)
    run = made.push(change_plan)
    assert "20260101-000000 awaits confirmation" in (only(run).error or "")


def test_an_intent_that_changed_since_is_refused(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = replace(made.plan_now(), intent_hash="another")
    with pytest.raises(InputError, match="the intent has changed since the plan was made"):
        made.push(change_plan)
    assert not made.runs.exists()


def test_f024_a_row_that_was_bad_before_is_the_blocker_not_our_change(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    switch = made.switches["p1-l0"]
    state = switch.read()
    state["config"]["VLAN_SUB_INTERFACE"] = {"EthernetNR|198.51.100.4": {"admin_status": "up"}}
    switch.write({**state, "invalid_row": "VLAN_SUB_INTERFACE EthernetNR"})
    run = made.push()
    assert only(run).outcome is Outcome.REFUSED
    assert "refuses what the switch runs already, before our change" in (only(run).error or "")
    assert "VLAN_SUB_INTERFACE|EthernetNR|198.51.100.4" in (only(run).error or "")
    is_as_before(made)


# -- while it is done ------------------------------------------------------------------------------------------------


def test_a_patch_that_is_refused_when_applied(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l0"].fault("patch.json", times=0)  # the dry run passes
    made.switches["p1-l0"].fault("config apply-patch /", rc=2, err="Failed to apply patch due to: it is Tuesday\n")
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.ROLLED_BACK
    assert "it is Tuesday" in (only(run).error or "")
    is_as_before(made)


SCOPES = """Patch Applier: localhost: applying
Patch applied successfully.
Failed to apply patch on the following scopes:
- asic0: Change Applier: there are still some parts updated
"""


def test_f023_a_success_line_proves_nothing() -> None:
    assert patch_problem(Answer("Patch applied successfully.\n", "", 0)) is None
    assert "asic0" in (patch_problem(Answer(SCOPES, "", 0)) or "")
    assert "asic0" in (patch_problem(Answer("Patch applied successfully.\n", SCOPES, 2)) or "")
    assert patch_problem(Answer("", "", 0)) is not None, "no word of success is no success"


def test_f023_third_of_five_scopes_fails(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l0"].fault("config apply-patch /", before=True, rc=2, out=SCOPES)
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.ROLLED_BACK
    assert "some parts were applied and these were not: asic0" in (only(run).error or "")
    is_as_before(made)


def test_a_command_that_hangs(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l0"].fault("config apply-patch /", hang=300)
    started = time.monotonic()
    run = made.push(change_plan, options=Options(deadlines=replace(QUICK, patch=4)))
    assert time.monotonic() - started < 60
    assert only(run).outcome is Outcome.ROLLED_BACK
    assert "did not end in 4 s" in (only(run).error or "")
    is_as_before(made)


@pytest.mark.parametrize("step", ["patch.json\n", "vtysh -f", "kept/done", "systemd-run", "set -C"])
def test_ssh_cut_during_a_step_is_gone_on_with_or_told(bench: Make, step: str) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l0"].cut_when = step
    run = made.push(change_plan)
    if only(run).outcome is Outcome.APPLIED:
        is_changed(made)
        assert made.switches["p1-l0"].sessions > 1, "the connection was opened again"
    else:
        assert only(run).outcome is Outcome.REFUSED
        assert "connection was lost" in (only(run).error or "")
        state = made.switches["p1-l0"].read()
        assert state["config"]["PORT"]["Ethernet0"].get("description") != "new text"


def test_ssh_cut_during_the_patch_waits_for_the_same_patch(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    switch = made.switches["p1-l0"]
    switch.change(patch_takes=1.5)
    switch.cut_when = "/patch\n"
    switch.cut_for_s = 2.0
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.APPLIED, only(run).error
    is_changed(made)
    ran = (switch.root / "var/tmp/railfab" / run.run_id / "patch/rc").read_text().strip()
    assert ran == "0"
    assert any("connection lost" in exchange.what for exchange in only(run).exchanges)


def test_a_switch_that_reboots_in_the_middle(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l0"].fault("config apply-patch /", do="reboot")
    run = made.push(change_plan)
    assert only(run).outcome in (Outcome.ROLLED_BACK, Outcome.REFUSED, Outcome.FAILED)
    assert "the switch rebooted during this step" in (only(run).error or "")
    state = made.switches["p1-l0"].read()
    assert state["config"]["PORT"]["Ethernet0"].get("description") != "new text"


def test_routing_commands_that_frr_refuses(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    made.alter_frr("p1-l0", " timers bgp 3 9\n", " timers bgp 3 9\n nonsense\n")
    run = made.push()
    assert only(run).outcome is Outcome.ROLLED_BACK
    assert "nonsense" in (only(run).error or "")
    is_as_before(made)


def test_a_read_back_that_differs(bench: Make) -> None:
    """The updater says it did it, and the row is not there."""
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l0"].fault("config apply-patch /", rc=0, out="Patch applied successfully.\n")
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.ROLLED_BACK
    assert "what it runs now is not what was planned: PORT|Ethernet0: description" in (only(run).error or "")
    is_as_before(made)


def test_f022_a_rollback_that_fails_is_never_called_rolled_back(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l0"].fault(
        "config rollback", rc=2, err="Modification of BUFFER_PROFILE table is illegal\n", times=9
    )
    run = made.push(change_plan, health=lambda wave, changed: {"p1-l0": "not well"})
    assert only(run).outcome is Outcome.ROLLBACK_FAILED
    error = only(run).error or ""
    assert "rollback failed, the live configuration differs from what ran before" in error
    assert "PORT|Ethernet0: description" in error
    assert "rolled back" not in only(run).state


def test_a_failed_rollback_can_be_tried_again(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l0"].fault("config rollback", rc=2, err="busy\n", times=1)
    run = made.push(change_plan, health=lambda wave, changed: {"p1-l0": "not well"})
    assert only(run).outcome is Outcome.ROLLBACK_FAILED
    again = rollback(
        made.runs, run.run_id, made.nornir(), made.plan, options=Options(deadlines=QUICK), connection="fake"
    )
    assert only(again).outcome is Outcome.ROLLED_BACK, only(again).error
    is_as_before(made)


# -- commit-confirm --------------------------------------------------------------------------------------------------


def test_a_push_that_cuts_our_own_path_heals_by_itself(bench: Make) -> None:
    """The patch changes the management address: nobody can confirm, so the switch puts itself back."""
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    switch = made.switches["p1-l0"]
    switch.cut_when = "/frr\n"
    switch.cut_for_s = 3600
    quick = replace(QUICK, confirm=3, patch=15, step=15, reload=15)
    run = made.push(change_plan, options=Options(deadlines=quick))
    assert only(run).outcome is Outcome.PENDING, "nobody can know: it is neither called good nor put back"
    assert "it puts itself back within 3 s" in only(run).state
    assert "cannot be reached" in (only(run).error or "")
    undone = switch.root / "var/tmp/railfab" / run.run_id / "undone"
    until = time.monotonic() + 60
    while not undone.exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert "timers connect 10" in switch.read()["frr"]
    assert switch.read()["config"]["PORT"]["Ethernet0"].get("description") != "new text"
    # Once it can be reached again the run can be told from the switch.
    switch.cut_until = 0
    told = resume(
        made.runs, run.run_id, made.nornir(), made.plan, lambda w, c: {},
        options=Options(deadlines=QUICK), connection="fake",
    )  # fmt: skip
    assert only(told).outcome is Outcome.APPLIED
    is_changed(made)


def test_a_health_check_that_hangs_does_not_hold_the_run(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    release = threading.Event()

    def hangs(wave: object, changed: object) -> dict[str, str]:
        release.wait(60)
        return {}

    try:
        run = made.push(change_plan, health=hangs, options=Options(deadlines=replace(QUICK, confirm=8)))
    finally:
        release.set()
    assert only(run).outcome is Outcome.ROLLED_BACK
    assert "health could not be told" in (run.stopped or "")
    is_as_before(made)


def test_a_confirmation_that_comes_too_late_is_told(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    settle = SwitchPush.settle

    def slow(push: SwitchPush) -> None:
        time.sleep(6)
        settle(push)

    monkeypatch.setattr(SwitchPush, "settle", slow)
    run = made.push(change_plan, options=Options(deadlines=replace(QUICK, confirm=5)))
    assert only(run).outcome in (Outcome.FAILED, Outcome.ROLLED_BACK)
    assert "put itself back before it could be confirmed" in (only(run).error or "")
    state = made.switches["p1-l0"].read()
    assert state["config"]["PORT"]["Ethernet0"].get("description") != "new text"


def test_a_hung_switch_does_not_hold_its_neighbour_past_its_timer(bench: Make) -> None:
    """One of two hangs in its patch: the other is confirmed and kept long before its own timer would undo it."""
    made = bench("p1-l0", "p1-l1")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l1"].fault("config apply-patch /", hang=60)
    deadlines = replace(QUICK, patch=120, confirm=20)
    run = made.push(change_plan, options=Options(deadlines=deadlines, accepted=list(made.switches)))
    assert only(run).outcome is Outcome.APPLIED
    is_changed(made)
    hung = only(run, "p1-l1")
    assert hung.outcome in (Outcome.PENDING, Outcome.ROLLED_BACK), hung
    assert "not done in 12 s" in (hung.error or "")
    assert "p1-l1" in (run.stopped or "")


# -- reloads ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loses", ["mode", "file", "mode file"])
def test_a_reload_that_loses_mode_or_file_is_healed_and_told(bench: Make, loses: str) -> None:
    made = bench("p1-l0", fresh=True)
    change_plan = made.plan_now()
    made.switches["p1-l0"].change(reload_loses=loses)
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.APPLIED, only(run).error
    assert "the reload lost our routing" in only(run).state
    state = made.switches["p1-l0"].read()
    assert state["config"]["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] == "split-unified"
    assert made.switches["p1-l0"].frr_file() == made.desired["p1-l0"].frr
    assert made.plan_now().changes["p1-l0"].method == "none"


def test_f115_a_session_lost_during_reload_is_expected(bench: Make) -> None:
    made = bench("p1-l0", fresh=True)
    change_plan = made.plan_now()
    switch = made.switches["p1-l0"]
    switch.change(reload_takes=1)
    switch.cut_when = "/reload\n"
    switch.cut_for_s = 2
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.APPLIED, only(run).error
    assert switch.read()["reloads"] == 1


def test_f115_a_switch_that_does_not_come_back_is_a_failure(bench: Make) -> None:
    made = bench("p1-l0", fresh=True)
    change_plan = made.plan_now()
    switch = made.switches["p1-l0"]
    switch.cut_when = "/reload\n"
    switch.cut_for_s = 3600
    run = made.push(change_plan, options=Options(deadlines=replace(QUICK, reload=3, ready=3)))
    assert only(run).outcome is Outcome.PENDING
    assert "cannot be reached" in (only(run).error or "")


def test_a_reload_that_fails_puts_the_old_files_back(bench: Make) -> None:
    made = bench("p1-l0", fresh=True)
    before = made.switches["p1-l0"].read()
    change_plan = made.plan_now()
    made.switches["p1-l0"].fault("config_db.json", rc=1, err="Configuration is not valid: PORT\n")
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.ROLLED_BACK, only(run).error
    assert "Configuration is not valid" in (only(run).error or "")
    state = made.switches["p1-l0"].read()
    assert state["config"] == before["config"]
    assert state["saved"] == before["saved"]
    assert made.switches["p1-l0"].frr_file() == "hostname sonic\nend\n"


# -- a run that was killed -------------------------------------------------------------------------------------------


KILL_AT = [
    "set -C", "kept/done", "undo.sh", "systemd-run", "changing", "/dry-run\n", "/patch\n", "vtysh -f", "confirmed",
    "config save", "mark.json", "railfab.lock && rm",
]  # fmt: skip


def push_and_die(made: Bench, change_plan: ChangePlan, step: str) -> None:
    """In a process of its own: push, and be killed (signal 9) as soon as something with `step` in it is to be sent."""
    from tests.deploy import fake

    real_run, real_put = fake.FakeSession.run, fake.FakeSession.put

    def die(text: str) -> None:
        if step in text:
            os.kill(os.getpid(), signal.SIGKILL)

    def run(self: fake.FakeSession, command: str, **more: Any) -> Answer:
        die(f"{command}\n{(more.get('stdin') or b'').decode()}")
        return real_run(self, command, **more)

    def put(self: fake.FakeSession, data: bytes, path: str, **more: Any) -> None:
        die(path)
        real_put(self, data, path, **more)

    fake.FakeSession.run, fake.FakeSession.put = run, put  # type: ignore[method-assign]
    try:
        made.push(change_plan)
    finally:
        os._exit(0)


@pytest.mark.parametrize("step", KILL_AT, ids=[step.strip("\n/") for step in KILL_AT])
@pytest.mark.parametrize("then", ["resume", "rollback"])
def test_killed_at_each_step_then_resumed_or_put_back(bench: Make, step: str, then: str) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    pid = os.fork()
    if pid == 0:
        push_and_die(made, change_plan, step)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"the run never came to {step!r}"
    run_id = next(made.runs.iterdir()).name
    assert not (made.runs / run_id / "run.json").exists()
    options = Options(deadlines=QUICK)
    if then == "resume":
        run = resume(made.runs, run_id, made.nornir(), made.plan, lambda w, c: {}, options=options, connection="fake")
        assert only(run).outcome is Outcome.APPLIED, (only(run), run.stopped)
        is_changed(made)
        assert not (made.switches["p1-l0"].root / "run/railfab.lock").exists()
        assert not (made.switches["p1-l0"].root / "etc/sonic/railfab/pending.json").exists()
    else:
        run = rollback(made.runs, run_id, made.nornir(), made.plan, options=options, connection="fake")
        assert only(run).outcome is Outcome.ROLLED_BACK, only(run)
        is_as_before(made)


def test_the_living_run_is_not_gone_on_with(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess
    import sys

    made = bench("p1-l0")
    small(made)
    run = made.push()
    folder = made.runs / run.run_id
    (folder / "run.json").unlink()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)", "railfab"]) as other:
        import socket

        while b"railfab" not in Path(f"/proc/{other.pid}/cmdline").read_bytes():
            time.sleep(0.02)
        with (folder / "journal.jsonl").open("a") as journal:
            journal.write(json.dumps({"event": "resumed", "pid": other.pid, "machine": socket.gethostname()}) + "\n")
        with pytest.raises(InputError, match=f"still going on .process {other.pid}"):
            resume(made.runs, run.run_id, made.nornir(), made.plan, lambda w, c: {}, connection="fake")
        other.kill()


def test_rollback_of_a_run_that_is_over(bench: Make) -> None:
    made = bench("p1-l0", "p1-l1")
    small(made)
    run = made.push()
    assert {device.outcome for device in run.devices.values()} == {Outcome.APPLIED}
    options = Options(deadlines=QUICK)
    one = rollback(made.runs, run.run_id, made.nornir(), made.plan, only=["p1-l0"], options=options, connection="fake")
    assert (only(one).outcome, only(one, "p1-l1").outcome) == (Outcome.ROLLED_BACK, Outcome.APPLIED)
    is_as_before(made, "p1-l0")
    is_changed(made, "p1-l1")
    assert made.switches["p1-l0"].read()["saved"]["PORT"]["Ethernet0"].get("description") != "new text"


def test_rollback_under_a_newer_run_is_refused(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    first = made.push()
    made.alter("p1-l0", "PORT", "Ethernet8", description="later")
    second = made.push()
    assert only(second).outcome is Outcome.APPLIED
    run = rollback(
        made.runs, first.run_id, made.nornir(), made.plan, options=Options(deadlines=QUICK), connection="fake"
    )
    assert only(run).outcome is Outcome.APPLIED
    assert f"run {second.run_id} has changed it since" in (only(run).error or "")
    is_changed(made)


def test_an_unknown_run_names_those_there_are(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    run = made.push()
    with pytest.raises(InputError, match=f"no run nonsense.*{run.run_id}"):
        rollback(made.runs, "nonsense", made.nornir(), made.plan, connection="fake")


def test_a_run_that_was_gone_on_with_can_still_be_put_back(bench: Make) -> None:
    """The way back stands in the first attempt's folder on the switch, whoever kept the change."""
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    pid = os.fork()
    if pid == 0:
        push_and_die(made, change_plan, "config save")
    os.waitpid(pid, 0)
    run_id = next(made.runs.iterdir()).name
    options = Options(deadlines=QUICK)
    run = resume(made.runs, run_id, made.nornir(), made.plan, lambda w, c: {}, options=options, connection="fake")
    assert only(run).outcome is Outcome.APPLIED
    back = rollback(made.runs, run_id, made.nornir(), made.plan, options=options, connection="fake")
    assert only(back).outcome is Outcome.ROLLED_BACK, only(back)
    is_as_before(made)


def test_a_rollback_that_failed_twice_is_still_not_called_done(bench: Make) -> None:
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    made.switches["p1-l0"].fault("config rollback", rc=2, err="busy\n", times=2)
    run = made.push(change_plan, health=lambda wave, changed: {"p1-l0": "not well"})
    options = Options(deadlines=QUICK)
    for outcome in (Outcome.ROLLBACK_FAILED, Outcome.ROLLED_BACK):
        again = rollback(made.runs, run.run_id, made.nornir(), made.plan, options=options, connection="fake")
        assert only(again).outcome is outcome, only(again)
    is_as_before(made)


@pytest.mark.parametrize("way", ["resume", "rollback"])
def test_a_switch_that_is_away_when_the_run_is_gone_on_with_keeps_its_last_known_state(bench: Make, way: str) -> None:
    """It was changed before the kill: "nothing was changed" would be a lie."""
    made = bench("p1-l0")
    small(made)
    change_plan = made.plan_now()
    pid = os.fork()
    if pid == 0:
        push_and_die(made, change_plan, "config save")
    os.waitpid(pid, 0)
    run_id = next(made.runs.iterdir()).name
    made.switches["p1-l0"].unreachable = TransportError("p1-l0 (192.0.2.1): cannot be reached: no route to host")
    options = Options(deadlines=QUICK)
    if way == "resume":
        run = resume(made.runs, run_id, made.nornir(), made.plan, lambda w, c: {}, options=options, connection="fake")
    else:
        run = rollback(made.runs, run_id, made.nornir(), made.plan, options=options, connection="fake")
    assert only(run).outcome is Outcome.PENDING, only(run)
    assert "nothing was changed" not in only(run).state
    assert "cannot be reached now; last known: changed" in only(run).state
    assert "no route to host" in (only(run).error or "")
    assert run.stopped is not None
    made.switches["p1-l0"].unreachable = None
    back = rollback(made.runs, run_id, made.nornir(), made.plan, options=options, connection="fake")
    assert only(back).outcome is Outcome.ROLLED_BACK, only(back)
    is_as_before(made)
