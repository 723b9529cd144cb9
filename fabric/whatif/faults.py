"""Faults a synthetic fabric can have: plain descriptions, applied together by `synthetic`.

A place is one end of a cable: a switch port (`Place("p1-l0", "Ethernet0")`) or a NIC (`Place("gpu001", "rail3")`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric.errors import InputError, Problem
from fabric.values.finding import Place


def place(text: str) -> Place:
    """`DEV:PORT` as a Place; InputError when it is not of that form."""
    device, colon, port = text.partition(":")
    if not (device and colon and port):
        raise InputError(Problem(f"{text!r} is not DEV:PORT", "write for example p1-l0:Ethernet0"))
    return Place(device, port)


@dataclass(frozen=True, slots=True)
class Swap:
    """The plugs planned for `a` and `b` are exchanged."""

    a: Place
    b: Place


@dataclass(frozen=True, slots=True)
class Replug:
    """The plug planned for each key sits in its value. Must be a permutation of places (cycles, shifts, racks)."""

    into: Mapping[Place, Place]


@dataclass(frozen=True, slots=True)
class Cut:
    """The cable whose plug is planned for `at` carries nothing: both ends lose carrier."""

    at: Place


@dataclass(frozen=True, slots=True)
class Flap:
    """The link at `at` went down and came up `times` times; last down at `when` (default: 10 s ago)."""

    at: Place
    times: int = 1
    when: float | None = None


@dataclass(frozen=True, slots=True)
class AdminDown:
    """The port was shut by hand."""

    at: Place


@dataclass(frozen=True, slots=True)
class Unplugged:
    """The transceiver of the switch port is missing; the link is down."""

    at: Place


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of the port differs from the plan: `mtu`, `speed_mbps`, `oper_speed_mbps`, `fec`, `oper_fec`, `lanes`,
    `alias`... A speed or FEC of a link whose ends differ takes the link down."""

    at: Place
    field: str
    value: int | str | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class NoLldp:
    """No LLDP frame passes the cable at `at`, in either direction."""

    at: Place


@dataclass(frozen=True, slots=True)
class NoLldpSeen:
    """Only the row of the port itself is missing; the far end still sees it."""

    at: Place


@dataclass(frozen=True, slots=True)
class LldpRow:
    """Fields of the neighbour row at `at` differ (LldpNeighbour's names): FQDN, firmware agent, bond names, stale rows.

    `extra` adds a second row beside the right one instead of replacing it.
    """

    at: Place
    fields: Mapping[str, object] = field(default_factory=dict)
    extra: bool = False


@dataclass(frozen=True, slots=True)
class LoseNextHop:
    """`device` misses the next hop `address` of `prefix` in one layer: rib, kernel, appl or asic."""

    device: str
    prefix: str
    address: str
    layer: str


@dataclass(frozen=True, slots=True)
class LoseRoute:
    """`device` misses the whole route in one layer."""

    device: str
    prefix: str
    layer: str


@dataclass(frozen=True, slots=True)
class StaleGroups:
    """The kernel keeps one member of every next hop group after a flap (lab facts 6.3)."""

    device: str


@dataclass(frozen=True, slots=True)
class BgpdDown:
    """bgpd of the switch is dead: its sessions are down at both ends, its BGP routes are gone."""

    device: str


@dataclass(frozen=True, slots=True)
class SessionDown:
    """The session over the port is down though the link is up (wrong ASN, filter, admin down)."""

    at: Place
    state: str = "Active"
    admin: bool = False


@dataclass(frozen=True, slots=True)
class Dead:
    """The device has no power: nothing from it, carrier lost at all its neighbours."""

    device: str


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Only management is gone: the device forwards, but we have nothing from it."""

    device: str
    reason: str = "no answer in 20 s"


@dataclass(frozen=True, slots=True)
class Rebooted:
    """The switch restarted at `when` (default: 300 s ago) and is healthy again."""

    device: str
    when: float | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """A part of a device's data was not collected."""

    device: str
    part: str
    reason: str = "timed out after 10 s"


@dataclass(frozen=True, slots=True)
class BitErrors:
    """The receiver at `at` sees errors: pre-FEC BER, and uncorrectable codewords a second since `since_s` ago."""

    at: Place
    pre_fec_ber: float
    uncorrectable_per_s: float = 0.0
    since_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class Counter:
    """A raw counter of a place is `value` more than it should be. `where` is counters, queues or pgs.

    `key` is the traffic class or priority group for queues and pgs.
    """

    at: Place
    where: str
    field: str
    value: int
    key: int | None = None


@dataclass(frozen=True, slots=True)
class PfcStorm:
    """The port receives pause for `priority` without end; its watchdog has seen it."""

    at: Place
    priority: int


@dataclass(frozen=True, slots=True)
class Sensor:
    """A sensor of the port's module reads `value`; `flag` is latched when given."""

    at: Place
    name: str
    value: float
    flag: str | None = None


Fault = (
    Swap
    | Replug
    | Cut
    | Flap
    | AdminDown
    | Unplugged
    | Setting
    | NoLldp
    | NoLldpSeen
    | LldpRow
    | LoseNextHop
    | LoseRoute
    | StaleGroups
    | BgpdDown
    | SessionDown
    | Dead
    | Unreachable
    | Rebooted
    | Missing
    | BitErrors
    | Counter
    | PfcStorm
    | Sensor
)
