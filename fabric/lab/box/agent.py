"""A word with the part of the switch that starts and stops services (on SONiC: systemd)."""

from __future__ import annotations

import json
import socket
from typing import Any

SOCKET = "/run/box/agent.sock"


def ask(request: dict[str, Any], patience_s: float = 120.0) -> Any:
    """Send one request, return the answer. OSError when nobody is there, ValueError with what it says otherwise."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(patience_s)
        connection.connect(SOCKET)
        connection.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(connection.makefile("rb").readline())
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["ok"]
