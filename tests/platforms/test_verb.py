"""`railfab platform`: list, show, import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric.cli.entry import run
from fabric.platforms import load
from tests.schemas import problems


def test_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["platform", "list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert problems(document) == []
    assert "accton-as9817-64o" in [entry["key"] for entry in document["platforms"]]
    assert run(["platform", "show", "accton-as9817-64o", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert problems(shown) == []
    assert len(shown["ports"]) == 66
    assert run(["platform", "show", "accton-as9817-64o"]) == 0
    assert "4x100G[50G](4)" in capsys.readouterr().out
    assert run(["platform", "show", "none"]) == 2
    assert "railfab platform import" in capsys.readouterr().err


def test_import_round_trip(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    box = shared / "real" / "platform" / "dell-z9864f"
    out = tmp_path / "models" / "mine.json"
    out.parent.mkdir()
    assert (
        run(["platform", "import", str(box), "--onie", "x86_64-dell_z9864f-r0", "--asic", "th5", "-o", str(out)]) == 0
    )
    assert "o64" in capsys.readouterr().out
    monkeypatch.setenv("RAILFAB_PLATFORMS", str(out.parent))
    assert load("o64").ports() == load("dell-z9864f-o64").ports()
    assert load("o64").headroom == load("dell-z9864f-o64").headroom
    assert [path.name for path in out.parent.iterdir()] == ["mine.json"]


def test_import_says_what_the_files_do_not(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["platform", "import", str(shared / "real" / "platform" / "dell-z9864f")]) == 2
    assert "--onie and --asic" in capsys.readouterr().err
    assert run(["platform", "import", str(tmp_path / "nothing")]) == 2
    assert "is no directory" in capsys.readouterr().err
