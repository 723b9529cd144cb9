"""Headroom models reproduce the real tables; hand-made tables are judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.errors import PlatformError
from fabric.platforms import load
from fabric.platforms.headroom import (
    covering_row,
    exact_row,
    judge_profile_name,
    judge_rows,
    model_xoff,
    spectrum4_headroom,
    tomahawk5_xoff,
)
from fabric.platforms.sonic_files import read_headroom_rows
from fabric.values.finding import Status
from fabric.values.plan import HeadroomRow

FAST = [row for row in load("dell-z9864f-o64").headroom if row.speed_mbps >= 100_000]


@pytest.mark.parametrize("row", FAST, ids=lambda row: f"{row.speed_mbps}-{row.cable_m}m")
def test_tomahawk5_model_reproduces_the_dell_table(row: HeadroomRow) -> None:
    assert tomahawk5_xoff(row.speed_mbps, row.cable_m) == pytest.approx(row.xoff, rel=0.003)


@pytest.mark.parametrize(("speed", "xoff"), [(200_000, 301_146), (400_000, 536_761), (800_000, 1_016_821)])
def test_tomahawk5_model_at_100_m_is_the_interpolated_value(speed: int, xoff: int) -> None:
    assert tomahawk5_xoff(speed, 100) == pytest.approx(xoff, rel=0.003)


def test_spectrum4_model_reproduces_the_sn5600_table_exactly(shared: Path) -> None:
    table = read_headroom_rows(shared / "real" / "platform" / "sn5600" / "ACS-SN5600" / "pg_profile_lookup.ini")
    fast = [row for row in table if row.speed_mbps >= 100_000]
    assert len(fast) == 12
    for row in fast:
        made = spectrum4_headroom(row.speed_mbps, row.cable_m)
        assert (made.xoff, made.xon) == (row.xoff, row.xon), row
        # Two of the vendor's 800G sizes are 1 KiB below xoff + xon + MTU rounded up.
        assert made.size - row.size in ((0, 1024) if row.speed_mbps == 800_000 else (0,)), row


@pytest.mark.parametrize(
    ("speed", "cable", "size", "xoff"), [(400_000, 5, 117_760, 98_304), (800_000, 5, 156_672, 108_544)]
)
def test_spectrum4_model_with_half_small_packets_and_mtu_9100(speed: int, cable: int, size: int, xoff: int) -> None:
    made = spectrum4_headroom(speed, cable, port_mtu=9100, small_packet_percent=50)
    assert (made.size, made.xoff) == (size, xoff)
    shared = spectrum4_headroom(speed, cable, port_mtu=9100, small_packet_percent=50, shared_pool=True)
    assert shared.size == shared.xon


def test_f086_a_missing_row_lists_the_lengths_and_offers_without_choosing() -> None:
    rows = load("arista-7060x6-64pe-o128s2").headroom
    with pytest.raises(PlatformError, match=r"5m, 40m, 150m; 40m would cover it"):
        exact_row(rows, 400_000, 30)
    assert exact_row(rows, 400_000, 40).xoff == 612_140
    assert covering_row(rows, 400_000, 30).cable_m == 40
    with pytest.raises(PlatformError, match="none covers it"):
        covering_row(rows, 400_000, 151)
    with pytest.raises(PlatformError, match="no headroom row for 800G at all"):
        covering_row(rows, 800_000, 5)


def test_f088_zero_metres_is_refused_for_a_lossless_port() -> None:
    rows = load("dell-z9864f-o64").headroom
    for choose in (exact_row, covering_row):
        with pytest.raises(PlatformError, match="0 m means"):
            choose(rows, 400_000, 0)


def test_f089_a_profile_of_another_length_or_speed_is_a_failure() -> None:
    assert judge_profile_name(400_000, 300, "pg_lossless_400000_300m_profile") is None
    old = judge_profile_name(400_000, 300, "pg_lossless_400000_5m_profile")
    assert old is not None
    assert old.status is Status.FAIL
    assert "300m" in str(old.expected)
    assert "5m" in str(old.observed)
    assert judge_profile_name(200_000, 5, "pg_lossless_400000_5m_profile") is not None


def test_f091_flat_table_of_arista_warns(shared: Path) -> None:
    path = shared / "real" / "platform" / "arista-7060x6-64pe" / "O128S2" / "pg_profile_lookup.ini"
    findings = judge_rows("arista", read_headroom_rows(path), "th5")
    assert [finding.status for finding in findings] == [Status.WARN]
    assert "5m, 40m, 150m alike" in str(findings[0].observed)


def test_f091_odd_xon_offset_and_shrinking_xoff() -> None:
    def row(cable: int, xoff: int, offset: int) -> HeadroomRow:
        return HeadroomRow(400_000, cable, 18_796, 0, xoff, 0, offset)

    table = (row(5, 400_000, 3556), row(30, 430_000, 3356), row(40, 900_000, 3556), row(300, 850_000, 3556))
    findings = judge_rows("made-up", table)
    assert {finding.status for finding in findings} == {Status.WARN, Status.FAIL}
    assert any(finding.status is Status.WARN and "3356 for 400G 30m" in str(finding.observed) for finding in findings)
    assert any(finding.status is Status.FAIL and "300m" in str(finding.expected) for finding in findings)


def test_f091_a_vendor_row_below_the_model_warns() -> None:
    table = (HeadroomRow(800_000, 300, 18_796, 0, 612_140, 0, 3556),)
    (finding,) = judge_rows("nexthop-4010", table, "th5")
    assert finding.status is Status.WARN
    assert "612140 bytes in the vendor's table" in str(finding.observed)


def test_the_dell_and_nvidia_tables_are_clean_where_the_model_knows() -> None:
    assert judge_rows("dell", FAST, "th5") == []
    assert judge_rows("nvidia", load("nvidia-sn5600").headroom, "spc4") == []


@given(
    speed=st.sampled_from([100_000, 200_000, 400_000, 800_000]),
    asic=st.sampled_from(["th5", "spc4"]),
    short=st.integers(1, 2000),
    more=st.integers(0, 2000),
)
def test_a_longer_cable_never_needs_less(speed: int, asic: str, short: int, more: int) -> None:
    low, high = model_xoff(asic, speed, short), model_xoff(asic, speed, short + more)
    assert low is not None
    assert high is not None
    assert low <= high


def test_no_model_no_number() -> None:
    assert model_xoff("xgs-unknown", 400_000, 5) is None
    assert model_xoff("th5", 25_000, 5) is None
    with pytest.raises(PlatformError):
        tomahawk5_xoff(25_000, 5)
