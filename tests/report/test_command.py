"""`railfab check` and `railfab gate` on saved snapshots: exit codes, forms, and every way to call them wrongly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.cli.entry import run
from fabric.collect import files
from fabric.render import render_switch
from fabric.whatif.faults import Cut, Fault, Flap, NoLldp, Swap, Unreachable
from fabric.whatif.synthetic import Synthetic, place
from tests.checks.bench import BEFORE, NOW
from tests.schemas import problems

FAULTS: dict[str, list[Fault]] = {
    "healthy": [],
    "swap": [Swap(place("p1-l0:Ethernet0"), place("p1-l1:Ethernet0"))],
    "cut": [Cut(place("p1-l2:Ethernet4"))],
    "flap": [Flap(place("p1-l2:Ethernet4"), 2)],
    "lldp": [NoLldp(place("p1-l2:Ethernet4"))],
    "missing": [Unreachable("p1-l3")],
    "uplink": [Cut(place("p1-l2:Ethernet256"))],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, tree: Path) -> Path:
    """An intent with snapshots of several faults beside it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(tree / "topology" / "lab.yaml", folder)
    plan = load_plan(folder / "lab.yaml")
    fabric = Synthetic(plan, config=lambda name: render_switch(plan, name))
    for name, faults in FAULTS.items():
        files.write(folder / f"{name}.json.gz", fabric.snapshot(faults))
    files.write(folder / "before.json.gz", fabric.snapshot(at=BEFORE))
    files.write(
        folder / "after.json.gz", fabric.snapshot([Flap(place("p1-l2:Ethernet4"), 2, when=NOW - 20)], at=NOW - 5)
    )
    return folder


def call(site: Path, verb: str, *words: str, snapshot: str | None = "healthy") -> int:
    given = ["--snapshot", str(site / f"{snapshot}.json.gz")] if snapshot else []
    return run([verb, str(site / "lab.yaml"), *given, *[word.replace("SITE", str(site)) for word in words]])


@pytest.mark.parametrize(
    ("snapshot", "words", "code"),
    [
        ("healthy", [], 0),
        ("swap", [], 1),
        ("cut", [], 1),
        ("lldp", [], 2),
        ("missing", [], 2),
        ("uplink", [], 1),
        ("flap", [], 0),
        ("flap", ["--window", "60s", "--baseline", "SITE/before.json.gz"], 1),
        ("flap", ["--window", "60s"], 1),
        ("flap", ["--window", "60s", "--baseline", "SITE/after.json.gz"], 0),
        ("swap", ["--only", "bgp,ecmp", "--scope", "s0"], 0),
        ("swap", ["--only", "cabling"], 1),
        ("cut", ["--scope", "p1-l0"], 0),
        ("cut", ["--scope", "rail=2"], 1),
        ("healthy", ["--strict"], 0),
    ],
)
def test_exit_codes_of_check(
    site: Path, capsys: pytest.CaptureFixture[str], snapshot: str, words: list[str], code: int
) -> None:
    assert call(site, "check", *words, "--json", snapshot=snapshot) == code
    document = json.loads(capsys.readouterr().out)
    assert problems(document) == []


@pytest.mark.parametrize(
    ("snapshot", "nodes", "code", "word"),
    [
        ("healthy", "gpu[001-004]", 0, "go"),
        ("swap", "gpu001", 1, "no-go"),
        ("swap", "gpu002", 0, "go"),
        ("cut", "gpu[001-002]", 1, "no-go"),
        ("cut", "gpu003", 0, "go"),
        ("missing", "gpu002", 2, "unknown"),
        ("uplink", "gpu001", 0, "warn"),
    ],
)
def test_exit_codes_of_gate(
    site: Path, capsys: pytest.CaptureFixture[str], snapshot: str, nodes: str, code: int, word: str
) -> None:
    assert call(site, "gate", "--nodes", nodes, "--json", snapshot=snapshot) == code
    document = json.loads(capsys.readouterr().out)
    assert problems(document) == []
    assert document["verdict"] == word
    assert call(site, "gate", "--nodes", nodes, snapshot=snapshot) == code
    assert capsys.readouterr().out.startswith(word.upper())


