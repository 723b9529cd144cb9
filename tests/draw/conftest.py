"""Plans to draw."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.values.plan import Plan


@pytest.fixture(scope="session")
def sakuraone(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "sakuraone.yaml")


@pytest.fixture(scope="session")
def lab(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "lab.yaml")


@pytest.fixture(scope="session")
def large(tree: Path) -> Plan:
    """8,192 GPUs in 16 segments."""
    return load_plan(tree / "topology" / "gpu8192.yaml")
