"""A twin comes and goes without a trace, however it is started, stopped or killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric import lab
from fabric.errors import LabError
from fabric.lab import _needs
from fabric.lab._record import LabFolder
from fabric.lab.blueprint import draw
from fabric.state import state_paths
from fabric.values import codec
from tests.lab import handmade
from tests.twin_fixtures import missing_for_twin, wait

pytestmark = pytest.mark.twin
_RAILFAB = Path(sys.executable).parent / "railfab"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """The folder of a twin that is surely ended afterwards."""
    if lacking := missing_for_twin():
        pytest.skip("no twin on this machine: " + "; ".join(lacking))
    folder = state_paths(tmp_path / "small.yaml").folder / "lab"
    yield folder
    lab.down(folder)


def small(mark: str = "") -> object:
    return handmade.plan(leaves=1, spines=1, hosts=1, name="small", mark=mark)


def processes(mark: str) -> list[str]:
    """Command lines that bear this mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if mark in line and "pytest" not in line:
                found.append(line)
    return found


def namespaces(pid: int) -> set[str]:
    """Network and PID namespaces of a process and everything below it."""
    found, todo = set(), [pid]
    while todo:
        one = todo.pop()
        try:
            found |= {os.readlink(f"/proc/{one}/ns/{kind}") for kind in ("net", "pid", "mnt")}
            todo += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except OSError:
            continue
    return found


