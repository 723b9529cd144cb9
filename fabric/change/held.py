"""State made by hand is kept: what of a difference an engineer on call made, and what was put on hold on purpose.

A port that we left up and that is down now was shut by somebody. We know what we left from the mark the last apply put
on the switch; without a mark the careful reading holds: it was by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabric.change.frr_text import FrrConfig, Path
from fabric.change.semantic import RowDiff, canonical_row
from fabric.values.change import Held
from fabric.values.device_config import Tables

# SONiC's TSA puts these entries into the outbound maps (docker-fpm-frr, bgpd/tsa/*.j2; sonic.md 1.7).
_TSA = re.compile(r"route-map (TO_\S+|\S+) (permit 20|permit 30|deny 40)$")


@dataclass(frozen=True, slots=True)
class Mark:
    """What the last apply left on a switch, as kept on the switch itself: enough to tell our state from a person's.

    `digest` is of our parts after that apply; `ports_up` the ports left admin up; `watchdog` those with a watchdog row.
    """

    run_id: str
    digest: str
    ports_up: frozenset[str] = frozenset()
    watchdog: frozenset[str] = frozenset()
    frr_digest: str = ""
    schema: str = "railfab.mark/1"


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold recorded by `railfab hold`: `item` is a port, None for the whole switch; `until` an ISO time or None."""

    device: str
    item: str | None
    reason: str
    owner: str = ""
    until: str | None = None
    since: str = ""


@dataclass(frozen=True, slots=True)
class Sorted:
    """Differences to make, and what is held."""

    changes: Sequence[RowDiff]
    held: Sequence[Held] = field(default=())


def mark_of(tables: Tables) -> tuple[frozenset[str], frozenset[str]]:
    """Ports admin up and ports with a watchdog row: what a Mark remembers of desired tables."""
    up = frozenset(
        port for port, row in tables.get("PORT", {}).items() if canonical_row("PORT", row).get("admin_status") == "up"
    )
    return up, frozenset(key for key in tables.get("PFC_WD", {}) if key != "GLOBAL")


def sort_held(
    device: str,
    diffs: Sequence[RowDiff],
    *,
    mark: Mark | None,
    ours_already: bool,
    holds: Sequence[Hold] = (),
    released: frozenset[str] = frozenset(),
) -> Sorted:
    """Part what was made by hand from what is ours to change.

    `ours_already`: the switch runs our configuration; on a box that is not ours yet nothing is by hand. `released`
    are items (`Ethernet0`, or `*` for all of the switch) that the reviewer named.
    """
    recorded = {hold.item: hold for hold in holds if hold.device == device and hold.item}
    changes: list[RowDiff] = []
    held: list[Held] = []
    for one in diffs:
        item = one.key.split("|", 1)[0]
        if item in released or "*" in released:
            changes.append(one)
            continue
        kept, rest = _by_hand(one, mark, ours_already, recorded.get(item))
        if kept is not None:
            hold = recorded.get(item)
            held.append(
                Held(
                    device,
                    one.key if one.table == "PORT" else f"{one.table}|{one.key}",
                    kept[0],
                    kept[1],
                    hold.reason if hold else "made by hand; nobody has recorded why",
                    hold.until if hold else None,
                )
            )
        if rest is not None:
            changes.append(rest)
    return Sorted(tuple(changes), tuple(held))


def _by_hand(
    one: RowDiff, mark: Mark | None, ours_already: bool, hold: Hold | None
) -> tuple[tuple[str, str] | None, RowDiff | None]:
    """(observed, desired) of what is held in this difference, and what is left of it."""
    if one.table == "PORT" and "admin_status" in one.fields and one.before is not None and one.after is not None:
        _, wanted = one.fields["admin_status"]
        opens = wanted == "up"
        shut_by_hand = opens and ours_already and (mark is None or one.key in mark.ports_up)
        if shut_by_hand or hold is not None:
            observed = str(one.before.get("admin_status", "down"))
            rest_fields = {name: pair for name, pair in one.fields.items() if name != "admin_status"}
            rest = None
            if rest_fields:
                after = {**one.after, "admin_status": observed}
                rest = RowDiff(one.table, one.key, one.before, after, rest_fields)
            return (f"admin_status {observed}", f"admin_status {wanted}"), rest
    if one.table == "PFC_WD" and one.before is None and one.key != "GLOBAL":
        stopped = ours_already and mark is not None and one.key in mark.watchdog
        if stopped or hold is not None:
            return ("watchdog stopped", "watchdog running"), None
    return None, one


def held_frr(
    device: str, running: FrrConfig, wanted: FrrConfig, released: frozenset[str], recorded: Mapping[str | None, Hold]
) -> tuple[list[Held], set[tuple[Path, str]]]:
    """Sessions shut and drains made by hand: what is held, and the (context, line) pairs that must stay as they are.

    For a context made by hand (TSA's route-map entries) the line is empty.
    """
    held: list[Held] = []
    stays: set[tuple[Path, str]] = set()
    if "*" in released:
        return held, stays
    bgp = running.bgp()
    hold = recorded.get(None)
    reason = hold.reason if hold else "made by hand; nobody has recorded why"
    until = hold.until if hold else None
    for line in running.lines(bgp) if bgp else ():
        match = re.match(r"neighbor (\S+) shutdown\b", line)
        by_hand = match is not None or line == "bgp graceful-shutdown"
        if not by_hand or (bgp is not None and line in wanted.lines(bgp)):
            continue
        item = match[1] if match else "bgp graceful-shutdown"
        if item in released:
            continue
        assert bgp is not None
        held.append(Held(device, item, line, "session up" if match else "not drained", reason, until))
        stays.add((bgp, line))
    drained = [
        path for path in running.contexts if path and _TSA.match(path[0]) and path not in wanted.contexts and bgp
    ]
    if drained and "drained" not in released:
        held.append(Held(device, "drained", "TSA: traffic shifted away", "not drained", reason, until))
        stays |= {(path, line) for path in drained for line in ("", *running.lines(path))}
    return held, stays


def without_hand_made(running: FrrConfig, wanted: FrrConfig, released: frozenset[str]) -> FrrConfig:
    """The running routing text with only the released items undone: shut sessions opened, a drain ended."""
    contexts: dict[Path, list[str]] = {}
    for path, lines in running.contexts.items():
        if "drained" in released and path and _TSA.match(path[0]) and path not in wanted.contexts:
            continue
        contexts[path] = [line for line in lines if not _opens(line, released)]
    return FrrConfig(contexts)


def _opens(line: str, released: frozenset[str]) -> bool:
    match = re.match(r"neighbor (\S+) shutdown\b", line)
    if match is not None:
        return match[1] in released
    return line == "bgp graceful-shutdown" and line in released
