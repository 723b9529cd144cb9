"""The record of a run on disk: a journal that grows line by line, and the Run when it ends.

`runs/RUN/plan.json` is what was approved, `journal.jsonl` what happened (it survives kill -9), `run.json` the result.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fabric.errors import InputError, Problem
from fabric.values.change import ChangePlan, DeviceRun, Exchange, Outcome, Run
from fabric.values.codec import dumps, loads, plain


class Record:
    """One run's folder. Threads may share it."""

    def __init__(self, folder: Path, run_id: str) -> None:
        self.folder = folder
        self.run_id = run_id
        # Counts how often the run was gone on with: the steps of a switch are named by it there.
        self.attempt = 0
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        # Opened for append: a resumed run goes on in the same journal. Flushed a line at a time: kill -9 loses none.
        self._journal = (folder / "journal.jsonl").open("a", encoding="utf-8", buffering=1)

    def exchange(self, device: str, exchange: Exchange) -> None:
        """Something was asked and answered."""
        self._write({"device": device, "exchange": plain(exchange)})

    def state(self, device: str, outcome: Outcome, state: str, error: str | None = None, attempt: int = 0) -> None:
        """A switch is in another state now; `attempt` names its steps there."""
        self._write({"device": device, "outcome": outcome.value, "state": state, "error": error, "attempt": attempt})

    def event(self, what: str, **facts: object) -> None:
        """Something about the run as a whole: a wave, a gate, a stop."""
        self._write({"event": what, **facts})

    def close(self, run: Run) -> None:
        """Write the result."""
        write_whole(self.folder / "run.json", dumps(run))
        self._journal.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        text = json.dumps({"at": round(time.time(), 3), **line}, ensure_ascii=False) + "\n"
        with self._lock:
            self._journal.write(text)


def start(runs: Path, plan: ChangePlan, *, now: float | None = None) -> Record:
    """A new run: its folder, named by time, so that names sort by age."""
    moment = time.time() if now is None else now
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(moment))
    runs.mkdir(parents=True, exist_ok=True)
    for number in range(1000):
        run_id = stamp if not number else f"{stamp}-{number}"
        try:
            (runs / run_id).mkdir()
        except FileExistsError:
            continue
        record = Record(runs / run_id, run_id)
        write_whole(record.folder / "plan.json", dumps(plan))
        record.event("started", by=owner(), pid=os.getpid(), machine=socket.gethostname())
        return record
    raise InputError(Problem("too many runs in one second", "wait a moment", file=str(runs)))


def open_run(runs: Path, run_id: str) -> Record:
    """A run that was there before; InputError names the runs when it is not one of them."""
    folder = runs / run_id
    if not (folder / "journal.jsonl").is_file():
        raise InputError(Problem(f"there is no run {run_id}", f"the last ones are: {_known(runs)}", file=str(runs)))
    return Record(folder, run_id)


def plan_of(record: Record) -> ChangePlan:
    """The plan a run was started with."""
    path = record.folder / "plan.json"
    return loads(ChangePlan, path.read_bytes(), str(path))


def plan_of_run(runs: Path, run_id: str) -> ChangePlan:
    """The plan of a run by its name; InputError when there is no such run."""
    path = runs / run_id / "plan.json"
    if not path.is_file():
        raise InputError(Problem(f"there is no run {run_id}", f"the last ones are: {_known(runs)}", file=str(runs)))
    return loads(ChangePlan, path.read_bytes(), str(path))


def named_run(runs: Path, name: str) -> str:
    """A run's name; `last` is the newest."""
    if name != "last":
        return name
    known = sorted(path.name for path in runs.iterdir() if (path / "plan.json").is_file()) if runs.is_dir() else []
    if not known:
        raise InputError(Problem("there is no run yet", "railfab apply PLAN makes one", file=str(runs)))
    return known[-1]


def _known(runs: Path) -> str:
    known = sorted(path.name for path in runs.iterdir() if path.is_dir()) if runs.is_dir() else []
    return ", ".join(known[-5:]) or "none"


def last_states(folder: Path) -> dict[str, DeviceRun]:
    """What the journal says each switch was in last, also of a run that was killed. A cut last line is left out."""
    states: dict[str, DeviceRun] = {}
    exchanges: dict[str, list[Exchange]] = {}
    for line in (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            data = json.loads(line)
        except ValueError:
            continue
        device = data.get("device")
        if device is None:
            continue
        if "exchange" in data:
            exchanges.setdefault(device, []).append(Exchange(**data["exchange"]))
        elif "outcome" in data:
            states[device] = DeviceRun(device, Outcome(data["outcome"]), data.get("state", ""), data.get("error"))
    from dataclasses import replace

    return {device: replace(run, exchanges=tuple(exchanges.get(device, ()))) for device, run in states.items()}


def last_attempts(folder: Path) -> dict[str, int]:
    """By which attempt each switch was last worked on."""
    attempts: dict[str, int] = {}
    for line in (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            data = json.loads(line)
        except ValueError:
            continue
        if "outcome" in data:
            attempts[data["device"]] = int(data.get("attempt", 0))
    return attempts


def owner() -> str:
    """Who pushes: the person and the machine, as a lock on a switch says it."""
    import getpass

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"


def write_whole(path: Path, text: str) -> None:
    """Write a file beside its place, then rename: a reader sees the old one or the new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
