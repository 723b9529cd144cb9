"""Counters over a window: growth, restarts, wraps, clears; no data is not zero."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.collect.rates import Delta, delta, window
from fabric.errors import InputError
from fabric.values.snapshot import PortState, SwitchState

BEFORE = SwitchState(
    device="p1-l0", taken_at=1000.0, uptime_s=5000.0, swss_uptime_s=4900.0,
    ports={"Ethernet0": PortState("Ethernet0", flap_count=3), "Ethernet4": PortState("Ethernet4", flap_count=1)},
    counters={"Ethernet0": {"IF_IN_OCTETS": 1000, "IF_IN_ERRORS": 5}, "Ethernet4": {"IF_IN_OCTETS": 9}},
    queues={"Ethernet0:3": {"PACKETS": 10, "PFC_WD_STATUS": "operational"}},
    pgs={"Ethernet0:3": {"DROPPED_PACKETS": 0}},
)  # fmt: skip
AFTER = replace(
    BEFORE, taken_at=1060.0, uptime_s=5060.0, swss_uptime_s=4960.0,
    ports={"Ethernet0": PortState("Ethernet0", flap_count=7), "Ethernet8": PortState("Ethernet8", flap_count=1)},
    counters={"Ethernet0": {"IF_IN_OCTETS": 7000, "IF_IN_ERRORS": 5, "NEW": 4}, "Ethernet8": {"IF_IN_OCTETS": 1}},
    queues={"Ethernet0:3": {"PACKETS": 70, "PFC_WD_STATUS": "stormed"}},
    pgs={"Ethernet0:3": {"DROPPED_PACKETS": 6}},
)  # fmt: skip


def test_growth_and_rate_of_what_both_samples_have() -> None:
    seen = window(BEFORE, AFTER)
    assert (seen.device, seen.seconds, seen.restarted, seen.notes) == ("p1-l0", 60.0, False, ())
    assert seen.ports == {"Ethernet0": {"IF_IN_OCTETS": Delta(6000, 100.0), "IF_IN_ERRORS": Delta(0, 0.0)}}
    assert seen.queues == {"Ethernet0:3": {"PACKETS": Delta(60, 1.0)}}, "text does not grow"
    assert seen.pgs == {"Ethernet0:3": {"DROPPED_PACKETS": Delta(6, 0.1)}}
    assert seen.flaps == {"Ethernet0": 4, "Ethernet8": None}


def test_a_restart_inside_the_window_counts_from_zero() -> None:
    seen = window(BEFORE, replace(AFTER, swss_uptime_s=20.0))
    assert seen.restarted
    assert seen.ports["Ethernet0"]["IF_IN_OCTETS"] == Delta(7000, 7000 / 60, cleared=True)
    assert seen.flaps == {"Ethernet0": None, "Ethernet8": None}
    assert "started again" in seen.notes[0]
    assert window(BEFORE, replace(AFTER, swss_uptime_s=None, uptime_s=30.0)).restarted
    quiet = replace(AFTER, swss_uptime_s=None, uptime_s=None, ports={"Ethernet0": PortState("Ethernet0", flap_count=1)})
    assert window(replace(BEFORE, swss_uptime_s=None, uptime_s=None), quiet).restarted, "flap counts fell"


def test_a_wrap_is_growth_and_a_clear_is_a_lower_bound() -> None:
    assert delta(2**64 - 10, 5, 1.0) == Delta(15, 15.0)
    assert delta(1_000_000, 5, 1.0) == Delta(5, 5.0, cleared=True)
    assert delta(2**32 - 10, 5, 1.0).cleared, "32 bits wrap nowhere in SAI: that was a clear"


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.floats(0.1, 1e6))
def test_growth_is_never_negative(before: int, after: int, over: float) -> None:
    for restarted in (False, True):
        grown = delta(before, after, over, restarted=restarted)
        assert grown.value >= 0
        assert grown.per_s >= 0


@given(st.integers(0, 2**63), st.integers(0, 2**62), st.integers(0, 2**62))
def test_two_windows_add_up_to_the_whole(start: int, first: int, second: int) -> None:
    whole = delta(start, start + first + second, 2.0)
    halves = delta(start, start + first, 1.0), delta(start + first, start + first + second, 1.0)
    assert whole.value == sum(half.value for half in halves)


def test_samples_of_two_switches_or_out_of_order_are_refused() -> None:
    for before, after in ((BEFORE, replace(AFTER, device="s0")), (AFTER, BEFORE), (BEFORE, BEFORE)):
        with pytest.raises(InputError):
            window(before, after)


def test_a_window_shorter_than_the_poll_says_so() -> None:
    assert "shorter than the switch polls" in window(BEFORE, replace(AFTER, taken_at=1001.0)).notes[0]
