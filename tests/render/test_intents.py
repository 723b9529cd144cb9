"""The intents that ship: every file judged by SONiC's models and our own rules; mixed NIC generations."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.lint import lint_tables
from fabric.lint.yang import YangModels
from fabric.render import render_hosts, render_switch
from fabric.values.plan import LifeState, Plan, PortUse, Role
from tests.render.frr_room import check_syntax

INTENTS = ("lab", "sakuraone")


@pytest.fixture(scope="module", params=INTENTS)
def shipped(request: pytest.FixtureRequest, tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return load_plan(tree / "topology" / f"{request.param}.yaml", state=tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def models(yang_folder: Path) -> YangModels:
    return YangModels(yang_folder)


def test_models_take_every_file(shipped: Plan, models: YangModels) -> None:
    for name in shipped.switches:
        tables = render_switch(shipped, name).tables
        assert not models.unknown_tables(tables)
        assert not models.judge(tables), name


def test_our_own_rules_find_nothing(shipped: Plan) -> None:
    """But that SAKURA's headroom demand is more than the pool: borrowed figures, known and said (QOS-06)."""
    for name, switch in shipped.switches.items():
        config = render_switch(shipped, name)
        rows = shipped.buffers[switch.platform].rows
        findings = lint_tables(config.tables, platform_rows=rows, expected=config, device=name)
        assert {(finding.code, finding.status.value) for finding in findings} <= {("CFG-77", "warn")}


def test_row_counts_follow_from_the_plan(shipped: Plan) -> None:
    for name, switch in shipped.switches.items():
        tables = render_switch(shipped, name).tables
        cabled = [port for port in switch.ports.values() if port.use in (PortUse.HOST, PortUse.FABRIC)]
        alive = [port for port in cabled if port.state is not LifeState.PLANNED]
        lossless = [port for port in alive if port.lossless]
        count = {table: len(rows) for table, rows in tables.items()}
        assert count["PORT"] == len(switch.ports)
        assert count["INTERFACE"] == sum(1 + len(port.addresses) for port in cabled if port.addresses)
        assert count["PORT_QOS_MAP"] == len(cabled) + 1
        assert count["QUEUE"] == 7 * len(cabled)
        assert count["BUFFER_PG"] == len(cabled) + len(lossless)
        assert count["DEVICE_NEIGHBOR"] == len(alive)
        assert len(tables["CABLE_LENGTH"]["AZURE"]) == len(cabled)
        assert count.get("PFC_WD", 0) == (len(lossless) + 1 if lossless else 0)
        assert bool(lossless) is (switch.role is not Role.STORAGE)


def test_vtysh_takes_one_text_of_each_role(shipped: Plan, tmp_path: Path) -> None:
    if shutil.which("vtysh") is None:
        pytest.skip("vtysh is not installed (Debian package frr)")
    for switch in {switch.role: switch for switch in shipped.switches.values()}.values():
        assert check_syntax(render_switch(shipped, switch.name).frr or "", tmp_path) == ""


def test_sessions_and_neighbours_are_the_plans(shipped: Plan) -> None:
    for name, switch in shipped.switches.items():
        text = render_switch(shipped, name).frr or ""
        got = Counter(tuple(line.split()[1:4:2]) for line in text.splitlines() if " remote-as " in line)
        wanted = Counter((port.peer_addresses[0].partition("/")[0], str(port.peer_asn)) for port in switch.sessions())
        assert got == wanted


def test_sakuraone_by_its_published_shape(tree: Path, tmp_path: Path) -> None:
    of = load_plan(tree / "topology/sakuraone.yaml", state=tmp_path)
    leaf, spine = render_switch(of, "p1-l0").tables, render_switch(of, "s0").tables
    up = [row for row in leaf["PORT"].values() if row["admin_status"] == "up"]
    assert Counter(row["speed"] for row in up) == {"400000": 50, "800000": 32}
    assert Counter(row["speed"] for row in spine["PORT"].values() if row["admin_status"] == "up") == {"800000": 64}
    assert leaf["BREAKOUT_CFG"]["Ethernet0"] == {"brkout_mode": "2x400G[200G]"}
    assert leaf["DEVICE_METADATA"]["localhost"]["bgp_asn"] == "4200000110"
    assert leaf["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_drop_probability"] == "1"
    hosts = render_hosts(of, "gpu001").files
    assert "NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_11\n" in hosts["etc/nccl.conf"]
    assert render_hosts(of, "gpu101").files == {}


MIXED = """
name: mixed
release: "202505"
buffers_from: dell-z9864f
classes:
  fast: {nics: 4, speed: 400G}
  slow: {nics: 4, speed: 200G}
compute:
  rails: 4
  places: 64
  leaf: {platform: accton-as9817-64o}
  spine: {platform: accton-as9817-64o, count: 4, links: 4, speed: 800G}
  pods:
    - hosts:
        - {nodes: "gpu[01-32]", class: fast}
        - {nodes: "gpu[33-64]", class: slow}
"""


