"""Both transports, the same habits: exit codes, files, sudo, deadlines, banners, prompts, limits, lost connections."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncssh
import pytest

from fabric.errors import DeadlineError, LoginError, TransportError
from fabric.transport import Answer, Login, Session, Target
from fabric.transport.asyncssh_reader import Job, Reader
from fabric.transport.netmiko_session import NetmikoSession, NetmikoSessions
from tests.transport.server import Server

PASSWORD = "correct horse"
LEAF = Target("leaf1", "127.0.0.1")


def login(server: Server, **extra: object) -> Login:
    values: dict[str, object] = {"user": "admin", "password": PASSWORD, "port": server.port, **extra}
    return Login(known_hosts=server.known_hosts(), **values)  # type: ignore[arg-type]


@pytest.fixture(params=["netmiko", "asyncssh"])
def connect(request: pytest.FixtureRequest) -> Callable[[Target, Login], Session]:
    def make(target: Target, who: Login) -> Session:
        if request.param == "netmiko":
            session: Session = NetmikoSession(target, who)
            request.addfinalizer(session.close)
            return session
        reader = Reader(who)
        request.addfinalizer(reader.close)
        return reader.session(target)

    return make


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, password=PASSWORD) as made:
        yield made


def test_wrong_password_is_said_without_the_password(
    server: Server, connect: Callable[[Target, Login], Session]
) -> None:
    session = connect(LEAF, login(server, password="battery staple"))
    with pytest.raises(LoginError, match="no credential of admin was accepted") as refused:
        session.open(10)
    assert "battery" not in str(refused.value)
    assert server.commands == []


def test_key_file_logs_in(tmp_path: Path, connect: Callable[[Target, Login], Session]) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    path = tmp_path / "id"
    key.write_private_key(str(path))
    with Server(tmp_path, client_key=key) as server:
        session = connect(LEAF, login(server, password=None, key=path))
        session.open(10)
        assert session.run("echo in", deadline_s=10).stdout == "in\n"
        assert server.passwords == []


def test_key_with_a_passphrase_is_explained(tmp_path: Path, connect: Callable[[Target, Login], Session]) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    path = tmp_path / "id"
    key.write_private_key(str(path), passphrase="open sesame")
    with Server(tmp_path, client_key=key) as server:
        with pytest.raises(LoginError, match="id has a passphrase"):
            connect(LEAF, login(server, password=None, key=path)).open(10)
        session = connect(LEAF, login(server, password=None, key=path, passphrase="open sesame"))
        session.open(10)
        assert session.run("true", deadline_s=10).ok


def test_large_answers_and_inputs_are_whole(server: Server, connect: Callable[[Target, Login], Session]) -> None:
    session = connect(LEAF, login(server))
    session.open(10)
    given = b"0123456789abcdef" * 40_000
    answer = session.run("cat; seq 1 60000 >&2", deadline_s=30, stdin=given)
    assert answer.stdout.encode() == given
    assert answer.stderr.splitlines()[-1] == "60000"


def test_put_is_atomic_and_keeps_the_mode(
    server: Server, connect: Callable[[Target, Login], Session], tmp_path: Path
) -> None:
    session = connect(LEAF, login(server))
    session.open(10)
    place = tmp_path / "a file with 'quotes'; rm -rf $HOME"
    place.write_text("old")
    session.put(b"new\n", str(place), mode=0o640, deadline_s=10)
    assert place.read_text() == "new\n"
    assert place.stat().st_mode & 0o777 == 0o640
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([place.name, "known_hosts"])
    with pytest.raises(TransportError, match="could not be written"):
        session.put(b"x", str(tmp_path / "no such folder" / "file"), deadline_s=10)


def test_root_is_root_without_sudo_when_uid_0(server: Server, connect: Callable[[Target, Login], Session]) -> None:
    session = connect(LEAF, login(server))
    session.open(10)
    answer = session.run("echo $((6 * 7)); cat", deadline_s=10, root=True, stdin=b"fed")
    assert answer.stdout == "42\nfed"


SUDO = """#!/bin/sh
# sudo as a switch has it: -n refuses, -S reads one line of standard input
case "$1" in
-n) echo "sudo: a password is required" >&2; exit 1;;
-S) shift 3; IFS= read -r given; [ "$given" = "$WANTED" ] || { echo "sudo: 1 incorrect password attempt" >&2; exit 1; }
    exec "$@";;
