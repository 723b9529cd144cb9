"""The driver: NAPALM's verbs on one SONiC switch, by the same steps as `railfab apply`.

Candidates are JSON of CONFIG_DB tables (`{"PORT": {...}}`), FRR text, or `{"config_db": {...}, "frr": "..."}`. A merge
adds rows, fields and FRR lines; a replace replaces the parts railfab owns (fabric/values/ownership.py) and leaves the
rest of the box alone: a SONiC switch holds rows of its image that nobody may replace.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from napalm.base.base import NetworkDriver
from napalm.base.exceptions import (
    CommitError,
    ConnectionException,
    MergeConfigException,
    ReplaceConfigException,
)

from fabric.change import compute
from fabric.change.frr_text import FrrConfig, parse, write
from fabric.collect import COMMAND, Part, parse_switch, script
from fabric.deploy.hand import Hand
from fabric.deploy.order import Deadlines, Order
from fabric.deploy.reading import read
from fabric.deploy.record import owner
from fabric.deploy.report import shown_step
from fabric.deploy.switch import SwitchPush
from fabric.errors import RailfabError
from fabric.napalm_driver import getters
from fabric.transport.login import Login, terminal_prompt
from fabric.transport.session import Session, Target
from fabric.values.change import DeviceChange
from fabric.values.device_config import DeviceConfig
from fabric.values.snapshot import SwitchState


class SonicDriver(NetworkDriver):  # type: ignore[misc]
    """SONiC over SSH. optional_args: `port`, `key_file`, `known_hosts`, `session` (a transport for tests).

    Host keys are always checked; enrol them with `railfab trust` or name a known_hosts file.
    """

    platform = "sonic"

    def __init__(
        self,
        hostname: str,
        username: str,
        password: str,
        timeout: int = 60,
        optional_args: Mapping[str, Any] | None = None,
    ) -> None:
        options = dict(optional_args or {})
        self.hostname = hostname
        self.username = username
        self.timeout = timeout
        self.force_no_enable = True
        self.use_canonical_interface = False
        self.config_lock = False
        self._password = password
        self._options = options
        self._session: Session | None = None
        self._candidate: DeviceConfig | None = None
        self._pending: SwitchPush | None = None
        self._last: SwitchPush | None = None

    # -- connection ----------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Connect."""
        session = self._options.get("session")
        if session is None:
            from fabric.transport.netmiko_session import NetmikoSession

            session = NetmikoSession(Target(self.hostname, self.hostname), self._login())
        try:
            session.open(self.timeout)
        except RailfabError as error:
            raise ConnectionException(str(error)) from error
        self._session = session

    def close(self) -> None:
        """Hang up. A commit that awaits confirmation is undone by the switch."""
        if self._session is not None:
            self._session.close()
        self._session = None

    def is_alive(self) -> dict[str, bool]:
        """Whether the switch still answers."""
        try:
            return {"is_alive": self._session is not None and self._session.run("true", deadline_s=10.0).ok}
        except RailfabError:
            return {"is_alive": False}

    # -- configuration -------------------------------------------------------------------------------------------

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Add these rows, fields and FRR lines to what runs."""
        try:
            tables, frr = _candidate(filename, config)
            running = self._reading()
        except (RailfabError, OSError, ValueError) as error:
            raise MergeConfigException(str(error)) from error
        merged: dict[str, Any] = {table: dict(rows) for table, rows in running.tables.items()}
        for table, rows in tables.items():
            for key, row in rows.items():
                there = merged.setdefault(table, {}).get(key, {})
                merged[table][key] = {**there, **row}
        self._candidate = DeviceConfig(self._name, merged, _with_lines(running.frr, frr))

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Replace what railfab owns by this; rows of the image and of others stay."""
        try:
            tables, frr = _candidate(filename, config)
            running = self._reading()
        except (RailfabError, OSError, ValueError) as error:
            raise ReplaceConfigException(str(error)) from error
        self._candidate = DeviceConfig(self._name, tables or running.tables, frr or running.frr)

    def compare_config(self) -> str:
        """The difference, one line a row or FRR line, with what it costs; empty when there is none."""
        if self._candidate is None:
            return ""
        change = self._change(self._candidate)
        lines = [shown_step(step) for step in change.steps]
        return "\n".join([*lines, *(f"! refused: {change.refused}" for _ in [0] if change.refused)])

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        """Apply the candidate; with `revert_in` seconds the switch undoes it unless `confirm_commit` comes."""
        _ = message
        if self._pending is not None:
            raise CommitError("a commit awaits confirmation already")
        if self._candidate is None:
            raise CommitError("nothing is loaded")
        change = self._change(self._candidate)
        if change.refused:
            raise CommitError(change.refused)
        if change.method == "none":
            self._candidate = None
            return
        push = self._push(change, self._candidate, revert_in)
        try:
            push.prepare()
            push.carry_out()
            if revert_in is None:
                push.settle()
                self._last = push
            else:
                self._pending = push
        except RailfabError as error:
            state = self._give_up(push)
            raise CommitError(f"{error} ({state})") from error
        self._candidate = None

    def confirm_commit(self) -> None:
        """Keep a commit that awaits confirmation."""
        if self._pending is None:
            raise CommitError("no commit awaits confirmation")
        push, self._pending = self._pending, None
        try:
            push.settle()
        except RailfabError as error:
            raise CommitError(str(error)) from error
        self._last = push

    def has_pending_commit(self) -> bool:
        """Whether a commit of ours awaits confirmation."""
        return self._pending is not None

    def discard_config(self) -> None:
        """Forget the candidate."""
        self._candidate = None

    def rollback(self) -> None:
        """Undo the last commit of this connection, confirmed or not."""
        pending, self._pending = self._pending, None
        push = pending or self._last
        if push is None:
            raise CommitError("there is no commit of this connection to undo")
        try:
            if pending is not None:
                push.undo()
            else:
                push.go_back(push.order.run_id, saved=True)
        except RailfabError as error:
            raise CommitError(str(error)) from error
        self._last = None

    def get_config(
        self, retrieve: str = "all", full: bool = False, sanitized: bool = False, format: str = "text"
    ) -> dict[str, str]:
        """CONFIG_DB as JSON followed by FRR's text. Secrets are never read, so it is always sanitized."""
        _ = full, sanitized, format
        shown = {"running": "", "startup": "", "candidate": ""}
        if retrieve in ("all", "running"):
            running = self._reading()
            shown["running"] = json.dumps(running.tables, indent=1) + "\n" + (running.frr or "")
        if retrieve in ("all", "candidate") and self._candidate is not None:
            shown["candidate"] = json.dumps(self._candidate.tables, indent=1) + "\n" + (self._candidate.frr or "")
        return shown

    # -- reading -------------------------------------------------------------------------------------------------

    def get_facts(self) -> dict[str, Any]:
        """See NAPALM."""
        return getters.facts(self._state(Part.PORTS, Part.CONFIG))

    def get_interfaces(self) -> dict[str, Any]:
        """See NAPALM."""
        return getters.interfaces(self._state(Part.PORTS))

    def get_interfaces_counters(self) -> dict[str, Any]:
        """See NAPALM."""
        return getters.interface_counters(self._state(Part.PORTS, Part.COUNTERS))

    def get_interfaces_ip(self) -> dict[str, Any]:
        """See NAPALM."""
        return getters.interface_addresses(self._state(Part.CONFIG))

    def get_lldp_neighbors(self) -> dict[str, Any]:
        """See NAPALM."""
        return getters.lldp_neighbors(self._state(Part.LLDP))

    def get_lldp_neighbors_detail(self, interface: str = "") -> dict[str, Any]:
        """See NAPALM."""
        return getters.lldp_neighbors_detail(self._state(Part.LLDP), interface)

    def get_bgp_neighbors(self) -> dict[str, Any]:
        """See NAPALM."""
        state = self._state(Part.BGP, Part.FRR)
        routing = parse(state.frr or "")
        bgp = routing.bgp()
        lines = routing.lines(bgp) if bgp else ()
        router_id = next((line.split()[-1] for line in lines if line.startswith("bgp router-id ")), "")
        return getters.bgp_neighbors(state, router_id)

    def get_arp_table(self, vrf: str = "") -> list[dict[str, Any]]:
        """See NAPALM."""
        _ = vrf
        return getters.arp_table(self._state(Part.NEIGHBOURS))

    def get_route_to(self, destination: str = "", protocol: str = "", longer: bool = False) -> dict[str, Any]:
        """See NAPALM."""
        return getters.routes_to(self._state(Part.RIB), destination, protocol, longer)

    def cli(self, commands: list[str], encoding: str = "text") -> dict[str, Any]:
        """Output of each command."""
        _ = encoding
        return {command: self._live.run(command, deadline_s=float(self.timeout)).stdout for command in commands}

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _live(self) -> Session:
        if self._session is None:
            raise ConnectionException(f"{self.hostname}: not open")
        return self._session

    @property
    def _name(self) -> str:
        return self._live.target.name

    def _login(self) -> Login:
        from dataclasses import replace

        known_hosts = Path(self._options.get("known_hosts") or "~/.ssh/known_hosts").expanduser()
        ask = (lambda _: self._password) if self._password else terminal_prompt()
        login = Login.from_environment(known_hosts, ask=ask, port=int(self._options.get("port") or 22))
        key = self._options.get("key_file")
        return replace(
            login,
            user=self.username or login.user,
            password=self._password or login.password,
            key=Path(key).expanduser() if key else login.key,
        )

    def _state(self, *parts: Part) -> SwitchState:
        token = secrets.token_hex(6)
        wanted = frozenset(parts)
        text = script(wanted, token=token)
        answer = self._live.run(COMMAND, deadline_s=float(self.timeout), stdin=text.encode(), root=True)
        return parse_switch(self._name, answer.stdout, time.time(), errors=answer.stderr, parts=wanted, token=token)

    def _reading(self) -> DeviceConfig:
        return read(self._live, self._name, float(self.timeout)).config

    def _change(self, candidate: DeviceConfig) -> DeviceChange:
        # The candidate is the caller's will: nothing in it is held back as state made by hand.
        return compute(candidate, self._reading(), release=("*",))

    def _push(self, change: DeviceChange, candidate: DeviceConfig, revert_in: int | None) -> SwitchPush:
        run_id = time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + f"-{secrets.token_hex(2)}"
        deadlines = Deadlines() if revert_in is None else Deadlines(confirm=revert_in)
        order = Order(run_id, owner(), None, change, candidate, deadlines)
        return SwitchPush(Hand(self._live, run_id, lambda _: None), order, lambda *_: None)

    def _give_up(self, push: SwitchPush) -> str:
        try:
            if push.touched:
                return push.undo()
            push.abandon()
        except RailfabError as error:
            return str(error)
        return "nothing was changed"


