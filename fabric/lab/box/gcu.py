"""The Generic Config Updater of the twin's switches: `apply-patch`, `replace`, `rollback`.

Same steps as upstream: read, simulate, refuse or accept, sort into moves, make the moves one by one, compare. It is no
kinder: no lock, no way back after a move that failed, nothing saved, links really go down where SONiC takes them down.
What it lacks is the time SONiC needs to sort (minutes on a full switch).
"""

from __future__ import annotations

import copy
import fnmatch
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonpatch
from jsonpointer import JsonPointer, JsonPointerException

from . import gcu_rules as rules
from .database import Tables, read, replace, update
from .redis import Redis

# Longer than the kernel's pause between two announcements of one link's carrier.
_DWELL_S = 1.2
_PATIENCE_S = 10.0


class RefusedError(Exception):
    """The updater does not do it; the message is what SONiC would say."""


@dataclass(frozen=True)
class Move:
    """One step: a row as it becomes (None: it goes)."""

    table: str
    key: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    def as_patch(self) -> str:
        """The move as SONiC prints it."""
        path = f"/{self.table}/{self.key.replace('~', '~0').replace('/', '~1')}"
        if self.after is None:
            return json.dumps([{"op": "remove", "path": path}])
        if self.before is None:
            return json.dumps([{"op": "add", "path": path, "value": self.after}])
        steps: list[dict[str, Any]] = []
        for field in sorted({*self.before, *self.after}):
            if field not in self.after:
                steps.append({"op": "remove", "path": f"{path}/{field}"})
            elif self.before.get(field) != self.after[field]:
                op = "replace" if field in self.before else "add"
                steps.append({"op": op, "path": f"{path}/{field}", "value": self.after[field]})
        return json.dumps(steps)


@dataclass(frozen=True)
class Switch:
    """What the validators look at besides the configuration: release, hwsku, and STATE_DB's port rows."""

    release: str
    hwsku: str
    ports: Mapping[str, Mapping[str, str]]


class Updater:
    """One run on one switch. `say` gets every line SONiC would print with -v."""

    def __init__(self, redis: Redis, switch: Switch, say: Callable[[str], None], ignore_tables: bool = False) -> None:
        self._redis, self._switch, self._say, self._ignore_tables = redis, switch, say, ignore_tables

    def apply(self, patch: Sequence[Mapping[str, Any]], dry_run: bool = False) -> None:
        """Apply a JSON patch. RefusedError when nothing was sent; ValueError; after a failed move the earlier stay."""
        self._say("Patch application starting.")
        self._say(f"Patch: {json.dumps(list(patch))}")
        self._say("Getting current config db.")
        current = read(self._redis)
        self._say("Simulating the target full config after applying the patch.")
        target = simulate(current, patch)
        self._say("Validating all JsonPatch operations are permitted on the specified fields")
        check_operations(patch, current, self._switch)
        self._run(current, target, {step["path"].split("/")[1] for step in patch if step["path"] != ""}, dry_run)
        self._say("Patch application completed.")

    def replace(self, target: Tables, dry_run: bool = False) -> None:
        """Make the configuration exactly `target`: what is not in it goes."""
        self._say("Config replacement starting.")
        current = read(self._redis)
        patch = list(jsonpatch.make_patch(current, target))
        check_operations(patch, current, self._switch)
        self._run(current, copy.deepcopy(target), {*current, *target}, dry_run)
        self._say("Config replacement completed.")

    def _run(self, current: Tables, target: Tables, touched: Iterable[str], dry_run: bool) -> None:
        check_target(target, touched, self._ignore_tables)
        self._say("Sorting patch updates.")
        moves = sort(current, target)
        self._say(f"The patch was converted into {len(moves)} change{'s' if len(moves) != 1 else ''}:")
        for move in moves:
            self._say(f"  * {move.as_patch()}")
        if dry_run:
            return
        self._say(f"Applying {len(moves)} change{'s' if len(moves) != 1 else ''} in order:")
        for move in moves:
            self._say(f"  * {move.as_patch()}")
            self._make(move)
        self._say("Verifying patch updates are reflected on ConfigDB.")
        left = {table for rule in rules.NOT_COMPARED for table in rule.what}
        now = read(self._redis)
        wanted = {table: rows for table, rows in _strings(target).items() if table not in left}
        if {table: rows for table, rows in now.items() if table not in left} != wanted:
            raise ValueError("After applying patch to config, there are still some parts not updated")

    def _make(self, move: Move) -> None:
        key = f"{move.table}|{move.key}"
        if move.before is not None and move.after is not None:
            update(self._redis, key, move.before, move.after)
        else:
            replace(self._redis, key, move.after)
        if move.table == "PORT" and move.after is not None:
            before = (move.before or {}).get("admin_status")
            if before == "up" and move.after.get("admin_status") == "down":
                _wait_down(move.key)


