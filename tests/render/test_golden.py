"""The golden chain: intent -> plan -> tables -> files. Whatever changes, the test names the first link that did.

`golden/small` holds the whole files of a leaf and a host of the hand-built Plan, to be read in a review;
`golden/lab.json` digests of each link for topology/lab.yaml. `RAILFAB_GOLDEN=write pytest tests/render/test_golden.py`
writes both anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabric.allocate import load_plan
from fabric.render import render_hosts, render_switch
from fabric.render.writer import config_json
from fabric.values.codec import plain
from fabric.values.plan import Plan
from tests.render.plans import plan

GOLDEN = Path(__file__).parent / "golden"
WRITING = os.environ.get("RAILFAB_GOLDEN") == "write"


def digest(value: Any) -> str:
    """Twelve hex digits over the JSON of a value, its order included."""
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:12]


def small_files(of: Plan) -> dict[str, str]:
    config = render_switch(of, "p1-l0")
    files = {"p1-l0/config_db.json": config_json(config.tables).decode(), "p1-l0/frr.conf": config.frr or ""}
    return files | {f"gpu001/{path}": text for path, text in render_hosts(of, "gpu001").files.items()}


def chain(of: Plan) -> dict[str, Any]:
    """The links in order. Hosts and switches of the Plan stand for themselves, notes and texts do not."""
    switches = {name: render_switch(of, name) for name in of.switches}
    return {
        "plan": {
            "switches": {name: digest(plain(switch)) for name, switch in of.switches.items()},
            "hosts": digest(plain(of.hosts)),
            "qos": digest(plain((of.qos, of.routing, of.services))),
            "buffers": digest(plain({key: replace(value, source="") for key, value in of.buffers.items()})),
        },
        "tables": {
            name: {table: digest(rows) for table, rows in config.tables.items()} for name, config in switches.items()
        },
        "files": {
            **{f"{name}/frr.conf": digest(config.frr) for name, config in switches.items()},
            **{
                f"{name}/{path}": digest(text)
                for name in of.hosts
                for path, text in render_hosts(of, name).files.items()
            },
        },
    }


def flat(value: Any, path: str = "") -> dict[str, str]:
    if not isinstance(value, dict):
        return {path: str(value)}
    return {key: text for name, part in value.items() for key, text in flat(part, f"{path}/{name}").items()}


def first_difference(was: dict[str, Any], now: dict[str, Any]) -> str | None:
    """What differs in the earliest link of the chain that differs at all."""
    for link in ("plan", "tables", "files"):
        old, new = flat(was[link]), flat(now[link])
        changed = [path for path in dict.fromkeys([*old, *new]) if old.get(path) != new.get(path)]
        if changed:
            more = f" and {len(changed) - 8} more" if len(changed) > 8 else ""
            return f"the change starts in the {link}: {', '.join(changed[:8])}{more}"
    return None


def test_small_files_read_as_they_did() -> None:
    files = small_files(plan())
    if WRITING:
        for path, text in files.items():
            (GOLDEN / "small" / path).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / "small" / path).write_text(text)
    stored = {
        str(file.relative_to(GOLDEN / "small")): file.read_text()
        for file in (GOLDEN / "small").rglob("*")
        if file.is_file()
    }
    assert set(files) == set(stored)
    for path, text in files.items():
        assert text.splitlines() == stored[path].splitlines(), path


def test_lab_chain_is_as_it_was(tree: Path, tmp_path: Path) -> None:
    now = chain(load_plan(tree / "topology/lab.yaml", state=tmp_path))
    file = GOLDEN / "lab.json"
    if WRITING:
        file.write_text(json.dumps(now, indent=1) + "\n")
    difference = first_difference(json.loads(file.read_text()), now)
    assert difference is None, f"{difference}; if it is meant, write the golden files anew (see this test's docstring)"


@pytest.mark.parametrize(
    ("change", "start"),
    [
        (lambda of: replace(of, qos=replace(of.qos, dynamic_th=0)), "the change starts in the plan: /qos"),
        (lambda of: replace(of, release="202405"), "the change starts in the tables: "),
        (lambda of: replace(of, notes=("other",)), None),
    ],
    ids=["plan", "tables", "nothing"],
)
def test_the_chain_says_where_a_change_starts(change: Any, start: str | None) -> None:
    difference = first_difference(chain(plan()), chain(change(plan())))
    assert difference is None if start is None else (difference or "").startswith(start)
