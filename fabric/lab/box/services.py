"""`systemctl` and `systemd-run` of the twin's switches: two services, and transient timers that outlive a session."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import agent

UNITS = Path("/run/box/units")
_SERVICES = ("bgp", "lldp")
_ALWAYS = ("swss", "syncd", "database", "pmon", "sonic.target", "teamd")
_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}


def systemctl() -> None:
    """`systemctl start|stop|restart|is-active|status|reset-failed|list-timers|show UNIT`."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    verb, units = (words[0], words[1:]) if words else ("list-units", [])
    if verb == "list-timers":
        for timer in sorted(UNITS.glob("*.json")) if UNITS.is_dir() else []:
            data = json.loads(timer.read_text())
            if _alive(data):
                print(
                    f"{time.ctime(data['fires'])} {data['fires'] - time.time():.0f}s left "
                    f"{timer.stem}.timer {timer.stem}.service"
                )
        return
    code = 0
    for unit in units:
        code = _one(verb, unit.removesuffix(".service")) or code
    sys.exit(code)


def _one(verb: str, unit: str) -> int:
    if verb in ("start", "stop", "restart"):
        if os.geteuid() != 0:
            print(f"Failed to {verb} {unit}: Interactive authentication required.", file=sys.stderr)
            return 1
        if unit in _SERVICES:
            agent.ask({"do": "service", "name": unit, "action": verb})
            return 0
        if verb == "stop" and _transient(unit):
            _stop(unit)
            return 0
        print(f"Failed to {verb} {unit}: not in the twin; docs/twin.md lists what is", file=sys.stderr)
        return 5
    active = _active(unit)
    if verb == "is-active":
        print("active" if active else "inactive")
        return 0 if active else 3
    if verb == "status":
        print(f"{unit}: Active: {'active (running)' if active else 'inactive (dead)'}")
        return 0 if active else 3
    if verb == "show":
        print(f"ActiveState={'active' if active else 'inactive'}")
    return 0


def _active(unit: str) -> bool:
    if unit in _ALWAYS:
        return True
    if unit in _SERVICES:
        path = {"bgp": "/run/frr/bgpd.pid", "lldp": "/run/lldpd.pid"}[unit]
        with contextlib.suppress(OSError, ValueError):
            return _alive({"pid": int(Path(path).read_text())})
        return False
    data = _transient(unit)
    return bool(data and _alive(data))


def systemd_run() -> None:
    """`systemd-run [--unit NAME] [--on-active=TIME] [--collect] [--quiet] [--] COMMAND...`: what it starts stays."""
    if os.geteuid() != 0:
        sys.exit("Failed to start transient timer unit: Interactive authentication required.")
    words, name, delay, quiet = sys.argv[1:], f"run-{os.urandom(4).hex()}", 0.0, False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        option, given, value = word.partition("=")
        if not given and option in ("--unit", "-u", "--on-active", "--description", "-p", "--property"):
            value = words.pop(0)
        if option in ("--unit", "-u"):
            name = value.removesuffix(".service").removesuffix(".timer")
        elif option == "--on-active":
            delay = _seconds(value)
        elif option in ("-q", "--quiet"):
            quiet = True
    if not words:
        sys.exit("Command line to execute required.")
    data = _transient(name)
    if data and _alive(data):
        sys.exit(f"Failed to start transient timer unit: Unit {name}.timer already exists.")
    UNITS.mkdir(exist_ok=True)
    # Two forks and a session of its own: neither the shell nor sshd can take it along when they end.
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            _wait_and_run(name, delay, words)
        os._exit(0)
    os.wait()
    deadline = time.monotonic() + 5
    while not (UNITS / f"{name}.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    if not quiet:
        print(f"Running timer as unit: {name}.timer\nWill run service as unit: {name}.service", file=sys.stderr)


def _wait_and_run(name: str, delay: float, words: list[str]) -> None:
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, 256)
    file = UNITS / f"{name}.json"
    record = {"pid": os.getpid(), "fires": time.time() + delay, "command": words}
    temporary = file.with_suffix(".new")
    temporary.write_text(json.dumps(record))
    temporary.replace(file)
    time.sleep(delay)
    log = os.open(f"/var/log/{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    code = subprocess.run(words, stdin=null, stdout=log, stderr=log, cwd="/").returncode
    os.write(log, f"exit {code}\n".encode())
    file.unlink(missing_ok=True)
    os._exit(0)


def _transient(unit: str) -> dict[str, float] | None:
    with contextlib.suppress(OSError, ValueError):
        found: dict[str, float] = json.loads((UNITS / f"{unit.removesuffix('.timer')}.json").read_text())
        return found
    return None


def _alive(data: dict[str, float]) -> bool:
    try:
        os.kill(int(data["pid"]), 0)
    except PermissionError:
        return True  # root's, asked for by another account
    except OSError:
        return False
    return True


def _stop(unit: str) -> None:
    data = _transient(unit)
    if data:
        with contextlib.suppress(OSError):
            os.killpg(os.getpgid(int(data["pid"])), signal.SIGTERM)
        (UNITS / f"{unit.removesuffix('.timer')}.json").unlink(missing_ok=True)


def _seconds(text: str) -> float:
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        return float(number) * _UNITS_S[text[len(number) :] or "s"]
    except (ValueError, KeyError):
        sys.exit(f"Failed to parse timer value: {text}")
