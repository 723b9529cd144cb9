"""A site's own CONFIG_DB rows: `site.yaml` of the operator's templates folder, merged under declared rules.

    rows:                       # on every switch
      SNMP:
        LOCATION: {Location: hall 3}
    roles:
      leaf: {...}               # on switches of a role: leaf, spine, superspine, storage
    switches:
      p1-l0: {...}              # on one switch

The rules: a row that railfab does not render is added as it stands. A field is added to a row that railfab renders
only where railfab does not own that field. A field that is set twice, here or there, is an error; so is a `mac`, a
field that makes the box a multi-ASIC one, a BGP peer in a routing mode that has its peers elsewhere, and a switch that
the Plan does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fabric.errors import InputError, Problem
from fabric.render.operator_yaml import parse
from fabric.render.policy import SITE, Templates
from fabric.render.scope import Scope
from fabric.render.shapes import MULTI_ASIC_FIELDS, unprintable
from fabric.values.device_config import Row
from fabric.values.ownership import OWNED, owns_field
from fabric.values.plan import Role

_ONE_WRITER = "another writer of BGP peers beside railfab's own; give the peers in the intent"


def add_site_rows(scope: Scope, tables: dict[str, dict[str, Row]]) -> None:
    """Merge the site's rows for this switch into `tables`. InputError names the file, table and key of a collision."""
    file = scope.templates.find(SITE)
    if file is None:
        return
    for where, extra in _parts(scope.templates, file, scope):
        for table, rows in extra.items():
            for key, row in rows.items():
                _add(file, f"{where}.{table}.{key}", tables.setdefault(table, {}), table, str(key), row)


def _add(file: Path, where: str, rows: dict[str, Row], table: str, key: str, row: Mapping[str, Any]) -> None:
    if table == "DEVICE_METADATA" and "mac" in row:
        raise _wrong(file, where, "the router MAC is the switch's own", "take it out")
    if table == "DEVICE_METADATA" and (several := [name for name in MULTI_ASIC_FIELDS if name in row]):
        what = f"{several[0]} is for a switch of several ASICs, which needs a file for each: railfab writes one"
        raise _wrong(file, where, what, "take it out")
    ownership = OWNED.get(table)
    if table.startswith("BGP_") and ownership is not None and ownership.removed_when_absent and not rows:
        raise _wrong(file, where, _ONE_WRITER, "take it out")
    have = rows.get(key)
    if have is None:
        rows[key] = {str(name): _value(file, f"{where}.{name}", value) for name, value in row.items()}
        return
    for name in row:
        if name in have:
            raise _wrong(file, where, f"{name} is set already", "set it in one place")
        if owns_field(table, str(name)):
            raise _wrong(file, where, f"{name} is railfab's to set", "set it by the intent or the policy files")
    rows[key] = {**have, **{str(name): _value(file, f"{where}.{name}", value) for name, value in row.items()}}


def _parts(files: Templates, file: Path, scope: Scope) -> Iterator[tuple[str, Mapping[str, Any]]]:
    content = files.once(SITE, lambda: _checked(file))
    if strangers := sorted(set(content.get("switches", {})) - scope.plan.switches.keys()):
        what = f"no such switch in plan {scope.plan.name}: {', '.join(strangers)}"
        raise _wrong(file, "switches", what, "correct the name, or take it out")
    yield "rows", content.get("rows", {})
    for group, name in (("roles", scope.switch.role.value), ("switches", scope.switch.name)):
        yield f"{group}.{name}", content.get(group, {}).get(name, {})


def _checked(file: Path) -> Mapping[str, Any]:
    content: Any = parse(file) or {}
    problems = list(_misfits(file, content))
    if problems:
        raise InputError(problems)
    checked: Mapping[str, Any] = content
    return checked


def _misfits(file: Path, content: Any) -> Iterator[Problem]:
    known = ("rows", "roles", "switches")
    if not isinstance(content, dict) or set(content) - set(known):
        yield Problem(f"has other keys than {', '.join(known)}", "see fabric/render/site.py", str(file))
        return
    parts = [("rows", content.get("rows", {}))]
    for group in known[1:]:
        members = content.get(group, {})
        if not isinstance(members, dict):
            yield Problem("must be a mapping", "name -> table -> key -> field", str(file), path=group)
            continue
        members = {name: part for name, part in members.items() if isinstance(name, str)}
        if len(members) < len(content.get(group, {})):
            yield Problem("a name here is no text", "quote it", str(file), path=group)
        if group == "roles" and (unknown := set(members) - {role.value for role in Role}):
            yield Problem(f"no such role: {', '.join(map(str, unknown))}", "", str(file), path=group)
        parts += [(f"{group}.{name}", part) for name, part in members.items()]
    for where, tables in parts:
        shaped = isinstance(tables, dict) and all(
            isinstance(rows, dict) and rows and all(isinstance(row, dict) for row in rows.values())
            for rows in tables.values()
        )
        if not shaped:
            yield Problem("must be table -> key -> field -> text, no table empty", "", str(file), path=where)
            continue
        names = (
            name for table, rows in tables.items() for key, row in rows.items() for name in (table, key, *row.keys())
        )
        for name in names:
            if isinstance(name, bool) or not isinstance(name, str | int) or not str(name) or unprintable(str(name)):
                yield Problem(f"{name!r} is no name", "name it by a text, quoted", str(file), path=where)


def _value(file: Path, where: str, value: Any, inside: bool = False) -> str | list[str]:
    if isinstance(value, list) and not inside:
        return [str(_value(file, where, item, inside=True)) for item in value]
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _wrong(file, where, f"{value!r} is neither text nor a whole number", "quote it")
    if unprintable(str(value)):
        raise _wrong(file, where, f"{value!r} has control characters", "take them out")
    return str(value)


def _wrong(file: Path, where: str, what: str, remedy: str) -> InputError:
    return InputError(Problem(what, remedy, str(file), path=where))
