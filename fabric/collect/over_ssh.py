"""Collecting over SSH with a login: what the command line, the gate and the watcher call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from fabric.collect.gather import Collected, collect, over_reader, window
from fabric.collect.parts import DEFAULT_PARTS, Part
from fabric.transport.login import Login
from fabric.transport.session import Target
from fabric.values.snapshot import HostState


def collect_over_ssh(
    fabric: str,
    targets: Sequence[Target],
    login: Login,
    *,
    parts: Iterable[Part] = DEFAULT_PARTS,
    window_s: float | None = None,
    hosts: Sequence[Target] = (),
    dropped: Mapping[str, HostState] | None = None,
    progress: Callable[[str, str | None], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    whole_deadline_s: float | None = None,
    keep_raw: bool = True,
) -> tuple[Collected | None, Collected]:
    """Ask every device once over SSH, or twice `window_s` seconds apart: (first sample or None, the snapshot).

    The raw answers come with it if `keep_raw`; packing them costs a third of what reading them does.

    Connections stay open between the two. Raises HostKeyError when no host keys are enrolled at all; what a single
    device refuses stands in `snapshot.missing`.
    """
    from fabric.transport.asyncssh_reader import Reader

    with Reader(login) as reader:
        ask = over_reader(reader, whole_deadline_s=whole_deadline_s)
        if window_s is None:
            return None, collect(
                fabric,
                targets,
                ask,
                parts=parts,
                hosts=hosts,
                dropped=dropped,
                progress=progress,
                keep_raw=keep_raw,
            )
        return window(
            fabric,
            targets,
            ask,
            window_s,
            parts=parts,
            hosts=hosts,
            dropped=dropped,
            progress=progress,
            sleep=sleep,
            keep_raw=keep_raw,
        )
