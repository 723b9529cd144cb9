"""The command as a whole: help, versions, exit codes, whatever breaks."""

from __future__ import annotations

import importlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from fabric.cli import entry
from fabric.cli.verbs import VERBS

_BIN = Path(sys.executable).with_name("railfab")
_HERE = [verb for verb, (module, _) in VERBS.items() if (Path(entry.__file__).parent / f"{module}.py").exists()]


Way = list[tuple[str, click.Command]]


def commands() -> Iterator[tuple[str, Way]]:
    """Every verb and subcommand: its name, and the words and commands that lead to it."""
    for verb in _HERE:
        yield from below([(verb, importlib.import_module(f"fabric.cli.{VERBS[verb][0]}").command)])


def below(way: Way) -> Iterator[tuple[str, Way]]:
    command = way[-1][1]
    if not isinstance(command, click.Group):
        yield " ".join(word for word, _ in way), way
        return
    for name, inner in sorted(command.commands.items()):
        yield from below([*way, (name, inner)])


def arguments(command: click.Command, folder: Path) -> list[str]:
    """Words that satisfy a command's parameters: files exist, choices are one of theirs."""
    file = folder / "file"
    file.write_text("{}")
    words: list[str] = []
    for parameter in command.params:
        if not parameter.required:
            continue
        kind = parameter.type
        value = "x"
        if isinstance(kind, click.Path):
            value = str(folder if kind.file_okay is False else file)
        elif isinstance(kind, click.Choice):
            value = str(kind.choices[0])
        elif kind.name in ("integer", "float", "integer range", "float range"):
            value = "1"
        if isinstance(parameter, click.Option):
            words.append(parameter.opts[0])
        words += [value] * max(parameter.nargs, 1)
    return words


@pytest.mark.parametrize(("name", "way"), list(commands()), ids=[name for name, _ in commands()])
def test_injected_exception_is_3(
    name: str,
    way: Way,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(**_: Any) -> int:
        raise RuntimeError("injected\nsecond line")

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(way[-1][1], "callback", broken)
    words = [word for step, command in way for word in (step, *arguments(command, tmp_path))]
    assert entry.run(words) == 3, words
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("railfab: internal error: RuntimeError: injected (details: ")
    details = Path(line.partition("details: ")[2].partition(";")[0])
    assert "second line" in details.read_text()


@pytest.mark.parametrize("verb", _HERE)
def test_broken_import_of_a_verb_is_3(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, f"fabric.cli.{VERBS[verb][0]}", None)
    assert entry.run([verb]) == 3
    assert "internal error: ModuleNotFoundError" in capsys.readouterr().err


def test_missing_library_is_3_and_one_line() -> None:
    code = "import sys; sys.modules['click'] = None; from fabric.cli.entry import main; main(['lint', '.'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_details_that_cannot_be_kept_are_no_second_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    def broken(_: list[str]) -> int:
        raise RuntimeError("injected")

    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    monkeypatch.setattr("fabric.cli.verbs.call", broken)
    assert entry.run([]) == 3
    assert "no details kept: No space left on device; raised at " in capsys.readouterr().err


def test_refused_file_is_the_users_to_mend(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(_: list[str]) -> int:
        raise PermissionError(13, "Permission denied", "/srv/out")

    monkeypatch.setattr("fabric.cli.verbs.call", broken)
    assert entry.run([]) == 2
    assert capsys.readouterr().err.startswith("railfab: /srv/out: Permission denied; ")


@pytest.mark.parametrize("words", [["--help"], ["-h"]])
def test_help_names_the_verbs_that_are_here(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run(words) == 0
    out = capsys.readouterr().out
    listed = {
        line.split()[0] for line in out.partition("Verbs:")[2].splitlines() if line.startswith("  ") and line.split()
    }
    assert set(_HERE) <= listed
    assert not (set(VERBS) - set(_HERE)) & listed


def test_every_verb_file_is_a_verb() -> None:
    folder = Path(entry.__file__).parent
    named = {module for module, _ in VERBS.values()}
    verbs = {path.stem for path in folder.glob("*.py") if "\ndef command(" in path.read_text(encoding="utf-8")}
    assert verbs <= named


@pytest.mark.parametrize("verb", _HERE)
def test_help_of_a_verb(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run([verb, "--help"]) == 0
    assert f"railfab {verb}" in capsys.readouterr().out
    assert entry.run([verb, "-h"]) == 0


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("railfab, version ")


@pytest.mark.parametrize("words", [[], ["no-such-verb"], ["--no-such-option"], ["lint"], ["lint", "--no-such"]])
def test_bad_usage_is_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run(words) == 2
    printed = capsys.readouterr()
    assert printed.err
    assert "Traceback" not in printed.err


def test_near_miss_is_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run(["rendr"]) == 2
    assert "did you mean render?" in capsys.readouterr().err


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    command = importlib.import_module("fabric.cli.lint").command

    def stopped(**_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "callback", stopped)
    assert entry.run(["lint", "."]) == 130
    assert "stopped" in capsys.readouterr().err


def test_question_nobody_answers_is_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    command = importlib.import_module("fabric.cli.lint").command
    monkeypatch.setattr(command, "callback", lambda **_: click.confirm("Go on?", err=True))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert entry.run(["lint", "."]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "nobody answered" in said.err


@pytest.mark.parametrize("state", [["--state", "S"], ["--state=S"]])
@pytest.mark.parametrize("after", [True, False])
def test_state_of_lab_exec_may_stand_after_the_intent(
    state: list[str], after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fabric import lab
    from fabric.errors import LabError

    asked: list[Path] = []

    def management(folder: Path) -> Any:
        asked.append(folder)
        raise LabError("no twin")

    monkeypatch.setattr(lab, "management", management)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.yaml").write_text("name: lab\n")
    words = ["lab.yaml", *state] if after else [*state, "lab.yaml"]
    assert entry.run(["lab", "exec", *words, "--", "true", "--state", "not-ours"]) == 2
    assert [folder.is_relative_to("S") for folder in asked] == [True]


def test_reader_that_went_away_is_141(tmp_path: Path) -> None:
    (tmp_path / "config_db.json").write_text('{"PORT": {"Ethernet0": {"lanes": "x"}}}')
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([_BIN, "lint", tmp_path], stdout=write, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_with_128_and_its_number(number: signal.Signals) -> None:
    code = (
        "import sys, time, fabric.cli.verbs as verbs, fabric.cli.entry as entry\n"
        "def slow(_):\n    print('ready', flush=True)\n    time.sleep(30)\n"
        "verbs.call = slow\nentry.main([])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        code_seen = process.wait(timeout=20)
    # Python reports a process that a signal ended as its negative number; a shell shows 128 + number.
    assert (code_seen if code_seen > 0 else 128 - code_seen) == 128 + number


def test_help_imports_no_verb() -> None:
    code = "import sys; from fabric.cli.entry import run; run(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.splitlines()[-1].split() if name.startswith("fabric.cli.")}
    assert loaded == {"fabric.cli.entry", "fabric.cli.clash", "fabric.cli.verbs"}
