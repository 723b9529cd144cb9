"""What a reading asks a switch, asked of a real shell."""

from __future__ import annotations

import fcntl
import shlex
import subprocess
from pathlib import Path

import pytest

from fabric.deploy.reading import RELOAD_QUESTION


def reloading(lock: Path) -> str:
    question = RELOAD_QUESTION.replace("{lock}", shlex.quote(str(lock)))
    return subprocess.run(["sh", "-c", question], capture_output=True, text=True).stdout.strip()


def test_only_a_reload_is_a_reload(tmp_path: Path) -> None:
    """Two that push at once ask in the same instant: neither takes the other's question for a reload."""
    lock = tmp_path / "reload.lock"
    assert reloading(lock) == ""
    with lock.open("w") as handle:
        assert reloading(lock) == ""
        fcntl.flock(handle, fcntl.LOCK_SH)  # as another that asks
        assert reloading(lock) == ""
        fcntl.flock(handle, fcntl.LOCK_EX)  # as `config reload` holds it (sonic-utilities:utilities_common/flock.py)
        assert reloading(lock) == "yes"
    assert reloading(lock) == ""


def test_a_lock_that_cannot_be_read_is_no_reload(tmp_path: Path) -> None:
    folder = tmp_path / "reload.lock"
    folder.symlink_to(tmp_path / "reload.lock")
    assert reloading(folder) == ""


@pytest.mark.parametrize("locked", [True, False])
def test_the_question_ends_well_whatever_it_finds(tmp_path: Path, locked: bool) -> None:
    """It stands in a script whose later answers must come too."""
    lock = tmp_path / "reload.lock"
    with lock.open("w") as handle:
        if locked:
            fcntl.flock(handle, fcntl.LOCK_EX)
        text = RELOAD_QUESTION.replace("{lock}", str(lock)) + "\necho after"
        done = subprocess.run(["sh", "-c", text], capture_output=True, text=True)
    assert done.stdout.split() == (["yes", "after"] if locked else ["after"])
