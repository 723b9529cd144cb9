"""A pretended switch: a folder, SONiC's commands as scripts, and a Session that runs our shell text for real."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import jsonpatch
from nornir.core.configuration import Config

from fabric.errors import DeadlineError, TransportError
from fabric.transport import Answer, Session, Target
from fabric.values.device_config import DeviceConfig
from tests.deploy.fake_commands import kill_all, publish

_COMMANDS = (
    "config", "docker", "lldpctl", "pfcwd", "sonic-cfggen", "sonic-db-cli", "systemctl", "systemd-run", "TSA", "TSB",
    "vtysh",
)  # fmt: skip
# Reads that need no Python while no fault is set.
_READS = {
    "sonic-db-cli": '[ "$2" = EXISTS ] && { grep -cF ""EEPROM_INFO|0x23"" "$FAKE_ROOT/STATE_DB.txt"; exit 0; }\n'
    '[ "$2" = EVAL ] && [ ! -e "$FAKE_ROOT/faults.json" ] && exec cat "$FAKE_ROOT/$1.txt"\n',
    "sonic-cfggen": '[ -e "$FAKE_ROOT/faults.json" ] || exec cat "$FAKE_ROOT/config.txt"\n',
    "vtysh": '[ "$1" = -c ] && [ ! -e "$FAKE_ROOT/faults.json" ] && exec cat "$FAKE_ROOT/frr.txt"\n',
    "lldpctl": "echo '{}'; exit 0\n",
    "docker": '[ "$2$3$4" = bgpvtysh-c ] && [ ! -e "$FAKE_ROOT/faults.json" ] && exec cat "$FAKE_ROOT/frr.txt"\n',
}
_TREE = Path(__file__).resolve().parents[2]


class FakeSwitch:
    """State of one pretended switch, and the knobs that break it."""

    def __init__(self, root: Path, name: str, config: dict[str, Any], frr: str = "hostname sonic\n") -> None:
        self.root = root / name
        self.name = name
        for folder in ("etc/sonic/frr", "var/tmp", "run", "bin", "host"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "boot_id").write_text("boot-1")
        (self.root / "etc/sonic/frr/frr.conf").write_text(frr)
        (self.root / "etc/sonic/config_db.json").write_text(json.dumps(config))
        self.write({"config": config, "saved": config, "frr": frr, "checkpoints": {}, "bgp_pid": 100})
        runner = Path(__file__).with_name("fake_commands.py")
        for command in _COMMANDS:
            script = self.root / "bin" / command
            quick = _READS.get(command, "")
            script.write_text(f'#!/bin/sh\n{quick}exec {sys.executable} -S -E {runner} {command} "$@"\n')
            script.chmod(0o755)
        for command, text in {
            "id": '[ "$1" = -u ] && [ -n "$2" ] && exec /usr/bin/id -u; [ "$1" = -g ] && exec /usr/bin/id -g; echo 0',
            "df": 'cat "$FAKE_ROOT/df"',
            "chown": "exit 0",
        }.items():
            (self.root / "bin" / command).write_text(f"#!/bin/sh\n{text}\n")
            (self.root / "bin" / command).chmod(0o755)
        (self.root / "df").write_text("/dev/sda 1000000 1 900000 1% /\n")
        self.unreachable: Exception | None = None
        self.cut_when: str | None = None
        self.cut_for_s = 0.0
        self.cut_until = 0.0
        self.commands: list[str] = []
        self.sessions = 0

    def read(self) -> dict[str, Any]:
        return json.loads((self.root / "state.json").read_text())  # type: ignore[no-any-return]

    def write(self, state: dict[str, Any]) -> None:
        publish(self.root, state)

    def change(self, **values: object) -> None:
        self.write({**self.read(), **values})

    def fault(self, command: str, **how: object) -> None:
        """Play this once when a command line holds the text; see fake_commands."""
        path = self.root / "faults.json"
        faults = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**faults, command: how}))

    def frr_file(self) -> str | None:
        path = self.root / "etc/sonic/frr/frr.conf"
        return path.read_text() if path.exists() else None

    def reboot(self) -> None:
        self.kill()
        subprocess.run(
            [sys.executable, "-S", "-c", "from tests.deploy import fake_commands as f; f.reboot()"],
            env=self.environment(),
            cwd=_TREE,
            check=True,
        )

    def kill(self) -> None:
        """End every process of this switch."""
        kill_all(self.root)

    def environment(self) -> dict[str, str]:
        site = str(Path(jsonpatch.__file__).parent)
        path = f"{self.root}/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return {"PATH": path, "FAKE_ROOT": str(self.root), "FAKE_TREE": str(_TREE), "FAKE_SITE": site, "LC_ALL": "C"}

    def rooted(self, text: str) -> str:
        """Shell text with the switch's paths turned into those of its folder."""
        for place in ("/etc/sonic", "/var/tmp/railfab", "/run/railfab.lock", "/run/lock", "/host/"):
            text = text.replace(place, f"{self.root}{place}")
        text = text.replace("/etc/frr/", f"{self.root}/etc/sonic/frr/")
        return text.replace("/proc/sys/kernel/random/boot_id", f"{self.root}/boot_id")


