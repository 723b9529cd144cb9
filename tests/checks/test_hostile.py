"""Whatever a snapshot holds, checks end with a report: no crash, and never healthier for it."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.checks import run_checks
from fabric.values.finding import Status, exit_code
from fabric.values.snapshot import (
    BgpPeer,
    FibRoute,
    LldpNeighbour,
    Neighbour,
    NextHop,
    NicState,
    Optic,
    PortState,
    Route,
    Snapshot,
    SwitchState,
)
from tests.checks.bench import BEFORE, NOW, everything, small, with_hosts

WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "",
            "s0",
            "s1",
            "p1-l0",
            "gpu001",
            "sonic",
            "etp1",
            "etp33",
            "Ethernet0",
            "Ethernet256",
            "rail0",
            "N/A",
            "None",
            "10.254.0.1",
            "10.254.0.1/31",
            "02:00:5e:00:00:04",
            "..",
            "s0.",
            ".s0",
            "s0.s1",
            "\x00",
            "\x1b[31m",
            "Ethernet0:3",
        ]
    ),
)
NUMBERS = st.one_of(st.none(), st.integers(-(2**70), 2**70))
FLOATS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True))
FLAGS = st.one_of(st.none(), st.booleans())
PORTS = st.sampled_from(["Ethernet0", "Ethernet4", "Ethernet16", "Ethernet256", "Ethernet264", "eth0", "Ethernet999"])

ROWS = st.builds(
    LldpNeighbour,
    local_port=PORTS,
    system_name=WORDS,
    chassis_id=WORDS,
    chassis_subtype=WORDS,
    port_id=WORDS,
    port_subtype=st.sampled_from(["mac", "local", "ifname", ""]),
    port_description=WORDS,
    age_s=FLOATS,
)
STATES = st.builds(
    PortState,
    name=PORTS,
    oper_up=FLAGS,
    admin_up=FLAGS,
    speed_mbps=NUMBERS,
    oper_speed_mbps=NUMBERS,
    mtu=NUMBERS,
    fec=st.one_of(st.none(), WORDS),
    oper_fec=st.one_of(st.none(), WORDS),
    lanes=st.lists(st.integers(-1, 600), max_size=9).map(tuple),
    alias=st.one_of(st.none(), WORDS),
    flap_count=NUMBERS,
    last_up_time=FLOATS,
    last_down_time=FLOATS,
)
HOPS = st.lists(st.builds(NextHop, address=WORDS, port=WORDS), max_size=5).map(tuple)
PREFIXES = st.sampled_from(["10.101.1.0/25", "10.255.0.1/32", "10.255.0.1", "0.0.0.0/0", "::/0", "nonsense", ""])
ROUTES = st.builds(
    Route,
    prefix=PREFIXES,
    protocol=st.sampled_from(["bgp", "connected", "", "?"]),
    next_hops=HOPS,
    installed=FLAGS,
    offloaded=FLAGS,
    failed=st.booleans(),
    queued=st.booleans(),
)
FIBS = st.builds(FibRoute, prefix=PREFIXES, next_hops=HOPS, unresolved=st.lists(WORDS, max_size=2).map(tuple))
PEERS = st.builds(
    BgpPeer,
    peer=WORDS,
    state=WORDS,
    remote_asn=NUMBERS,
    prefixes_received=NUMBERS,
    policy_blocked=st.booleans(),
    admin_down=st.booleans(),
    last_reset=WORDS,
)
OPTICS = st.builds(
    Optic,
    port=PORTS,
    present=FLAGS,
    serial=WORDS,
    error=WORDS,
    sensors=st.dictionaries(st.sampled_from(["rx1power", "rx2power", "temperature", "tx9bias", "odd"]), st.floats()),
    thresholds=st.dictionaries(
        st.sampled_from(["rxpowerlowalarm", "rxpowerhighalarm", "temphighwarning"]), st.floats()
    ),
)
COUNTERS = st.dictionaries(
    PORTS,
    st.dictionaries(
        st.sampled_from(
            [
                "IF_IN_OCTETS",
                "IF_OUT_OCTETS",
                "PFC_3_RX_PKTS",
                "PFC_0_RX_PKTS",
                "IF_IN_FEC_NOT_CORRECTABLE_FRAMES",
                "IF_IN_ERRORS",
            ]
        ),
        st.integers(-5, 2**65),
    ),
)
QUEUES = st.dictionaries(
    st.sampled_from(["Ethernet0:3", "Ethernet256:3", "Ethernet0", ":", "Ethernet0:x"]),
    st.dictionaries(
        st.sampled_from(["PFC_WD_STATUS", "DROPPED_PACKETS", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"]),
        st.one_of(st.integers(), WORDS),
    ),
)
TABLES = st.dictionaries(
    st.sampled_from(
        [
            "PORT_QOS_MAP",
            "DSCP_TO_TC_MAP",
            "QUEUE",
            "BUFFER_PG",
            "PFC_WD",
            "CABLE_LENGTH",
            "WRED_PROFILE",
            "DEVICE_METADATA",
            "BUFFER_PROFILE",
            "PORT",
        ]
    ),
    st.dictionaries(
        st.one_of(
            WORDS,
            st.sampled_from(
                ["Ethernet0", "Ethernet0|3", "Ethernet0|3-4", "AZURE", "|", "a|b-c", "Ethernet0|9-1", "localhost"]
            ),
        ),
        st.dictionaries(WORDS, st.one_of(WORDS, st.lists(WORDS, max_size=2)), max_size=3),
        max_size=4,
    ),
)


def _keyed(values: list[Any], name: str) -> dict[str, Any]:
    return {getattr(value, name): value for value in values}


STATE = st.fixed_dictionaries(
    {},
    optional={
        "lldp": st.one_of(st.none(), st.lists(ROWS, max_size=6).map(tuple)),
        "ports": st.one_of(st.none(), st.lists(STATES, max_size=6).map(lambda found: _keyed(found, "name"))),
        "bgp": st.one_of(st.none(), st.lists(PEERS, max_size=4).map(lambda found: _keyed(found, "peer"))),
        "rib": st.one_of(st.none(), st.lists(ROUTES, max_size=4).map(lambda found: _keyed(found, "prefix"))),
        "kernel": st.one_of(st.none(), st.lists(FIBS, max_size=4).map(lambda found: _keyed(found, "prefix"))),
        "appl": st.one_of(st.none(), st.lists(FIBS, max_size=4).map(lambda found: _keyed(found, "prefix"))),
        "asic": st.one_of(st.none(), st.lists(FIBS, max_size=4).map(lambda found: _keyed(found, "prefix"))),
        "neighbours": st.one_of(
            st.none(),
            st.lists(st.builds(Neighbour, address=WORDS, port=PORTS, mac=WORDS, state=WORDS), max_size=4).map(tuple),
        ),
        "optics": st.one_of(st.none(), st.lists(OPTICS, max_size=3).map(lambda found: _keyed(found, "port"))),
        "counters": st.one_of(st.none(), COUNTERS),
        "queues": st.one_of(st.none(), QUEUES),
        "pgs": st.one_of(st.none(), QUEUES),
        "config": st.one_of(st.none(), TABLES),
        "uptime_s": FLOATS,
        "swss_uptime_s": FLOATS,
        "chassis_id": st.one_of(st.none(), WORDS),
        "base_mac": st.one_of(st.none(), WORDS),
        "switch": st.one_of(st.none(), st.dictionaries(WORDS, WORDS, max_size=2)),
    },
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.sampled_from(["p1-l0", "s0"]), STATE, STATE, st.booleans())
def test_nothing_a_switch_says_crashes_the_checks(
    device: str, now: dict[str, Any], before: dict[str, Any], window: bool
) -> None:
    plan = small().plan

    def changed(snapshot: Snapshot, fields: dict[str, Any]) -> Snapshot:
        state: SwitchState = dataclasses.replace(snapshot.switches[device], **fields)
        return dataclasses.replace(snapshot, switches={**snapshot.switches, device: state})

    report = run_checks(
        plan,
        changed(small().snapshot(), now),
        baseline=changed(small().snapshot(at=BEFORE), before),
        window_s=60 if window else None,
    )
    assert report.summary.devices == 6
    for finding in everything(report.findings):
        assert finding.observed
    asked = {part: now.get(part, ()) for part in ("lldp", "bgp", "rib", "appl", "asic", "ports")}
    if any(value is None for value in asked.values()):
        assert exit_code(report.summary) != 0, "a hole is never healthy"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(ROWS, max_size=4).map(tuple),
    st.lists(
        st.builds(
            NicState,
            netdev=WORDS,
            nic=st.one_of(st.none(), WORDS),
            mac=st.one_of(st.none(), WORDS),
            oper_up=FLAGS,
            speed_mbps=NUMBERS,
            mtu=NUMBERS,
            settings=st.dictionaries(WORDS, WORDS, max_size=3),
        ),
        max_size=4,
    ),
)
def test_nothing_a_host_says_crashes_the_checks(rows: tuple[LldpNeighbour, ...], nics: list[NicState]) -> None:
    snapshot = with_hosts().snapshot()
    host = dataclasses.replace(snapshot.hosts["gpu001"], lldp=rows, nics=_keyed(nics, "netdev"))
    changed = dataclasses.replace(snapshot, hosts={**snapshot.hosts, "gpu001": host})
    report = run_checks(with_hosts().plan, changed, only=["cabling", "links", "roce"])
    assert report.taken_at == NOW
    assert all(finding.status is not Status.PASS for finding in report.findings)


def test_devices_the_plan_does_not_have_are_left_alone() -> None:
    snapshot = small().snapshot()
    stranger = dataclasses.replace(snapshot.switches["s0"], device="stranger")
    changed = dataclasses.replace(snapshot, switches={**snapshot.switches, "stranger": stranger})
    report = run_checks(small().plan, changed, only=["cabling", "links", "bgp", "ecmp"])
    assert report.findings == ()
