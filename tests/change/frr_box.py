"""A real FRR of this machine, started with private sockets: what our commands do to it, it says itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pytest

_DAEMONS = Path("/usr/lib/frr")
_START = r"""
ip link set lo up
/usr/lib/frr/zebra -d -z "$1/zserv.api" -i "$1/zebra.pid" --vty_socket "$1" -f "$1/empty" -P 0 -F traditional
n=0; while [ ! -e "$1/zserv.api" ] && [ $n -lt 100 ]; do sleep 0.05; n=$((n+1)); done
/usr/lib/frr/bgpd -d -z "$1/zserv.api" -i "$1/bgpd.pid" --vty_socket "$1" -f "$1/empty" -P 0 -p 0 -F traditional
/usr/lib/frr/staticd -d -z "$1/zserv.api" -i "$1/staticd.pid" --vty_socket "$1" -f "$1/empty" -P 0 -F traditional
touch "$1/started"
exec sleep 600
"""


class FrrBox:
    """zebra, bgpd and staticd in a network namespace of their own. Skips where they cannot be had."""

    def __init__(self, folder: Path) -> None:
        if os.geteuid() != 0 or not (_DAEMONS / "bgpd").exists() or not shutil.which("vtysh"):
            pytest.skip("FRR's daemons need root and the Debian package frr")
        self.folder = folder

    def __enter__(self) -> Self:
        (self.folder / "empty").write_text("")
        # The daemons drop to user frr and must reach their sockets through every folder above.
        self.folder.chmod(0o777)
        for parent in self.folder.parents:
            if parent.owner() == "root" and parent != Path("/tmp") and str(parent).startswith("/tmp"):
                parent.chmod(0o755)
        for file in self.folder.iterdir():
            file.chmod(0o666)
        self._holder = subprocess.Popen(
            ["unshare", "-n", "-p", "-f", "--kill-child", "sh", "-c", _START, "sh", str(self.folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for _ in range(200):
            if (self.folder / "started").exists() and "router-id" in self.vtysh("-c", "show zebra").stdout.lower() + (
                "router-id" if self.running() else ""
            ):
                return self
            time.sleep(0.05)
        self.__exit__()
        pytest.skip("FRR did not start here (no namespaces?)")

    def __exit__(self, *_: object) -> None:
        os.killpg(self._holder.pid, signal.SIGKILL)
        self._holder.wait()

    def vtysh(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = ["vtysh", "--vty_socket", str(self.folder), "--config_dir", str(self.folder), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)

    def running(self) -> str:
        """`show running-config`, empty until all three daemons answer."""
        text = self.vtysh("-c", "show running-config").stdout
        daemons = self.vtysh("-c", "show daemons").stdout.split()
        return text if {"zebra", "bgpd", "staticd"} <= set(daemons) else ""

    def apply(self, commands: Sequence[str]) -> None:
        """Check, then run, as a push does; any word of complaint fails the test."""
        path = self.folder / "commands.conf"
        path.write_text("\n".join(commands) + "\n")
        for words in (("-C", "-f", str(path)), ("-f", str(path))):
            done = self.vtysh(*words)
            told = [line for line in (done.stdout + done.stderr).splitlines() if "vtysh.conf" not in line]
            assert (done.returncode, told) == (0, []), (words, told)
