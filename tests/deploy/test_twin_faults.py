"""Everything that goes wrong in a push, on the twin: the report is true, nothing half-done goes unsaid, a way on works.

The management address, the host key and two pushers at once stand in test_twin.py; the same list on pretended
switches, with every step and every word of it, in test_faults.py.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fabric import lab
from tests.deploy.twin_push import Push
from tests.twin_fixtures import LabTwin, wait

pytestmark = [pytest.mark.twin, pytest.mark.slow]

LEAF, OTHER, FAR = "p1-l0", "p1-l1", "p1-l3"
SMALL: dict[str, Any] = {
    "rows": [["PORT", "Ethernet256", {"description": "pushed"}], ["PORT", "Ethernet264", {"description": "pushed"}]],
    "frr": [["timers connect 10", "timers connect 7"]],
}


@pytest.fixture(scope="module")
def kept(lab_twin: LabTwin, tmp_path_factory: pytest.TempPathFactory) -> Push:
    """The plans of this module, and switches whose saved configuration is what they run."""
    for name in (LEAF, OTHER, FAR):
        lab_twin.run(name, "config", "save", "-y")
        lab_twin.run(name, "rm", "-f", "/etc/sonic/railfab/mark.json")
    return Push(lab_twin, tmp_path_factory.mktemp("plans"))


@pytest.fixture
def twin(kept: Push) -> Iterator[Push]:
    """Pushes on a whole twin. A test that leaves a switch other than it was fails, and the switch is mended."""
    kept.settled()
    found = {name: kept.footprint(name) for name in (LEAF, OTHER, FAR)}
    yield kept
    left = {name: parts for name in found if (parts := kept.left(name, found[name]))}
    for name in left:
        kept.restore(name, found[name])
    kept.settled()
    assert left == {}


def description(push: Push, port: str = "Ethernet256", switch: str = LEAF) -> str | None:
    return push.twin.row(switch, "CONFIG_DB", f"PORT|{port}").get("description")


def is_pushed(push: Push, switch: str = LEAF) -> None:
    """Running and saved, CONFIG_DB and routing; no lock, no timer, nothing pending."""
    now = push.footprint(switch)
    for where in ("running", "saved"):
        assert json.loads(now[where])["PORT"]["Ethernet256"]["description"] == "pushed", where
    for where in ("routing", "frr.conf"):
        assert "timers connect 7" in now[where], where
    assert (now["lock"], now["timers"], now["pending"]) == ("", "", "")


# A lost connection is tried again soon: the pause between two tries grows with how long a switch may be away.
SOON = {"away": 20.0}

# -- the connection ----------------------------------------------------------------------------------------------------

CUTS = {
    "before the patch": "'checkpoint '*) first cut && cut ;;",
    "in the dry run": "'apply-patch -d '*) first cut && { cut; sleep 1; } ;;",
    "during the patch": "'apply-patch /'*) first cut && { cut; sleep 1; } ;;",
    "after the patch": "'save -y') first cut && cut ;;",
    "during the patch, without a word": (
        "'apply-patch /'*) first cut && { ip link set eth0 down; sleep 3; ip link set eth0 up; } ;;"
    ),
}


@pytest.mark.parametrize("when", CUTS)
def test_ssh_cut(twin: Push, when: str) -> None:
    plan = twin.planned({LEAF: SMALL})
    with twin.config(LEAF, CUTS[when]) as called:
        run = twin.apply(plan, "--no-health", deadlines=SOON)
        assert run["by"][LEAF]["status"] == "applied", run
        patches = [call for call in called() if call.startswith("apply-patch /")]
        assert len(patches) == 1, "a lost connection starts nothing twice"
    if "without a word" not in when:
        assert any("connection lost, opening it again" in step for step in twin.asked(run["run"]))
    is_pushed(twin)
    twin.put_back()


# -- the switch --------------------------------------------------------------------------------------------------------

REBOOTS = {
    "while copies are kept": ("'checkpoint '*) first boot && reboot ;;", False),
    "during the patch": ("'apply-patch /'*) first boot && { $real \"$@\"; reboot; } ;;", False),
    "before it is saved": ("'save -y') first boot && reboot ;;", False),
    "when it is saved": ("'save -y') first boot && { $real \"$@\"; reboot; } ;;", True),
}


@pytest.mark.parametrize("when", REBOOTS)
def test_the_switch_reboots(twin: Push, when: str) -> None:
    cases, pushed = REBOOTS[when]
    plan = twin.planned({LEAF: SMALL})
    with twin.config(LEAF, cases):
        run = twin.apply(plan, "--no-health", deadlines=SOON)
    said = run["by"][LEAF]
    twin.settled()
    if pushed:
        assert said["status"] == "applied", said
        is_pushed(twin)
        twin.put_back()
        return
    assert said["status"] in ("refused", "rolled-back", "failed"), said
    assert "rebooted" in said["error"], said
    assert description(twin) != "pushed", "the saved configuration is what it runs"
    if when == "before it is saved":  # frr.conf was in place already, so FRR came up with it
        assert "what it lacks: PORT|Ethernet256: description" in said["state"], said
        assert "timers" not in said["state"], said
    else:
        assert "timers connect 10" in twin.footprint(LEAF)["routing"]
    again = twin.resume()
    assert again["by"][LEAF]["status"] == "applied", again
    is_pushed(twin)
    twin.put_back()


# -- the disk ----------------------------------------------------------------------------------------------------------


def test_a_disk_that_is_full_when_the_push_begins(twin: Push) -> None:
    plan = twin.planned({LEAF: SMALL})
    with twin.small_disk(LEAF, "/run/box/sonic", "32m"):
        run = twin.apply(plan, "--no-health")
        assert (run["rc"], run["by"][LEAF]["status"]) == (2, "refused")
        assert "its disk is full" in run["by"][LEAF]["error"]
        assert "nothing was changed" in run["by"][LEAF]["error"]


def test_a_disk_that_fills_up_while_copies_are_kept(twin: Push) -> None:
    plan = twin.planned({LEAF: SMALL})
    with twin.small_disk(LEAF, "/var/tmp/railfab", "64k", copy=False):
        run = twin.apply(plan, "--no-health")
    assert run["by"][LEAF]["status"] == "refused", run
    assert "No space left" in run["by"][LEAF]["error"], run
    assert "nothing was changed" in run["by"][LEAF]["state"]


def test_a_disk_that_is_full_when_it_comes_to_saving(twin: Push) -> None:
    """Changed and not saved: that is what is said, and a resumed run saves it."""
    plan = twin.planned({LEAF: SMALL})
    fill = "'save -y') first fill && cat /dev/zero >/run/box/sonic/filled 2>/dev/null ;;"
    with twin.small_disk(LEAF, "/run/box/sonic", "80m"), twin.config(LEAF, fill):
        run = twin.apply(plan, "--no-health")
        said = run["by"][LEAF]
        assert said["status"] == "failed", run
        assert "No space left" in said["error"], said
        assert "not saved" in said["state"], said
        assert run["rc"] == 1
        assert description(twin) == "pushed"
        twin.twin.run(LEAF, "rm", "/run/box/sonic/filled")
        again = twin.resume()
        assert again["by"][LEAF]["status"] == "applied", again
        is_pushed(twin)
        twin.put_back()


# -- the updater -------------------------------------------------------------------------------------------------------


def test_config_hangs(twin: Push) -> None:
    plan = twin.planned({LEAF: SMALL})
    with twin.config(LEAF, "'apply-patch /'*) sleep 600 ;;"):
        run = twin.apply(plan, "--no-health", deadlines={"patch": 3})
        assert run["by"][LEAF]["status"] == "rolled-back", run
        assert "did not end in 3 s" in run["by"][LEAF]["error"]
        assert "sleep 600" not in twin.twin.run(LEAF, "ps", "ax"), "what hung is ended"


# Five scopes; all but the third take their part (sonic-utilities config/main.py apply_patch goes on after one fails).
THIRD_OF_FIVE = """'apply-patch /'*)
 python3 -c 'import json, sys; json.dump(json.load(open(sys.argv[1]))[:-1], open("/tmp/part", "w"))' "$2"
 $real apply-patch /tmp/part >/dev/null || exit 9
 said='Failed to apply patch on the following scopes:
