"""CRM: tables that are nearly full, full, and full with routes refused (ECMP-05)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from fabric.values.finding import Confidence, Report, Severity, Status
from fabric.values.snapshot import Snapshot
from fabric.whatif.faults import Fault, LoseNextHop
from tests.checks.bench import judged, only, small

PREFIX = "10.101.3.0/25"
LOST = LoseNextHop("p1-l1", PREFIX, "10.254.0.9", "asic")
KERNEL_TOO = LoseNextHop("p1-l1", "10.101.2.0/25", "10.254.0.9", "kernel")
ROOM = {"nexthop_group_used": 10, "nexthop_group_available": 502, "ipv6_route_used": 0, "ipv6_route_available": 0}


def _with(crm: Mapping[str, int] | None, faults: Iterable[Fault] = ()) -> Report:
    snapshot: Snapshot = small().snapshot(list(faults))
    state = dataclasses.replace(snapshot.switches["p1-l1"], crm=crm)
    snapshot = dataclasses.replace(snapshot, switches={**snapshot.switches, "p1-l1": state})
    return judged(small().plan, snapshot, only=["ecmp"])


def test_room_is_no_finding_and_no_data_is_not_counted_as_room() -> None:
    without, with_room = _with(None), _with(ROOM)
    assert without.findings == with_room.findings == ()
    assert any("no CRM counters" in note for note in without.notes)
    assert with_room.summary.passed == without.summary.passed + 1, "a table of size 0 is not counted by the ASIC"


def test_a_table_nearly_full_is_a_warning() -> None:
    finding = only(_with({**ROOM, "nexthop_group_member_used": 14_000, "nexthop_group_member_available": 2_384}))
    assert (finding.code, finding.status, finding.device) == ("ECMP-05", Status.WARN, "p1-l1")
    assert "ECMP group members 14,000 of 16,384 (85%)" in (finding.observed or "")
    assert _with({"nexthop_group_used": 80, "nexthop_group_available": 20}).findings == ()


def test_a_full_table_that_refused_nothing_is_a_warning() -> None:
    finding = only(_with({"nexthop_group_used": 512, "nexthop_group_available": 0}))
    assert (finding.status, finding.severity) == (Status.WARN, Severity.WARN)
    assert "nothing is missing yet" in (finding.observed or "")
    assert finding.consequences == ()


def test_a_full_table_is_the_cause_of_what_the_asic_refused() -> None:
    finding = only(_with({"nexthop_group_used": 512, "nexthop_group_available": 0}, [LOST]))
    assert (finding.code, finding.status, finding.severity) == ("ECMP-05", Status.FAIL, Severity.BLOCK)
    assert finding.confidence is Confidence.LIKELY
    assert "ECMP groups (512 used, none free)" in (finding.observed or "")
    below = finding.consequences
    assert [one.code for one in below] == ["BGP-03"]
    assert "ASIC_DB lacks" in (below[0].observed or "")


def test_a_full_table_does_not_explain_what_the_kernel_lost() -> None:
    report = _with({"nexthop_group_used": 512, "nexthop_group_available": 0}, [KERNEL_TOO])
    assert sorted(finding.code for finding in report.findings) == ["BGP-03", "ECMP-05"]


def test_room_in_the_tables_leaves_a_loss_as_it_is() -> None:
    assert only(_with(ROOM, [LOST])).code == "BGP-03"
