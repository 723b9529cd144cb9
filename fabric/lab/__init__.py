"""The twin: the fabric of a Plan on this machine, from namespaces, FRR, lldpd, Redis and sshd.

`up` builds it, `down` removes it without a trace, `status`, `fault` and `inside` work on a running one. A twin
belongs to its folder (`.railfab/NAME/lab` beside the intent); two folders are two twins.
"""

from __future__ import annotations

from fabric.lab.control import Session, down, fault, inside, management, status, up

__all__ = ["Session", "down", "fault", "inside", "management", "status", "up"]
