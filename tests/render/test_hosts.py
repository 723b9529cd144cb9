"""The NIC side of hosts: consistent with the switches by construction, and never a hand on management."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.errors import InputError, RenderError
from fabric.render import render_hosts, render_switch, write
from fabric.render.guard import Bounds, guard
from fabric.values.plan import HostPlan, LifeState, Plan, PlannedNic, Services
from tests.render.plans import plan, qos

NETPLAN = "etc/netplan/60-railfab.yaml"
RAIL0 = Bounds(frozenset(("rail0",)), frozenset(("eth0",)), (ip_network("172.31.0.0/16"),))
UNIT = "etc/systemd/system/railfab-roce.service"


def files(of: Plan, host: str = "gpu001", templates: Path | None = None) -> dict[str, str]:
    return dict(render_hosts(of, host, templates).files)


def with_nics(of: Plan, **changes: object) -> Plan:
    host = of.hosts["gpu001"]
    nics = {name: replace(nic, **changes) for name, nic in host.nics.items()}  # type: ignore[arg-type]
    return replace(of, hosts={**of.hosts, "gpu001": replace(host, nics=nics)})


def with_class(folder: Path, **settings: object) -> Path:
    """An overlay in which every class has these settings."""
    ours = yaml.safe_load((Path(__file__).parents[2] / "templates/host/classes.yaml").read_text())
    ours["classes"] = {"hgx-h100": settings}
    (folder / "host").mkdir(parents=True)
    (folder / "host/classes.yaml").write_text(yaml.safe_dump(ours))
    return folder


def ethernets(text: str) -> dict[str, Any]:
    content = yaml.safe_load(text)
    assert content["network"]["version"] == 2
    found: dict[str, Any] = content["network"]["ethernets"]
    return found


def test_each_rail_keeps_to_itself() -> None:
    nic = ethernets(files(plan())[NETPLAN])["rail1"]
    assert nic["addresses"] == ["10.101.1.1/31"]
    assert nic["mtu"] == 9000
    assert {"to": "10.101.1.0/25", "via": "10.101.1.0"} in nic["routes"]
    own = [route for route in nic["routes"] if route["to"] == "0.0.0.0/0"]
    assert own == [{"to": "0.0.0.0/0", "via": "10.101.1.0", "table": 1001}]
    assert nic["routing-policy"] == [{"from": "10.101.1.1/32", "table": 1001, "priority": 1001}]
    assert (nic["dhcp4"], nic["dhcp6"], nic["accept-ra"]) == (False, False, False)


def test_networkd_says_the_same(tmp_path: Path) -> None:
    got = files(plan(), templates=with_class(tmp_path, network="networkd", lldp="networkd"))
    text = got["etc/systemd/network/60-railfab-rail0.network"]
    assert NETPLAN not in got
    assert "etc/lldpd.d/railfab.conf" not in got
    for line in ("Name=rail0", "MTUBytes=9000", "Address=10.101.0.1/31", "EmitLLDP=nearest-bridge", "Table=1000"):
        assert f"\n{line}\n" in text
    assert "Destination=10.101.0.0/25\nGateway=10.101.0.0\n" in text
    assert "From=10.101.0.1/32\nTable=1000\n" in text


def test_host_and_switch_agree_by_construction() -> None:
    """QOS-01, QOS-09, HOST-05: one Plan gives both sides DSCP, priority and MTU."""
    for change in ({}, {"roce_dscp": 24, "lossless_tc": 3}, {"roce_dscp": 30, "lossless_tc": 4, "cnp_tc": 7}):
        of = plan(qos_plan=qos(**change))
        tables, got = render_switch(of, "p1-l0").tables, files(of)
        priority = str(tables["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"])
        assert f"--pfc {','.join('1' if str(n) == priority else '0' for n in range(8))}\n" in got[UNIT]
        tos = of.qos.roce_dscp * 4 + 2
        assert tables["DSCP_TO_TC_MAP"]["AZURE"][str(tos >> 2)] == priority
        assert f"NCCL_IB_TC={tos}\n" in got["etc/nccl.conf"]
        assert f"cma_roce_tos -d mlx5_0 -t {tos}\n" in got[UNIT]
        assert f"/roce_np/enable/{priority}'" in got[UNIT]
        assert ("--dscp2prio set," in got[UNIT]) is (of.qos.roce_dscp // 8 != of.qos.lossless_tc or of.qos.cnp_tc != 6)


def test_nccl_lists_exactly_the_rail_hcas() -> None:
    assert "NCCL_IB_HCA==mlx5_0,mlx5_1\n" in files(plan())["etc/nccl.conf"]
    assert "NCCL_IB_HCA" not in files(with_nics(plan(), hca=None))["etc/nccl.conf"]


def test_lossy_fabric_has_no_pfc_on_hosts() -> None:
    assert "--pfc 0,0,0,0,0,0,0,0\n" in files(plan(qos_plan=qos(lossless=False)))[UNIT]


def test_broadcom_way(tmp_path: Path) -> None:
    of = with_nics(plan(), hca="bnxt_re0")
    got = files(of)
    assert "bnxt_setupcc.sh -d bnxt_re0 -i rail0 -m 3 -r 3 -s 26 -c 6 -p 48\n" in got[UNIT]
    assert "usr/local/sbin/railfab-nic-firmware" not in got
    with pytest.raises(RenderError, match="needs HCA names"):
        files(with_nics(plan(), hca=None), templates=with_class(tmp_path, nic="broadcom"))
    with pytest.raises(RenderError, match="cannot tell the maker"):
        files(with_nics(plan(), hca="ionic_0"))


def test_firmware_agent_off_and_discovery_left_to_the_host() -> None:
    got = files(plan())
    assert "LLDP_NB_DCBX_P1=0 LLDP_NB_RX_MODE_P1=0 LLDP_NB_TX_MODE_P1=0" in got["usr/local/sbin/railfab-nic-firmware"]
    assert "portidsubtype ifname" in got["etc/lldpd.d/railfab.conf"]


def test_arp_stays_on_its_rail() -> None:
    """HOST-03: rp_filter never 1; only the rail's own interfaces."""
    lines = [line for line in files(plan())["etc/sysctl.d/60-railfab.conf"].splitlines() if not line.startswith("#")]
    assert {line.split(".")[3] for line in lines} == {"rail0", "rail1"}
    assert "net.ipv4.conf.rail0.rp_filter = 2" in lines
    assert not any(line.endswith("rp_filter = 1") for line in lines)


