"""The driver through NAPALM's own lookup: configuration on a pretended switch, getters in NAPALM's shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest
from napalm.base import get_network_driver, models
from napalm.base.exceptions import CommitError, ConnectionException, MergeConfigException, ReplaceConfigException

from fabric.errors import HostKeyError
from fabric.napalm_driver import getters
from fabric.values.snapshot import BgpPeer, LldpNeighbour, Neighbour, NextHop, PortState, Route, SwitchState
from tests.deploy.conftest import QUICK, Bench, bench, lab_desired, lab_plan  # noqa: F401
from tests.deploy.fake import FakeSession

Make = Callable[..., Bench]


@pytest.fixture
def device(bench: Make, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Bench]:  # noqa: F811
    from fabric.napalm_driver import driver

    made = bench("p1-l0")
    monkeypatch.setattr(driver, "Deadlines", lambda **more: QUICK if not more else type(QUICK)(confirm=more["confirm"]))
    sonic = get_network_driver("sonic")
    opened = sonic("p1-l0", "admin", "x", optional_args={"session": FakeSession(made.switches["p1-l0"])})
    opened.open()
    return opened, made


def test_napalm_finds_the_driver_by_name() -> None:
    assert get_network_driver("sonic").__name__ == "SonicDriver"


def test_merge_compare_commit_rollback(device: tuple[Any, Bench]) -> None:
    sonic, made = device
    switch = made.switches["p1-l0"]
    assert sonic.compare_config() == ""
    sonic.load_merge_candidate(config=json.dumps({"PORT": {"Ethernet0": {"description": "by napalm"}}}))
    assert "PORT|Ethernet0 description" in sonic.compare_config()
    assert len(sonic.compare_config().splitlines()) == 1
    sonic.commit_config()
    assert switch.read()["saved"]["PORT"]["Ethernet0"]["description"] == "by napalm"
    assert sonic.has_pending_commit() is False
    sonic.rollback()
    assert switch.read()["config"]["PORT"]["Ethernet0"].get("description") != "by napalm"
    assert switch.read()["saved"]["PORT"]["Ethernet0"].get("description") != "by napalm"


def test_frr_lines_are_merged_into_their_context(device: tuple[Any, Bench]) -> None:
    sonic, made = device
    sonic.load_merge_candidate(config="router bgp 4200000110\n neighbor SPINE_V4 timers connect 5\nexit\n")
    assert "timers connect 5" in sonic.compare_config()
    sonic.commit_config()
    state = made.switches["p1-l0"].read()
    assert "timers connect 5" in state["frr"]
    assert "timers connect 10" not in state["frr"]
    assert state["bgp_pid"] == 100


def test_replace_keeps_what_is_not_ours(device: tuple[Any, Bench]) -> None:
    sonic, made = device
    tables = {table: dict(rows) for table, rows in made.desired["p1-l0"].tables.items()}
    row = dict(tables["PORT"]["Ethernet0"])
    tables["PORT"]["Ethernet0"] = {**row, "mtu": "9000"}
    sonic.load_replace_candidate(config=json.dumps({"config_db": tables, "frr": made.desired["p1-l0"].frr}))
    sonic.commit_config()
    config = made.switches["p1-l0"].read()["config"]
    assert config["PORT"]["Ethernet0"]["mtu"] == "9000"
    assert config["VERSIONS"]["DATABASE"]["VERSION"] == "version_202505_01"


def test_commit_confirm(device: tuple[Any, Bench]) -> None:
    sonic, made = device
    sonic.load_merge_candidate(config=json.dumps({"PORT": {"Ethernet0": {"description": "pending"}}}))
    sonic.commit_config(revert_in=600)
    assert sonic.has_pending_commit()
    with pytest.raises(CommitError, match="awaits confirmation"):
        sonic.commit_config()
    saved = made.switches["p1-l0"].read()["saved"]["PORT"]["Ethernet0"]
    assert saved.get("description") != "pending", "nothing is saved before it is confirmed"
    sonic.confirm_commit()
    assert not sonic.has_pending_commit()
    assert made.switches["p1-l0"].read()["saved"]["PORT"]["Ethernet0"]["description"] == "pending"
    with pytest.raises(CommitError, match="no commit awaits"):
        sonic.confirm_commit()


def test_a_pending_commit_is_undone(device: tuple[Any, Bench]) -> None:
    sonic, made = device
    sonic.load_merge_candidate(config=json.dumps({"PORT": {"Ethernet0": {"description": "pending"}}}))
    sonic.commit_config(revert_in=600)
    sonic.rollback()
    assert not sonic.has_pending_commit()
    assert made.switches["p1-l0"].read()["config"]["PORT"]["Ethernet0"].get("description") != "pending"


def test_a_commit_that_fails_leaves_things_as_they_were(device: tuple[Any, Bench]) -> None:
    sonic, made = device
    sonic.load_merge_candidate(config=json.dumps({"PORT": {"Ethernet0": {"description": "no"}}}))
    made.switches["p1-l0"].fault("config apply-patch /", rc=2, err="Failed to apply patch due to: Tuesday\n")
    with pytest.raises(CommitError, match=r"Tuesday.*put back to what it ran before"):
        sonic.commit_config()
    assert made.switches["p1-l0"].read()["config"]["PORT"]["Ethernet0"].get("description") != "no"


@pytest.mark.parametrize("text", ["", "{", '{"PORT": []}', '{"PORT": {"Ethernet0": 3}}'])
def test_bad_candidates_are_refused(device: tuple[Any, Bench], text: str) -> None:
    sonic, _ = device
    with pytest.raises(MergeConfigException):
        sonic.load_merge_candidate(config=text)
    with pytest.raises(ReplaceConfigException):
        sonic.load_replace_candidate(config=text)


def test_nothing_loaded_is_an_error_and_discard_forgets(device: tuple[Any, Bench]) -> None:
    sonic, _ = device
    with pytest.raises(CommitError, match="nothing is loaded"):
        sonic.commit_config()
    sonic.load_merge_candidate(config=json.dumps({"PORT": {"Ethernet0": {"description": "x"}}}))
    sonic.discard_config()
    assert sonic.compare_config() == ""


def test_get_config_has_both_and_no_secret(device: tuple[Any, Bench]) -> None:
    sonic, made = device
    state = made.switches["p1-l0"].read()
    state["config"]["TACPLUS"] = {"global": {"passkey": "hunter2"}}
    made.switches["p1-l0"].write(state)
    text = sonic.get_config()["running"]
    assert '"hostname": "p1-l0"' in text
    assert "router bgp 4200000110" in text
    assert "hunter2" not in text


def test_a_changed_host_key_is_a_connection_error(bench: Make) -> None:  # noqa: F811
    switch = bench("p1-l0").switches["p1-l0"]
    switch.unreachable = HostKeyError("p1-l0: its host key has CHANGED")
    sonic = get_network_driver("sonic")("p1-l0", "a", "b", optional_args={"session": FakeSession(switch)})
    with pytest.raises(ConnectionException, match="CHANGED"):
        sonic.open()
    assert sonic.is_alive() == {"is_alive": False}


STATE = SwitchState(
    device="p1-l0",
    taken_at=1000.0,
    hostname="p1-l0",
    release="202505",
    hwsku="Accton-AS9817-64O",
    serial="SN1",
    uptime_s=77.0,
    bgp_local_asn=65001,
    config={"INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}, "Ethernet0|fd00::/127": {}}},
    ports={
        "Ethernet0": PortState(
            "Ethernet0", oper_up=True, admin_up=True, speed_mbps=400000, mtu=9216, last_up_time=900.0
        ),
        "Ethernet4": PortState("Ethernet4"),
    },
    lldp=(LldpNeighbour("Ethernet0", "s0", "02:00:5e:00:00:01", "mac", "etp1", "local", "Ethernet8"),),
    bgp={"10.0.0.1": BgpPeer("10.0.0.1", "Established", 65000, prefixes_received=7, prefixes_sent=2, uptime_s=60.0)},
    rib={
        "10.1.0.0/24": Route(
            "10.1.0.0/24", "bgp", (NextHop("10.0.0.1", "Ethernet0"), NextHop("10.0.0.3", "Ethernet4"))
        ),
        "10.1.0.0/25": Route("10.1.0.0/25", "static", (NextHop("10.0.0.1", "Ethernet0"),)),
    },
    neighbours=(Neighbour("10.0.0.1", "Ethernet0", "02:00:5e:00:00:01", "REACHABLE"),),
    counters={"Ethernet0": {"IF_IN_OCTETS": 10, "IF_OUT_OCTETS": 20, "IF_IN_ERRORS": 1}},
)


def shaped(value: Any, model: Any) -> None:
    """A value has exactly the keys and types of NAPALM's own model."""
    hints = get_type_hints(model)
    assert set(value) == set(hints)
    for name, kind in hints.items():
        origin = getattr(kind, "__origin__", kind)
        assert isinstance(value[name], origin), (name, value[name], kind)


