"""Who goes together, who loses by it, and what is refused until somebody agrees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.deploy.planning import spare
from fabric.deploy.waves import hazards, refusals, waves
from fabric.values.change import DeviceChange, Impact, Step, Wave
from fabric.values.plan import LifeState, Plan


@pytest.fixture(scope="module")
def sakura(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return load_plan(tree / "topology" / "sakuraone.yaml", state=tmp_path_factory.mktemp("state"))


def change(
    name: str, impact: Impact, *, method: str = "gcu", ports: tuple[str, ...] = (), resets: int = 0
) -> DeviceChange:
    sessions = tuple(f"10.254.0.{n}" for n in range(resets))
    return DeviceChange(name, method, impact, "", ports_flapped=ports, sessions_reset=sessions)


def planned(plan: Plan, changes: Mapping[str, DeviceChange], down: tuple[str, ...] = ()) -> tuple[Wave, ...]:
    spines, uplinks = spare(plan)
    return waves(plan, changes, spare_spines=spines, spare_uplinks=uplinks, down=down)


def leaves(plan: Plan) -> list[str]:
    return [name for name, switch in plan.switches.items() if switch.role.value == "leaf"]


def test_hitless_starts_with_one_spine_and_grows(sakura: Plan) -> None:
    names = [name for name, switch in sakura.switches.items() if switch.network.value == "compute"]
    made = planned(sakura, {name: change(name, Impact.HITLESS) for name in names})
    sizes = [len(wave.devices) for wave in made]
    assert sizes == [1, 2, 7, 14]
    assert made[0].devices == ("s0",)
    assert sorted(name for wave in made for name in wave.devices) == sorted(names)
    assert all(wave.gate and not wave.drain and not wave.nodes for wave in made)


def test_disruptive_spines_go_one_at_a_time_and_drained(sakura: Plan) -> None:
    spines = [f"s{n}" for n in range(8)]
    made = planned(sakura, {name: change(name, Impact.RELOADS_SWITCH, method="reload", resets=64) for name in spines})
    assert [wave.devices for wave in made] == [(name,) for name in spines]
    assert all(wave.drain and wave.gate for wave in made)
    assert all(wave.nodes == () for wave in made), "one spine of eight is spare"


def test_spines_beyond_what_is_spare_need_idle_nodes(sakura: Plan) -> None:
    spines, _ = spare(sakura)
    assert spines == 1, "50 x 400G below, 32 x 800G above: one of eight spines is spare"
    made = planned(sakura, {"s0": change("s0", Impact.RELOADS_SWITCH, method="reload", resets=64)}, down=("s7",))
    assert len(made[0].nodes) == 100
    assert "s7 is out" in made[0].why
    assert refusals(made, {}, hosts=list(sakura.hosts), idle=list(sakura.hosts)) == []
    told = refusals(made, {}, hosts=list(sakura.hosts))
    assert len(told) == 1
    assert "--accept-impact for s0" in told[0]


def test_leaves_of_a_pod_go_in_one_window_and_name_who_loses(sakura: Plan) -> None:
    both = {name: change(name, Impact.RELOADS_SWITCH, method="reload", resets=32) for name in leaves(sakura)}
    made = planned(sakura, both)
    assert [len(wave.devices) for wave in made] == [8, 8]
    assert [len(wave.nodes) for wave in made] == [50, 50]
    assert "it stops rail 0, 1, 2, 3, 4, 5, 6, 7 of 50 nodes, and a leaf cannot be drained" in made[0].why


def test_a_disruptive_leaf_is_refused_unless_idle_or_accepted(sakura: Plan) -> None:
    made = planned(sakura, {"p1-l0": change("p1-l0", Impact.RESTARTS_BGP, method="gcu", resets=0)})
    hosts = [name for name, host in sakura.hosts.items() if host.state is LifeState.IN_SERVICE]
    pod1 = [f"gpu{n:03}" for n in range(1, 51)]
    assert made[0].nodes == tuple(pod1)
    told = refusals(made, {}, hosts=hosts)
    assert len(told) == 1
    for words in ("--idle-nodes", "--accept-impact for p1-l0", "gpu001"):
        assert words in told[0]
    assert refusals(made, {}, hosts=hosts, idle=pod1) == []
    assert refusals(made, {}, hosts=hosts, idle=pod1[:-1]) != []
    assert refusals(made, {}, hosts=hosts, accepted=["p1-l0"]) == []


def test_a_leaf_that_loses_spare_uplinks_only_stops_nobody(sakura: Plan) -> None:
    leaf = sakura.switches["p1-l0"]
    uplinks = [port.name for port in leaf.ports.values() if port.use.value == "fabric"]
    _, spare_uplinks = spare(sakura)
    assert spare_uplinks is not None
    few = change("p1-l0", Impact.FLAPS_PORTS, ports=tuple(uplinks[:spare_uplinks]))
    many = change("p1-l0", Impact.FLAPS_PORTS, ports=tuple(uplinks[: spare_uplinks + 1]))
    assert planned(sakura, {"p1-l0": few})[0].nodes == ()
    assert len(planned(sakura, {"p1-l0": many})[0].nodes) == 50


def test_host_ports_that_flap_hit_their_own_node(sakura: Plan) -> None:
    nic = sakura.hosts["gpu007"].nics["rail0"]
    made = planned(sakura, {nic.switch: change(nic.switch, Impact.FLAPS_PORTS, ports=(nic.switch_port,))})
    assert made[0].nodes == ("gpu007",)


def test_storage_switches_never_go_together(sakura: Plan) -> None:
    names = [name for name, switch in sakura.switches.items() if switch.network.value == "storage"]
    assert len(names) == 2
    made = planned(sakura, {name: change(name, Impact.RELOADS_SWITCH, method="reload", resets=4) for name in names})
    assert [wave.devices for wave in made] == [(name,) for name in names]


def test_first_provisioning_costs_nobody_and_goes_tier_by_tier(sakura: Plan) -> None:
    first, last = leaves(sakura)[0], leaves(sakura)[-1]
    made = planned(sakura, {name: change(name, Impact.RELOADS_SWITCH, method="reload") for name in (first, "s0", last)})
    assert [(wave.devices, wave.fresh, wave.gate) for wave in made] == [
        (("s0",), True, False),
        ((first, last), True, False),
    ]
    assert refusals(made, {}, hosts=list(sakura.hosts)) == []


def test_refused_and_unchanged_switches_are_in_no_wave(sakura: Plan) -> None:
    changes = {
        "s0": change("s0", Impact.NONE, method="none"),
        "s1": replace(change("s1", Impact.HITLESS), refused="another box"),
    }
    assert planned(sakura, changes) == ()


def mapped(name: str, before: str | None) -> DeviceChange:
    step = Step("DSCP_TO_TC_MAP", "AZURE", "26", before, "4", Impact.HITLESS, "why")
    return replace(change(name, Impact.HITLESS), steps=(step,))


def test_a_fabric_half_changed_is_a_hazard_of_its_own(sakura: Plan) -> None:
    found = hazards({"s0": mapped("s0", "3"), "s1": mapped("s1", "3")})
    assert found == {"traffic classes differ from box to box": ("s0", "s1")}
    assert hazards({"s0": mapped("s0", None)}) == {}
    assert len(refusals((), found, hosts=["gpu001"])) == 1
    assert refusals((), found, hosts=["gpu001"], idle=["gpu001"]) == []
    assert refusals((), found, hosts=["gpu001"], accept_mixed=True) == []
