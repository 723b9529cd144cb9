"""Whatever a file holds, lint answers with findings and never with an exception."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.lint import YangModels, lint_tables
from fabric.lint.shape import read_tables
from fabric.values.finding import Finding
from tests.lint.sound import ROWS, leaf
from tests.lint.test_yang import models

__all__ = ["models"]

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=8)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2),
    max_leaves=6,
)
TABLES = sorted(leaf())
WORDS = st.sampled_from(
    ["", "None", "0", "-1", "3", "3,4", "3, 4", "999999999999999999999", "Ethernet0", "10.0.0.0/31", "a|b", "[",
     "[X|y]", "\ud800", "[DSCP_TO_TC_MAP|AZURE]", "0m", "m", "1x800G", "pg_lossless_1_2m_profile", "\x00", "'",
     '"', "\u00e9", "|", "/31"]
)  # fmt: skip
ROWS_OF_WORDS = st.dictionaries(WORDS, st.dictionaries(WORDS, WORDS | ANYTHING, max_size=3), max_size=2)
BROAD = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def well_formed(findings: list[Finding]) -> None:
    for finding in findings:
        assert finding.code.startswith("CFG-")
        assert finding.observed
        assert finding.remedy
        assert finding.evidence


@BROAD
@given(ANYTHING)
def test_any_json(data: Any) -> None:
    well_formed(lint_tables(data))


@BROAD
@given(st.dictionaries(st.sampled_from(TABLES), ROWS_OF_WORDS, max_size=3))
def test_known_tables_with_any_rows(models: YangModels, data: Any) -> None:
    well_formed(lint_tables(data, yang=models, platform_rows=ROWS))


@BROAD
@given(st.data())
def test_sound_leaf_with_any_change(models: YangModels, data: st.DataObject) -> None:
    tables = leaf()
    for _ in range(data.draw(st.integers(1, 4))):
        table = data.draw(st.sampled_from(TABLES))
        key = data.draw(st.sampled_from([*tables[table], "Ethernet999", "x|y|z"]))
        row = tables[table].setdefault(key, {})
        row[data.draw(st.sampled_from([*row, "bogus"]))] = data.draw(WORDS)
    well_formed(lint_tables(tables, yang=models, platform_rows=ROWS))


@BROAD
@given(st.data())
def test_what_is_read_once_is_read_the_same_again(data: st.DataObject) -> None:
    once, _ = read_tables(data.draw(st.dictionaries(st.sampled_from(TABLES), ROWS_OF_WORDS, max_size=3)))
    twice, findings = read_tables(once)
    assert {name: dict(table) for name, table in twice.items()} == {name: dict(table) for name, table in once.items()}
    assert not {finding.code for finding in findings} - {"CFG-04", "CFG-05"}
