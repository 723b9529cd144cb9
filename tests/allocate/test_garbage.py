"""Whatever an intent says, the answer is a Plan or one of our errors with words in it, never a traceback."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.allocate import allocate
from fabric.errors import RailfabError
from fabric.intent import load_text

_VALUES: list[Any] = [
    None, True, 0, -1, 1, 3, 65, 4096, 2**31, 1.5, "", "x", "400G", "100G", "800G", "gpu[001-003]", "gpu[1-2],gpu[1-2]",
    "p1-l0", "s0", "10.0.0.0/8", "10.254.0.0/31", "::/0", "fd00::/64", "planned", "accton-as9817-64o", "nvidia-sn5600",
    [], {}, ["10.0.0.0/30"], ["x"], {"x": 1},
]  # fmt: skip


@pytest.fixture(scope="module")
def texts(tree: Path) -> list[str]:
    return [(tree / "topology" / f"{name}.yaml").read_text() for name in ("lab", "sakuraone", "railonly", "dualplane")]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, child in value.items():
            found += _paths(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            found += _paths(child, (*path, index))
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_changed_values(texts: list[str], data: st.DataObject) -> None:
    document = yaml.safe_load(data.draw(st.sampled_from(texts)))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(_paths(document)))
        parent = document
        for step in path[:-1]:
            parent = parent[step]
        if data.draw(st.booleans()) and isinstance(parent, dict):
            del parent[path[-1]]
        else:
            parent[path[-1]] = copy.deepcopy(data.draw(st.sampled_from(_VALUES)))
        if not document:
            break
    message = "a plan"
    try:
        allocate(load_text(yaml.safe_dump(document)))
    except RailfabError as error:
        message = str(error)
    assert message


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_changed_letters(texts: list[str], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(texts[:1]))
    at = data.draw(st.integers(0, len(text) - 1))
    cut = data.draw(st.integers(0, 8))
    put = data.draw(st.text(max_size=3))
    message = "a plan"
    try:
        allocate(load_text(text[:at] + put + text[at + cut :]))
    except RailfabError as error:
        message = str(error)
    assert message


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_bytes(noise: bytes) -> None:
    with pytest.raises(RailfabError):
        load_text(noise)
