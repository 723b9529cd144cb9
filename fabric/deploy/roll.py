"""Rolling a ChangePlan out: waves over Nornir, gates between them, undo when one fails, a record of all of it."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from nornir.core import Nornir
from nornir.core.inventory import Hosts, Inventory
from nornir.core.processor import Processor, Processors
from nornir.core.state import GlobalState
from nornir.core.task import Result, Task

from fabric.deploy.hand import Hand
from fabric.deploy.order import Deadlines, order_for
from fabric.deploy.record import Record, owner, start
from fabric.deploy.switch import SwitchPush
from fabric.deploy.waves import compute_nodes, refusals
from fabric.errors import DeadlineError, InputError, Problem, RailfabError, TransportError
from fabric.nornir_plugins.inventory import PUSH
from fabric.nornir_plugins.runner import BoundedRunner, HostCutError
from fabric.transport.session import Session
from fabric.values.change import ChangePlan, DeviceRun, Exchange, Outcome, Run, Wave
from fabric.values.codec import decode
from fabric.values.device_config import DeviceConfig
from fabric.values.plan import Plan

# A refusal is a result with a message; without this its traceback also reaches stderr through logging's handler of last
# resort.
logging.getLogger("nornir").addHandler(logging.NullHandler())

# Whether the fabric is well after a wave: given the wave and every switch changed so far, it returns what is not well
# (switch or "" for the fabric -> reason); empty is well. It raises RailfabError when it cannot tell.
Health = Callable[[Wave, Sequence[str]], Mapping[str, str]]
_CLOSE_S = 10.0
UNREACHED = "could not be reached; nothing was changed"
ProcessorMaker = Callable[[str, int], Sequence[Processor]]


@dataclass(frozen=True, slots=True)
class Options:
    """How a roll-out goes. Deadlines in seconds.

    `only` leaves the other switches of the plan as they are. `idle` are nodes without a job; `accepted` switches
    whose impact on running jobs somebody takes on; `accept_mixed` a fabric half changed. `new_password` (of `user`)
    replaces the factory's on new boxes.
    """

    RUN_DEADLINE_S: ClassVar[float] = 6 * 3600.0

    deadlines: Deadlines = field(default_factory=Deadlines)
    workers: int = 32
    device_deadline_s: float = 3600.0
    run_deadline_s: float = RUN_DEADLINE_S
    break_lock: bool = False
    commit_confirm: bool = True
    only: frozenset[str] | None = None
    idle: Collection[str] = ()
    accepted: Collection[str] = ()
    accept_mixed: bool = False
    user: str = "admin"
    new_password: str | None = field(default=None, repr=False)


def apply(
    change_plan: ChangePlan,
    nornir: Nornir,
    plan: Plan,
    health: Health,
    runs: Path,
    *,
    options: Options | None = None,
    processors: ProcessorMaker | None = None,
    connection: str = PUSH,
) -> Run:
    """Apply a plan; returns the record, which is on disk too.

    `nornir` has the switches and a way to reach them; its runner is replaced by the bounded one. `health` is asked
    after each wave that has a gate; when it says no the wave is undone and the run stops. InputError before anything
    is sent when plan and intent do not belong together, or running jobs would be hit.
    """
    chosen = options or Options()
    agree(change_plan, plan, chosen)
    record = start(runs, change_plan)
    return Roll(change_plan, nornir, plan, health, record, chosen, processors, connection).run()


def agree(change_plan: ChangePlan, plan: Plan, options: Options) -> None:
    """InputError when the plan is of another intent, or would hit jobs nobody agreed to hit."""
    if change_plan.intent_hash != plan.intent_hash:
        raise InputError(
            Problem(
                "the intent has changed since the plan was made",
                f"plan again: railfab plan {change_plan.intent} -o PLAN",
                file=change_plan.intent,
            )
        )
    only = options.only
    waves = [
        wave
        if only is None
        else replace(
            wave, devices=tuple(name for name in wave.devices if name in only), nodes=wave.nodes if wave.nodes else ()
        )
        for wave in change_plan.waves
        if only is None or only & set(wave.devices)
    ]
    found = refusals(
        waves,
        change_plan.hazards,
        hosts=compute_nodes(plan),
        idle=options.idle,
        accepted=options.accepted,
        accept_mixed=options.accept_mixed,
    )
    if found:
        raise InputError([Problem(f"refused: {reason}", "nothing was sent") for reason in found])


class Roll:
    """One run: its switches, where each stands, and the record.

    `attempts` says by which attempt a switch was last worked on, for a run that is gone on with.
    """

    def __init__(
        self,
        change_plan: ChangePlan,
        nornir: Nornir,
        plan: Plan,
        health: Health,
        record: Record,
        options: Options,
        processors: ProcessorMaker | None,
        connection: str,
        attempts: Mapping[str, int] | None = None,
    ) -> None:
        self.change_plan = change_plan
        self.record = record
        self.runs: dict[str, DeviceRun] = {}
        self.stopped: str | None = None
        self._attempts = dict(attempts or {})
        self._nornir = nornir
        self._plan = plan
        self._health = health
        self._options = options
        self._processors = processors
        self._connection = connection
        self._owner = owner()
        self._pushes: dict[str, SwitchPush] = {}
        self._lock = threading.Lock()
        self._started = time.time()
        self._end = time.monotonic() + options.run_deadline_s

    def run(self) -> Run:
        """Every wave in order, until one goes wrong."""
        self.begin()
        return self.waves()

    def begin(self) -> None:
        """Set every switch to where it stands before the first wave."""
        for name, change in self.change_plan.changes.items():
            if change.refused:
                self.set(name, Outcome.REFUSED, "nothing was sent", change.refused)
            elif change.method == "none":
                self.set(name, Outcome.UNCHANGED, "as planned already", None)
            else:
                self.set(name, Outcome.SKIPPED, "its wave has not come", None)
        for name, reason in self.change_plan.unreachable.items():
            self.set(name, Outcome.SKIPPED, "could not be read when the plan was made", reason)

    def waves(self, changed: Sequence[str] = ()) -> Run:
        """The waves whose switches are still to come."""
        done = list(changed)
        try:
            for wave in self.change_plan.waves:
                if self.stopped is not None or not self._wave(wave, done):
                    break
        except KeyboardInterrupt:
            self.stopped = "stopped by Ctrl-C; what is pending puts itself back when its timer ends"
            self.record.event("interrupted")
            self.finish()
            raise
        return self.finish()

    def each(
        self,
        title: str,
        names: Sequence[str],
        work: Callable[[SwitchPush], None],
        drain: bool = False,
        *,
        until: float | None = None,
        over: str | None = None,
    ) -> list[str]:
        """Run one part on these switches side by side; the names it went well on, in order.

        What is not done by `until` (a monotonic time; the end of the run when None) is given up, and `over` said of it.
        """
        if not names:
            return []

        def task(task: Task) -> Result:
            session: Session = task.host.get_connection(self._connection, task.nornir.config)
            work(self._push(task.host.name, session, drain))
            return Result(host=task.host)

        runner = BoundedRunner(
            self._options.workers,
            self._options.device_deadline_s,
            max(0.0, (until or self._end) - time.monotonic()),
            over=over or self._over(),
        )
        extra: list[Any] = list(self._processors(title, len(names))) if self._processors else []
        chosen = Nornir(
            self._only(names),
            config=self._nornir.config,
            data=GlobalState(dry_run=False),
            processors=Processors(extra),
            runner=runner,
        )
        results = chosen.run(task=task, name=title, raise_on_error=False)
        good = []
        for name in names:
            result = results.get(name)
            if result is None or result.failed:
                self._failed(name, next((one.exception for one in result or () if one.exception is not None), None))
            else:
                good.append(name)
        return good

    def _only(self, names: Sequence[str]) -> Inventory:
        # Not by a filter: a wave of thousands goes in batches, and each would look at every host.
        whole = self._nornir.inventory
        hosts = Hosts((name, whole.hosts[name]) for name in names if name in whole.hosts)
        return Inventory(hosts, groups=whole.groups, defaults=whole.defaults)

    def anew(self, names: Iterable[str]) -> None:
        """These switches are as before the run: let their wave change them, with steps of new names."""
        for name in names:
            self._pushes.pop(name, None)
            self._attempts.pop(name, None)
            self.say(name, Outcome.SKIPPED, "its wave comes again", None)

    def settle(self, push: SwitchPush) -> None:
        """Keep one switch's change."""
        push.settle()

    def undo(self, push: SwitchPush) -> None:
        """Put one switch back, and say what came of it."""
        name = push.hand.name
        why = self.runs[name].error or self.stopped
        try:
            state = push.undo()
        except TransportError as error:
            told = f"{why}; {error}" if why else str(error)
            if push.armed:
                wait = self._options.deadlines.confirm
                state = f"cannot be reached; it puts itself back within {wait} s of the change (then --resume tells)"
                self.say(name, Outcome.PENDING, state, told)
            else:
                self.say(name, Outcome.ROLLBACK_FAILED, "cannot be reached; nobody knows what it runs", told)
            raise
        except RailfabError as error:
            self.say(name, Outcome.ROLLBACK_FAILED, "not as it was before", f"{why}; {error}" if why else str(error))
            raise
        self.say(name, Outcome.ROLLED_BACK, state, why)

    def say(self, name: str, outcome: Outcome, state: str, error: str | None) -> None:
        """Where a switch stands now: in the record on disk, and here."""
        # The attempt whose folder on the switch has the way back: a run gone on with goes back by the first one's.
        self.record.state(name, outcome, state, error, self._attempts.get(name, self.record.attempt))
        self.set(name, outcome, state, error)

    def set(self, name: str, outcome: Outcome, state: str, error: str | None) -> None:
        """Where a switch stands now, here only."""
        change = self.change_plan.changes.get(name)
        flapped, reset = (change.ports_flapped, change.sessions_reset) if change else ((), ())
        with self._lock:
            self.runs[name] = DeviceRun(name, outcome, state, error, ports_flapped=flapped, sessions_reset=reset)

    def finish(self) -> Run:
        """Write the result and close every connection."""
        devices = {}
        for name, device in self.runs.items():
            push = self._pushes.get(name)
            exchanges: tuple[Exchange, ...] = tuple(push.hand.exchanges) if push else ()
            checkpoint = f"railfab-{push.hand.run_id}" if push and push.touched else None
            state = "; ".join([device.state, *push.notes]) if push else device.state
            devices[name] = replace(device, exchanges=exchanges, checkpoint=checkpoint, state=state)
        run = Run(
            run_id=self.record.run_id,
            fabric=self.change_plan.fabric,
            plan_digest=hashlib.sha256((self.record.folder / "plan.json").read_bytes()).hexdigest(),
            started_at=self._started,
            ended_at=time.time(),
            devices=devices,
            stopped=self.stopped,
        )
        self.record.close(run)
        closing = self._nornir.with_runner(BoundedRunner(self._options.workers, run_deadline_s=_CLOSE_S))
        closing.close_connections(on_good=True, on_failed=True)
        return run

    def gate(self, wave: Wave, changed: Sequence[str], until: float | None = None) -> str | None:
        """Why the run must not go on after a wave, None when the fabric is well.

        A health check that has not answered by `until` (a monotonic time; the end of the run when None) is a no.
        """
        left = max(0.0, min(self._end, until or self._end) - time.monotonic())
        told: list[Mapping[str, str] | BaseException] = []

        def ask() -> None:
            try:
                told.append(self._health(wave, changed))
            except BaseException as error:
                # Raised again where the run is.
                told.append(error)

        asking = threading.Thread(target=ask, name="railfab-health", daemon=True)
        asking.start()
        asking.join(left)
        unwell = told[0] if told else DeadlineError(f"no answer in {left:.0f} s")
        if isinstance(unwell, RailfabError):
            return f"the fabric's health could not be told after wave {wave.name!r}: {unwell}"
        if isinstance(unwell, BaseException):
            raise unwell
        self.record.event("gate", wave=wave.name, unwell=dict(unwell))
        if not unwell:
            return None
        shown = "; ".join(f"{name}: {why}" if name else why for name, why in list(unwell.items())[:4])
        more = f"; and {len(unwell) - 4} more" if len(unwell) > 4 else ""
        return f"the fabric is not well after wave {wave.name!r}: {shown}{more}"

    def _wave(self, wave: Wave, changed: list[str]) -> bool:
        only = self._options.only
        names = [
            name
            for name in wave.devices
            if self.runs[name].outcome is Outcome.SKIPPED and (only is None or name in only)
        ]
        # No more at once than there are workers: a switch's timer runs from when its own change begins.
        size = self._options.workers
        return all(self._batch(wave, names[start : start + size], changed) for start in range(0, len(names), size))

    def _batch(self, wave: Wave, names: Sequence[str], changed: list[str]) -> bool:
        """Change these side by side; keep each that is well before its timer puts it back, whatever the others do."""
        self.record.event("wave", name=wave.name, devices=names)
        began, limits = time.monotonic(), self._options.deadlines
        timed = self._options.commit_confirm
        late = f"not done in {limits.to_change:g} s, and the others must be confirmed before their timers end"
        change_end = min(self._end, began + limits.to_change) if timed else self._end
        good = self.each(
            wave.name,
            names,
            self._carry_out,
            drain=wave.drain,
            until=change_end,
            over=late if change_end < self._end else None,
        )
        bad = [name for name in names if name not in good]
        good = [name for name in good if self.runs[name].outcome is not Outcome.UNCHANGED]
        # Undoing what was begun is given its time also when the run's is over: half done is worse than late.
        undo_end = began + limits.to_undo if timed and good else time.monotonic() + limits.grace
        self._undo(wave, bad, undo_end)
        if bad and not wave.fresh:
            # A new box that fails costs nobody anything; any other failure ends the run after this wave.
            self._stop(f"wave {wave.name!r} failed on {', '.join(bad)}")
        if good and wave.gate:
            reason = self.gate(wave, [*changed, *good], began + limits.to_judge if timed else None)
            if reason is not None:
                self._stop(reason)
                self._undo(wave, good, time.monotonic() + limits.grace)
                return False
        settled = self.each(
            f"settle {wave.name}", good, self.settle, until=max(self._end, time.monotonic() + limits.step)
        )
        changed += settled
        if len(settled) < len(good):
            self._stop(f"wave {wave.name!r} could not be kept on {', '.join(sorted(set(good) - set(settled)))}")
        return self.stopped is None

    def _undo(self, wave: Wave, names: Sequence[str], until: float) -> None:
        touched = [name for name in names if self._touched(name)]
        self.each(f"undo {wave.name}", touched, self.undo, until=until, over="it was not put back in time")

    def _over(self) -> str:
        return f"the run's {self._options.run_deadline_s:g} s were over"

    def _stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason
        self.record.event("stopped", reason=reason)

    def _carry_out(self, push: SwitchPush) -> None:
        name = push.hand.name
        self.say(name, Outcome.PENDING, "checking before the change", None)
        try:
            push.prepare()
            if push.already is not None:
                self.say(name, Outcome.UNCHANGED, f"as planned already, by run {push.already}", None)
                return
            push.carry_out()
        except RailfabError as error:
            if not push.touched:
                with suppress(RailfabError):
                    push.abandon()
                self.say(name, Outcome.REFUSED, "nothing was changed", str(error))
            raise

    def _push(self, name: str, session: Session, drain: bool) -> SwitchPush:
        push = self._pushes.get(name)
        if push is None:
            attempt = self._attempts.get(name, self.record.attempt)
            hand = Hand(session, self.record.run_id, lambda one: self.record.exchange(name, one), attempt)
            order = order_for(
                self.change_plan.changes[name],
                decode(DeviceConfig, self.change_plan.desired[name]),
                self._plan,
                self.record.run_id,
                self._owner,
                deadlines=self._options.deadlines,
                break_lock=self._options.break_lock,
                commit_confirm=self._options.commit_confirm,
                drain=drain,
                user=self._options.user,
                new_password=self._options.new_password,
            )
            push = SwitchPush(hand, order, self._voice(name))
            self._pushes[name] = push
        push.hand.session = session
        return push

    def _voice(self, name: str) -> Callable[[Outcome, str, str | None], None]:
        return lambda *state: self.say(name, *state)

    def _touched(self, name: str) -> bool:
        push = self._pushes.get(name)
        return push is not None and push.touched and self.runs[name].outcome is not Outcome.ROLLED_BACK

    def _failed(self, name: str, error: BaseException | None) -> None:
        there = self.runs[name]
        if isinstance(error, HostCutError):
            self._given_up(name, error)
            return
        if there.outcome in (Outcome.REFUSED, Outcome.ROLLBACK_FAILED) or (
            there.error and there.error.endswith(str(error))
        ):
            return
        told = str(error) if isinstance(error, RailfabError) else f"{type(error).__name__}: {error}"
        push = self._pushes.get(name)
        if push is None:
            self._never_reached(name, told)
        elif not push.touched:
            self.say(name, Outcome.REFUSED, "nothing was changed", told)
        else:
            self.say(name, Outcome.FAILED, there.state or "changing", told)

    def _never_reached(self, name: str, told: str) -> None:
        """Nobody got as far as a session: it is as it was, which an earlier attempt may have left half done."""
        there = self.runs[name]
        if there.outcome is Outcome.SKIPPED or there.state == UNREACHED:
            self.say(name, Outcome.FAILED, UNREACHED, told)
        else:
            self.say(name, there.outcome, f"cannot be reached now; last known: {there.state}", told)

    def _given_up(self, name: str, error: HostCutError) -> None:
        """Nobody waits for this switch any more: take it out of the hands that do, and say how it stands."""
        push = self._pushes.get(name)
        if push is None:
            self._never_reached(name, str(error))
            return
        push = self._pushes[name] = push.taken_over("given up: it took too long", self._voice(name))
        why = self.runs[name].error
        told = f"{why}; {error}" if why and not why.endswith(str(error)) else str(error)
        if not push.touched:
            self.say(name, Outcome.REFUSED, "nothing was changed", told)
        elif push.armed:
            wait = self._options.deadlines.confirm
            state = f"does not answer in time; it puts itself back within {wait} s of the change (then --resume tells)"
            self.say(name, Outcome.PENDING, state, told)
        else:
            self.say(name, Outcome.FAILED, "half changed: does not answer in time", told)


def untouched(device: DeviceRun) -> bool:
    """Whether a run has sent a switch nothing that changes it."""
    calm = (Outcome.UNCHANGED, Outcome.REFUSED, Outcome.SKIPPED)
    return device.outcome in calm or (device.outcome is Outcome.FAILED and device.state == UNREACHED)


def good(run: Run) -> bool:
    """Whether every switch of a run is as planned."""
    return run.stopped is None and all(
        device.outcome in (Outcome.APPLIED, Outcome.UNCHANGED) for device in run.devices.values()
    )
