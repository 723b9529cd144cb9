"""`TSA`, `TSB`, `TSC` of the twin's switches: traffic shift away and back, by route-maps, with SONiC's own trap.

Source: facts of sonic-buildimage dockers/docker-fpm-frr (sonic.md 1.7): it looks for route-maps that a neighbour uses
outbound and whose name has V4 or V6, and adds entries 20, 30 and deny 40. A map whose permit stands at 10 lets
everything through before them: it reports success and drains nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from .database import CONFIG_DB, SOCKET
from .redis import Redis


def main() -> None:
    """Run as the command it is called by."""
    verb = os.path.basename(sys.argv[0])
    maps = _maps()
    if verb == "TSC":
        state = Redis(SOCKET, CONFIG_DB).run("HGET", "BGP_DEVICE_GLOBAL|STATE", "tsa_enabled") == "true"
        print("System Mode: Maintenance" if state else "System Mode: Normal")
        return
    if os.geteuid() != 0:
        sys.exit("Root privileges are required for this operation")
    away = verb == "TSA"
    lines: list[str] = []
    for name in maps:
        family = "ip" if "V4" in name else "ipv6"
        loopbacks = f"PL_Loopback{'V4' if family == 'ip' else 'V6'}"
        if away:
            lines += [
                f"route-map {name} permit 20",
                f"match {family} address prefix-list {loopbacks}",
                "set community 12345:12345 additive",
                "exit",
                f"route-map {name} permit 30",
                "match tag 1001",
                "exit",
                f"route-map {name} deny 40",
                "exit",
            ]
        else:
            lines += [
                f"no route-map {name} permit 20",
                f"no route-map {name} permit 30",
                f"no route-map {name} deny 40",
            ]
    if lines:
        words = [word for line in ("configure terminal", *lines) for word in ("-c", line)]
        subprocess.run(["/usr/bin/vtysh", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    Redis(SOCKET, CONFIG_DB).run("HSET", "BGP_DEVICE_GLOBAL|STATE", "tsa_enabled", "true" if away else "false")
    print("System Mode: Normal -> Maintenance" if away else "System Mode: Maintenance -> Normal")


def _maps() -> list[str]:
    text = subprocess.run(["/usr/bin/vtysh", "-c", "show running-config"], capture_output=True, text=True).stdout
    names = re.findall(r"^\s*neighbor \S+ route-map (\S+) out\s*$", text, re.MULTILINE)
    return sorted({name for name in names if "V4" in name or "V6" in name})
