"""What a picture shows, without where: blocks of hosts under their leaves, boxes above, cables between.

A block is a segment: its leaves are columns, its hosts rows, and each cell is one host cable, so that a rail is a
vertical line and a host a horizontal one. Above stand the spines, one box each. Fabrics that are too large are
folded, and say so: alike hosts into one row, alike segments into small boxes, the spines of a group into one box.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fabric.cabling.rows import natural
from fabric.values.plan import HostPlan, LifeState, Network, Plan, PlannedCable, PlannedNic, Role, SwitchPlan

# Up to these numbers everything is drawn one by one.
MAX_ROWS, MAX_BLOCKS, MAX_UPPERS, MAX_CABLES = 320, 8, 32, 2500
# Blocks that are drawn in full at most, after folding.
MOST_BLOCKS = 12
WORDS = {
    Role.LEAF: "leaves",
    Role.SPINE: "spines",
    Role.SUPERSPINE: "super-spines",
    Role.STORAGE: "storage switches",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One leaf or storage switch above the cells of a block. `copy` marks one that stands in another block too."""

    switch: str
    rail: int | None
    plane: int | None
    network: Network
    state: LifeState
    copy: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One host, or `count` alike hosts in one row; `names` is their folded list."""

    names: str
    count: int
    state: LifeState
    reserve: bool
    host_class: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One host cable (or, in a folded row, one a host): where it stands, and what a reader sees of it."""

    row: int
    column: int
    slot: int
    slots: int
    devices: str
    title: str
    short: str
    rail: int | None
    state: LifeState


@dataclass(frozen=True, slots=True)
class Block:
    """Hosts and the switches they are cabled to."""

    key: tuple[int | None, int | None]
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Chip:
    """What is not drawn in full: a segment or a group of spines as one small box, so that its names can be found."""

    label: str
    devices: str
    title: str


@dataclass(frozen=True, slots=True)
class Box:
    """A switch above the leaves, or a folded group of them. `devices` is the folded list of names."""

    key: str
    label: str
    devices: str
    count: int
    role: Role
    pod: int | None
    plane: int | None
    rail: int | None
    state: LifeState
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """A fabric cable, or `cables` of them in one stroke, between two drawn things (switch or box keys)."""

    lower: str
    upper: str
    cables: int
    devices: str
    title: str
    label: str
    rail: int | None
    state: LifeState


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything of one picture. `tiers` are the boxes above the leaves, lowest tier first."""

    name: str
    subtitle: str
    blocks: tuple[Block, ...]
    tiers: tuple[tuple[Box, ...], ...]
    lines: tuple[Line, ...]
    rails: int
    chips: tuple[Chip, ...] = ()
    folded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def fold_names(names: Iterable[str]) -> str:
    """Names in Slurm's short form: gpu[001-050,060]."""
    from hostlist import collect_hostlist

    folded: str = collect_hostlist(list(names))
    return folded


@dataclass(slots=True)
class _Draft:
    plan: Plan
    folded: list[str] = field(default_factory=list)
    drawn: dict[str, str] = field(default_factory=dict)


def scene_of(plan: Plan, pod: int | None = None) -> Scene:
    """The scene of a Plan, of one pod where given (with the switches it is cabled to)."""
    draft = _Draft(plan)
    hosts = [host for host in plan.hosts.values() if pod is None or host.pod == pod]
    fold_rows = len(hosts) > MAX_ROWS
    if fold_rows:
        draft.folded.append("alike hosts of a segment stand in one row")
    blocks, chips = _alike(draft, _blocks(draft, hosts, pod, fold_rows))
    for block in blocks:
        for column in block.columns:
            draft.drawn.setdefault(column.switch, column.switch)
    tiers = _tiers(draft, blocks)
    lines = _lines(draft)
    if chips:
        chips.extend(_upper_chips(draft))
    rails = {cell.rail for block in blocks for cell in block.cells if cell.rail is not None}
    return Scene(
        name=plan.name if pod is None else f"{plan.name}, pod {pod}",
        subtitle=_subtitle(plan),
        blocks=tuple(blocks),
        tiers=tiers,
        lines=lines,
        rails=max(rails, default=-1) + 1,
        chips=tuple(chips),
        folded=tuple(draft.folded),
        notes=plan.notes,
    )


