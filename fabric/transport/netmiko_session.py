"""Pushing: a Session over Netmiko.

Netmiko opens the connection (our known_hosts only, strict), logs in and proves that a Unix shell answers; commands
then run in exec channels of that connection. An exec channel has no terminal: no echo, no banner, no prompt to
guess, a real exit status, and a lost connection does not hang up on a command half way through its work.
The interactive shell stays usable for Nornir tasks of others (`send_command`).
"""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from random import uniform
from typing import Any, Self

import paramiko
from netmiko.exceptions import NetmikoBaseException
from netmiko.linux.linux_ssh import LinuxSSH

from fabric.errors import DeadlineError, HostKeyError, LoginError, TransportError
from fabric.transport import host_keys, shell
from fabric.transport.login import Login
from fabric.transport.session import ANSWER_LIMIT_BYTES, OPEN_DEADLINE_S, RUN_DEADLINE_S, Answer, Session, Target

# Without this, paramiko's own errors reach stderr through logging's handler of last resort.
logging.getLogger("paramiko").addHandler(logging.NullHandler())
logging.getLogger("netmiko").addHandler(logging.NullHandler())

_SHELL_DEADLINE_S = 8.0
_KEEPALIVE_S = 15
_FIRST_RETRY_S = 0.25
_REFUSED_RETRIES = 2
_CHUNK = 1 << 16
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07")


class _UnenrolledError(paramiko.SSHException):
    """Raised by our policy in place of accepting a key; carries what was offered."""

    def __init__(self, key: paramiko.PKey) -> None:
        super().__init__("host key is not enrolled")
        self.key = key


class _Refuse(paramiko.MissingHostKeyPolicy):
    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:  # noqa: ARG002
        raise _UnenrolledError(key)


@lru_cache(maxsize=4)
def _enrolled(path: str, _stamp: tuple[int, int]) -> paramiko.HostKeys:
    return paramiko.HostKeys(path)


class SonicLinux(LinuxSSH):
    """Netmiko's Linux driver for a SONiC switch.

    Prompts and banners of any kind are stepped over by setting a prompt nobody else has and reading up to it
    (F102, F104); a login shell that is not a Unix shell is an error within seconds.
    """

    def _build_ssh_client(self) -> paramiko.SSHClient:
        # Netmiko reads the whole file for every connection; with thousands of switches that alone takes minutes.
        client = paramiko.SSHClient()
        path = Path(self.alt_key_file)
        stat = path.stat()
        name = host_keys.host_name(self.host, self.port)
        known: Any = _enrolled(str(path), (stat.st_mtime_ns, stat.st_size)).lookup(name) or {}
        for kind, key in known.items():
            client.get_host_keys().add(name, kind, key)
        client.set_missing_host_key_policy(_Refuse())
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
                raise TransportError(_no_shell(seen))
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