def alive_in(spaces: set[str]) -> list[int]:
    """Processes that live in any of these namespaces."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if {os.readlink(entry / "ns" / kind) for kind in ("net", "pid", "mnt")} & spaces:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_down_leaves_nothing(place: Path) -> None:
    links, mounts = os.listdir("/sys/class/net"), Path("/proc/self/mounts").read_text()
    session = lab.up(small(), place)  # type: ignore[arg-type]
    spaces = namespaces(session.pid) - namespaces_of_self()
    assert len(alive_in(spaces)) > 10
    assert lab.down(place) is True
    assert alive_in(spaces) == []
    assert (os.listdir("/sys/class/net"), Path("/proc/self/mounts").read_text()) == (links, mounts)
    assert not place.parent.parent.exists(), "the state folders it made are gone too"
    assert lab.down(place) is False


def namespaces_of_self() -> set[str]:
    return {os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "pid", "mnt")}


def test_switches_start_unconfigured(place: Path) -> None:
    from tests.twin_fixtures import LabTwin

    plan = small()
    twin = LabTwin(lab.up(plan, place).folder, plan)  # type: ignore[arg-type]
    assert twin.sessions("p1-l0") == {}
    assert not twin.rows("p1-l0", "CONFIG_DB", "INTERFACE|*")
    assert {row["oper_status"] for key, row in twin.rows("p1-l0", "APPL_DB", "PORT_TABLE:Ethernet*").items()} == {
        "down"
    }
    assert twin.row("p1-l0", "CONFIG_DB", "DEVICE_METADATA|localhost")["hostname"] == "sonic"
    assert "router bgp" not in twin.run("p1-l0", "vtysh", "-c", "show running-config")
    assert (
        json.loads(twin.run("p1-l0", "ip", "-j", "addr", "show", "eth0"))[0]["addr_info"][0]["local"] == "172.31.0.11"
    )
    assert twin.ssh("p1-l0", "hostname").stdout == "sonic\n"
    assert lab.status(place)["faults"] == []


def test_second_up_is_refused_and_the_first_goes_on(place: Path) -> None:
    first = lab.up(small(), place)  # type: ignore[arg-type]
    with pytest.raises(LabError, match="runs already"):
        lab.up(small(), place)  # type: ignore[arg-type]
    assert lab.status(place)["agent"] is True
    assert LabFolder(place).running().pid == first.pid  # type: ignore[union-attr]


def test_down_finds_a_twin_whose_record_is_lost(place: Path) -> None:
    session = lab.up(small(), place)  # type: ignore[arg-type]
    spaces = namespaces(session.pid) - namespaces_of_self()
    (place / "supervisor.json").unlink()
    assert lab.down(place) is True
    assert alive_in(spaces) == []


def test_a_stale_record_is_no_twin(place: Path) -> None:
    place.mkdir(parents=True)
    (place / "supervisor.json").write_text(json.dumps({"pid": os.getpid(), "started": 1}))
    assert lab.down(place) is False
    with pytest.raises(LabError, match="no twin of this intent runs"):
        lab.status(place)


def test_two_twins_at_once(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "lab"
    try:
        lab.up(small(), place)  # type: ignore[arg-type]
        lab.up(small(), other)  # type: ignore[arg-type]
        lab.fault(place, "cut", ["p1-l0:Ethernet0"])
        assert lab.status(place)["faults"] == ["cut p1-l0:Ethernet0"]
        assert len(lab.status(place)["cables"]) == 2
        assert lab.status(other)["faults"] == []
        assert len(lab.status(other)["cables"]) == 3
        assert lab.down(place)
        assert lab.status(other)["agent"] is True
    finally:
        lab.down(other)


@pytest.mark.parametrize("after", [0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0])
def test_killed_up_leaves_nothing(place: Path, after: float, tmp_path: Path) -> None:
    mark = f"k{os.getpid()}x{int(after * 100)}"
    code = (
        "import sys; from pathlib import Path; from fabric import lab; from tests.lab import handmade\n"
        f"lab.up(handmade.plan(name='small', mark={mark!r}), Path({str(place)!r}))\n"
        "print('up', flush=True); sys.stdin.read()"
    )
    tree = Path(__file__).resolve().parents[2]
    running = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    # Counted from the moment it begins to work, not from the start of Python.
    wait(lambda: place.exists() or running.poll() is not None, 30, "it to begin")
    time.sleep(after)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.close()
    running.stdout.close()
    lab.down(place)
    wait(lambda: processes(mark) == [], 10, "every process to be gone")
    assert processes(str(place)) == []
    assert not place.exists()


def test_failure_while_building_leaves_nothing_and_says_why(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blueprint = draw(small())  # type: ignore[arg-type]
    spoiled = codec.dumps(blueprint).replace('"b_port": "Ethernet0"', '"b_port": "not a name"')
    assert spoiled != codec.dumps(blueprint)
    monkeypatch.setattr("fabric.lab.control.codec.dumps", lambda _: spoiled)
    with pytest.raises(LabError, match="refused a link"):
        lab.up(small(), place)  # type: ignore[arg-type]
    assert LabFolder(place).running() is None
    assert processes(str(place)) == []


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_needs, "PROGRAMS", {"surely-not-there": "some-package", "/also/not": "other-package"})
    with pytest.raises(LabError, match=r"apt-get install other-package some-package(.|\n)*without the twin"):
        lab.up(small(), tmp_path / "lab")  # type: ignore[arg-type]
    assert not (tmp_path / "lab").exists()


def test_agent_that_died_is_not_hidden(place: Path, tmp_path: Path) -> None:
    session = lab.up(small(), place)  # type: ignore[arg-type]
    children = Path(f"/proc/{session.pid}/task/{session.pid}/children").read_text().split()
    agent = next(int(pid) for pid in children if b"fabric.lab.agent" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(agent, signal.SIGKILL)
    wait(lambda: not lab.status(place)["agent"], 10, "the supervisor to notice")
    intent = tmp_path / "small.yaml"
    intent.write_text("")
    done = subprocess.run([_RAILFAB, "lab", "status", intent], capture_output=True, text=True)
    assert done.returncode == 2
    assert "agent has ended" in done.stderr


def test_command_line(place: Path, tmp_path: Path) -> None:
    """`lab status|exec|fault|down` on a twin, words and exit codes."""
    lab.up(small(), place)  # type: ignore[arg-type]
    intent = tmp_path / "small.yaml"
    intent.write_text("")

    def railfab(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([_RAILFAB, "lab", *words], capture_output=True, text=True)

    status = json.loads(railfab("status", str(intent), "--json").stdout)
    assert status["schema"] == "railfab.lab/1"
    assert {node["name"]: node["role"] for node in status["nodes"]} == {
        "p1-l0": "leaf",
        "s0": "spine",
        "gpu001": "host",
    }
    assert {
        "ends": [{"device": "gpu001", "port": "rail0"}, {"device": "p1-l0", "port": "Ethernet0"}],
        "rail": 0,
    } in status["cables"]
    assert railfab("exec", str(intent), "gpu001", "--", "hostname").stdout == "gpu001\n"
    assert railfab("exec", str(intent), "p1-l0", "--", "sh", "-c", "exit 7").returncode == 7
    env = railfab("exec", str(intent), "--", "env").stdout
    assert f"RAILFAB_KNOWN_HOSTS={place / 'known_hosts'}" in env
    assert f"RAILFAB_KEY={place / 'id_ed25519'}" in env
    assert "RAILFAB_USER=admin" in env
    assert "SSH_AUTH_SOCK" not in env
    addresses = railfab("exec", str(intent), "--", "ip", "-br", "addr").stdout
    assert "172.31.0.1/16" in addresses
    for wrong, words in (
        (("exec", str(intent), "nobody", "--", "true"), "no node nobody"),
        (("exec", str(intent), "true"), "write `lab exec"),
        (("fault", str(intent), "cut", "p1-l0"), "DEVICE:PORT"),
        (("fault", str(intent), "cut", "p1-l0:Ethernet999"), "no port Ethernet999"),
        (("fault", str(intent), "bgpd", "gpu001"), "no switch gpu001"),
        (("fault", str(intent), "cut", "p1-l0:Ethernet0", "--undo"), "not in"),
        (("fault", str(intent), "mtu", "p1-l0:Ethernet0"), "which MTU"),
        (("status", str(tmp_path / "other.yaml")), "no twin of this intent"),
    ):
        done = railfab(*wrong)
        assert (done.returncode, words in done.stderr) == (2, True), (wrong, done)
        assert "Traceback" not in done.stderr
    down = railfab("down", str(intent), "--json")
    assert json.loads(down.stdout) == {"schema": "railfab.lab-down/1", "ran": True}
    assert not (tmp_path / ".railfab").exists()


def test_agent_opens_no_intent_plan_or_ledger(place: Path, tmp_path: Path) -> None:
    """It runs with those files absent, and has none of them open; nor does it know our rooms."""
    session = lab.up(small(), place)  # type: ignore[arg-type]
    assert not list(tmp_path.glob("*.yaml")), "there is no intent and no ledger beside this twin"
    (place / "blueprint.json").unlink()
    children = Path(f"/proc/{session.pid}/task/{session.pid}/children").read_text().split()
    agent = next(pid for pid in children if b"fabric.lab.agent" in Path(f"/proc/{pid}/cmdline").read_bytes())
    opened = {os.readlink(path) for path in Path(f"/proc/{agent}/fd").iterdir()}
    assert not any(str(tmp_path) in path for path in opened if not path.endswith("/log"))
    arguments = Path(f"/proc/{agent}/cmdline").read_bytes().decode().split("\0")
    assert arguments[1:5] == ["-m", "fabric.lab.agent", "/run/lab/boxes.json", "/run/lab/agent.sock"]
    boxes = json.loads(Path(f"/proc/{session.pid}/root/run/lab/boxes.json").read_text())
    assert set(boxes) == {"p1-l0", "s0"}
    assert all(isinstance(pid, int) for pid in boxes.values())


def test_agent_imports_no_other_room() -> None:
    code = "import sys, fabric.lab.agent.__main__; print(*(name for name in sys.modules if name.startswith('fabric')))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    rooms = {name.split(".")[1] for name in told if "." in name}
    assert rooms <= {"lab", "values", "errors"}, rooms
    assert not {name for name in told if name.startswith("fabric.values.")}
