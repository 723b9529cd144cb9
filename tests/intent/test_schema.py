"""The exported JSON Schema accepts every intent we ship, and refuses what the loader refuses by shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fabric.cli.entry import run
from fabric.intent import schema

INTENTS = ["lab", "sakuraone", "pod32", "gpu8192", "gpu32768", "railonly", "dualplane", "gpu98304"]


@pytest.fixture(scope="module")
def validator() -> Any:
    document = schema()
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


@pytest.mark.parametrize("name", INTENTS)
def test_shipped_intents_pass(validator: Any, tree: Path, name: str) -> None:
    validator.validate(yaml.safe_load((tree / "topology" / f"{name}.yaml").read_text()))


@pytest.mark.parametrize(
    ("key", "value"),
    [("rials", 8), ("rails", "8"), ("rails", 0), ("attachment", "star"), ("pods", []), ("node_name", 3)],
)
def test_wrong_shapes_fail(validator: Any, tree: Path, key: str, value: object) -> None:
    document = yaml.safe_load((tree / "topology" / "lab.yaml").read_text())
    document["compute"][key] = value
    assert not validator.is_valid(document)


def test_a_speed_is_written_with_its_unit(validator: Any, tree: Path) -> None:
    document = yaml.safe_load((tree / "topology" / "lab.yaml").read_text())
    document["classes"]["h100"]["speed"] = 400000
    assert not validator.is_valid(document)


def test_verb(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()
    assert run(["schema", "-o", str(tmp_path / "s.json")]) == 0
    assert json.loads((tmp_path / "s.json").read_text()) == schema()
    assert run(["schema", "-o", str(tmp_path / "no" / "s.json")]) == 2


def test_an_including_file_need_not_repeat_what_is_required(validator: Any) -> None:
    validator.validate({"include": "base.yaml", "name": "x"})
    assert not validator.is_valid({"name": "x"})
