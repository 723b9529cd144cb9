"""Reading: sessions over asyncssh, thousands at once.

One background thread runs one event loop; connections stay open between calls. A hung switch costs its own deadline
and nothing else. curve25519 is offered first and the default post-quantum exchange not at all: it costs 145 ms of CPU
a connection (facts, lab 4).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import re
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from random import uniform
from typing import Any, Self, TypeVar

with warnings.catch_warnings():
    # It names DSA keys while imported, which newer cryptography calls deprecated: nothing a user of ours can mend.
    warnings.filterwarnings("ignore", message="DSA is deprecated")
    import asyncssh

from fabric.errors import DeadlineError, HostKeyError, LoginError, TransportError
from fabric.transport import host_keys, shell
from fabric.transport.login import Login
from fabric.transport.session import ANSWER_LIMIT_BYTES, OPEN_DEADLINE_S, RUN_DEADLINE_S, Answer, Target

logging.getLogger("asyncssh").addHandler(logging.NullHandler())

T = TypeVar("T")

_KEX = ("curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256", "diffie-hellman-group14-sha256")
_CONCURRENT = 256
# Connections being set up at one time: key exchange is CPU on both sides, and login queues are short (F112).
_OPENING = 64
_FIRST_RETRY_S = 0.25
_REFUSED_RETRIES = 2
_KEEPALIVE_S = 15


@dataclass(frozen=True, slots=True)
class Job:
    """One command for one device."""

    target: Target
    command: str
    stdin: bytes | None = None
    root: bool = False


class Reader:
    """Open connections to many devices on one background event loop. A context manager; threads may share it."""

    def __init__(
        self,
        login: Login,
        *,
        concurrent_jobs: int = _CONCURRENT,
        opening: int = _OPENING,
        login_s: float = OPEN_DEADLINE_S,
    ) -> None:
        self._login_s = login_s
        login.require_known_hosts()
        self._login = login
        self._known_hosts = _read_known_hosts(login)
        self._keys = _client_keys(login)
        self._connections: dict[Target, asyncssh.SSHClientConnection] = {}
        self._sudo_asks: set[Target] = set()
        self._jump: asyncssh.SSHClientConnection | None = None
        self._limit = concurrent_jobs
        self._loop = asyncio.new_event_loop()
        self._opening = asyncio.Semaphore(opening)
        self._jump_lock = asyncio.Lock()
        self._target_locks: dict[Target, asyncio.Lock] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="railfab-reader", daemon=True)
        self._thread.start()

    def session(self, target: Target) -> ReaderSession:
        """One device's Session; its connection is this reader's and stays open until the reader closes."""
        return ReaderSession(self, target)

    def sweep(
        self,
        jobs: Iterable[Job],
        *,
        device_deadline_s: float = RUN_DEADLINE_S,
        whole_deadline_s: float | None = None,
        done: Callable[[str, Answer | TransportError], None] | None = None,
    ) -> dict[str, Answer | TransportError]:
        """Run one command on each device, side by side; every device gets an answer or the error it had.

        `device_deadline_s` covers login and command; what has not ended after `whole_deadline_s` is a DeadlineError.
        `done` is called as each one ends, from the reader's thread. Never raises TransportError itself.
        """
        jobs = list(jobs)
        results: dict[str, Answer | TransportError] = {}

        async def one(job: Job, gate: asyncio.Semaphore) -> None:
            async with gate:
                try:
                    result: Answer | TransportError = await self._run(job, device_deadline_s, device_deadline_s)
                except TransportError as error:
                    result = error
            results[job.target.name] = result
            if done is not None:
                done(job.target.name, result)

        async def everything() -> None:
            gate = asyncio.Semaphore(self._limit)
            tasks = [asyncio.ensure_future(one(job, gate)) for job in jobs]
            if not tasks:
                return
            _, late = await asyncio.wait(tasks, timeout=whole_deadline_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=1.0)

        self._call(everything(), None)
        for job in jobs:
            if job.target.name not in results:
                error = DeadlineError(f"{_where(job.target)}: the whole run's {whole_deadline_s:g} s were over")
                results[job.target.name] = error
                if done is not None:
                    done(job.target.name, error)
        return results

    def open(self, target: Target, deadline_s: float = OPEN_DEADLINE_S) -> None:
        """Connect to one device now."""
        self._call(_within(self._connection(target, deadline_s), deadline_s, target, "SSH login"), deadline_s)

    def run(
        self,
        target: Target,
        command: str,
        *,
        deadline_s: float = RUN_DEADLINE_S,
        stdin: bytes | None = None,
        root: bool = False,
    ) -> Answer:
        """Run one command on one device, connecting first when needed."""
        return self._call(self._run(Job(target, command, stdin, root), deadline_s, deadline_s), deadline_s)

    def forget(self, target: Target) -> None:
        """Hang up on one device."""
        connection = self._connections.pop(target, None)
        if connection is not None:
            self._loop.call_soon_threadsafe(connection.abort)

    def close(self) -> None:
        """Hang up on all devices and end the thread. Does not wait for the far sides."""
        if self._loop.is_closed():
            return

        async def hang_up() -> None:
            for connection in [*self._connections.values(), *([self._jump] if self._jump else [])]:
                connection.abort()
            self._connections.clear()
            await asyncio.sleep(0)
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            if others:
                await asyncio.wait(others, timeout=0.5)

        with contextlib.suppress(concurrent.futures.TimeoutError, TransportError):
            asyncio.run_coroutine_threadsafe(hang_up(), self._loop).result(2.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2.0)
        if not self._thread.is_alive():
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, work: Coroutine[Any, Any, T], deadline_s: float | None) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            # The coroutine keeps its own deadline; the margin only guards against a stuck loop.
            return future.result(None if deadline_s is None else deadline_s + 5.0)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise DeadlineError(f"no answer in {deadline_s:g} s") from None
        except BaseException:
            future.cancel()
            raise

    async def _run(self, job: Job, open_s: float, deadline_s: float) -> Answer:
        return await _within(self._exchange(job, open_s), deadline_s, job.target, _short(job.command))

    async def _exchange(self, job: Job, open_s: float) -> Answer:
        target = job.target
        connection = await self._connection(target, open_s)
        if not job.root:
            return await self._exec(connection, target, job.command, job.command, job.stdin)
        if target not in self._sudo_asks:
            answer = await self._exec(connection, target, shell.as_root(job.command), job.command, job.stdin)
            if not shell.wants_password(answer):
                return answer
            if self._login.password is None:
                raise LoginError(
                    f"{_where(target)}: sudo wants a password; set RAILFAB_PASSWORD, or allow sudo without one"
                )
            self._sudo_asks.add(target)
        given = f"{self._login.password}\n".encode() + (job.stdin or b"")
        command = shell.as_root(job.command, password=True)
        answer = await self._exec(connection, target, command, job.command, given)
        if answer.rc == 1 and "incorrect password" in answer.stderr:
            raise LoginError(f"{_where(target)}: sudo did not take the password")
        return answer

    async def _exec(
        self, connection: asyncssh.SSHClientConnection, target: Target, text: str, shown: str, stdin: bytes | None
    ) -> Answer:
        started = time.time()
        try:
            process = await connection.create_process(text, encoding=None)
            try:
                if not stdin:
                    # communicate() closes standard input only when it has written something.
                    process.stdin.write_eof()
                out, err = await process.communicate(stdin)
            except asyncio.CancelledError:
                process.channel.abort()
                raise
        except (asyncssh.Error, OSError) as error:
            self._connections.pop(target, None)
            raise TransportError(
                f"{_where(target)}: the connection was lost during: {_short(shown)} ({error})"
            ) from None
        out_bytes, err_bytes = out or b"", err or b""
        assert isinstance(out_bytes, bytes)
        assert isinstance(err_bytes, bytes)
        if process.exit_status is None and process.exit_signal is None:
            self._connections.pop(target, None)
            raise TransportError(f"{_where(target)}: the connection was lost during: {_short(shown)}")
        if len(out_bytes) + len(err_bytes) > ANSWER_LIMIT_BYTES:
            raise TransportError(f"{_where(target)}: the answer is longer than any SONiC answer")
        rc = process.exit_status if process.exit_status is not None and process.exit_status >= 0 else None
        return Answer(shell.decode(out_bytes), shell.decode(err_bytes), rc, started, time.time())

    async def _connection(self, target: Target, open_s: float) -> asyncssh.SSHClientConnection:
        async with self._target_locks.setdefault(target, asyncio.Lock()):
            known = self._connections.get(target)
            if known is not None and not known.is_closed():
                return known
            until = self._loop.time() + open_s
            delay, refused = _FIRST_RETRY_S, 0
            while True:
                try:
                    async with self._opening:
                        # A device that says nothing must not hold its place here for as long as its command may run.
                        patience = max(0.05, min(self._login_s, until - self._loop.time()))
                        connection = await self._connect(target, patience)
                except TimeoutError:
                    raise DeadlineError(
                        f"{_where(target)}: no SSH login in {patience:.3g} s; it is down, cannot be reached, or hangs"
                    ) from None
                except ConnectionRefusedError:
                    refused += 1
                    if refused > _REFUSED_RETRIES:
                        raise TransportError(
                            f"{_where(target)}: nothing listens on the SSH port (connection refused)"
                        ) from None
                except _TurnedAwayError as error:
                    if self._loop.time() + delay > until:
                        raise TransportError(f"{_where(target)}: the SSH server turned us away: {error}") from None
                else:
                    self._connections[target] = connection
                    return connection
                await asyncio.sleep(delay * uniform(0.7, 1.3))
                delay = min(delay * 2, 4.0)

    async def _connect(self, target: Target, left: float) -> asyncssh.SSHClientConnection:
        login = self._login
        port = target.port or login.port
        tunnel = await self._tunnel(left) if login.jump else ()
        try:
            return await asyncssh.connect(
                target.address,
                port,
                tunnel=tunnel,
                username=login.user,
                connect_timeout=left,
                **self._options(),
            )
        except asyncssh.HostKeyNotVerifiable:
            # The library forgets what it refused. A second hello (no login) tells the engineer which key it was.
            seen = await self._offered(target.address, port, tunnel, left)
            raise host_keys.refusal(login.known_hosts, target.name, target.address, port, seen) from None
        except asyncssh.PermissionDenied:
            raise LoginError(f"{_where(target)}: no credential of {login.user} was accepted") from None
        except (asyncssh.ConnectionLost, ConnectionResetError, BrokenPipeError) as error:
            raise _TurnedAwayError(str(error) or "the connection was closed before the login") from None
        except (ConnectionRefusedError, TimeoutError):
            raise
        except asyncssh.Error as error:
            if re.search(r"banner|version|closed", str(error), re.IGNORECASE):
                raise _TurnedAwayError(str(error)) from None
            raise TransportError(f"{_where(target)}: {error}") from None
        except OSError as error:
            raise TransportError(f"{_where(target)}: cannot be reached: {error.strerror or error}") from None

    async def _tunnel(self, left: float) -> asyncssh.SSHClientConnection:
        jump = self._login.jump
        assert jump is not None
        async with self._jump_lock:
            if self._jump is not None and not self._jump.is_closed():
                return self._jump
            try:
                self._jump = await asyncssh.connect(
                    jump.address,
                    jump.port,
                    username=jump.user or self._login.user,
                    connect_timeout=left,
                    **self._options(),
                )
            except asyncssh.HostKeyNotVerifiable:
                seen = await self._offered(jump.address, jump.port, (), left)
                raise host_keys.refusal(
                    self._login.known_hosts, f"jump host {jump.address}", jump.address, jump.port, seen
                ) from None
            except (asyncssh.Error, OSError) as error:
                raise TransportError(f"jump host {jump.address}: {str(error) or 'no answer in time'}") from None
            return self._jump

    def _options(self) -> dict[str, Any]:
        login = self._login
        return {
            "known_hosts": self._known_hosts,
            "client_keys": self._keys,
            "password": login.password,
            "agent_path": login.agent,
            "kex_algs": _KEX,
            "config": None,
            "keepalive_interval": _KEEPALIVE_S,
            "x509_trusted_certs": None,
            "gss_host": None,
            "compression_algs": ("none",),
        }

    async def _offered(self, address: str, port: int, tunnel: Any, left: float) -> host_keys.HostKey | None:
        try:
            async with asyncio.timeout(min(left, 5.0)):
                key = await asyncssh.get_server_host_key(address, port, tunnel=tunnel, kex_algs=_KEX, config=None)
        except (asyncssh.Error, OSError, TimeoutError):
            return None
        return _host_key(key) if key else None


class ReaderSession:
    """One device of a Reader, as a Session."""

    def __init__(self, reader: Reader, target: Target) -> None:
        self._reader = reader
        self._target = target

    @property
    def target(self) -> Target:
        """Where this goes."""
        return self._target

    def open(self, deadline_s: float = OPEN_DEADLINE_S) -> None:
        """Connect now; see Session."""
        self._reader.open(self._target, deadline_s)

    def run(
        self, command: str, *, deadline_s: float = RUN_DEADLINE_S, stdin: bytes | None = None, root: bool = False
    ) -> Answer:
        """Run a command; see Session."""
        return self._reader.run(self._target, command, deadline_s=deadline_s, stdin=stdin, root=root)

    def put(
        self, data: bytes, path: str, *, mode: int = 0o600, deadline_s: float = RUN_DEADLINE_S, root: bool = False
    ) -> None:
        """Write a file atomically; see Session."""
        command = shell.put_command(path, mode, secrets.token_hex(4))
        answer = self.run(command, deadline_s=deadline_s, stdin=data, root=root)
        if not answer.ok:
            reason = answer.stderr.strip() or "no reason given"
            raise TransportError(f"{_where(self._target)}: {path} could not be written: {reason}")

    def close(self) -> None:
        """Hang up on this device."""
        self._reader.forget(self._target)


def offered_keys(
    targets: Mapping[str, Target], *, port: int, deadline_s: float = OPEN_DEADLINE_S
) -> dict[str, list[host_keys.HostKey] | TransportError]:
    """Host keys each device offers, one per algorithm it has, without logging in: what `railfab trust` shows."""
    kinds = ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-256")

    async def one(target: Target, gate: asyncio.Semaphore) -> list[host_keys.HostKey] | TransportError:
        found: list[host_keys.HostKey] = []
        problem = "no host key was offered"
        for kind in kinds:
            async with gate:
                try:
                    async with asyncio.timeout(deadline_s):
                        key = await asyncssh.get_server_host_key(
                            target.address, target.port or port, kex_algs=_KEX, server_host_key_algs=[kind], config=None
                        )
                except asyncssh.KeyExchangeFailed:
                    continue
                except TimeoutError:
                    return DeadlineError(f"{_where(target)}: no answer in {deadline_s:g} s")
                except (asyncssh.Error, OSError) as error:
                    problem = str(error)
                    if not found:
                        break
                    continue
                if key is not None:
                    found.append(_host_key(key))
        return found or TransportError(f"{_where(target)}: {problem}")

    async def everything() -> dict[str, list[host_keys.HostKey] | TransportError]:
        gate = asyncio.Semaphore(_OPENING)
        answers = await asyncio.gather(*(one(target, gate) for target in targets.values()))
        return dict(zip(targets, answers))

    return asyncio.run(everything())


class _TurnedAwayError(TransportError):
    """The server hung up before the login: it has too many at once. Worth trying again."""


async def _within(work: Coroutine[Any, Any, T], deadline_s: float, target: Target, what: str) -> T:
    try:
        async with asyncio.timeout(deadline_s):
            return await work
    except TimeoutError:
        raise DeadlineError(f"{_where(target)}: no answer in {deadline_s:g} s to: {what}") from None


def _read_known_hosts(login: Login) -> asyncssh.SSHKnownHosts:
    try:
        return asyncssh.read_known_hosts(str(login.known_hosts))
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise HostKeyError(f"{login.known_hosts.name}: host keys cannot be read ({error}); nothing was sent") from None


def _client_keys(login: Login) -> Any:
    if login.key is None:
        # An empty list with an agent means: the agent's keys. None would mean: no key login at all.
        return () if login.agent else None
    try:
        return [asyncssh.read_private_key(str(login.key), login.passphrase)]
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, OSError) as error:
        if login.passphrase is None and "assphrase" in str(error):
            raise LoginError(
                f"the key {login.key.name} has a passphrase; use an agent or RAILFAB_KEY_PASSPHRASE"
            ) from None
        raise LoginError(f"the key {login.key.name} cannot be used: {error}") from None


def _host_key(key: asyncssh.SSHKey) -> host_keys.HostKey:
    kind, blob = key.export_public_key("openssh").decode().split()[:2]
    return host_keys.HostKey(kind, blob)


def _where(target: Target) -> str:
    return f"{target.name} ({target.address})"


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 120 else f"{line[:117]}..."
