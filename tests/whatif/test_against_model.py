"""Two independent answers to "which next hops": the model's expectation and the synthetic fabric's routing."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.model.paths import expected_next_hops
from fabric.values.finding import Place
from fabric.values.plan import Plan, PortUse
from fabric.values.snapshot import Snapshot
from fabric.whatif import faults as f
from fabric.whatif.synthetic import Synthetic


@pytest.fixture(scope="module", params=["lab", "sakuraone", "pod32", "dualplane", "railonly", "gpu8192"])
def plan(request: pytest.FixtureRequest, tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    intent = tmp_path_factory.mktemp("intent") / f"{request.param}.yaml"
    shutil.copy(tree / "topology" / f"{request.param}.yaml", intent)
    return load_plan(intent)


def differences(plan: Plan, snapshot: Snapshot, cables: list[str], devices: list[str]) -> list[str]:
    expected = expected_next_hops(plan, down_cables=cables, down_devices=devices)
    found: list[str] = []
    for name, state in snapshot.switches.items():
        assert state.rib is not None
        for origin, switch in plan.switches.items():
            if origin == name or not switch.networks:
                continue
            ports = expected.ports(name, origin) if origin not in devices else frozenset()
            route = state.rib.get(switch.networks[0])
            seen = frozenset(hop.port for hop in route.next_hops) if route is not None else frozenset()
            if len(seen) != min(len(ports), plan.routing.maximum_paths) or not seen <= ports:
                found.append(f"{name} to {origin}: {len(seen)} seen, {len(ports)} expected")
    return found


def test_both_agree_on_the_intact_fabric(plan: Plan) -> None:
    assert differences(plan, Synthetic(plan).snapshot(), [], []) == []


def test_both_agree_when_cables_and_switches_are_gone(plan: Plan) -> None:
    rolls = random.Random(7)
    fabric = Synthetic(plan)
    cables = [cable for cable in plan.cables.values() if cable.kind is PortUse.FABRIC]
    if not cables:
        pytest.skip("this fabric has no cable between switches")
    for dead in (0, 1):
        cut = rolls.sample(cables, min(len(cables) // 4, 40))
        devices = rolls.sample(sorted(plan.switches), dead)
        faults: list[f.Fault] = [f.Cut(Place(cable.a_device, cable.a_port)) for cable in cut]
        faults += [f.Dead(name) for name in devices]
        assert differences(plan, fabric.snapshot(faults), [cable.name for cable in cut], devices) == []
