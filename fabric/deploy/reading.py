"""What a push must know of a switch, in one round trip: configuration, routing text, identity, and who else pushes.

`fabric.collect` asks for configuration, routing text, LLDP and identity; this adds the pusher's own few lines: the
mark of the last apply, the lock, a pending confirmation, disk, boot id, a reload in progress.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from fabric.change.held import Mark
from fabric.collect import COMMAND, Part, parse_switch, script
from fabric.errors import CollectError, InputError, TransportError
from fabric.transport.session import Answer, Session, Target
from fabric.values.codec import decode
from fabric.values.device_config import DeviceConfig
from fabric.values.snapshot import LldpNeighbour, SwitchState

FOLDER = "/etc/sonic/railfab"
MARK = f"{FOLDER}/mark.json"
PENDING = f"{FOLDER}/pending.json"
LOCK = "/run/railfab.lock"
FRR_FILE = "/etc/sonic/frr/frr.conf"
RELOAD_LOCK = "/etc/sonic/reload.lock"  # sonic-utilities:config/main.py SYSTEM_RELOAD_LOCK
READ_DEADLINE_S = 60.0
_PARTS = frozenset((Part.CONFIG, Part.FRR, Part.LLDP))

# Asks whether a reload holds its lock. Shared, for two that ask at once must not take each other for a reload; a lock
# that cannot be opened (status 66) is not a reload.
RELOAD_QUESTION = "[ -e {lock} ] && { flock -s -n -E 75 {lock} true; [ $? = 75 ]; } && echo yes"

# Passwords are not read. What runs here has no standard input: that is the rest of the script.
_HIDE = r"-e 's/\(neighbor [^ ]* password\) .*/\1 <hidden>/' -e 's/^\( *\(enable \)\{0,1\}password\) .*/\1 <hidden>/'"
_OURS = f"""
rf_all() {{
rf() {{ printf '\\n@@TOKEN-push %s\\n' "$1"; }}
rf mark; cat {MARK} 2>/dev/null
rf pending; cat {PENDING} 2>/dev/null
rf lock; cat {LOCK} 2>/dev/null
rf disk; df -Pk /etc/sonic 2>/dev/null | tail -1
rf boot; cat /proc/sys/kernel/random/boot_id
rf clock; date +%s
rf frrfile; sed {_HIDE} {FRR_FILE} 2>/dev/null
rf reloading; {RELOAD_QUESTION.replace("{lock}", RELOAD_LOCK)}
if [ "$(sonic-db-cli STATE_DB EXISTS 'EEPROM_INFO|0x23' 2>/dev/null)" != 1 ]; then
 rf serial; timeout 10 decode-syseeprom -s 2>/dev/null
 rf mac; timeout 10 decode-syseeprom -m 2>/dev/null
fi
rf end
}}
rf_all </dev/null
"""


@dataclass(frozen=True, slots=True)
class Lock:
    """Who holds a switch: `user@machine`, the run, and since when (seconds since 1970, our clock)."""

    owner: str
    run_id: str
    since: float

    def says(self, now: float) -> str:
        """For a person."""
        return f"{self.owner}, run {self.run_id}, {_age(now - self.since)} ago"


@dataclass(frozen=True, slots=True)
class Reading:
    """One switch as a push sees it. `clock_offset_s` is the switch's clock against ours, None when it did not say.

    `frr_file` is the text of frr.conf on disk, None when it is not there.
    """

    device: str
    config: DeviceConfig
    state: SwitchState
    mark: Mark | None = None
    lock: Lock | None = None
    pending: Mapping[str, object] | None = None
    disk_free_kb: int | None = None
    boot_id: str = ""
    frr_file: str | None = None
    reloading: bool = False
    clock_offset_s: float | None = None
    lldp: tuple[LldpNeighbour, ...] = field(default=())


def request(token: str) -> bytes:
    """Standard input for `sh -s`: our lines, then collect's."""
    return (_OURS.replace("TOKEN", token) + script(_PARTS, token=token)).encode()


