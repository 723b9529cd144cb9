"""What a push does on one switch, with everything asked and answered kept for the record.

Long commands run detached: started once, under a name, in a folder of the run; whoever asks again by the same name
waits for the same command. A lost connection, ours or the switch's doing, neither stops it nor starts it twice.
"""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable
from shlex import quote
from typing import TypeVar

from fabric.errors import DeadlineError, TransportError
from fabric.transport.session import Answer, Session
from fabric.values.change import Exchange

T = TypeVar("T")

# Exit codes of our own wrapper, out of the way of what commands use.
REBOOTED, VANISHED = 251, 252
_ANSWER_KEPT = 4000
_REOPEN_S = 5.0
_SLICE_S = 60.0

_ONCE = r"""
set -u
umask 077
d=@DIR@
boot=$(cat /proc/sys/kernel/random/boot_id)
mkdir -p "${d%/*}"
if mkdir "$d" 2>/dev/null; then
 printf %s "$boot" >"$d/boot"
 cat >"$d/run" <<'@END@'
@COMMAND@
@END@
 setsid sh -c 'echo $$ >"$1/pid"; sh "$1/run" >"$1/out" 2>"$1/err" </dev/null
  echo $? >"$1/rc.new"; mv "$1/rc.new" "$1/rc"' sh "$d" >/dev/null 2>&1 </dev/null &
fi
n=0
while [ ! -e "$d/rc" ]; do
 [ "$(cat "$d/boot")" = "$boot" ] || { echo 'the switch rebooted during this step' >&2; exit @REBOOTED@; }
 n=$((n+1))
 if [ $n -gt 20 ] && ! { [ -s "$d/pid" ] && kill -0 "$(cat "$d/pid")" 2>/dev/null; } && [ ! -e "$d/rc" ]; then
  echo 'the command was killed on the switch' >&2; exit @VANISHED@
 fi
 if [ $n -lt 20 ]; then sleep 0.05; else sleep 0.3; fi
done
cat "$d/out"
cat "$d/err" >&2
exit "$(cat "$d/rc")"
"""


