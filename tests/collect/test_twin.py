"""Collecting a running twin over real SSH, as the command line does; compared with what the Plan says must be seen."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from fabric.collect import files
from fabric.collect.hosts import host_script, parse_host
from fabric.values.snapshot import FibRoute, Route, Snapshot, SwitchState
from fabric.whatif.synthetic import healthy
from tests.twin_fixtures import LabTwin

pytestmark = pytest.mark.twin


def collect(twin: LabTwin, out: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """`railfab collect INTENT -o OUT --json ...` on the twin's management network."""
    done = twin.outside("railfab", "collect", str(twin.intent), "-o", str(out), "--json", *words)
    return done, json.loads(done.stdout) if done.stdout else {}


@pytest.fixture(scope="module")
def seen(lab_twin: LabTwin, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    out = tmp_path_factory.mktemp("seen") / "snapshot.json.gz"
    done, document = collect(lab_twin, out)
    assert done.returncode == 0, done.stderr
    assert document["summary"] == {"devices": 6, "read": 6, "holes": 0, "missing": 0}
    assert files.raw_path(out).exists()
    return files.read(out)


def test_everything_was_read_in_one_exec_each(seen: Snapshot, lab_twin: LabTwin) -> None:
    assert list(seen.switches) == list(lab_twin.plan.switches)
    assert seen.missing == {}
    for name, state in seen.switches.items():
        assert state.holes == ()
        assert state.hostname == name
        assert state.hwsku == lab_twin.plan.switches[name].hwsku
        assert state.bgp_local_asn == lab_twin.plan.switches[name].asn
        assert state.frr is not None
        assert f"router bgp {lab_twin.plan.switches[name].asn}" in state.frr
        assert state.clock is not None
        assert abs(state.clock - state.taken_at) < 5


def _bgp(table: Any) -> dict[str, set[tuple[str, str]]]:
    assert table is not None
    found: dict[str, set[tuple[str, str]]] = {}
    for prefix, route in table.items():
        assert isinstance(route, (Route, FibRoute))
        if route.protocol == "bgp":
            found[prefix] = {(hop.address, hop.port) for hop in route.next_hops}
    return found


def test_the_twin_shows_what_a_synthetic_snapshot_of_the_plan_shows(seen: Snapshot, lab_twin: LabTwin) -> None:
    """Two independent ways to the same truth: FRR and Redis over SSH, and the graph of the Plan."""
    expected = healthy(lab_twin.plan)
    for name, state in seen.switches.items():
        wanted = expected.switches[name]
        routes = _bgp(wanted.rib)
        assert routes, name
        assert _bgp(state.rib) == routes
        assert _bgp(state.kernel) == routes
        assert _bgp(state.appl) == routes
        assert state.asic is not None
        assert {
            prefix: {(hop.address, hop.port) for hop in state.asic[prefix].next_hops} for prefix in routes
        } == routes
        assert all(not route.unresolved for route in state.asic.values())
        assert _sessions(state) == _sessions(wanted)
        assert _links(state) == _links(wanted)
        assert _cables(state) == _cables(wanted)


def _sessions(state: SwitchState) -> dict[str, tuple[Any, ...]]:
    return {
        key: (peer.state, peer.remote_asn, peer.local_asn, peer.prefixes_received, peer.prefixes_sent)
        for key, peer in (state.bgp or {}).items()
    }


def _links(state: SwitchState) -> dict[str, tuple[Any, ...]]:
    return {
        name: (port.alias, port.lanes, port.index, port.speed_mbps, port.mtu, port.fec)
        for name, port in (state.ports or {}).items()
        if port.oper_up
    }


def _cables(state: SwitchState) -> set[tuple[str, str, str, str]]:
    """Local port, neighbour, and port id and description of switches; hosts' MACs are the twin's own."""
    found = set()
    for row in state.lldp or ():
        if row.local_port.startswith("Ethernet"):
            known = row.port_subtype != "mac"
            found.add(
                (row.local_port, row.system_name, row.port_id if known else "", row.port_description if known else "")
            )
    return found


def test_raw_answers_can_be_read_again(lab_twin: LabTwin, tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    collect(lab_twin, out, "--only", "bgp,lldp", "--scope", "p1-l0")
    again = tmp_path / "b.json"
    done = lab_twin.outside("railfab", "collect", "--reread", str(files.raw_path(out)), "-o", str(again))
    assert done.returncode == 0, done.stderr
    first, second = files.read(out), files.read(again)
    assert list(first.switches) == ["p1-l0"]
    assert second.switches["p1-l0"].bgp == first.switches["p1-l0"].bgp
    assert second.switches["p1-l0"].ports is None


def test_an_unprivileged_account_reads_the_same(lab_twin: LabTwin, seen: Snapshot, tmp_path: Path) -> None:
    if lab_twin.ssh("p1-l0", "true", user="monitor").returncode:
        pytest.skip("the rootless twin has no accounts")
    out = tmp_path / "monitor.json"
    done = lab_twin.outside(
        "env", "RAILFAB_USER=monitor", "railfab", "collect", str(lab_twin.intent), "-o", str(out), "--json"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    state = files.read(out).switches["p1-l0"]
    assert state.holes == ()
    assert _bgp(state.rib) == _bgp(seen.switches["p1-l0"].rib)
    assert _cables(state) == _cables(seen.switches["p1-l0"])


def test_a_switch_that_cannot_be_reached_is_missing_and_exit_2(lab_twin: LabTwin, tmp_path: Path) -> None:
    known_hosts = tmp_path / "known_hosts"
    address = lab_twin.plan.switches["s1"].mgmt_address.partition("/")[0]
    lines = (lab_twin.folder / "known_hosts").read_text().splitlines()
    known_hosts.write_text(
        "\n".join(line for line in lines if f"{address} " not in line and f"{address}," not in line) + "\n"
    )
    out = tmp_path / "snapshot.json"
    done = lab_twin.outside(
        "env",
        f"RAILFAB_KNOWN_HOSTS={known_hosts}",
        "railfab",
        "collect",
        str(lab_twin.intent),
        "-o",
        str(out),
        "--json",
    )
    assert done.returncode == 2
    document = json.loads(done.stdout)
    (missing,) = [device for device in document["devices"] if device["status"] == "missing"]
    assert missing["name"] == "s1"
    assert "key" in missing["error"]
    assert set(files.read(out).missing) == {"s1"}


def test_a_window_is_two_files(lab_twin: LabTwin, tmp_path: Path) -> None:
    out = tmp_path / "snapshot.json"
    began = time.monotonic()
    done, document = collect(lab_twin, out, "--window", "2s", "--scope", "role=spine", "--history", "--only", "links")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began >= 2
    before, after = files.read(Path(document["baseline"])), files.read(out)
    assert after.switches["s0"].taken_at - before.switches["s0"].taken_at >= 2
    assert lab_twin.intent is not None
    assert (lab_twin.intent.parent / ".railfab" / "lab" / "history.db").exists()


def test_a_host_of_the_twin(lab_twin: LabTwin) -> None:
    answer = lab_twin.run("gpu001", "sh", "-s", text=host_script(token="t"))
    host = parse_host("gpu001", answer, 1.0, token="t")
    assert host.lldp is not None
    seen = {row.local_port: (row.system_name, row.port_id) for row in host.lldp if row.local_port.startswith("rail")}
    assert seen == {
        nic.name: (nic.switch, lab_twin.plan.switches[nic.switch].ports[nic.switch_port].alias)
        for nic in lab_twin.plan.hosts["gpu001"].nics.values()
    }
