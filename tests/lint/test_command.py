"""`railfab lint` as a command: exit codes, JSON, what a person reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.entry import run
from tests.lint.sound import Tables, leaf


def write(folder: Path, tables: Any, name: str = "p1-l0") -> Path:
    path = folder / name / "config_db.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tables if isinstance(tables, str) else json.dumps(tables), encoding="utf-8")
    return path


def test_sound_file_exits_0_and_says_that_yang_was_not_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, leaf())
    assert run(["lint", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 files: 1 sound, 0 not; 0 failures, 0 warnings, 0 unknown",
        "YANG: not judged (give --yang DIR, a folder of SONiC's models)",
    ]


def test_faulty_file_exits_1_and_names_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = leaf()
    tables["PORT"]["Ethernet20"]["lanes"] = "12,13,14,15"
    write(tmp_path, tables)
    assert run(["lint", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    for word in ("FAIL CFG-10", "PORT|Ethernet16 field lanes", '"9,10,11,12"', "Ethernet20", "do: give each port"):
        assert word in out


def test_warnings_exit_0_and_1_when_strict(tmp_path: Path) -> None:
    tables = leaf()
    del tables["DSCP_TO_TC_MAP"]["AZURE"]["40"]
    write(tmp_path, tables)
    assert run(["lint", str(tmp_path)]) == 0
    assert run(["lint", str(tmp_path), "--strict"]) == 1


def test_same_fault_on_many_rows_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = leaf()
    for port in ("Ethernet0", "Ethernet8", "Ethernet16"):
        tables["PORT"][port]["fec"] = "none" if port != "Ethernet16" else "rs"
    write(tmp_path, tables)
    assert run(["lint", str(tmp_path)]) == 1
    assert capsys.readouterr().out.count("FAIL CFG-13") == 1


def test_json_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = leaf()
    tables["PORT"]["Ethernet20"]["alias"] = "etp3a"
    path = write(tmp_path, tables)
    assert run(["lint", str(path), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "railfab.lint/1"
    assert document["yang"] is None
    assert document["files"] == [
        {"file": str(path), "device": "p1-l0", "sound": False, "fail": 1, "warn": 0, "unknown": 0}
    ]
    (finding,) = document["findings"]
    assert (finding["code"], finding["device"], finding["port"]) == ("CFG-11", "p1-l0", "Ethernet20")
    assert finding["file"] == str(path)
    assert finding["moves"] == []
    assert finding["rail"] is None
    assert document["summary"] == {
        "pass": 0, "fail": 1, "warn": 0, "unknown": 0, "devices": 1, "missing_devices": [],
    }  # fmt: skip


@pytest.mark.parametrize("content", ["", "{", "null and void", "[" * 100_000, "\x00"])
def test_file_that_is_no_json_is_unknown_and_the_rest_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    write(tmp_path, leaf())
    write(tmp_path, content, "broken")
    assert run(["lint", str(tmp_path)]) == 2
    out = capsys.readouterr().out
    assert "UNKNOWN CFG-09" in out
    assert "2 files: 1 sound, 1 not" in out


@pytest.mark.parametrize("text", ["{}", "null"])
def test_a_file_that_says_nothing_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (tmp_path / "config_db.json").write_text(text)
    assert run(["lint", str(tmp_path)]) == 2
    assert "holds no table, so nothing could be judged" in capsys.readouterr().out


def test_f141_several_asics_in_one_file_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config_db.json").write_text('{"localhost": {}, "asic0": {"PORT": {"Ethernet0": {"lanes": "1"}}}}')
    assert run(["lint", str(tmp_path)]) == 1
    assert "a configuration for each of asic0, localhost" in capsys.readouterr().out


def test_faults_and_holes_together_exit_1_and_say_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = leaf()
    tables["PORT"]["Ethernet20"]["alias"] = "etp3a"
    write(tmp_path, tables)
    write(tmp_path, "{", "broken")
    assert run(["lint", str(tmp_path)]) == 1
    assert "1 failures, 0 warnings, 1 unknown" in capsys.readouterr().out


def test_name_twice_in_one_object_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, '{"VLAN": {"Vlan1": {"vlanid": "1", "vlanid": "2"}}}')
    assert run(["lint", str(tmp_path)]) == 1
    assert "vlanid" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["gone", "empty"])
def test_nothing_to_judge_is_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "empty").mkdir()
    assert run(["lint", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert name in error
    assert "Traceback" not in error


def test_folder_of_models_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, leaf())
    assert run(["lint", str(tmp_path), "--yang", str(tmp_path / "gone")]) == 2
    assert "gone: no such folder of YANG models" in capsys.readouterr().err


def big(ports: int) -> Tables:
    """A leaf with many ports and all their QoS rows."""
    small = leaf()
    tables: Tables = {name: dict(rows) for name, rows in small.items()}
    for table in ("PORT", "INTERFACE", "PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE", "PFC_WD"):
        tables[table] = {key: row for key, row in small[table].items() if not key.startswith("Ethernet")}
    tables["BREAKOUT_CFG"], tables["DEVICE_NEIGHBOR"], tables["BGP_NEIGHBOR"] = {}, {}, {}
    for table in ("BREAKOUT_CFG", "DEVICE_NEIGHBOR", "BGP_NEIGHBOR"):
        del tables[table]
    lengths: dict[str, str | list[str]] = {}
    for at in range(ports):
        name = f"Ethernet{8 * at}"
        row = dict(small["PORT"]["Ethernet0"])
        row |= {"lanes": ",".join(str(8 * at + lane) for lane in range(8)), "alias": f"etp{at}", "index": str(at)}
        tables["PORT"][name] = row
        tables["INTERFACE"] |= {name: {}, f"{name}|10.1.{at // 128}.{2 * (at % 128)}/31": {}}
        lengths[name] = "5m"
        for table in ("PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE", "PFC_WD"):
            for key, row in small[table].items():
                if key.partition("|")[0] == "Ethernet0":
                    tables[table][name + key.removeprefix("Ethernet0")] = row
    tables["CABLE_LENGTH"] = {"AZURE": lengths}
    tables["BUFFER_POOL"]["ingress_lossless_pool"] = small["BUFFER_POOL"]["ingress_lossless_pool"] | {
        "xoff": "120000000"
    }
    return tables


def test_24_switches_with_models_are_judged(tmp_path: Path, yang_folder: Path) -> None:
    pytest.importorskip("oopt_gnpy_libyang", reason="the wheel oopt-gnpy-libyang is not here")
    for number in range(24):
        tables = big(96)
        tables["DEVICE_METADATA"]["localhost"] = tables["DEVICE_METADATA"]["localhost"] | {"hostname": f"sw{number}"}
        tables["INTERFACE"] = {
            key.replace("10.1.", f"10.{number + 1}."): row for key, row in tables["INTERFACE"].items()
        }
        tables["LOOPBACK_INTERFACE"] = {"Loopback0": {}, f"Loopback0|10.255.0.{number + 1}/32": {}}
        tables["MGMT_INTERFACE"] = {f"eth0|172.31.0.{number + 10}/16": {"gwaddr": "172.31.0.1"}}
        write(tmp_path, tables, f"sw{number}")
    assert run(["lint", str(tmp_path), "--yang", str(yang_folder)]) == 0
