"""Cable plan files: .csv .xlsx .json .dot, and labels as .html. A file appears whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fabric.cabling.rows import COLUMNS, CableRow, bill, flat
from fabric.cabling.site import Difference
from fabric.errors import InputError, Problem
from fabric.files import write_whole

SCHEMA = "railfab.cables/1"
KINDS = ("missing", "extra", "moved", "speed", "length")
FORMATS = (".csv", ".xlsx", ".json", ".dot")
# Excel's own limit, the header row included.
_SHEET_ROWS = 1_048_576


def write_plan(
    path: Path, rows: Sequence[CableRow], name: str, notes: Sequence[str] = (), labels: bool = False
) -> None:
    """Write a cable plan, or with `labels` a sheet of labels, in the format of the file's ending."""
    write_whole(path, render_plan(path.suffix.lower(), rows, name, notes, labels))


def render_plan(
    suffix: str, rows: Sequence[CableRow], name: str, notes: Sequence[str] = (), labels: bool = False
) -> bytes:
    """Bytes of the file. InputError for an ending we do not write."""
    if labels:
        from fabric.cabling.labels import labels_csv, labels_html

        writers = {".html": labels_html, ".csv": labels_csv}
        if suffix not in writers:
            raise InputError(Problem(f"labels as {suffix or 'a file without ending'}", f"use {', '.join(writers)}"))
        return writers[suffix](rows, name).encode()
    if suffix == ".csv":
        return cables_csv(rows).encode()
    if suffix == ".json":
        from fabric.values.codec import dumps

        return dumps(cables_json(rows, name, notes)).encode()
    if suffix == ".dot":
        return cables_dot(rows, name).encode()
    if suffix == ".xlsx":
        return cables_xlsx(rows)
    raise InputError(Problem(f"a cable plan as {suffix or 'a file without ending'}", f"use {', '.join(FORMATS)}"))


def cables_csv(rows: Sequence[CableRow]) -> str:
    """CSV with a header line; an absent value is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(flat(row) for row in rows)
    return out.getvalue()


def cables_json(rows: Sequence[CableRow], name: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The document `railfab.cables/1`: every cable with both ends, and the bill of material."""
    from fabric.values.codec import plain

    cables = []
    for row in rows:
        data = plain(row)
        data["a"]["label"], data["b"]["label"] = row.label_a, row.label_b
        cables.append(data)
    parts = ("network", "type", "speed_gbps", "length_m", "cables")
    return {
        "schema": SCHEMA,
        "name": name,
        "cables": cables,
        "bill": [dict(zip(parts, line, strict=True)) for line in bill(rows)],
        "notes": list(notes),
    }


def cables_dot(rows: Sequence[CableRow], name: str) -> str:
    """Graphviz, one edge a cable, `"device":"port" -- "device":"port"`: also what PTM-style cable checkers read."""
    lines = [f"graph {quoted(name)} {{"]
    for row in rows:
        ends = f"{quoted(row.a.device)}:{quoted(row.a.port)} -- {quoted(row.b.device)}:{quoted(row.b.port)}"
        lines.append(f"  {ends} [label={quoted(f'{row.speed_gbps}G {row.length_m}m')}];")
    return "\n".join([*lines, "}", ""])


def quoted(text: str) -> str:
    """A DOT string: quotes and backslashes escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def cables_xlsx(rows: Sequence[CableRow]) -> bytes:
    """A workbook: the cables, and the bill of material. Text stays text, whatever it begins with."""
    if len(rows) >= _SHEET_ROWS:
        raise InputError(
            Problem(f"{len(rows)} cables; a sheet holds {_SHEET_ROWS - 1}", "write .csv, or one pod a file")
        )
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    book = Workbook(write_only=True)
    bold = Font(bold=True)

    def sheet(title: str, header: Sequence[str], lines: Sequence[Sequence[Any]], widths: dict[str, int]) -> None:
        page = book.create_sheet(title)
        page.freeze_panes = "B2"
        for column, width in widths.items():
            page.column_dimensions[column].width = width
        head = []
        for text in header:
            cell = WriteOnlyCell(page, value=text)
            cell.font = bold
            head.append(cell)
        page.append(head)
        for line in lines:
            page.append([_text_cell(page, value) if _formula(value) else value for value in line])
        page.auto_filter.ref = f"A1:{_column(len(header))}{len(lines) + 1}"

    sheet("cables", COLUMNS, [flat(row) for row in rows], {"A": 44, "L": 14, "N": 16, "X": 52, "AK": 52})
    sheet("bill", ("network", "type", "speed_gbps", "length_m", "cables"), bill(rows), {"A": 12, "B": 22})
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _formula(value: object) -> bool:
    return isinstance(value, str) and value[:1] in ("=", "+", "-", "@")


def _text_cell(page: Any, value: str) -> Any:
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(page, value=value)
    cell.data_type = "s"
    return cell


def _column(number: int) -> str:
    from openpyxl.utils import get_column_letter

    letter: str = get_column_letter(number)
    return letter


def differences_json(differences: Sequence[Difference], name: str) -> dict[str, Any]:
    """The document `railfab.cable-differences/1`."""
    from fabric.values.codec import plain

    return {
        "schema": "railfab.cable-differences/1",
        "name": name,
        "differences": [plain(difference) for difference in differences],
        "summary": {kind: sum(d.kind == kind for d in differences) for kind in KINDS},
    }


def differences_text(differences: Sequence[Difference], source: str, planned: int) -> str:
    """One line a difference, by line of the site's list, then what is missing, then the count."""
    lines = []
    for item in differences:
        where = f"{source}:{item.line}: " if item.line is not None else ""
        what = {
            "missing": f"missing {item.cable}: planned, not in the list",
            "extra": f"extra {item.cable}: in the list, not planned",
            "moved": f"moved {item.cable}: planned is {item.expected}",
        }.get(item.kind, f"{item.kind} of {item.cable}: planned {item.expected}, listed {item.observed}")
        lines.append(where + what)
    counted = ", ".join(f"{sum(d.kind == kind for d in differences)} {kind}" for kind in KINDS)
    return "\n".join([*lines, f"{planned} cables planned: {counted}", ""])
