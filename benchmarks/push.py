"""What pushing costs: a connection of each transport, and bookkeeping of a roll-out.

    python benchmarks/push.py transports              a real sshd on the loopback address (root)
    python benchmarks/push.py bookkeeping             no-op hosts against Nornir's own

`transports`: 72 connections, 24 at a time, one command each; client CPU and wall a connection. Planning is measured by
`benchmarks/reach.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

CONNECTIONS, AT_ONCE = 72, 24


@contextlib.contextmanager
def sshd() -> Iterator[tuple[int, Path]]:
    """A real sshd on the loopback address: (port, folder with key and known_hosts)."""
    folder = Path(tempfile.mkdtemp(prefix="railfab-bench-"))
    for name in ("host", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    shutil.copy(folder / "id.pub", folder / "authorized")
    port = 20000 + os.getpid() % 20000
    public = (folder / "host.pub").read_text().split()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public[0]} {public[1]}\n")
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        "UsePAM no\nUseDNS no\nStrictModes no\nMaxStartups 200\nPidFile none\nPermitRootLogin yes\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "config")], stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    try:
        yield port, folder
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


def cpu() -> float:
    """CPU seconds of this process and the children it has waited for."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def measured(name: str, work: Callable[[], None]) -> None:
    before, began = cpu(), time.perf_counter()
    work()
    took = time.perf_counter() - began
    print(f"{name:44} {(cpu() - before) / CONNECTIONS * 1000:8.1f} {took / CONNECTIONS * 1000:8.1f}")


def transports() -> None:
    from fabric.transport import Login, Target
    from fabric.transport.asyncssh_reader import Job, Reader
    from fabric.transport.netmiko_session import NetmikoSession

    with sshd() as (port, folder):
        login = Login(user="root", known_hosts=folder / "known_hosts", key=folder / "id", port=port)
        words = ["ssh", "-F", "none", "-i", str(folder / "id"), "-p", str(port), "-o", "BatchMode=yes",
                 "-o", f"UserKnownHostsFile={folder}/known_hosts"]  # fmt: skip

        def openssh(*options: str) -> Callable[[], None]:
            def one(_: int) -> None:
                subprocess.run([*words, *options, "root@127.0.0.1", "true"], check=True, capture_output=True)

            return lambda: pooled(one)

        def pooled(one: Callable[[int], None]) -> None:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(one, range(CONNECTIONS)))

        def netmiko(number: int) -> None:
            session = NetmikoSession(Target(f"leaf{number}", "127.0.0.1"), login)
            session.open(30)
            assert session.run("true", deadline_s=30).ok
            session.close()

        jobs = [Job(Target(f"leaf{number}", "127.0.0.1"), "true") for number in range(CONNECTIONS)]
        print(f"{'transport':44} {'CPU ms':>8} {'wall ms':>8}")
        measured("OpenSSH, its defaults", openssh())
        measured("OpenSSH, curve25519", openssh("-o", "KexAlgorithms=curve25519-sha256"))
        netmiko(0)
        measured("Netmiko session (pushing)", lambda: pooled(netmiko))
        with Reader(login, concurrent_jobs=AT_ONCE) as reader:
            measured("asyncssh reader (reading)", lambda: sweep(reader, jobs))
            measured("asyncssh reader, connections kept open", lambda: sweep(reader, jobs))
        control = ["-o", f"ControlPath={folder}/mux", "-o", "ControlMaster=auto", "-o", "ControlPersist=60"]
        subprocess.run([*words, *control, "root@127.0.0.1", "true"], check=True, capture_output=True)
        measured("OpenSSH over one ControlMaster", openssh("-o", f"ControlPath={folder}/mux"))
        subprocess.run([*words, "-o", f"ControlPath={folder}/mux", "-O", "exit", "x"], capture_output=True, check=False)


def sweep(reader: object, jobs: list[object]) -> None:
    from fabric.transport import Answer

    answers = reader.sweep(jobs, device_deadline_s=60)  # type: ignore[attr-defined]
    assert all(isinstance(answer, Answer) and answer.ok for answer in answers.values())


def bookkeeping() -> None:
    from nornir.core.plugins.connections import ConnectionPluginRegister

    from fabric.allocate import load_plan
    from fabric.data import locate
    from fabric.deploy.switch import SwitchPush
    from tests.deploy.test_bookkeeping import Nothing, nornirs_own, ours

    for step in ("prepare", "carry_out", "settle"):
        setattr(SwitchPush, step, lambda *_: None)
    ConnectionPluginRegister.register("nothing", Nothing)
    with tempfile.TemporaryDirectory() as folder:
        plan = load_plan(locate("topology") / "lab.yaml", state=Path(folder))
        for count in (240, 2400):
            pairs = [(nornirs_own(count), ours(count, plan, Path(folder) / f"{count}-{n}")) for n in range(5)]
            theirs, mine = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
            print(f"{count:5} hosts: Nornir {theirs:.3f} s, roll-out {mine:.3f} s, {mine / theirs:.2f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["transports", "bookkeeping"])
    if parser.parse_args().what == "transports":
        transports()
    else:
        bookkeeping()


if __name__ == "__main__":
    main()