def _candidate(filename: str | None, config: str | None) -> tuple[dict[str, Any], str | None]:
    """(tables, FRR text) of what was given. ValueError says what is wrong with it."""
    text = Path(filename).read_text(encoding="utf-8") if filename is not None else config or ""
    if not text.strip():
        raise ValueError("the candidate is empty")
    if not text.lstrip().startswith("{"):
        return {}, text
    data = json.loads(text)
    if set(data) <= {"config_db", "frr"}:
        tables, frr = data.get("config_db") or {}, data.get("frr")
    else:
        tables, frr = data, None
    rows: Iterable[Any] = (row for keys in tables.values() if isinstance(keys, dict) for row in keys.values())
    if not all(isinstance(keys, dict) for keys in tables.values()) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("expected CONFIG_DB tables: table, key, field, value")
    return tables, frr


def _with_lines(running: str | None, more: str | None) -> str | None:
    """The running routing text with these lines added, each in its context; settings give way to new values."""
    if more is None or running is None:
        return running
    from fabric.change.frr_diff import setting

    there = parse(running)
    contexts = {path: list(lines) for path, lines in there.contexts.items()}
    for path, lines in parse(more).contexts.items():
        kept = contexts.setdefault(path, [])
        for line in lines:
            key = setting(line)
            kept[:] = [old for old in kept if old != line and (key is None or setting(old) != key)]
            kept.append(line)
    return write(FrrConfig(contexts))