esac
"""


@pytest.fixture
def sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sudo").write_text(SUDO)
    (folder / "id").write_text("#!/bin/sh\necho 1000\n")
    for file in folder.iterdir():
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("WANTED", PASSWORD)


def test_f110_sudo_with_a_password(
    server: Server, connect: Callable[[Target, Login], Session], sudo: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = connect(LEAF, login(server))
    session.open(10)
    answer = session.run("cat", deadline_s=10, root=True, stdin=b"own input")
    assert answer.stdout == "own input"
    assert not any(PASSWORD in command for command in server.commands), "the password never is an argument"
    monkeypatch.setenv("WANTED", "another")
    with pytest.raises(LoginError, match="sudo did not take the password"):
        session.run("true", deadline_s=10, root=True)


def test_f110_sudo_that_wants_a_password_we_have_not(
    tmp_path: Path, connect: Callable[[Target, Login], Session], sudo: None
) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(tmp_path / "id"))
    with Server(tmp_path, client_key=key) as server:
        session = connect(LEAF, login(server, password=None, key=tmp_path / "id"))
        session.open(10)
        started = time.monotonic()
        with pytest.raises(LoginError, match="sudo wants a password"):
            session.run("true", deadline_s=10, root=True)
        assert time.monotonic() - started < 5, "an error, not a hang"


def test_f101_hanging_command_ends_at_its_deadline(server: Server, connect: Callable[[Target, Login], Session]) -> None:
    session = connect(LEAF, login(server))
    session.open(10)
    started = time.monotonic()
    with pytest.raises(DeadlineError, match=r"leaf1 \(127\.0\.0\.1\): no answer in 0\.5 s to: sleep 30"):
        session.run("sleep 30", deadline_s=0.5)
    assert time.monotonic() - started < 20
    assert session.run("echo still here", deadline_s=10).stdout == "still here\n"


def test_silent_server_ends_at_the_deadline(tmp_path: Path, connect: Callable[[Target, Login], Session]) -> None:
    import socket

    with Server(tmp_path, password=PASSWORD) as server, socket.create_server(("127.0.0.1", 0)) as silent:
        who = login(server)
        target = Target("leaf2", "127.0.0.1", silent.getsockname()[1])
        started = time.monotonic()
        with pytest.raises(DeadlineError, match="leaf2"):
            connect(target, who).open(1.0)
        assert time.monotonic() - started < 20


def test_nothing_listens(server: Server, connect: Callable[[Target, Login], Session]) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    started = time.monotonic()
    with pytest.raises(TransportError, match="nothing listens on the SSH port"):
        connect(Target("leaf3", "127.0.0.1", port), login(server)).open(60)
    assert time.monotonic() - started < 20


def test_connection_cut_during_a_command(server: Server, connect: Callable[[Target, Login], Session]) -> None:
    session = connect(LEAF, login(server))
    session.open(10)
    threading.Timer(0.4, server.cut).start()
    with pytest.raises(TransportError, match="the connection was lost during: sleep 20"):
        session.run("sleep 20", deadline_s=15)


def test_a_lost_connection_can_be_opened_again(server: Server, connect: Callable[[Target, Login], Session]) -> None:
    session = connect(LEAF, login(server))
    session.open(10)
    server.cut()
    time.sleep(0.3)
    session.open(10)
    assert session.run("echo back", deadline_s=10).stdout == "back\n"


BANNER = "  ___ \n ( $ )  welcome to $\n # authorised use only #\n cost: 5$\n"


@pytest.mark.parametrize(
    "prompt",
    [
        "admin@leaf1:~$ ",
        "-bash-4.2$ ",
        "leaf1> ",
        "\x1b[1;32madmin@leaf1\x1b[0m:\x1b[1;34m~\x1b[0m$ ",
        "root@leaf1:~# ",
    ],
    ids=["plain", "dash-bash", "angle", "colour", "root"],
)
def test_f102_f104_prompts_and_banners_do_not_confuse(tmp_path: Path, prompt: str) -> None:
    with Server(tmp_path, password=PASSWORD, motd=BANNER, banner=BANNER, prompt=prompt) as server:
        session = NetmikoSession(LEAF, login(server))
        session.open(10)
        assert session.run("echo one; printf 'a$\\nb#\\n'", deadline_s=10).stdout == "one\na$\nb#\n"
        # The interactive shell, as a stranger's Netmiko task uses it.
        assert str(session.netmiko.send_command("echo two; echo 'x# y'")).splitlines() == ["two", "x# y"]
        assert "welcome" not in session.netmiko.send_command("echo three")
        session.close()


def test_f104_no_unix_shell_is_an_error_at_once(tmp_path: Path) -> None:
    """A vendor's command line answers every command with a complaint."""
    with Server(tmp_path, password=PASSWORD, answer=lambda _: ("% Error: Invalid input detected.\n", 0)) as server:
        started = time.monotonic()
        with pytest.raises(TransportError, match=r"no Unix shell answers after login .last line: '% Error: Invalid"):
            NetmikoSession(LEAF, login(server)).open(20)
        assert time.monotonic() - started < 5


