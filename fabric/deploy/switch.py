"""One switch through a push: prepare, change, prove; then settle or undo.

Each step says what state the switch is in, so that a run that stops anywhere can be told and continued.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from shlex import quote

from fabric.change import Mark, digest, mark_of, residue
from fabric.change.compute import effective
from fabric.change.frr_diff import frr_diff
from fabric.deploy import preflight, undo
from fabric.deploy.hand import REBOOTED, VANISHED, Hand
from fabric.deploy.reading import FRR_FILE, LOCK, MARK, Lock, Reading, read
from fabric.errors import CollectError, PushError, TransportError
from fabric.transport.session import Answer
from fabric.values.change import DeviceChange, Exchange, Outcome
from fabric.values.codec import plain
from fabric.values.device_config import DeviceConfig
from fabric.values.ownership import merged
from fabric.values.plan import Plan


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds each kind of step may take. A patch of many ports takes minutes (sonic.md 4.4)."""

    open: float = 20.0
    read: float = 60.0
    step: float = 60.0
    patch: float = 900.0
    reload: float = 900.0
    ready: float = 300.0
    read_back: float = 20.0
    # The switch undoes the run by itself this long after it was armed, unless confirmed.
    confirm: int = 1800


@dataclass(frozen=True, slots=True)
class Order:
    """What a push was told: the change of one switch, the configuration it leads to, and how careful to be."""

    run_id: str
    owner: str
    plan: Plan
    change: DeviceChange
    desired: DeviceConfig
    deadlines: Deadlines = field(default_factory=Deadlines)
    break_lock: bool = False
    commit_confirm: bool = True


