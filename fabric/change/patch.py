"""JSON patch (RFC 6902) for SONiC's updater, from row differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabric.change.semantic import RowDiff, canonical
from fabric.values.device_config import Row, Tables

Operation = Mapping[str, Any]


def pointer(*parts: str) -> str:
    """JSON pointer of these parts: `~` is `~0` and `/` is `~1` (RFC 6901; F018)."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def patch(diffs: Sequence[RowDiff], running: Tables, scope: str | None = None) -> list[Operation]:
    """Operations that turn `running` into what the differences ask for, fewest and smallest first.

    A table that comes is added whole and one that ends up empty is removed whole: SONiC's updater refuses an empty
    table (F026). `scope` is the ASIC of a multi-ASIC box (`asic0`) and stands before the table.
    """
    head = (scope,) if scope else ()
    by_table: dict[str, list[RowDiff]] = {}
    for one in diffs:
        by_table.setdefault(one.table, []).append(one)
    operations: list[Operation] = []
    for table, changes in by_table.items():
        rows = running.get(table, {})
        left = (rows.keys() - {one.key for one in changes if one.after is None}) | {
            one.key for one in changes if one.after is not None
        }
        if not rows:
            value = {one.key: plain_row(one.after) for one in changes if one.after is not None}
            if value:
                operations.append({"op": "add", "path": pointer(*head, table), "value": value})
        elif not left:
            operations.append({"op": "remove", "path": pointer(*head, table)})
        else:
            for one in changes:
                operations += _row((*head, table, one.key), one)
    return operations


def plain_row(row: Row) -> dict[str, str | list[str]]:
    """A row as config_db.json has it: no NULL marker."""
    return {name: list(value) if isinstance(value, list) else value for name, value in row.items() if name != "NULL"}


def _row(path: tuple[str, ...], one: RowDiff) -> Iterator[Operation]:
    if one.after is None:
        yield {"op": "remove", "path": pointer(*path)}
        return
    if one.before is None:
        yield {"op": "add", "path": pointer(*path), "value": plain_row(one.after)}
        return
    for name in one.fields:
        wanted = one.after.get(name)
        there = one.before.get(name)
        if wanted is None:
            yield {"op": "remove", "path": pointer(*path, name)}
        elif there is None:
            yield {"op": "add", "path": pointer(*path, name), "value": wanted}
        elif canonical(one.table, name, there) != canonical(one.table, name, wanted):
            yield {"op": "replace", "path": pointer(*path, name), "value": wanted}