def test_f104_an_interactive_shell_that_is_none_is_an_error_within_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fabric.transport import sonic_linux

    assert sonic_linux._SHELL_DEADLINE_S <= 30
    monkeypatch.setattr(sonic_linux, "_SHELL_DEADLINE_S", 1.5)
    klish = ("/bin/sh", "-c", 'while printf "sonic# " && read line; do echo "% Error: Invalid input"; done')
    with Server(tmp_path, password=PASSWORD, shell=klish) as server:
        session = NetmikoSession(LEAF, login(server))
        session.open(20)
        assert session.run("echo fine", deadline_s=10).stdout == "fine\n", "a push needs no interactive shell"
        with pytest.raises(TransportError, match="no Unix shell answers after login"):
            _ = session.netmiko
        session.close()


def test_a_slow_interactive_shell_does_not_hold_a_push(tmp_path: Path) -> None:
    slow = ("/bin/sh", "-c", "sleep 20; exec sh -i")
    with Server(tmp_path, password=PASSWORD, shell=slow) as server:
        session = NetmikoSession(LEAF, login(server))
        started = time.monotonic()
        session.open(20)
        assert session.run("echo fine", deadline_s=10).ok
        assert time.monotonic() - started < 5
        session.close()


def test_expired_password_is_explained(tmp_path: Path) -> None:
    expired = "WARNING: Your password has expired.\nPassword change required but no TTY available.\n"
    with (
        Server(tmp_path, password=PASSWORD, answer=lambda _: (expired, 1)) as server,
        pytest.raises(TransportError, match="asks for a new password"),
    ):
        NetmikoSession(LEAF, login(server)).open(20)


def test_hundreds_of_connections_leave_nothing_on_netmikos_logger(tmp_path: Path) -> None:
    log = logging.getLogger("netmiko")
    before = len(log.filters)
    with Server(tmp_path, password=PASSWORD) as server:
        for _ in range(5):
            session = NetmikoSession(LEAF, login(server))
            session.open(10)
            session.close()
    assert len(log.filters) == before


def test_f112_a_full_login_queue_is_tried_again(tmp_path: Path) -> None:
    with Server(tmp_path, password=PASSWORD, most_at_once=10) as server:
        who = login(server)
        with Reader(who) as reader:
            # Each job hangs up on its own, so that places become free, as MaxStartups does.
            results: dict[str, Answer | TransportError] = {}

            def finished(name: str, answer: Answer | TransportError) -> None:
                results[name] = answer
                reader.forget(Target(name, "127.0.0.1"))

            jobs = [Job(Target(f"leaf{n}", "127.0.0.1"), "echo ok") for n in range(64)]
            reader.sweep(jobs, device_deadline_s=40, whole_deadline_s=60, done=finished)
        problems = [answer for answer in results.values() if not isinstance(answer, Answer)]
        assert not problems
        assert len(results) == 64
        assert server.turned_away > 0, "the limit was really met"


