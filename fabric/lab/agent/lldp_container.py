"""The lldp container of a switch: lldpd started and restarted, ports named, neighbours read in good time."""

from __future__ import annotations

import asyncio
import contextlib
import time

from fabric.lab import _lldpdu
from fabric.lab.agent.config import Config
from fabric.lab.agent.lldp import POLL_S, Lldp
from fabric.lab.agent.node import Node
from fabric.lab.agent.ports import Ports
from fabric.lab.agent.rows import Rows

_FOLLOW_S = 1.5
_AGAIN_S = 10.0
_PIDFILE = "/run/lldpd.pid"


class LldpContainer:
    """`wanted` is False while somebody has stopped it."""

    def __init__(self, node: Node, config: Config, ports: Ports, appl: Rows) -> None:
        self._node, self._config, self._ports, self._appl = node, config, ports, appl
        self._lldp = Lldp(f"{node.root}/run/lldpd.socket", appl)
        self._follow: asyncio.TimerHandle | None = None
        self._changed = 0.0
        self._starting = asyncio.Lock()
        self._wanted = False

    async def start(self) -> None:
        """Start lldpd and let it go once every port that is up bears its name."""
        async with self._starting:
            await self._node.service("lldp", "start")
            self._wanted = True
            await self._lldp.started()
            await self._name_ports()
            await self._lldp.say(["resume"])

    async def stop(self) -> None:
        """Stop lldpd."""
        self._wanted = False
        await self._node.service("lldp", "stop")

    def write_config(self) -> None:
        """The file lldpd reads at its start, as the container's template makes it."""
        name = self._config.device().get("hostname", "sonic")
        lines = ["configure lldp portidsubtype ifname", f"configure system hostname {name}"]
        for key in self._config.rows("MGMT_INTERFACE"):
            if address := key.partition("|")[2].split("/")[0]:
                lines.append(f"configure system ip management pattern {address}")
        self._node.write("lldpd.conf", "\n".join([*lines, "pause", ""]))

    async def renamed(self) -> None:
        """The switch has a new name."""
        await self._lldp.say([f"configure system hostname {self._config.device().get('hostname', 'sonic')}"])

    def lost(self, port: str) -> None:
        """The device of a port is gone; lldpd forgets what it was told about it."""
        self._lldp.forget(port)

    def ports_changed(self) -> None:
        """Ports came up or were changed: lldpmgrd names each that came up, and so lldpd sends at once."""
        for port in self._ports.came_up:
            self._lldp.forget(port)
        self._ports.came_up.clear()
        if self._wanted and not self._starting.locked():
            self._node.background(self._name_ports())

    async def mute(self, port: str, on: bool) -> None:
        """Take LLDP off a port in both directions, with a farewell to the far end; or put it back."""
        was = await self._lldp.mute(port, on)
        if on:
            if was:
                _lldpdu.send(self._node.pid, port, _lldpdu.goodbye(was, self._config.device().get("mac", "")))
        else:
            await asyncio.sleep(_FOLLOW_S)  # lldpd finds the interface in its own time
            await self._name_ports()
            await self._lldp.say(["resume", "update"])
        self._changed = time.monotonic()
        self._follow_later()

    async def poll(self, offset: float) -> None:
        """lldp_syncd: read the neighbours every POLL_S, for ever; `offset` (0 to 1) of it later than others.

        SONiC starts a container again whose critical process has died (FEATURE auto_restart), and Debian's lldpd does
        die now and then when an interface goes away under it.
        """
        await asyncio.sleep(POLL_S * offset)
        while True:
            if not await self._read() and self._wanted and not self._node.alive(_PIDFILE):
                self._node.log("lldpd has died; its container is started again")
                await self.stop()
                await self.start()
            await asyncio.sleep(POLL_S)

    async def _read(self) -> bool:
        answered = await self._lldp.poll()
        with contextlib.suppress(ConnectionError, OSError):
            self._appl.flush()
        return answered

    async def _name_ports(self) -> None:
        if await self._lldp.name_ports(sorted(self._ports.oper_up()), self._config.rows("PORT")):
            self._changed = time.monotonic()
            self._follow_later()

    def _follow_later(self, after_s: float = _FOLLOW_S) -> None:
        if not self._follow:
            loop = asyncio.get_running_loop()
            self._follow = loop.call_later(after_s, lambda: self._node.background(self._follow_up()))

    async def _follow_up(self) -> None:
        """lldp_syncd fills its table again soon after ports have changed, and as long as some have no neighbour yet.

        We send again too: the far end may have been paused when its port came up, and 30 s are long in a test.
        """
        self._follow = None
        since = time.monotonic() - self._changed
        if since < _AGAIN_S:
            self._ports.announce(self._silent())
            await self._lldp.say(["update"])
        await self._read()
        if since < _AGAIN_S or (self._silent() and since < 2 * POLL_S):
            self._follow_later(max(_FOLLOW_S, since))  # at 1.5, 3, 6, 12 s

    def _silent(self) -> set[str]:
        """Ports that are up and have no LLDP neighbour."""
        known = {key.partition(":")[2] for key in self._appl.names() if key.startswith("LLDP_ENTRY_TABLE:")}
        return self._ports.oper_up() - known
