"""Labels for both ends of every cable: an HTML sheet to print, or a CSV for a label printer."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from html import escape

from fabric.cabling.rows import CableEnd, CableRow

_STYLE = """
@page { size: A4; margin: 8mm }
body { margin: 0; font: 8pt/1.25 "DejaVu Sans Mono", monospace; color: #000; background: #fff }
main { display: grid; grid-template-columns: repeat(3, 1fr); gap: 2mm }
div { border: 1px solid #999; border-left: 3mm solid var(--c); padding: 1mm 2mm; break-inside: avoid; height: 19mm;
  overflow: hidden; box-sizing: border-box }
b { font-size: 10pt; display: block; white-space: nowrap }
i { font-style: normal; display: block; white-space: nowrap }
small { color: #444 }
"""
# Okabe and Ito's colours: told apart by people with any colour vision, and on a grey print by lightness.
RAIL_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#b8a800", "#000000")


def labels_html(rows: Sequence[CableRow], name: str) -> str:
    """One page flow of labels, two a cable, coloured by rail. Needs nothing but the file."""
    cells = "\n".join(
        f'<div style="--c:{_colour(row)}"><b>{escape(_spot(mine))}</b><i>&#8594; {escape(_spot(other))}</i>'
        f"<small>{escape(_small(row, mine))}</small></div>"
        for row, mine, other in _both(rows)
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(name)} cable labels</title>'
        f"<style>{_STYLE}</style><main>\n{cells}\n</main></html>\n"
    )


def labels_csv(rows: Sequence[CableRow], name: str) -> str:
    """One line a label: this end, the other end, what it is."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("fabric", "cable", "end", "this", "other", "text"))
    for row, mine, other in _both(rows):
        writer.writerow((name, row.name, "a" if mine is row.a else "b", _spot(mine), _spot(other), _small(row, mine)))
    return out.getvalue()


def _both(rows: Sequence[CableRow]) -> Iterator[tuple[CableRow, CableEnd, CableEnd]]:
    for row in rows:
        yield row, row.a, row.b
        yield row, row.b, row.a


def _spot(end: CableEnd) -> str:
    return f"{end.device} {end.alias or end.port}"


def _small(row: CableRow, mine: CableEnd) -> str:
    parts = [mine.port if mine.alias else mine.hca, f"{row.speed_gbps}G {row.length_m}m"]
    if mine.rack:
        parts.append(mine.rack + (f" U{mine.unit}" if mine.unit is not None else ""))
    if row.rail is not None:
        parts.append(f"rail {row.rail}")
    return " | ".join(part for part in parts if part)


def _colour(row: CableRow) -> str:
    return "#777777" if row.rail is None else RAIL_COLOURS[row.rail % len(RAIL_COLOURS)]
