"""The wheel holds the package and its data and nothing else, and works from anywhere."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.house.conftest import NewEnvironment, install, run


def test_wheel_holds_only_the_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    # NAPALM finds a driver by the name of a module at the top: one line that leads into the package.
    assert {top for top in tops if not top.endswith(".dist-info")} == {"fabric", "napalm_sonic.py"}
    for name in names:
        assert not name.endswith(".pyc"), name
        assert "/.railfab/" not in name
        assert "__pycache__" not in name


@pytest.mark.parametrize("folder", ["templates", "topology", "inventory"])
def test_wheel_carries_every_data_file(wheel: Path, tree: Path, folder: str) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (tree / folder).rglob("*"):
        kept = not any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(tree).parts)
        if path.is_file() and kept:
            assert f"fabric/_data/{path.relative_to(tree)}" in names


def test_wheel_carries_the_catalogue_and_the_licence(wheel: Path, tree: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    catalogue = {path.name for path in (tree / "fabric/platforms/catalogue").glob("*.json")}
    assert catalogue <= {Path(name).name for name in names}
    assert any(name.endswith("LICENSE") for name in names)


_RENDER = """
from pathlib import Path
import fabric.data, sys
from fabric.cli.entry import run
intent = fabric.data.locate("topology") / "lab.yaml"
print(intent)
code = run(["render", str(intent), "-o", sys.argv[1], "--state", sys.argv[2]])
assert code == 0, code
"""


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_render_from_the_root_folder(
    kind: str, wheel: Path, tree: Path, environment: NewEnvironment, tmp_path: Path
) -> None:
    python = environment()
    install(python, wheel if kind == "wheel" else tree)
    (tmp_path / "render.py").write_text(_RENDER)
    done = run(python, "-I", tmp_path / "render.py", tmp_path / "out", tmp_path / "state", cwd=Path("/"))
    assert done.returncode == 0, done.stdout + done.stderr
    inside = tmp_path if kind == "wheel" else tree
    assert Path(done.stdout.splitlines()[0]).is_relative_to(inside)
    tables = json.loads((tmp_path / "out/p1-l0/config_db.json").read_text(encoding="utf-8"))
    assert tables["DEVICE_METADATA"]["localhost"]["hostname"] == "p1-l0"
    assert (tmp_path / "out/s0/frr.conf").is_file()


def test_command_of_the_wheel(wheel: Path, environment: NewEnvironment) -> None:
    python = environment()
    install(python, wheel)
    done = run(python.with_name("railfab"), "--version", cwd=Path("/"))
    assert done.stdout.startswith("railfab, version ")
    assert run(python.with_name("railfab"), "--help", cwd=Path("/")).returncode == 0
