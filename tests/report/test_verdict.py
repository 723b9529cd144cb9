"""A go or no-go as a person reads it."""

from __future__ import annotations

import pytest

from fabric.report.verdict import verdict_lines
from fabric.values.verdict import Answer, Verdict


@pytest.mark.parametrize(
    ("nodes", "named"),
    [
        (("gpu001",), "lab: gpu001"),
        (("gpu001", "gpu002", "gpu003"), "lab: gpu[001-003], 3 nodes"),
        (("gpu001", "gpu003"), "lab: gpu[001,003], 2 nodes"),
        (("cpu1", "gpu003"), "lab: cpu1,gpu003, 2 nodes"),
    ],
)
def test_only_the_judged_nodes_are_named(nodes: tuple[str, ...], named: str) -> None:
    first = next(iter(verdict_lines(Verdict(Answer.GO, nodes), "lab")))
    assert "".join(text for text, _ in first) == f"GO {named}"
