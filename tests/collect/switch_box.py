"""A switch as far as the collector can tell: real Redis with SONiC's databases, and shims for what is not here.

Shims answer from files; `sonic-db-cli` is redis-cli with SONiC's database numbers, so Lua and shell run for real.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DATABASES = {"APPL_DB": 0, "ASIC_DB": 1, "COUNTERS_DB": 2, "CONFIG_DB": 4, "STATE_DB": 6}

_CLI = """#!/bin/sh
[ -n "$SHIM_DB_SLEEP" ] && sleep "$SHIM_DB_SLEEP"
if [ "$1" = -n ]; then shift 2; fi
case $1 in APPL_DB) n=0;; ASIC_DB) n=1;; COUNTERS_DB) n=2;; CONFIG_DB) n=4;; STATE_DB) n=6;; *) exit 1;; esac
shift
exec redis-cli -e -s "$SHIM_SOCKET" -n $n "$@"
"""
_VTYSH = """#!/bin/sh
while [ $# -gt 0 ]; do
 if [ "$1" = -c ]; then
  shift
  f="$SHIM_DIR/frr/$(printf %s "$1" | tr ' ' '_')"
  [ -r "$f" ] || { echo "${1#show } is not running"; exit 1; }
  cat "$f"
 fi
 shift
done
"""
_SUDO = """#!/bin/sh
[ "$1" = -n ] && shift
if [ "$1" = -l ]; then [ -n "$SHIM_SUDO_ALL" ]; exit $?; fi
case $1 in rvtysh|lldpctl) exec "$@";; esac
[ -n "$SHIM_SUDO_ALL" ] && exec "$@"
echo "sudo: a password is required" >&2
exit 1
"""


class Box:
    """One running box. `run(script)` gives (stdout, stderr, rc) of `sh -s` as the collector would get them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "redis.sock"
        self._bin = folder / "bin"
        self._bin.mkdir()
        (folder / "frr").mkdir()
        self._server: subprocess.Popen[bytes] | None = None
        for name, text in {"sonic-db-cli": _CLI, "vtysh": _VTYSH, "rvtysh": _VTYSH, "sudo": _SUDO}.items():
            self.shim(name, text)
        self.answer("ip", "[]")
        self.answer("lldpctl", '{"lldp": [{}]}')
        self.shim("systemctl", "#!/bin/sh\necho 5000000\n")
        self.frr(
            "show running-config", "Building configuration...\n\nCurrent configuration:\n!\nfrr version 10.0\nend\n"
        )
        self.frr("show ip route json", "{}")
        self.frr("show ipv6 route json", "{}")
        self.frr("show bgp summary json", "{}")

    def start(self) -> None:
        self._server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--databases", "20",
             "--slowlog-log-slower-than", "0", "--slowlog-max-len", "100000", "--dir", str(self.folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for _ in range(200):
            if self.socket.exists() and self.redis(0, "PING").strip() == "PONG":
                return
            time.sleep(0.02)
        raise RuntimeError("redis-server did not start")

    def stop(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.wait(10)

    def pid(self) -> int:
        assert self._server is not None
        return self._server.pid

    def redis(self, database: int, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["redis-cli", "-s", str(self.socket), "-n", str(database), *arguments],
            input=stdin, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout

    def load(self, name: str, rows: Mapping[str, Any]) -> None:
        """Write a flat dump (`{"TABLE:key": {field: value}}`, or redis-dump's form) into a database."""
        commands: list[bytes] = []
        for key, row in rows.items():
            fields = row.get("value", {}) if row.get("type") == "hash" and "ttl" in row else row
            words = [b"HSET", key.encode()]
            for field, value in fields.items():
                words += [str(field).encode(), str(value).encode()]
            if len(words) > 2:
                commands.append(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        subprocess.run(
            ["redis-cli", "-s", str(self.socket), "-n", str(DATABASES[name]), "--pipe"],
            input=b"".join(commands), capture_output=True, check=True,
        )  # fmt: skip

    def load_file(self, name: str, file: Path) -> None:
        self.load(name, json.loads(file.read_text()))

    def shim(self, name: str, text: str) -> None:
        file = self._bin / name
        file.write_text(text)
        file.chmod(0o755)

    def answer(self, name: str, text: str, rc: int = 0, errors: str = "") -> None:
        out, err = self.folder / f"{name}.out", self.folder / f"{name}.err"
        out.write_text(text)
        err.write_text(errors)
        self.shim(name, f"#!/bin/sh\ncat {out}\ncat {err} >&2\nexit {rc}\n")

    def frr(self, command: str, text: str | None) -> None:
        file = self.folder / "frr" / command.replace(" ", "_")
        if text is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(text)

    def run(self, script: str, shell: str = "sh", **environment: str) -> tuple[str, str, int]:
        done = subprocess.run(
            [shell, "-s"], input=script.encode(), capture_output=True, check=False, timeout=60,
            env={
                "PATH": f"{self._bin}:{os.environ['PATH']}", "SHIM_SOCKET": str(self.socket),
                "SHIM_DIR": str(self.folder), "HOME": str(self.folder), **environment,
            },
        )  # fmt: skip
        return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), done.returncode

    def slowest_ms(self) -> float:
        """The longest a command held Redis since the log was last reset, in ms."""
        log = (
            "local t={} for _,e in ipairs(redis.call('SLOWLOG','GET',100000)) do "
            "t[#t+1]=tostring(e[3])..' '..e[4][1] end return table.concat(t,'\\n')"
        )
        lines = self.redis(0, "--raw", "EVAL", log, "0").splitlines()
        return max((int(line.split()[0]) for line in lines if line.split()[1].upper() == "EVAL"), default=0) / 1000


def available() -> bool:
    return shutil.which("redis-server") is not None and shutil.which("redis-cli") is not None


@contextmanager
def box() -> Iterator[Box]:
    with tempfile.TemporaryDirectory(prefix="box-") as folder:
        one = Box(Path(folder))
        one.start()
        try:
            yield one
        finally:
            one.stop()
