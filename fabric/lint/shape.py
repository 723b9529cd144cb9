"""From JSON to CONFIG_DB tables: what Redis can hold, old reference forms, redis-style dumps.

CONFIG_DB holds texts. A null, a boolean or a nested object in the file becomes something else on its way into Redis
(`"None"`, `"True"`), so it is refused here whatever the models say. References of releases before 202111 carry the
table's name in brackets (`[WRED_PROFILE|AZURE]`): understood when read, never written by us.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from fabric.lint.view import found, some
from fabric.values.device_config import Tables
from fabric.values.finding import Finding, Status

_BRACKETED = re.compile(r"\[([A-Z][A-Z0-9_]*)\|([^\[\]]+)\](?:,\[([A-Z][A-Z0-9_]*)\|([^\[\]]+)\])*")
_PORT_LIST = re.compile(r"Ethernet\d+(?:,Ethernet\d+)+")
_ONE_BRACKETED = re.compile(r"\[[A-Z][A-Z0-9_]*\|([^\[\]]+)\]")


def is_flat(data: Mapping[str, Any]) -> bool:
    """Whether this is a redis-style dump: `TABLE|key` at the top instead of tables of keys.

    Other names in it are Redis keys that are no rows (CONFIG_DB_INITIALIZED).
    """
    return 2 * sum("|" in name for name in data) > len(data)


def nest(data: Mapping[str, Any]) -> dict[str, Any]:
    """A redis-style dump as tables. `field@` holds a list joined by commas; `NULL` marks a row without fields."""
    tables: dict[str, Any] = {}
    for name, content in data.items():
        table, _, key = name.partition("|")
        row = content
        if isinstance(content, Mapping) and content.get("type") == "hash" and isinstance(content.get("value"), Mapping):
            row = content["value"]
        if isinstance(row, Mapping):
            row = {
                field.removesuffix("@"): value.split(",") if field.endswith("@") and isinstance(value, str) else value
                for field, value in row.items()
                if field != "NULL"
            }
        tables.setdefault(table, {})[key] = row
    return tables


def read_tables(data: Any, device: str | None = None) -> tuple[Tables, list[Finding]]:
    """CONFIG_DB tables of a JSON value, and what is wrong with its shape (codes CFG-01 to CFG-05).

    What cannot be held in CONFIG_DB is named and left out of the tables, so that the rest is still judged.
    """
    findings: list[Finding] = []
    if not isinstance(data, Mapping):
        what = f"the file holds {_kind(data)}, not an object of tables"
        return {}, [found("CFG-01", ("config_db", None, None), what, "give a config_db.json", device=device)]
    try:
        json.dumps(data, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        texts = some((ascii(text) for text in _half_characters(data)), 3)
        what = f"half characters (lone surrogates) in {texts}; no text of CONFIG_DB can hold them"
        findings.append(found("CFG-02", ("config_db", None, None), what, "correct the texts", device=device))
        data = _whole(data)
    flat = {name: content for name, content in data.items() if "|" in name}
    if flat:
        nested = {} if is_flat(data) else {name: content for name, content in data.items() if name not in flat}
        data = nested | {table: rows for table, rows in nest(flat).items() if table not in nested}
    tables: dict[str, dict[str, dict[str, str | list[str]]]] = {}
    brackets: dict[tuple[str, str], list[str]] = {}
    joined: dict[str, list[str]] = {}
    for table, rows in data.items():
        if not isinstance(rows, Mapping):
            what = f"{table} holds {_kind(rows)}, not an object of rows"
            findings.append(found("CFG-01", (table, None, None), what, "write rows as objects", device=device))
            continue
        if not rows:
            findings.append(
                found(
                    "CFG-04",
                    (table, None, None),
                    "the table is empty; CONFIG_DB cannot hold an empty table and GCU refuses one in its target",
                    f"drop {table} from the file",
                    status=Status.WARN,
                    device=device,
                )
            )
        clean = tables.setdefault(table, {})
        for key, row in rows.items():
            if not isinstance(row, Mapping):
                what = f"the row holds {_kind(row)}, not an object of fields"
                findings.append(found("CFG-01", (table, key, None), what, "write the row as an object", device=device))
                continue
            fields: dict[str, str | list[str]] = {}
            if "," in key and _PORT_LIST.fullmatch(key.partition("|")[0]):
                ports, bar, rest = key.partition("|")
                joined.setdefault(table, []).append(key)
                clean |= {f"{port}{bar}{rest}": fields for port in ports.split(",")}
            else:
                clean[key] = fields
            for name, value in row.items():
                if type(value) is str and not value.startswith("["):
                    fields[name] = value
                    continue
                kept, problem = _value(table, key, name, value, device)
                if problem is not None:
                    findings.append(problem)
                if kept is None:
                    continue
                if isinstance(kept, str) and kept.startswith("[") and _BRACKETED.fullmatch(kept):
                    brackets.setdefault((table, name), []).append(key)
                    kept = ",".join(_ONE_BRACKETED.findall(kept))
                fields[name] = kept
    for (table, name), keys in brackets.items():
        findings.append(
            found(
                "CFG-05",
                (table, some(keys, 3), name),
                f"{len(keys)} rows carry the old form of a reference, [TABLE|name]; read here as the bare name",
                "write the bare name; releases from 202111 on refuse the brackets",
                status=Status.WARN,
                device=device,
            )
        )
    for table, keys in joined.items():
        findings.append(
            found(
                "CFG-05",
                (table, keys[0].split(",")[0] + ",...", None),
                f"{len(keys)} rows name several ports in one key, an old form; read here as one row a port",
                "write one row a port; the models refuse a list of ports in a key",
                status=Status.WARN,
                device=device,
            )
        )
    return tables, findings


def _value(
    table: str, key: str, name: str, value: Any, device: str | None
) -> tuple[str | list[str] | None, Finding | None]:
    where = (table, key, name)
    if isinstance(value, str):
        return value, None
    if isinstance(value, list):
        if value and all(isinstance(item, str) for item in value):
            return list(value), None
        if not value:
            what = "an empty list; CONFIG_DB holds it as one empty entry, and a model with a default refuses it"
            return None, found("CFG-04", where, what, "drop the field", value="[]", status=Status.WARN, device=device)
        if all(isinstance(item, (str, int)) and not isinstance(item, bool) for item in value):
            what = "the list holds numbers; CONFIG_DB holds texts"
            warning = found("CFG-03", where, what, "write the entries as strings", status=Status.WARN, device=device)
            return [str(item) for item in value], warning
        bad = next(item for item in value if not isinstance(item, (str, int)) or isinstance(item, bool))
        what = f"the list holds {_kind(bad)}, which CONFIG_DB cannot hold"
        return None, found("CFG-02", where, what, "write the entries as strings", device=device)
    if isinstance(value, int) and not isinstance(value, bool):
        what = "a JSON number; CONFIG_DB holds texts, and a reader may get another text back"
        remedy = f'write "{value}"'
        warning = found("CFG-03", where, what, remedy, value=str(value), status=Status.WARN, device=device)
        return str(value), warning
    if isinstance(value, float):
        what = "a JSON number with a fraction; no field of CONFIG_DB takes one unless written as text"
        return None, found("CFG-03", where, what, "write the value as a string", value=str(value), device=device)
    what = f"{_kind(value)}; SONiC would store the text of it, which is not what was meant"
    remedy = "drop the field, or write the value as a string"
    return None, found("CFG-02", where, what, remedy, value=_json_word(value), device=device)


def _half_characters(data: Any) -> list[str]:
    """Texts with a lone surrogate (`"\\ud800"` in JSON): half a character, which no UTF-8 text can hold."""
    if isinstance(data, str):
        return [data] if any("\ud800" <= letter <= "\udfff" for letter in data) else []
    if isinstance(data, Mapping):
        return [text for pair in data.items() for part in pair for text in _half_characters(part)]
    return [text for item in data for text in _half_characters(item)] if isinstance(data, list) else []


def _whole(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, Mapping):
        return {_whole(name): _whole(value) for name, value in data.items()}
    return [_whole(item) for item in data] if isinstance(data, list) else data


def _kind(value: Any) -> str:
    if value is None:
        return "a JSON null"
    if isinstance(value, bool):
        return "a JSON boolean"
    if isinstance(value, (int, float)):
        return "a JSON number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"


def _json_word(value: Any) -> str:
    return {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else "{...}"
