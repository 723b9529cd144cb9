"""The running configuration that a rendered one is merged into: read, and refused where the result would be wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from fabric.errors import InputError, Problem
from fabric.render.shapes import MULTI_ASIC_FIELDS
from fabric.values.device_config import Tables
from fabric.values.plan import Plan

_REMEDY = "take it off the switch with `sonic-cfggen -d --print-data`"
_NAMESPACE = re.compile(r"localhost|asic\d+")
_TOLD = 20


def read_base(file: Path, plan: Plan) -> tuple[str, Tables]:
    """The running configuration and the switch it belongs to (its own hostname).

    InputError for what is no config_db.json of a switch of the Plan, for the file of a box with several ASICs (it has
    one for each, and one merged file would be wrong for all), and for values that CONFIG_DB does not have.
    """
    try:
        tables = orjson.loads(file.read_bytes())
    except OSError as error:
        raise InputError(Problem(error.strerror or str(error), _REMEDY, str(file))) from None
    except orjson.JSONDecodeError as error:
        raise InputError(Problem(f"not JSON: {error}", _REMEDY, str(file))) from None
    if isinstance(tables, dict) and "DEVICE_METADATA" not in tables and any(map(_NAMESPACE.fullmatch, tables)):
        raise InputError(_several(file, "it holds a configuration for each ASIC"))
    shaped = isinstance(tables, dict) and all(
        isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values()) for rows in tables.values()
    )
    if not shaped:
        raise InputError(Problem("not a config_db.json (table -> key -> field)", _REMEDY, str(file)))
    metadata = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    if field := next((field for field in MULTI_ASIC_FIELDS if field in metadata), None):
        raise InputError(_several(file, f"DEVICE_METADATA|localhost has {field}"))
    if port := next((key for key, row in tables.get("PORT", {}).items() if row.get("role") == "Int"), None):
        raise InputError(_several(file, f"{port} leads to another ASIC"))
    name = metadata.get("hostname")
    if not isinstance(name, str) or name not in plan.switches:
        what = f"belongs to {name}, which is no switch of {plan.name}"
        raise InputError(Problem(what, "give the file of one of its switches", str(file)))
    return name, tables


def refuse_bad_values(file: Path, merged: Tables) -> None:
    """InputError where what the switch had itself, and we keep, is no CONFIG_DB value or an old reference."""
    problems = list(_bad(file, merged))
    if problems:
        more = len(problems) - _TOLD
        rest = [Problem(f"and {more} more", "", str(file))] if more > 0 else []
        raise InputError(problems[:_TOLD] + rest)


def _bad(file: Path, tables: Tables) -> Iterator[Problem]:
    for table, rows in tables.items():
        for key, row in rows.items():
            for field, value in row.items():
                what = _fault(value)
                if what:
                    remedy = "correct it on the switch and take its file again"
                    yield Problem(f"{field} is {value!r}: {what}", remedy, str(file), path=f"{table}|{key}")


def _fault(value: Any) -> str | None:
    texts = value if isinstance(value, list) else [value]
    if any(not isinstance(text, str) for text in texts) or not texts:
        return "CONFIG_DB holds texts and lists of them"
    if any(text in ("None", "null") for text in texts):
        return "a value that was missing when it was written"
    if any(text.startswith("[") and "|" in text for text in texts):
        return "a reference as releases before 202111 wrote it"
    return None


def _several(file: Path, what: str) -> Problem:
    return Problem(
        f"is of a switch with several ASICs ({what}): it has one file for each, and railfab renders one a switch",
        "railfab does not configure such a box; leave it out of the intent",
        str(file),
    )
