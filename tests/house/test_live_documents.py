"""`--json` of the verbs that need a fabric, on the twin: as docs/json.md says, and nothing else on stdout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.schemas import problems
from tests.twin_fixtures import LabTwin

pytestmark = pytest.mark.twin

COMMANDS: list[tuple[str, list[str], set[int]]] = [
    ("railfab.lab/1", ["lab", "status", "{intent}", "--json"], {0}),
    ("railfab.plan-report/1", ["plan", "{intent}", "-o", "{out}", "--json"], {0}),
    ("railfab.drift/1", ["drift", "{intent}", "--json"], {0, 1}),
    ("railfab.collect/1", ["collect", "{intent}", "-o", "{out}", "--json"], {0}),
    ("railfab.check/1", ["check", "{intent}", "--json"], {0, 1, 2}),
    ("railfab.gate/1", ["gate", "{intent}", "--nodes", "gpu[001-002]", "--json"], {0, 1, 2}),
    ("railfab.watch-event/1", ["watch", "{intent}", "--rounds", "1", "--json"], {0, 1, 2}),
]


@pytest.mark.parametrize(("kind", "words", "codes"), COMMANDS, ids=[kind for kind, _, _ in COMMANDS])
def test_live_output_is_as_documented(
    lab_twin: LabTwin, tmp_path: Path, kind: str, words: list[str], codes: set[int]
) -> None:
    places = {"{intent}": str(lab_twin.intent), "{out}": str(tmp_path / "out.json")}
    done = lab_twin.outside("railfab", *(places.get(word, word) for word in words))
    assert done.returncode in codes, done.stderr
    documents = (
        [json.loads(line) for line in done.stdout.splitlines()] if words[0] == "watch" else [json.loads(done.stdout)]
    )
    for document in documents:
        assert document["schema"] == kind
        assert problems(document) == []


def test_fault_output_is_as_documented(lab_twin: LabTwin) -> None:
    words = ["railfab", "lab", "fault", str(lab_twin.intent), "lldp", "p1-l0:Ethernet0", "--json"]
    for more, into in (([], True), (["--undo"], False)):
        done = lab_twin.outside(*words, *more)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert problems(document) == []
        assert document["in"] is into
