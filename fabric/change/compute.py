"""One switch: desired against running, as a DeviceChange."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fabric.change import semantic
from fabric.change.commands import watchdog_commands
from fabric.change.frr_diff import frr_diff
from fabric.change.frr_text import FrrConfig, parse, write
from fabric.change.held import Hold, Mark, held_frr, sort_held, without_hand_made
from fabric.change.impact import PORT_CRITICAL, Context, classify, sessions_by_port, validator_knows
from fabric.change.patch import patch
from fabric.change.semantic import RowDiff
from fabric.values.change import DeviceChange, Held, Impact, Step
from fabric.values.device_config import DeviceConfig, Row, Tables

# More ports than this in one patch and SONiC's updater may not come back (F020: 6 ports 40 min, 12 never; gcu.md:
# 8 queues 13 s, 82 ports not done after 22 min).
SPEED_PORTS_A_PATCH = 2
CRITICAL_PORTS_A_PATCH = 8
_PORT_NAME = re.compile(r"^Ethernet\w*$")


def compute(
    desired: DeviceConfig,
    running: DeviceConfig,
    *,
    mark: Mark | None = None,
    holds: Sequence[Hold] = (),
    release: Iterable[str] = (),
    by_reload: bool = False,
) -> DeviceChange:
    """What must change on this switch, how, and what it costs. Pure.

    `mark` is what the last apply left on the switch; `holds` are recorded holds; `release` names items of this switch
    (`Ethernet0`, a peer, `drained`, `*`) whose state made by hand is to be undone: then the change holds these alone.
    `by_reload` accepts a reload where a patch would be too large.
    """
    device = desired.device
    released = frozenset(release)
    ours = is_ours(desired.tables, running.tables)
    whole = next((hold for hold in holds if hold.device == device and hold.item is None), None)
    if whole is not None and not released:
        return _held_switch(whole, desired, running)
    found = semantic.diff(desired.tables, running.tables)
    parted = sort_held(device, found, mark=mark, ours_already=ours, holds=holds, released=released)
    diffs = list(parted.changes)
    if released:
        diffs = [one for one in diffs if one.key.split("|", 1)[0] in released or "*" in released]
    running_frr, wanted_frr = parse(running.frr or ""), parse(desired.frr or "")
    recorded = {hold.item: hold for hold in holds if hold.device == device}
    frr_held, stays = held_frr(device, running_frr, wanted_frr, released, recorded)
    kept_text = _with_kept(desired.frr, stays)
    if released and "*" not in released and running.frr is not None:
        kept_text = write(without_hand_made(running_frr, wanted_frr, released))
    sessions = sessions_by_port(running.tables, running_frr.peers())
    context = Context(running.tables, _hwsku(desired.tables, running.tables), sessions)
    steps = [step for one in diffs for step in classify(one, context)]
    frr = frr_diff(kept_text, running.frr) if kept_text is not None and running.frr is not None else None
    frr_steps = list(frr.steps) if frr else []
    worst = max((step.impact for step in [*steps, *frr_steps]), default=Impact.NONE)
    method, refused = _method(steps, frr_steps, worst, by_reload)
    if method == "reload":
        worst = Impact.RELOADS_SWITCH
    target = semantic.apply(diffs, running.tables)
    patched: list[RowDiff] = []
    ordered: list[RowDiff] = []
    for one in diffs:
        by_command = one.table == "PFC_WD" and _by_command(one, running.tables, context)
        (ordered if by_command else patched).append(one)
    commands = watchdog_commands(ordered, diffs, running.tables, target)
    flapped, reset = _hit(steps, frr_steps, method, target, running.tables, running_frr)
    shown = [*steps, *frr_steps]
    change = DeviceChange(
        device=device,
        method=method,
        impact=worst,
        # Nothing to do needs no proof that nothing moved.
        base_digest=digest(running, desired.tables) if method != "none" else "",
        steps=tuple(shown if ours or method != "reload" else _by_table(shown)),
        held=(*parted.held, *frr_held),
        foreign=tuple(_dangling(target)),
        refused=refused,
        ports_flapped=flapped,
        sessions_reset=reset,
        frr_text=desired.frr if method == "reload" or frr_steps else None,
    )
    if method == "reload":
        return replace(change, target=target)
    return replace(
        change,
        target=target if diffs else None,
        patch=tuple(patch(patched, running.tables)),
        commands=tuple(commands) if not refused else (),
        frr_commands=frr.commands if frr and frr_steps else (),
    )


def digest(config: DeviceConfig, desired: Tables) -> str:
    """sha256 of our parts of a configuration and its routing text; foreign rows may move without changing it."""
    view = semantic.owned_view(config.tables, desired)
    frr = parse(config.frr) if config.frr is not None else None
    routing = {" / ".join(path): sorted(lines) for path, lines in frr.contexts.items()} if frr else None
    text = json.dumps([view, routing], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def is_ours(desired: Tables, running: Tables) -> bool:
    """Whether the switch runs our configuration already: same name, ASN and routing mode."""
    wanted = desired.get("DEVICE_METADATA", {}).get("localhost", {})
    there = running.get("DEVICE_METADATA", {}).get("localhost", {})
    names = ("hostname", "bgp_asn", "docker_routing_config_mode")
    return all(
        semantic.canonical("DEVICE_METADATA", name, wanted[name])
        == semantic.canonical("DEVICE_METADATA", name, there.get(name, ""))
        for name in names
        if name in wanted
    )


def effective(desired: DeviceConfig, change: DeviceChange) -> DeviceConfig:
    """The desired configuration with held state left as it is: what the switch will really hold after the change."""
    tables: dict[str, dict[str, Row]] = {table: dict(rows) for table, rows in desired.tables.items()}
    for held in change.held:
        table, bar, key = held.item.partition("|")
        if bar:
            tables.get(table, {}).pop(key, None)
        elif held.item in tables.get("PORT", {}) and held.observed.startswith("admin_status "):
            row = tables["PORT"][held.item]
            tables["PORT"][held.item] = {**row, "admin_status": held.observed.removeprefix("admin_status ")}
    return DeviceConfig(desired.device, {table: rows for table, rows in tables.items() if rows}, desired.frr)


def residue(desired: DeviceConfig, running: DeviceConfig, change: DeviceChange) -> list[str]:
    """What still differs after a change was made, held state apart: empty when the read-back is as planned."""
    kept = {name for held in change.held for name in (held.item, f"PORT|{held.item}")}
    left = [
        f"{one.table}|{one.key}: {', '.join(one.fields) or 'row'}"
        for one in semantic.diff(desired.tables, running.tables)
        if f"{one.table}|{one.key}" not in kept
    ]
    if desired.frr is not None and running.frr is None:
        left.append("FRR: its running configuration could not be read")
    if desired.frr is not None and running.frr is not None:
        _, stays = held_frr(desired.device, parse(running.frr), parse(desired.frr), frozenset(), {})
        text = _with_kept(desired.frr, stays) or ""
        left += [f"FRR {step.key}: {step.after or step.before}" for step in frr_diff(text, running.frr).steps]
    return left


def _method(steps: Sequence[Step], frr_steps: Sequence[Step], worst: Impact, by_reload: bool) -> tuple[str, str | None]:
    if worst is Impact.RELOADS_SWITCH:
        return "reload", None
    name = "+".join([*(["gcu"] if steps else []), *(["frr"] if frr_steps else [])]) or "none"
    speed = {step.key for step in steps if step.table == "PORT" and step.field == "speed"}
    critical = {port for step in steps if step.table in PORT_CRITICAL for port in step.ports}
    too_many = None
    if len(speed) > SPEED_PORTS_A_PATCH:
        too_many = (
            f"speed changes on {len(speed)} ports in one patch: SONiC's updater took 40 minutes for 6 and never "
            f"finished 12 (F020)"
        )
    elif len(critical) > CRITICAL_PORTS_A_PATCH:
        too_many = (
            f"queue, priority-group or QoS rows of {len(critical)} ports that are up: SONiC's updater shuts each in "
            f"turn and may not finish (gcu.md: 82 ports not done after 22 minutes)"
        )
    if too_many is None:
        return name, None
    if by_reload:
        return "reload", None
    return name, f"{too_many}; plan again with --reload DEVICE, or in batches (fewer ports in service at a time)"


def _by_table(steps: Sequence[Step]) -> list[Step]:
    """Steps of a box that is not ours yet, a table each: thousands of new rows say nothing one by one."""
    tables: dict[str, list[Step]] = {}
    for step in steps:
        tables.setdefault(step.table, []).append(step)
    shown = []
    for table, found in tables.items():
        worst = max(found, key=lambda step: step.impact)
        rows = len({step.key for step in found})
        ports = tuple(dict.fromkeys(port for step in found for port in step.ports))
        sessions = tuple(dict.fromkeys(peer for step in found for peer in step.sessions))
        what = "lines" if table == "FRR" else "rows"
        count = len(found) if table == "FRR" else rows
        name = f"({count} {what})"
        shown.append(Step(table, name, None, None, "as rendered", worst.impact, worst.why, ports, sessions))
    return shown


def _by_command(one: RowDiff, running: Tables, context: Context) -> bool:
    """Whether a watchdog row must go by `pfcwd`: the updater takes no whole table, and not this HWSKU (gcu.md)."""
    return "PFC_WD" not in running or not validator_knows(context.hwsku) or (one.key == "GLOBAL" and one.after is None)


def _hit(
    steps: Sequence[Step],
    frr_steps: Sequence[Step],
    method: str,
    target: Tables,
    running: Tables,
    frr: FrrConfig,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if method == "reload":
        rows = running.get("PORT", {})
        up = [port for port, row in rows.items() if semantic.canonical_row("PORT", row).get("admin_status") == "up"]
        return tuple(up), frr.peers()
    _ = target
    flapped = dict.fromkeys(port for step in steps for port in step.ports)
    reset = dict.fromkeys(peer for step in [*steps, *frr_steps] for peer in step.sessions)
    return tuple(flapped), tuple(reset)


def _held_switch(hold: Hold, desired: DeviceConfig, running: DeviceConfig) -> DeviceChange:
    device = desired.device
    differs = len(semantic.diff(desired.tables, running.tables))
    frr = frr_diff(desired.frr, running.frr).steps if desired.frr and running.frr else ()
    held = Held(
        device, device, f"{differs} rows and {len(frr)} FRR lines differ", "as planned", hold.reason, hold.until
    )
    return DeviceChange(device, "none", Impact.NONE, "", held=(held,))


def _with_kept(text: str | None, stays: set[tuple[tuple[str, ...], str]]) -> str | None:
    """The wanted FRR text with lines made by hand put in, so that the difference does not touch them."""
    if text is None or not stays:
        return text
    wanted = parse(text)
    contexts = {path: list(lines) for path, lines in wanted.contexts.items()}
    for path, line in sorted(stays):
        contexts.setdefault(path, []).extend([line] if line else [])
    return write(FrrConfig(contexts))


def _hwsku(desired: Tables, running: Tables) -> str:
    for tables in (running, desired):
        value = tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("hwsku")
        if isinstance(value, str):
            return value
    return ""


def _dangling(target: Tables) -> list[str]:
    """Rows that name a port the switch will not have: they block every later replace and rollback (F008, F024)."""
    ports = target.get("PORT", {})
    if not ports:
        return []
    found = []
    for table, rows in target.items():
        if table in ("PORT", "DEVICE_NEIGHBOR", "FEATURE"):
            continue
        for key, row in rows.items():
            named = [part for part in key.split("|") if _PORT_NAME.match(part) and "." not in part]
            values: Mapping[str, object] = row
            if table in ("VLAN_MEMBER", "PORTCHANNEL_MEMBER", "ACL_TABLE"):
                listed = values.get("ports", [])
                named += [str(port) for port in (listed if isinstance(listed, list) else str(listed).split(","))]
            absent = [port for port in named if _PORT_NAME.match(port) and port not in ports]
            if absent:
                found.append(
                    f"{table}|{key} names {', '.join(dict.fromkeys(absent))}, which the switch has not; "
                    "`config replace` and rollback fail while it is there"
                )
    return found
