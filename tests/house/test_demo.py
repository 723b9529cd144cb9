"""`./demo` from its first line to its last, on a twin of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.lab._needs import missing


@pytest.mark.twin
@pytest.mark.slow
def test_demo_says_what_it_should_and_leaves_nothing(tree: Path, tmp_path: Path) -> None:
    absent = missing(rootless=os.geteuid() != 0)
    if absent:
        pytest.skip("; ".join(absent))
    environment = {
        **os.environ,
        "RAILFAB_NO_SETUP": "1",
        "RAILFAB_BIN": str(Path(sys.executable).parent),
        "TMPDIR": str(tmp_path),
    }
    done = subprocess.run(["sh", tree / "demo"], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "railfab: every step said what it should"
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
