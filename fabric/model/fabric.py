"""What an intent asks for: groups of switches, meshes of links between them, pods and groups of hosts.

Names and structure only: addresses, AS numbers and ports come from `fabric.allocate` and its ledger.

Names (contract): leaf `p1-l0` (pod from 1, leaf from 0; leaf = segment * rails + rail), spine `s0` (two tiers),
`p1-s0` (three tiers) or `r0-s0` (rail-only), super-spine `ss0`, storage `st0`. With several planes a letter is
appended: `p1-l0a`, `s0b`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fabric.errors import InputError, PlatformError, Problem
from fabric.intent.load import IntentFile
from fabric.intent.rules import host_blocks, named_hosts, nic_rails, pod_numbers
from fabric.intent.shapes import Compute, HostClass, Intent, Override
from fabric.model.lengths import Lengths
from fabric.platforms import Platform, available, load
from fabric.values.plan import LifeState, Network, Role

PLANE_LETTERS = "abcdefghijklmnop"


@dataclass(frozen=True, slots=True)
class SwitchNode:
    """One switch as wanted. `number` counts from 0 in its group; `leaf` of a pod is segment * rails + rail."""

    name: str
    group: str
    number: int
    role: Role
    network: Network
    platform: str
    device_type: str
    pod: int | None = None
    segment: int | None = None
    rail: int | None = None
    plane: int | None = None


@dataclass(frozen=True, slots=True)
class SwitchGroup:
    """Switches of one tier that stand side by side: a pod's leaves of one plane, the spines of a pod or fabric."""

    key: str
    names: tuple[str, ...]
    role: Role
    network: Network
    pod: int | None = None
    plane: int | None = None
    rail: int | None = None


@dataclass(frozen=True, slots=True)
class Mesh:
    """Every lower switch is cabled to every upper one, by `links` parallel cables each, or by `uplinks` cables
    dealt out evenly over the uppers. Speed in Mb/s, length in metres."""

    lowers: tuple[str, ...]
    uppers: tuple[str, ...]
    links: int | None
    uplinks: int | None
    speed_mbps: int
    length_m: int
    pod: int | None = None
    plane: int | None = None
    rail: int | None = None


@dataclass(frozen=True, slots=True)
class PodShape:
    """A pod: `segments` groups of leaves with `places` host places each."""

    number: int
    segments: int
    places: int
    state: LifeState


@dataclass(frozen=True, slots=True)
class HostGroup:
    """Hosts of a pod that are alike. `names` is None where the intent gives a number (`count`) only."""

    pod: int
    host_class: str
    names: tuple[str, ...] | None
    count: int
    reserve: bool
    segment: int | None
    state: LifeState


@dataclass(frozen=True, slots=True)
class NicSpot:
    """Where one NIC port of a host class is cabled inside a segment: leaf number in the segment, plane, and which of
    the place's ports on that leaf it is (0 unless several NICs of a host share a leaf)."""

    name: str
    rail: int
    plane: int
    leaf: int
    child: int
    speed_mbps: int
    hca: str | None
    netdev: str | None
    pci: str | None


@dataclass(frozen=True, slots=True)
class Fabric:
    """The wanted fabric. `leaves_per_segment` counts one plane; `ports_per_place` is what the widest class needs of
    one leaf. `names` maps our name of a switch to the one it has at an adopted site."""

    file: IntentFile
    platforms: Mapping[str, Platform]
    switches: Mapping[str, SwitchNode]
    groups: tuple[SwitchGroup, ...]
    meshes: tuple[Mesh, ...]
    pods: Mapping[int, PodShape]
    hosts: tuple[HostGroup, ...]
    spots: Mapping[str, tuple[NicSpot, ...]]
    leaves_per_segment: int
    ports_per_place: int
    lengths: Lengths
    names: Mapping[str, str] = field(default_factory=dict)

    def ports_of(self, host_class: str) -> int:
        """Ports a host of a class has on one leaf."""
        return max(1 + spot.child for spot in self.spots[host_class])

    @property
    def intent(self) -> Intent:
        """The intent this was built from."""
        return self.file.intent

    def platform_of(self, switch: str) -> Platform:
        """The platform of a switch."""
        return self.platforms[self.switches[switch].platform]

    def leaf(self, pod: int, segment: int, leaf: int, plane: int) -> str:
        """Name of a leaf: `leaf` counts inside its segment."""
        letter = PLANE_LETTERS[plane] if self.intent.compute.planes > 1 else ""
        name = f"p{pod}-l{segment * self.leaves_per_segment + leaf}{letter}"
        return self.names.get(name, name)


