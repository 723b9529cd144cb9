"""Drift: what a switch runs against what it must run. Quiet when only rows that are not ours have moved. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabric.deploy.preflight import other_release
from fabric.deploy.reading import Reading
from fabric.deploy.report import WORDS, groups, shown_names, shown_step, step_document
from fabric.values.change import ChangePlan, DeviceChange
from fabric.values.plan import Plan


@dataclass(frozen=True, slots=True)
class Drift:
    """A fabric's drift. `wrong` holds release, platform and identity by switch."""

    plan: ChangePlan
    wrong: Mapping[str, tuple[str, ...]]


def drift(plan: Plan, change_plan: ChangePlan, readings: Mapping[str, Reading]) -> Drift:
    """Configuration and routing from the plan's differences; release and platform from what each switch says."""
    wrong: dict[str, tuple[str, ...]] = {}
    for name, reading in readings.items():
        switch, state = plan.switches[name], reading.state
        found = []
        if other_release(state.release, plan.release):
            found.append(f"runs SONiC {state.release}, the intent is for {plan.release}")
        if state.onie_platform and switch.onie_platform and state.onie_platform != switch.onie_platform:
            found.append(f"is a {state.onie_platform}, the intent says {switch.onie_platform}")
        change = change_plan.changes.get(name)
        if change is not None and change.refused and "another box" in change.refused:
            found.append(change.refused)
        if found:
            wrong[name] = tuple(found)
    return Drift(change_plan, wrong)


def drifted(found: Drift) -> list[str]:
    """Switches that drifted."""
    return [name for name, change in found.plan.changes.items() if change.steps or name in found.wrong]


def exit_code(found: Drift, strict: bool = False) -> int:
    """1 on drift (or, with `strict`, on state held by hand), 2 when a switch could not be read, 0 otherwise."""
    held = any(change.held for change in found.plan.changes.values())
    if drifted(found) or (strict and held):
        return 1
    return 2 if found.plan.unreachable else 0


def drift_document(found: Drift) -> dict[str, Any]:
    """`railfab.drift/1`."""
    names = drifted(found)
    devices = [
        {
            "name": name,
            "status": "drift" if name in names else "held" if change.held else "as-intended",
            "changes": [step_document(step) for step in change.steps],
            "error": None,
            "wrong": list(found.wrong.get(name, ())),
            "held": [{"item": held.item, "observed": held.observed, "reason": held.reason} for held in change.held],
            "foreign": list(change.foreign),
        }
        for name, change in found.plan.changes.items()
    ]
    devices += [
        {"name": name, "status": "unreachable", "changes": [], "error": reason, "wrong": [], "held": [], "foreign": []}
        for name, reason in found.plan.unreachable.items()
    ]
    return {
        "schema": "railfab.drift/1",
        "fabric": found.plan.fabric,
        "devices": devices,
        "summary": {
            "devices": len(devices),
            "drift": len(names),
            "held": sum(bool(change.held) for change in found.plan.changes.values()),
            "unreachable": len(found.plan.unreachable),
        },
    }


def drift_text(found: Drift, *, verbose: bool = False) -> str:
    """For a terminal: equal drift once, with the switches it hits."""
    names = drifted(found)
    total = len(found.plan.changes)
    lines = [f"{found.plan.fabric}: {len(names)} of {total} switches drifted" if names else
             f"{found.plan.fabric}: {total} switches run what the intent says"]  # fmt: skip
    for name, reasons in found.wrong.items():
        lines += [f"{name}  {reason}" for reason in reasons]
    changed: list[DeviceChange] = [change for change in found.plan.changes.values() if change.steps]
    for devices, change in groups(changed):
        lines.append(f"{shown_names(devices)}  [to put it right: {WORDS[change.impact]}]")
        limit = len(change.steps) if verbose else 20
        lines += [f"  {shown_step(step)}" for step in change.steps[:limit]]
        if len(change.steps) > limit:
            lines.append(f"  and {len(change.steps) - limit} more (-v shows all)")
    for name, change in found.plan.changes.items():
        lines += [f"HELD {name}:{one.item}: {one.observed} ({one.reason})" for one in change.held]
        lines += [f"FOREIGN {name}: {row}" for row in change.foreign]
    lines += [f"NOT READ {name}: {reason}" for name, reason in found.plan.unreachable.items()]
    return "\n".join(lines) + "\n"