def _subtitle(plan: Plan) -> str:
    roles: dict[Role, int] = defaultdict(int)
    for switch in plan.switches.values():
        roles[switch.role] += 1
    counted = [f"{roles[role]:,} {word}" for role, word in WORDS.items() if roles[role]]
    live = sum(not host.reserve for host in plan.hosts.values())
    reserve = len(plan.hosts) - live
    hosts = f"{live:,} hosts" + (f" and {reserve:,} reserve places" if reserve else "")
    return ", ".join([*counted, hosts, f"{len(plan.cables):,} cables"])


def _blocks(draft: _Draft, hosts: Iterable[HostPlan], pod: int | None, fold_rows: bool) -> list[Block]:
    plan = draft.plan
    leaves: dict[tuple[int | None, int | None], list[SwitchPlan]] = defaultdict(list)
    for switch in plan.switches.values():
        if switch.role is Role.LEAF and (pod is None or switch.pod == pod):
            leaves[(switch.pod, switch.segment)].append(switch)
    members: dict[tuple[int | None, int | None], list[HostPlan]] = {key: [] for key in leaves}
    for host in hosts:
        members.setdefault(_home(plan, host), []).append(host)
    counts = Counter(key[0] for key in leaves)
    several = {number for number, count in counts.items() if count > 1}
    used: set[str] = set()
    blocks = []
    for key in sorted(members, key=lambda key: (key[0] is None, key[0] or 0, key[1] or 0)):
        title = "storage, servers" if key[0] is None else f"pod {key[0]}"
        if key[0] in several:
            title += f", segment {key[1]}"
        blocks.append(_block(draft, key, title, leaves.get(key, []), members[key], used, fold_rows))
    return blocks


def _home(plan: Plan, host: HostPlan) -> tuple[int | None, int | None]:
    for nic in host.nics.values():
        if nic.network is Network.COMPUTE:
            switch = plan.switches.get(nic.switch)
            if switch is not None:
                return (switch.pod, switch.segment)
    return (None, None)


def _block(
    draft: _Draft,
    key: tuple[int | None, int | None],
    title: str,
    leaves: list[SwitchPlan],
    hosts: list[HostPlan],
    used: set[str],
    fold_rows: bool,
) -> Block:
    plan = draft.plan
    leaves = sorted(leaves, key=lambda leaf: (leaf.rail or 0, leaf.plane or 0, leaf.index))
    touched = {nic.switch for host in hosts for nic in host.nics.values()} - {leaf.name for leaf in leaves}
    others = [plan.switches[name] for name in sorted(touched, key=natural) if name in plan.switches]
    columns = tuple(
        Column(switch.name, switch.rail, switch.plane, switch.network, switch.state, switch.name in used)
        for switch in (*leaves, *others)
    )
    used.update(touched)
    place = {column.switch: number for number, column in enumerate(columns)}
    ordered = sorted(hosts, key=lambda host: (host.reserve, host.place, natural(host.name)))
    groups = _rows(ordered, fold_rows)
    rows: list[Row] = []
    cells: list[Cell] = []
    for number, group in enumerate(groups):
        first = group[0]
        names = fold_names([host.name for host in group])
        rows.append(Row(names, len(group), first.state, first.reserve, first.host_class))
        cells.extend(_cells(plan, number, group, names, place))
    return Block(key, title, columns, tuple(rows), tuple(cells))


def _rows(hosts: list[HostPlan], fold: bool) -> list[list[HostPlan]]:
    groups: list[list[HostPlan]] = []
    for host in hosts:
        last = groups[-1][0] if groups else None
        if (
            fold
            and last is not None
            and (last.host_class, last.state, last.reserve) == (host.host_class, host.state, host.reserve)
            and list(last.nics) == list(host.nics)
        ):
            groups[-1].append(host)
        else:
            groups.append([host])
    return groups