def test_sweep_with_one_hung_switch(tmp_path: Path) -> None:
    import socket

    with Server(tmp_path, password=PASSWORD) as server, socket.create_server(("127.0.0.1", 0)) as silent:
        targets = [Target(f"leaf{n}", "127.0.0.1") for n in range(8)]
        targets.append(Target("hung", "127.0.0.1", silent.getsockname()[1]))
        seen: list[str] = []
        with Reader(login(server)) as reader:
            started = time.monotonic()
            answers = reader.sweep(
                [Job(target, "echo $SSH_NOTHING ok") for target in targets],
                device_deadline_s=3,
                done=lambda name, _: seen.append(name),
            )
            assert time.monotonic() - started < 8
        assert isinstance(answers["hung"], DeadlineError)
        others = [answer for name, answer in answers.items() if name != "hung"]
        assert all(isinstance(answer, Answer) and answer.stdout == " ok\n".lstrip() for answer in others)
        assert sorted(seen) == sorted(answers)


def test_a_hung_login_ends_long_before_the_command_may(tmp_path: Path) -> None:
    import socket

    with Server(tmp_path, password=PASSWORD) as server, socket.create_server(("127.0.0.1", 0)) as silent:
        hung = Target("hung", "127.0.0.1", silent.getsockname()[1])
        started = time.monotonic()
        with Reader(login(server), login_s=0.5) as reader:
            answer = reader.sweep([Job(hung, "true")], device_deadline_s=60)["hung"]
            again = reader.sweep([Job(hung, "true")], device_deadline_s=0.2)["hung"]
        assert time.monotonic() - started < 10
        assert isinstance(answer, DeadlineError)
        assert "no SSH login in 0.5 s" in str(answer)
        assert isinstance(again, DeadlineError)


def test_sweep_ends_at_the_whole_deadline(tmp_path: Path) -> None:
    with Server(tmp_path, password=PASSWORD) as server, Reader(login(server), concurrent_jobs=2) as reader:
        jobs = [Job(Target(f"leaf{n}", "127.0.0.1"), "sleep 5" if n else "echo first") for n in range(6)]
        started = time.monotonic()
        answers = reader.sweep(jobs, device_deadline_s=30, whole_deadline_s=1.5)
        assert time.monotonic() - started < 5
        first = answers["leaf0"]
        assert isinstance(first, Answer)
        assert first.stdout == "first\n"
        assert all(isinstance(answers[f"leaf{n}"], DeadlineError) for n in range(1, 6))


def test_persistent_connection_is_used_again(server: Server) -> None:
    with Reader(login(server)) as reader:
        for _ in range(5):
            assert reader.run(LEAF, "echo x", deadline_s=10).ok
        assert server.hellos == 1


def test_jump_host(tmp_path: Path, connect: Callable[[Target, Login], Session]) -> None:
    """The way leads through a jump host whose key is enrolled in the same file; an unknown jump host is refused."""
    from fabric.errors import HostKeyError
    from fabric.transport import Jump

    with Server(tmp_path, password=PASSWORD) as server, Server(tmp_path, password=PASSWORD, forwards=True) as jump:
        who = login(server, jump=Jump("127.0.0.1", jump.port))
        with pytest.raises(HostKeyError, match="jump host"):
            connect(LEAF, who).open(10)
        assert jump.logins_begun == 0
        assert server.hellos == 0
        public = jump.key.export_public_key("openssh").decode().strip()
        path = who.known_hosts
        path.write_text(path.read_text() + f"[127.0.0.1]:{jump.port} {public}\n")
        session = connect(LEAF, who)
        session.open(10)
        assert session.run("echo through", deadline_s=10).stdout == "through\n"
        assert jump.commands == []
        assert server.commands[-1:] != []


def test_sessions_close_together(server: Server) -> None:
    with NetmikoSessions(login(server)) as sessions:
        session = sessions.session(LEAF)
        session.open(10)
    with pytest.raises(TransportError, match="not connected"):
        session.run("true")


def test_reading_warns_of_nothing_a_user_could_mend() -> None:
    """asyncssh names DSA keys while it is imported; its warning would stand on every terminal."""
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", "import fabric.transport.asyncssh_reader"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "DSA" not in done.stderr
