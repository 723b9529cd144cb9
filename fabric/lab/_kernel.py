"""The few Linux calls Python 3.11 does not have: unshare, setns, mount, and one seccomp filter.

Every function raises OSError with the kernel's errno. Constants are those of the kernel's uapi headers.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_MOVE = 8192
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_RELATIME = 1 << 21

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_SECCOMP_RET_ALLOW = 0x7FFF0000
_SECCOMP_RET_ERRNO = 0x00050000

# machine -> (audit architecture of linux/audit.h, number of setgroups)
_SETGROUPS = {"x86_64": (0xC000003E, 116), "aarch64": (0xC00000B7, 159), "riscv64": (0xC00000F3, 159)}

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` (CLONE_NEW*) for new ones."""
    _call("unshare", ctypes.c_int(flags))


def setns(fd: int, kind: int = 0) -> None:
    """Enter the namespace behind `fd`; `kind` (CLONE_NEW*) makes the kernel check what it is."""
    _call("setns", ctypes.c_int(fd), ctypes.c_int(kind))


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2). OSError names the target, since that is what one looks for."""
    try:
        _call("mount", source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode())
    except OSError as error:
        raise OSError(error.errno, f"mount {kind or 'bind'} on {target}: {os.strerror(error.errno or 0)}") from None


def bind(source: str, target: str, recursive: bool = False) -> None:
    """Bind-mount a file or folder."""
    mount(source, target, flags=MS_BIND | (MS_REC if recursive else 0))


def make_private() -> None:
    """No mount of ours reaches another mount namespace, and none of theirs reaches us."""
    mount("none", "/", flags=MS_REC | MS_PRIVATE)


def read_only(target: str) -> None:
    """Remount one mount point read-only in this mount namespace, keeping the flags it is locked to."""
    seen = os.statvfs(target).f_flag
    keep = 0
    for theirs, ours in ((os.ST_NOSUID, MS_NOSUID), (os.ST_NODEV, MS_NODEV), (os.ST_NOEXEC, MS_NOEXEC)):
        if seen & theirs:
            keep |= ours
    if seen & os.ST_RELATIME:
        keep |= MS_RELATIME
    mount("none", target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | keep)


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send us `signal_number` when our parent ends."""
    _call("prctl", ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(signal_number), 0, 0, 0)


def answer_setgroups() -> None:
    """From here on setgroups(2) does nothing and says 0, here and in every child.

    In a user namespace with a single mapped uid setgroups is forbidden, and FRR, lldpd and sshd give up over it.
    They only want to drop groups, of which there are none to drop. No compiler, no preloaded object: a seccomp
    filter of six instructions. OSError when the kernel has no seccomp or we have no number for this machine.
    """
    machine = platform.machine()
    if machine not in _SETGROUPS:
        raise OSError(38, f"no system call number of setgroups known for {machine}")
    architecture, number = _SETGROUPS[machine]
    load, jump_equal, give = 0x20, 0x15, 0x06
    program = b"".join(
        struct.pack("=HBBI", code, yes, no, value)
        for code, yes, no, value in (
            (load, 0, 0, 4),  # seccomp_data.arch
            (jump_equal, 0, 3, architecture),
            (load, 0, 0, 0),  # seccomp_data.nr
            (jump_equal, 0, 1, number),
            (give, 0, 0, _SECCOMP_RET_ERRNO),
            (give, 0, 0, _SECCOMP_RET_ALLOW),
        )
    )
    buffer = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack(
        "HxxxxxxP" if struct.calcsize("P") == 8 else "HxxP", len(program) // 8, ctypes.addressof(buffer)
    )
    holder = ctypes.create_string_buffer(fprog, len(fprog))
    _call(
        "prctl",
        ctypes.c_int(_PR_SET_SECCOMP),
        ctypes.c_ulong(_SECCOMP_MODE_FILTER),
        ctypes.c_void_p(ctypes.addressof(holder)),
        ctypes.c_ulong(0),
        ctypes.c_ulong(0),
    )
