"""The plan as a file: JSON there and back, text and Markdown for people, equal differences once."""

from __future__ import annotations

from collections.abc import Callable

from fabric.deploy.drift import drift, drift_document, drift_text, exit_code
from fabric.deploy.report import plan_document, plan_markdown, plan_text, rollback_text, sentence
from fabric.values.change import ChangePlan
from fabric.values.codec import dumps, loads
from tests.deploy.conftest import Bench

Make = Callable[..., Bench]


def changed(bench: Make) -> tuple[Bench, ChangePlan]:
    made = bench("p1-l0", "p1-l1", "s0")
    for name in ("p1-l0", "p1-l1"):
        made.alter_frr(name, "timers connect 10", "timers connect 7")
    made.alter("s0", "PORT", "Ethernet0", fec="none")
    return made, made.plan_now(unreachable={"p1-l2": "no answer in 60 s"})


def test_a_plan_goes_to_json_and_back(bench: Make) -> None:
    _, change_plan = changed(bench)
    assert loads(ChangePlan, dumps(change_plan), "p.json") == change_plan


def test_the_sum_is_said_in_one_line(bench: Make) -> None:
    _, change_plan = changed(bench)
    assert sentence(change_plan) == (
        "3 switches of 4 change: 0 switches reload, 1 port flaps, 1 session resets; 1 switch could not be read"
    )


def test_equal_differences_are_shown_once(bench: Make) -> None:
    _, change_plan = changed(bench)
    text = plan_text(change_plan)
    assert text.count("timers connect 10 -> ") == 1
    assert "p1-l0, p1-l1  [hitless, frr]" in text
    assert "s0  [flaps ports, gcu]" in text
    assert "ports that flap: Ethernet0" in text
    assert "NOT READ p1-l2: no answer in 60 s" in text


def test_the_document_has_what_the_contract_says(bench: Make) -> None:
    _, change_plan = changed(bench)
    data = plan_document(change_plan)
    assert data["schema"] == "railfab.plan-report/1"
    by_name = {device["name"]: device for device in data["devices"]}
    assert {name: device["status"] for name, device in by_name.items()} == {
        "p1-l0": "changes", "p1-l1": "changes", "s0": "changes", "p1-l2": "unreachable",
    }  # fmt: skip
    assert all(set(device) >= {"name", "status", "changes", "error"} for device in data["devices"])
    assert by_name["s0"]["changes"][0]["why"]
    assert data["summary"]["ports_flapped"] == 1
    assert data["waves"][0]["devices"] == ["p1-l0"]


def test_markdown_is_fit_for_a_merge_request(bench: Make) -> None:
    _, change_plan = changed(bench)
    text = plan_markdown(change_plan)
    assert text.startswith("# Plan for lab\n")
    for words in ("| wave | switches |", "## p1-l0, p1-l1", "## s0", "sonic.md 4.6", "timers connect 7", "Ethernet0"):
        assert words in text
    assert not any(line.count("|") not in (0, 6) for line in text.splitlines() if line.startswith("|"))


def test_putting_back_costs_the_same_again_and_says_so(bench: Make) -> None:
    _, change_plan = changed(bench)
    text = rollback_text(change_plan, "20260101-000000")
    assert "s0: flaps ports, ports that flap: Ethernet0" in text


def test_drift_is_told_and_quiet_about_foreign_rows(bench: Make) -> None:
    made = bench("p1-l0", "p1-l1")
    for name, switch in made.switches.items():
        state = switch.read()
        state["config"]["CRM"]["Config"]["polling_interval"] = "30"
        if name == "p1-l0":
            state["config"]["PORT"]["Ethernet0"]["mtu"] = "1500"
        switch.write(state)
    readings = made.readings()
    found = drift(made.plan, made.plan_now(), readings)
    assert exit_code(found) == 1
    data = drift_document(found)
    assert {device["name"]: device["status"] for device in data["devices"]} == {
        "p1-l0": "drift", "p1-l1": "as-intended",
    }  # fmt: skip
    assert "PORT|Ethernet0 mtu: 1500 -> " in drift_text(found)
    assert "CRM" not in drift_text(found)


def test_no_drift_but_a_silent_switch_is_could_not_tell(bench: Make) -> None:
    made = bench("p1-l0")
    clean = drift(made.plan, made.plan_now(), made.readings())
    assert exit_code(clean) == 0
    assert exit_code(drift(made.plan, made.plan_now(unreachable={"p1-l1": "silent"}), made.readings())) == 2


def test_held_state_is_no_drift_unless_strict(bench: Make) -> None:
    made = bench("p1-l0")
    switch = made.switches["p1-l0"]
    state = switch.read()
    port = next(key for key in state["config"]["INTERFACE"] if "|10.254." in key).split("|")[0]
    state["config"]["PORT"][port]["admin_status"] = "down"
    switch.write(state)
    found = drift(made.plan, made.plan_now(), made.readings())
    assert (exit_code(found), exit_code(found, strict=True)) == (0, 1)
    assert f"HELD p1-l0:{port}: admin_status down" in drift_text(found)


def test_another_release_or_platform_is_drift(bench: Make) -> None:
    made = bench("p1-l0")
    root = made.switches["p1-l0"].root
    (root / "etc/sonic/sonic_version.yml").write_text("build_version: '202311.1234-abc'\n")
    (root / "host/machine.conf").write_text("onie_platform=x86_64-arista_7060x6_64pe\n")
    found = drift(made.plan, made.plan_now(), made.readings())
    assert exit_code(found) == 1
    text = drift_text(found)
    assert "runs SONiC 202311" in text
    assert "is a x86_64-arista_7060x6_64pe" in text


def test_a_lost_frr_conf_is_found_while_the_routing_still_runs(bench: Make) -> None:
    """The next restart would come up without routing: the file is drift although FRR runs ours."""
    made = bench("p1-l0")
    (made.switches["p1-l0"].root / "etc/sonic/frr/frr.conf").unlink()
    change = made.plan_now().changes["p1-l0"]
    assert (change.method, change.frr_commands) == ("frr", ())
    assert change.steps[0].key == "frr.conf"
    made.push()
    assert made.switches["p1-l0"].frr_file() == made.desired["p1-l0"].frr
    assert made.plan_now().changes["p1-l0"].method == "none"


def test_routing_that_cannot_be_read_is_refused_not_called_equal(bench: Make) -> None:
    made = bench("p1-l0")
    made.switches["p1-l0"].change(frr="router bgp 4200000110\n neighbor")
    change = made.plan_now().changes["p1-l0"]
    assert change.refused is not None
    assert "its routing configuration could not be read" in change.refused
