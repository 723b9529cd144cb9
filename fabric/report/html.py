"""One HTML file, nothing loaded from elsewhere: summary, rail heat map, topology with findings on it, what to do."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.report.harmless import escape
from fabric.report.matrix import RailMatrix, rail_matrix
from fabric.report.terminal import moment, place, verdict_of
from fabric.report.topology import topology_svg
from fabric.report.trend import Trend, trend_svg
from fabric.values.finding import Finding, Report, Severity, Status
from fabric.values.plan import Plan

_WORD = {Status.FAIL: "fail", Status.UNKNOWN: "cannot tell", Status.WARN: "warn", Status.PASS: "ok"}
_CLASS = {Status.FAIL: "fail", Status.UNKNOWN: "unknown", Status.WARN: "warn", Status.PASS: "ok"}

# Colours keep their meaning without hue: fail is darkest, unknown is hatched, and every cell has a title.
_STYLE = """
:root{--ink:#1c2733;--dim:#5b6b7b;--line:#d5dde5;--bg:#fff;--card:#f6f8fa;--ok:#cfe8d5;--warn:#ffe08a;
--fail:#c62828;--unknown:#b9a6dd}
@media (prefers-color-scheme:dark){:root{--ink:#e4e9ee;--dim:#9aa8b5;--line:#39444f;--bg:#14191e;--card:#1d242b;
--ok:#245c36;--warn:#a07b10;--fail:#e05252;--unknown:#7a63ad}}
*{box-sizing:border-box}body{margin:0;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--bg)}
main{max-width:1200px;margin:0 auto;padding:1.2rem}h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;
margin:1.8rem 0 .6rem}.dim{color:var(--dim)}.tag{display:inline-block;padding:.05rem .5rem;border-radius:.7rem;
font-size:.8rem;font-weight:600;border:1px solid var(--line);color:var(--ink)}.tag.fail{background:var(--fail);
color:#fff}.tag.unknown{background:var(--unknown);color:#fff}.tag.warn{background:var(--warn);color:#1c2733}
.tag.ok{background:var(--ok)}.tiles{display:flex;flex-wrap:wrap;gap:.7rem;margin:1rem 0}.tile{background:var(--card);
border:1px solid var(--line);border-radius:.5rem;padding:.5rem .9rem;min-width:7rem}.tile b{display:block;
font-size:1.3rem}ol.todo li{margin:.3rem 0}details{border:1px solid var(--line);border-radius:.5rem;margin:.5rem 0;
background:var(--card)}summary{cursor:pointer;padding:.5rem .8rem}dl{display:grid;grid-template-columns:6rem 1fr;
gap:.2rem .8rem;margin:0;padding:.2rem .9rem .8rem}dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto}table.matrix{border-collapse:separate;border-spacing:2px;font-size:.75rem}
table.matrix td{width:1.5rem;height:1.1rem;border-radius:.2rem;padding:0}table.matrix th{font-weight:500;
text-align:right;padding-right:.4rem;white-space:nowrap}table.matrix thead th{text-align:center;padding:0}
td.ok{background:var(--ok)}td.warn{background:var(--warn)}td.fail{background:var(--fail)}
td.unknown{background:repeating-linear-gradient(45deg,var(--unknown) 0 4px,transparent 4px 7px)}
.blocks{display:flex;flex-wrap:wrap;gap:1.2rem}.key span{display:inline-block;width:1rem;height:.8rem;
border-radius:.2rem;margin:0 .3rem 0 1rem;vertical-align:middle}svg{max-width:100%;height:auto}
svg text{font:11px system-ui,sans-serif;fill:var(--ink)}
"""


def html(report: Report, plan: Plan, trend: Trend = ()) -> str:
    """The report as one self-contained page."""
    return "".join(f"{part}\n" for part in _parts(report, plan, trend))


def _parts(report: Report, plan: Plan, trend: Trend) -> Iterator[str]:
    word, _ = verdict_of(report.summary)
    name = escape(plan.name)
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    yield f"<title>{name}: {word}</title><style>{_STYLE}</style></head><body><main>"
    when = moment(report.taken_at) if report.taken_at else "time not known"
    yield f'<h1>{name} <span class="tag {_verdict_class(word)}">{escape(word)}</span></h1>'
    yield f'<div class="dim">{when}</div>'
    yield from _tiles(report)
    yield from _todo(report)
    yield "<h2>Rails</h2>"
    yield from _matrix(rail_matrix(plan, report))
    yield "<h2>Topology</h2>"
    yield f'<div class="scroll">{topology_svg(plan, report)}</div>'
    history = trend_svg(trend)
    if history:
        yield f'<h2>How it has been</h2><div class="scroll">{history}</div>'
    if report.findings:
        yield "<h2>Findings</h2>"
        for number, finding in enumerate(report.findings, 1):
            yield from _finding(finding, number)
    if report.notes:
        yield "<h2>Notes</h2><ul>"
        for note in report.notes:
            yield f'<li class="dim">{escape(note)}</li>'
        yield "</ul>"
    yield "</main></body></html>"


def _verdict_class(word: str) -> str:
    if word.startswith("HEALTHY"):
        return "warn" if "warnings" in word else "ok"
    return "fail" if word == "FAIL" else "unknown"


def _tiles(report: Report) -> Iterator[str]:
    summary = report.summary
    yield '<div class="tiles">'
    for label, value in (
        ("failed", summary.fail),
        ("cannot tell", summary.unknown),
        ("warnings", summary.warn),
        ("passed", summary.passed),
        ("switches asked", summary.devices),
        ("without data", len(summary.missing_devices)),
    ):
        yield f'<div class="tile"><b>{value:,}</b>{label}</div>'
    yield "</div>"
    if summary.missing_devices:
        yield f"<p>No data from {escape(', '.join(summary.missing_devices))}.</p>"


def _todo(report: Report) -> Iterator[str]:
    yield "<h2>What to do</h2>"
    if not report.findings:
        yield "<p>Nothing.</p>" if report.summary.passed else "<p>Collect: nothing could be judged.</p>"
        return
    yield '<ol class="todo">'
    for number, finding in enumerate(report.findings, 1):
        yield (
            f'<li><a href="#f{number}">{escape(place(finding))}</a> '
            f'<span class="tag {_CLASS[finding.status]}">{_WORD[finding.status]}</span> '
            f"{escape(finding.remedy or finding.observed or finding.code)}</li>"
        )
    yield "</ol>"


def _matrix(matrix: RailMatrix) -> Iterator[str]:
    if not matrix.nodes:
        yield '<p class="dim">No node in service.</p>'
        return
    yield (
        '<p class="key dim">node by rail: <span style="background:var(--ok)"></span>as planned'
        '<span style="background:var(--warn)"></span>warning<span style="background:var(--fail)"></span>failed'
        '<span style="background:var(--unknown)"></span>cannot tell</p>'
    )
    yield '<div class="scroll"><div class="blocks">'
    size = 25
    for start in range(0, len(matrix.nodes), size):
        yield '<table class="matrix"><thead><tr><th></th>'
        yield "".join(f"<th>{rail}</th>" for rail in matrix.rails)
        yield "</tr></thead><tbody>"
        for node in matrix.nodes[start : start + size]:
            cells = []
            for rail in matrix.rails:
                level = matrix.cells.get((node, rail))
                if level is None:
                    cells.append("<td></td>")
                    continue
                said = matrix.why.get((node, rail), "as planned" if level == "ok" else level)
                cells.append(f'<td class="{level}" title="{escape(f"{node} rail {rail}: {said}")}"></td>')
            yield f"<tr><th>{escape(node)}</th>{''.join(cells)}</tr>"
        yield "</tbody></table>"
    yield "</div></div>"


def _finding(finding: Finding, number: int) -> Iterator[str]:
    blocks = ", blocks jobs" if finding.severity is Severity.BLOCK and finding.status is not Status.WARN else ""
    yield (
        f'<details id="f{number}"{" open" if number <= 3 else ""}><summary>'
        f'<span class="tag {_CLASS[finding.status]}">{_WORD[finding.status]}</span> <b>{escape(finding.code)}</b> '
        f'{escape(place(finding))}<span class="dim">{blocks}</span></summary><dl>'
    )
    for label, text in (
        ("seen", finding.observed),
        ("planned", finding.expected),
        ("because", finding.evidence),
        ("do", finding.remedy),
    ):
        if text:
            yield f"<dt>{label}</dt><dd>{escape(text)}</dd>"
    if finding.moves:
        steps = "".join(
            f"<li>{escape(f'{move.from_.device}:{move.from_.port}')} &rarr; "
            f"{escape(f'{move.to.device}:{move.to.port}')} "
            f'<span class="dim">{escape(move.cable)}</span></li>'
            for move in finding.moves
        )
        yield f"<dt>moves</dt><dd><ol>{steps}</ol></dd>"
    if finding.consequences:
        below = "".join(
            f"<li>{escape(one.code)} {escape(place(one))}: {escape(one.observed or '')}</li>"
            for one in finding.consequences
        )
        yield f"<dt>hence</dt><dd><ul>{below}</ul></dd>"
    yield "</dl></details>"
