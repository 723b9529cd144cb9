"""A node as the agent reaches it: its files through /proc, its namespaces, commands run inside, background work."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import uuid
from collections.abc import Coroutine, Iterator
from typing import Any

from fabric.lab import _kernel
from fabric.lab.box.database import Tables, optional


class Node:
    """One switch's namespaces. `pid` is its init as the agent sees it."""

    def __init__(self, name: str, pid: int) -> None:
        self.name, self.pid = name, pid
        self.root = f"/proc/{pid}/root"
        self._tasks: set[asyncio.Task[None]] = set()

    def log(self, text: str) -> None:
        """A line for the twin's log."""
        print(f"{self.name}: {text}", flush=True)

    def tables(self, name: str) -> Tables:
        """Tables of a file of /etc/sonic; empty, with a line in the log, when it is no such file."""
        try:
            return optional(f"{self.root}/run/box/sonic/{name}")
        except ValueError as error:
            self.log(f"{name}: {error}")
            return {}

    def write(self, name: str, text: str) -> None:
        """Write a file of the node's own folder."""
        with open(f"{self.root}/run/box/{name}", "w") as file:
            file.write(text)

    def alive(self, pidfile: str) -> bool:
        """Whether the process of a pid file (a path in the node) runs."""
        try:
            with open(f"{self.root}{pidfile}") as file:
                return os.path.exists(f"{self.root}/proc/{int(file.read())}")
        except (OSError, ValueError):
            return False

    def set_hostname(self, name: str) -> None:
        """Change the host name of the node."""
        with contextlib.suppress(OSError), self.inside_of("uts", _kernel.CLONE_NEWUTS):
            socket.sethostname(name)

    def sysctl(self, key: str, value: str) -> None:
        """Set a network sysctl; a kernel without it is none the worse."""
        with (
            contextlib.suppress(OSError),
            self.inside_of("net", _kernel.CLONE_NEWNET),
            open(f"/proc/sys/{key}", "w") as knob,
        ):
            knob.write(value)

    @contextlib.contextmanager
    def inside_of(self, kind: str, flag: int) -> Iterator[None]:
        """Be in one of the node's namespaces for a moment."""
        here = os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
        there = os.open(f"/proc/{self.pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _kernel.setns(there, flag)
            yield
        finally:
            _kernel.setns(here, flag)
            os.close(here)
            os.close(there)

    async def service(self, name: str, action: str) -> None:
        """Run a container's start or stop script."""
        await self.run(f"/etc/twin/lib/{name}", action)

    async def power(self, action: str) -> None:
        """Take every process of the node away but its databases, or start its way in under a new boot id."""
        if action == "on":
            # In place: what /proc shows is bound to this very file.
            self.write("boot_id", f"{uuid.uuid4()}\n")
        await self.run("/etc/twin/lib/power", action)

    async def run(self, *command: str) -> None:
        """Run a command in the node; a failure goes to the log."""
        process = await asyncio.create_subprocess_exec(
            *("nsenter", "-t", str(self.pid), "-m", "-n", "-u", "-i", "-p", "--", *command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            cwd="/",
        )
        if code := await process.wait():
            self.log(f"{' '.join(command)}: {code}")

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something run on by itself; what goes wrong there goes to the log."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.log(f"{type(error).__name__}: {error}")
