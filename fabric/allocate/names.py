"""Name lists as people write them: `p1-l[0-7]`, `gpu[001-050]`, one pattern a run of consecutive numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Run = TypeVar("Run")
_LAST_NUMBER = re.compile(r"(.*?)(\d+)(\D*)\Z")


def split(name: str) -> tuple[str, int, str, int] | None:
    """`gpu007a` is ("gpu", 7, "a", width 3): the last number of a name. None without one."""
    match = _LAST_NUMBER.match(name)
    if match is None:
        return None
    return match.group(1), int(match.group(2)), match.group(3), len(match.group(2))


def runs(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Cut a list of names, in its order, where numbers stop being consecutive (or prefix, suffix, width change)."""
    found: list[list[str]] = []
    before: tuple[str, int, str, int] | None = None
    for name in names:
        parts = split(name)
        if parts is not None and before is not None and found and _follows(before, parts):
            found[-1].append(name)
        else:
            found.append([name])
        before = parts
    return [tuple(run) for run in found]


def _follows(before: tuple[str, int, str, int], after: tuple[str, int, str, int]) -> bool:
    same_width = before[3] == after[3] or (len(str(before[1])) == before[3] and len(str(after[1])) == after[3])
    return before[0] == after[0] and before[2] == after[2] and before[1] + 1 == after[1] and same_width


def fold(names: Sequence[str]) -> str:
    """Write a list of names, in its order, as patterns joined by commas; `unfold` gives the same list back."""
    parts: list[str] = []
    for run in runs(names):
        if len(run) == 1:
            parts.append(run[0])
            continue
        prefix, first, suffix, width = split(run[0])  # type: ignore[misc]
        last = split(run[-1])[1]  # type: ignore[index]
        parts.append(f"{prefix}[{first:0{width}d}-{last:0{width}d}]{suffix}")
    return ",".join(parts)


_PATTERN = re.compile(r"([^,\[\]]*)(?:\[(\d+)-(\d+)\]([^,\[\]]*))?\Z")


def unfold(text: str) -> tuple[str, ...]:
    """Names of what `fold` wrote. ValueError for anything else."""
    names: list[str] = []
    for part in text.split(","):
        match = _PATTERN.match(part)
        if match is None or not part:
            raise ValueError(f"{text!r} is no name list; write it as p1-l[0-7]")
        prefix, low, high, suffix = match.groups()
        if low is None:
            names.append(prefix)
            continue
        if int(high) < int(low) or int(high) - int(low) > 100_000:
            raise ValueError(f"{part!r} is no range")
        width = len(low)
        names.extend(f"{prefix}{number:0{width}d}{suffix}" for number in range(int(low), int(high) + 1))
    return tuple(names)


def joined(runs: Iterable[Run], continues: Callable[[Run, Run], bool], add: Callable[[Run, Run], Run]) -> list[Run]:
    """Runs in their order, each that continues the one before it added to that one."""
    found: list[Run] = []
    for run in runs:
        if found and continues(found[-1], run):
            found[-1] = add(found[-1], run)
        else:
            found.append(run)
    return found
