"""Cables: veth pairs laid straight between two nodes' namespaces, and what becomes of them when one is pulled.

A port's MAC belongs to the port, not to the cable. A pulled cable leaves both ports in place without carrier: each
then ends in a stub that stays down in the lab's own namespace, as a port with nothing plugged in.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence

from fabric.errors import LabError
from fabric.lab.blueprint import Blueprint, NicBox, Wire

End = tuple[str, str]


class Patchbay:
    """The cabling as it is now. `pids` are the init processes of the nodes, as seen from the lab."""

    def __init__(self, blueprint: Blueprint, pids: Mapping[str, int]) -> None:
        self._blueprint = blueprint
        self._pids = pids
        self._far: dict[End, End] = {}
        self._rails: dict[frozenset[End], int | None] = {}
        self._pulled: set[End] = set()
        self._stubs = 0
        for wire in blueprint.wires:
            a, b = (wire.a_device, wire.a_port), (wire.b_device, wire.b_port)
            self._far[a], self._far[b] = b, a
            self._rails[frozenset((a, b))] = wire.rail

    def lay_all(self) -> None:
        """Create every cable, and the management network."""
        lines = [
            f"link add name {a[1]} {self._at(a)} type veth peer name {b[1]} {self._at(b)}" for a, b in self._pairs()
        ]
        lines += [
            "link set lo up",
            "link add br-mgmt type bridge",
            f"addr add {self._blueprint.bridge} dev br-mgmt",
            "link set br-mgmt up",
        ]
        managed = {s.name: s.mac for s in self._blueprint.switches.values()}
        managed |= {h.name: None for h in self._blueprint.hosts.values() if h.mgmt}  # type: ignore[misc]
        for number, (name, mac) in enumerate(managed.items()):
            address = f"address {mac} " if mac else ""
            lines.append(f"link add m{number} type veth peer name eth0 {address}netns {self._pids[name]}")
            lines.append(f"link set m{number} master br-mgmt up")
        ip_batch(lines)

    def cables(self) -> list[Wire]:
        """Cables that are plugged in at both ends, ends sorted."""
        found = []
        for a, b in self._pairs():
            if a not in self._pulled:
                low, high = sorted((a, b))
                found.append(Wire(*low, *high, self._rail(a, b)))
        return found

    def far(self, end: End) -> End | None:
        """The port at the other end of the cable in `end`, pulled or not; None when no cable is there."""
        return self._far.get(end)

    def known(self, end: End) -> bool:
        """Whether this end has a cable in the blueprint."""
        return end in self._far

    def pulled(self, end: End) -> bool:
        """Whether the cable in `end` is pulled."""
        return end in self._pulled

    def unplug_two(self, first: End, second: End) -> list[End]:
        """Pull the cables in two ports, to be plugged in crosswise by `cross`. Returns the ends that went dark."""
        if self._far.get(first) == second:
            raise LabError("these two ports are the ends of one cable; there is nothing to swap")
        for end in (first, second):
            if end in self._pulled:
                raise LabError(f"{end[0]}:{end[1]} has its cable cut; undo that first")
        return [*self.pull(first), *self.pull(second)]

    def cross(self, first: End, second: End) -> list[End]:
        """Plug the two cables that `unplug_two` pulled in again, each into the other's port."""
        far_first, far_second = self._far[first], self._far[second]
        ends = [first, second, far_first, far_second]
        for end in ends:
            self._delete(end)
        self._pulled.difference_update(ends)
        for a, b in ((first, far_second), (second, far_first)):
            self._far[a], self._far[b] = b, a
            self._lay(a, b)
        return ends

    def pull(self, end: End) -> list[End]:
        """Pull a cable: both its ports lose carrier, whatever their admin state is."""
        if end in self._pulled:
            raise LabError(f"the cable in {end[0]}:{end[1]} is cut already")
        ends = [end, self._far[end]]
        self._delete(end)
        lines = []
        for one in ends:
            self._stubs += 1
            lines.append(f"link add name {one[1]} {self._at(one)} type veth peer name x{self._stubs}")
        ip_batch(lines)
        self._pulled.update(ends)
        return ends

    def plug(self, end: End) -> list[End]:
        """Plug a pulled cable in again."""
        if end not in self._pulled:
            raise LabError(f"the cable in {end[0]}:{end[1]} is not cut")
        ends = [end, self._far[end]]
        for one in ends:
            self._delete(one)
        self._pulled.difference_update(ends)
        self._lay(*ends)
        return ends

    def mac(self, end: End) -> str:
        """MAC of a port: all ports of a switch have the switch's, as on SONiC; a NIC has its own."""
        switch = self._blueprint.switches.get(end[0])
        return switch.mac if switch else self._blueprint.hosts[end[0]].nics[end[1]].mac

    def _pairs(self) -> Iterable[tuple[End, End]]:
        return ((a, b) for a, b in self._far.items() if a < b)

    def _rail(self, a: End, b: End) -> int | None:
        if (known := frozenset((a, b))) in self._rails:
            return self._rails[known]
        # A swapped host cable: a NIC's rail is that of the cable it had first.
        for pair, rail in self._rails.items():
            if rail is not None and any(end in pair and end[0] in self._blueprint.hosts for end in (a, b)):
                return rail
        return None

    def _at(self, end: End) -> str:
        return f"address {self.mac(end)} numtxqueues 1 numrxqueues 1 netns {self._pids[end[0]]}"

    def _lay(self, a: End, b: End) -> None:
        ip_batch([f"link add name {a[1]} {self._at(a)} type veth peer name {b[1]} {self._at(b)}"])

    def _delete(self, end: End) -> None:
        inside(self._pids[end[0]], ["ip", "link", "del", end[1]], only_net=True)


