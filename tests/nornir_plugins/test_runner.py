"""The runner ends: each host has a deadline, and so has the run."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from nornir.core import Nornir
from nornir.core.inventory import Defaults, Groups, Host, Hosts, Inventory
from nornir.core.task import Result, Task

from fabric.errors import DeadlineError
from fabric.nornir_plugins.runner import BoundedRunner


def fabric(count: int, runner: BoundedRunner) -> Nornir:
    hosts = Hosts({f"leaf{n}": Host(f"leaf{n}") for n in range(count)})
    return Nornir(Inventory(hosts, Groups(), Defaults()), runner=runner)


def hangs(task: Task, who: str, cut: threading.Event) -> Result:
    if task.host.name == who:
        cut.wait(30)
    return Result(host=task.host, result="done")


class Cut:
    """A connection whose close says so."""

    def __init__(self, event: threading.Event) -> None:
        self.connection: Any = None
        self._event = event

    def open(self, *_: Any, **__: Any) -> None: ...

    def close(self) -> None:
        self._event.set()


def test_one_hung_host_never_hangs_the_run() -> None:
    runner = BoundedRunner(num_workers=2, host_deadline_s=0.5)
    cut = threading.Event()
    made = fabric(6, runner)
    made.inventory.hosts["leaf0"].connections["ssh"] = Cut(cut)
    started = time.monotonic()
    results = made.run(hangs, who="leaf0", cut=cut)
    assert time.monotonic() - started < 20
    assert isinstance(results["leaf0"].exception, DeadlineError)
    assert "not done after 0.5 s" in str(results["leaf0"].exception)
    assert [results[f"leaf{n}"].result for n in range(1, 6)] == ["done"] * 5
    assert cut.wait(2), "its connection was cut"
    assert list(results.failed_hosts) == ["leaf0"]


def test_all_workers_hung_are_replaced() -> None:
    cut = threading.Event()

    def task(task: Task) -> Result:
        if int(task.host.name[4:]) < 3:
            cut.wait(30)
        return Result(host=task.host, result="done")

    results = fabric(8, BoundedRunner(num_workers=3, host_deadline_s=0.4)).run(task)
    assert sorted(results.failed_hosts) == ["leaf0", "leaf1", "leaf2"]
    cut.set()


def test_the_whole_run_has_a_deadline() -> None:
    cut = threading.Event()

    def task(task: Task) -> Result:
        cut.wait(30)
        return Result(host=task.host)

    started = time.monotonic()
    results = fabric(10, BoundedRunner(num_workers=2, run_deadline_s=0.6)).run(task)
    assert time.monotonic() - started < 20
    assert len(results.failed_hosts) == 10
    assert all("the run's 0.6 s were over" in str(results[name].exception) for name in results)
    cut.set()


def test_a_late_answer_changes_nothing() -> None:
    gate = threading.Event()

    def task(task: Task) -> Result:
        gate.wait(10)
        return Result(host=task.host, result="late")

    results = fabric(1, BoundedRunner(host_deadline_s=0.3)).run(task)
    gate.set()
    time.sleep(0.1)
    assert isinstance(results["leaf0"].exception, DeadlineError)
    assert len(results["leaf0"]) == 1


def test_results_are_in_the_order_of_the_inventory() -> None:
    def task(task: Task) -> Result:
        time.sleep(0.02 * (5 - int(task.host.name[4:])))
        return Result(host=task.host)

    assert list(fabric(5, BoundedRunner(num_workers=5)).run(task)) == [f"leaf{n}" for n in range(5)]


def test_a_stop_skips_what_has_not_started() -> None:
    seen: list[str] = []

    def task(task: Task) -> Result:
        seen.append(task.host.name)
        return Result(host=task.host)

    runner = BoundedRunner(num_workers=1, stopped=lambda: "leaf1 failed" if len(seen) >= 2 else None)
    results = fabric(4, runner).run(task)
    assert seen == ["leaf0", "leaf1"]
    assert "not started: leaf1 failed" in str(results["leaf3"].exception)


def test_an_exception_in_a_task_is_that_hosts_result() -> None:
    def task(task: Task) -> Result:
        if task.host.name == "leaf1":
            raise ValueError("broken")
        return Result(host=task.host)

    results = fabric(3, BoundedRunner()).run(task)
    assert list(results.failed_hosts) == ["leaf1"]
    assert isinstance(results["leaf1"].exception, ValueError)


@pytest.mark.parametrize("count", [0, 1])
def test_few_hosts(count: int) -> None:
    assert len(fabric(count, BoundedRunner()).run(lambda task: Result(host=task.host))) == count