def find_platform(key: str) -> Platform:
    """The platform of this key, or the only one whose key begins with it (`dell-z9864f` is `dell-z9864f-o64`)."""
    keys = available()
    if key not in keys:
        longer = [name for name in keys if name.startswith(f"{key}-")]
        if len(longer) == 1:
            return load(longer[0])
    return load(key)


# What an override may say of a host.
_OF_HOSTS = frozenset(("mgmt_address", "rack", "unit"))


def build(file: IntentFile, names: Mapping[str, str] | None = None) -> Fabric:
    """Lay out the fabric of an intent. `names` renames switches (our name -> theirs).

    InputError holds every problem: unknown platforms, speeds they do not have, devices that do not exist.
    """
    intent = file.intent
    compute = intent.compute
    problems: list[Problem] = []
    per_segment = compute.tor_leaves if compute.attachment == "tor" else compute.rails
    layout = _Layout(intent, per_segment, names or {})
    pods = _pods(compute)
    for pod in pods.values():
        layout.pod(pod)
    layout.superspines(pods)
    layout.storage()
    hosts, more = _host_names(intent)
    problems.extend(_name_clashes(file, layout))
    for name, override in intent.devices.items():
        if name in layout.switches:
            continue
        if name not in hosts and not more:
            problems.append(file.problem(("devices", name), f"there is no device {name}", "correct the name"))
        for key in sorted(override.model_fields_set - _OF_HOSTS):
            problems.append(file.problem(("devices", name, key), f"{name} is a host: {key} is a switch's", "remove it"))
    if intent.racks is not None:
        for name, rack in intent.racks.places.items():
            for device in rack.devices:
                if device not in layout.switches and device not in hosts and not more:
                    where = ("racks", "places", name, "devices")
                    problems.append(file.problem(where, f"there is no device {device}", "correct the name"))
    spots = {name: _spots(compute, kind) for name, kind in intent.classes.items()}
    platforms = _platforms(file, problems)
    if not problems:
        problems.extend(_speeds(file, platforms, layout.switches, spots))
    if problems:
        raise InputError(problems)
    return Fabric(
        file=file,
        platforms=platforms,
        switches=layout.switches,
        groups=tuple(layout.in_order()),
        meshes=tuple(layout.meshes),
        pods=pods,
        hosts=tuple(_hosts(intent, pods)),
        spots=spots,
        leaves_per_segment=per_segment,
        ports_per_place=max(1 + spot.child for listed in spots.values() for spot in listed),
        lengths=Lengths(intent),
        names=dict(names or {}),
    )


