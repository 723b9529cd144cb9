"""RoCE: running configuration, loss, pause and its source, and load against luck."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fabric.allocate import load_plan
from fabric.checks import run_checks
from fabric.checks.balance import binomial_tail, chi_square_limit, effective_members, fullest_by_luck
from fabric.render import render_switch
from fabric.values.finding import Finding, Report, Severity, Status
from fabric.values.plan import Plan
from fabric.values.snapshot import Snapshot
from fabric.whatif.faults import Counter, Fault, PfcStorm
from fabric.whatif.synthetic import Synthetic, place
from tests.checks.bench import BEFORE, only, top

LAB = Path(__file__).resolve().parents[2] / "topology" / "lab.yaml"
LEAF_PORT = "p1-l0:Ethernet0"


@cache
def lab() -> Synthetic:
    """lab.yaml, every switch running what we render."""
    plan = load_plan(LAB)
    return Synthetic(plan, config=lambda name: render_switch(plan, name), hosts=True)


@cache
def before() -> Snapshot:
    return lab().snapshot(at=BEFORE)


def judge(faults: list[Fault], change: Callable[[Snapshot], Snapshot] | None = None, baseline: bool = True) -> Report:
    snapshot = lab().snapshot(faults)
    if change is not None:
        snapshot = change(snapshot)
    return run_checks(lab().plan, snapshot, only=["roce"], baseline=before() if baseline else None)


def running(device: str, edit: Callable[[dict[str, Any]], object]) -> Callable[[Snapshot], Snapshot]:
    """Change the running CONFIG_DB of a switch."""

    def change(snapshot: Snapshot) -> Snapshot:
        state = snapshot.switches[device]
        tables: dict[str, Any] = {
            name: {key: dict(row) for key, row in rows.items()} for name, rows in (state.config or {}).items()
        }
        edit(tables)
        changed = dataclasses.replace(state, config=tables)
        return dataclasses.replace(snapshot, switches={**snapshot.switches, device: changed})

    return change


def test_what_we_render_is_what_the_check_wants() -> None:
    report = judge([])
    assert report.findings == ()
    assert report.summary.passed > 400


def test_no_configuration_is_unknown() -> None:
    plan = lab().plan
    report = run_checks(plan, Synthetic(plan).snapshot(), only=["roce"])
    assert {(finding.code, finding.status) for finding in report.findings} == {("COV-01", Status.UNKNOWN)}


def _set(table: str, key: str, field: str, value: str) -> Callable[[dict[str, Any]], object]:
    return lambda tables: tables[table][key].__setitem__(field, value)


def _drop(table: str, key: str | None = None, field: str | None = None) -> Callable[[dict[str, Any]], object]:
    def edit(tables: dict[str, Any]) -> None:
        if key is None:
            del tables[table]
        elif field is None:
            del tables[table][key]
        else:
            del tables[table][key][field]

    return edit


CONFIG = [
    pytest.param(_set("DSCP_TO_TC_MAP", "AZURE", "26", "1"), "QOS-01", "DSCP 26 (RoCE) to TC 1 on 8 ports", id="dscp"),
    pytest.param(_set("DSCP_TO_TC_MAP", "AZURE", "48", "0"), "QOS-01", "DSCP 48 (CNP) to TC 0", id="cnp"),
    pytest.param(_drop("DSCP_TO_TC_MAP", "AZURE", "7"), "QOS-01", "63 entries", id="hole-in-map"),
    pytest.param(_set("TC_TO_PRIORITY_GROUP_MAP", "AZURE", "3", "4"), "QOS-01", "priority group 4", id="pg"),
    pytest.param(_set("PORT_QOS_MAP", "Ethernet4", "pfc_enable", "3,4"), "QOS-02", "3,4 on 1 port", id="two"),
    pytest.param(_set("PORT_QOS_MAP", "Ethernet4", "pfc_enable", ""), "QOS-02", "pfc_enable empty", id="pfc-off"),
    pytest.param(_drop("PORT_QOS_MAP", "Ethernet4", "pfcwd_sw_enable"), "QOS-02", "pfcwd_sw_enable", id="unwatched"),
    pytest.param(_set("PORT", "Ethernet4", "pfc_asym", "on"), "QOS-02", "pfc_asym on", id="asymmetric"),
    pytest.param(_drop("WRED_PROFILE"), "QOS-03", "marks nothing", id="profile-gone"),
    pytest.param(_drop("QUEUE", "Ethernet4|3", "wred_profile"), "QOS-03", "has no WRED profile", id="F094-queue"),
    pytest.param(_set("WRED_PROFILE", "AZURE_LOSSLESS", "ecn", "ecn_none"), "QOS-03", "marks nothing", id="no-ecn"),
    pytest.param(
        _set("WRED_PROFILE", "AZURE_LOSSLESS", "green_max_threshold", "5000000"), "QOS-03", "to 5000000", id="kmax"
    ),
    pytest.param(_set("SCHEDULER", "scheduler.cnp", "type", "DWRR"), "QOS-04", "queue 6 is DWRR", id="cnp-not-strict"),
    pytest.param(_drop("BUFFER_PG", "Ethernet0|3"), "QOS-05", "has no headroom", id="F086-no-headroom"),
    pytest.param(
        _set("BUFFER_PG", "Ethernet0|3", "profile", "NULL"), "QOS-05", "has no headroom", id="F097-null-traditional"
    ),
    pytest.param(_drop("PFC_WD", "Ethernet0"), "QOS-08", "default_pfcwd_status is disable", id="F079-watchdog"),
    pytest.param(_set("PFC_WD", "Ethernet0", "detection_time", "800"), "QOS-08", "after 800 ms", id="watchdog-time"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "code", "words"), CONFIG)
def test_each_difference_of_the_running_configuration_is_one_finding(
    edit: Callable[[dict[str, Any]], object], code: str, words: str
) -> None:
    finding = only(judge([], running("p1-l0", edit)))
    assert (finding.code, finding.status, finding.device) == (code, Status.FAIL, "p1-l0")
    assert words in (finding.observed or "")
    assert finding.remedy


def test_F097_null_is_right_on_a_dynamic_box() -> None:
    def edit(tables: dict[str, Any]) -> None:
        tables["DEVICE_METADATA"]["localhost"]["buffer_model"] = "dynamic"
        tables["BUFFER_PG"]["Ethernet0|3"]["profile"] = "NULL"

    assert judge([], running("p1-l0", edit)).findings == ()


def test_F089_headroom_of_another_length_and_speed() -> None:
    def edit(tables: dict[str, Any]) -> None:
        tables["CABLE_LENGTH"]["AZURE"]["Ethernet0"] = "300m"
        tables["BUFFER_PG"]["Ethernet0|3"]["profile"] = "pg_lossless_200000_5m_profile"

    report = judge([], running("p1-l0", edit))
    assert [finding.code for finding in report.findings] == ["QOS-05", "QOS-05"]
    said = " ".join(finding.observed or "" for finding in report.findings)
    assert "is for 5 m" in said
    assert "is for 200G" in said


def test_F003_F004_old_references_say_the_same() -> None:
    def edit(tables: dict[str, Any]) -> None:
        for row in tables["PORT_QOS_MAP"].values():
            for field, table in (("dscp_to_tc_map", "DSCP_TO_TC_MAP"), ("tc_to_queue_map", "TC_TO_QUEUE_MAP")):
                if field in row:
                    row[field] = f"[{table}|{row[field]}]"
        for key, row in tables["QUEUE"].items():
            if "wred_profile" in row:
                tables["QUEUE"][key] = {**row, "wred_profile": f"[WRED_PROFILE|{row['wred_profile']}]"}

    assert judge([], running("p1-l0", edit)).findings == ()


def test_F017_the_global_row_is_no_port() -> None:
    report = judge([], running("p1-l0", _set("PORT_QOS_MAP", "global", "dscp_to_tc_map", "OTHER")))
    assert report.findings == ()


# Hosts


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        pytest.param({"trust": "pcp", "pfc": "0,0,0,0,0,0,0,0"}, "HOST-02", id="F084-default"),
        pytest.param({"trust": "dscp", "pfc": "0,0,0,1,0,0,0,0"}, None, id="F084-right"),
        pytest.param({"trust": "dscp", "pfc": "0,0,0,1,0,0,0,0", "ecn_roce_rp_3": "0"}, "HOST-02", id="dcqcn-off"),
        pytest.param({"rp_filter": "1"}, "HOST-03", id="rp-filter"),
        pytest.param({"pcie_width": "8", "pcie_max_width": "16"}, "HOST-04", id="F059-half-the-lanes"),
        pytest.param({"pcie_width": "16", "pcie_max_width": "16"}, None, id="full-lanes"),
    ],
)
def test_the_nic_half_is_judged_where_hosts_were_asked(settings: Mapping[str, str], code: str | None) -> None:
    def change(snapshot: Snapshot) -> Snapshot:
        host = snapshot.hosts["gpu002"]
        nics = dict(host.nics or {})
        name = next(iter(nics))
        nics[name] = dataclasses.replace(nics[name], settings=settings)
        return dataclasses.replace(snapshot, hosts={**snapshot.hosts, "gpu002": dataclasses.replace(host, nics=nics)})

    codes = {finding.code for finding in judge([], change).findings}
    assert codes == ({code} if code else set())


# Loss and pause


def test_a_drop_in_the_lossless_class_blocks() -> None:
    for table in ("queues", "pgs"):
        finding = only(judge([Counter(place(LEAF_PORT), table, "DROPPED_PACKETS", 7, key=3)]))
        assert (finding.code, finding.status, finding.severity) == ("CONG-01", Status.FAIL, Severity.BLOCK)
        assert "7 packets dropped" in (finding.observed or "")


def test_a_drop_in_a_lossy_class_does_not() -> None:
    assert judge([Counter(place(LEAF_PORT), "queues", "DROPPED_PACKETS", 7, key=0)]).findings == ()


def test_drops_since_boot_say_nothing_without_a_baseline() -> None:
    report = judge([Counter(place(LEAF_PORT), "queues", "DROPPED_PACKETS", 7, key=3)], baseline=False)
    assert report.findings == ()
    assert any("not judged" in note for note in report.notes)


def frames(at: str, count: int, priority: int = 3) -> Fault:
    return Counter(place(at), "counters", f"PFC_{priority}_RX_PKTS", count)


def test_F083_pause_for_another_priority_names_the_nic() -> None:
    finding = only(judge([frames(LEAF_PORT, 51_234, priority=0)]))
    assert finding.code == "QOS-09"
    assert "gpu001 rail0 pauses priority 0 (51,234 frames); the fabric uses 3" in (finding.observed or "")


def _idle(snapshot: Snapshot, ports: list[str]) -> Snapshot:
    """Traffic counters of these ports stand still since the baseline."""
    for at in ports:
        device, _, name = at.partition(":")
        state = snapshot.switches[device]
        counters = dict(state.counters or {})
        old = (before().switches[device].counters or {})[name]
        counters[name] = {**counters[name], "IF_OUT_OCTETS": old["IF_OUT_OCTETS"], "IF_IN_OCTETS": old["IF_IN_OCTETS"]}
        snapshot = dataclasses.replace(
            snapshot, switches={**snapshot.switches, device: dataclasses.replace(state, counters=counters)}
        )
    return snapshot


def test_F137_pause_of_an_idle_nic_warns_with_the_ports() -> None:
    ports = ["p1-l0:Ethernet4", "p1-l2:Ethernet4"]
    everywhere = [f"p1-l{rail}:Ethernet{4 * place}" for rail in range(4) for place in range(4)]
    report = judge([frames(at, 500) for at in ports], lambda snapshot: _idle(snapshot, everywhere))
    assert top(report) == [("CONG-02", "warn")] * 2
    assert [f"{finding.device}:{finding.port}" for finding in report.findings] == ports


def test_F075_one_storm_in_a_window_is_jitter() -> None:
    once = Counter(place(LEAF_PORT), "queues", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", 1, key=3)
    report = judge([once])
    assert report.findings == ()
    assert any("polling jitter" in note for note in report.notes)


def test_F076_a_storm_that_flaps_is_a_storm_whatever_its_status_says() -> None:
    often = Counter(place(LEAF_PORT), "queues", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", 98, key=3)
    finding = only(judge([often]))
    assert (finding.code, finding.status) == ("CONG-02", Status.FAIL)
    assert "98 storms detected since the baseline" in (finding.evidence or "")


def test_a_live_storm_needs_no_baseline() -> None:
    finding = only(judge([PfcStorm(place(LEAF_PORT), 3)], baseline=False))
    assert (finding.code, finding.node, finding.nic) == ("CONG-02", "gpu001", "rail0")
    assert "its watchdog says stormed" in (finding.evidence or "")


def test_F081_a_storm_is_walked_back_to_the_nic_that_started_it() -> None:
    """gpu002 rail0 pauses its leaf; the leaf pauses both spines; they pause another leaf."""
    faults = [frames("p1-l0:Ethernet4", 9000 * 60)]
    faults += [frames(f"s{spine}:Ethernet{port}", 4000 * 60) for spine in (0, 1) for port in (0, 8)]
    faults += [frames(f"p1-l1:Ethernet{port}", 2000 * 60) for port in (256, 264, 272, 280)]
    finding = only(judge(faults))
    assert (finding.node, finding.nic, finding.rail) == ("gpu002", "rail0", 0)
    assert (finding.device, finding.port) == ("p1-l0", "Ethernet4")
    assert "blocks 9 port(s) behind it" in (finding.observed or "")
    assert "sudo config interface shutdown Ethernet4" in (finding.remedy or "")


def test_a_congested_switch_is_the_source_when_nobody_pauses_it() -> None:
    finding = only(judge([frames("s0:Ethernet0", 4000 * 60), frames("s0:Ethernet8", 4000 * 60)]))
    assert "p1-l0 is congested" in (finding.observed or "")
    assert finding.node is None


def test_pause_in_a_circle_is_a_deadlock() -> None:
    """s0 is paused by p1-l0, which is paused by s1, which is paused by p1-l1, which is paused by s0."""
    faults = [
        frames("s0:Ethernet0", 4000 * 60),
        frames("p1-l0:Ethernet272", 4000 * 60),
        frames("s1:Ethernet16", 4000 * 60),
        frames("p1-l1:Ethernet256", 4000 * 60),
    ]
    finding = only(judge(faults))
    assert "deadlock" in (finding.observed or "")


# Load against luck


def _throw(rng: random.Random, flows: int, links: int) -> list[float]:
    loads = [0.0] * links
    for _ in range(flows):
        loads[rng.randrange(links)] += 1
    return loads


@pytest.mark.parametrize(("flows", "links"), [(50, 32), (200, 32), (800, 32), (12, 4), (400, 4)])
def test_random_hashing_raises_no_alarm_in_1000_runs(flows: int, links: int) -> None:
    """The stated level is one in a million groups; a thousand runs must be silent."""
    rng = random.Random(flows * links)
    limit = fullest_by_luck(flows, links, 1e-6)
    chi = chi_square_limit(links - 1, 1e-6)
    alarms = 0
    for _ in range(1000):
        loads = _throw(rng, flows, links)
        mean = flows / links
        spread = sum((load - mean) ** 2 / mean for load in loads)
        few = effective_members(loads) < 0.75 * links and spread > chi
        alarms += max(loads) / mean > limit or few
    assert alarms == 0


def test_the_limit_follows_the_flow_count() -> None:
    limits = [fullest_by_luck(flows, 32, 1e-2) for flows in (50, 200, 800, 3200)]
    assert limits == sorted(limits, reverse=True)
    # p99 of the facts' Monte Carlo (ai-fabric 5.2): 4.48, 2.56, 1.72, 1.35; the union bound lies at or just above.
    for limit, measured in zip(limits, (4.48, 2.56, 1.72, 1.35)):
        assert measured * 0.95 <= limit <= measured * 1.5


def test_the_binomial_tail_is_exact() -> None:
    assert binomial_tail(4, 0.5, 0) == 1
    assert binomial_tail(4, 0.5, 4) == pytest.approx(1 / 16)
    assert binomial_tail(4, 0.5, 3) == pytest.approx(5 / 16)
    assert binomial_tail(10, 0.1, 11) == 0


def test_chi_square_limits_are_those_of_the_tables() -> None:
    assert chi_square_limit(3, 0.05) == pytest.approx(7.815, rel=0.01)
    assert chi_square_limit(31, 0.01) == pytest.approx(52.19, rel=0.01)


def _spread(shares: dict[str, list[float]], devices: list[str], ports: list[str]) -> Callable[[Snapshot], Snapshot]:
    """Octets sent since the baseline on these ports follow `shares`; the sum stays."""

    def change(snapshot: Snapshot) -> Snapshot:
        for device in devices:
            state = snapshot.switches[device]
            old = before().switches[device].counters or {}
            counters = dict(state.counters or {})
            total = sum(counters[port]["IF_OUT_OCTETS"] - old[port]["IF_OUT_OCTETS"] for port in ports)
            for port, share in zip(ports, shares[device]):
                sent = old[port]["IF_OUT_OCTETS"] + int(total * share)
                counters[port] = {**counters[port], "IF_OUT_OCTETS": sent}
            snapshot = dataclasses.replace(
                snapshot, switches={**snapshot.switches, device: dataclasses.replace(state, counters=counters)}
            )
        return snapshot

    return change


UPLINKS = ["Ethernet256", "Ethernet264", "Ethernet272", "Ethernet280"]


def _balance(shares: list[float], qps: int) -> list[Finding]:
    from fabric.checks import Limits

    snapshot = _spread({"p1-l0": shares}, ["p1-l0"], UPLINKS)(lab().snapshot())
    report = run_checks(lab().plan, snapshot, only=["roce"], baseline=before(), limits=Limits(qps_per_nic=qps))
    return [finding for finding in report.findings if finding.code.startswith("ECMP")]


def test_F063_one_uplink_carrying_all_is_told_as_low_entropy_and_no_routing_fault() -> None:
    (finding, *_) = _balance([1.0, 0.0, 0.0, 0.0], qps=16)
    assert finding.status is Status.WARN
    assert "one link carries nearly all" in (finding.observed or "")
    assert "NCCL_IB_QPS_PER_CONNECTION" in (finding.remedy or "")


def test_a_polarised_pair_is_told_from_an_even_one() -> None:
    (finding, *_) = _balance([0.5, 0.0, 0.5, 0.0], qps=32)
    assert finding.code == "ECMP-02"
    assert "2 of 4 carry next to nothing" in (finding.observed or "")
    assert "Ethernet264" in (finding.observed or "")
    assert _balance([0.25, 0.25, 0.25, 0.25], qps=32) == []


def test_few_flows_excuse_what_many_do_not() -> None:
    shares = [0.45, 0.15, 0.25, 0.15]
    assert _balance(shares, qps=1) == []
    assert _balance(shares, qps=64)


def test_F061_tiers_with_one_seed_are_polarised() -> None:
    def change(snapshot: Snapshot) -> Snapshot:
        switches = {
            name: dataclasses.replace(state, switch={"ecmp_hash_seed": "10"})
            for name, state in snapshot.switches.items()
        }
        return dataclasses.replace(snapshot, switches=switches)

    finding = only(judge([], change))
    assert (finding.code, finding.status) == ("ECMP-03", Status.WARN)
    assert judge([]).findings == ()


def test_an_uneven_node_is_named_with_its_rail() -> None:
    def change(snapshot: Snapshot) -> Snapshot:
        state = snapshot.switches["p1-l2"]
        counters = dict(state.counters or {})
        old = (before().switches["p1-l2"].counters or {})["Ethernet0"]["IF_IN_OCTETS"]
        grew = counters["Ethernet0"]["IF_IN_OCTETS"] - old
        counters["Ethernet0"] = {**counters["Ethernet0"], "IF_IN_OCTETS": old + 5 * grew}
        changed = dataclasses.replace(state, counters=counters)
        return dataclasses.replace(snapshot, switches={**snapshot.switches, "p1-l2": changed})

    finding = only(judge([], change))
    assert (finding.code, finding.node) == ("ECMP-04", "gpu001")
    assert "rail 2 sends 2.5 times the mean" in (finding.observed or "")


def test_an_idle_fabric_is_not_judged_for_balance() -> None:
    everything = [f"p1-l0:{port}" for port in UPLINKS]
    assert judge([], lambda snapshot: _idle(snapshot, everything)).findings == ()


def test_a_lossy_plan_wants_no_pfc() -> None:
    plan: Plan = dataclasses.replace(lab().plan, qos=dataclasses.replace(lab().plan.qos, lossless=False))
    report = run_checks(plan, lab().snapshot(), only=["roce"])
    assert {finding.code for finding in report.findings} == {"QOS-02"}


# Storms anywhere


@pytest.mark.parametrize("seed", range(24))
def test_a_storm_that_spreads_by_the_rules_of_pfc_is_walked_back_to_the_nics_that_started_it(seed: int) -> None:
    """One or two NICs pause without end; pause goes up from their leaves, down to others, and weakens by chance.

    A port that is paused fills its switch, which pauses whoever sends to it: its uplinks' far ends, or its hosts'
    leaves. Every port in the storm must lead to one of the NICs, and nobody else is named.
    """
    rng = random.Random(seed)
    plan = lab().plan
    hosts = [port for leaf in ("p1-l0", "p1-l1", "p1-l2", "p1-l3") for port in plan.switches[leaf].ports.values()]
    starters = rng.sample([port for port in hosts if port.peer_device in plan.hosts], rng.choice((1, 2)))
    leaves = {plan.hosts[port.peer_device or ""].nics[port.peer_port or ""].switch for port in starters}
    faults = [
        frames(f"{plan.hosts[port.peer_device or ''].nics[port.peer_port or ''].switch}:{port.name}", 9000 * 60)
        for port in starters
    ]
    for leaf in sorted(leaves):
        for spine in ("s0", "s1"):
            for port in plan.switches[spine].sessions():
                if port.peer_device == leaf and rng.random() < 0.9:
                    faults.append(frames(f"{spine}:{port.name}", rng.randrange(2000, 8000) * 60))
    struck = {fault.at.device for fault in faults if isinstance(fault, Counter)} & {"s0", "s1"}
    for leaf in sorted({"p1-l0", "p1-l1", "p1-l2", "p1-l3"} - leaves):
        for port in plan.switches[leaf].sessions():
            if port.peer_device in struck and rng.random() < 0.7:
                faults.append(frames(f"{leaf}:{port.name}", rng.randrange(1000, 3000) * 60))
    told = [one for one in judge(faults).findings if one.code == "CONG-02"]
    assert {(one.node, one.nic) for one in told} == {(port.peer_device, port.peer_port) for port in starters}
    assert all(one.remedy and "shutdown" in one.remedy for one in told)
