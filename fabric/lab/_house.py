"""What a process of the twin sees of the file system: a lab-wide /etc of our own, and private folders in each node.

The machine's own files stay visible (programs, libraries) and are never written: /etc is a tmpfs whose entries point
at the real one but for those listed here; in a node / is read-only and /run, /tmp, /var/tmp, /var/log are its own.
`/etc/sonic` and `/etc/frr` point into the node's own /run, so one /etc serves all nodes.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from fabric.lab import _kernel

BIN = "/etc/twin/bin"
LIB = "/etc/twin/lib"
PATH = f"{BIN}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOX = "/run/box"

_FRR = "/usr/lib/frr"
_DAEMONS = ("zebra", "bgpd", "staticd")
_NODE_LINKS = {
    "sonic": f"{BOX}/sonic",
    "frr": f"{BOX}/sonic/frr",
    "hosts": f"{BOX}/hosts",
    "hostname": f"{BOX}/hostname",
    "lldpd.conf": f"{BOX}/lldpd.conf",
}
_TEXTS = {
    "resolv.conf": "",
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
    "profile": f'PATH={PATH}\nexport PATH\n[ -z "$BASH" ] || . /etc/bash.bashrc\n',
    "bash.bashrc": "case $- in *i*) PS1='\\u@\\h:\\w\\$ ';; esac\n",
    "motd": "",
    "sudoers": (
        f'Defaults secure_path="{PATH}"\nDefaults !lecture, !syslog, !pam_session, !use_pty\n'
        "Cmnd_Alias READ_ONLY_CMDS = "
        + ", ".join(
            (
                f"{BIN}/rvtysh",
                f"{BIN}/show *",
                f"{BIN}/docker ps*",
                f"{BIN}/docker exec * lldpctl*",
                f"{BIN}/sonic-db-cli *",
            )
        )
        + "\nroot ALL=(ALL:ALL) ALL\n%sudo ALL=(ALL:ALL) NOPASSWD: ALL\nALL ALL=NOPASSWD: READ_ONLY_CMDS\n"
    ),
}
_PAM = "auth sufficient pam_permit.so\naccount sufficient pam_permit.so\nsession optional pam_permit.so\n"

# Written before any interface exists, since interfaces copy the defaults. Why each: see docs/twin.md.
_SYSCTLS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv6/conf/all/forwarding": "1",
    "net/ipv6/conf/all/accept_ra": "0",
    "net/ipv6/conf/default/accept_ra": "0",
    "net/ipv6/conf/default/accept_dad": "0",
    "net/ipv6/conf/default/dad_transmits": "0",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv4/conf/all/ignore_routes_with_linkdown": "1",
    "net/ipv4/conf/default/ignore_routes_with_linkdown": "1",
    "net/ipv6/conf/all/ignore_routes_with_linkdown": "1",
    "net/ipv6/conf/default/ignore_routes_with_linkdown": "1",
    "net/ipv4/fib_multipath_hash_policy": "3",
    "net/ipv4/fib_multipath_hash_fields": "55",
    "net/ipv6/fib_multipath_hash_policy": "3",
    "net/ipv6/fib_multipath_hash_fields": "55",
    "net/ipv4/fib_multipath_use_neigh": "1",
    "net/ipv4/icmp_ratelimit": "0",
    "net/ipv4/icmp_ratemask": "0",
    "net/ipv4/icmp_errors_use_inbound_ifaddr": "1",
    "net/ipv4/ping_group_range": "0 0",
}
_HOST_SYSCTLS = {"net/ipv4/ip_forward": "0", "net/ipv6/conf/all/forwarding": "0"}


def interpreter() -> str:
    """A Python that every account of a node can run, for the commands of the twin's switches.

    The system's own when there is one: a virtual environment may stand where only its owner may look.
    """
    for candidate in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if os.access(candidate, os.X_OK):
            return candidate
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def pattern(nics: Iterable[str]) -> str:
    """The interfaces lldpd of a host works on: these and no other (an empty list would mean all to it)."""
    return ",".join(nics) or "none"


def furnish(rootless: bool, lldpcli: Path) -> None:
    """Give the lab its /run, /etc, /dev/pts and commands. Runs once, in the lab's own mount namespace."""
    _kernel.mount("tmpfs", "/run", "tmpfs", _kernel.MS_NOSUID, "mode=755")
    _kernel.mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0620")
    _kernel.bind("/dev/pts/ptmx", "/dev/ptmx")
    new = Path("/run/etc")
    new.mkdir()
    _kernel.mount("tmpfs", str(new), "tmpfs", 0, "mode=755")
    (new / ".host").mkdir()
    _kernel.bind("/etc", str(new / ".host"))
    accounts = _accounts(rootless)
    ours = {*_TEXTS, *_NODE_LINKS, *accounts, "pam.d", "sudoers.d", "lldpd.d", "twin", "sudo.conf"}
    for entry in os.scandir("/etc"):
        if entry.name in ours:
            continue
        os.symlink(os.readlink(entry.path) if entry.is_symlink() else f".host/{entry.name}", new / entry.name)
    for name, target in _NODE_LINKS.items():
        os.symlink(target, new / name)
    for name, text in {**_TEXTS, **accounts}.items():
        (new / name).write_text(text)
    (new / "sudoers").chmod(0o440)
    (new / "shadow").chmod(0o600)
    for name in ("pam.d", "sudoers.d", "lldpd.d"):
        (new / name).mkdir()
    for name in ("sudo", "frr"):  # vtysh asks PAM too; who may open its sockets is the group's matter
        (new / "pam.d" / name).write_text(_PAM)
    _commands(new / "twin", rootless)
    # Without its set-uid bit: the agent reaches daemons through /proc, which only its own uid may look into.
    shutil.copyfile(lldpcli, new / "twin" / "lib" / "lldpcli")
    (new / "twin" / "lib" / "lldpcli").chmod(0o755)
    # A stock switch has no frr-reload.py; Debian may have. Only the daemons a switch runs are left to see.
    _only(_FRR, _DAEMONS)
    if lldpcli != Path("/usr/sbin/lldpcli"):
        _kernel.bind(str(lldpcli), "/usr/sbin/lldpcli")
    _kernel.mount(str(new), "/etc", flags=_kernel.MS_MOVE)
    Path("/run/lab").mkdir()


