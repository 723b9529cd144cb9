"""A recorded fake: answers from a table, for tests and for replaying what a switch once said."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from fabric.errors import TransportError
from fabric.transport.session import OPEN_DEADLINE_S, RUN_DEADLINE_S, Answer, Session, Target

# A reply is an Answer, text (an Answer with rc 0), an error to raise, or a function of the command and its input.
Reply = Answer | str | Exception | Callable[[str, bytes], "Answer | str | Exception"]


class RecordedSession:
    """Plays answers back. `replies` maps a regular expression to a reply; the first that matches the command wins.

    What was run and put is kept in `commands` and `files`, in order. A command with no reply is an error: a test
    that sends something new must say what a switch would answer.
    """

    def __init__(self, target: Target, replies: Mapping[str, Reply], *, refuses: Exception | None = None) -> None:
        self._target = target
        self._replies: Sequence[tuple[re.Pattern[str], Reply]] = [
            (re.compile(pattern, re.DOTALL), reply) for pattern, reply in replies.items()
        ]
        self._refuses = refuses
        self.commands: list[str] = []
        self.files: dict[str, bytes] = {}
        self.is_open = False

    @property
    def target(self) -> Target:
        """Where this pretends to go."""
        return self._target

    def open(self, deadline_s: float = OPEN_DEADLINE_S) -> None:  # noqa: ARG002
        """Open, or refuse as told."""
        if self._refuses is not None:
            raise self._refuses
        self.is_open = True

    def run(
        self,
        command: str,
        *,
        deadline_s: float = RUN_DEADLINE_S,  # noqa: ARG002
        stdin: bytes | None = None,
        root: bool = False,  # noqa: ARG002
    ) -> Answer:
        """Answer from the table."""
        if not self.is_open:
            raise TransportError(f"{self._target.name}: not connected")
        self.commands.append(command)
        for pattern, reply in self._replies:
            if pattern.search(command):
                value = reply(command, stdin or b"") if callable(reply) else reply
                if isinstance(value, Exception):
                    raise value
                now = time.time()
                return value if isinstance(value, Answer) else Answer(value, started_at=now, ended_at=now)
        raise TransportError(f"{self._target.name}: nothing recorded answers: {command}")

    def put(
        self,
        data: bytes,
        path: str,
        *,
        mode: int = 0o600,  # noqa: ARG002
        deadline_s: float = RUN_DEADLINE_S,  # noqa: ARG002
        root: bool = False,  # noqa: ARG002
    ) -> None:
        """Keep the file."""
        if not self.is_open:
            raise TransportError(f"{self._target.name}: not connected")
        self.files[path] = data

    def close(self) -> None:
        """Hang up."""
        self.is_open = False


class RecordedSessions:
    """Recorded sessions of several devices by name."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self._sessions = sessions

    def session(self, target: Target) -> Session:
        """The recording of this device; TransportError when there is none."""
        try:
            return self._sessions[target.name]
        except KeyError:
            raise TransportError(f"{target.name}: nothing is recorded") from None

    def close(self) -> None:
        """Close all."""
        for session in self._sessions.values():
            session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
