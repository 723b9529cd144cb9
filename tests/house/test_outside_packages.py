"""What a room brings in from outside when it is imported, seen in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"networkx", "pydantic", "netmiko", "napalm", "asyncssh", "rich", "nornir", "paramiko", "jinja2", "openpyxl"}

# room -> outside packages that importing it must not bring in.
NEVER: dict[str, set[str]] = {
    "fabric": HEAVY | {"click", "yaml", "orjson"},
    "fabric.values": HEAVY | {"click", "yaml", "orjson"},
    "fabric.errors": HEAVY | {"click", "yaml", "orjson"},
    "fabric.cli": HEAVY | {"click"},
    "fabric.cli.entry": HEAVY | {"click", "yaml", "orjson"},
    "fabric.cli.verbs": HEAVY | {"yaml", "orjson"},
    "fabric.intent": {"networkx", "jinja2", "nornir", "netmiko", "asyncssh", "rich"},
    "fabric.platforms": {"nornir", "jinja2", "networkx", "pydantic"},
    "fabric.render": {"networkx", "nornir", "netmiko", "asyncssh", "rich", "pydantic"},
    "fabric.lint": HEAVY | {"yaml"},
    "fabric.change": {"jinja2", "networkx", "nornir", "netmiko", "asyncssh", "rich"},
    "fabric.checks": {"nornir", "netmiko", "asyncssh", "paramiko", "rich", "jinja2"},
    "fabric.diagnose": {"nornir", "netmiko", "asyncssh", "paramiko", "rich", "jinja2"},
    "fabric.gate": {"nornir", "netmiko", "asyncssh", "paramiko", "rich", "jinja2"},
    "fabric.transport": HEAVY,
    "fabric.collect": {"networkx", "pydantic", "nornir", "netmiko", "napalm", "asyncssh", "rich", "jinja2"},
}


def loaded(module: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); import {module}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("module", NEVER)
def test_room_brings_in_no_more_than_it_may(module: str, tree: Path) -> None:
    place = tree / module.replace(".", "/")
    if not (place / "__init__.py").exists() and not place.with_suffix(".py").exists():
        pytest.skip(f"{module} is not here")
    assert not loaded(module) & NEVER[module]


@pytest.mark.parametrize("verb", ["design", "render", "lint", "plan", "apply", "check", "gate", "collect", "lab"])
def test_help_of_a_verb_brings_in_nothing_heavy(verb: str, tree: Path) -> None:
    if not (tree / "fabric/cli" / f"{verb}.py").exists():
        pytest.skip(f"{verb} is not here")
    assert not loaded(f"fabric.cli.{verb}") & HEAVY


def test_prolog_is_standard_library_only(tree: Path) -> None:
    if not (tree / "fabric/gate/prolog.py").exists():
        pytest.skip("the prolog is not here")
    assert loaded("fabric.gate.prolog") - {"fabric"} <= set(sys.stdlib_module_names)
