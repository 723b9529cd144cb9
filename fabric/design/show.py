"""A design report as the JSON contract spells it (`railfab.design/1`) and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabric.design.capacity import Capacity, TierCapacity
from fabric.design.judge import DesignReport
from fabric.values.finding import Finding, finding_json, summary_json
from fabric.values.plan import Role

SCHEMA = "railfab.design/1"
_PLACES = 4
_WORDS = {Role.SUPERSPINE: "super-spine", Role.STORAGE: "storage switch"}


def design_json(design: DesignReport) -> dict[str, Any]:
    """Plain values of the whole report. Gb/s; ratios rounded to three places, the load after a loss to two."""
    return {
        "schema": SCHEMA,
        "name": design.name,
        "fabrics": {network.value: _capacity_json(capacity) for network, capacity in design.capacity.items()},
        "findings": [finding_json(finding) for finding in design.report.findings],
        "summary": summary_json(design.report.summary),
        "notes": list(design.notes),
    }


def _capacity_json(capacity: Capacity) -> dict[str, Any]:
    return {
        "switches": capacity.switches,
        "cables": capacity.cables,
        "nics": capacity.nics,
        "pod_gbps": _number(capacity.pod_gbps),
        "leaf_down_gbps": _number(capacity.leaf_down_gbps),
        "leaf_up_gbps": _number(capacity.leaf_up_gbps),
        "oversubscription": _rounded(capacity.oversubscription, 3),
        "survives_spines": capacity.survives_spines,
        "survives_uplinks_per_leaf": capacity.survives_uplinks_per_leaf,
        "remote_load_after_one_link": _rounded(capacity.remote_load_after_one_link, 2),
        "ecmp_up": capacity.ecmp_up,
        "ecmp_down": capacity.ecmp_down,
        "hosts": capacity.hosts,
        "reserve_hosts": capacity.reserve_hosts,
        "planes": capacity.planes,
        "after_one_plane": _rounded(capacity.after_one_plane, 3),
        "tiers": [_tier_json(tier) for tier in capacity.tiers],
    }


def _tier_json(tier: TierCapacity) -> dict[str, Any]:
    return {
        "tier": tier.tier.value,
        "switches": tier.switches,
        "worst": tier.worst,
        "down_gbps": _number(tier.down_gbps),
        "up_gbps": _number(tier.up_gbps),
        "ratio": _rounded(tier.ratio, 3),
        "after_one_upper": _rounded(tier.after_one_upper, 3),
        "after_one_link": _rounded(tier.after_one_link, 3),
    }


def design_text(design: DesignReport) -> str:
    """What an engineer reads: capacity, then findings with what to do, then the notes that go with every output."""
    return "\n".join(_lines(design)) + "\n"


def _lines(design: DesignReport) -> Iterator[str]:
    for network, capacity in design.capacity.items():
        yield f"{design.name} {network.value}"
        yield from (f"  {label:<34}{value}" for label, value in _figures(capacity))
        yield ""
    summary = design.report.summary
    alike: dict[tuple[object, ...], list[Finding]] = {}
    for finding in design.report.findings:
        key = (finding.status, finding.code, finding.observed, finding.expected, finding.remedy)
        alike.setdefault(key, []).append(finding)
    for findings in alike.values():
        yield from _finding(findings)
    yield f"{summary.fail} failed, {summary.warn} warnings, {summary.passed} passed, {summary.devices} switches"
    yield from (f"note: {note}" for note in design.notes)


def _figures(capacity: Capacity) -> Iterator[tuple[str, str]]:
    yield "switches, cables, NICs", f"{capacity.switches:,}, {capacity.cables:,}, {capacity.nics:,}"
    reserve = f", {capacity.reserve_hosts:,} reserve places" if capacity.reserve_hosts else ""
    yield "hosts", f"{capacity.hosts:,}{reserve}"
    if capacity.pod_gbps is not None:
        yield "bandwidth of a pod", _tbps(capacity.pod_gbps)
    for tier in capacity.tiers:
        name = _WORDS.get(tier.tier, tier.tier.value)
        if tier.ratio is None:
            yield f"{name}: down", f"{_tbps(tier.down_gbps)} ({tier.worst}, {tier.switches:,} switches)"
            continue
        where = f"({tier.worst}, {tier.switches:,} switches)"
        yield f"{name}: down, up", f"{_tbps(tier.down_gbps)}, {_tbps(tier.up_gbps)} = {tier.ratio:.3f}:1 {where}"
        yield "  after one switch above is lost", _colon(tier.after_one_upper)
        yield "  after one cable above is lost", _colon(tier.after_one_link)
    if capacity.survives_spines is not None:
        uplinks = _count(capacity.survives_uplinks_per_leaf or 0, "uplink")
        yield "a leaf stays non-blocking without", f"{_count(capacity.survives_spines, 'spine')} or {uplinks}"
    if capacity.remote_load_after_one_link is not None:
        yield "remote load after one lost cable", f"{capacity.remote_load_after_one_link:.2f}"
    if capacity.ecmp_up is not None:
        yield "ECMP", f"{capacity.ecmp_up} up, {capacity.ecmp_down} down"
    if capacity.after_one_plane is not None:
        yield "planes", f"{capacity.planes}; {capacity.after_one_plane:.0%} of each host is left without one"


def _finding(findings: list[Finding]) -> Iterator[str]:
    """Findings that differ in nothing but their place, as one: the first places, and how many more."""
    finding = findings[0]
    places = [" ".join(part for part in (one.device, one.port, one.node, one.nic) if part) for one in findings]
    text = ", ".join(place for place in places[:_PLACES] if place)
    if len(places) > _PLACES:
        text += f" and {len(places) - _PLACES:,} more"
    yield f"{finding.status.value.upper()} {finding.code}{' ' + text if text else ''}: {finding.observed}"
    for label, words in (("wanted", finding.expected), ("do", finding.remedy)):
        if words:
            yield f"    {label}: {words}"


def _tbps(gbps: float) -> str:
    return f"{gbps / 1000:g} Tbps" if gbps >= 1000 else f"{gbps:g} Gbps"


def _colon(ratio: float | None) -> str:
    return "nothing left" if ratio is None else f"{ratio:.3f}:1"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _rounded(value: float | None, places: int) -> float | None:
    if value is None or value == float("inf"):
        return None
    return round(value, places)


def _number(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) else value
