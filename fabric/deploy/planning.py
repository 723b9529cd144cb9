"""From what runs and what must be to a ChangePlan. Pure but for the clock, which is an argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from fabric.change import Hold, compute, digest
from fabric.change.frr_diff import frr_diff
from fabric.deploy import host_side
from fabric.deploy.preflight import identity
from fabric.deploy.reading import Reading
from fabric.deploy.waves import hazards, waves
from fabric.values.change import ChangePlan, DeviceChange, Impact, Step
from fabric.values.codec import plain
from fabric.values.device_config import DeviceConfig, Tables
from fabric.values.plan import Network, Plan

# (switch, CONFIG_DB before, CONFIG_DB after) -> why the result must not be sent, or None.
Judge = Callable[[str, Tables, Tables], str | None]


def make_plan(
    plan: Plan,
    desired: Mapping[str, DeviceConfig],
    readings: Mapping[str, Reading],
    *,
    intent: str,
    now: float,
    unreachable: Mapping[str, str] | None = None,
    holds: Sequence[Hold] = (),
    release: Mapping[str, Iterable[str]] | None = None,
    by_reload: Iterable[str] = (),
    judge: Judge | None = None,
    hosts: Mapping[str, tuple[str, ...]] | None = None,
    first_hosts: bool = False,
) -> ChangePlan:
    """Compare every switch that was read with what it must be.

    `release` names state made by hand to be undone, by switch; a plan with it holds nothing else. `by_reload` are
    switches for which a reload is accepted where a patch would be too large. `judge` sees the whole result of each
    change before anything is sent and may refuse it. `hosts` are host files that go with it (`first_hosts`: no push has
    gone with any yet).
    """
    releases = {name: frozenset(items) for name, items in (release or {}).items()}
    reload_for = frozenset(by_reload)
    changes: dict[str, DeviceChange] = {}
    notes: list[str] = []
    for name, reading in readings.items():
        if releases and name not in releases:
            continue
        change = compute(
            desired[name],
            reading.config,
            mark=reading.mark,
            holds=holds,
            release=releases.get(name, ()),
            by_reload=name in reload_for or "*" in reload_for,
        )
        wrong_box = identity(reading, plan)
        if wrong_box:
            change = replace(change, refused=f"another box answers there: {'; '.join(wrong_box)}")
        elif reading.config.frr is None and desired[name].frr is not None and change.method != "reload":
            reason = reading.state.hole("frr")
            change = replace(change, refused=f"its routing configuration could not be read: {reason}")
        elif not releases:
            change = _file_too(change, desired[name], reading)
        if judge is not None and change.target is not None and change.method != "none" and change.refused is None:
            unsound = judge(name, reading.config.tables, change.target)
            change = change if unsound is None else replace(change, refused=unsound)
        # What runs is read again when it is applied, so the whole target need not be in the file.
        changes[name] = replace(change, target=None)
        if reading.pending is not None:
            notes.append(f"{name}: run {reading.pending.get('run_id')} awaits confirmation on it")
    half = hazards(changes)
    notes += [
        f"while it rolls over {len(names)} switches, {reason}: do it on an idle fabric or in two compatible steps"
        for reason, names in half.items()
    ]
    spines, uplinks = spare(plan)
    if hosts and not releases:
        notes += host_side.notes(hosts, first=first_hosts)
    changed = {name for name, change in changes.items() if change.method != "none"}
    return ChangePlan(
        fabric=plan.name,
        intent=intent,
        intent_hash=plan.intent_hash,
        created_at=now,
        changes=changes,
        waves=waves(plan, changes, spare_spines=spines, spare_uplinks=uplinks, down=frozenset(unreachable or ())),
        unreachable=dict(unreachable or {}),
        notes=tuple(dict.fromkeys([*plan.notes, *notes])),
        desired={name: plain(desired[name]) for name in changes if name in changed},
        hazards=half,
        hosts=dict(hosts or {}),
    )


def spare(plan: Plan) -> tuple[int | None, int | None]:
    """Spines, and uplinks of one leaf, that the compute fabric can be without before a leaf has less up than down."""
    from fabric.design.capacity import measure
    from fabric.design.census import take

    capacity = measure(plan, take(plan), Network.COMPUTE)
    return capacity.survives_spines, capacity.survives_uplinks_per_leaf


def _file_too(change: DeviceChange, desired: DeviceConfig, reading: Reading) -> DeviceChange:
    """frr.conf on disk is what the next restart loads: when it is not ours while the running FRR is, put it there."""
    if desired.frr is None or change.frr_text is not None or change.method == "reload":
        return change
    if reading.frr_file is not None and not frr_diff(desired.frr, reading.frr_file).steps:
        return change
    there = "absent" if reading.frr_file is None else "another text"
    step = Step(
        "FRR",
        "frr.conf",
        None,
        there,
        "as rendered",
        Impact.HITLESS,
        "sonic.md 1.4: a file, read when the bgp container starts",
    )
    method = {"none": "frr", "gcu": "gcu+frr"}.get(change.method, change.method)
    return replace(
        change,
        method=method,
        base_digest=change.base_digest or digest(reading.config, desired.tables),
        impact=max(change.impact, Impact.HITLESS),
        steps=(*change.steps, step),
        frr_text=desired.frr,
    )
