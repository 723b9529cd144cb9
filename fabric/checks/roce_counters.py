"""What counters say about loss and pause since the baseline (CONG-01 to CONG-03, QOS-09)."""

from __future__ import annotations

from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.checks.window import Grown, grown, span_s
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import PlannedPort
from fabric.values.snapshot import SwitchState


def judge(view: View, judged: Judged) -> None:
    """Judge lossless queues and groups, pause and watermarks of every cable in scope."""
    if not view.plan.qos.lossless:
        return
    if view.baseline is None:
        view.skip("lossless drops and pause", "counters need --baseline or --sample")
    for link in view.links:
        if link.life in (Life.PLANNED, Life.KNOWN_DOWN):
            continue
        for end, port in ((link.a, link.a_port), (link.b, link.b_port)):
            state = view.state(end[0])
            if state is None or not isinstance(port, PlannedPort) or not port.lossless:
                continue
            _watermark(view, link, end, state, judged)
            elapsed = span_s(view, end[0])
            if elapsed is not None:
                _loss(view, link, end, elapsed, judged)
                _pause(view, link, end, elapsed, judged)


def _loss(view: View, link: Link, end: End, elapsed: float, judged: Judged) -> None:
    """Drops where nothing may be dropped."""
    tc = view.plan.qos.lossless_tc
    for table, what in (("queues", "queue"), ("pgs", "priority group")):
        drops = grown(view, end[0], "queues" if table == "queues" else "pgs", f"{end[1]}:{tc}").by("DROPPED_PACKETS")
        if drops is None:
            continue
        if drops == 0:
            judged.passed += 1
            continue
        judged.claims.append(
            _claim(
                link,
                end,
                "CONG-01",
                Status.FAIL,
                f"no drop in lossless {what} {tc}",
                f"{view.name(end)}: {drops:,} packets dropped in lossless {what} {tc} in {elapsed:.0f} s",
                f"COUNTERS_DB DROPPED_PACKETS of {end[1]}:{tc}",
                "ingress drops: headroom too small for speed, cable length and MTU (QOS-05); egress drops: WRED drops "
                "instead of marking (QOS-03), or the watchdog acted (CONG-02)",
            )
        )


def _pause(view: View, link: Link, end: End, elapsed: float, judged: Judged) -> None:
    qos, limits = view.plan.qos, view.limits
    tc = qos.lossless_tc
    row = grown(view, end[0], "counters", end[1])
    other = {
        priority: frames for priority in range(8) if priority != tc and (frames := row.by(f"PFC_{priority}_RX_PKTS"))
    }
    if other:
        far = link.b if link.a == end else link.a
        listed = ", ".join(f"{priority} ({count:,} frames)" for priority, count in other.items())
        judged.claims.append(
            _claim(
                link,
                end,
                "QOS-09",
                Status.FAIL,
                f"pause for priority {tc} only",
                f"{view.name(far)} pauses priority {listed}; the fabric uses {tc}",
                f"PFC counters of {view.name(end)} over {elapsed:.0f} s",
                f"set PFC of {view.name(far)} to priority {tc} only (`mlnx_qos -i IF --pfc`)"
                if link.host
                else f"`railfab drift INTENT` shows pfc_enable of {far[0]} {far[1]}; `railfab plan` and `apply` it",
            )
        )
    received = row.by(f"PFC_{tc}_RX_PKTS")
    if received is None:
        return
    idle = (row.by("IF_OUT_OCTETS") or 0) * 8 < 0.01 * link.cable.speed_mbps * 1e6 * elapsed
    if link.host and idle and received >= limits.idle_pause and received / elapsed < limits.storm_rate:
        judged.claims.append(
            _claim(
                link,
                end,
                "CONG-02",
                Status.WARN,
                "no pause from a NIC that receives next to nothing",
                f"{view.name(link.b)} sent {received:,} pause frames in {elapsed:.0f} s while it was idle",
                f"PFC_{tc}_RX_PKTS and IF_OUT_OCTETS of {view.name(end)}",
                f"a NIC that pauses when idle cannot write to its host: on {link.b[0]} `lspci -vv -s BUS | grep "
                f"LnkSta` (narrow "
                f"or slow), `dmesg | grep -i -e aer -e mlx5`; else reset the NIC, and shut {end[0]} {end[1]} if it "
                f"goes on",
            )
        )
        return
    share = _share(row, tc, elapsed)
    if share is not None and share > limits.pause_share:
        judged.claims.append(
            _claim(
                link,
                end,
                "CONG-02",
                Status.WARN,
                f"paused at most {limits.pause_share:.0%} of the time",
                f"{view.name(end)} was paused {share:.1%} of {elapsed:.0f} s",
                "PFC RX_PAUSE_DURATION (an estimate of the poller on Broadcom)",
                f"`show queue wredcounters {end[1]}` on {end[0]}: marks that grow mean many senders to one receiver "
                f"(the job's "
                "doing); no marks mean pause came first: `show ecn` against the plan (QOS-03, QOS-07)",
            )
        )
    else:
        judged.passed += 1


