"""The buffer arithmetic behind a switch's files: headroom, demand on the pool, ECN before PFC, watchdog. Bytes, metres.

Rules QOS-05, -06 and -08; QOS-07 (ECN after PFC) is refused when rendering. The sums are the same for every switch
with the same ports, so alike switches are told once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fabric.errors import PlatformError
from fabric.platforms.headroom import exact_row, model_xoff, spectrum4_headroom
from fabric.render import policy
from fabric.render.order import natural
from fabric.render.qos import pause_point
from fabric.render.scope import Scope, scope
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import BufferPlan, HeadroomRow, Plan

# Ours: above the first the pool is oversubscribed, above the second a common burst loses lossless packets.
DEMAND_WARN, DEMAND_FAIL = 1.0, 2.0
# A vendor's table may be rounded by this much against our model (platforms.headroom).
_MODEL_TOLERANCE = 0.003


@dataclass(frozen=True, slots=True)
class PortClass:
    """Lossless ports of one speed and length. `model_xoff` is what our own formula asks for, None without one."""

    ports: int
    speed_mbps: int
    cable_m: int
    row_m: int
    xoff: int
    size: int
    model_xoff: int | None


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The sums of one set of alike switches. `pool` is what headroom is taken from: the shared headroom pool where
    there is one, else the lossless pool. `pause_at` is the ingress fill at which a lone sender is paused."""

    switches: tuple[str, ...]
    platform: str
    source: str
    borrowed_from: str | None
    model: str
    classes: tuple[PortClass, ...]
    demand: int
    pool: int
    pool_name: str
    lossless_pool: int
    dynamic_th: int
    pause_at: int
    pause_at_all: int
    ecn_min: int
    ecn_max: int
    findings: tuple[Finding, ...]

    @property
    def load(self) -> float:
        """Headroom demand over the pool it is taken from; 1.0 is full."""
        return self.demand / self.pool if self.pool else 0.0


def arithmetic(chosen: Scope) -> Arithmetic | None:
    """The sums of one switch, None where it has no lossless port."""
    plan = chosen.buffers
    if not chosen.pfc or plan is None:
        return None
    qos = chosen.plan.qos
    classes = tuple(_classes(chosen, plan))
    lossless = plan.pools.get(chosen.policy("buffers")["lossless_pool"])
    size = lossless.size if lossless else 0
    shared = lossless.xoff if lossless else None
    demand = sum(one.ports * (one.xoff if shared else max(one.size, one.xoff)) for one in classes)
    ports = sum(one.ports for one in classes)
    result = Arithmetic(
        switches=(chosen.switch.name,),
        platform=plan.platform,
        source=plan.source,
        borrowed_from=plan.borrowed_from,
        model=plan.model,
        classes=classes,
        demand=demand,
        pool=shared or size,
        pool_name="shared headroom pool" if shared else "lossless pool",
        lossless_pool=size,
        dynamic_th=qos.dynamic_th,
        pause_at=pause_point(size, qos.dynamic_th, 1),
        pause_at_all=pause_point(size, qos.dynamic_th, ports),
        ecn_min=qos.ecn.min_bytes,
        ecn_max=qos.ecn.max_bytes,
        findings=(),
    )
    return replace(result, findings=tuple(_judge(chosen, result)))


def explain(plan: Plan, templates: Path | None = None) -> tuple[Arithmetic, ...]:
    """The sums of every switch that has a lossless port, alike switches together, in natural order."""
    files = policy.templates(templates)
    groups: dict[tuple[object, ...], list[Arithmetic]] = {}
    for name in sorted(plan.switches, key=natural):
        one = arithmetic(scope(plan, name, files))
        if one is not None:
            groups.setdefault((one.platform, one.classes), []).append(one)
    return tuple(replace(alike[0], switches=tuple(one.switches[0] for one in alike)) for alike in groups.values())


def lines(sums: tuple[Arithmetic, ...]) -> Iterator[str]:
    """The sums for a reader at a terminal."""
    for one in sums:
        yield from _lines(one)
    if not sums:
        yield "no switch has a lossless class: nothing to sum"


def _classes(chosen: Scope, plan: BufferPlan) -> Iterator[PortClass]:
    dynamic = plan.model == "dynamic"
    counts = Counter(
        (port.speed_mbps, port.cable_m, port.cable_m if dynamic else port.cable_row_m or 0, port.mtu)
        for port in chosen.fabric
        if port.name in chosen.lossless
    )
    for (speed, metres, row_m, mtu), ports in sorted(counts.items()):
        row = _row(chosen, plan, speed, row_m, mtu)
        if row is not None:
            wanted = model_xoff(plan.asic, speed, metres)
            yield PortClass(ports, speed, metres, row.cable_m, row.xoff, row.size, wanted)


