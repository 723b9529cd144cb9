"""One switch: its databases, its daemons, and what makes one follow the other."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from fabric.lab.agent import netlink as nl
from fabric.lab.agent.config import Config
from fabric.lab.agent.counters import Counters
from fabric.lab.agent.lldp_container import LldpContainer
from fabric.lab.agent.node import Node
from fabric.lab.agent.oids import SWITCH, Oids
from fabric.lab.agent.ports import Ports
from fabric.lab.agent.routes import Routes, Stream
from fabric.lab.agent.rows import Rows
from fabric.lab.box.database import merged
from fabric.lab.box.redis import Redis

_FPM_PORT = 2620
_LINE = 64 << 20  # a whole config_db.json comes as one line
_SETTLE_S = 0.02
# A reload of SONiC leaves links down for minutes. Here as long as it takes LLDP at the far ends to notice.
_DARK_S = 2.5
_SEEDS = {"ToRRouter": "0", "LeafRouter": "10", "SpineRouter": "25"}


class Box:
    """A switch in its namespaces. `pid` is its init as the agent sees it."""

    def __init__(self, name: str, pid: int) -> None:
        self.name = name
        self._node = Node(name, pid)
        redis = f"{self._node.root}/run/redis/redis.sock"
        self._netlink = nl.Netlink(f"/proc/{pid}/ns/net")
        self._config = Config(redis)
        counters = Redis(redis, 2)
        self._appl, self._asic = Rows(Redis(redis, 0)), Rows(Redis(redis, 1))
        self._counters_rows, self._state = Rows(counters), Rows(Redis(redis, 6))
        self._oids = Oids()
        self._ports = Ports(self._netlink, self._config, self._oids, self._appl, self._state, self._asic)
        self._routes = Routes(self._ports, self._config, self._oids, self._appl, self._asic, self._counters_rows)
        self._counters = Counters(counters, self._counters_rows, self._oids)
        self._lldp = LldpContainer(self._node, self._config, self._ports, self._appl)
        self._loop = asyncio.get_running_loop()
        self._pending: asyncio.TimerHandle | None = None
        self._service = asyncio.Lock()
        self._fpm: dict[socket.socket, Stream] = {}
        self._quiet = False
        self._source: str | None = None
        self.started = time.monotonic()

    async def start(self, offset: float, slowdown: float) -> None:
        """First boot: load the configuration file, start everything.

        `offset` (0 to 1) spreads the polls of many switches over their interval; `slowdown` stretches that of counters.
        """
        self._ports.dump()
        self._netlink.fpm.bind(("127.0.0.1", _FPM_PORT))
        self._netlink.fpm.listen(4)
        self._netlink.fpm.setblocking(False)
        self._loop.add_reader(self._netlink.fpm, self._accept)
        self._loop.add_reader(self._netlink.events, self._kernel_events)
        self._loop.add_reader(self._config.fd, self._config_events)
        server = await asyncio.start_unix_server(self._serve, f"{self._node.root}/run/box/agent.sock", limit=_LINE)
        os.chmod(f"{self._node.root}/run/box/agent.sock", 0o660)
        await self._boot(self._node.tables("config_db.json"))
        self._node.background(self._lldp.poll(offset))
        self._node.background(self._poll_counters(offset, slowdown))
        self._node.background(server.serve_forever())

    async def do(self, request: Mapping[str, Any]) -> Any:
        """One request of a command on the switch, or of the twin's fault injection. Errors are ValueError."""
        match request.get("do"):
            case "reload":
                return await self._reload(request["config"])
            case "reboot":
                self._node.background(self._reboot())  # whoever asked does not live to hear the end of it
                return None
            case "service":
                return await self._act(request["name"], request["action"])
            case "uptime":
                return time.monotonic() - self.started
            case "withhold":
                return self._withhold(request["layer"], request["prefix"], request["hop"], bool(request["on"]))
            case "mute":
                return await self._lldp.mute(request["port"], bool(request["on"]))
            case other:
                raise ValueError(f"the agent does not know {other!r}")

    async def _reload(self, tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
        """`config reload`: everything stops, links drop, the databases are emptied, everything starts again."""
        async with self._service:
            await self._node.service("bgp", "stop")
            self._ports.live = False
            self._ports.apply()
            await self._lldp.stop()
            await asyncio.sleep(_DARK_S)
        await self._boot(tables)

    async def _reboot(self) -> None:
        """`reboot`: links and the management port go dark, every process is killed, what stood in memory is gone; then
        a boot from the files on disk."""
        async with self._service:
            self._ports.live = False
            self._ports.apply()
            await self._lldp.stop()
            await self._node.power("off")
            await self._node.service("bgp", "stop")  # its routes go too
            await asyncio.sleep(_DARK_S)
            await self._node.power("on")
        await self._boot(self._node.tables("config_db.json"))

    async def _boot(self, tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
        async with self._service:
            self._quiet = True
            for rows in (self._appl, self._asic, self._state):
                rows.clear()
            self._oids.forget()
            self._routes.forget()
            self._config.load(merged(self._node.tables("init_cfg.json"), tables))
            self._config.changes()
            self._config.reload()
            self._quiet = False
            self.started = time.monotonic()
            self._hostname()
            watched = {
                port: [int(part) for part in row.get("pfcwd_sw_enable", "").split(",") if part.isdigit()]
                for port, row in self._config.rows("PORT_QOS_MAP").items()
                if port in self._config.rows("PFC_WD")
            }
            ecn = self._config.rows("FLEX_COUNTER_TABLE").get("WRED_ECN_QUEUE", {}).get("FLEX_COUNTER_STATUS")
            self._counters.start(self._config.rows("PORT"), watched, ecn == "enable")
            self._ports.dump()
            self._ports.restart_counts()
            self._ports.live = True
            self._ports.manage()
            self._switch_rows()
            self._sync()
            await self._links_settled()
            await self._lldp.start()
            await self._node.service("bgp", "start")
            self._source = None
            await self._set_source()
            self._state.put("SYSTEM_READY|SYSTEM_STATE", {"Status": "UP"})
            self._sync()
        self._soon()  # what came up meanwhile gets its name now

    async def _links_settled(self) -> None:
        """Until no more links come up: lldpd that starts in the middle of it misses some for good."""
        seen = -1
        for _ in range(30):
            await asyncio.sleep(0.1)
            now = len(self._ports.oper_up())
            if now == seen and not self._ports.more:
                return
            seen = now

    async def _act(self, name: str, action: str) -> None:
        """`systemctl start|stop|restart bgp|lldp`."""
        if name not in ("bgp", "lldp") or action not in ("start", "stop", "restart"):
            raise ValueError(f"no service {name}, or no way to {action} it")
        async with self._service:
            if name == "lldp":
                if action != "start":
                    await self._lldp.stop()
                if action != "stop":
                    await self._lldp.start()
            else:
                if action != "start":
                    await self._node.service("bgp", "stop")
                if action != "stop":
                    await self._node.service("bgp", "start")
                    self._source = None
                    await self._set_source()
        self._soon()

    def _withhold(self, layer: str, prefix: str, hop: str, on: bool) -> None:
        if layer not in ("appl", "asic"):
            raise ValueError(f"no layer {layer}")
        if on and not self._routes.has(prefix, hop):
            raise ValueError(f"{self.name} has no route to {prefix} through {hop}")
        self._routes.withhold(layer, prefix, hop, on)
        self._sync()

    def _switch_rows(self) -> None:
        seed = _SEEDS.get(self._config.device().get("type", ""), "0")
        self._appl.put(
            "SWITCH_TABLE:switch",
            {"ecmp_hash_seed": seed, "lag_hash_seed": seed, "fdb_aging_time": "600", "ordered_ecmp": "false"},
        )
        # The kernel of the switch hashes with a seed of its own kind too, so that tiers differ as on SONiC.
        self._node.sysctl("net/ipv4/fib_multipath_hash_seed", str(int(seed) + 1))
        self._asic.put(
            f"ASIC_STATE:SAI_OBJECT_TYPE_SWITCH:{SWITCH}",
            {
                "SAI_SWITCH_ATTR_INIT_SWITCH": "true",
                "SAI_SWITCH_ATTR_SRC_MAC_ADDRESS": self._config.device().get("mac", "").upper(),
            },
        )
        count = str(len(self._config.rows("PORT")))
        self._appl.put("PORT_TABLE:PortConfigDone", {"count": count})
        self._appl.put("PORT_TABLE:PortInitDone", {"lanes": "0"})

    def _hostname(self) -> None:
        name = self._config.device().get("hostname", "sonic")
        self._node.set_hostname(name)
        self._node.write("hostname", f"{name}\n")
        self._node.write("hosts", f"127.0.0.1 localhost\n127.0.1.1 {name}\n")
        self._lldp.write_config()

    async def _set_source(self) -> None:
        """bgpcfgd writes the set-src route-map once Loopback0 has an address, whoever owns the rest of the text."""
        address = next(
            (
                key.partition("|")[2].split("/")[0]
                for key in self._config.rows("LOOPBACK_INTERFACE")
                if key.startswith("Loopback0|") and ":" not in key.partition("|")[2]
            ),
            None,
        )
        if address is None or address == self._source:
            return
        self._source = address
        lines = ("route-map RM_SET_SRC permit 10", f"set src {address}", "exit", "ip protocol bgp route-map RM_SET_SRC")
        await self._node.run("vtysh", "-c", "configure terminal", *(word for line in lines for word in ("-c", line)))

    def _config_events(self) -> None:
        try:
            touched = self._config.changes()
        except (ConnectionError, OSError) as error:
            self._loop.remove_reader(self._config.fd)
            self._node.log(f"redis is gone: {error}")
            return
        if touched and not self._quiet:
            if "DEVICE_METADATA" in touched:
                self._node.background(self._renamed())
            if "MGMT_INTERFACE" in touched:
                self._ports.manage()
            if "LOOPBACK_INTERFACE" in touched:
                self._node.background(self._set_source())
            self._soon()

    async def _renamed(self) -> None:
        self._hostname()
        await self._lldp.renamed()

    def _kernel_events(self) -> None:
        hops = False
        try:
            for kind, view in self._netlink.read_events():
                if kind in (nl.RTM_NEWLINK, nl.RTM_DELLINK):
                    link = nl.read_link(view)
                    if link is None:
                        continue
                    if kind == nl.RTM_NEWLINK:
                        self._ports.saw_link(link)
                    else:
                        self._ports.lost_link(link.index)
                        self._lldp.lost(link.name)
                elif kind in (nl.RTM_NEWADDR, nl.RTM_DELADDR):
                    if seen := nl.read_address(view):
                        self._ports.saw_address(*seen, present=kind == nl.RTM_NEWADDR)
                elif kind in (nl.RTM_NEWNEIGH, nl.RTM_DELNEIGH) and (neighbour := nl.read_neighbour(view)):
                    index, address, mac, state = neighbour
                    hops |= self._ports.saw_neighbour(index, address, mac, state if kind == nl.RTM_NEWNEIGH else 0)
        except OSError:
            self._ports.dump()  # events were lost: ask for everything
        self._soon()

    def _accept(self) -> None:
        connection, _ = self._netlink.fpm.accept()
        connection.setblocking(False)
        self._routes.forget()
        self._fpm[connection] = Stream()
        self._loop.add_reader(connection, self._fpm_data, connection)

    def _fpm_data(self, connection: socket.socket) -> None:
        try:
            data = connection.recv(1 << 17)
            for prefix, route in self._fpm[connection].feed(data):
                self._routes.learn(prefix, route)
        except BlockingIOError:
            return
        except (OSError, ValueError) as error:
            self._node.log(f"FPM: {error}")
            data = b""
        if not data:
            self._loop.remove_reader(connection)
            del self._fpm[connection]
            connection.close()
            if not self._fpm:
                self._routes.forget()
        self._soon()

    def _soon(self) -> None:
        """Bring everything in line a moment from now, once for many events."""
        if self._pending is None:
            self._pending = self._loop.call_later(_SETTLE_S, self._settled)

    def _settled(self) -> None:
        self._pending = None
        self._sync()

    def _sync(self) -> None:
        if self._quiet:
            return
        try:
            self._ports.apply()
            self._ports.publish()
            self._routes.publish()
            for rows in (self._appl, self._state, self._asic, self._counters_rows):
                rows.flush()
        except (ConnectionError, OSError) as error:
            self._node.log(f"{type(error).__name__}: {error}")
            return
        if self._ports.more:
            self._soon()
        if self._ports.live:
            self._lldp.ports_changed()

    async def _poll_counters(self, offset: float, slowdown: float) -> None:
        last = time.monotonic()
        await asyncio.sleep(offset * slowdown)
        while True:
            group = self._config.rows("FLEX_COUNTER_TABLE").get("PORT", {})
            interval = int(group.get("POLL_INTERVAL", "1000")) / 1000 * slowdown
            if not self._quiet and group.get("FLEX_COUNTER_STATUS") != "disable":
                with contextlib.suppress(ConnectionError, OSError):
                    now = time.monotonic()
                    self._counters.poll(self._netlink.links(stats=True), self._config.rows("PORT"), now - last)
                    self._counters_rows.flush()
                    last = now
            await asyncio.sleep(max(interval, 0.1))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reply: dict[str, Any]
        try:
            request = json.loads(await reader.readline() or b"{}")
            reply = {"ok": await self.do(request)}
        except (ValueError, KeyError, OSError) as error:
            reply = {"error": str(error)}
        with contextlib.suppress(OSError):
            writer.write(json.dumps(reply).encode() + b"\n")
            await writer.drain()
        writer.close()
