"""Commands of a pretended switch: what SONiC's own do as far as a push uses them, over files of one folder.

Run as `python fake_commands.py NAME ARGUMENTS...` with FAKE_ROOT set. Faults stand in faults.json: the first whose key
is a part of the command line is played (`rc`, `out`, `err`, `hang` seconds before, `do` one of REBOOT, `times`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("FAKE_ROOT", "/nonexistent"))
STATE = ROOT / "state.json"
FRR_CONF = ROOT / "etc/sonic/frr/frr.conf"


def main(words: list[str]) -> int:
    line = " ".join(words)
    fault = _fault(line)
    if fault is not None:
        time.sleep(fault.get("hang", 0))
        if fault.get("before"):
            _run(words)
        if fault.get("do") == "reboot":
            reboot()
            kill_all(ROOT)
            return 137
        sys.stdout.write(fault.get("out", ""))
        sys.stderr.write(fault.get("err", ""))
        return int(fault.get("rc", 1))
    return _run(words)


def _run(words: list[str]) -> int:
    name, rest = words[0], words[1:]
    if name == "docker":
        assert rest[0] == "exec", rest
        rest = [word for word in rest[1:] if word != "-i"]
        assert rest[0] == "bgp", rest
        if rest[1] == "vtysh":
            return vtysh(rest[2:])
        return subprocess.run(rest[1:], check=False).returncode
    commands: dict[str, Callable[[list[str]], int]] = {
        "sonic-db-cli": db_cli,
        "sonic-cfggen": cfggen,
        "config": config,
        "vtysh": vtysh,
        "systemd-run": systemd_run,
        "systemctl": systemctl,
        "TSA": lambda _: shift("true"),
        "TSB": lambda _: shift("false"),
        "pfcwd": pfcwd,
        "lldpctl": lldpctl,
    }
    return commands[name](rest)


def load() -> dict[str, Any]:
    return json.loads(STATE.read_text())  # type: ignore[no-any-return]


def store(state: dict[str, Any]) -> None:
    publish(ROOT, state)


def publish(root: Path, state: dict[str, Any]) -> None:
    """Keep the state, and what reading it answers: reads are many, and shell scripts answer them from these files."""
    for name, text in {
        "frr.txt": state["frr"],
        "config.txt": json.dumps(state["config"], indent=1),
        **{f"{database}.txt": _evaluated(state, database) for database in ("CONFIG_DB", "APPL_DB", "STATE_DB")},
        "state.json": json.dumps(state),
    }.items():
        beside = root / f".{name}.{os.getpid()}"
        beside.write_text(text + ("" if text.endswith("\n") else "\n"))
        beside.replace(root / name)


def _evaluated(state: dict[str, Any], database: str) -> str:
    tables = state["config"] if database == "CONFIG_DB" else state.get(database, {})
    rows: dict[str, Any] = {}
    for table, keys in tables.items():
        if table in ("SNMP_COMMUNITY", "SNMP_USER", "NTP_KEY"):
            continue  # collect's own script leaves these out
        for key, row in keys.items():
            fields = {
                f"{name}@" if isinstance(value, list) else name: ",".join(value) if isinstance(value, list) else value
                for name, value in row.items()
            }
            shown = {name: "<hidden>" if "passkey" in name else value for name, value in fields.items()}
            rows[f"{table}|{key}" if database != "APPL_DB" else f"{table}:{key}"] = shown or {"NULL": "NULL"}
    return "0\n" + json.dumps({"h": rows, "m": state.get("maps", {}).get(database, [])})


def _fault(line: str) -> dict[str, Any] | None:
    path = ROOT / "faults.json"
    if not path.exists():
        return None
    with path.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        faults: dict[str, dict[str, Any]] = json.load(file)
        for key, fault in faults.items():
            if key in line and fault.get("times", 1) > 0:
                fault["times"] = fault.get("times", 1) - 1
                file.seek(0)
                file.truncate()
                json.dump(faults, file)
                return fault
    return None


def db_cli(words: list[str]) -> int:
    state = load()
    database = words[0]
    if words[1] == "EVAL":
        print(_evaluated(state, database))
        return 0
    if words[1] == "EXISTS":
        table, _, key = words[2].partition("|")
        print(int(key in state.get(database, {}).get(table, {})))
        return 0
    if words[1] == "HSET":
        table, _, key = words[2].partition("|")
        state["config"].setdefault(table, {}).setdefault(key, {})[words[3]] = words[4]
        store(state)
        return 0
    return 1


def cfggen(words: list[str]) -> int:
    print(json.dumps(load()["config"], indent=1))
    return 0


def config(words: list[str]) -> int:
    state = load()
    verb = words[0]
    if verb == "checkpoint":
        state["checkpoints"][words[1]] = state["config"]
        print("Checkpoint created successfully.")
    elif verb == "delete-checkpoint":
        state["checkpoints"].pop(words[1], None)
    elif verb == "rollback":
        if words[1] not in state["checkpoints"]:
            print(f"Checkpoint '{words[1]}' does not exist", file=sys.stderr)
            return 2
        flap(state, "config rollback")
        state["config"] = state["checkpoints"][words[1]]
        print("Config rolled back successfully.")
    elif verb == "apply-patch":
        sys.path.append(os.environ["FAKE_SITE"])
        import jsonpatch

        name = words[-1]
        patch = json.load(sys.stdin) if name == "/dev/stdin" else json.loads(Path(name).read_text())
        bad = state.get("invalid_row")
        if bad:
            print(f"Failed to apply patch due to: Given config is not valid: {bad}", file=sys.stderr)
            return 2
        try:
            target = jsonpatch.apply_patch(state["config"], patch)
        except jsonpatch.JsonPatchException as error:
            print(f"Failed to apply patch due to: {error}", file=sys.stderr)
            return 2
        empty = [table for table, rows in target.items() if not rows]
        if empty:
            print(f"Failed to apply patch due to: empty tables {empty}", file=sys.stderr)
            return 2
        if "-d" not in words:
            time.sleep(state.get("patch_takes", 0))
            state = load()
            state["config"] = jsonpatch.apply_patch(state["config"], patch)
        print("Patch applied successfully.")
    elif verb == "save":
        (ROOT / "etc/sonic/config_db.json").write_text(json.dumps(state["config"]))
        state["saved"] = state["config"]
    elif verb == "reload":
        time.sleep(state.get("reload_takes", 0))
        data = json.loads(Path(words[-1]).read_text())
        state = load()
        state["config"] = data
        state["reloads"] = state.get("reloads", 0) + 1
        loses = state.pop("reload_loses", "")
        if "mode" in loses:
            state["config"]["DEVICE_METADATA"]["localhost"].pop("docker_routing_config_mode", None)
        if "file" in loses:
            FRR_CONF.unlink(missing_ok=True)
        start_frr(state)
    elif verb == "ztp":
        state["ztp"] = "disabled"
    else:
        print(f"no such command: config {verb}", file=sys.stderr)
        return 2
    store(state)
    return 0


def flap(state: dict[str, Any], why: str) -> None:
    state.setdefault("events", []).append(why)


def start_frr(state: dict[str, Any]) -> None:
    """What a bgp container does when it starts: read frr.conf in the routing mode that has one, else run nothing."""
    mode = state["config"].get("DEVICE_METADATA", {}).get("localhost", {}).get("docker_routing_config_mode")
    state["frr"] = FRR_CONF.read_text() if mode == "split-unified" and FRR_CONF.exists() else "hostname sonic\nend\n"
    state["bgp_pid"] = state.get("bgp_pid", 100) + 1


def vtysh(words: list[str]) -> int:
    state = load()
    if "-c" in words:
        print(state["frr"])
        return 0
    text = Path(words[words.index("-f") + 1]).read_text()
    bad = [line for line in text.splitlines() if "nonsense" in line]
    if bad:
        print(f"line 1: % Unknown command: {bad[0]}")
        return 2
    if "-C" in words:
        return 0
    state["frr"] = play(state["frr"], text)
    store(state)
    return 0


def play(running: str, commands: str) -> str:
    """A running FRR after these configuration lines, as far as our own commands go."""
    sys.path.append(os.environ["FAKE_TREE"])
    from fabric.change.frr_diff import setting
    from fabric.change.frr_text import FrrConfig, parse, write

    contexts = {path: list(lines) for path, lines in parse(running).contexts.items()}
    path: tuple[str, ...] = ()
    opens = re.compile(r"(router |route-map |interface |address-family )")
    for raw in commands.splitlines():
        line = " ".join(raw.split())
        if not line or line.startswith("!"):
            continue
        if line in ("exit", "exit-address-family"):
            path = path[:-1]
            continue
        if opens.match(line):
            path = (*path, line) if line.startswith("address-family") else (line,)
            contexts.setdefault(path, [])
            continue
        lines = contexts.setdefault(path, [])
        gone = line.removeprefix("no ") if line.startswith("no ") else None
        if gone is not None and gone not in lines and opens.match(gone):
            for one in [one for one in contexts if one and one[0] == gone]:
                del contexts[one]
        elif gone is not None and gone in lines:
            lines.remove(gone)
        elif gone is not None and re.fullmatch(r"neighbor \S+", gone):
            for one in contexts:
                contexts[one] = [text for text in contexts[one] if not text.startswith(f"{gone} ")]
        elif gone is not None and any(text.startswith(f"{gone} ") for text in lines):
            contexts[path] = [text for text in lines if not text.startswith(f"{gone} ")]
        else:
            key = setting(line)
            kept = [text for text in lines if key is None or setting(text) != key]
            contexts[path] = [*kept, line] if line not in kept else kept
    return write(FrrConfig(contexts)) + "end\n"


def systemd_run(words: list[str]) -> int:
    seconds = next(word.partition("=")[2] for word in words if word.startswith("--on-active="))
    unit = next(word.partition("=")[2] for word in words if word.startswith("--unit="))
    command = words[next(i for i, word in enumerate(words) if not word.startswith("--")) :]
    child = subprocess.Popen(
        ["sh", "-c", 'sleep "$0"; exec "$@"', seconds, *command],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    (ROOT / f"unit-{unit}.timer").write_text(str(child.pid))
    return 0


def systemctl(words: list[str]) -> int:
    verb, unit = words
    state = load()
    if verb == "restart" and unit == "bgp":
        start_frr(state)
        store(state)
    path = ROOT / f"unit-{unit}"
    if verb == "stop" and path.exists():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(path.read_text()), 9)
        path.unlink()
    return 0


def lldpctl(words: list[str]) -> int:
    print("{}")
    return 0


def shift(away: str) -> int:
    state = load()
    state["config"].setdefault("BGP_DEVICE_GLOBAL", {})["STATE"] = {"tsa_enabled": away}
    state.setdefault("shifts", []).append(away)
    store(state)
    return 0


def pfcwd(words: list[str]) -> int:
    state = load()
    state.setdefault("pfcwd", []).append(" ".join(words))
    rows = state["config"].setdefault("PFC_WD", {})
    if words[0] == "start":
        action, restore, *ports, detect = words[2], words[4], *words[5:]
        for port in ports:
            rows[port] = {"action": action, "detection_time": detect, "restoration_time": restore}
    elif words[0] == "stop":
        for port in words[1:]:
            rows.pop(port, None)
    elif words[0] == "interval":
        rows["GLOBAL"] = {"POLL_INTERVAL": words[1]}
    store(state)
    return 0


def kill_all(root: Path) -> None:
    """End every process of this switch but ourselves."""
    mine = f"FAKE_ROOT={root}".encode()
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mine in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), 9)


def reboot() -> None:
    """Back to what was saved: processes die, /run is empty, frr.conf is what stands on disk."""
    state = load()
    state["config"] = state["saved"]
    start_frr(state)
    (ROOT / "boot_id").write_text(f"boot-{time.time_ns()}")
    for path in (ROOT / "run").glob("*"):
        path.unlink()
    store(state)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
