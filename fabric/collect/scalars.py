"""SONiC's spellings of numbers, booleans and times, and text that is safe to show."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache

# Module power registers count 0.1 uW (CMIS): "-inf" means at or below this.
DARK_DBM = -40.0
_TEXT_LIMIT = 512
_STRANGE = "\N{REPLACEMENT CHARACTER}"
_ABSENT = frozenset({"", "n/a", "na", "none", "null", "unknown", "not specified"})


def absent(value: str | None) -> bool:
    """Whether SONiC said "I do not know"."""
    return value is None or value.strip().lower() in _ABSENT


def integer(value: str | None) -> int | None:
    """A whole number as SONiC writes it: `1,234`, `100000`, `1.0`. None when it is none."""
    if value is None or len(value) > 40:
        return None
    if value.isdigit() and value.isascii():
        return int(value)
    if absent(value):
        return None
    text = value.strip().replace(",", "")
    if re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        return int(text)
    found = number(text)
    return int(found) if found is not None and found.is_integer() and abs(found) < 2**64 else None


def number(value: str | None) -> float | None:
    """A finite number, unit after it allowed (`48.5 C`, `2.e9`). None when it is none; `-inf` is none."""
    if value is None or absent(value) or len(value) > 64:
        return None
    match = re.match(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", value.replace(",", ""), re.ASCII)
    if match is None:
        return None
    found = float(match.group(1))
    return found if math.isfinite(found) else None


def speed_mbps(value: str | None) -> int | None:
    """A speed: `400000`, `400G`, `25000`. Mb/s."""
    if value is None or absent(value):
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([GMk]?)(?:bps|b/s)?\s*", value.strip(), re.ASCII | re.IGNORECASE)
    if match is None or len(match.group(1)) > 12:
        return None
    factor = {"g": 1000.0, "k": 0.001}.get(match.group(2).lower(), 1.0)
    return round(float(match.group(1)) * factor)


def up(value: str | None) -> bool | None:
    """`up`/`down` and their kin; None for anything else."""
    text = (value or "").strip().lower()
    if text in ("up", "true", "on", "enabled"):
        return True
    if text in ("down", "false", "off", "disabled"):
        return False
    return None


def utc_time(value: str | None) -> float | None:
    """`Sat Jan 18 00:08:42 2025` or `2025-01-17 19:51:12` (UTC, as SONiC writes them) as seconds since 1970."""
    if value is None or absent(value):
        return None
    text = " ".join(value.replace(" UTC", "").split())
    for form in ("%a %b %d %H:%M:%S %Y", "%b %d %H:%M:%S %Y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    # The name of the day may contradict the date (it does in SONiC's own samples): the date counts.
    day, _, rest = text.partition(" ")
    if day.isalpha() and len(day) == 3:
        try:
            return datetime.strptime(rest, "%b %d %H:%M:%S %Y").replace(tzinfo=UTC).timestamp()
        except ValueError:
            return None
    return None


def clean(value: object) -> str:
    """Text from the wire made safe for a terminal and a report: one line, no control characters, at most 512 long."""
    if value is None:
        return ""
    return _clean((value if isinstance(value, str) else str(value))[:_TEXT_LIMIT])


# Names of ports, addresses and words of state come thousands of times.
@lru_cache(1 << 14)
def _clean(text: str) -> str:
    text = text.strip()
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else _STRANGE for char in text)
