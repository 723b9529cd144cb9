"""YAML files that an operator writes: read so that nothing is taken for something else.

A key that stands twice is an error, and so is a number that YAML reads as another than is written: `010` is 8, `1_000`
is 1000 and `12:30` is 750.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from fabric.errors import InputError, Problem

_PLAIN = re.compile(r"-?(0|[1-9][0-9]*)")


def loader() -> Any:
    """PyYAML's safe loader, in C where there is one."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_Safe: Any = loader()


class _Strict(_Safe):  # type: ignore[misc]
    """The safe loader without its surprises."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """As the safe loader's, but no key twice."""
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value} is set twice", key.start_mark)
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)

    def plain_number(self, node: Any) -> Any:
        """A whole number as it is written."""
        if not _PLAIN.fullmatch(node.value):
            what = f"{node.value} is another number to YAML than it looks; quote it"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)
        return int(node.value)


_Strict.add_constructor("tag:yaml.org,2002:int", _Strict.plain_number)


def parse(file: Path) -> Any:
    """The content of a YAML file; InputError with file and line for what is no YAML or is ambiguous."""
    try:
        return yaml.load(file.read_bytes(), Loader=_Strict)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise InputError(Problem(str(error.problem), "mend the YAML", str(file), line)) from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise InputError(Problem(" ".join(str(error).split()), "mend the YAML", str(file))) from None
    except OSError as error:
        raise InputError(Problem(error.strerror or str(error), "give a file that can be read", str(file))) from None
