"""`sonic-cfggen` of the twin's switches: read files and CONFIG_DB, print, write to CONFIG_DB."""

from __future__ import annotations

import argparse
import json
import re
import sys

from .database import CONFIG_DB, SOCKET, Tables, commands, merged, read, read_file, text
from .identity import eeprom
from .redis import Redis


def main() -> None:
    """Run it and exit with its code."""
    parser = argparse.ArgumentParser(prog="sonic-cfggen")
    parser.add_argument("-j", "--json", action="append", default=[])
    parser.add_argument("-a", "--additional-data")
    parser.add_argument("-d", "--from-db", action="store_true")
    parser.add_argument("-H", "--platform-info", action="store_true")
    parser.add_argument("-k", "--hwsku")
    parser.add_argument("-s", "--redis-unix-sock-file")
    parser.add_argument("-n", "--namespace")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("-v", "--var")
    output.add_argument("--var-json")
    output.add_argument("-w", "--write-to-db", action="store_true")
    output.add_argument("--print-data", action="store_true")
    options = parser.parse_args()
    try:
        layers = [read_file(path) for path in options.json]
        if options.additional_data:
            layers.append(json.loads(options.additional_data))
        if options.from_db:
            layers.insert(0, read(Redis(SOCKET, CONFIG_DB)))
        if options.platform_info:
            layers.append(_platform())
    except (OSError, ValueError) as error:
        print(f"sonic-cfggen: {error}", file=sys.stderr)
        sys.exit(1)
    tables = merged(*layers)
    if options.var:
        print(_variable(tables, options.var))
    elif options.var_json is not None:
        print(json.dumps(tables[options.var_json], indent=4) if options.var_json in tables else "")
    elif options.write_to_db:
        Redis(SOCKET, CONFIG_DB).pipeline(commands(tables))
    elif options.print_data:
        print(text(tables))


def _platform() -> Tables:
    known = eeprom()
    return {"DEVICE_METADATA": {"localhost": {"platform": known["platform"], "mac": known["mac"]}}}


def _variable(tables: Tables, expression: str) -> object:
    """`DEVICE_METADATA.localhost.hwsku` and `DEVICE_METADATA['localhost']['hwsku']`, as far as Jinja is needed."""
    value: object = tables
    for part in re.findall(r"[^.\[\]'\"]+", expression):
        value = value.get(part, "") if isinstance(value, dict) else ""
    return value
