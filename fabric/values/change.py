"""Changes: what must be different on each switch, what that costs, in which waves; and the record of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any


class Impact(IntEnum):
    """What applying a step costs, mildest first. A change has the impact of its worst step."""

    NONE = 0
    HITLESS = 1
    RESETS_SESSIONS = 2
    FLAPS_PORTS = 3
    RESTARTS_BGP = 4
    RELOADS_SWITCH = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One semantic difference. `before`/`after` are None where the row or field is absent.

    `why` names the rule that classed it and the rule's source (`facts` section or SONiC file).
    """

    table: str
    key: str
    field: str | None
    before: str | None
    after: str | None
    impact: Impact
    why: str
    ports: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """State made by hand that apply does not reverse unless it is released by name (`--release sw:port`)."""

    device: str
    item: str
    observed: str
    desired: str
    reason: str = ""
    until: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """All changes of one switch.

    `method` is none | gcu | frr | gcu+frr | reload. `patch` is RFC 6902. `frr_commands` are what vtysh is given, in
    order; `frr_text` the whole file to leave in place. `base_digest` is of the running state the change was
    computed from; `target` the whole CONFIG_DB after a reload (owned parts merged), left out of a plan file.
    `foreign` lists rows we do not own that dangle or would block the updater. `commands` are root's shell commands
    after the patch, for what no patch can carry (`pfcwd start ...`).
    """

    device: str
    method: str
    impact: Impact
    base_digest: str
    steps: tuple[Step, ...] = ()
    patch: tuple[Mapping[str, Any], ...] = ()
    frr_commands: tuple[str, ...] = ()
    frr_text: str | None = None
    target: Mapping[str, Any] | None = None
    ports_flapped: tuple[str, ...] = ()
    sessions_reset: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()
    foreign: tuple[str, ...] = ()
    refused: str | None = None
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wave:
    """Switches that change together. `gate` says whether checks must pass before the next wave.

    `nodes` are hosts that lose a rail, or more capacity than is spare, while it goes on: it is refused unless they
    are idle or the impact is accepted. `why` says so. `fresh`: boxes that carry nothing yet.
    """

    name: str
    devices: tuple[str, ...]
    impact: Impact
    gate: bool = True
    drain: bool = False
    nodes: tuple[str, ...] = ()
    why: str = ""
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """What `railfab plan` writes and `railfab apply` takes. `created_at` is seconds since 1970.

    `desired` holds the DeviceConfig of each switch that changes; `hazards` what is wrong while only some of these
    switches have changed (reason -> switches); `hosts` files that must be put in place on hosts in the same window.
    """

    fabric: str
    intent: str
    intent_hash: str
    created_at: float
    changes: Mapping[str, DeviceChange]
    waves: tuple[Wave, ...]
    unreachable: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    desired: Mapping[str, Any] = field(default_factory=dict)
    hazards: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    schema: str = "railfab.change-plan/1"


class Outcome(StrEnum):
    """How a switch came out of a run."""

    UNCHANGED = "unchanged"
    APPLIED = "applied"
    REFUSED = "refused"
    FAILED = "failed"
    ROLLED_BACK = "rolled-back"
    ROLLBACK_FAILED = "rollback-failed"
    SKIPPED = "skipped"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One thing sent to a switch and its answer (secrets are never in either). Times in seconds since 1970."""

    what: str
    answer: str
    rc: int | None
    started_at: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class DeviceRun:
    """One switch in a run: outcome, checkpoint name, what was sent and answered, and the state it is in now."""

    device: str
    outcome: Outcome
    state: str = ""
    error: str | None = None
    checkpoint: str | None = None
    exchanges: tuple[Exchange, ...] = ()
    ports_flapped: tuple[str, ...] = ()
    sessions_reset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """The record of one apply, kept on disk under the state directory's `runs/`."""

    run_id: str
    fabric: str
    plan_digest: str
    started_at: float
    ended_at: float | None
    devices: Mapping[str, DeviceRun]
    stopped: str | None = None
    schema: str = "railfab.run/1"