class _Layout:
    """Collects groups and meshes, tier by tier."""

    def __init__(self, intent: Intent, per_segment: int, renamed: Mapping[str, str]) -> None:
        self.intent = intent
        self.renamed = renamed
        # SONiC's hash seed follows the type (ToRRouter 0, LeafRouter 10, SpineRouter 25); tiers that hash alike
        # polarise (facts sonic.md 1.1, field case F061). In other routing modes ToRRouter would bring allowas-in along.
        three = intent.compute.superspine is not None and intent.routing.mode == "frr"
        self._types = {
            Role.LEAF: "ToRRouter" if three else "LeafRouter",
            Role.SPINE: "LeafRouter" if three else "SpineRouter",
            Role.SUPERSPINE: "SpineRouter",
            Role.STORAGE: "LeafRouter",
        }
        self.compute = intent.compute
        self.per_segment = per_segment
        self.switches: dict[str, SwitchNode] = {}
        self.twice: list[str] = []
        self.groups: list[SwitchGroup] = []
        self.meshes: list[Mesh] = []
        self._fabric_spines: dict[tuple[int, int | None], tuple[str, ...]] = {}
        self._pod_spines: dict[tuple[int, int], tuple[str, ...]] = {}

    def in_order(self) -> list[SwitchGroup]:
        """Top of a two-tier fabric first, then pod by pod: the order in which numbers are given."""
        return sorted(self.groups, key=lambda group: (group.network is Network.STORAGE, group.pod is not None))

    def letter(self, plane: int) -> str:
        return PLANE_LETTERS[plane] if self.compute.planes > 1 else ""

    def add(
        self, prefix: str, numbers: range, role: Role, network: Network, platform: str, device_type: str | None,
        pod: int | None = None, plane: int | None = None, rail: int | None = None, leaf: bool = False,
    ) -> tuple[str, ...]:  # fmt: skip
        """Add a group `prefix0`, `prefix1`, ..."""
        letter = self.letter(plane or 0) if network is Network.COMPUTE else ""
        ours = (f"{prefix}{number}{letter}" for number in numbers)
        names = tuple(self.renamed.get(name, name) for name in ours)
        self.twice.extend(name for name in names if name in self.switches)
        key = f"{prefix}*{letter}"
        on_rails = leaf and self.compute.attachment != "tor"
        for number, name in zip(numbers, names, strict=True):
            override = self.intent.devices.get(name, Override())
            self.switches[name] = SwitchNode(
                name=name,
                group=key,
                number=number,
                role=role,
                network=network,
                platform=override.platform or platform,
                device_type=override.device_type or device_type or self._types[role],
                pod=pod,
                segment=number // self.per_segment if leaf else None,
                rail=number % self.per_segment if on_rails else rail,
                plane=plane,
            )
        self.groups.append(SwitchGroup(key, names, role, network, pod, plane, rail))
        return names

    def pod(self, pod: PodShape) -> None:
        """Leaves of a pod, and its spines or its links to the fabric's."""
        compute = self.compute
        leaf = compute.leaf
        for plane in range(compute.planes):
            names = self.add(
                f"p{pod.number}-l", range(pod.segments * self.per_segment), Role.LEAF, Network.COMPUTE,
                leaf.platform, leaf.device_type, pod.number, plane if compute.planes > 1 else None, leaf=True,
            )  # fmt: skip
            spine = compute.spine
            if spine is None:
                continue
            rails: list[int | None] = list(range(compute.rails)) if compute.attachment == "rail-only" else [None]
            for rail in rails:
                lowers = names if rail is None else tuple(n for n in names if self.switches[n].rail == rail)
                self.meshes.append(
                    Mesh(
                        lowers, self._spines(pod.number, plane, rail), spine.links, None, spine.speed, spine.length_m,
                        pod.number, plane if compute.planes > 1 else None, rail,
                    )
                )  # fmt: skip

    def _spines(self, pod: int, plane: int, rail: int | None) -> tuple[str, ...]:
        spine = self.compute.spine
        assert spine is not None
        shown = plane if self.compute.planes > 1 else None
        if self.compute.superspine is not None:
            names = self.add(
                f"p{pod}-s",
                range(spine.count),
                Role.SPINE,
                Network.COMPUTE,
                spine.platform,
                spine.device_type,
                pod,
                shown,
            )
            self._pod_spines[pod, plane] = names
            return names
        known = self._fabric_spines.get((plane, rail))
        if known is None:
            prefix = "s" if rail is None else f"r{rail}-s"
            known = self.add(
                prefix, range(spine.count), Role.SPINE, Network.COMPUTE, spine.platform, spine.device_type,
                None, shown, rail,
            )  # fmt: skip
            self._fabric_spines[plane, rail] = known
        return known

    def superspines(self, pods: Mapping[int, PodShape]) -> None:
        """The third tier and its links."""
        tier = self.compute.superspine
        if tier is None:
            return
        size = tier.count // tier.groups
        for plane in range(self.compute.planes):
            shown = plane if self.compute.planes > 1 else None
            tops = self.add(
                "ss", range(tier.count), Role.SUPERSPINE, Network.COMPUTE, tier.platform, tier.device_type, None, shown
            )
            for pod in pods:
                spines = self._pod_spines[pod, plane]
                for group in range(tier.groups):
                    lowers = spines[group :: tier.groups]
                    if lowers:
                        uppers = tops[group * size : (group + 1) * size]
                        self.meshes.append(
                            Mesh(lowers, uppers, tier.links, tier.uplinks, tier.speed, tier.length_m, pod, shown)
                        )

    def storage(self) -> None:
        """Storage switches: no link between them."""
        storage = self.intent.storage
        if storage is not None:
            for number in range(storage.switches):
                self.add(
                    storage.name, range(number, number + 1), Role.STORAGE, Network.STORAGE, storage.platform,
                    storage.device_type, None, number,
                )  # fmt: skip


