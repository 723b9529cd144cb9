"""The whole chain from an intent file to its Plan."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fabric.allocate.grow import grow
from fabric.allocate.ledger import ELSEWHERE, Ledger, read, write
from fabric.allocate.plan import make_plan
from fabric.allocate.plots import plots_of
from fabric.errors import AllocationError, Problem
from fabric.files import turn
from fabric.intent.load import IntentFile
from fabric.intent.load import load as load_intent
from fabric.model.fabric import Fabric, build
from fabric.state import state_paths
from fabric.values.plan import Plan


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything an intent file leads to. `grown` says that the ledger holds more than its file does."""

    file: IntentFile
    fabric: Fabric
    ledger: Ledger
    plan: Plan
    grown: bool


def load_plan(intent: Path, *, state: Path | None = None, write_ledger: bool = False, lossy: bool = False) -> Plan:
    """Read an intent and its ledger and make the Plan.

    `state` is the folder of the ledger (default: beside the intent). The ledger is written, in one step, only with
    `write_ledger` and only when something was added. `lossy` turns the lossless class off. Raises InputError (every
    problem of the intent), PlatformError, AllocationError (nothing was written).
    """
    return load_all(intent, state=state, write_ledger=write_ledger, lossy=lossy).plan


def load_all(intent: Path, *, state: Path | None = None, write_ledger: bool = False, lossy: bool = False) -> Loaded:
    """As `load_plan`, with the steps between."""
    with _no_collection():
        file = load_intent(intent)
        path = state_paths(intent, state).ledger
        before = read(path)
        fabric, ledger, plan = allocate(file, before, lossy=lossy)
        if (grown := ledger != before) and write_ledger:
            with turn(path.parent, ELSEWHERE):
                now = read(path)
                if now != before:
                    # Somebody else grew it meanwhile: take the next free numbers after theirs.
                    fabric, ledger, plan = allocate(file, now, lossy=lossy)
                if ledger != now:
                    write(ledger, path)
    return Loaded(file, fabric, ledger, plan, grown)


def allocate(file: IntentFile, ledger: Ledger | None = None, *, lossy: bool = False) -> tuple[Fabric, Ledger, Plan]:
    """Pure: an intent and what was given before, to the fabric, what is given now, and the Plan."""
    before = ledger if ledger is not None else Ledger()
    fabric = build(file, before.names)
    with placed(file):
        plots = plots_of(fabric, before.layout if before.switches else None)
        grown, book = grow(fabric, before, plots)
        return fabric, grown, make_plan(fabric, grown, book, plots, lossy)


_KEY = re.compile(r"\b(?:addressing|compute|devices|management|storage)(?:\.[A-Za-z0-9_-]+)+")


@contextmanager
def placed(file: IntentFile) -> Iterator[None]:
    """Give each line of an AllocationError the file and line of the key of the intent it names, or else the file."""
    try:
        yield
    except AllocationError as error:
        problems = []
        for text in str(error).splitlines():
            found = _KEY.search(text)
            path = tuple(int(step) if step.isdigit() else step for step in found[0].split(".")) if found else ()
            place = file.problem(path, "")
            shown = place.path if found and not text.startswith(found[0]) else None
            problems.append(Problem(text, file=place.file, line=place.line if found else None, path=shown))
        raise AllocationError("\n".join(str(problem) for problem in problems)) from None


@contextmanager
def _no_collection() -> Iterator[None]:
    """A Plan of 100,000 GPUs is millions of objects without one cycle: collecting while it grows is wasted time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
