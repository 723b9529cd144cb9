"""Pools: an index, given once, is an address for ever. Pools are appended, never changed."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from socket import AF_INET6, inet_ntop

from fabric.errors import AllocationError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def text4(value: int) -> str:
    """Dotted text of an IPv4 address."""
    return f"{value >> 24}.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}"


def text6(value: int) -> str:
    """Text of an IPv6 address, RFC 5952."""
    return inet_ntop(AF_INET6, value.to_bytes(16, "big"))


@dataclass(frozen=True, slots=True)
class Pool:
    """Prefixes cut into units of `length`, counted through in the order given."""

    what: str
    prefixes: tuple[Network, ...]
    length: int
    _starts: tuple[tuple[int, int, int], ...] = field(repr=False)

    @classmethod
    def of(cls, what: str, prefixes: Sequence[str], length: int) -> Pool:
        """A pool of units of `length` bits. AllocationError when a prefix is smaller than one unit."""
        networks = tuple(ipaddress.ip_network(prefix) for prefix in prefixes)
        starts: list[tuple[int, int, int]] = []
        first = 0
        for network in networks:
            if network.prefixlen > length:
                raise AllocationError(f"{what}: {network} is smaller than one /{length}; give a larger prefix")
            size = 1 << (length - network.prefixlen)
            starts.append((first, first + size, int(network.network_address)))
            first += size
        return cls(what, networks, length, tuple(starts))

    @property
    def size(self) -> int:
        """Units of the whole pool."""
        return self._starts[-1][1] if self._starts else 0

    def base(self, index: int) -> int:
        """Number of the first address of a unit. AllocationError when the pool is exhausted."""
        for first, end, start in self._starts:
            if index < end:
                bits = self.prefixes[0].max_prefixlen
                return start + ((index - first) << (bits - self.length))
        listed = ", ".join(str(prefix) for prefix in self.prefixes)
        raise AllocationError(
            f"pool {self.what} ({listed}) is exhausted: it holds {self.size} x /{self.length}, number {index + 1} is "
            f"needed; append a further prefix to it (never change one that is in use)"
        )

    def index(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> int | None:
        """Number of the unit an address lies in, None when it is outside of the pool."""
        value = int(address)
        for network, (first, _, start) in zip(self.prefixes, self._starts, strict=True):
            if address.version == network.version and address in network:
                return first + ((value - start) >> (network.max_prefixlen - self.length))
        return None


def check_disjoint(pools: Sequence[tuple[str, Sequence[str]]]) -> None:
    """AllocationError naming every two prefixes that overlap."""
    spans: list[tuple[int, int, int, str, str]] = []
    for what, prefixes in pools:
        for prefix in prefixes:
            network = ipaddress.ip_network(prefix)
            spans.append(
                (network.version, int(network.network_address), int(network.broadcast_address), what, str(network))
            )
    spans.sort()
    wrong: list[str] = []
    reach: tuple[int, int, int, str, str] | None = None
    for span in spans:
        if reach is not None and reach[0] == span[0] and span[1] <= reach[2]:
            wrong.append(f"{span[3]} {span[4]} overlaps {reach[3]} {reach[4]}")
        if reach is None or reach[0] != span[0] or span[2] > reach[2]:
            reach = span
    if wrong:
        raise AllocationError("\n".join(f"{one}; give each its own prefix" for one in wrong))
