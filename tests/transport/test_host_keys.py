"""Changed and unknown host keys are refused before a password or a command is sent, per transport."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import asyncssh
import pytest

from fabric.errors import HostKeyError
from fabric.transport import Answer, Login, Session, Target, host_keys
from fabric.transport.asyncssh_reader import Reader, offered_keys
from fabric.transport.netmiko_session import NetmikoSession
from tests.transport.server import Server

SECRET = "correct horse"


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


def login(server: Server, known_hosts: Path) -> Login:
    return Login(user="admin", known_hosts=known_hosts, password=SECRET, port=server.port)


def test_known_key_is_let_in(tmp_path: Path, connect: Callable[[Target, Login], Session]) -> None:
    with Server(tmp_path, password=SECRET) as server:
        session = connect(Target("leaf1", "127.0.0.1"), login(server, server.known_hosts()))
        session.open(10)
        answer = session.run("echo out; echo err >&2; exit 3", deadline_s=10)
        assert (answer.stdout, answer.stderr, answer.rc) == ("out\n", "err\n", 3)


def test_unknown_key_is_refused_before_login(tmp_path: Path, connect: Callable[[Target, Login], Session]) -> None:
    with Server(tmp_path, password=SECRET) as server:
        known_hosts = tmp_path / "known_hosts"
        known_hosts.write_text("")
        session = connect(Target("leaf1", "127.0.0.1"), login(server, known_hosts))
        with pytest.raises(
            HostKeyError, match=r"leaf1 \(127\.0\.0\.1\): its host key is not enrolled; nothing was sent"
        ):
            session.open(10)
        assert server.hellos >= 1
        assert (server.logins_begun, server.passwords, server.commands) == (0, [], [])
        assert known_hosts.read_text() == ""


def test_changed_key_is_refused_before_login(tmp_path: Path, connect: Callable[[Target, Login], Session]) -> None:
    with Server(tmp_path, password=SECRET) as server:
        other = asyncssh.generate_private_key("ssh-ed25519")
        session = connect(Target("leaf1", "127.0.0.1"), login(server, server.known_hosts(key=other)))
        with pytest.raises(HostKeyError, match="its host key has CHANGED; nothing was sent") as refused:
            session.open(10)
        # Both fingerprints are told, so that a person can compare them with the console's.
        for key in (other, server.key):
            assert key.get_fingerprint("sha256") in str(refused.value)
        assert (server.logins_begun, server.passwords, server.commands) == (0, [], [])


def test_no_known_hosts_file_is_refused(tmp_path: Path, connect: Callable[[Target, Login], Session]) -> None:
    with Server(tmp_path, password=SECRET) as server:
        with pytest.raises(HostKeyError, match="no host keys are enrolled"):
            connect(Target("leaf1", "127.0.0.1"), login(server, tmp_path / "absent")).open(10)
        assert server.hellos == 0


def test_system_known_hosts_is_never_used(
    tmp_path: Path, connect: Callable[[Target, Login], Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(tmp_path, password=SECRET) as server:
        home = tmp_path / "home" / ".ssh"
        home.mkdir(parents=True)
        (home / "known_hosts").write_text(server.known_hosts().read_text())
        (home / "config").write_text("Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n")
        monkeypatch.setenv("HOME", str(home.parent))
        ours = tmp_path / "ours"
        ours.write_text("")
        with pytest.raises(HostKeyError):
            connect(Target("leaf1", "127.0.0.1"), login(server, ours)).open(10)
        assert server.logins_begun == 0


def test_offered_keys_are_those_of_the_server(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        found = offered_keys({"leaf1": Target("leaf1", "127.0.0.1", server.port)}, port=22)
        keys = found["leaf1"]
        assert isinstance(keys, list)
        assert [key.fingerprint for key in keys] == [server.key.get_fingerprint("sha256")]
        assert server.logins_begun == 0


def test_enrolling_keeps_the_lines_of_others(tmp_path: Path) -> None:
    path = tmp_path / "state" / "known_hosts"
    first = host_keys.HostKey("ssh-ed25519", "AAAA")
    host_keys.enrol(path, [("10.0.0.1", 22, first), ("10.0.0.2", 2222, first)])
    path.write_text(path.read_text() + "# by hand\n|1|hash|hash ssh-rsa AAAA\n10.0.0.1,sw1 ssh-rsa BBBB\n")
    host_keys.enrol(path, [("10.0.0.1", 22, host_keys.HostKey("ssh-ed25519", "CCCC"))], replace=True)
    assert path.read_text().splitlines() == [
        "[10.0.0.2]:2222 ssh-ed25519 AAAA",
        "# by hand",
        "|1|hash|hash ssh-rsa AAAA",
        "sw1 ssh-rsa BBBB",
        "10.0.0.1 ssh-ed25519 CCCC",
    ]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [key.blob for key in host_keys.enrolled(path, "10.0.0.1", 22)] == ["CCCC"]


def test_an_answer_knows_whether_it_went_well() -> None:
    assert Answer("x", rc=0).ok
    assert not Answer("x", rc=None).ok
