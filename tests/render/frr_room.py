"""Real FRR daemons in private namespaces: no network or file of this machine is touched, all ends with the call."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_DAEMONS = Path("/usr/lib/frr")
_START = """
set -u
for d in /etc/frr /run/frr /var/tmp /run/netns; do mkdir -p $d; mount -t tmpfs none $d; done
mkdir -p /var/tmp/frr; chmod 777 /run/frr /var/tmp/frr
ip link set lo up
node() {  # name, then Loopback0's addresses; its text is in $TEXTS/name.conf
  n=$1; shift
  ip netns add $n
  ip -n $n link set lo up
  ip netns exec $n sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.accept_dad=0
  ip -n $n link add Loopback0 type ifb
  ip -n $n link set Loopback0 up
  for a in "$@"; do ip -n $n addr add $a dev Loopback0; done
  mkdir -p /etc/frr/$n /run/frr/$n /var/tmp/frr
  cp $TEXTS/$n.conf /etc/frr/$n/frr.conf
  # Known difference: FRR 8.4 loses next hops of a kernel group after a link flap; SONiC's newer FRR does not.
  echo 'no zebra nexthop kernel enable' >> /etc/frr/$n/frr.conf
  echo 'service integrated-vtysh-config' > /etc/frr/$n/vtysh.conf
  chown -R frr:frr /etc/frr/$n /run/frr/$n
}
cable() {  # node port address node port address
  ip -n $1 link add $2 type veth peer name $5 netns $4
  for a in $3; do ip -n $1 addr add $a dev $2; done
  for a in $6; do ip -n $4 addr add $a dev $5; done
  ip -n $1 link set $2 up; ip -n $4 link set $5 up
}
start() {
  n=$1
  for d in 'zebra -M dplane_fpm_nl -s 90000000' staticd bgpd; do
    ip netns exec $n /usr/lib/frr/$d -d -A 127.0.0.1 -N $n -f /dev/null >/dev/null 2>&1
  done
  for i in $(seq 100); do
    [ -S /run/frr/$n/bgpd.vty ] && [ -S /run/frr/$n/staticd.vty ] && [ -S /run/frr/$n/zebra.vty ] && break
    sleep 0.05
  done
  ip netns exec $n vtysh -N $n -b 2>&1
}
ask() { n=$1; shift; ip netns exec $n vtysh -N $n "$@"; }
"""


def require_frr() -> None:
    """Skip where FRR or the right to make namespaces is missing."""
    if not all((_DAEMONS / daemon).exists() for daemon in ("zebra", "staticd", "bgpd")) or not shutil.which("vtysh"):
        pytest.skip("FRR is not installed (Debian package frr)")
    if os.geteuid() != 0:
        pytest.skip("starting FRR daemons in namespaces needs root here")


def check_syntax(text: str, folder: Path) -> str:
    """What `vtysh -C` says to a text; empty when it takes it."""
    file = folder / "frr.conf"
    file.write_text(text)
    done = subprocess.run(["vtysh", "-C", "-f", str(file)], capture_output=True, text=True, timeout=30)
    return done.stdout + done.stderr + (f"exit {done.returncode}" if done.returncode else "")


@dataclass(frozen=True)
class Answer:
    """Sections of the output, split at lines `== NAME`."""

    sections: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.sections[name]


def play(folder: Path, texts: dict[str, str], script: str, timeout: float = 60) -> Answer:
    """Run a shell script in fresh namespaces, with node(), cable(), start() and ask() at hand."""
    require_frr()
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.conf").write_text(text)
    done = subprocess.run(
        ["unshare", "-n", "-m", "-p", "-i", "-f", "--kill-child", "--mount-proc", "bash", "-c", _START + script],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "TEXTS": str(folder)},
    )
    sections: dict[str, list[str]] = {"": []}
    current = sections[""]
    for line in done.stdout.splitlines():
        if line.startswith("== "):
            current = sections[line[3:]] = []
        else:
            current.append(line)
    sections["stderr"] = done.stderr.splitlines()
    return Answer({key: "\n".join(lines) for key, lines in sections.items()})
