"""Rows of one database: what is there is remembered, only differences are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fabric.lab.box.redis import Redis, Word


class Rows:
    """A database of a switch, written in one go by `flush`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._there: dict[str, dict[str, str]] = {}
        self._pending: list[tuple[Word, ...]] = []

    def put(self, key: str, fields: Mapping[str, str]) -> None:
        """Make the row exactly `fields` (an empty row is SONiC's NULL row)."""
        want = dict(fields) or {"NULL": "NULL"}
        have = self._there.get(key)
        if have == want:
            return
        gone = [name for name in have if name not in want] if have else []
        if gone:
            self._pending.append(("HDEL", key, *gone))
        changed = [
            word for name, value in want.items() if not have or have.get(name) != value for word in (name, value)
        ]
        if changed:
            self._pending.append(("HSET", key, *changed))
        self._there[key] = want

    def merge(self, key: str, fields: Mapping[str, str]) -> None:
        """Set some fields of a row and leave the others."""
        self.put(key, {**self._there.get(key, {}), **fields})

    def drop(self, key: str) -> None:
        """Remove a row."""
        if self._there.pop(key, None) is not None:
            self._pending.append(("DEL", key))

    def keep_only(self, wanted: Mapping[str, Mapping[str, str]], mine: Callable[[str], bool]) -> None:
        """Make the rows for which `mine` holds exactly `wanted`."""
        for key in [key for key in self._there if mine(key) and key not in wanted]:
            self.drop(key)
        for key, fields in wanted.items():
            self.put(key, fields)

    def get(self, key: str) -> dict[str, str] | None:
        """The row as last written."""
        return self._there.get(key)

    def names(self) -> list[str]:
        """Keys as last written."""
        return list(self._there)

    def clear(self) -> None:
        """Empty the whole database."""
        self._there.clear()
        self._pending = []
        self._redis.run("FLUSHDB")

    def flush(self) -> None:
        """Write what has changed."""
        pending, self._pending = self._pending, []
        self._redis.pipeline(pending)
