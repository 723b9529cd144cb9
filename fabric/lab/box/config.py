"""`config` of the twin's switches, as far as it is used. Words and codes: sonic-utilities config/main.py."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from . import agent
from .database import (
    CONFIG_DB,
    CONFIG_FILE,
    SOCKET,
    Tables,
    commands,
    port_range,
    read,
    read_file,
    replace,
    text,
    update,
)
from .identity import eeprom
from .redis import Redis

CHECKPOINTS = Path("/etc/sonic/checkpoints")
_RELOAD_LOCK = "/etc/sonic/reload.lock"
_GUARD_S = 120
_QOS_TABLES = (
    *("PORT_QOS_MAP", "QUEUE", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "TC_TO_QUEUE_MAP"),
    *("DSCP_TO_TC_MAP", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "TC_TO_DSCP_MAP", "SCHEDULER", "WRED_PROFILE"),
    *("BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST"),
    *("BUFFER_PROFILE", "BUFFER_POOL", "CABLE_LENGTH"),
)


class UsageError(Exception):
    """Wrong words; exit code 2, as click has it."""


# What only some commands need is imported there: each run of `config` is a Python of its own.


def main(arguments: list[str] | None = None) -> None:
    """Run one `config` command and exit with its code."""
    words = sys.argv[1:] if arguments is None else arguments
    if os.geteuid() != 0:
        sys.exit("Root privileges are required for this operation")
    try:
        sys.exit(_dispatch(words))
    except UsageError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    except ConnectionError as error:
        print(f"Unable to connect to redis: {error}", file=sys.stderr)
        sys.exit(1)


def _dispatch(words: list[str]) -> int:
    simple = {
        "checkpoint": _checkpoint,
        "list-checkpoints": _list_checkpoints,
        "delete-checkpoint": _delete_checkpoint,
        "save": _save,
        "load": _load,
        "reload": _reload,
        "hostname": _hostname,
    }
    if words and words[0] in simple:
        return simple[words[0]](words[1:])
    if words and words[0] in ("apply-patch", "replace", "rollback"):
        from . import gcu_command

        return gcu_command.run(words[0], words[1:])
    match words:
        case ["interface", ("startup" | "shutdown") as verb, *rest]:
            return _interface_admin(rest, "up" if verb == "startup" else "down")
        case ["interface", ("mtu" | "speed" | "fec") as field, name, value]:
            return _interface_field(name, field, value)
        case ["interface", "ip", ("add" | "remove") as verb, name, prefix, *_]:
            return _interface_ip(name, prefix, verb == "add")
        case ["bgp", ("startup" | "shutdown") as verb, *rest]:
            return _bgp(rest, "up" if verb == "startup" else "down")
        case ["qos", "clear", *_]:
            return _qos_clear()
        case ["qos", "reload", *_]:
            print("Buffer definition template not found at /usr/share/sonic/device", file=sys.stderr)
            return 1
    raise UsageError(f'No such command "{" ".join(words[:2])}".')


def _database() -> Redis:
    return Redis(SOCKET, CONFIG_DB)


def _checkpoint(words: list[str]) -> int:
    names = [word for word in words if word not in ("-v", "--verbose")]
    if len(names) != 1:
        raise UsageError("Missing argument 'CHECKPOINT_NAME'.")
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    file = checkpoint_file(names[0])
    temporary = file.with_suffix(".new")
    temporary.write_text(json.dumps(read(_database())))
    temporary.replace(file)
    print("Checkpoint created successfully.")
    return 0


def _list_checkpoints(words: list[str]) -> int:
    files = sorted(CHECKPOINTS.glob("*.cp.json"), key=lambda path: path.stat().st_mtime)
    names = [file.name.removesuffix(".cp.json") for file in files]
    if "-t" in words or "--time" in words:
        times = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(file.stat().st_mtime)) for file in files]
        print(json.dumps([{"name": name, "time": moment} for name, moment in zip(names, times)], indent=4))
    else:
        print(json.dumps(names, indent=4))
    return 0


def _delete_checkpoint(words: list[str]) -> int:
    names = [word for word in words if word not in ("-v", "--verbose")]
    if len(names) != 1:
        raise UsageError("Missing argument 'CHECKPOINT_NAME'.")
    file = checkpoint_file(names[0])
    if not file.exists():
        print(f"Failed to delete config checkpoint due to: Checkpoint '{names[0]}' does not exist", file=sys.stderr)
        return 2
    file.unlink()
    print("Checkpoint deleted successfully.")
    return 0


def checkpoint_file(name: str) -> Path:
    """Where a checkpoint stands."""
    return CHECKPOINTS / f"{Path(name).name}.cp.json"


def _save(words: list[str]) -> int:
    yes, names = _yes(words)
    path = Path(names[0]) if names else Path(CONFIG_FILE)
    if not yes:
        raise UsageError("Existing files will be overwritten, continue? [y/N]: Aborted!")
    print(f"Running command: /usr/local/bin/sonic-cfggen -d --print-data > {path}")
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text(read(_database())) + "\n")
    temporary.replace(path)
    return 0


def _load(words: list[str]) -> int:
    yes, names = _yes(words)
    path = names[0] if names else CONFIG_FILE
    if not yes:
        raise UsageError(f"Load config from the file(s) {path}? [y/N]: Aborted!")
    try:
        tables = read_file(path)
    except (OSError, ValueError) as error:
        print(f"Failed to load {path}: {error}", file=sys.stderr)
        return 1
    print(f"Running command: /usr/local/bin/sonic-cfggen -j {path} --write-to-db")
    _database().pipeline(commands(tables))
    return 0


def _reload(words: list[str]) -> int:
    import argparse

    parser = argparse.ArgumentParser(prog="config reload")
    parser.add_argument("-y", "--yes", action="store_true")
    parser.add_argument("-l", "--load-sysinfo", action="store_true")
    parser.add_argument("-n", "--no_service_restart", action="store_true")
    parser.add_argument("-f", "--force", action="store_true")
    parser.add_argument("-t", "--file_format", default="config_db")
    parser.add_argument("-b", "--bypass-lock", action="store_true")
    parser.add_argument("file", nargs="?", default=CONFIG_FILE)
    options = parser.parse_args(words)
    with open(_RELOAD_LOCK, "w") as lock:
        if not options.bypass_lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                print(f"Failed to acquire lock on {_RELOAD_LOCK}", file=sys.stderr)
                return 1
            print(f"Acquired lock on {_RELOAD_LOCK}", flush=True)
        code = _reload_locked(options)
        if not options.bypass_lock:
            print(f"Released lock on {_RELOAD_LOCK}")
    return code


def _reload_locked(options: Any) -> int:
    unchecked = options.force or options.no_service_restart
    if not unchecked and agent.ask({"do": "uptime"}) < _GUARD_S:
        print("SwSS container is not ready. Retry later or use -f to avoid system checks")
        return 1
    if not options.yes:
        raise UsageError(
            f"Clear current config and reload config in config_db format from the default config file(s) "
            f"{options.file} ? [y/N]: Aborted!"
        )
    try:
        tables = read_file(options.file)
    except (OSError, ValueError) as error:
        print(f"The config file {options.file} doesn't exist or is no JSON: {error}", file=sys.stderr)
        return 1
    if problem := unloadable(tables):
        print(problem)
        return 1
    if options.load_sysinfo:
        tables = _sysinfo(tables)
    print("Disabling container and routeCheck monitoring ...")
    print("Stopping SONiC target ...", flush=True)
    print(f"Running command: /usr/local/bin/sonic-cfggen -j /etc/sonic/init_cfg.json -j {options.file} --write-to-db")
    if options.no_service_restart:
        redis = _database()
        redis.run("FLUSHDB")
        redis.pipeline(commands(tables))
        redis.run("SET", "CONFIG_DB_INITIALIZED", "1")
        return 0
    agent.ask({"do": "reload", "config": tables})
    print("Restarting SONiC target ...")
    print("Enabling container and routeCheck monitoring ...")
    print("Reloading Monit configuration ...")
    return 0


def unloadable(tables: Tables) -> str | None:
    """Why `config reload` of 202405 and later turns a file down before it stops anything; None when it does not."""
    for table, rows in tables.items():
        if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
            return f"fail to validate the config file: {table}: rows must be objects"
    from .gcu_rules import MODELLED

    without = sorted(set(tables) - MODELLED)
    if without:
        return f"Config tables are missing yang models: {without}"
    return None


def _sysinfo(tables: Tables) -> Tables:
    known = eeprom()
    row = tables.setdefault("DEVICE_METADATA", {}).setdefault("localhost", {})
    row.setdefault("mac", known["mac"])
    row.setdefault("platform", known["platform"])
    row.setdefault("hwsku", known["hwsku"])
    return tables


def _hostname(words: list[str]) -> int:
    if len(words) != 1:
        raise UsageError("Missing argument 'NEW_HOSTNAME'.")
    _database().run("HSET", "DEVICE_METADATA|localhost", "hostname", words[0])
    print("Please note loaded setting will be lost after system reboot. To preserve setting, run `config save`.")
    return 0


def _interface_admin(words: list[str], status: str) -> int:
    redis = _database()
    known = [key.partition("|")[2] for key in redis.scan("PORT|*")]
    if len(words) != 1:
        raise UsageError("Missing argument 'INTERFACE_NAME'.")
    names = port_range(words[0], known)
    if not names or any(name not in known for name in names):
        raise UsageError("Interface name is invalid. Please enter a valid interface name!!")
    redis.pipeline([("HSET", f"PORT|{name}", "admin_status", status) for name in names])
    return 0


def _interface_field(name: str, field: str, value: str) -> int:
    redis = _database()
    if not redis.run("EXISTS", f"PORT|{name}"):
        raise UsageError(f"Interface {name} does not exist")
    if field in ("mtu", "speed") and not value.isdigit():
        raise UsageError(f"Invalid value for 'INTERFACE_{field.upper()}': '{value}' is not a valid integer.")
    if field == "mtu" and not 68 <= int(value) <= 9216:
        raise UsageError(f"Invalid value for 'INTERFACE_MTU': {value} is not in the range 68<=x<=9216.")
    if field in ("speed", "fec"):
        known = Redis(SOCKET, 6).run("HGET", f"PORT_TABLE|{name}", f"supported_{field}s") or ""
        if known and value not in known.split(","):
            raise UsageError(f"Invalid {field} specified: {value}. Valid {field}s: {known}")
    redis.run("HSET", f"PORT|{name}", field, value)
    return 0


def _interface_ip(name: str, prefix: str, add: bool) -> int:
    import ipaddress

    redis = _database()
    try:
        address = str(ipaddress.ip_interface(prefix))
    except ValueError:
        raise UsageError("ip address is not valid.") from None
    table = "LOOPBACK_INTERFACE" if name.startswith("Loopback") else "INTERFACE"
    if name == "eth0":
        replace(redis, f"MGMT_INTERFACE|eth0|{address}", {} if add else None)
        return 0
    if add:
        if not redis.run("EXISTS", f"{table}|{name}"):
            replace(redis, f"{table}|{name}", {})
        replace(redis, f"{table}|{name}|{address}", {})
    else:
        redis.run("DEL", f"{table}|{name}|{address}")
    return 0


def _bgp(words: list[str], status: str) -> int:
    redis = _database()
    keys = redis.scan("BGP_NEIGHBOR|*")
    if words[:1] == ["all"]:
        chosen = keys
    elif words[:1] == ["neighbor"] and len(words) == 2:
        rows = redis.pipeline([("HGET", key, "name") for key in keys])
        chosen = [key for key, name in zip(keys, rows) if words[1] in (key.partition("|")[2], name)]
        if not chosen:
            # With routing in a text of one's own there is no such row, and this command does not reach FRR.
            print(f"Error: Could not locate neighbor '{words[1]}'", file=sys.stderr)
            return 1
    else:
        raise UsageError("No such command.")
    for key in chosen:
        row: dict[str, Any] = dict(zip(*[iter(redis.run("HGETALL", key))] * 2))
        update(redis, key, row, {**row, "admin_status": status})
        print(
            f"{'Starting up' if status == 'up' else 'Shutting down'} BGP session "
            f"with neighbor {key.partition('|')[2]}..."
        )
    return 0


def _qos_clear() -> int:
    redis = _database()
    for table in _QOS_TABLES:
        keys = redis.scan(f"{table}|*")
        if keys:
            redis.run("DEL", *keys)
    return 0


def _yes(words: list[str]) -> tuple[bool, list[str]]:
    return any(word in ("-y", "--yes") for word in words), [word for word in words if not word.startswith("-")]
