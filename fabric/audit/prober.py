"""Runs on a host: TTL-limited UDP probes with a sweep of source ports; the *switches* answer with ICMP.

Standard library only and one file, so that it can be sent to a host as it is: `python3 - JOB < prober.py`. It needs
raw sockets (root, or CAP_NET_RAW). JOB is one JSON argument:

    {"flights": [{"id": "...", "source": "10.101.0.1", "target": "10.101.1.1", "device": "rail0", "ttls": [1, 2, 3],
                  "ports": [49152, 49407]}],
     "target_port": 4791, "tos": 0, "per_second": 300, "wait_s": 1.0, "tries": 2}

`ports` is the first and the last source port of the sweep. It prints one JSON object:

    {"schema": "railfab.probe-answers/1", "sent": N, "lost": [[flight, source port, ttl], ...],
     "answers": [[flight, source port, ttl, address, milliseconds, "transit" | "reached" | "refused"], ...]}

Why like this: no socket is bound to the source port and none receives port 4791 (a NIC with RDMA takes those packets
before the kernel does), so a probe is built as a raw datagram; the answer quotes our IP identification and source
port, which name the probe. A router's answers are limited by its control-plane policer, so probes are paced and a
lost answer is asked for again (`tries`), and even then means "cannot tell", never "lost on the wire" by itself.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
import time
from typing import Any, Dict, Tuple

# The far side may have an old Python: these are evaluated there, so they are spelled the old way.
_Flying = Dict[Tuple[int, int], Tuple[int, float]]  # (identification, source port) -> (ttl, sent at)
_Found = Dict[Tuple[str, int, int], Tuple[str, float, str]]  # (flight, source port, ttl) -> answer

# ICMP types and codes: RFC 792 (time exceeded in transit; destination unreachable, port).
_TIME_EXCEEDED = 11
_UNREACHABLE = 3
_PORT_UNREACHABLE = 3
_SO_BINDTODEVICE = 25


def datagram(source: str, target: str, source_port: int, target_port: int, ttl: int, tos: int, ident: int) -> bytes:
    """An IPv4 UDP datagram of 46 bytes with 18 bytes of payload; the kernel fills the IP header checksum."""
    payload = b"railfab path probe"
    length = 8 + len(payload)
    head = struct.pack(
        "!BBHHHBBH4s4s",
        0x45,
        tos,
        20 + length,
        ident,
        0x4000,
        ttl,
        socket.IPPROTO_UDP,
        0,
        socket.inet_aton(source),
        socket.inet_aton(target),
    )
    # A UDP checksum of 0 means "none" over IPv4 (RFC 768); RoCEv2 itself sends 0.
    return head + struct.pack("!HHHH", source_port, target_port, length, 0) + payload


def quoted(packet: bytes) -> tuple[str, int, int, int, int, int] | None:
    """(who answered, ICMP type, code, quoted IP identification, quoted source port, quoted target port), or None."""
    if len(packet) < 20:
        return None
    outer = (packet[0] & 0x0F) * 4
    if len(packet) < outer + 8 + 20:
        return None
    kind, code = packet[outer], packet[outer + 1]
    inner = packet[outer + 8 :]
    inner_head = (inner[0] & 0x0F) * 4
    if len(inner) < inner_head + 4 or inner[9] != socket.IPPROTO_UDP:
        return None
    ident = struct.unpack_from("!H", inner, 4)[0]
    source_port, target_port = struct.unpack_from("!HH", inner, inner_head)
    return socket.inet_ntoa(packet[12:16]), kind, code, ident, source_port, target_port


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Send every probe of `job`, gather answers, ask again for what is missing; return the answer document."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    receiver.setblocking(False)
    target_port = int(job.get("target_port", 4791))
    tos = int(job.get("tos", 0))
    gap = 1.0 / max(1.0, float(job.get("per_second", 300)))
    wait_s = float(job.get("wait_s", 1.0))
    tries = max(1, int(job.get("tries", 2)))
    answers: _Found = {}
    sent = 0
    ident = 0
    for flight in job["flights"]:
        ports = range(flight["ports"][0], flight["ports"][1] + 1)
        sender = _sender(flight)
        wanted = [(port, ttl) for port in ports for ttl in flight["ttls"]]
        for _ in range(tries):
            flying: _Flying = {}
            due = time.monotonic()
            for port, ttl in wanted:
                ident = ident % 65535 + 1
                while True:
                    _receive(receiver, max(0.0, due - time.monotonic()), flying, answers, flight["id"], target_port)
                    if time.monotonic() >= due:
                        break
                due += gap
                flying[(ident, port)] = (ttl, time.monotonic())
                packet = datagram(flight["source"], flight["target"], port, target_port, ttl, tos, ident)
                try:
                    sender.sendto(packet, (flight["target"], 0))
                except OSError:
                    # No route or link down here: no answer will come, and the judge says so.
                    continue
                sent += 1
            until = time.monotonic() + wait_s
            while flying and time.monotonic() < until:
                _receive(receiver, until - time.monotonic(), flying, answers, flight["id"], target_port)
            wanted = [(port, ttl) for port, ttl in wanted if (flight["id"], port, ttl) not in answers]
            if not wanted:
                break
        sender.close()
    lost = [
        [flight["id"], port, ttl]
        for flight in job["flights"]
        for port in range(flight["ports"][0], flight["ports"][1] + 1)
        for ttl in flight["ttls"]
        if (flight["id"], port, ttl) not in answers
    ]
    return {
        "schema": "railfab.probe-answers/1",
        "sent": sent,
        "answers": [[*key, *value] for key, value in sorted(answers.items())],
        "lost": lost,
    }


def _sender(flight: dict[str, Any]) -> socket.socket:
    """Bound to the rail's own address, because the host's rules choose a rail's routes by it (`from ADDRESS table`)."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)
    sender.bind((flight["source"], 0))
    if flight.get("device"):
        sender.setsockopt(socket.SOL_SOCKET, _SO_BINDTODEVICE, flight["device"].encode() + b"\0")
    return sender


def _receive(
    receiver: socket.socket, timeout: float, flying: _Flying, answers: _Found, flight: str, target_port: int
) -> None:
    if not select.select([receiver], [], [], timeout)[0]:
        return
    while True:
        try:
            packet = receiver.recv(2048)
        except BlockingIOError:
            return
        now = time.monotonic()
        seen = quoted(packet)
        if seen is None or seen[5] != target_port:
            continue
        address, kind, code, ident, port, _ = seen
        probe = flying.pop((ident, port), None)
        if probe is None:
            continue
        if kind == _TIME_EXCEEDED:
            word = "transit"
        elif kind == _UNREACHABLE:
            word = "reached" if code == _PORT_UNREACHABLE else "refused"
        else:
            continue
        answers[(flight, port, probe[0])] = (address, round((now - probe[1]) * 1000, 3), word)


def main(arguments: list[str]) -> int:
    """`python3 - JOB`: exit 0 with the answers, 2 when the job or the rights are wrong."""
    try:
        job = json.loads(arguments[0])
        if not isinstance(job, dict):
            raise TypeError("the job is not an object")
        result = run(job)
    except PermissionError:
        sys.stderr.write("prober: raw sockets need root or CAP_NET_RAW\n")
        return 2
    except (IndexError, KeyError, TypeError, ValueError, OSError) as error:
        sys.stderr.write(f"prober: {type(error).__name__}: {error}\n")
        return 2
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
