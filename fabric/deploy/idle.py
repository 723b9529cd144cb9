"""Nodes without a job, from the scheduler."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from fabric.errors import InputError, Problem

# States in which a node runs no job. `planned` and `mixed` are not among them.
STATES = "idle,down,drained,maint,reboot,power_down,powered_down"
_LIMIT_S = 30.0


def idle_from_slurm(expand: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
    """Names `sinfo` gives for nodes that run nothing. InputError when Slurm cannot be asked: nobody is idle then."""
    command = ["sinfo", "--noheader", "--all", f"--states={STATES}", "--format=%N"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except FileNotFoundError:
        raise InputError(Problem("sinfo is not here", "give the idle nodes by --idle-nodes")) from None
    except subprocess.TimeoutExpired:
        raise InputError(Problem(f"sinfo did not answer in {_LIMIT_S:g} s", "give them by --idle-nodes")) from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(Problem(f"sinfo failed: {reason}", "give the idle nodes by --idle-nodes"))
    lists = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return expand(",".join(lists)) if lists else ()
