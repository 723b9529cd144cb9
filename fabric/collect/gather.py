"""Ask a whole fabric at once and put the answers together. The transport is given; the clock is an argument."""

from __future__ import annotations

import gc
import secrets
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from fabric.collect.ask import COMMAND, script
from fabric.collect.hosts import host_script, parse_host
from fabric.collect.parts import DEFAULT_PARTS, Part
from fabric.collect.switch import parse_switch
from fabric.errors import CollectError, TransportError
from fabric.transport.session import Answer, Target
from fabric.values.snapshot import HostState, Snapshot, SwitchState

if TYPE_CHECKING:
    from fabric.transport.asyncssh_reader import Reader
    from fabric.transport.session import Session, Sessions

# A switch that has not answered by then is missing: longer than the limits of all its parts on a busy box together.
DEVICE_DEADLINE_S = 90.0
_WORKERS = 32


@dataclass(frozen=True, slots=True)
class Question:
    """One exec on one device: the command, and the script it reads."""

    target: Target
    command: str
    stdin: bytes


Done = Callable[[str, Answer | TransportError], None]


class Ask(Protocol):
    """Puts every question to its device, side by side, and calls `done` once for each. Returns when all ended."""

    def __call__(self, questions: Sequence[Question], done: Done) -> None: ...


@dataclass(frozen=True, slots=True)
class Raw:
    """What a device really said, compressed (zlib), with all it takes to read it again."""

    device: str
    kind: str
    taken_at: float
    duration_s: float
    source: str
    token: str
    parts: tuple[str, ...]
    stdout: bytes
    stderr: bytes

    def read(self) -> SwitchState | HostState:
        """The typed state, by today's parsers. CollectError when it holds nothing of ours."""
        out = zlib.decompress(self.stdout).decode("utf-8", "replace")
        err = zlib.decompress(self.stderr).decode("utf-8", "replace")
        return _read(
            self.kind, self.device, out, err, self.taken_at, self.duration_s, self.source, self.token, self.parts
        )


def _read(
    kind: str,
    device: str,
    out: str,
    err: str,
    taken_at: float,
    duration_s: float,
    source: str,
    token: str,
    parts: Iterable[str],
) -> SwitchState | HostState:
    if kind == "host":
        return parse_host(device, out, taken_at, source, errors=err, token=token)
    wanted = [Part(part) for part in parts]
    return parse_switch(device, out, taken_at, source, errors=err, parts=wanted, token=token, duration_s=duration_s)


@dataclass(frozen=True, slots=True)
class Collected:
    """A snapshot and the raw answers it was made from."""

    snapshot: Snapshot
    raw: tuple[Raw, ...] = ()


@dataclass(slots=True)
class _Harvest:
    """Answers as they come in: read in one thread beside the transport's, so that no reading delays an answer."""

    kinds: Mapping[str, str]
    token: str
    parts: tuple[str, ...]
    clock: Callable[[], float]
    said: Callable[[str, str | None], None] | None
    keep_raw: bool
    switches: dict[str, SwitchState] = field(default_factory=dict)
    hosts: dict[str, HostState] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    raw: list[Raw] = field(default_factory=list)

    def take(self, device: str, result: Answer | TransportError) -> None:
        problem: str | None
        if isinstance(result, TransportError):
            problem = str(result).removeprefix(f"{device}: ") or type(result).__name__
        else:
            problem = self._read(device, result)
        if problem is not None:
            self.missing[device] = problem
        if self.said is not None:
            self.said(device, problem)

    def _read(self, device: str, answer: Answer) -> str | None:
        kind, taken_at = self.kinds[device], answer.started_at or self.clock()
        took = round(max(0.0, answer.ended_at - answer.started_at), 3)
        if self.keep_raw:
            out, err = (zlib.compress(text.encode("utf-8", "replace"), 1) for text in (answer.stdout, answer.stderr))
            self.raw.append(Raw(device, kind, taken_at, took, "ssh", self.token, self.parts, out, err))
        try:
            state = _read(kind, device, answer.stdout, answer.stderr, taken_at, took, "ssh", self.token, self.parts)
        except CollectError as error:
            return str(error)
        if isinstance(state, HostState):
            self.hosts[device] = state
        else:
            self.switches[device] = state
        return None


