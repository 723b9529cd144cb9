"""A site's own rows: added where railfab has none, refused where both would write."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.errors import InputError
from fabric.render import render_switch
from fabric.values.device_config import Tables
from fabric.values.ownership import owns_row
from fabric.values.plan import Plan, RoutingPlan
from tests.render.plans import plan


def rendered(folder: Path, text: str, name: str = "p1-l0", of: Plan | None = None) -> Tables:
    (folder / "site.yaml").write_text(text)
    return render_switch(of or plan(), name, folder).tables


def test_rows_for_all_for_a_role_for_one(tmp_path: Path) -> None:
    text = """
rows: {SNMP: {LOCATION: {Location: hall 3}}}
roles: {spine: {SNMP_COMMUNITY: {public: {TYPE: RO}}}}
switches: {p1-l0: {CRM: {Config: {polling_interval: 300}}}}
"""
    leaf, other, spine = (rendered(tmp_path, text, name) for name in ("p1-l0", "p1-l1", "s0"))
    assert leaf["SNMP"] == {"LOCATION": {"Location": "hall 3"}}
    assert leaf["CRM"] == {"Config": {"polling_interval": "300"}}
    assert "CRM" not in other
    assert "SNMP_COMMUNITY" not in leaf
    assert spine["SNMP_COMMUNITY"] == {"public": {"TYPE": "RO"}}
    assert owns_row("SNMP", "LOCATION", None, leaf), "what is desired is pushed, whatever the table"


def test_a_field_that_is_not_ours_joins_our_row(tmp_path: Path) -> None:
    got = rendered(tmp_path, "rows: {DEVICE_METADATA: {localhost: {timezone: Asia/Tokyo}}}")
    assert got["DEVICE_METADATA"]["localhost"]["timezone"] == "Asia/Tokyo"
    assert got["DEVICE_METADATA"]["localhost"]["hostname"] == "p1-l0"


def test_a_row_more_in_a_table_of_ours(tmp_path: Path) -> None:
    got = rendered(tmp_path, "rows: {NTP_SERVER: {192.0.2.9: {iburst: 'on'}}}")
    assert set(got["NTP_SERVER"]) == {"172.31.255.1", "192.0.2.9"}


def test_no_row_of_ours_changes(tmp_path: Path) -> None:
    got = rendered(tmp_path, "rows: {PORT: {Ethernet0: {tpid: '0x8100'}}}")
    assert got["PORT"]["Ethernet0"]["tpid"] == "0x8100"
    assert "tpid" not in got["PORT"]["Ethernet4"]
    (tmp_path / "site.yaml").unlink()
    assert "tpid" not in render_switch(plan(), "p1-l0").tables["PORT"]["Ethernet0"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rows: {PORT: {Ethernet0: {mtu: '9216'}}}", r"rows.PORT.Ethernet0: mtu is set already"),
        ("rows: {PORT: {Ethernet320: {description: spare}}}", r"description is railfab's to set"),
        ("rows: {DEVICE_METADATA: {localhost: {mac: '02:00:5e:00:00:01'}}}", "the router MAC is the switch's own"),
        ("rows: {BGP_NEIGHBOR: {192.0.2.1: {asn: '65000'}}}", "another writer of BGP peers"),
        ("rows: {SNMP: {}}", "no table empty"),
        ("rows: {SNMP: {LOCATION: x}}", "must be table -> key -> field -> text"),
        ("rows: {SNMP: {LOCATION: {Location: yes}}}", "True is neither text nor a whole number; quote it"),
        ("rows: {SNMP: {LOCATION: {Location: null}}}", "None is neither text"),
        ("rows: {SNMP: {LOCATION: {Location: 1.5}}}", "1.5 is neither text"),
        ("other: {}", "has other keys than rows, roles, switches"),
        ("- a", "has other keys than"),
        ("roles: {tor: {SNMP: {LOCATION: {Location: x}}}}", "no such role: tor"),
        ("switches: [a]", "switches: must be a mapping"),
        ("rows: {SNMP: {LOCATION: {a: x}}}\nroles: {leaf: {SNMP: {LOCATION: {a: y}}}}", "a is set already"),
    ],
)
def test_collisions_and_mistakes_name_the_place(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=why) as caught:
        rendered(tmp_path, text)
    assert "site.yaml" in str(caught.value)


def test_peers_beside_sonics_own_manager_are_possible_there(tmp_path: Path) -> None:
    of = plan(routing=RoutingPlan(mode="bgpcfgd"))
    got = rendered(tmp_path, "rows: {BGP_NEIGHBOR: {192.0.2.1: {asn: '65000'}}}", of=of)
    assert "192.0.2.1" in got["BGP_NEIGHBOR"]
