"""Times as people write them on a command line."""

from __future__ import annotations

import re

from fabric.errors import InputError, Problem

_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str) -> float:
    """`60s`, `5m`, `1h`, `2d` or a bare number of seconds, more than none. InputError for anything else."""
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,6})?)\s*(ms|[smhd]?)\s*", text, re.ASCII)
    if match is None or float(match[1]) <= 0:
        raise InputError(Problem(f"{text!r} is no time", "write 60s, 5m, 1h or 2d"))
    return float(match[1]) * _UNITS[match[2]]
