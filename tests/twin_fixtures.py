"""A running, configured twin for tests of any room.

`lab_twin` is made once a session from `topology/lab.yaml`, configured as the Plan wants it, and torn down at the end
whatever happened. Tests must leave it as they found it: undo faults, put configuration back.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fabric import lab
from fabric.values.plan import Plan, Role

_TREE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class LabTwin:
    """A running twin: its intent (None for a Plan written by hand), its folder, its Plan."""

    folder: Path
    plan: Plan
    intent: Path | None = None

    def run(self, node: str, *words: str, text: str | None = None, check: bool = True) -> str:
        """Run a command in a node; its stdout. CalledProcessError when it fails and `check`."""
        return self.process(node, *words, text=text, check=check).stdout

    def process(
        self, node: str, *words: str, text: str | None = None, check: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in a node."""
        before, environment = lab.inside(self.folder, node)
        done = subprocess.run([*before, *words], input=text, capture_output=True, text=True, env=environment)
        if check and done.returncode:
            raise AssertionError(
                f"{node}: {' '.join(words)}: {done.returncode} {done.stdout[-500:]} {done.stderr[-500:]}"
            )
        return done

    def outside(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command on the twin's management network."""
        before, environment = lab.management(self.folder)
        environment = {**environment, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"}
        return subprocess.run([*before, *words], capture_output=True, text=True, env=environment)

    def ssh(
        self, switch: str, command: str, user: str = "admin", options: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a switch over SSH, with the twin's key and known_hosts."""
        address = self.plan.switches[switch].mgmt_address.split("/")[0]
        words = ["ssh", "-F", "none", *options, "-i", str(self.folder / "id_ed25519"), "-o", "BatchMode=yes"]
        words += ["-o", f"UserKnownHostsFile={self.folder / 'known_hosts'}", "-o", "KexAlgorithms=curve25519-sha256"]
        return self.outside(*words, f"{user}@{address}", command)

    def rows(self, switch: str, database: str, pattern: str) -> dict[str, dict[str, str]]:
        """Rows of a database, read as a collector would: one EVAL."""
        script = (
            "local out = {} for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
            "if redis.call('TYPE', key)['ok'] == 'hash' then local row = {} local f = redis.call('HGETALL', key) "
            "for i = 1, #f, 2 do row[f[i]] = f[i + 1] end out[key] = row end end return cjson.encode(out)"
        )
        found = json.loads(self.run(switch, "sonic-db-cli", database, "EVAL", script, "0", pattern))
        return {key: dict(row) for key, row in found.items()} if found else {}

    def row(self, switch: str, database: str, key: str) -> dict[str, str]:
        """One row, empty when it is not there."""
        return self.rows(switch, database, key.replace("[", "\\[")).get(key, {})

    def sessions(self, switch: str) -> dict[str, dict[str, Any]]:
        """BGP peers of a switch by address."""
        said = self.process(switch, "vtysh", "-c", "show bgp summary json").stdout
        try:
            peers: dict[str, dict[str, Any]] = json.loads(said).get("ipv4Unicast", {}).get("peers", {})
        except ValueError:
            return {}
        return peers

    def missing(self) -> list[str]:
        """What keeps the twin from being whole: sessions, paths of leaves to each other, LLDP neighbours."""
        here = {(end["device"], end["port"]) for cable in lab.status(self.folder)["cables"] for end in cable["ends"]}
        lacking = []
        for name, switch in self.plan.switches.items():
            wanted = {port.peer_addresses[0].split("/")[0] for port in switch.sessions() if (name, port.name) in here}
            peers = self.sessions(name)
            for one in wanted:
                state = peers.get(one, {}).get("state")
                if state != "Established":
                    lacking.append(f"{name}: session to {one} is {state}")
            if switch.role is Role.LEAF:
                others = [one for one in self.plan.switches.values() if one.role is Role.LEAF and one is not switch]
                routes = self.rows(name, "APPL_DB", "ROUTE_TABLE:*")
                for other in others:
                    loopback = other.loopbacks[0].split("/")[0]
                    hops = routes.get(f"ROUTE_TABLE:{loopback}", {}).get("nexthop", "")
                    if len(hops.split(",")) != len(wanted):
                        lacking.append(f"{name}: {loopback} over {hops or 'nothing'}")
            seen = {key.partition(":")[2] for key in self.rows(name, "APPL_DB", "LLDP_ENTRY_TABLE:Ethernet*")}
            silent = {port for device, port in here if device == name} - seen
            lacking += [f"{name}: no LLDP neighbour on {port}" for port in sorted(silent)]
        return lacking

    def converged(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing()

    def fault(self, kind: str, *arguments: str, undo: bool = False) -> None:
        """Put a fault in or take it out."""
        lab.fault(self.folder, kind, arguments, undo=undo)

    def configure(self, tables: Callable[[str], dict[str, Any]], frr: Callable[[str], str]) -> None:
        """Give every switch its configuration by file and `config reload`, laid over what it has ex works."""
        factory = json.loads((self.folder / "blueprint.json").read_text())["switches"]

        def one(name: str) -> None:
            merged = json.loads(json.dumps(factory[name]["factory"]))
            for table, rows in tables(name).items():
                for key, row in rows.items():
                    merged.setdefault(table, {}).setdefault(key, {}).update(row)
            self.run(name, "sh", "-c", "cat > /etc/sonic/config_db.json", text=json.dumps(merged))
            self.run(name, "sh", "-c", "cat > /etc/sonic/frr/frr.conf", text=frr(name))
            self.run(name, "config", "reload", "-y", "-f")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(one, factory))
        wait(self.converged, 60, "the twin to converge")


def wait(ready: Callable[[], Any], seconds: float, what: str) -> Any:
    """Wait until `ready` gives something true, and return that. AssertionError when it takes longer."""
    deadline = time.monotonic() + seconds
    while True:
        found = ready()
        if found:
            return found
        if time.monotonic() > deadline:
            twin = getattr(ready, "__self__", None)
            why = f": {'; '.join(twin.missing()[:12])}" if isinstance(twin, LabTwin) else ""
            raise AssertionError(f"waited {seconds:.0f} s in vain for {what}{why}")
        time.sleep(0.1)


def missing_for_twin() -> list[str]:
    """What this machine lacks for a twin run by this user."""
    from fabric.lab import _needs

    return _needs.missing(os.geteuid() != 0)


@pytest.fixture(scope="session")
def lab_twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabTwin]:
    """The twin of `topology/lab.yaml`, configured and converged."""
    from fabric.allocate import load_plan
    from fabric.render import render_switch

    if lacking := missing_for_twin():
        pytest.skip("no twin on this machine: " + "; ".join(lacking))
    folder = tmp_path_factory.mktemp("twin")
    intent = folder / "lab.yaml"
    shutil.copy(_TREE / "topology" / "lab.yaml", intent)
    plan = load_plan(intent, write_ledger=True)
    place = folder / ".railfab" / "lab" / "lab"
    try:
        lab.up(plan, place)
        twin = LabTwin(place, plan, intent)
        wanted = {name: render_switch(plan, name) for name in plan.switches}
        twin.configure(lambda name: dict(wanted[name].tables), lambda name: wanted[name].frr or "")
        yield twin
    finally:
        lab.down(place)
