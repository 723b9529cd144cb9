"""Pushing to the twin: what was predicted is what netlink and FRR show, and what goes wrong comes right again."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import pytest

from tests.deploy.twin_push import Push
from tests.twin_fixtures import wait

pytestmark = [pytest.mark.twin, pytest.mark.slow]

UPLINK = "Ethernet256"


def test_a_configured_twin_has_nothing_to_do(push: Push) -> None:
    done = push.railfab("plan", push.intent, "--json")
    data = json.loads(done.stdout)
    assert done.returncode == 0
    assert data["summary"]["unchanged"] == 6, [device["changes"][:3] for device in data["devices"]]
    assert push.railfab("drift", push.intent).returncode == 0


@dataclass(frozen=True)
class Case:
    """One change of one switch, its class, and whether the fabric is well with it."""

    impact: str
    rows: tuple[Any, ...] = ()
    frr: tuple[Any, ...] = ()
    switch: str = "p1-l0"
    well: bool = True


ONE_TIMER = ("neighbor 10.254.0.1 description", "neighbor 10.254.0.1 timers 2 6\n neighbor 10.254.0.1 description")
ONE_SHUT = ("neighbor 10.254.0.1 description", "neighbor 10.254.0.1 shutdown\n neighbor 10.254.0.1 description")
OTHER = "Ethernet264"
CASES = {
    "one neighbour's timer": Case("HITLESS", frr=(ONE_TIMER,)),
    "all that is hitless": Case(
        "HITLESS",
        rows=(
            ("PORT", UPLINK, {"description": "text"}),
            ("DSCP_TO_TC_MAP", "*", {"63": "1"}),
            ("WRED_PROFILE", "*", {"green_drop_probability": "7"}),
        ),
        frr=(
            ("timers connect 10", "timers connect 7"),
            ("timers bgp 3 9", "timers bgp 4 12"),
            ("seq 10 permit 172.31.0.0/16 le 32", "seq 10 permit 172.31.0.0/16 le 31"),
            ("  maximum-paths 64", "  maximum-paths 32"),
        ),
    ),
    "queue and QoS map of two uplinks": Case(
        "FLAPS_PORTS",
        rows=(("QUEUE", f"{UPLINK}|3", {"wred_profile": None}), ("PORT_QOS_MAP", OTHER, {"pfc_enable": "3,4"})),
    ),
    "shutting an uplink": Case("FLAPS_PORTS", rows=(("PORT", UPLINK, {"admin_status": "down"}),), well=False),
    "router id": Case("RESETS_SESSIONS", frr=(("bgp router-id 10.255.0.17", "bgp router-id 10.255.0.99"),)),
    "one session shut": Case("RESETS_SESSIONS", frr=(ONE_SHUT,), well=False),
    "a spine's metadata": Case(
        "RELOADS_SWITCH", rows=(("DEVICE_METADATA", "localhost", {"default_pfcwd_status": "enable"}),), switch="s0"
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_predicted_impact_is_what_the_twin_shows(push: Push, what: str) -> None:
    case = CASES[what]
    rows = [list(row) for row in case.rows]
    for row in rows:
        if row[1] == "*":
            row[1] = next(iter(push.twin.rows(case.switch, "CONFIG_DB", f"{row[0]}|*"))).split("|")[1]
    predicted, plan = push.plan({case.switch: {"rows": rows, "frr": [list(pair) for pair in case.frr]}})
    mine = predicted[case.switch]
    assert mine["impact"] == case.impact, mine
    before = push.counts(case.switch)
    options = ["--accept-impact", case.switch, "--accept-mixed", *([] if case.well else ["--no-health"])]
    run = push.apply(plan, *options)
    try:
        assert run["by"][case.switch]["status"] == "applied", run
        ports, sessions, restarted = push.seen(case.switch, before)
        assert ports == set(mine["ports"]), what
        assert sessions == set(mine["sessions"]) or (restarted and not sessions), what
        assert restarted is (case.impact == "RELOADS_SWITCH")
    finally:
        push.put_back()


def test_two_pushers_at_once(push: Push) -> None:
    alter = {"p1-l0": {"frr": [["timers connect 10", "timers connect 7"]]}}
    plans = [push.plan(alter)[1] for _ in range(2)]
    both = [push.start("apply", plan, "--yes", "--json", "--no-health") for plan in plans]
    said = [json.loads(one.communicate(timeout=120)[0]) for one in both]
    applied = [one["run"] for one in said if one["devices"][0]["status"] == "applied"]
    try:
        assert sorted(one["devices"][0]["status"] for one in said) == ["applied", "refused"]
        error = next(one["devices"][0]["error"] for one in said if one["devices"][0]["status"] == "refused")
        assert "somebody else" in error or "moved since" in error
    finally:
        done = push.railfab("rollback", *applied[:1], "--intent", push.intent, "--yes")
    assert done.returncode == 0, done.stdout


def test_a_change_of_the_management_address_heals_by_itself(push: Push) -> None:
    """The patch moves eth0 to another address: we are cut off, and the switch puts itself back."""
    address = push.twin.plan.switches["p1-l0"].mgmt_address
    rows = push.twin.rows("p1-l0", "CONFIG_DB", "MGMT_INTERFACE|*")
    key = next(name.split("|", 1)[1] for name in rows if address.split("/")[0] in name)
    other = key.replace(address.split("/")[0], "172.31.99.99")
    _, plan = push.plan({"p1-l0": {"rows": [["MGMT_INTERFACE", other, {}]]}})
    # Our own way in goes with the old address, which an image's row would keep: take it away by hand while we push.
    cut = "until ls /var/tmp/railfab/*/patch; do sleep 0.05; done; while :; do ip addr flush dev eth0; sleep 0.1; done"
    push.twin.run("p1-l0", "sh", "-c", f"rm -rf /var/tmp/railfab; ({cut}) >/dev/null 2>&1 & echo $! >/tmp/cutting")
    started = time.monotonic()
    run = push.apply(plan, "--confirm", "12", "--patience", "0.15", "--no-health")
    assert time.monotonic() - started < 150
    assert run["by"]["p1-l0"]["status"] == "pending", run
    assert "it puts itself back within 12 s" in run["by"]["p1-l0"]["state"]
    wait(lambda: not push.twin.rows("p1-l0", "CONFIG_DB", f"MGMT_INTERFACE|{other}"), 60, "it to put itself back")
    push.twin.run("p1-l0", "sh", "-c", f"kill $(cat /tmp/cutting); ip addr replace {address} dev eth0")
    assert push.railfab("drift", push.intent).returncode == 0


def test_trust_learns_and_guards(push: Push) -> None:
    done = push.railfab("trust", push.intent, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert len(data["identities"]) == 6
    assert all(one["serial"] for one in data["identities"])
    assert set(data["summary"]["learned"]) == set(push.twin.plan.switches)
    again = json.loads(push.railfab("trust", push.intent, "--yes", "--json").stdout)
    assert (again["summary"]["learned"], again["summary"]["enrolled"]) == ([], [])


def test_a_changed_host_key_is_refused_before_anything_is_sent(push: Push) -> None:
    _, plan = push.plan({"p1-l0": {"frr": [["timers connect 10", "timers connect 7"]]}})
    known = push.twin.folder / "known_hosts"
    text = known.read_text()
    address = push.twin.plan.switches["p1-l0"].mgmt_address.split("/")[0]
    other = next(line.split()[2] for line in text.splitlines() if not line.startswith(address))
    kind = next(line.split()[1] for line in text.splitlines() if not line.startswith(address))
    forged = "\n".join(f"{address} {kind} {other}" if line.startswith(address) else line for line in text.splitlines())
    try:
        known.write_text(forged + "\n")
        run = push.apply(plan, "--no-health")
        assert run["by"]["p1-l0"]["status"] == "failed"
        assert "CHANGED" in run["by"]["p1-l0"]["error"]
        planned = json.loads(push.railfab("plan", push.intent, "--only", "p1-l0", "--json").stdout)
        assert "CHANGED" in planned["devices"][0]["error"]
    finally:
        known.write_text(text)


def test_state_made_by_hand_is_held_and_released_by_name(push: Push) -> None:
    push.twin.run("p1-l0", "config", "interface", "shutdown", UPLINK)
    try:
        done = push.railfab("plan", push.intent, "--json")
        device = next(one for one in json.loads(done.stdout)["devices"] if one["name"] == "p1-l0")
        assert [held["item"] for held in device["held"]] == [UPLINK]
        assert device["status"] == "unchanged"
        held = push.railfab("hold", f"p1-l0:{UPLINK}", "--reason", "optic ordered", "--intent", push.intent)
        assert held.returncode == 0, held.stderr
        out = push.folder / "release.json"
        planned = push.railfab("plan", push.intent, "--release", f"p1-l0:{UPLINK}", "-o", str(out), "--json")
        data = json.loads(planned.stdout)
        assert [step["field"] for one in data["devices"] for step in one["changes"]] == ["admin_status"]
        run = push.apply(str(out), "--no-health")
        assert run["by"]["p1-l0"]["status"] == "applied", run
        assert push.twin.row("p1-l0", "CONFIG_DB", f"PORT|{UPLINK}")["admin_status"] == "up"
    finally:
        push.railfab("release", f"p1-l0:{UPLINK}", "--intent", push.intent)
        push.twin.process("p1-l0", "config", "interface", "startup", UPLINK)