def test_a_nic_known_by_mac_or_place_is_given_its_name() -> None:
    by_mac = files(with_nics(plan(), netdev=None, mac="02:00:5e:00:00:01"))
    assert "PermanentMACAddress=02:00:5e:00:00:01" in by_mac["etc/systemd/network/10-railfab-rail0.link"]
    by_place = files(with_nics(plan(), netdev=None, pci="0000:1a:00.0"))
    assert "Path=pci-0000:1a:00.0" in by_place["etc/systemd/network/10-railfab-rail0.link"]
    assert not any(path.endswith(".link") for path in files(plan()))


def test_reserve_place_and_unknown_host() -> None:
    of = plan()
    of = replace(of, hosts={**of.hosts, "gpu101": replace(of.hosts["gpu001"], name="gpu101", state=LifeState.PLANNED)})
    assert files(of, "gpu101") == {}
    with pytest.raises(RenderError, match="nope: no such host"):
        files(of, "nope")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"netdev": "eth0"}, "eth0 is a management interface"),
        ({"netdev": "rail0; reboot"}, "is no interface name"),
        ({"netdev": "x" * 16}, "is no interface name"),
        ({"netdev": "../up"}, "is no interface name"),
        ({"hca": "mlx5_0'; reboot'"}, "is no HCA name"),
        ({"pci": "1a:00"}, "is no PCI address"),
        ({"mac": "02:00"}, "is no MAC"),
        ({"mtu": 9216}, "MTU 9216 is above the switches' 9100"),
        ({"netdev": "same"}, "same is named for two NICs"),
    ],
)
def test_refused(changes: dict[str, object], why: str) -> None:
    with pytest.raises(RenderError, match=why):
        files(with_nics(plan(), **changes))


