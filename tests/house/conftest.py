"""Clean environments for tests of the installed package, made without the network."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _details_go_with_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an internal error leaves its details: a folder that pytest removes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def run(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True)


@pytest.fixture(scope="session")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """railfab's wheel, built from the tree."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel: pip install -e '.[dev]'")
    folder = tmp_path_factory.mktemp("wheel")
    done = run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        folder,
        tree,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("railfab-*.whl")
    return built


NewEnvironment = Callable[[], Path]


@pytest.fixture
def environment(tmp_path: Path) -> NewEnvironment:
    """Makes an environment with everything but railfab, borrowed from the one that runs the tests; returns its Python.

    A line in a .pth file adds the borrowed folder behind the environment's own; .pth files in the borrowed folder are
    not read, so an editable railfab there is not seen.
    """
    count = 0

    def make() -> Path:
        nonlocal count
        count += 1
        folder = tmp_path / f"environment{count}"
        done = run(sys.executable, "-m", "venv", "--without-pip", folder)
        assert done.returncode == 0, done.stderr
        python = folder / "bin/python"
        done = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
        borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        (Path(done.stdout.strip()) / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
        return python

    return make


def install(python: Path, *packages: str | Path) -> None:
    """Install files or folders into an environment, in this order, without the network and without dependencies."""
    for package in packages:
        done = run(
            sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index",
            "--no-build-isolation", "--ignore-installed", *(("-e",) if Path(package).is_dir() else ()), package,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