def test_getters_have_napalms_shapes() -> None:
    shaped(getters.facts(STATE), models.FactsDict)
    for port in getters.interfaces(STATE).values():
        shaped(port, models.InterfaceDict)
    for row in getters.interface_counters(STATE).values():
        shaped(row, models.InterfaceCounterDict)
    for rows in getters.lldp_neighbors(STATE).values():
        shaped(rows[0], models.LLDPNeighborDict)
    for rows in getters.lldp_neighbors_detail(STATE).values():
        shaped(rows[0], models.LLDPNeighborDetailDict)
    for peer in getters.bgp_neighbors(STATE)["global"]["peers"].values():
        shaped(peer, models.PeerDict)
    for row in getters.arp_table(STATE):
        shaped(row, models.ARPTableDict)
    for hops in getters.routes_to(STATE, "10.1.0.0/24").values():
        shaped(hops[0], models.RouteDict)


def test_getters_say_what_was_seen() -> None:
    assert getters.facts(STATE)["interface_list"] == ["Ethernet0", "Ethernet4"]
    assert getters.interfaces(STATE)["Ethernet0"]["last_flapped"] == 100.0
    assert getters.interfaces(STATE)["Ethernet4"]["speed"] == -1.0
    assert getters.interface_addresses(STATE) == {
        "Ethernet0": {"ipv4": {"10.0.0.0": {"prefix_length": 31}}, "ipv6": {"fd00::": {"prefix_length": 127}}}
    }
    assert getters.bgp_neighbors(STATE)["global"]["peers"]["10.0.0.1"]["is_up"] is True
    assert getters.interface_counters(STATE)["Ethernet0"]["tx_octets"] == 20
    assert getters.interface_counters(STATE)["Ethernet0"]["tx_errors"] == -1
    assert [hop["next_hop"] for hop in getters.routes_to(STATE, "10.1.0.0/24")["10.1.0.0/24"]] == [
        "10.0.0.1",
        "10.0.0.3",
    ]
    assert list(getters.routes_to(STATE, "10.1.0.0/24", longer=True)) == ["10.1.0.0/24", "10.1.0.0/25"]
    assert getters.routes_to(STATE, "10.1.0.0/24", protocol="static") == {}
    assert getters.routes_to(STATE, "nonsense") == {}
