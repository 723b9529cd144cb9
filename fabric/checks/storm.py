"""Pause: who started it. A storm is walked back from port to port until a NIC or a congested queue is left (CONG-02).

A port that *receives* PFC is told to stop by its neighbour. When the neighbour is a switch, it has stopped its own
senders because one of its ports was told to stop, or because one of its queues is full. The walk ends at a NIC that
pauses without being paused, at a switch with no paused port (congestion), or where it meets itself (a deadlock).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from fabric.checks._cabling_words import some
from fabric.checks.judged import Judged
from fabric.checks.view import Link, View
from fabric.checks.window import grown, span_s
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status


@dataclass(slots=True)
class _Paused:
    """A port that is told to stop: frames a second, and what its watchdog says."""

    end: End
    rate: float
    stormed: bool = False
    detected: int = 0


@dataclass(slots=True)
class _Source:
    """Where a walk ended, and every port it came from."""

    kind: str
    at: End
    victims: dict[End, _Paused] = field(default_factory=dict)


def judge(view: View, judged: Judged) -> None:
    """Find paused ports, walk each back, and say one claim a source."""
    if not view.plan.qos.lossless:
        return
    paused = _paused(view, judged)
    sources: dict[tuple[str, End], _Source] = {}
    for end in sorted(paused):
        kind, at = _walk(view, paused, end)
        # A congested switch is one source, whichever of its ports a walk came in by.
        key = (at[0], "") if kind == "queue" else at
        source = sources.setdefault((kind, key), _Source(kind, at))
        source.victims[end] = paused[end]
    for source in sources.values():
        judged.claims.append(_claim(view, source))


def _paused(view: View, judged: Judged) -> dict[End, _Paused]:
    """Ports in a storm: told so by their watchdog, or receiving more pause frames than any healthy port."""
    priority, limits = view.plan.qos.lossless_tc, view.limits
    found: dict[End, _Paused] = {}
    for name in view.plan.switches:
        state = view.state(name)
        if state is None:
            continue
        elapsed = span_s(view, name)
        for port in view.plan.switches[name].ports:
            queue = (state.queues or {}).get(f"{port}:{priority}", {})
            stormed = queue.get("PFC_WD_STATUS") == "stormed"
            rate, detected = 0.0, 0
            if elapsed is not None:
                frames = grown(view, name, "counters", port).by(f"PFC_{priority}_RX_PKTS")
                rate = (frames or 0) / elapsed
                events = grown(view, name, "queues", f"{port}:{priority}").by("PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED")
                detected = events or 0
            often = detected >= limits.watchdog_events and elapsed is not None and detected / elapsed >= 1 / 300
            if stormed or rate >= limits.storm_rate or often:
                found[name, port] = _Paused((name, port), rate, stormed, detected)
            elif "PFC_WD_STATUS" in queue and view.scope.holds(name):
                judged.passed += 1
                if detected:
                    view.note(f"{name} {port}: the watchdog saw {detected} storm(s) since the baseline: polling jitter")
    return found


def _walk(view: View, paused: dict[End, _Paused], start: End) -> tuple[str, End]:
    """Follow the pause to its source: ("nic", NIC end), ("queue", switch end) or ("loop", an end of the loop)."""
    by_device: dict[str, list[End]] = defaultdict(list)
    for end in paused:
        by_device[end[0]].append(end)
    here, been = start, [start]
    while True:
        far = view.far(here)
        if far is None:
            return "queue", here
        if far[0] in view.plan.hosts:
            return "nic", far
        onward = [end for end in by_device.get(far[0], ()) if end != far]
        if not onward:
            return "queue", far
        # A port that leads to a NIC is the likelier source; else the one that is paused most.
        here = max(onward, key=lambda end: (_leads_to_host(view, end), paused[end].stormed, paused[end].rate, end))
        if here in been:
            loop = been[been.index(here) :]
            return "loop", min(loop)
        been.append(here)


def _leads_to_host(view: View, end: End) -> bool:
    far = view.far(end)
    return far is not None and far[0] in view.plan.hosts


def _claim(view: View, source: _Source) -> Claim:
    priority = view.plan.qos.lossless_tc
    worst = max(source.victims.values(), key=lambda one: (one.stormed, one.rate))
    links = [link for link in (view.of_end.get(end) for end in source.victims) if link is not None]
    link = view.of_end.get(source.at)
    host = source.at[0] if source.kind == "nic" else None
    where = view.name(source.at)
    place = _switch_end(link, source.at)
    observed, remedy = _words(source, where, place, priority)
    others = [end for end in source.victims if end != place]
    finding = Finding(
        code="CONG-02",
        status=Status.FAIL,
        severity=Severity.BLOCK,
        confidence=Confidence.LIKELY,
        device=place[0],
        port=place[1],
        node=host,
        nic=source.at[1] if host else None,
        rail=link.rail if link is not None else None,
        nodes=(host,) if host else (),
        rails=(link.rail,) if link is not None and link.rail is not None else (),
        cable=link.name if link is not None else None,
        expected=f"fewer than {view.limits.storm_rate:g} pause frames a second, watchdog operational",
        observed=observed,
        evidence=_evidence(worst, others, view),
        remedy=remedy,
    )
    cables = {one.name for one in links} | ({link.name} if link is not None and source.kind == "nic" else set())
    return Claim(Cause.STORM, finding, cables=frozenset(cables), devices=frozenset(end[0] for end in source.victims))


def _switch_end(link: Link | None, at: End) -> End:
    return link.a if link is not None and at == link.b and link.host else at


def _words(source: _Source, where: str, place: End, priority: int) -> tuple[str, str]:
    if source.kind == "nic":
        return (
            f"{where} pauses priority {priority} without end and blocks {len(source.victims)} port(s) behind it",
            f"shut {place[0]} {place[1]} now (`sudo config interface shutdown {place[1]}`), then reset or swap its NIC "
            f"{source.at[0]}",
        )
    if source.kind == "loop":
        return (
            f"pause goes in a circle through {len(source.victims)} ports from {where}: a deadlock",
            f"break the circle on {place[0]}: `sudo config interface shutdown {place[1]}`, some seconds, `sudo "
            f"config interface "
            f"startup {place[1]}`; then `railfab check INTENT --only bgp,ecmp`: only a route that goes down and up "
            f"again "
            "(leaf to spine to leaf to spine) makes a circle",
        )
    return (
        f"{source.at[0]} is congested: it pauses {len(source.victims)} port(s) and nobody pauses it",
        f"on {source.at[0]}: `show queue watermark unicast` and `show queue counters`: the port whose queue "
        f"{priority} is "
        "full is the bottleneck: many senders to its receiver (the job's doing), or a link slower than planned (`show "
        "interfaces status`)",
    )


def _evidence(worst: _Paused, others: list[End], view: View) -> str:
    parts = [f"{view.name(worst.end)} receives {worst.rate:,.0f} pause frames a second"]
    if worst.stormed:
        parts.append("its watchdog says stormed")
    if worst.detected:
        parts.append(f"{worst.detected} storms detected since the baseline, whatever its status says now")
    if others:
        parts.append(f"victims: {some((view.name(end) for end in sorted(others)), 6)}")
    return "; ".join(parts)
