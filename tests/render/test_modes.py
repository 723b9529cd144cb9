"""Routing modes and options: what is rendered, what is refused and why."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.errors import RenderError
from fabric.lint.yang import YangModels
from fabric.render import render_switch, write
from fabric.render.bgp import limits
from fabric.render.releases import RELEASES
from fabric.values.plan import RoutingPlan, Services
from tests.render.frr_room import check_syntax
from tests.render.plans import buffers, plan

MODES = {
    "frr": RoutingPlan(),
    "frr-both-families": RoutingPlan(ipv6=True),
    "frr-ipv6": RoutingPlan(ipv4=False, ipv6=True),
    "frr-unnumbered": RoutingPlan(unnumbered=True, ipv6=True),
    "frr-weighted-limited": RoutingPlan(weighted_ecmp=True, prefix_limit=2000),
    "bgpcfgd": RoutingPlan(mode="bgpcfgd"),
    "bgpcfgd-both-families": RoutingPlan(mode="bgpcfgd", ipv6=True),
    "frr-mgmt": RoutingPlan(mode="frr-mgmt", bfd=True, prefix_limit=2000),
    "frr-mgmt-both-families": RoutingPlan(mode="frr-mgmt", ipv6=True),
    "frr-mgmt-unnumbered": RoutingPlan(mode="frr-mgmt", ipv6=True, unnumbered=True),
}
_BGP_TABLES = ("BGP_NEIGHBOR", "BGP_GLOBALS", "BGP_PEER_GROUP", "STATIC_ROUTE")


@pytest.fixture(scope="module")
def models(yang_folder: Path) -> YangModels:
    return YangModels(yang_folder)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", ["ours", "sonic", "dynamic"])
def test_models_take_every_file(mode: str, model: str, models: YangModels) -> None:
    figures = {
        "ours": buffers(),
        "sonic": buffers(borrowed_from=None),
        "dynamic": buffers(model="dynamic", borrowed_from=None, asic="spc4"),
    }[model]
    of = plan(routing=MODES[mode], buffer_plan=figures)
    for name in of.switches:
        tables = render_switch(of, name).tables
        assert not models.unknown_tables(tables)
        assert not models.judge(tables), name


def test_models_take_a_management_vrf_and_other_servers(models: YangModels) -> None:
    services = Services(ntp=("ntp.example.net", "192.0.2.1"), syslog=("192.0.2.2",), dns=("192.0.2.3",), mgmt_vrf=True)
    of = replace(plan(), services=services)
    assert not models.judge(render_switch(of, "p1-l0").tables)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode.startswith("frr") and "mgmt" not in mode])
def test_vtysh_takes_every_text(mode: str, release: str, tmp_path: Path) -> None:
    if shutil.which("vtysh") is None:
        pytest.skip("vtysh is not installed (Debian package frr)")
    of = plan(routing=MODES[mode], release=release)
    for name in of.switches if release == RELEASES[-1] else ("p1-l0",):
        assert check_syntax(render_switch(of, name).frr or "", tmp_path) == ""


def test_frr_mode_leaves_no_second_writer_of_peers() -> None:
    tables = render_switch(plan(), "p1-l0").tables
    assert not set(_BGP_TABLES) & set(tables)
    assert tables["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] == "split-unified"


def test_leaf_announces_its_own_and_nothing_else() -> None:
    text = render_switch(plan(), "p1-l0").frr or ""
    own = [line.split()[-1] for line in text.splitlines() if "prefix-list PL_OwnV4" in line and "permit" in line]
    assert own == ["10.101.0.0/25", "10.255.0.17/32"]
    assert "route-map TO_SPINE_V4 permit 110\n match ip address prefix-list PL_OwnV4\n" in text
    assert "ip route 10.101.0.0/25 blackhole" in text
    assert "redistribute" not in text
    assert "graceful-restart" not in text


def test_spine_passes_on_what_leaves_announce() -> None:
    text = render_switch(plan(), "s0").frr or ""
    assert "route-map TO_LEAF_V4 permit 110\nexit" in text
    assert [line.split()[1] for line in text.splitlines() if " remote-as " in line] == [
        "10.254.0.0",
        "10.254.0.2",
        "10.254.0.4",
        "10.254.0.6",
    ]


def test_tsa_finds_its_hold() -> None:
    """TSA looks for V4 or V6 in outbound names, adds 20, 30 and 40, and uses PL_LoopbackV4/V6."""
    text = render_switch(plan(routing=RoutingPlan(ipv6=True)), "p1-l0").frr or ""
    outbound = {
        line.split()[3] for line in text.splitlines() if line.startswith("  neighbor") and line.endswith(" out")
    }
    assert outbound == {"TO_SPINE_V4", "TO_SPINE_V6"}
    entries = [int(line.split()[-1]) for line in text.splitlines() if line.startswith("route-map TO_")]
    assert min(entries) == 100
    assert "ip prefix-list PL_LoopbackV4 seq 5 permit 10.255.0.17/32" in text
    assert "ipv6 prefix-list PL_LoopbackV6 seq 5 permit fd00:255::11/128" in text


def test_bgpcfgd_rows() -> None:
    tables = render_switch(plan(routing=RoutingPlan(mode="bgpcfgd", weighted_ecmp=True)), "p1-l0").tables
    assert tables["BGP_NEIGHBOR"]["10.254.0.1"] == {
        "admin_status": "up",
        "asn": "4200000000",
        "holdtime": "9",
        "keepalive": "3",
        "local_addr": "10.254.0.0",
        "name": "s0",
        "nhopself": "0",
        "rrclient": "0",
    }
    assert tables["STATIC_ROUTE"]["default|10.101.0.0/25"] == {"blackhole": "true"}
    assert tables["BGP_DEVICE_GLOBAL"] == {"STATE": {"wcmp_enabled": "true"}}
    assert tables["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] == "separated"
    local = {row["local_addr"] for row in tables["BGP_NEIGHBOR"].values()}
    assert local <= {key.partition("|")[2].partition("/")[0] for key in tables["INTERFACE"]}


def test_framework_peers_always_have_both_maps() -> None:
    config = render_switch(plan(routing=MODES["frr-mgmt-unnumbered"]), "s0")
    assert config.frr is None
    tables = config.tables
    for row in tables["BGP_PEER_GROUP_AF"].values():
        for field in ("route_map_in", "route_map_out"):
            assert set(row[field]) <= set(tables["ROUTE_MAP_SET"])
            assert f"{row[field][0]}|110" in tables["ROUTE_MAP"]
    assert {key.partition("|")[2] for key in tables["BGP_NEIGHBOR"]} == {f"Ethernet{8 * n}" for n in range(4)}
    assert tables["INTERFACE"]["Ethernet0"] == {"ipv6_use_link_local_only": "enable"}
    assert tables["DEVICE_METADATA"]["localhost"]["frr_mgmt_framework_config"] == "true"


@pytest.mark.parametrize(
    ("routing", "release", "why"),
    [
        (RoutingPlan(bfd=True), "master", "starts no bfdd in routing mode frr"),
        (RoutingPlan(mode="bgpcfgd", bfd=True), "master", "cannot do BFD"),
        (RoutingPlan(mode="bgpcfgd", unnumbered=True), "master", "cannot do unnumbered links"),
        (RoutingPlan(mode="bgpcfgd", prefix_limit=10), "master", "cannot do a prefix limit"),
        (RoutingPlan(mode="bgpcfgd", weighted_ecmp=True), "202405", "cannot do weighted ECMP on 202405"),
        (RoutingPlan(mode="bgpcfgd", maximum_paths=128), "202405", "has 64 paths on 202405"),
        (RoutingPlan(mode="frr-mgmt", weighted_ecmp=True), "master", "cannot do weighted ECMP"),
        (RoutingPlan(mode="frr-mgmt"), "202505", "needs 202511: on 202505"),
        (RoutingPlan(mode="frr-mgmt", maximum_paths=257), "master", "at most 256 paths"),
        (RoutingPlan(mode="ospf"), "master", "'ospf' is not known; choose one of frr, bgpcfgd, frr-mgmt"),
        (RoutingPlan(ipv4=False), "master", "neither IPv4 nor IPv6"),
    ],
)
def test_unknown_combinations_are_refused_with_the_reason(routing: RoutingPlan, release: str, why: str) -> None:
    with pytest.raises(RenderError, match=why):
        render_switch(plan(routing=routing, release=release), "p1-l0")


@pytest.mark.parametrize("mode", ["frr", "bgpcfgd", "frr-mgmt"])
def test_folder_says_what_the_mode_announces(mode: str, tmp_path: Path) -> None:
    write(plan(routing=RoutingPlan(mode=mode)), tmp_path)
    readme = (tmp_path / "README").read_text()
    assert limits(RoutingPlan(mode=mode))
    assert all(line in readme for line in limits(RoutingPlan(mode=mode)))
    assert (tmp_path / "p1-l0" / "frr.conf").exists() is (mode == "frr")


def test_fabric_never_carries_management() -> None:
    of = plan()
    switch = replace(of.switches["p1-l0"], networks=(*of.switches["p1-l0"].networks, "172.31.4.0/24"))
    with pytest.raises(RenderError, match=r"172.31.4.0/24 overlaps the management network 172.31.0.0/16"):
        render_switch(replace(of, switches={**of.switches, "p1-l0": switch}), "p1-l0")
