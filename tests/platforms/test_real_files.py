"""Every SONiC file of the real platforms loads, or is refused for a stated reason; the catalogue says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.errors import PlatformError
from fabric.platforms import available, load
from fabric.platforms.catalogue import platform_of
from fabric.platforms.importing import Identity, import_directory
from fabric.platforms.sonic_files import (
    read_headroom_rows,
    read_hwsku_json,
    read_platform_json,
    read_port_config,
)

LOCAL = Identity(vendor="v", model="m", onie_platform="x86_64-test-r0", asic="th5")

# catalogue key -> folder of the real files that the same HwSKU ships
SAME = {
    "accton-as9817-64o": "edgecore-as9817-64o/AS9817-64O",
    "accton-as9817-64o-2x400g": "edgecore-as9817-64o/AS9817-64O-2x400G",
    "arista-7060x6-64pe-o128s2": "arista-7060x6-64pe/O128S2",
    "arista-7060x6-64pe-p32v128": "arista-7060x6-64pe/P32V128",
    "dell-z9864f-o64": "dell-z9864f/O64",
    "micas-w6940-128qc": "micas-w6940-128qc/M2-W6940-128QC",
    "nexthop-4010": "nexthop-4010/NH-4010",
    "nexthop-4010-128x400g": "nexthop-4010/128x400G",
    "nvidia-sn5600-o128": "sn5600/O128",
    "nvidia-sn5600-v256": "sn5600/V256",
}


def test_every_real_file_loads(shared: Path) -> None:
    readers = {
        "platform.json": read_platform_json,
        "hwsku.json": read_hwsku_json,
        "port_config.ini": read_port_config,
        "pg_profile_lookup.ini": read_headroom_rows,
    }
    files = sorted(path for path in (shared / "real" / "platform").rglob("*") if path.is_file())
    assert len(files) >= 30
    for path in files:
        assert readers[path.name](path), f"{path} gave nothing"


@pytest.mark.parametrize("box", ["arista-7060x6-64pe", "dell-z9864f", "micas-w6940-128qc", "nexthop-4010", "sn5600"])
def test_every_real_box_imports(shared: Path, box: str) -> None:
    document = import_directory(shared / "real" / "platform" / box, LOCAL)
    for key in document["hwskus"]:
        platform = platform_of(document, key)
        assert platform.ports()


@pytest.mark.parametrize("box", ["dell-z9332f", "sn5640", "edgecore-as9817-64o"])
def test_boxes_with_port_tables_alone_import_as_fixed(shared: Path, box: str) -> None:
    document = import_directory(shared / "real" / "platform" / box, LOCAL)
    for key in document["hwskus"]:
        platform = platform_of(document, key)
        assert platform.fixed
        assert not platform.breakout_cfg
        rows = read_port_config(shared / "real" / "platform" / box / platform.hwsku / "port_config.ini")
        made = {port.name: (port.lanes, port.speed_mbps, port.alias, port.index) for port in platform.ports()}
        assert made == {row.name: (row.lanes, row.speed_mbps, row.alias, row.index) for row in rows}


def test_a_port_table_without_speed_is_refused_for_that_reason(shared: Path, tmp_path: Path) -> None:
    sku = tmp_path / "ACS-SN5600"
    sku.mkdir()
    source = shared / "real" / "platform" / "sn5600" / "ACS-SN5600" / "port_config.ini"
    (sku / "port_config.ini").write_bytes(source.read_bytes())
    with pytest.raises(PlatformError, match="no speed column"):
        import_directory(tmp_path, LOCAL)


@pytest.mark.parametrize("key", sorted(SAME))
def test_catalogue_says_what_the_port_table_says(shared: Path, key: str) -> None:
    rows = read_port_config(shared / "real" / "platform" / SAME[key] / "port_config.ini")
    platform = load(key)
    made = {port.name: port for port in platform.ports()}
    # P32V128's hwsku.json leaves out the two service ports of its port table, and SONiC loads hwsku.json.
    rows = tuple(row for row in rows if row.name in made or key != "arista-7060x6-64pe-p32v128")
    assert {row.name for row in rows} == set(made)
    for row in rows:
        port = made[row.name]
        assert (port.lanes, port.index) == (row.lanes, row.index)
        assert row.alias in (port.alias, *platform.other_aliases.get(row.name, ()))
        if row.speed_mbps is not None:
            assert port.speed_mbps == row.speed_mbps
        if row.fec is not None:
            assert port.fec == row.fec


@pytest.mark.parametrize(
    ("key", "box"),
    [
        ("arista-7060x6-64pe", "arista-7060x6-64pe"),
        ("dell-z9864f-o64", "dell-z9864f"),
        ("micas-w6940-128qc", "micas-w6940-128qc"),
        ("nexthop-4010", "nexthop-4010"),
        ("nvidia-sn5600", "sn5600"),
    ],
)
def test_catalogue_modes_are_platform_json_modes_verbatim(shared: Path, key: str, box: str) -> None:
    rows = {row.name: row for row in read_platform_json(shared / "real" / "platform" / box / "platform.json")}
    platform = load(key)
    for cage in (*platform.cages, *platform.service_cages):
        assert cage.lanes == rows[cage.first_port].lanes
        assert cage.modes == rows[cage.first_port].modes


@pytest.mark.parametrize(
    "key", ["arista-7060x6-64pe-o128s2", "dell-z9864f-o64", "micas-w6940-128qc", "nexthop-4010", "nvidia-sn5600-v256"]
)
def test_catalogue_headroom_is_the_lookup_table(shared: Path, key: str) -> None:
    rows = read_headroom_rows(shared / "real" / "platform" / SAME[key] / "pg_profile_lookup.ini")
    assert load(key).headroom == rows


def test_every_entry_of_the_catalogue_loads_and_names_its_source() -> None:
    assert len(available()) >= 21
    for key in available():
        platform = load(key)
        assert platform.source.licence == "Apache-2.0"
        assert len(platform.source.commit) == 40
        assert platform.source.paths
        for preset in platform.buffer_sets:
            plan = platform.buffers(preset)
            assert plan is not None
            assert plan.rows
            assert "ingress_lossless_pool" in plan.pools
            assert all(profile.pool in plan.pools for profile in plan.profiles.values())
