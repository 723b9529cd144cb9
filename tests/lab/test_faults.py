"""Each fault of the contract on a running, healthy twin: what a check says on top, and that it goes away."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fabric import lab
from fabric.errors import LabError
from tests.twin_fixtures import LabTwin, wait

pytestmark = [pytest.mark.twin, pytest.mark.slow]
_RAILFAB = str(Path(sys.executable).parent / "railfab")


@dataclass(frozen=True)
class Case:
    """A fault, and the finding that must stand alone on top: status, code, device, and what it must name."""

    words: tuple[str, ...]
    status: str
    codes: tuple[str, ...]
    exit_code: int
    device: str
    port: str | None = None
    moves: int = 0


CASES = {
    "swap": Case(("swap", "p1-l0:Ethernet0", "p1-l1:Ethernet0"), "fail", ("TOPO-01",), 1, "p1-l0", "Ethernet0", 2),
    "cut-fabric": Case(("cut", "p1-l0:Ethernet256"), "fail", ("PHY-",), 1, "p1-l0", "Ethernet256"),
    "cut-host": Case(("cut", "p1-l2:Ethernet4"), "fail", ("PHY-",), 1, "p1-l2", "Ethernet4"),
    "nexthop-asic": Case(("nexthop", "p1-l0", "PREFIX", "HOP"), "fail", ("BGP-03",), 1, "p1-l0"),
    "nexthop-appl": Case(("nexthop", "p1-l0", "PREFIX", "HOP", "appl"), "fail", ("BGP-03",), 1, "p1-l0"),
    "nexthop-kernel": Case(("nexthop", "p1-l0", "PREFIX", "HOP", "kernel"), "fail", ("BGP-03",), 1, "p1-l0"),
    "bgpd": Case(("bgpd", "p1-l1"), "fail", ("BGP-",), 1, "p1-l1"),
    "lldp-leaf": Case(("lldp", "p1-l0:Ethernet4"), "unknown", ("TOPO-",), 2, "p1-l0", "Ethernet4"),
    "lldp-nic": Case(("lldp", "gpu001:rail0"), "unknown", ("TOPO-",), 2, "p1-l0", "Ethernet0"),
    "mtu": Case(("mtu", "p1-l0:Ethernet256", "4000"), "fail", ("ADDR-03", "PHY-"), 1, "p1-l0", "Ethernet256"),
}


def check(twin: LabTwin, *options: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code of `railfab check`, and the findings on top that are not passes."""
    done = twin.outside(_RAILFAB, "check", str(twin.intent), "--json", *options)
    assert done.stdout.startswith("{"), done.stderr
    findings = json.loads(done.stdout)["findings"]
    return done.returncode, [one for one in findings if one["status"] in ("fail", "unknown")]


@pytest.fixture(scope="module")
def sound(lab_twin: LabTwin) -> LabTwin:
    """The session's twin, healthy when this module begins."""
    wait(lambda: check(lab_twin) == (0, []), 60, "the twin to be healthy before any fault")
    return lab_twin


@pytest.fixture
def healthy(sound: LabTwin) -> Iterator[LabTwin]:
    """The same, healthy again after whatever the test put in."""
    lab_twin = sound
    yield lab_twin
    for name in reversed(lab.status(lab_twin.folder)["faults"]):
        kind, *words = name.split()
        lab_twin.fault(kind, *words, *(["0"] if kind in ("mtu", "flap") else []), undo=True)
    wait(lambda: check(lab_twin) == (0, []), 90, "the twin to be healthy after the fault was undone")


def words_of(twin: LabTwin, case: Case) -> tuple[str, ...]:
    prefix = twin.plan.switches["p1-l1"].aggregates[0]
    hop = next(twin.plan.switches["p1-l0"].sessions()).peer_addresses[0].split("/")[0]
    return tuple({"PREFIX": prefix, "HOP": hop}.get(word, word) for word in case.words)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_fault_is_named_alone_and_goes_away(healthy: LabTwin, case: Case) -> None:
    healthy.fault(*words_of(healthy, case))
    deadline = time.monotonic() + 40
    while True:
        code, tops = check(healthy)
        seen = [
            (one["status"], one["device"], one["port"] if case.port else None, len(one["moves"]), one["code"])
            for one in tops
        ]
        if (code, [one[:4] for one in seen]) == (
            case.exit_code,
            [(case.status, case.device, case.port, case.moves)],
        ) or time.monotonic() > deadline:
            break
        time.sleep(1)
    assert (code, [one[:4] for one in seen]) == (case.exit_code, [(case.status, case.device, case.port, case.moves)]), (
        seen
    )
    assert tops[0]["code"].startswith(case.codes)
    assert tops[0]["remedy"]