def _pods(compute: Compute) -> dict[int, PodShape]:
    pods: dict[int, PodShape] = {}
    for entry, numbers in zip(compute.pods, pod_numbers(compute), strict=True):
        for number in numbers:
            pods[number] = PodShape(number, entry.segments, entry.places or compute.places, LifeState(entry.state))
    return pods


def _hosts(intent: Intent, pods: Mapping[int, PodShape]) -> Iterator[HostGroup]:
    for entry, numbers in zip(intent.compute.pods, pod_numbers(intent.compute), strict=True):
        for number in numbers:
            for block in host_blocks(intent, entry):
                names = block.nodes if isinstance(block.nodes, tuple) else None
                count = len(names) if names is not None else int(block.nodes)  # type: ignore[arg-type]
                state = LifeState.PLANNED if block.reserve else pods[number].state
                yield HostGroup(number, block.host_class, names, count, block.reserve, block.segment, state)


def _host_names(intent: Intent) -> tuple[set[str], bool]:
    """Names of hosts the intent gives, and whether there are others that we name."""
    names: set[str] = set()
    more = False
    for entry in intent.compute.pods:
        for block in host_blocks(intent, entry):
            if isinstance(block.nodes, int):
                more = True
            else:
                names.update(block.nodes)
    for servers in intent.storage.servers if intent.storage is not None else ():
        names.update(servers.nodes)
    return names, more


def _name_clashes(file: IntentFile, layout: _Layout) -> Iterator[Problem]:
    """One name for two devices. Host names are compared as DNS does, without case."""
    intent = file.intent
    if layout.twice:
        where = ("storage", "name") if intent.storage is not None else ("name",)
        yield file.problem(where, f"{layout.twice[0]} names two switches", "give the storage switches another name")
    switches = {name.lower(): name for name in layout.switches}

    def against(where: tuple[str | int, ...], names: Iterable[str]) -> Iterator[Problem]:
        clash = next((name for name in names if name.lower() in switches), None)
        if clash is not None:
            yield file.problem(
                where, f"{clash} is the name of switch {switches[clash.lower()]}", "name the host otherwise"
            )

    for index, entry in enumerate(intent.compute.pods):
        for key, names in named_hosts(entry):
            yield from against(("compute", "pods", index, *key), names)
    for index, servers in enumerate(intent.storage.servers if intent.storage is not None else ()):
        yield from against(("storage", "servers", index, "nodes"), servers.nodes)
    prefix = intent.compute.node_name.partition("{")[0].lower()
    ours = next((name for low, name in switches.items() if low.rstrip("0123456789") == prefix), None)
    if ours is not None and any(
        isinstance(block.nodes, int) for pod in intent.compute.pods for block in host_blocks(intent, pod)
    ):
        yield file.problem(
            ("compute", "node_name"), f"{intent.compute.node_name} makes names of switches ({ours})", "choose another"
        )


