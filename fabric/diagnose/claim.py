"""A claim: a finding together with what it touches, so that claims about one thing can be told as one story."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from fabric.values.finding import Finding

# One end of a cable: device and port (a switch port or a NIC name).
End = tuple[str, str]


class Cause(IntEnum):
    """What kind of trouble a claim is, the deepest cause first: an earlier one may explain a later one."""

    DEVICE_DOWN = 0
    CABLING_WRONG = 1
    MODULE = 2
    LINK_MISMATCH = 3
    LINK_DOWN = 4
    RESTART = 5
    FLAP = 6
    MTU = 7
    BGP_DEVICE = 8
    BGP_SESSION = 9
    ROUTE_LOST = 10
    NEIGHBOUR = 11
    ECMP = 12
    OVERLOAD = 13
    QOS_CONFIG = 14
    STORM = 15
    SIGNAL = 16
    OPTICS = 17
    CONGESTION = 18
    BALANCE = 19
    COVERAGE = 20
    NO_ROUTING_DATA = 21
    CABLING_DARK = 22
    LIFE = 23


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding and its reach.

    `cables` and `devices` are what it speaks about: it is explained by another only when all of its cables are.
    `blamed` are devices whose own trouble of cause ROUTE_LOST explains this one (a leaf misses a route because the
    spine has none).
    """

    cause: Cause
    finding: Finding
    cables: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    blamed: frozenset[str] = field(default=frozenset())
