"""The last frame of an LLDP agent that stops: time to live zero, so that the far end forgets it at once (IEEE 802.1AB).

lldpd sends it only when the whole daemon ends; a fault on one port needs it for that port.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Mapping
from typing import Any

from fabric.lab import _kernel

_TO = bytes.fromhex("0180c200000e")
_ETHERTYPE = 0x88CC
_CHASSIS = {"mac": 4, "local": 7}
_PORT = {"ifalias": 1, "mac": 3, "ifname": 5, "local": 7}


def goodbye(interface: Mapping[str, Any], source: str) -> bytes:
    """The frame for one entry of `lldpcli -f json0 show interfaces`; `source` is the port's MAC."""
    chassis, port = interface["chassis"][0]["id"][0], interface["port"][0]["id"][0]
    body = _tlv(1, bytes([_CHASSIS[chassis["type"]]]) + _value(chassis)) + _tlv(
        2, bytes([_PORT[port["type"]]]) + _value(port)
    )
    body += _tlv(3, b"\0\0") + _tlv(0, b"")
    frame = _TO + bytes.fromhex(source.replace(":", "")) + struct.pack(">H", _ETHERTYPE) + body
    return frame.ljust(60, b"\0")


def send(pid: int, port: str, frame: bytes) -> None:
    """Send a frame out of a port in the network namespace of a process."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _kernel.setns(there, _kernel.CLONE_NEWNET)
        try:
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
                out.bind((port, _ETHERTYPE))
                out.send(frame)
        finally:
            _kernel.setns(here, _kernel.CLONE_NEWNET)
    finally:
        os.close(here)
        os.close(there)


def _value(identity: Mapping[str, str]) -> bytes:
    value = identity["value"]
    return bytes.fromhex(value.replace(":", "")) if identity["type"] == "mac" else value.encode()


def _tlv(kind: int, value: bytes) -> bytes:
    return struct.pack(">H", kind << 9 | len(value)) + value
