"""What an operator, a killed run or a stranger's file can do wrong: a message with the place, never a wrong file."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.allocate import load_plan
from fabric.data import locate
from fabric.errors import InputError, RailfabError, RenderError
from fabric.render import render_switch, write
from fabric.render.policy import Templates
from fabric.values.ownership import merged
from tests.render.plans import plan, qos

OURS = locate("templates")


def put(folder: Path, name: str, text: str | bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


# --- text templates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\n{{ 1 // 0 }}\n", r"frr.conf.j2:2: ZeroDivisionError"),
        ("{{ hostname + 1 }}", r"frr.conf.j2:1: TypeError"),
        ("\n\n{{ hostname.nope }}", r"frr.conf.j2:3: 'str object' has no attribute 'nope'"),
        ('{% include "frr/frr.conf.j2" %}', r"frr.conf.j2:1: includes itself"),
        ('{% include "../../secret" %}', "no such template"),
        (b"\xff\xfe", r"frr.conf.j2: UnicodeDecodeError"),
        ("router bgp {{ asn }}\nhostname \x00\n", r"control character .* into line 2"),
        ("router bgp {{ asn }}\n\x1b[2J", "control character"),
        ("", r"wrote no `router bgp 4200000110`"),
        ("router bgp {{ asn }}1\n", "wrote no"),
    ],
)
def test_a_template_may_raise_anything(text: str | bytes, why: str, tmp_path: Path) -> None:
    folder = put(tmp_path, "frr/frr.conf.j2", text)
    with pytest.raises(RailfabError, match=why):
        render_switch(plan(), "p1-l0", folder)


@pytest.mark.parametrize("name", ["config_db/hashes.yaml", "frr.conf.j2", "site.yml", "host/netplan.j2", "host/x.yml"])
def test_a_file_over_nothing_is_named(name: str, tmp_path: Path) -> None:
    """A name mistyped would be a change that never happens, and nobody told."""
    put(tmp_path, name, "x")
    with pytest.raises(InputError, match="lies over no file of railfab's templates"):
        Templates(tmp_path)


def test_notes_and_included_files_may_lie_there(tmp_path: Path) -> None:
    put(tmp_path, "README.md", "ours")
    put(tmp_path, "config_db/hash.yaml.bak", "old")
    put(tmp_path, "include/ours.j2", "! by us\n")
    put(tmp_path, "frr/frr.conf.j2", (OURS / "frr/frr.conf.j2").read_text() + '{% include "include/ours.j2" %}')
    assert (render_switch(plan(), "p1-l0", tmp_path).frr or "").endswith("! by us\n")


def test_a_link_to_nowhere_is_no_missing_file(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="is no file, or leads to none"):
        render_switch(plan(), "p1-l0", tmp_path)
    (tmp_path / "site.yaml").unlink()
    (tmp_path / "site.yaml").mkdir()
    with pytest.raises(InputError, match="is no file, or leads to none"):
        render_switch(plan(), "p1-l0", tmp_path)


# --- policy files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("ports", 'pfc_asym: "off"', 'lanes: "1"', "fields.lanes: railfab sets this itself"),
        ("ports", 'pfc_asym: "off"', "mtu: 1500", "fields.mtu: railfab sets this itself"),
        ("ports", "{port}|to", "{port.__class__}|to", "description: cannot be"),
        ("ports", "{port}|to", "{nosuch}|to", "description: cannot be"),
        ("ports", "{port}|to", "{port|to", "description: cannot be"),
        ("ports", "{port}|to", "{port:>300}|to", "description: cannot be"),
        ("ports", '"{port}|to', '"\\n{port}|to', "description: .* has control characters"),
        ("ports", "|to:", "|" + "x" * 250, "a description of 2.. characters; SONiC takes 255"),
        ("device", "synchronous_mode: enable", "bgp_asn: 1", "metadata.bgp_asn: railfab sets this itself"),
        ("device", "synchronous_mode: enable", "asic_name: asic0", "metadata.asic_name: railfab sets this itself"),
        ("services", "syslog_server: {}", "syslog_server: {vrf: mgmt}", "syslog_server.vrf: railfab sets this itself"),
        ("services", "admin_state: enabled", "admin_state: 010", "010 is another number to YAML than it looks"),
        ("services", "admin_state: enabled", "admin_state: 12:30", "12:30 is another number to YAML than it looks"),
        ("services", "admin_state: enabled", "src_intf: eth1", "src_intf is set twice"),
        ("qos", "default_class: 0", "default_class: 3", "default_class: 3: must be 0 to 7, not 3"),
        ("qos", "default_class: 0", "default_class: 8", "must be a whole number from 0 to 7, is 8"),
        ("qos", "traffic_classes: 8", "traffic_classes: 4", "class 6 for congestion notifications is not one of the 4"),
        ("qos", "count: 7", "count: 0", "must be a whole number from 1 to 16, is 0"),
        ("qos", "ecn: ecn_all", "ecn: ecn_green", "each of green, yellow, red that has thresholds must be marked"),
        ("qos", "[green, yellow, red]", "[yellow]", "traffic is green"),
        ("qos", "[green, yellow, red]", "[green, blue]", "colours blue, green"),
        ("qos", "weight: 60", "weight: 0", "must be a whole number from 1 to 100, is 0"),
        ("qos", "type: STRICT", "type: strict", "must be one of DWRR, WRR, STRICT"),
        ("counters", "since: 202505", "since: never", "since: cannot be 'never'"),
        ("counters", "interval: 60000", "interval: 1", "must be a whole number from 100"),
        ("buffers", "lossless_mtu: 1024", "lossless_mtu: 0", "must be a whole number from 64"),
        ("watchdog", "pfc_stat_history", "action", "port.action: railfab sets this itself"),
    ],
)  # fmt: skip
def test_policy_cannot_say_what_makes_no_sense(name: str, old: str, new: str, why: str, tmp_path: Path) -> None:
    source = (OURS / f"config_db/{name}.yaml").read_text()
    assert old in source
    put(tmp_path, f"config_db/{name}.yaml", source.replace(old, new))
    with pytest.raises(RailfabError, match=why) as caught:
        render_switch(plan(), "p1-l0", tmp_path)
    assert f"{name}.yaml" in str(caught.value)


def _leaves(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(content, dict):
        return [leaf for key, value in content.items() for leaf in _leaves(value, (*path, key))]
    return [path]


def fit(text: Any) -> bool:
    return isinstance(text, str) and text.isprintable() and text not in ("", "None") and text[0] != "["


_BAD: tuple[Any, ...] = (
    None,
    True,
    1.5,
    -1,
    0,
    10**12,
    "",
    "None",
    "[A|b]",
    "a\nb",
    [],
    [[]],
    [1],
    {},
    {"a": {}},
    "x" * 5000,
)


@pytest.mark.parametrize("name", sorted(file.stem for file in (OURS / "config_db").glob("*.yaml")))
def test_no_value_in_a_policy_file_is_an_error_of_ours(name: str, tmp_path: Path) -> None:
    """Each value replaced by each bad one: a message, or a file that holds texts only."""
    source = yaml.safe_load((OURS / f"config_db/{name}.yaml").read_text())
    for number, (path, bad) in enumerate((path, bad) for path in _leaves(source) for bad in _BAD):
        content = copy.deepcopy(source)
        at = content
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = bad
        folder = put(tmp_path / str(number), f"config_db/{name}.yaml", yaml.safe_dump(content))
        try:
            tables = render_switch(plan(), "p1-l0", folder).tables
        except RailfabError:
            continue
        for table, rows in tables.items():
            for key, row in rows.items():
                for field, value in row.items():
                    for text in value if isinstance(value, list) else [value]:
                        assert fit(text), (table, key, field, value)


# --- a site's own rows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("switches: {nosuch: {SNMP: {LOCATION: {Location: x}}}}", "no such switch in plan .*: nosuch"),
        ("rows: {SNMP: {LOCATION: {Location: a}}}\nrows: {X: {a: {b: c}}}", "site.yaml:2: rows is set twice"),
        ("rows: {SNMP: {LOCATION: {Location: 010}}}", "010 is another number"),
        ("rows: {SNMP: {LOCATION: {Location: 10:20:30}}}", "10:20:30 is another number"),
        ("rows: {SNMP: {LOCATION: {Location: 1_000}}}", "1_000 is another number"),
        ("rows: {SNMP: {LOCATION: {Location: 2026-01-01}}}", "neither text nor a whole number"),
        ('rows: {SNMP: {LOCATION: {Location: "a\\0b"}}}', "has control characters"),
        ('rows: {SNMP: {LOCATION: {Location: ["a\\nb"]}}}', "has control characters"),
        ("rows: {A: {b: {c: &x [*x]}}}", "neither text nor a whole number"),
        ('rows: {"": {a: {b: c}}}', "'' is no name"),
        ('rows: {X: {"": {b: c}}}', "'' is no name"),
        ("rows: {X: {a: {~: c}}}", "None is no name"),
        ("rows: {X: {on: {a: c}}}", "True is no name"),
        ("switches: {1: {}}", "a name here is no text"),
        ("rows: {DEVICE_METADATA: {localhost: {asic_name: asic0}}}", "asic_name is for a switch of several ASICs"),
        ("rows: {DEVICE_METADATA: {localhost: {sub_role: BackEnd}}}", "sub_role is for a switch of several ASICs"),
        ("rows: " + "[" * 5000, "mend the YAML"),
        ("!!python/object/apply:os.system [id]", "mend the YAML"),
        (b"\xff\xfe\x00", "mend the YAML"),
    ],
)
def test_site_rows_are_taken_at_their_word(text: str | bytes, why: str, tmp_path: Path) -> None:
    put(tmp_path, "site.yaml", text)
    with pytest.raises(InputError, match=why):
        render_switch(plan(), "p1-l0", tmp_path)


# --- the running configuration that ours is merged into -----------------------------------------------------------


def based(tmp_path: Path, base: Any) -> dict[str, Any]:
    file = tmp_path / "running.json"
    file.write_bytes(base if isinstance(base, bytes) else json.dumps(base).encode())
    write(plan(), tmp_path / "out", base=file)
    result: dict[str, Any] = json.loads((tmp_path / "out/p1-l0/config_db.json").read_bytes())
    return result


def running(**tables: Any) -> dict[str, Any]:
    return {"DEVICE_METADATA": {"localhost": {"hostname": "p1-l0", "mac": "02:00:5e:00:00:01"}}, **tables}


@pytest.mark.parametrize(
    ("base", "why"),
    [
        ([], "not a config_db.json"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        ({"DEVICE_METADATA": {"localhost": {"hostname": ["p1-l0"]}}}, "belongs to"),
        ({"DEVICE_METADATA": {"localhost": {"hostname": {"a": "b"}}}}, "belongs to"),
        (running(CRM={"Config": {"polling_interval": None}}), r"CRM\|Config: polling_interval is None"),
        (running(CRM={"Config": {"polling_interval": 1.5}}), r"CRM\|Config: polling_interval is 1.5"),
        (running(CRM={"Config": {"polling_interval": {"a": "b"}}}), "CONFIG_DB holds texts"),
        (running(CRM={"Config": {"polling_interval": []}}), "CONFIG_DB holds texts"),
        (running(CRM={"Config": {"polling_interval": "None"}}), "a value that was missing"),
        (running(ACL_RULE={"A|R": {"X": "[ACL_TABLE|A]"}}), "as releases before 202111 wrote it"),
    ],
)
def test_base_that_would_spoil_the_merged_file(base: Any, why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=why):
        based(tmp_path, base)
    assert not list(tmp_path.glob("out/*/config_db.json")), "nothing is written when the base cannot be merged"


def test_what_ours_replaces_may_have_been_bad(tmp_path: Path) -> None:
    """Old references and missing values in rows of ours go with the merge; an empty table of the box is not copied."""
    got = based(
        tmp_path,
        running(
            PORT_QOS_MAP={"Ethernet0": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]"}},
            DEVICE_NEIGHBOR_METADATA={"old": {"lo_addr": "None"}},
            ACL_TABLE={},
        ),
    )
    assert got["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"] == "AZURE"
    assert "old" not in got["DEVICE_NEIGHBOR_METADATA"]
    assert "ACL_TABLE" not in got
    assert got["DEVICE_METADATA"]["localhost"]["mac"] == "02:00:5e:00:00:01"


def test_the_watchdog_goes_with_the_lossless_class() -> None:
    """The table is not rendered then at all, yet its rows are ours; GLOBAL stays, SONiC's updater cannot remove it."""
    lossless = render_switch(plan(), "p1-l0").tables
    lossy = render_switch(plan(qos_plan=qos(lossless=False)), "p1-l0").tables
    got = merged(lossy, lossless)
    assert set(got["PFC_WD"]) == {"GLOBAL"}
    assert not any("pfc_enable" in row for row in got["PORT_QOS_MAP"].values())


