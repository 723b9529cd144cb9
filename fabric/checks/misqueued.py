"""RoCE that the ASIC puts into another class than the configuration says (QOS-01 by counters, F092).

The configuration proves nothing about the ASIC's own maps. Two counters about the same packets do: what a NIC or the
far switch sent as RoCE, and where this switch counted it. A claim needs both sides: enough RoCE packets on one, next to
none of them in the lossless class on the other, and about as many in other classes there, so that a counter the
platform does not keep, or traffic that went elsewhere, is no claim. Without such a pair nothing is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from fabric.checks._cabling_words import some
from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.checks.window import Grown, Table, grown, span_s
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import PlannedPort

_CLASSES = range(8)
# Below this share of the RoCE packets the lossless class got none: CNPs, ACKs of an earlier window.
_NEXT_TO_NONE = 0.01
# Other classes must have taken at least this share, or the packets are simply not in this counter.
_TAKEN = 0.5


@dataclass(frozen=True, slots=True)
class _Wrong:
    """RoCE packets (`sent`) that `where` of one port counted in other classes; `source` says who counted them."""

    link: Link
    end: End
    table: Table
    source: str
    sent: int
    ours: int
    others: tuple[tuple[int, int], ...]
    confidence: Confidence


def judge(view: View, judged: Judged) -> None:
    """Compare RoCE packets of NICs and far switches with the classes that each switch counted them in."""
    if not view.plan.qos.lossless or view.baseline is None:
        return
    told = {claim.finding.device for claim in judged.claims if claim.finding.code == "QOS-01"}
    wrong: dict[tuple[str, Table], list[_Wrong]] = defaultdict(list)
    for link in view.links:
        if link.life in (Life.PLANNED, Life.KNOWN_DOWN) or link.a[0] in told or link.b[0] in told:
            continue  # A wrong map in the configuration says it already, and spoils the comparison.
        for one in _of_nic(view, link, judged) if link.host else _of_cable(view, link, judged):
            wrong[one.end[0], one.table].append(one)
    for (device, table), found in sorted(wrong.items()):
        judged.claims.append(_claim(view, device, table, found))


def _of_nic(view: View, link: Link, judged: Judged) -> Iterator[_Wrong]:
    """The RDMA counters of a NIC (mlx5 counts RoCE only in them) against the switch port it hangs on."""
    row = _nic_growth(view, link.b)
    if row is None or not _lossless(link.a_port) or span_s(view, link.a[0]) is None:
        return
    ways: tuple[tuple[str, str, Table, str], ...] = (
        ("unicast_xmit_packets", "np_cnp_sent", "pgs", "sent"),
        ("unicast_rcv_packets", "rp_cnp_handled", "queues", "received"),
    )
    for counter, cnps, table, verb in ways:
        packets = row.by(counter)
        if packets is not None:
            packets -= row.by(cnps) or 0
            said = f"{link.b[0]} {link.b[1]} {verb} {packets:,} RDMA packets ({counter})"
            yield from _compare(view, link, link.a, table, packets, said, Confidence.LIKELY, judged)


def _of_cable(view: View, link: Link, judged: Judged) -> Iterator[_Wrong]:
    """Lossless queue of the sender against lossless group of the receiver, both ways round; one proves the other."""
    tc = view.plan.qos.lossless_tc
    for end, far in ((link.a, link.b), (link.b, link.a)):
        if not _lossless(link.a_port) or not _lossless(link.b_port) or not _configured(view, end, far):
            continue
        sent = grown(view, end[0], "queues", f"{end[1]}:{tc}").by("PACKETS")
        received = grown(view, far[0], "pgs", f"{far[1]}:{tc}").by("PACKETS")
        if sent is None or received is None:
            continue
        if sent >= received:
            said = f"{view.name(end)} sent {sent:,} packets from queue {tc}"
            yield from _compare(view, link, far, "pgs", sent, said, Confidence.CERTAIN, judged)
        else:
            said = f"{view.name(far)} received {received:,} packets in priority group {tc}"
            yield from _compare(view, link, end, "queues", received, said, Confidence.CERTAIN, judged)


def _configured(view: View, *ends: End) -> bool:
    """Whether the maps of all these switches were read (and are right, or a QOS-01 would stand)."""
    states = [view.state(end[0]) for end in ends]
    return all(state is not None and state.config is not None for state in states)


def _compare(
    view: View, link: Link, end: End, table: Table, packets: int, said: str, confidence: Confidence, judged: Judged
) -> Iterator[_Wrong]:
    if packets < view.limits.roce_packets:
        return
    tc, cnp = view.plan.qos.lossless_tc, view.plan.qos.cnp_tc
    ours = grown(view, end[0], table, f"{end[1]}:{tc}").by("PACKETS")
    if ours is None:
        return
    if ours > _NEXT_TO_NONE * packets:
        judged.passed += 1
        return
    rest = (number for number in _CLASSES if number != tc)
    counts = {number: grown(view, end[0], table, f"{end[1]}:{number}").by("PACKETS") for number in rest}
    others = tuple((number, count) for number, count in counts.items() if count and (table == "pgs" or number != cnp))
    if sum(count for _, count in others) >= _TAKEN * packets:
        yield _Wrong(link, end, table, said, packets, ours, others, confidence)


def _lossless(port: object) -> bool:
    return isinstance(port, PlannedPort) and port.lossless


def _nic_growth(view: View, end: End) -> Grown | None:
    """Counters of a NIC in both snapshots; None when its host was not asked in one of them."""
    now, baseline = view.nic(end), view.baseline
    before = baseline.hosts.get(end[0]) if baseline is not None else None
    if now is None or before is None or not before.nics:
        return None
    for nic in before.nics.values():
        if nic.netdev == now.netdev and nic.mac == now.mac:
            return Grown(now.counters, nic.counters)
    return None


def _claim(view: View, device: str, table: Table, found: list[_Wrong]) -> Claim:
    qos = view.plan.qos
    tc = qos.lossless_tc
    what = "queue" if table == "queues" else "priority group"
    worst = max(found, key=lambda one: one.sent)
    taken: dict[int, int] = defaultdict(int)
    for one in found:
        for number, count in one.others:
            taken[number] += count
    single = len(found) == 1
    ports = some(sorted(one.end[1] for one in found), 4)
    blocks = any(one.link.life is Life.SERVICE for one in found)
    hosts = sorted({one.link.b[0] for one in found if one.link.host})
    rails = sorted({one.link.rail for one in found if one.link.rail is not None})
    certain = any(one.confidence is Confidence.CERTAIN for one in found)
    sender = (
        ""
        if certain
        else f"first see that the sender marks DSCP {qos.roce_dscp} (NCCL_IB_TC={4 * qos.roce_dscp} in the job); "
    )
    finding = Finding(
        code="QOS-01",
        status=Status.FAIL,
        severity=Severity.BLOCK if blocks else Severity.WARN,
        confidence=Confidence.CERTAIN if certain else Confidence.LIKELY,
        device=device,
        port=worst.end[1] if single else None,
        node=hosts[0] if single and hosts else None,
        nic=worst.link.b[1] if single and hosts else None,
        rail=rails[0] if len(rails) == 1 else None,
        nodes=tuple(hosts),
        rails=tuple(rails),
        cable=worst.link.name if single else None,
        expected=f"RoCE in {what} {tc}",
        observed=f"{device}: RoCE of {ports} lands in {what} "
        f"{', '.join(f'{number} ({count:,} packets)' for number, count in sorted(taken.items()))}, "
        f"{worst.ours:,} in {what} {tc}",
        evidence=f"{worst.source}; {view.name(worst.end)} counted {worst.ours:,} of them in {what} {tc}",
        remedy=f"{sender}the configuration is right, so the ASIC's map is not: on {device} `show queue counters "
        f"{worst.end[1]}` and `sonic-db-cli ASIC_DB KEYS '*QOS_MAP*'`; drain it (`sudo TSA`), then `sudo config "
        f"reload -y` "
        "writes the maps anew; if it stays, the image or the HwSKU's QoS is at fault: take it to the vendor",
    )
    return Claim(
        Cause.CONGESTION, finding, cables=frozenset(one.link.name for one in found), devices=frozenset({device})
    )
