"""Every key and field the agent writes is one that real SONiC switches have: compared with dumps of theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.twin_fixtures import LabTwin

# database -> dumps that show it. They are fixtures trimmed by their authors, so what they lack is listed below.
DUMPS = {
    "APPL_DB": (
        "state/appl_db.json",
        "state/route/appl_db.json",
        "state/multi-asic/appl_db.json",
        "lldp/LLDP_ENTRY_TABLE.json",
    ),
    "ASIC_DB": ("state/asic_db.json", "state/route/asic_db.json"),
    "COUNTERS_DB": ("state/counters_db.json", "state/t1/counter_db.json"),
    "STATE_DB": ("state/state_db.json", "state/t1/state_db.json"),
}

# What no dump at hand shows, and where it is known from. Each must really be written, else it has to go from here.
WITHOUT_COUNTERPART = {
    ("APPL_DB", "PORT_TABLE", "subport"): "sonic.md 5.2",
    ("APPL_DB", "PORT_TABLE", "count"): "portsyncd's PortConfigDone row; sonic.md 5.2 names the marker",
    ("APPL_DB", "ROUTE_TABLE", "protocol"): "sonic.md 5.7",
    ("APPL_DB", "ROUTE_TABLE", "weight"): "sonic.md 5.7",
    ("APPL_DB", "ROUTE_TABLE", "blackhole"): "sonic.md 5.7",
    ("APPL_DB", "SWITCH_TABLE", "ecmp_hash_seed"): "sonic.md 1.9",
    ("APPL_DB", "SWITCH_TABLE", "lag_hash_seed"): "sonic.md 1.9",
    ("APPL_DB", "SWITCH_TABLE", "ordered_ecmp"): "sonic.md 1.9",
    ("APPL_DB", "SWITCH_TABLE", "fdb_aging_time"): "switch.json.j2, named in sonic.md 1.1",
    ("ASIC_DB", "SAI_OBJECT_TYPE_NEIGHBOR_ENTRY", "SAI_NEIGHBOR_ENTRY_ATTR_DST_MAC_ADDRESS"): "SAI saineighbor.h",
    (
        "ASIC_DB",
        "SAI_OBJECT_TYPE_NEXT_HOP_GROUP_MEMBER",
        "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_WEIGHT",
    ): "sonic.md 5.7; routeorch.cpp addNextHopGroup: when the APPL_DB row has weights",
    ("COUNTERS_DB", "COUNTERS", "SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS"): "sonic.md 5.5",
    ("COUNTERS_DB", "COUNTERS", "SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES"): "sonic.md 5.5",
    ("STATE_DB", "PORT_TABLE", "host_tx_ready"): "sonic.md 5.2",
}


def table_of(database: str, key: str) -> str:
    """The table of a key, and for SAI objects their type."""
    if database == "ASIC_DB":
        return key.removeprefix("ASIC_STATE:").split(":")[0]
    return re.split(r"[:|]", key)[0]


def fields_of(rows: dict[str, Any]) -> Iterator[tuple[str, set[str]]]:
    for key, row in rows.items():
        if isinstance(row, dict):
            inner = row.get("value", row) if "expireat" in row else row
            if isinstance(inner, dict):
                yield key, set(inner)


@pytest.fixture(scope="module")
def real(shared: Path) -> dict[str, dict[str, set[str]]]:
    """database -> table -> fields seen in a real switch's dump."""
    seen: dict[str, dict[str, set[str]]] = {}
    for database, files in DUMPS.items():
        for file in files:
            for key, fields in fields_of(json.loads((shared / "real" / file).read_text())):
                seen.setdefault(database, {}).setdefault(table_of(database, key), set()).update(fields)
    return seen