def _row(chosen: Scope, plan: BufferPlan, speed: int, row_m: int, mtu: int) -> HeadroomRow | None:
    if plan.model == "dynamic":
        dynamic = chosen.policy("buffers")["dynamic"]
        made = spectrum4_headroom(
            speed,
            row_m,
            port_mtu=mtu,
            lossless_mtu=dynamic["lossless_mtu"],
            small_packet_percent=dynamic["small_packet_percentage"],
        )
        return HeadroomRow(speed, row_m, made.size, made.xon, made.xoff, chosen.plan.qos.dynamic_th)
    try:
        return exact_row(plan.rows, speed, row_m)
    except PlatformError:
        return None  # rendering this switch is refused with the reason


def _judge(chosen: Scope, one: Arithmetic) -> Iterator[Finding]:
    device, qos = chosen.switch.name, chosen.plan.qos
    for ports in one.classes:
        wanted = ports.model_xoff
        if wanted is not None and ports.xoff < wanted * (1 - _MODEL_TOLERANCE):
            yield Finding(
                "QOS-05", Status.WARN, Severity.WARN, Confidence.LIKELY, device,
                expected=f"xoff of at least {wanted} bytes for {ports.speed_mbps // 1000}G over {ports.cable_m} m",
                observed=f"{ports.xoff} bytes in the row of {ports.row_m} m",
                evidence=f"our model of {chosen.buffers.asic if chosen.buffers else ''}; rows from {one.source}",
                remedy="ask the vendor what cable and MTU the row is for, or use shorter cables",
            )  # fmt: skip
    if one.load > DEMAND_WARN:
        bad = one.load > DEMAND_FAIL
        yield Finding(
            "QOS-06", Status.FAIL if bad else Status.WARN, Severity.BLOCK if bad else Severity.WARN, Confidence.CERTAIN,
            device,
            expected=f"headroom of all lossless ports within the {one.pool_name} of {one.pool} bytes",
            observed=f"{one.demand} bytes, {one.load:.2f} times the pool",
            evidence=" + ".join(f"{c.ports} x {c.xoff}" for c in one.classes),
            remedy="shorter cables or rows, fewer lossless ports, or one lossless class if there are more",
        )  # fmt: skip
    times = (qos.watchdog_detection_ms, qos.watchdog_restoration_ms, qos.watchdog_poll_ms)
    if not (100 <= times[0] <= 800 and times[1] >= times[0] and times[2] <= times[0]):
        yield Finding(
            "QOS-08", Status.FAIL, Severity.BLOCK, Confidence.CERTAIN, device,
            expected="detection 100 to 800 ms, restoration not below it, poll not above it",
            observed=f"detection {times[0]}, restoration {times[1]}, poll {times[2]} ms",
            remedy="correct the watchdog times in the intent",
        )  # fmt: skip


def _lines(one: Arithmetic) -> Iterator[str]:
    names = one.switches
    shown = ", ".join(names) if len(names) <= 4 else f"{names[0]} ... {names[-1]} ({len(names)} switches)"
    yield f"{shown}: {one.platform}, {one.model} buffer model"
    origin = (
        f" borrowed from {one.borrowed_from}: no figures of {one.platform} itself are known"
        if one.borrowed_from
        else ""
    )
    yield f"  figures: {one.source};{origin}" if origin else f"  figures: {one.source}"
    for c in one.classes:
        model = f", our model {c.model_xoff}" if c.model_xoff is not None else ", no model of ours"
        yield (
            f"  {c.ports:4} x {c.speed_mbps // 1000}G over {c.cable_m} m -> row {c.row_m} m: xoff {c.xoff} bytes{model}"
        )
    yield f"  headroom demand {one.demand} of {one.pool} bytes in the {one.pool_name}: {one.load:.2f}"
    yield (
        f"  pause of a lone sender at {one.pause_at} bytes (2^{one.dynamic_th} of {one.lossless_pool}); "
        f"with every lossless port congested at {one.pause_at_all} each"
    )
    lead = one.pause_at / one.ecn_max if one.ecn_max else 0.0
    yield f"  ECN {one.ecn_min} to {one.ecn_max} bytes: full marking {lead:.1f} times before PFC"
    for finding in one.findings:
        yield f"  {finding.status.value}: {finding.code}: {finding.observed}; {finding.remedy}"
