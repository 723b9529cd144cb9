"""What a check gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fabric.checks.view import View
from fabric.diagnose.claim import Claim


@dataclass(slots=True)
class Judged:
    """What one check says: claims (fail, warn, unknown) and how many objects it found as they must be."""

    claims: list[Claim] = field(default_factory=list)
    passed: int = 0


Check = Callable[[View], Judged]
