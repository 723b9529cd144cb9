"""Names that two devices would share and single values of `devices`: refused with file, line and key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.errors import RailfabError

Written = Callable[..., Path]
_HOSTS = "gpu[001-004]"


def _refused(path: Path) -> str:
    with pytest.raises(RailfabError) as caught:
        load_plan(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "pair", "words"),
    [
        ("lab", (_HOSTS, "p1-l0"), ":18: compute.pods.0.nodes: p1-l0 is the name of switch p1-l0"),
        ("lab", (_HOSTS, "[gpu001, S1]"), ":18: compute.pods.0.nodes: S1 is the name of switch s1"),
        ("lab", (_HOSTS, "[GPU001, gpu001]"), ":18: compute.pods.0.nodes: gpu001 is given twice"),
        ("lab", (f"nodes: {_HOSTS}", "nodes: 4\n  node_name: S{n}"), "compute.node_name: S{n} makes names of switches"),
        ("sakuraone", ("es[1-4]", "st0"), "storage.servers.0.nodes: st0 is the name of switch st0"),
        ("sakuraone", ("es[1-4]", "GPU007"), "storage.servers.0.nodes: GPU007 is also in compute.pods.0.nodes"),
        ("sakuraone", ("switches: 2", "switches: 2\n  name: s"), "storage.name: s0 names two switches"),
        ("sakuraone", ("switches: 2", "switches: 2\n  name: p1-l"), "storage.name: p1-l0 names two switches"),
    ],
)
def test_one_name_for_two_devices(written: Written, name: str, pair: tuple[str, str], words: str) -> None:
    assert words in _refused(written(name, pair))


@pytest.mark.parametrize("pattern", ["s{n}x", "ss{n:02d}", "p1-l{n}", "gpu{n}"])
def test_names_by_number_that_are_no_switches(written: Written, pattern: str) -> None:
    path = written("lab", (f"nodes: {_HOSTS}", "nodes: 4"), ("  rails: 4", f"  rails: 4\n  node_name: {pattern}"))
    if pattern in ("s{n}x", "p1-l{n}"):
        assert "compute.node_name" in _refused(path)
        return
    assert len(load_plan(path).hosts) == 4


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("s0: {loopback: 224.0.0.1}", "devices.s0.loopback: 224.0.0.1 lies in 224.0.0.0/4 (multicast)"),
        ("s0: {loopback: 127.0.0.1}", "127.0.0.1 lies in 127.0.0.0/8 (host loopback)"),
        ("s0: {loopback: 172.31.9.9}", "172.31.9.9 lies in 172.31.0.0/16 (management.network)"),
        ("s0: {loopback: 10.101.200.9}", "10.101.200.9 lies in 10.101.0.0/16 (addressing.hosts.pools)"),
        ("s0: {loopback: 10.254.3.9}", "10.254.3.9 lies in 10.254.0.0/22 (addressing.fabric)"),
        ("s0: {loopback: 10.99.0.9}", "10.99.0.9 lies in 10.99.0.0/24 (addressing.reserved)"),
        ('s0: {loopback: "fd00::9"}', "fd00::9 is IPv6, which this fabric has not"),
        ("s0: {mgmt_address: 203.0.113.1}", "devices.s0.mgmt_address: 203.0.113.1 is outside of 172.31.0.0/16"),
        ("s0: {mgmt_address: 172.31.0.0}", "172.31.0.0 is the first or last address of 172.31.0.0/16"),
        ("s0: {mgmt_address: 172.31.255.255}", "172.31.255.255 is the first or last address"),
        ("s0: {mgmt_address: 172.31.255.254}", "172.31.255.254 is the gateway's"),
        ('s0: {mgmt_address: "fd00::5"}', "fd00::5 is outside of 172.31.0.0/16"),
        ("gpu001: {asn: 4200000999}", "devices.gpu001.asn: gpu001 is a host: asn is a switch's"),
        ("gpu001: {loopback: 10.255.0.99}", "gpu001 is a host: loopback is a switch's"),
        ("gpu001: {platform: nvidia-sn5600}", "gpu001 is a host: platform is a switch's"),
        ("gpu001: {device_type: LeafRouter}", "gpu001 is a host: device_type is a switch's"),
        ("gpu001: {rack: A, unit: 4}, s0: {rack: A, unit: 4}", "devices.s0.unit: unit 4 of rack A is gpu001's"),
    ],
)
def test_a_value_that_cannot_be(written: Written, device: str, words: str) -> None:
    path = written(
        "lab",
        ("addressing:\n", "addressing:\n  reserved: [10.99.0.0/24]\n"),
        ("network: 172.31.0.0/16", "network: 172.31.0.0/16\n  gateway: 172.31.255.254"),
        ("qos: {", f"devices: {{{device}}}\nqos: {{"),
    )
    message = _refused(path)
    assert words in message
    assert f"{path}:30: devices." in message


def test_values_that_can_be(written: Written) -> None:
    devices = (
        "s0: {loopback: 10.77.0.1, mgmt_address: 172.31.9.9}, gpu001: {mgmt_address: 172.31.9.10, rack: A, unit: 4}"
    )
    plan = load_plan(written("lab", ("qos: {", f"devices: {{{devices}}}\nqos: {{")))
    assert plan.switches["s0"].loopbacks == ("10.77.0.1/32",)
    assert plan.switches["s0"].mgmt_address == "172.31.9.9/16"
    assert (plan.hosts["gpu001"].mgmt_address, plan.hosts["gpu001"].unit) == ("172.31.9.10/16", 4)


def test_a_storage_loopback_is_ipv4(written: Written) -> None:
    path = written("sakuraone", ("qos: {", 'devices: {st0: {loopback: "fd00::9"}}\nqos: {'))
    assert "devices.st0.loopback: fd00::9 is IPv6, which storage has not" in _refused(path)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("network: 172.31.0.0/16", "network: 172.31.0.1/32")], "no 2 management addresses left in 172.31.0.1/32, "),
        ([("network: 172.31.0.0/16", "network: 172.31.0.0/31")], "addresses left in 172.31.0.0/31, which has"),
        ([("addressing:\n", 'addressing:\n  family: ipv6\n  hosts6: "fd00:1::/64"\n')],
         "no 4 host blocks left in fd00:1::/64 (1 in all); begin with a larger addressing.hosts6"),
        ([("addressing:\n", 'addressing:\n  family: dual\n  fabric6: "fd00:2::/125"\n')],
         "no 16 link addresses left in fd00:2::/125 (4 in all); begin with a larger addressing.fabric6"),
        ([("addressing:\n", 'addressing:\n  family: ipv6\n  loopbacks6: "fd00:3::/127"\n')],
         "no 4 loopbacks left in fd00:3::/127 (2 in all); begin with a larger addressing.loopbacks6"),
    ],
)  # fmt: skip
def test_pools_too_small_for_anything(written: Written, pairs: list[tuple[str, str]], words: str) -> None:
    assert words in _refused(written("lab", *pairs))


@pytest.mark.parametrize(
    "names",
    [
        'netdev: ["a b", b, c, d]', 'netdev: ["../x", b, c, d]', 'netdev: ["$(id)", b, c, d]',
        "netdev: [sixteen-letters-x, b, c, d]", 'pci: ["03:00", "03:00.1", "03:00.2", "03:00.3"]',
        'pci: ["03:00.0;id", "03:00.1", "03:00.2", "03:00.3"]', 'hca: ["mlx5 0", b, c, d]', 'hca: ["`id`", b, c, d]',
    ],
)  # fmt: skip
def test_names_of_nics_reach_no_shell(written: Written, names: str) -> None:
    assert "classes.h100." in _refused(written("lab", ("hca: [mlx5_0, mlx5_1, mlx5_2, mlx5_4]", names)))


def test_names_of_nics_as_they_are(written: Written) -> None:
    names = "hca: [mlx5_0, mlx5_bond_0, bnxt_re0, irdma1]\n"
    names += '    pci: ["0000:03:00.0", "03:00.1", "0001:AF:00.0", "10000:01:00.0"]'
    plan = load_plan(written("lab", ("hca: [mlx5_0, mlx5_1, mlx5_2, mlx5_4]", names)))
    assert [nic.hca for nic in plan.hosts["gpu001"].nics.values()] == ["mlx5_0", "mlx5_bond_0", "bnxt_re0", "irdma1"]


def test_storage_nics_have_the_same_names(written: Written) -> None:
    path = written("sakuraone", ("{nics: 2, speed: 200G}", "{nics: 2, speed: 200G, hca: [mlx5_9, mlx5_10]}"))
    assert "mlx5_9" in {nic.hca for nic in load_plan(path).hosts["gpu001"].nics.values()}


def test_a_class_name_with_an_underscore(written: Written) -> None:
    path = written("lab", ("h100:", "h100_old:"), (f"nodes: {_HOSTS}", f"nodes: {_HOSTS}\n      class: h100_old"))
    assert {host.host_class for host in load_plan(path).hosts.values()} == {"h100_old"}
    assert "classes" in _refused(written("lab", ("h100:", '"$(id)":')))
