"""Links: up, and the same speed, FEC, lanes and MTU at both ends as planned (PHY-05, PHY-03, ADDR-03)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from fabric.checks._cabling_words import some
from fabric.checks.flaps import flaps
from fabric.checks.judged import Judged
from fabric.checks.optics import absent_module, optics
from fabric.checks.signal import signal
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import PlannedNic, PlannedPort
from fabric.values.snapshot import PortState


def judge(view: View) -> Judged:
    """Judge every cable in scope that is in service or installed."""
    judged = Judged()
    down: list[Link] = []
    for link in view.links:
        if link.life in (Life.PLANNED, Life.KNOWN_DOWN):
            continue
        held = view.hold_on(link.a) or view.hold_on(link.b)
        if held is not None:
            judged.claims.append(_held(view, link, f"held by hand: {held.reason}" if held.reason else "held by hand"))
            continue
        a, b = view.port(link.a), view.port(link.b) if not link.host else None
        if _is_down(view, link, a, b):
            down.append(link)
        elif a is not None or b is not None:
            judged.passed += 1
        for end, planned, state in ((link.a, link.a_port, a), (link.b, link.b_port, b)):
            if state is not None and isinstance(planned, PlannedPort):
                _port(view, link, end, planned, state, judged)
        if link.host:
            _nic(view, link, judged)
    _down(view, down, judged)
    flaps(view, judged)
    signal(view, judged)
    optics(view, judged)
    return judged


def _is_down(view: View, link: Link, a: PortState | None, b: PortState | None) -> bool:
    if (a is not None and a.oper_up is False) or (b is not None and b.oper_up is False):
        return True
    if link.host and a is None:
        nic = view.nic(link.b)
        return nic is not None and nic.oper_up is False
    return False


def _held(view: View, link: Link, reason: str) -> Claim:
    return _claim(
        view,
        link,
        Cause.LIFE,
        code="PHY-05",
        status=Status.WARN,
        severity=Severity.INFO,
        expected=None,
        observed=f"{link.name} is not judged: {reason}",
        evidence=None,
        remedy=None,
    )


# Differences


def _port(view: View, link: Link, end: End, planned: PlannedPort, state: PortState, judged: Judged) -> None:
    """Compare one switch port with the Plan; what the switch did not say is not compared."""
    wrong: list[str] = []
    if state.speed_mbps is not None and state.speed_mbps != planned.speed_mbps:
        wrong.append(f"speed {_gbps(state.speed_mbps)} instead of {_gbps(planned.speed_mbps)}")
    if state.fec and state.fec.lower() not in (planned.fec.lower(), "n/a"):
        wrong.append(f"FEC {state.fec} instead of {planned.fec}")
    if state.lanes and len(state.lanes) != len(planned.lanes):
        wrong.append(f"{len(state.lanes)} lanes instead of {len(planned.lanes)}")
    elif state.lanes and state.lanes != planned.lanes:
        wrong.append(f"lanes {_lanes(state.lanes)} instead of {_lanes(planned.lanes)}")
    if state.oper_up and not wrong:
        if state.oper_speed_mbps is not None and state.oper_speed_mbps != planned.speed_mbps:
            wrong.append(f"runs at {_gbps(state.oper_speed_mbps)} instead of {_gbps(planned.speed_mbps)}")
        if state.oper_fec and state.oper_fec.lower() not in (planned.fec.lower(), "n/a"):
            wrong.append(f"runs with FEC {state.oper_fec} instead of {planned.fec}")
    if wrong:
        judged.claims.append(_mismatch(view, link, end, planned, wrong))
    else:
        judged.passed += 1
    if state.mtu is not None:
        if state.mtu == planned.mtu:
            judged.passed += 1
        else:
            judged.claims.append(_mtu(view, link, end, planned.mtu, state.mtu))


def _nic(view: View, link: Link, judged: Judged) -> None:
    nic, planned = view.nic(link.b), link.b_port
    if nic is None or not isinstance(planned, PlannedNic):
        return
    if nic.speed_mbps is not None and nic.oper_up and nic.speed_mbps != planned.speed_mbps:
        wrong = [f"runs at {_gbps(nic.speed_mbps)} instead of {_gbps(planned.speed_mbps)}"]
        judged.claims.append(_mismatch(view, link, link.b, None, wrong))
    if nic.mtu is not None:
        if nic.mtu == planned.mtu:
            judged.passed += 1
        else:
            judged.claims.append(_mtu(view, link, link.b, planned.mtu, nic.mtu))


def _mismatch(view: View, link: Link, end: End, planned: PlannedPort | None, wrong: list[str]) -> Claim:
    far = link.b if link.a == end else link.a
    far_state = view.port(far)
    other = ""
    if far_state is not None and planned is not None:
        other = (
            f"; the other end, {view.name(far)}, has {_gbps(far_state.speed_mbps)}, FEC {far_state.fec or 'not said'}"
        )
    return _claim(
        view,
        link,
        Cause.LINK_MISMATCH,
        code="PHY-03",
        at=end,
        expected=_shape(planned) if planned is not None else f"{_gbps(link.b_port.speed_mbps)} at {view.name(end)}",
        observed=f"{view.name(end)}: {', '.join(wrong)}",
        evidence=f"APPL_DB and STATE_DB of {end[0]}{other}" if planned is not None else f"{end[0]} says so itself",
        remedy=f"render and push {end[0]} again (`railfab drift` shows the difference)"
        if planned is not None
        else f"look at the NIC of {view.name(end)}: cable type, module, forced speed",
    )


def _shape(planned: PlannedPort) -> str:
    return f"{_gbps(planned.speed_mbps)}, FEC {planned.fec}, {len(planned.lanes)} lanes"


def _mtu(view: View, link: Link, end: End, planned: int, seen: int) -> Claim:
    far = link.b if link.a == end else link.a
    far_state = view.port(far)
    other = f"; the other end, {view.name(far)}, has {far_state.mtu}" if far_state and far_state.mtu else ""
    return _claim(
        view,
        link,
        Cause.MTU,
        code="ADDR-03",
        at=end,
        expected=f"MTU {planned} at {view.name(end)}",
        observed=f"MTU {seen} at {view.name(end)}",
        evidence=f"{end[0]} says so{other}",
        remedy=f"`sudo config interface mtu {end[1]} {planned}` on {end[0]}, or render and push it again"
        if end[0] in view.plan.switches
        else f"set MTU {planned} on {view.name(end)}",
    )


# Down


@dataclass(slots=True)
class _Group:
    links: list[Link]
    cage: str = ""


def _down(view: View, down: list[Link], judged: Judged) -> None:
    """One claim a dark cable, or one a cage when all its children are dark (F051)."""
    for group in _cages(view, down):
        judged.claims.append(_dark_cage(view, group) if len(group.links) > 1 else _dark(view, group.links[0]))


def _cages(view: View, down: list[Link]) -> list[_Group]:
    by_cage: dict[tuple[str, str], list[Link]] = defaultdict(list)
    for link in down:
        by_cage[link.a[0], link.a_port.parent].append(link)
    groups = []
    for (device, parent), found in by_cage.items():
        if len(found) > 1 and len(found) == _children(view, device, parent):
            groups.append(_Group(found, parent))
        else:
            groups.extend(_Group([link]) for link in found)
    return groups


def _children(view: View, device: str, parent: str) -> int:
    count = 0
    for port in view.plan.switches[device].ports.values():
        if port.parent == parent:
            link = view.of_end.get((device, port.name))
            count += link is not None and link.life in (Life.SERVICE, Life.INSTALLED)
    return count


def _dark(view: View, link: Link) -> Claim:
    guilt, remedy, confidence = _guilt(view, link)
    since = _since(view, link)
    module = absent_module(view, link)
    return _claim(
        view,
        link,
        Cause.MODULE if module else Cause.LINK_DOWN,
        code="PHY-06" if module else "PHY-05",
        confidence=confidence,
        severity=Severity.BLOCK if link.host else Severity.WARN,
        expected=f"{view.name(link.a)} - {view.name(link.b)} up at {_gbps(link.cable.speed_mbps)}",
        observed=f"link down{since}" + (f": no module in {view.name(module)}" if module else ""),
        evidence=guilt or None,
        remedy=f"put a module into {view.name(module)}" if module else remedy,
    )


def _dark_cage(view: View, group: _Group) -> Claim:
    first = group.links[0]
    ports = some(view.name(link.a) for link in group.links)
    return _claim(
        view,
        first,
        Cause.LINK_DOWN,
        code="PHY-05",
        severity=Severity.BLOCK if any(link.host for link in group.links) else Severity.WARN,
        expected=f"{ports} up",
        observed=f"all {len(group.links)} links of cage {group.cage} of {first.a[0]} are down{_since(view, first)}",
        evidence="; ".join(filter(None, (_guilt(view, link)[0] for link in group.links))) or None,
        remedy=f"one module carries them all: look at the module in {view.name(first.a)} and its cable first",
        links=group.links,
    )


def _guilt(view: View, link: Link) -> tuple[str, str, Confidence]:
    """Which end is to blame, as far as the data say."""
    said = []
    for end in (link.a, link.b):
        state = view.port(end)
        if state is None:
            continue
        planned = view.plan.port(*end)
        if state.admin_up is False and planned is not None and planned.admin_up:
            return (
                f"{view.name(end)} is admin down: somebody shut it",
                f"ask who shut it (`railfab hold` keeps it on purpose); else `sudo config interface startup {end[1]}` "
                f"on {end[0]}",
                Confidence.CERTAIN,
            )
        said.append(f"{view.name(end)} {'down' if state.oper_up is False else 'up'}")
        said.extend(_light(view, end))
    remedy = f"check the plugs and modules at {view.name(link.a)} and {view.name(link.b)}; reseat, clean, then replace"
    return "; ".join(said), remedy, Confidence.CERTAIN


def _light(view: View, end: End) -> list[str]:
    """What the module at an end sees of the light, and what the MAC counted."""
    state = view.state(end[0])
    if state is None:
        return []
    said = []
    optic = (state.optics or {}).get(end[1])
    if optic is not None:
        if optic.error:
            said.append(f"module at {view.name(end)}: {optic.error}")
        powers = {k: v for k, v in optic.sensors.items() if k.startswith("rx") and k.endswith("power")}
        floor = optic.thresholds.get("rxpowerlowalarm")
        if powers and floor is not None:
            dark = [name for name, value in powers.items() if value < floor]
            if len(dark) == len(powers):
                said.append(f"no light arrives at {view.name(end)}")
            elif dark:
                said.append(f"{len(dark)} of {len(powers)} lanes are dark at {view.name(end)}")
            else:
                said.append(f"light arrives at {view.name(end)}")
    errors = (state.errors_by_port or {}).get(end[1], {})
    faults = [
        name.removesuffix("_count")
        for name, value in errors.items()
        if name.endswith("_count") and value not in ("", "0")
    ]
    if faults:
        said.append(f"{view.name(end)} counted {', '.join(sorted(faults))}")
    return said


def _since(view: View, link: Link) -> str:
    times = [state.last_down_time for state in (view.port(link.a), view.port(link.b)) if state is not None]
    known = [moment for moment in times if moment is not None and moment <= view.now]
    return f" for {_span(view.now - max(known))}" if known else ""


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 172800:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} days"


def _claim(
    view: View,
    link: Link,
    cause: Cause,
    *,
    code: str,
    expected: str | None,
    observed: str,
    evidence: str | None,
    remedy: str | None,
    at: End | None = None,
    status: Status = Status.FAIL,
    severity: Severity | None = None,
    confidence: Confidence = Confidence.CERTAIN,
    links: list[Link] | None = None,
) -> Claim:
    """A claim about one cable (or `links`), placed at its switch end or at `at`."""
    touched = links or [link]
    nodes = tuple(sorted({one.b[0] for one in touched if one.host}))
    rails = tuple(sorted({one.rail for one in touched if one.rail is not None}))
    place = at if at is not None and at[0] in view.plan.switches else link.a
    if link.life is Life.INSTALLED:
        severity = Severity.WARN
    finding = Finding(
        code=code,
        status=status,
        severity=severity or Severity.BLOCK,
        confidence=confidence,
        device=place[0],
        port=place[1],
        node=nodes[0] if len(nodes) == 1 else None,
        nic=link.b[1] if link.host and len(touched) == 1 else None,
        rail=rails[0] if len(rails) == 1 else None,
        nodes=nodes,
        rails=rails,
        cable=link.name,
        expected=expected,
        observed=observed,
        evidence=evidence,
        remedy=remedy,
    )
    return Claim(
        cause,
        finding,
        cables=frozenset(one.name for one in touched),
        devices=frozenset(end[0] for one in touched for end in (one.a, one.b)),
    )


def _gbps(mbps: int | None) -> str:
    return "an unknown speed" if mbps is None else f"{mbps / 1000:g}G"


def _lanes(lanes: tuple[int, ...]) -> str:
    return ",".join(str(lane) for lane in lanes)
