"""Tasks anybody's Nornir can run: a command, a file, what a switch runs."""

from __future__ import annotations

from nornir.core.task import Result, Task

from fabric.nornir_plugins.inventory import PUSH
from fabric.transport.session import RUN_DEADLINE_S, Session


def session_of(task: Task, connection: str = PUSH) -> Session:
    """The host's open Session."""
    session: Session = task.host.get_connection(connection, task.nornir.config)
    return session


def run_command(
    task: Task, command: str, *, root: bool = False, deadline_s: float = RUN_DEADLINE_S, connection: str = PUSH
) -> Result:
    """Run a shell command. The result is what it printed; a status other than 0 is a failure."""
    answer = session_of(task, connection).run(command, deadline_s=deadline_s, root=root)
    return Result(host=task.host, result=answer.stdout, failed=not answer.ok, stderr=answer.stderr, rc=answer.rc)


def put_file(
    task: Task, data: bytes, path: str, *, mode: int = 0o644, root: bool = False, connection: str = PUSH
) -> Result:
    """Write a file atomically."""
    session_of(task, connection).put(data, path, mode=mode, root=root)
    return Result(host=task.host, result=path, changed=True)
