"""Who we are: user, key or agent or password, the known_hosts file, the way there.

Taken from the environment (`RAILFAB_USER`, the agent or `RAILFAB_KEY`, `RAILFAB_PASSWORD`, `RAILFAB_KNOWN_HOSTS`,
`RAILFAB_JUMP`), else asked for. Nothing here is ever written, logged, or given as an argument of a process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fabric.errors import HostKeyError, LoginError

DEFAULT_USER = "admin"  # the account a SONiC image ships with
FACTORY_PASSWORD = "YourPaSsWoRd"  # sonic-buildimage:rules/config DEFAULT_PASSWORD
SSH_PORT = 22


@dataclass(frozen=True, slots=True)
class Jump:
    """A host between us and the devices. Its key must stand in the same known_hosts file."""

    address: str
    port: int = SSH_PORT
    user: str | None = None

    @classmethod
    def parse(cls, text: str) -> Jump:
        """`[user@]host[:port]`, IPv6 in brackets. LoginError when it is neither."""
        user, _, rest = text.rpartition("@")
        if rest.startswith("["):
            address, closed, port = rest[1:].partition("]")
            port = port.removeprefix(":")
            valid = bool(closed)
        else:
            address, _, port = rest.partition(":")
            valid = ":" not in port
        if not valid or not address or (port and not (port.isdigit() and 0 < int(port) < 65536)):
            raise LoginError(f"RAILFAB_JUMP is {text!r}: expected [user@]host[:port], an IPv6 address in brackets")
        return cls(address=address, port=int(port) if port else SSH_PORT, user=user or None)


@dataclass(frozen=True, slots=True)
class Login:
    """One account on all devices. Secrets are kept out of `repr`.

    `agent` is the socket of a key agent; `password` is tried after the keys and also answers sudo.
    """

    user: str
    known_hosts: Path
    key: Path | None = None
    password: str | None = field(default=None, repr=False)
    passphrase: str | None = field(default=None, repr=False)
    agent: str | None = None
    port: int = SSH_PORT
    jump: Jump | None = None

    @classmethod
    def from_environment(
        cls,
        known_hosts: Path,
        *,
        environ: Mapping[str, str] | None = None,
        ask: Callable[[str], str] | None = None,
        port: int = SSH_PORT,
    ) -> Login:
        """The login of this environment. `known_hosts` is the state's, unless RAILFAB_KNOWN_HOSTS names another.

        `ask` prompts for a password when there is neither agent, key nor password; None refuses with what to set.
        """
        env = os.environ if environ is None else environ
        key = _key_file(env.get("RAILFAB_KEY"))
        password = env.get("RAILFAB_PASSWORD") or None
        agent = env.get("SSH_AUTH_SOCK") or None
        user = env.get("RAILFAB_USER") or DEFAULT_USER
        if not (key or password or agent):
            if ask is None:
                raise LoginError(
                    "no way to log in: start a key agent, or set RAILFAB_KEY (a private key file) or RAILFAB_PASSWORD"
                )
            password = ask(f"Password of {user} on the devices: ")
        jump = env.get("RAILFAB_JUMP")
        return cls(
            user=user,
            known_hosts=Path(env.get("RAILFAB_KNOWN_HOSTS") or known_hosts),
            key=key,
            password=password,
            passphrase=env.get("RAILFAB_KEY_PASSPHRASE") or None,
            agent=agent,
            port=port,
            jump=Jump.parse(jump) if jump else None,
        )

    def require_known_hosts(self) -> None:
        """HostKeyError unless the known_hosts file is there: without it every key would be unknown."""
        if not self.known_hosts.is_file():
            raise HostKeyError(
                f"no host keys are enrolled ({self.known_hosts.name} is missing); nothing was sent; "
                "run `railfab trust INTENT` on a network you trust, or set RAILFAB_KNOWN_HOSTS"
            )


def terminal_prompt() -> Callable[[str], str] | None:
    """A password prompt when a person is at the terminal, else None."""
    if not sys.stdin.isatty():
        return None
    import getpass

    return getpass.getpass


def _key_file(name: str | None) -> Path | None:
    if not name:
        return None
    key = Path(name).expanduser()
    if not key.is_file():
        raise LoginError(f"RAILFAB_KEY is {name}: no such file")
    return key
