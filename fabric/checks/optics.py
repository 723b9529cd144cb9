"""Optics against the module's own thresholds, lane against lane, and against the baseline (PHY-03, PHY-06).

From 202505 on only the first child of a cage has sensors; the others are judged by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.snapshot import Optic

_LANE = re.compile(r"^(rx|tx)(\d+)(power|bias)$")
_STEMS = {"temperature": "temp", "voltage": "vcc"}


def optics(view: View, judged: Judged) -> None:
    """Judge the module of every port in scope. A device without optics data is noted, not passed."""
    blind: set[str] = set()
    for link in view.links:
        if link.life in (Life.PLANNED, Life.KNOWN_DOWN):
            continue
        for end in (link.a, link.b):
            if end[0] not in view.plan.switches:
                continue
            state = view.state(end[0])
            optic = (state.optics or {}).get(end[1]) if state is not None else None
            if optic is None:
                blind.add(end[0])
                continue
            if view.up(end) is not True:
                continue
            wrong = list(_wrong(view, end, optic))
            if wrong:
                judged.claims.append(_claim(view, link, end, optic, wrong))
            elif optic.sensors and optic.thresholds:
                judged.passed += 1
    if blind:
        view.skip(f"optics of {len(blind)} switch(es)", "no module data for some of their ports")


def absent_module(view: View, link: Link) -> End | None:
    """The end of a dark cable whose cage is empty, if the switch says so."""
    for end in (link.a, link.b):
        state = view.state(end[0])
        optic = (state.optics or {}).get(end[1]) if state is not None else None
        if optic is not None and optic.present is False:
            return end
    return None


def _wrong(view: View, end: End, optic: Optic) -> Iterator[tuple[Status, str]]:
    if optic.error and optic.error.lower() not in ("n/a", "none", "ok"):
        yield Status.FAIL, f"module fault: {optic.error}"
    yield from _bands(optic)
    powers = _lanes(optic, "rxpower")
    if len(powers) > 1:
        spread = max(powers.values()) - min(powers.values())
        if spread > view.limits.rx_spread_db:
            weakest = min(powers, key=powers.__getitem__)
            yield Status.WARN, f"lane {weakest} receives {spread:.1f} dB less than the best lane"
    yield from _fallen(view, end, powers)


def _bands(optic: Optic) -> Iterator[tuple[Status, str]]:
    """Each sensor against the alarm and warning thresholds the module itself gives."""
    limits = optic.thresholds
    bands: dict[str, tuple[float | None, ...]] = {}
    for name, value in optic.sensors.items():
        stem, _, _ = _parsed(name)
        if stem is None:
            continue
        band = bands.get(stem)
        if band is None:
            band = bands[stem] = _band(limits, stem)
        high, low, high_alarm, low_alarm = band
        if high_alarm is not None and value > high_alarm:
            yield Status.FAIL, f"{name} {value:g} is above its alarm threshold {high_alarm:g}"
        elif low_alarm is not None and value < low_alarm:
            yield Status.FAIL, f"{name} {value:g} is below its alarm threshold {low_alarm:g}"
        elif high is not None and value > high:
            yield Status.WARN, f"{name} {value:g} is above its warning threshold {high:g}"
        elif low is not None and value < low:
            yield Status.WARN, f"{name} {value:g} is below its warning threshold {low:g}"


def _band(limits: Mapping[str, float], stem: str) -> tuple[float | None, ...]:
    """High and low warning, high and low alarm. A module that leaves a pair at zero has none (high at or below low)."""
    pairs: list[float | None] = []
    for level in ("warning", "alarm"):
        high, low = limits.get(f"{stem}high{level}"), limits.get(f"{stem}low{level}")
        pairs += (None, None) if high is not None and low is not None and high <= low else (high, low)
    return tuple(pairs)


@cache
def _parsed(name: str) -> tuple[str | None, str, int]:
    """A sensor's name: the stem of its thresholds, `rxpower` or the like, and its lane (0: none)."""
    match = _LANE.match(name)
    if match is None:
        return _STEMS.get(name), name, 0
    stem = f"{match[1]}{match[3]}"
    return stem, stem, int(match[2])


def _lanes(optic: Optic, what: str) -> dict[int, float]:
    found = {}
    for name, value in optic.sensors.items():
        _, kind, lane = _parsed(name)
        if kind == what and lane:
            found[lane] = value
    return found


def _fallen(view: View, end: End, powers: dict[int, float]) -> Iterator[tuple[Status, str]]:
    state = view.before(end[0])
    optic = (state.optics or {}).get(end[1]) if state is not None else None
    if optic is None:
        return
    before = _lanes(optic, "rxpower")
    for lane, value in powers.items():
        if lane in before and before[lane] - value > view.limits.rx_drop_db:
            yield Status.WARN, f"lane {lane} receives {before[lane] - value:.1f} dB less than in the baseline"


def _claim(view: View, link: Link, end: End, optic: Optic, wrong: list[tuple[Status, str]]) -> Claim:
    fails = any(status is Status.FAIL for status, _ in wrong)
    fault = any(text.startswith("module fault") for _, text in wrong)
    texts = [text for _, text in wrong]
    finding = Finding(
        code="PHY-06" if fault else "PHY-03",
        status=Status.FAIL if fails else Status.WARN,
        severity=Severity.BLOCK if fails and link.host and link.life is Life.SERVICE else Severity.WARN,
        confidence=Confidence.CERTAIN,
        device=end[0],
        port=end[1],
        node=link.b[0] if link.host else None,
        nic=link.b[1] if link.host else None,
        rail=link.rail,
        nodes=(link.b[0],) if link.host else (),
        rails=(link.rail,) if link.rail is not None else (),
        cable=link.name,
        expected="the module inside its own thresholds",
        observed=f"{view.name(end)}: {'; '.join(texts[:4])}"
        + (f"; and {len(texts) - 4} more" if len(texts) > 4 else ""),
        evidence=f"{optic.vendor} {optic.model} serial {optic.serial}".strip(),
        remedy="low receive power: clean and reseat the fibre, then look at the far transmitter; bias, temperature or "
        "a fault: change this module",
    )
    return Claim(Cause.OPTICS, finding, cables=frozenset({link.name}), devices=frozenset({link.a[0], link.b[0]}))
