"""COUNTERS_DB CRM:STATS: read as numbers, or a hole with its reason."""

from __future__ import annotations

import pytest

from fabric.collect.ask import database_jobs
from fabric.collect.parse_counters import crm
from fabric.collect.parts import DEFAULT_PARTS, Part, parse_parts
from fabric.collect.tables import Database
from fabric.errors import CollectError


def test_crm_is_read_by_its_one_key() -> None:
    assert database_jobs({Part.CRM})["COUNTERS_DB"] == ("H CRM:STATS",)
    assert Part.CRM in DEFAULT_PARTS
    assert Part.CRM in parse_parts(["ecmp"])


def test_numbers_are_taken_and_the_rest_is_not() -> None:
    row = {
        "crm_stats_nexthop_group_used": "7", "crm_stats_nexthop_group_available": "505",
        "crm_stats_ipv4_route_used": "many", "crm_stats_ipv6_route_used": "-1", "other": "3",
    }  # fmt: skip
    assert crm(Database(hashes={"CRM:STATS": row})) == {"nexthop_group_used": 7, "nexthop_group_available": 505}


@pytest.mark.parametrize("row", [{}, {"crm_stats_nexthop_group_used": "N/A"}])
def test_no_number_is_a_hole(row: dict[str, str]) -> None:
    with pytest.raises(CollectError, match="CRM:STATS"):
        crm(Database(hashes={"CRM:STATS": row}))
