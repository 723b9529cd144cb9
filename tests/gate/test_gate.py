"""Go or no-go: for these nodes, and for nobody else's troubles."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.errors import InputError
from fabric.gate import by_node, gate_document, judge, record, write_record
from fabric.gate.judge import exit_code
from fabric.gate.source import read_holds, seconds
from fabric.values.finding import Report
from fabric.values.plan import LifeState, Outage, Plan
from fabric.values.verdict import Answer
from fabric.whatif.faults import (
    BgpdDown,
    Cut,
    Dead,
    Fault,
    Flap,
    LoseNextHop,
    NoLldp,
    Setting,
    Swap,
    Unreachable,
)
from fabric.whatif.synthetic import place
from tests.checks.bench import BEFORE, two_pods
from tests.checks.bench import judge as check


def verdict(faults: list[Fault], nodes: list[str], **options: object) -> Answer:
    return judge(two_pods().plan, check(two_pods(), faults, **options), nodes).verdict


def report_of(faults: list[Fault]) -> Report:
    return check(two_pods(), faults)


def test_a_healthy_fabric_is_go() -> None:
    answer = judge(two_pods().plan, report_of([]), ["gpu001", "gpu008"])
    assert (answer.verdict, exit_code(answer)) == (Answer.GO, 0)
    assert answer.summary.passed == 8
    assert answer.taken_at == two_pods().snapshot().ended_at


@pytest.mark.parametrize(
    ("fault", "sick", "well"),
    [
        pytest.param(Swap(place("gpu001:rail0"), place("gpu001:rail1")), ["gpu001"], ["gpu002", "gpu005"], id="swap"),
        pytest.param(Swap(place("gpu001:rail0"), place("gpu002:rail0")), ["gpu001", "gpu002"], ["gpu003"], id="two"),
        pytest.param(Cut(place("gpu003:rail2")), ["gpu003"], ["gpu001", "gpu004"], id="F127-seven-of-eight"),
        pytest.param(Dead("gpu004"), ["gpu004"], ["gpu003"], id="dead-node"),
        pytest.param(Dead("p1-l2"), ["gpu001", "gpu004"], ["gpu005", "gpu008"], id="dead-leaf"),
        pytest.param(BgpdDown("p2-l1"), ["gpu005", "gpu008"], ["gpu001"], id="bgpd"),
        pytest.param(
            LoseNextHop("p1-l0", "10.101.1.0/25", "10.254.0.1", "asic"), ["gpu001", "gpu002"], ["gpu005"], id="next-hop"
        ),
        pytest.param(Setting(place("p2-l0:Ethernet0"), "mtu", 1500), ["gpu005"], ["gpu006", "gpu001"], id="mtu"),
    ],
)
def test_a_fault_stops_its_own_nodes_only(fault: Fault, sick: list[str], well: list[str]) -> None:
    plan, report = two_pods().plan, report_of([fault])
    for node in sick:
        answer = judge(plan, report, [node])
        assert answer.verdict is Answer.NO_GO, node
        assert exit_code(answer) == 1
        assert answer.findings
    for node in well:
        assert judge(plan, report, [node]).verdict is not Answer.NO_GO, node


def test_F127_the_answer_names_node_nic_and_port() -> None:
    answer = judge(two_pods().plan, report_of([Cut(place("gpu003:rail2"))]), ["gpu003"])
    finding = answer.findings[0]
    assert (finding.node, finding.nic, finding.device, finding.port) == ("gpu003", "rail2", "p1-l2", "Ethernet8")
    assert answer.summary.passed == 3


def test_one_uplink_less_is_a_warning() -> None:
    assert verdict([Cut(place("p1-l0:Ethernet256"))], ["gpu001"]) is Answer.WARN
    assert verdict([Cut(place("p1-l0:Ethernet256"))], ["gpu005"]) is Answer.GO


def test_uplinks_that_no_longer_carry_the_hosts_stop_the_job() -> None:
    cuts: list[Fault] = [Cut(place(f"p1-l0:Ethernet{256 + 8 * n}")) for n in range(7)]
    assert verdict(cuts, ["gpu001"]) is Answer.NO_GO


def test_what_cannot_be_told_about_a_node_is_unknown_and_never_go() -> None:
    assert verdict([Unreachable("p1-l0")], ["gpu001"]) is Answer.UNKNOWN
    assert verdict([Unreachable("p1-l0")], ["gpu005"]) is Answer.GO
    assert exit_code(judge(two_pods().plan, report_of([Unreachable("p1-l0")]), ["gpu001"])) == 2


def test_a_silent_agent_of_a_node_with_proof_is_a_warning() -> None:
    silent: list[Fault] = [NoLldp(place(f"gpu002:rail{rail}")) for rail in range(4)]
    assert verdict(silent, ["gpu002"]) is Answer.WARN


def test_a_spine_that_only_management_lost_does_not_stop_jobs() -> None:
    assert verdict([Unreachable("s1")], ["gpu001"]) is Answer.WARN


def test_nothing_judged_is_unknown() -> None:
    empty = Report()
    assert judge(two_pods().plan, empty, ["gpu001"]).verdict is Answer.UNKNOWN


def test_flaps_of_a_node_stop_it() -> None:
    report = check(two_pods(), [Flap(place("gpu001:rail3"), 1)], baseline=two_pods().snapshot(at=BEFORE), window_s=60)
    assert judge(two_pods().plan, report, ["gpu001"]).verdict is Answer.NO_GO
    assert judge(two_pods().plan, report, ["gpu002"]).verdict is Answer.GO


def _out(plan: Plan, node: str, state: LifeState) -> Plan:
    hosts = dict(plan.hosts)
    hosts[node] = dataclasses.replace(hosts[node], state=state, outage=Outage("waits for a GPU"))
    return dataclasses.replace(plan, hosts=hosts)


@pytest.mark.parametrize("state", [LifeState.PLANNED, LifeState.OUT_OF_SERVICE, LifeState.INSTALLED])
def test_a_node_that_is_not_in_service_is_no_go(state: LifeState) -> None:
    plan = _out(two_pods().plan, "gpu002", state)
    answer = judge(plan, report_of([]), ["gpu001", "gpu002"])
    assert answer.verdict is Answer.NO_GO
    assert [finding.code for finding in answer.findings] == ["LIFE-03"]


def test_F136_a_node_that_no_longer_exists_is_an_error() -> None:
    with pytest.raises(InputError, match="no node gpu942"):
        judge(two_pods().plan, report_of([]), ["gpu001", "gpu942"])


def test_F134_one_sick_node_does_not_hide_that_others_are_fine() -> None:
    plan = two_pods().plan
    answer = judge(plan, report_of([Cut(place("gpu003:rail2"))]), ["gpu001", "gpu003", "gpu005"])
    assert by_node(plan, answer) == {"gpu001": "go", "gpu003": "no-go", "gpu005": "go"}
    assert gate_document(plan, answer)["by_node"]["gpu003"] == "no-go"


def test_strict_makes_a_warning_1() -> None:
    answer = judge(two_pods().plan, report_of([Cut(place("p1-l0:Ethernet256"))]), ["gpu001"])
    assert (exit_code(answer), exit_code(answer, strict=True)) == (0, 1)


# The prolog


@pytest.fixture
def verdicts(tmp_path: Path) -> Path:
    path = tmp_path / ".railfab" / "lab" / "verdict.json"
    plan = _out(two_pods().plan, "gpu008", LifeState.OUT_OF_SERVICE)
    faults: list[Fault] = [Cut(place("gpu003:rail2")), Cut(place("p2-l0:Ethernet256")), Unreachable("p2-l3")]
    write_record(path, record(plan, report_of(faults)))
    return path


def prolog(path: Path, *arguments: str, node: str | None = None, age: float = 10.0) -> tuple[int, str]:
    from fabric.gate.prolog import main

    now = two_pods().snapshot().ended_at + age
    environment = {} if node is None else {"SLURMD_NODENAME": node}
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main([str(path), *arguments], environment, now)
    return code, out.getvalue().strip()


@pytest.mark.parametrize(
    ("node", "code", "words"),
    [
        ("gpu001", 0, "go: 1 node(s), checked 10 s ago"),
        ("gpu003", 1, "no-go: gpu003: PHY-05: link down"),
        ("gpu005", 2, "unknown: gpu005: COV-01"),
        ("gpu008", 1, "no-go: gpu008: LIFE-03"),
        ("gpu099", 2, "unknown: gpu099"),
    ],
)
def test_the_prolog_answers_for_its_node(verdicts: Path, node: str, code: int, words: str) -> None:
    found, said = prolog(verdicts, node=node)
    assert found == code
    assert said.startswith(words)


def test_the_prolog_takes_the_worst_of_several(verdicts: Path) -> None:
    assert prolog(verdicts, "--nodes", "gpu001,gpu002")[0] == 0
    assert prolog(verdicts, "--nodes", "gpu001,gpu003")[0] == 1
    assert prolog(verdicts, "--nodes", "gpu005,gpu003")[0] == 1
    assert prolog(verdicts, "--nodes", "gpu001,gpu005")[0] == 2


def test_an_old_record_is_unknown_and_a_site_may_let_that_run(verdicts: Path) -> None:
    code, said = prolog(verdicts, node="gpu001", age=301.0)
    assert (code, said) == (2, "unknown: the record is 301 s old, at most 300 s are allowed")
    assert prolog(verdicts, "--max-age", "600", node="gpu001", age=301.0)[0] == 0
    assert prolog(verdicts, "--unknown", "0", node="gpu001", age=301.0)[0] == 0
    assert prolog(verdicts, "--unknown", "0", node="gpu003")[0] == 1


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"schema": "railfab.verdicts/2", "taken_at": 1, "nodes": {}}', '{"schema": 1}', "\x00\xff",
     '{"schema": "railfab.verdicts/1", "taken_at": "x", "nodes": {}}'],
)  # fmt: skip
def test_a_broken_record_is_unknown(tmp_path: Path, text: str) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(text, encoding="latin-1")
    assert prolog(path, node="gpu001")[0] == 2
    assert prolog(tmp_path / "none.json", node="gpu001")[0] == 2
    assert prolog(path)[0] == 2


def test_the_prolog_needs_nothing_but_python(verdicts: Path, tree: Path) -> None:
    """Isolated interpreter, no site packages: what a compute node has."""
    script = tree / "fabric" / "gate" / "prolog.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(script), str(verdicts), "--max-age", "1e12", "--nodes", "gpu001"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("go")


def test_a_record_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    write_record(path, {"schema": "railfab.verdicts/1"})
    with pytest.raises(TypeError):
        write_record(path, {"broken": object()})
    assert json.loads(path.read_text()) == {"schema": "railfab.verdicts/1"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["verdict.json"]


# Beside the intent


@pytest.mark.parametrize(("text", "value"), [("60s", 60), ("5m", 300), ("1h", 3600), ("2d", 172800), ("90", 90)])
def test_times(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "0", "-5s", "soon", "5 weeks"])
def test_no_times(text: str) -> None:
    with pytest.raises(InputError):
        seconds(text)


def test_holds_are_read_as_they_were_written(tmp_path: Path) -> None:
    from fabric.change.held import Hold
    from fabric.deploy.holds import write_holds
    from fabric.state import state_paths

    intent = tmp_path / "lab.yaml"
    assert read_holds(intent, None) == ()
    write_holds(
        state_paths(intent).holds,
        [Hold("p1-l0", "Ethernet256", "optic", until="2026-12-31T00:00:00+00:00"), Hold("s0", None, "drained")],
    )
    holds = read_holds(intent, None)
    assert [(hold.device, hold.item, hold.reason) for hold in holds] == [
        ("p1-l0", "Ethernet256", "optic"),
        ("s0", "", "drained"),
    ]
    state_paths(intent).holds.write_text("{")
    with pytest.raises(InputError):
        read_holds(intent, None)
