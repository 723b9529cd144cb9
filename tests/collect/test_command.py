"""`railfab collect` without a network: usage, files, exit codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.entry import run
from fabric.collect import files
from fabric.collect.gather import Collected, Done, Question, collect
from fabric.errors import HostKeyError
from fabric.transport.login import Login
from fabric.values.snapshot import Snapshot
from tests import schemas
from tests.collect.test_gather import TARGETS, everybody, says


@pytest.fixture
def intent(tree: Path, tmp_path: Path) -> Path:
    path = tmp_path / "lab.yaml"
    path.write_text((tree / "topology" / "lab.yaml").read_text())
    (tmp_path / ".railfab" / "lab").mkdir(parents=True)
    (tmp_path / ".railfab" / "lab" / "known_hosts").write_text("")
    return path


@pytest.fixture
def fabric(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every switch answers; what the command asked for is noted."""
    asked: list[dict[str, Any]] = []

    def fake(name: str, targets: Sequence[Any], login: Login, **options: Any) -> tuple[Collected | None, Collected]:
        asked.append({"targets": [target.name for target in targets], "login": login, **options})
        window = options.pop("window_s")
        for gone in ("sleep", "whole_deadline_s"):
            options.pop(gone, None)
        options["parts"] = {part for part in options["parts"] if part.value == "kernel"} or options["parts"]
        found = collect(name, targets, everybody, **options)
        return (found if window else None), found

    monkeypatch.setattr("fabric.collect.over_ssh.collect_over_ssh", fake)
    monkeypatch.setenv("RAILFAB_PASSWORD", "not shown")
    return asked


def test_everything_read_is_exit_0(
    intent: Path, fabric: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "now.json"
    assert run(["collect", str(intent), "-o", str(out), "--json", "--only", "kernel", "--window", "1s"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert schemas.problems(document) == []
    assert document["summary"] == {"devices": 6, "read": 6, "holes": 0, "missing": 0}
    assert document["baseline"] == str(tmp_path / "now.before.json")
    assert fabric[0]["targets"] == ["p1-l0", "p1-l1", "p1-l2", "p1-l3", "s0", "s1"]
    assert fabric[0]["window_s"] == 1.0
    assert set(files.read(out).switches) == set(fabric[0]["targets"])
    assert files.raw_path(out).exists()
    assert b"not shown" not in out.read_bytes() + files.raw_path(out).read_bytes()


def test_a_hole_is_exit_2_and_said(
    intent: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(questions: Sequence[Question], done: Done) -> None:
        for question in questions[:-1]:
            done(question.target.name, says(question, "junk" if question.target.name == "s0" else "[]"))

    def fake(name: str, targets: Sequence[Any], login: Login, **options: Any) -> tuple[None, Collected]:
        return None, collect(name, targets, ask, parts=options["parts"])

    monkeypatch.setattr("fabric.collect.over_ssh.collect_over_ssh", fake)
    monkeypatch.setenv("RAILFAB_PASSWORD", "x")
    out = tmp_path / "now.json.gz"
    assert run(["collect", str(intent), "-o", str(out), "--only", "kernel", "--no-raw", "-q"]) == 2
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "missing  s1: no answer"
    assert said[1].startswith("hole     s0: kernel: not JSON")
    assert said[2].startswith("lab: read 5 of 6 devices")
    assert not files.raw_path(out).exists()
    assert files.read(out).missing == {"s1": "no answer"}


def test_reading_raw_again_needs_no_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = collect("lab", TARGETS, everybody)
    raw = tmp_path / "old.raw.zip"
    files.write_raw(raw, "lab", found.raw)
    assert run(["collect", "--reread", str(raw), "-o", str(tmp_path / "new.json"), "--json"]) == 2, (
        "parts were not there"
    )
    document = json.loads(capsys.readouterr().out)
    assert schemas.problems(document) == []
    assert document["summary"]["devices"] == 3
    assert set(files.read(tmp_path / "new.json").switches) == {"p1-l0", "p1-l1", "s0"}


def test_hosts_from_files_and_a_history(intent: Path, fabric: list[dict[str, Any]], tmp_path: Path) -> None:
    from fabric.collect.history import History

    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "gpu001.txt").write_text("\n@@t begin nics\nens1 mac 02:00:5e:00:00:01\n\n@@t end nics 0\n\n@@t done\n")
    words = ["collect", str(intent), "-o", str(tmp_path / "a.json"), "--only", "kernel", "--hosts", str(folder), "-q"]
    assert run([*words, "--history"]) == 2, "the host's LLDP is a hole"
    assert set(files.read(tmp_path / "a.json").hosts) == {"gpu001"}
    with History(tmp_path / ".railfab" / "lab" / "history.db") as history:
        assert [one.devices for one in history.taken("lab")] == [7]
    (folder / "bad.txt").write_text("nothing of ours")
    assert run(words) == 2


@pytest.mark.parametrize(
    ("words", "says_what"),
    [
        (["collect"], "-o SNAPSHOT"),
        (["collect", "-o", "x.json"], "give INTENT"),
        (["collect", "INTENT", "-o", "x.json", "--only", "colour"], "'colour' is no part"),
        (["collect", "INTENT", "-o", "x.json", "--window", "soon"], "'soon' is no time"),
        (["collect", "INTENT", "-o", "x.json", "--scope", "p9-l9"], "p9-l9"),
        (["collect", "nowhere.yaml", "-o", "x.json"], "nowhere.yaml"),
        (["collect", "--reread", "nowhere.zip", "-o", "x.json"], "nowhere.zip"),
        (["collect", "INTENT", "-o", "x.json", "--hosts", "nowhere"], "nowhere"),
    ],
)
def test_bad_usage_is_exit_2_and_named(
    words: list[str], says_what: str, intent: Path, fabric: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([str(intent) if word == "INTENT" else word for word in words]) == 2
    assert says_what in capsys.readouterr().err
    assert not Path("x.json").exists()


def test_no_enrolled_key_is_exit_2(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    intent = tmp_path / "lab.yaml"
    intent.write_text((tree / "topology" / "lab.yaml").read_text())
    monkeypatch.setenv("RAILFAB_PASSWORD", "x")
    monkeypatch.delenv("RAILFAB_KNOWN_HOSTS", raising=False)
    assert run(["collect", str(intent), "-o", str(tmp_path / "x.json")]) == 2
    assert "railfab trust" in capsys.readouterr().err
    assert not (tmp_path / "x.json").exists()
    assert issubclass(HostKeyError, Exception)


def test_the_script_of_node_agents(capsys: pytest.CaptureFixture[str]) -> None:
    from fabric.collect.hosts import host_script

    assert run(["collect", "--host-script"]) == 0
    assert capsys.readouterr().out == host_script()


def test_an_empty_fabric_is_not_everything_read(tmp_path: Path) -> None:
    files.write_raw(tmp_path / "none.raw.zip", "lab", [])
    assert run(["collect", "--reread", str(tmp_path / "none.raw.zip"), "-o", str(tmp_path / "x.json")]) == 2
    assert files.read(tmp_path / "x.json") == Snapshot("lab", 0.0, 0.0)
