"""Templates and policy files: strict, linted, overlaid file by file; mistakes are messages with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import jinja2.meta
import pytest

from fabric.data import locate
from fabric.errors import InputError
from fabric.render import render_hosts, render_switch
from fabric.render.policy import Templates, environment
from fabric.values.plan import RoutingPlan
from tests.render.plans import plan

OURS = locate("templates")
TEXTS = sorted(str(file.relative_to(OURS)) for file in OURS.rglob("*.j2"))
POLICIES = sorted(str(file.relative_to(OURS)) for file in OURS.rglob("*.yaml"))


def overlay(folder: Path, **files: str) -> Path:
    """An overlay folder; `a__b_yaml` becomes a/b.yaml."""
    for name, text in files.items():
        file = folder / re.sub(r"_(yaml|j2)$", r".\1", name.replace("__", "/")).replace("_conf.j2", ".conf.j2")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def test_every_text_template_is_known_here() -> None:
    assert {"frr/frr.conf.j2", "readme.j2", "host/netplan.yaml.j2", "host/nccl.conf.j2"} <= set(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_text_templates_compile_and_forgive_nothing(name: str) -> None:
    """Strict undefined; no `default()` that hides a missing value; no trailing blanks in what is written."""
    made = environment((OURS,))
    assert made.undefined is jinja2.StrictUndefined
    source = (OURS / name).read_text()
    made.get_template(name)
    assert not re.search(r"\|\s*(default|d)\b|is (not )?defined|ignore missing", source)
    assert all(line == line.rstrip() for line in source.splitlines())
    assert source.endswith("\n")


@pytest.mark.parametrize("name", TEXTS)
def test_an_unknown_name_is_an_error(name: str) -> None:
    names = jinja2.meta.find_undeclared_variables(environment((OURS,)).parse((OURS / name).read_text()))
    if not names:
        assert name == "host/lldpd.conf.j2"
        return
    with pytest.raises(InputError, match="is undefined"):
        Templates().text(name)


@pytest.mark.parametrize("name", POLICIES)
def test_policy_files_hold_text_and_whole_numbers_only(name: str) -> None:
    Templates()
    assert not re.search(r":\s*(on|off|yes|no|null|~|true|false)\s*(#|$)", (OURS / name).read_text(), re.M)


def test_nothing_rendered_says_none() -> None:
    of = plan(routing=RoutingPlan(ipv6=True))
    texts = [render_switch(of, name).frr or "" for name in of.switches]
    texts += [text for host in of.hosts for text in render_hosts(of, host).files.values()]
    assert not any(word in text for text in texts for word in ("None", "null", "undefined", "{{", "{%", "[]\n#"))


def test_overlay_replaces_one_file(tmp_path: Path) -> None:
    folder = overlay(
        tmp_path,
        config_db__hash_yaml="default: {ecmp_hash: [SRC_IP, DST_IP]}\nroles: {spine: {ecmp_hash: [IN_PORT, SRC_IP]}}\n",
    )
    leaf, spine = (render_switch(plan(), name, folder) for name in ("p1-l0", "s0"))
    assert leaf.tables["SWITCH_HASH"] == {"GLOBAL": {"ecmp_hash": ["SRC_IP", "DST_IP"]}}
    assert spine.tables["SWITCH_HASH"] == {"GLOBAL": {"ecmp_hash": ["IN_PORT", "SRC_IP"]}}
    ours = render_switch(plan(), "p1-l0")
    assert leaf.frr == ours.frr
    assert {table for table in ours.tables if ours.tables[table] != leaf.tables[table]} == {"SWITCH_HASH"}


def test_empty_description_leaves_the_port_name_to_lldp(tmp_path: Path) -> None:
    folder = overlay(tmp_path, config_db__ports_yaml='description: ""\nfields: {}\n')
    assert "description" not in render_switch(plan(), "p1-l0", folder).tables["PORT"]["Ethernet0"]


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("config_db__ports_yaml", "description: x\nfields: {a: off}\n", r"fields.a: must be str or int, is False"),
        ("config_db__ports_yaml", "description: x\n", r"ports.yaml: fields: missing"),
        ("config_db__ports_yaml", "description: x\nfields: {}\nother: 1\n", r"other: unknown key; known here: desc"),
        ("config_db__ports_yaml", "description: [\n", r"ports.yaml:2: .*; mend the YAML"),
        ("config_db__ports_yaml", "- a\n", r"ports.yaml: must be a mapping"),
        ("config_db__qos_yaml", "map: null\n", r"qos.yaml: map: must be str, is None"),
        ("config_db__hash_yaml", "default: {ecmp_hash: [1]}\nroles: {}\n", r"ecmp_hash: must hold text only"),
        ("config_db__device_yaml", "metadata: {a: 1.5}\n", r"device.yaml: metadata.a: must be str or int, is 1.5"),
        ("frr__frr_conf_j2", "hostname {{ nobody }}\n", r"frr.conf.j2:1: 'nobody' is undefined"),
        ("frr__frr_conf_j2", "line\n{% if %}\n", r"frr.conf.j2:2: .*; mend the template"),
    ],
)  # fmt: skip
def test_mistakes_name_file_and_place(file: str, text: str, why: str, tmp_path: Path) -> None:
    folder = overlay(tmp_path, **{file: text})
    with pytest.raises(InputError, match=why):
        render_switch(plan(), "p1-l0", folder)


def test_no_folder_is_a_message(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder of templates"):
        render_switch(plan(), "p1-l0", tmp_path / "nope")


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("qos", ("dscp: {}", "dscp: {46: 3}"), "class 3 is for RoCE data alone"),
        ("qos", ("dscp: {}", "dscp: {64: 1}"), "a DSCP is 0 to 63"),
        (
            "qos",
            ("other: scheduler.other", "other: scheduler.none"),
            "queues.other: no scheduler called scheduler.none",
        ),
        ("qos", ("ecn: ecn_all", "ecn: ecn_none"), "ecn_none drops RoCE data"),
        (
            "buffers",
            ("group_lossy: [ingress_lossy_profile]", "group_lossy: [x]"),
            "none of the profiles x; it has egress",
        ),
        ("buffers", ("lossless_pool: ingress_lossless_pool", "lossless_pool: x"), "have no pool x"),
        ("hash", ("[SRC_IP, DST_IP, IP_PROTOCOL", "[IPV6_FLOW_LABEL, IP_PROTOCOL"), ""),
    ],
)
def test_policy_that_contradicts_itself(name: str, change: tuple[str, str], why: str, tmp_path: Path) -> None:
    from fabric.errors import RenderError

    source = (OURS / f"config_db/{name}.yaml").read_text()
    assert change[0] in source
    folder = overlay(tmp_path, **{f"config_db__{name}_yaml": source.replace(*change)})
    if why:
        with pytest.raises(RenderError, match=why):
            render_switch(plan(), "p1-l0", folder)
        return
    assert render_switch(plan(release="202505"), "p1-l0", folder)
    with pytest.raises(RenderError, match="IPV6_FLOW_LABEL exists from 202505 on"):
        render_switch(plan(release="202405"), "p1-l0", folder)
