"""The twin's Generic Config Updater refuses what SONiC's refuses, and takes links down where it does."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.lab.box import gcu_rules as rules
from fabric.lab.box.gcu import Move, RefusedError, Switch, check_operations, check_target, simulate, sort
from tests.twin_fixtures import LabTwin, wait

OLD = Switch(
    "202505", "Accton-AS9817-64O", {"Ethernet0": {"supported_speeds": "400000,800000", "supported_fecs": "rs,none"}}
)
NEW = Switch("202511", "Arista-7060X6-64PE-B-P32O64", {})

BASE: dict[str, Any] = {
    "PORT": {
        "Ethernet0": {"lanes": "1,2", "speed": "400000", "admin_status": "up", "mtu": "9100"},
        "Ethernet8": {"lanes": "3,4", "speed": "400000", "admin_status": "down", "mtu": "9100"},
    },
    "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}},
    "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.255.0.1/32": {}},
    "QUEUE": {"Ethernet0|3": {"scheduler": "a"}, "Ethernet8|3": {"scheduler": "a"}},
    "SCHEDULER": {"a": {"type": "DWRR", "weight": "1"}, "b": {"type": "DWRR", "weight": "2"}},
    "WRED_PROFILE": {"ROCE": {"green_min_threshold": "1", "green_max_threshold": "2"}},
    "BUFFER_POOL": {"ingress_lossless_pool": {"size": "1", "xoff": "1"}, "egress_lossy_pool": {"size": "1"}},
    "BUFFER_PROFILE": {"p": {"dynamic_th": "0", "size": "0"}},
    "BGP_NEIGHBOR": {"10.0.0.1": {"asn": "1", "admin_status": "up"}},
    "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": {"action": "drop", "detection_time": "400"}},
}


def every_rule() -> Iterator[tuple[str, str]]:
    for group in (
        rules.CREATE_ONLY,
        rules.NEEDS_PORT_DOWN,
        rules.CANNOT_REMOVE,
        rules.RESTRICTED,
        rules.PERMITTED,
        rules.KNOWN_HWSKU_TABLES,
        [rule for rule, _ in rules.KNOWN_HWSKUS],
        rules.NOT_COMPARED,
        rules.BEHAVIOUR,
    ):
        for rule in group:
            yield rule.file, rule.line


@pytest.mark.parametrize(("file", "line"), sorted(set(every_rule())))
def test_every_rule_stands_in_the_facts(shared: Path, file: str, line: str) -> None:
    text = (shared / "facts" / file).read_text()
    assert re.sub(r"\s+", " ", line) in re.sub(r"\s+", " ", text)


def test_modelled_tables_are_those_of_sonics_models(yang_folder: Path) -> None:
    """Every table we take for modelled is a container of a model; every one we write is modelled."""
    containers = set()
    for model in yang_folder.glob("*.yang"):
        containers |= set(re.findall(r"^\s*container\s+([A-Z][A-Z0-9_]+)\s*\{", model.read_text(), re.MULTILINE))
    assert rules.MODELLED - containers <= {"SYSLOG_CONFIG_FEATURE"}


def patch(op: str, path: str, value: Any = None) -> list[dict[str, Any]]:
    return [{"op": op, "path": path} | ({"value": value} if op != "remove" else {})]


REFUSED = [
    ("pool-new", NEW, patch("replace", "/BUFFER_POOL/ingress_lossless_pool/size", "2")),
    ("pool-old-other", OLD, patch("replace", "/BUFFER_POOL/egress_lossy_pool/mode", "static")),
    ("pool-add", OLD, patch("add", "/BUFFER_POOL/other", {"size": "1"})),
    ("pool-table", OLD, patch("remove", "/BUFFER_POOL")),
    ("profile-unknown-sku", OLD, patch("replace", "/BUFFER_PROFILE/p/dynamic_th", "1")),
    ("wred-old-add", OLD, patch("add", "/WRED_PROFILE/NEW", {"ecn": "ecn_all"})),
    ("wred-old-field", OLD, patch("replace", "/WRED_PROFILE/ROCE/ecn", "ecn_none")),
    ("watchdog-unknown-sku", OLD, patch("replace", "/PFC_WD/Ethernet0/detection_time", "500")),
    ("watchdog-table", NEW, patch("add", "/PFC_WD", {"Ethernet0": {"action": "drop"}})),
    ("speed", OLD, patch("replace", "/PORT/Ethernet0/speed", "100000")),
    ("fec", OLD, patch("add", "/PORT/Ethernet0/fec", "fc")),
]


@pytest.mark.parametrize(("switch", "steps"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_refused_by_a_validator(switch: Switch, steps: list[dict[str, Any]]) -> None:
    with pytest.raises(RefusedError, match="is illegal"):
        check_operations(steps, BASE, switch)


PERMITTED = [
    ("pool-old", OLD, patch("replace", "/BUFFER_POOL/ingress_lossless_pool/size", "2")),
    ("profile-known-sku", NEW, patch("add", "/BUFFER_PROFILE/q", {"size": "0"})),
    ("wred-old", OLD, patch("replace", "/WRED_PROFILE/ROCE/green_min_threshold", "2")),
    ("wred-new", NEW, patch("add", "/WRED_PROFILE/NEW", {"ecn": "ecn_all"})),
    ("watchdog-known-sku", NEW, patch("replace", "/PFC_WD/Ethernet0/detection_time", "500")),
    ("speed", OLD, patch("replace", "/PORT/Ethernet0/speed", "800000")),
    ("mtu", OLD, patch("replace", "/PORT/Ethernet0/mtu", "9000")),
]


@pytest.mark.parametrize(("switch", "steps"), [case[1:] for case in PERMITTED], ids=[case[0] for case in PERMITTED])
def test_permitted_by_the_validators(switch: Switch, steps: list[dict[str, Any]]) -> None:
    check_operations(steps, BASE, switch)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"QUEUE": {}}, "empty tables"),
        ({"MY_TABLE": {"a": {}}}, "without YANG models"),
        ({"PORT": {"Ethernet0": {"lanes": "1,x", "speed": "1"}}}, "not a number"),
        ({"PORT": {**BASE["PORT"], "Ethernet16": {"lanes": "2", "speed": "1"}}}, "used multiple times"),
        ({"INTERFACE": {"Ethernet0|10.0.0.0/31": {}}}, "parent row"),
        ({"INTERFACE": {"Ethernet99": {}}}, "no PORT"),
    ],
)
def test_refused_target(change: dict[str, Any], words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        check_target({**BASE, **change}, change, ignore_tables=False)


def test_table_without_model_passes_when_told_to_ignore() -> None:
    check_target({**BASE, "MY_TABLE": {"a": {}}}, ["MY_TABLE"], ignore_tables=True)


@pytest.mark.parametrize(
    ("table", "key", "after"),
    [("LOOPBACK_INTERFACE", "Loopback0", None), ("PFC_WD", "GLOBAL", None), ("PFC_WD", "GLOBAL", {"BIG": "1"})],
)
def test_cannot_be_removed(table: str, key: str, after: Any) -> None:
    target = json.loads(json.dumps(BASE))
    if after is None:
        del target[table][key]
    else:
        target[table][key] = after
    with pytest.raises(RefusedError, match="cannot be removed"):
        sort(BASE, target)


def moves(steps: list[dict[str, Any]]) -> list[Move]:
    return sort(BASE, simulate(BASE, steps))


def short(made: list[Move]) -> list[str]:
    return [
        f"{'-' if move.after is None else '+' if move.before is None else '~'}{move.table}|{move.key}"
        + (f"={move.after['admin_status']}" if move.table == "PORT" and move.after else "")
        for move in made
    ]


@pytest.mark.parametrize("table", [rule.what[0] for rule in rules.NEEDS_PORT_DOWN])
def test_port_goes_down_for_its_qos_rows_and_only_an_up_port(table: str) -> None:
    key = "Ethernet0|3" if table in ("QUEUE", "BUFFER_PG", "BUFFER_QUEUE") else "Ethernet0"
    base = {**BASE, table: {key: {"profile": "a"}, key.replace("t0", "t8"): {"profile": "a"}}}
    target = json.loads(json.dumps(base))
    target[table][key]["profile"] = target[table][key.replace("t0", "t8")]["profile"] = "b"
    assert sorted(short(sort(base, target))) == sorted(
        [f"~{table}|{key.replace('t0', 't8')}", "~PORT|Ethernet0=down", f"~{table}|{key}", "~PORT|Ethernet0=up"]
    )
    order = short(sort(base, target))
    assert order.index("~PORT|Ethernet0=down") < order.index(f"~{table}|{key}") < order.index("~PORT|Ethernet0=up")


def test_create_only_fields_reset_the_session() -> None:
    assert short(moves(patch("replace", "/BGP_NEIGHBOR/10.0.0.1/asn", "2"))) == [
        "-BGP_NEIGHBOR|10.0.0.1",
        "+BGP_NEIGHBOR|10.0.0.1",
    ]
    assert short(moves(patch("replace", "/BGP_NEIGHBOR/10.0.0.1/admin_status", "down"))) == ["~BGP_NEIGHBOR|10.0.0.1"]


def test_moving_an_address_is_two_moves() -> None:
    steps = patch("remove", "/INTERFACE/Ethernet0|10.0.0.0~131") + patch("add", "/INTERFACE/Ethernet0|10.0.0.2~131", {})
    assert short(moves(steps)) == ["-INTERFACE|Ethernet0|10.0.0.0/31", "+INTERFACE|Ethernet0|10.0.0.2/31"]


def test_parents_come_first_and_go_last() -> None:
    steps = patch("add", "/INTERFACE/Ethernet8", {}) + patch("add", "/INTERFACE/Ethernet8|10.0.0.8~131", {})
    assert short(moves(steps)) == ["+INTERFACE|Ethernet8", "+INTERFACE|Ethernet8|10.0.0.8/31"]
    steps = patch("remove", "/INTERFACE/Ethernet0|10.0.0.0~131") + patch("remove", "/INTERFACE/Ethernet0")
    assert short(moves(steps)) == ["-INTERFACE|Ethernet0|10.0.0.0/31", "-INTERFACE|Ethernet0"]


def test_booleans_and_null_become_words() -> None:
    (move,) = moves(patch("add", "/PORT/Ethernet8/description", None))
    assert move.after is not None
    assert move.after["description"] == "None"
    (move,) = moves(patch("add", "/PORT/Ethernet8/description", True))
    assert move.after is not None
    assert move.after["description"] == "True"


def test_moves_print_as_patches() -> None:
    (move,) = moves(patch("replace", "/PORT/Ethernet8/mtu", "9000"))
    assert json.loads(move.as_patch()) == patch("replace", "/PORT/Ethernet8/mtu", "9000")
    (move,) = moves(patch("add", "/INTERFACE/Ethernet0|10.0.0.2~131", {}))
    assert json.loads(move.as_patch())[0]["path"] == "/INTERFACE/Ethernet0|10.0.0.2~131"


def apply(twin: LabTwin, switch: str, steps: list[dict[str, Any]], *options: str) -> subprocess.CompletedProcess[str]:
    return twin.process(switch, "config", "apply-patch", *options, "/dev/stdin", text=json.dumps(steps))


def flaps(twin: LabTwin, switch: str, port: str) -> int:
    return int(twin.row(switch, "APPL_DB", f"PORT_TABLE:{port}")["flap_count"])


@pytest.mark.twin
def test_queue_change_flaps_that_port_and_no_other(twin: LabTwin) -> None:
    """Counted at the far end, from netlink; the session there really goes down."""
    twin.run("p1-l0", "config", "load", "-y", "/dev/stdin", text=json.dumps({"SCHEDULER": BASE["SCHEDULER"]}))
    before = flaps(twin, "s0", "Ethernet0"), flaps(twin, "s0", "Ethernet8"), flaps(twin, "p1-l0", "Ethernet32")
    dropped = twin.sessions("s0")["10.100.0.0"]["connectionsDropped"]
    done = apply(twin, "p1-l0", patch("add", "/QUEUE", {"Ethernet32|3": {"scheduler": "a"}}), "-v")
    assert done.stdout.rstrip().endswith("Patch applied successfully."), done.stderr
    assert "converted into 3 changes" in done.stdout
    wait(twin.converged, 30, "the port to come back")
    after = flaps(twin, "s0", "Ethernet0"), flaps(twin, "s0", "Ethernet8"), flaps(twin, "p1-l0", "Ethernet32")
    assert [new - old for new, old in zip(after, before)] == [2, 0, 2]
    assert twin.sessions("s0")["10.100.0.0"]["connectionsDropped"] == dropped + 1
    assert twin.row("p1-l0", "CONFIG_DB", "QUEUE|Ethernet32|3") == {"scheduler": "a"}
    assert apply(twin, "p1-l0", patch("remove", "/QUEUE")).returncode == 0
    wait(twin.converged, 30, "the port to come back")


@pytest.mark.twin
def test_hitless_change_moves_no_link(twin: LabTwin) -> None:
    before = flaps(twin, "p1-l0", "Ethernet32"), twin.sessions("p1-l0")["10.100.0.1"]["connectionsDropped"]
    assert apply(twin, "p1-l0", patch("add", "/PORT/Ethernet32/description", "x")).returncode == 0
    assert apply(twin, "p1-l0", patch("remove", "/PORT/Ethernet32/description")).returncode == 0
    assert (flaps(twin, "p1-l0", "Ethernet32"), twin.sessions("p1-l0")["10.100.0.1"]["connectionsDropped"]) == before


@pytest.mark.twin
def test_dry_run_changes_nothing_and_still_refuses(twin: LabTwin) -> None:
    done = apply(twin, "p1-l0", patch("replace", "/PORT/Ethernet32/mtu", "9000"), "-d")
    assert (done.returncode, "DRY RUN" in done.stdout) == (0, True)
    assert twin.row("p1-l0", "CONFIG_DB", "PORT|Ethernet32")["mtu"] == "9100"
    refused = apply(twin, "p1-l0", patch("add", "/MY_TABLE", {"a": {}}), "-d")
    assert refused.returncode == 2
    assert "Failed to apply patch due to: " in refused.stderr


@pytest.mark.twin
def test_refused_patch_leaves_no_trace(twin: LabTwin) -> None:
    before = twin.run("p1-l0", "sonic-cfggen", "-d", "--print-data")
    steps = patch("replace", "/PORT/Ethernet32/mtu", "9000") + patch("add", "/QUEUE", {})
    done = apply(twin, "p1-l0", steps)
    assert (done.returncode, "empty tables" in done.stderr) == (2, True)
    assert twin.run("p1-l0", "sonic-cfggen", "-d", "--print-data") == before
    assert apply(twin, "p1-l0", patch("remove", "/PORT/Ethernet99")).returncode == 2
    assert twin.process("p1-l0", "config", "apply-patch", "/dev/stdin", text="not JSON").returncode == 2


@pytest.mark.twin
def test_nothing_is_saved_unless_asked(twin: LabTwin) -> None:
    assert apply(twin, "p1-l2", patch("replace", "/PORT/Ethernet32/mtu", "9000")).returncode == 0
    assert json.loads(twin.run("p1-l2", "cat", "/etc/sonic/config_db.json"))["PORT"]["Ethernet32"]["mtu"] == "9100"
    assert apply(twin, "p1-l2", patch("replace", "/PORT/Ethernet32/mtu", "9100")).returncode == 0


@pytest.mark.twin
def test_checkpoint_and_rollback(twin: LabTwin) -> None:
    assert "created successfully" in twin.run("p1-l0", "config", "checkpoint", "before")
    try:
        assert apply(twin, "p1-l0", patch("replace", "/PORT/Ethernet32/mtu", "9000")).returncode == 0
        assert "Config rolled back successfully." in twin.run("p1-l0", "config", "rollback", "before")
        assert twin.row("p1-l0", "CONFIG_DB", "PORT|Ethernet32")["mtu"] == "9100"
        assert json.loads(twin.run("p1-l0", "config", "list-checkpoints")) == ["before"]
        missing = twin.process("p1-l0", "config", "rollback", "never")
        assert (missing.returncode, "does not exist" in missing.stderr) == (2, True)
    finally:
        twin.run("p1-l0", "config", "delete-checkpoint", "before")


@pytest.mark.twin
def test_no_lock_and_no_way_back_when_two_write(twin: LabTwin) -> None:
    """Two runs interleave: the first finds at its end that something is not as it wanted, and leaves it so."""
    twin.run("p1-l2", "config", "load", "-y", "/dev/stdin", text=json.dumps({"SCHEDULER": BASE["SCHEDULER"]}))
    first = json.dumps(patch("add", "/QUEUE", {"Ethernet32|3": {"scheduler": "a"}, "Ethernet40|3": {"scheduler": "a"}}))
    second = json.dumps(patch("replace", "/PORT/Ethernet0/mtu", "8000"))
    one, two = (f"echo '{steps}' | config apply-patch /dev/stdin" for steps in (first, second))
    script = f"{one} & sleep 1; {two}; wait $!"
    done = twin.process("p1-l2", "sh", "-c", script)
    assert done.returncode == 2
    assert "still some parts not updated" in done.stderr
    assert twin.row("p1-l2", "CONFIG_DB", "PORT|Ethernet0")["mtu"] == "8000"
    assert twin.row("p1-l2", "CONFIG_DB", "QUEUE|Ethernet40|3") == {"scheduler": "a"}, "and nothing was rolled back"
    twin.run("p1-l2", "config", "reload", "-y", "-f")
    wait(twin.converged, 60, "the switch to come back")


@pytest.mark.twin
def test_replace_deletes_what_the_file_lacks(twin: LabTwin) -> None:
    running = json.loads(twin.run("p1-l2", "sonic-cfggen", "-d", "--print-data"))
    twin.run("p1-l2", "config", "load", "-y", "/dev/stdin", text='{"NTP_SERVER": {"192.0.2.9": {}}}')
    done = twin.process("p1-l2", "config", "replace", "/dev/stdin", text=json.dumps(running))
    assert "Config replaced successfully." in done.stdout, done.stderr
    assert twin.row("p1-l2", "CONFIG_DB", "NTP_SERVER|192.0.2.9") == {}


@pytest.mark.twin
def test_wanted_and_released(twin: LabTwin) -> None:
    """The release the validators go by is the one the switch says it runs."""
    release = twin.run("p1-l0", "sed", "-n", "s/^release: '\\(.*\\)'/\\1/p", "/etc/sonic/sonic_version.yml").strip()
    assert release == twin.plan.release
    assert twin.run("p1-l0", "show", "version").lstrip().startswith("SONiC Software Version")
