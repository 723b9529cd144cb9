"""The history store: as of, since, flaps, retention; two writers at once; a file that is none."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.collect.history import History, PortEvent
from fabric.errors import InputError
from fabric.values.snapshot import HostState, NicState, PortState, Snapshot, SwitchState
from fabric.whatif import faults as f
from fabric.whatif.synthetic import Synthetic, place
from tests.whatif.clos import clos

DAY = 86400.0


def at(when: float, flaps: int = 1, errors: int = 0, up: bool = True) -> Snapshot:
    state = SwitchState(
        device="p1-l0", taken_at=when,
        ports={"Ethernet0": PortState("Ethernet0", oper_up=up, flap_count=flaps, last_down_time=5.0)},
        counters={"Ethernet0": {"IF_IN_ERRORS": errors}},
    )  # fmt: skip
    return Snapshot("lab", when - 1, when, {"p1-l0": state}, missing={"s0": "no answer"})


def test_snapshots_come_back_as_they_were(tmp_path: Path) -> None:
    fabric = Synthetic(clos(), hosts=True)
    well = fabric.snapshot()
    broken = replace(fabric.snapshot([f.Cut(place("p1-l0:Ethernet256"))]), ended_at=well.ended_at + 60)
    with History(tmp_path / "history.db") as history:
        numbers = [history.add(well), history.add(broken)]
        assert history.load(numbers[0]) == well
        assert history.as_of(well.ended_at + 30) == well
        assert history.as_of(well.ended_at + 60) == broken
        assert history.as_of(well.ended_at - 1) is None
        assert history.as_of(well.ended_at, "other") is None
        assert list(history.since(well.ended_at + 1)) == [broken]
        assert [one.devices for one in history.taken("test")] == [6, 6]
        with pytest.raises(InputError, match="no snapshot 99"):
            history.load(99)


def test_what_does_not_change_is_kept_once(tmp_path: Path) -> None:
    fabric = Synthetic(clos(pods=2, rails=4, spines=4, nodes=8))
    with History(tmp_path / "history.db") as history:
        history.add(fabric.snapshot())
        first = _bytes(tmp_path / "history.db")
        for minute in range(1, 6):
            history.add(fabric.snapshot(at=1_790_000_000.0 + 60 * minute))
        grown = _bytes(tmp_path / "history.db") - first
    assert grown < 5 * first * 0.6, "routes, ports, optics and LLDP of five more minutes cost nothing again"


def _bytes(path: Path) -> int:
    with sqlite3.connect(path) as database:
        total = database.execute("SELECT SUM(LENGTH(data)) FROM body").fetchone()[0]
    return int(total)


def test_flaps_of_a_port_over_time(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        for when, flaps in ((100.0, 1), (160.0, 1), (220.0, 5), (280.0, 5), (340.0, 2)):
            history.add(at(when, flaps, up=flaps != 5))
        assert history.events("p1-l0", "Ethernet0") == [
            PortEvent(100.0, True, 1, 5.0), PortEvent(220.0, False, 5, 5.0), PortEvent(340.0, True, 2, 5.0),
        ], "only changes are kept"  # fmt: skip
        assert history.flaps("p1-l0", "Ethernet0", since=150.0) == 4 + 2, "after the restart at least 2 more"
        assert history.flaps("p1-l0", "Ethernet0", since=230.0) == 2
        assert history.flaps("p1-l0", "Ethernet0", since=400.0) == 0
        assert history.flaps("p1-l0", "Ethernet99", since=0.0) is None


def test_series_of_one_counter(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        for when, errors in ((100.0, 0), (160.0, 7), (220.0, 9)):
            history.add(at(when, errors=errors))
        series = history.series("p1-l0", "counters", "Ethernet0", "IF_IN_ERRORS", since=150.0)
        assert series == [(160.0, 7), (220.0, 9)]
        assert history.series("p1-l0", "counters", "Ethernet0", "NOTHING") == []


def test_retention_keeps_one_a_day_and_the_last_event(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        for hour in range(72):
            history.add(at(hour * 3600.0 + 10, flaps=hour))
        history.note(10.0, "verdict", {"old": True})
        assert history.prune(2 * DAY) == 46
        kept = [one.ended_at for one in history.taken()]
        assert kept[:3] == [23 * 3600.0 + 10, 47 * 3600.0 + 10, 48 * 3600.0 + 10]
        assert len(kept) == 2 + 24
        assert len(history.events("p1-l0", "Ethernet0")) == 24
        assert history.notes("verdict") == []
        assert history.prune(4 * DAY, keep_every_s=None) == 26
        assert history.taken() == []
        assert len(history.events("p1-l0", "Ethernet0")) == 1, "the last one is the memory of the port"


def test_events_may_outlive_snapshots(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        for hour in range(10):
            history.add(at(hour * 3600.0, flaps=hour))
        assert history.prune(8 * 3600.0, keep_every_s=None, events_before=3600.0) == 8
        assert len(history.taken()) == 2
        assert len(history.events("p1-l0", "Ethernet0")) == 9


def test_only_some_parts_are_loaded(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        number = history.add(at(5.0, errors=3))
        state = history.load(number, ["counters"]).switches["p1-l0"]
        assert state.counters == {"Ethernet0": {"IF_IN_ERRORS": 3}}
        assert state.ports is None
        assert state.taken_at == 5.0


def test_notes_in_order_of_time(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        history.note(20.0, "verdict", {"verdict": "go"})
        history.note(10.0, "verdict", {"verdict": "no-go"})
        history.note(30.0, "push", {"run": "x"})
        assert history.notes("verdict") == [(10.0, {"verdict": "no-go"}), (20.0, {"verdict": "go"})]
        assert history.notes("verdict", since=15.0) == [(20.0, {"verdict": "go"})]


def test_two_writers_and_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "history.db"

    def write(offset: float) -> None:
        with History(path) as history:
            for n in range(10):
                history.add(at(1000 * offset + n))

    threads = [threading.Thread(target=write, args=(n,)) for n in (1.0, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with History(path) as history:
        assert len(history.taken()) == 20


def test_a_snapshot_goes_in_whole_or_not_at_all(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        bad = replace(at(5.0), hosts={"gpu001": HostState("gpu001", 1.0, nics={"a": NicState("a", gids=(object(),))})})  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            history.add(bad)
        assert history.taken() == []
        history.add(at(6.0))
        assert len(history.taken()) == 1


def test_a_file_that_is_no_history_is_named(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_text("not a database, but long enough to look at" * 50)
    with pytest.raises(InputError, match=r"history\.db"):
        History(path)
    newer = tmp_path / "newer.db"
    with sqlite3.connect(newer) as database:
        database.execute("PRAGMA user_version=99")
    with pytest.raises(InputError, match="version 99"):
        History(newer)
