"""The watcher: rounds, events with hysteresis, verdicts, metrics, history; with the real checks and no clock."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fabric.checks import run_checks
from fabric.collect.history import History
from fabric.errors import InputError, TransportError
from fabric.gate import prolog
from fabric.gate.record import record, write_record
from fabric.report import save, write_report
from fabric.values.finding import Finding, Report, Status
from fabric.values.snapshot import Snapshot
from fabric.watch import Event, Ledger, Round, Watcher, listeners
from fabric.watch.watcher import slim
from fabric.whatif import faults as f
from fabric.whatif.synthetic import Synthetic, place
from tests.whatif.clos import clos

PLAN = clos(rails=4, nodes=4)
FABRIC = Synthetic(PLAN)
START = 1_790_000_000.0
CUT = [f.Cut(place("p1-l0:Ethernet256"))]


class Time:
    """A clock that moves only when somebody waits, or a round says how long it took."""

    def __init__(self) -> None:
        self.now = START
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return False


def watch(
    script: Sequence[Sequence[f.Fault] | Exception],
    told: Sequence[Callable[[Round], None]] = (),
    *,
    takes: Sequence[float] = (),
    clock: Time | None = None,
    history: Sequence[Snapshot] = (),
) -> tuple[list[Round], int, Time]:
    """Rounds over a script: each entry the faults that are in, or the error looking had."""
    time = clock or Time()
    steps = iter(script)
    durations = iter(takes)
    rounds: list[Round] = []

    def look() -> Snapshot:
        step = next(steps)
        time.now += next(durations, 1.0)
        if isinstance(step, Exception):
            raise step
        return FABRIC.snapshot(step, at=time.now)

    def judge(snapshot: Snapshot, before: Snapshot | None, history: Sequence[Snapshot]) -> Report:
        return run_checks(PLAN, snapshot, baseline=before, window_s=60.0, history=history, only=["cabling", "links"])

    watcher = Watcher(
        PLAN.name, list(PLAN.switches), look, judge, [rounds.append, *told], every_s=60.0, clock=time, wait=time.wait,
        history=history,
    )  # fmt: skip
    return rounds, watcher.run(len(script)), time


def kinds(rounds: Sequence[Round]) -> list[list[tuple[str, str]]]:
    return [[(event.kind, event.finding.code) for event in one.events] for one in rounds]


def test_a_fault_appears_once_and_clears_after_two_clean_rounds() -> None:
    rounds, code, time = watch([[], CUT, CUT, [], []])
    assert [[kind for kind, _ in events] for events in kinds(rounds)] == [[], ["appeared"], [], [], ["cleared"]]
    (event,) = rounds[1].events
    assert event.finding.status is Status.FAIL
    assert {event.finding.device, event.finding.port} <= {"p1-l0", "s0", "Ethernet256", "Ethernet0"}
    (cleared,) = rounds[4].events
    assert cleared.since == event.at
    assert [one.open for one in rounds] == [0, 1, 1, 1, 0]
    assert code == 0
    assert time.waits == [59.0, 59.0, 59.0, 59.0], "rounds start every 60 s, whatever they took"


def test_the_exit_code_is_the_last_rounds() -> None:
    assert watch([[], CUT])[1] == 1
    assert watch([TransportError("management is gone")])[1] == 2


def test_a_round_that_could_not_look_is_unknown_and_clears_nothing() -> None:
    blind = TransportError("no route to the management network")
    rounds, code, _ = watch([CUT, blind, blind, blind, CUT])
    assert code == 1
    for one in rounds[1:4]:
        assert one.snapshot.switches == {}
        assert set(one.snapshot.missing) == set(PLAN.switches)
        assert one.report.summary.fail == 0
        assert one.report.summary.missing_devices
    cleared = [event for one in rounds for event in one.events if event.kind == "cleared"]
    assert all(event.finding.code != rounds[0].events[0].finding.code for event in cleared)
    assert not any(event.kind == "appeared" and event.finding.status is Status.FAIL for event in rounds[4].events)


def test_a_blind_round_is_no_baseline() -> None:
    seen: list[Snapshot | None] = []
    time = Time()
    steps = iter([[], TransportError("x"), []])

    def look() -> Snapshot:
        step = next(steps)
        time.now += 1
        if isinstance(step, Exception):
            raise step
        return FABRIC.snapshot(at=time.now)

    def judge(snapshot: Snapshot, before: Snapshot | None, history: Sequence[Snapshot]) -> Report:
        seen.append(before)
        return run_checks(PLAN, snapshot, baseline=before, only=["links"])

    Watcher(PLAN.name, list(PLAN.switches), look, judge, [], every_s=60.0, clock=time, wait=time.wait).run(3)
    assert seen[0] is None
    assert seen[1] is seen[2]
    assert seen[2] is not None


def test_a_slow_round_is_followed_at_once_and_says_how_late() -> None:
    rounds, _, time = watch([[], [], []], takes=[150.0, 1.0, 1.0])
    assert time.waits[0] == 0.0
    assert time.waits[1] == 59.0, "missed rounds are not made up for"
    assert [one.late_s for one in rounds] == [0.0, 0.0, 0.0]


def test_asked_to_stop_it_stops() -> None:
    time = Time()
    rounds: list[Round] = []
    watcher = Watcher(
        PLAN.name, [], lambda: FABRIC.snapshot(at=time.now), lambda snapshot, before, history: Report(),
        [rounds.append], every_s=60.0, clock=time, wait=lambda _seconds: True,
    )  # fmt: skip
    assert watcher.run() == 2, "nothing was judged"
    assert len(rounds) == 1


def test_only_what_later_rounds_need_is_remembered() -> None:
    whole = FABRIC.snapshot(at=START)
    thin = slim(whole)
    state = thin.switches["p1-l0"]
    assert state.ports == whole.switches["p1-l0"].ports
    assert state.counters == whole.switches["p1-l0"].counters
    assert state.rib is None
    assert state.lldp is None
    assert state.config is None


# Events


def finding(
    code: str = "PHY-04", status: Status = Status.FAIL, device: str = "p1-l0", observed: str = "down"
) -> Finding:
    return Finding(code=code, status=status, device=device, port="Ethernet0", observed=observed, remedy="clean it")


def test_changed_words_are_no_event_and_changed_status_is() -> None:
    ledger = Ledger()
    assert [event.kind for event in ledger.take([finding(observed="BER 1e-5")], 1.0)] == ["appeared"]
    assert ledger.take([finding(observed="BER 2e-5")], 2.0) == []
    (event,) = ledger.take([finding(status=Status.WARN)], 3.0)
    assert (event.kind, event.since, event.finding.status) == ("changed", 1.0, Status.WARN)


def test_one_clean_report_between_is_not_a_repair() -> None:
    ledger = Ledger(clear_after=2)
    ledger.take([finding()], 1.0)
    assert ledger.take([], 2.0) == []
    assert ledger.take([finding()], 3.0) == []
    assert ledger.take([], 4.0) == []
    assert [event.kind for event in ledger.take([], 5.0)] == ["cleared"]


def test_a_repeat_offender_is_counted_for_a_day() -> None:
    ledger = Ledger(clear_after=1)
    times = []
    for hour in (0, 1, 2, 40):
        (event,) = ledger.take([finding()], hour * 3600.0)
        times.append(event.times)
        ledger.take([], hour * 3600.0 + 60)
    assert times == [0, 1, 2, 0]


def test_passes_are_no_events() -> None:
    assert Ledger().take([finding(status=Status.PASS)], 1.0) == []


def test_lines_say_when_what_where_and_what_to_do() -> None:
    appeared = Event("appeared", 0.0, 0.0, finding(), 3)
    assert listeners.in_words(appeared) == (
        "1970-01-01 00:00:00  APPEARED  fail     PHY-04  p1-l0 Ethernet0: down (3 times before in a day); clean it"
    )
    cleared = Event("cleared", 600.0, 0.0, finding())
    assert listeners.in_words(cleared).endswith("p1-l0 Ethernet0: down (after 10 min)")
    document = appeared.document("lab")
    assert (document["schema"], document["kind"], document["finding"]["code"]) == (
        "railfab.watch-event/1",
        "appeared",
        "PHY-04",
    )


# Listeners


def metrics(done: Round) -> str:
    return listeners.metrics_text(done, PLAN.name, write_report("prom", done.report, PLAN))


def test_everybody_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    documents: list[str] = []
    verdict, prom = tmp_path / "verdict.json", tmp_path / "railfab.prom"
    with History(tmp_path / "history.db") as history:
        watch(
            [[], CUT],
            [
                listeners.verdicts(verdict, lambda report: record(PLAN, report), write_record),
                listeners.metrics_file(prom, metrics, save),
                listeners.remember(history, 86400.0),
                listeners.lines(said.append, PLAN.name, False),
                listeners.lines(documents.append, PLAN.name, True),
            ],
        )
        assert len(history.taken(PLAN.name)) == 2
        assert [note["open"] for _, note in history.notes("report")] == [0, 1]
        assert len(history.notes("event")) == 1
    assert "watching test: 6 of 6 switches answer, 0 findings open" in said[0]
    assert "APPEARED" in said[1]
    assert json.loads(documents[0])["schema"] == "railfab.watch-event/1"
    assert prolog.answer(str(verdict), "gpu001", 300.0, START + 100)[0] == 0
    assert prolog.answer(str(verdict), "gpu001", 300.0, START + 100_000)[0] == 2, "an old verdict is no verdict"
    text = prom.read_text()
    assert re.search(r'^railfab_checks\{fabric="test",status="fail"\} 1$', text, re.MULTILINE)
    assert re.search(r'^railfab_watch_rounds_total\{fabric="test"\} 2\.000$', text, re.MULTILINE)
    assert re.search(r'^railfab_watch_open_findings\{fabric="test"\} 1\.000$', text, re.MULTILINE)


def test_http_for_scrapers() -> None:
    time = Time()
    endpoint = listeners.Endpoint("127.0.0.1:0", metrics, lambda report: record(PLAN, report), time, 180.0)

    def get(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    try:
        assert get("/health") == (503, "no round yet\n")
        assert get("/metrics")[0] == 503
        watch([CUT], [endpoint], clock=time)
        assert get("/health")[0] == 200
        assert 'railfab_checks{fabric="test",status="fail"} 1' in get("/metrics")[1]
        assert json.loads(get("/verdict")[1])["schema"] == "railfab.verdicts/1"
        assert get("/../etc/passwd")[0] == 404
        time.now += 1000
        assert get("/health")[0] == 503, "a watcher that stopped looking is not healthy"
    finally:
        endpoint.close()


@pytest.mark.parametrize("listen", ["", "9468", "127.0.0.1:x", "127.0.0.1:99999"])
def test_an_address_that_is_none(listen: str) -> None:
    with pytest.raises(InputError, match="HOST:PORT"):
        listeners.Endpoint(listen, metrics, lambda report: {}, Time(), 1.0)


def test_a_port_in_use_is_named() -> None:
    first = listeners.Endpoint("127.0.0.1:0", metrics, lambda report: {}, Time(), 1.0)
    try:
        with pytest.raises(InputError, match="cannot listen"):
            listeners.Endpoint(f"127.0.0.1:{first.port}", metrics, lambda report: {}, Time(), 1.0)
    finally:
        first.close()


def test_months_of_rounds_do_not_grow_the_history_without_end(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        tell = listeners.remember(history, 86400.0)
        empty = Report()
        for number in range(1, 62 * 12):
            at = START + number * 300.0
            snapshot = Snapshot(PLAN.name, at - 1, at, {"p1-l0": slim(FABRIC.snapshot(at=START)).switches["p1-l0"]})
            tell(Round(number, snapshot, empty, (), 0, at - 1, at))
        kept = history.taken()
        assert len(kept) < 24 + 2 * 12 + 35, "24 hourly ones of the day before, the last two hours whole, and slack"
        assert len(history.notes("report")) < 86400 / 300 + 35
