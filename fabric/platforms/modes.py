"""Breakout mode strings of platform.json, kept verbatim: `2x400G[200G]`, `4x100G[50G](4)`, `2x200G(4)+1x400G(4)`.

Grammar as SONiC's own config engine reads it (sonic-buildimage, src/sonic-config-engine/portconfig.py): parts
joined by `+`; each part is COUNTxSPEED, other speeds in brackets, lanes used by the part in parentheses (all lanes
of the port when absent). Some vendors put a space after the comma.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from fabric.errors import PlatformError

_PART = re.compile(r"(\d{1,6})x(\d{1,6})(G?)(?:\[((?:\s*\d{1,6}G?\s*,?)*)\])?(?:\((\d{1,6})\))?")


@dataclass(frozen=True, slots=True)
class ModePart:
    """One part of a mode: `count` ports of `speed_mbps`, or of one of `other_speeds`, on `lanes` lanes (0 = all)."""

    count: int
    speed_mbps: int
    other_speeds: tuple[int, ...]
    lanes: int


@lru_cache(maxsize=4096)
def parse_mode(text: str) -> tuple[ModePart, ...]:
    """Parts of a breakout mode string. PlatformError when it is not one; the string itself is never rewritten."""
    parts = []
    for piece in text.split("+"):
        match = _PART.fullmatch(piece.strip())
        if match is None:
            raise PlatformError(f"breakout mode {text!r} is not of the form 2x400G[200G](8); check platform.json")
        count, speed, unit, others, lanes = match.groups()
        if int(count) == 0:
            raise PlatformError(f"breakout mode {text!r} makes no port; check platform.json")
        parts.append(
            ModePart(
                count=int(count),
                speed_mbps=_mbps(speed, unit),
                other_speeds=tuple(
                    _mbps(item.strip().rstrip("G"), "G" if item.strip().endswith("G") else "")
                    for item in (others or "").split(",")
                    if item.strip()
                ),
                lanes=int(lanes or 0),
            )
        )
    return tuple(parts)


def port_count(text: str) -> int:
    """How many logical ports a mode makes of one cage."""
    return sum(part.count for part in parse_mode(text))


def _mbps(number: str, unit: str) -> int:
    return int(number) * 1000 if unit else int(number)
