"""Hosts: the script run for real on this machine, answers of GPU nodes, files a node agent drops."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fabric.collect.hosts import by_hca, dropped, host_script, parse_host
from fabric.errors import CollectError, InputError
from fabric.values.codec import dumps
from fabric.values.snapshot import HostState, NicState
from tests.collect.test_hostile import answer

NICS = """ens1f0np0 pci 0000:1a:00.0
ens1f0np0 mac 02:00:5E:10:00:00
ens1f0np0 up up
ens1f0np0 speed 400000
ens1f0np0 carrier_down 3
ens1f0np0 pcie_speed 32.0 GT/s PCIe
ens1f0np0 pcie_width 16
ens1f0np0 pcie_max_width 16
ens1f0np0 arp_ignore 1
ens1f0np0 hca mlx5_0
ens1f0np0 hca_rate 400 Gb/sec (4X NDR)
ens1f0np0 gid 1 fe80:0000:0000:0000:0000:5eff:fe10:0000 RoCE v2
ens1f0np0 gid 3 0000:0000:0000:0000:0000:ffff:0a65:0001 RoCE v2
ens1f0np0 counter out_of_sequence 12
ens1f0np0 counter port_rcv_data 123456789012
ens1f0np0 traffic_class 106
eno1 mac 02:00:5e:20:00:00
eno1 up down
eno1 speed -1"""
LINKS = json.dumps([
    {"ifname": "lo", "mtu": 65536},
    {"ifname": "ens1f0np0", "mtu": 9000, "addr_info": [
        {"family": "inet", "local": "10.101.0.1", "prefixlen": 31},
        {"family": "inet6", "local": "fe80::5eff:fe10:0", "prefixlen": 64},
    ]},
])  # fmt: skip
QOS = """nic ens1f0np0
DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,
\tprio:3 dscp:31,30,26,
Receive buffer size (bytes): 20016,156096,
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
\tbuffer      0   0   0   1   0   0   0   0"""
STATS = """nic ens1f0np0
     rx_prio3_pause: 42
     tx_prio3_pause: 0
     rx_discards_phy: 7"""
LLDP = json.dumps({"lldp": [{"interface": [{
    "name": "ens1f0np0", "age": "0 day, 00:01:00",
    "chassis": [{"name": [{"value": "p1-l0"}], "id": [{"type": "mac", "value": "02:00:5E:00:00:00"}]}],
    "port": [{"id": [{"type": "local", "value": "etp1a"}], "descr": [{"value": "Ethernet0"}]}],
}]}]})  # fmt: skip
BODY: dict[str, Any] = {
    "chassis": {"p1-l0": {"id": {"type": "mac", "value": "aa"}}},
    "port": {"id": {"type": "local", "value": "e"}},
}
HEALTHY = {"nics": NICS, "links": LINKS, "qos": QOS, "stats": STATS, "lldpctl": LLDP}


def read(**sections: str) -> HostState:
    return parse_host("gpu001", answer(**{**HEALTHY, **sections}), 7.0, "test")


def test_a_gpu_node() -> None:
    host = read()
    assert (host.host, host.taken_at, host.source, host.holes) == ("gpu001", 7.0, "test", ())
    assert host.nics is not None
    nic = host.nics["ens1f0np0"]
    assert (nic.mac, nic.pci, nic.hca) == ("02:00:5e:10:00:00", "0000:1a:00.0", "mlx5_0")
    assert (nic.oper_up, nic.speed_mbps, nic.mtu, nic.carrier_down_count) == (True, 400000, 9000, 3)
    assert nic.addresses == ("10.101.0.1/31", "fe80::5eff:fe10:0/64")
    assert nic.counters["out_of_sequence"] == 12
    assert nic.counters["rx_prio3_pause"] == 42
    assert nic.settings["traffic_class"] == "106"
    assert host.nics["eno1"].oper_up is False
    assert host.nics["eno1"].speed_mbps is None
    assert host.lldp is not None
    assert (host.lldp[0].local_port, host.lldp[0].system_name, host.lldp[0].port_id) == ("ens1f0np0", "p1-l0", "etp1a")


def test_f084_trust_and_pfc_of_a_nic_as_it_ships_and_as_it_should_be() -> None:
    nics = read().nics
    assert nics is not None
    settings = nics["ens1f0np0"].settings
    assert (settings["trust"], settings["pfc"], settings["dscp_26"]) == ("dscp", "0,0,0,1,0,0,0,0", "3")
    shipped = QOS.replace("state: dscp", "state: pcp").replace("enabled     0   0   0   1", "enabled     0   0   0   0")
    nics = read(qos=shipped).nics
    assert nics is not None
    assert (nics["ens1f0np0"].settings["trust"], nics["ens1f0np0"].settings["pfc"]) == ("pcp", "0,0,0,0,0,0,0,0")


def test_f122_gids_keep_their_index() -> None:
    nics = read().nics
    assert nics is not None
    assert nics["ens1f0np0"].gids == (
        "1 fe80:0000:0000:0000:0000:5eff:fe10:0000 RoCE v2", "3 0000:0000:0000:0000:0000:ffff:0a65:0001 RoCE v2",
    )  # fmt: skip


def test_f059_pcie_says_what_is_and_what_could_be() -> None:
    nics = read().nics
    assert nics is not None
    settings = nics["ens1f0np0"].settings
    assert (settings["pcie_width"], settings["pcie_max_width"], settings["pcie_speed"]) == (
        "16",
        "16",
        "32.0 GT/s PCIe",
    )


def test_f124_nics_by_their_rdma_device_leave_out_storage_and_management() -> None:
    assert {hca: nic.netdev for hca, nic in by_hca(read()).items()} == {"mlx5_0": "ens1f0np0"}


def test_f035_a_host_that_sees_no_neighbour_proves_nothing() -> None:
    host = read(lldpctl='{"lldp": [{}]}')
    assert host.lldp is None
    assert "firmware" in next(hole.reason for hole in host.holes if hole.part == "lldp")


def test_f045_bond_members_keep_every_neighbour_they_list() -> None:
    entries = [
        {name: {"chassis": {leaf: BODY["chassis"]["p1-l0"]}, "port": BODY["port"]}}
        for name in ("ens1f0np0", "ens1f1np1") for leaf in ("p1-l0", "p1-l1")
    ]  # fmt: skip
    rows = read(lldpctl=json.dumps({"lldp": {"interface": entries}})).lldp
    assert [(row.local_port, row.system_name) for row in rows or ()] == [
        ("ens1f0np0", "p1-l0"), ("ens1f0np0", "p1-l1"), ("ens1f1np1", "p1-l0"), ("ens1f1np1", "p1-l1"),
    ]  # fmt: skip


def test_f037_one_nic_as_an_object() -> None:
    body = {
        "chassis": {"p1-l0": {"id": {"type": "mac", "value": "aa"}}},
        "port": {"id": {"type": "local", "value": "e"}},
    }
    rows = read(lldpctl=json.dumps({"lldp": {"interface": {"ens1f0np0": body}}})).lldp
    assert [row.local_port for row in rows or ()] == ["ens1f0np0"]


def test_an_answer_cut_off_is_a_hole_in_what_is_missing() -> None:
    text = answer(**HEALTHY)
    host = parse_host("gpu001", text[: text.index("@@t begin lldpctl")], 1.0)
    assert host.nics is not None
    assert [(hole.part, hole.reason) for hole in host.holes] == [("lldp", "the answer was cut off")]


@pytest.mark.parametrize("shell", [shell for shell in ("dash", "bash") if shutil.which(shell)])
def test_the_script_runs_on_a_real_machine(shell: str) -> None:
    done = subprocess.run(
        [shell, "-s"], input=host_script(token="h1").encode(), capture_output=True, timeout=60, check=True
    )
    host = parse_host("here", done.stdout, 1.0, errors=done.stderr, token="h1")
    parts = {hole.part for hole in host.holes}
    assert host.nics is not None or "nics" in parts
    for nic in (host.nics or {}).values():
        assert nic.mac is None or len(nic.mac) == 17
    assert b"@@h1 done" in done.stdout


def test_the_script_refuses_a_token_that_could_be_shell() -> None:
    with pytest.raises(ValueError, match="letters and digits"):
        host_script(token="a;reboot")


def test_files_of_a_node_agent(tmp_path: Path) -> None:
    (tmp_path / "gpu001.txt").write_text(answer(**HEALTHY))
    state = HostState("gpu002", 5.0, nics={"eth0": NicState("eth0")})
    (tmp_path / "gpu002.json").write_text(dumps(state))
    (tmp_path / "gpu003.txt").write_text("Traceback (most recent call last):\n")
    (tmp_path / "gpu004.json").write_text("{")
    (tmp_path / "README").write_text("not a host")
    states, problems = dropped(tmp_path)
    assert set(states) == {"gpu001", "gpu002"}
    assert states["gpu001"].source == "file gpu001.txt"
    assert states["gpu001"].taken_at == pytest.approx((tmp_path / "gpu001.txt").stat().st_mtime)
    assert states["gpu002"].nics == state.nics
    assert "traceback" in problems["gpu003.txt"]
    assert "gpu004.json" in problems
    with pytest.raises(InputError, match="nowhere"):
        dropped(tmp_path / "nowhere")


def test_a_host_that_answers_nothing_of_ours() -> None:
    with pytest.raises(CollectError, match="permission denied"):
        parse_host("gpu001", "", 1.0, errors="sh: /usr/bin/ip: Permission denied")
