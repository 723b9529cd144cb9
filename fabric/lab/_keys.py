"""SSH keys of a twin: one that opens every node, one host key a node. Fresh with each `lab up`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from fabric.errors import LabError
from fabric.lab._record import LabFolder
from fabric.lab.blueprint import Blueprint


@dataclass(frozen=True, slots=True)
class NodeKey:
    """Private host key of a node and the public keys it lets in, as texts of OpenSSH files."""

    private: str
    authorized: str


def make(folder: LabFolder, blueprint: Blueprint) -> dict[str, NodeKey]:
    """Make all keys, write the lab's key and its known_hosts into the folder, return what each node needs."""
    _generate([folder.key])
    folder.key.chmod(0o600)
    authorized = folder.key.with_suffix(".pub").read_text()
    addresses = {switch.name: switch.mgmt for switch in blueprint.switches.values()}
    addresses |= {host.name: host.mgmt for host in blueprint.hosts.values() if host.mgmt}
    made = folder.path / "host_keys"
    made.mkdir(mode=0o700)
    _generate([made / name for name in addresses])
    keys, lines = {}, []
    for name, address in addresses.items():
        public = " ".join((made / f"{name}.pub").read_text().split()[:2])
        lines.append(f"{address.split('/')[0]},{name} {public}\n")
        keys[name] = NodeKey((made / name).read_text(), authorized)
        (made / name).unlink()
        (made / f"{name}.pub").unlink()
    made.rmdir()
    folder.known_hosts.write_text("".join(lines))
    return keys


def _generate(paths: list[Path]) -> None:
    running = [
        subprocess.Popen(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "railfab-twin", "-f", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for path in paths
    ]
    for process in running:
        _, said = process.communicate()
        if process.returncode:
            raise LabError(f"ssh-keygen: {said.decode(errors='replace').strip()}")
