"""State beside the intent: the ledger (kept in git) and `.railfab/NAME/` (not in git)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StatePaths:
    """Where the state of one intent stands. Nothing is created until somebody writes."""

    ledger: Path
    folder: Path

    @property
    def known_hosts(self) -> Path:
        """OpenSSH known_hosts of the switches, enrolled by `railfab trust`."""
        return self.folder / "known_hosts"

    @property
    def runs(self) -> Path:
        """One folder a push."""
        return self.folder / "runs"

    @property
    def history(self) -> Path:
        """SQLite store of snapshots and verdicts."""
        return self.folder / "history.db"

    @property
    def verdict(self) -> Path:
        """The last verdict, for the prolog."""
        return self.folder / "verdict.json"

    @property
    def holds(self) -> Path:
        """State made by hand and kept on purpose."""
        return self.folder / "holds.json"


def state_paths(intent: Path, state: Path | None = None) -> StatePaths:
    """State of an intent: beside it, or all of it under `state` when given (`--state DIR`)."""
    base = state if state is not None else intent.parent
    return StatePaths(ledger=base / f"{intent.stem}.ledger.yaml", folder=base / ".railfab" / intent.stem)