def _share(row: Grown, tc: int, elapsed: float) -> float | None:
    for name in (f"PFC_{tc}_RX_PAUSE_DURATION_US", f"EST_PFC_{tc}_RX_PAUSE_DURATION_US"):
        paused = row.by(name)
        if paused is not None:
            return paused / 1e6 / elapsed
    return None


def _watermark(view: View, link: Link, end: End, state: SwitchState, judged: Judged) -> None:
    """Peak use of a lossless group's headroom against its size."""
    tc = view.plan.qos.lossless_tc
    row = (state.watermarks or {}).get(f"pg:{end[1]}:{tc}")
    if row is None or state.config is None:
        return
    used = max((value for name, value in row.items() if name.endswith("XOFF_ROOM_WATERMARK_BYTES")), default=None)
    size = _headroom(state, end[1], tc)
    if used is None or not size:
        return
    if used > view.limits.buffer_share * size:
        judged.claims.append(
            _claim(
                link,
                end,
                "CONG-03",
                Status.WARN,
                f"at most {view.limits.buffer_share:.0%} of the headroom used",
                f"{view.name(end)}: {used:,} of {size:,} bytes of headroom were used ({used / size:.0%})",
                "XOFF_ROOM watermark of the priority group",
                f"pause came late: `sonic-db-cli CONFIG_DB HGET 'CABLE_LENGTH|AZURE' {end[1]}` on {end[0]} must be "
                f"at least the "
                f"cable ({link.cable.length_m} m) and `show interfaces status {end[1]}` the planned MTU; then `show "
                f"ecn`",
            )
        )
    else:
        judged.passed += 1


def _headroom(state: SwitchState, port: str, group: int) -> int:
    tables = state.config or {}
    for key in (f"{port}|{group}", f"{port}|{group}-{group + 1}"):
        row = tables.get("BUFFER_PG", {}).get(key)
        if row is not None:
            name = str(row.get("profile", "")).strip("[]").rpartition("|")[2]
            xoff = str(tables.get("BUFFER_PROFILE", {}).get(name, {}).get("xoff", ""))
            return int(xoff) if xoff.isdigit() else 0
    return 0


def _claim(
    link: Link,
    end: End,
    code: str,
    status: Status,
    expected: str,
    observed: str,
    evidence: str,
    remedy: str,
) -> Claim:
    blocks = status is Status.FAIL and link.life is Life.SERVICE
    finding = Finding(
        code=code,
        status=status,
        severity=Severity.BLOCK if blocks else Severity.WARN,
        confidence=Confidence.CERTAIN,
        device=end[0],
        port=end[1],
        node=link.b[0] if link.host else None,
        nic=link.b[1] if link.host else None,
        rail=link.rail,
        nodes=(link.b[0],) if link.host else (),
        rails=(link.rail,) if link.rail is not None else (),
        cable=link.name,
        expected=expected,
        observed=observed,
        evidence=evidence,
        remedy=remedy,
    )
    return Claim(Cause.CONGESTION, finding, cables=frozenset({link.name}), devices=frozenset({link.a[0], link.b[0]}))