class Hand:
    """One switch's session in one run. `note` takes each exchange as it happens, for the record on disk."""

    def __init__(self, session: Session, run_id: str, note: Callable[[Exchange], None], attempt: int = 0) -> None:
        self._session = session
        self._ended: str | None = None
        # A resumed run starts its steps anew on a switch that was put back: other names, so that they do run.
        self.run_id = run_id if not attempt else f"{run_id}.{attempt}"
        self.exchanges: list[Exchange] = []
        self._note = note

    @property
    def session(self) -> Session:
        """The way to the switch. DeadlineError once this hand was taken off it."""
        if self._ended is not None:
            raise DeadlineError(f"{self.name}: {self._ended}")
        return self._session

    @session.setter
    def session(self, session: Session) -> None:
        self._session = session

    def taken_off(self, reason: str) -> Hand:
        """Another hand for the same switch and run; this one touches nothing any more.

        A worker that was given up while it waited would else wake up and go on with the change under the undo.
        """
        other = copy.copy(self)
        other.exchanges = list(self.exchanges)
        self._ended = reason
        return other

    @property
    def name(self) -> str:
        """The switch."""
        return self._session.target.name

    @property
    def folder(self) -> str:
        """Folder of this run on the switch: survives a reboot, is root's alone."""
        return f"/var/tmp/railfab/{self.run_id}"

    def ask(
        self, what: str, command: str, *, deadline_s: float = 60.0, stdin: bytes | None = None, quiet: bool = False
    ) -> Answer:
        """Run a command as root and keep the answer; `quiet` keeps only its length (it may hold secrets).

        A command that may be run twice without harm: when the connection is lost it is, once.
        """
        started = time.time()
        answer = self._twice(what, lambda: self.session.run(command, deadline_s=deadline_s, stdin=stdin, root=True))
        shown = f"({len(answer.stdout)} characters)" if quiet else (answer.stdout + answer.stderr).strip()
        self._keep(what, shown, answer.rc, started)
        return answer

    def put(self, what: str, data: bytes, path: str, *, mode: int = 0o600) -> None:
        """Write a file as root, whole or not at all."""
        started = time.time()
        self._twice(what, lambda: self.session.put(data, path, mode=mode, root=True))
        self._keep(what, f"{len(data)} bytes to {path}", 0, started)

    def once(self, name: str, command: str, *, deadline_s: float, away_s: float = 180.0) -> Answer:
        """Run a long command detached and wait for it, through lost connections; the same name never runs twice.

        `away_s` is how long the switch may be out of reach. DeadlineError: it may still be running (`stop` ends it).
        TransportError: the switch did not come back in time.
        Exit status REBOOTED or VANISHED: it was ended by a reboot or by somebody on the switch.
        """
        started = time.time()
        until = time.monotonic() + deadline_s
        what = f"{name}: {_line(command)}"
        script = (
            _ONCE.replace("@DIR@", quote(f"{self.folder}/{name}"))
            .replace("@COMMAND@", command)
            .replace("@END@", f"end-{self.run_id}")
            .replace("@REBOOTED@", str(REBOOTED))
            .replace("@VANISHED@", str(VANISHED))
        ).encode()
        lost_at: float | None = None
        lost: TransportError | None = None
        while True:
            left = until - time.monotonic()
            if left <= 0 and lost is not None:
                self._keep(what, str(lost), None, started)
                raise lost
            if left <= 0:
                late = DeadlineError(f"{self.name}: {name} did not end in {deadline_s:g} s; it may still be running")
                self._keep(what, str(late), None, started)
                raise late
            try:
                answer = self._attach(script, left)
                lost_at = lost = None
            except TransportError as error:
                now, lost = time.monotonic(), error
                lost_at = now if lost_at is None else lost_at
                self.session.close()
                if now - lost_at > away_s:
                    self._keep(what, str(error), None, started)
                    raise
                self._keep(f"{name}: connection lost, opening it again", str(error), None, started)
                time.sleep(min(_REOPEN_S, max(0.2, min(left, away_s) / 20)))
                continue
            if answer is not None:
                self._keep(what, (answer.stdout + answer.stderr).strip(), answer.rc, started)
                return answer

    def _attach(self, script: bytes, left: float) -> Answer | None:
        """Start the command or wait on with it for a while; None when it goes on. TransportError: out of reach.

        A path that is cut without a word looks like a command that takes long, so a small question tells them apart.
        """
        self.session.open(min(left, 20.0))
        try:
            answer = self.session.run("sh -s", deadline_s=min(left, _SLICE_S), stdin=script, root=True)
        except DeadlineError:
            if left > _SLICE_S:
                self.session.run("true", deadline_s=10.0)
            return None
        return None if answer.rc is None else answer

    def _twice(self, what: str, work: Callable[[], T]) -> T:
        started = time.time()
        try:
            return work()
        except DeadlineError as error:
            self._keep(what, str(error), None, started)
            raise
        except TransportError as error:
            self._keep(f"{what}: connection lost, opening it again", str(error), None, started)
        started = time.time()
        try:
            self.session.close()
            self.session.open()
            return work()
        except TransportError as error:
            self._keep(what, str(error), None, started)
            raise

    def stop(self, name: str) -> None:
        """End a detached command that is late, with all it started."""
        with contextlib.suppress(TransportError):
            path = quote(f"{self.folder}/{name}/pid")
            self.ask(f"stop {name}", f'[ -s {path} ] && kill -s KILL -- "-$(cat {path})"', deadline_s=20)

    def _keep(self, what: str, answer: str, rc: int | None, started: float) -> None:
        text = answer if len(answer) <= _ANSWER_KEPT else f"...{answer[-_ANSWER_KEPT:]}"
        exchange = Exchange(what, text, rc, started, time.time())
        self.exchanges.append(exchange)
        self._note(exchange)


def _line(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 160 else f"{line[:157]}..."