def test_f143_two_nic_generations_on_one_leaf(tmp_path: Path, models: YangModels) -> None:
    """16 cages 2x400G, 8 cages 4x200G, two headroom profiles for hosts, one for uplinks."""
    file = tmp_path / "mixed.yaml"
    file.write_text(MIXED)
    of = load_plan(file)
    tables = render_switch(of, "p1-l0").tables
    hosts = {port.name for port in of.switches["p1-l0"].ports.values() if port.use is PortUse.HOST}
    assert Counter(tables["PORT"][name]["speed"] for name in hosts) == {"400000": 32, "200000": 32}
    parents = {port.parent for port in of.switches["p1-l0"].ports.values() if port.use is PortUse.HOST}
    assert Counter(tables["BREAKOUT_CFG"][parent]["brkout_mode"] for parent in parents) == {
        "2x400G[200G]": 16,
        "4x200G[100G]": 8,
    }
    made = {key for key in tables["BUFFER_PROFILE"] if key.startswith("ingress_lossless_")}
    assert {key.split("_")[2] for key in made} == {"200000", "400000", "800000"}
    assert not models.judge(tables)


_OPTIONS = """name: options
release: "202511"
buffers_from: dell-z9864f
classes: {{h: {{nics: 4, speed: 400G}}}}
compute:
  attachment: {attachment}
  rails: 4
  planes: {planes}
  places: 8
  leaf: {{platform: accton-as9817-64o}}
  spine: {{platform: accton-as9817-64o, count: 2, links: 1, speed: 800G}}
  {superspine}
  pods:
    - {{count: 2, nodes: 3, reserve: 1}}
addressing: {{family: {family}, host_links: {host_links}, fabric_links: {fabric_links}}}
management: {{network: 172.31.0.0/16, gateway: 172.31.255.254}}
services: {{ntp: [192.0.2.1], syslog: [192.0.2.2], dns: [192.0.2.3]}}
routing: {{mode: {mode}}}
"""
_PLAIN = {
    "attachment": "rail-optimized",
    "planes": "1",
    "superspine": "",
    "family": "ipv4",
    "host_links": "routed",
    "fabric_links": "numbered",
    "mode": "frr",
}
_SUPERSPINE = "superspine: {platform: accton-as9817-64o, count: 2, groups: 2, links: 2, speed: 800G}"


@pytest.mark.parametrize(
    "options",
    [
        {"attachment": "tor"},
        {"attachment": "rail-only"},
        {"planes": "2"},
        {"superspine": _SUPERSPINE},
        {"superspine": _SUPERSPINE, "mode": "frr-mgmt", "family": "dual"},
        {"host_links": "vlan"},
        {"host_links": "vlan", "mode": "bgpcfgd"},
        {"family": "dual", "fabric_links": "unnumbered"},
        {"family": "ipv6"},
    ],
    ids=lambda options: "-".join(key if key == "superspine" else value for key, value in options.items()),
)
def test_options_of_intents(options: dict[str, str], tmp_path: Path, models: YangModels) -> None:
    """Every shape of fabric and address renders to files that SONiC's models, vtysh and our own rules take."""
    file = tmp_path / "options.yaml"
    file.write_text(_OPTIONS.format(**_PLAIN | options))
    of = load_plan(file)
    for name in {(switch.role, switch.plane): name for name, switch in of.switches.items()}.values():
        config = render_switch(of, name)
        assert not models.judge(config.tables)
        assert not models.unknown_tables(config.tables)
        findings = {finding.code for finding in lint_tables(config.tables, expected=config, device=name)}
        # Spines and super-spines are both SpineRouter by default, so they hash with one seed; lint says so.
        assert findings <= ({"CFG-45"} if options.get("superspine") else set())
        if config.frr is not None and shutil.which("vtysh"):
            assert check_syntax(config.frr, tmp_path) == ""
    assert "etc/netplan/60-railfab.yaml" in render_hosts(of, "gpu001").files


def test_super_spines_are_a_tier_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "options.yaml"
    file.write_text(_OPTIONS.format(**_PLAIN | {"superspine": _SUPERSPINE}))
    of = load_plan(file)
    spine = next(name for name, switch in of.switches.items() if switch.role is Role.SPINE)
    text = render_switch(of, spine).frr or ""
    assert " neighbor LEAF_V4 peer-group" in text
    assert " neighbor SUPERSPINE_V4 peer-group" in text
    assert "route-map TO_SUPERSPINE_V4 permit 110\nexit" in text
