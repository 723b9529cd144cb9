"""A plan judges what each change would leave behind, before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.allocate import load_plan
from fabric.lint import ResultJudge, YangModels
from fabric.render import render_switch
from fabric.values.change import Outcome
from fabric.values.plan import Plan
from tests.deploy.test_faults import only, small

Make = Callable[..., Any]


@pytest.fixture(scope="module")
def plan(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "lab.yaml")


def _changed(tables: Any, table: str, key: str, **fields: str) -> Any:
    copy = json.loads(json.dumps(tables))
    copy.setdefault(table, {}).setdefault(key, {}).update(fields)
    return copy


def test_a_result_that_is_not_sound_is_refused_and_nothing_is_sent(bench: Make) -> None:
    made = bench("p1-l0", "p1-l1")
    small(made)
    asked = []

    def judge(name: str, before: Any, after: Any) -> str | None:
        asked.append((name, before != after))
        return "the result would not be sound: X" if name == "p1-l0" else None

    change_plan = made.plan_now(judge=judge)
    assert asked == [("p1-l0", True), ("p1-l1", True)]
    assert change_plan.changes["p1-l0"].refused == "the result would not be sound: X"
    assert all("p1-l0" not in wave.devices for wave in change_plan.waves)
    run = made.push(change_plan)
    assert only(run).outcome is Outcome.REFUSED
    assert only(run, "p1-l1").outcome is Outcome.APPLIED


def test_a_switch_without_changes_is_not_judged(bench: Make) -> None:
    made = bench("p1-l0")
    assert made.plan_now(judge=lambda *_: "never").changes["p1-l0"].refused is None


def test_what_render_makes_is_sound(plan: Plan) -> None:
    judge = ResultJudge(plan)
    for name in plan.switches:
        tables = render_switch(plan, name).tables
        assert judge(name, _changed(tables, "PORT", "Ethernet0", description="x"), tables) is None


def test_what_the_change_brings_is_named(plan: Plan) -> None:
    tables = render_switch(plan, "s0").tables
    lanes = tables["PORT"]["Ethernet0"]["lanes"]
    assert isinstance(lanes, str)
    why = ResultJudge(plan)("s0", tables, _changed(tables, "PORT", "Ethernet8", lanes=lanes))
    assert why is not None
    assert why.startswith("the result would not be sound: CFG-")
    assert "Ethernet8" in why


def test_what_stood_there_before_and_blocks_every_patch_is_told_apart(plan: Plan, yang_folder: Path) -> None:
    pytest.importorskip("oopt_gnpy_libyang", reason="the wheel oopt-gnpy-libyang is not here")
    tables = render_switch(plan, "s0").tables
    before = _changed(tables, "ACL_RULE", "GONE|RULE_1", PRIORITY="10", PACKET_ACTION="DROP")
    after = _changed(before, "PORT", "Ethernet0", description="x")
    why = ResultJudge(plan, YangModels(yang_folder))("s0", before, after)
    assert why is not None
    assert why.startswith("what stands on it is not sound and blocks every patch")
    assert "ACL_RULE" in why
