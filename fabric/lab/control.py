"""A twin from outside: start it, ask it, break it, end it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import LabError
from fabric.lab import _needs
from fabric.lab._record import LabFolder, Record, end
from fabric.lab.blueprint import draw
from fabric.values import codec
from fabric.values.plan import Plan

_CONTROL = "run/lab/control.sock"


@dataclass(frozen=True, slots=True)
class Session:
    """A running twin: its supervisor's pid on the host, its folder, and how long each phase took (seconds)."""

    folder: Path
    pid: int
    seconds: Mapping[str, float]


def up(
    plan: Plan,
    folder: Path,
    *,
    hosts: int | None = None,
    patience_s: float = 300.0,
    progress: Callable[[str], None] | None = None,
) -> Session:
    """Build the twin of a Plan and return when every switch has booted unconfigured.

    `hosts` limits the number of hosts. LabError when it runs already, when the machine lacks something (all of it is
    named), or when building fails; then nothing is left behind.
    """
    place = LabFolder(folder.resolve())
    rootless = os.geteuid() != 0
    _needs.check(rootless)
    blueprint = draw(plan, hosts)
    with place.lock():
        running = place.running()
        if running:
            raise LabError(f"the twin of {plan.name} runs already (pid {running.pid}); end it with `railfab lab down`")
        place.remove_files()
        place.path.mkdir(parents=True)
        place.blueprint.write_text(codec.dumps(blueprint))
        try:
            return _start(place, patience_s, progress)
        except BaseException:
            with contextlib.suppress(LabError):
                _end(place)
            _keep_log(place)
            raise


def down(folder: Path) -> bool:
    """End the twin of a folder and remove its files. False when none ran."""
    place = LabFolder(folder.resolve())
    with place.lock():
        was_there = _end(place)
    place.remove()
    return was_there


def status(folder: Path) -> dict[str, Any]:
    """Nodes, cables as they are plugged now, and faults: the contract's document. LabError when no twin runs."""
    answer = _ask(_running(folder), {"do": "status"})
    return {
        "schema": "railfab.lab/1",
        "nodes": answer["nodes"],
        "cables": answer["cables"],
        "faults": answer["faults"],
        "rootless": answer["rootless"],
        "agent": answer["agent"],
        "seconds": answer["seconds"],
    }


def fault(folder: Path, kind: str, arguments: Sequence[str], *, undo: bool = False) -> dict[str, Any]:
    """Put a fault in, or take it out. Kinds and arguments are those of `railfab lab fault`."""
    request = {"do": "fault", "kind": kind, "arguments": list(arguments), "undo": undo}
    answer: dict[str, Any] = _ask(_running(folder), request, patience_s=600)
    return answer


def management(folder: Path) -> tuple[list[str], dict[str, str]]:
    """How to run a command on the twin's management network: words to put before it, and its environment.

    The environment says how to log in: the twin's key and known_hosts, and no key agent, whose keys nobody there knows.
    """
    place = LabFolder(folder.resolve())
    record = _running(folder)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("SSH_AUTH_SOCK", "RAILFAB_PASSWORD")
    }
    environment |= {
        "RAILFAB_USER": os.environ.get("RAILFAB_USER", "admin"),
        "RAILFAB_KEY": str(place.key),
        "RAILFAB_KNOWN_HOSTS": str(place.known_hosts),
    }
    return [*_enter(record.pid), "-n", "--"], environment


def inside(folder: Path, node: str) -> tuple[list[str], dict[str, str]]:
    """How to run a command in a node: words to put before it, and its environment."""
    from fabric.lab._house import PATH

    record = _running(folder)
    pid = _ask(record, {"do": "pid", "node": node})["pid"]
    # The node's init is seen from the lab's own PID namespace; on the host it has another number.
    host_pid = _on_host(record.pid, pid)
    words = [*_enter(host_pid), "-m", "-n", "-u", "-i", "-p", "--wd=/", "--"]
    environment = {"PATH": PATH, "HOME": "/run/home/root", "LANG": "C.UTF-8", "TERM": os.environ.get("TERM", "dumb")}
    return words, environment


