"""Natural order: Ethernet4 before Ethernet10, p1-l2 before p1-l10."""

from __future__ import annotations

import functools
import re

_PARTS = re.compile(r"(\d+)")


@functools.lru_cache(maxsize=1 << 16)
def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key under which numbers inside a name compare as numbers."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in _PARTS.split(name) if part)
