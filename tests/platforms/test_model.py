"""Ports are derived from the HwSKU's tables, never from arithmetic on names; contradictions are errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.errors import PlatformError
from fabric.platforms import available, load
from fabric.platforms.catalogue import platform_of
from fabric.platforms.importing import Identity, import_directory
from fabric.platforms.model import PortSpec, check_ports
from fabric.platforms.modes import parse_mode
from fabric.platforms.sonic_files import read_port_config

LOCAL = Identity(vendor="v", model="m", onie_platform="x86_64-test-r0", asic="th5")


def test_sakuraone_leaf_ports_are_exact_to_the_lane() -> None:
    box = load("accton-as9817-64o")
    assert (box.onie_platform, box.hwsku, box.asic) == ("x86_64-accton_as9817_64o-r0", "Accton-AS9817-64O", "th5")
    mode = box.mode_for(400_000)
    assert mode == "2x400G[200G]"
    first, second = box.children("Ethernet0", mode)
    assert first == PortSpec("Ethernet0", (25, 26, 27, 28), 400_000, "Eth1/1(Port1)", 1, 1, "rs")
    assert second == PortSpec("Ethernet4", (29, 30, 31, 32), 400_000, "Eth1/2(Port1)", 1, 2, "rs")
    (whole,) = box.children("Ethernet256", box.mode_for(800_000))
    assert whole == PortSpec("Ethernet256", tuple(range(1, 9)), 800_000, "Eth33(Port33)", 33, 0, "rs")
    assert [port.name for port in box.service_ports] == ["Ethernet512", "Ethernet513"]
    assert box.service_ports[0].lanes == (514,)
    assert box.hosts_end is None
    assert box.buffers() is None
    assert box.ecmp_limit is None


def test_mode_strings_stay_verbatim_for_each_vendor() -> None:
    wanted = {
        "accton-as9817-64o": "2x400G[200G]",
        "arista-7060x6-64pe": "2x400G",
        "dell-z9864f": "2x400G(8)",
        "nvidia-sn5600": "2x400G[200G,100G,50G,40G,25G,10G]",
        "nexthop-4010": "2x400G",
        "micas-w6940-64oc": "2x400G",
        "micas-w6940-128qc": "1x400G",
    }
    assert {key: load(key).mode_for(400_000) for key in wanted} == wanted


def test_f008_a_port_that_is_not_there_is_an_error_with_port_and_sku() -> None:
    with pytest.raises(PlatformError, match=r"Accton-AS9817-64O has no cage that starts at Ethernet516"):
        load("accton-as9817-64o").children("Ethernet516")


def test_f011_lanes_used_twice_name_both_ports(tmp_path: Path) -> None:
    table = tmp_path / "port_config.ini"
    table.write_text(
        "# name lanes alias index speed\nEthernet0 0,1,2,3,4,5,6,7 etp1a 1 100000\nEthernet4 4,5,6,7 etp1b 1 100000\n"
    )
    with pytest.raises(PlatformError, match="lanes 4,5,6,7 are used twice, by Ethernet0 and Ethernet4"):
        read_port_config(table)


def test_f011_alias_used_twice_names_both_ports() -> None:
    ports = [PortSpec(f"Ethernet{n}", (n,), 1000, "etp1", 1, 0, "none") for n in (0, 4)]
    with pytest.raises(PlatformError, match="alias etp1 is used by Ethernet0 and Ethernet4"):
        check_ports("x", ports)


def test_f013_a_mode_that_is_not_there_lists_the_modes() -> None:
    box = load("arista-7060x6-64pe")
    with pytest.raises(PlatformError, match=r"1x800G\[400G\], 1x400G, 2x400G, 4x200G, 8x100G"):
        box.children("Ethernet0", "1x200G")
    with pytest.raises(PlatformError, match=r"no breakout mode makes ports of 40G; modes that exist: 1x800G"):
        box.mode_for(40_000)


def test_f016_a_25g_service_port_at_10g_says_10000_and_is_never_a_fabric_cage() -> None:
    box = load("dell-z9864f-o64")
    port = box.service_port("Ethernet512", 10_000)
    assert (port.speed_mbps, port.lanes, port.fec) == (10_000, (515,), "none")
    assert load("accton-as9817-64o").service_port("Ethernet513", 10_000).speed_mbps == 10_000
    assert {"Ethernet512", "Ethernet513"}.isdisjoint(cage.first_port for cage in box.cages)
    assert all(cage.first_port != "Ethernet512" for cage in box.cages_for(25_000))
    with pytest.raises(PlatformError, match="cannot run at 10G"):
        load("nexthop-4010").service_port("Ethernet512", 10_000)
    with pytest.raises(PlatformError, match="is a fabric port"):
        box.service_port("Ethernet0", 10_000)


def test_f047_names_come_from_the_sku_and_both_spellings_are_known() -> None:
    micas = load("micas-w6940-128qc")
    assert micas.cages[0].first_port == "Ethernet1"
    (port,) = micas.children("Ethernet1")
    assert (port.alias, port.index, port.lanes) == ("Eth1", 0, (17, 18, 19, 20))
    assert micas.other_aliases["Ethernet1"] == ("fourhundredGigE0/1",)
    assert micas.other_aliases["Ethernet509"] == ("fourhundredGigE0/128",)
    nvidia = load("nvidia-sn5600")
    assert [port.name for port in nvidia.service_ports] == ["Ethernet512"]
    assert nvidia.children("Ethernet0")[0].lanes == tuple(range(8))


def test_f048_a_split_cage_runs_at_the_speed_of_the_split() -> None:
    for key in available():
        box = load(key)
        for cage in box.cages_for(400_000)[:2]:
            mode = box.mode_for(400_000, cage.first_port)
            assert {port.speed_mbps for port in box.children(cage.first_port, mode, 400_000)} == {400_000}


def test_f143_mixed_400g_and_200g_hosts_take_16_and_8_cages() -> None:
    box = load("accton-as9817-64o")
    fast = [port for cage in box.cages[:16] for port in box.children(cage.first_port, box.mode_for(400_000))]
    slow = [port for cage in box.cages[16:24] for port in box.children(cage.first_port, box.mode_for(200_000))]
    assert len(fast) == len(slow) == 32
    assert {port.speed_mbps for port in fast} == {400_000}
    assert {port.speed_mbps for port in slow} == {200_000}
    check_ports("leaf", [*fast, *slow])


def test_mixed_hwsku_fixes_its_modes_and_which_end_has_the_hosts() -> None:
    box = load("arista-7060x6-64pe-b-p32o64")
    assert box.fixed
    assert box.hosts_end == "last"
    assert [cage.first_port for cage in box.cages_for(800_000)] == [f"Ethernet{8 * n}" for n in range(32)]
    assert [cage.first_port for cage in box.cages_for(400_000)] == [f"Ethernet{8 * n}" for n in range(32, 64)]
    assert [port.alias for port in box.children("Ethernet256")] == ["etp33a", "etp33b"]
    assert box.ecmp_limit == 96
    with pytest.raises(PlatformError, match="modes that exist"):
        box.children("Ethernet0", "2x400G")


def test_a_mode_with_bracketed_speeds_can_run_slower_and_no_other() -> None:
    box = load("accton-as9817-64o")
    ports = box.children("Ethernet0", "2x400G[200G]", 200_000)
    assert {port.speed_mbps for port in ports} == {200_000}
    assert {port.fec for port in ports} == {"rs"}
    with pytest.raises(PlatformError, match="cannot run at 100G"):
        box.children("Ethernet0", "2x400G[200G]", 100_000)


def test_buffers_and_borrowing() -> None:
    dell = load("dell-z9864f").buffers()
    assert dell is not None
    assert (dell.pools["ingress_lossless_pool"].size, dell.pools["ingress_lossless_pool"].xoff) == (
        162_539_680,
        33_374_584,
    )
    borrowed = load("accton-as9817-64o").borrow("dell-z9864f")
    assert borrowed.borrowed_from == "dell-z9864f"
    assert borrowed.platform == "accton-as9817-64o"
    assert borrowed.rows == dell.rows
    with pytest.raises(PlatformError, match="another ASIC family"):
        load("accton-as9817-64o").borrow("nvidia-sn5600")
    with pytest.raises(PlatformError, match="no buffer figures to lend"):
        load("accton-as9817-64o").borrow("arista-7060x6-64pe")
    with pytest.raises(PlatformError, match="no buffer figures for preset 't9'"):
        load("dell-z9864f").buffers("t9")
    nvidia = load("nvidia-sn5600").buffers()
    assert nvidia is not None
    assert nvidia.model == "dynamic"
    assert nvidia.cell_bytes == 192


def test_unknown_key_lists_the_catalogue_and_how_to_import() -> None:
    with pytest.raises(PlatformError, match=r"accton-as9817-64o.*railfab platform import"):
        load("no-such-box")


@pytest.mark.parametrize("text", ["", "x400G", "2x", "0x400G", "2x400G[", "2x400G(8", "2 x400G"])
def test_not_a_breakout_mode(text: str) -> None:
    with pytest.raises(PlatformError):
        parse_mode(text)


def test_modes_with_spaces_and_several_parts() -> None:
    (part,) = parse_mode("2x400G[200G, 100G]")
    assert part.other_speeds == (200_000, 100_000)
    first, second = parse_mode("2x200G(4)+1x400G(4)")
    assert (first.count, first.speed_mbps, first.lanes, second.count, second.lanes) == (2, 200_000, 4, 1, 4)


@given(data=st.data())
def test_any_mix_of_modes_uses_each_lane_and_alias_once(data: st.DataObject) -> None:
    box = load(data.draw(st.sampled_from(available())))
    ports = [
        port
        for cage in box.cages
        for port in box.children(cage.first_port, data.draw(st.sampled_from(sorted(cage.modes))))
    ]
    check_ports(box.key, ports)
    lanes = {lane for cage in box.cages for lane in cage.lanes}
    assert {lane for port in ports for lane in port.lanes} <= lanes


def test_import_of_bad_directories_says_why(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match=r"neither port_config\.ini nor hwsku\.json"):
        import_directory(tmp_path, LOCAL)
    with pytest.raises(PlatformError, match="is no directory"):
        import_directory(tmp_path / "none", LOCAL)
    sku = tmp_path / "SKU"
    sku.mkdir()
    (sku / "port_config.ini").write_text("# name lanes alias index speed\nEthernet0 1,x etp1 1 100000\nEth1 2 e 1 1\n")
    with pytest.raises(PlatformError, match=r"(?s)port_config.ini:2:.*port_config.ini:3:"):
        import_directory(tmp_path, LOCAL)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("asic.conf", "NUM_ASIC=2\nDEV_ID_ASIC_0=03:00.0\n", "a box of 2 ASICs"),
        ("0/port_config.ini", "# name lanes alias index speed\nEthernet0 1 e1 1 100000\n", "a folder for each ASIC"),
        (
            "Sku/port_config.ini",
            "# name lanes alias index role speed asic_port_name\nEthernet0 1 e1 1 Ext 100000 Eth0-ASIC0\n",
            "a port of one ASIC of several",
        ),
        (
            "Sku/port_config.ini",
            "# name lanes alias index role speed\nEthernet0 1 e1 1 Int 100000\n",
            "a port of one ASIC of several",
        ),
    ],
    ids=["F141-asic-conf", "F141-numbered", "F141-asic-port", "F141-internal-port"],
)
def test_a_box_of_several_asics_is_refused(name: str, text: str, why: str, tmp_path: Path) -> None:
    """SONiC wants a config_db.json for each ASIC there; one merged file would be wrong for all of them."""
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    with pytest.raises(PlatformError, match=why):
        import_directory(tmp_path, LOCAL)


def test_import_refuses_a_boot_mode_that_is_not_there(tmp_path: Path) -> None:
    interface = {"index": "1,1", "lanes": "1,2", "breakout_modes": {"1x100G": ["e1"], "2x50G": ["e1a", "e1b"]}}
    (tmp_path / "platform.json").write_text(json.dumps({"interfaces": {"Ethernet0": interface}}))
    sku = tmp_path / "SKU"
    sku.mkdir()
    (sku / "hwsku.json").write_text(json.dumps({"interfaces": {"Ethernet0": {"default_brkout_mode": "1x40G"}}}))
    with pytest.raises(PlatformError, match="boots in '1x40G'; modes that exist: 1x100G, 2x50G"):
        import_directory(tmp_path, LOCAL)


def test_an_operators_own_folder_of_models_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in" / "SKU-1"
    source.mkdir(parents=True)
    (source / "port_config.ini").write_text(
        "# name lanes alias index speed\nEthernet0 1,2,3,4 e1 1 400000\nEthernet4 5,6,7,8 e2 2 400000\n"
    )
    (source / "buffers.json").write_text(
        json.dumps(
            {
                "BUFFER_POOL": {
                    "ingress_lossless_pool": {"size": "1000", "type": "ingress", "mode": "dynamic", "xoff": "100"}
                },
                "BUFFER_PROFILE": {
                    "p": {"pool": "[BUFFER_POOL|ingress_lossless_pool]", "size": "0", "dynamic_th": "1"}
                },
            }
        )
    )
    (source / "pg_profile_lookup.ini").write_text("400000 5m 10 0 90 0 5\n")
    document = import_directory(tmp_path / "in", LOCAL)
    own = tmp_path / "models"
    own.mkdir()
    (own / "mine.json").write_text(json.dumps(document))
    monkeypatch.setenv("RAILFAB_PLATFORMS", str(own))
    box = load("sku-1")
    assert [port.alias for port in box.ports()] == ["e1", "e2"]
    plan = box.buffers()
    assert plan is not None
    assert plan.pools["ingress_lossless_pool"].xoff == 100
    assert plan.profiles["p"].pool == "ingress_lossless_pool"
    assert "accton-as9817-64o" in available()
    assert platform_of(document, "sku-1") == box


def test_loading_pulls_in_nothing_heavy() -> None:
    code = (
        "import sys; from fabric.platforms import load; load('accton-as9817-64o');"
        "bad = {'networkx', 'jinja2', 'nornir', 'pydantic', 'netmiko', 'rich'} & set(sys.modules);"
        "print(sorted(bad))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


@pytest.mark.parametrize("key", available())
def test_every_platform_of_the_catalogue_loads(key: str) -> None:
    assert load(key).cages
