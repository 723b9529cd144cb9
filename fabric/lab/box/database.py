"""CONFIG_DB between Redis and the JSON form of config_db.json, for the agent and for the switch's commands.

Source: sonic-swss-common ConfigDBConnector: lists stand in a field `name@` with commas, a row without fields is
`NULL: NULL`, keys are `TABLE|key|parts`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .redis import Redis, Word

Tables = dict[str, dict[str, dict[str, Any]]]
CONFIG_DB = 4
SOCKET = "/var/run/redis/redis.sock"
CONFIG_FILE = "/etc/sonic/config_db.json"
INIT_FILE = "/etc/sonic/init_cfg.json"


def row(fields: Mapping[str, Any]) -> list[Word]:
    """Words of an HSET for a row in JSON form."""
    words: list[Word] = []
    for field, value in fields.items():
        if isinstance(value, list):
            words += [f"{field}@", ",".join(map(str, value))]
        else:
            words += [field, str(value)]
    return words or ["NULL", "NULL"]


def commands(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[tuple[Word, ...]]:
    """HSET commands that write these tables."""
    for table, rows in tables.items():
        for key, fields in rows.items():
            yield ("HSET", f"{table}|{key}", *row(fields))


def plain(fields: Mapping[str, str]) -> dict[str, Any]:
    """A row from Redis in JSON form."""
    if dict(fields) == {"NULL": "NULL"}:
        return {}
    return {
        (name[:-1] if name.endswith("@") else name): (value.split(",") if name.endswith("@") else value)
        for name, value in fields.items()
    }


def read(redis: Redis) -> Tables:
    """The whole database."""
    tables: Tables = {}
    for whole, fields in redis.tables().items():
        table, _, key = whole.partition("|")
        tables.setdefault(table, {})[key] = plain(fields)
    return tables


def read_file(path: str) -> Tables:
    """Tables of a config_db.json. ValueError when it is no such file."""
    with open(path) as file:
        loaded = json.load(file)
    if not isinstance(loaded, dict):
        raise ValueError(f"{path}: not a config_db.json: {type(loaded).__name__} at the top")  # noqa: TRY004
    return loaded


def merged(*layers: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Tables:
    """Tables laid over each other, later fields win, as `sonic-cfggen -j a -j b` does."""
    whole: Tables = {}
    for layer in layers:
        for table, rows in layer.items():
            for key, fields in rows.items():
                whole.setdefault(table, {}).setdefault(key, {}).update(fields)
    return whole


def text(tables: Mapping[str, Any]) -> str:
    """Tables as `sonic-cfggen --print-data` prints them: sorted, four spaces."""
    return json.dumps(_sorted(tables), indent=4)


def replace(redis: Redis, key: str, fields: Mapping[str, Any] | None) -> None:
    """Make a row exactly `fields`, or remove it; one transaction, so that nobody sees half of it."""
    steps: list[tuple[Word, ...]] = [("MULTI",), ("DEL", key)]
    if fields is not None:
        steps.append(("HSET", key, *row(fields)))
    redis.pipeline([*steps, ("EXEC",)])


def update(redis: Redis, key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Change the fields of a row that differ, as ConfigDBConnector.mod_entry does."""
    old, new = _pairs(before), _pairs(after)
    gone = [name for name in old if name not in new]
    changed = [word for name, value in new.items() if old.get(name) != value for word in (name, value)]
    steps: list[tuple[Word, ...]] = []
    if changed:
        steps.append(("HSET", key, *changed))
    if gone:
        steps.append(("HDEL", key, *gone))
    redis.pipeline(steps)


def _pairs(fields: Mapping[str, Any]) -> dict[str, str]:
    words = list(map(str, row(fields)))
    return dict(zip(words[::2], words[1::2]))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=_natural)}
    return value


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts: list[tuple[int, int, str]] = []
    number = ""
    for letter in name:
        if letter.isdigit():
            number += letter
            continue
        if number:
            parts.append((0, int(number), ""))
            number = ""
        parts.append((1, 0, letter))
    if number:
        parts.append((0, int(number), ""))
    return parts


def optional(path: str) -> Tables:
    """Tables of a file that need not be there."""
    with contextlib.suppress(FileNotFoundError):
        return read_file(path)
    return {}


def port_range(names: str, known: Iterable[str]) -> list[str]:
    """Ports of a list or range as `config interface` takes them: `Ethernet0,Ethernet8` or `Ethernet[0-28]`."""
    found, there = [], set(known)
    for part in names.split(","):
        head, bracket, rest = part.partition("[")
        if bracket and rest.endswith("]") and rest[:-1].count("-") == 1:
            low, high = (int(number) for number in rest[:-1].split("-"))
            found += [name for number in range(low, high + 1) if (name := f"{head}{number}") in there]
        else:
            found.append(part)
    return found