class SwitchPush:
    """One switch in one run. Methods raise PushError or TransportError; `state` then says how the switch was left."""

    def __init__(self, hand: Hand, order: Order, say: Callable[[Outcome, str, str | None], None]) -> None:
        self.hand = hand
        self.order = order
        self.notes: list[str] = []
        self.touched = False
        self.locked = False
        self._say = say
        self._before: Reading | None = None
        self._running_frr: str | None = None

    @property
    def change(self) -> DeviceChange:
        """What is to be done."""
        return self.order.change

    def prepare(self) -> None:
        """All short of a change: identity, state, lock, copies, the way back, the timer. Refuses by PushError."""
        hand, order = self.hand, self.order
        hand.session.open(order.deadlines.open)
        reading = self._read()
        reasons = preflight.identity(reading, order.plan)
        if reasons:
            raise PushError(f"another box answers for {hand.name}: {'; '.join(reasons)}; nothing was sent to change it")
        refused, notes = preflight.state(
            reading,
            order.desired.tables,
            self.change.base_digest,
            release=order.plan.release,
            now=time.time(),
            run_id=order.run_id,
            break_lock=order.break_lock,
        )
        self.notes += notes
        if refused:
            raise PushError(f"{'; '.join(refused)}; nothing was changed")
        self._before = reading
        self._running_frr = reading.config.frr
        self._take_lock()
        self._must("keep what is there", "sh -s", stdin=undo.keep_script(hand.folder, order.run_id).encode())
        script = undo.undo_script(
            hand.folder, order.run_id, method=self.change.method, frr_commands=self._commands_back()
        )
        hand.put("write the way back", script.encode(), f"{hand.folder}/undo.sh")
        if order.commit_confirm:
            pending = {"run_id": order.run_id, "owner": order.owner, "since": time.time(), "boot_id": reading.boot_id}
            arm = undo.arm_script(hand.folder, order.run_id, order.deadlines.confirm, json.dumps(pending))
            self._must("arm the timer that undoes it", "sh -s", stdin=arm.encode())

    def carry_out(self) -> None:
        """Make the change and prove it by reading back. Nothing is saved yet."""
        self.touched = True
        self._say(Outcome.PENDING, "changing", None)
        if self.change.method == "reload":
            self._reload()
        else:
            if self.change.patch:
                self._patch()
            for number, command in enumerate(self.change.commands):
                self._must(f"command {command}", command, deadline_s=self.order.deadlines.patch)
                _ = number
            if self.change.frr_commands:
                self._routing()
        self._prove()
        self._say(Outcome.PENDING, "changed, read back as planned, not saved", None)

    def settle(self) -> None:
        """Keep the change: frr.conf in place, saved, marked, confirmed, unlocked."""
        hand, order = self.hand, self.order
        hand.session.open(order.deadlines.open)
        confirm = hand.ask("confirm", "sh -s", stdin=undo.confirm_script(hand.folder, order.run_id).encode())
        if confirm.rc == 4:
            raise PushError("the switch put itself back before it could be confirmed (its timer ran out)")
        if not confirm.ok:
            raise PushError(f"could not be confirmed: {_reason(confirm)}; its timer will put it back")
        if self.change.frr_text is not None and self.change.method != "reload":
            self._install_frr()
        self._must("save", "config save -y", deadline_s=order.deadlines.patch)
        self._write_mark()
        self.release()
        self._say(Outcome.APPLIED, "changed, saved", None)

    def undo(self) -> str:
        """Put the switch back; returns what state it is in. PushError says what still differs (F022)."""
        hand, order = self.hand, self.order
        if not self.touched:
            self.release()
            return "nothing was changed"
        answer = hand.once("undo", f"sh {quote(hand.folder)}/undo.sh", deadline_s=order.deadlines.reload)
        self._wait_back(answer)
        reading = self._read()
        base = self._before
        if base is not None and base.config.frr is not None and reading.config.frr is not None:
            left = frr_diff(base.config.frr, reading.config.frr)
            if left.commands:
                self._vtysh("undo-rest", left.commands)
                reading = self._read()
        if digest(reading.config, order.desired.tables) != self.change.base_digest:
            differs = self._differs(reading)
            raise PushError(
                "rollback failed, the live configuration differs from what ran before: "
                f"{differs}; the switch said: {_reason(answer)}"
            )
        self.release()
        return "put back to what it ran before"

    def release(self) -> None:
        """Give the lock back, if it is ours."""
        if self.locked:
            mine = quote(f'"run_id": "{self.order.run_id}"')
            self.hand.ask("unlock", f"grep -q {mine} {LOCK} && rm -f {LOCK}; :")
            self.locked = False

    # -- steps ---------------------------------------------------------------------------------------------------

    def _take_lock(self) -> None:
        lock = Lock(self.order.owner, self.order.run_id, time.time())
        text = json.dumps(asdict(lock))
        mine = quote(f'"run_id": "{self.order.run_id}"')
        breaks = f"rm -f {LOCK};" if self.order.break_lock else ""
        # noclobber makes the shell create the file in one step or fail.
        command = (
            f"{breaks} grep -q {mine} {LOCK} 2>/dev/null && exit 0; "
            f"(set -C; printf '%s\\n' {quote(text)} >{LOCK}) 2>/dev/null || {{ cat {LOCK}; exit 9; }}"
        )
        answer = self.hand.ask("lock", command)
        if not answer.ok:
            raise PushError(f"somebody else took the lock just now: {answer.stdout.strip()}; nothing was changed")
        self.locked = True

    def _patch(self) -> None:
        path = f"{self.hand.folder}/patch.json"
        text = json.dumps([plain(operation) for operation in self.change.patch], indent=1)
        self.hand.put("patch", text.encode(), path)
        answer = self.hand.once("patch", f"config apply-patch {path}", deadline_s=self.order.deadlines.patch)
        problem = patch_problem(answer)
        if problem is not None:
            raise PushError(f"the patch was not applied: {problem}")

    def _routing(self) -> None:
        text = self.change.frr_text
        if text is not None:
            on_switch, inside = undo.frr_path(self.order.run_id, "whole")
            self.hand.put("frr.conf for a check", text.encode(), on_switch, mode=0o644)
            try:
                self._must("check frr.conf", f"docker exec {undo.CONTAINER} vtysh -C -f {inside}")
            finally:
                self.hand.ask("remove the checked copy", f"rm -f {on_switch}")
        self._vtysh("frr", self.change.frr_commands)

    def _vtysh(self, name: str, commands: Sequence[str]) -> None:
        on_switch, inside = undo.frr_path(self.order.run_id, name)
        self.hand.put(f"routing commands ({name})", ("\n".join(commands) + "\n").encode(), on_switch, mode=0o644)
        check = f"docker exec {undo.CONTAINER} vtysh -C -f {inside}"
        run = f"docker exec {undo.CONTAINER} vtysh -f {inside}"
        answer = self.hand.once(
            name, f"{check} && {run}; rc=$?; rm -f {on_switch}; exit $rc", deadline_s=self.order.deadlines.step
        )
        if not answer.ok:
            raise PushError(f"FRR refused the routing commands: {_reason(answer)}")

    def _reload(self) -> None:
        order, hand = self.order, self.hand
        config = hand.ask("what the image keeps", "sonic-cfggen -d --print-data", quiet=True)
        try:
            base = json.loads(config.stdout)
            assert isinstance(base, dict)
        except (ValueError, AssertionError):
            raise PushError(f"its CONFIG_DB could not be read whole: {_reason(config)}; nothing was changed") from None
        target = merged(order.desired.tables, base)
        path = f"{hand.folder}/config_db.json"
        hand.put("whole configuration", json.dumps(target, indent=1).encode(), path)
        if order.desired.frr is not None:
            self._install_frr()
        answer = hand.once("reload", f"config reload -y -f {path}", deadline_s=order.deadlines.reload)
        if not answer.ok:
            raise PushError(f"config reload failed: {_reason(answer)}")
        self._wait_ready()

    def _install_frr(self) -> None:
        source = f"{self.hand.folder}/frr.conf"
        text = self.order.desired.frr or ""
        self.hand.put("new frr.conf", text.encode(), source, mode=0o600)
        self._must("put frr.conf in place", "sh -s", stdin=undo.install_frr_script(source).encode())

    def _wait_ready(self) -> None:
        """After a reload: wait until the switch answers and runs what it was given, routing included."""
        until = time.monotonic() + self.order.deadlines.ready
        problem = "it did not answer"
        while time.monotonic() < until:
            try:
                self.hand.session.open(min(20.0, max(1.0, until - time.monotonic())))
                lost = lost_after_reload(self._read(), self.order)
                if not lost:
                    return
                problem = "; ".join(lost)
            except (TransportError, CollectError) as error:
                problem = str(error)
                self.hand.session.close()
            time.sleep(1.0)
        raise PushError(f"after the reload: {problem}")

    def _wait_back(self, answer: Answer) -> None:
        if self.change.method != "reload" or not answer.ok:
            return
        until = time.monotonic() + self.order.deadlines.ready
        while time.monotonic() < until:
            try:
                self.hand.session.open(min(20.0, max(1.0, until - time.monotonic())))
                if digest(self._read().config, self.order.desired.tables) == self.change.base_digest:
                    return
            except (TransportError, CollectError):
                self.hand.session.close()
            time.sleep(1.0)

    def _prove(self) -> None:
        until = time.monotonic() + self.order.deadlines.read_back
        while True:
            left = residue(self.order.desired, self._read().config, self.change)
            if not left:
                return
            if time.monotonic() > until:
                shown = "; ".join(left[:6]) + (f"; and {len(left) - 6} more" if len(left) > 6 else "")
                raise PushError(f"what it runs now is not what was planned: {shown}")
            time.sleep(0.5)

    def _write_mark(self) -> None:
        up, watchdog = mark_of(self.order.desired.tables)
        after = self._read()
        mark = Mark(self.order.run_id, digest(after.config, self.order.desired.tables), up, watchdog)
        self.hand.put("mark", json.dumps(plain(mark)).encode(), MARK, mode=0o644)

    def _commands_back(self) -> Sequence[str]:
        if not self.change.frr_commands or self._running_frr is None or self.order.desired.frr is None:
            return ()
        return frr_diff(self._running_frr, self.order.desired.frr).commands

    def _differs(self, reading: Reading) -> str:
        base = self._before
        if base is None:
            return "unknown (the run that made the change was killed)"
        now = DeviceConfig(self.hand.name, base.config.tables, base.config.frr)
        left = residue(now, reading.config, self.change)
        return "; ".join(left[:6]) or "in rows railfab does not own"

    def _read(self) -> Reading:
        started = time.time()
        reading = read(self.hand.session, self.hand.name, self.order.deadlines.read)
        keys = sum(len(rows) for rows in reading.config.tables.values())
        self.hand.exchanges.append(
            Exchange("read configuration, routing and identity", f"{keys} rows", 0, started, time.time())
        )
        return reading

    def _must(self, what: str, command: str, *, deadline_s: float | None = None, stdin: bytes | None = None) -> Answer:
        answer = self.hand.ask(what, command, deadline_s=deadline_s or self.order.deadlines.step, stdin=stdin)
        if not answer.ok:
            raise PushError(f"{what}: {_reason(answer)}")
        return answer


