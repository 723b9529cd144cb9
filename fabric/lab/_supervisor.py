"""PID 1 of a twin: nodes, cables, addresses, daemons in that order, then a control socket until it is killed.

Everything lives in its namespaces, so its end is the end of every process, interface and mount of the twin.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabric.errors import LabError, RailfabError
from fabric.lab import _house, _kernel, _keys, _needs
from fabric.lab._faults import Faults
from fabric.lab._hosts import HostWatch
from fabric.lab._record import LabFolder
from fabric.lab._wires import Patchbay, nic_batch
from fabric.lab.blueprint import Blueprint, SwitchBox
from fabric.values import codec

CONTROL = "/run/lab/control.sock"
AGENT = "/run/lab/agent.sock"
_PATIENCE_S = 120.0
# -force: deleting a rule that is not there yet is no reason to stop.
_BRING_UP = 'for pair; do echo "${pair#*=}" > "/proc/sys/${pair%%=*}"; done; exec ip -force -batch -'


def supervise(folder: LabFolder, status: int, rootless: bool) -> None:
    """Build the twin and serve it. Never returns normally: it ends by SIGKILL or by failing."""
    tell = _Teller(status)
    try:
        lab = _Lab(folder, tell, rootless)
        lab.build()
    except RailfabError as error:
        tell.say({"error": str(error)})
        return
    except OSError as error:
        tell.say({"error": _needs.explain(error)})
        return
    except Exception as error:
        traceback.print_exc()
        tell.say({"error": f"internal error: {type(error).__name__}: {error}", "internal": True})
        return
    lab.serve()


class _Teller:
    """The pipe to `lab up`. When nobody reads it any more before we are ready, the twin goes down with it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        os.set_blocking(fd, False)

    def say(self, message: dict[str, Any]) -> None:
        try:
            os.write(self._fd, json.dumps(message).encode() + b"\n")
        except OSError:
            os._exit(1)

    def still_there(self) -> None:
        poll = select.poll()
        poll.register(self._fd, 0)
        if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
            os._exit(1)

    def close(self) -> None:
        os.close(self._fd)