def test_prefixes_refused_on_one_session_come_and_go_one_by_one(healthy: LabTwin) -> None:
    """Two prefixes and two sessions: each filter is taken away when its last prefix is, also one FRR forgot itself."""

    def running() -> list[str]:
        text = healthy.run("p1-l0", "vtysh", "-c", "show running-config")
        return [line.strip() for line in text.splitlines() if "TWIN_REFUSES" in line]

    first, second = (healthy.plan.switches[name].aggregates[0] for name in ("p1-l1", "p1-l2"))
    hops = [port.peer_addresses[0].split("/")[0] for port in healthy.plan.switches["p1-l0"].sessions()]
    healthy.fault("nexthop", "p1-l0", first, hops[0], "rib")
    healthy.fault("nexthop", "p1-l0", second, hops[0], "rib")
    healthy.fault("nexthop", "p1-l0", second, hops[2], "rib")
    assert sum(" deny " in line for line in running()) == 3
    assert sum(line.startswith("neighbor ") for line in running()) == 2
    healthy.fault("nexthop", "p1-l0", first, hops[0], "rib", undo=True)
    assert [line.split()[-1] for line in running() if " deny " in line] == [second, second]
    healthy.fault("nexthop", "p1-l0", second, hops[2], "rib", undo=True)
    assert {line.split()[1] for line in running() if line.startswith("neighbor ")} == {hops[0]}
    healthy.run("p1-l0", "vtysh", "-c", "configure terminal", "-c", f"no ip prefix-list TWIN_REFUSES_{hops[0]}")
    healthy.fault("nexthop", "p1-l0", second, hops[0], "rib", undo=True)
    assert not running(), "what somebody took away by hand is no obstacle, and nothing of ours is left"
    with pytest.raises(LabError, match=r"BGP has no path to 192\.0\.2\.0/24"):
        healthy.fault("nexthop", "p1-l0", "192.0.2.0/24", hops[0], "rib")


def test_next_hop_group_fault_after_a_flap(healthy: LabTwin) -> None:
    """FRR believes in all paths, the kernel has lost one: one ECMP fail, kernel against RIB."""
    port = next(healthy.plan.switches["p1-l0"].sessions()).name
    healthy.fault("nhg", "p1-l0")
    wait(lambda: check(healthy) == (0, []), 60, "a healthy twin: nothing is wrong before a link flaps")
    healthy.fault("flap", f"p1-l0:{port}", "2")

    def alone() -> dict[str, Any] | None:
        # Until the flapped session is up again, that is the story.
        code, tops = check(healthy)
        return tops[0] if code == 1 and [one["code"] for one in tops] == ["BGP-03"] else None

    assert "p1-l0: kernel lacks" in wait(alone, 40, "the kernel's loss to stand alone on top")["observed"]


def test_flap_is_counted_between_two_samples(healthy: LabTwin, tmp_path: Path) -> None:
    port = next(healthy.plan.switches["p1-l2"].sessions()).name
    baseline = tmp_path / "before.json"
    done = healthy.outside(_RAILFAB, "collect", str(healthy.intent), "-o", str(baseline))
    assert done.returncode == 0, done.stderr
    healthy.fault("flap", f"p1-l2:{port}", "2")
    wait(lambda: check(healthy) == (0, []), 60, "sessions to come back")
    code, tops = check(healthy, "--window", "300s", "--baseline", str(baseline))
    assert (code, len(tops)) == (1, 1)
    assert (tops[0]["device"], tops[0]["port"]) == ("p1-l2", port)
    assert tops[0]["code"].startswith("PHY-")
    after = tmp_path / "after.json"
    healthy.outside(_RAILFAB, "collect", str(healthy.intent), "-o", str(after))
    assert check(healthy, "--window", "300s", "--baseline", str(after)) == (0, [])


def test_the_record_of_faults_decides_nothing(healthy: LabTwin) -> None:
    """Outside the lab nobody reads it: without it the verdict stays."""
    healthy.fault("cut", "p1-l0:Ethernet0")
    wait(lambda: check(healthy)[0] == 1, 20, "the cut to be seen")
    before = [(one["code"], one["device"], one["port"]) for one in check(healthy)[1]]
    record = healthy.folder / "faults.json"
    assert json.loads(record.read_text()) == ["cut p1-l0:Ethernet0"]
    record.unlink()
    (healthy.folder / "blueprint.json").rename(healthy.folder / "elsewhere.json")
    try:
        code, tops = check(healthy)
        assert code == 1
        assert [(one["code"], one["device"], one["port"]) for one in tops] == before
    finally:
        (healthy.folder / "elsewhere.json").rename(healthy.folder / "blueprint.json")


