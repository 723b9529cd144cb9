"""The twin: the fabric of a Plan on this machine, from namespaces, FRR, lldpd, Redis and sshd.

`up` builds it, `down` removes it without a trace, `status`, `fault` and `inside` work on a running one. A twin
belongs to its folder (`.railfab/NAME/lab` beside the intent); two folders are two twins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabric.lab.control import Session, down, fault, inside, management, status, up

__all__ = ["Session", "down", "fault", "inside", "management", "status", "up"]


def __getattr__(name: str) -> Any:
    # Late, because the agent stands in this package too: it must not even import what knows a Plan.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fabric.lab import control

    return getattr(control, name)