class _Lab:
    def __init__(self, folder: LabFolder, tell: _Teller, rootless: bool) -> None:
        self._folder = folder
        self._tell = tell
        self._rootless = rootless
        self._directory = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._blueprint = codec.loads(Blueprint, folder.blueprint.read_text(), "blueprint.json")
        self._pids: dict[str, int] = {}
        self._bay = Patchbay(self._blueprint, self._pids)
        self._agent: subprocess.Popen[bytes] | None = None
        self._clock = time.monotonic()
        self._seconds: dict[str, float] = {}

    def build(self) -> None:
        """All phases; each ends for every node before the next begins."""
        _kernel.make_private()
        _kernel.mount("proc", "/proc", "proc")
        keys = _keys.make(self._folder, self._blueprint)
        lldpcli = _needs.lldpcli()
        _house.furnish(self._rootless, lldpcli)
        self._phase("base")
        self._spawn_all(keys)
        self._phase("nodes")
        self._bay.lay_all()
        for name in self._blueprint.hosts:
            self._address(name)
        self._phase("cables")
        for name in self._pids:
            self._go(name)
        self._wait_for(
            lambda name: os.path.exists(f"/proc/{self._pids[name]}/root{_house.BOX}/ready"), list(self._pids)
        )
        self._phase("daemons")
        self._start_agent()
        self._phase("agent")

    def serve(self) -> None:
        """Answer requests until killed, one at a time: a fault is never half in when the next one comes."""
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(CONTROL)
            listener.listen(128)
            self._faults = Faults(self._blueprint, self._bay, self._pids, self._address, self._ask_agent, self._keep)
            self._tell.say({"ready": {key: round(value, 2) for key, value in self._seconds.items()}})
            self._tell.close()
            signal.signal(signal.SIGCHLD, lambda *_: None)
            watch = HostWatch({name: self._pids[name] for name in self._blueprint.hosts})
            while True:
                self._reap()
                watch.send()
                ready = select.select([listener.fileno(), *watch.fds()], [], [], watch.patience_s(5.0))[0]
                for fd in ready:
                    if fd != listener.fileno():
                        watch.read(fd)
                if listener.fileno() not in ready:
                    continue
                connection, _ = listener.accept()
                with connection, contextlib.suppress(OSError):
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        reply: dict[str, Any]
        try:
            request = json.loads(connection.makefile("rb").readline() or b"{}")
            reply = {"ok": self._do(request)}
        except RailfabError as error:
            reply = {"error": str(error)}
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"internal error: {type(error).__name__}: {error}", "internal": True}
        connection.sendall(json.dumps(reply).encode() + b"\n")

    def _do(self, request: dict[str, Any]) -> Any:
        match request.get("do"):
            case "status":
                return self._status()
            case "pid":
                name = request["node"]
                if name not in self._pids:
                    raise LabError(f"the twin has no node {name}; it has {', '.join(sorted(self._pids))}")
                return {"pid": self._pids[name]}
            case "fault":
                return self._faults.do(request["kind"], request["arguments"], bool(request["undo"]))
            case other:
                raise LabError(f"the twin does not know {other!r}")

    def _status(self) -> dict[str, Any]:
        nodes = [{"name": s.name, "role": s.role} for s in self._blueprint.switches.values()]
        nodes += [{"name": name, "role": "host"} for name in self._blueprint.hosts]
        cables = [
            {
                "ends": [
                    {"device": wire.a_device, "port": wire.a_port},
                    {"device": wire.b_device, "port": wire.b_port},
                ],
                "rail": wire.rail,
            }
            for wire in self._bay.cables()
        ]
        agent = self._agent
        return {
            "nodes": nodes,
            "cables": cables,
            "faults": self._faults.listed(),
            "rootless": self._rootless,
            "agent": bool(agent and agent.returncode is None),
            "seconds": self._seconds,
        }

    def _spawn_all(self, keys: dict[str, _keys.NodeKey]) -> None:
        for switch in self._blueprint.switches.values():
            files = _switch_files(switch, self._blueprint.release) | _ssh_files(keys.get(switch.name))
            self._spawn(switch.name, "switch", files, "sonic")
        for host in self._blueprint.hosts.values():
            names = _house.pattern(host.nics)
            files = {
                "hosts": f"127.0.0.1 localhost\n127.0.1.1 {host.name}\n",
                "hostname": f"{host.name}\n",
                "chassis": "eth0\n" if host.mgmt else next(iter(host.nics), "none") + "\n",
                "lldpd.conf": f"configure system hostname {host.name}\nconfigure system interface pattern {names}\n",
            }
            if host.mgmt:
                files |= _ssh_files(keys.get(host.name)) | {
                    "eth0.batch": f"link set eth0 up\naddr add {host.mgmt} dev eth0\n"
                }
            self._spawn(host.name, "host", files, host.name)

    def _spawn(self, name: str, role: str, files: dict[str, str | bytes] | dict[str, str], hostname: str) -> None:
        """Fork twice: the first child gets new namespaces, the second is their PID 1."""
        self._tell.still_there()
        reader, writer = os.pipe()
        middle = os.fork()
        if middle == 0:
            try:
                _kernel.unshare(
                    _kernel.CLONE_NEWNS
                    | _kernel.CLONE_NEWNET
                    | _kernel.CLONE_NEWUTS
                    | _kernel.CLONE_NEWIPC
                    | _kernel.CLONE_NEWPID
                )
                init = os.fork()
                if init == 0:
                    os.setsid()
                    _house.move_in(name, role, dict(files), hostname)
                os.write(writer, str(init).encode())
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(writer)
        told = b""
        while chunk := os.read(reader, 64):
            told += chunk
            break
        os.close(reader)
        os.waitpid(middle, 0)
        if not told:
            raise LabError(f"no namespaces for {name}; the reason is in {self._folder.log}")
        self._pids[name] = int(told)

    def _go(self, name: str) -> None:
        # The node makes its fifo as the last thing before it waits on it.
        path = f"/proc/{self._pids[name]}/root{_house.BOX}/go"
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError:
                if time.monotonic() > deadline or not os.path.exists(f"/proc/{self._pids[name]}"):
                    raise LabError(f"{name} did not start; the reason is in {self._folder.log}") from None
                time.sleep(0.005)
        os.write(handle, b"go\n")
        os.close(handle)

    def _address(self, name: str, nic: str | None = None) -> None:
        """Bring the NICs of a host up, all or one."""
        host = self._blueprint.hosts[name]
        text = ""
        sysctls: list[str] = []
        for box in host.nics.values():
            far = self._bay.far((name, box.name))
            if (nic is None or nic == box.name) and far:
                text += nic_batch(box, self._bay.mac(far))
                sysctls += box.sysctls
        if host.mgmt and nic is None:
            text += f"link set eth0 up\naddr replace {host.mgmt} dev eth0\n"
        if nic is None:
            text += "link set lo up\n"
        pairs = [line.partition("=")[::2] for line in sysctls]
        subprocess.run(
            ["nsenter", "-t", str(self._pids[name]), "-n", "--", "sh", "-c", _BRING_UP, "sh"]
            + [f"{key.strip().replace('.', '/')}={value.strip()}" for key, value in pairs],
            input=text,
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _wait_for(self, done: Callable[[str], bool], names: list[str]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while names := [name for name in names if not done(name)]:
            self._tell.still_there()
            for name in names:
                if not os.path.exists(f"/proc/{self._pids[name]}"):
                    raise LabError(f"{name} stopped while starting; the reason is in {self._folder.log}")
            if time.monotonic() > deadline:
                raise LabError(f"not ready after {_PATIENCE_S:.0f} s: {', '.join(names[:8])}; see {self._folder.log}")
            time.sleep(0.02)

    def _start_agent(self) -> None:
        boxes = {name: self._pids[name] for name in self._blueprint.switches}
        Path("/run/lab/boxes.json").write_text(json.dumps(boxes))
        self._agent = subprocess.Popen(
            [sys.executable, "-m", "fabric.lab.agent", "/run/lab/boxes.json", AGENT],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd="/",
        )
        assert self._agent.stdout is not None
        waiting, heard = set(boxes), b""
        deadline = time.monotonic() + _PATIENCE_S
        while waiting:
            self._tell.still_there()
            if time.monotonic() > deadline:
                raise LabError(
                    f"no answer from the agent about {', '.join(sorted(waiting)[:8])}; see {self._folder.log}"
                )
            if select.select([self._agent.stdout], [], [], 0.2)[0]:
                chunk = os.read(self._agent.stdout.fileno(), 4096)
                if not chunk:
                    raise LabError(f"the agent stopped while starting; the reason is in {self._folder.log}")
                heard += chunk
                *lines, heard = heard.split(b"\n")
                waiting.difference_update(line.decode().removeprefix("up ") for line in lines)

    def _ask_agent(self, request: dict[str, Any]) -> Any:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            try:
                connection.connect(AGENT)
                connection.sendall(json.dumps(request).encode() + b"\n")
                reply = json.loads(connection.makefile("rb").readline())
            except (OSError, ValueError) as error:
                raise LabError(f"the twin's agent does not answer ({error}); see {self._folder.log}") from None
        if "error" in reply:
            raise LabError(reply["error"])
        return reply.get("ok")

    def _keep(self, faults: list[str]) -> None:
        """Write the record of faults; through a directory handle, since our mounts may hide its path."""
        handle = os.open("faults.json.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644, dir_fd=self._directory)
        with os.fdopen(handle, "w") as file:
            json.dump(faults, file)
        os.replace("faults.json.new", "faults.json", src_dir_fd=self._directory, dst_dir_fd=self._directory)

    def _reap(self) -> None:
        """Collect orphans that became ours; never the agent, whose end must be noticed."""
        if self._agent:
            self._agent.poll()
        with contextlib.suppress(ChildProcessError):
            while True:
                seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if seen is None or (self._agent and seen.si_pid == self._agent.pid):
                    return
                os.waitpid(seen.si_pid, os.WNOHANG)

    def _phase(self, name: str) -> None:
        now = time.monotonic()
        self._seconds[name] = now - self._clock
        self._clock = now
        self._tell.say({"phase": name})


def _switch_files(switch: SwitchBox, release: str) -> dict[str, str | bytes]:
    kernel = os.uname().release
    description = (
        f"SONiC Software Version: SONiC.twin - HwSku: {switch.hwsku} - Distribution: Debian - Kernel: {kernel}"
    )
    return {
        "hosts": "127.0.0.1 localhost\n127.0.1.1 sonic\n",
        "hostname": "sonic\n",
        "description": description + "\n",
        "boot_id": f"{uuid.uuid4()}\n",
        "identity.json": json.dumps(
            {"serial": switch.serial, "mac": switch.mac, "platform": switch.platform, "hwsku": switch.hwsku}
        ),
        "lldpd.conf": "configure lldp portidsubtype ifname\nconfigure system hostname sonic\npause\n",
        "sonic/config_db.json": json.dumps(switch.factory, indent=4) + "\n",
        "sonic/sonic_version.yml": (
            f"build_version: 'twin.{release}'\ndebian_version: '12'\nkernel_version: '" + os.uname().release + "'\n"
            "asic_type: vs\nasic_subtype: 'vs'\ncommit_id: 'none'\nbranch: 'twin'\n"
            f"release: '{release}'\n"
        ),
    }


def _ssh_files(key: _keys.NodeKey | None) -> dict[str, str | bytes]:
    if key is None:
        return {}
    return {
        "ssh_host_ed25519_key": key.private,
        "authorized_keys": key.authorized,
        "sshd_config": "\n".join(
            (
                "Port 22",
                f"HostKey {_house.BOX}/ssh_host_ed25519_key",
                f"AuthorizedKeysFile {_house.BOX}/authorized_keys",
                "PidFile /run/sshd.pid",
                "PermitRootLogin prohibit-password",
                "PasswordAuthentication no",
                "KbdInteractiveAuthentication no",
                "UsePAM no",
                "UseDNS no",
                "StrictModes no",
                "MaxStartups 200",
                "MaxSessions 64",
                "PrintMotd no",
                "PrintLastLog no",
                "X11Forwarding no",
                f"SetEnv PATH={_house.PATH}",
                "Subsystem sftp internal-sftp",
                "",
            )
        ),
    }