def move_in(name: str, role: str, files: Mapping[str, str | bytes], hostname: str) -> None:
    """Turn a process that is PID 1 of new namespaces into a node's init. `files` go under BOX."""
    _kernel.make_private()
    _kernel.mount("proc", "/proc", "proc")
    _kernel.mount("sysfs", "/sys", "sysfs")
    _kernel.mount("tmpfs", "/run", "tmpfs", 0, "mode=755,size=256m")
    for folder in ("/tmp", "/var/tmp"):
        _kernel.mount("tmpfs", folder, "tmpfs", 0, "mode=1777,size=256m")
    _kernel.mount("tmpfs", "/var/log", "tmpfs", 0, "mode=755,size=64m")
    for folder in (BOX, "/run/lock", "/run/sshd", "/run/home"):
        os.mkdir(folder)
    _home("root", 0, 0)
    if role == "switch":
        _switch_folders()
    for path, text in files.items():
        target = Path(BOX, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        if path.startswith("ssh_host"):
            target.chmod(0o600)
    if role == "switch":
        # Every switch boots by itself, so each has a boot id of its own.
        _kernel.bind(f"{BOX}/boot_id", "/proc/sys/kernel/random/boot_id")
    os.mkfifo(f"{BOX}/go", 0o600)
    socket.sethostname(hostname)
    for key, value in ({**_SYSCTLS, **_HOST_SYSCTLS} if role == "host" else _SYSCTLS).items():
        try:
            Path("/proc/sys", key).write_text(value)
        except FileNotFoundError:
            continue  # a kernel without IPv6, or older than the knob
    _kernel.read_only("/")
    os.chdir("/")
    os.execve(
        "/bin/sh",
        ["/bin/sh", f"{LIB}/init", role, name],
        {"PATH": PATH, "HOME": "/run/home/root", "LANG": "C.UTF-8"},
    )


# Where SONiC's libraries find the databases (sonic-swss-common:common/database_config.json).
_DATABASES = {
    "APPL_DB": (0, ":"),
    "ASIC_DB": (1, ":"),
    "COUNTERS_DB": (2, ":"),
    "CONFIG_DB": (4, "|"),
    "FLEX_COUNTER_DB": (5, ":"),
    "STATE_DB": (6, "|"),
}


def _switch_folders() -> None:
    import pwd

    for folder in ("/run/redis/sonic-db", "/run/frr", "/run/lldpd", f"{BOX}/sonic/frr", f"{BOX}/sonic/checkpoints"):
        os.makedirs(folder)
    frr, redis = pwd.getpwnam("frr"), pwd.getpwnam("redis")
    os.chown("/run/frr", frr.pw_uid, frr.pw_gid)
    os.chown(f"{BOX}/sonic/frr", frr.pw_uid, frr.pw_gid)
    os.chown("/run/redis", 0, redis.pw_gid)
    instance = {"hostname": "127.0.0.1", "port": 6379, "unix_socket_path": "/var/run/redis/redis.sock"}
    databases = {
        name: {"id": number, "separator": separator, "instance": "redis"}
        for name, (number, separator) in _DATABASES.items()
    }
    with open("/run/redis/sonic-db/database_config.json", "w", encoding="ascii") as file:
        json.dump({"INSTANCES": {"redis": instance}, "DATABASES": databases, "VERSION": "1.0"}, file, indent=4)
    for name in ("admin", "monitor"):
        account = pwd.getpwnam(name)
        _home(name, account.pw_uid, account.pw_gid)
    os.chmod("/var/log", 0o1777)
    os.mkdir("/var/log/frr")
    os.chown("/var/log/frr", frr.pw_uid, frr.pw_gid)


def _home(name: str, uid: int, gid: int) -> None:
    os.mkdir(f"/run/home/{name}", 0o755)
    os.chown(f"/run/home/{name}", uid, gid)


def _accounts(rootless: bool) -> dict[str, str]:
    """passwd, group and shadow. With a single mapped uid everybody is uid 0 under another name."""
    passwd: dict[str, tuple[str, str, str, str]] = {}
    group: dict[str, tuple[str, str]] = {}
    for line in _lines("/etc/passwd"):
        name, _, uid, gid, _, home, shell = line.split(":")[:7]
        if int(uid) < 1000:
            passwd[name] = (uid, gid, home, shell)
    for line in _lines("/etc/group"):
        name, _, gid, members = line.split(":")[:4]
        if int(gid) < 1000:
            group[name] = (gid, members)
    for name in ("frr", "_lldpd", "sshd", "redis"):
        passwd.setdefault(name, ("0", "0", "/", "/usr/sbin/nologin"))
        group.setdefault(name, ("0", ""))
    passwd["root"] = ("0", "0", "/run/home/root", "/bin/bash")
    passwd["admin"] = ("1000", "1000", "/run/home/admin", "/bin/bash")
    passwd["monitor"] = ("1001", "1001", "/run/home/monitor", "/bin/bash")
    group |= {"admin": ("1000", ""), "monitor": ("1001", ""), "docker": ("999", "admin")}
    for name, members in (("frrvty", "frr,root,admin"), ("redis", "admin"), ("sudo", "admin"), ("adm", "admin")):
        group[name] = (group[name][0] if name in group else "0", members)
    if rootless:
        passwd = {name: ("0", "0", home, shell) for name, (_, _, home, shell) in passwd.items()}
        group = {name: ("0", members) for name, (_, members) in group.items() if name != "tty"}
    return {
        "passwd": "".join(f"{n}:x:{u}:{g}:{n}:{h}:{s}\n" for n, (u, g, h, s) in passwd.items()),
        "group": "".join(f"{n}:x:{g}:{m}\n" for n, (g, m) in group.items()),
        "shadow": "".join(f"{n}:*:19000:0:99999:7:::\n" for n in passwd),
        "gshadow": "",
    }


def _lines(path: str) -> Iterable[str]:
    return [
        line for line in Path(path).read_text().splitlines() if line.count(":") >= 3 and not line.startswith(("+", "-"))
    ]


def _commands(target: Path, rootless: bool) -> None:
    """Put the switch's commands where nodes find them: BIN on the PATH, LIB for what they are made of."""
    source = Path(__file__).parent / "box"
    bin_folder, lib_folder = target / "bin", target / "lib"
    bin_folder.mkdir(parents=True)
    shutil.copytree(source / "lib", lib_folder)
    package = lib_folder / "python" / "box"
    package.mkdir(parents=True)
    for module in source.glob("*.py"):
        shutil.copy(module, package / module.name)
    import jsonpatch
    import jsonpointer

    for library in (jsonpatch, jsonpointer):
        shutil.copy(str(library.__file__), package.parent)
    python = interpreter()
    for script in (source / "bin").iterdir():
        if script.name == "sudo" and not rootless:
            continue  # there the real one is at work
        text = script.read_text().replace("@PYTHON@", python)
        (bin_folder / script.name).write_text(text)
        (bin_folder / script.name).chmod(0o755)
    for path in lib_folder.iterdir():
        if path.is_file():
            path.chmod(0o755)


def _only(folder: str, names: Iterable[str]) -> None:
    """Leave only `names` to see in a folder."""
    stage = Path("/run/stage")
    stage.mkdir()
    _kernel.mount("tmpfs", str(stage), "tmpfs", 0, "mode=755")
    for name in names:
        (stage / name).touch()
        _kernel.bind(f"{folder}/{name}", str(stage / name))
    _kernel.mount(str(stage), folder, flags=_kernel.MS_MOVE)
    stage.rmdir()