def collect(
    fabric: str,
    targets: Sequence[Target],
    ask: Ask,
    *,
    parts: Iterable[Part] = DEFAULT_PARTS,
    hosts: Sequence[Target] = (),
    dropped: Mapping[str, HostState] | None = None,
    token: str | None = None,
    clock: Callable[[], float] = time.time,
    progress: Callable[[str, str | None], None] | None = None,
    keep_raw: bool = True,
) -> Collected:
    """One round trip to every switch of `targets` (and every host of `hosts`), as one snapshot with its raw answers.

    `dropped`: host states that came another way (files of a node agent); a host asked over SSH wins. `progress` is
    called with a device and its problem (None: fine), from another thread. Never raises for a device.
    """
    wanted = frozenset(parts)
    token = token or secrets.token_hex(8)
    kinds = {target.name: "switch" for target in targets} | {target.name: "host" for target in hosts}
    switch_script = script(wanted, token=token).encode()
    host_text = host_script(token=token).encode()
    questions = [Question(target, COMMAND, switch_script) for target in targets]
    questions += [Question(target, COMMAND, host_text) for target in hosts]
    started = clock()
    harvest = _Harvest(kinds, token, tuple(sorted(part.value for part in wanted)), clock, progress, keep_raw)
    guard = threading.Lock()
    with _no_cycles(), ThreadPoolExecutor(1, thread_name_prefix="railfab-parse") as reading:

        def done(device: str, result: Answer | TransportError) -> None:
            with guard:
                reading.submit(harvest.take, device, result).add_done_callback(_not_silent(harvest, device))

        if questions:
            ask(questions, done)
    for name in kinds:
        if name not in harvest.switches and name not in harvest.hosts:
            harvest.missing.setdefault(name, "no answer")
    order = {name: place for place, name in enumerate(kinds)}
    snapshot = Snapshot(
        fabric=fabric,
        started_at=started,
        ended_at=max(clock(), started),
        switches=dict(sorted(harvest.switches.items(), key=lambda item: order[item[0]])),
        hosts={**(dropped or {}), **dict(sorted(harvest.hosts.items(), key=lambda item: order[item[0]]))},
        missing=dict(sorted(harvest.missing.items(), key=lambda item: order[item[0]])),
    )
    return Collected(snapshot, tuple(sorted(harvest.raw, key=lambda raw: order[raw.device])))


@contextmanager
def _no_cycles() -> Iterator[None]:
    """What is read is kept and in no cycle: looking for garbage all the while is a sixth of the work."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _not_silent(harvest: _Harvest, device: str) -> Callable[[object], None]:
    """A parser that fails in a way nobody thought of costs its device, and says so; it must not vanish in a thread."""

    def look(future: object) -> None:
        error = future.exception()  # type: ignore[attr-defined]
        if error is not None:
            harvest.missing[device] = (
                f"its answer could not be read ({type(error).__name__}: {error}); please report it"
            )

    return look


def snapshot(
    fabric: str, targets: Sequence[Target], ask: Ask, *, parts: Iterable[Part] = DEFAULT_PARTS, **options: object
) -> Snapshot:
    """`collect` without the raw answers; same arguments."""
    return collect(fabric, targets, ask, parts=parts, keep_raw=False, **options).snapshot  # type: ignore[arg-type]


# What a window needs of its first sample.
WINDOW_PARTS = frozenset({Part.PORTS, Part.COUNTERS, Part.QUEUES, Part.BGP})


def window(
    fabric: str,
    targets: Sequence[Target],
    ask: Ask,
    seconds: float,
    *,
    parts: Iterable[Part] = DEFAULT_PARTS,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
    progress: Callable[[str, str | None], None] | None = None,
    hosts: Sequence[Target] = (),
    dropped: Mapping[str, HostState] | None = None,
    keep_raw: bool = True,
) -> tuple[Collected, Collected]:
    """Two samples at least `seconds` apart: what counts (ports, counters, queues, sessions) first, then everything.

    The first is the baseline of checks. `seconds` is counted from the end of the first to the start of the second.
    """

    def sample(parts: Iterable[Part], **more: Any) -> Collected:
        return collect(fabric, targets, ask, parts=parts, clock=clock, progress=progress, keep_raw=keep_raw, **more)

    first = sample(WINDOW_PARTS)
    sleep(max(0.0, seconds))
    return first, sample(parts, hosts=hosts, dropped=dropped)


def over_reader(
    reader: Reader, *, device_deadline_s: float = DEVICE_DEADLINE_S, whole_deadline_s: float | None = None
) -> Ask:
    """Ask over the asyncssh reader: hundreds of devices at once on one thread."""

    def ask(questions: Sequence[Question], done: Done) -> None:
        from fabric.transport.asyncssh_reader import Job

        jobs = [Job(question.target, question.command, question.stdin) for question in questions]
        reader.sweep(jobs, device_deadline_s=device_deadline_s, whole_deadline_s=whole_deadline_s, done=done)

    return ask


def over_sessions(sessions: Sessions, *, workers: int = _WORKERS, device_deadline_s: float = DEVICE_DEADLINE_S) -> Ask:
    """Ask over sessions of any library (Netmiko, recorded), some at a time."""

    def one(question: Question) -> Answer | TransportError:
        session: Session | None = None
        try:
            session = sessions.session(question.target)
            session.open()
            return session.run(question.command, stdin=question.stdin, deadline_s=device_deadline_s)
        except TransportError as error:
            return error
        finally:
            if session is not None:
                session.close()

    def ask(questions: Sequence[Question], done: Done) -> None:
        with ThreadPoolExecutor(min(workers, max(1, len(questions))), thread_name_prefix="railfab-ask") as pool:
            for question, result in zip(questions, pool.map(one, questions)):
                done(question.target.name, result)

    return ask


def reread(fabric: str, raw: Iterable[Raw]) -> Snapshot:
    """A snapshot made again from raw answers, by today's parsers."""
    harvest = list(raw)
    switches: dict[str, SwitchState] = {}
    hosts: dict[str, HostState] = {}
    missing: dict[str, str] = {}
    for one in harvest:
        try:
            state = one.read()
        except CollectError as error:
            missing[one.device] = str(error)
            continue
        if isinstance(state, HostState):
            hosts[one.device] = state
        else:
            switches[one.device] = replace(state, source=f"{one.source}, read again")
    times = [one.taken_at for one in harvest]
    ends = [one.taken_at + one.duration_s for one in harvest]
    return Snapshot(fabric, min(times, default=0.0), max(ends, default=0.0), switches, hosts, missing)
