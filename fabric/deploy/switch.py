"""One switch through a push: prepare, change, prove; then settle or undo.

Each step says what state the switch is in, so that a run that stops anywhere can be told and continued.
"""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from shlex import quote

from fabric.change import Mark, digest, is_ours, mark_of, residue
from fabric.change.frr_diff import frr_diff
from fabric.deploy import preflight, undo
from fabric.deploy.drain import drain, undrain
from fabric.deploy.hand import Hand
from fabric.deploy.order import Order
from fabric.deploy.proof import lost_after_reload, patch_problem, reason
from fabric.deploy.reading import LOCK, MARK, Lock, Reading, read
from fabric.errors import CollectError, DeadlineError, PushError, RailfabError, TransportError
from fabric.transport.session import Answer
from fabric.values.change import DeviceChange, Exchange, Impact, Outcome
from fabric.values.codec import plain
from fabric.values.device_config import DeviceConfig
from fabric.values.ownership import merged
from fabric.values.plan import PortUse


class SwitchPush:
    """One switch in one run. Methods raise PushError or TransportError; `state` then says how the switch was left."""

    def __init__(self, hand: Hand, order: Order, say: Callable[[Outcome, str, str | None], None]) -> None:
        self.hand = hand
        self.order = order
        self.notes: list[str] = []
        self.touched = False
        self.locked = False
        self.drained = False
        self.armed = False
        self.lost = False
        self.already: str | None = None
        self._say = say
        self._before: Reading | None = None
        self._boot_id: str | None = None

    @property
    def change(self) -> DeviceChange:
        """What is to be done."""
        return self.order.change

    def taken_over(self, reason: str, say: Callable[[Outcome, str, str | None], None]) -> SwitchPush:
        """The same switch in other hands, as far as it came; what still works for this one is stopped."""
        other = copy.copy(self)
        other.notes = list(self.notes)
        other.hand = self.hand.taken_off(reason)
        other.lost = True
        other._say = say
        return other

    def prepare(self) -> None:
        """All short of a change: identity, state, lock, copies, the way back, the timer. Refuses by PushError.

        When the run `already` has done what is planned, that is all that is found out.
        """
        hand, order = self.hand, self.order
        hand.session.open(order.deadlines.open)
        reading = self._read()
        reasons = preflight.identity(reading, order.plan) if order.plan is not None else []
        if reasons:
            raise PushError(f"another box answers for {hand.name}: {'; '.join(reasons)}; nothing was sent to change it")
        refused, notes = preflight.state(
            reading,
            order.desired.tables,
            self.change.base_digest,
            release=order.plan.release if order.plan is not None else "",
            now=time.time(),
            run_id=order.run_id,
            break_lock=order.break_lock,
        )
        self.notes += notes
        if refused == [preflight.MOVED]:
            # An old plan, or the same one again: where another run has done all of it there is nothing to refuse.
            self.already = preflight.already(reading, order.desired, self.change)
            if self.already is not None:
                return
        if refused:
            raise PushError(f"{'; '.join(refused)}; nothing was changed")
        self._before = reading
        self._boot_id = reading.boot_id
        self._take_lock()
        self._must("keep what is there", "sh -s", stdin=undo.keep_script(hand.folder, hand.run_id).encode())
        script = undo.undo_script(
            hand.folder, hand.run_id, method=self.change.method, frr_commands=self._commands_back()
        )
        hand.put("write the way back", script.encode(), f"{hand.folder}/undo.sh")
        if order.commit_confirm:
            pending = {"run_id": hand.run_id, "owner": order.owner, "since": time.time(), "boot_id": reading.boot_id}
            arm = undo.arm_script(hand.folder, hand.run_id, order.deadlines.confirm, json.dumps(pending))
            self._must("arm the timer that undoes it", "sh -s", stdin=arm.encode())
            self.armed = True
        if order.drain and order.plan is not None:
            self.drained = True
            ports = [name for name, port in order.plan.switches[hand.name].ports.items() if port.use is PortUse.FABRIC]
            try:
                drain(hand, ports, patience_s=order.deadlines.drain)
            except RailfabError:
                undrain(hand)
                raise

    def carry_out(self) -> None:
        """Make the change and prove it by reading back. Nothing is saved yet."""
        try:
            self._carry_out()
        except TransportError as error:
            # A step that took too long on a switch that still answers is no lost switch.
            self.lost = not isinstance(error, DeadlineError) or not self._answers()
            raise

    def _carry_out(self) -> None:
        self._must("from here on", undo.changing_script(self.hand.folder, self._boot_id))
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
            if self.change.impact >= Impact.RESTARTS_BGP:
                # A bgp restart can lose mode and frr.conf as a reload can.
                if self.change.frr_text is not None:
                    self._install_frr()
                self._wait_ready()
        self._prove()
        self._say(Outcome.PENDING, "changed, read back as planned, not saved", None)

    def examine(self) -> str:
        """What a run that was killed left here: `done`, `untouched`, `put back`, or `half`. Changes nothing."""
        hand = self.hand
        hand.session.open(self.order.deadlines.open)
        undone = hand.ask("was it put back?", f"cat {quote(hand.folder)}/undone 2>/dev/null").stdout.strip()
        reading = self._read()
        self._boot_id = reading.boot_id
        self.touched = True
        self.locked = reading.lock is not None and preflight.same_run(reading.lock.run_id, hand.run_id)
        if digest(reading.config, self.order.desired.tables) == self.change.base_digest:
            return "put back" if undone == "0" else "untouched"
        if not undone and not residue(self.order.desired, reading.config, self.change):
            return "done"
        return "half"

    def _answers(self) -> bool:
        try:
            return self.hand.session.run("true", deadline_s=5.0).ok
        except TransportError:
            return False

    def settle(self) -> None:
        """Keep the change: frr.conf in place, saved, marked, confirmed, unlocked."""
        hand, order = self.hand, self.order
        hand.session.open(order.deadlines.open)
        script = undo.confirm_script(hand.folder, hand.run_id, self._boot_id)
        confirm = hand.ask("confirm", "sh -s", stdin=script.encode())
        if confirm.rc == undo.REBOOTED:
            self._rebooted()
        if confirm.rc == 4:
            raise PushError("the switch put itself back before it could be confirmed (its timer ran out)")
        if not confirm.ok:
            raise PushError(f"could not be confirmed: {reason(confirm)}; its timer will put it back")
        if self.drained:
            undrain(hand)
        if self.change.frr_text is not None and self.change.method != "reload":
            self._install_frr()
        self._must("save", "config save -y", deadline_s=order.deadlines.patch)
        if order.new_password is not None and self._before is not None and self._is_new():
            # By standard input: an argument would be in the switch's process list.
            given = f"{order.user}:{order.new_password}\n".encode()
            self._must("change the factory login", "chpasswd", stdin=given)
        self._write_mark()
        self.release()
        self._say(Outcome.APPLIED, "changed, saved", None)

    def undo(self, step: str = "undo") -> str:
        """Put the switch back; returns what state it is in. PushError says what still differs (F022)."""
        hand, order = self.hand, self.order
        if not self.touched:
            self.release()
            return "nothing was changed"
        if self.lost:
            hand.session.close()
        answer = self._once(step, f"sh {quote(hand.folder)}/undo.sh", order.deadlines.reload)
        self.put_back(answer)
        self.release()
        return "put back to what it ran before"

    def go_back(self, run_id: str, *, saved: bool) -> str:
        """Undo a run that is over; `saved` says that it had kept its change here."""
        hand = self.hand
        hand.session.open(self.order.deadlines.open)
        reading = self._read()
        if saved and reading.mark is not None and not preflight.same_run(reading.mark.run_id, run_id):
            raise PushError(
                f"run {reading.mark.run_id} has changed it since; put that one back first; nothing was changed"
            )
        lock = reading.lock
        if lock is not None and not preflight.same_run(lock.run_id, run_id) and not self.order.break_lock:
            raise PushError(f"somebody else pushes to it: {lock.says(time.time())}; nothing was changed")
        marks = hand.ask("how far it came", f"cd {quote(hand.folder)} 2>/dev/null && ls").stdout.split()
        if not saved and "changing" not in marks:
            self.locked = lock is not None and preflight.same_run(lock.run_id, run_id)
            self.leave()
            return "nothing had been changed; lock and timer are gone"
        saved = saved or "confirmed" in marks
        self._take_lock()
        self.touched = True
        self._must(
            "clear what an earlier way back left", f"rm -rf {quote(hand.folder)}/undoing {quote(hand.folder)}/undone"
        )
        state = self.undo(f"undo-{time.time_ns()}")
        if saved:
            self.hand.session.open(self.order.deadlines.open)
            self._must("save", "config save -y", deadline_s=self.order.deadlines.patch)
            state += ", saved"
        return state

    def leave(self) -> None:
        """A switch that a dead run prepared, or that was put back: no lock, no timer, nothing pending."""
        hand = self.hand
        clear = f"rm -f {quote(hand.folder)}/changing"
        hand.ask("it is as it was", clear)
        script = undo.abandon_script(hand.folder, hand.run_id)
        hand.ask("leave it as it was", "sh -s", stdin=script.encode())
        self.release()
        self.touched = False

    def put_back(self, answer: Answer) -> None:
        """After the way back was run: wait, let traffic back, mend what is left of routing, and prove it."""
        hand, order = self.hand, self.order
        self._wait_back(answer)
        if self.drained:
            undrain(hand)
        kept = hand.ask("routing as it ran before", f"cat {quote(hand.folder)}/kept/frr.running", quiet=True)
        reading = self._read()
        if kept.ok and "router bgp" in kept.stdout and reading.config.frr is not None:
            left = frr_diff(kept.stdout, reading.config.frr)
            if left.commands:
                self._vtysh("undo-rest", left.commands)
                reading = self._read()
        if digest(reading.config, order.desired.tables) != self.change.base_digest:
            raise PushError(
                "rollback failed, the live configuration differs from what ran before: "
                f"{self._differs(reading)}; the switch said: {reason(answer)}"
            )

    def abandon(self) -> None:
        """Leave a switch that was prepared and not changed as if nobody had been there."""
        if self._before is not None:
            script = undo.abandon_script(self.hand.folder, self.hand.run_id)
            self.hand.ask("leave it as it was", "sh -s", stdin=script.encode())
        self.release()

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
        self._dry_run(path)
        answer = self._once("patch", f"config apply-patch {path}", self.order.deadlines.patch)
        problem = patch_problem(answer)
        if problem is not None:
            raise PushError(f"the patch was not applied: {problem}")

    def _dry_run(self, path: str) -> None:
        """Let the updater judge the patch first; when it refuses, ask whether it refuses what runs now (F024)."""
        deadline = self.order.deadlines.patch
        answer = self._once("dry-run", f"config apply-patch -d {path}", deadline)
        if answer.ok or re.search(r"no such option", answer.stderr, re.IGNORECASE):
            return
        self._must("nothing was changed after all", f"rm -f {quote(self.hand.folder)}/changing")
        self.touched = False
        empty = self._once("dry-run-nothing", "echo '[]' | config apply-patch -d /dev/stdin", deadline)
        if not empty.ok:
            blockers = "; ".join(self.change.foreign[:3]) or reason(empty)
            raise PushError(
                f"the updater refuses what the switch runs already, before our change: {blockers}; mend that first; "
                "nothing was changed"
            )
        raise PushError(f"the updater refuses the patch: {reason(answer)}; nothing was changed")

    def _routing(self) -> None:
        text = self.change.frr_text
        if text is not None:
            on_switch, inside = undo.frr_path(self.hand.run_id, "whole")
            self.hand.put("frr.conf for a check", text.encode(), on_switch, mode=0o644)
            try:
                self._must("check frr.conf", f"docker exec {undo.CONTAINER} vtysh -C -f {inside}")
            finally:
                self.hand.ask("remove the checked copy", f"rm -f {on_switch}")
        self._vtysh("frr", self.change.frr_commands)

    def _vtysh(self, name: str, commands: Sequence[str]) -> None:
        on_switch, inside = undo.frr_path(self.hand.run_id, name)
        self.hand.put(f"routing commands ({name})", ("\n".join(commands) + "\n").encode(), on_switch, mode=0o644)
        check = f"docker exec {undo.CONTAINER} vtysh -C -f {inside}"
        run = f"docker exec {undo.CONTAINER} vtysh -f {inside}"
        answer = self._once(name, f"{check} && {run}; rc=$?; rm -f {on_switch}; exit $rc", self.order.deadlines.step)
        if not answer.ok:
            raise PushError(f"FRR refused the routing commands: {reason(answer)}")

    def _reload(self) -> None:
        order, hand = self.order, self.hand
        if self._is_new():
            # A factory box asks DHCP for a configuration and would overwrite ours (sonic-utilities:config ztp).
            self._must("stop zero-touch provisioning", "[ ! -x /usr/bin/ztp ] || config ztp disable -y")
        config = hand.ask("what the image keeps", "sonic-cfggen -d --print-data", quiet=True)
        try:
            base = json.loads(config.stdout)
            assert isinstance(base, dict)
        except (ValueError, AssertionError):
            raise PushError(f"its CONFIG_DB could not be read whole: {reason(config)}; nothing was changed") from None
        target = merged(order.desired.tables, base)
        path = f"{hand.folder}/config_db.json"
        hand.put("whole configuration", json.dumps(target, indent=1).encode(), path)
        if order.desired.frr is not None:
            self._install_frr()
        answer = self._once("reload", f"config reload -y -f {path}", order.deadlines.reload)
        if not answer.ok:
            raise PushError(f"config reload failed: {reason(answer)}")
        self._wait_ready()

    def _is_new(self) -> bool:
        before = self._before
        return before is not None and not is_ours(self.order.desired.tables, before.config.tables)

    def _install_frr(self) -> None:
        source = f"{self.hand.folder}/frr.conf"
        text = self.order.desired.frr or ""
        self.hand.put("new frr.conf", text.encode(), source, mode=0o600)
        self._must("put frr.conf in place", "sh -s", stdin=undo.install_frr_script(source).encode())

    def _wait_ready(self) -> None:
        """After a reload: wait until the switch runs what it was given; put back what the reload itself lost, once."""
        until = time.monotonic() + self.order.deadlines.ready
        half_time = time.monotonic() + self.order.deadlines.ready / 3
        problem, healed = "it did not answer", False
        while time.monotonic() < until:
            try:
                self.hand.session.open(min(20.0, max(1.0, until - time.monotonic())))
                lost = lost_after_reload(self._read(), self.order.desired)
                if not lost:
                    return
                problem = "; ".join(lost)
                gone = any("is gone" in one or "not the one" in one or "routing mode" in one for one in lost)
                if not healed and (gone or time.monotonic() > half_time):
                    healed = True
                    self._heal(problem)
            except (TransportError, CollectError) as error:
                problem = str(error)
                self.hand.session.close()
            time.sleep(0.5)
        raise PushError(f"after the reload: {problem}")

    def _heal(self, problem: str) -> None:
        """A reload lost our routing (public reports, sonic.md 1.7): put mode and file back, restart bgp, and say so."""
        self.notes.append(f"the reload lost our routing ({problem}); mode and frr.conf were put back, bgp restarted")
        metadata = self.order.desired.tables.get("DEVICE_METADATA", {}).get("localhost", {})
        mode = metadata.get("docker_routing_config_mode")
        if isinstance(mode, str):
            key = "'DEVICE_METADATA|localhost' docker_routing_config_mode"
            self.hand.ask("put the routing mode back", f"sonic-db-cli CONFIG_DB HSET {key} {quote(mode)}")
        if self.order.desired.frr is not None:
            self._install_frr()
        self._must("restart bgp", "systemctl restart bgp", deadline_s=self.order.deadlines.reload)

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
            reading = self._read()
            left = residue(self.order.desired, reading.config, self.change)
            if not left:
                return
            if self._boot_id and reading.boot_id != self._boot_id:
                self._rebooted(reading)
            if time.monotonic() > until:
                shown = "; ".join(left[:6]) + (f"; and {len(left) - 6} more" if len(left) > 6 else "")
                raise PushError(f"what it runs now is not what was planned: {shown}")
            time.sleep(0.5)

    def _rebooted(self, reading: Reading | None = None) -> None:
        """What it ran is gone but for what stood on disk, and so are our lock and the timer that undoes the run."""
        left = residue(self.order.desired, (reading or self._read()).config, self.change)
        shown = "; ".join(left[:4]) + (f"; and {len(left) - 4} more" if len(left) > 4 else "")
        self._say(Outcome.PENDING, f"rebooted before all was saved; what it lacks: {shown or 'nothing'}", None)
        raise PushError("the switch rebooted before the change was saved; --resume makes it anew, rollback clears up")

    def _write_mark(self) -> None:
        up, watchdog = mark_of(self.order.desired.tables)
        after = self._read()
        if self._boot_id and after.boot_id != self._boot_id and residue(self.order.desired, after.config, self.change):
            self._rebooted(after)
        mark = Mark(self.order.run_id, digest(after.config, self.order.desired.tables), up, watchdog)
        self.hand.put("mark", json.dumps(plain(mark)).encode(), MARK, mode=0o644)

    def _commands_back(self) -> Sequence[str]:
        before = self._before.config.frr if self._before else None
        if not self.change.frr_commands or before is None or self.order.desired.frr is None:
            return ()
        return frr_diff(before, self.order.desired.frr).commands

    def _differs(self, reading: Reading) -> str:
        base = self._before
        if base is None:
            return "in rows that cannot be named any more (the run that made the change was killed)"
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

    def _once(self, name: str, command: str, deadline_s: float) -> Answer:
        # A switch that was out of reach and has a timer of its own is not waited for again.
        away = 5.0 if self.lost and self.armed else self.order.deadlines.out_of_reach
        return self.hand.once(name, command, deadline_s=deadline_s, away_s=away)

    def _must(self, what: str, command: str, *, deadline_s: float | None = None, stdin: bytes | None = None) -> Answer:
        answer = self.hand.ask(what, command, deadline_s=deadline_s or self.order.deadlines.step, stdin=stdin)
        if not answer.ok:
            raise PushError(f"{what}: {reason(answer)}")
        return answer
