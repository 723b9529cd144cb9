"""rtnetlink of one namespace: links, addresses, neighbours; and the routes zebra sends over FPM, which look the same.

Only the attributes the agent needs are read. Layouts: linux/rtnetlink.h, if_link.h, if_addr.h, neighbour.h.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from fabric.lab import _kernel

RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK = 16, 17, 18
RTM_NEWADDR, RTM_DELADDR, RTM_GETADDR = 20, 21, 22
RTM_NEWROUTE, RTM_DELROUTE = 24, 25
RTM_NEWNEIGH, RTM_DELNEIGH, RTM_GETNEIGH = 28, 29, 30

_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_REQUEST, _ACK, _DUMP, _REPLACE, _CREATE, _EXCL = 1, 4, 0x300, 0x100, 0x400, 0x200
_GROUPS = 1 | 4 | 0x10 | 0x100  # link, neighbour, IPv4 and IPv6 addresses
_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_ADDR = struct.Struct("=BBBBI")
_NEIGH = struct.Struct("=BxxxiHBB")
_ROUTE = struct.Struct("=BBBBBBBBI")
_ATTR = struct.Struct("=HH")
_SKIP_STATS = 8

IFF_UP, IFF_RUNNING, IFF_LOWER_UP = 1, 0x40, 0x10000
NUD_PERMANENT, NUD_VALID = 0x80, 0x80 | 0x40 | 0x02 | 0x10 | 0x08 | 0x04
_AF_BYTES = {socket.AF_INET: 4, socket.AF_INET6: 16}


@dataclass(slots=True)
class Link:
    """A network interface. `changes` counts carrier losses and returns since it exists; `stats` are the 64-bit
    counters (packets in, out, bytes in, out, errors in, out, drops in, out) when they were asked for."""

    index: int
    name: str
    flags: int
    mtu: int
    mac: str = ""
    peer_index: int = 0
    peer_nsid: int | None = None
    changes: int = 0
    stats: tuple[int, ...] | None = None

    @property
    def up(self) -> bool:
        """Whether frames can pass: set up, and there is a carrier."""
        return bool(self.flags & IFF_UP and self.flags & IFF_RUNNING and self.flags & IFF_LOWER_UP)


@dataclass(slots=True)
class Route:
    """A route as zebra programs it. `hops` are (gateway or None, interface index, weight)."""

    prefix: str
    protocol: int
    kind: int
    table: int
    hops: list[tuple[str | None, int, int]] = field(default_factory=list)


class NetlinkError(OSError):
    """The kernel refused a request."""


class Netlink:
    """Sockets into one network namespace: `events` to listen on, and requests answered at once."""

    def __init__(self, namespace: str) -> None:
        here = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        there = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _kernel.setns(there, _kernel.CLONE_NEWNET)
            try:
                self.events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
                self._ask = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
                self.fpm = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            finally:
                _kernel.setns(here, _kernel.CLONE_NEWNET)
        finally:
            os.close(here)
            os.close(there)
        self.events.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.events.bind((0, _GROUPS))
        self.events.setblocking(False)
        self._ask.bind((0, 0))
        self._ask.settimeout(5)
        self._sequence = 0
        self._queue_length = 1000

    def close(self) -> None:
        """Close every socket."""
        for one in (self.events, self._ask, self.fpm):
            one.close()

    def read_events(self) -> Iterator[tuple[int, memoryview]]:
        """Messages that have come in: type and body. OSError(ENOBUFS) when some were lost: then dump again."""
        while True:
            try:
                data = self.events.recv(1 << 16)
            except BlockingIOError:
                return
            yield from messages(data)

    def links(self, stats: bool = False) -> list[Link]:
        """All interfaces; with counters when `stats`."""
        body = _LINK.pack(0, 0, 0, 0, 0) + (b"" if stats else _attr(29, struct.pack("=I", _SKIP_STATS)))
        return [
            link for kind, data in self._dump(RTM_GETLINK, body) if kind == RTM_NEWLINK and (link := read_link(data))
        ]

    def peer_mac(self, link: Link) -> str | None:
        """MAC of the other end of a veth, which stands in another namespace; None when it cannot be seen."""
        if not link.peer_index or link.peer_nsid is None:
            return None
        body = _LINK.pack(0, 0, link.peer_index, 0, 0) + _attr(46, struct.pack("=i", link.peer_nsid))
        try:
            for kind, data in self._request(RTM_GETLINK, body, 0):
                if kind == RTM_NEWLINK and (peer := read_link(data)):
                    return peer.mac
        except NetlinkError:
            return None
        return None

    def addresses(self) -> list[tuple[int, str]]:
        """(interface index, address with prefix length); link-local ones are left out."""
        found = []
        for kind, data in self._dump(RTM_GETADDR, _ADDR.pack(0, 0, 0, 0, 0)):
            if kind == RTM_NEWADDR and (seen := read_address(data)):
                found.append(seen)
        return found

    def neighbours(self) -> list[tuple[int, str, str, int]]:
        """(interface index, address, MAC, state)."""
        found = []
        for kind, data in self._dump(RTM_GETNEIGH, _NEIGH.pack(0, 0, 0, 0, 0)):
            if kind == RTM_NEWNEIGH and (seen := read_neighbour(data)):
                found.append(seen)
        return found

    def set_link(self, index: int, up: bool | None = None, mtu: int | None = None) -> None:
        """Change admin state and MTU of an interface."""
        flags = IFF_UP if up else 0
        change = IFF_UP if up is not None else 0
        body = _LINK.pack(0, 0, index, flags, change)
        if mtu is not None:
            body += _attr(4, struct.pack("=I", mtu))
        self._request(RTM_NEWLINK, body, _ACK)

    def announce(self, index: int) -> None:
        """Have the kernel tell every listener about an interface again, by a change nobody minds (queue length)."""
        self._queue_length ^= 1
        self._request(
            RTM_NEWLINK, _LINK.pack(0, 0, index, 0, 0) + _attr(13, struct.pack("=I", self._queue_length)), _ACK
        )

    def add_link(self, name: str, kind: str) -> None:
        """Create a software interface."""
        info = _attr(18, _attr(1, kind.encode()))
        self._request(
            RTM_NEWLINK, _LINK.pack(0, 0, 0, 0, 0) + _attr(3, name.encode() + b"\0") + info, _ACK | _CREATE | _EXCL
        )

    def set_address(self, index: int, address: str, present: bool) -> None:
        """Add or remove an address with prefix length."""
        interface = ipaddress.ip_interface(address)
        packed = interface.ip.packed
        family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
        body = _ADDR.pack(family, interface.network.prefixlen, 0x02 if len(packed) == 16 else 0, 0, index)
        body += _attr(2, packed) + _attr(1, packed)
        try:
            self._request(RTM_NEWADDR if present else RTM_DELADDR, body, _ACK | (_CREATE | _REPLACE if present else 0))
        except NetlinkError as error:
            if error.errno not in (errno.EEXIST, errno.EADDRNOTAVAIL):
                raise

    def set_neighbour(self, index: int, address: str, mac: str) -> None:
        """Put a permanent neighbour in place."""
        packed = ipaddress.ip_address(address).packed
        family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
        body = _NEIGH.pack(family, index, NUD_PERMANENT, 0, 0)
        body += _attr(1, packed) + _attr(2, bytes.fromhex(mac.replace(":", "")))
        self._request(RTM_NEWNEIGH, body, _ACK | _CREATE | _REPLACE)

    def _dump(self, kind: int, body: bytes) -> list[tuple[int, memoryview]]:
        return self._request(kind, body, _DUMP)

    def _request(self, kind: int, body: bytes, flags: int) -> list[tuple[int, memoryview]]:
        self._sequence += 1
        self._ask.send(_HEADER.pack(_HEADER.size + len(body), kind, flags | _REQUEST, self._sequence, 0) + body)
        found: list[tuple[int, memoryview]] = []
        while True:
            for seen, data, sequence in _messages(self._ask.recv(1 << 18)):
                if sequence != self._sequence:
                    continue  # an answer to a request that timed out
                if seen == _NLMSG_ERROR:
                    code = -struct.unpack_from("=i", data)[0]
                    if code:
                        raise NetlinkError(code, os.strerror(code))
                    return found
                if seen == _NLMSG_DONE:
                    return found
                found.append((seen, data))
                if not flags & (_DUMP | _ACK):
                    return found


def messages(data: bytes) -> Iterator[tuple[int, memoryview]]:
    """Split a datagram into messages: type and body."""
    for kind, body, _ in _messages(data):
        yield kind, body


def _messages(data: bytes) -> Iterator[tuple[int, memoryview, int]]:
    view, place = memoryview(data), 0
    while place + _HEADER.size <= len(view):
        length, kind, _, sequence, _ = _HEADER.unpack_from(view, place)
        if length < _HEADER.size:
            return
        yield kind, view[place + _HEADER.size : place + length], sequence
        place += (length + 3) & ~3


def attributes(view: memoryview, start: int) -> Iterator[tuple[int, memoryview]]:
    """Attributes from `start` on: number (flags stripped) and payload."""
    place = start
    while place + 4 <= len(view):
        length, kind = _ATTR.unpack_from(view, place)
        if length < 4:
            return
        yield kind & 0x3FFF, view[place + 4 : place + length]
        place += (length + 3) & ~3


def read_link(view: memoryview) -> Link | None:
    """A Link from the body of RTM_NEWLINK or RTM_DELLINK."""
    _, _, index, flags, _ = _LINK.unpack_from(view)
    link = Link(index, "", flags, 0)
    for kind, data in attributes(view, _LINK.size):
        if kind == 3:
            link.name = bytes(data[:-1]).decode()
        elif kind == 4:
            link.mtu = int.from_bytes(data, "little")
        elif kind == 1 and len(data) == 6:
            link.mac = ":".join(f"{byte:02x}" for byte in data)
        elif kind == 5:
            link.peer_index = int.from_bytes(data, "little")
        elif kind == 37:
            link.peer_nsid = int.from_bytes(data, "little", signed=True)
        elif kind == 35:
            link.changes = int.from_bytes(data, "little")
        elif kind == 23:
            link.stats = struct.unpack_from("=8Q", data)
    return link if link.name else None


def read_address(view: memoryview) -> tuple[int, str] | None:
    """(interface index, address with prefix length), None for link-local ones."""
    family, length, _, scope, index = _ADDR.unpack_from(view)
    if scope == 253 or family not in _AF_BYTES:
        return None
    found: dict[int, memoryview] = dict(attributes(view, _ADDR.size))
    packed = found.get(2, found.get(1))
    return (index, f"{ipaddress.ip_address(bytes(packed))}/{length}") if packed is not None else None


def read_neighbour(view: memoryview) -> tuple[int, str, str, int] | None:
    """(interface index, address, MAC, state)."""
    family, index, state, _, _ = _NEIGH.unpack_from(view)
    if family not in _AF_BYTES:
        return None
    found = dict(attributes(view, _NEIGH.size))
    if 1 not in found:
        return None
    mac = ":".join(f"{byte:02x}" for byte in found[2]) if 2 in found else ""
    return index, str(ipaddress.ip_address(bytes(found[1]))), mac, state


def read_route(view: memoryview) -> Route | None:
    """A Route from the body of RTM_NEWROUTE or RTM_DELROUTE."""
    family, length, _, _, table, protocol, _, kind, _ = _ROUTE.unpack_from(view)
    size = _AF_BYTES.get(family)
    if size is None:
        return None
    packed, gateway, device = bytes(size), None, 0
    hops: list[tuple[str | None, int, int]] = []
    for attribute, data in attributes(view, _ROUTE.size):
        if attribute == 1:
            packed = bytes(data)
        elif attribute == 4:
            device = int.from_bytes(data, "little")
        elif attribute == 5:
            gateway = str(ipaddress.ip_address(bytes(data)))
        elif attribute == 18:  # RTA_VIA: a gateway of the other family
            gateway = str(ipaddress.ip_address(bytes(data[2:])))
        elif attribute == 15:
            table = int.from_bytes(data, "little")
        elif attribute == 9:
            hops = list(_multipath(data))
    if not hops and (device or gateway):
        hops = [(gateway, device, 1)]
    return Route(f"{ipaddress.ip_address(packed)}/{length}", protocol, kind, table, hops)


def _multipath(view: memoryview) -> Iterator[tuple[str | None, int, int]]:
    place = 0
    while place + 8 <= len(view):
        length, _, weight, index = struct.unpack_from("=HBBi", view, place)
        if length < 8:
            return
        gateway = None
        for kind, data in attributes(view[place : place + length], 8):
            if kind == 5:
                gateway = str(ipaddress.ip_address(bytes(data)))
            elif kind == 18:
                gateway = str(ipaddress.ip_address(bytes(data[2:])))
        yield gateway, index, weight + 1
        place += (length + 3) & ~3


def _attr(kind: int, payload: bytes) -> bytes:
    length = 4 + len(payload)
    return _ATTR.pack(length, kind) + payload + bytes(-length % 4)
