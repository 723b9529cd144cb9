from __future__ import annotations

from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.audit.answers import Answer, Answers, join_answers, read_answers
from fabric.audit.coverage import probes_needed
from fabric.audit.flights import Flight, flights
from fabric.audit.judge import judge
from fabric.errors import CollectError
from fabric.values.finding import Confidence, Finding, Status
from fabric.values.plan import Plan
from tests.audit.world import fly


@pytest.fixture(scope="module")
def sakura(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "sakuraone.yaml")


@pytest.fixture(scope="module")
def lab(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "lab.yaml")


def _between(flown: tuple[Flight, ...], source: str) -> Flight:
    return next(flight for flight in flown if flight.source_leaf == source)


def test_the_ring_crosses_every_fabric_cable_in_both_directions(sakura: Plan) -> None:
    flown = flights(sakura)
    crossed = {(at, cable) for flight in flown for at, cables in flight.next_cables.items() for cable in cables}
    fabric = [cable for cable in sakura.cables.values() if cable.kind == "fabric" and cable.network == "compute"]
    assert len(fabric) == 512
    assert len(flown) == 16
    assert crossed == {(end, cable.name) for cable in fabric for end in (cable.a_device, cable.b_device)}


def test_a_sakuraone_flight_has_128_paths_and_asks_as_often_as_the_coupon_collector(sakura: Plan) -> None:
    flight = flights(sakura)[0]
    assert (flight.hops, flight.paths, flight.probes) == (3, 128, probes_needed(32, 1 - 0.01 / 128))
    assert flights(sakura, whole_paths=True)[0].probes == probes_needed(128, 1 - 0.01 / 128)


def test_cables_known_to_be_down_are_not_expected(sakura: Plan) -> None:
    cable = next(iter(flights(sakura)[0].next_cables[flights(sakura)[0].source_leaf]))
    flight = flights(sakura, down_cables=[cable])[0]
    assert all(cable not in cables for cables in flight.next_cables.values())
    assert flight.paths == 124


@pytest.mark.parametrize("seed", range(20))
def test_a_healthy_fabric_has_no_finding(sakura: Plan, seed: int) -> None:
    flown = flights(sakura)
    report = judge(sakura, flown, fly(sakura, flown, seed))
    assert report.findings == ()
    assert report.summary.passed == 1024
    assert report.summary.devices == 24


@pytest.mark.parametrize("seed", range(10))
def test_a_policer_is_cannot_tell_and_never_a_black_hole(sakura: Plan, seed: int) -> None:
    flown = flights(sakura)
    report = judge(sakura, flown, fly(sakura, flown, seed, policed=0.2))
    assert {finding.status for finding in report.findings} <= {Status.UNKNOWN}
    assert report.summary.unknown > 0


def test_a_few_lost_answers_are_not_worth_saying(sakura: Plan) -> None:
    flown = flights(sakura)
    assert judge(sakura, flown, fly(sakura, flown, 3, policed=0.01)).findings == ()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hop", [1, 2])
def test_a_cable_that_swallows_one_direction_is_named(sakura: Plan, seed: int, hop: int) -> None:
    flown = flights(sakura)
    flight = _between(flown, "p1-l3")
    spine = sorted(set(flight.next_cables["p1-l3"].values()))[seed % 8]
    at = "p1-l3" if hop == 1 else spine
    victim = sorted(flight.next_cables[at])[seed % len(flight.next_cables[at])]
    answers = fly(sakura, flown, seed, lambda switch, _e, cable: None if (switch, cable) == (at, victim) else cable)
    report = judge(sakura, flown, answers)
    (finding,) = [finding for finding in report.findings if finding.status is Status.FAIL]
    assert (finding.code, finding.device, finding.cable) == ("PATH-01", at, victim)
    assert finding.confidence is Confidence.CERTAIN
    assert victim in (finding.remedy or "")


@pytest.mark.parametrize("seed", range(5))
def test_a_black_hole_on_one_of_128_paths_is_named(sakura: Plan, seed: int) -> None:
    flown = flights(sakura, whole_paths=True, confidence=0.99)
    flight = _between(flown, "p2-l5")
    entry = sorted(flight.next_cables["p2-l5"])[seed * 6]
    spine = flight.next_cables["p2-l5"][entry]
    out = sorted(flight.next_cables[spine])[seed % 4]
    answers = fly(
        sakura, flown, seed, lambda switch, came, cable: None if (switch, came, cable) == (spine, entry, out) else cable
    )
    findings = [finding for finding in judge(sakura, flown, answers).findings if finding.status is Status.FAIL]
    assert [(finding.code, finding.device, finding.cable) for finding in findings] == [("PATH-01", spine, out)]
    assert entry in (findings[0].observed or "")


