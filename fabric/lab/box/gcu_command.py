"""`config apply-patch`, `replace` and `rollback`: the words around the updater."""

from __future__ import annotations

import argparse
import json
import sys

from .config import checkpoint_file
from .database import CONFIG_DB, SOCKET, read_file
from .gcu import RefusedError, Switch, Updater
from .identity import version
from .redis import Redis


def run(verb: str, words: list[str]) -> int:
    """Run one of the three; the exit code."""
    return {"apply-patch": _apply_patch, "replace": _replace, "rollback": _rollback}[verb](words)


def _gcu_options(words: list[str], name: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"config {name}")
    parser.add_argument("-f", "--format", default="CONFIGDB", type=str.upper, choices=["CONFIGDB", "SONICYANG"])
    parser.add_argument("-d", "--dry-run", action="store_true")
    parser.add_argument("-n", "--ignore-non-yang-tables", action="store_true")
    parser.add_argument("-i", "--ignore-path", action="append", default=[])
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("-p", "--parallel", action="store_true")
    parser.add_argument("-t", "--path-trace")
    parser.add_argument("what")
    return parser.parse_args(words)


def _updater(options: argparse.Namespace, who: str) -> Updater:
    def say(line: str) -> None:
        if options.verbose:
            print(f"{who}: localhost: {line}", flush=True)

    if options.dry_run:
        print("** DRY RUN EXECUTION **")
    return Updater(Redis(SOCKET, CONFIG_DB), _switch(), say, options.ignore_non_yang_tables)


def _switch() -> Switch:
    metadata = Redis(SOCKET, CONFIG_DB).run("HGET", "DEVICE_METADATA|localhost", "hwsku")
    state = Redis(SOCKET, 6)
    keys = state.scan("PORT_TABLE|*")
    rows = state.pipeline([("HGETALL", key) for key in keys])
    ports = {key.partition("|")[2]: dict(zip(row[::2], row[1::2])) for key, row in zip(keys, rows)}
    return Switch(version("release"), metadata or "", ports)


def _apply_patch(words: list[str]) -> int:
    options = _gcu_options(words, "apply-patch")
    try:
        with open(options.what) as file:
            patch = json.load(file)
        if not isinstance(patch, list):
            raise ValueError("JSON patch must be a list of operations")  # noqa: TRY004
        _updater(options, "Patch Applier").apply(patch, options.dry_run)
    except (OSError, ValueError, KeyError, TypeError, RefusedError) as error:
        print(f"Failed to apply patch due to: {error}", file=sys.stderr)
        return 2
    print("Patch applied successfully.")
    return 0


def _replace(words: list[str]) -> int:
    options = _gcu_options(words, "replace")
    try:
        _updater(options, "Config Replacer").replace(read_file(options.what), options.dry_run)
    except (OSError, ValueError, RefusedError) as error:
        print(f"Failed to replace config due to: {error}", file=sys.stderr)
        return 2
    print("Config replaced successfully.")
    return 0


def _rollback(words: list[str]) -> int:
    options = _gcu_options(words, "rollback")
    try:
        file = checkpoint_file(options.what)
        if not file.exists():
            raise ValueError(f"Checkpoint '{options.what}' does not exist")
        _updater(options, "Config Rollbacker").replace(read_file(str(file)), options.dry_run)
    except (OSError, ValueError, RefusedError) as error:
        print(f"Failed to rollback config due to: {error}", file=sys.stderr)
        return 2
    print("Config rolled back successfully.")
    return 0
