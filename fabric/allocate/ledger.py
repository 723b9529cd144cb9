"""The ledger: what was given to whom, once. A YAML file beside the intent, kept in git.

It records pools and indices of runs of objects (`p1-l[0-7]` has loopback 17 and following), never each derived
value, so that it is a page at a hundred nodes and far below 5 MB at a hundred thousand GPUs, and a merge shows what
two branches both took. Entries of objects that left the intent stay, so that they come back unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.allocate.names import fold, unfold
from fabric.errors import InputError, Problem
from fabric.files import write_whole
from fabric.intent import _yaml
from fabric.intent.kinds import check_asn, check_name

SCHEMA = "railfab.ledger/1"
ELSEWHERE = "give a folder for the ledger with --state DIR"

# More than this of anything is a damaged line, not a fabric: 2^24 covers a /8 of each pool.
_MOST = 1 << 24
_LIMITS = {
    "asn": 4294967294,
    "asn_step": 1,
    "speed": 1_600_000,
    "pod": 9999,
    "segment": 127,
    "place": 4095,
    "slot": 4095,
    "lower_slot": 4095,
    "upper_slot": 4095,
    "links": 512,
    "first": 512,
    "ports": 64,
    "block": 32,
    "step": 32,
    "pod_step": 32,
    "planes": 16,
    "leaves_per_segment": 128,
}

_SECTIONS = frozenset(("schema", "layout", "names", "pools", "switches", "hosts", "links", "storage", "identities"))


@dataclass(frozen=True, slots=True)
class SwitchRun:
    """Numbers of a run of switches: the first has these, each next one more (`asn_step` 0: all share it).

    `loopback` and `mgmt` are places in their pools, `hosts` the first host block in units of the host pool. Storage
    switches have a loopback pool of their own, numbered as they are.
    """

    names: tuple[str, ...]
    index: int
    asn: int
    asn_step: int
    loopback: int | None
    mgmt: int
    hosts: int | None = None


@dataclass(frozen=True, slots=True)
class HostRun:
    """Seats of a run of hosts: pod, segment, first place, first port slot and first link number (in the leaf's block)
    on each leaf, `ports` of each host on a leaf, first management number.

    `auto` marks hosts whose names we chose; `reserve` those chosen for reserve places.
    """

    names: tuple[str, ...]
    pod: int
    segment: int
    place: int
    slot: int
    speed_mbps: int
    host_class: str
    mgmt: int
    address: int
    ports: int = 1
    auto: bool = False
    reserve: bool = False


@dataclass(frozen=True, slots=True)
class StorageRun:
    """Seats of a run of hosts on the storage switches: first /31 of its pool, first port slot."""

    names: tuple[str, ...]
    kind: str
    address: int
    slot: int
    ports: int
    speed_mbps: int
    mgmt: int | None = None


@dataclass(frozen=True, slots=True)
class LinkRun:
    """Links between every lower and every upper switch.

    Meshed (`deal` None): `links` parallel ones of each pair, the first being number `first`. On lower number a, link j
    to upper b is slot lower_slot + b * links + j; on upper b it is upper_slot + a * links + j; its address is
    number address + (a * uppers + b) * links + j of the fabric pool.
    Dealt: `links` of each lower in all; link u of lower a is number n = deal + a * links + u, goes to upper
    n mod uppers, slot upper_slot + n div uppers there and lower_slot + u here, address number address + a * links + u.
    `address` is None on unnumbered links.
    """

    lowers: tuple[str, ...]
    uppers: tuple[str, ...]
    links: int
    first: int
    speed_mbps: int
    lower_slot: int
    upper_slot: int
    address: int | None
    deal: int | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """What was learned of one device on purpose (`trust`, `adopt`): serial number, base MAC, MAC of each NIC."""

    serial: str | None = None
    base_mac: str | None = None
    nics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layout:
    """What names of leaves and sizes of host prefixes are made of. `block`, `step` and `pod_step` are prefix lengths:
    of a leaf's hosts, of the step between leaves, and of the step between pods."""

    attachment: str
    planes: int
    leaves_per_segment: int
    block: int
    step: int
    pod_step: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """All that was given. `pools` are the pools as they were then: what an index means depends on them.

    `names` maps our name of a switch to the one it has at an adopted site.
    """

    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    switches: tuple[SwitchRun, ...] = ()
    hosts: tuple[HostRun, ...] = ()
    links: tuple[LinkRun, ...] = ()
    storage: tuple[StorageRun, ...] = ()
    identities: Mapping[str, Identity] = field(default_factory=dict)
    layout: Layout | None = None
    names: Mapping[str, str] = field(default_factory=dict)


_HEAD = """\
# What railfab has given to whom: pools, numbers, ports. Kept in git beside the intent; railfab adds to it and never
# changes a line. To give something up for good, delete its line; to move it, ask yourself who has it configured.
"""


def dump(ledger: Ledger) -> str:
    """YAML text of a ledger, one run a line."""
    lines = [_HEAD + f"schema: {SCHEMA}"]
    if ledger.layout is not None:
        shape = ledger.layout
        lines.append(
            f"layout: {{attachment: {shape.attachment}, planes: {shape.planes}, "
            f"leaves_per_segment: {shape.leaves_per_segment}, block: {shape.block}, step: {shape.step}, "
            f"pod_step: {shape.pod_step}}}"
        )
    if ledger.names:
        lines.append("names:")
        lines.extend(f"  {ours}: {theirs}" for ours, theirs in ledger.names.items())
    lines.append("pools:" if ledger.pools else "pools: {}")
    lines.extend(f"  {what}: [{', '.join(prefixes)}]" for what, prefixes in sorted(ledger.pools.items()))
    lines.append("switches:" if ledger.switches else "switches: []")
    for run in ledger.switches:
        parts: list[tuple[str, Any]] = [("names", _quoted(fold(run.names))), ("index", run.index), ("asn", run.asn)]
        if run.asn_step != 1:
            parts.append(("asn_step", run.asn_step))
        if run.loopback is not None:
            parts.append(("loopback", run.loopback))
        parts.append(("mgmt", run.mgmt))
        if run.hosts is not None:
            parts.append(("hosts", run.hosts))
        lines.append(_line(parts))
    lines.append("hosts:" if ledger.hosts else "hosts: []")
    for host in ledger.hosts:
        parts = [
            ("names", _quoted(fold(host.names))),
            ("pod", host.pod),
            ("segment", host.segment),
            ("place", host.place),
            ("slot", host.slot),
            ("speed", host.speed_mbps),
            ("class", host.host_class),
            ("mgmt", host.mgmt),
            ("address", host.address),
        ]
        if host.ports != 1:
            parts.append(("ports", host.ports))
        parts += [(key, "true") for key, flag in (("auto", host.auto), ("reserve", host.reserve)) if flag]
        lines.append(_line(parts))
    lines.append("links:" if ledger.links else "links: []")
    for link in ledger.links:
        parts = [
            ("lower", _quoted(fold(link.lowers))),
            ("upper", _quoted(fold(link.uppers))),
            ("links", link.links),
            ("first", link.first),
            ("speed", link.speed_mbps),
            ("lower_slot", link.lower_slot),
            ("upper_slot", link.upper_slot),
        ]
        parts += [(key, value) for key, value in (("address", link.address), ("deal", link.deal)) if value is not None]
        lines.append(_line(parts))
    lines.append("storage:" if ledger.storage else "storage: []")
    for seat in ledger.storage:
        parts = [
            ("names", _quoted(fold(seat.names))),
            ("kind", seat.kind),
            ("address", seat.address),
            ("slot", seat.slot),
            ("ports", seat.ports),
            ("speed", seat.speed_mbps),
        ]
        if seat.mgmt is not None:
            parts.append(("mgmt", seat.mgmt))
        lines.append(_line(parts))
    if ledger.identities:
        lines.append("identities:")
        for name, identity in sorted(ledger.identities.items()):
            parts = [(k, _quoted(v)) for k, v in (("serial", identity.serial), ("mac", identity.base_mac)) if v]
            if identity.nics:
                nics = ", ".join(f"{nic}: {_quoted(mac)}" for nic, mac in sorted(identity.nics.items()))
                parts.append(("nics", "{" + nics + "}"))
            lines.append(f"  {name}: {{" + ", ".join(f"{key}: {value}" for key, value in parts) + "}")
    return "\n".join(lines) + "\n"


def _line(parts: Sequence[tuple[str, Any]]) -> str:
    return "  - {" + ", ".join(f"{key}: {value}" for key, value in parts) + "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write(ledger: Ledger, path: Path) -> None:
    """Write a ledger in one step: the old file or the new one, never half of it. InputError when it cannot be."""
    write_whole(path, dump(ledger), ELSEWHERE)


def read(path: Path) -> Ledger:
    """Read a ledger; an empty one when there is no file. InputError holds every problem with its line."""
    if not path.exists():
        return Ledger()
    problems: list[Problem] = []
    root = _yaml.read(path, problems, empty="take the ledger from git; without it every number is given anew")
    if root is None or problems:
        raise InputError(problems)
    return _Reader(root, problems).ledger()


class _Reader:
    """Takes runs out of the YAML tree and notes what does not fit."""

    def __init__(self, root: _yaml.Node, problems: list[Problem]) -> None:
        self.root = root
        self.problems = problems

    def ledger(self) -> Ledger:
        top = self.root.value if isinstance(self.root.value, dict) else {}
        schema = top.get("schema")
        if schema is None or schema.value != SCHEMA:
            self._wrong(self.root, f"schema is not {SCHEMA}", "this is no ledger of this version of railfab")
            raise InputError(self.problems)
        for key in top.keys() - _SECTIONS:
            self._wrong(top[key], f"{key!r} is no section of a ledger")
        pools: dict[str, tuple[str, ...]] = {}
        if "pools" in top:
            if not isinstance(top["pools"].value, dict):
                self._wrong(top["pools"], "pools is no mapping")
                raise InputError(self.problems)
            for what, node in top["pools"].value.items():
                values = node.value if isinstance(node.value, list) else [node]
                pools[what] = tuple(str(entry.value) for entry in values)
        ledger = Ledger(
            pools=pools,
            switches=tuple(self._each("switches", self._switch)),
            hosts=tuple(self._each("hosts", self._host)),
            links=tuple(self._each("links", self._link)),
            storage=tuple(self._each("storage", self._storage)),
            identities=self._identities(top.get("identities")),
            layout=self._layout(top.get("layout")),
            names=self._renamed(top.get("names")),
        )
        if ledger.layout is None and ledger.switches and "layout" not in top:
            self._wrong(self.root, "there are switches and no layout")
        if self.problems:
            raise InputError(self.problems)
        return ledger

    def _wrong(self, node: _yaml.Node, what: str, remedy: str = "correct the line, or take it from git") -> None:
        self.problems.append(Problem(what, remedy, file=node.mark.file, line=node.mark.line))

    def _each(self, section: str, make: Callable[[_yaml.Node], Any]) -> list[Any]:
        node = self.root.value.get(section)
        if node is None or node.value is None:
            return []
        if not isinstance(node.value, list):
            self._wrong(node, f"{section} is no list")
            return []
        found = []
        for entry in node.value:
            if not isinstance(entry.value, dict):
                self._wrong(entry, f"an entry of {section} is no mapping")
                continue
            run = make(entry)
            if run is not None:
                found.append(run)
        return found

    def _int(self, entry: _yaml.Node, key: str, default: int | None = None) -> int:
        node = entry.value.get(key)
        if node is None and default is not None:
            return default
        if node is None or not isinstance(node.value, int) or isinstance(node.value, bool) or node.value < 0:
            self._wrong(node or entry, f"{key} must be a whole number, not negative")
            return 0
        value: int = node.value
        if value > _LIMITS.get(key, _MOST):
            self._wrong(node, f"{key} {value} is more than {_LIMITS.get(key, _MOST)}")
            return 0
        return value

    def _optional(self, entry: _yaml.Node, key: str) -> int | None:
        return self._int(entry, key) if key in entry.value else None

    def _names(self, entry: _yaml.Node, key: str) -> tuple[str, ...]:
        node = entry.value.get(key)
        try:
            names = unfold(node.value if node is not None and isinstance(node.value, str) else "")
            for name in names:
                check_name(name)
        except ValueError as error:
            self._wrong(node or entry, f"{key}: {error}")
            return ()
        if len(set(names)) != len(names):
            self._wrong(node or entry, f"{key}: a name stands twice")
        return names

    def _word(self, entry: _yaml.Node, key: str) -> str:
        node = entry.value.get(key)
        if node is None or not isinstance(node.value, str):
            self._wrong(node or entry, f"{key} must be a word")
            return ""
        value: str = node.value
        return value

    def _flag(self, entry: _yaml.Node, key: str) -> bool:
        node = entry.value.get(key)
        return node is not None and node.value is True

    def _switch(self, entry: _yaml.Node) -> SwitchRun:
        run = SwitchRun(
            self._names(entry, "names"),
            self._int(entry, "index"),
            self._int(entry, "asn"),
            self._int(entry, "asn_step", 1),
            self._optional(entry, "loopback"),
            self._int(entry, "mgmt"),
            self._optional(entry, "hosts"),
        )
        for place in range(len(run.names) if run.asn_step else 1):
            try:
                check_asn(run.asn + place * run.asn_step)
            except ValueError as error:
                self._wrong(entry, f"asn: {error}")
                break
        return run

    def _host(self, entry: _yaml.Node) -> HostRun:
        return HostRun(
            self._names(entry, "names"),
            self._int(entry, "pod"),
            self._int(entry, "segment"),
            self._int(entry, "place"),
            self._int(entry, "slot"),
            self._int(entry, "speed"),
            self._word(entry, "class"),
            self._int(entry, "mgmt"),
            self._int(entry, "address"),
            self._int(entry, "ports", 1),
            self._flag(entry, "auto"),
            self._flag(entry, "reserve"),
        )

    def _link(self, entry: _yaml.Node) -> LinkRun:
        return LinkRun(
            self._names(entry, "lower"),
            self._names(entry, "upper"),
            self._int(entry, "links"),
            self._int(entry, "first"),
            self._int(entry, "speed"),
            self._int(entry, "lower_slot"),
            self._int(entry, "upper_slot"),
            self._optional(entry, "address"),
            self._optional(entry, "deal"),
        )

    def _storage(self, entry: _yaml.Node) -> StorageRun:
        return StorageRun(
            self._names(entry, "names"),
            self._word(entry, "kind"),
            self._int(entry, "address"),
            self._int(entry, "slot"),
            self._int(entry, "ports"),
            self._int(entry, "speed"),
            self._optional(entry, "mgmt"),
        )

    def _renamed(self, node: _yaml.Node | None) -> dict[str, str]:
        if node is None:
            return {}
        plain = node.plain()
        if not isinstance(plain, dict) or not all(isinstance(name, str) for name in plain.values()):
            self._wrong(node, "names is no mapping of words")
            return {}
        if len(set(plain.values())) != len(plain):
            self._wrong(node, "names: two switches have one name")
        return plain

    def _layout(self, node: _yaml.Node | None) -> Layout | None:
        if node is None:
            return None
        if not isinstance(node.value, dict):
            self._wrong(node, "layout is no mapping")
            return None
        return Layout(
            self._word(node, "attachment"),
            self._int(node, "planes"),
            self._int(node, "leaves_per_segment"),
            self._int(node, "block"),
            self._int(node, "step"),
            self._int(node, "pod_step"),
        )

    def _identities(self, node: _yaml.Node | None) -> dict[str, Identity]:
        found: dict[str, Identity] = {}
        if node is None or not isinstance(node.value, dict):
            return found
        for name, entry in node.value.items():
            plain = entry.plain()
            if not isinstance(plain, dict) or not isinstance(plain.get("nics", {}), dict):
                self._wrong(entry, f"identity of {name} is no mapping")
                continue
            nics = {str(nic): str(mac) for nic, mac in plain.get("nics", {}).items()}
            serial, mac = plain.get("serial"), plain.get("mac")
            found[name] = Identity(
                str(serial) if serial is not None else None, str(mac) if mac is not None else None, nics
            )
        return found