def patch_problem(answer: Answer) -> str | None:
    """Why `config apply-patch` did not do it, None when it did. Its success line alone proves nothing (F023)."""
    text = f"{answer.stdout}\n{answer.stderr}"
    if answer.rc in (REBOOTED, VANISHED):
        return answer.stderr.strip()
    scopes = re.search(r"on the following scopes:?\s*(.*)", text, re.DOTALL)
    failed = re.findall(r"^\s*-\s*(.+)$", scopes[1], re.MULTILINE) if scopes else []
    if failed:
        return f"some parts were applied and these were not: {'; '.join(failed[:5])}"
    if not answer.ok or re.search(r"^(Error|Failed)\b", text, re.MULTILINE):
        return _reason(answer)
    return None if "Patch applied successfully" in text else f"no word of success: {_reason(answer)}"


def lost_after_reload(reading: Reading, order: Order) -> list[str]:
    """What a reload lost: routing mode, frr.conf, or the neighbours in the running FRR (sonic.md 1.7)."""
    lost = []
    wanted = order.desired.tables.get("DEVICE_METADATA", {}).get("localhost", {})
    there = reading.config.tables.get("DEVICE_METADATA", {}).get("localhost", {})
    mode = "docker_routing_config_mode"
    if wanted.get(mode) != there.get(mode):
        lost.append(f"the routing mode is {there.get(mode)}, not {wanted.get(mode)}")
    if order.desired.frr is not None:
        if reading.frr_file is None:
            lost.append(f"{FRR_FILE} is gone")
        elif frr_diff(order.desired.frr, reading.frr_file).steps:
            lost.append(f"{FRR_FILE} is not the one that was put there")
        if reading.config.frr is None:
            lost.append("FRR does not answer yet")
        else:
            steps = frr_diff(order.desired.frr, reading.config.frr).steps
            if steps:
                lost.append(f"FRR runs without {len(steps)} of our lines")
    return lost


def order_for(
    change: DeviceChange, desired: DeviceConfig, plan: Plan, run_id: str, owner: str, **more: object
) -> Order:
    """The order of one switch: what was planned, with what is held left as it is."""
    return Order(run_id, owner, plan, change, effective(desired, change), **more)  # type: ignore[arg-type]


def _reason(answer: Answer) -> str:
    lines = [line.strip() for line in (answer.stderr or answer.stdout).splitlines() if line.strip()]
    text = lines[-1] if lines else "no reason given"
    return text if answer.rc in (0, None) else f"{text} (exit status {answer.rc})"
