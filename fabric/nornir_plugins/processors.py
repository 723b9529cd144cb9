"""Processors: progress at the terminal, and a log of what each host did."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from nornir.core.inventory import Host
from nornir.core.task import AggregatedResult, MultiResult, Task

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

logger = logging.getLogger("railfab.push")


class _Quiet:
    """A processor that does nothing; the others say only what they need."""

    def task_started(self, task: Task) -> None:
        """A task starts on all hosts."""

    def task_completed(self, task: Task, result: AggregatedResult) -> None:
        """A task has ended on all hosts."""

    def task_instance_started(self, task: Task, host: Host) -> None:
        """A host starts."""

    def task_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:
        """A host has ended."""

    def subtask_instance_started(self, task: Task, host: Host) -> None:
        """A step of a host starts."""

    def subtask_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:
        """A step of a host has ended."""


class LogProcessor(_Quiet):
    """One log line a host and task, to the logger `railfab.push`; the reason when it failed, never a secret."""

    def task_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:
        """Say how the host ended."""
        if result.failed:
            problem: Any = next((one.exception or one.result for one in result if one.failed), "failed")
            logger.error("%s: %s failed: %s", host.name, task.name, problem)
        else:
            logger.info("%s: %s done", host.name, task.name)


class ProgressProcessor(_Quiet):
    """A bar over the hosts of a task. The Progress is the caller's and is running."""

    def __init__(self, progress: Progress, total: int, title: str) -> None:
        self._progress = progress
        self._bar: TaskID = progress.add_task(title, total=total)
        self._title = title
        self._failed = 0

    def task_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:  # noqa: ARG002
        """One host further."""
        self._failed += bool(result.failed)
        note = f" [red]{self._failed} failed[/red]" if self._failed else ""
        self._progress.update(self._bar, advance=1, description=f"{self._title}{note}")