def test_swapped_cables_are_told_by_status(healthy: LabTwin) -> None:
    healthy.fault("swap", "p1-l0:Ethernet0", "p1-l1:Ethernet0")
    pairs = {
        tuple(sorted(f"{end['device']}:{end['port']}" for end in cable["ends"]))
        for cable in lab.status(healthy.folder)["cables"]
    }
    assert ("gpu001:rail1", "p1-l0:Ethernet0") in pairs
    assert ("gpu001:rail0", "p1-l1:Ethernet0") in pairs
    assert len(pairs) == len(healthy.plan.cables)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("swap", "p1-l0:Ethernet0", "gpu001:rail0"), "ends of one cable"),
        (("swap", "gpu001:rail0", "gpu001:rail0"), "given twice"),
        (("cut", ":Ethernet0"), "write DEVICE:PORT"),
        (("nexthop", "p1-l0", "192.0.2.0/24", "192.0.2.1"), "no route"),
        (("nexthop", "p1-l0", "192.0.2.0/24", "192.0.2.1", "kernel"), "no route"),
        (("cut", "p1-l0:Ethernet40"), "no port|no cable"),
    ],
)
def test_impossible_faults_change_nothing(lab_twin: LabTwin, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(LabError, match=message):
        lab_twin.fault(*words)
    now = lab.status(lab_twin.folder)
    assert now["faults"] == []
    assert len(now["cables"]) == len(lab_twin.plan.cables)


def test_twice_in_or_twice_out_is_refused(lab_twin: LabTwin) -> None:
    lab_twin.fault("cut", "p1-l3:Ethernet0")
    try:
        with pytest.raises(LabError, match="in already"):
            lab_twin.fault("cut", "p1-l3:Ethernet0")
        with pytest.raises(LabError, match="cut already"):
            lab_twin.fault("cut", "gpu001:rail3")
        with pytest.raises(LabError, match="is cut"):
            lab_twin.fault("flap", "p1-l3:Ethernet0", "1")
        with pytest.raises(LabError, match="has its cable cut"):
            lab_twin.fault("swap", "p1-l3:Ethernet0", "p1-l3:Ethernet4")
    finally:
        lab_twin.fault("cut", "p1-l3:Ethernet0", undo=True)
    with pytest.raises(LabError, match="not in"):
        lab_twin.fault("cut", "p1-l3:Ethernet0", undo=True)


def test_a_port_is_in_one_swap_at_a_time(lab_twin: LabTwin) -> None:
    """Undone in the order they came, two swaps of one port would leave a third cabling and no fault listed."""
    first, third = ("p1-l2:Ethernet0", "p1-l2:Ethernet4"), "p1-l2:Ethernet8"
    lab_twin.fault("swap", *first)
    try:
        with pytest.raises(LabError, match="undo that first"):
            lab_twin.fault("swap", first[0], third)
    finally:
        lab_twin.fault("swap", *first, undo=True)


def test_undo_while_shut_by_hand_keeps_the_port_shut(lab_twin: LabTwin) -> None:
    """A cut port stays dark whatever its admin state, and a mended one is up only if it is configured up."""
    end = next(lab_twin.plan.switches["p1-l3"].sessions()).name

    def oper() -> str:
        return lab_twin.row("p1-l3", "APPL_DB", f"PORT_TABLE:{end}")["oper_status"]

    lab_twin.fault("cut", f"p1-l3:{end}")
    try:
        wait(lambda: oper() == "down", 5, "the cut")
        lab_twin.run("p1-l3", "config", "interface", "shutdown", end)
        lab_twin.run("p1-l3", "config", "interface", "startup", end)
        time.sleep(1)
        assert oper() == "down"
        lab_twin.run("p1-l3", "config", "interface", "shutdown", end)
    finally:
        lab_twin.fault("cut", f"p1-l3:{end}", undo=True)
    time.sleep(1)
    assert oper() == "down"
    lab_twin.run("p1-l3", "config", "interface", "startup", end)
    wait(lab_twin.converged, 60, "the session to come back")


def test_answers_of_a_script(lab_twin: LabTwin) -> None:
    """`--json` is a document and nothing else."""
    done = subprocess.run(
        [_RAILFAB, "lab", "fault", str(lab_twin.intent), "flap", "gpu001:rail3", "-n", "1", "--json"],
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout) == {"schema": "railfab.lab-fault/1", "fault": "flap gpu001:rail3", "in": True}
    done = subprocess.run(
        [_RAILFAB, "lab", "fault", str(lab_twin.intent), "flap", "gpu001:rail3", "--undo", "--json"],
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout)["in"] is False
    wait(lab_twin.converged, 60, "the link to come back")
