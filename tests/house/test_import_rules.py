"""Who imports whom: the contracts of pyproject.toml hold, cover every room, and a planted breach is caught."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

# What a room never imports, of ours and of others. The table of the house; pyproject.toml must say at least this.
NEVER: dict[str, set[str]] = {
    "intent": {"networkx", "jinja2", "nornir"},
    "platforms": {"nornir", "jinja2"},
    "model": {"fabric.transport", "fabric.checks"},
    "design": {"fabric.transport", "fabric.checks"},
    "allocate": {"fabric.transport", "fabric.checks"},
    "cabling": {"fabric.transport", "fabric.checks"},
    "render": {"networkx", "fabric.transport", "fabric.collect"},
    "lint": {"fabric.transport", "nornir"},
    "change": {"fabric.render", "fabric.transport"},
    "deploy": {"fabric.render", "fabric.checks"},
    "nornir_plugins": {"fabric.checks", "fabric.render", "fabric.cli"},
    "napalm_driver": {"fabric.checks", "fabric.cli"},
    "collect": {"fabric.allocate", "fabric.checks"},
    "checks": {"fabric.transport", "fabric.collect", "random", "socket"},
    "diagnose": {"fabric.transport", "fabric.collect", "random", "socket"},
    "whatif": {"fabric.transport"},
    "lab": {"fabric.checks"},
}


def rooms(tree: Path) -> set[str]:
    return {path.parent.name for path in (tree / "fabric").glob("*/__init__.py")} - {"_data"}


@pytest.fixture(scope="session")
def contracts(tree: Path) -> list[dict[str, Any]]:
    with (tree / "pyproject.toml").open("rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return found


def forbidden(contracts: list[dict[str, Any]], room: str) -> set[str]:
    return {
        name
        for contract in contracts
        if f"fabric.{room}" in contract["source_modules"]
        for name in contract["forbidden_modules"]
    }


def test_contracts_say_what_the_house_says(tree: Path, contracts: list[dict[str, Any]]) -> None:
    for room, names in NEVER.items():
        if room in rooms(tree):
            missing = names - forbidden(contracts, room)
            assert not missing, f"pyproject.toml lets fabric.{room} import {sorted(missing)}"


def test_indirect_imports_count(contracts: list[dict[str, Any]]) -> None:
    assert not [contract["name"] for contract in contracts if contract.get("allow_indirect_imports")]
    assert not [contract["name"] for contract in contracts if contract.get("ignore_imports")]


def test_nobody_imports_the_command_line(tree: Path, contracts: list[dict[str, Any]]) -> None:
    for room in rooms(tree) - {"cli"}:
        assert "fabric.cli" in forbidden(contracts, room), f"add fabric.{room} to the contract about fabric.cli"


def test_values_and_transport_know_no_other_room(tree: Path, contracts: list[dict[str, Any]]) -> None:
    others = {f"fabric.{room}" for room in rooms(tree)}
    assert forbidden(contracts, "values") >= others - {"fabric.values"}
    assert forbidden(contracts, "transport") >= others - {"fabric.values", "fabric.transport"}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([str(command), "--no-cache"], cwd=folder, capture_output=True, text=True)


def test_contracts_are_kept(tree: Path) -> None:
    done = lint_imports(tree)
    assert done.returncode == 0, done.stdout


def test_indirect_breach_is_caught(tmp_path: Path) -> None:
    """The linter as configured here sees an import two steps away, and one inside a function."""
    for name, text in {
        "fabric/__init__.py": "",
        "fabric/render/__init__.py": "def late():\n    import fabric.model\n",
        "fabric/model/__init__.py": "import networkx\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.importlinter]\nroot_package = "fabric"\ninclude_external_packages = true\n'
        '[[tool.importlinter.contracts]]\nname = "x"\ntype = "forbidden"\n'
        'source_modules = ["fabric.render"]\nforbidden_modules = ["networkx"]\n'
    )
    done = lint_imports(tmp_path)
    assert done.returncode == 1
    assert "fabric.render -> fabric.model" in done.stdout


# Modules directly in fabric/ that the SSH library of the same import name owns.
THEIRS = {
    "auth", "config", "connection", "exceptions", "executor", "group", "main",
    "runners", "tasks", "testing", "transfer", "tunnels", "util",
}  # fmt: skip


def test_no_module_has_a_name_of_the_other_package(tree: Path) -> None:
    ours = {path.stem for path in (tree / "fabric").glob("*.py")} | rooms(tree)
    assert not ours & THEIRS


def test_the_package_itself_imports_nothing(tree: Path) -> None:
    text = (tree / "fabric/__init__.py").read_text(encoding="utf-8")
    assert "import" not in text
    assert text.startswith('"""railfab:')
