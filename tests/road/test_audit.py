"""The path audit on the live twin: switches answer, hosts swallow UDP 4791 as a RoCE NIC does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fabric.allocate import load_plan
from fabric.audit.flights import flights
from tests.road.conftest import Road

pytestmark = pytest.mark.twin

_SWALLOW = "table inet roce { chain i { type filter hook prerouting priority raw; udp dport 4791 counter drop; }; }"


def _shell(road: Road, node: str, script: str) -> str:
    done = road.railfab("lab", "exec", str(road.intent), node, "--", "sh", "-c", script)
    assert done.returncode == 0, f"{node}: {script}: {done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def swallowing(road: Road) -> Iterator[Road]:
    """Every host drops what comes to port 4791 before a socket could see it."""
    hosts = [f"gpu00{number}" for number in range(1, 5)]
    for host in hosts:
        _shell(road, host, f"nft '{_SWALLOW}'")
    yield road
    for host in hosts:
        _shell(road, host, "nft delete table inet roce")


@contextmanager
def _black_hole(road: Road, switch: str, ingress: str | None, egress: str) -> Iterator[None]:
    """The switch forwards nothing out of `egress` (from `ingress` only, if given); its own packets still leave."""
    match = f'iifname "{ingress}" ' if ingress else ""
    rule = f'{match}oifname "{egress}" counter drop'
    _shell(road, switch, f"nft 'table inet hole {{ chain f {{ type filter hook forward priority 0; {rule}; }}; }}'")
    try:
        yield
    finally:
        _shell(road, switch, "nft delete table inet hole")


def _audit(road: Road, folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Write the jobs, run each in its host, judge what they printed."""
    written = road.railfab("audit", str(road.intent), "--write-jobs", str(folder), *words)
    assert written.returncode == 0, written.stderr
    for job in sorted(folder.glob("*.sh")):
        done = road.railfab("lab", "exec", str(road.intent), job.stem, "--", "sh", "-s", text=job.read_text())
        assert done.returncode == 0, done.stderr
        (folder / f"{job.stem}.json").write_text(done.stdout)
    judged = road.railfab("audit", str(road.intent), "--answers", str(folder), "--json", *words)
    assert judged.stdout, judged.stderr
    document: dict[str, Any] = json.loads(judged.stdout)
    return judged.returncode, document


def test_a_healthy_fabric_has_every_cable_crossed_both_ways(swallowing: Road, tmp_path: Path) -> None:
    code, document = _audit(swallowing, tmp_path, "--rate", "1000")
    assert (code, document["findings"]) == (0, [])
    assert document["schema"] == "railfab.audit/1"
    assert document["summary"]["pass"] == 2 * 16
    assert document["summary"]["devices"] == 6


def test_a_cable_that_swallows_traffic_is_named_though_its_session_is_up(swallowing: Road, tmp_path: Path) -> None:
    plan = load_plan(swallowing.intent)
    flight = next(flight for flight in flights(plan) if flight.source_leaf == "p1-l1")
    cable = sorted(flight.next_cables["p1-l1"])[2]
    port = next(port.name for port in plan.switches["p1-l1"].ports.values() if port.cable == cable)
    with _black_hole(swallowing, "p1-l1", None, port):
        code, document = _audit(swallowing, tmp_path, "--rate", "1000")
        bgp, _ = swallowing.check("--only", "bgp")
    assert bgp == 0, "the session does not see it"
    assert code == 1
    (finding,) = document["findings"]
    assert (finding["code"], finding["device"], finding["cable"]) == ("PATH-01", "p1-l1", cable)
    assert finding["confidence"] == "certain"


def test_one_path_that_swallows_traffic_is_named(swallowing: Road, tmp_path: Path) -> None:
    plan = load_plan(swallowing.intent)
    flight = next(flight for flight in flights(plan) if flight.source_leaf == "p1-l2")
    spine = plan.switches["s1"]
    entry = next(port for port in spine.ports.values() if port.peer_device == "p1-l2")
    out = next(port for port in spine.ports.values() if port.cable in flight.next_cables["s1"])
    with _black_hole(swallowing, "s1", entry.name, out.name):
        code, document = _audit(swallowing, tmp_path, "--rate", "1000", "--paths")
    assert code == 1
    (finding,) = document["findings"]
    assert (finding["code"], finding["device"], finding["cable"]) == ("PATH-01", "s1", out.cable)
    assert (entry.cable or "") in finding["observed"]


def test_answers_that_a_policer_takes_are_cannot_tell(swallowing: Road, tmp_path: Path) -> None:
    limit = (
        "table inet copp { chain o { type filter hook output priority 0; "
        "icmp type time-exceeded limit rate over 20/second burst 5 packets drop; }; }"
    )
    _shell(swallowing, "p1-l3", f"nft '{limit}'")
    try:
        code, document = _audit(swallowing, tmp_path, "--rate", "2000")
    finally:
        _shell(swallowing, "p1-l3", "nft delete table inet copp")
    assert code == 2, document["findings"]
    assert {finding["status"] for finding in document["findings"]} == {"unknown"}
