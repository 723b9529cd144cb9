"""YAML text to plain values, each with the line it stands on.

Built on libyaml's event stream, which is flat: depth and size are counted before anything is nested, so that a
bomb (deep brackets, aliases of aliases) is refused instead of exhausting us. Stricter than YAML 1.1 on purpose:
words and numbers that mean something else than they look like (`on`, `no`, `010`, `1_000`) are problems with a
line, not values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fabric.errors import InputError, Problem
from fabric.files import read_bounded

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 40
MAX_NODES = 400_000
MAX_INCLUDES = 32

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+\Z")
_OCTAL = re.compile(r"[-+]?0[0-9_]+\Z")
_ODD_NUMBER = re.compile(
    r"[-+]?(0o[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+|[0-9][0-9_]*_[0-9_]*|([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+|\.[0-9]+"
    r"|[0-9]+\.|\.(inf|Inf|INF|nan|NaN|NAN))\Z"
)
# What git leaves in a file whose merge it could not finish.
_CONFLICT = re.compile(rb"^(<{7}|>{7}|\|{7})(?= )", re.MULTILINE)
_TRUTH = {"true": True, "false": False}
_AMBIGUOUS = frozenset(
    word
    for base in ("yes", "no", "on", "off", "y", "n", "true", "false", "null")
    for word in (base, base.capitalize(), base.upper())
) - {"true", "false", "null"}


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file. Lines count from 1."""

    file: str
    line: int


