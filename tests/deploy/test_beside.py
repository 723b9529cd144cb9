"""What goes with a push: host files, idle nodes from the scheduler, the factory's password, Ctrl-C, a bgp restart."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.cli.apply import exit_code, with_new_password
from fabric.deploy import Options, host_side, resume
from fabric.deploy.idle import idle_from_slurm
from fabric.deploy.roll import UNREACHED
from fabric.errors import InputError, LoginError
from fabric.gate.nodes import expand
from fabric.render import render_hosts
from fabric.transport import Login
from fabric.transport.login import FACTORY_PASSWORD
from fabric.values.change import ChangePlan, DeviceRun, Impact, Outcome, Run, Wave
from fabric.values.device_config import HostFiles
from fabric.values.plan import Plan
from tests.deploy.conftest import QUICK, Bench

Make = Callable[..., Bench]


def test_the_host_side_is_named_when_it_differs(lab_plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "state" / "hosts.json"
    files = [render_hosts(lab_plan, host) for host in lab_plan.hosts]
    now = host_side.digests(files)
    assert sorted(now) == sorted(lab_plan.hosts)
    assert host_side.read_known(path) is None
    first = host_side.differing(now, None)
    assert sorted(first) == sorted(lab_plan.hosts)
    told = host_side.notes(first, first=True)
    assert len(told) == 1
    assert "gpu001 ... gpu004" in told[0] or "gpu001, gpu002, gpu003, gpu004" in told[0]
    host_side.write_known(path, now)
    assert host_side.differing(now, host_side.read_known(path)) == {}
    one = files[0]
    name = next(iter(one.files))
    changed = [HostFiles(one.host, {**one.files, name: "other"}), *files[1:]]
    assert host_side.differing(host_side.digests(changed), host_side.read_known(path)) == {one.host: (name,)}


@pytest.mark.parametrize("text", ["", "[]", '{"hosts": 3}', '{"hosts": {"a": 1}}'])
def test_a_bad_host_file_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hosts.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"hosts\.json"):
        host_side.read_known(path)


def test_a_plan_names_host_files(bench: Make) -> None:
    made = bench("p1-l0")
    change_plan = made.plan_now(hosts={"gpu001": ("etc/sysctl.d/60-railfab.conf",)})
    assert any(
        "etc/sysctl.d/60-railfab.conf of gpu001 differ from those of the last apply" in n for n in change_plan.notes
    )
    assert change_plan.hosts == {"gpu001": ("etc/sysctl.d/60-railfab.conf",)}


def sinfo(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script = folder / "sinfo"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_idle_nodes_from_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sinfo(tmp_path, 'case "$*" in *idle*drained*) printf "gpu[001-003]\\ngpu010\\n";; esac', monkeypatch)
    assert idle_from_slurm(expand) == ("gpu001", "gpu002", "gpu003", "gpu010")
    sinfo(tmp_path, "exit 0", monkeypatch)
    assert idle_from_slurm(expand) == ()


def test_a_scheduler_that_cannot_be_asked_makes_nobody_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sinfo(tmp_path, "echo 'slurm_load_partitions: Unable to contact slurm controller' >&2; exit 1", monkeypatch)
    with pytest.raises(InputError, match="Unable to contact"):
        idle_from_slurm(expand)
    (tmp_path / "sinfo").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="sinfo is not here"):
        idle_from_slurm(expand)


FRESH = ChangePlan("lab", "lab.yaml", "", 0.0, {}, (Wave("first", ("p1-l0",), Impact.RELOADS_SWITCH, fresh=True),))


def test_the_factory_password_is_not_left_on_a_new_box(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAILFAB_NEW_PASSWORD", raising=False)
    factory = Login(user="admin", known_hosts=Path("k"), password=FACTORY_PASSWORD)
    with pytest.raises(LoginError, match=r"p1-l0: new boxes with the factory's password; set RAILFAB_NEW_PASSWORD"):
        with_new_password(Options(), factory, FRESH)
    assert with_new_password(Options(), factory, replace(FRESH, waves=())).new_password is None
    assert with_new_password(Options(), replace(factory, password="own"), FRESH).new_password is None
    monkeypatch.setenv("RAILFAB_NEW_PASSWORD", "correct horse")
    options = with_new_password(Options(), factory, FRESH)
    assert options.new_password == "correct horse"
    assert "correct horse" not in repr(options)


def test_the_new_password_goes_in_by_standard_input_and_is_in_no_record(bench: Make) -> None:
    made = bench("p1-l0", fresh=True)
    switch = made.switches["p1-l0"]
    (switch.root / "bin/chpasswd").write_text('#!/bin/sh\necho "$@" >"$FAKE_ROOT/args"; cat >"$FAKE_ROOT/given"\n')
    (switch.root / "bin/chpasswd").chmod(0o755)
    run = made.push(options=Options(deadlines=QUICK, user="admin", new_password="correct horse"))
    assert run.devices["p1-l0"].outcome is Outcome.APPLIED
    assert (switch.root / "given").read_text() == "admin:correct horse\n"
    assert (switch.root / "args").read_text().strip() == ""
    for path in (made.runs / run.run_id).iterdir():
        assert "correct horse" not in path.read_text()
    # A box that is ours already keeps its login.
    (switch.root / "given").unlink()
    made.alter("p1-l0", "PORT", "Ethernet0", description="x")
    assert (
        made.push(options=Options(deadlines=QUICK, new_password="correct horse")).devices["p1-l0"].outcome == "applied"
    )
    assert not (switch.root / "given").exists()


def test_zero_touch_provisioning_is_stopped_on_a_factory_box(bench: Make) -> None:
    made = bench("p1-l0", fresh=True)
    made.push()
    assert any("config ztp disable -y" in command for command in made.switches["p1-l0"].commands)


def test_ctrl_c_leaves_a_run_that_can_be_gone_on_with(bench: Make) -> None:
    from tests.deploy import fake

    made = bench("p1-l0")
    made.alter("p1-l0", "PORT", "Ethernet0", description="new text")
    change_plan = made.plan_now()
    made.switches["p1-l0"].change(patch_takes=3)
    pid = os.fork()
    if pid == 0:
        real = fake.FakeSession.run

        def run(self: fake.FakeSession, command: str, **more: object) -> object:
            if "/patch\n" in (more.get("stdin") or b"").decode():  # type: ignore[attr-defined]
                os.kill(os.getpid(), signal.SIGINT)
            return real(self, command, **more)  # type: ignore[arg-type]

        fake.FakeSession.run = run  # type: ignore[assignment,method-assign]
        try:
            made.push(change_plan)
        except KeyboardInterrupt:
            os._exit(130)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    run_id = next(made.runs.iterdir()).name
    assert "stopped by Ctrl-C" in (made.runs / run_id / "run.json").read_text()
    gone_on = resume(
        made.runs,
        run_id,
        made.nornir(),
        made.plan,
        lambda w, c: {},
        options=Options(deadlines=QUICK),
        connection="fake",
    )
    assert gone_on.devices["p1-l0"].outcome is Outcome.APPLIED, gone_on
    assert made.switches["p1-l0"].read()["saved"]["PORT"]["Ethernet0"]["description"] == "new text"


def test_a_bgp_restart_that_loses_the_file_is_healed(bench: Make) -> None:
    """FEATURE bgp goes from enabled to always_enabled: the container restarts, and takes our file with it."""
    made = bench("p1-l0")
    switch = made.switches["p1-l0"]
    made.alter("p1-l0", "FEATURE", "bgp", state="always_enabled")
    change_plan = made.plan_now()
    assert change_plan.changes["p1-l0"].impact is Impact.RESTARTS_BGP
    frr = switch.root / "etc/sonic/frr/frr.conf"
    switch.fault("config apply-patch /", before=True, rc=0, out="Patch applied successfully.\n")
    frr.unlink()
    run = made.push(change_plan)
    assert run.devices["p1-l0"].outcome is Outcome.APPLIED, run.devices["p1-l0"].error
    assert "put back, bgp restarted" in run.devices["p1-l0"].state
    assert frr.read_text() == made.desired["p1-l0"].frr


def outcome_run(*outcomes: Outcome, state: str = "", stopped: str | None = None) -> Run:
    devices = {f"leaf{n}": DeviceRun(f"leaf{n}", outcome, state) for n, outcome in enumerate(outcomes)}
    return Run("r", "lab", "", 0.0, 1.0, devices, stopped)


@pytest.mark.parametrize(
    ("run", "unwell", "code"),
    [
        (outcome_run(Outcome.APPLIED, Outcome.UNCHANGED), {}, 0),
        (outcome_run(Outcome.UNCHANGED), {}, 0),
        (outcome_run(Outcome.APPLIED), {"leaf0": "BGP-01"}, 1),
        (outcome_run(Outcome.APPLIED, Outcome.FAILED), {}, 1),
        (outcome_run(Outcome.APPLIED, Outcome.ROLLED_BACK, stopped="x"), {}, 1),
        (outcome_run(Outcome.PENDING), {}, 1),
        (outcome_run(Outcome.REFUSED, Outcome.REFUSED), {}, 2),
        (outcome_run(Outcome.REFUSED, Outcome.SKIPPED, stopped="x"), {}, 2),
        (outcome_run(Outcome.FAILED, Outcome.SKIPPED, state=UNREACHED, stopped="x"), {}, 2),
        (outcome_run(Outcome.FAILED, Outcome.REFUSED, state="changing", stopped="x"), {}, 1),
    ],
)
def test_exit_codes_of_apply(run: Run, unwell: dict[str, str], code: int) -> None:
    assert exit_code(run, unwell) == code