class FakeSession:
    """Runs what a push sends, in the switch's folder."""

    def __init__(self, switch: FakeSwitch) -> None:
        self.switch = switch
        self._open = False

    @property
    def target(self) -> Target:
        return Target(self.switch.name, "192.0.2.1")

    def open(self, deadline_s: float = 20.0) -> None:
        if self._open:
            return
        if self.switch.unreachable is not None:
            raise self.switch.unreachable
        if time.monotonic() < self.switch.cut_until:
            raise TransportError(f"{self.switch.name}: cannot be reached: no route to host")
        self.switch.sessions += 1
        self._open = True

    def run(self, command: str, *, deadline_s: float = 60.0, stdin: bytes | None = None, root: bool = False) -> Answer:
        if not self._open:
            raise TransportError(f"{self.switch.name}: not connected")
        text = (stdin or b"").decode()
        self.switch.commands.append(f"{command}\n{text}")
        started = time.time()
        child = subprocess.Popen(
            ["/bin/sh", "-c", self.switch.rooted(command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.switch.environment(),
            cwd=self.switch.root,
            start_new_session=True,
        )
        cut = self.switch.cut_when
        if cut is not None and cut in f"{command}\n{text}":
            self.switch.cut_when = None
            threading.Thread(target=child.communicate, args=(self.switch.rooted(text).encode(),), daemon=True).start()
            time.sleep(0.3)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
            self._open = False
            self.switch.cut_until = time.monotonic() + self.switch.cut_for_s
            raise TransportError(f"{self.switch.name}: the connection was lost during: {command[:40]}")
        try:
            out, err = child.communicate(self.switch.rooted(text).encode(), timeout=deadline_s)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise DeadlineError(f"{self.switch.name}: no answer in {deadline_s:g} s to: {command[:60]}") from None
        if child.returncode < 0:
            self._open = False
            raise TransportError(f"{self.switch.name}: the connection was lost during: {command[:40]}")
        said, complained = (text.decode().replace(str(self.switch.root), "") for text in (out, err))
        return Answer(said, complained, child.returncode, started, time.time())

    def put(self, data: bytes, path: str, *, mode: int = 0o600, deadline_s: float = 60.0, root: bool = False) -> None:
        if not self._open:
            raise TransportError(f"{self.switch.name}: not connected")
        self.switch.commands.append(f"put {path}\n{data.decode()}")
        place = Path(self.switch.rooted(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        # Text that names places of the switch is written so that the switch's own commands find them.
        place.write_bytes(self.switch.rooted(data.decode()).encode() if place.suffix in (".sh",) else data)
        place.chmod(mode)

    def close(self) -> None:
        self._open = False


class FakeConnection:
    """A Nornir connection plugin over FakeSwitches, by host name."""

    switches: dict[str, FakeSwitch] = {}  # noqa: RUF012 - set by the fixture

    def __init__(self) -> None:
        self.connection: Session | None = None

    def open(
        self,
        hostname: str | None,
        username: str | None,
        password: str | None,
        port: int | None,
        platform: str | None,
        extras: dict[str, Any] | None = None,
        configuration: Config | None = None,
    ) -> None:
        session = FakeSession(self.switches[str((extras or {})["name"])])
        session.open()
        self.connection = session

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()


def factory(desired: DeviceConfig) -> dict[str, Any]:
    """What a box from the factory runs: the image's rows, addresses on ports and default neighbours."""
    metadata = desired.tables["DEVICE_METADATA"]["localhost"]
    return {
        "DEVICE_METADATA": {
            "localhost": {
                "hostname": "sonic",
                "mac": "02:00:5e:00:00:01",
                "platform": metadata["platform"],
                "hwsku": metadata["hwsku"],
                "type": "LeafRouter",
            }
        },
        "FEATURE": {"bgp": {"state": "enabled", "auto_restart": "enabled"}, "telemetry": {"state": "enabled"}},
        "VERSIONS": {"DATABASE": {"VERSION": "version_202505_01"}},
        "CRM": {"Config": {"polling_interval": "300"}},
        "PORT": {"Ethernet0": {"lanes": "1,2,3,4,5,6,7,8", "speed": "800000", "alias": "etp1"}},
        "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.1.0.1/32": {}},
        "BGP_NEIGHBOR": {"10.0.0.1": {"asn": "65200", "name": "ARISTA01T0", "local_addr": "10.0.0.0"}},
        "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "ARISTA01T0", "port": "Ethernet1"}},
        "MGMT_INTERFACE": {"eth0|192.0.2.1/24": {"gwaddr": "192.0.2.254"}},
    }


def provisioned(desired: DeviceConfig) -> dict[str, Any]:
    """What a box of ours runs."""
    from fabric.values.ownership import merged

    return dict(merged(desired.tables, factory(desired)))
