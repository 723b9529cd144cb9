"""Pushing: a Session over Netmiko.

Netmiko opens the connection (our known_hosts only, strict), logs in and proves that a Unix shell answers; commands
then run in exec channels of that connection. An exec channel has no terminal: no echo, no banner, no prompt to
guess, a real exit status, and a lost connection does not hang up on a command half way through its work.
The interactive shell stays usable for Nornir tasks of others (`send_command`).
"""

from __future__ import annotations

import contextlib
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

from fabric.errors import DeadlineError, HostKeyError, LoginError, TransportError
from fabric.transport import host_keys, shell
from fabric.transport.login import Login
from fabric.transport.session import ANSWER_LIMIT_BYTES, OPEN_DEADLINE_S, RUN_DEADLINE_S, Answer, Session, Target
from fabric.transport.sonic_linux import Refuse, SonicLinux, UnenrolledError, no_shell

_KEEPALIVE_S = 15
_FIRST_RETRY_S = 0.25
_REFUSED_RETRIES = 2
_CHUNK = 1 << 16


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
        """The Netmiko connection with its shell open, for tasks that speak to it. TransportError when not connected."""
        connection = self._live()
        try:
            connection.open_shell()
        except TransportError as error:
            raise type(error)(self._says(str(error))) from None
        except (NetmikoBaseException, paramiko.SSHException, OSError, EOFError) as error:
            raise TransportError(self._says(f"no interactive shell: {error}")) from None
        return connection

    def _live(self) -> SonicLinux:
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
        if connection is not None:
            connection.hang_up()
        if jump is not None:
            with contextlib.suppress(Exception):
                jump.close()

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
            connection = self._connect(sock, left)
            self._prove_shell(connection, until)
            return connection
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

    def _prove_shell(self, connection: SonicLinux, until: float) -> None:
        """A Unix shell answers commands: an account with a vendor's own command line is refused at once (F104)."""
        assert connection.remote_conn_pre is not None
        transport = connection.remote_conn_pre.get_transport()
        assert transport is not None
        token = secrets.token_hex(6)
        channel = transport.open_session(timeout=max(0.05, until - time.monotonic()))
        try:
            channel.exec_command(f"printf railfab-%s {token}")
            out, err, _ = _converse(channel, b"", until)
        finally:
            channel.close()
        if f"railfab-{token}" not in shell.decode(out):
            connection.hang_up()
            raise TransportError(no_shell(shell.decode(out + b"\n" + err)))

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
        client.set_missing_host_key_policy(Refuse())
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
        except (UnenrolledError, paramiko.BadHostKeyException) as error:
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
            if isinstance(link, (UnenrolledError, paramiko.BadHostKeyException)):
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
        client = self._live().remote_conn_pre
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
