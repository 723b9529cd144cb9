"""The protocol every transport speaks, and the values that cross it."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

# A switch that does not answer the TCP or SSH hello in this time is reported as unreachable (seconds).
OPEN_DEADLINE_S = 20.0
RUN_DEADLINE_S = 60.0
# An answer longer than this is cut off and refused: no SONiC answer we ask for comes near it.
ANSWER_LIMIT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """Where a device answers: its name in the Plan, and an address without prefix length. `port` None: the login's."""

    name: str
    address: str
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed. `rc` is None when the far side ended without one (a signal, a lost connection).

    Times are seconds since 1970. Decoding replaces bytes that are not UTF-8.
    """

    stdout: str
    stderr: str = ""
    rc: int | None = 0
    started_at: float = 0.0
    ended_at: float = 0.0

    @property
    def ok(self) -> bool:
        """The command ended with exit status 0."""
        return self.rc == 0


class Session(Protocol):
    """One connection to one device. Every call has a deadline in seconds and never waits longer.

    All calls raise TransportError or one of its kinds: HostKeyError, LoginError, DeadlineError. A command that ends
    with a non-zero status is an Answer, not an error.
    """

    @property
    def target(self) -> Target:
        """Where this goes."""
        ...

    def open(self, deadline_s: float = OPEN_DEADLINE_S) -> None:
        """Connect, prove the host key, log in. Does nothing when open already."""
        ...

    def run(
        self,
        command: str,
        *,
        deadline_s: float = RUN_DEADLINE_S,
        stdin: bytes | None = None,
        root: bool = False,
    ) -> Answer:
        """Run a shell command; `root` runs it by sudo unless we are uid 0. `stdin` is given whole, then closed."""
        ...

    def put(
        self, data: bytes, path: str, *, mode: int = 0o600, deadline_s: float = RUN_DEADLINE_S, root: bool = False
    ) -> None:
        """Write a file: beside its place first, then renamed over it, so that no reader sees half of it."""
        ...

    def close(self) -> None:
        """Hang up. Never raises and never waits for the far side."""
        ...


class Sessions(Protocol):
    """Makes sessions: what a run over many devices is given."""

    def session(self, target: Target) -> Session:
        """A session that is not open yet."""
        ...

    def close(self) -> None:
        """Close what is still open."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
