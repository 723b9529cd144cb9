"""A whole fabric at once: every device ends somewhere, with its data or the reason there is none."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from fabric.collect import files
from fabric.collect.gather import Done, Question, collect, over_sessions, reread, snapshot, window
from fabric.collect.parts import DEFAULT_PARTS, Part, parse_parts
from fabric.collect.summary import complete, document, lines
from fabric.errors import DeadlineError, InputError
from fabric.transport.recorded import RecordedSession, RecordedSessions
from fabric.transport.session import Answer, Target
from fabric.values.snapshot import HostState, Snapshot

TARGETS = [Target("p1-l0", "192.0.2.1"), Target("p1-l1", "192.0.2.2"), Target("s0", "192.0.2.3")]
PARTS = {Part.KERNEL}


def says(question: Question, body: str = "[]") -> Answer:
    """What a switch answers that has the kernel part only."""
    token = question.stdin.decode().rpartition("main ")[2].split()[0]
    text = "".join(
        f"\n@@{token} begin {name}\n{text}\n\n@@{token} end {name} 0\n"
        for name, text in (
            ("system", "clock 100\nuptime 50"), ("db.STATE_DB", '{"h":{},"m":{}}'),
            ("kernel4", body), ("kernel6", "[]"),
        )
    )  # fmt: skip
    return Answer(f"{text}\n@@{token} done\n", "", 0, 1000.0, 1000.5)


def everybody(questions: Sequence[Question], done: Done) -> None:
    for question in questions:
        done(question.target.name, says(question))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_every_device_ends_somewhere() -> None:
    def ask(questions: Sequence[Question], done: Done) -> None:
        for question in questions:
            if question.target.name == "p1-l1":
                done("p1-l1", DeadlineError("p1-l1: no answer in 90 s"))
            elif question.target.name == "p1-l0":
                done("p1-l0", says(question))
            # s0: the transport forgets it.

    seen: list[tuple[str, str | None]] = []
    found = collect(
        "lab", TARGETS, ask, parts=PARTS, clock=Clock(), progress=lambda name, problem: seen.append((name, problem))
    )
    assert set(found.snapshot.switches) == {"p1-l0"}
    assert found.snapshot.missing == {"p1-l1": "no answer in 90 s", "s0": "no answer"}
    assert seen == [("p1-l1", "no answer in 90 s"), ("p1-l0", None)] or sorted(seen, key=str) == sorted(
        [("p1-l1", "no answer in 90 s"), ("p1-l0", None)], key=str
    )
    state = found.snapshot.switches["p1-l0"]
    assert (state.taken_at, state.duration_s, state.source, state.kernel) == (1000.0, 0.5, "ssh", {})
    assert found.snapshot.started_at < found.snapshot.ended_at
    assert [raw.device for raw in found.raw] == ["p1-l0"]
    assert b"begin kernel4" in zlib.decompress(found.raw[0].stdout)


def test_answers_that_are_none_of_ours_are_missing_with_what_was_said() -> None:
    def ask(questions: Sequence[Question], done: Done) -> None:
        done("p1-l0", Answer("the input device is not a TTY\n", "", 1))
        done("p1-l1", Answer("", "Connection to x closed by remote host.\n", None))
        done("s0", Answer("\n@@foreign begin system\n\n@@foreign end system 0\n\n@@foreign done\n", "", 0))

    missing = snapshot("lab", TARGETS, ask, parts=PARTS).missing
    assert "wants a terminal" in missing["p1-l0"]
    assert "closed by remote host" in missing["p1-l1"]
    assert "no answer to the script" in missing["s0"], "another run's token is not ours"


def test_a_parser_bug_costs_one_device_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from fabric.collect import gather
    from fabric.collect.switch import parse_switch as real

    def broken(device: str, *arguments: object, **options: object) -> object:
        if device == "p1-l1":
            raise ZeroDivisionError("thinko")
        return real(device, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(gather, "parse_switch", broken)
    found = snapshot("lab", TARGETS, everybody, parts=PARTS)
    assert set(found.switches) == {"p1-l0", "s0"}
    assert "ZeroDivisionError: thinko" in found.missing["p1-l1"]


def test_over_sessions_of_any_library() -> None:
    opened: list[str] = []

    def session(name: str, refuses: Exception | None = None) -> RecordedSession:
        def reply(command: str, stdin: bytes) -> Answer:
            opened.append(threading.current_thread().name)
            assert command == "sh -s"
            return says(Question(Target(name, ""), command, stdin))

        return RecordedSession(Target(name, "192.0.2.1"), {"^sh -s$": reply}, refuses=refuses)

    sessions = RecordedSessions({
        "p1-l0": session("p1-l0"), "p1-l1": session("p1-l1", DeadlineError("p1-l1: no answer in 20 s")),
    })  # fmt: skip
    found = snapshot("lab", TARGETS, over_sessions(sessions, workers=2), parts=PARTS)
    assert set(found.switches) == {"p1-l0"}
    assert found.missing["p1-l1"] == "no answer in 20 s"
    assert found.missing["s0"] == "nothing is recorded"
    assert len(opened) == 1


def test_a_window_is_two_samples_with_the_pause_between() -> None:
    order: list[str] = []

    def ask(questions: Sequence[Question], done: Done) -> None:
        order.append("kernel" if b"begin kernel4" in questions[0].stdin else "counters")
        for question in questions:
            done(question.target.name, says(question))

    first, second = window(
        "lab", TARGETS[:1], ask, 60.0, parts=PARTS, sleep=lambda seconds: order.append(f"sleep {seconds:g}")
    )
    assert order == ["counters", "sleep 60", "kernel"]
    assert first.snapshot.switches["p1-l0"].kernel is None
    assert second.snapshot.switches["p1-l0"].kernel == {}


def test_hosts_come_over_ssh_or_from_files_and_ssh_wins() -> None:
    dropped = {name: HostState(name, 1.0, "file") for name in ("gpu001", "gpu002")}

    def ask(questions: Sequence[Question], done: Done) -> None:
        (question,) = questions
        token = question.stdin.decode().rpartition("main ")[2].split()[0]
        done(
            "gpu001",
            Answer(f"\n@@{token} begin nics\nens1 pci 0000:1a:00.0\n\n@@{token} end nics 0\n\n@@{token} done\n"),
        )

    found = snapshot("lab", [], ask, hosts=[Target("gpu001", "192.0.2.9")], dropped=dropped)
    assert found.hosts["gpu002"].source == "file"
    nics = found.hosts["gpu001"].nics
    assert nics is not None
    assert nics["ens1"].pci == "0000:1a:00.0"


def test_files_go_round_and_raw_is_read_again_by_todays_parsers(tmp_path: Path) -> None:
    found = collect("lab", TARGETS[:2], everybody, parts=PARTS)
    for name in ("snap.json", "snap.json.gz"):
        path = tmp_path / name
        files.write(path, found.snapshot)
        assert files.read(path) == found.snapshot
    assert (tmp_path / "snap.json.gz").read_bytes()[:2] == b"\x1f\x8b"
    raw = files.raw_path(tmp_path / "snap.json.gz")
    assert raw.name == "snap.raw.zip"
    assert files.before_path(tmp_path / "snap.json.gz").name == "snap.before.json.gz"
    files.write_raw(raw, "lab", found.raw)
    fabric, answers = files.read_raw(raw)
    again = reread(fabric, answers)
    assert again.fabric == "lab"
    assert again.switches["p1-l0"].kernel == found.snapshot.switches["p1-l0"].kernel
    assert again.switches["p1-l0"].taken_at == 1000.0
    assert again.switches["p1-l0"].holes == found.snapshot.switches["p1-l0"].holes
    assert not list(tmp_path.glob(".*")), "no half-written file is left"


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b'{"schema": "railfab.plan/1"}', b'{"schema": "railfab.snapshot/1", "fabric": 3}',
        b"\x1f\x8b\x08garbage", b"\xff\xfe", b"PK\x03\x04",
    ],
)  # fmt: skip
def test_a_file_that_is_no_snapshot_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"bad\.json"):
        files.read(path)
    with pytest.raises(InputError, match=r"bad\.json"):
        files.read_raw(path)
    with pytest.raises(InputError, match="nowhere"):
        files.read(tmp_path / "nowhere.json")


def test_a_place_that_cannot_be_written_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        files.write(tmp_path / "file" / "snap.json", Snapshot("lab", 0.0, 1.0))
    assert (tmp_path / "file").read_text() == "x"


def test_what_was_read_and_what_not_in_one_document() -> None:
    found = collect(
        "lab",
        TARGETS[:2],
        lambda questions, done: done("p1-l0", says(questions[0], "junk")),
        parts=PARTS,
        clock=Clock(),
    )
    report = document(found.snapshot, snapshot_file="s.json", baseline_file=None)
    assert report["schema"] == "railfab.collect/1"
    assert report["summary"] == {"devices": 2, "read": 0, "holes": 1, "missing": 1}
    assert report["devices"][0]["holes"][0]["part"] == "kernel"
    assert not complete(report)
    assert not complete(document(Snapshot("lab", 0.0, 1.0), snapshot_file=None, baseline_file=None)), (
        "nothing is not all"
    )
    text = list(lines(report))
    assert text[0] == "missing  p1-l1: no answer"
    assert text[1].startswith("hole     p1-l0: kernel: not JSON")
    assert text[-1].startswith("lab: read 1 of 2 devices")


def test_parts_by_name_of_part_or_check() -> None:
    assert parse_parts([]) == DEFAULT_PARTS
    assert parse_parts(["ports,lldp", "bgp"]) == {Part.PORTS, Part.LLDP, Part.BGP}
    assert Part.LLDP in parse_parts(["cabling"])
    assert parse_parts(["ecmp"]) >= {Part.RIB, Part.KERNEL, Part.APPL, Part.ASIC}
    with pytest.raises(InputError, match="'colour' is no part"):
        parse_parts(["ports,colour"])
