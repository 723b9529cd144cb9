"""A ChangePlan and a Run for people and pipelines: JSON of the contract, Markdown for a merge request, text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fabric.values.change import ChangePlan, DeviceChange, Impact, Outcome, Run, Step

WORDS: Mapping[Impact, str] = {
    Impact.NONE: "no change",
    Impact.HITLESS: "hitless",
    Impact.RESETS_SESSIONS: "resets sessions",
    Impact.FLAPS_PORTS: "flaps ports",
    Impact.RESTARTS_BGP: "restarts bgp",
    Impact.RELOADS_SWITCH: "reloads the switch",
}
# A change on more lines than this is shown by its first ones in text; JSON has all.
_SHOWN = 40


def plan_document(plan: ChangePlan) -> dict[str, Any]:
    """`railfab.plan-report/1`: the contract's devices and summary, and what a review needs."""
    devices = []
    for name, change in plan.changes.items():
        status = "refused" if change.refused else "unchanged" if change.method == "none" else "changes"
        devices.append(
            {
                "name": name,
                "status": status,
                "changes": [step_document(step) for step in change.steps],
                "error": change.refused,
                "method": change.method,
                "impact": WORDS[change.impact],
                "ports_flapped": list(change.ports_flapped),
                "sessions_reset": list(change.sessions_reset),
                "held": [
                    {"item": held.item, "observed": held.observed, "desired": held.desired, "reason": held.reason,
                     "until": held.until}
                    for held in change.held
                ],
                "foreign": list(change.foreign),
            }
        )  # fmt: skip
    devices += [
        {"name": name, "status": "unreachable", "changes": [], "error": reason, "method": None, "impact": None,
         "ports_flapped": [], "sessions_reset": [], "held": [], "foreign": []}
        for name, reason in plan.unreachable.items()
    ]  # fmt: skip
    return {
        "schema": "railfab.plan-report/1",
        "fabric": plan.fabric,
        "intent": plan.intent,
        "intent_hash": plan.intent_hash,
        "created_at": plan.created_at,
        "devices": devices,
        "waves": [
            {"name": wave.name, "devices": list(wave.devices), "impact": WORDS[wave.impact], "gate": wave.gate,
             "drain": wave.drain, "nodes": list(wave.nodes), "why": wave.why, "fresh": wave.fresh}
            for wave in plan.waves
        ],
        "hazards": {reason: list(names) for reason, names in plan.hazards.items()},
        "hosts": {host: list(paths) for host, paths in plan.hosts.items()},
        "notes": list(plan.notes),
        "summary": plan_summary(plan),
    }  # fmt: skip


def plan_summary(plan: ChangePlan) -> dict[str, Any]:
    """Counts over the whole fabric."""
    changes = [change for change in plan.changes.values() if change.method != "none"]
    return {
        "devices": len(plan.changes) + len(plan.unreachable),
        "unchanged": sum(change.method == "none" and not change.refused for change in plan.changes.values()),
        "changing": sum(not change.refused for change in changes),
        "refused": sum(change.refused is not None for change in plan.changes.values()),
        "unreachable": len(plan.unreachable),
        "reload": sum(change.method == "reload" for change in changes),
        "ports_flapped": sum(len(change.ports_flapped) for change in changes),
        "sessions_reset": sum(len(change.sessions_reset) for change in changes),
        "held": sum(len(change.held) for change in plan.changes.values()),
        "impact": WORDS[max((change.impact for change in changes), default=Impact.NONE)],
    }


def sentence(plan: ChangePlan) -> str:
    """What it costs, in one line."""
    counts = plan_summary(plan)
    if not counts["changing"]:
        text = f"{counts['unchanged']} switches run what the intent says; nothing to do"
    else:
        text = (
            f"{_many(counts['changing'], 'switch', 'switches')} of {counts['devices']} change: "
            f"{_many(counts['reload'], 'switch reloads', 'switches reload')}, "
            f"{_many(counts['ports_flapped'], 'port flaps', 'ports flap')}, "
            f"{_many(counts['sessions_reset'], 'session resets', 'sessions reset')}"
        )
    extra = [
        _many(counts["refused"], "switch is refused", "switches are refused") if counts["refused"] else "",
        _many(counts["unreachable"], "switch could not be read", "switches could not be read")
        if counts["unreachable"]
        else "",
        _many(counts["held"], "thing is held by hand", "things are held by hand") if counts["held"] else "",
    ]
    return "; ".join([text, *(word for word in extra if word)])


