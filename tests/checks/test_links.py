"""Links, flaps, signal and optics: the field cases, and what tells a dying optic from a bounced host."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from fabric.checks import Limits
from fabric.errors import InputError
from fabric.values.change import Held
from fabric.values.finding import Severity, Status, exit_code
from fabric.values.plan import LifeState, Outage
from fabric.values.snapshot import Optic, Snapshot
from fabric.whatif.faults import (
    AdminDown,
    BitErrors,
    Counter,
    Cut,
    Fault,
    Flap,
    LoseNextHop,
    Rebooted,
    Sensor,
    Setting,
)
from fabric.whatif.synthetic import place
from tests.checks.bench import BEFORE, NOW, everything, judge, judged, only, small, top, with_hosts

UPLINK = "p1-l0:Ethernet256"
HOST = "p1-l0:Ethernet0"


def port(snapshot: Snapshot, at: str, **changes: Any) -> Snapshot:
    """The snapshot with fields of one port changed."""
    device, _, name = at.partition(":")
    state = snapshot.switches[device]
    ports = dict(state.ports or {})
    ports[name] = dataclasses.replace(ports[name], **changes)
    return dataclasses.replace(
        snapshot, switches={**snapshot.switches, device: dataclasses.replace(state, ports=ports)}
    )


# Differences


@pytest.mark.parametrize(
    ("field", "value", "code", "words"),
    [
        ("speed_mbps", 400_000, "PHY-03", "speed 400G instead of 800G"),
        ("fec", "none", "PHY-03", "FEC none instead of rs"),
        ("lanes", tuple(range(4)), "PHY-03", "4 lanes instead of 8"),
        ("oper_speed_mbps", 400_000, "PHY-03", "runs at 400G instead of 800G"),
        ("oper_fec", "none", "PHY-03", "runs with FEC none instead of rs"),
        ("mtu", 9000, "ADDR-03", "MTU 9000"),
    ],
)
def test_each_difference_is_one_finding_that_says_both_values(field: str, value: Any, code: str, words: str) -> None:
    finding = only(judge(small(), [Setting(place(UPLINK), field, value)]))
    assert (finding.code, finding.status) == (code, Status.FAIL)
    assert words in (finding.observed or "")
    assert finding.expected
    assert (finding.device, finding.port) == ("p1-l0", "Ethernet256")


def test_what_a_switch_does_not_say_is_no_difference() -> None:
    fabric = small()
    blank = port(fabric.snapshot(), UPLINK, fec=None, oper_fec="N/A", oper_speed_mbps=None, lanes=(), mtu=None)
    assert judged(fabric.plan, blank).findings == ()


def test_a_nic_with_another_mtu_is_named_at_the_host() -> None:
    fabric = with_hosts()
    snapshot = fabric.snapshot()
    host = snapshot.hosts["gpu002"]
    nics = dict(host.nics or {})
    name = next(iter(nics))
    nics[name] = dataclasses.replace(nics[name], mtu=1500)
    changed = dataclasses.replace(snapshot, hosts={**snapshot.hosts, "gpu002": dataclasses.replace(host, nics=nics)})
    finding = only(judged(fabric.plan, changed))
    assert (finding.code, finding.node, finding.nic) == ("ADDR-03", "gpu002", "rail0")
    assert "MTU 1500 at gpu002 rail0" in (finding.observed or "")


# Down, and on purpose


def test_a_cut_says_how_long_and_where_light_is_missing() -> None:
    finding = only(judge(small(), [Cut(place(UPLINK))]))
    assert finding.observed == "link down for 10 min"
    assert "no light arrives at p1-l0 Ethernet256" in (finding.evidence or "")


def test_holds_are_obeyed_until_they_end() -> None:
    fabric = small()
    snapshot = fabric.snapshot([AdminDown(place(UPLINK))])
    hold = Held("p1-l0", "Ethernet256", "down", "up", reason="waits for an optic", until="2026-12-31")
    report = judged(fabric.plan, snapshot, held=[hold])
    finding = only(report)
    assert (finding.status, finding.severity) == (Status.WARN, Severity.INFO)
    assert "waits for an optic" in (finding.observed or "")
    assert exit_code(report.summary) == 0
    over = judged(fabric.plan, snapshot, held=[dataclasses.replace(hold, until="2026-09-20")])
    assert sorted(top(over)) == [("LIFE-02", "warn"), ("PHY-05", "fail")]


def test_a_hold_on_the_far_end_counts_too() -> None:
    fabric = small()
    snapshot = fabric.snapshot([AdminDown(place(UPLINK))])
    report = judged(fabric.plan, snapshot, held=[Held("s0", "", "", "", reason="maintenance")])
    assert not [finding for finding in report.findings if finding.status is Status.FAIL]


def test_an_outage_past_its_end_is_a_finding() -> None:
    plan = small().plan
    for until, expected in (("2026-09-20", ["LIFE-01"]), ("2026-12-31", []), (None, [])):
        hosts = dict(plan.hosts)
        outage = Outage("waits for a GPU", "ops", until)
        hosts["gpu002"] = dataclasses.replace(hosts["gpu002"], state=LifeState.OUT_OF_SERVICE, outage=outage)
        report = judged(dataclasses.replace(plan, hosts=hosts), small().snapshot())
        assert [finding.code for finding in report.findings] == expected


# Flaps


def flapped(times: int, before: bool = True, window: float | None = 60.0) -> Any:
    fabric = small()
    options: dict[str, Any] = {"window_s": window}
    if before:
        options["baseline"] = fabric.snapshot(at=BEFORE)
    return judge(fabric, [Flap(place(UPLINK), times)], **options)


@pytest.mark.parametrize("times", [1, 2, 5])
def test_flaps_are_counted_once_for_both_ends(times: int) -> None:
    finding = only(flapped(times))
    assert finding.code == "PHY-04"
    assert (finding.observed or "").startswith(f"{times} flap{'s' if times > 1 else ''} in 60 s")


def test_a_baseline_from_after_the_flap_is_clean() -> None:
    fabric = small()
    after = fabric.snapshot([Flap(place(UPLINK), 3)], at=BEFORE)
    now = fabric.snapshot([Flap(place(UPLINK), 3, when=BEFORE - 30)])
    assert judged(fabric.plan, now, baseline=after, window_s=60).findings == ()


def test_without_a_baseline_a_last_down_time_inside_the_window_is_one_flap() -> None:
    finding = only(flapped(4, before=False))
    assert (finding.observed or "").startswith("1 flap in 60 s")


def test_without_a_baseline_an_old_last_down_time_is_none() -> None:
    assert judge(small(), [Flap(place(UPLINK), 4, when=NOW - 3600)], window_s=60).findings == ()


def test_without_either_nobody_can_tell() -> None:
    fabric = small()
    snapshot = fabric.snapshot()
    for name, state in list(snapshot.switches.items()):
        ports = {
            key: dataclasses.replace(one, flap_count=None, last_down_time=None, last_up_time=None)
            for key, one in (state.ports or {}).items()
        }
        snapshot = dataclasses.replace(
            snapshot, switches={**snapshot.switches, name: dataclasses.replace(state, ports=ports)}
        )
    report = judged(fabric.plan, snapshot, window_s=60)
    assert {(finding.code, finding.status) for finding in report.findings} == {("PHY-04", Status.UNKNOWN)}
    assert exit_code(report.summary) == 2
    assert judged(fabric.plan, snapshot).findings == ()


def test_an_odd_count_is_rounded_up() -> None:
    fabric = small()
    now = port(fabric.snapshot(), UPLINK, flap_count=4)
    finding = only(judged(fabric.plan, now, baseline=fabric.snapshot(at=BEFORE), window_s=60))
    assert (finding.observed or "").startswith("2 flaps")


def test_F050_one_bounce_after_a_module_was_put_in_is_none() -> None:
    fabric = small()
    before = fabric.snapshot(at=BEFORE)
    state = before.switches["p1-l0"]
    optics = {**(state.optics or {}), "Ethernet256": Optic("Ethernet256", present=False)}
    before = dataclasses.replace(
        before, switches={**before.switches, "p1-l0": dataclasses.replace(state, optics=optics)}
    )
    once = port(fabric.snapshot(), UPLINK, flap_count=3, last_down_time=NOW - 20)
    assert judged(fabric.plan, once, baseline=before, window_s=60).findings == ()
    often = port(fabric.snapshot(), UPLINK, flap_count=7, last_down_time=NOW - 20)
    assert only(judged(fabric.plan, often, baseline=before, window_s=60)).code == "PHY-04"


def test_counters_that_started_again_are_not_compared_with_the_old_ones() -> None:
    fabric = small()
    before = port(fabric.snapshot(at=BEFORE), UPLINK, flap_count=41)
    report = judge(fabric, [Rebooted("p1-l0", NOW - 30)], baseline=before, window_s=60)
    assert top(report) == [("DEV-02", "warn")]


def test_a_host_flap_blocks_and_one_fabric_flap_warns() -> None:
    fabric = small()
    for at, severity in ((HOST, Severity.BLOCK), (UPLINK, Severity.WARN)):
        report = judge(fabric, [Flap(place(at), 1)], baseline=fabric.snapshot(at=BEFORE), window_s=60)
        assert only(report).severity is severity


def test_repeat_offenders_are_remembered() -> None:
    fabric = small()
    history = [
        port(fabric.snapshot(at=BEFORE - 60 * age), UPLINK, flap_count=1 + 2 * (5 - age)) for age in range(5, 0, -1)
    ]
    now = port(fabric.snapshot(), UPLINK, flap_count=13, last_down_time=NOW - 5)
    finding = only(judged(fabric.plan, now, baseline=history[-1], window_s=60, history=history))
    assert finding.severity is Severity.BLOCK
    assert "a repeat offender: flaps in 4 earlier window(s)" in (finding.evidence or "")


def test_a_window_is_needed_to_judge_flaps_at_all() -> None:
    report = judge(small(), [Flap(place(UPLINK), 3)])
    assert report.findings == ()
    assert any(note.startswith("not judged: flaps") for note in report.notes)


# Signal and optics


@pytest.mark.parametrize(
    ("ber", "expected"),
    [(4e-9, []), (1e-7, []), (2e-5, [("PHY-01", "warn")]), (2e-4, [("PHY-01", "fail")])],
    ids=["F060-low", "F060-25-times", "warn", "fail"],
)
def test_F060_raw_bit_errors_fail_only_near_the_wall(ber: float, expected: list[tuple[str, str]]) -> None:
    assert top(judge(small(), [BitErrors(place(UPLINK), ber)])) == expected


def uncorrectable(at: str = UPLINK, count: int = 12) -> Fault:
    return Counter(place(at), "counters", "IF_IN_FEC_NOT_CORRECTABLE_FRAMES", count)


def test_uncorrectable_codewords_warn_once_and_fail_when_they_come_again() -> None:
    fabric = small()
    base = fabric.snapshot(at=BEFORE)
    finding = only(judge(fabric, [uncorrectable()], baseline=base))
    assert (finding.code, finding.status) == ("PHY-02", Status.WARN)
    assert "12 uncorrectable codewords in 60 s" in (finding.observed or "")
    history = [fabric.snapshot(at=BEFORE - 60), fabric.snapshot([uncorrectable(count=4)], at=BEFORE)]
    again = judge(fabric, [uncorrectable()], baseline=history[-1], history=history)
    assert only(again).status is Status.FAIL


def test_uncorrectable_codewords_since_boot_say_nothing_without_a_baseline() -> None:
    report = judge(small(), [uncorrectable()])
    assert report.findings == ()
    assert any("counters need --baseline" in note for note in report.notes)


def test_F054_corrected_and_symbol_errors_a_few_apart_are_no_finding() -> None:
    fabric = small()
    faults = [
        Counter(place(UPLINK), "counters", "IF_IN_FEC_CORRECTABLE_FRAMES", 69),
        Counter(place(UPLINK), "counters", "IF_IN_FEC_SYMBOL_ERRORS", 67),
    ]
    assert judge(fabric, faults, baseline=fabric.snapshot(at=BEFORE)).findings == ()


def test_a_predicted_frame_loss_above_the_objective_fails() -> None:
    fabric = small()
    snapshot = fabric.snapshot()
    state = snapshot.switches["p1-l0"]
    rates = {**(state.rates or {}), "Ethernet256": {"FEC_FLR_PREDICTED": 1e-9, "FEC_PRE_BER": 1e-9}}
    changed = dataclasses.replace(
        snapshot, switches={**snapshot.switches, "p1-l0": dataclasses.replace(state, rates=rates)}
    )
    assert top(judged(fabric.plan, changed)) == [("PHY-02", "fail")]


@pytest.mark.parametrize(
    ("sensor", "value", "status", "words"),
    [
        ("rx3power", -8.0, "warn", "below its warning threshold -7"),
        ("rx3power", -9.5, "fail", "below its alarm threshold -9"),
        ("temperature", 71.0, "warn", "above its warning threshold 70"),
        ("tx1bias", 155.0, "fail", "above its alarm threshold 150"),
        ("voltage", 3.0, "warn", "below its warning threshold 3.135"),
        ("rx3power", -2.5, "warn", "lane 3 receives 3.7 dB less than the best lane"),
    ],
)
def test_modules_are_judged_by_their_own_thresholds(sensor: str, value: float, status: str, words: str) -> None:
    report = judge(small(), [Sensor(place(UPLINK), sensor, value)])
    assert top(report) == [("PHY-03", status)]
    assert words in (only(report).observed or "")


def test_a_fall_since_the_baseline_warns() -> None:
    fabric = small()
    report = judge(fabric, [Sensor(place(UPLINK), "rx2power", -1.0)], baseline=fabric.snapshot(at=BEFORE))
    assert "2.2 dB less than in the baseline" in (only(report).observed or "")


def test_a_dying_optic_is_one_story() -> None:
    """Weak light, bit errors, flaps: one cable, one finding with the rest under it."""
    fabric = small()
    faults: list[Fault] = [
        Flap(place(UPLINK), 3),
        BitErrors(place(UPLINK), 3e-4),
        Sensor(place(UPLINK), "rx2power", -9.5),
    ]
    report = judge(fabric, faults, baseline=fabric.snapshot(at=BEFORE), window_s=60)
    finding = only(report)
    assert finding.code == "PHY-04"
    assert {one.code for one in everything(finding.consequences)} == {"PHY-01", "PHY-03"}


def test_limits_can_be_changed() -> None:
    strict = Limits(ber_warn=1e-10, ber_fail=1e-9)
    report = judge(small(), [BitErrors(place(UPLINK), 2e-10)], limits=strict)
    assert ("PHY-01", "warn") in top(report)


# The run itself


def test_bad_arguments_are_refused_with_a_reason() -> None:
    fabric = small()
    other = dataclasses.replace(fabric.snapshot(), fabric="elsewhere")
    for options, words in (
        ({"only": ["cables"]}, "there is no check 'cables'"),
        ({"baseline": fabric.snapshot(at=NOW + 60)}, "later than the snapshot"),
    ):
        with pytest.raises(InputError, match=words):
            judge(fabric, **options)
    with pytest.raises(InputError, match="elsewhere"):
        judged(fabric.plan, other)


def test_scope_judges_a_part_and_names_only_that() -> None:
    faults: list[Fault] = [
        Cut(place(UPLINK)),
        Cut(place("p1-l3:Ethernet0")),
        LoseNextHop("p1-l2", "10.101.1.0/25", "10.254.0.17", "asic"),
    ]
    report = judge(small(), faults, scope=["p1-l0"])
    assert top(report) == [("PHY-05", "fail")]
    assert report.summary.devices == 1


def test_a_report_is_the_same_every_time() -> None:
    faults: list[Fault] = [
        Cut(place(UPLINK)),
        Setting(place("p1-l1:Ethernet4"), "mtu", 1500),
        Flap(place("p1-l2:Ethernet8"), 2),
    ]
    fabric = small()
    base = fabric.snapshot(at=BEFORE)
    first = judge(fabric, faults, baseline=base, window_s=60)
    assert all(judge(fabric, faults, baseline=base, window_s=60) == first for _ in range(3))
