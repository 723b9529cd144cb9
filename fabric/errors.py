"""The exception tree.

Every error a user can meet is one of these; each message names the file, line or device, says what is
wrong, and what to do. The command line prints the message and nothing else.

    RailfabError                 exit 2 unless said otherwise
      InputError                 an intent, plan, snapshot or argument is wrong; carries all problems at once
      PlatformError              a switch model, a port table or a breakout mode is unknown or contradicts itself
      AllocationError            a pool is exhausted, overlaps or collides; nothing was written
      RenderError                the plan cannot be expressed as SONiC configuration
      LintError                  a file could not be judged at all (not: it was judged and found wrong)
      TransportError             a device could not be reached, refused us, or did not answer in time
        HostKeyError             the host key is unknown or has changed; nothing was sent
        LoginError               no credential was accepted
        DeadlineError            no answer in time
      PushError                  a plan was refused, or a push went wrong; says what state the device is in
      CollectError               an answer could not be understood at all
      LabError                   the twin could not be built; says which kernel feature or package is missing
      MissingPartError           an optional part (a wheel, a Debian package, a folder of models) is not here
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with an input: where, what, and what to do.

    `file` and `line` (from 1) may be None when the input has none; `path` is the key path, e.g. `pods.0.nodes`.
    """

    what: str
    remedy: str = ""
    file: str | None = None
    line: int | None = None
    path: str | None = None

    def __str__(self) -> str:
        where = self.file or ""
        if self.line is not None:
            where += f":{self.line}"
        parts = [part for part in (where, self.path) if part]
        head = ": ".join([*parts, self.what])
        return f"{head}; {self.remedy}" if self.remedy else head


class RailfabError(Exception):
    """Base of everything railfab raises on purpose."""

    exit_code = 2


class InputError(RailfabError):
    """A file or argument given by the user is wrong. `problems` holds every one found."""

    def __init__(self, problems: Sequence[Problem] | Problem | str) -> None:
        if isinstance(problems, str):
            problems = [Problem(problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class PlatformError(RailfabError):
    """A switch model, port table or breakout mode is unknown or contradicts itself."""


class AllocationError(RailfabError):
    """A pool is exhausted, overlaps or collides. Nothing was written."""


class RenderError(RailfabError):
    """The plan cannot be expressed as SONiC configuration."""


class LintError(RailfabError):
    """A configuration could not be judged at all."""


class TransportError(RailfabError):
    """A device could not be reached, refused us, or did not answer in time."""


class HostKeyError(TransportError):
    """The host key is unknown or has changed. Neither password nor command was sent."""


class LoginError(TransportError):
    """No credential was accepted."""


class DeadlineError(TransportError):
    """No answer in time."""


class PushError(RailfabError):
    """A plan was refused, or a push went wrong. The message says what state the device is in."""


class CollectError(RailfabError):
    """An answer from a device could not be understood at all."""


class LabError(RailfabError):
    """The twin could not be built or reached."""


class MissingPartError(RailfabError):
    """An optional part is not installed; the message says how to get it."""
