"""An intent file to an `Intent`, with the line of everything in it.

All problems are found before one `InputError` is raised: YAML surprises, unknown keys, wrong types and what the
shapes themselves forbid. What needs several parts of the intent at once is checked by `fabric.intent.rules`.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from fabric.errors import InputError, Problem
from fabric.intent import _yaml
from fabric.intent.kinds import check_name
from fabric.intent.shapes import Intent

Path_ = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class IntentFile:
    """A valid intent and where it was read from. `sha256` is of the composed intent (includes merged), so comments
    and layout do not change it."""

    intent: Intent
    path: Path
    sha256: str
    root: _yaml.Node

    def problem(self, path: Path_, what: str, remedy: str = "") -> Problem:
        """A problem with the value at key path `path`, with its file and line."""
        return _problem(self.root, path, what, remedy)


def load(path: Path) -> IntentFile:
    """Read an intent and what it includes. InputError holds every problem, each with file, line and key path."""
    problems: list[Problem] = []
    root = _yaml.read_with_includes(path, problems)
    return _validated(root, path, problems)


def load_text(text: str | bytes, source: str = "intent.yaml") -> IntentFile:
    """Read an intent from text; `source` names it in messages. `include` is refused here."""
    problems: list[Problem] = []
    root = _yaml.read_text(text, source, problems)
    return _validated(root, Path(source), problems)


def load_names(path: Path) -> dict[str, str]:
    """Read a YAML file of `our name: their name`. InputError tells what is no host name, with its line."""
    problems: list[Problem] = []
    root = _yaml.read(path, problems, "write `our name: their name` lines")
    found: dict[str, str] = {}
    if root is not None and not isinstance(root.value, dict):
        problems.append(Problem("is no mapping", "write `our name: their name` lines", file=str(path)))
    elif root is not None:
        for ours, node in root.value.items():
            try:
                found[ours] = check_name(node.value if isinstance(node.value, str) else repr(node.value))
            except ValueError as error:
                what, _, remedy = str(error).partition("; ")
                problems.append(Problem(what, remedy, file=node.mark.file, line=node.mark.line, path=ours))
    if problems:
        raise InputError(problems)
    return found


def _validated(root: _yaml.Node | None, path: Path, problems: list[Problem]) -> IntentFile:
    from fabric.intent.rules import check

    if root is None:
        raise InputError(problems)
    if not isinstance(root.value, dict):
        problems.append(
            Problem(
                "an intent is a mapping of keys",
                "begin with `name:`; `railfab schema` describes the keys",
                file=root.mark.file,
                line=root.mark.line,
            )
        )
        raise InputError(problems)
    for key in [key for key in root.value if key.startswith("x-")]:
        del root.value[key]  # a place for anchors, as in Compose files
    plain = root.plain()
    try:
        intent = Intent.model_validate(plain)
    except ValidationError as error:
        # A place that was complained of already, or a key that a file not read may have, is no second problem.
        said = {(problem.file, problem.line, problem.path) for problem in problems}
        partly = any(problem.path in (None, "include") for problem in problems)
        for entry in error.errors(include_url=False):
            found = _of_pydantic(root, entry)
            if (found.file, found.line, found.path) not in said and not (partly and entry["type"] == "missing"):
                problems.append(found)
        raise InputError(_in_order(problems)) from None
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    read = IntentFile(intent, path, digest, root)
    problems.extend(check(read))
    if problems:
        raise InputError(_in_order(problems))
    return read


def _in_order(problems: Sequence[Problem]) -> list[Problem]:
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda problem: (problem.file or "", problem.line or 0))


def _problem(root: _yaml.Node, path: Path_, what: str, remedy: str) -> Problem:
    node, reached = root.find(path)
    shown = reached if len(reached) == len(path) else path
    return Problem(
        what, remedy, file=node.mark.file, line=node.mark.line, path=".".join(str(step) for step in shown) or None
    )


def _of_pydantic(root: _yaml.Node, entry: Any) -> Problem:
    kind, loc, message = entry["type"], tuple(entry["loc"]), entry["msg"]
    if kind == "extra_forbidden":
        parent, reached = root.find(loc[:-1])
        key = loc[-1]
        child = parent.value.get(key) if isinstance(parent.value, dict) else None
        mark = (child.key_mark or child.mark) if child is not None else parent.mark
        keys = _keys_at(reached)
        close = difflib.get_close_matches(str(key), keys, n=1)
        remedy = f"did you mean {close[0]!r}?" if close else f"known keys here: {', '.join(keys)}"
        return Problem(
            f"unknown key {key!r}", remedy, file=mark.file, line=mark.line, path=".".join(map(str, (*reached, key)))
        )
    node, reached = root.find(loc)
    seen = node.plain() if len(reached) == len(loc) or kind != "missing" else None
    if kind == "missing":
        key = loc[-1]
        what, remedy = f"key {key!r} is missing", "add it; `railfab schema` describes the keys"
        where = (*reached, key)
    else:
        where = reached
        if kind == "string_type" and isinstance(seen, (int, float)) and not isinstance(seen, bool):
            what, remedy = f"{seen} is a number, a word belongs here", f'write "{seen}"'
        elif kind in {"value_error", "assertion_error"}:
            what, _, remedy = message.removeprefix("Value error, ").partition("; ")
        elif kind == "literal_error":
            what, remedy = f"{seen!r} is not possible here", f"write one of {entry['ctx']['expected']}"
        elif seen is None:
            what, remedy = "has no value", "write one or remove the key"
        else:
            what, remedy = f"{_short(seen)}: {message[0].lower()}{message[1:]}", "correct the value"
    return Problem(
        what, remedy, file=node.mark.file, line=node.mark.line, path=".".join(str(step) for step in where) or None
    )


def _short(seen: Any) -> str:
    if isinstance(seen, dict):
        return "a mapping"
    if isinstance(seen, list):
        return "a list"
    text = repr(seen)
    return text if len(text) <= 60 else text[:57] + "..."


def _keys_at(path: Path_) -> list[str]:
    """Keys an object at this path may have, as written in the file."""
    kind: Any = Intent
    for step in path:
        kind = _step(kind, step)
        if kind is None:
            return []
    shape = next((part for part in _parts(kind) if isinstance(part, type) and issubclass(part, BaseModel)), None)
    return [field.alias or name for name, field in shape.model_fields.items()] if shape else []


def _parts(kind: Any) -> list[Any]:
    args = typing.get_args(kind)
    if typing.get_origin(kind) in (list, dict) or not args:
        return [kind]
    return [part for arg in args for part in _parts(arg)]


def _step(kind: Any, step: str | int) -> Any:
    for part in _parts(kind):
        origin = typing.get_origin(part)
        if origin is list and isinstance(step, int):
            return typing.get_args(part)[0]
        if origin is dict and isinstance(step, str):
            return typing.get_args(part)[1]
        if isinstance(part, type) and issubclass(part, BaseModel):
            for name, field in part.model_fields.items():
                if step in (name, field.alias):
                    return field.annotation
    return None
