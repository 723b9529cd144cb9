"""Faults that can be put into a twin and taken out again.

Each acts where the real one would: on cables, on processes, on a switch's configuration; the two that stand for a
failing ASIC or orchagent act in the agent's chain from FPM to ASIC_DB.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabric.errors import LabError
from fabric.lab import _inbound, _lldpdu
from fabric.lab._house import pattern as pattern_of
from fabric.lab._wires import End, Patchbay, inside
from fabric.lab.blueprint import Blueprint

# Longer than the kernel's pause between two carrier announcements of one link (1 s): no change goes unseen.
# A person needs longer to move a plug; lldpd forgets a neighbour when it sees the port dark, and looks each second.
_REPLUG_S = 3.0
_DWELL_S = 1.2
# While it is there, the bgp container leaves out the line that keeps FRR 8.4 from kernel next-hop groups.
_GROUPS = "/run/box/nexthop-groups"
LAYERS = ("rib", "kernel", "appl", "asic")


@dataclass(frozen=True, slots=True)
class _Order:
    """The words of a fault after its kind; whether it is to be undone, and what putting it in had returned."""

    words: list[str]
    undo: bool
    before: Any


class Faults:
    """The faults of one twin. `address` brings a host's NIC up again after its link was made anew."""

    def __init__(
        self,
        blueprint: Blueprint,
        bay: Patchbay,
        pids: Mapping[str, int],
        address: Callable[[str, str], None],
        agent: Callable[[dict[str, Any]], Any],
        keep: Callable[[list[str]], None],
    ) -> None:
        self._blueprint, self._bay, self._pids = blueprint, bay, pids
        self._address, self._agent, self._keep = address, agent, keep
        self._there: dict[str, Any] = {}

    def listed(self) -> list[str]:
        """The faults that are in, in the order they came."""
        return list(self._there)

    def do(self, kind: str, arguments: Sequence[str], undo: bool) -> dict[str, Any]:
        """Put a fault in or take it out. LabError when that is not possible; then nothing was changed."""
        work = {
            "swap": self._swap,
            "cut": self._cut,
            "flap": self._flap,
            "nexthop": self._nexthop,
            "bgpd": self._bgpd,
            "lldp": self._lldp,
            "mtu": self._mtu,
            "nhg": self._nhg,
        }.get(kind)
        if work is None:
            raise LabError(f"no fault {kind!r}")
        # What undoes a fault is found by what it is about: `mtu P 1500` is undone by `mtu P` with any number.
        about = list(arguments[:1]) if kind in ("mtu", "flap") else list(arguments)
        name = " ".join((kind, *(sorted(about) if kind == "swap" else about)))
        if undo and name not in self._there:
            raise LabError(f"{name}: this fault is not in; in are: {', '.join(self._there) or 'none'}")
        if not undo and name in self._there and kind != "flap":
            raise LabError(f"{name}: this fault is in already; take it out with --undo")
        done = work(_Order(list(arguments), undo, self._there.get(name)))
        if undo:
            del self._there[name]
        else:
            self._there[name] = done
        self._keep(self.listed())
        return {"fault": name, "in": not undo}

    def _swap(self, order: _Order) -> None:
        first, second = self._cable_end(order.words[0]), self._cable_end(order.words[1])
        if first == second:
            raise LabError(f"{order.words[0]} is given twice; name two ports")
        if not order.undo:
            # Two swaps of one port, undone in the order they came, would not give the first cabling back.
            for name in self._there:
                kind, *ports = name.split()
                if kind == "swap" and {*order.words} & {*ports}:
                    raise LabError(f"{name} is in and has a port of this one; undo that first")
        self._renew(self._bay.unplug_two(first, second))
        time.sleep(_REPLUG_S)
        self._renew(self._bay.cross(first, second))

    def _cut(self, order: _Order) -> None:
        end = self._cable_end(order.words[0])
        self._renew(self._bay.plug(end) if order.undo else self._bay.pull(end))

    def _flap(self, order: _Order) -> None:
        if order.undo:
            return  # a flap ends by itself
        end, times = self._cable_end(order.words[0]), int(order.words[1])
        far = self._bay.far(end)
        assert far is not None
        if self._bay.pulled(end):
            raise LabError(f"the cable in {order.words[0]} is cut; undo that first")
        for _ in range(times):
            # The far end is set down, so that this port loses its carrier and keeps its own admin state.
            inside(self._pids[far[0]], ["ip", "link", "set", far[1], "down"], only_net=True)
            time.sleep(_DWELL_S)
            if far[0] in self._blueprint.hosts:
                self._address(*far)
            else:
                inside(self._pids[far[0]], ["ip", "link", "set", far[1], "up"], only_net=True)
            time.sleep(_DWELL_S)

    def _nexthop(self, order: _Order) -> Any:
        device, prefix, hop = order.words[:3]
        layer = order.words[3] if len(order.words) > 3 else "asic"
        self._switch(device)
        if layer not in LAYERS:
            raise LabError(f"no layer {layer}; there are {', '.join(LAYERS)}")
        if layer == "rib":
            if order.undo:
                _inbound.take(self._pids[device], prefix, hop, order.before)
                return None
            return _inbound.refuse(device, self._pids[device], prefix, hop)
        if layer != "kernel":
            self._agent(
                {"box": device, "do": "withhold", "layer": layer, "prefix": prefix, "hop": hop, "on": not order.undo}
            )
            return None
        family = "-6" if ":" in prefix else "-4"
        show = ["ip", family, "route", "show", prefix]
        if order.undo:
            inside(self._pids[device], ["sh", "-c", f"ip {family} route replace {order.before}"], only_net=True)
            return None
        lines = inside(self._pids[device], show, only_net=True)
        words = lines.replace("\n", " ").split()
        kept = _without(words, hop)
        if kept is None:
            raise LabError(f"{device}: the kernel has no route to {prefix} through {hop} beside others")
        inside(self._pids[device], ["ip", family, "route", "replace", *kept], only_net=True)
        return " ".join(_plain(words))

    def _bgpd(self, order: _Order) -> None:
        device = order.words[0]
        self._switch(device)
        if order.undo:
            # As SONiC does it: the container is one unit, and starts anew as a whole.
            self._agent({"box": device, "do": "service", "name": "bgp", "action": "restart"})
        else:
            inside(self._pids[device], ["sh", "-c", 'kill -9 "$(cat /run/frr/bgpd.pid)"'])

    def _lldp(self, order: _Order) -> None:
        end = self._end(order.words[0])
        if end[0] in self._blueprint.hosts:
            self._mute_nic(end, order.undo)
        else:
            self._agent({"box": end[0], "do": "mute", "port": end[1], "on": not order.undo})
        if order.undo and (far := self._bay.far(end)):
            # Else it would be silent towards us until its next turn, 30 s at most.
            inside(self._pids[far[0]], ["lldpcli", "update"])

    def _mute_nic(self, end: End, undo: bool) -> None:
        pid = self._pids[end[0]]
        said = json.loads(inside(pid, ["lldpcli", "-f", "json0", "show", "interfaces", "ports", end[1]]))
        there = {name.split(":")[1] for name in self._there if name.startswith(f"lldp {end[0]}:")}
        muted = there - {end[1]} if undo else there | {end[1]}
        pattern = pattern_of(name for name in self._blueprint.hosts[end[0]].nics if name not in muted)
        inside(pid, ["lldpcli", "configure", "system", "interface", "pattern", pattern])
        entry = next((one for outer in said.get("lldp", []) for one in outer.get("interface", [])), None)
        if entry and not undo:
            _lldpdu.send(pid, end[1], _lldpdu.goodbye(entry, self._bay.mac(end)))

    def _mtu(self, order: _Order) -> Any:
        end = self._end(order.words[0])
        if end[0] in self._blueprint.hosts:
            old = self._blueprint.hosts[end[0]].nics[end[1]].settings.mtu or 1500
            inside(self._pids[end[0]], ["ip", "link", "set", end[1], "mtu", str(old if order.undo else order.words[1])])
            return None
        # As somebody would do it by hand on the switch.
        key = f"PORT|{end[1]}"
        read = ["sonic-db-cli", "CONFIG_DB", "HGET", key, "mtu"]
        old_text = inside(self._pids[end[0]], ["/etc/twin/bin/" + read[0], *read[1:]]).strip()
        write = ["/etc/twin/bin/sonic-db-cli", "CONFIG_DB"]
        if order.undo and not order.before:
            inside(self._pids[end[0]], [*write, "HDEL", key, "mtu"])
        else:
            inside(self._pids[end[0]], [*write, "HSET", key, "mtu", order.before if order.undo else order.words[1]])
        return old_text

    def _nhg(self, order: _Order) -> None:
        """FRR learns at its start whether it may use kernel next-hop groups; so its container starts anew."""
        device = order.words[0]
        self._switch(device)
        inside(self._pids[device], ["rm", "-f", _GROUPS] if order.undo else ["touch", _GROUPS])
        self._agent({"box": device, "do": "service", "name": "bgp", "action": "restart"})

    def _renew(self, ends: Sequence[End]) -> None:
        """Host NICs whose link was made anew come up again as the host's own network service would do it."""
        for device, port in ends:
            if device in self._blueprint.hosts:
                self._address(device, port)

    def _end(self, text: str) -> End:
        device, separator, port = text.partition(":")
        if not separator or not device or not port:
            raise LabError(f"{text!r}: write DEVICE:PORT, for instance p1-l0:Ethernet0 or gpu001:rail0")
        if device not in self._pids:
            raise LabError(f"the twin has no node {device}; it has {', '.join(sorted(self._pids))}")
        if device in self._blueprint.hosts:
            if port not in self._blueprint.hosts[device].nics:
                raise LabError(f"{device} has no NIC {port}; it has {', '.join(self._blueprint.hosts[device].nics)}")
        elif port not in self._blueprint.switches[device].factory["PORT"]:
            raise LabError(f"{device} has no port {port}")
        return device, port

    def _cable_end(self, text: str) -> End:
        end = self._end(text)
        if not self._bay.known(end):
            raise LabError(f"no cable is in {text}")
        return end

    def _switch(self, name: str) -> None:
        if name not in self._blueprint.switches:
            raise LabError(f"the twin has no switch {name}; it has {', '.join(sorted(self._blueprint.switches))}")


def _plain(words: Sequence[str]) -> list[str]:
    """A route as `ip route show` prints it, as `ip route replace` takes it: states that are only told are left out."""
    told = {"linkdown", "dead", "offload", "trap", "rt_offload", "onlink"}
    return [word for word in words if word not in told]


def _without(words: Sequence[str], hop: str) -> list[str] | None:
    """The same multipath route without one next hop; None when that hop is not there or the only one."""
    plain = _plain(words)
    if "nexthop" not in plain:
        return None
    first = plain.index("nexthop")
    head, hops, current = plain[:first], [], []  # type: ignore[var-annotated]
    for word in plain[first:]:
        if word == "nexthop" and current:
            hops.append(current)
            current = []
        current.append(word)
    hops.append(current)
    kept = [one for one in hops if hop not in one]
    if len(kept) == len(hops) or not kept:
        return None
    return [*head, *(word for one in kept for word in one)]
