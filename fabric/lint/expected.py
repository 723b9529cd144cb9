"""Compare a file with what the Plan renders for its switch: every row and field of ours that differs is named.

A rendered configuration holds only what we own (`fabric.values.ownership`), while a file off a switch holds the
image's rows too. Those are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric.lint.view import found, text
from fabric.values.device_config import DeviceConfig, Tables
from fabric.values.finding import Finding
from fabric.values.ownership import owns_field, owns_row

_AGAIN = "render again and merge, or put the change into the intent"


def compare(tables: Tables, expected: DeviceConfig) -> Iterator[Finding]:
    """CFG-90 (a row of ours is missing), CFG-91 (a field differs), CFG-92 (a row more in a table of ours)."""
    for table, rows in expected.tables.items():
        actual_rows = tables.get(table, {})
        for key, row in rows.items():
            actual = actual_rows.get(key)
            if actual is None:
                yield found("CFG-90", (table, key, None), "the Plan has this row and the file has not", _AGAIN)
                continue
            for name in [*row, *(name for name in actual if name not in row and owns_field(table, name))]:
                want, have = row.get(name), actual.get(name)
                if want is not None and have is not None and text(want) == text(have):
                    continue
                what = "the Plan has no such field" if want is None else "missing" if have is None else "differs"
                shown = None if want is None else text(want)
                yield found("CFG-91", (table, key, name), what, _AGAIN, value=have, allowed=shown)
    for table, actual_rows in tables.items():
        for key, actual in actual_rows.items():
            if key not in expected.tables.get(table, {}) and owns_row(table, key, actual, expected.tables):
                what = "the file has this row and the Plan has not"
                yield found("CFG-92", (table, key, None), what, "drop the row, or put it into the intent")


def compare_text(actual: str, expected: str) -> Iterator[Finding]:
    """CFG-93: lines of frr.conf that differ from the rendered text, in order; white space at the end does not count."""
    have = [line.rstrip() for line in actual.splitlines() if line.strip()]
    want = [line.rstrip() for line in expected.splitlines() if line.strip()]
    if have == want:
        return
    import difflib

    for line in difflib.unified_diff(want, have, lineterm="", n=0):
        if line.startswith(("---", "+++", "@@")):
            continue
        what = "the Plan has this line and the file has not" if line[0] == "-" else "the file has this line more"
        yield found("CFG-93", ("frr.conf", None, None), what, _AGAIN, value=line[1:])
