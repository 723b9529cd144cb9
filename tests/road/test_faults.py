"""The contract's faults, each put into the live twin: what a check must say on top, and nothing else there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.allocate import load_plan
from tests.road.conftest import Road

pytestmark = pytest.mark.twin


def _tops(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in document["findings"] if finding["status"] != "pass"]


def _under(finding: dict[str, Any]) -> list[dict[str, Any]]:
    return [inner for outer in finding["consequences"] for inner in (outer, *_under(outer))]


def _healthy(road: Road, *words: str) -> dict[str, Any]:
    code, document = road.check_until(lambda code, _: code == 0, *words)
    assert (code, _tops(document)) == (0, []), json.dumps(_tops(document), indent=1)[:2000]
    return document


def _one(road: Road, code: int, status: str, *words: str, within_s: float = 60) -> dict[str, Any]:
    """The check ends with `code` and has one finding on top, of this status; it may take a moment to settle."""

    def good(seen: int, document: dict[str, Any]) -> bool:
        return seen == code and [finding["status"] for finding in _tops(document)] == [status]

    seen, document = road.check_until(good, *words, within_s=within_s)
    tops = _tops(document)
    assert seen == code, json.dumps(tops, indent=1)[:2000]
    assert [finding["status"] for finding in tops] == [status], json.dumps(tops, indent=1)[:3000]
    finding: dict[str, Any] = tops[0]
    assert finding["remedy"], "every finding says what to do"
    return finding


def test_the_fabric_that_was_pushed_is_healthy(road: Road) -> None:
    document = _healthy(road)
    assert document["summary"]["devices"] == 6
    assert document["summary"]["missing_devices"] == []
    assert document["summary"]["pass"] > 100


def test_swap_is_one_cabling_finding_with_two_moves(road: Road) -> None:
    with road.fault("swap", "gpu001:rail0", "gpu001:rail1"):
        finding = _one(road, 1, "fail")
        assert finding["code"] == "TOPO-01"
        assert (finding["nodes"], finding["rails"]) == (["gpu001"], [0, 1])
        assert len(finding["moves"]) == 2
    _healthy(road)


def test_a_fabric_swap_has_its_dead_sessions_under_it(road: Road) -> None:
    with road.fault("swap", "p1-l0:Ethernet256", "p1-l1:Ethernet256"):
        finding = _one(road, 1, "fail")
        assert finding["code"].startswith("TOPO-")
        assert len(finding["moves"]) == 2
        assert any(inner["code"].startswith("BGP-") for inner in _under(finding))
    _healthy(road)


@pytest.mark.parametrize(
    ("port", "node", "rail"), [("p1-l2:Ethernet4", "gpu002", 2), ("p1-l3:Ethernet264", None, None)]
)
def test_cut_is_one_link_finding(road: Road, port: str, node: str | None, rail: int | None) -> None:
    with road.fault("cut", port):
        finding = _one(road, 1, "fail")
        assert finding["code"].startswith("PHY-")
        assert f"{finding['device']}:{finding['port']}" in finding["cable"]
        assert port in finding["cable"]
        if node is not None:
            assert finding["node"] == node
            assert finding["rail"] == rail
        else:
            assert any(inner["code"].startswith("BGP-") for inner in _under(finding)), "its session is down by it"
    _healthy(road)


def test_flap_is_one_link_finding_and_only_since_the_baseline(road: Road, tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    assert road.inside("collect", "-o", str(before)).returncode == 0
    with road.fault("flap", "p1-l1:Ethernet256", "-n", "3"):
        _healthy_links(road)
        finding = _one(road, 1, "fail", "--window", "60s", "--baseline", str(before))
        assert finding["code"] == "PHY-04"
        assert "3" in finding["observed"]
        assert road.inside("collect", "-o", str(after)).returncode == 0
    _healthy(road, "--window", "60s", "--baseline", str(after))


def _healthy_links(road: Road) -> None:
    """Wait until the sessions over a port that flapped are up again."""
    road.check_until(lambda code, _: code == 0, "--only", "bgp,ecmp")


@pytest.mark.parametrize("layer", ["rib", "kernel", "appl", "asic"])
def test_nexthop_is_one_ecmp_finding_at_its_layer(road: Road, layer: str) -> None:
    prefix, next_hop = _a_route(road, "p1-l0")
    plan = load_plan(road.intent)
    port = next(port for port in plan.switches["p1-l0"].sessions() if port.peer_addresses[0] == f"{next_hop}/31")
    with road.fault("nexthop", "p1-l0", prefix, next_hop, "--layer", layer):
        finding = _one(road, 1, "fail")
        assert finding["code"] == "BGP-03"
        assert (finding["device"], finding["port"]) == ("p1-l0", port.name)
        words = {"rib": "RIB", "kernel": "kernel", "appl": "APPL_DB", "asic": "ASIC_DB"}
        assert f"p1-l0: {words[layer]} lacks next hop {next_hop} over {port.name}" in finding["observed"]
        assert finding["observed"].endswith(f" for {prefix}")
        assert "p1-l0" in finding["remedy"], "what to type, and where"
        if layer == "rib":
            assert f"inbound prefix-list, filter-list or route-map for {next_hop}" in finding["remedy"]
            assert "Established at both ends" in finding["evidence"]
    _healthy(road)


def test_a_leaf_that_stopped_announcing_is_its_own_story_and_no_filter_of_others(road: Road) -> None:
    prefix = load_plan(road.intent).switches["p1-l1"].aggregates[0]

    def network(word: str) -> None:
        lines = ("configure terminal", "router bgp", "address-family ipv4 unicast", f"{word}network {prefix}")
        words = [part for line in lines for part in ("-c", line)]
        done = road.railfab("lab", "exec", str(road.intent), "p1-l1", "--", "vtysh", *words)
        assert done.returncode == 0, done.stdout + done.stderr

    network("no ")
    try:
        finding = _one(road, 1, "fail")
        assert (finding["code"], finding["device"], finding["port"]) == ("BGP-03", "p1-l1", None)
        assert f"p1-l1 announces {prefix} to none of its neighbours" in finding["observed"]
        assert f"`network {prefix}` is missing" in finding["remedy"]
        missing = {inner["device"] for inner in _under(finding)}
        assert missing == {"s0", "s1", "p1-l0", "p1-l2", "p1-l3"}, "who misses it stands under it"
    finally:
        network("")
    _healthy(road)


def _a_route(road: Road, device: str) -> tuple[str, str]:
    """A prefix of another leaf with several next hops, and one of them."""
    done = road.railfab("lab", "exec", str(road.intent), device, "--", "vtysh", "-c", "show ip route bgp json")
    routes = json.loads(done.stdout)
    for prefix, entries in sorted(routes.items()):
        hops = [hop["ip"] for hop in entries[0]["nexthops"] if hop.get("active")]
        if len(hops) == 4:
            return prefix, hops[0]
    raise AssertionError(f"no prefix with four next hops on {device}: {done.stdout[:500]}")


def test_bgpd_is_one_bgp_finding_for_the_device(road: Road) -> None:
    with road.fault("bgpd", "s1"):
        finding = _one(road, 1, "fail")
        assert finding["code"].startswith("BGP-")
        assert finding["device"] == "s1"
        assert _under(finding), "the sessions and next hops of its neighbours are down by it"
    _healthy(road)


def test_lldp_is_one_cabling_unknown(road: Road) -> None:
    with road.fault("lldp", "p1-l0:Ethernet8"):
        finding = _one(road, 2, "unknown", within_s=150)
        assert finding["code"].startswith("TOPO-")
        assert not finding["moves"]
    _healthy(road)


def test_mtu_is_one_link_finding(road: Road) -> None:
    with road.fault("mtu", "p1-l1:Ethernet264", "1500"):
        finding = _one(road, 1, "fail")
        assert finding["code"] in {"ADDR-03", "PHY-03"}
        assert (finding["device"], finding["port"]) == ("p1-l1", "Ethernet264")
        assert "1500" in finding["observed"]
    _healthy(road)


def test_nhg_after_a_flap_is_one_ecmp_finding_kernel_against_rib(road: Road) -> None:
    with road.fault("nhg", "p1-l2"):
        _healthy(road)  # bgp starts anew to use kernel groups; nothing is wrong before a link flaps
        with road.fault("flap", "p1-l2:Ethernet256", "-n", "2"):
            pass
        finding = _one(road, 1, "fail", within_s=90)
        assert finding["code"] == "BGP-03"
        assert finding["device"] == "p1-l2"
        assert "kernel" in finding["observed"]
    _healthy(road)


def test_the_verdict_does_not_read_the_twins_record_of_faults(road: Road) -> None:
    with road.fault("cut", "p1-l0:Ethernet12"):
        before = _one(road, 1, "fail")
        hidden = [path for path in road.intent.parent.rglob("*fault*") if path.is_file()]
        moved = [(path, path.rename(path.with_name(f"hidden-{number}"))) for number, path in enumerate(hidden)]
        try:
            after = _one(road, 1, "fail")
        finally:
            for path, away in moved:
                away.rename(path)
        assert (after["code"], after["cable"]) == (before["code"], before["cable"])
    _healthy(road)


def test_the_gate_judges_just_the_nodes_of_the_job(road: Road) -> None:
    def gate(nodes: str) -> tuple[int, dict[str, Any]]:
        done = road.inside("gate", "--nodes", nodes, "--json")
        return done.returncode, json.loads(done.stdout)

    code, document = gate("gpu[001-004]")
    assert (code, document["verdict"]) == (0, "go")
    with road.fault("cut", "gpu003:rail1"):
        _one(road, 1, "fail")
        code, document = gate("gpu[001-002,004]")
        assert (code, document["verdict"]) == (0, "go")
        code, document = gate("gpu[003-004]")
        assert (code, document["verdict"]) == (1, "no-go")
        assert document["findings"][0]["node"] == "gpu003"
    _healthy(road)


def test_drift_is_quiet_on_the_fabric_that_was_pushed(road: Road) -> None:
    done = road.inside("drift", "--json")
    assert done.returncode == 0, done.stdout[:2000] + done.stderr
    again = road.inside("plan", "-o", str(road.intent.parent / "again.json"), "--json")
    assert again.returncode == 0
    changes = json.loads(again.stdout)["devices"]
    assert {device["status"] for device in changes} == {"unchanged"}, again.stdout[:2000]
