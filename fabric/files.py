"""Files are read to a limit and appear whole or not at all, and two writers of one folder take turns.

Standard library only. A target that is no regular file (`/dev/stdout`, a pipe) is written to, never replaced, and a
symbolic link stays one.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fabric.errors import InputError, Problem

_RETRY_S = 0.05


def write_whole(path: Path, data: str | bytes, remedy: str = "give a folder that exists and may be written") -> None:
    """Write a file in one step: what stood there before, or all of `data`; text is UTF-8.

    Mode and, where we may, owner of a file that is replaced are kept. InputError tells why it cannot be written.
    """
    content = data.encode() if isinstance(data, str) else data
    temporary: str | None = None
    try:
        try:
            before: os.stat_result | None = path.stat()
        except FileNotFoundError:
            before = None
        if before is not None and not stat.S_ISREG(before.st_mode):
            path.write_bytes(content)
            return
        target = path.resolve()
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _as_before(temporary, before)
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        raise InputError(Problem(f"cannot be written: {error.strerror or error}", remedy, file=str(path))) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def read_bounded(path: Path, most: int, remedy: str = "check the path") -> bytes:
    """A file's bytes, at most `most`: a device or a pipe has no size and must not fill the memory. InputError when it
    is larger or cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(Problem(f"cannot be read: {why}", remedy, file=str(path))) from None
    if len(data) > most:
        raise InputError(Problem(f"is larger than {most} bytes", remedy, file=str(path)))
    return data


def _as_before(temporary: str, before: os.stat_result | None) -> None:
    if before is None:
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        return
    Path(temporary).chmod(stat.S_IMODE(before.st_mode))
    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()) and os.geteuid() == 0:
        os.chown(temporary, before.st_uid, before.st_gid)


@contextmanager
def turn(folder: Path, remedy: str = "check the folder", wait_s: float = 30.0) -> Iterator[None]:
    """Hold `folder` while reading and writing what must not change in between; it is made where it is missing. The
    lock is the folder itself, so no file is left behind. InputError when it cannot be made or opened, or when another
    process holds it longer than `wait_s` seconds.

    File systems without such locks (some NFS) let everybody in.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(Problem(f"cannot be used: {error.strerror}", remedy, file=str(folder))) from None
    try:
        end = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise InputError(
                        Problem(
                            f"another railfab has been writing here for {wait_s:.0f} s",
                            "let it finish, or end it, and try again",
                            file=str(folder),
                        )
                    ) from None
                time.sleep(_RETRY_S)
            except OSError:
                break
        yield
    finally:
        os.close(handle)
