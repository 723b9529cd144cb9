"""Fixtures every room uses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.twin_fixtures import lab_twin  # noqa: F401  the running twin, for tests of every room

_TREE = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def tree() -> Path:
    """The source tree."""
    return _TREE


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real SONiC files that nobody here wrote (`RAILFAB_SHARED` or ../shared); tests skip where they are absent."""
    folder = Path(os.environ.get("RAILFAB_SHARED", _TREE.parent / "shared"))
    if not (folder / "real").is_dir():
        pytest.skip(f"real SONiC files are not here ({folder.name}/real); set RAILFAB_SHARED to a folder that has them")
    return folder


@pytest.fixture(scope="session")
def yang_folder() -> Path:
    """SONiC's YANG models (`RAILFAB_YANG` or ../shared/yang); tests skip where they are absent."""
    folder = Path(os.environ.get("RAILFAB_YANG", _TREE.parent / "shared" / "yang"))
    if not any(folder.glob("sonic-port.yang")):
        pytest.skip("SONiC's YANG models are not here; set RAILFAB_YANG to a folder of them")
    return folder


# Configurations of switches that SONiC's YANG models judged in this run, lint's own tests of single rows not counted.
_JUDGED = pytest.StashKey[list[int]]()


def pytest_configure(config: pytest.Config) -> None:
    """Count what the models judge, for the line at the end."""
    from fabric.lint.yang import YangModels

    count = config.stash.setdefault(_JUDGED, [0])
    judge = YangModels.judge

    def counted(self: YangModels, tables: Any) -> Any:
        if "tests/lint/" not in os.environ.get("PYTEST_CURRENT_TEST", ""):
            count[0] += 1
        return judge(self, tables)

    YangModels.judge = counted  # type: ignore[method-assign]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist sends its count home."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["yang_judged"] = session.config.stash[_JUDGED][0]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add up what the workers judged."""
    node.config.stash[_JUDGED][0] += getattr(node, "workeroutput", {}).get("yang_judged", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say whether SONiC's models judged anything: a run without them is no proof about configuration."""
    (judged,) = config.stash[_JUDGED]
    terminalreporter.write_line(f"YANG: judged {judged} files" if judged else "YANG: not judged")
