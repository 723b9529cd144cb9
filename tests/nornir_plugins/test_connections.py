"""Our connection plugins over a real SSH server; progress and log."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import pytest
from nornir.core import Nornir
from nornir.core.inventory import ConnectionOptions, Defaults, Groups, Host, Hosts, Inventory
from rich.console import Console
from rich.progress import Progress

from fabric.nornir_plugins import connections
from fabric.nornir_plugins.inventory import PUSH, READ
from fabric.nornir_plugins.processors import LogProcessor, ProgressProcessor
from fabric.nornir_plugins.runner import BoundedRunner
from fabric.nornir_plugins.tasks import put_file, run_command
from fabric.transport import Login
from tests.transport.server import Server

PASSWORD = "correct horse"


def fabric(server: Server, count: int, password: str = PASSWORD) -> Nornir:
    connections.register()
    login = Login(user="admin", known_hosts=server.known_hosts(), password=password, port=server.port)
    options = {name: ConnectionOptions(extras={"login": login}) for name in (PUSH, READ)}
    hosts = Hosts({f"leaf{n}": Host(f"leaf{n}", hostname="127.0.0.1", defaults=Defaults(connection_options=options))
                   for n in range(count)})  # fmt: skip
    return Nornir(Inventory(hosts, Groups(), Defaults(connection_options=options)), runner=BoundedRunner())


@pytest.mark.parametrize("connection", [PUSH, READ])
def test_command_and_file_over_each_connection(tmp_path: Path, connection: str) -> None:
    with Server(tmp_path, password=PASSWORD) as server, fabric(server, 3) as made:
        answers = made.run(run_command, command="echo ok; exit 0", connection=connection)
        assert [answers[name].result for name in answers] == ["ok\n"] * 3
        failed = made.run(run_command, command="echo why >&2; exit 4", connection=connection)
        assert failed.failed
        made.data.reset_failed_hosts()
        made.run(put_file, data=b"text", path=str(tmp_path / "file"), connection=connection)
        assert (tmp_path / "file").read_text() == "text"


def test_readers_of_one_login_share_a_loop_and_end_with_the_last(tmp_path: Path) -> None:
    with Server(tmp_path, password=PASSWORD) as server:
        with fabric(server, 4) as made:
            made.run(run_command, command="true", connection=READ)
            assert len(connections.AsyncsshConnection._readers) == 1
        assert connections.AsyncsshConnection._readers == {}


def test_log_and_progress_say_who_failed_and_never_the_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    screen = io.StringIO()
    with (
        Server(tmp_path, password=PASSWORD) as server,
        fabric(server, 2, password="battery staple") as made,
        Progress(console=Console(file=screen, width=100, force_terminal=True)) as progress,
        caplog.at_level(logging.DEBUG),
    ):
        watched = made.with_processors([LogProcessor(), ProgressProcessor(progress, 2, "canary")])
        assert watched.run(run_command, command="true").failed
    assert "2 failed" in screen.getvalue()
    told = [record.getMessage() for record in caplog.records if record.name == "railfab.push"]
    assert len(told) == 2
    assert all("no credential of admin was accepted" in line for line in told)
    assert "battery" not in caplog.text