def parse_reading(device: str, answer: Answer, token: str, taken_at: float | None = None) -> Reading:
    """Read the answer. CollectError when configuration or routing text is missing: a push needs both."""
    when = time.time() if taken_at is None else taken_at
    ours, found, rest = answer.stdout.partition(f"@@{token}-push end\n")
    if not found:
        reason = answer.stderr.strip().splitlines()
        raise CollectError(f"{device}: no answer to the script" + (f": {reason[-1]}" if reason else ""))
    sections = dict(re.findall(rf"@@{token}-push (\w+)\n(.*?)(?=\n@@{token}-push |\Z)", ours, re.DOTALL))
    state = parse_switch(device, rest, when, errors=answer.stderr, parts=_PARTS, token=token)
    if state.config is None:
        raise CollectError(f"{device}: CONFIG_DB could not be read: {state.hole('config')}")
    # pmon keeps the EEPROM in STATE_DB; where it does not run yet the tool reads it.
    serial, mac = (sections.get(name, "").strip() or None for name in ("serial", "mac"))
    config = DeviceConfig(device, state.config, state.frr)
    state = replace(state, serial=state.serial or serial, base_mac=state.base_mac or (mac and mac.lower()))
    lines = sections.get("disk", "").split()
    clock = sections.get("clock", "").strip()
    return Reading(
        device=device,
        config=config,
        state=state,
        mark=_mark(sections.get("mark", "")),
        lock=parse_lock(sections.get("lock", "")),
        pending=_json(sections.get("pending", "")),
        disk_free_kb=int(lines[3]) if len(lines) > 3 and lines[3].isdigit() else None,
        boot_id=sections.get("boot", "").strip(),
        frr_file=sections.get("frrfile") or None,
        reloading=sections.get("reloading", "").strip() == "yes",
        clock_offset_s=float(clock) - answer.ended_at if clock.isdigit() and answer.ended_at else None,
        lldp=state.lldp or (),
    )


def read(session: Session, device: str, deadline_s: float = READ_DEADLINE_S) -> Reading:
    """Ask one switch over an open session."""
    token = secrets.token_hex(6)
    answer = session.run(COMMAND, deadline_s=deadline_s, stdin=request(token), root=True)
    return parse_reading(device, answer, token)


Sweep = Callable[..., dict[str, Answer | TransportError]]


def read_all(
    sweep: Sweep,
    targets: Mapping[str, Target],
    *,
    device_deadline_s: float = READ_DEADLINE_S,
    whole_deadline_s: float | None = None,
    done: Callable[[str], None] | None = None,
) -> tuple[dict[str, Reading], dict[str, str]]:
    """Ask all switches at once; (what was read, why the others were not). `sweep` is the reader's."""
    from fabric.transport.asyncssh_reader import Job

    token = secrets.token_hex(6)
    jobs = [Job(target, COMMAND, request(token), root=True) for target in targets.values()]
    answers = sweep(
        jobs,
        device_deadline_s=device_deadline_s,
        whole_deadline_s=whole_deadline_s,
        done=None if done is None else lambda name, _: done(name),
    )
    readings: dict[str, Reading] = {}
    missing: dict[str, str] = {}
    for name, answer in answers.items():
        if isinstance(answer, TransportError):
            missing[name] = str(answer)
            continue
        try:
            readings[name] = parse_reading(name, answer, token)
        except CollectError as error:
            missing[name] = str(error)
    return readings, missing


def parse_lock(text: str) -> Lock | None:
    """A lock file's text. A file that is there but unreadable is a lock too, of an unknown owner."""
    if not text.strip():
        return None
    data = _json(text)
    try:
        assert data is not None
        return Lock(str(data["owner"]), str(data["run_id"]), float(str(data["since"])))
    except (AssertionError, KeyError, ValueError):
        return Lock("somebody (the lock file cannot be read)", "unknown", 0.0)


def _mark(text: str) -> Mark | None:
    data = _json(text)
    if data is None:
        return None
    try:
        return decode(Mark, data)
    except InputError:
        return None


def _json(text: str) -> dict[str, object] | None:
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _age(seconds: float) -> str:
    if seconds < 120:
        return f"{max(0, round(seconds))} s"
    if seconds < 7200:
        return f"{round(seconds / 60)} min"
    return f"{round(seconds / 3600)} h"
