"""The arithmetic: figures of SAKURA's fabric by hand, and verdicts that follow from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabric.render.explain import Arithmetic, explain, lines
from fabric.render.qos import pause_point
from fabric.values.finding import Status
from fabric.values.plan import LifeState, Plan, PlannedPort, PortUse
from tests.render.plans import buffers, plan, qos


def leaf_with(hosts: int, uplinks: int, *, row_m: int = 40, of: Plan | None = None) -> Plan:
    """One leaf with so many 400G host ports over 5 m and 800G uplinks over 40 m."""
    of = of or plan()
    ports = {
        f"Ethernet{8 * n}": PlannedPort(
            f"Ethernet{8 * n}", f"a{n}", n, 0, (n,), speed, "rs", 9100, PortUse.HOST, True, LifeState.IN_SERVICE,
            f"Ethernet{8 * n}", lossless=True, cable_m=metres, cable_row_m=row,
        )
        for n, (speed, metres, row) in enumerate([(400_000, 5, 5)] * hosts + [(800_000, row_m, row_m)] * uplinks)
    }  # fmt: skip
    return replace(of, switches={"p1-l0": replace(of.switches["p1-l0"], ports=ports)})


def only(of: Plan) -> Arithmetic:
    (one,) = explain(of)
    return one


@pytest.mark.parametrize(
    ("hosts", "uplinks", "demand", "load"),
    [(50, 32, 46_392_592, 1.39), (64, 32, 51_897_280, 1.55), (0, 64, 53_465_984, 1.60)],
    ids=["leaf", "leaf-full", "spine"],
)
def test_qos_06_demand_over_the_shared_headroom_pool(hosts: int, uplinks: int, demand: int, load: float) -> None:
    one = only(leaf_with(hosts, uplinks))
    assert (one.demand, round(one.load, 2), one.pool) == (demand, load, 33_374_584)
    assert [(finding.code, finding.status) for finding in one.findings] == [("QOS-06", Status.WARN)]


def test_qos_06_fails_at_twice_the_pool() -> None:
    one = only(leaf_with(50, 32, row_m=300))
    assert round(one.load, 2) == 2.14
    assert [(finding.code, finding.status) for finding in one.findings] == [("QOS-06", Status.FAIL)]


def test_qos_05_a_row_below_our_model_is_a_warning() -> None:
    short = tuple(replace(row, xoff=300_000) if row.speed_mbps == 400_000 else row for row in buffers().rows)
    one = only(leaf_with(4, 0, of=plan(buffer_plan=buffers(rows=short))))
    assert [(finding.code, finding.status) for finding in one.findings] == [("QOS-05", Status.WARN)]
    assert only(leaf_with(4, 4)).findings == ()


@pytest.mark.parametrize(
    "times",
    [{"watchdog_detection_ms": 50}, {"watchdog_restoration_ms": 100}, {"watchdog_poll_ms": 500}],
)
def test_qos_08_watchdog_times(times: dict[str, int]) -> None:
    one = only(leaf_with(4, 4, of=plan(qos_plan=qos(**times))))
    assert [(finding.code, finding.status) for finding in one.findings] == [("QOS-08", Status.FAIL)]


def test_pause_point() -> None:
    assert pause_point(162_539_680, 0, 1) == 81_269_840
    assert pause_point(162_539_680, 1, 1) == 108_359_786
    assert pause_point(162_539_680, 0, 50) == 3_187_052
    # n senders together fill the more the more they are: a lone one is the tightest case for ECN.
    totals = [n * pause_point(162_539_680, 1, n) for n in range(1, 128)]
    assert min(totals) == totals[0]


def test_dynamic_model_is_summed_by_sonics_own_formula() -> None:
    """ACS-SN5600's rows follow from the same formula at port MTU 9216: 400G over 5 m has xoff 231424."""
    figures = buffers(model="dynamic", borrowed_from=None, asic="spc4", rows=())
    of = leaf_with(1, 0, of=plan(buffer_plan=figures))
    (port,) = of.switches["p1-l0"].ports.values()
    of = replace(of, switches={"p1-l0": replace(of.switches["p1-l0"], ports={port.name: replace(port, mtu=9216)})})
    (one,) = only(of).classes
    assert (one.xoff, one.size) == (231_424, 250_880)


def test_alike_switches_are_told_once() -> None:
    assert [one.switches for one in explain(plan())] == [("p1-l0", "p1-l1"), ("s0",)]


def test_text_shows_the_sum_and_its_source() -> None:
    text = "\n".join(lines(explain(leaf_with(50, 32))))
    for part in (
        "50 x 400G over 5 m -> row 5 m: xoff 393192 bytes, our model 393191",
        "headroom demand 46392592 of 33374584 bytes in the shared headroom pool: 1.39",
        "borrowed from dell-z9864f",
        "warn: QOS-06",
    ):
        assert part in text
    assert list(lines(())) == ["no switch has a lossless class: nothing to sum"]


def test_lossy_switches_are_not_summed() -> None:
    assert explain(plan(qos_plan=qos(lossless=False))) == ()
