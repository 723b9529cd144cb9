"""Run inside the twin's management network: plan with some of what must be altered, write the plan, print the sum.

`python -m tests.deploy.twin_plan INTENT ALTERATIONS.json PLAN`; alterations: {switch: {"rows": [[table, key, fields]],
"frr": [[old, new]]}}; fields null takes the row away.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from fabric.allocate import load_plan
from fabric.deploy.over_ssh import read_fabric
from fabric.deploy.planning import make_plan
from fabric.render import render_switch
from fabric.state import state_paths
from fabric.transport import Login
from fabric.values.codec import dumps
from fabric.values.device_config import DeviceConfig


def altered(desired: DeviceConfig, how: dict[str, Any]) -> DeviceConfig:
    tables: dict[str, Any] = {table: dict(rows) for table, rows in desired.tables.items()}
    for table, key, fields in how.get("rows", ()):
        rows = tables.setdefault(table, {})
        if fields is None:
            del rows[key]
        else:
            row = {**rows.get(key, {}), **fields}
            rows[key] = {name: value for name, value in row.items() if value is not None}
    frr = desired.frr
    for old, new in how.get("frr", ()):
        assert frr is not None
        assert old in frr, f"{old!r} is not in the text"
        frr = frr.replace(old, new)
    return replace(desired, tables={table: rows for table, rows in tables.items() if rows}, frr=frr)


def main(intent: Path, alterations: Path, out: Path) -> None:
    plan = load_plan(intent)
    wanted: dict[str, Any] = json.loads(alterations.read_text())
    login = Login.from_environment(state_paths(intent).known_hosts)
    readings, missing = read_fabric(plan, login, list(wanted))
    desired = {name: altered(render_switch(plan, name), wanted[name]) for name in readings}
    made = make_plan(plan, desired, readings, intent=str(intent), now=time.time(), unreachable=missing)
    out.write_text(dumps(made))
    print(
        json.dumps(
            {
                name: {
                    "method": change.method,
                    "impact": change.impact.name,
                    "ports": list(change.ports_flapped),
                    "sessions": list(change.sessions_reset),
                    "refused": change.refused,
                    "steps": [[step.table, step.key, step.field] for step in change.steps],
                }
                for name, change in made.changes.items()
            }
        )
    )


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:4]))
