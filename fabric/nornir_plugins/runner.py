"""A Nornir runner that ends: each host has a deadline, and so has the run.

Nornir's own threaded runner can neither time out nor cancel. Here a host that does not end in time gets a failed
result with a DeadlineError, its connections are cut, and the worker it blocks is replaced; the rest go on.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from nornir.core.inventory import Host
from nornir.core.task import AggregatedResult, MultiResult, Result, Task

from fabric.errors import DeadlineError

DEFAULT_WORKERS = 32


class HostCutError(DeadlineError):
    """The runner gave a host up. Its worker may still be at it: what that one does from now on counts no more."""


@dataclass(slots=True)
class _Work:
    host: Host
    task: Task
    started: float | None = None


class BoundedRunner:
    """Threads over hosts with deadlines in seconds: `host_deadline_s` from the host's start, `run_deadline_s` in all.

    None is no deadline. `stopped` is asked before each host starts: when it is true the rest are skipped with its
    reason. `over` is said of hosts that the run's deadline cuts. Workers are daemon threads, so that a hung one never
    keeps the process. A host given up has a HostCutError, one that was never started a DeadlineError.
    """

    def __init__(
        self,
        num_workers: int = DEFAULT_WORKERS,
        host_deadline_s: float | None = None,
        run_deadline_s: float | None = None,
        stopped: Callable[[], str | None] | None = None,
        over: str | None = None,
    ) -> None:
        self.num_workers = num_workers
        self.host_deadline_s = host_deadline_s
        self.run_deadline_s = run_deadline_s
        self.over = over or f"the run's {run_deadline_s or 0:g} s were over"
        self._stopped = stopped

    def run(self, task: Task, hosts: list[Host]) -> AggregatedResult:
        """Run the task on every host; every host has a result when this returns."""
        return _Round(self, task, hosts, self._stopped).run()


class _Round:
    """One run: a queue of hosts, workers, and a watch over deadlines in the calling thread."""

    def __init__(
        self, runner: BoundedRunner, task: Task, hosts: list[Host], stopped: Callable[[], str | None] | None
    ) -> None:
        self._runner = runner
        self._stopped = stopped
        self._name = task.name
        self._hosts = hosts
        self._task = task
        self._queue: deque[Host] = deque(hosts)
        self._active: dict[str, _Work] = {}
        self._results: dict[str, MultiResult] = {}
        self._changed = threading.Condition()
        self._over = False

    def run(self) -> AggregatedResult:
        begun = time.monotonic()
        end = None if self._runner.run_deadline_s is None else begun + self._runner.run_deadline_s
        workers = min(self._runner.num_workers, len(self._hosts))
        for _ in range(workers):
            if not self._queue:
                # Those that were started first have taken it all already.
                break
            self._start_worker()
        try:
            with self._changed:
                while len(self._results) < len(self._hosts):
                    wait = self._check(end)
                    if len(self._results) < len(self._hosts):
                        self._changed.wait(wait)
        finally:
            self._over = True
        result = AggregatedResult(self._name)
        for host in self._hosts:
            result[host.name] = self._results[host.name]
        return result

    def _start_worker(self) -> None:
        threading.Thread(target=self._work, name="railfab-worker", daemon=True).start()

    def _work(self) -> None:
        while not self._over:
            with self._changed:
                if not self._queue:
                    return
                host = self._queue.popleft()
                reason = self._stopped() if self._stopped is not None else None
                if reason is not None:
                    self._finish(host, _failed(host, self._name, DeadlineError(f"{host.name}: not started: {reason}")))
                    continue
                work = _Work(host, self._task.copy(), time.monotonic())
                self._active[host.name] = work
            outcome = work.task.start(host)
            with self._changed:
                if self._active.get(host.name) is not work:
                    # Its time was over while it ran; the result is given and a new worker has this one's place.
                    return
                del self._active[host.name]
                self._finish(host, outcome)

    def _finish(self, host: Host, outcome: MultiResult) -> None:
        self._results[host.name] = outcome
        if len(self._results) == len(self._hosts):
            self._changed.notify_all()

    def _check(self, end: float | None) -> float | None:
        """Give up on what is late; return how long nothing can become late. Called with the lock held."""
        now = time.monotonic()
        limit = self._runner.host_deadline_s
        if end is not None and now >= end:
            for host in list(self._queue):
                self._finish(
                    host, _failed(host, self._name, DeadlineError(f"{host.name}: not started: {self._runner.over}"))
                )
            self._queue.clear()
            for work in list(self._active.values()):
                self._give_up(work, self._runner.over, replace=False)
            return None
        if limit is not None:
            for work in list(self._active.values()):
                if work.started is not None and now - work.started >= limit:
                    self._give_up(work, f"not done after {limit:g} s", replace=True)
        times = [end] if end is not None else []
        if limit is not None:
            times += [work.started + limit for work in self._active.values() if work.started is not None]
            if self._queue:
                times.append(now + min(limit, 1.0))
        return max(0.0, min(times) - now) if times else None

    def _give_up(self, work: _Work, reason: str, *, replace: bool) -> None:
        host = work.host
        del self._active[host.name]
        self._finish(host, _failed(host, self._name, HostCutError(f"{host.name}: {reason}; its connection was cut")))
        # Cutting the connection frees the worker; it may take its time, so not in this thread.
        threading.Thread(target=_cut, args=(host,), name="railfab-cut", daemon=True).start()
        if replace and self._queue:
            self._start_worker()


def _failed(host: Host, name: str, error: Exception) -> MultiResult:
    result = MultiResult(name)
    failed = Result(host=host, exception=error, result=str(error), failed=True)
    failed.name = name  # type: ignore[assignment]
    result.append(failed)
    return result


def _cut(host: Host) -> None:
    for connection in list(host.connections.values()):
        with contextlib.suppress(Exception):
            connection.close()