def _cells(plan: Plan, row: int, group: list[HostPlan], names: str, place: Mapping[str, int]) -> Iterable[Cell]:
    host = group[0]
    slots: dict[str, list[PlannedNic]] = defaultdict(list)
    for nic in host.nics.values():
        if nic.switch in place:
            slots[nic.switch].append(nic)
    for switch, nics in slots.items():
        for slot, nic in enumerate(nics):
            port = plan.port(nic.switch, nic.switch_port)
            alias = port.alias if port else ""
            if len(group) == 1:
                title = _host_title(plan, host, nic, alias)
            else:
                title = f"{names}: {len(group)} hosts\n{nic.name} on {switch}, {nic.speed_mbps // 1000}G each"
            yield Cell(
                row=row,
                column=place[switch],
                slot=slot,
                slots=len(nics),
                devices=f"{names} {switch}",
                title=title,
                short=alias.split("(")[0] if len(group) == 1 else f"{len(group)} x {nic.speed_mbps // 1000}G",
                rail=nic.rail,
                state=nic.state if nic.state is not LifeState.IN_SERVICE else host.state,
            )


def _host_title(plan: Plan, host: HostPlan, nic: PlannedNic, alias: str) -> str:
    near = f"{nic.name} ({nic.hca})" if nic.hca else nic.name
    cable = plan.cables.get(nic.cable or "")
    length = f", {cable.length_m} m" if cable else ""
    state = (cable.state if cable else nic.state).value
    return f"{host.name} {near}\n{nic.switch} {nic.switch_port} {alias}\n{nic.speed_mbps // 1000}G{length}, {state}"


def _alike(draft: _Draft, blocks: list[Block]) -> tuple[list[Block], list[Chip]]:
    """Where there are too many blocks, draw one of each look in full and the others as chips."""
    if len(blocks) <= MAX_BLOCKS:
        return blocks, []
    kept: dict[tuple[object, ...], Block] = {}
    chips: list[Chip] = []
    for block in blocks:
        look = (
            tuple((column.rail, column.plane, column.network, column.state) for column in block.columns),
            tuple((row.count, row.state, row.reserve, row.host_class) for row in block.rows),
        )
        model = kept.get(look)
        if model is None and len(kept) < MOST_BLOCKS:
            kept[look] = block
        else:
            chips.append(_chip(block, model))
    draft.folded.append(f"{len(chips):,} segments stand as small boxes; --pod N draws the segments of one pod")
    return list(kept.values()), chips


def _chip(block: Block, model: Block | None) -> Chip:
    hosts = [row.names for row in block.rows]
    leaves = fold_names(column.switch for column in block.columns)
    count = sum(row.count for row in block.rows)
    same = f"\nlooks like {model.title}" if model else ""
    return Chip(
        label=block.title.replace(",", ""),
        devices=" ".join([*hosts, leaves]),
        title=f"{block.title}: {count} hosts {', '.join(hosts)}\nleaves {leaves}{same}",
    )


def _upper_chips(draft: _Draft) -> list[Chip]:
    """Spines and super-spines that no drawn leaf is cabled to, one chip a group."""
    groups: dict[tuple[Role, int | None, int | None], list[str]] = defaultdict(list)
    for switch in draft.plan.switches.values():
        if switch.role in (Role.SPINE, Role.SUPERSPINE) and switch.name not in draft.drawn:
            groups[(switch.role, switch.pod, switch.plane)].append(switch.name)
    chips = []
    for (role, pod, plane), names in groups.items():
        place = (f"pod {pod} " if pod is not None else "") + (f"plane {plane} " if plane is not None else "")
        folded = fold_names(names)
        chips.append(Chip(f"{place}{WORDS[role]}", folded, f"{place}{WORDS[role]}: {len(names)}\n{folded}"))
    return chips


def _tiers(draft: _Draft, blocks: list[Block]) -> tuple[tuple[Box, ...], ...]:
    """Boxes of each tier above what is drawn, folded by group where there are too many."""
    plan = draft.plan
    above: dict[str, set[str]] = defaultdict(set)
    for cable in plan.cables.values():
        if cable.a_device in plan.switches and cable.b_device in plan.switches:
            above[cable.a_device].add(cable.b_device)
            above[cable.b_device].add(cable.a_device)
    level = {column.switch for block in blocks for column in block.columns}
    tiers = []
    for role in (Role.SPINE, Role.SUPERSPINE):
        names = {peer for name in level for peer in above.get(name, ()) if plan.switches[peer].role is role}
        if not names:
            continue
        switches = sorted(
            (plan.switches[name] for name in names), key=lambda s: (s.pod or 0, s.plane or 0, natural(s.name))
        )
        tiers.append(tuple(_boxes(draft, switches)))
        level = names
    return tuple(tiers)


