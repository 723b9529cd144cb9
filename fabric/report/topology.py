"""The fabric as a picture with the findings on it: spines above, leaves by pod below, one line a leaf-spine pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fabric.report.harmless import escape
from fabric.report.matrix import rail_matrix
from fabric.values.finding import Finding, Report, Status
from fabric.values.plan import LifeState, Network, Plan, PortUse, Role, SwitchPlan

# Above this many leaf-spine pairs only pairs with findings are drawn: thousands of lines say nothing.
_MOST_PAIRS = 600
_MOST_IN_ROW = 64
_NICS_IN_ROW = 8
_MOST_NICS = 128
_RANK = {"ok": 0, "warn": 1, "unknown": 2, "fail": 3}
_LEVEL = {Status.FAIL: "fail", Status.UNKNOWN: "unknown", Status.WARN: "warn", Status.PASS: "ok"}
_COLOUR = {"ok": "var(--line)", "warn": "var(--warn)", "unknown": "var(--unknown)", "fail": "var(--fail)"}
_FILL = {"ok": "var(--card)", "warn": "var(--warn)", "unknown": "var(--unknown)", "fail": "var(--fail)"}


def topology_svg(plan: Plan, report: Report) -> str:
    """An SVG of the compute network, coloured by the worst finding on each switch and pair."""
    rows = _rows(plan)
    if not any(rows):
        return ""
    width = 60 + 74 * min(_MOST_IN_ROW, max(len(row) for row in rows))
    places: dict[str, tuple[float, float]] = {}
    for index, row in enumerate(rows):
        step = (width - 60) / max(1, len(row))
        for position, switch in enumerate(row):
            places[switch.name] = (30 + step * (position + 0.5), 40 + 150 * index)
    on_leaf = _on_leaf(plan, report, places)
    deepest = max((min(_MOST_NICS, len(nics)) for nics in on_leaf.values()), default=0)
    height = 40 + 150 * (len(rows) - 1) + 30 + 8 * -(-deepest // _NICS_IN_ROW)
    switch_level, pair_level, pair_why = _levels(plan, report)
    parts = [f'<svg width="{width:.0f}" viewBox="0 0 {width:.0f} {height}" role="img" aria-label="topology">']
    parts.extend(_pairs(plan, places, pair_level, pair_why))
    parts.extend(_boxes(rows, places, switch_level))
    parts.extend(_hosts(on_leaf, places))
    parts.append("</svg>")
    return "".join(parts)


def _rows(plan: Plan) -> list[list[SwitchPlan]]:
    """Rows of switches, the top tier first."""
    rows = []
    for role in (Role.SUPERSPINE, Role.SPINE, Role.LEAF):
        row = [
            switch
            for switch in plan.switches.values()
            if switch.role is role and switch.network is Network.COMPUTE and switch.state is not LifeState.PLANNED
        ]
        if row:
            rows.append(sorted(row, key=lambda switch: (switch.pod or 0, switch.index)))
    return rows


def _levels(
    plan: Plan, report: Report
) -> tuple[dict[str, str], dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    switches: dict[str, str] = {}
    pairs: dict[tuple[str, str], str] = {}
    why: dict[tuple[str, str], str] = {}
    for finding in _all(report.findings):
        level = _LEVEL[finding.status]
        cable = plan.cables.get(finding.cable) if finding.cable else None
        if cable is not None and cable.kind is PortUse.FABRIC:
            low, high = sorted((cable.a_device, cable.b_device))
            if _RANK[level] > _RANK[pairs.get((low, high), "ok")]:
                pairs[low, high] = level
                why[low, high] = f"{finding.code}: {finding.observed or ''}"
        elif (
            cable is None
            and finding.device is not None
            and finding.port is None
            and _RANK[level] > _RANK[switches.get(finding.device, "ok")]
        ):
            switches[finding.device] = level
        for move in finding.moves:
            moved = plan.cables.get(move.cable)
            if moved is not None and moved.kind is PortUse.FABRIC:
                low, high = sorted((moved.a_device, moved.b_device))
                pairs[low, high] = "fail"
                why.setdefault((low, high), f"{finding.code}: {finding.observed or ''}")
    for name in report.summary.missing_devices:
        if switches.get(name) != "fail":
            switches[name] = "unknown"
    return switches, pairs, why


def _pairs(
    plan: Plan,
    places: dict[str, tuple[float, float]],
    levels: dict[tuple[str, str], str],
    why: dict[tuple[str, str], str],
) -> Iterator[str]:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for cable in plan.cables.values():
        if cable.kind is PortUse.FABRIC and cable.a_device in places and cable.b_device in places:
            low, high = sorted((cable.a_device, cable.b_device))
            counts[low, high] += 1
    shown = counts if len(counts) <= _MOST_PAIRS else {pair: count for pair, count in counts.items() if pair in levels}
    for pair in sorted(shown, key=lambda pair: _RANK[levels.get(pair, "ok")]):
        level = levels.get(pair, "ok")
        (x1, y1), (x2, y2) = places[pair[0]], places[pair[1]]
        title = f"{pair[0]} - {pair[1]}, {counts[pair]} cables" + (f": {why[pair]}" if pair in why else "")
        yield (
            f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="{_COLOUR[level]}" '
            f'stroke-width="{1 if level == "ok" else 3}"><title>{escape(title)}</title></line>'
        )


def _boxes(
    rows: list[list[SwitchPlan]], places: dict[str, tuple[float, float]], levels: dict[str, str]
) -> Iterator[str]:
    for row in rows:
        for switch in row:
            x, y = places[switch.name]
            level = levels.get(switch.name, "ok")
            light = ' style="fill:#fff"' if level in ("fail", "unknown") else ""
            yield (
                f'<rect x="{x - 32:.0f}" y="{y - 13:.0f}" width="64" height="26" rx="5" fill="{_FILL[level]}" '
                f'stroke="var(--dim)"><title>{escape(switch.name)}: {level}</title></rect>'
                f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle"{light}>{escape(switch.name[:10])}</text>'
            )


def _on_leaf(
    plan: Plan, report: Report, places: dict[str, tuple[float, float]]
) -> dict[str, list[tuple[str, int, str]]]:
    """NICs in service by leaf: node, rail and level, as in the matrix."""
    matrix = rail_matrix(plan, report)
    found: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
    for node in matrix.nodes:
        for nic in plan.hosts[node].nics.values():
            if nic.rail is not None and nic.switch in places and (node, nic.rail) in matrix.cells:
                found[nic.switch].append((node, nic.rail, matrix.cells[node, nic.rail]))
    return found


def _hosts(on_leaf: dict[str, list[tuple[str, int, str]]], places: dict[str, tuple[float, float]]) -> Iterator[str]:
    """Under each leaf its NICs as small squares."""
    for leaf, nics in on_leaf.items():
        x, y = places[leaf]
        for position, (node, rail, level) in enumerate(nics[:_MOST_NICS]):
            column, line = position % _NICS_IN_ROW, position // _NICS_IN_ROW
            fill = "var(--ok)" if level == "ok" else _FILL[level]
            yield (
                f'<rect x="{x - 31 + 8 * column:.0f}" y="{y + 19 + 8 * line:.0f}" width="6" height="6" rx="1" '
                f'fill="{fill}"><title>{escape(node)} rail {rail}: {level}</title></rect>'
            )


def _all(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    for finding in findings:
        yield finding
        yield from _all(finding.consequences)
