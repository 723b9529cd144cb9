"""Two writers of one ledger: neither loses what the other gave."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fabric.allocate import load, load_plan
from fabric.allocate.ledger import read, write
from fabric.state import state_paths

Written = Callable[..., Path]
_ONE = ("gpu[001-004]", "gpu[001-006]")
_OTHER = ("gpu[001-004]", "gpu[001-004],new[1-2]")


def test_a_ledger_that_grew_meanwhile_is_added_to(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written("lab")
    ledger = state_paths(path).ledger
    load_plan(path, write_ledger=True)
    written("lab", _OTHER)
    theirs = load.load_all(path).ledger
    written("lab", _ONE)

    @contextmanager
    def meanwhile(_folder: Path, _remedy: str) -> Iterator[None]:
        write(theirs, ledger)
        yield

    monkeypatch.setattr(load, "turn", meanwhile)
    plan = load_plan(path, write_ledger=True)
    names = [name for run in read(ledger).hosts for name in run.names]
    assert names == ["gpu001", "gpu002", "gpu003", "gpu004", "new1", "new2", "gpu005", "gpu006"]
    # The Plan that was returned is the one of the ledger that was written, not of the one that was read first.
    assert plan == load_plan(path)


def test_processes_side_by_side_write_one_ledger(written: Written, tmp_path: Path) -> None:
    path = written("sakuraone")
    code = "import sys; from pathlib import Path; from fabric.allocate import load_plan; load_plan(Path(sys.argv[1]), write_ledger=True)"  # noqa: E501
    running = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["sakuraone.ledger.yaml", "sakuraone.yaml"]
    assert not load.load_all(path).grown
