"""What is ours on a switch: every rendered row and field, and nothing a daemon or a person put there."""

from __future__ import annotations

import pytest

from fabric.render import OWNED, render_switch
from fabric.values.device_config import Tables
from fabric.values.ownership import merged, owns_field, owns_row
from fabric.values.plan import RoutingPlan
from tests.render.plans import buffers, plan

MODES = ("frr", "bgpcfgd", "frr-mgmt")
MANAGER = {"profile": "pg_lossless_400000_5m_profile"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", ["traditional", "dynamic"])
def test_every_rendered_row_and_field_is_owned(mode: str, model: str) -> None:
    figures = buffers(model=model, borrowed_from=None if model == "dynamic" else "x", asic="spc4")
    of = plan(routing=RoutingPlan(mode=mode, ipv6=True), buffer_plan=figures)
    for name in of.switches:
        tables = render_switch(of, name).tables
        assert set(tables) <= set(OWNED)
        for table, rows in tables.items():
            for key, row in rows.items():
                assert owns_row(table, key, None, tables)
                assert all(owns_field(table, field) for field in row), (table, key)


def desired() -> Tables:
    return render_switch(plan(), "p1-l0").tables


@pytest.mark.parametrize(
    ("table", "key", "row", "ours"),
    [
        ("INTERFACE", "Ethernet0|192.0.2.0/31", {}, True),
        ("INTERFACE", "PortChannel1", {}, False),
        ("LOOPBACK_INTERFACE", "Loopback1|192.0.2.1/32", {}, False),
        ("BGP_NEIGHBOR", "192.0.2.1", {"asn": "65000"}, True),
        ("BUFFER_PG", "Ethernet0|3-4", MANAGER, False),
        ("BUFFER_PG", "Ethernet0|4", {"profile": "ingress_lossy_profile"}, True),
        ("BUFFER_PROFILE", "pg_lossless_400000_5m_profile", {}, False),
        ("BUFFER_PROFILE", "egress_lossless_profile", {}, True),
        ("PORT_QOS_MAP", "Ethernet512", {"pfc_enable": "3,4"}, True),
        ("DSCP_TO_TC_MAP", "OTHER", {}, False),
        ("NTP_SERVER", "192.0.2.1", {}, True),
        ("FEATURE", "snmp", {"state": "enabled"}, False),
        ("MGMT_INTERFACE", "eth0|192.0.2.1/24", {}, False),
        ("VLAN", "Vlan100", {}, False),
        ("CRM", "Config", {}, False),
        ("VERSIONS", "DATABASE", {}, False),
    ],
)
def test_rows_we_did_not_render(table: str, key: str, row: dict[str, str], ours: bool) -> None:
    assert owns_row(table, key, row, desired()) is ours


def test_the_image_keeps_its_fields() -> None:
    assert not owns_field("DEVICE_METADATA", "mac")
    assert not owns_field("FEATURE", "auto_restart")
    assert not owns_field("PORT", "tpid")
    assert owns_field("PORT", "mtu")
    assert owns_field("QUEUE", "scheduler")
    assert not owns_field("CRM", "polling_interval")


def test_merging_twice_changes_nothing_more() -> None:
    base: Tables = {
        "DEVICE_METADATA": {"localhost": {"mac": "02:00:5e:00:00:01", "hostname": "sonic"}},
        "BUFFER_PG": {"Ethernet4|3": MANAGER, "Ethernet4|5": {"profile": "x"}},
        "BGP_NEIGHBOR": {"192.0.2.1": {"asn": "65000"}},
        "CRM": {"Config": {"polling_interval": "300"}},
    }
    once = merged(desired(), base)
    assert merged(desired(), once) == once
    assert once["DEVICE_METADATA"]["localhost"]["mac"] == "02:00:5e:00:00:01"
    assert "Ethernet4|5" not in once["BUFFER_PG"]
    assert "BGP_NEIGHBOR" not in once
    assert once["CRM"] == base["CRM"]


def test_sonics_own_groups_survive_where_sonic_makes_them() -> None:
    wanted = render_switch(plan(buffer_plan=buffers(borrowed_from=None)), "p1-l0").tables
    base: Tables = {
        "BUFFER_PG": {"Ethernet0|3": MANAGER},
        "BUFFER_PROFILE": {"pg_lossless_400000_5m_profile": {"size": "1"}},
    }
    got = merged(wanted, base)
    assert got["BUFFER_PG"]["Ethernet0|3"] == MANAGER
    assert got["BUFFER_PROFILE"]["pg_lossless_400000_5m_profile"] == {"size": "1"}