def _spots(compute: Compute, kind: HostClass) -> tuple[NicSpot, ...]:
    rails = nic_rails(kind)
    planes = compute.planes
    spots: list[NicSpot] = []

    def part(listed: list[str], nic: int, plane: int) -> str | None:
        if not listed:
            return None
        return listed[nic] if len(listed) == kind.nics else listed[nic * planes + plane]

    for nic, rail in enumerate(rails):
        for plane in range(planes):
            letter = PLANE_LETTERS[plane] if planes > 1 else ""
            tor = compute.attachment == "tor"
            spots.append(
                NicSpot(
                    name=f"rail{rail}{letter}",
                    rail=rail,
                    plane=plane,
                    leaf=nic % compute.tor_leaves if tor else rail,
                    child=nic // compute.tor_leaves if tor else 0,
                    speed_mbps=kind.speed // planes,
                    hca=part(kind.hca, nic, plane),
                    netdev=part(kind.netdev, nic, plane),
                    pci=part(kind.pci, nic, plane),
                )
            )
    return tuple(spots)


def _platforms(file: IntentFile, problems: list[Problem]) -> dict[str, Platform]:
    intent = file.intent
    places: dict[str, tuple[str | int, ...]] = {intent.compute.leaf.platform: ("compute", "leaf", "platform")}
    for tier in ("spine", "superspine"):
        shape = getattr(intent.compute, tier)
        if shape is not None:
            places.setdefault(shape.platform, ("compute", tier, "platform"))
    if intent.storage is not None:
        places.setdefault(intent.storage.platform, ("storage", "platform"))
    for name, override in intent.devices.items():
        if override.platform is not None:
            places.setdefault(override.platform, ("devices", name, "platform"))
    found: dict[str, Platform] = {}
    for key, where in places.items():
        try:
            found[key] = find_platform(key)
        except PlatformError as error:
            what, _, remedy = str(error).partition("; ")
            problems.append(file.problem(where, what, remedy))
    if intent.buffers_from is not None:
        try:
            find_platform(intent.buffers_from)
        except PlatformError as error:
            what, _, remedy = str(error).partition("; ")
            problems.append(file.problem(("buffers_from",), what, remedy))
    return found


def _speeds(
    file: IntentFile,
    platforms: Mapping[str, Platform],
    switches: Mapping[str, SwitchNode],
    spots: Mapping[str, tuple[NicSpot, ...]],
) -> Iterator[Problem]:
    """Every speed must exist at both ends of its links. The message lists the modes that exist (field case F013)."""
    intent = file.intent
    compute = intent.compute
    wanted: list[tuple[tuple[str | int, ...], int, Role]] = []
    for name, listed in spots.items():
        wanted.append((("classes", name, "speed"), listed[0].speed_mbps, Role.LEAF))
        store = intent.classes[name].storage
        if store is not None:
            wanted.append((("classes", name, "storage", "speed"), store.speed, Role.STORAGE))
    if compute.spine is not None:
        where = ("compute", "spine", "speed")
        wanted += [(where, compute.spine.speed, Role.LEAF), (where, compute.spine.speed, Role.SPINE)]
    if compute.superspine is not None:
        where = ("compute", "superspine", "speed")
        wanted += [(where, compute.superspine.speed, Role.SPINE), (where, compute.superspine.speed, Role.SUPERSPINE)]
    for index, servers in enumerate(intent.storage.servers if intent.storage is not None else ()):
        wanted.append((("storage", "servers", index, "speed"), servers.speed, Role.STORAGE))
    used: dict[Role, dict[str, str]] = {}
    for node in switches.values():
        used.setdefault(node.role, {}).setdefault(node.platform, node.name)
    for path, speed, role in wanted:
        for key in used.get(role, ()):
            try:
                platforms[key].mode_for(speed)
            except PlatformError as error:
                what, _, remedy = str(error).partition("; ")
                yield file.problem(path, what, remedy)
