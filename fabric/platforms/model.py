"""What a switch model is: cages, lanes, breakouts, aliases, service ports, buffers.

Nothing here computes a lane or an alias from a port number: both come from the tables of the HwSKU the switch
loads. Only the names of breakout children follow a rule, SONiC's own: Ethernet(first port + first lane offset).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fabric.errors import PlatformError
from fabric.platforms.modes import parse_mode, port_count
from fabric.values.plan import BufferPlan, HeadroomRow

# SONiC's config engine adds RS-FEC from 50G a lane on (PAM4), and no FEC field below.
_RS_FROM_LANE_MBPS = 50_000
_PORT_NAME = re.compile(r"Ethernet(\d+)")


@dataclass(frozen=True, slots=True)
class PortSpec:
    """One logical port as CONFIG_DB PORT wants it: ASIC `lanes`, `speed_mbps` in Mb/s, `index` of the cage,
    `subport` 0 for a whole cage and 1..N for breakout children, `fec` `rs` or `none`."""

    name: str
    lanes: tuple[int, ...]
    speed_mbps: int
    alias: str
    index: int
    subport: int
    fec: str


@dataclass(frozen=True, slots=True)
class Cage:
    """One front-panel cage: its `first_port` (the key of BREAKOUT_CFG), front-panel `index`, ASIC `lanes` in order,
    `modes` (breakout string verbatim -> alias of each child) and the mode the HwSKU boots with."""

    first_port: str
    index: int
    lanes: tuple[int, ...]
    modes: Mapping[str, tuple[str, ...]]
    default_mode: str

    @property
    def number(self) -> int:
        """N of EthernetN, for ordering only."""
        return port_number(self.first_port)


@dataclass(frozen=True, slots=True)
class Source:
    """Where the figures come from: repository, commit, licence and the paths read."""

    repository: str
    commit: str
    licence: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Platform:
    """One HwSKU of one switch model.

    `cages` are the fabric cages in front-panel order, `service_cages` the 1/10/25G ones that never carry a fabric
    cable. `ecmp_limit` is the member limit of an ECMP group where the vendor's SAI profile states it, else None.
    `fixed` says that the HwSKU fixes each cage's mode (mixed HwSKUs, or no hwsku.json); `hosts_end` is then `first`
    or `last` where the table has two ends, and None where the switch role decides. `breakout_cfg` says whether
    BREAKOUT_CFG rows mean anything there. `other_aliases` are further spellings of a port's alias (port_config.ini
    against platform.json) that a neighbour may send. `headroom` are the rows of pg_profile_lookup.ini, which stand
    even where no buffer set does (a table without pools makes no lossless class).
    """

    key: str
    vendor: str
    model: str
    onie_platform: str
    hwsku: str
    asic: str
    cages: tuple[Cage, ...]
    service_cages: tuple[Cage, ...]
    source: Source
    ecmp_limit: int | None = None
    fixed: bool = False
    hosts_end: str | None = None
    breakout_cfg: bool = True
    cell_bytes: int | None = None
    other_aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    buffer_sets: Mapping[str, BufferPlan] = field(default_factory=dict)
    headroom: tuple[HeadroomRow, ...] = ()
    notes: tuple[str, ...] = ()
    _by_port: Mapping[str, Cage] = field(default_factory=dict, repr=False, compare=False)

    def cage(self, first_port: str) -> Cage:
        """The cage that starts at this port. PlatformError names the HwSKU when there is none (field case F008)."""
        found = self._by_port.get(first_port)
        if found is None:
            raise PlatformError(
                f"{self.key}: HwSKU {self.hwsku} has no cage that starts at {first_port}; "
                f"cages are {self.cages[0].first_port} to {self.cages[-1].first_port}"
                + (
                    f", service ports {', '.join(c.first_port for c in self.service_cages)}"
                    if self.service_cages
                    else ""
                )
            )
        return found

    def children(self, first_port: str, mode: str | None = None, speed_mbps: int | None = None) -> tuple[PortSpec, ...]:
        """Logical ports a cage makes in a breakout mode (the HwSKU's own when None), in lane order.

        `speed_mbps` picks one of the slower speeds the mode lists in brackets. PlatformError lists the modes that
        exist; no nearest guess (field case F013).
        """
        cage = self.cage(first_port)
        mode = cage.default_mode if mode is None else mode
        aliases = cage.modes.get(mode)
        if aliases is None:
            raise PlatformError(
                f"{self.key}: {first_port} has no breakout mode {mode!r}; modes that exist: {_listed(cage.modes)}"
            )
        return expand(self.key, cage, mode, aliases, speed_mbps)

    def mode_for(self, speed_mbps: int, first_port: str | None = None) -> str:
        """The mode string, verbatim, that makes the most ports of this speed (Mb/s) of one cage.

        Modes whose own speed it is go before modes that list it in brackets. Without `first_port` the first cage
        that can do it answers. PlatformError lists the modes that exist.
        """
        cages = (self.cage(first_port),) if first_port else self.cages
        for cage in _able(cages, speed_mbps):
            return _best_mode(cage, speed_mbps)[1]
        modes = dict.fromkeys(mode for cage in cages for mode in cage.modes)
        raise PlatformError(
            f"{self.key}: no breakout mode makes ports of {_gigabits(speed_mbps)}"
            + (f" of {first_port}" if first_port else "")
            + f"; modes that exist: {_listed(modes)}"
        )

    def cages_for(self, speed_mbps: int) -> tuple[Cage, ...]:
        """Cages that can run at this speed, in front-panel order; empty when none can. Where some have a mode of
        their own for it, those that only list it in brackets are left out."""
        return _able(self.cages, speed_mbps)

    @property
    def service_ports(self) -> tuple[PortSpec, ...]:
        """Service ports (1/10/25G) at the speed the HwSKU boots them with. They never carry a fabric cable."""
        return tuple(port for cage in self.service_cages for port in self.children(cage.first_port))

    def service_port(self, name: str, speed_mbps: int) -> PortSpec:
        """A service port at a given speed (field case F016: a 25G port used at 10G must say so in PORT)."""
        cage = self.cage(name)
        if cage not in self.service_cages:
            raise PlatformError(f"{self.key}: {name} is a fabric port, not a service port")
        for mode in cage.modes:
            part = parse_mode(mode)[0]
            if speed_mbps == part.speed_mbps or speed_mbps in part.other_speeds:
                return self.children(name, mode, speed_mbps)[0]
        raise PlatformError(
            f"{self.key}: service port {name} cannot run at {_gigabits(speed_mbps)}; "
            f"modes that exist: {_listed(cage.modes)}"
        )

    def ports(self) -> tuple[PortSpec, ...]:
        """Every logical port of the HwSKU as it boots, service ports last."""
        cages = (*self.cages, *self.service_cages)
        return tuple(port for cage in cages for port in self.children(cage.first_port))

    def buffers(self, preset: str | None = None) -> BufferPlan | None:
        """Buffer figures of this HwSKU, or None where no source states any (then it can carry no lossless class).

        `preset` picks one of SONiC's topology variants (`t0`, `t1`, `lt2`, ...); the catalogue's first is the default.
        """
        if preset is None:
            return next(iter(self.buffer_sets.values()), None)
        if preset not in self.buffer_sets:
            raise PlatformError(
                f"{self.key}: no buffer figures for preset {preset!r}; there are: {_listed(self.buffer_sets) or 'none'}"
            )
        return self.buffer_sets[preset]

    def borrow(self, other_key: str, preset: str | None = None) -> BufferPlan:
        """Buffer figures of another HwSKU, by an explicit line of the intent. The same ASIC family is demanded;
        `borrowed_from` is set so that every output says so. PlatformError when refused or there is nothing to lend."""
        from fabric.platforms.catalogue import load

        other = load(other_key)
        if other.asic != self.asic:
            raise PlatformError(
                f"{self.key} is {self.asic}, {other_key} is {other.asic}: buffer figures of another ASIC family "
                "must not stand in; name a platform of the same family in buffers_from, or drop the lossless class"
            )
        plan = other.buffers(preset)
        if plan is None:
            raise PlatformError(f"{other_key} has no buffer figures to lend to {self.key}; name another platform")
        return replace(plan, platform=self.key, borrowed_from=other_key)


def make_platform(platform: Platform) -> Platform:
    """Index a Platform by port and check it: names, aliases and lanes used once in its boot modes (field case F011)."""
    by_port = {cage.first_port: cage for cage in (*platform.cages, *platform.service_cages)}
    if not platform.cages:
        raise PlatformError(f"{platform.key}: no fabric cage at all; the port table holds only service ports")
    platform = replace(platform, _by_port=by_port)
    check_ports(platform.key, platform.ports())
    return platform


def check_ports(what: str, ports: Iterable[PortSpec]) -> None:
    """PlatformError when two ports of one switch share a name, an alias or a lane; both ports are named."""
    names: set[str] = set()
    aliases: dict[str, str] = {}
    lanes: dict[int, str] = {}
    shared: dict[tuple[str, str], list[int]] = {}
    wrong: list[str] = []
    for port in ports:
        if port.name in names:
            wrong.append(f"port {port.name} stands twice")
        names.add(port.name)
        if port.alias in aliases:
            wrong.append(f"alias {port.alias} is used by {aliases[port.alias]} and {port.name}")
        aliases[port.alias] = port.name
        for lane in port.lanes:
            if lane in lanes:
                shared.setdefault((lanes[lane], port.name), []).append(lane)
            lanes[lane] = port.name
    for (first, second), both in shared.items():
        wrong.append(f"lanes {','.join(map(str, both))} are used twice, by {first} and {second}")
    if wrong:
        raise PlatformError(f"{what}: " + "; ".join(wrong))


def expand(
    what: str, cage: Cage, mode: str, aliases: tuple[str, ...], speed_mbps: int | None = None
) -> tuple[PortSpec, ...]:
    """Logical ports of a cage in one mode, as SONiC's config engine makes them. PlatformError on contradictions."""
    parts = parse_mode(mode)
    total = port_count(mode)
    if len(aliases) < total:
        raise PlatformError(f"{what}: {cage.first_port} mode {mode} makes {total} ports but has {len(aliases)} aliases")
    if speed_mbps is not None and not any(speed_mbps in (part.speed_mbps, *part.other_speeds) for part in parts):
        raise PlatformError(
            f"{what}: {cage.first_port} in mode {mode} cannot run at {_gigabits(speed_mbps)}; "
            f"modes that exist: {_listed(cage.modes)}"
        )
    base = cage.number
    offset = 0
    ports: list[PortSpec] = []
    for part in parts:
        width = (part.lanes or len(cage.lanes)) // part.count
        chosen = part.speed_mbps
        if speed_mbps is not None and speed_mbps in part.other_speeds:
            chosen = speed_mbps
        if width == 0 or offset + width * part.count > len(cage.lanes):
            raise PlatformError(f"{what}: {cage.first_port} has {len(cage.lanes)} lanes, too few for mode {mode}")
        for _ in range(part.count):
            ports.append(
                PortSpec(
                    name=f"Ethernet{base + offset}",
                    lanes=cage.lanes[offset : offset + width],
                    speed_mbps=chosen,
                    alias=aliases[len(ports)],
                    index=cage.index,
                    subport=0 if total == 1 else len(ports) + 1,
                    fec="rs" if chosen // width >= _RS_FROM_LANE_MBPS else "none",
                )
            )
            offset += width
    return tuple(ports)


def port_number(name: str) -> int:
    """N of EthernetN. PlatformError for any other name."""
    match = _PORT_NAME.fullmatch(name)
    if match is None:
        raise PlatformError(f"port name {name!r} is not EthernetN")
    return int(match.group(1))


def _able(cages: Iterable[Cage], speed_mbps: int) -> tuple[Cage, ...]:
    ranked = [(_best_mode(cage, speed_mbps)[0], cage) for cage in cages]
    best = max((rank for rank, _ in ranked), default=0)
    return tuple(cage for rank, cage in ranked if rank == best > 0)


def _best_mode(cage: Cage, speed_mbps: int) -> tuple[int, str]:
    """(2, mode) where a mode has this speed itself, (1, mode) where one lists it in brackets, else (0, "")."""
    best, chosen = (0, 0), ""
    for mode in cage.modes:
        parts = parse_mode(mode)
        if len(parts) > 1:
            continue
        part = parts[0]
        grade = 2 if part.speed_mbps == speed_mbps else 1 if speed_mbps in part.other_speeds else 0
        if grade and (grade, part.count) > best:
            best, chosen = (grade, part.count), mode
    return best[0], chosen


def _listed(modes: Iterable[str]) -> str:
    return ", ".join(modes)


def _gigabits(speed_mbps: int) -> str:
    return f"{speed_mbps // 1000}G" if speed_mbps % 1000 == 0 else f"{speed_mbps} Mb/s"
