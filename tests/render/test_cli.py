"""`railfab render` from the shell's side: files, JSON, exit codes, messages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.cli.entry import run


@pytest.fixture
def intent(tree: Path, tmp_path: Path) -> Path:
    """A copy of the small intent, so that its ledger is written beside the copy."""
    copy = tmp_path / "lab.yaml"
    copy.write_text((tree / "topology/lab.yaml").read_text())
    return copy


def test_writes_every_device_and_says_what_to_know(
    intent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["render", str(intent), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "6 switches" in said
    assert "note: accton-as9817-64o: no buffer figures are published" in said
    folders = {file.name for file in out.iterdir() if file.is_dir()}
    assert {"p1-l0", "p1-l1", "p1-l2", "p1-l3", "s0", "s1", "gpu001", "gpu004"} <= folders
    for name in ("p1-l0", "s1"):
        assert (
            json.loads((out / name / "config_db.json").read_text())["DEVICE_METADATA"]["localhost"]["hostname"] == name
        )
        assert (out / name / "frr.conf").read_text().startswith("frr defaults traditional\n")


def test_json_is_the_whole_of_stdout(intent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["render", str(intent), "-o", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "railfab.render/1"
    assert document["out"] == str(out)
    assert sorted(document["files"]) == sorted(
        str(file.relative_to(out)) for file in out.rglob("*") if file.is_file() and file.name != ".railfab-files"
    )
    assert {"notes", "findings", "arithmetic"} <= document.keys()
    assert {"demand", "pool", "classes"} <= document["arithmetic"][0].keys()


def test_explain_needs_no_folder_and_writes_none(
    intent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["render", str(intent), "--explain"]) == 0
    assert "headroom demand" in capsys.readouterr().out
    assert {file.name for file in tmp_path.iterdir()} == {"lab.yaml"}


def test_lossy_leaves_pfc_out(intent: Path, tmp_path: Path) -> None:
    assert run(["render", str(intent), "-o", str(tmp_path / "out"), "--lossy"]) == 0
    assert "pfc_enable" not in (tmp_path / "out/p1-l0/config_db.json").read_text()


def test_only_one_switch(intent: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["render", str(intent), "-o", str(out), "--only", "s0"]) == 0
    assert [file.name for file in out.iterdir() if file.is_dir()] == ["s0"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{intent}"], "say where to write with -o DIR"),
        (["{intent}", "-o", "{out}", "--only", "nope"], "nope: no such switch or host"),
        (["{intent}", "-o", "{intent}"], "is a file"),
        (["{intent}", "-o", "{out}", "--templates", "nowhere"], "no such folder of templates"),
        (["{intent}", "-o", "{out}", "--base", "nowhere.json"], "nowhere.json"),
        (["nowhere.yaml", "-o", "{out}"], "nowhere.yaml"),
    ],
)
def test_bad_usage_is_2_with_one_clear_message(
    arguments: list[str], said: str, intent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [part.format(intent=intent, out=tmp_path / "out") for part in arguments]
    assert run(["render", *filled]) == 2
    assert said in capsys.readouterr().err


def test_an_injected_exception_is_3(
    intent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def boom(*_: object, **__: object) -> None:
        raise ZeroDivisionError("injected")

    monkeypatch.setattr("fabric.render.write", boom)
    assert run(["render", str(intent), "-o", str(tmp_path / "out")]) == 3
    assert "internal error: ZeroDivisionError: injected" in capsys.readouterr().err


def test_the_path_has_no_heavy_imports(intent: Path, tmp_path: Path) -> None:
    """render: no networkx of its own, no rich, no Nornir, no transport."""
    script = (
        "import sys; import fabric.render, fabric.render.explain, fabric.render.hosts, fabric.render.bgp\n"
        "heavy = {'networkx', 'rich', 'nornir', 'netmiko', 'asyncssh', 'pydantic', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "from fabric.cli.entry import run\n"
        f"run(['render', {str(intent)!r}, '-o', {str(tmp_path / 'out')!r}])\n"
        "print(sorted({'rich', 'nornir', 'netmiko', 'asyncssh'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    first, *_, last = done.stdout.splitlines()
    assert (first, last) == ("[]", "[]")
