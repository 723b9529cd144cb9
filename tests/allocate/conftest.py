"""Intents written in the test, and their Plans."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.values.plan import Plan


@pytest.fixture(scope="session")
def sakuraone(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return load_plan(tree / "topology" / "sakuraone.yaml", state=tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def lab(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return load_plan(tree / "topology" / "lab.yaml", state=tmp_path_factory.mktemp("state"))


@pytest.fixture
def written(tree: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write a shipped intent with texts replaced; each must be in it."""

    def write(name: str, *pairs: tuple[str, str], as_name: str | None = None) -> Path:
        text = (tree / "topology" / f"{name}.yaml").read_text()
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / f"{as_name or name}.yaml"
        path.write_text(text)
        return path

    return write
