"""What a roll-out costs beside the switches themselves: less than twice what Nornir costs for the same tasks."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nornir.core import Nornir
from nornir.core.inventory import ConnectionOptions, Defaults, Groups, Host, Hosts, Inventory
from nornir.core.plugins.connections import ConnectionPluginRegister
from nornir.core.task import Result, Task
from nornir.plugins.runners import ThreadedRunner

from fabric.deploy.record import start
from fabric.deploy.roll import Options, Roll
from fabric.deploy.switch import SwitchPush
from fabric.transport import Target
from fabric.transport.recorded import RecordedSession
from fabric.values.change import ChangePlan, DeviceChange, Impact, Outcome, Wave
from fabric.values.plan import Plan


class Nothing:
    """A connection to nowhere."""

    connection: Any = None

    def open(self, *_: Any, extras: dict[str, Any] | None = None, **__: Any) -> None:
        self.connection = RecordedSession(Target((extras or {})["name"], "192.0.2.1"), {})

    def close(self) -> None: ...


def fabric(count: int) -> Nornir:
    hosts = Hosts()
    for number in range(count):
        name = f"leaf{number}"
        options = {"nothing": ConnectionOptions(extras={"name": name})}
        hosts[name] = Host(name, hostname="192.0.2.1", connection_options=options)
    return Nornir(Inventory(hosts, Groups(), Defaults()), runner=ThreadedRunner(32))


def nornirs_own(count: int) -> float:
    """Two tasks over all hosts, as a roll-out has two parts: change, then keep."""
    made = fabric(count)

    def task(task: Task) -> Result:
        task.host.get_connection("nothing", task.nornir.config)
        return Result(host=task.host)

    began = time.perf_counter()
    for _ in range(2):
        made.run(task)
    made.close_connections()
    return time.perf_counter() - began


def ours(count: int, plan: Plan, folder: Path) -> float:
    """The same hosts through a roll-out whose steps do nothing: one wave, a gate, the record on disk."""
    names = tuple(f"leaf{n}" for n in range(count))
    changes = {name: DeviceChange(name, "gcu", Impact.HITLESS, "") for name in names}
    desired: dict[str, Any] = {
        name: {"device": name, "tables": {}, "frr": None, "schema": "railfab.device-config/1"} for name in names
    }
    change_plan = ChangePlan("lab", "lab.yaml", plan.intent_hash, 0.0, changes, (Wave("all", names, Impact.HITLESS),),
                             desired=desired)  # fmt: skip
    record = start(folder, change_plan)
    roll = Roll(change_plan, fabric(count), plan, lambda _w, _n: {}, record, Options(), None, "nothing")
    began = time.perf_counter()
    run = roll.run()
    took = time.perf_counter() - began
    assert all(device.outcome is Outcome.PENDING for device in run.devices.values())
    return took


@pytest.mark.parametrize("count", [240, 2400])
def test_every_host_of_a_large_wave_has_an_outcome(
    count: int, lab_plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ratio of both times is measured by benchmarks/push.py."""
    nothing: Callable[..., None] = lambda *_: None  # noqa: E731
    for step in ("prepare", "carry_out", "settle"):
        monkeypatch.setattr(SwitchPush, step, nothing)
    ConnectionPluginRegister.register("nothing", Nothing)
    try:
        assert ours(count, lab_plan, tmp_path / "run") > 0
    finally:
        ConnectionPluginRegister.deregister("nothing")
