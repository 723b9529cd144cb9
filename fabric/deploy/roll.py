"""Rolling a ChangePlan out: waves over Nornir, gates between them, undo when one fails, a record of all of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from nornir.core import Nornir
from nornir.core.processor import Processor, Processors
from nornir.core.task import Result, Task

from fabric.deploy.hand import Hand
from fabric.deploy.record import Record, owner, start
from fabric.deploy.switch import Deadlines, Order, SwitchPush, order_for
from fabric.errors import InputError, Problem, PushError, RailfabError
from fabric.nornir_plugins.inventory import PUSH
from fabric.nornir_plugins.runner import BoundedRunner
from fabric.transport.session import Session
from fabric.values.change import ChangePlan, DeviceRun, Exchange, Outcome, Run, Wave
from fabric.values.codec import decode, dumps
from fabric.values.device_config import DeviceConfig
from fabric.values.plan import Plan

# Whether the fabric is well after a wave: given the wave and every switch changed so far, it returns what is not well
# (switch or "" for the fabric -> reason); empty is well. It raises RailfabError when it cannot tell.
Health = Callable[[Wave, Sequence[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Options:
    """How a roll-out goes. `only` leaves the other switches of the plan as they are. Deadlines in seconds."""

    RUN_DEADLINE_S: ClassVar[float] = 6 * 3600.0

    deadlines: Deadlines = field(default_factory=Deadlines)
    workers: int = 32
    device_deadline_s: float = 3600.0
    run_deadline_s: float = RUN_DEADLINE_S
    break_lock: bool = False
    commit_confirm: bool = True
    only: frozenset[str] | None = None


def apply(
    change_plan: ChangePlan,
    nornir: Nornir,
    plan: Plan,
    health: Health,
    runs: Path,
    *,
    options: Options | None = None,
    processors: Callable[[str, int], Sequence[Processor]] | None = None,
    connection: str = PUSH,
) -> Run:
    """Apply a plan; returns the record, which is on disk too.

    `nornir` has the switches and a way to reach them; its runner is replaced by the bounded one. `health` is asked
    after each wave that has a gate; when it says no the wave is undone and the run stops. InputError before anything
    is sent when plan and intent do not belong together.
    """
    chosen = options or Options()
    if change_plan.intent_hash != plan.intent_hash:
        raise InputError(
            Problem(
                "the intent has changed since the plan was made",
                f"plan again: railfab plan {change_plan.intent} -o PLAN",
                file=change_plan.intent,
            )
        )
    record = start(runs, change_plan)
    roll = _Roll(change_plan, nornir, plan, health, record, chosen, processors, connection)
    return roll.run()


class _Roll:
    """One run."""

    def __init__(
        self,
        change_plan: ChangePlan,
        nornir: Nornir,
        plan: Plan,
        health: Health,
        record: Record,
        options: Options,
        processors: Callable[[str, int], Sequence[Processor]] | None,
        connection: str,
    ) -> None:
        self._change_plan = change_plan
        self._nornir = nornir
        self._plan = plan
        self._health = health
        self._record = record
        self._options = options
        self._processors = processors
        self._connection = connection
        self._owner = owner()
        self._pushes: dict[str, SwitchPush] = {}
        self._runs: dict[str, DeviceRun] = {}
        self._lock = threading.Lock()
        self._started = time.time()
        self._end = time.monotonic() + options.run_deadline_s
        self._stopped: str | None = None

    def run(self) -> Run:
        for name, change in self._change_plan.changes.items():
            if change.refused:
                self._set(name, Outcome.REFUSED, "nothing was sent", change.refused)
            elif change.method == "none":
                self._set(name, Outcome.UNCHANGED, "as planned already", None)
            else:
                self._set(name, Outcome.SKIPPED, "its wave has not come", None)
        for name, reason in self._change_plan.unreachable.items():
            self._set(name, Outcome.SKIPPED, "could not be read when the plan was made", reason)
        changed: list[str] = []
        try:
            for wave in self._change_plan.waves:
                if not self._wave(wave, changed):
                    break
        except KeyboardInterrupt:
            self._stopped = "stopped by Ctrl-C; switches that are pending put themselves back when their timer ends"
            self._record.event("interrupted")
            raise
        finally:
            run = self._finish()
        return run

    def _wave(self, wave: Wave, changed: list[str]) -> bool:
        names = [
            name
            for name in wave.devices
            if self._runs[name].outcome is Outcome.SKIPPED
            and (self._options.only is None or name in self._options.only)
        ]
        if not names:
            return True
        self._record.event("wave", name=wave.name, devices=names)
        good = self._each(wave.name, names, self._carry_out)
        bad = [name for name in names if name not in good]
        reason = None
        if bad:
            reason = f"wave {wave.name!r} failed on {', '.join(bad)}"
        elif wave.gate:
            reason = self._gate(wave, [*changed, *good])
        if reason is not None:
            self._stopped = reason
            self._record.event("stopped", reason=reason)
            self._each(f"undo {wave.name}", [name for name in names if self._touched(name)], self._undo)
            return False
        settled = self._each(f"settle {wave.name}", good, self._settle)
        changed += settled
        if len(settled) < len(good):
            self._stopped = f"wave {wave.name!r} could not be kept on {', '.join(sorted(set(good) - set(settled)))}"
            return False
        return True

    def _gate(self, wave: Wave, changed: Sequence[str]) -> str | None:
        try:
            unwell = self._health(wave, changed)
        except RailfabError as error:
            return f"the fabric's health could not be told after wave {wave.name!r}: {error}"
        self._record.event("gate", wave=wave.name, unwell=dict(unwell))
        if not unwell:
            return None
        shown = "; ".join(f"{name}: {why}" if name else why for name, why in list(unwell.items())[:4])
        more = f"; and {len(unwell) - 4} more" if len(unwell) > 4 else ""
        return f"the fabric is not well after wave {wave.name!r}: {shown}{more}"

    def _each(self, title: str, names: Sequence[str], work: Callable[[str, Session], None]) -> list[str]:
        """Run one part on these switches side by side; the names it went well on, in order."""
        if not names:
            return []
        wanted = frozenset(names)

        def task(task: Task) -> Result:
            session: Session = task.host.get_connection(self._connection, task.nornir.config)
            work(task.host.name, session)
            return Result(host=task.host)

        left = max(1.0, self._end - time.monotonic())
        runner = BoundedRunner(self._options.workers, self._options.device_deadline_s, left)
        extra: list[Any] = list(self._processors(title, len(names))) if self._processors else []
        chosen = self._nornir.filter(filter_func=lambda host: host.name in wanted).with_runner(runner)
        chosen = Nornir(
            chosen.inventory,
            config=chosen.config,
            data=type(self._nornir.data)(dry_run=False, failed_hosts=set()),
            processors=Processors(extra),
            runner=runner,
        )
        results = chosen.run(task=task, name=title, raise_on_error=False)
        good = []
        for name in names:
            result = results.get(name)
            if result is None or result.failed:
                error = next((one.exception for one in result or () if one.exception is not None), None)
                self._failed(name, error)
            else:
                good.append(name)
        return good

    # -- the three parts of one switch ---------------------------------------------------------------------------

    def _carry_out(self, name: str, session: Session) -> None:
        push = self._push(name, session)
        self._say(name, Outcome.PENDING, "checking before the change", None)
        try:
            push.prepare()
        except RailfabError as error:
            with suppress(RailfabError):
                push.release()
            self._say(name, Outcome.REFUSED, "nothing was changed", str(error))
            raise
        push.carry_out()

    def _settle(self, name: str, session: Session) -> None:
        self._push(name, session).settle()

    def _undo(self, name: str, session: Session) -> None:
        push = self._push(name, session)
        why = self._runs[name].error or self._stopped
        try:
            state = push.undo()
        except RailfabError as error:
            self._say(name, Outcome.ROLLBACK_FAILED, "not as it was before", f"{why}; {error}")
            raise
        self._say(name, Outcome.ROLLED_BACK, state, why)

    def _push(self, name: str, session: Session) -> SwitchPush:
        push = self._pushes.get(name)
        if push is None:
            hand = Hand(session, self._record.run_id, lambda exchange: self._record.exchange(name, exchange))
            push = SwitchPush(hand, self._order(name), lambda *state: self._say(name, *state))
            self._pushes[name] = push
        push.hand.session = session
        return push

    def _order(self, name: str) -> Order:
        desired = decode(DeviceConfig, self._change_plan.desired[name])
        return order_for(
            self._change_plan.changes[name],
            desired,
            self._plan,
            self._record.run_id,
            self._owner,
            deadlines=self._options.deadlines,
            break_lock=self._options.break_lock,
            commit_confirm=self._options.commit_confirm,
        )

    def _touched(self, name: str) -> bool:
        push = self._pushes.get(name)
        return push is not None and push.touched and self._runs[name].outcome is not Outcome.ROLLED_BACK

    def _failed(self, name: str, error: BaseException | None) -> None:
        there = self._runs[name]
        if there.outcome in (Outcome.REFUSED, Outcome.ROLLBACK_FAILED):
            return
        reason = str(error) if isinstance(error, RailfabError) else f"{type(error).__name__}: {error}"
        push = self._pushes.get(name)
        if push is None:
            # Nobody got as far as a session: nothing was sent.
            self._say(name, Outcome.FAILED, "could not be reached; nothing was changed", reason)
        elif not push.touched:
            self._say(name, Outcome.REFUSED, "nothing was changed", reason)
        else:
            self._say(name, Outcome.FAILED, there.state or "changing", reason)

    def _say(self, name: str, outcome: Outcome, state: str, error: str | None) -> None:
        self._record.state(name, outcome, state, error)
        self._set(name, outcome, state, error)

    def _set(self, name: str, outcome: Outcome, state: str, error: str | None) -> None:
        change = self._change_plan.changes.get(name)
        with self._lock:
            self._runs[name] = DeviceRun(
                name,
                outcome,
                state,
                error,
                ports_flapped=change.ports_flapped if change else (),
                sessions_reset=change.sessions_reset if change else (),
            )

    def _finish(self) -> Run:
        devices = {}
        for name, device_run in self._runs.items():
            push = self._pushes.get(name)
            exchanges: tuple[Exchange, ...] = tuple(push.hand.exchanges) if push else ()
            checkpoint = f"railfab-{self._record.run_id}" if push and push.touched else None
            devices[name] = replace(device_run, exchanges=exchanges, checkpoint=checkpoint)
        import hashlib

        run = Run(
            run_id=self._record.run_id,
            fabric=self._change_plan.fabric,
            plan_digest=hashlib.sha256(dumps(self._change_plan).encode()).hexdigest(),
            started_at=self._started,
            ended_at=time.time(),
            devices=devices,
            stopped=self._stopped,
        )
        self._record.close(run)
        self._nornir.close_connections(on_good=True, on_failed=True)
        return run


def good(run: Run) -> bool:
    """Whether every switch of a run is as planned."""
    return run.stopped is None and all(
        device.outcome in (Outcome.APPLIED, Outcome.UNCHANGED) for device in run.devices.values()
    )


__all__ = ["Health", "Options", "PushError", "apply", "good"]
