"""Keys of an agent, over both transports."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncssh
import pytest

from fabric.errors import LoginError
from fabric.transport import Login, Session, Target
from fabric.transport.asyncssh_reader import Reader
from fabric.transport.netmiko_session import NetmikoSession
from tests.transport.server import Server


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncssh.SSHKey]:
    """A real ssh-agent that holds one key."""
    if not shutil.which("ssh-agent"):
        pytest.skip("ssh-agent is not installed (Debian: openssh-client)")
    socket = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(tmp_path / "id"))
    (tmp_path / "id").chmod(0o600)
    for _ in range(100):
        done = subprocess.run(
            ["ssh-add", "-q", str(tmp_path / "id")], env={**os.environ, "SSH_AUTH_SOCK": str(socket)}, check=False
        )
        if done.returncode == 0:
            break
    (tmp_path / "id").unlink()
    monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
    yield key
    process.terminate()
    process.wait()


@pytest.fixture(params=["netmiko", "asyncssh"])
def connect(request: pytest.FixtureRequest) -> Callable[[Target, Login], Session]:
    def make(target: Target, login: Login) -> Session:
        if request.param == "netmiko":
            session: Session = NetmikoSession(target, login)
            request.addfinalizer(session.close)
            return session
        reader = Reader(login)
        request.addfinalizer(reader.close)
        return reader.session(target)

    return make


def test_the_agents_key_logs_in(
    tmp_path: Path, agent: asyncssh.SSHKey, connect: Callable[[Target, Login], Session]
) -> None:
    with Server(tmp_path, client_key=agent) as server:
        login = Login.from_environment(server.known_hosts(), environ=os.environ, port=server.port)
        assert (login.key, login.password) == (None, None)
        session = connect(Target("leaf1", "127.0.0.1"), login)
        session.open(10)
        assert session.run("echo in", deadline_s=10).stdout == "in\n"


def test_an_agent_without_the_key_is_refused(
    tmp_path: Path, agent: asyncssh.SSHKey, connect: Callable[[Target, Login], Session]
) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519")
    with Server(tmp_path, client_key=other) as server:
        login = Login.from_environment(server.known_hosts(), environ=os.environ, port=server.port)
        with pytest.raises(LoginError, match="no credential of admin was accepted"):
            connect(Target("leaf1", "127.0.0.1"), login).open(10)
