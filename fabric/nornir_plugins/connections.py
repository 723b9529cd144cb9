"""Nornir connection plugins: a Session per host, over Netmiko or over one shared asyncssh reader."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fabric.errors import TransportError
from fabric.transport.login import Login, terminal_prompt
from fabric.transport.session import Session, Target

if TYPE_CHECKING:
    from nornir.core.configuration import Config

    from fabric.transport.asyncssh_reader import Reader


class NetmikoConnection:
    """`railfab_netmiko`: pushing. `connection` is a Session; `connection.netmiko` is Netmiko's own."""

    def __init__(self) -> None:
        self.connection: Session | None = None

    def open(
        self,
        hostname: str | None,
        username: str | None,
        password: str | None,
        port: int | None,
        platform: str | None,
        extras: dict[str, Any] | None = None,
        configuration: Config | None = None,
    ) -> None:
        """Connect; TransportError and its kin as the Session raises them."""
        from fabric.transport.netmiko_session import NetmikoSession

        _ = platform, configuration
        login = _login(extras, username, password)
        session = NetmikoSession(_target(extras, hostname, port), login)
        session.open()
        self.connection = session

    def close(self) -> None:
        """Hang up."""
        if self.connection is not None:
            self.connection.close()


class AsyncsshConnection:
    """`railfab_asyncssh`: reading. All hosts of one login share one event loop and its connections."""

    _readers: ClassVar[dict[Login, tuple[Reader, int]]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self.connection: Session | None = None
        self._login: Login | None = None

    def open(
        self,
        hostname: str | None,
        username: str | None,
        password: str | None,
        port: int | None,
        platform: str | None,
        extras: dict[str, Any] | None = None,
        configuration: Config | None = None,
    ) -> None:
        """Connect on the shared loop."""
        from fabric.transport.asyncssh_reader import Reader

        _ = platform, configuration
        login = _login(extras, username, password)
        with self._lock:
            reader, users = self._readers.get(login) or (Reader(login), 0)
            self._readers[login] = (reader, users + 1)
        self._login = login
        session = reader.session(_target(extras, hostname, port))
        self.connection = session
        session.open()

    def close(self) -> None:
        """Hang up; the last host to leave ends the loop."""
        login, self._login = self._login, None
        if login is None:
            return
        if self.connection is not None:
            self.connection.close()
        with self._lock:
            reader, users = self._readers[login]
            if users > 1:
                self._readers[login] = (reader, users - 1)
                return
            del self._readers[login]
        reader.close()


def register() -> None:
    """Make both known to Nornir without loading every installed plugin."""
    from nornir.core.plugins.connections import ConnectionPluginRegister

    from fabric.nornir_plugins.inventory import PUSH, READ

    ConnectionPluginRegister.register(PUSH, NetmikoConnection)
    ConnectionPluginRegister.register(READ, AsyncsshConnection)


def _target(extras: dict[str, Any] | None, hostname: str | None, port: int | None) -> Target:
    if not hostname:
        raise TransportError("no address: the inventory gives this host none")
    return Target(str((extras or {}).get("name") or hostname), hostname, port)


def _login(extras: dict[str, Any] | None, username: str | None, password: str | None) -> Login:
    """The login of the inventory, else one from the environment (a stranger's inventory has none)."""
    given = (extras or {}).get("login")
    if isinstance(given, Login):
        return given
    known_hosts = Path(str((extras or {}).get("known_hosts") or "~/.ssh/known_hosts")).expanduser()
    from dataclasses import replace

    login = Login.from_environment(known_hosts, ask=(lambda _: password) if password else terminal_prompt())
    return replace(login, user=username or login.user, password=password or login.password)
