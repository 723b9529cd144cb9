"""Netmiko's connection to a SONiC switch: strict host keys from our file alone, and a shell only when one is wanted."""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import paramiko
from netmiko.channel import SSHChannel
from netmiko.linux.linux_ssh import LinuxSSH

from fabric.errors import TransportError
from fabric.transport import host_keys

# Without this, errors of both libraries reach stderr through logging's handler of last resort.
logging.getLogger("paramiko").addHandler(logging.NullHandler())
_netmiko_log = logging.getLogger("netmiko")
_netmiko_log.addHandler(logging.NullHandler())

_SHELL_DEADLINE_S = 20.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07")


class UnenrolledError(paramiko.SSHException):
    """Raised by our policy in place of accepting a key; carries what was offered."""

    def __init__(self, key: paramiko.PKey) -> None:
        super().__init__("host key is not enrolled")
        self.key = key


class Refuse(paramiko.MissingHostKeyPolicy):
    """Refuses every key that is not enrolled."""

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:  # noqa: ARG002
        raise UnenrolledError(key)


@lru_cache(maxsize=4)
def _enrolled(path: str, _stamp: tuple[int, int]) -> paramiko.HostKeys:
    return paramiko.HostKeys(path)


class SonicLinux(LinuxSSH):
    """Netmiko's Linux driver for a SONiC switch.

    The interactive shell is opened when somebody first wants it: it is one more process on the switch, its start-up
    files can take seconds, and a push needs none. Prompts and banners of any kind are stepped over by setting a prompt
    nobody else has and reading up to it (F102, F104).
    """

    def _open(self) -> None:
        self._modify_connection_params()
        self.establish_connection()

    def establish_connection(self, width: int = 511, height: int = 1000) -> None:
        """Connect, prove the host key, log in; no shell yet."""
        self._size = (width, height)
        client = self.remote_conn_pre = self._build_ssh_client()
        try:
            client.connect(**self._connect_params_dict())
        except BaseException:
            self.hang_up()
            raise
        transport = client.get_transport()
        if transport is not None:
            transport.set_keepalive(self.keepalive)

    def open_shell(self) -> None:
        """Open the interactive shell for `send_command` and its kin; does nothing the second time."""
        if self.remote_conn is not None:
            return
        assert self.remote_conn_pre is not None
        width, height = self._size
        self.remote_conn = self.remote_conn_pre.invoke_shell(term="vt100", width=width, height=height)
        self.remote_conn.settimeout(self.blocking_timeout)
        self.channel = SSHChannel(conn=self.remote_conn, encoding=self.encoding)
        self.session_preparation()

    def hang_up(self) -> None:
        """Close at once, and take Netmiko's filter off its logger: it would stay for as long as we live."""
        if self.remote_conn_pre is not None:
            with contextlib.suppress(Exception):
                self.remote_conn_pre.close()
        _netmiko_log.removeFilter(self._secrets_filter)

    def _build_ssh_client(self) -> paramiko.SSHClient:
        # Netmiko reads the whole file for every connection; with thousands of switches that alone takes minutes.
        client = paramiko.SSHClient()
        path = Path(self.alt_key_file)
        stat = path.stat()
        name = host_keys.host_name(self.host, self.port)
        known: Any = _enrolled(str(path), (stat.st_mtime_ns, stat.st_size)).lookup(name) or {}
        for kind, key in known.items():
            client.get_host_keys().add(name, kind, key)
        client.set_missing_host_key_policy(Refuse())
        return client

    def session_preparation(self) -> None:
        """Set a prompt of our own and wait for it."""
        self.ansi_escape_codes = True
        token = secrets.token_hex(6)
        # The two halves keep the echo of this very line from looking like the prompt.
        self.write_channel(f"PROMPT_COMMAND=; PS2=; PS1='rail''fab-{token}> '{self.RETURN}")
        prompt = f"railfab-{token}>"
        seen = ""
        until = time.monotonic() + _SHELL_DEADLINE_S
        while prompt not in seen:
            if time.monotonic() > until or _asks_password(seen):
                raise TransportError(no_shell(seen))
            time.sleep(0.01)
            seen += self.read_channel()
        self.base_prompt = prompt

    def set_base_prompt(self, *_: Any, **__: Any) -> str:
        """The prompt is ours already."""
        return self.base_prompt

    def find_prompt(self, delay_factor: float = 1.0, pattern: str | None = None) -> str:
        """The prompt we set."""
        return super().find_prompt(delay_factor, pattern or re.escape(self.base_prompt))


def _asks_password(seen: str) -> str | None:
    found = re.search(r".*((current|old|new|unix) password|password.*expired).*", seen, re.IGNORECASE)
    return found[0].strip() if found else None


def no_shell(seen: str) -> str:
    """Why what was seen after a login is no Unix shell."""
    asks = _asks_password(seen)
    if asks:
        return f"the login shell asks for a new password ({asks!r}); change it by hand once, then try again"
    lines = [line.strip() for line in _ESCAPES.sub("", seen).splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return (
        f"no Unix shell answers after login (last line: {last!r}); railfab needs an account whose login shell is a "
        "POSIX shell, as SONiC's admin has"
    )