def _start(place: LabFolder, patience_s: float, progress: Callable[[str], None] | None) -> Session:
    reader, writer = os.pipe()
    with open(place.log, "ab") as log:
        launcher = subprocess.Popen(
            [sys.executable, "-m", "fabric.lab._launch", str(place.path), str(writer)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(writer,),
            start_new_session=True,
            cwd="/",
            env=_environment(),
        )
    os.close(writer)
    try:
        for message in _messages(reader, time.monotonic() + patience_s):
            if "error" in message:
                raise (RuntimeError if message.get("internal") else LabError)(message["error"])
            if "ready" in message:
                record = place.read()
                if record is None:
                    raise LabError(f"the twin started and its record is missing in {place.path}")
                return Session(place.path, record.pid, message["ready"])
            if progress:
                progress(message["phase"])
    finally:
        os.close(reader)
        launcher.wait()
    raise LabError(f"the twin could not be started: {_last_lines(place) or 'no reason was given'}")


def _messages(reader: int, deadline: float) -> Any:
    heard = b""
    while True:
        if not select.select([reader], [], [], max(deadline - time.monotonic(), 0))[0]:
            raise LabError("the twin did not come up in time")
        chunk = os.read(reader, 65536)
        if not chunk:
            return
        heard += chunk
        *lines, heard = heard.split(b"\n")
        for line in lines:
            yield json.loads(line)


def _end(place: LabFolder) -> bool:
    found = False
    while record := place.running():
        end(record)
        found = True
    return found


def _running(folder: Path) -> Record:
    place = LabFolder(folder.resolve())
    record = place.running()
    if record is None:
        raise LabError("no twin of this intent runs; start it with `railfab lab up INTENT`")
    return record


def _ask(record: Record, request: Mapping[str, Any], patience_s: float = 30.0) -> Any:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(patience_s)
        try:
            connection.connect(f"/proc/{record.pid}/root/{_CONTROL}")
            connection.sendall(json.dumps(request).encode() + b"\n")
            line = connection.makefile("rb").readline()
            answer = json.loads(line)
        except PermissionError:
            raise LabError("the twin belongs to another user; run this as that user") from None
        except (OSError, ValueError) as error:
            raise LabError(f"the twin's supervisor (pid {record.pid}) does not answer: {error}") from None
    if "error" in answer:
        raise (RuntimeError if answer.get("internal") else LabError)(answer["error"])
    return answer["ok"]


def _enter(pid: int) -> list[str]:
    words = ["nsenter", "-t", str(pid)]
    # As root the twin shares our user namespace; else it has one of its own, in which we are uid 0.
    same = os.readlink(f"/proc/{pid}/ns/user") == os.readlink("/proc/self/ns/user")
    return words if same else [*words, "-U", "--preserve-credentials"]


def _on_host(supervisor: int, pid: int) -> int:
    """The host's number of a process that has `pid` in the supervisor's PID namespace."""
    namespace = os.readlink(f"/proc/{supervisor}/ns/pid")
    for child in Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split():
        try:
            numbers = next(
                line.split()[1:]
                for line in Path(f"/proc/{child}/status").read_text().splitlines()
                if line.startswith("NSpid:")
            )
        except (OSError, StopIteration):
            continue
        if len(numbers) >= 2 and numbers[-2] == str(pid) and os.readlink(f"/proc/{child}/ns/pid") != namespace:
            return int(child)
    raise LabError("the node's first process is gone; start the twin anew with `railfab lab down` and `railfab lab up`")


def _environment() -> dict[str, str]:
    """What the supervisor gets: nothing of the caller's but the way to our code and to programs."""
    kept = {name: os.environ[name] for name in ("HOME", "USER", "LANG", "RAILFAB_LLDPCLI") if name in os.environ}
    return kept | {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONUNBUFFERED": "1",
    }


def _last_lines(place: LabFolder) -> str:
    try:
        return " / ".join(place.log.read_text(errors="replace").strip().splitlines()[-3:])
    except OSError:
        return ""


def _keep_log(place: LabFolder) -> None:
    """After a failure only the log stays, for whoever wants to know why."""
    for entry in place.path.glob("*"):
        if entry != place.log and entry.is_file():
            entry.unlink(missing_ok=True)
