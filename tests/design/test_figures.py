"""The figures of SAKURAONE come out exactly, and follow when one input changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.entry import run
from fabric.design import judge
from fabric.design.show import design_json, design_text
from fabric.values.finding import Status, exit_code
from fabric.values.plan import Plan
from tests.design.conftest import Made
from tests.schemas import problems

TODAY = "2026-01-01"


def figures(plan: Plan, network: str = "compute") -> dict[str, Any]:
    document: dict[str, Any] = design_json(judge(plan, TODAY))["fabrics"][network]
    return document


def test_sakuraone_figures(sakuraone: Plan) -> None:
    wanted = {
        "switches": 24,
        "cables": 1312,
        "nics": 800,
        "pod_gbps": 160_000,
        "leaf_down_gbps": 20_000,
        "leaf_up_gbps": 25_600,
        "oversubscription": 0.781,
        "survives_spines": 1,
        "survives_uplinks_per_leaf": 7,
        "remote_load_after_one_link": 1.04,
        "ecmp_up": 32,
        "ecmp_down": 4,
    }
    got = figures(sakuraone)
    assert problems(design_json(judge(sakuraone, TODAY))) == []
    assert {key: got[key] for key in wanted} == wanted
    assert got["reserve_hosts"] == 28
    storage = figures(sakuraone, "storage")
    assert (storage["switches"], storage["cables"], storage["nics"]) == (2, 216, 216)
    assert storage["oversubscription"] is None
    assert storage["survives_spines"] is None


def test_sakuraone_has_no_failure_and_says_what_to_watch(sakuraone: Plan) -> None:
    design = judge(sakuraone, TODAY)
    assert design.report.summary.fail == 0
    assert design.report.summary.devices == 26
    assert exit_code(design.report.summary) == 0
    demand = [finding for finding in design.report.findings if finding.code == "QOS-06"]
    assert [finding.status for finding in demand] == [Status.WARN, Status.WARN]
    assert "1.39 times" in str(demand[0].observed)
    assert "1.55 with every reserve place" in str(demand[0].observed)
    text = design_text(design)
    assert "0.781:1" in text
    assert "dell-z9864f" in text  # borrowed buffer figures are said in every output


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (
            ("count: 8, links: 4", "count: 8, links: 3"),
            {"cables": 1184, "leaf_up_gbps": 19_200, "oversubscription": 1.042, "survives_spines": 0}
            | {"survives_uplinks_per_leaf": 0, "ecmp_up": 24, "ecmp_down": 3, "remote_load_after_one_link": 1.56},
        ),
        (
            ("gpu[051-100]", "gpu[051-090]"),
            {"cables": 1232, "nics": 720, "pod_gbps": 160_000, "oversubscription": 0.781},
        ),
        (
            ("count: 8, links: 4", "count: 7, links: 4"),
            {"switches": 23, "cables": 1248, "oversubscription": 0.893, "survives_spines": 0, "ecmp_up": 28}
            | {"survives_uplinks_per_leaf": 3, "remote_load_after_one_link": 1.19},
        ),
        (("speed: 800G, length", "speed: 400G, length"), {"leaf_up_gbps": 12_800, "oversubscription": 1.562}),
    ],
)
def test_figures_follow_one_input(made: Made, change: tuple[str, str], wanted: dict[str, Any]) -> None:
    got = figures(made("sakuraone", change))
    assert {key: got[key] for key in wanted} == wanted


def test_lab_draws_the_two_spine_warning_and_exits_0(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    intent = str(tree / "topology" / "lab.yaml")
    assert run(["design", intent, "--json", "--state", str(tmp_path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert problems(document) == []
    assert document["summary"]["fail"] == 0
    assert "TOPO-04" in [finding["code"] for finding in document["findings"] if finding["status"] == "warn"]
    assert document["fabrics"]["compute"]["ecmp_up"] == 4
    assert document["fabrics"]["compute"]["ecmp_down"] == 2
    assert run(["design", intent, "--strict", "--state", str(tmp_path)]) == 1
    capsys.readouterr()
    assert list(tmp_path.iterdir()) == []  # a design check writes nothing


def test_bad_date_is_bad_usage(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["design", str(tree / "topology" / "lab.yaml"), "--today", "tomorrow"]) == 2
    assert "is no date" in capsys.readouterr().err


def test_weighted_ecmp_learns_of_a_lost_cable(made: Made) -> None:
    plan = made("sakuraone", ("qos: {profile: sakura}", "qos: {profile: sakura}\nrouting: {weighted_ecmp: true}"))
    assert figures(plan)["remote_load_after_one_link"] == 0.81
    assert "BGP-05" not in {finding.code for finding in judge(plan, TODAY).report.findings}


def test_the_same_plan_gives_the_same_report(sakuraone: Plan) -> None:
    assert judge(sakuraone, TODAY) == judge(sakuraone, TODAY)


def test_findings_that_differ_in_place_alone_are_one_line(made: Made) -> None:
    design = judge(made("lab", ("length_m: 40", "length_m: 2000")), TODAY)
    lines = design_text(design).splitlines()
    fails = [line for line in lines if line.startswith("FAIL QOS-05")]
    places = "p1-l0 Ethernet256, p1-l0 Ethernet264, p1-l0 Ethernet272, p1-l0 Ethernet280 and 28 more"
    assert fails == [f"FAIL QOS-05 {places}: the table of dell-z9864f-o64 has 5m, 40m, 300m"]
    assert "32 failed" in lines[-2]
    assert sum(finding.code == "QOS-05" for finding in design.report.findings) == 32
