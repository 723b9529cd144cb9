"""What the machine must have for a twin, and what to say when it has not.

Nothing here installs anything. `missing` lists what is absent with the way to get it, for `lab up` and for set-up
scripts alike.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from fabric.errors import LabError, MissingPartError

# program or file -> Debian package that brings it
PROGRAMS = {
    "/usr/lib/frr/zebra": "frr",
    "/usr/lib/frr/bgpd": "frr",
    "/usr/lib/frr/staticd": "frr",
    "vtysh": "frr",
    "lldpd": "lldpd",
    "redis-server": "redis-server",
    "redis-cli": "redis-tools",
    "/usr/sbin/sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "ip": "iproute2",
    "nft": "nftables",
    "nsenter": "util-linux",
    "bash": "bash",
}
ROOT_PROGRAMS = {"sudo": "sudo"}
_SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def packages() -> list[str]:
    """Debian packages a twin needs, sorted, `sudo` (for the accounts of a twin run as root) included."""
    return sorted({*PROGRAMS.values(), *ROOT_PROGRAMS.values()} - {"bash", "util-linux"})


def missing(rootless: bool) -> list[str]:
    """One sentence for each thing that is absent; empty when a twin can be built as far as one can tell beforehand."""
    wanted = PROGRAMS if rootless else {**PROGRAMS, **ROOT_PROGRAMS}
    absent = {
        package
        for program, package in wanted.items()
        if not (os.access(program, os.X_OK) if program.startswith("/") else shutil.which(program, path=_SEARCH))
    }
    said = []
    if absent:
        said.append(
            f"not installed: {', '.join(sorted(absent))}; get them with: apt-get install {' '.join(sorted(absent))}"
        )
    elif not any(Path("/usr/lib").glob("*/frr/modules/dplane_fpm_nl.so")):
        said.append("FRR has no dplane_fpm_nl module (Debian's package frr has it); install that package")
    if rootless:
        said += _user_namespaces()
        try:
            lldpcli()
        except MissingPartError as error:
            said.append(str(error))
    return said


def lldpcli() -> Path:
    """An lldpcli this user may run.

    Debian's is for root and the group adm only (mode 4750). A copy of it without rights of its own does, since the
    daemon's socket belongs to us: RAILFAB_LLDPCLI, else ~/.cache/railfab/lldpcli.
    """
    stock = Path("/usr/sbin/lldpcli")
    if os.access(stock, os.X_OK):
        return stock
    named = os.environ.get("RAILFAB_LLDPCLI")
    copies = [Path(named)] if named else []
    copies.append(Path.home() / ".cache" / "railfab" / "lldpcli")
    for copy in copies:
        if os.access(copy, os.X_OK):
            return copy
    raise MissingPartError(
        f"lldpcli is for root and the group adm only; make a copy you may run: "
        f"mkdir -p {copies[-1].parent} && sudo install -m 0755 -o {os.environ.get('USER') or os.getuid()} "
        f"{stock} {copies[-1]}   (or without root: apt-get download lldpd && dpkg-deb -x lldpd_*.deb lldpd && "
        f"install -m 0755 lldpd/usr/sbin/lldpcli {copies[-1]})"
    )


def explain(error: OSError) -> str:
    """What a refused kernel call means for somebody who wanted a twin."""
    if error.errno in (errno.EPERM, errno.EACCES):
        return f"the kernel refused: {error.strerror or error}. {_REFUSED}"
    if error.errno in (errno.ENOSPC, errno.EUSERS):
        return f"the kernel has no more namespaces to give ({error}); raise user.max_net_namespaces and its sisters"
    if error.errno in (errno.ENOSYS, errno.EINVAL, errno.ENODEV):
        return f"this kernel lacks a part the twin needs: {error}"
    return str(error)


def check(rootless: bool) -> None:
    """LabError naming everything that is missing."""
    said = missing(rootless)
    if said:
        rest = "design, render, lint and check of a saved snapshot run without the twin"
        raise LabError("no twin on this machine: " + "\n".join(said) + f"\n{rest}")


_REFUSED = (
    "In a container, run it with --privileged (or --security-opt seccomp=unconfined and CAP_SYS_ADMIN); on Ubuntu "
    "allow user namespaces: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`; or run `railfab lab` as root"
)


def _user_namespaces() -> list[str]:
    said = []
    for path, bad in (
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
        ("/proc/sys/user/max_user_namespaces", "0"),
    ):
        try:
            value = Path(path).read_text().strip()
        except OSError:
            continue
        if value == bad:
            name = path.removeprefix("/proc/sys/").replace("/", ".")
            better = {"0": "1", "1": "0"}[bad] if "max" not in name else "10000"
            said.append(
                f"user namespaces are forbidden to users ({name} = {value}); allow them with "
                f"`sudo sysctl {name}={better}`, or run `railfab lab` as root"
            )
    return said
