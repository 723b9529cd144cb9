"""Ports of a switch counted through: slot s of a speed is the s-th port its cages make at that speed.

On a 64 x 800G box slot 3 of 400G is the second half of the second cage. A cage has one breakout mode, so slots of
different speeds exclude each other cage by cage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from fabric.errors import PlatformError
from fabric.platforms import Platform, PortSpec


@dataclass(frozen=True, slots=True)
class Slot:
    """One port at one speed: number of its cage, the cage's first port, the mode string, and the port."""

    cage: int
    parent: str
    mode: str
    port: PortSpec


def slots_of(platform: Platform, speed_mbps: int) -> tuple[Slot, ...]:
    """Every port of `platform` at a speed, in cage order. PlatformError when it has none, listing its modes."""
    return _slots(platform.key, speed_mbps, _Held(platform))


class _Held:
    """Hands a platform through the cache without being compared."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.platform is self.platform

    def __hash__(self) -> int:
        return id(self.platform)


@lru_cache(maxsize=256)
def _slots(_key: str, speed_mbps: int, held: _Held) -> tuple[Slot, ...]:
    platform = held.platform
    able = {cage.first_port for cage in platform.cages_for(speed_mbps)}
    found: list[Slot] = []
    for number, cage in enumerate(platform.cages):
        if cage.first_port not in able:
            continue
        mode = platform.mode_for(speed_mbps, cage.first_port)
        found.extend(
            Slot(number, cage.first_port, mode, port) for port in platform.children(cage.first_port, mode, speed_mbps)
        )
    if not found:
        platform.mode_for(speed_mbps)  # says which modes exist
        raise PlatformError(f"{platform.key}: no port of {speed_mbps // 1000}G")
    return tuple(found)


@dataclass(slots=True)
class Occupied:
    """Which slots of one switch are taken. `cages` maps a cage to its speed, `taken` holds (speed, slot)."""

    cages: dict[int, int] = field(default_factory=dict)
    taken: set[tuple[int, int]] = field(default_factory=set)

    def free(self, slot: Slot, number: int, speed_mbps: int) -> bool:
        """Whether a slot can still be used at this speed."""
        return self.cages.get(slot.cage, speed_mbps) == speed_mbps and (speed_mbps, number) not in self.taken

    def take(self, slot: Slot, number: int, speed_mbps: int) -> None:
        """Use a slot."""
        self.cages[slot.cage] = speed_mbps
        self.taken.add((speed_mbps, number))
