"""Real `--json` outputs are what docs/json.md says, and say nothing else on stdout."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.entry import run
from fabric.cli.verbs import VERBS
from fabric.values.finding import Finding, Move, Place, Report, Severity, Status, finding_json, summarize
from tests.schemas import problems, schemas


def test_schemas_are_schemas() -> None:
    from jsonschema import Draft202012Validator

    assert len(schemas()) > 10
    for name, schema in schemas().items():
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object", name


@pytest.fixture
def lab(tree: Path, tmp_path: Path) -> Path:
    """A copy of topology/lab.yaml, so that state stays out of the tree."""
    intent = tmp_path / "lab.yaml"
    intent.write_text((tree / "topology/lab.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    return intent


COMMANDS: list[tuple[str, list[str], str, set[int]]] = [
    ("design", ["design", "{lab}", "--json"], "railfab.design/1", {0}),
    ("cables", ["cables", "{lab}", "--json"], "railfab.cables/1", {0}),
    ("render", ["render", "{lab}", "-o", "{out}", "--json"], "railfab.render/1", {0}),
    ("explain-render", ["render", "{lab}", "--explain", "--json"], "railfab.render/1", {0}),
    ("lint", ["lint", "{out}", "--json"], "railfab.lint/1", {0}),
    ("lint-broken", ["lint", "{broken}", "--json"], "railfab.lint/1", {1}),
    ("platforms", ["platform", "list", "--json"], "railfab.platforms/1", {0}),
    ("where", ["where", "{lab}", "gpu001", "--json"], "railfab.where/1", {0}),
    ("explain", ["explain", "CFG-10", "--json"], "railfab.explain/1", {0}),
    ("explain-all", ["explain", "--json"], "railfab.explain/1", {0}),
    ("holds", ["hold", "--intent", "{lab}", "--json"], "railfab.holds/1", {0}),
    ("platform", ["platform", "show", "nvidia-sn5600", "--json"], "railfab.platform-ports/1", {0}),
]


@pytest.mark.parametrize(
    ("words", "kind", "codes"), [case[1:] for case in COMMANDS], ids=[case[0] for case in COMMANDS]
)
def test_output_is_as_documented(
    words: list[str], kind: str, codes: set[int], lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, broken = tmp_path / "out", tmp_path / "broken"
    if "{out}" in words and words[0] != "render":
        assert run(["render", str(lab), "-o", str(out)]) == 0
        capsys.readouterr()
    broken.mkdir()
    (broken / "config_db.json").write_text('{"PORT": {"Ethernet0": {"lanes": null}}, "VLAN": {}}')
    places = {"{lab}": str(lab), "{out}": str(out), "{broken}": str(broken)}
    assert run([places.get(word, word) for word in words]) in codes
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == kind
    assert problems(document) == []


def finding(**more: Any) -> Finding:
    return Finding(code="TOPO-01", status=Status.FAIL, severity=Severity.BLOCK, **more)


def test_findings_are_as_documented() -> None:
    move = Move("a:b--c:d", Place("a", "b"), Place("e", "f"))
    whole = finding(device="p1-l0", rail=0, moves=(move,), consequences=(finding(),))
    check: dict[str, Any] = {"schema": "railfab.check/1", "fabric": "lab", "taken_at": None, "notes": []}
    summary = {"pass": 0, "fail": 1, "warn": 0, "unknown": 0, "devices": 1, "missing_devices": []}
    document = check | {"findings": [finding_json(whole)], "summary": summary}
    assert problems(document) == []
    for field in finding_json(whole):
        broken = json.loads(json.dumps(document))
        del broken["findings"][0][field]
        assert problems(broken), field
        deep = json.loads(json.dumps(document))
        del deep["findings"][0]["consequences"][0][field]
        assert problems(deep), field


def test_check_document_is_as_documented() -> None:
    from fabric.report.documents import check_document

    findings = (finding(), finding(consequences=(finding(node="gpu001"),)))
    report = Report(findings=findings, summary=summarize(findings, devices=6, missing_devices=["s0"]))
    assert problems(check_document(report, "lab")) == []


def test_gate_document_is_as_documented(lab: Path) -> None:
    from fabric.allocate import load_plan
    from fabric.gate.judge import gate_document
    from fabric.values.verdict import Answer, Verdict

    verdict = Verdict(Answer.NO_GO, ("gpu001",), (finding(node="gpu001", nodes=("gpu001",)),))
    assert problems(gate_document(load_plan(lab), verdict)) == []


def test_documents_of_the_push_are_as_documented() -> None:
    from fabric.deploy.report import plan_document, run_document
    from fabric.values.change import ChangePlan, DeviceChange, DeviceRun, Impact, Outcome, Run, Wave

    change = DeviceChange("p1-l0", "patch", Impact.HITLESS, "digest", foreign=("BGP_BBR",))
    waves = (Wave("1", ("p1-l0",), Impact.HITLESS),)
    plan = ChangePlan("lab", "lab.yaml", "hash", 1.0, {"p1-l0": change}, waves, {"s0": "no answer"})
    assert problems(plan_document(plan)) == []
    for kind in ("apply", "rollback"):
        for outcome in Outcome:
            run_ = Run("1", "lab", "digest", 1.0, None, {"p1-l0": DeviceRun("p1-l0", outcome)})
            assert problems(run_document(run_, kind)) == []


_KIND = re.compile(r"railfab\.[a-z-]+/1")
# Files that railfab writes and reads again; their shapes are the dataclasses of fabric/values and the code that
# reads them, not documents of `--json`.
_FILES = {
    "railfab.plan/1", "railfab.snapshot/1", "railfab.device-config/1", "railfab.change-plan/1", "railfab.ledger/1",
    "railfab.platform/1", "railfab.verdicts/1", "railfab.probe-answers/1", "railfab.run/1",
}  # fmt: skip


def test_every_document_of_the_command_line_is_documented(tree: Path) -> None:
    told: dict[str, str] = {}
    for module, _ in VERBS.values():
        path = tree / f"fabric/cli/{module}.py"
        if path.exists():
            told |= dict.fromkeys(_KIND.findall(path.read_text(encoding="utf-8")), module)
    missing = {kind: module for kind, module in told.items() if kind not in schemas() and kind not in _FILES}
    assert not missing, f"add their schemas to docs/json.md: {missing}"
