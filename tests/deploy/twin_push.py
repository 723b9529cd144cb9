"""The commands of a push on the running twin, faults put under them, and what each test must leave behind: nothing."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric import lab
from tests.twin_fixtures import LabTwin, wait

_TREE = str(Path(__file__).resolve().parents[2])
_ENTRY = "from fabric.cli.entry import main; main()"
# --patience has a floor that is right for people and long for a test: a deadline of its own for one kind of step.
_HURRIED = """from dataclasses import fields
from fabric.deploy.order import Deadlines
Deadlines.__init__.__defaults__ = tuple({given!r}.get(one.name, one.default) for one in fields(Deadlines))
"""
_CONFIG = "/etc/twin/bin/config"
# A wrapped `config` writes down every call, does what the fault is, and ends as the real one.
_WRAPPER = """#!/bin/sh
real=/run/box/wrapped/real
PATH=/etc/twin/bin:$PATH
echo "$*" >>/run/box/wrapped/calls
cut() {{
 for one in /proc/[0-9]*; do
  case "$(cat "$one/comm" 2>/dev/null)" in
  sshd*) [ "${{one#/proc/}}" = "$(cat /run/sshd.pid)" ] || kill -9 "${{one#/proc/}}" 2>/dev/null ;;
  esac
 done
}}
first() {{ mkdir "/run/box/wrapped/$1" 2>/dev/null; }}
case "$*" in
{cases}
esac
exec $real "$@"
"""
_FOOTPRINT = """
echo "@@ running"; sonic-cfggen -d --print-data
echo "@@ saved"; cat /etc/sonic/config_db.json
echo "@@ routing"; vtysh -c 'show running-config'
echo "@@ frr.conf"; cat /etc/sonic/frr/frr.conf
echo "@@ mark"; cat /etc/sonic/railfab/mark.json 2>/dev/null
echo "@@ pending"; cat /etc/sonic/railfab/pending.json 2>/dev/null
echo "@@ lock"; cat /run/railfab.lock 2>/dev/null
echo "@@ timers"; systemctl list-timers
echo "@@ mounts"; grep -E ' (/etc/twin/bin|/run/box/sonic|/var/tmp/railfab)' /proc/mounts
echo "@@ management"; ip -4 -br addr show eth0
"""
_RESTORE = """
for one in /etc/twin/bin/config /run/box/sonic /var/tmp/railfab; do umount -l $one 2>/dev/null; done
rm -rf /run/railfab.lock /etc/sonic/railfab /run/box/wrapped
for unit in $(systemctl list-timers | sed -n 's/.* \\([^ ]*\\.timer\\) .*/\\1/p'); do systemctl stop "$unit"; done
ip link set eth0 up
cat >/etc/sonic/config_db.json
"""


@dataclass
class Push:
    """The twin and the commands of a push on it. `plans` keeps plans that were made, for one switch as it was found."""

    twin: LabTwin
    folder: Path
    plans: dict[str, str] = field(default_factory=dict)

    @property
    def intent(self) -> str:
        return str(self.twin.intent)

    @property
    def runs(self) -> Path:
        return Path(self.intent).parent / ".railfab" / "lab" / "runs"

    def railfab(
        self, verb: str, *words: str, deadlines: Mapping[str, float] | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """A verb on the management network. `environ` is set for it; a variable that is empty is taken away."""
        code = (_HURRIED.format(given=dict(deadlines)) if deadlines else "") + _ENTRY
        gone = [word for name, value in environ.items() if not value for word in ("-u", name)]
        given = [f"{name}={value}" for name, value in environ.items() if value]
        command = [sys.executable, "-c", code, verb, *words]
        return self.twin.outside("env", *gone, f"PYTHONPATH={_TREE}", *given, *command)

    def start(self, verb: str, *words: str) -> subprocess.Popen[str]:
        """The same, running on its own."""
        before, environment = lab.management(self.twin.folder)
        command = [*before, sys.executable, "-c", _ENTRY, verb, *words]
        environment = {**environment, "PYTHONPATH": _TREE}
        return subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def plan(self, alterations: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Plan with alterations of what must be: (what is predicted a switch, the plan's file)."""
        given, out = self.folder / "alter.json", self.folder / f"plan-{time.time_ns()}.json"
        given.write_text(json.dumps(alterations))
        words = (sys.executable, "-m", "tests.deploy.twin_plan", self.intent, str(given), str(out))
        done = self.twin.outside("env", f"PYTHONPATH={_TREE}", *words)
        assert done.returncode == 0, done.stderr
        predicted: dict[str, Any] = json.loads(done.stdout)
        return predicted, str(out)

    def planned(self, alterations: dict[str, Any]) -> str:
        """The plan's file alone; made once for all tests, since each leaves its switches as they were."""
        key = json.dumps(alterations, sort_keys=True)
        if key not in self.plans:
            self.plans[key] = self.plan(alterations)[1]
        return self.plans[key]

    def apply(
        self, plan: str, *words: str, deadlines: dict[str, float] | None = None, **environ: str
    ) -> dict[str, Any]:
        done = self.railfab("apply", plan, "--yes", "--json", *words, deadlines=deadlines, **environ)
        assert done.stdout.startswith("{"), done.stderr
        data: dict[str, Any] = json.loads(done.stdout)
        return {**data, "rc": done.returncode, "by": {one["name"]: one for one in data["devices"]}}

    def resume(self, *words: str) -> dict[str, Any]:
        """Go on with the last run, without health checks."""
        words = ("--resume", "last", "--intent", self.intent, "--yes", "--json", "--no-health", *words)
        done = self.railfab("apply", *words)
        assert done.stdout.startswith("{"), done.stdout + done.stderr
        data: dict[str, Any] = json.loads(done.stdout)
        return {**data, "rc": done.returncode, "by": {one["name"]: one for one in data["devices"]}}

    def rollback(self, run: str = "last", *words: str) -> subprocess.CompletedProcess[str]:
        """Put a run's switches back; for a test to judge."""
        return self.railfab("rollback", run, "--intent", self.intent, "--yes", *words)

    def put_back(self) -> None:
        done = self.rollback()
        assert done.returncode == 0, done.stdout + done.stderr
        self.settled()

    def settled(self) -> None:
        wait(self.twin.converged, 60, "the twin to converge")

    def journal(self, run: str) -> list[dict[str, Any]]:
        """What the record of a run says so far, line by line."""
        found = []
        for line in (self.runs / run / "journal.jsonl").read_text().splitlines():
            with contextlib.suppress(ValueError):  # the last line may be on its way
                found.append(json.loads(line))
        return found

    def asked(self, run: str) -> list[str]:
        """Every step of a run that was asked and answered, in order."""
        return [line["exchange"]["what"] for line in self.journal(run) if "exchange" in line]

    def new_run(self, before: set[str], process: subprocess.Popen[str]) -> str:
        """The name of the run a process has begun; `before` are the runs there were."""

        def look() -> str | None:
            assert process.poll() is None, process.communicate()[0]
            new = [path.parent.name for path in self.runs.glob("*/journal.jsonl") if path.parent.name not in before]
            return new[0] if new else None

        found: str = wait(look, 30, "the run to begin")
        return found

    def known_runs(self) -> set[str]:
        """The runs there are."""
        return {path.name for path in self.runs.glob("*")}

    # -- faults ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def config(self, switch: str, cases: str) -> Iterator[Callable[[], list[str]]]:
        """The switch's own `config` with a fault in it; gives what it was called with so far.

        `cases` are those of a shell's `case` over its arguments; `$real` is the real one, `cut` kills every SSH
        session, `first NAME` is true once.
        """
        run = self.twin.run
        run(switch, "sh", "-c", f"rm -rf /run/box/wrapped; mkdir /run/box/wrapped; cp {_CONFIG} /run/box/wrapped/real")
        run(switch, "sh", "-c", "cat >/run/box/wrapped/config", text=_WRAPPER.format(cases=cases))
        run(switch, "sh", "-c", f"chmod 755 /run/box/wrapped/config; mount --bind /run/box/wrapped/config {_CONFIG}")
        try:
            yield lambda: self.twin.process(switch, "cat", "/run/box/wrapped/calls").stdout.splitlines()
        finally:
            self.twin.run(switch, "sh", "-c", f"umount {_CONFIG}; rm -rf /run/box/wrapped")

    @contextlib.contextmanager
    def cut_off(self, switch: str) -> Iterator[None]:
        """Nobody reaches this switch's management port."""
        self.twin.run(switch, "ip", "link", "set", "eth0", "down")
        try:
            yield
        finally:
            self.twin.run(switch, "ip", "link", "set", "eth0", "up")

    @contextlib.contextmanager
    def small_disk(self, switch: str, folder: str, size: str, *, copy: bool = True) -> Iterator[None]:
        """A file system of that size in place of a folder, with what the folder has; what it had comes back."""
        keep = "/tmp/kept-disk"
        mount = f"mount -t tmpfs -o size={size} tmpfs {folder}"
        if copy:
            mount = f"cp -a {folder} {keep} && {mount} && cp -a {keep}/. {folder} && rm -rf {keep}"
        self.twin.run(switch, "sh", "-c", f"mkdir -p {folder} && {mount}")
        try:
            yield
        finally:
            self.twin.run(switch, "umount", "-l", folder)

    # -- what a switch is like ----------------------------------------------------------------------------------------

    def footprint(self, switch: str) -> dict[str, str]:
        """All that a push may have touched: running, saved, routing, files, lock, timers, mounts, management."""
        text = self.twin.run(switch, "sh", "-c", _FOOTPRINT)
        parts = {part.partition("\n")[0]: part.partition("\n")[2] for part in text.split("@@ ")[1:]}
        for name in ("running", "saved"):
            parts[name] = json.dumps(json.loads(parts[name]), sort_keys=True)
        return parts

    def left(self, switch: str, found: dict[str, str]) -> list[str]:
        """What of a switch is not as it was found; FRR may print the same lines in another order."""
        now = self.footprint(switch)
        return [name for name in found if sorted(now[name].splitlines()) != sorted(found[name].splitlines())]

    def restore(self, switch: str, found: dict[str, str]) -> None:
        """Whatever a failed test has left: back to what was found, by a reload."""
        self.twin.run(switch, "sh", "-c", _RESTORE, text=found["saved"])
        self.twin.run(switch, "sh", "-c", "cat >/etc/sonic/frr/frr.conf", text=found["frr.conf"])
        self.twin.run(switch, "config", "reload", "-y", "-f")
        self.settled()

    def counts(self, switch: str) -> tuple[dict[str, int], dict[str, int], str]:
        """Carrier losses by port as netlink counts them, session losses by peer as FRR does, and bgpd's pid."""
        text = self.twin.run(
            switch, "sh", "-c", "cd /sys/class/net; for n in Ethernet*; do echo $n $(cat $n/carrier_down_count); done"
        )
        ports = {line.split()[0]: int(line.split()[1]) for line in text.splitlines()}
        neighbours = json.loads(self.twin.run(switch, "vtysh", "-c", "show bgp neighbors json"))
        sessions = {peer: int(row["connectionsDropped"]) for peer, row in neighbours.items() if "." in peer}
        return ports, sessions, self.twin.run(switch, "cat", "/run/frr/bgpd.pid").strip()

    def seen(self, switch: str, before: tuple[dict[str, int], dict[str, int], str]) -> tuple[set[str], set[str], bool]:
        """(ports that lost carrier, sessions that were lost, whether bgpd is another one) since `before`."""
        ports, sessions, pid = self.counts(switch)
        again = pid != before[2]
        lost = {peer for peer, count in sessions.items() if count > (0 if again else before[1].get(peer, 0))}
        return {port for port, count in ports.items() if count > before[0].get(port, 0)}, lost, again
