"""What must fit together in an intent, beyond the shape of each part. Platforms and pools are not looked at here."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fabric.errors import Problem
from fabric.intent.shapes import Compute, HostBlock, HostClass, Intent, Pod

if TYPE_CHECKING:
    from fabric.intent.load import IntentFile


def check(file: IntentFile) -> list[Problem]:
    """Every contradiction of the intent, none when it fits together."""
    intent = file.intent
    return [
        file.problem(path, what, remedy)
        for rule in (_tiers, _classes, _pods, _node_names, _management, _storage, _racks, _states)
        for path, what, remedy in rule(intent)
    ]


_Found = Iterator[tuple[tuple[Any, ...], str, str]]


def pod_numbers(compute: Compute) -> list[list[int]]:
    """The pod numbers each entry of `pods` stands for: its own `pod`, else the next after the highest so far."""
    numbers: list[list[int]] = []
    highest = 0
    for entry in compute.pods:
        first = entry.pod if entry.pod is not None else highest + 1
        numbers.append(list(range(first, first + entry.count)))
        highest = max(highest, first + entry.count - 1)
    return numbers


def host_blocks(intent: Intent, pod: Pod) -> list[HostBlock]:
    """The hosts of a pod as blocks: `nodes` first, then `hosts`, then `reserve`."""
    name = pod.host_class or (next(iter(intent.classes)) if len(intent.classes) == 1 else None)
    blocks: list[HostBlock] = []
    if pod.nodes is not None and name is not None:
        blocks.append(HostBlock.model_construct(nodes=pod.nodes, host_class=name, reserve=False, segment=None))
    blocks.extend(pod.hosts)
    if pod.reserve is not None and name is not None:
        blocks.append(HostBlock.model_construct(nodes=pod.reserve, host_class=name, reserve=True, segment=None))
    return blocks


def nic_rails(kind: HostClass) -> list[int]:
    """The rail of each NIC of a class, in PCI order."""
    return list(kind.rails) if kind.rails is not None else list(range(kind.nics))


def _tiers(intent: Intent) -> _Found:
    compute = intent.compute
    numbers = [number for listed in pod_numbers(compute) for number in listed]
    leaves = len(numbers)
    if compute.superspine is not None and compute.spine is None:
        yield ("compute", "superspine"), "there are super-spines but no spines", "add compute.spine"
    if compute.superspine is not None and compute.attachment == "rail-only":
        yield ("compute", "superspine"), "a rail-only fabric has no third tier", "remove superspine"
    if compute.spine is None and compute.attachment != "rail-only":
        segments = sum(pod.segments * pod.count for pod in compute.pods)
        switches = segments * (compute.tor_leaves if compute.attachment == "tor" else compute.rails)
        if switches > compute.planes:
            yield ("compute",), f"{switches} leaves and no spine to join them", "add compute.spine"
    if compute.attachment == "rail-only" and compute.spine is None and leaves > 1:
        yield ("compute",), "several pods of a rail-only fabric need spines for each rail", "add compute.spine"
    if compute.attachment != "tor" and "tor_leaves" in compute.model_fields_set:
        yield ("compute", "tor_leaves"), "tor_leaves belongs to attachment tor", "remove it"
    for tier in ("spine", "superspine"):
        shape = getattr(compute, tier)
        if shape is not None and shape.count == 0:
            yield ("compute", tier, "count"), "a tier of no switches", f"remove compute.{tier} or raise its count"


def _classes(intent: Intent) -> _Found:
    compute = intent.compute
    for name, kind in intent.classes.items():
        where: tuple[Any, ...] = ("classes", name)
        rails = nic_rails(kind)
        if len(rails) != kind.nics:
            yield (*where, "rails"), f"{len(rails)} rails for {kind.nics} NICs", "give one rail a NIC"
        if len(set(rails)) != len(rails):
            yield (*where, "rails"), "a rail stands twice", "each NIC has its own rail"
        wrong = [rail for rail in rails if not 0 <= rail < compute.rails]
        if wrong:
            where_rails = (*where, "rails") if kind.rails is not None else (*where, "nics")
            yield where_rails, f"rail {wrong[0]} does not exist; rails are 0 to {compute.rails - 1}", "correct it"
        if kind.speed % (compute.planes * 1000):
            yield (*where, "speed"), f"{kind.speed // 1000}G does not divide into {compute.planes} planes", "correct it"
        ports = kind.nics * compute.planes
        for part in ("hca", "netdev", "pci"):
            listed = getattr(kind, part)
            if listed and len(listed) not in {kind.nics, ports}:
                yield (*where, part), f"{len(listed)} names for {kind.nics} NICs", "give one a NIC, in rail order"
            if len(set(listed)) != len(listed):
                yield (*where, part), "a name stands twice", "each NIC has its own"
        store = kind.storage
        if store is not None:
            for part in ("hca", "netdev", "pci"):
                listed = getattr(store, part)
                if listed and len(listed) != store.nics:
                    yield (*where, "storage", part), f"{len(listed)} names for {store.nics} NICs", "give one a NIC"
                both = set(listed) & set(getattr(kind, part))
                if both and not (part == "hca" and len(listed) != len(set(listed))):
                    yield (*where, "storage", part), f"{sorted(both)[0]} is a rail NIC as well", "correct one of them"


def _pods(intent: Intent) -> _Found:
    compute = intent.compute
    seen: dict[int, int] = {}
    for index, (entry, numbers) in enumerate(zip(compute.pods, pod_numbers(compute), strict=True)):
        where: tuple[Any, ...] = ("compute", "pods", index)
        for number in numbers:
            if number in seen:
                yield where, f"pod {number} is also entry {seen[number]}", "give each pod its own number"
            seen[number] = index
        short = [key for key in ("nodes", "reserve") if getattr(entry, key) is not None]
        if short and entry.host_class is None and len(intent.classes) > 1:
            yield (*where, short[0]), "there are several classes", f"add class: one of {', '.join(intent.classes)}"
        if entry.host_class is not None and entry.host_class not in intent.classes:
            yield (*where, "class"), f"class {entry.host_class!r} does not exist", f"one of {', '.join(intent.classes)}"
        for place, block in enumerate(entry.hosts):
            if block.host_class not in intent.classes:
                what = f"class {block.host_class!r} does not exist"
                yield (*where, "hosts", place, "class"), what, f"one of {', '.join(intent.classes)}"
            if block.segment is not None and block.segment >= entry.segments:
                what = f"segment {block.segment} does not exist; segments are 0 to {entry.segments - 1}"
                yield (*where, "hosts", place, "segment"), what, "correct it"
        if entry.count > 1:
            named = [key for key in short if not isinstance(getattr(entry, key), int)]
            if named or any(not isinstance(block.nodes, int) for block in entry.hosts):
                yield where, "names for pods that are repeated", "give a number of nodes; names come from node_name"
        known = set(intent.classes)
        blocks = [block for block in host_blocks(intent, entry) if block.host_class in known]
        hosts = sum(block.nodes if isinstance(block.nodes, int) else len(block.nodes) for block in blocks)
        places = (entry.places or compute.places) * entry.segments
        if hosts > places:
            what = f"{hosts} hosts in {places} places"
            yield where, what, "raise places, or segments, or take another pod"


def _node_names(intent: Intent) -> _Found:
    seen: dict[str, str] = {}
    for index, entry in enumerate(intent.compute.pods):
        for key, nodes in named_hosts(entry):
            for name in nodes:
                where = ".".join(map(str, ("compute", "pods", index, *key)))
                # As DNS compares them: GPU001 and gpu001 are one name.
                if name.lower() in seen:
                    what = f"node {name} is also in {seen[name.lower()]}"
                    yield ("compute", "pods", index, *key), what, "keep one of them"
                    break
                seen[name.lower()] = where
    if intent.storage is not None:
        for index, servers in enumerate(intent.storage.servers):
            for name in servers.nodes:
                if name.lower() in seen:
                    what = f"{name} is also in {seen[name.lower()]}"
                    yield ("storage", "servers", index, "nodes"), what, "keep one of them"
                seen[name.lower()] = f"storage.servers.{index}"


def named_hosts(entry: Pod) -> Iterator[tuple[tuple[Any, ...], tuple[str, ...]]]:
    """Host names a pod's entry gives, with the keys they stand under."""
    for key in ("nodes", "reserve"):
        nodes = getattr(entry, key)
        if isinstance(nodes, tuple):
            yield (key,), nodes
    for place, block in enumerate(entry.hosts):
        if isinstance(block.nodes, tuple):
            yield ("hosts", place, "nodes"), block.nodes


