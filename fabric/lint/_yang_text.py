"""Read the text of YANG models: how each CONFIG_DB table is spelled in YANG.

The libyang binding validates, but cannot be asked what a model looks like. So the mapping from CONFIG_DB (a table,
keys joined by `|`, fields) to YANG (a container, lists with named keys, leaves) is taken from the models' own text:

    module sonic-interface { container sonic-interface { container INTERFACE {
        list INTERFACE_LIST { key "name"; leaf name ...; leaf vrf_name ...; }
        list INTERFACE_IPPREFIX_LIST { key "name ip-prefix"; ... } } } }

Nothing here knows a table by its name; a model added to the folder tomorrow is understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fabric.errors import LintError

# A comment or white space, a quoted string, a bracket or semicolon, or an unquoted word (RFC 7950 section 6.1).
_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|"((?:[^"\\]|\\.)*)"|'([^']*)'|([{};])|((?:[^\s{};"'/]|/(?![/*]))+)""", re.DOTALL
)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


@dataclass(slots=True)
class Statement:
    """One YANG statement: `keyword argument { statements }`."""

    keyword: str
    argument: str
    body: list[Statement] = field(default_factory=list)

    def all(self, *keywords: str) -> Iterator[Statement]:
        """Direct substatements with one of these keywords, in order."""
        return (inner for inner in self.body if inner.keyword in keywords)

    def argument_of(self, keyword: str) -> str | None:
        """Argument of the first direct substatement `keyword`, or None."""
        return next((inner.argument for inner in self.all(keyword)), None)


def parse(text: str, source: str) -> Statement:
    """The module statement of a model's text. LintError when it is not YANG."""
    root = Statement("", "")
    stack = [root]
    words: list[str] = []
    position = 0
    for token in _TOKEN.finditer(text):
        if token.start() != position:
            break
        position = token.end()
        if token.lastindex is None:
            continue
        word = token.group(token.lastindex)
        if token.lastindex == 1 and "\\" in word:
            word = _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[0]), word)
        if token.lastindex != 3:
            if token.lastindex != 4 or word != "+":
                words.append(word)
            continue
        if word == "}":
            stack.pop()
            if not stack:
                break
            continue
        if words:
            statement = Statement(words[0], "".join(words[1:]))
            stack[-1].body.append(statement)
            if word == "{":
                stack.append(statement)
        words = []
    if position != len(text) or len(stack) != 1 or len(root.body) != 1 or root.body[0].keyword != "module":
        line = text.count("\n", 0, position) + 1
        raise LintError(f"{source}:{line}: not a YANG module; give a folder of SONiC's models (*.yang)")
    return root.body[0]


@dataclass(frozen=True, slots=True)
class RowShape:
    """How one kind of row is spelled in YANG.

    `name` is the YANG list or container; `keys` the leaves that make up the CONFIG_DB key (none for a container,
    whose name is the key); `leaves` every field with its statement. A map table (`{name: {k: v}}`) has `inner`:
    the inner list's name, its key leaf and its value leaf.
    """

    name: str
    keys: tuple[str, ...]
    leaves: Mapping[str, Statement]
    inner: tuple[str, str, str] | None = None

    def is_leaf_list(self, name: str) -> bool:
        """Whether a field holds several values."""
        leaf = self.leaves.get(name)
        return leaf is not None and leaf.keyword == "leaf-list"


@dataclass(frozen=True, slots=True)
class TableShape:
    """How one CONFIG_DB table is spelled in YANG."""

    table: str
    module: str
    container: str
    lists: tuple[RowShape, ...]
    containers: Mapping[str, RowShape]

    def row(self, key: str) -> tuple[RowShape, tuple[str, ...]] | None:
        """The shape of the row with this CONFIG_DB key and the key's parts, or None when no list takes it."""
        single = self.containers.get(key)
        if single is not None:
            return single, ()
        parts = tuple(key.split("|"))
        for shape in self.lists:
            if len(shape.keys) == len(parts):
                return shape, parts
        return None

    def named(self, name: str) -> RowShape | None:
        """The list or container of this YANG name."""
        return next((shape for shape in self.lists if shape.name == name), None) or self.containers.get(name)


