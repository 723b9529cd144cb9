"""Judge CONFIG_DB tables by SONiC's own YANG models (libyang through the wheel `oopt-gnpy-libyang`).

The models are an argument, loaded once: a folder of `*.yang` as a switch carries it. A verdict is only as good as
the release whose models were given. What upstream's loader tolerates and what it refuses: facts of SONiC's
`sonic-yang-mgmt` (leaf-lists are JSON arrays but for eight fields; `[""]` is an empty leaf-list; unknown tables
load with a note).
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import LintError, MissingPartError
from fabric.lint._yang_text import (
    RowShape,
    Statement,
    TableShape,
    describe,
    read_folder,
    read_tables,
    read_typedefs,
)
from fabric.values.device_config import Row, Tables

# Leaf-lists that CONFIG_DB holds as one string: (table, field) -> separator. sonic-buildimage,
# src/sonic-yang-mgmt/sonic_yang_ext.py, LEAF_LIST_WITH_STRING_VALUE_DICT.
STRING_LEAF_LISTS: Mapping[tuple[str, str], str] = {
    ("MIRROR_SESSION", "src_ip"): ",",
    ("NTP", "src_intf"): ";",
    ("BGP_ALLOWED_PREFIXES", "prefixes_v4"): ",",
    ("BGP_ALLOWED_PREFIXES", "prefixes_v6"): ",",
    ("BUFFER_PORT_EGRESS_PROFILE_LIST", "profile_list"): ",",
    ("BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list"): ",",
    ("PORT", "adv_speeds"): ",",
    ("PORT", "adv_interface_types"): ",",
}

# One step of a libyang data path: a name, and predicates that name list keys.
_STEP = re.compile(r"""/(?:[\w.-]+:)?([\w.-]+)((?:\[[^\]=]+=(?:'[^']*'|"[^"]*")\])*)""")
_PREDICATE = re.compile(r"""\[(?:[\w.-]+:)?([\w.-]+)=(?:'([^']*)'|"([^"]*)")\]""")
_LEAFREF = re.compile(r'Invalid leafref value "(.*?)" - no target instance "(.*?)"')
_UNKNOWN = re.compile(r'Node "(.*?)" not found as a child of')
_MANDATORY = re.compile(r'Mandatory node "(.*?)" instance does not exist')
_ARRAY = re.compile(r'Expecting JSON name/array of values but leaf-list "(.*?)"')

# Where a line of the JSON text handed to libyang comes from: table, key, field (None for a whole row).
_Origin = tuple[str, str, str | None]
# One row with its place in the models: table, key, shape and parts of the key, fields.
_Placed = tuple[str, str, tuple[RowShape, tuple[str, ...]], Row]


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing the models refuse.

    `table` is None when libyang did not say where, `field` when the key itself is refused. `allowed` are the
    model's words for what the field takes; `target` is the table that a broken reference points into.
    """

    table: str | None
    key: str | None
    field: str | None
    value: str | None
    why: str
    remedy: str
    allowed: str | None = None
    target: str | None = None


class YangModels:
    """SONiC's YANG models, loaded once and used for many files.

    Not for use by two threads at a time: libyang keeps the errors of the last judgement.
    """

    def __init__(self, folder: Path) -> None:
        """Load every model of `folder`. MissingPartError without the wheel, LintError when a model does not load."""
        try:
            import oopt_gnpy_libyang as libyang
        except ImportError as error:
            raise MissingPartError(
                f"judging by YANG needs the wheel oopt-gnpy-libyang ({error}); run `pip install 'railfab[yang]'`, "
                "or leave --yang away to judge by our own rules only"
            ) from None
        self._libyang: Any = libyang
        self.folder = folder
        models = read_folder(folder)
        self.tables: Mapping[str, TableShape] = read_tables(models)
        self._typedefs: Mapping[str, Statement] = read_typedefs(models)
        libyang.set_log_options(libyang.LogOptions.Store)
        options = libyang.ContextOptions
        self._context: Any = libyang.Context(str(folder), options.NoYangLibrary | options.DisableSearchCwd)
        for name in models:
            try:
                self._context.load_module(name)
            except libyang.Error as error:
                reasons = "; ".join(entry.message for entry in self._context.errors()) or str(error)
                raise LintError(f"{folder}: model {name} does not load: {reasons}") from None
        parse, validate = libyang.ParseOptions, libyang.ValidationOptions
        self._parse_options: Any = parse.JsonStringDataTypes | parse.Strict | parse.NoState
        self._validation: Any = validate.MultiError

    def unknown_tables(self, tables: Tables) -> tuple[str, ...]:
        """Tables that no model describes: SONiC loads them with a note, and GCU refuses to patch them."""
        return tuple(table for table in tables if table not in self.tables)

    def judge(self, tables: Tables) -> list[Violation]:
        """Everything the models refuse in these tables; empty means valid. Unknown tables are left out."""
        text, placed, violations = self._spell(tables)
        libyang, context = self._libyang, self._context
        context.clean_all_errors()
        try:
            context.parse_data(text, libyang.DataFormat.JSON, self._parse_options, self._validation)
        except libyang.Error as error:
            origins = _lines(placed)
            found = [
                self._violation(entry.data_path, entry.message, origins.get(entry.line), tables)
                for entry in context.errors()
                if entry.level == libyang.LogLevel.Error
            ]
            violations += _without_echoes(found) or [
                Violation(None, None, None, None, f"libyang refused the tables: {error}", "report this with the file")
            ]
        finally:
            context.clean_all_errors()
        return violations

    def _spell(self, tables: Tables) -> tuple[str, list[_Placed], list[Violation]]:
        """The tables as YANG-modelled JSON text, its rows in their order, and what has no place in it.

        One row a line: an error found while parsing has no list keys in its path yet, but it has a line.
        """
        from orjson import dumps

        misfits: list[Violation] = []
        modules: dict[str, dict[str, dict[str, list[_Placed]]]] = {}
        for table, rows in tables.items():
            shape = self.tables.get(table)
            if shape is None:
                continue
            lists = modules.setdefault(f"{shape.module}:{shape.container}", {}).setdefault(table, {})
            for key, row in rows.items():
                place = shape.row(key)
                if place is None:
                    misfits.append(_misfit(shape, key))
                else:
                    lists.setdefault(place[0].name, []).append((table, key, place, row))
        text = ["{"]
        placed: list[_Placed] = []
        for at, (module, bodies) in enumerate(modules.items()):
            text.append(f"{',' if at else ''}{_quoted(module)}:{{")
            for nth, (table, lists) in enumerate(bodies.items()):
                text.append(f"{',' if nth else ''}{_quoted(table)}:{{")
                for index, (name, entries) in enumerate(lists.items()):
                    single = not entries[0][2][0].keys
                    text.append(f"{',' if index else ''}{_quoted(name)}:{'' if single else '['}")
                    placed += entries
                    before = "\n"
                    for _, _, (kind, parts), row in entries:
                        text.append(before)
                        before = ",\n"
                        fields: dict[str, Any] = dict(zip(kind.keys, parts))
                        if kind.inner is None:
                            text.append(dumps(fields | _fields(table, kind, row)).decode())
                        else:
                            text.append(_map_row(kind.inner, fields, row))
                    text.append("" if single else "]")
                text.append("}")
            text.append("}")
        text.append("}")
        return "".join(text), placed, misfits

    def _violation(self, path: str | None, message: str, origin: _Origin | None, tables: Tables) -> Violation:
        steps = [(step[1], _predicates(step[2])) for step in _STEP.finditer(path or "")]
        if len(steps) < 2:
            table, key, name = origin or (None, None, None)
            return Violation(table, key, name, None, _one_line(message), "see the model")
        table = steps[1][0]
        shape = self.tables.get(table)
        kind = shape.named(steps[2][0]) if shape and len(steps) > 2 else None
        if kind is None:
            return Violation(table, None, None, None, _one_line(message), f"see the model of {table}")
        if origin is not None:
            key = origin[1]
        else:
            key = "|".join(steps[2][1].get(leaf, "") for leaf in kind.keys) if kind.keys else kind.name
        name = steps[3][0] if len(steps) > 3 else None
        if kind.inner and name == kind.inner[0]:
            name = steps[3][1].get(kind.inner[1]) or (origin[2] if origin else None)
        return self._explain(kind, (table, key, name), steps[-1][0], message, tables)

    def _explain(self, kind: RowShape, where: _Origin, leaf_name: str, message: str, tables: Tables) -> Violation:
        table, key, field = where
        unknown, mandatory = _UNKNOWN.search(message), _MANDATORY.search(message)
        array = _ARRAY.search(message)
        if named := unknown or mandatory or array:
            field = named[1]
        content = tables.get(table, {}).get(key, {}).get(field or "")
        if field in kind.keys:
            # A part of the key is no field of CONFIG_DB: the place is the row itself.
            parts = key.split("|")
            content = parts[kind.keys.index(field)] if len(parts) == len(kind.keys) else None
            field = None
        value = None if content is None else ", ".join(map(str, content)) if isinstance(content, list) else str(content)
        leaf: Statement | None = kind.leaves.get(field or "") or kind.leaves.get(leaf_name)
        allowed = (describe(leaf, self._typedefs) or None) if leaf is not None else None
        targets = tuple(dict.fromkeys(_target(reference[2]) for reference in _LEAFREF.finditer(message)))
        if unknown:
            names = sorted(set(kind.leaves) - set(kind.keys))
            near = difflib.get_close_matches(field or "", names, n=1)
            remedy = f"did you mean {near[0]}?" if near else "drop the field; these models do not have it"
            why, allowed = "the model has no such field", ", ".join(names) if len(names) <= 12 else None
        elif mandatory:
            why, remedy = "the model demands this field and it is missing", f"add {field}"
        elif targets:
            why = f"{' or '.join(targets)} has no such row"
            remedy = f"add the row to {targets[0]}, or correct the name"
        elif array:
            why, remedy = "the field takes a JSON list", "write the values as a list of strings"
        else:
            why, remedy = _one_line(message), "give a value the model takes"
        return Violation(table, key, field, value, why, remedy, allowed, targets[0] if targets else None)


def _one_line(message: str) -> str:
    """The first line of libyang's message; a union lists one line for each of its types after it."""
    first = message.strip().splitlines()[0].rstrip(":. ") if message.strip() else "refused without a message"
    return first.replace(" - no matching subtype found", "")


def _target(path: str) -> str:
    """Table that a leafref path leads to: `/port:sonic-port/port:PORT/port:PORT_LIST/port:name` is PORT."""
    steps = [step.rpartition(":")[2] for step in path.split("/")]
    steps = [step for step in steps if step and step != ".."]
    return steps[1] if len(steps) > 2 else steps[0].removesuffix("_LIST")


def _quoted(name: str) -> str:
    return json.dumps(name)


def _lines(placed: Sequence[_Placed]) -> dict[int, _Origin]:
    """Line of the text -> table, key and field it comes from. A map row has a line more for each of its entries."""
    origins: dict[int, _Origin] = {}
    line = 1
    for table, key, (kind, _), row in placed:
        line += 1
        origins[line] = (table, key, None)
        if kind.inner is not None:
            for field in row:
                line += 1
                origins[line] = (table, key, field)
    return origins


def _predicates(text: str) -> dict[str, str]:
    return {match[1]: match[2] if match[2] is not None else match[3] for match in _PREDICATE.finditer(text)}


def _map_row(inner: tuple[str, str, str], keys: Mapping[str, str], row: Mapping[str, Any]) -> str:
    """A map table's row: its key on one line, each entry on a line of its own."""
    name, key, value = inner
    entries = ",\n".join(json.dumps({key: field, value: _text(content)}) for field, content in row.items())
    head = json.dumps(keys)
    return f'{head[:-1]},"{name}":[\n{entries}]}}' if row else head


def _fields(table: str, kind: RowShape, row: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for field, content in row.items():
        if isinstance(content, list):
            if content != [""]:
                fields[field] = [_text(item) for item in content]
        elif kind.is_leaf_list(field) and (separator := STRING_LEAF_LISTS.get((table, field))):
            fields[field] = str(content).split(separator)
        else:
            fields[field] = content if isinstance(content, str) else _text(content)
    return fields


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _misfit(shape: TableShape, key: str) -> Violation:
    forms = [*shape.containers, *("|".join(f"<{name}>" for name in kind.keys) for kind in shape.lists)]
    near = difflib.get_close_matches(key, list(shape.containers), n=1)
    remedy = f"did you mean {near[0]}?" if near else "correct the key or drop the row"
    return Violation(
        shape.table, key, None, None, f"the model of {shape.table} has no row of this key", remedy, " or ".join(forms)
    )


def _without_echoes(violations: list[Violation]) -> list[Violation]:
    """One violation a place: a refused value also reads as a missing one, a broken reference as a broken condition."""
    first: dict[tuple[str | None, str | None, str | None], Violation] = {}
    for violation in violations:
        first.setdefault((violation.table, violation.key, violation.field), violation)
    return list(first.values())
