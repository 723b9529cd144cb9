"""A run that was there before: go on with it after it was killed, or put its switches back."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Collection, Sequence
from pathlib import Path

from nornir.core import Nornir

from fabric.deploy.record import last_attempts, last_states, open_run, plan_of
from fabric.deploy.roll import Health, Options, ProcessorMaker, Roll, agree
from fabric.deploy.switch import SwitchPush
from fabric.errors import InputError, Problem, RailfabError
from fabric.nornir_plugins.inventory import PUSH
from fabric.values.change import Outcome, Run
from fabric.values.plan import Plan


def resume(
    runs: Path,
    run_id: str,
    nornir: Nornir,
    plan: Plan,
    health: Health,
    *,
    options: Options | None = None,
    processors: ProcessorMaker | None = None,
    connection: str = PUSH,
) -> Run:
    """Go on with a run that was killed: look at every switch it may have touched, keep or undo, then the other waves.

    What is changed and as planned is kept once the fabric is well; what is half changed is put back; and what was put
    back or never touched is done anew in its wave. InputError when the run is still going on.
    """
    chosen = options or Options()
    roll = _open(runs, run_id, nornir, plan, health, chosen, processors, connection)
    agree(roll.change_plan, plan, chosen)
    states = last_states(roll.record.folder)
    for name, device in states.items():
        if device.outcome is not Outcome.SKIPPED:
            roll.set(name, device.outcome, device.state, device.error)
    unsure = [
        name
        for name, device in states.items()
        if device.outcome not in (Outcome.APPLIED, Outcome.UNCHANGED, Outcome.SKIPPED)
    ]
    roll.record.event("resumed", looks_at=unsure, **_process())
    found: dict[str, str] = {}

    def look(push: SwitchPush) -> None:
        found[push.hand.name] = push.examine()

    looked = roll.each("look at what was left", unsure, look)
    kept = [name for name, device in states.items() if device.outcome is Outcome.APPLIED]
    kept += _finish_done(roll, kept, [name for name in looked if found[name] == "done"])
    half = [name for name in looked if found[name] == "half"]
    clean = [name for name in looked if found[name] in ("untouched", "put back")]
    clean += roll.each("undo what is half done", half, roll.undo)
    if not set(half) <= set(clean):
        roll.stopped = f"half changed and not put back: {', '.join(name for name in half if name not in clean)}"
    left = roll.each("leave what was not changed", clean, lambda push: push.leave())
    missing = [name for name in unsure if name not in looked or (name in clean and name not in left)]
    if missing:
        roll.stopped = roll.stopped or f"could not be looked at: {', '.join(missing)}"
    roll.anew(left)
    return roll.waves(kept)


def _finish_done(roll: Roll, kept: Sequence[str], done: Sequence[str]) -> list[str]:
    """Keep what was changed as planned when the fabric is well with it, else put it back; the names kept."""
    if not done:
        return []
    wave = next(wave for wave in roll.change_plan.waves if set(wave.devices) & set(done))
    reason = roll.gate(wave, [*kept, *done]) if wave.gate else None
    if reason is None:
        return roll.each("keep what is done", done, roll.settle)
    roll.stopped = reason
    roll.each("undo what is not well", done, roll.undo)
    return []


def rollback(
    runs: Path,
    run_id: str,
    nornir: Nornir,
    plan: Plan,
    *,
    only: Collection[str] = (),
    options: Options | None = None,
    processors: ProcessorMaker | None = None,
    connection: str = PUSH,
) -> Run:
    """Put the switches of a run back to what they ran before it, last wave first; whole, or `only` these.

    A switch that another run has changed since is refused: its own way back would undo that too.
    """
    roll = _open(runs, run_id, nornir, plan, lambda _wave, _names: {}, options or Options(), processors, connection)
    unknown = [name for name in only if name not in roll.change_plan.changes]
    if unknown:
        raise InputError(Problem(f"run {run_id} has no switch {', '.join(unknown)}", "see its record"))
    states = last_states(roll.record.folder)
    wanted = {
        name
        for name, device in states.items()
        if device.outcome not in (Outcome.UNCHANGED, Outcome.SKIPPED, Outcome.ROLLED_BACK)
        and roll.change_plan.changes[name].refused is None
        and (not only or name in only)
    }
    for name, device in states.items():
        roll.set(name, device.outcome, device.state, device.error)
    roll.record.event("rollback", devices=sorted(wanted), **_process())
    saved = {name for name, device in states.items() if device.outcome is Outcome.APPLIED}

    def put_back(push: SwitchPush) -> None:
        name = push.hand.name
        try:
            state = push.go_back(run_id, saved=name in saved)
        except RailfabError as error:
            outcome = Outcome.ROLLBACK_FAILED if push.touched else states[name].outcome
            roll.say(name, outcome, "not put back", str(error))
            raise
        roll.say(name, Outcome.ROLLED_BACK, state, None)

    for wave in reversed(roll.change_plan.waves):
        names = [name for name in wave.devices if name in wanted]
        went = roll.each(f"put back: {wave.name}", names, put_back)
        if len(went) < len(names):
            roll.stopped = f"not put back: {', '.join(name for name in names if name not in went)}"
    return roll.finish()


def _open(
    runs: Path,
    run_id: str,
    nornir: Nornir,
    plan: Plan,
    health: Health,
    options: Options,
    processors: ProcessorMaker | None,
    connection: str,
) -> Roll:
    record = open_run(runs, run_id)
    _refuse_living(record.folder)
    attempts = last_attempts(record.folder)
    record.attempt = max(attempts.values(), default=0) + 1
    roll = Roll(plan_of(record), nornir, plan, health, record, options, processors, connection, attempts)
    roll.begin()
    return roll


def _process() -> dict[str, object]:
    return {"pid": os.getpid(), "machine": socket.gethostname()}


def _refuse_living(folder: Path) -> None:
    """InputError when the process that runs this run is alive on this machine."""
    if (folder / "run.json").exists():
        return
    for line in (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        pid = event.get("pid")
        if event.get("machine") != socket.gethostname() or not isinstance(pid, int) or pid == os.getpid():
            continue
        if (Path("/proc") / str(pid)).exists() and "railfab" in _command_line(pid):
            raise InputError(Problem(f"this run is still going on (process {pid})", "wait for it, or end it first"))


def _command_line(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
