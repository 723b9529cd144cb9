"""Life-cycle states of the intent, laid over switches, hosts, links and ports.

A link is planned when an end is, out of service when an end or itself is, installed when an end is. Planned and
out-of-service links are shut on the switch: what is not meant to carry traffic does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fabric.errors import InputError, Problem
from fabric.intent.shapes import StateEntry
from fabric.model.fabric import Fabric, HostGroup
from fabric.values.plan import HostPlan, LifeState, Outage, PlannedCable, SwitchPlan


class Stated(NamedTuple):
    """A state and, where it is out of service, why."""

    state: LifeState
    outage: Outage | None = None


_SINGULAR = {"switches": "switch", "nodes": "node", "cables": "cable", "ports": "port", "optics": "optic at"}
_IN_SERVICE = Stated(LifeState.IN_SERVICE)
_ORDER = (LifeState.PLANNED, LifeState.OUT_OF_SERVICE, LifeState.INSTALLED, LifeState.IN_SERVICE)


class States:
    """States by object. A later entry of the intent wins over an earlier one, a narrow selector over a pod's."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.switches: dict[str, Stated] = {}
        self.nodes: dict[str, Stated] = {}
        self.pods: dict[int, Stated] = {}
        self.cables: dict[str, Stated] = {}
        self.ports: dict[tuple[str, str], Stated] = {}
        self.racks: dict[str, Stated] = {}
        self._asked: list[tuple[int, str, str]] = []
        for number, shape in fabric.pods.items():
            if shape.state is not LifeState.IN_SERVICE:
                self.pods[number] = Stated(shape.state)
        for index, entry in enumerate(fabric.intent.states):
            self._add(index, entry)

    def _add(self, index: int, entry: StateEntry) -> None:
        state = LifeState(entry.state)
        outage = None
        if state is LifeState.OUT_OF_SERVICE:
            outage = Outage(entry.reason or "", entry.owner or "", entry.until)
        stated = Stated(state, outage)
        for name in entry.switches or ():
            self.switches[name] = stated
            self._asked.append((index, "switches", name))
        for name in entry.nodes or ():
            self.nodes[name] = stated
            self._asked.append((index, "nodes", name))
        for pod in entry.pods or ():
            self.pods[pod] = stated
        for rack in entry.racks or ():
            self.racks[rack] = stated
        for cable in entry.cables or ():
            ends = cable.split("--")
            sorted_name = "--".join(sorted(ends, key=lambda end: tuple(end.split(":"))))
            self.cables[sorted_name] = stated
            self._asked.append((index, "cables", sorted_name))
        for key in ("ports", "optics"):
            for port in getattr(entry, key) or ():
                device, _, name = port.partition(":")
                self.ports[device, name] = stated
                self._asked.append((index, key, port))

    def switch(self, name: str) -> Stated:
        """State of a switch: its own, its rack's, its pod's."""
        found = self.switches.get(name)
        if found is not None:
            return found
        if self.racks:
            rack = self.fabric.lengths.rack(name)
            if rack in self.racks:
                return self.racks[rack]
        pod = self.fabric.switches[name].pod
        return self.pods.get(pod, _IN_SERVICE) if pod is not None else _IN_SERVICE

    def host(self, name: str, group: HostGroup) -> Stated:
        """State of a host: its own, planned in reserve, its rack's, its pod's."""
        found = self.nodes.get(name)
        if found is not None:
            return found
        if group.reserve:
            return Stated(LifeState.PLANNED)
        if self.racks:
            rack = self.fabric.lengths.rack(name)
            if rack in self.racks:
                return self.racks[rack]
        return self.pods.get(group.pod, _IN_SERVICE)

    def plain_host(self, name: str) -> Stated:
        """State of a host outside of pods."""
        rack = self.fabric.lengths.rack(name)
        return self.nodes.get(name) or (self.racks.get(rack) if rack is not None else None) or _IN_SERVICE

    def link(self, cable: str, a: str, a_port: str, b: str, b_port: str) -> Stated:
        """State of a switch-to-switch link."""
        ends = [self.switch(a), self.switch(b)]
        if self.cables:
            ends.append(self.cables.get(cable, _IN_SERVICE))
        if self.ports:
            ends += [self.ports.get((a, a_port), _IN_SERVICE), self.ports.get((b, b_port), _IN_SERVICE)]
        return _least(ends)

    def host_link(self, cable: str | None, leaf: str, port: str, state: LifeState, outage: Outage | None) -> Stated:
        """State of a link from a leaf to a host in `state`."""
        ends = [self.switch(leaf), Stated(state, outage)]
        if self.cables and cable is not None:
            ends.append(self.cables.get(cable, _IN_SERVICE))
        if self.ports:
            ends.append(self.ports.get((leaf, port), _IN_SERVICE))
        return _least(ends)

    def finish(
        self, switches: Mapping[str, SwitchPlan], hosts: Mapping[str, HostPlan], cables: Mapping[str, PlannedCable]
    ) -> None:
        """InputError for states of objects that do not exist."""
        problems: list[Problem] = []
        for index, kind, name in self._asked:
            device, _, port = name.partition(":")
            known = {
                "switches": name in switches,
                "nodes": name in hosts,
                "cables": name in cables,
                "ports": device in switches and port in switches[device].ports,
                "optics": device in switches and port in switches[device].ports,
            }[kind]
            if not known:
                problems.append(
                    self.fabric.file.problem(
                        ("states", index, kind),
                        f"there is no {_SINGULAR[kind]} {name}",
                        "correct the name, or remove it",
                    )
                )
        if problems:
            raise InputError(problems)


def _least(ends: list[Stated]) -> Stated:
    return min(ends, key=lambda stated: _ORDER.index(stated.state))