@pytest.mark.parametrize("prefix", ["0.0.0.0/0", "172.31.0.0/17", "172.0.0.0/8"])
def test_no_route_over_the_default_or_management(prefix: str) -> None:
    of = plan()
    leaf = replace(of.switches["p1-l0"], networks=(prefix,))
    with pytest.raises(RenderError, match="would take the place of the default route or of management"):
        files(replace(of, switches={**of.switches, "p1-l0": leaf}))


NETPLAN_BASE = {"dhcp4": False, "dhcp6": False, "accept-ra": False}


def way(**route: object) -> dict[str, Any]:
    return {"ethernets": {"rail0": {**NETPLAN_BASE, "routes": [route]}}}


def rule(**settings: object) -> dict[str, Any]:
    return {"ethernets": {"rail0": {**NETPLAN_BASE, "routing-policy": [settings]}}}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"ethernets": {"eth0": NETPLAN_BASE}}, "names eth0"),
        ({"ethernets": {}, "bonds": {"bond0": {}}}, "has bonds"),
        ({"ethernets": {"rail0": {**NETPLAN_BASE, "gateway4": "192.0.2.1"}}}, "could take a default route"),
        ({"ethernets": {"rail0": {"dhcp6": False}}}, "could take a default route"),
        ({"ethernets": {"rail0": {**NETPLAN_BASE, "routes": [{"to": "default", "via": "192.0.2.1"}]}}}, "would change"),
        ({"ethernets": {"rail0": {**NETPLAN_BASE, "routes": [{"to": "::/0", "table": 254}]}}}, "would change"),
        ({"ethernets": ["rail0"]}, "is no netplan file"),
        ({"ethernets": {"rail0": {**NETPLAN_BASE, "accept-ra": True}}}, "could take a default route"),
        ({"ethernets": {"rail0": {"dhcp4": False, "dhcp6": False}}}, "accept-ra must be false"),
        ({"ethernets": {"rail0": {**NETPLAN_BASE, "match": {"name": "eth0"}}}}, "could be another interface"),
        (way(to="0/0", via="192.0.2.1"), "would change the default route"),
        (way(to="0.0.0.0/1", via="192.0.2.1"), "the default route in all but name"),
        (way(to="2000::/3", via="fe80::1"), "the default route in all but name"),
        (way(to="172.31.4.0/24", via="192.0.2.1"), "the way to management"),
        (way(to="nowhere", via="192.0.2.1"), "is no netplan file"),
        (rule(table=1000, priority=1000), "what is not its own .*from anywhere"),
        ({"ethernets": {"rail0": {**NETPLAN_BASE, "routing-policy": [{"from": "0.0.0.0/0"}]}}}, "what is not its own"),
        (rule(**{"from": "172.31.0.9/32", "table": 1000, "priority": 1000}), "what is from management"),
        (rule(**{"from": "10.101.0.1/32", "table": 1000, "priority": 40000}), "does not come before the main table"),
        (rule(**{"from": "10.101.0.1/32", "table": 1000}), "does not come before the main table"),
    ],
)
def test_guard_reads_what_an_operators_template_made(content: dict[str, Any], why: str) -> None:
    text = yaml.safe_dump({"network": {"version": 2, **content}})
    with pytest.raises(RenderError, match=why):
        guard("gpu001", RAIL0, {NETPLAN: text})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[Match]\nName=eth0\n", "matches eth0"),
        ("[Match]\nName=*\n", r"matches \*"),
        ("[Match]\nName=rail0\n[Network]\nDHCP=yes\n", "could take a default route"),
        ("[Match]\nName=rail0\n[Network]\nDHCP=no\nGateway=192.0.2.1\n", "could take a default route"),
        ("[Match]\nName=rail0\n[Route]\nGateway=192.0.2.1\n", "would change the default route"),
        ("[Match]\nName=rail0\n[Route]\nDestination=0.0.0.0/0\nTable=main\n", "would change the default route"),
        ("Name=rail0\n", "outside any section"),
        ("[Network]\nDHCP=no\nIPv6AcceptRA=no\n", "matches every interface"),
        ("[Match]\n[Network]\nDHCP=no\nIPv6AcceptRA=no\n", "matches every interface"),
        ("[Match]\nName=rail0\nMACAddress=02:00:5e:00:00:01\n", "matches rail0, 02:00"),
        ("[Match]\nMACAddress=02:00:5e:00:00:01\n", "matches 02:00"),
        ("[Match]\nName=rail0\n[Network]\nDHCP=no\n", "IPv6AcceptRA"),
        ("[Match]\nName=rail0\n", r"no \[Network\]"),
        ("[Match]\nName=rail0\n[Route]\nDestination=128.0.0.0/1\n", "default route in all but name"),
        ("[Match]\nName=rail0\n[Route]\nDestination=10.1.0.0/16\nDestination=::/0\n", "a setting twice"),
        ("[Match]\nName=rail0\n[Route]\nDestination=here\n", "is no networkd file"),
        ("[Match]\nName=rail0\n[RoutingPolicyRule]\nTable=1000\nPriority=1000\n", "from anywhere"),
    ],
)
def test_guard_reads_networkd(text: str, why: str) -> None:
    with pytest.raises(RenderError, match=why):
        guard("gpu001", RAIL0, {"etc/systemd/network/60-railfab-rail0.network": text})