def test_a_next_hop_that_nobody_uses_is_a_warning(sakura: Plan) -> None:
    flown = flights(sakura)
    flight = _between(flown, "p1-l0")
    unused, other = sorted(flight.next_cables["p1-l0"])[:2]
    answers = fly(sakura, flown, 1, lambda at, _e, cable: other if (at, cable) == ("p1-l0", unused) else cable)
    (finding,) = judge(sakura, flown, answers).findings
    assert (finding.code, finding.status, finding.cable) == ("PATH-03", Status.WARN, unused)


def test_an_answer_from_off_the_path_is_a_wrong_way(lab: Plan) -> None:
    flown = flights(lab)
    answers = fly(lab, flown, 1)
    flight = flown[0]
    sweep = {port: dict(by_ttl) for port, by_ttl in answers.flights[flight.name].items()}
    sweep[flight.ports[0]][2] = Answer("203.0.113.9", 1.0, "transit")
    report = judge(lab, flown, Answers({**answers.flights, flight.name: sweep}))
    (finding,) = [finding for finding in report.findings if finding.status is Status.FAIL]
    assert finding.code == "PATH-02"
    assert "203.0.113.9" in (finding.observed or "")


def test_a_switch_that_answers_unreachable_has_no_route(lab: Plan) -> None:
    flown = flights(lab)
    answers = fly(lab, flown, 1)
    flight = flown[0]
    sweep = {
        port: {ttl: Answer(by_ttl[1].address, 0.3, "refused") if by_ttl[1] else None for ttl in by_ttl}
        for port, by_ttl in answers.flights[flight.name].items()
    }
    report = judge(lab, flown, Answers({**answers.flights, flight.name: sweep}))
    fails = [finding for finding in report.findings if finding.status is Status.FAIL]
    assert [(finding.code, finding.device) for finding in fails] == [("PATH-06", flight.source_leaf)]


def test_unreachable_from_the_host_itself_says_nothing_of_the_fabric(lab: Plan) -> None:
    flown = flights(lab)
    own = {
        flight.name: {port: {1: Answer(flight.source, 0.1, "refused"), 2: None} for port in range(49152, 49160)}
        for flight in flown
    }
    assert all(map(_silent, judge(lab, flown, Answers(own)).findings))


def test_no_flight_goes_from_a_host_to_itself(lab: Plan, sakura: Plan) -> None:
    for plan in (lab, sakura):
        assert all(flight.source_host != flight.target_host for flight in flights(plan))
        assert flights(plan)
    assert flights(lab, nodes=["gpu001"]) == ()


def test_a_slow_cable_is_a_weak_warning(sakura: Plan) -> None:
    flown = flights(sakura)
    slow = sorted(flown[0].next_cables[flown[0].source_leaf])[7]
    codes = {
        (finding.code, finding.cable) for finding in judge(sakura, flown, fly(sakura, flown, 2, slow=[slow])).findings
    }
    assert codes == {("PATH-04", slow)}


def test_too_few_probes_are_cannot_tell(sakura: Plan) -> None:
    flown = flights(sakura, confidence=1e-9)
    report = judge(sakura, flown, fly(sakura, flown, 1))
    assert {finding.code for finding in report.findings} == {"PATH-05"}
    assert report.summary.fail == 0


def _silent(finding: Finding) -> bool:
    return finding.code == "PATH-05" and finding.status is Status.UNKNOWN


def test_a_host_that_says_nothing_is_cannot_tell(lab: Plan) -> None:
    flown = flights(lab)
    report = judge(lab, flown, Answers({}, silent={"gpu001": "no route to host"}))
    assert all(map(_silent, report.findings))
    assert len(report.findings) == len(flown)
    assert report.summary.passed == 0
    assert any("no route to host" in (finding.observed or "") for finding in report.findings)


def test_probes_that_nobody_answers_are_cannot_tell(lab: Plan) -> None:
    flown = flights(lab)
    dead = fly(lab, flown, 1, policed=1.1)
    assert all(map(_silent, judge(lab, flown, dead).findings))


@pytest.mark.parametrize(
    "text", ["", "null", "[]", '{"schema": "x"}', '{"schema": "railfab.probe-answers/1", "answers": [1]}', "[" * 99999]
)
def test_what_is_not_a_probers_output_is_refused(text: str) -> None:
    with pytest.raises(CollectError, match="gpu001"):
        read_answers(text, "gpu001")


def test_answers_of_hosts_are_joined() -> None:
    text = (
        '{"schema": "railfab.probe-answers/1", "sent": 2, "answers": [["f", 1, 1, "192.0.2.1", 0.5, "transit"]],'
        ' "lost": [["f", 1, 2]]}'
    )
    joined = join_answers([read_answers(text, "a"), Answers({}, 3, {"b": "down"})])
    assert joined.flights == {"f": {1: {1: Answer("192.0.2.1", 0.5, "transit"), 2: None}}}
    assert (joined.sent, joined.silent) == (5, {"b": "down"})