def simulate(current: Tables, patch: Sequence[Mapping[str, Any]]) -> Tables:
    """The configuration after a patch. ValueError when a path does not exist."""
    try:
        steps: list[Any] = list(patch)
        target: Tables = dict(jsonpatch.JsonPatch(steps).apply(current))  # type: ignore[arg-type]
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError) as error:
        raise ValueError(str(error)) from None
    return target


def check_operations(patch: Sequence[Mapping[str, Any]], current: Tables, switch: Switch) -> None:
    """The field validators: which tables a patch may touch, and how."""
    for step in patch:
        parts = [str(part) for part in JsonPointer(step["path"]).parts]
        for table, key, field, operation in _places(parts, step["op"], step.get("value"), current):
            _check_place(table, key, field, operation, len(parts), switch)
            if table == "PORT" and field in ("speed", "fec") and operation in ("add", "replace") and len(parts) > 2:
                known = switch.ports.get(key, {}).get(f"supported_{field}s", "")
                value = step.get("value")
                value = value.get(field) if isinstance(value, Mapping) else value
                if known and value is not None and str(value) not in known.split(","):
                    raise RefusedError(
                        f"Modification of PORT table is illegal- validating function returned False: {key} {field}"
                    )


def _check_place(table: str, key: str, field: str | None, operation: str, depth: int, switch: Switch) -> None:
    illegal = f"Modification of {table} table is illegal- validating function returned False"
    if any(rule.what[0] == table for rule in rules.KNOWN_HWSKU_TABLES) and not _known(switch):
        raise RefusedError(f"{illegal}: HwSKU {switch.hwsku} is not among those it knows")
    if not any(rule.what[0] == table for rule in rules.RESTRICTED):
        return
    if depth == 1:
        raise RefusedError(f"{illegal}: the whole table")
    for permit in rules.PERMITTED:
        if (
            permit.table == table
            and operation in permit.operations
            and fnmatch.fnmatchcase(key, permit.key)
            and (permit.field == field or (permit.field == "*" and field is not None))
            and permit.first <= switch.release <= permit.last
        ):
            return
    raise RefusedError(f"{illegal}: {operation} {'/'.join(part for part in (table, key, field or '') if part)}")


def check_target(target: Tables, touched: Iterable[str], ignore_tables: bool) -> None:
    """What is refused whatever was asked: empty tables, tables without a model, lanes that are wrong or used twice."""
    for table, rows in target.items():
        if not rows:
            raise RefusedError(
                "Given patch is not valid because it will result in empty tables which is not allowed in ConfigDb. "
                f"Table: {table}"
            )
    without = sorted(table for table in touched if table in target and table not in rules.MODELLED)
    if without and not ignore_tables:
        raise RefusedError(
            "Given patch is not valid because it has changes to tables without YANG models. "
            f"Tables: {', '.join(without)}"
        )
    seen: dict[str, str] = {}
    for port, row in target.get("PORT", {}).items():
        for lane in str(row.get("lanes", "")).split(","):
            if not lane.isdigit():
                raise RefusedError(f"PORT {port}: lane {lane!r} is not a number")
            if lane in seen:
                raise RefusedError(
                    f"PORT {port}: '{lane}' lane is used multiple times in PORT: {sorted((port, seen[lane]))}"
                )
            seen[lane] = port
        if "speed" not in row:
            raise RefusedError(f"PORT {port}: speed is mandatory")
    for table in ("INTERFACE", "LOOPBACK_INTERFACE"):
        for key in target.get(table, {}):
            name, _, prefix = key.partition("|")
            if prefix and name not in target[table]:
                raise RefusedError(f"{table} {key}: its parent row {name} is missing")
            if table == "INTERFACE" and name not in target.get("PORT", {}):
                raise RefusedError(f"INTERFACE {key}: there is no PORT {name}")


