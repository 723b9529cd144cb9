"""The SSH library that is also imported as `fabric`: installed before or after ours, we say so and exit 2."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fabric.cli import clash, entry
from tests.house.conftest import NewEnvironment, install, run


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel of the other distribution, and of what it needs besides libraries that are here anyway."""
    folder = tmp_path_factory.mktemp("other")
    done = run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--retries", "1", "--timeout", "20",
               "-d", folder, "fabric>=3.2,<4",
        "decorator",
        "deprecated",
        "wrapt")  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"no package index gives the other distribution: {done.stderr.strip().splitlines()[-1:]}")
    return sorted(folder.glob("*.whl"), key=lambda path: path.name.startswith("fabric-"))


@pytest.mark.parametrize("order", ["theirs-first", "ours-first"])
def test_real_clash_is_said(order: str, wheel: Path, other: list[Path], environment: NewEnvironment) -> None:
    python = environment()
    install(python, *((*other, wheel) if order == "theirs-first" else (wheel, *other)))
    done = run(python.with_name("railfab"), "design", "lab.yaml", cwd=Path("/"))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("railfab: the distribution `fabric` is installed")
    assert "pip uninstall fabric" in line
    # What the message tells to do mends it.
    assert run(sys.executable, "-m", "pip", "--python", python, "uninstall", "-q", "-y", "fabric").returncode == 0
    install(python, wheel)
    assert run(python.with_name("railfab"), "--help", cwd=Path("/")).returncode == 0


def test_marker_that_is_gone_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "fabric/cli/clash.py"
    place.parent.mkdir(parents=True)
    (tmp_path / "fabric/__init__.py").write_text("from .connection import Connection\n")
    monkeypatch.setattr(clash, "__file__", str(place))
    assert entry.run(["--help"]) == 2
    assert "fabric/__init__.py is not railfab's" in capsys.readouterr().err


def test_no_clash_here() -> None:
    assert clash.clash() is None
