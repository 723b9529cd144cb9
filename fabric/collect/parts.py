"""Parts of a switch's state that can be asked for one by one, and the SwitchState fields each gives."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from fabric.errors import InputError, Problem


class Part(StrEnum):
    """What `--only` selects. Identity (release, platform, uptime, clock) is always asked: it costs next to nothing."""

    PORTS = "ports"
    LLDP = "lldp"
    BGP = "bgp"
    RIB = "rib"
    APPL = "appl"
    ASIC = "asic"
    KERNEL = "kernel"
    NEIGHBOURS = "neighbours"
    FDB = "fdb"
    OPTICS = "optics"
    COUNTERS = "counters"
    QUEUES = "queues"
    WATERMARKS = "watermarks"
    CONFIG = "config"
    FRR = "frr"
    BFD = "bfd"
    CRM = "crm"


# Fields of SwitchState that are None with a Hole when the part was asked for and could not be had.
FIELDS: dict[Part, tuple[str, ...]] = {
    Part.PORTS: ("ports", "errors_by_port", "switch"),
    Part.LLDP: ("lldp",),
    Part.BGP: ("bgp",),
    Part.RIB: ("rib",),
    Part.APPL: ("appl",),
    Part.ASIC: ("asic",),
    Part.KERNEL: ("kernel",),
    Part.NEIGHBOURS: ("neighbours",),
    Part.FDB: ("fdb",),
    Part.OPTICS: ("optics",),
    Part.COUNTERS: ("counters", "rates"),
    Part.QUEUES: ("queues", "pgs"),
    Part.WATERMARKS: ("watermarks",),
    Part.CONFIG: ("config",),
    Part.FRR: ("frr",),
    Part.BFD: (),
    Part.CRM: ("crm",),
}

# BFD is asked only when wanted: the stock container of our routing mode starts no bfdd.
DEFAULT_PARTS: frozenset[Part] = frozenset(Part) - {Part.BFD}

# Names of checks, so that `--only` takes the same words as `railfab check`.
_GROUPS: dict[str, frozenset[Part]] = {
    "cabling": frozenset({Part.PORTS, Part.LLDP, Part.FDB, Part.NEIGHBOURS}),
    "links": frozenset({Part.PORTS, Part.OPTICS, Part.COUNTERS}),
    "ecmp": frozenset({Part.PORTS, Part.RIB, Part.KERNEL, Part.APPL, Part.ASIC, Part.CRM, Part.NEIGHBOURS, Part.FDB}),
    "roce": frozenset({Part.PORTS, Part.COUNTERS, Part.QUEUES, Part.WATERMARKS, Part.CONFIG}),
    "all": DEFAULT_PARTS,
}


def parse_parts(words: Iterable[str]) -> frozenset[Part]:
    """Parts named by words, commas allowed: part names or check names. InputError lists what is known."""
    found: set[Part] = set()
    for word in (piece.strip().lower() for text in words for piece in text.split(",")):
        if not word:
            continue
        if word in _GROUPS:
            found |= _GROUPS[word]
        elif word in list(Part):
            found.add(Part(word))
        else:
            known = ", ".join([*_GROUPS, *(part.value for part in Part)])
            raise InputError(Problem(f"{word!r} is no part of a switch's state", f"one of {known}"))
    return frozenset(found) or DEFAULT_PARTS
