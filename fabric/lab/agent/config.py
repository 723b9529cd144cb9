"""CONFIG_DB of one switch, as its daemons see it: a copy kept fresh by keyspace notifications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fabric.lab.box.database import CONFIG_DB, commands
from fabric.lab.box.redis import Redis

_PREFIX = "__keyspace@4__:"
# Tables somebody here acts on. A change in any other reaches no daemon of the twin.
WATCHED = frozenset(
    {"DEVICE_METADATA", "PORT", "INTERFACE", "LOOPBACK_INTERFACE", "MGMT_INTERFACE", "FLEX_COUNTER_TABLE", "QUEUE"}
    | {"BUFFER_PG", "PFC_WD", "PORT_QOS_MAP"}
)


class Config:
    """The rows of WATCHED tables. `lists` fields keep redis's `name@` form."""

    def __init__(self, path: str) -> None:
        self._redis = Redis(path, CONFIG_DB)
        self._subscription = Redis(path, CONFIG_DB)
        self._subscription.run("PSUBSCRIBE", f"{_PREFIX}*")
        self.fd = self._subscription.socket.fileno()
        self._tables: dict[str, dict[str, dict[str, str]]] = {name: {} for name in WATCHED}

    def close(self) -> None:
        """Close both connections."""
        self._redis.close()
        self._subscription.close()

    def rows(self, table: str) -> Mapping[str, dict[str, str]]:
        """Rows of a watched table: key without the table's name -> fields."""
        return self._tables[table]

    def device(self) -> Mapping[str, str]:
        """DEVICE_METADATA|localhost, empty when there is none."""
        return self._tables["DEVICE_METADATA"].get("localhost", {})

    def reload(self) -> None:
        """Read everything anew."""
        for rows in self._tables.values():
            rows.clear()
        for key, fields in self._redis.tables().items():
            table, _, name = key.partition("|")
            if table in WATCHED:
                self._tables[table][name] = _without_null(fields)

    def changes(self) -> set[str]:
        """Take in what was announced since the last call; the tables that changed."""
        keys = set()
        for answer in self._subscription.answers():
            if isinstance(answer, list) and answer[0] == "pmessage":
                key = answer[2].removeprefix(_PREFIX)
                if key.partition("|")[0] in WATCHED:
                    keys.add(key)
        touched = set()
        for key, row in zip(keys, self._redis.pipeline([("HGETALL", key) for key in keys])):
            table, _, name = key.partition("|")
            fields = _without_null(dict(zip(row[::2], row[1::2])))
            before = self._tables[table].get(name)
            if not row:
                self._tables[table].pop(name, None)
            else:
                self._tables[table][name] = fields
            if before != (fields if row else None):
                touched.add(table)
        return touched

    def load(self, tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
        """Replace the whole database by these tables (the JSON form)."""
        self._redis.run("FLUSHDB")
        self._redis.pipeline(commands(tables))
        self._redis.run("SET", "CONFIG_DB_INITIALIZED", "1")

    def set(self, key: str, fields: Mapping[str, str]) -> None:
        """Set fields of a row."""
        self._redis.run("HSET", key, *(word for pair in fields.items() for word in pair))


def prefixes(rows: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(interface, prefix) of the keys that carry an address."""
    for key in rows:
        name, separator, prefix = key.partition("|")
        if separator:
            yield name, prefix


def _without_null(fields: dict[str, str]) -> dict[str, str]:
    return {} if fields == {"NULL": "NULL"} else fields
