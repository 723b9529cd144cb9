"""A prefix that a switch does not take from one neighbour: an inbound filter on that session, which stays up.

As somebody types it on a switch: FRR's own `vtysh`, nothing of it in a file, so that a bgp container that starts anew
has it no more. One prefix list a session holds every prefix that is refused there.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass

from fabric.errors import LabError
from fabric.lab._wires import inside

# Behind every refused prefix: what the list does not name is taken.
_LAST = 4294967295
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class _Session:
    """A session of a switch as its configuration names it (an address, or a port), and the family of a prefix."""

    pid: int
    neighbour: str
    six: bool

    @property
    def ip(self) -> str:
        return "ipv6" if self.six else "ip"

    @property
    def family(self) -> str:
        return "ipv6" if self.six else "ipv4"

    @property
    def name(self) -> str:
        return f"TWIN_REFUSES_{self.neighbour}"

    @property
    def attached(self) -> str:
        return f"neighbor {self.neighbour} prefix-list {self.name} in"

    def entries(self) -> dict[int, str]:
        """What the list refuses now: sequence number -> prefix."""
        found = re.findall(
            rf"^{self.ip} prefix-list {re.escape(self.name)} seq (\d+) deny (\S+)$", _running(self.pid), re.MULTILINE
        )
        return {int(number): prefix for number, prefix in found}

    def again(self) -> None:
        """Have the neighbour send all it has once more (route refresh); the session stays as it is."""
        _vtysh(self.pid, f"clear bgp {self.family} unicast {self.neighbour} soft in")

    def settle(self, prefix: str, hop: str, *, there: bool) -> None:
        """Wait a little until the path has gone (or come back): who looks now sees one state of it, not two."""
        until = time.monotonic() + _PATIENCE_S
        while (hop in _paths(self.pid, self.family, prefix)) is not there and time.monotonic() < until:
            time.sleep(0.1)


def refuse(device: str, pid: int, prefix: str, hop: str) -> str:
    """Refuse `prefix` from the neighbour that sends it with next hop `hop`; the neighbour, for `take`.

    LabError when the switch has no such path; then nothing was changed.
    """
    session = _Session(pid, _neighbour(device, pid, prefix, hop), ":" in prefix)
    number = max(session.entries(), default=0) + 5
    lines = [f"{session.ip} prefix-list {session.name} seq {number} deny {prefix}"]
    anything = "::/0 le 128" if session.six else "0.0.0.0/0 le 32"
    lines += [f"{session.ip} prefix-list {session.name} seq {_LAST} permit {anything}"]
    lines += ["router bgp", f"address-family {session.family} unicast", session.attached]
    _vtysh(pid, "configure terminal", *lines)
    session.again()
    session.settle(prefix, hop, there=False)
    return session.neighbour


def take(pid: int, prefix: str, hop: str, neighbour: str) -> None:
    """Take the prefix again, whatever somebody, or a bgp container that started anew, has taken away since then."""
    session = _Session(pid, neighbour, ":" in prefix)
    entries = session.entries()
    running = _running(pid)
    lines = [
        f"no {session.ip} prefix-list {session.name} seq {number} deny {prefix}"
        for number, refused in entries.items()
        if refused == prefix
    ]
    if set(entries.values()) <= {prefix}:
        lines = [f"no {session.ip} prefix-list {session.name}"] if f"prefix-list {session.name} seq" in running else []
        if session.attached in running:
            # First from the session: FRR takes nothing through a list that is not there.
            context = ("router bgp", f"address-family {session.family} unicast", f"no {session.attached}", "end")
            lines = [*context, "configure terminal", *lines]
    if not lines:
        return
    _vtysh(pid, "configure terminal", *lines)
    session.again()
    session.settle(prefix, hop, there=True)


def _neighbour(device: str, pid: int, prefix: str, hop: str) -> str:
    """The session a path came over, by its next hop."""
    family = "ipv6" if ":" in prefix else "ipv4"
    found = _paths(pid, family, prefix).get(hop)
    if found:
        return found
    raise LabError(f"{device}: BGP has no path to {prefix} with next hop {hop}; `show bgp {family} unicast` lists them")


def _paths(pid: int, family: str, prefix: str) -> dict[str, str]:
    """Next hop of each path BGP has to a prefix -> the session it came over.

    Unnumbered, parallel links to one switch have one next hop; then the port says which is meant.
    """
    said = _vtysh(pid, f"show bgp {family} unicast {prefix} json")
    try:
        paths = json.loads(said or "{}").get("paths", [])
    except ValueError:
        return {}
    found: dict[str, str] = {}
    for path in paths:
        peer = path.get("peer", {})
        session: str = peer.get("interface") or peer.get("peerId", "")
        found[session] = session
        for one in path.get("nexthops", ()):
            found.setdefault(one.get("ip", ""), session)
    return found


def _running(pid: int) -> str:
    return _vtysh(pid, "show running-config")


def _vtysh(pid: int, *lines: str) -> str:
    return inside(pid, ["vtysh", *(word for line in lines for word in ("-c", line))])
