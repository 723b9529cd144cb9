"""One twin for the whole road, brought up and pushed by the command a person types."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.twin_fixtures import missing_for_twin


@dataclass(frozen=True)
class Road:
    """A fabric on this machine: its intent, and `railfab` inside and outside its management network."""

    intent: Path

    def railfab(self, *words: str, timeout: float = 180, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the command as a person would; `text` is its standard input."""
        command = [sys.executable, "-c", "from fabric.cli.entry import main; main()", *words]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=timeout, env=self._environment()
        )

    def inside(self, verb: str, *words: str, timeout: float = 180) -> subprocess.CompletedProcess[str]:
        """Run a verb on the management network, with the twin's own login."""
        inner = [sys.executable, "-c", "from fabric.cli.entry import main; main()", verb, str(self.intent), *words]
        return self.railfab("lab", "exec", str(self.intent), "--", *inner, timeout=timeout)

    def check(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Exit code and document of a check of the live twin."""
        done = self.inside("check", "--json", *words)
        assert done.stdout, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return done.returncode, document

    def check_until(
        self, good: Callable[[int, dict[str, Any]], bool], *words: str, within_s: float = 60
    ) -> tuple[int, dict[str, Any]]:
        """Check again until `good` or the time is over: what a fabric says settles in seconds, not at once."""
        until = time.monotonic() + within_s
        while True:
            code, document = self.check(*words)
            if good(code, document) or time.monotonic() > until:
                return code, document
            time.sleep(1)

    @contextmanager
    def fault(self, *words: str) -> Iterator[None]:
        """A fault of the twin, undone at the end whatever happened."""
        done = self.railfab("lab", "fault", str(self.intent), *words)
        assert done.returncode == 0, done.stderr
        try:
            yield
        finally:
            undone = self.railfab("lab", "fault", str(self.intent), *words, "--undo")
            assert undone.returncode == 0, undone.stderr

    def _environment(self) -> dict[str, str]:
        tree = str(Path(__file__).resolve().parent.parent.parent)
        return {**os.environ, "PYTHONPATH": tree, "COLUMNS": "200"}


@pytest.fixture(scope="session")
def road(tmp_path_factory: pytest.TempPathFactory, tree: Path) -> Iterator[Road]:
    """The twin of lab.yaml: up, planned, applied. Down again at the end."""
    if lacking := missing_for_twin():
        pytest.skip("no twin on this machine: " + "; ".join(lacking))
    folder = tmp_path_factory.mktemp("road")
    intent = folder / "lab.yaml"
    shutil.copy(tree / "topology" / "lab.yaml", intent)
    made = Road(intent)
    try:
        up = made.railfab("lab", "up", str(intent))
        assert up.returncode == 0, up.stderr
        planned = made.inside("plan", "-o", str(folder / "change.json"))
        assert planned.returncode == 0, planned.stderr
        inner = [sys.executable, "-c", "from fabric.cli.entry import main; main()"]
        applied = made.railfab(
            "lab", "exec", str(intent), "--", *inner, "apply", str(folder / "change.json"), "--yes", timeout=300
        )
        assert applied.returncode == 0, applied.stdout + applied.stderr
        yield made
    finally:
        made.railfab("lab", "down", str(intent))