def groups(changes: Iterable[DeviceChange]) -> list[tuple[list[str], DeviceChange]]:
    """Equal differences once, with the switches they hit; most switches first."""
    found: dict[str, tuple[list[str], DeviceChange]] = {}
    for change in changes:
        # Each switch has its own ASN in the name of the context; it is no difference between their differences.
        text = json.dumps([change.method, change.refused, [step_document(step) for step in change.steps]])
        key = re.sub(r"router bgp \d+", "router bgp", text)
        found.setdefault(key, ([], change))[0].append(change.device)
    return sorted(found.values(), key=lambda pair: -len(pair[0]))


def plan_text(plan: ChangePlan, *, verbose: bool = False) -> str:
    """For a terminal."""
    lines = [f"{plan.fabric}: {sentence(plan)}"]
    changing = [change for change in plan.changes.values() if change.method != "none" or change.refused]
    for names, change in groups(changing):
        lines.append("")
        lines.append(f"{shown_names(names)}  [{WORDS[change.impact]}, {change.method}]")
        if change.refused:
            lines.append(f"  REFUSED: {change.refused}")
        limit = len(change.steps) if verbose else (12 if change.method == "reload" else _SHOWN)
        lines += [f"  {shown_step(step)}" for step in change.steps[:limit]]
        if len(change.steps) > limit:
            lines.append(f"  and {len(change.steps) - limit} more (-v or --json show all)")
        if change.ports_flapped:
            lines.append(f"  ports that flap: {shown_names(list(change.ports_flapped))}")
        if change.sessions_reset:
            lines.append(f"  sessions that reset: {shown_names(list(change.sessions_reset))}")
        if change.ports_flapped or change.sessions_reset:
            lines.append("  putting it back costs the same again")
        lines += [f"  $ {command}" for command in change.commands]
    hit = {node: wave for wave in plan.waves for node in wave.nodes}
    if hit:
        lines.append("")
        lines.append(f"job nodes hit: {shown_names(list(hit))} (idle, or --accept-impact)")
    lines += _ends(plan)
    return "\n".join(lines) + "\n"


def plan_markdown(plan: ChangePlan) -> str:
    """For a merge request."""
    lines = [f"# Plan for {plan.fabric}", "", f"**{sentence(plan)}.**", ""]
    lines += [f"Intent `{plan.intent}`, `{plan.intent_hash[:12]}`.", ""]
    if plan.waves:
        lines += ["| wave | switches | costs | drained | gate |", "|---|---|---|---|---|"]
        lines += [
            f"| {wave.name} | {shown_names(list(wave.devices))} | {WORDS[wave.impact]} | "
            f"{'yes' if wave.drain else ''} | {'yes' if wave.gate else ''} |"
            for wave in plan.waves
        ]
        lines.append("")
        lines += [f"Job nodes hit by {wave.name}: {shown_names(list(wave.nodes))}; {wave.why}.\n" for wave in plan.waves
                  if wave.nodes]  # fmt: skip
    changing = [change for change in plan.changes.values() if change.method != "none" or change.refused]
    for names, change in groups(changing):
        lines += [f"## {shown_names(names)}", ""]
        if change.refused:
            lines += [f"**Refused:** {change.refused}", ""]
        lines += [f"{WORDS[change.impact]}; by {change.method}.", ""]
        if change.ports_flapped:
            lines += [f"Ports that flap: {shown_names(list(change.ports_flapped))}.", ""]
        if change.sessions_reset:
            lines += [f"Sessions that reset: {shown_names(list(change.sessions_reset))}.", ""]
        lines += ["| what | now | then | costs | because |", "|---|---|---|---|---|"]
        for step in change.steps[:200]:
            where = step.key if step.field is None else f"{step.key} {step.field}"
            lines.append(
                f"| {_cell(f'{step.table} {where}')} | {_cell(step.before)} | {_cell(step.after)} | "
                f"{WORDS[step.impact]} | {_cell(step.why)} |"
            )
        if len(change.steps) > 200:
            lines.append(f"| and {len(change.steps) - 200} more | | | | |")
        if change.frr_commands:
            lines += ["", "```", *change.frr_commands, "```"]
        lines.append("")
    lines += [f"- {line}" for line in _ends(plan) if line]
    return "\n".join(lines).rstrip() + "\n"


