"""In which order switches change: what may go together, what must never be down together, who loses by it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from fabric.change.impact import MIXED_HAZARD
from fabric.values.change import DeviceChange, Impact, Wave
from fabric.values.plan import LifeState, Network, Plan, PortUse, Role

# A canary, then growing shares of what is left (per cent of all switches in the class).
GROWTH = (0, 10, 30, 100)
_TIERS = (Role.SUPERSPINE, Role.SPINE, Role.LEAF, Role.STORAGE)


def waves(
    plan: Plan,
    changes: Mapping[str, DeviceChange],
    *,
    spare_spines: int | None = None,
    spare_uplinks: int | None = None,
    down: Collection[str] = (),
) -> tuple[Wave, ...]:
    """Waves by impact class, mildest first.

    Boxes that carry nothing yet come first, tier by tier. Hitless: a canary, then growing shares. Disruptive on a
    spine: one at a time in each plane, drained first, never more than are spare (`spare_spines` of the design; `down`
    are out already). On a leaf: all leaves of a pod in one window, because each stops its rail for every node below;
    one that loses no more uplinks than are spare (`spare_uplinks`) stops nobody and goes alone. Storage switches: one
    at a time, never both.
    """
    active = {name: change for name, change in changes.items() if change.method != "none" and not change.refused}
    fresh = [name for name, change in active.items() if carries_nothing(change)]
    rest = {name: change for name, change in active.items() if name not in fresh}
    mild = [name for name, change in rest.items() if change.impact <= Impact.HITLESS]
    hard = [name for name, change in rest.items() if change.impact > Impact.HITLESS]
    return (
        *_fresh(plan, fresh),
        *_growing(plan, mild),
        *_disruptive(plan, hard, rest, spare_spines, spare_uplinks, down),
    )


def carries_nothing(change: DeviceChange) -> bool:
    """A first provisioning: the switch has no session to lose, so a reload costs nobody anything."""
    return change.method == "reload" and not change.sessions_reset


def hazards(changes: Mapping[str, DeviceChange]) -> dict[str, tuple[str, ...]]:
    """Why a fabric half changed is worse than either half, with the switches concerned."""
    found: dict[str, list[str]] = {}
    for name, change in changes.items():
        if change.method == "none" or change.refused or carries_nothing(change):
            continue
        reasons = {MIXED_HAZARD[step.table] for step in change.steps if step.table in MIXED_HAZARD and step.before}
        reasons |= {
            "the MTU differs from box to box"
            for step in change.steps
            if step.table == "PORT" and step.field == "mtu" and step.before is not None
        }
        for reason in sorted(reasons):
            found.setdefault(reason, []).append(name)
    return {reason: tuple(names) for reason, names in found.items()}


def refusals(
    waves_: Iterable[Wave],
    hazards_: Mapping[str, tuple[str, ...]],
    *,
    hosts: Collection[str],
    idle: Collection[str] = (),
    accepted: Collection[str] = (),
    accept_mixed: bool = False,
) -> list[str]:
    """Why a plan may not be applied as things are: running jobs would be hit. Empty when it may.

    `idle` are nodes without a job, `accepted` switches whose impact somebody takes on, `hosts` all nodes in service.
    """
    found = []
    for wave in waves_:
        left = [name for name in wave.devices if name not in accepted]
        busy = [node for node in wave.nodes if node not in idle]
        if left and busy:
            found.append(
                f"{wave.name}: {wave.why}; {_some(busy)} may be running a job: give --idle-nodes (from the scheduler), "
                f"or --accept-impact for {', '.join(left)}"
            )
    busy = [node for node in hosts if node not in idle]
    if hazards_ and busy and not accept_mixed:
        for reason, names in hazards_.items():
            found.append(
                f"while it rolls over {_some(names)}, {reason}: give --idle-nodes for the whole fabric, make it two "
                "compatible steps, or --accept-mixed"
            )
    return found


def _fresh(plan: Plan, names: Sequence[str]) -> Iterable[Wave]:
    for role in _TIERS:
        tier = tuple(name for name in names if plan.switches[name].role is role)
        if tier:
            # Sessions come up only when both ends are there, so health is for the end of the run.
            yield Wave(f"first provisioning: {role.value}", tier, Impact.RELOADS_SWITCH, gate=False, fresh=True)


def _growing(plan: Plan, names: Sequence[str]) -> Iterable[Wave]:
    """Canary first: a spine when there is one, because a leaf's fault stops a rail."""
    places = {name: place for place, name in enumerate(plan.switches)}
    left = sorted(names, key=lambda name: (plan.switches[name].role is Role.LEAF, places[name]))
    total, number = len(left), 0
    while left:
        share = GROWTH[min(number, len(GROWTH) - 1)]
        count = max(1, total * share // 100)
        batch, left = left[:count], left[count:]
        title = "hitless: canary" if number == 0 else f"hitless: {100 * (total - len(left)) // total} %"
        yield Wave(title, tuple(batch), Impact.HITLESS)
        number += 1


def _disruptive(
    plan: Plan,
    names: Sequence[str],
    changes: Mapping[str, DeviceChange],
    spare_spines: int | None,
    spare_uplinks: int | None,
    down: Collection[str],
) -> Iterable[Wave]:
    storage = [name for name in names if plan.switches[name].network is Network.STORAGE]
    spines = [
        name for name in names if plan.switches[name].role in (Role.SPINE, Role.SUPERSPINE) and name not in storage
    ]
    leaves = [name for name in names if name not in spines and name not in storage]
    yield from _spines(plan, spines, changes, spare_spines, down)
    for name in storage:
        wave = Wave(f"storage, one at a time: {name}", (name,), changes[name].impact, drain=True)
        yield wave
    hit = {name: nodes_hit(plan, changes[name], spare_uplinks) for name in leaves}
    for name in leaves:
        if not hit[name]:
            yield Wave(f"leaf with uplinks to spare: {name}", (name,), changes[name].impact)
    pods: dict[int | None, list[str]] = {}
    for name in leaves:
        if hit[name]:
            pods.setdefault(plan.switches[name].pod, []).append(name)
    for pod, group in pods.items():
        worst = max(changes[name].impact for name in group)
        nodes = tuple(dict.fromkeys(node for name in group for node in hit[name]))
        rails = sorted({rail for name in group if (rail := plan.switches[name].rail) is not None})
        why = f"it stops rail {', '.join(map(str, rails))} of {len(nodes)} nodes, and a leaf cannot be drained"
        yield Wave(f"leaves of pod {pod} in one window", tuple(group), worst, nodes=nodes, why=why)


def _spines(
    plan: Plan,
    spines: Sequence[str],
    changes: Mapping[str, DeviceChange],
    spare: int | None,
    down: Collection[str],
) -> Iterable[Wave]:
    planes: dict[tuple[str, int | None], list[str]] = {}
    for name in spines:
        switch = plan.switches[name]
        planes.setdefault((switch.role.value, switch.plane), []).append(name)
    out = [
        name
        for name, switch in plan.switches.items()
        if switch.role is Role.SPINE
        and switch.network is Network.COMPUTE
        and (name in down or switch.state is LifeState.OUT_OF_SERVICE)
    ]
    left = None if spare is None else spare - len(out)
    for turn in range(max((len(group) for group in planes.values()), default=0)):
        batch = [group[turn] for group in planes.values() if turn < len(group)]
        size = len(batch) if left is None or left <= 0 else max(1, min(left, len(batch)))
        if left is not None and left <= 0:
            size = 1
        for start in range(0, len(batch), size):
            part = tuple(batch[start : start + size])
            worst = max(changes[name].impact for name in part)
            wave = Wave(f"one spine a plane: {', '.join(part)}", part, worst, drain=True)
            if left is not None and left < len(part):
                gone = f", and {', '.join(out)} {'is' if len(out) == 1 else 'are'} out" if out else ""
                wave = replace(
                    wave,
                    nodes=compute_nodes(plan),
                    why=f"the design has {spare} spines to spare{gone}: without this one leaves lose bandwidth",
                )
            yield wave


def compute_nodes(plan: Plan) -> tuple[str, ...]:
    """Hosts in service with a NIC on the compute fabric."""
    return tuple(
        name
        for name, host in plan.hosts.items()
        if host.state is LifeState.IN_SERVICE and any(nic.network is Network.COMPUTE for nic in host.nics.values())
    )


def nodes_hit(plan: Plan, change: DeviceChange, spare_uplinks: int | None) -> tuple[str, ...]:
    """Hosts in service that lose a rail while this leaf changes: all below it when it reloads, restarts bgp or loses
    more uplinks than are spare; else those on host ports that flap."""
    switch = plan.switches[change.device]
    lost = {
        port.name
        for port in switch.ports.values()
        if port.use is PortUse.FABRIC
        and (
            port.name in change.ports_flapped
            or port.name in change.sessions_reset
            or any(address.partition("/")[0] in change.sessions_reset for address in port.peer_addresses)
        )
    }
    below = [
        (name, nic.switch_port)
        for name, host in plan.hosts.items()
        if host.state is LifeState.IN_SERVICE
        for nic in host.nics.values()
        if nic.switch == change.device
    ]
    if change.impact >= Impact.RESTARTS_BGP or len(lost) > (spare_uplinks or 0):
        return tuple(dict.fromkeys(name for name, _ in below))
    return tuple(dict.fromkeys(name for name, port in below if port in change.ports_flapped))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:4])} and {len(names) - 4} more"