@pytest.mark.parametrize(
    "base",
    [
        {"localhost": running(), "asic0": running()},
        {"asic0": running()},
        {"DEVICE_METADATA": {"localhost": {"hostname": "p1-l0", "asic_name": "asic0", "sub_role": "FrontEnd"}}},
        running(PORT={"Ethernet-BP0": {"role": "Int", "lanes": "1"}}),
    ],
    ids=["F141-all-in-one", "F141-one-asic", "F141-metadata", "F141-backplane-port"],
)
def test_f141_a_box_of_several_asics_is_refused(base: Any, tmp_path: Path) -> None:
    """SONiC wants a file for each ASIC there; one merged file would be wrong for all of them."""
    with pytest.raises(InputError, match="several ASICs"):
        based(tmp_path, base)
    assert not list(tmp_path.glob("out/*/config_db.json"))


# --- the folder -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["README", "class-hgx-h100"])
def test_a_host_called_like_a_file_of_ours(name: str, tmp_path: Path) -> None:
    of = plan()
    of = replace(of, hosts={**of.hosts, name: replace(of.hosts["gpu001"], name=name)})
    with pytest.raises(InputError, match=f"{name}: a device of this name would lie where"):
        write(of, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_pfc_on_hosts_and_not_on_switches_is_refused(tmp_path: Path) -> None:
    """A platform without figures and nobody's borrowed: hosts would pause switches that drop."""
    intent = tmp_path / "lab.yaml"
    text = (Path(__file__).parents[2] / "topology/lab.yaml").read_text()
    intent.write_text(text.replace("buffers_from: dell-z9864f\n", ""))
    with pytest.raises(RenderError, match="no buffer figures are published for accton-as9817-64o"):
        write(load_plan(intent), tmp_path / "out")
    lossy = load_plan(intent, lossy=True)
    write(lossy, tmp_path / "out")
    assert "--pfc 0,0,0,0,0,0,0,0" in (tmp_path / "out/class-h100/etc/systemd/system/railfab-roce.service").read_text()
    assert not any("PFC_WD" in render_switch(lossy, name).tables for name in lossy.switches)


@pytest.mark.parametrize("release", ["202311", "202405", "202411", "202505", "202511", "202605", "master"])
def test_every_release_can_be_asked_for(release: str, tmp_path: Path) -> None:
    intent = tmp_path / "lab.yaml"
    text = (Path(__file__).parents[2] / "topology/lab.yaml").read_text()
    intent.write_text(text.replace('release: "202505"', f'release: "{release}"'))
    assert render_switch(load_plan(intent), "p1-l0").frr


def test_never_through_a_link_that_lies_in_wait(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    switch = tmp_path / "out/p1-l0"
    switch.mkdir(parents=True)
    (switch / ".config_db.json.new").symlink_to(precious)
    (switch / "frr.conf").symlink_to(precious)
    write(plan(), tmp_path / "out")
    assert precious.read_text() == "mine"
    assert not (switch / "config_db.json").is_symlink()
    assert not (switch / "frr.conf").is_symlink()


def test_what_a_killed_run_left_is_taken_over(tmp_path: Path) -> None:
    """Half a file beside the real one, and files that no list names because the run never came to its end."""
    switch = tmp_path / "p1-l0"
    switch.mkdir()
    (switch / ".config_db.json.new").write_text('{"PORT": {"Ether')
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/config_db.json").write_text("{}")
    (tmp_path / ".railfab-files.new").write_text("gone/config_db.json\ngone/frr.c")
    write(plan(), tmp_path)
    assert json.loads((switch / "config_db.json").read_bytes())
    assert not (tmp_path / "gone").exists()
    assert not list(tmp_path.rglob("*.new"))


def test_a_listed_path_that_became_a_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / ".railfab-files").write_text("mine\n")
    write(plan(), tmp_path)
    assert (tmp_path / "mine").is_dir()


_RUN = "import sys; from fabric.cli.entry import main; main(['render', *sys.argv[1:]])"


def test_killed_at_any_moment_no_file_is_half(tmp_path: Path) -> None:
    intent = tmp_path / "lab.yaml"
    intent.write_text((Path(__file__).parents[2] / "topology/lab.yaml").read_text())
    out = tmp_path / "out"
    command = [sys.executable, "-c", _RUN, str(intent), "-o", str(out)]
    cut = 0
    for _ in range(6):
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        began = time.monotonic()
        while not list(out.glob("*/config_db.json")) and run.poll() is None and time.monotonic() - began < 30:
            time.sleep(0.001)
        run.kill()
        cut += run.wait() != 0
        for file in out.glob("*/config_db.json"):
            assert json.loads(file.read_bytes())["DEVICE_METADATA"]["localhost"]["hostname"] == file.parent.name
        for file in out.glob("*/frr.conf"):
            assert file.read_text().endswith("end\n")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert cut, "a run was cut at least once"
    assert not list(out.rglob("*.new"))
    listed = set((out / ".railfab-files").read_text().split())
    found = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}
    assert found == listed | {".railfab-files"}


def test_two_renders_into_one_folder_take_turns(tmp_path: Path) -> None:
    intent = tmp_path / "lab.yaml"
    intent.write_text((Path(__file__).parents[2] / "topology/lab.yaml").read_text())
    command = [sys.executable, "-c", _RUN, str(intent), "-o", str(tmp_path / "out")]
    runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(3)]
    assert [(run.communicate()[1], run.returncode) for run in runs] == [(b"", 0)] * 3
    assert not list((tmp_path / "out").rglob("*.new"))


def test_a_folder_that_cannot_be_written_is_a_message() -> None:
    with pytest.raises(RenderError, match="cannot be written"):
        write(plan(), Path("/proc/self/out"))
