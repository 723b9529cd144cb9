"""Before a byte is sent: is this the right switch, in the state the plan was made from, and ready? Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from fabric.change import digest, residue
from fabric.deploy.reading import Reading
from fabric.values.change import DeviceChange
from fabric.values.device_config import DeviceConfig, Tables
from fabric.values.plan import Plan, SwitchPlan
from fabric.values.snapshot import LldpNeighbour

DISK_NEEDED_KB = 64 * 1024
CLOCK_LIMIT_S = 300.0
MOVED = "its running configuration has moved since the plan was made; plan again"


def identity(reading: Reading, plan: Plan) -> list[str]:
    """Reasons to think that another box answers at this switch's address; empty when none speaks against it.

    Serial and base MAC against those learned on purpose (`railfab trust`), platform and HWSKU against the intent,
    LLDP neighbours against the planned cables. What is not known speaks for nothing.
    """
    switch = plan.switches[reading.device]
    state = reading.state
    reasons = []
    if switch.serial and state.serial and switch.serial != state.serial:
        reasons.append(f"its serial number is {state.serial}, the one learned is {switch.serial}")
    if switch.base_mac and state.base_mac and switch.base_mac.lower() != state.base_mac.lower():
        reasons.append(f"its base MAC is {state.base_mac}, the one learned is {switch.base_mac}")
    if state.onie_platform and switch.onie_platform and state.onie_platform != switch.onie_platform:
        reasons.append(f"it is a {state.onie_platform}, the intent says {switch.onie_platform}")
    cabled = cabled_like(reading, plan)
    if cabled is not None:
        reasons.append(cabled)
    return reasons


def cabled_like(reading: Reading, plan: Plan) -> str | None:
    """Says so when most neighbours are those of another switch of the plan; a few wrong cables are not that."""
    switch = plan.switches[reading.device]
    known = [row for row in reading.lldp if _names_a_port(row, plan)]
    if not known:
        return None
    right = sum(_matches(row, switch) for row in known)
    votes = Counter(
        {
            other.name: sum(_matches(row, other) for row in known)
            for other in plan.switches.values()
            if other.name != switch.name
        }
    )
    best, count = votes.most_common(1)[0] if votes else ("", 0)
    if count <= right or right * 2 >= len(known):
        return None
    return f"its cables are those of {best}: {count} of {len(known)} neighbours match it, {right} match {switch.name}"


def _names_a_port(row: LldpNeighbour, plan: Plan) -> bool:
    """Whether a neighbour of the plan says which of its ports this is: a host's agent may give a MAC and no more."""
    name = row.system_name.split(".")[0]
    if name in plan.hosts:
        return bool(plan.hosts[name].nics.keys() & {row.port_id, row.port_description})
    return name in plan.switches


def _matches(row: LldpNeighbour, switch: SwitchPlan) -> bool:
    """Whether a neighbour is the planned one of that port. Leaves of one pod differ only in the far end's port."""
    port = switch.ports.get(row.local_port)
    if port is None or row.system_name.split(".")[0] != port.peer_device:
        return False
    return bool({port.peer_port, port.peer_alias} - {None} & {row.port_id, row.port_description})


def already(reading: Reading, desired: DeviceConfig, change: DeviceChange) -> str | None:
    """The run that has brought a switch to what is planned and saved it there, None when none has."""
    mark = reading.mark
    if mark is None or mark.digest != digest(reading.config, desired.tables):
        return None
    return None if residue(desired, reading.config, change) else mark.run_id


def state(
    reading: Reading,
    desired: Tables,
    base_digest: str,
    *,
    release: str,
    now: float,
    run_id: str | None = None,
    break_lock: bool = False,
) -> tuple[list[str], list[str]]:
    """(reasons to refuse, things to note) about the switch's state. `run_id` is ours: our own lock is no obstacle."""
    refuse: list[str] = []
    note: list[str] = []
    if digest(reading.config, desired) != base_digest:
        refuse.append(MOVED)
    lock = reading.lock
    if lock is not None and not same_run(lock.run_id, run_id):
        if break_lock:
            note.append(f"the lock of {lock.says(now)} was broken on purpose")
        else:
            refuse.append(f"somebody else pushes to it: {lock.says(now)} (--break-lock when that run is dead)")
    if reading.pending is not None and not same_run(str(reading.pending.get("run_id")), run_id):
        rebooted = reading.pending.get("boot_id") not in (None, reading.boot_id)
        ends = "its timer is gone, for the switch rebooted since; `railfab rollback RUN` clears up"
        refuse.append(
            f"run {reading.pending.get('run_id')} awaits confirmation on it; "
            + (ends if rebooted else "`railfab rollback` or let its timer end it")
        )
    if reading.reloading:
        refuse.append("a config reload is going on")
    if reading.disk_free_kb is not None and reading.disk_free_kb < DISK_NEEDED_KB:
        refuse.append(
            f"its disk is full: {reading.disk_free_kb} KB free, {DISK_NEEDED_KB} needed for checkpoint and copies"
        )
    offset = reading.clock_offset_s
    if offset is not None and abs(offset) > CLOCK_LIMIT_S:
        note.append(f"its clock is {abs(offset):.0f} s {'ahead of' if offset > 0 else 'behind'} ours")
    if other_release(reading.state.release, release):
        note.append(f"it runs SONiC {reading.state.release}, the intent is for {release}")
    return refuse, note


def same_run(one: str, other: str | None) -> bool:
    """Whether two ids on a switch are of one run; a resumed run has a number after a dot."""
    return other is not None and one.partition(".")[0] == other.partition(".")[0]


def other_release(running: str | None, wanted: str | None) -> bool:
    """Whether a switch says it runs another release branch (`202505`); a private build that names none says nothing."""
    said = re.search(r"20\d{4}", running or "")
    return bool(said and wanted and re.fullmatch(r"20\d{4}", wanted) and said[0] != wanted)


def names(problems: Mapping[str, list[str]]) -> str:
    """Problems by switch, one line each, for a person."""
    return "\n".join(f"{device}: {'; '.join(reasons)}" for device, reasons in problems.items())