def _management(intent: Intent) -> _Found:
    management = intent.management
    network = ipaddress.ip_network(management.network)
    for part in ("switches", "hosts"):
        value = getattr(management, part)
        if value is not None and not ipaddress.ip_network(value).subnet_of(network):  # type: ignore[arg-type]
            yield ("management", part), f"{value} is outside of {network}", "take a part of the management network"
    given: list[tuple[tuple[Any, ...], str]]
    given = [(("management", "gateway"), management.gateway)] if management.gateway is not None else []
    given += [
        (("devices", name, "mgmt_address"), entry.mgmt_address)
        for name, entry in intent.devices.items()
        if entry.mgmt_address is not None
    ]
    for where, text in given:
        address = ipaddress.ip_address(text)
        if address not in network:
            yield where, f"{text} is outside of {network}", "take one of management.network"
        elif network.prefixlen < 31 and address in (network.network_address, network.broadcast_address):
            yield where, f"{text} is the first or last address of {network}", "take one in between"
        elif text == management.gateway and where[0] == "devices":
            yield where, f"{text} is the gateway's", "take another"


def _storage(intent: Intent) -> _Found:
    storage = intent.storage
    wanting = [name for name, kind in intent.classes.items() if kind.storage is not None]
    if storage is None:
        for name in wanting:
            yield ("classes", name, "storage"), "there is no storage network", "add storage: or remove this"
        return
    for part in ("node_pools", "server_pools"):
        pools = getattr(storage, part)
        needed = bool(wanting) if part == "node_pools" else bool(storage.servers)
        if needed and len(pools) != storage.switches:
            yield ("storage", part), f"{len(pools)} pools for {storage.switches} switches", "give one pool a switch"