def test_an_overlay_that_goes_for_the_default_route_is_refused(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    ours = (Path(__file__).parents[2] / "templates/host/netplan.yaml.j2").read_text()
    (tmp_path / "host/netplan.yaml.j2").write_text(ours.replace(", table: {{ route.table }}", ""))
    with pytest.raises(RenderError, match="would change the default route"):
        files(plan(), templates=tmp_path)


def test_an_overlay_that_goes_wrong_for_one_host_is_refused(tmp_path: Path) -> None:
    """Each host's file is read when the template is the operator's: it may tell hosts apart."""
    (tmp_path / "host").mkdir()
    ours = (Path(__file__).parents[2] / "templates/host/netplan.yaml.j2").read_text()
    bad = ours.replace("dhcp4: false", "dhcp4: {{ 'true' if host == 'gpu002' else 'false' }}")
    (tmp_path / "host/netplan.yaml.j2").write_text(bad)
    with pytest.raises(RenderError, match=r"gpu002: .*could take a default route"):
        write(plan(), tmp_path / "out", templates=tmp_path)


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("etc/sysctl.d/60-railfab.conf", "net.ipv4.conf.all.rp_filter = 0\n", "not of a rail NIC alone"),
        ("etc/sysctl.d/60-railfab.conf", "net.ipv4.conf.eth0.arp_ignore = 1\n", "not of a rail NIC alone"),
        ("etc/sysctl.d/60-railfab.conf", "net.ipv4.ip_forward = 1\n", "sets net.ipv4.ip_forward"),
        ("etc/systemd/system/railfab-roce.service", "ExecStart=/usr/bin/mlnx_qos -i eth0\n", "names eth0"),
        ("usr/local/sbin/railfab-nic-firmware", "mlxconfig -d eth0 set X=0\n", "names eth0"),
        ("etc/systemd/network/10-railfab-rail0.link", "[Match]\nPath=pci-0\n[Link]\nName=eth0\n", "renames to eth0"),
        ("etc/systemd/network/10-railfab-rail0.link", "[Link]\nName=rail0\n", "matches every interface"),
    ],
)
def test_guard_reads_what_runs_on_the_host(path: str, text: str, why: str) -> None:
    with pytest.raises(RenderError, match=why):
        guard("gpu001", RAIL0, {path: text})


