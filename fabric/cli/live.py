"""Where the snapshot of a check comes from: a file, or the live switches. No verb of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabric.values.plan import Plan
    from fabric.values.snapshot import Snapshot


def snapshots(
    plan: Plan,
    intent: Path,
    state: Path | None,
    *,
    snapshot: Path | None,
    baseline: Path | None,
    sample: str | None = None,
) -> tuple[Snapshot, Snapshot | None]:
    """The snapshot to judge and its baseline, if any: read from files, or asked from every switch of the plan now.

    `sample`: ask twice, this far apart, and judge what counted in between. InputError for a bad file, TransportError
    when nothing can be asked at all; a switch that does not answer stands in the snapshot's `missing`.
    """
    from fabric.collect import files
    from fabric.errors import InputError, Problem

    if sample is not None and (snapshot is not None or baseline is not None):
        raise InputError(Problem("--sample asks the live fabric twice", "leave --snapshot and --baseline out"))
    earlier = None if baseline is None else files.read(baseline)
    if snapshot is not None:
        return files.read(snapshot), earlier
    from fabric.collect.over_ssh import collect_over_ssh
    from fabric.gate.source import seconds
    from fabric.state import state_paths
    from fabric.transport.login import Login, terminal_prompt
    from fabric.transport.session import Target
    from fabric.values.plan import LifeState

    targets = [
        Target(switch.name, switch.mgmt_address.partition("/")[0])
        for switch in plan.switches.values()
        if switch.state in (LifeState.IN_SERVICE, LifeState.INSTALLED)
    ]
    login = Login.from_environment(state_paths(intent, state).known_hosts, ask=terminal_prompt())
    first, second = collect_over_ssh(plan.name, targets, login, window_s=None if sample is None else seconds(sample))
    return second.snapshot, earlier if first is None else first.snapshot
