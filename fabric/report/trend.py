"""How the fabric has been: failures, unknowns and warnings of earlier reports over time, as a small picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fabric.report.harmless import escape
from fabric.report.terminal import moment

# (time, summary) of one earlier report.
Trend = Sequence[tuple[float, Mapping[str, int]]]

_WIDTH, _HEIGHT, _MOST = 1100, 90, 220
_KINDS = (("fail", "var(--fail)"), ("unknown", "var(--unknown)"), ("warn", "var(--warn)"))


def trend_svg(trend: Trend) -> str:
    """Stacked bars, the oldest left; empty with fewer than two reports."""
    rows = list(_thin(trend))
    if len(rows) < 2:
        return ""
    highest = max(1, *(sum(_count(summary, kind) for kind, _ in _KINDS) for _, summary in rows))
    step = _WIDTH / len(rows)
    bars = "".join(_bars(rows, step, highest))
    first, last = moment(rows[0][0]), moment(rows[-1][0])
    return (
        f'<svg width="{_WIDTH}" viewBox="0 0 {_WIDTH} {_HEIGHT + 18}" role="img" aria-label="findings over time">'
        f'<line x1="0" y1="{_HEIGHT}" x2="{_WIDTH}" y2="{_HEIGHT}" stroke="var(--dim)"/>{bars}'
        f'<text x="0" y="{_HEIGHT + 14}">{escape(first)}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT + 14}" text-anchor="end">{escape(last)}, at most {highest}</text></svg>'
    )


def _bars(rows: Sequence[tuple[float, Mapping[str, int]]], step: float, highest: int) -> Iterator[str]:
    for index, (at, summary) in enumerate(rows):
        top = float(_HEIGHT)
        said = ", ".join(f"{_count(summary, kind)} {kind}" for kind, _ in _KINDS)
        for kind, colour in _KINDS:
            height = _HEIGHT * _count(summary, kind) / highest
            if height:
                top -= height
                size = f'width="{max(1.0, step - 1):.1f}" height="{height:.1f}"'
                yield (
                    f'<rect x="{index * step:.1f}" y="{top:.1f}" {size} fill="{colour}">'
                    f"<title>{escape(f'{moment(at)}: {said}')}</title></rect>"
                )


def _thin(trend: Trend) -> Iterator[tuple[float, Mapping[str, int]]]:
    """At most some hundred bars: of each stretch the worst report, so that no failure is lost in a long time."""
    width = max(1, -(-len(trend) // _MOST))
    for start in range(0, len(trend), width):
        yield max(trend[start : start + width], key=lambda row: tuple(_count(row[1], kind) for kind, _ in _KINDS))


def _count(summary: Mapping[str, int], kind: str) -> int:
    value = summary.get(kind, 0)
    return value if isinstance(value, int) and value > 0 else 0
