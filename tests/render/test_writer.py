"""The folder: whole files, the same bytes each time, nothing stale, nobody else's touched."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.errors import InputError, RenderError
from fabric.render import render_switch, write
from fabric.values.plan import LifeState
from tests.render.plans import plan


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_same_bytes_each_time(tmp_path: Path) -> None:
    write(plan(), tmp_path / "a")
    write(plan(), tmp_path / "b")
    first = content(tmp_path / "a")
    assert first == content(tmp_path / "b")
    times = {file: file.stat().st_mtime_ns for file in (tmp_path / "a").rglob("*") if file.is_file()}
    write(plan(), tmp_path / "a")
    assert content(tmp_path / "a") == first
    assert {file: file.stat().st_mtime_ns for file in times} == times, "a file that says the same is left alone"


def test_files_are_the_rendered_values(tmp_path: Path) -> None:
    written = write(plan(), tmp_path)
    config = render_switch(plan(), "p1-l0")
    assert json.loads((tmp_path / "p1-l0/config_db.json").read_text()) == config.tables
    assert (tmp_path / "p1-l0/frr.conf").read_text() == config.frr
    assert set(written) == set(content(tmp_path)) - {".railfab-files"}
    assert written[:2] == ("p1-l0/config_db.json", "p1-l0/frr.conf")
    for text in content(tmp_path).values():
        assert text.endswith(b"\n")
        assert b"None" not in text


def test_only_touches_what_is_named(tmp_path: Path) -> None:
    write(plan(), tmp_path)
    before = content(tmp_path)
    changed = replace(plan(), release="202405")
    assert write(changed, tmp_path, only=["s0"]) == ("s0/config_db.json", "s0/frr.conf")
    after = content(tmp_path)
    assert {path for path in after if after[path] != before.get(path)} <= {"s0/config_db.json", "s0/frr.conf"}
    with pytest.raises(InputError, match="nope: no such switch or host"):
        write(plan(), tmp_path, only=["nope"])


def test_what_the_plan_no_longer_has_goes_and_nothing_else(tmp_path: Path) -> None:
    write(plan(), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "p1-l1" / "mine.txt").write_text("mine")
    smaller = plan()
    smaller = replace(
        smaller,
        switches={name: switch for name, switch in smaller.switches.items() if name != "st0"},
        hosts={"gpu001": smaller.hosts["gpu001"], "gpu002": replace(smaller.hosts["gpu002"], state=LifeState.PLANNED)},
    )
    write(smaller, tmp_path)
    assert not (tmp_path / "st0").exists()
    assert not (tmp_path / "gpu002").exists()
    assert (tmp_path / "gpu001/etc/netplan/60-railfab.yaml").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "p1-l1/mine.txt").exists()


def test_a_list_that_points_outside_removes_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/.railfab-files").write_text(f"../outside.txt\n{outside}\n")
    write(plan(), tmp_path / "out")
    assert outside.read_text() == "mine"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(plan(), tmp_path)
    before = content(tmp_path)

    def no_replace(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_replace)
    with pytest.raises(RenderError, match=r"config_db.json: cannot be written: No space left"):
        write(replace(plan(), release="202405"), tmp_path, only=["p1-l1"])
    assert content(tmp_path) == before


def test_an_unwritable_folder_is_a_message(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="is a file; give a folder"):
        write(plan(), file)
    with pytest.raises(RenderError, match="cannot be written"):
        write(plan(), file / "below")


def test_refused_switch_leaves_no_half_device(tmp_path: Path) -> None:
    of = plan()
    bad = replace(of, switches={**of.switches, "p1-l1": replace(of.switches["p1-l1"], asn=0)})
    with pytest.raises(RenderError, match="p1-l1"):
        write(bad, tmp_path)
    assert not (tmp_path / "p1-l1").exists()


def test_base_is_merged_into_its_own_switch(tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    running = {
        "DEVICE_METADATA": {"localhost": {"hostname": "p1-l0", "mac": "02:00:5e:00:00:01", "bgp_asn": "65000"}},
        "VERSIONS": {"DATABASE": {"VERSION": "version_202505_01"}},
        "FEATURE": {"bgp": {"state": "disabled", "auto_restart": "enabled"}, "snmp": {"state": "enabled"}},
        "INTERFACE": {"Ethernet0": {}, "Ethernet0|192.0.2.0/31": {}},
        "BGP_NEIGHBOR": {"192.0.2.1": {"asn": "65001"}},
        "BUFFER_PG": {"Ethernet0|3": {"profile": "pg_lossless_400000_5m_profile"}, "Ethernet4|3": {"profile": "mine"}},
        "SNMP": {"LOCATION": {"Location": "hall 3"}},
    }
    base.write_text(json.dumps(running))
    write(plan(), tmp_path / "out", base=base)
    merged = json.loads((tmp_path / "out/p1-l0/config_db.json").read_text())
    assert merged["DEVICE_METADATA"]["localhost"]["mac"] == "02:00:5e:00:00:01"
    assert merged["DEVICE_METADATA"]["localhost"]["bgp_asn"] == "4200000110"
    assert merged["VERSIONS"] == running["VERSIONS"]
    assert merged["SNMP"] == running["SNMP"]
    assert merged["FEATURE"]["bgp"] == {"auto_restart": "enabled", "state": "enabled"}
    assert merged["FEATURE"]["snmp"] == {"state": "enabled"}
    assert "Ethernet0|192.0.2.0/31" not in merged["INTERFACE"]
    assert "BGP_NEIGHBOR" not in merged, "a second writer of peers"
    assert json.loads((tmp_path / "out/s0/config_db.json").read_text()) == render_switch(plan(), "s0").tables


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[]", "not a config_db.json"),
        ('{"PORT": {"Ethernet0": "up"}}', "not a config_db.json"),
        ('{"DEVICE_METADATA": {"localhost": {"hostname": "other"}}}', "belongs to other"),
        ("{}", "belongs to None"),
    ],
)
def test_bad_base_is_a_message(text: str, why: str, tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    base.write_text(text)
    with pytest.raises(InputError, match=why):
        write(plan(), tmp_path / "out", base=base)
    assert not (tmp_path / "out").exists()


def test_readme_says_what_must_be_known(tmp_path: Path) -> None:
    note = "accton-as9817-64o: figures borrowed"
    write(replace(plan(), notes=(note,)), tmp_path)
    readme = (tmp_path / "README").read_text()
    assert note in readme
    assert "Never load it alone" in readme


def test_umask_is_obeyed(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        write(plan(), tmp_path / "out")
    finally:
        os.umask(old)
    assert (tmp_path / "out/p1-l0/config_db.json").stat().st_mode & 0o777 == 0o600