- asic1: Change Applier: localhost: there are still some parts not updated'
 echo "Failed to apply patch due to: $said" >&2
 printf 'Usage: config apply-patch [OPTIONS] PATCH_FILE_PATH\\n\\nError: %s\\n' "$said" >&2
 exit 2 ;;"""


def test_the_patch_is_refused_for_the_third_of_five_scopes(twin: Push) -> None:
    plan = twin.planned({LEAF: SMALL})
    with twin.config(LEAF, THIRD_OF_FIVE):
        run = twin.apply(plan, "--no-health")
    assert run["by"][LEAF]["status"] == "rolled-back", run
    assert "some parts were applied and these were not: asic1" in run["by"][LEAF]["error"]


def test_a_rollback_that_fails_is_never_called_rolled_back(twin: Push) -> None:
    """What still differs is named, the switch stays locked to this run, and once the cause is gone it goes back."""
    plan = twin.planned({LEAF: SMALL})
    refuse = "'rollback '*) echo 'Failed to rollback config due to: BUFFER_PROFILE is illegal' >&2; exit 2 ;;"
    with twin.config(LEAF, f"{THIRD_OF_FIVE}\n{refuse}"):
        run = twin.apply(plan, "--no-health")
        said = run["by"][LEAF]
        assert (run["rc"], said["status"]) == (1, "rollback-failed"), run
        assert "differs from what ran before" in said["error"]
        assert "PORT|Ethernet256: description" in said["error"]
        assert "asic1" in said["error"], "why it had to go back is still told"
        assert description(twin) == "pushed"
        tried = twin.rollback()
        assert tried.returncode == 1
        assert "rollback-failed" in tried.stdout
    done = twin.rollback()
    assert done.returncode == 0, done.stdout


def test_a_read_back_that_differs(twin: Push) -> None:
    plan = twin.planned({LEAF: SMALL})
    with twin.config(LEAF, "'apply-patch /'*) echo 'Patch applied successfully.'; exit 0 ;;"):
        run = twin.apply(plan, "--no-health", deadlines={"read_back": 1})
    assert run["by"][LEAF]["status"] == "rolled-back", run
    assert "what it runs now is not what was planned: PORT|Ethernet256: description" in run["by"][LEAF]["error"]


# The mode is not in what was loaded, so the bgp container takes frr.conf away (sonic.md 1.7, public reports).
LOSES = """'reload '*)
 first reload && {
 python3 - "$4" <<'end'
import json, sys
tables = json.load(open(sys.argv[1]))
del tables["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"]
json.dump(tables, open(sys.argv[1], "w"))
end
 } ;;"""


def test_a_reload_that_loses_mode_and_frr_conf(twin: Push) -> None:
    row = ["DEVICE_METADATA", "localhost", {"default_pfcwd_status": "enable"}]
    plan = twin.planned({FAR: {"rows": [row]}})
    with twin.config(FAR, LOSES):
        run = twin.apply(plan, "--no-health", "--accept-impact", FAR)
    assert run["by"][FAR]["status"] == "applied", run
    assert "the reload lost our routing" in run["by"][FAR]["state"], run
    metadata = twin.twin.row(FAR, "CONFIG_DB", "DEVICE_METADATA|localhost")
    assert metadata["docker_routing_config_mode"] == "split-unified"
    assert "router bgp" in twin.twin.run(FAR, "cat", "/etc/sonic/frr/frr.conf")
    twin.put_back()


# -- who is there ------------------------------------------------------------------------------------------------------


def test_wrong_password(twin: Push) -> None:
    """Refused before anything is sent; the right one opens the same door."""
    plan = twin.planned({LEAF: SMALL})
    wrong = twin.apply(plan, "--no-health", RAILFAB_KEY="", RAILFAB_PASSWORD="not this one")
    assert wrong["rc"] == 2  # nothing was sent to any switch
    assert wrong["by"][LEAF]["status"] == "failed"
    assert "no credential of admin was accepted" in wrong["by"][LEAF]["error"]
    assert "nothing was changed" in wrong["by"][LEAF]["state"]
    planned = twin.railfab(
        "plan", twin.intent, "--only", LEAF, "--json", RAILFAB_KEY="", RAILFAB_PASSWORD="not this one"
    )
    device = json.loads(planned.stdout)["devices"][0]
    assert (planned.returncode, device["status"]) == (2, "unreachable")
    assert "no credential of admin was accepted" in device["error"]


def test_one_switch_is_down_at_plan_and_at_apply(twin: Push) -> None:
    both = twin.planned({LEAF: SMALL, OTHER: SMALL})
    with twin.cut_off(OTHER):
        planned = twin.railfab("plan", twin.intent, "--json")
        data = json.loads(planned.stdout)
        status = {one["name"]: (one["status"], one["error"]) for one in data["devices"]}
        assert "p1-l1" in status[OTHER][1], planned
        assert [one for one, (said, _) in status.items() if said == "unreachable"] == [OTHER]
        run = twin.apply(both, "--no-health", deadlines={"open": 3})
        assert run["by"][OTHER]["status"] == "failed", run
        assert "could not be reached; nothing was changed" in run["by"][OTHER]["state"]
        assert run["rc"] == 1
        assert OTHER in run["stopped"]
    assert run["by"][LEAF]["status"] == "applied", run
    is_pushed(twin)
    assert description(twin, switch=OTHER) != "pushed"
    again = twin.resume()
    assert {name: one["status"] for name, one in again["by"].items()} == {LEAF: "applied", OTHER: "applied"}, again
    is_pushed(twin, OTHER)
    twin.put_back()


def test_two_leaves_racked_exchanged(twin: Push) -> None:
    """Each is cabled as the other: refused at plan and at apply, before anything is sent; one finding of a check."""
    plan = twin.planned({LEAF: SMALL, OTHER: SMALL})
    plugged = {(end["device"], end["port"]) for one in lab.status(twin.twin.folder)["cables"] for end in one["ends"]}
    ports = [port for device, port in sorted(plugged) if device == LEAF and (OTHER, port) in plugged]

    def neighbour(switch: str) -> str | None:
        return twin.twin.row(switch, "APPL_DB", "LLDP_ENTRY_TABLE:Ethernet256").get("lldp_rem_port_id")

    wanted = {LEAF: neighbour(OTHER), OTHER: neighbour(LEAF)}
    swapped = []
    try:
        for port in ports:
            twin.twin.fault("swap", f"{LEAF}:{port}", f"{OTHER}:{port}")
            swapped.append(port)
        wait(lambda: {name: neighbour(name) for name in wanted} == wanted, 60, "LLDP to see the exchange")
        run = twin.apply(plan, "--no-health", "--accept-mixed")
        said = run["by"][LEAF]
        assert (run["rc"], said["status"], run["by"][OTHER]["status"]) == (2, "refused", "skipped"), run
        assert f"another box answers for {LEAF}: its cables are those of {OTHER}" in said["error"]
        planned = json.loads(twin.railfab("plan", twin.intent, "--json").stdout)
        refused = {one["name"]: one["error"] or "" for one in planned["devices"]}
        found = json.loads(twin.railfab("check", twin.intent, "--json").stdout)["findings"]
        assert [(one["code"], one["device"]) for one in found if one["status"] == "fail"] == [("TOPO-01", LEAF)]
        for name, other in ((LEAF, OTHER), (OTHER, LEAF)):
            assert f"its cables are those of {other}" in refused[name]
            assert description(twin, switch=name) != "pushed"
    finally:
        for port in swapped:
            twin.twin.fault("swap", f"{LEAF}:{port}", f"{OTHER}:{port}", undo=True)
    twin.settled()


# -- our own end -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kill:
    """The step that is the last one on record when the run is killed, and what is done then."""

    after: str
    then: str


KILLS = (
    Kill("lock", "resume"),
    Kill("keep what is there", "rollback"),
    Kill("write the way back", "resume"),
    Kill("arm the timer", "rollback"),
    Kill("from here on", "resume"),
    Kill("patch", "rollback"),
    Kill("dry-run:", "resume"),
    Kill("patch:", "rollback"),
    Kill("patch:", "resume"),
    Kill("routing commands", "resume"),
    Kill("frr:", "rollback"),
    Kill("confirm", "resume"),
    Kill("put frr.conf in place", "rollback"),
    Kill("save", "resume"),
    Kill("mark", "rollback"),
)


@pytest.mark.parametrize("kill", KILLS, ids=lambda kill: f"{kill.after.strip(':')}, {kill.then}")
def test_killed_at_each_step(twin: Push, kill: Kill) -> None:
    plan = twin.planned({LEAF: SMALL})
    before = twin.known_runs()
    process = twin.start("apply", plan, "--yes", "--no-health")
    run = twin.new_run(before, process)
    wait(lambda: any(came_to(step, kill.after) for step in twin.asked(run)), 30, f"the step {kill.after}")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if kill.then == "resume" and not (twin.runs / run / "run.json").exists():
        again = twin.resume()
        assert (again["rc"], again["by"][LEAF]["status"]) == (0, "applied"), again
        is_pushed(twin)
    done = twin.rollback()
    assert done.returncode == 0, done.stdout + done.stderr
    assert twin.railfab("drift", twin.intent, "--only", LEAF).returncode == 0
    assert twin.footprint(LEAF)["lock"] == ""


def came_to(step: str, wanted: str) -> bool:
    return step == wanted or (wanted != "patch" and step.startswith(wanted))