def test_guard_lets_pass_what_names_management_and_touches_nothing() -> None:
    """NCCL's bootstrap is the management network; lldpd may leave it out."""
    guard("gpu001", RAIL0, {"etc/nccl.conf": "NCCL_SOCKET_IFNAME=eth0\n", "etc/lldpd.d/railfab.conf": "x !eth0\n"})
    guard("gpu001", RAIL0, {"etc/sysctl.d/60-railfab.conf": "# ours\nnet.ipv4.conf.rail0.arp_ignore = 1\n\n"})


@pytest.mark.parametrize(
    ("setting", "value"), [("table_base", 0), ("table_base", 40000), ("qps", 0), ("timeout", 99), ("gid_index", -1)]
)
def test_figures_out_of_bounds(setting: str, value: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{setting}: must be a whole number from"):
        files(plan(), templates=with_class(tmp_path, **{setting: value}))


def test_ipv6_keeps_its_link_local_address() -> None:
    of = plan()
    nics = {
        name: replace(
            nic,
            addresses=(*nic.addresses, f"fd00:101:{nic.rail}::1/127"),
            gateways=(*nic.gateways, f"fd00:101:{nic.rail}::"),
        )
        for name, nic in of.hosts["gpu001"].nics.items()
    }
    of = replace(of, hosts={**of.hosts, "gpu001": replace(of.hosts["gpu001"], nics=nics)})
    nic = ethernets(files(of)[NETPLAN])["rail0"]
    assert nic["link-local"] == ["ipv6"]
    assert {"to": "::/0", "via": "fd00:101:0::", "table": 1000} in nic["routes"]
    assert {"from": "fd00:101:0::1/128", "table": 1000, "priority": 1000} in nic["routing-policy"]
    assert ethernets(files(plan())[NETPLAN])["rail0"]["link-local"] == []


def test_unknown_setting_of_a_class_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"classes.yaml: classes.hgx-h100.network: must be one of netplan, networkd"):
        files(plan(), templates=with_class(tmp_path, network="ifupdown"))


def test_management_servers_do_not_matter() -> None:
    of = replace(plan(), services=Services())
    assert files(of) == files(plan())


def test_storage_nics_are_left_alone() -> None:
    host = plan().hosts["gpu001"]
    assert isinstance(host, HostPlan)
    storage: PlannedNic = replace(
        host.nics["rail0"], name="storage0", network=plan().switches["st0"].network, rail=None, netdev="ens9",
    )  # fmt: skip
    of = plan()
    of = replace(of, hosts={**of.hosts, "gpu001": replace(host, nics={**host.nics, "storage0": storage})})
    assert files(of) == files(plan())


def test_leaves_without_rails_leave_unbound_traffic_to_the_first_nic() -> None:
    of = plan()
    switches = {name: replace(switch, rail=None) for name, switch in of.switches.items()}
    nics = ethernets(files(replace(of, switches=switches))[NETPLAN])
    main = {name: [route["to"] for route in nic["routes"] if "table" not in route] for name, nic in nics.items()}
    assert main == {"rail0": ["10.101.0.0/25", "10.101.1.0/25"], "rail1": []}


def test_a_subnet_the_host_is_in_needs_no_route() -> None:
    of = with_nics(plan(), addresses=("10.101.0.2/25",), gateways=("10.101.0.1",))
    nics = ethernets(files(of)[NETPLAN])
    assert [route["to"] for route in nics["rail0"]["routes"]] == ["0.0.0.0/0"]


def test_a_rail_of_many_prefixes_gets_no_main_routes(tmp_path: Path) -> None:
    nics = ethernets(files(plan(), templates=with_class(tmp_path, rail_routes=0))[NETPLAN])
    assert all("table" in route for nic in nics.values() for route in nic["routes"])