def read_tables(models: Mapping[str, Statement]) -> dict[str, TableShape]:
    """CONFIG_DB table name -> shape, from every module's statements."""
    groupings = {
        (module, grouping.argument): grouping
        for module, statement in models.items()
        for grouping in statement.all("grouping")
    }
    tables: dict[str, TableShape] = {}
    for module, statement in models.items():
        prefixes = {"": module, statement.argument_of("prefix") or "": module}
        for imported in statement.all("import"):
            prefixes[imported.argument_of("prefix") or imported.argument] = imported.argument
        scope = _Scope(module, prefixes, groupings)
        for top in statement.all("container"):
            for table in top.all("container"):
                tables[table.argument] = TableShape(
                    table=table.argument,
                    module=module,
                    container=top.argument,
                    lists=tuple(scope.row(entry) for entry in table.all("list")),
                    containers={entry.argument: scope.row(entry) for entry in table.all("container")},
                )
    return tables


@dataclass(frozen=True, slots=True)
class _Scope:
    module: str
    prefixes: Mapping[str, str]
    groupings: Mapping[tuple[str, str], Statement]

    def row(self, statement: Statement) -> RowShape:
        keys = tuple((statement.argument_of("key") or "").split())
        leaves = {leaf.argument: leaf for leaf in self._leaves(statement)}
        inner = None
        inner_lists = list(statement.all("list"))
        if len(inner_lists) == 1 and not set(leaves) - set(keys):
            inner_key = (inner_lists[0].argument_of("key") or "").split()
            values = [leaf.argument for leaf in self._leaves(inner_lists[0]) if leaf.argument not in inner_key]
            if len(inner_key) == 1 and len(values) == 1:
                inner = (inner_lists[0].argument, inner_key[0], values[0])
                leaves |= {leaf.argument: leaf for leaf in self._leaves(inner_lists[0])}
        return RowShape(statement.argument, keys, leaves, inner)

    def _leaves(self, statement: Statement) -> Iterator[Statement]:
        for inner in statement.body:
            if inner.keyword in ("leaf", "leaf-list"):
                yield inner
            elif inner.keyword in ("choice", "case"):
                yield from self._leaves(inner)
            elif inner.keyword == "uses":
                prefix, _, name = inner.argument.rpartition(":")
                module = self.prefixes.get(prefix, self.module)
                grouping = self.groupings.get((module, name))
                if grouping is not None:
                    yield from self._leaves(grouping)


def read_folder(folder: Path) -> dict[str, Statement]:
    """Module name -> module statement of every `*.yang` in a folder. LintError when there is none or one is broken."""
    if not folder.is_dir():
        raise LintError(f"{folder}: no such folder of YANG models; a SONiC switch has them in its yang-models folder")
    models: dict[str, Statement] = {}
    for path in sorted(folder.glob("*.yang")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LintError(f"{path}: cannot be read: {error}; copy the models again") from None
        module = parse(text, str(path))
        models[module.argument] = module
    if "sonic-port" not in models:
        raise LintError(f"{folder}: holds no SONiC YANG models (sonic-port.yang is missing); give the folder that does")
    return models


def read_typedefs(models: Mapping[str, Statement]) -> dict[str, Statement]:
    """Name of a type -> its definition, over all modules; SONiC names each type once."""
    return {typedef.argument: typedef for statement in models.values() for typedef in statement.all("typedef")}


def describe(leaf: Statement, typedefs: Mapping[str, Statement]) -> str:
    """What values a leaf takes, in the words of its model: `uint16 68..9216`, `one of up, down`, ..."""
    text = _describe_types(leaf, typedefs)
    return f"a list, each {text}" if leaf.keyword == "leaf-list" else text


def _describe_types(statement: Statement, typedefs: Mapping[str, Statement]) -> str:
    texts = [_describe_type(kind, typedefs) for kind in statement.all("type")]
    return " or ".join(dict.fromkeys(filter(None, texts)))


def _describe_type(statement: Statement, typedefs: Mapping[str, Statement]) -> str:
    kind = statement.argument.rpartition(":")[2]
    if kind == "leafref":
        steps = [step.rpartition(":")[2] for step in (statement.argument_of("path") or "").split("/")]
        steps = [step for step in steps if step and step != ".."]
        return f"the name of a row of {steps[1] if len(steps) > 2 else '/'.join(steps[-2:])}"
    if kind == "union":
        return _describe_types(statement, typedefs)
    if kind == "enumeration":
        return "one of " + ", ".join(entry.argument for entry in statement.all("enum"))
    limits = [inner.argument for inner in statement.all("range", "length")]
    patterns = [f"matching {inner.argument}" for inner in statement.all("pattern")]
    if kind in typedefs and not limits and not patterns:
        return _describe_types(typedefs[kind], typedefs) or kind
    return " ".join([kind, *limits, *patterns])
