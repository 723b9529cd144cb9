"""From what each check says to what a person must do: a finding caused by another stands under it."""

from __future__ import annotations

from fabric.diagnose.claim import Cause, Claim, End
from fabric.diagnose.compare import compare
from fabric.diagnose.fold import fold

__all__ = ["Cause", "Claim", "End", "compare", "fold"]