def _racks(intent: Intent) -> _Found:
    seen: dict[str, str] = {}
    spots: dict[tuple[int, int], str] = {}
    for name, rack in intent.racks.places.items() if intent.racks is not None else ():
        other = spots.setdefault((rack.row, rack.column), name)
        if other != name:
            yield ("racks", "places", name), f"stands where {other} stands", "correct row or column"
        for device in rack.devices:
            if device in seen:
                yield (
                    ("racks", "places", name, "devices"),
                    f"{device} is also in rack {seen[device]}",
                    "keep one of them",
                )
            seen[device] = name
    units: dict[tuple[str, int], str] = {}
    for device, override in intent.devices.items():
        if override.rack is not None and seen.get(device, override.rack) != override.rack:
            yield ("devices", device, "rack"), f"{device} is also in rack {seen[device]}", "keep one of them"
        rack_of = override.rack or seen.get(device)
        if rack_of is not None and override.unit is not None:
            other = units.setdefault((rack_of, override.unit), device)
            if other != device:
                what = f"unit {override.unit} of rack {rack_of} is {other}'s"
                yield ("devices", device, "unit"), what, "correct one of them"


def _states(intent: Intent) -> _Found:
    numbers = {number for listed in pod_numbers(intent.compute) for number in listed}
    for index, entry in enumerate(intent.states):
        for pod in entry.pods or ():
            if pod not in numbers:
                yield ("states", index, "pods"), f"pod {pod} does not exist", "correct it"
        known = set(intent.racks.places) if intent.racks is not None else set()
        known |= {override.rack for override in intent.devices.values() if override.rack is not None}
        for rack in entry.racks or ():
            if rack not in known:
                yield ("states", index, "racks"), f"rack {rack} does not exist", "correct it, or add it to racks"
        for key in ("cables", "ports", "optics"):
            for text in getattr(entry, key) or ():
                ends = text.split("--")
                if len(ends) != (2 if key == "cables" else 1) or not all(end.count(":") == 1 for end in ends):
                    form = "DEV:PORT--DEV:PORT" if key == "cables" else "DEV:PORT"
                    yield ("states", index, key), f"{text!r} names no {key[:-1]}", f"write {form}"