def run_document(run: Run, kind: str = "apply") -> dict[str, Any]:
    """`railfab.apply/1`: the contract's devices and summary."""
    return {
        "schema": f"railfab.{kind}/1",
        "run": run.run_id,
        "fabric": run.fabric,
        "devices": [
            {
                "name": name,
                "status": device.outcome.value,
                "changes": [],
                "error": device.error,
                "state": device.state,
                "checkpoint": device.checkpoint,
            }
            for name, device in run.devices.items()
        ],
        "stopped": run.stopped,
        "summary": run_summary(run),
    }


def run_summary(run: Run) -> dict[str, Any]:
    """Counts of outcomes."""
    counts = {outcome.value: 0 for outcome in Outcome}
    for device in run.devices.values():
        counts[device.outcome.value] += 1
    seconds = None if run.ended_at is None else round(run.ended_at - run.started_at, 1)
    return {"devices": len(run.devices), **counts, "seconds": seconds}


def run_text(run: Run) -> str:
    """For a terminal: what is not as planned first."""
    counts = run_summary(run)
    told = ", ".join(f"{counts[outcome.value]} {outcome.value}" for outcome in Outcome if counts[outcome.value])
    lines = [f"run {run.run_id}: {told or 'nothing to do'} ({counts['seconds']} s)"]
    if run.stopped:
        lines.append(f"STOPPED: {run.stopped}")
    calm = (Outcome.APPLIED, Outcome.UNCHANGED)
    for name, device in run.devices.items():
        if device.outcome not in calm:
            reason = f": {device.error}" if device.error else ""
            lines.append(f"  {name}  {device.outcome.value} ({device.state}){reason}")
    return "\n".join(lines) + "\n"


def rollback_text(plan: ChangePlan, run_id: str) -> str:
    """What putting a run back costs: the same ports and sessions as making it, once more."""
    changing = [change for change in plan.changes.values() if change.method != "none" and not change.refused]
    lines = [f"run {run_id} of {plan.fabric}: putting {_many(len(changing), 'switch', 'switches')} back costs again"]
    for names, change in groups(changing):
        flaps = f", ports that flap: {shown_names(list(change.ports_flapped))}" if change.ports_flapped else ""
        resets = f", sessions that reset: {shown_names(list(change.sessions_reset))}" if change.sessions_reset else ""
        lines.append(f"  {shown_names(names)}: {WORDS[change.impact]}{flaps}{resets}")
    return "\n".join(lines) + "\n"


def _ends(plan: ChangePlan) -> list[str]:
    lines: list[str] = []
    held = [(name, one) for name, change in plan.changes.items() for one in change.held]
    if held:
        lines.append("")
    for name, one in held:
        until = f", until {one.until}" if one.until else ""
        lines.append(
            f"HELD {name}:{one.item}: {one.observed} ({one.reason}{until}); stays (--release {name}:{one.item} ends it)"
        )
    lines += [f"FOREIGN {name}: {row}" for name, change in plan.changes.items() for row in change.foreign]
    lines += [f"NOT READ {name}: {reason}" for name, reason in plan.unreachable.items()]
    lines += [f"NOTE {note}" for note in plan.notes]
    return lines


def step_document(step: Step) -> dict[str, Any]:
    """One difference as JSON."""
    return {
        "table": step.table,
        "key": step.key,
        "field": step.field,
        "before": step.before,
        "after": step.after,
        "impact": WORDS[step.impact],
        "why": step.why,
        "ports": list(step.ports),
        "sessions": list(step.sessions),
    }


def shown_step(step: Step) -> str:
    """One difference as a line."""
    where = f"{step.table}|{step.key}" + (f" {step.field}" if step.field else "")
    sign = "+" if step.before is None else "-" if step.after is None else "~"
    values = " -> ".join(value for value in (step.before, step.after) if value is not None)
    values = values if len(values) <= 110 else f"{values[:107]}..."
    cost = "" if step.impact <= Impact.HITLESS else f"   [{WORDS[step.impact]}: {step.why}]"
    return f"{sign} {where}: {values}{cost}"


def shown_names(names: Sequence[str]) -> str:
    """Names, the first of many."""
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:6])} and {len(names) - 6} more"


def _many(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _cell(text: str | None) -> str:
    if text is None:
        return ""
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= 120 else f"{text[:117]}..."
