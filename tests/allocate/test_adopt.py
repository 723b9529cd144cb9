"""Adoption: a running fabric becomes a ledger whose Plan is that fabric; the rest is listed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from fabric.allocate import allocate, load_plan
from fabric.allocate.adopt import Adoption, adopt
from fabric.allocate.ledger import Ledger, read
from fabric.allocate.seen import SeenSwitch, of_config, of_folder, of_state
from fabric.cli.entry import run
from fabric.errors import InputError
from fabric.intent import load, load_text
from fabric.state import state_paths
from fabric.values.device_config import DeviceConfig
from fabric.values.plan import LifeState, Plan, PortUse
from fabric.values.snapshot import LldpNeighbour, SwitchState
from tests.allocate.test_properties import given_values, grow_links, grow_pod, grow_spine
from tests.model.shapes import Document, documents, file_of

Written = Callable[..., Path]


def config_of(plan: Plan, name: str) -> DeviceConfig:
    """CONFIG_DB of a switch of a Plan, as far as adoption reads it, made without the render room."""
    switch = plan.switches[name]
    tables: dict[str, dict[str, Any]] = {
        "DEVICE_METADATA": {"localhost": {"hostname": name, "bgp_asn": str(switch.asn), "mac": "02:00:00:00:00:01"}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, **{f"Loopback0|{entry}": {} for entry in switch.loopbacks}},
        "MGMT_INTERFACE": {f"eth0|{switch.mgmt_address}": {}},
        "PORT": {},
        "INTERFACE": {},
        "DEVICE_NEIGHBOR": {},
    }
    for port in switch.ports.values():
        tables["PORT"][port.name] = {"lanes": ",".join(map(str, port.lanes)), "speed": str(port.speed_mbps)}
        for entry in port.addresses:
            tables["INTERFACE"][f"{port.name}|{entry}"] = {}
        if port.peer_device is not None and port.use in (PortUse.HOST, PortUse.FABRIC):
            tables["DEVICE_NEIGHBOR"][port.name] = {"name": port.peer_device, "port": port.peer_port}
    blocks = "".join(f"ip route {block} blackhole\n" for block in switch.aggregates if ":" not in block)
    return DeviceConfig(name, tables, blocks + f"router bgp {switch.asn}\n")


def seen_of(plan: Plan) -> list[SeenSwitch]:
    return [of_config(config_of(plan, name)) for name in plan.switches]


def without_host_management(plan: Plan) -> dict[object, object]:
    return {
        key: value[:1] if isinstance(key, tuple) and key[0] == "host" and isinstance(value, tuple) else value
        for key, value in given_values(plan).items()
    }


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=documents())
def test_what_runs_is_what_the_plan_has(document: Document) -> None:
    if "uplinks" in document["compute"].get("superspine", {}) or document["addressing"]["family"] == "ipv6":
        return
    file = file_of(document)
    plan = allocate(file)[2]
    adoption = adopt(file, Ledger(), seen_of(plan))
    assert adoption.unplaced == ()
    assert without_host_management(adoption.plan) == without_host_management(plan)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=documents(attachment="rail-optimized", tiers=2))
def test_a_fabric_that_grew_crookedly_is_adopted_as_it_is(document: Document) -> None:
    document["addressing"]["family"] = "ipv4"
    document["compute"]["spine"]["links"] = 1
    ledger = allocate(file_of(document))[1]
    for step in (grow_pod, grow_spine, grow_links):
        step(document)
        ledger = allocate(file_of(document), ledger)[1]
    file = file_of(document)
    plan = allocate(file, ledger)[2]
    adoption = adopt(file, Ledger(), seen_of(plan))
    assert adoption.unplaced == ()
    assert _but_index(without_host_management(adoption.plan)) == _but_index(without_host_management(plan))


def _but_index(values: dict[object, object]) -> dict[object, object]:
    """The running number of a switch in its tier, and of a parallel link, stand in no configuration."""

    def plain(key: object, value: object) -> object:
        if isinstance(key, tuple) and isinstance(value, tuple):
            if key[0] == "switch":
                return value[:2]
            if key[0] == "port":
                return value[:-1]
        return value

    return {key: plain(key, value) for key, value in values.items()}


def adopted(written: Written, change: Callable[[dict[str, DeviceConfig]], None] | None = None) -> Adoption:
    plan = load_plan(written("lab"))
    configs = {name: config_of(plan, name) for name in plan.switches}
    if change is not None:
        change(configs)
    return adopt(load(written("lab")), Ledger(), [of_config(config) for config in configs.values()])


def test_another_as_number_and_loopback_are_taken_over(written: Written) -> None:
    def change(configs: dict[str, DeviceConfig]) -> None:
        for spine in ("s0", "s1"):
            configs[spine].tables["DEVICE_METADATA"]["localhost"]["bgp_asn"] = "65100"  # type: ignore[index]
            configs[spine] = replace(configs[spine], frr=None)
        configs["p1-l2"] = replace(configs["p1-l2"], frr="router bgp 65102\n")
        loopbacks = configs["p1-l0"].tables["LOOPBACK_INTERFACE"]
        loopbacks.pop("Loopback0|10.255.0.17/32")  # type: ignore[attr-defined]
        loopbacks["Loopback0|10.255.0.99/32"] = {}  # type: ignore[index]

    adoption = adopted(written, change)
    assert adoption.unplaced == ()
    switches = adoption.plan.switches
    assert {switches[name].asn for name in ("s0", "s1")} == {65100}
    assert switches["p1-l2"].asn == 65102
    assert switches["p1-l0"].loopbacks == ("10.255.0.99/32",)
    assert {port.peer_asn for port in switches["s0"].sessions()} == {4200000110, 4200000111, 65102, 4200000113}


def test_what_the_ledger_cannot_hold_is_listed(written: Written) -> None:
    def change(configs: dict[str, DeviceConfig]) -> None:
        loopbacks = configs["s0"].tables["LOOPBACK_INTERFACE"]
        loopbacks.clear()  # type: ignore[attr-defined]
        loopbacks["Loopback0|192.0.2.1/32"] = {}  # type: ignore[index]
        for name in ("p1-l0", "p1-l1"):
            configs[name] = replace(configs[name], frr="router bgp 65001\n")
        far = configs["p1-l3"].tables["INTERFACE"]
        far.pop("Ethernet256|10.254.0.24/31")  # type: ignore[attr-defined]
        far["Ethernet256|192.0.2.8/31"] = {}  # type: ignore[index]
        configs["s0"].tables["INTERFACE"].pop("Ethernet48|10.254.0.25/31")  # type: ignore[attr-defined]
        configs["s0"].tables["INTERFACE"]["Ethernet48|192.0.2.9/31"] = {}  # type: ignore[index]
        configs["stray"] = DeviceConfig("stray", {"DEVICE_METADATA": {"localhost": {"hostname": "stray"}}})
        del configs["s1"]

    adoption = adopted(written, change)
    told = {(entry.device, entry.port, entry.what) for entry in adoption.unplaced}
    assert {
        ("s0", None, "loopback"),
        ("p1-l1", None, "AS number"),
        ("p1-l3", "Ethernet256", "link"),
        ("stray", None, "switch"),
        ("s1", None, "switch"),
    } <= told
    link = next(entry for entry in adoption.unplaced if entry.what == "link")
    assert "192.0.2.8/31" in (link.observed or "")
    assert "addressing.fabric" in link.remedy
    changed = [entry for entry in adoption.unplaced if (entry.device, entry.what) == ("p1-l1", "AS number")]
    assert any(entry.planned is not None and entry.observed == "65001" for entry in changed)


def test_a_host_on_different_ports_of_its_leaves_is_listed(written: Written) -> None:
    def change(configs: dict[str, DeviceConfig]) -> None:
        row = configs["p1-l2"].tables["DEVICE_NEIGHBOR"]
        row["Ethernet0"], row["Ethernet4"] = row["Ethernet4"], row["Ethernet0"]  # type: ignore[index]

    adoption = adopted(written, change)
    seats = {entry.device for entry in adoption.unplaced if entry.what == "seat"}
    assert seats == {"gpu001", "gpu002"}


def test_lldp_goes_before_what_the_configuration_says(written: Written) -> None:
    plan = load_plan(written("lab"))
    states = []
    for name in plan.switches:
        config = config_of(plan, name)
        config.tables["DEVICE_NEIGHBOR"].clear()  # type: ignore[attr-defined]
        rows = tuple(
            LldpNeighbour(port.name, f"{port.peer_device}.example.org", port_id=port.peer_port or "")
            for port in plan.switches[name].ports.values()
            if port.peer_device is not None and port.state is LifeState.IN_SERVICE
        )
        states.append(
            SwitchState(name, 0.0, hostname=name, config=config.tables, frr=config.frr, lldp=rows, serial="S1")
        )
    seen = [of_state(state) for state in states]
    adoption = adopt(load(written("lab")), Ledger(), [switch for switch in seen if switch is not None])
    assert adoption.unplaced == ()
    assert adoption.hosts == 4
    assert adoption.ledger.identities["s0"].serial == "S1"
    assert of_state(SwitchState("s0", 0.0)) is None


def test_switches_with_other_names(written: Written, tmp_path: Path) -> None:
    plan = load_plan(written("lab"))
    new = {"p1-l0": "rail0-a", "p1-l1": "rail1-a", "p1-l2": "rail2-a", "p1-l3": "rail3-a", "s0": "top-a", "s1": "top-b"}
    folder = tmp_path / "site"
    for name in plan.switches:
        text = json.dumps(config_of(plan, name).tables)
        for ours, theirs in new.items():
            text = text.replace(f'"{ours}"', f'"{theirs}"')
        (folder / new[name]).mkdir(parents=True)
        (folder / new[name] / "config_db.json").write_text(text)
    path = written("lab")
    with pytest.raises(InputError, match="--names"):
        adopt(load(path), Ledger(), of_folder(folder))
    (tmp_path / "names.yaml").write_text("".join(f"{ours}: {theirs}\n" for ours, theirs in new.items()))
    assert run(["adopt", str(path), "--from", str(folder), "--names", str(tmp_path / "names.yaml")]) == 0
    after = load_plan(path)
    assert sorted(after.switches) == sorted(new.values())
    assert after.switches["rail2-a"].asn == plan.switches["p1-l2"].asn
    assert after.hosts["gpu003"].nics["rail1"].switch == "rail1-a"
    assert after.switches["top-b"].ports["Ethernet0"].peer_device == "rail0-a"


def test_verb(written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written("lab")
    plan = load_plan(path)
    folder = tmp_path / "site"
    folder.mkdir()
    for name in plan.switches:
        (folder / f"{name}.json").write_text(json.dumps(config_of(plan, name).tables))
    assert run(["adopt", str(path), "--from", str(folder), "--dry-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "railfab.adopt/1"
    assert document["adopted"] == {"switches": 6, "links": 16, "hosts": 4}
    assert (document["unplaced"], document["written"]) == ([], False)
    assert not state_paths(path).ledger.exists()
    assert run(["adopt", str(path), "--from", str(folder)]) == 0
    assert "6 switches, 16 links, 4 hosts adopted" in capsys.readouterr().out
    assert load_plan(path).cables == plan.cables
    assert read(state_paths(path).ledger).switches
    (folder / "s1.json").unlink()
    state_paths(path).ledger.unlink()
    assert run(["adopt", str(path), "--from", str(folder)]) == 1
    assert "s1: switch: runs nothing, the plan has s1" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, "{", "[]", '{"PORT": {"Ethernet0": 3}}'])
def test_a_folder_that_holds_no_configuration_is_refused(written: Written, tmp_path: Path, content: str | None) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    if content is not None:
        (folder / "s0.json").write_text(content)
    assert run(["adopt", str(written("lab")), "--from", str(folder)]) == 2


def test_rendered_files_are_adopted_whole(tree: Path, tmp_path: Path) -> None:
    intent = tree / "topology" / "sakuraone.yaml"
    assert run(["render", str(intent), "-o", str(tmp_path / "out")]) == 0
    adoption = adopt(load(intent), Ledger(), of_folder(tmp_path / "out"))
    assert adoption.unplaced == ()
    assert (adoption.switches, adoption.links, adoption.hosts) == (26, 512, 100)
    plan = load_plan(intent)
    assert without_host_management(adoption.plan) == without_host_management(plan)


@pytest.mark.parametrize("gone", [{"s1"}, {"p1-l2"}, {"s0", "p1-l0"}, {"s0", "s1"}])
def test_switches_that_did_not_answer_move_no_address_of_the_others(tree: Path, gone: set[str]) -> None:
    """The pool is exactly full: numbers given anew would not even fit."""
    text = (tree / "topology" / "lab.yaml").read_text().replace("10.254.0.0/22", "10.254.0.0/27")
    file = load_text(text)
    plan = allocate(file)[2]
    adoption = adopt(file, Ledger(), [switch for switch in seen_of(plan) if switch.name not in gone])
    for name in plan.switches.keys() - gone:
        assert adoption.plan.switches[name].ports == plan.switches[name].ports
    assert {entry.device for entry in adoption.unplaced} == gone
    between = {name for name, cable in plan.cables.items() if {cable.a_device, cable.b_device} <= gone}
    assert adoption.links == 16 - len(between)


def test_two_that_call_themselves_alike_are_refused(tree: Path) -> None:
    file = load(tree / "topology" / "lab.yaml")
    seen = seen_of(allocate(file)[2])
    with pytest.raises(InputError, match="p1-l0: two of what was seen call themselves so"):
        adopt(file, Ledger(), [*seen, seen[0]])
