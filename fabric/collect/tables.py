"""Database slices, put together: key -> field -> value, and the rows of name maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from fabric.errors import CollectError

Hash = Mapping[str, str]


@dataclass(slots=True)
class Database:
    """What was read of one database (all namespaces of a multi-ASIC switch together).

    `hashes`: key -> field -> value. `maps`: (name map, table) -> object name -> field -> value; a field the object
    does not have is absent, an object without any has an empty row.
    """

    hashes: dict[str, dict[str, str]] = field(default_factory=dict)
    maps: dict[tuple[str, str], dict[str, dict[str, str]]] = field(default_factory=dict)
    _same: dict[tuple[str, str], dict[str, dict[str, str]]] = field(default_factory=dict, repr=False)

    def table(self, prefix: str) -> dict[str, dict[str, str]]:
        """Rows of a table: `PORT_TABLE:` -> {`Ethernet0`: row}. Rows of a longer table name are not among them."""
        return {key[len(prefix) :]: row for key, row in self.hashes.items() if key.startswith(prefix)}

    def add(self, lines: str) -> None:
        """Take the slices of one section, one JSON object a line. CollectError when one is not what Lua sends."""
        for line in lines.splitlines():
            if line.strip():
                self._slice(line)

    def _slice(self, line: str) -> None:
        data = load_json(line)
        if not isinstance(data, dict) or not isinstance(data.get("h"), dict):
            raise CollectError("a database slice is not what was asked for")
        for key, row in data["h"].items():
            self.hashes[key] = _row(row)
        named = data.get("m")
        for part in named if isinstance(named, list) else []:
            self._map(part)

    def _map(self, part: Any) -> None:
        try:
            name, table, fields, rows = part["map"], part["table"], part["fields"], part["rows"]
            known = self.maps.setdefault((str(name), str(table)), {})
            # Most queues and groups of a switch are idle: equal rows are one row, here and all the way to the checks.
            same = self._same.setdefault((str(name), str(table)), {})
            for key, row in rows.items():
                found = same.get(row)
                if found is None:
                    cells = row.split("|")
                    if len(cells) != len(fields):
                        raise CollectError(f"the row of {key[:40]!r} in {table} does not have the fields asked for")
                    found = same[row] = {field: value for field, value in zip(fields, cells) if value}
                known[key] = found
        except (KeyError, TypeError, AttributeError, ValueError):
            raise CollectError("a database slice is not what was asked for") from None


def load_json(text: str) -> Any:
    """JSON, or CollectError saying where it breaks. Deep nesting, NaN and endless numbers are refused too."""
    try:
        return orjson.loads(text)
    except (ValueError, UnicodeEncodeError) as error:
        raise CollectError(f"not JSON: {str(error)[:120]}") from None


def _row(row: Any) -> dict[str, str]:
    if not isinstance(row, dict):
        raise CollectError("a database row is not a hash")
    return {str(name): value if isinstance(value, str) else str(value) for name, value in row.items()}


def from_flat(data: Mapping[str, Any]) -> Database:
    """A dump in flat form, `{"TABLE:key": {field: value}}`, as redis-dump and SONiC's own tests write it.

    Rows of the form `{"type": "hash", "value": {...}}` are understood; anything else that is no row is left out.
    """
    database = Database()
    for key, row in data.items():
        inner = row.get("value") if isinstance(row, Mapping) and row.get("type") == "hash" else row
        if isinstance(inner, Mapping):
            database.hashes[key] = _row(dict(inner))
    return database


def named(database: Database, name_map: str, table: str) -> dict[str, dict[str, str]] | None:
    """Rows of a name map: as the script read them, or resolved here from a flat dump. None: there is no such map."""
    read = database.maps.get((name_map, table))
    if read is not None:
        return read
    names = database.hashes.get(name_map)
    if names is None:
        return None
    types = database.hashes.get("COUNTERS_QUEUE_TYPE_MAP", {}) if name_map == "COUNTERS_QUEUE_NAME_MAP" else {}
    return {
        name: database.hashes.get(f"{table}:{oid}", {})
        for name, oid in names.items()
        if "MULTICAST" not in types.get(oid, "")
    }


def merge(databases: Iterable[Database]) -> Database:
    """Databases of several namespaces as one; the same key in two keeps the later."""
    whole = Database()
    for database in databases:
        whole.hashes.update(database.hashes)
        for key, rows in database.maps.items():
            whole.maps.setdefault(key, {}).update(rows)
    return whole
