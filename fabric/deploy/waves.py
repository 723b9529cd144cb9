"""In which order switches change: what may go together, and what must never be down together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fabric.change.impact import MIXED_HAZARD
from fabric.values.change import DeviceChange, Impact, Wave
from fabric.values.plan import Network, Plan, Role

# A canary, then growing shares of what is left (per cent of all switches in the class).
GROWTH = (0, 10, 30, 100)


def waves(plan: Plan, changes: Mapping[str, DeviceChange]) -> tuple[Wave, ...]:
    """Waves by impact class, mildest first.

    Hitless: a canary, then growing shares. Disruptive on a spine: one at a time in each plane, drained first. On a
    leaf: all leaves of one pod in one window, because each stops its rail for every node below. Storage switches: one
    at a time, never both. First provisioning of a fabric that carries nothing goes tier by tier.
    """
    active = {name: change for name, change in changes.items() if change.method != "none" and not change.refused}
    if not active:
        return ()
    if all(change.method == "reload" and not change.sessions_reset for change in active.values()) and len(
        active
    ) == len([switch for switch in plan.switches if switch in changes]):
        return _first(plan, active)
    mild = [name for name, change in active.items() if change.impact <= Impact.HITLESS]
    hard = [name for name, change in active.items() if change.impact > Impact.HITLESS]
    return (*_growing(plan, mild), *_disruptive(plan, hard, active))


def mixed_hazards(changes: Mapping[str, DeviceChange]) -> dict[str, list[str]]:
    """Reasons why a fabric half changed is worse than either, with the switches concerned."""
    found: dict[str, list[str]] = {}
    for name, change in changes.items():
        reasons = {MIXED_HAZARD[step.table] for step in change.steps if step.table in MIXED_HAZARD and step.before}
        reasons |= {
            "the MTU differs from box to box"
            for step in change.steps
            if step.table == "PORT" and step.field == "mtu" and step.before is not None
        }
        for reason in reasons:
            found.setdefault(reason, []).append(name)
    return found


def _first(plan: Plan, active: Mapping[str, DeviceChange]) -> tuple[Wave, ...]:
    order = (Role.SUPERSPINE, Role.SPINE, Role.LEAF, Role.STORAGE)
    found = []
    for role in order:
        names = tuple(name for name in active if plan.switches[name].role is role)
        if names:
            # Half a fabric has no sessions to check: the gate stands after the last tier.
            found.append(Wave(f"first provisioning: {role.value}", names, Impact.RELOADS_SWITCH, gate=False))
    if found:
        last = found[-1]
        found[-1] = Wave(last.name, last.devices, last.impact, gate=True)
    return tuple(found)


def _growing(plan: Plan, names: Sequence[str]) -> Iterable[Wave]:
    """Canary first: a spine when there is one, because a leaf's fault stops a rail."""
    left = sorted(names, key=lambda name: (plan.switches[name].role is Role.LEAF, list(plan.switches).index(name)))
    total, number = len(left), 0
    while left:
        share = GROWTH[min(number, len(GROWTH) - 1)]
        count = max(1, total * share // 100)
        batch, left = left[:count], left[count:]
        title = "hitless: canary" if number == 0 else f"hitless: {min(100, 100 * (total - len(left)) // total)} %"
        yield Wave(title, tuple(batch), Impact.HITLESS)
        number += 1


def _disruptive(plan: Plan, names: Sequence[str], changes: Mapping[str, DeviceChange]) -> Iterable[Wave]:
    spines = [name for name in names if plan.switches[name].role in (Role.SPINE, Role.SUPERSPINE)]
    storage = [name for name in names if plan.switches[name].network is Network.STORAGE]
    leaves = [name for name in names if name not in spines and name not in storage]
    planes: dict[tuple[str, int | None], list[str]] = {}
    for name in spines:
        if name in storage:
            continue
        switch = plan.switches[name]
        planes.setdefault((switch.role.value, switch.plane), []).append(name)
    for turn in range(max((len(group) for group in planes.values()), default=0)):
        batch = tuple(group[turn] for group in planes.values() if turn < len(group))
        worst = max(changes[name].impact for name in batch)
        yield Wave(f"one spine a plane: {', '.join(batch)}", batch, worst, drain=True)
    for name in storage:
        yield Wave(f"storage, one at a time: {name}", (name,), changes[name].impact, drain=True)
    pods: dict[int | None, list[str]] = {}
    for name in leaves:
        pods.setdefault(plan.switches[name].pod, []).append(name)
    for pod, group in pods.items():
        worst = max(changes[name].impact for name in group)
        yield Wave(f"leaves of pod {pod} in one window", tuple(group), worst)