def written(twin: LabTwin) -> Iterator[tuple[str, str, str]]:
    """(database, table, field) of all that is in the databases of two switches of different tiers."""
    for database in DUMPS:
        for switch in ("p1-l0", "s0"):
            for key, row in twin.rows(switch, database, "*").items():
                table = table_of(database, key)
                if table.endswith("_MAP"):
                    yield database, table, ""  # its fields are names and ids
                    continue
                for field in row:
                    yield database, table, field


@pytest.mark.twin
def test_every_key_and_field_is_sonics(lab_twin: LabTwin, real: dict[str, dict[str, set[str]]]) -> None:
    unknown = set()
    for database, table, field in set(written(lab_twin)):
        if field == "NULL":
            continue  # a row without fields, in every table
        if field == "" and table in real[database]:
            continue
        if field not in real[database].get(table, set()):
            unknown.add((database, table, field))
    assert unknown - set(WITHOUT_COUNTERPART) == set()
    assert set(WITHOUT_COUNTERPART) - unknown == set(), "listed, and yet seen in a dump or not written"


@pytest.mark.twin
def test_keys_have_sonics_form(lab_twin: LabTwin) -> None:
    forms = {
        "APPL_DB": (
            r"PORT_TABLE:(Ethernet\d+|PortConfigDone|PortInitDone)",
            r"INTF_TABLE:(Ethernet|Loopback)\d+(:[0-9a-f.:]+/\d+)?",
            r"NEIGH_TABLE:Ethernet\d+:[0-9a-f.:]+",
            r"ROUTE_TABLE:[0-9a-f.:]+(/\d+)?",
            r"LLDP_ENTRY_TABLE:(Ethernet\d+|eth0)",
            r"LLDP_LOC_CHASSIS",
            r"SWITCH_TABLE:switch",
        ),
        "ASIC_DB": (
            r"ASIC_STATE:SAI_OBJECT_TYPE_(PORT|NEXT_HOP|NEXT_HOP_GROUP|NEXT_HOP_GROUP_MEMBER|ROUTER_INTERFACE|SWITCH)"
            r":oid:0x[0-9a-f]+",
            r'ASIC_STATE:SAI_OBJECT_TYPE_ROUTE_ENTRY:\{"dest":"[0-9a-f.:]+/\d+","switch_id":"oid:0x21000000000000",'
            r'"vr":"oid:0x[0-9a-f]+"\}',
            r'ASIC_STATE:SAI_OBJECT_TYPE_NEIGHBOR_ENTRY:\{"ip":"[0-9a-f.:]+","rif":"oid:0x6[0-9a-f]+",'
            r'"switch_id":"oid:0x21000000000000"\}',
        ),
        "COUNTERS_DB": (r"COUNTERS_[A-Z_]+_MAP", r"CRM:STATS", r"(COUNTERS|RATES|USER_WATERMARKS):oid:0x[0-9a-f]+"),
        "STATE_DB": (r"PORT_TABLE\|Ethernet\d+", r"SYSTEM_READY\|SYSTEM_STATE"),
    }
    for database, patterns in forms.items():
        for key in lab_twin.rows("p1-l0", database, "*"):
            assert any(re.fullmatch(pattern, key) for pattern in patterns), (database, key)


@pytest.mark.twin
def test_object_ids_say_what_they_are(lab_twin: LabTwin) -> None:
    """The type stands in the high bits (sonic.md 5.7)."""
    kinds = {
        "PORT": 0x1,
        "NEXT_HOP": 0x4,
        "NEXT_HOP_GROUP": 0x5,
        "ROUTER_INTERFACE": 0x6,
        "NEXT_HOP_GROUP_MEMBER": 0x2D,
    }
    for key in lab_twin.rows("p1-l0", "ASIC_DB", "ASIC_STATE:*"):
        match = re.fullmatch(r"ASIC_STATE:SAI_OBJECT_TYPE_(\w+):oid:(0x[0-9a-f]+)", key)
        if match and match[1] in kinds:
            assert int(match[2], 16) >> 48 == kinds[match[1]], key
