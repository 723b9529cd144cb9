"""F092: RoCE in another class than the configuration says, proved by two counters about the same packets, or unsaid."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from fabric.checks import run_checks
from fabric.values.finding import Confidence, Finding, Report, Status
from fabric.values.snapshot import NicState, Snapshot
from tests.checks.bench import only
from tests.checks.test_roce import before, lab

LEAF, PORT = "p1-l0", "Ethernet0"
SENT = 5_000_000


def _moved(snapshot: Snapshot, device: str, table: str, port: str, take: float = 1.0, put: float = 1.0) -> Snapshot:
    """What grew in class 3 of a port since the baseline, in class 0 instead."""
    state = snapshot.switches[device]
    rows = dict(getattr(state, table))
    old = getattr(before().switches[device], table)
    right, wrong = f"{port}:3", f"{port}:0"
    grew = int(rows[right]["PACKETS"]) - int(old[right]["PACKETS"])
    assert grew > 100_000
    rows[right] = {**rows[right], "PACKETS": int(rows[right]["PACKETS"]) - int(grew * take)}
    rows[wrong] = {**rows[wrong], "PACKETS": int(rows[wrong]["PACKETS"]) + int(grew * put)}
    changes: dict[str, Any] = {table: rows}
    changed = dataclasses.replace(state, **changes)
    return dataclasses.replace(snapshot, switches={**snapshot.switches, device: changed})


def _rdma(snapshot: Snapshot, count: int, counter: str) -> Snapshot:
    hosts = dict(snapshot.hosts)
    for name, host in hosts.items():
        nics: dict[str, NicState] = {
            key: dataclasses.replace(nic, counters={**nic.counters, counter: count})
            for key, nic in (host.nics or {}).items()
        }
        hosts[name] = dataclasses.replace(host, nics=nics)
    return dataclasses.replace(snapshot, hosts=hosts)


def _judge(snapshot: Snapshot, baseline: Snapshot | None = None) -> Report:
    return run_checks(lab().plan, snapshot, only=["roce"], baseline=baseline or before())


def _uplink() -> tuple[str, str, str]:
    """Port of the leaf, spine, port of the spine."""
    port = next(port for port in lab().plan.switches[LEAF].sessions() if port.peer_device in lab().plan.switches)
    assert port.peer_device is not None
    assert port.peer_port is not None
    return port.name, port.peer_device, port.peer_port


@pytest.mark.parametrize(
    ("counter", "table", "what"),
    [("unicast_xmit_packets", "pgs", "priority group"), ("unicast_rcv_packets", "queues", "queue")],
)
def test_F092_rdma_of_a_nic_in_another_class_fails_though_the_configuration_is_right(
    counter: str, table: str, what: str
) -> None:
    baseline = _rdma(before(), 7, counter)
    finding: Finding = only(_judge(_rdma(_moved(lab().snapshot(), LEAF, table, PORT), SENT, counter), baseline))
    assert (finding.code, finding.status, finding.confidence) == ("QOS-01", Status.FAIL, Confidence.LIKELY)
    assert (finding.device, finding.port, finding.node) == (LEAF, PORT, "gpu001")
    assert f"lands in {what} 0" in (finding.observed or "")
    assert f"{SENT - 7:,} RDMA packets" in (finding.evidence or "")
    assert "NCCL_IB_TC=104" in (finding.remedy or ""), "DSCP 26 as the job sets it"


def test_F092_what_the_leaf_sent_as_roce_the_spine_puts_elsewhere() -> None:
    _, spine, spine_port = _uplink()
    finding = only(_judge(_moved(lab().snapshot(), spine, "pgs", spine_port)))
    assert (finding.code, finding.device, finding.port) == ("QOS-01", spine, spine_port)
    assert finding.confidence is Confidence.CERTAIN


def test_F092_what_the_spine_receives_as_roce_left_the_leaf_in_another_queue() -> None:
    leaf_port, _, _ = _uplink()
    finding = only(_judge(_moved(lab().snapshot(), LEAF, "queues", leaf_port)))
    assert (finding.device, finding.port) == (LEAF, leaf_port)
    assert "lands in queue 0" in (finding.observed or "")


def test_traffic_in_another_queue_of_a_host_port_without_proof_of_roce_is_not_judged() -> None:
    assert _judge(_moved(lab().snapshot(), LEAF, "queues", PORT)).findings == ()


def test_a_switch_that_counts_the_packets_nowhere_is_not_judged() -> None:
    _, spine, spine_port = _uplink()
    assert _judge(_moved(lab().snapshot(), spine, "pgs", spine_port, put=0.0)).findings == ()


def test_a_part_in_another_class_is_not_called_a_wrong_map() -> None:
    _, spine, spine_port = _uplink()
    assert _judge(_moved(lab().snapshot(), spine, "pgs", spine_port, take=0.6, put=0.6)).findings == ()


def test_a_few_rdma_packets_prove_nothing() -> None:
    counter = "unicast_rcv_packets"
    snapshot = _rdma(_moved(lab().snapshot(), LEAF, "queues", PORT), 507, counter)
    assert _judge(snapshot, _rdma(before(), 7, counter)).findings == ()


def test_cnps_are_no_roce_data() -> None:
    baseline, snapshot = before(), _moved(lab().snapshot(), LEAF, "pgs", PORT)
    for counter in ("unicast_xmit_packets", "np_cnp_sent"):
        baseline, snapshot = _rdma(baseline, 7, counter), _rdma(snapshot, SENT, counter)
    assert _judge(snapshot, baseline).findings == ()
