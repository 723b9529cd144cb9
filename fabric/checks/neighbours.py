"""Who is the neighbour? One LLDP row to (device, port), with the grade of the evidence.

SONiC sends its alias as port id (subtype local) and its name as description; hosts send what their lldpd or NIC
firmware was told to (facts sonic 6). Nothing is guessed: what cannot be resolved says so.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from fabric.values.finding import Confidence
from fabric.values.plan import Plan
from fabric.values.snapshot import LldpNeighbour, Snapshot

# Names that every box has before somebody gave it one.
_NAMELESS = frozenset({"", "sonic", "localhost", "localhost.localdomain", "(none)", "n/a"})


@dataclass(frozen=True, slots=True)
class Seen:
    """What one row says. `device` None: nobody of the Plan; `port` None: the device's port could not be read."""

    row: LldpNeighbour
    device: str | None = None
    port: str | None = None
    grade: Confidence = Confidence.CERTAIN
    note: str = ""

    @property
    def words(self) -> str:
        """Who it is, as the row says it, and as the Plan calls it where that differs."""
        who = self.row.system_name or self.row.chassis_id or "a nameless neighbour"
        port = self.row.port_id or self.row.port_description or "no port id"
        if self.device is not None and self.port is not None and self.port != port:
            return f"{self.device} {self.port} ({port})"
        return f"{who} {port}"


class Neighbours:
    """Index of every name, alias and MAC by which a device or port of the Plan may present itself."""

    def __init__(self, plan: Plan, snapshot: Snapshot) -> None:
        self._plan = plan
        self._snapshot = snapshot
        self._names = {name.lower(): name for name in (*plan.switches, *plan.hosts)}
        self._labels: dict[str, list[str]] = defaultdict(list)
        for lower, name in self._names.items():
            if "." in lower:
                self._labels[lower.split(".", 1)[0]].append(name)
        self._chassis: dict[str, str] = {}
        self._nic_macs: dict[str, tuple[str, str]] = {}
        self._ports: dict[str, dict[str, str]] = {}
        self._index_macs()

    def resolve(self, row: LldpNeighbour) -> Seen:
        """The device and port that sent `row`."""
        by_mac = self._nic_macs.get(row.port_id.lower()) or self._nic_macs.get(row.chassis_id.lower())
        device, grade, note = self._device(row)
        if device is None:
            if by_mac is not None:
                return Seen(row, *by_mac, Confidence.LIKELY, "known by its MAC only")
            return Seen(row)
        if device in self._plan.hosts and by_mac is not None and row.port_id.lower() in self._nic_macs:
            if by_mac[0] != device:
                return Seen(row, *by_mac, Confidence.LIKELY, f"calls itself {device}, but the MAC is of {by_mac[0]}")
            return Seen(row, device, by_mac[1], grade, note)
        ports = self.ports_of(device)
        port = ports.get(row.port_id.strip().lower()) if row.port_id else None
        if port is None and row.port_description:
            port = ports.get(row.port_description.strip().lower())
            if port is None:
                first = row.port_description.replace("|", " ").split(" ", 1)[0].lower()
                port = ports.get(first)
            # lldpd's default on Linux: the MAC as port id, the interface name as description (facts sonic 6.2).
            plain = device in self._plan.hosts and row.port_subtype == "mac"
            if port is not None and row.port_id and not plain:
                grade = weaker(grade, Confidence.LIKELY)
                note = note or "port known by its description"
        return Seen(row, device, port, grade, note)

    def device_named(self, name: str) -> tuple[str | None, str]:
        """The device of the Plan that `name` means, and a note where the match is not literal.

        A full name wins; then domains are taken off from the right, longest rest first; a bare short name matches
        a dotted name of the Plan only when it is unique (F039).
        """
        lower = name.strip().rstrip(".").lower()
        if lower in _NAMELESS:
            return None, ""
        found = self._names.get(lower)
        if found is not None:
            return found, ""
        rest = lower
        while "." in rest:
            rest = rest.rsplit(".", 1)[0]
            found = self._names.get(rest)
            if found is not None:
                return found, ""
        if "." not in lower:
            owners = self._labels.get(lower, [])
            if len(owners) == 1:
                return owners[0], f"the short name {name} is taken for {owners[0]}"
        return None, ""

    def ports_of(self, device: str) -> dict[str, str]:
        """Every spelling (lower case) of a device's ports -> the Plan's name of the port."""
        known = self._ports.get(device)
        if known is None:
            known = self._switch_ports(device) if device in self._plan.switches else self._host_ports(device)
            self._ports[device] = known
        return known

    def _device(self, row: LldpNeighbour) -> tuple[str | None, Confidence, str]:
        named, note = self.device_named(row.system_name)
        owner = self._chassis.get(row.chassis_id.lower()) if row.chassis_id else None
        if named is None:
            return owner, Confidence.LIKELY, "known by its chassis id only" if owner else ""
        if owner is not None and owner != named and named in self._plan.switches:
            return owner, Confidence.LIKELY, f"calls itself {named}, but the chassis id is of {owner}"
        return named, Confidence.LIKELY if note else Confidence.CERTAIN, note

    def _switch_ports(self, device: str) -> dict[str, str]:
        known: dict[str, str] = {}
        for port in self._plan.switches[device].ports.values():
            known[port.alias.strip().lower()] = port.name
        live = self._snapshot.switches.get(device)
        if live is not None and live.ports is not None:
            # The SKU that the switch really loaded may spell aliases in another way (F047).
            for state in live.ports.values():
                if state.alias:
                    known[state.alias.strip().lower()] = state.name
        for name in self._plan.switches[device].ports:
            known[name.lower()] = name
        known.pop("", None)
        return known

    def _host_ports(self, device: str) -> dict[str, str]:
        known: dict[str, str] = {}
        for nic in self._plan.hosts[device].nics.values():
            for spelling in (nic.name, nic.netdev, nic.hca, nic.mac):
                if spelling:
                    known[spelling.strip().lower()] = nic.name
        live = self._snapshot.hosts.get(device)
        for name, state in ((live.nics or {}) if live is not None else {}).items():
            planned = state.nic or name
            if planned in self._plan.hosts[device].nics:
                for spelling in (state.netdev, state.hca, state.mac):
                    if spelling:
                        known.setdefault(spelling.strip().lower(), planned)
        return known

    def _index_macs(self) -> None:
        twice = set()
        for name, state in self._snapshot.switches.items():
            for mac in {(state.chassis_id or "").lower(), (state.base_mac or "").lower()} - {""}:
                if self._chassis.setdefault(mac, name) != name:
                    twice.add(mac)
        for name, switch in self._plan.switches.items():
            if switch.base_mac:
                self._chassis.setdefault(switch.base_mac.lower(), name)
        for mac in twice:
            del self._chassis[mac]
        for host in self._plan.hosts.values():
            for nic in host.nics.values():
                if nic.mac:
                    self._nic_macs[nic.mac.lower()] = (host.name, nic.name)
        for live in self._snapshot.hosts.values():
            planned = self._plan.hosts.get(live.host)
            for key, seen in (live.nics or {}).items():
                nic_name = seen.nic or key
                if planned is not None and seen.mac and nic_name in planned.nics:
                    self._nic_macs.setdefault(seen.mac.lower(), (live.host, nic_name))


_GRADES = [Confidence.CERTAIN, Confidence.LIKELY, Confidence.WEAK]


def weaker(*grades: Confidence) -> Confidence:
    """The weakest of several grades of evidence."""
    return max(grades, key=_GRADES.index)
