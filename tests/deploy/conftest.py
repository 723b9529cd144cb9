"""A small fabric of pretended switches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from nornir.core import Nornir
from nornir.core.plugins.connections import ConnectionPluginRegister

from fabric.allocate import load_plan
from fabric.deploy import Options, apply
from fabric.deploy.order import Deadlines
from fabric.deploy.planning import make_plan
from fabric.deploy.reading import Reading, read
from fabric.nornir_plugins.inventory import inventory
from fabric.render import render_switch
from fabric.values.change import ChangePlan, Run
from fabric.values.device_config import DeviceConfig
from fabric.values.plan import Plan
from tests.deploy.fake import FakeConnection, FakeSession, FakeSwitch, factory, provisioned
from tests.deploy.twin_push import Push
from tests.twin_fixtures import LabTwin

QUICK = Deadlines(open=5, read=30, step=30, patch=30, reload=30, ready=8, read_back=2, drain=5, confirm=600)


@pytest.fixture(scope="session")
def lab_plan(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return load_plan(tree / "topology" / "lab.yaml", state=tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def lab_desired(lab_plan: Plan) -> Mapping[str, DeviceConfig]:
    return {name: render_switch(lab_plan, name) for name in lab_plan.switches}


@dataclass
class Bench:
    """Pretended switches, what they must run, and the ways to push to them."""

    plan: Plan
    desired: dict[str, DeviceConfig]
    switches: dict[str, FakeSwitch]
    folder: Path

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def readings(self) -> dict[str, Reading]:
        found = {}
        for name, switch in self.switches.items():
            session = FakeSession(switch)
            session.open()
            found[name] = read(session, name)
        return found

    def plan_now(self, **more: Any) -> ChangePlan:
        return make_plan(self.plan, self.desired, self.readings(), intent="lab.yaml", now=0.0, **more)

    def nornir(self) -> Nornir:
        hosts = inventory(self.plan, None, only=list(self.switches))
        for host in hosts.hosts.values():
            options = host.get_connection_parameters("fake")
            options.extras = {"name": host.name}
            host.connection_options["fake"] = options
        return Nornir(inventory=hosts)

    def push(self, change_plan: ChangePlan | None = None, *, health: Any = None, options: Options | None = None) -> Run:
        return apply(
            change_plan or self.plan_now(),
            self.nornir(),
            self.plan,
            health or (lambda _wave, _changed: {}),
            self.runs,
            options=options or Options(deadlines=QUICK, accepted=list(self.switches)),
            connection="fake",
        )

    def alter(self, name: str, table: str, key: str, **fields: str | None) -> None:
        """Change what a switch must run; a field of None goes, no fields at all takes the row away."""
        there = self.desired[name]
        tables = {one: dict(rows) for one, rows in there.tables.items()}
        rows = tables.setdefault(table, {})
        if not fields:
            rows.pop(key, None)
        else:
            row = {**rows.get(key, {}), **{field: value for field, value in fields.items() if value is not None}}
            rows[key] = {field: value for field, value in row.items() if fields.get(field, "") is not None}
        self.desired[name] = replace(there, tables={one: rows for one, rows in tables.items() if rows})

    def alter_frr(self, name: str, old: str, new: str) -> None:
        there = self.desired[name]
        assert there.frr is not None
        assert old in there.frr
        self.desired[name] = replace(there, frr=there.frr.replace(old, new))


@pytest.fixture
def bench(tmp_path: Path, lab_plan: Plan, lab_desired: Mapping[str, DeviceConfig]) -> Iterator[Callable[..., Bench]]:
    """`bench("p1-l0", "s0", fresh=False)`: switches that run what they must, or boxes from the factory."""
    made: list[FakeSwitch] = []

    def build(*names: str, fresh: bool = False) -> Bench:
        switches = {}
        for name in names:
            desired = lab_desired[name]
            config = factory(desired) if fresh else provisioned(desired)
            frr = "hostname sonic\nend\n" if fresh else desired.frr or ""
            switches[name] = FakeSwitch(tmp_path / "switches", name, config, frr)
        made.extend(switches.values())
        FakeConnection.switches = switches
        return Bench(lab_plan, {name: lab_desired[name] for name in names}, switches, tmp_path)

    ConnectionPluginRegister.register("fake", FakeConnection)
    yield build
    ConnectionPluginRegister.deregister("fake")
    for switch in made:
        switch.kill()


@pytest.fixture
def push(lab_twin: LabTwin, tmp_path: Path) -> Iterator[Push]:
    """Pushes on the running twin, which is whole when a test begins and whole again after it."""
    made = Push(lab_twin, tmp_path)
    made.settled()
    yield made
    for name in lab_twin.plan.switches:
        lab_twin.process(name, "sh", "-c", "rm -f /run/railfab.lock /etc/sonic/railfab/pending.json")
    made.settled()
