"""Verdicts on files nobody here wrote: the sound pass SONiC's models, the unsound have their faults named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.lint import YangModels, lint_tables
from fabric.lint.shape import read_tables
from fabric.values.finding import Finding, Status
from tests.lint.test_yang import models

__all__ = ["models"]


def load(shared: Path, name: str) -> Any:
    return json.loads((shared / "real" / name).read_text(encoding="utf-8"))


def fails(findings: list[Finding]) -> set[tuple[str, str]]:
    return {
        (finding.code, (finding.evidence or "").partition(" = ")[0])
        for finding in findings
        if finding.status is Status.FAIL
    }


def test_wide_sample_passes_the_models(shared: Path, models: YangModels) -> None:
    sample = load(shared, "config_db/sample_config_db.json")
    assert models.judge(sample["SAMPLE_CONFIG_DB_JSON"]) == []
    assert models.unknown_tables(sample["SAMPLE_CONFIG_DB_JSON"]) == ()
    assert models.judge(sample["SAMPLE_CONFIG_DB_SPECIAL_CASE"]) == []
    assert models.unknown_tables(sample["SAMPLE_CONFIG_DB_UNKNOWN"]) == ("UNKNOWN_TABLE",)


@pytest.mark.parametrize(
    "name",
    ["qos/buffers-mellanox4600c-t1-dynamic.json", "qos/buffers-mellanox4600c-t1.json", "qos/qos-arista7060x6.json"],
)
def test_sound_fragments_have_no_failure_and_say_what_they_lack(shared: Path, models: YangModels, name: str) -> None:
    findings = lint_tables(load(shared, name), yang=models)
    assert fails(findings) == set()
    assert [finding.evidence for finding in findings if finding.status is Status.UNKNOWN] == ["PORT"]


def test_fragment_with_its_ports_passes_the_models(shared: Path, models: YangModels) -> None:
    tables, _ = read_tables(load(shared, "qos/qos-arista7060x6.json"))
    ports = {key.partition("|")[0] for key in (*tables["QUEUE"], *tables["PORT_QOS_MAP"])} - {"global"}
    whole = {**tables, "PORT": {port: {"lanes": str(at), "speed": "100000"} for at, port in enumerate(sorted(ports))}}
    assert models.judge(whole) == []


def test_f004_old_references_are_read_as_the_migrated_ones(shared: Path) -> None:
    old, said = read_tables(load(shared, "qos/qos_tables_db_field_value_reference_format_3_0_1.json"))
    new, silent = read_tables(load(shared, "qos/qos_tables_db_field_value_reference_format_3_0_3.json"))
    assert {finding.code for finding in said} == {"CFG-05"}
    assert silent == []
    for table in ("PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PROFILE"):
        assert old[table] == new[table]


def test_old_references_do_not_change_the_models_verdict(shared: Path, models: YangModels) -> None:
    verdicts = [
        fails(lint_tables(load(shared, f"qos/qos_tables_db_field_value_reference_format_{form}.json"), yang=models))
        for form in ("3_0_1", "3_0_3")
    ]
    refused = [{place for code, place in verdict if code == "CFG-07"} for verdict in verdicts]
    assert refused[0] == refused[1] == {"BUFFER_PROFILE|egress_lossy_profile field mode"}


def test_vendor_file_with_ports_in_one_key_is_read(shared: Path, models: YangModels) -> None:
    findings = lint_tables(load(shared, "qos/qos.json"), yang=models)
    assert [finding.code for finding in findings if finding.status is Status.UNKNOWN] == ["CFG-08"]
    assert {finding.code for finding in findings if finding.status is Status.FAIL} == {"CFG-55", "CFG-56", "CFG-60"}


def test_empty_tables_of_a_reload_result_are_named(shared: Path, models: YangModels) -> None:
    findings = lint_tables(load(shared, "qos/config_qos.json"), yang=models)
    assert {finding.evidence for finding in findings if finding.code == "CFG-04"} == {"PORT_QOS_MAP", "QUEUE"}
    assert fails(findings) == set()


def test_t1_with_members_of_another_age(shared: Path, models: YangModels) -> None:
    found = fails(lint_tables(load(shared, "config_db/counterpoll-t1-config_db.json"), yang=models))
    assert {place for code, place in found if code == "CFG-07"} == {
        *(f"PORTCHANNEL|PortChannel000{n} field members" for n in (1, 2, 3, 4)),
        *(f"DEVICE_NEIGHBOR_METADATA|ARISTA0{n}T1 field lo_addr" for n in (1, 2, 3, 4)),
        "FEATURE|telemetry field status",
    }
    assert "CFG-61" in {code for code, _ in found}  # F079: default_pfcwd_status disable and no PFC_WD


def test_hand_built_routers_have_their_faults_named(shared: Path, models: YangModels) -> None:
    first = fails(lint_tables(load(shared, "config_db/P1.json"), yang=models))
    assert ("CFG-21", "INTERFACE|Ethernet64|fc00::82/126 ") in first
    assert ("CFG-07", "BGP_GLOBALS_AF|default|ipv6_unicast field redistribute_connected") in first
    second = lint_tables(load(shared, "config_db/PE1.json"), yang=models)
    assert ("CFG-07", "BGP_GLOBALS|Vrf1 field router_id") in fails(second)
    assert [finding.evidence for finding in second if finding.code == "CFG-06"] == ["SRV6_MY_SOURCE"]


def test_flat_dumps_are_read_as_tables(shared: Path, models: YangModels) -> None:
    for name in ("config_db/t1-flat-config_db.json", "config_db/acs-msn4700-t1-version_3_0_3.json"):
        data = load(shared, name)
        tables, said = read_tables(data)
        assert not [finding for finding in said if finding.code == "CFG-01"]
        assert sum(len(rows) for rows in tables.values()) == sum("|" in key for key in data)
        lint_tables(data, yang=models)
    t1 = fails(lint_tables(load(shared, "config_db/t1-flat-config_db.json"), yang=models))
    assert "CFG-02" not in {code for code, _ in t1}


def test_broken_out_box_with_shared_lanes(shared: Path, models: YangModels) -> None:
    findings = lint_tables(load(shared, "config_db/acs-msn4700-t1-version_3_0_3.json"), yang=models)
    assert ("CFG-10", "PORT|Ethernet0 field lanes") in fails(findings)
