"""Which ports of each switch are taken while numbers are given: where hosts and uplinks begin, what is free."""

from __future__ import annotations

from collections.abc import Sequence

from fabric.allocate.slots import Occupied, slots_of
from fabric.model.fabric import Fabric
from fabric.values.plan import Role


class Front:
    """The front panels of all switches of a fabric, filled as slots are taken."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self._occupied: dict[str, Occupied] = {}

    def host_start(self, leaf: str, speed: int, pod: int) -> int:
        """First slot for hosts on a leaf: the first of the box, or where hosts begin when they are last."""
        platform = self.fabric.platform_of(leaf)
        end = platform.hosts_end or self.fabric.intent.compute.leaf.hosts
        if end == "first":
            return 0
        slots = slots_of(platform, speed)
        return max(0, len(slots) - self.fabric.pods[pod].places * self.fabric.ports_per_place)

    def uplink_start(self, switch: str, speed: int, count: int) -> int:
        """First slot for uplinks: a leaf's after its host places (or first when hosts are last), else the last ones."""
        node = self.fabric.switches[switch]
        platform = self.fabric.platform_of(switch)
        slots = slots_of(platform, speed)
        if node.role is not Role.LEAF or node.pod is None:
            return max(0, len(slots) - count)
        end = platform.hosts_end or self.fabric.intent.compute.leaf.hosts
        if end == "last":
            return 0
        places = self.fabric.pods[node.pod].places * self.fabric.ports_per_place
        hosts = slots_of(platform, self._widest(node.pod))
        cage = hosts[places - 1].cage + 1 if places <= len(hosts) else len(platform.cages)
        return next((number for number, slot in enumerate(slots) if slot.cage >= cage), len(slots))

    def _widest(self, pod: int) -> int:
        """The fastest host speed of a pod: the one its places take most cages with."""
        speeds = [
            spot.speed_mbps
            for group in self.fabric.hosts
            if group.pod == pod
            for spot in self.fabric.spots[group.host_class][:1]
        ]
        return max(speeds, default=max(spots[0].speed_mbps for spots in self.fabric.spots.values()))

    def _taken(self, switch: str) -> Occupied:
        """What is taken on a switch, from the ledger on first use."""
        return self._occupied.setdefault(switch, Occupied())

    def take(self, switch: str, speed: int, first: int, count: int) -> None:
        """Use `count` slots of a speed from `first` on; slots the box does not have are left out."""
        slots = slots_of(self.fabric.platform_of(switch), speed)
        taken = self._taken(switch)
        for number in range(first, min(first + count, len(slots))):
            taken.take(slots[number], number, speed)

    def room(self, switch: str, speed: int, start: int) -> int:
        """Slots from `start` that are still free on a switch."""
        taken = self._taken(switch)
        slots = slots_of(self.fabric.platform_of(switch), speed)
        return sum(taken.free(slots[number], number, speed) for number in range(start, len(slots)))

    def free(self, switches: Sequence[str], speed: int, count: int, start: int) -> int | None:
        """The first run of `count` slots from `start` that is free on every one of these switches."""
        tables = [(slots_of(self.fabric.platform_of(name), speed), self._taken(name)) for name in switches]
        size = min(len(slots) for slots, _ in tables)
        distinct = list({(id(slots), _state(taken)): (slots, taken) for slots, taken in tables}.values())
        first = start
        while first + count <= size:
            blocked = next(
                (
                    number
                    for number in range(first + count - 1, first - 1, -1)
                    if not all(taken.free(slots[number], number, speed) for slots, taken in distinct)
                ),
                None,
            )
            if blocked is None:
                return first
            first = blocked + 1
        return None


def _state(taken: Occupied) -> int:
    """Equal for switches whose slots are taken alike, so that a check of 64 equal leaves is one check."""
    return hash((frozenset(taken.taken), frozenset(taken.cages.items())))