def sort(current: Tables, target: Tables) -> list[Move]:
    """The changes as moves, in an order that keeps references whole. RefusedError when something cannot be removed."""
    wanted = _strings(target)
    removed, changed, added = [], [], []
    for table in {*current, *wanted}:
        rows, new_rows = current.get(table, {}), wanted.get(table, {})
        for key in {*rows, *new_rows}:
            before, after = rows.get(key), new_rows.get(key)
            if before == after:
                continue
            _may_go(table, key, before, after)
            if after is None:
                removed.append(Move(table, key, before, None))
            elif before is None:
                added.append(Move(table, key, None, after))
            elif _create_only(table, before, after):
                removed.append(Move(table, key, before, None))
                added.append(Move(table, key, None, after))
            else:
                changed.append(Move(table, key, before, after))
    removed.sort(key=_place_of, reverse=True)
    changed.sort(key=_place_of)
    added.sort(key=_place_of)
    return _around_ports([*removed, *changed, *added], current, wanted)


def _around_ports(moves: list[Move], current: Tables, target: Tables) -> list[Move]:
    """Put each move that needs it between taking its ports down and bringing them up again, port by port."""
    critical = {rule.what[0] for rule in rules.NEEDS_PORT_DOWN}
    whole: list[Move] = []
    by_port: dict[str, list[Move]] = {}
    for move in moves:
        port = move.key.partition("|")[0]
        row = current.get("PORT", {}).get(port, {})
        if move.table in critical and row.get("admin_status") == "up" and port in target.get("PORT", {}):
            by_port.setdefault(port, []).append(move)
        else:
            whole.append(move)
    # Additions other rows need come first, removals of what they refer to last.
    early = [move for move in whole if move.after is not None]
    late = [move for move in whole if move.after is None]
    ports: list[Move] = []
    for port, inner in by_port.items():
        up = target["PORT"][port]
        down = {**up, "admin_status": "down"}
        ports += [Move("PORT", port, up, down), *inner]
        if up.get("admin_status") == "up":
            ports.append(Move("PORT", port, down, up))
    if not ports:
        return moves
    return [*early, *ports, *late]


def _places(
    parts: Sequence[str], operation: str, value: Any, current: Tables
) -> Iterator[tuple[str, str, str | None, str]]:
    """(table, key, field, operation) of what one step of a patch touches."""
    if len(parts) >= 3:
        yield parts[0], parts[1], parts[2], operation
    elif len(parts) == 2:
        yield parts[0], parts[1], None, operation
        for field in value if isinstance(value, Mapping) else ():
            if parts[0] == "PORT":
                yield parts[0], parts[1], str(field), operation
    elif len(parts) == 1:
        rows = value if isinstance(value, Mapping) else current.get(parts[0], {})
        for key in rows or ("",):
            yield parts[0], str(key), None, operation


def _known(switch: Switch) -> bool:
    return any(
        switch.release >= first
        and (switch.hwsku == rule.what[0] if "SN5600" in rule.what[0] else rule.what[0] in switch.hwsku)
        for rule, first in rules.KNOWN_HWSKUS
    )


def _may_go(table: str, key: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
    for rule in rules.CANNOT_REMOVE:
        if rule.what[:2] != (table, key) or before is None:
            continue
        if after is None or (len(rule.what) == 3 and rule.what[2] in before and rule.what[2] not in after):
            raise RefusedError(f"There is no possible sorting: /{'/'.join(rule.what)} cannot be removed")


def _create_only(table: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    fields = {rule.what[1] for rule in rules.CREATE_ONLY if rule.what[0] == table}
    return "*" in fields or any(before.get(field) != after.get(field) for field in fields)


def _place_of(move: Move) -> tuple[int, str, int, str]:
    order = rules.ORDER.index(move.table) if move.table in rules.ORDER else len(rules.ORDER)
    return order, move.table, move.key.count("|"), move.key


def _strings(tables: Tables) -> Tables:
    """Values as Redis gives them back."""
    return {
        table: {
            key: {
                field: [str(item) for item in value] if isinstance(value, list) else str(value)
                for field, value in fields.items()
            }
            for key, fields in rows.items()
        }
        for table, rows in tables.items()
    }


def _wait_down(port: str) -> None:
    """Until the kernel has taken the port down, and long enough that the far end has seen it."""
    flags = Path("/sys/class/net", port, "flags")
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while int(flags.read_text(), 16) & 1 and time.monotonic() < deadline:
            time.sleep(0.02)
    except OSError:
        return  # a port without a cable has no device
    time.sleep(_DWELL_S)
