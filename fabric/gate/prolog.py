#!/usr/bin/env python3
"""Slurm prolog: read the last verdict and answer for this node (or the job's nodes). Standard library only.

    Prolog=/etc/slurm/railfab-prolog        # a two-line script that runs:
    python3 prolog.py /path/.railfab/NAME/verdict.json [--max-age 300] [--unknown 0] [--nodes 'gpu[001-004]']

Without --nodes it answers for SLURMD_NODENAME, else for SLURM_JOB_NODELIST. It opens one file and no connection.
Exit 0 go or warn, 1 no-go, 2 unknown: no record, an old one, a node it does not know. Slurm drains a node whose
prolog fails, so a site that prefers to run jobs while the watcher is away sets --unknown 0.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

SCHEMA = "railfab.verdicts/1"


def main(
    arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None, now: float | None = None
) -> int:
    """Answer on stdout in one line; return the exit code."""
    environment = os.environ if environment is None else environment
    parser = argparse.ArgumentParser(description="railfab's answer for this node, from the last verdict")
    parser.add_argument("record", help="verdict.json")
    parser.add_argument("--nodes", help="a Slurm node list instead of this node")
    parser.add_argument("--max-age", type=float, default=300.0, help="seconds after which a record is old (300)")
    parser.add_argument("--unknown", type=int, default=2, help="exit code when it cannot tell (2)")
    options = parser.parse_args(arguments)
    listed = options.nodes or environment.get("SLURMD_NODENAME") or environment.get("SLURM_JOB_NODELIST") or ""
    code, text = answer(options.record, listed, options.max_age, time.time() if now is None else now)
    print(text)
    return int(options.unknown) if code == 2 else code


def answer(path: str, listed: str, max_age_s: float, now: float) -> tuple[int, str]:
    """Exit code and one line for a node list, from the record at `path`."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double the start-up time
            record = json.load(file)
        nodes, taken_at = record["nodes"], record["taken_at"]
        if record["schema"] != SCHEMA or not isinstance(nodes, dict) or not isinstance(taken_at, (int, float)):
            return 2, f"unknown: {path} is no {SCHEMA} record"
    except FileNotFoundError:
        return 2, f"unknown: no record {path}; run `railfab check` (or watch) for this fabric"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return 2, f"unknown: cannot read {path}: {error}"
    age = now - taken_at
    if age > max_age_s:
        return 2, f"unknown: the record is {age:.0f} s old, at most {max_age_s:.0f} s are allowed"
    if age < -60:
        return 2, f"unknown: the record is {-age:.0f} s ahead of this clock"
    try:
        names = expand(listed)
    except ValueError as error:
        return 2, f"unknown: {error}"
    return judge(nodes, names, age)


def judge(nodes: Mapping[str, Any], names: Sequence[str], age: float) -> tuple[int, str]:
    """The worst answer of `names`: no-go before unknown before warn."""
    if not names:
        return 2, "unknown: no node named; Slurm sets SLURMD_NODENAME, or give --nodes"
    strangers = [name for name in names if name not in nodes]
    answers = {name: nodes[name].get("verdict") for name in names if name in nodes}
    for bad, code in (("no-go", 1), ("unknown", 2)):
        hit = [name for name, verdict in answers.items() if verdict == bad]
        if bad == "unknown":
            hit += strangers
        if hit:
            reasons = nodes.get(hit[0], {}).get("reasons") or ["the record does not know it"]
            return code, f"{bad}: {', '.join(hit[:8])}: {reasons[0]}"
    odd = [name for name, verdict in answers.items() if verdict not in ("go", "warn")]
    if odd:
        return 2, f"unknown: {odd[0]} has no readable verdict"
    warned = [name for name, verdict in answers.items() if verdict == "warn"]
    if warned:
        return 0, f"warn: {', '.join(warned[:8])}: {(nodes[warned[0]].get('reasons') or [''])[0]}"
    return 0, f"go: {len(names)} node(s), checked {age:.0f} s ago"


def expand(listed: str) -> list[str]:
    """Names of a node list; brackets are expanded by Slurm's own scontrol, which stands where a prolog runs."""
    listed = listed.strip()
    if "[" not in listed:
        return [name for name in listed.split(",") if name]
    try:
        done = subprocess.run(
            ["scontrol", "show", "hostnames", listed], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"cannot expand {listed!r}: {error}") from None
    if done.returncode != 0:
        raise ValueError(f"scontrol does not know {listed!r}: {done.stderr.strip()}")
    return done.stdout.split()


if __name__ == "__main__":
    sys.exit(main())