def _no_shell(seen: str) -> str:
    asks = _asks_password(seen)
    if asks:
        return f"the login shell asks for a new password ({asks!r}); change it by hand once, then try again"
    lines = [line.strip() for line in _ESCAPES.sub("", seen).splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return (
        f"no Unix shell answers after login (last line: {last!r}); railfab needs an account whose login shell is a "
        "POSIX shell, as SONiC's admin has"
    )


class NetmikoSession:
    """A Session whose connection Netmiko opens. Not safe to share between threads."""

    def __init__(self, target: Target, login: Login) -> None:
        self._target = target
        self._login = login
        self._connection: SonicLinux | None = None
        self._jump: paramiko.SSHClient | None = None
        self._sudo_asks = False

    @property
    def target(self) -> Target:
        """Where this goes."""
        return self._target

    @property
    def netmiko(self) -> SonicLinux:
        """The Netmiko connection, for tasks that speak to it themselves. TransportError when not open."""
        if self._connection is None:
            raise TransportError(f"{self._target.name}: not connected")
        return self._connection

    @property
    def _port(self) -> int:
        return self._target.port or self._login.port

    def open(self, deadline_s: float = OPEN_DEADLINE_S) -> None:
        """Connect, prove the host key, log in, prove the shell. A full login queue is tried again (F112)."""
        if self._connection is not None and self._transport_alive():
            return
        self.close()
        self._login.require_known_hosts()
        until = time.monotonic() + deadline_s
        delay, refused = _FIRST_RETRY_S, 0
        while True:
            try:
                self._connection = self._attempt(until, deadline_s)
            except ConnectionRefusedError:
                refused += 1
                if refused > _REFUSED_RETRIES:
                    raise TransportError(self._says("nothing listens on the SSH port (connection refused)")) from None
            except _TurnedAwayError as error:
                if time.monotonic() + delay > until:
                    raise TransportError(self._says(f"the SSH server turned us away: {error}")) from None
            else:
                return
            time.sleep(max(0.0, min(delay * uniform(0.7, 1.3), until - time.monotonic())))
            delay = min(delay * 2, 4.0)

    def run(
        self,
        command: str,
        *,
        deadline_s: float = RUN_DEADLINE_S,
        stdin: bytes | None = None,
        root: bool = False,
    ) -> Answer:
        """Run a command; see Session."""
        until = time.monotonic() + deadline_s
        if not root:
            return self._exec(command, command, until, deadline_s, stdin)
        if not self._sudo_asks:
            answer = self._exec(shell.as_root(command), command, until, deadline_s, stdin)
            if not shell.wants_password(answer):
                return answer
            if self._login.password is None:
                raise LoginError(self._says("sudo wants a password; set RAILFAB_PASSWORD, or allow sudo without one"))
            self._sudo_asks = True
        given = f"{self._login.password}\n".encode() + (stdin or b"")
        answer = self._exec(shell.as_root(command, password=True), command, until, deadline_s, given)
        if answer.rc == 1 and "incorrect password" in answer.stderr:
            raise LoginError(self._says("sudo did not take the password"))
        return answer

    def put(
        self, data: bytes, path: str, *, mode: int = 0o600, deadline_s: float = RUN_DEADLINE_S, root: bool = False
    ) -> None:
        """Write a file atomically; see Session."""
        command = shell.put_command(path, mode, secrets.token_hex(4))
        answer = self.run(command, deadline_s=deadline_s, stdin=data, root=root)
        if not answer.ok:
            raise TransportError(
                self._says(f"{path} could not be written: {answer.stderr.strip() or 'no reason given'}")
            )

    def close(self) -> None:
        """Hang up at once: the socket is closed, no farewell is waited for."""
        connection, self._connection = self._connection, None
        jump, self._jump = self._jump, None
        for client in (connection.remote_conn_pre if connection else None, jump):
            if client is not None:
                with contextlib.suppress(Exception):
                    client.close()

    def _says(self, what: str) -> str:
        return f"{self._target.name} ({self._target.address}): {what}"

    def _transport_alive(self) -> bool:
        client = self._connection.remote_conn_pre if self._connection else None
        transport = client.get_transport() if client else None
        return transport is not None and transport.is_active()

    def _attempt(self, until: float, deadline_s: float) -> SonicLinux:
        left = max(0.05, until - time.monotonic())
        late = threading.Event()
        try:
            sock, raw = self._reach(left)
        except TimeoutError:
            raise DeadlineError(self._says(f"no answer in {deadline_s:g} s")) from None
        except ConnectionRefusedError:
            raise
        except OSError as error:
            raise TransportError(self._says(f"cannot be reached: {error.strerror or error}")) from None

        def give_up() -> None:
            late.set()
            raw()

        timer = threading.Timer(max(0.05, until - time.monotonic()), give_up)
        timer.daemon = True
        timer.start()
        try:
            return self._connect(sock, left)
        except (NetmikoBaseException, paramiko.SSHException, OSError, EOFError) as error:
            raw()
            if late.is_set():
                raise DeadlineError(self._says(f"no SSH login in {deadline_s:g} s")) from None
            raise self._translate(error) from None
        except TransportError as error:
            raw()
            raise type(error)(self._says(str(error))) from None
        finally:
            timer.cancel()

    def _connect(self, sock: Any, left: float) -> SonicLinux:
        login = self._login
        return SonicLinux(
            device_type="linux",
            host=self._target.address,
            port=self._port,
            username=login.user,
            password=login.password or "",
            pkey=_private_key(login),
            use_keys=False,
            allow_agent=login.agent is not None,
            ssh_strict=True,
            system_host_keys=False,
            alt_host_keys=True,
            alt_key_file=str(login.known_hosts),
            conn_timeout=left,
            banner_timeout=left,
            auth_timeout=left,
            keepalive=_KEEPALIVE_S,
            sock=sock,
        )

    def _reach(self, left: float) -> tuple[Any, Callable[[], None]]:
        """A socket (or a channel through the jump host) to the SSH port, and how to cut it."""
        jump = self._login.jump
        if jump is None:
            sock = socket.create_connection((self._target.address, self._port), timeout=left)
            return sock, lambda: _cut(sock)
        client = paramiko.SSHClient()
        client.load_host_keys(str(self._login.known_hosts))
        client.set_missing_host_key_policy(_Refuse())
        try:
            client.connect(
                jump.address,
                port=jump.port,
                username=jump.user or self._login.user,
                password=self._login.password,
                pkey=_private_key(self._login),
                allow_agent=self._login.agent is not None,
                look_for_keys=False,
                timeout=left,
                banner_timeout=left,
                auth_timeout=left,
            )
            transport = client.get_transport()
            assert transport is not None
            channel = transport.open_channel(
                "direct-tcpip", (self._target.address, self._port), ("127.0.0.1", 0), timeout=left
            )
        except (_UnenrolledError, paramiko.BadHostKeyException) as error:
            client.close()
            raise host_keys.refusal(
                self._login.known_hosts, f"jump host {jump.address}", jump.address, jump.port, _offered(error.key)
            ) from None
        except paramiko.AuthenticationException:
            client.close()
            raise LoginError(f"jump host {jump.address}: no credential was accepted") from None
        except (paramiko.SSHException, OSError, EOFError) as error:
            client.close()
            raise TransportError(self._says(f"cannot be reached through {jump.address}: {error}")) from None
        self._jump = client
        return channel, channel.close

    def _translate(self, error: BaseException) -> Exception:
        """What Netmiko or paramiko raised, as one of ours. Netmiko keeps the cause only as context."""
        chain: list[BaseException] = []
        cause: BaseException | None = error
        while cause is not None and len(chain) < 8:
            chain.append(cause)
            cause = cause.__cause__ or cause.__context__
        for link in chain:
            if isinstance(link, (_UnenrolledError, paramiko.BadHostKeyException)):
                return host_keys.refusal(
                    self._login.known_hosts, self._target.name, self._target.address, self._port, _offered(link.key)
                )
            if isinstance(link, paramiko.AuthenticationException):
                return LoginError(self._says(f"no credential of {self._login.user} was accepted"))
        for link in chain:
            if isinstance(link, EOFError | ConnectionResetError | BrokenPipeError):
                return _TurnedAwayError("the connection was closed before the login")
            if isinstance(link, paramiko.SSHException) and re.search(r"banner|EOF|closed|No existing", str(link)):
                return _TurnedAwayError(str(link).splitlines()[0])
        lines = [line.strip() for line in str(chain[-1]).splitlines() if line.strip()]
        return TransportError(self._says(lines[0] if lines else type(error).__name__))

    def _exec(self, text: str, shown: str, until: float, deadline_s: float, stdin: bytes | None) -> Answer:
        client = self.netmiko.remote_conn_pre
        transport = client.get_transport() if client else None
        if transport is None:
            raise TransportError(self._says("the connection is lost"))
        started = time.time()
        channel: paramiko.Channel | None = None
        try:
            channel = transport.open_session(timeout=max(0.05, until - time.monotonic()))
            channel.exec_command(text)
            out, err, rc = _converse(channel, stdin or b"", until)
        except TimeoutError:
            raise DeadlineError(self._says(f"no answer in {deadline_s:g} s to: {_short(shown)}")) from None
        except (paramiko.SSHException, EOFError, OSError) as error:
            if not transport.is_active():
                raise TransportError(self._says(f"the connection was lost during: {_short(shown)}")) from None
            if time.monotonic() >= until:
                raise DeadlineError(self._says(f"no answer in {deadline_s:g} s to: {_short(shown)}")) from None
            raise TransportError(self._says(f"{error} during: {_short(shown)}")) from None
        finally:
            if channel is not None:
                channel.close()
        if rc is None and not transport.is_active():
            raise TransportError(self._says(f"the connection was lost during: {_short(shown)}"))
        return Answer(shell.decode(out), shell.decode(err), rc, started, time.time())


class NetmikoSessions:
    """Sessions over Netmiko for one login."""

    def __init__(self, login: Login) -> None:
        self._login = login
        self._open: list[NetmikoSession] = []

    def session(self, target: Target) -> Session:
        """A session that is not open yet."""
        session = NetmikoSession(target, self._login)
        self._open.append(session)
        return session

    def close(self) -> None:
        """Close what is still open."""
        while self._open:
            self._open.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _TurnedAwayError(TransportError):
    """The server hung up before the login: it has too many at once. Worth trying again."""


def _converse(channel: paramiko.Channel, stdin: bytes, until: float) -> tuple[bytes, bytes, int | None]:
    """Feed standard input and read both streams to their end. TimeoutError when `until` passes."""
    out, err = bytearray(), bytearray()
    channel.setblocking(False)
    sent, closed_input = 0, False
    with selectors.DefaultSelector() as selector:
        selector.register(channel.fileno(), selectors.EVENT_READ)
        while True:
            busy = False
            while channel.recv_ready():
                out += channel.recv(_CHUNK)
                busy = True
            while channel.recv_stderr_ready():
                err += channel.recv_stderr(_CHUNK)
                busy = True
            if len(out) + len(err) > ANSWER_LIMIT_BYTES:
                raise paramiko.SSHException("the answer is longer than any SONiC answer")
            if sent < len(stdin) and channel.send_ready():
                sent += channel.send(stdin[sent : sent + _CHUNK])
                busy = True
            if sent >= len(stdin) and not closed_input:
                channel.shutdown_write()
                closed_input = True
            ended = channel.closed or (channel.eof_received and channel.exit_status_ready())
            if not busy and ended and not channel.recv_ready() and not channel.recv_stderr_ready():
                break
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if not busy:
                # Room to send again does not wake the selector, so look again soon while input is left.
                selector.select(min(left, 0.02 if sent < len(stdin) else 1.0))
    rc = channel.recv_exit_status() if channel.exit_status_ready() else -1
    return bytes(out), bytes(err), rc if rc >= 0 else None


@lru_cache(maxsize=4)
def _load_key(path: Path, passphrase: str | None, _stamp: int) -> paramiko.PKey:
    problem: Exception | None = None
    for kind in (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey):
        try:
            return kind.from_private_key_file(str(path), password=passphrase)
        except paramiko.PasswordRequiredException:
            raise LoginError(f"the key {path.name} has a passphrase; use an agent or RAILFAB_KEY_PASSPHRASE") from None
        except (paramiko.SSHException, ValueError, OSError) as error:
            problem = problem or error
    raise LoginError(f"the key {path.name} cannot be used: {problem}")


def _private_key(login: Login) -> paramiko.PKey | None:
    if login.key is None:
        return None
    return _load_key(login.key, login.passphrase, login.key.stat().st_mtime_ns)


def _offered(key: paramiko.PKey) -> host_keys.HostKey:
    return host_keys.HostKey(key.get_name(), key.get_base64())


def _cut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 120 else f"{line[:117]}..."


__all__ = ["HostKeyError", "NetmikoSession", "NetmikoSessions", "SonicLinux"]