@pytest.mark.parametrize(
    ("verb", "words", "said"),
    [
        ("check", ["--only", "cables"], "there is no check 'cables'"),
        ("check", ["--scope", "pod=9"], "holds no device"),
        ("check", ["--window", "soon"], "is no time"),
        ("check", ["--baseline", "SITE/none.json"], "none.json"),
        ("check", ["--sample", "10s"], "leave --snapshot and --baseline out"),
        ("check", ["--format", "pdf"], "pdf"),
        ("check", ["-o", "SITE/none/report.html"], "cannot be written"),
        ("gate", ["--nodes", ""], "the node list is empty"),
        ("gate", ["--nodes", "gpu999"], "no node gpu999"),
        ("gate", ["--nodes", "gpu[1-"], "brackets"),
        ("gate", ["--nodes", "gpu[1-200000]"], "200000"),
        ("gate", [], "--nodes"),
    ],
)
def test_bad_usage_is_2_with_a_message(
    site: Path, capsys: pytest.CaptureFixture[str], verb: str, words: list[str], said: str
) -> None:
    assert call(site, verb, *words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("verb", "words", "said"),
    [
        ("check", ["--only", "cables"], "there is no check 'cables'"),
        ("check", ["--scope", "pod=9"], "holds no device"),
        ("check", ["--window", "5x"], "'5x' is no time"),
        ("check", ["--sample", "5x"], "'5x' is no time"),
        ("check", ["--history", "5x"], "'5x' is no time"),
        ("check", ["--baseline", "SITE/none.json"], "none.json"),
        ("gate", ["--nodes", "gpu999"], "no node gpu999"),
        ("gate", ["--nodes", "gpu001", "--window", "5x"], "'5x' is no time"),
        ("gate", ["--nodes", "gpu001", "--only", "cables"], "there is no check 'cables'"),
        ("watch", ["--only", "cables"], "there is no check 'cables'"),
    ],
)
def test_what_is_wrong_is_told_before_anybody_has_to_log_in(
    site: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    words: list[str],
    said: str,
) -> None:
    for name in ("SSH_AUTH_SOCK", "RAILFAB_KEY", "RAILFAB_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    assert call(site, verb, *words, snapshot=None) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\x1f\x8b\x08broken", b'{"schema": "railfab.snapshot/9"}', b"\xff\xfe"]
)
def test_a_broken_snapshot_is_2_and_names_the_file(
    site: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    assert run(["check", str(site / "lab.yaml"), "--snapshot", str(path)]) == 2
    assert "broken.json" in capsys.readouterr().err


def test_a_snapshot_of_another_fabric_is_refused(site: Path, capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    other = str(tree / "topology" / "sakuraone.yaml")
    assert run(["check", other, "--snapshot", str(site / "healthy.json.gz")]) == 2
    assert "is of fabric 'lab'" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "json", "junit", "md", "html", "prom"])
def test_every_form_goes_to_a_file_too(site: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / f"report.{form}"
    assert call(site, "check", "--format", form, "-o", str(target), snapshot="swap") == 1
    assert "TOPO-01" in target.read_text()


def test_a_baseline_from_the_history(site: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Kept snapshots are baselines by their age, and the memory of repeat offenders; nothing is made by looking."""
    from fabric.collect.history import History
    from fabric.state import state_paths

    state = ["--state", str(tmp_path)]
    window = ["--window", "60s", "--baseline", "50s", "--history", "1h", *state]
    assert call(site, "check", *window, snapshot="flap") == 2
    assert "the history has no snapshot from 50s ago" in capsys.readouterr().err
    assert not (tmp_path / ".railfab").exists()
    with History(state_paths(site / "lab.yaml", tmp_path).history) as history:
        history.add(files.read(site / "before.json.gz"))
        for age in range(5):
            history.note(NOW - 300 + 60 * age, "report", {"summary": {"pass": 9, "fail": age % 2}})
    assert call(site, "check", *window, snapshot="flap") == 1
    assert "PHY-04" in capsys.readouterr().out
    assert call(site, "check", *window, "--format", "html", snapshot="flap") == 1
    assert "How it has been" in capsys.readouterr().out


def test_a_saved_snapshot_leaves_no_verdict_for_the_prolog(site: Path) -> None:
    assert call(site, "check") == 0
    assert not (site / ".railfab").exists()
