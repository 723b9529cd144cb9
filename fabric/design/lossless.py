"""Rules QOS-05, QOS-06 and QOS-07 on a Plan: is there room for what arrives after a pause? Sizes in bytes."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from fabric.design.tally import Tally
from fabric.platforms.headroom import judge_rows, model_xoff, row_lengths
from fabric.values.plan import BufferPlan, HeadroomRow, Plan, PlannedPort, SwitchPlan

_INGRESS = "ingress_lossless_pool"
# Demand over the shared headroom pool (facts: ai-fabric 3.4; thresholds ours).
WARN_DEMAND, FAIL_DEMAND = 1.0, 2.0


def judge_lossless(plan: Plan, tally: Tally) -> None:
    """All three rules. A platform without buffer figures carries no lossless class, which is said once."""
    if not plan.qos.lossless:
        return
    used: dict[str, set[HeadroomRow]] = defaultdict(set)
    demands: dict[tuple[str, str, float, float | None], list[str]] = defaultdict(list)
    bare: dict[str, list[str]] = defaultdict(list)
    for switch in plan.switches.values():
        buffers = plan.buffers.get(switch.platform)
        lossless = [port for port in switch.ports.values() if port.lossless]
        if buffers is None:
            if lossless:
                tally.fail(
                    "QOS-05",
                    device=switch.name,
                    expected=f"buffer figures of {switch.platform} for its lossless ports",
                    observed="none in the Plan",
                    remedy="name a platform of the same ASIC in buffers_from, or make the fabric lossy",
                )
            elif any(port.peer_device for port in switch.ports.values()):
                bare[switch.platform].append(switch.name)
            continue
        rows = {(row.speed_mbps, row.cable_m): row for row in buffers.rows}
        need = 0
        for port in lossless:
            row = rows.get((port.speed_mbps, port.cable_row_m or 0))
            if row is None or row.cable_m < port.cable_m:
                _no_row(switch, port, buffers, tally)
                continue
            used[switch.platform].add(row)
            need += row.size if buffers.model == "dynamic" else row.xoff
            tally.passed += 1
        if lossless:
            reserve = need + _reserve(switch, rows, buffers)
            kind, room = _room(buffers)
            if room:
                later = reserve / room if reserve > need else None
                demands[(switch.platform, kind, round(need / room, 4), later and round(later, 4))].append(switch.name)
    for platform, names in bare.items():
        tally.warn(
            "QOS-05",
            expected=f"buffer figures of {platform}, for a lossless class",
            observed=f"none are known: {len(names)} switches ({names[0]}, ...) carry RoCE lossy",
            remedy="name a platform of the same ASIC in buffers_from, or import measured figures",
        )
    _demand(demands, tally)
    for platform, rows_used in used.items():
        buffers = plan.buffers[platform]
        _rows(platform, buffers, rows_used, tally)
        _ecn_before_pfc(plan, platform, buffers, tally)


def _no_row(switch: SwitchPlan, port: PlannedPort, buffers: BufferPlan, tally: Tally) -> None:
    lengths = row_lengths(buffers.rows, port.speed_mbps)
    has = ", ".join(f"{length}m" for length in lengths) or "none for this speed"
    tally.fail(
        "QOS-05",
        device=switch.name,
        port=port.name,
        cable=port.cable,
        expected=f"a headroom row of {port.speed_mbps // 1000}G not shorter than {port.cable_m}m",
        observed=f"the table of {buffers.borrowed_from or buffers.platform} has {has}",
        remedy="SONiC makes no lossless group without it: use a shorter cable, or a platform that has the row",
    )


def _reserve(switch: SwitchPlan, rows: dict[tuple[int, int], HeadroomRow], buffers: BufferPlan) -> int:
    """What the reserve places add once they are in service: at the longest row a lossless host port uses here."""
    lengths = Counter(
        (port.speed_mbps, port.cable_row_m)
        for port in switch.ports.values()
        if port.lossless and port.use == "host" and port.cable_row_m
    )
    total = 0
    for port in switch.ports.values():
        if port.use == "host" and port.peer_device and not port.lossless:
            same = [length for speed, length in lengths if speed == port.speed_mbps and length]
            row = rows.get((port.speed_mbps, max(same, default=0)))
            if row is not None:
                total += row.size if buffers.model == "dynamic" else row.xoff
    return total


def _room(buffers: BufferPlan) -> tuple[str, int]:
    """Where headroom is taken from: the shared headroom pool, or, without one, the whole packet buffer."""
    pool = buffers.pools.get(_INGRESS)
    if pool is not None and pool.xoff:
        return "shared headroom pool", pool.xoff
    return "packet buffer", max((pool.size for pool in buffers.pools.values()), default=0)


def _demand(demands: dict[tuple[str, str, float, float | None], list[str]], tally: Tally) -> None:
    for (platform, kind, ratio, later), names in demands.items():
        # Private headroom is carved out of the buffer: more than there is cannot be. A shared pool may be oversold.
        limit = FAIL_DEMAND if kind == "shared headroom pool" else 1.0
        after = f", {later:.2f} with every reserve place in service" if later else ""
        fields: dict[str, Any] = {
            "device": names[0] if len(names) == 1 else None,
            "expected": f"headroom of all lossless ports within the {kind} of {platform}",
            "observed": f"{ratio:.2f} times the {kind}{after}: {_named(names)}",
        }
        if ratio > limit:
            tally.fail("QOS-06", remedy="shorten cables, or take lossless ports off these switches", **fields)
        elif ratio > WARN_DEMAND:
            tally.warn(
                "QOS-06",
                remedy="fits unless most ports are paused at once: watch headroom watermarks in a full-load test",
                **fields,
            )
        else:
            tally.passed += 1


def _rows(platform: str, buffers: BufferPlan, used: set[HeadroomRow], tally: Tally) -> None:
    from dataclasses import replace

    # The vendor's SN5600 tables for shared headroom are made for another traffic pattern than our model's defaults.
    asic = "" if buffers.model == "dynamic" and all(row.size == row.xon for row in buffers.rows) else buffers.asic
    for finding in judge_rows(buffers.borrowed_from or platform, sorted(used, key=_order), asic):
        tally.findings.append(replace(finding, device=None, evidence=f"table of {finding.device}"))
    for row in used:
        if model_xoff(asic, row.speed_mbps, row.cable_m) is not None:
            tally.passed += 1


def _ecn_before_pfc(plan: Plan, platform: str, buffers: BufferPlan, tally: Tally) -> None:
    """QOS-07: in an n-to-1 incast the queue reaches Kmax before any ingress group reaches its pause threshold.

    Threshold of one group with n congested: a * B / (1 + n * a), a = 2^dynamic_th, B the shared pool; n of them sum
    up in the queue. The sum is least at n = 1 and grows with n.
    """
    pool = buffers.pools.get(_INGRESS)
    if pool is None:
        return
    own = buffers.borrowed_from is not None or buffers.model == "dynamic"
    thresholds = {plan.qos.dynamic_th} if own else {row.threshold for row in buffers.rows}
    for threshold in sorted(thresholds):
        alpha = 2.0**threshold
        least = alpha * pool.size / (1 + alpha)
        if plan.qos.ecn.max_bytes >= least:
            tally.warn(
                "QOS-07",
                expected=f"Kmax below {least:.0f} bytes, where one group of {platform} pauses (dynamic_th {threshold})",
                observed=f"Kmax {plan.qos.ecn.max_bytes} of profile {plan.qos.ecn.name}",
                remedy="lower the ECN thresholds: senders must slow down before the switch pauses them",
            )
        else:
            tally.passed += 1


def _order(row: HeadroomRow) -> tuple[int, int]:
    return row.speed_mbps, row.cable_m


def _named(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} switches, {names[0]} to {names[-1]}"
