"""`show` of the twin's switches: the few subcommands a tool or an engineer asks first. All else is not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from .database import CONFIG_DB, SOCKET, read, text
from .identity import eeprom, version
from .redis import Redis


def main() -> None:
    """Run it and exit with its code."""
    words = sys.argv[1:]
    known = eeprom()
    match words:
        case ["version", *_]:
            print(f"\nSONiC Software Version: SONiC.{version('build_version')}")
            print(f"Distribution: Debian {version('debian_version')}\nKernel: {version('kernel_version')}")
            print(f"Build commit: {version('commit_id')}\n")
            print(f"Platform: {known['platform']}\nHwSKU: {known['hwsku']}\nASIC: {version('asic_type')}")
            print(f"ASIC Count: 1\nSerial Number: {known['serial']}")
        case ["platform", "summary", *rest]:
            fields = {
                "platform": known["platform"],
                "hwsku": known["hwsku"],
                "asic_type": version("asic_type"),
                "asic_count": 1,
                "serial": known["serial"],
                "model": "N/A",
                "revision": "N/A",
            }
            names = ("Platform", "HwSKU", "ASIC", "ASIC Count", "Serial Number", "Model Number", "Hardware Revision")
            if "--json" in rest:
                print(json.dumps(fields))
            else:
                print("\n".join(f"{name}: {value}" for name, value in zip(names, fields.values())))
        case ["runningconfiguration", "all", *_]:
            tables: dict[str, object] = dict(read(Redis(SOCKET, CONFIG_DB)))
            raw = subprocess.run(["/usr/bin/vtysh", "-c", "show running-config"], capture_output=True, text=True)
            print(text({**tables, "bgpraw": raw.stdout}))
        case ["interfaces", "status", *_]:
            _interfaces()
        case ["lldp", ("table" | "neighbors"), *_]:
            os.execvp("lldpctl", ["lldpctl"])
        case ["ip", "bgp", *_] | ["ip", "route", *_] | ["ipv6", *_] | ["bgp", *_]:
            os.execv("/usr/bin/vtysh", ["vtysh", "-c", "show " + " ".join(words)])
        case ["system-health", "summary", *_]:
            up = Redis(SOCKET, 6).run("HGET", "SYSTEM_READY|SYSTEM_STATE", "Status") == "UP"
            print(f"System status summary\n\n  System status LED  {'green' if up else 'red'}")
        case ["uptime", *_]:
            print(f"up {float(Path('/proc/uptime').read_text().split()[0]) / 60:.0f} minutes")
        case _:
            print(f"Error: `show {' '.join(words)}` is not in the twin; docs/twin.md lists what is", file=sys.stderr)
            sys.exit(2)


def _interfaces() -> None:
    redis = Redis(SOCKET, 0)
    keys = sorted(redis.scan("PORT_TABLE:Ethernet*"), key=lambda key: int(key.removeprefix("PORT_TABLE:Ethernet")))
    line = "{:>13}  {:>40}  {:>7}  {:>5}  {:>4}  {:>14}  {:>6}  {:>4}  {:>5}"
    print(line.format("Interface", "Lanes", "Speed", "MTU", "FEC", "Alias", "Vlan", "Oper", "Admin"))
    for key, row in zip(keys, redis.pipeline([("HGETALL", key) for key in keys])):
        have = dict(zip(row[::2], row[1::2]))
        speed = f"{int(have.get('speed', '0')) // 1000}G"
        print(
            line.format(
                key.partition(":")[2],
                have.get("lanes", "N/A"),
                speed,
                have.get("mtu", "N/A"),
                have.get("fec", "N/A"),
                have.get("alias", "N/A"),
                "routed",
                have.get("oper_status", "N/A"),
                have.get("admin_status", "N/A"),
            )
        )
