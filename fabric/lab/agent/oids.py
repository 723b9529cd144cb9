"""SAI object ids of one switch, in the form syncd gives them: a type in the high bits, a number in the low ones."""

from __future__ import annotations

SWITCH = "oid:0x21000000000000"
ROUTER = "oid:0x3000000000002"
CPU_PORT = "oid:0x1000000000001"
_PORT, _NEXT_HOP, _GROUP, _INTERFACE, _PRIORITY_GROUP, _QUEUE, _MEMBER = 0x1, 0x4, 0x5, 0x6, 0x1A, 0x15, 0x2D


class Oids:
    """Gives the same id for the same name as long as the switch's daemons run."""

    def __init__(self) -> None:
        self._next = 0x10
        self._known: dict[tuple[int, object], str] = {}

    def forget(self) -> None:
        """Start anew, as syncd does."""
        self._known.clear()

    def port(self, name: str) -> str:
        """A port."""
        return self._of(_PORT, name)

    def interface(self, name: str) -> str:
        """The router interface of a port."""
        return self._of(_INTERFACE, name)

    def next_hop(self, hop: tuple[str, str]) -> str:
        """A next hop: (interface, address)."""
        return self._of(_NEXT_HOP, hop)

    def group(self, hops: frozenset[tuple[str, str, int]]) -> str:
        """A next-hop group, by the (device, gateway, weight) of its members."""
        return self._of(_GROUP, hops)

    def member(self, group: str, hop: tuple[str, str]) -> str:
        """A member of a group."""
        return self._of(_MEMBER, (group, hop))

    def queue(self, port: str, index: int) -> str:
        """An egress queue."""
        return self._of(_QUEUE, (port, index))

    def priority_group(self, port: str, index: int) -> str:
        """An ingress priority group."""
        return self._of(_PRIORITY_GROUP, (port, index))

    def _of(self, kind: int, name: object) -> str:
        known = self._known.get((kind, name))
        if known is None:
            self._next += 1
            known = self._known[kind, name] = f"oid:{(kind << 48) | self._next:#x}"
        return known
