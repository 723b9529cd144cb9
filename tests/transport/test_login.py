"""Login from the environment; secrets never show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fabric.errors import LoginError
from fabric.transport import Jump, Login

HERE = Path("known_hosts")


def test_user_key_and_known_hosts_from_the_environment(tmp_path: Path) -> None:
    key = tmp_path / "id"
    key.write_text("")
    env = {"RAILFAB_USER": "ops", "RAILFAB_KEY": str(key), "RAILFAB_KNOWN_HOSTS": "elsewhere"}
    login = Login.from_environment(HERE, environ=env)
    assert (login.user, login.key, login.known_hosts, login.password) == ("ops", key, Path("elsewhere"), None)


def test_asks_only_when_there_is_no_other_way() -> None:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return "typed"

    assert Login.from_environment(HERE, environ={"SSH_AUTH_SOCK": "/run/agent"}, ask=ask).password is None
    assert asked == []
    assert Login.from_environment(HERE, environ={}, ask=ask).password == "typed"
    assert asked == ["Password of admin on the devices: "]
    with pytest.raises(LoginError, match="RAILFAB_KEY"):
        Login.from_environment(HERE, environ={})


def test_missing_key_file_is_named() -> None:
    with pytest.raises(LoginError, match="RAILFAB_KEY is nowhere/id: no such file"):
        Login.from_environment(HERE, environ={"RAILFAB_KEY": "nowhere/id"})


def test_secrets_are_not_in_repr() -> None:
    login = Login(user="a", known_hosts=HERE, password="hunter2", passphrase="sesame")
    assert "hunter2" not in repr(login)
    assert "sesame" not in repr(login)


@pytest.mark.parametrize(
    ("text", "jump"),
    [
        ("bastion", Jump("bastion")),
        ("me@bastion:2222", Jump("bastion", 2222, "me")),
        ("me@[2001:db8::1]:22", Jump("2001:db8::1", 22, "me")),
    ],
)
def test_jump(text: str, jump: Jump) -> None:
    assert Jump.parse(text) == jump


@pytest.mark.parametrize("text", ["", "me@", "host:port", "host:99999", "2001:db8::1", "[::1"])
def test_bad_jump(text: str) -> None:
    with pytest.raises(LoginError, match="RAILFAB_JUMP"):
        Jump.parse(text)


def test_libraries_are_imported_late() -> None:
    code = (
        "import sys, fabric.transport, fabric.transport.recorded, fabric.transport.host_keys\n"
        "heavy = {'netmiko', 'paramiko', 'asyncssh', 'nornir', 'cryptography'} & set(sys.modules)\n"
        "sys.exit(' '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
