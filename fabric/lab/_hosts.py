"""NICs of hosts whose link comes up: their lldpd is told to send at once.

lldpd alone would send at its next turn, up to 30 s later; a fabric that comes up wave by wave would be waited for that
long each time. Seen from netlink, as lldpd itself could.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping

from fabric.lab import _kernel
from fabric.lab.agent.netlink import RTM_NEWLINK, messages, read_link

_GROUP_LINK = 1
# Twice, for the switch at the other end may still be paused when its port is already up.
_SEND_AFTER_S = (1.0, 5.0)
_LLDPCLI = "/etc/twin/lib/lldpcli"


class HostWatch:
    """Listens to the links of every host; `pids` are the hosts' init processes."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self._names: dict[int, str] = {}
        self._sockets: dict[int, socket.socket] = {}
        self._up: dict[str, set[int]] = {name: set() for name in pids}
        self._due: dict[str, list[float]] = {}
        here = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            for name, pid in pids.items():
                there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
                _kernel.setns(there, _kernel.CLONE_NEWNET)
                os.close(there)
                events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
                events.bind((0, _GROUP_LINK))
                events.setblocking(False)
                self._names[events.fileno()], self._sockets[events.fileno()] = name, events
        finally:
            _kernel.setns(here, _kernel.CLONE_NEWNET)
            os.close(here)

    def fds(self) -> list[int]:
        """What to wait on for reading."""
        return list(self._sockets)

    def read(self, fd: int) -> None:
        """Take in what one host's kernel has to say."""
        name = self._names[fd]
        up = self._up[name]
        while True:
            try:
                data = self._sockets[fd].recv(1 << 16)
            except BlockingIOError:
                return
            except OSError:
                self._plan(name)  # events were lost: one frame too many does no harm
                return
            for kind, view in messages(data):
                link = read_link(view)
                if link is None or link.name == "eth0":
                    continue
                if kind == RTM_NEWLINK and link.up:
                    if link.index not in up:
                        up.add(link.index)
                        self._plan(name)
                else:
                    up.discard(link.index)

    def _plan(self, name: str) -> None:
        now = time.monotonic()
        self._due[name] = [now + after for after in _SEND_AFTER_S]

    def send(self) -> None:
        """Have the hosts whose time has come send; the commands are not waited for, init collects them."""
        now = time.monotonic()
        for name in [name for name, times in self._due.items() if times[0] <= now]:
            self._due[name] = [when for when in self._due[name] if when > now]
            if not self._due[name]:
                del self._due[name]
            command = [_LLDPCLI, "-u", f"/proc/{self._pids[name]}/root/run/lldpd.socket", "update"]
            os.posix_spawn(
                _LLDPCLI,
                command,
                {"PATH": "/usr/sbin:/usr/bin"},
                file_actions=[(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)],
            )

    def patience_s(self, most: float) -> float:
        """How long to wait at most before `send` has to be called again."""
        return max(0.0, min([most, *(times[0] - time.monotonic() for times in self._due.values())]))