def nic_batch(nic: NicBox, gateway_mac: str | None) -> str:
    """`ip -batch` lines that bring a rail NIC up as its host's network files say.

    Neighbours are permanent because the kernel's neighbour table is shared by all namespaces of a machine and holds
    1,024 entries.
    """
    settings = nic.settings
    lines = [f"link set {nic.name} {f'mtu {settings.mtu} ' if settings.mtu else ''}up"]
    for address in settings.addresses:
        lines.append(f"addr replace {address} dev {nic.name}" + (" nodad" if ":" in address else ""))
    for gateway in dict.fromkeys(route.via for route in settings.routes) if gateway_mac else ():
        lines.append(f"neigh replace {gateway} lladdr {gateway_mac} dev {nic.name} nud permanent")
    for route in settings.routes:
        table = f" table {route.table}" if route.table else ""
        lines.append(f"{_family(route.to)}route replace {route.to} via {route.via} dev {nic.name}{table}")
    for rule in settings.rules:
        lines.append(f"{_family(rule.source)}rule del pref {rule.priority}")
        lines.append(f"{_family(rule.source)}rule add from {rule.source} lookup {rule.table} pref {rule.priority}")
    return "\n".join(lines) + "\n"


def _family(prefix: str) -> str:
    return "-6 " if ":" in prefix else ""


def ip_batch(lines: Sequence[str]) -> None:
    """Run `ip -batch` in the lab's own namespace. LabError with what ip says."""
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"the kernel refused a link of the twin: {done.stderr.strip() or done.stdout.strip()}")


def inside(pid: int, command: Sequence[str], *, only_net: bool = False, text: str | None = None) -> str:
    """Run a command in a node and return its stdout. LabError with its stderr when it fails."""
    where = ["-n"] if only_net else ["-m", "-n", "-u", "-i", "-p"]
    done = subprocess.run(
        ["nsenter", "-t", str(pid), *where, "--", *command], input=text, capture_output=True, text=True
    )
    if done.returncode:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip() or done.returncode}")
    return done.stdout