@dataclass(slots=True)
class Node:
    """One value: a scalar, a list of Nodes or a dict of key -> Node. `mark` is where the value starts, `key_mark`
    where the key stands that holds it (None for list items and the top)."""

    value: Any
    mark: Mark
    key_mark: Mark | None = None
    size: int = 1

    def plain(self) -> Any:
        """The value without marks."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def find(self, path: tuple[str | int, ...]) -> tuple[Node, tuple[str | int, ...]]:
        """The deepest node on `path` that exists, and the path that leads to it.

        Steps that are no key here are skipped: validators put the name of a variant between two keys.
        """
        node, reached = self, []
        for step in path:
            child = None
            if isinstance(node.value, dict) and isinstance(step, str):
                child = node.value.get(step)
            elif isinstance(node.value, list) and isinstance(step, int) and 0 <= step < len(node.value):
                child = node.value[step]
            if child is not None:
                node = child
                reached.append(step)
        return node, tuple(reached)


@dataclass(slots=True)
class _Open:
    """A list or mapping that is being read."""

    node: Node
    anchor: str | None
    key: str | None = None
    key_mark: Mark | None = None
    merges: list[tuple[Node, Mark]] = field(default_factory=list)


_EMPTY = "write an intent; `railfab schema` describes one"


def read_with_includes(path: Path, problems: list[Problem]) -> Node | None:
    """Read one file and what it includes. Adds every problem to `problems`; None when nothing can be used."""
    return _read(path, problems, (), [0])


def read(path: Path, problems: list[Problem], empty: str = "") -> Node | None:
    """Read one file that includes none. `empty` is what to do about one without a value."""
    data = _bytes(path, problems)
    return None if data is None else _parse(data, str(path), problems, empty)


def read_text(text: str | bytes, source: str, problems: list[Problem]) -> Node | None:
    """Read one text without includes."""
    data = text.encode() if isinstance(text, str) else text
    return _parse(data, source, problems)


def _read(path: Path, problems: list[Problem], chain: tuple[Path, ...], count: list[int]) -> Node | None:
    count[0] += 1
    data = _bytes(path, problems)
    node = None if data is None else _parse(data, str(path), problems)
    if node is None or not isinstance(node.value, dict) or "include" not in node.value:
        return node
    listed = node.value.pop("include")
    entries = listed.value if isinstance(listed.value, list) else [listed]
    base: Node | None = None
    for entry in entries:
        name = entry.value
        wrong: tuple[str, str] | None = None
        part: Node | None = None
        if not isinstance(name, str) or not name or Path(name).is_absolute() or "://" in name:
            wrong = "is not a relative file name", "name a YAML file relative to this one"
        elif (path.parent / name).resolve() in (*chain, path.resolve()):
            wrong = "includes itself", "remove the circle"
        elif count[0] >= MAX_INCLUDES:
            wrong = f"is more than {MAX_INCLUDES} files", "put them together"
        else:
            part = _read(path.parent / name, problems, (*chain, path.resolve()), count)
            if part is not None and not isinstance(part.value, dict):
                wrong = "is no mapping of keys", "give a file that is laid out as an intent"
        if wrong is not None:
            mark = entry.mark
            problems.append(
                Problem(f"include {name!r} {wrong[0]}", wrong[1], file=mark.file, line=mark.line, path="include")
            )
        elif part is not None:
            base = part if base is None else _over(base, part)
    return node if base is None else _over(base, node)


def _bytes(path: Path, problems: list[Problem]) -> bytes | None:
    try:
        return read_bounded(path, MAX_BYTES)
    except InputError as error:
        problems.extend(error.problems)
        return None


def _over(base: Node, top: Node) -> Node:
    """`top` laid over `base`: mappings are merged key by key, everything else is replaced."""
    if not isinstance(base.value, dict) or not isinstance(top.value, dict):
        return top
    merged = dict(base.value)
    for key, child in top.value.items():
        merged[key] = _over(merged[key], child) if key in merged else child
    return Node(merged, top.mark, top.key_mark, base.size + top.size)


def _events(data: bytes, source: str) -> Iterator[Any]:
    try:
        yield from yaml.parse(data, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else None
        raise InputError(
            Problem(f"not YAML: {error.problem or error.context}", "correct it", file=source, line=line)
        ) from None
    except yaml.YAMLError as error:
        text = " ".join(str(error).split())
        raise InputError(Problem(f"not YAML: {text}", "save it as UTF-8 text", file=source)) from None
    except (UnicodeDecodeError, ValueError) as error:
        raise InputError(Problem(f"not YAML: {error}", "save it as UTF-8 text", file=source)) from None


def _parse(data: bytes, source: str, problems: list[Problem], empty: str = _EMPTY) -> Node | None:
    conflict = _CONFLICT.search(data)
    if conflict is not None:
        line = data.count(b"\n", 0, conflict.start()) + 1
        what = f"a merge that was not finished: {conflict[0].decode()}"
        problems.append(Problem(what, "decide between the two sides, then remove the marks", file=source, line=line))
        return None
    try:
        root = _compose(data, source, problems)
    except InputError as error:
        problems.extend(error.problems)
        return None
    if root is None:
        problems.append(Problem("the file is empty", empty, file=source))
    return root


def _stop(what: str, remedy: str, mark: Mark) -> InputError:
    return InputError(Problem(what, remedy, file=mark.file, line=mark.line))


def _compose(data: bytes, source: str, problems: list[Problem]) -> Node | None:
    stack: list[_Open] = []
    anchors: dict[str, Node] = {}
    root: Node | None = None
    documents = 0
    total = 0

    def complain(what: str, remedy: str, mark: Mark) -> None:
        problems.append(Problem(what, remedy, file=mark.file, line=mark.line, path=_trail(stack)))

    def place(node: Node) -> None:
        nonlocal root
        if not stack:
            root = node
            return
        parent = stack[-1]
        if isinstance(parent.node.value, list):
            parent.node.value.append(node)
            parent.node.size += node.size
            return
        if parent.key is None:
            if not isinstance(node.value, (str, int)) or isinstance(node.value, bool):
                complain("a key must be a word", "write the key as plain text", node.mark)
                parent.key = f"?{node.mark.line}"
            else:
                parent.key = str(node.value)
            parent.key_mark = node.mark
            return
        key, key_mark = parent.key, parent.key_mark or node.mark
        parent.key = None
        if key == "<<":
            parent.merges.append((node, key_mark))
            parent.node.size += node.size
            return
        mapping = parent.node.value
        if key in mapping:
            first = (mapping[key].key_mark or mapping[key].mark).line
            complain(f"key {key!r} stands twice, first in line {first}", "keep one of the two", key_mark)
            return
        mapping[key] = Node(node.value, node.mark, key_mark, node.size)
        parent.node.size += node.size

    for event in _events(data, source):
        place_of: Any = event.start_mark
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                line = place_of.line + 1
                raise _stop("a second document starts here", "an intent is one document", Mark(source, line))
            continue
        if not isinstance(event, (yaml.NodeEvent, yaml.CollectionEndEvent)):
            continue
        mark = Mark(source, place_of.line + 1)
        if isinstance(event, yaml.CollectionEndEvent):
            done = stack.pop()
            _merge(done, complain)
            place(done.node)
            if done.anchor:
                anchors[done.anchor] = done.node
            continue
        total += 1
        if total > MAX_NODES:
            raise _stop(f"more than {MAX_NODES} values", "an intent is a page or two", mark)
        if isinstance(event, yaml.AliasEvent):
            target = anchors.get(event.anchor or "")
            if target is None:
                inside = any(level.anchor == event.anchor for level in stack)
                what = "stands inside what it names" if inside else "names nothing before it"
                raise _stop(f"alias *{event.anchor} {what}", f"define &{event.anchor} first", mark)
            total += target.size
            if total > MAX_NODES:
                raise _stop(f"aliases make more than {MAX_NODES} values", "use fewer aliases", mark)
            place(Node(target.value, target.mark, None, target.size))
            continue
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!":
            complain(f"tag {tag!r} is not allowed", "remove it; plain values are enough", mark)
        if isinstance(event, yaml.ScalarEvent):
            is_key = bool(stack) and isinstance(stack[-1].node.value, dict) and stack[-1].key is None
            quoted = event.style not in (None, "")  # libyaml gives "" for plain, the pure loader None
            value = event.value if quoted or is_key else _scalar(event.value, mark, complain)
            node = Node(value, mark)
            if event.anchor:
                anchors[event.anchor] = node
            place(node)
            continue
        if len(stack) >= MAX_DEPTH:
            raise _stop(f"nested deeper than {MAX_DEPTH} levels", "an intent is flat", mark)
        empty: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        stack.append(_Open(Node(empty, mark), event.anchor))
    return root


def _trail(stack: list[_Open]) -> str | None:
    parts = []
    for level in stack:
        if isinstance(level.node.value, list):
            parts.append(str(len(level.node.value)))
        elif level.key is not None:
            parts.append(level.key)
    return ".".join(parts) or None


def _merge(done: _Open, complain: Any) -> None:
    """YAML merge keys: what stands in the mapping itself wins, then the first merge that has the key."""
    for node, key_mark in done.merges:
        for part in node.value if isinstance(node.value, list) else [node]:
            if not isinstance(part, Node) or not isinstance(part.value, dict):
                complain("`<<` needs a mapping", "merge an alias of a mapping", key_mark)
                continue
            for key, child in part.value.items():
                done.node.value.setdefault(key, child)


def _scalar(text: str, mark: Mark, complain: Any) -> Any:
    if text in {"", "~", "null"}:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    if text in _AMBIGUOUS:
        complain(
            f"{text!r} is a truth value to some programs and a word to others", f'write true/false, or "{text}"', mark
        )
        return text
    if _INTEGER.match(text):
        if len(text) > 19:
            complain("the number is too large", "check it; quote it if it is a name", mark)
            return 0
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if _OCTAL.match(text):
        complain(
            f"{text} is octal to some programs and decimal to others", f'write it without the zero, or "{text}"', mark
        )
        return text
    if _ODD_NUMBER.match(text):
        complain(f"{text} is an unusual way to write a number", f'write plain digits, or "{text}" for a name', mark)
        return text
    return text