def _boxes(draft: _Draft, switches: list[SwitchPlan]) -> Iterable[Box]:
    fold = len(switches) > MAX_UPPERS
    groups: dict[tuple[object, ...], list[SwitchPlan]] = defaultdict(list)
    for switch in switches:
        groups[(switch.pod, switch.plane, switch.rail) if fold else (switch.name,)].append(switch)
    if fold:
        where = "one box" if len(groups) == 1 else f"{len(groups)} boxes"
        draft.folded.append(f"{len(switches):,} {WORDS[switches[0].role]} stand in {where}")
    for members in groups.values():
        first = members[0]
        names = fold_names([switch.name for switch in members])
        key = first.name
        for switch in members:
            draft.drawn[switch.name] = key
        place = "".join(
            f", {word} {value}"
            for word, value in (("pod", first.pod), ("plane", first.plane), ("rail", first.rail))
            if value is not None
        )
        count = f"{len(members)} {WORDS[first.role]}" if len(members) > 1 else first.role.value
        yield Box(
            key=key,
            label=first.name if len(members) == 1 else count,
            devices=names,
            count=len(members),
            role=first.role,
            pod=first.pod,
            plane=first.plane,
            rail=first.rail,
            state=first.state,
            title=f"{names}: {count}{place}\n{first.hwsku}, AS {first.asn}",
        )


def _lines(draft: _Draft) -> tuple[Line, ...]:
    plan, drawn = draft.plan, draft.drawn
    wanted = [
        cable
        for cable in plan.cables.values()
        if cable.a_device in drawn
        and cable.b_device in drawn
        and cable.a_device in plan.switches
        and cable.b_device in plan.switches
    ]
    single = len(wanted) <= MAX_CABLES and all(drawn[name] == name for name in drawn)
    groups: dict[tuple[str, ...], list[PlannedCable]] = defaultdict(list)
    for cable in wanted:
        ends = _ordered(plan, cable)
        key = (cable.name,) if single else (drawn[ends[0]], drawn[ends[1]])
        groups[key].append(cable)
    return tuple(_line(draft, members) for members in groups.values())


def _ordered(plan: Plan, cable: PlannedCable) -> tuple[str, str]:
    rank = {Role.LEAF: 0, Role.STORAGE: 0, Role.SPINE: 1, Role.SUPERSPINE: 2}
    a, b = plan.switches[cable.a_device], plan.switches[cable.b_device]
    return (a.name, b.name) if rank[a.role] <= rank[b.role] else (b.name, a.name)


def _line(draft: _Draft, cables: list[PlannedCable]) -> Line:
    plan = draft.plan
    lower, upper = _ordered(plan, cables[0])
    first = cables[0]
    devices = {device for cable in cables for device in (cable.a_device, cable.b_device)}
    titles = [_cable_title(plan, cable) for cable in cables[:8]]
    if len(cables) > 8:
        titles = [f"{len(cables):,} cables of {first.speed_mbps // 1000}G, such as", *titles[:2]]
    states = {cable.state for cable in cables}
    return Line(
        lower=draft.drawn[lower],
        upper=draft.drawn[upper],
        cables=len(cables),
        devices=" ".join(sorted(devices)) if len(devices) <= 16 else f"{lower} {upper}",
        title="\n".join(titles),
        label=f"{len(cables):,} x {first.speed_mbps // 1000}G" if len(cables) > 1 else "",
        rail=plan.switches[lower].rail,
        state=states.pop() if len(states) == 1 else LifeState.IN_SERVICE,
    )


def _cable_title(plan: Plan, cable: PlannedCable) -> str:
    ends = []
    for device, name in ((cable.a_device, cable.a_port), (cable.b_device, cable.b_port)):
        port = plan.port(device, name)
        ends.append(f"{device} {name} {port.alias if port else ''}".rstrip())
    return f"{ends[0]} - {ends[1]}, {cable.speed_mbps // 1000}G, {cable.length_m} m, {cable.state.value}"
