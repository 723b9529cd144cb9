"""`railfab watch` on a running twin: a cable is cut under it, and mended again."""

from __future__ import annotations

import json
import sqlite3
import threading
import time

import pytest

from fabric.gate import prolog
from tests.twin_fixtures import LabTwin, wait

pytestmark = pytest.mark.twin


def test_a_cut_cable_is_told_while_watching_and_its_repair_too(lab_twin: LabTwin) -> None:
    assert lab_twin.intent is not None
    metrics = lab_twin.intent.parent / "railfab.prom"
    words = ("railfab", "watch", str(lab_twin.intent), "--every", "3s", "--rounds", "9", "--json")
    ended: list[str] = []
    codes: list[int] = []

    def watch() -> None:
        done = lab_twin.outside(*words, "--metrics", str(metrics))
        ended.append(done.stdout + done.stderr)
        codes.append(done.returncode)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        wait(metrics.exists, 60, "the first round")
        lab_twin.fault("cut", "p1-l0:Ethernet256")
        state = lab_twin.intent.parent / ".railfab" / "lab"
        wait(lambda: '"no-go"' in (state / "verdict.json").read_text() or _events(state), 60, "the cut to be told")
    finally:
        lab_twin.fault("cut", "p1-l0:Ethernet256", undo=True)
        watcher.join(180)
    events = [json.loads(line) for line in ended[0].splitlines() if line.startswith("{")]
    told = [event for event in events if event["finding"]["status"] == "fail"]
    assert [event["kind"] for event in told][:1] == ["appeared"], ended[0]
    first = told[0]["finding"]
    assert (first["device"], first["port"]) in {("p1-l0", "Ethernet256"), ("s0", "Ethernet0")}
    assert first["remedy"]
    assert codes[0] in (0, 1), ended[0]
    code, text = prolog.answer(str(state / "verdict.json"), "gpu001", 120.0, time.time())
    assert code in (0, 1), text
    assert "railfab_watch_rounds_total" in metrics.read_text()
    wait(lab_twin.converged, 60, "the twin to heal")


def _events(state: object) -> int:
    with sqlite3.connect(f"file:{state}/history.db?mode=ro", uri=True) as database:
        return int(database.execute("SELECT COUNT(*) FROM note WHERE kind='event'").fetchone()[0])


def test_sigterm_ends_it_with_143_and_nothing_half_written(lab_twin: LabTwin) -> None:
    assert lab_twin.intent is not None
    done = lab_twin.outside(
        "sh", "-c", 'railfab watch "$1" --every 2s & p=$!; sleep 6; kill -TERM $p; wait $p; echo "rc=$?"', "sh",
        str(lab_twin.intent),
    )  # fmt: skip
    assert done.stdout.rstrip().endswith("rc=143"), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    state = lab_twin.intent.parent / ".railfab" / "lab"
    json.loads((state / "verdict.json").read_text())
    assert not [path for path in state.iterdir() if path.name.startswith(".verdict-")]
