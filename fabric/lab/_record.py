"""The folder of one twin, `.railfab/NAME/lab/`, and the record that lets `down` find what `up` started."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fabric.errors import LabError


@dataclass(frozen=True, slots=True)
class Record:
    """A running supervisor: its pid on the host, and when the kernel says it was started (clock ticks)."""

    pid: int
    started: int

    def alive(self) -> bool:
        """Whether this very process still runs (a pid that was given to another does not count)."""
        return start_time(self.pid) == self.started


@dataclass(frozen=True, slots=True)
class LabFolder:
    """Files of one twin. Nothing outside `fabric/lab` reads them."""

    path: Path

    @property
    def key(self) -> Path:
        """Private key that opens every node."""
        return self.path / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """Host keys of the twin's nodes; never the user's own known_hosts."""
        return self.path / "known_hosts"

    @property
    def log(self) -> Path:
        """What supervisor and agent have to say."""
        return self.path / "log"

    @property
    def blueprint(self) -> Path:
        """The Blueprint the twin was built from, as JSON."""
        return self.path / "blueprint.json"

    @property
    def faults(self) -> Path:
        """Record of the faults that are in: a list of strings."""
        return self.path / "faults.json"

    def read(self) -> Record | None:
        """The record, or None when there is none (or it was only half written by a dying machine)."""
        try:
            data = json.loads((self.path / "supervisor.json").read_text())
            return Record(int(data["pid"]), int(data["started"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, record: Record) -> None:
        """Put the record in place at once or not at all."""
        temporary = self.path / "supervisor.json.new"
        temporary.write_text(json.dumps({"pid": record.pid, "started": record.started}) + "\n")
        temporary.replace(self.path / "supervisor.json")

    def running(self) -> Record | None:
        """The supervisor of this folder that runs, by its record, else by looking through /proc."""
        record = self.read()
        if record and record.alive():
            return record
        return self._search()

    def _search(self) -> Record | None:
        # The record may be lost (a removed folder); the supervisor carries the folder's path in its arguments.
        mark = f"\0{self.path}\0".encode()
        found = []
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            try:
                arguments = Path(entry.path, "cmdline").read_bytes()
                if b"fabric.lab._launch\0" in arguments and mark in arguments and _first_in_namespace(entry.path):
                    pid = int(entry.name)
                    started = start_time(pid)
                    if started is not None:
                        found.append(Record(pid, started))
            except OSError:
                continue
        return min(found, key=lambda record: record.started) if found else None

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Only one `up` or `down` of a twin at a time. LabError when another holds it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with (self.path.parent / "lab.lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise LabError("another `railfab lab up` or `down` of this intent is at work; wait for it") from None
            yield

    def remove_files(self) -> None:
        """Remove what an earlier twin left."""
        shutil.rmtree(self.path, ignore_errors=True)

    def remove(self) -> None:
        """Remove every file of the twin, and the state folders above it when they are empty then."""
        self.remove_files()
        (self.path.parent / "lab.lock").unlink(missing_ok=True)
        for folder in (self.path.parent, self.path.parent.parent):
            try:
                folder.rmdir()
            except OSError:
                return


def start_time(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat: when the process started, in clock ticks since boot; None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def end(record: Record, patience_s: float = 30.0) -> None:
    """Kill a supervisor and wait until it, and with it every process of its PID namespace, is gone."""
    try:
        handle = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return
    except OSError as error:
        raise LabError(f"the twin's supervisor (pid {record.pid}) cannot be reached: {error.strerror}") from None
    try:
        if not record.alive():
            return
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        if not select.select([handle], [], [], patience_s)[0]:
            raise LabError(f"the twin's supervisor (pid {record.pid}) does not end; look at /proc/{record.pid}/stack")
    except ProcessLookupError:
        return
    except PermissionError:
        raise LabError(
            f"the twin's supervisor (pid {record.pid}) belongs to another user; run `railfab lab down` as that user"
        ) from None
    finally:
        os.close(handle)
    deadline = time.monotonic() + patience_s
    while start_time(record.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.02)


def _first_in_namespace(proc: str) -> bool:
    status = Path(proc, "status").read_text()
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            return line.split()[-1] == "1" and len(line.split()) > 2
    return False
