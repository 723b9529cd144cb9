"""Holds on file: state made by hand and kept on purpose, with reason, owner and end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from fabric.change.held import Hold
from fabric.deploy.record import write_whole
from fabric.errors import InputError, Problem
from fabric.values.codec import decode, plain
from fabric.values.plan import Plan

SCHEMA = "railfab.holds/1"


def read_holds(path: Path, *, now: float | None = None) -> list[Hold]:
    """Holds that have not ended. InputError when the file cannot be read: holds are never silently lost."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = data["holds"] if isinstance(data, dict) else data
        holds = [decode(Hold, row) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, InputError) as error:
        raise InputError(Problem(f"cannot be read: {error}", "repair it or remove it", file=str(path))) from None
    moment = datetime.fromtimestamp(time.time() if now is None else now, UTC)
    return [hold for hold in holds if hold.until is None or _moment(hold.until, path.name) > moment]


def write_holds(path: Path, holds: Iterable[Hold]) -> None:
    """Replace the file, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps({"schema": SCHEMA, "holds": plain(list(holds))}, indent=2) + "\n")


def parse_item(text: str, plan: Plan) -> tuple[str, str | None]:
    """`DEVICE` or `DEVICE:PORT` (or a peer, `drained`) of the Plan; InputError when there is no such device or port."""
    device, colon, item = text.partition(":")
    switch = plan.switches.get(device)
    if switch is None:
        raise InputError(Problem(f"there is no switch {device!r} in {plan.name}", "write DEVICE or DEVICE:PORT"))
    if not colon:
        return device, None
    if item.startswith("Ethernet") and item not in switch.ports:
        near = ", ".join(list(switch.ports)[:4])
        raise InputError(Problem(f"{device} has no port {item!r}", f"its ports are {near}, ..."))
    if not item:
        raise InputError(Problem(f"{text!r} names no port", "write DEVICE or DEVICE:PORT"))
    return device, item


def parse_until(text: str | None) -> str | None:
    """An end as ISO 8601 with time zone; a bare date is the end of that day, UTC."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(Problem(f"{text!r} is no time", "write 2026-12-31 or 2026-12-31T18:00+09:00")) from None
    if len(text) <= 10:
        moment = moment.replace(hour=23, minute=59, second=59)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.isoformat()


def _moment(text: str, name: str) -> datetime:
    parsed = parse_until(text)
    if parsed is None:
        raise InputError(Problem("an end is missing", file=name))
    return datetime.fromisoformat(parsed)
