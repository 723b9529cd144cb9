"""A real SSH server on the loopback address, with the habits of real switches: banners, prompts, limits, silence."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import asyncssh

Exec = Callable[[str], tuple[str, int]]


class Server:
    """One pretended switch. Counts what reached it: hellos, logins begun, passwords, commands."""

    def __init__(
        self,
        folder: Path,
        *,
        password: str | None = None,
        client_key: asyncssh.SSHKey | None = None,
        motd: str = "",
        prompt: str = "admin@leaf1:~$ ",
        shell: tuple[str, ...] = ("/bin/sh", "-i"),
        most_at_once: int | None = None,
        answer: Exec | None = None,
        banner: str = "",
        forwards: bool = False,
    ) -> None:
        self.folder = folder
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self.port = 0
        self.hellos = 0
        self.logins_begun = 0
        self.passwords: list[str] = []
        self.commands: list[str] = []
        self.open_now = 0
        self.turned_away = 0
        self._password = password
        self._client_key = client_key
        self._motd, self._prompt, self._shell, self._banner = motd, prompt, shell, banner
        self._most = most_at_once
        self._answer = answer
        self._forwards = forwards
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: Any = None

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def known_hosts(self, *, key: asyncssh.SSHKey | None = None) -> Path:
        """A known_hosts file that has this server's key, or another one in its place."""
        path = self.folder / "known_hosts"
        public = (key or self.key).export_public_key("openssh").decode().strip()
        path.write_text(f"[127.0.0.1]:{self.port} {public}\n")
        return path

    def cut(self) -> None:
        """Cut every connection, as a reboot does."""
        for connection in list(self._connections):
            self._loop.call_soon_threadsafe(connection.abort)

    async def _start(self) -> None:
        self._children: list[asyncio.subprocess.Process] = []
        self._connections: set[asyncssh.SSHServerConnection] = set()
        outer = self

        class One(asyncssh.SSHServer):
            def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
                outer.hellos += 1
                self.conn = conn
                if outer._most is not None and outer.open_now >= outer._most:
                    outer.turned_away += 1
                    conn.abort()
                    self.counted = False
                    return
                self.counted = True
                outer.open_now += 1
                outer._connections.add(conn)

            def connection_lost(self, exc: Exception | None) -> None:
                if self.counted:
                    outer.open_now -= 1
                outer._connections.discard(self.conn)

            def begin_auth(self, username: str) -> bool:
                outer.logins_begun += 1
                if outer._banner:
                    self.conn.send_auth_banner(outer._banner)
                return outer._password is not None or outer._client_key is not None

            def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
                return outer._forwards

            def password_auth_supported(self) -> bool:
                return outer._password is not None

            def validate_password(self, username: str, password: str) -> bool:
                outer.passwords.append(password)
                return password == outer._password

            def public_key_auth_supported(self) -> bool:
                return outer._client_key is not None

            def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
                assert outer._client_key is not None
                return key.public_data == outer._client_key.public_data

        self._server = await asyncssh.create_server(
            One,
            "127.0.0.1",
            0,
            server_host_keys=[self.key],
            process_factory=self._process,
            encoding=None,
            line_editor=False,
            allow_scp=False,
            agent_forwarding=False,
        )
        self.port = self._server.get_port()

    async def _stop(self) -> None:
        self.cut()
        self._server.close()
        await self._server.wait_closed()
        for child in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
        await asyncio.sleep(0.01)

    async def _process(self, process: Any) -> None:
        command = process.command
        if command is None:
            await self._interactive(process)
            return
        self.commands.append(command)
        if self._answer is not None:
            text, rc = await asyncio.get_running_loop().run_in_executor(None, self._answer, command)
            process.stdout.write(text.encode())
            process.exit(rc)
            return
        child = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._children.append(child)
        given = await process.stdin.read()
        out, err = await child.communicate(given)
        process.stdout.write(out)
        process.stderr.write(err)
        process.exit(child.returncode)

    async def _interactive(self, process: Any) -> None:
        if self._motd:
            process.stdout.write(self._motd.replace("\n", "\r\n").encode())
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            self._shell,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={"PS1": self._prompt, "PATH": os.environ["PATH"], "TERM": "vt100"},
            start_new_session=True,
        )
        os.close(theirs)
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()

        def from_shell() -> None:
            try:
                data = os.read(ours, 4096)
                process.stdout.write(data)
            except (OSError, asyncssh.Error):
                loop.remove_reader(ours)
                gone.set()

        async def to_shell() -> None:
            while data := await process.stdin.read(4096):
                os.write(ours, data)
            gone.set()

        loop.add_reader(ours, from_shell)
        typing = asyncio.ensure_future(to_shell())
        try:
            await gone.wait()
        finally:
            typing.cancel()
            loop.remove_reader(ours)
            child.kill()
            child.wait()
            os.close(ours)
            process.exit(0)
