"""From a plain process to PID 1 of a twin: new namespaces, then the supervisor. Run as `python -m fabric.lab._launch`.

The pid is on record before the supervisor does anything, and the supervisor dies with `lab up` until it is ready:
there is no moment at which a killed `lab up` leaves something that `lab down` does not find.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fabric.lab import _kernel
from fabric.lab._record import LabFolder, Record, start_time


def main(arguments: list[str]) -> int:
    """`FOLDER STATUS_FD`: build the twin of FOLDER/blueprint.json, tell how it goes on STATUS_FD."""
    folder, status = LabFolder(Path(arguments[0])), int(arguments[1])
    rootless = os.geteuid() != 0
    uid, gid = os.geteuid(), os.getegid()
    flags = _kernel.CLONE_NEWNS | _kernel.CLONE_NEWNET | _kernel.CLONE_NEWPID
    flags |= _kernel.CLONE_NEWUTS | _kernel.CLONE_NEWIPC
    if rootless:
        _kernel.unshare(_kernel.CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
        _kernel.answer_setgroups()
    _kernel.unshare(flags)
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        if os.read(ready, 1) != b"g":
            os._exit(1)  # whoever should have written the record is gone
        os.close(ready)
        from fabric.lab._supervisor import supervise

        try:
            supervise(folder, status, rootless)
        finally:
            os._exit(1)
    started = start_time(child)
    if started is None:
        return 1
    folder.write(Record(child, started))
    os.write(go, b"g")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
