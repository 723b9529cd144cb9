"""The same twin as a user without any rights: single-uid user namespace, nothing set-uid, no group."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabric.lab import _needs
from fabric.lab._record import start_time

pytestmark = [pytest.mark.twin, pytest.mark.rootless, pytest.mark.slow]
_TREE = Path(__file__).resolve().parents[2]
_UID = 64_321  # nobody's: no account, no group, no home, no subordinate ids


@dataclass(frozen=True)
class Nobody:
    """How to run Python as a user without rights, and a folder of that user."""

    before: tuple[str, ...]
    python: str
    home: Path

    def run(self, *words: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        """Run our Python with these arguments as that user."""
        return subprocess.run(
            [*self.before, "env", "-i", *self._environment(), self.python, *words],
            capture_output=True,
            text=True,
            cwd=self.home,
            timeout=timeout,
        )

    def _environment(self) -> list[str]:
        path = os.pathsep.join((str(_TREE), sysconfig.get_paths()["purelib"]))
        return [
            f"HOME={self.home}",
            f"PYTHONPATH={path}",
            "PYTHONDONTWRITEBYTECODE=1",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            f"RAILFAB_LLDPCLI={self.home / 'lldpcli'}",
        ]


@pytest.fixture(scope="module")
def nobody() -> Iterator[Nobody]:
    """A user without rights, made from root; removed with all its files and processes."""
    if os.geteuid() != 0:
        pytest.skip("not root: every other twin test of this run is rootless already")
    if lacking := _needs.missing(rootless=False):
        pytest.skip("no twin on this machine: " + "; ".join(lacking))
    before = ("setpriv", "--reuid", str(_UID), "--regid", str(_UID), "--clear-groups", "--no-new-privs")
    home = Path(tempfile.mkdtemp(prefix="railfab-rootless-"))
    try:
        home.chmod(0o755)
        shutil.copyfile("/usr/sbin/lldpcli", home / "lldpcli")
        (home / "lldpcli").chmod(0o755)
        for path in (home, home / "lldpcli"):
            os.chown(path, _UID, _UID)
        python = _python(before)
        user = Nobody(before, python, home)
        able = user.run("-c", "import fabric.lab, yaml, click, jsonpatch")
        if able.returncode:
            pytest.skip(f"a user without rights cannot run this Python or read this tree: {able.stderr.strip()[-200:]}")
        refused = user.run("-c", "from fabric.lab import _needs; print(*_needs.missing(True), sep='\\n')")
        if refused.stdout.strip():
            pytest.skip(refused.stdout.strip())
        yield user
    finally:
        for pid in running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(home, ignore_errors=True)


def _python(before: tuple[str, ...]) -> str:
    """A Python of our version that user may run: ours, else the system's."""
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/python{wanted}", f"/usr/local/bin/python{wanted}"):
        # Through env: what setpriv starts itself is still looked up with root's rights.
        done = subprocess.run([*before, "env", candidate, "-c", "import sys"], capture_output=True)
        if done.returncode == 0:
            return candidate
    return sys.executable


def running() -> dict[int, str]:
    """Processes of that user; one that only waits for init to take note of its end is none."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == _UID and start_time(int(entry.name)) is not None:
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
    return found


def test_lab_yaml_by_the_command_line(nobody: Nobody) -> None:
    """`lab up`, `exec`, `fault`, `down` of the small intent, every file and process gone at the end."""
    intent = nobody.home / "lab.yaml"
    shutil.copy(_TREE / "topology" / "lab.yaml", intent)
    os.chown(intent, _UID, _UID)
    railfab = ("-c", "from fabric.cli.entry import main; main()")
    try:
        up = nobody.run(*railfab, "lab", "up", str(intent))
        assert up.returncode == 0, up.stderr
        assert "6 switches, 4 hosts, 32 cables" in up.stdout
        assert up.stdout.splitlines()[0].endswith("without root")
        script = (
            "for address in 3 4; do "
            'ssh -F none -o BatchMode=yes -o KexAlgorithms=curve25519-sha256 -i "$RAILFAB_KEY" '
            '-o UserKnownHostsFile="$RAILFAB_KNOWN_HOSTS" admin@172.31.0.$address "id -u; sudo id -u; hostname"; done'
        )
        seen = nobody.run(*railfab, "lab", "exec", str(intent), "--", "sh", "-c", script)
        assert seen.stdout.split() == ["0", "0", "sonic"] * 2, seen.stderr
        assert nobody.run(*railfab, "lab", "fault", str(intent), "cut", "p1-l0:Ethernet0").returncode == 0
        assert len(running()) > 30
    finally:
        down = nobody.run(*railfab, "lab", "down", str(intent))
    assert down.returncode == 0, down.stderr
    assert running() == {}
    assert not (nobody.home / ".railfab").exists()


def test_switches_behave_the_same(nobody: Nobody) -> None:
    """The tests of running switches, run by that user: routes, databases, LLDP, SSH, timers, updater, reload."""
    done = nobody.run(
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--rootdir={_TREE}",
        f"--basetemp={nobody.home / 'pytest'}",
        str(_TREE / "tests" / "lab" / "test_switch.py"),
        str(_TREE / "tests" / "lab" / "test_reboot.py"),
        "-k",
        "sessions or asic or lldp_names or counters or port_down or sonics_own or ssh or accounts or timer "
        "or containers or reload_drops or reboot_keeps",
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " 1 skipped" in done.stdout, "the accounts, with the reason"
    assert "without root all accounts are uid 0" in done.stdout
    assert running() == {}


def test_what_is_missing_is_said(nobody: Nobody) -> None:
    """Without an lldpcli it may run, the user is told how to come by one."""
    code = (
        "import os; os.environ['RAILFAB_LLDPCLI'] = '/nowhere'\n"
        "from fabric.lab import _needs\nprint(*_needs.missing(True), sep='\\n')"
    )
    if os.access("/usr/sbin/lldpcli", os.X_OK) and (os.stat("/usr/sbin/lldpcli").st_mode & 0o001):
        pytest.skip("here everybody may run lldpcli")
    told = nobody.run("-c", code).stdout
    assert "install -m 0755" in told
    assert "apt-get download lldpd" in told


def test_other_users_cannot_meddle(nobody: Nobody) -> None:
    """Another user's twin cannot be asked or ended, and says whose it is."""
    intent = nobody.home / "lab.yaml"
    shutil.copy(_TREE / "topology" / "lab.yaml", intent)
    railfab = "from fabric.cli.entry import main; main()"
    os.chown(intent, _UID, _UID)
    try:
        assert nobody.run("-c", railfab, "lab", "up", str(intent)).returncode == 0
        other = subprocess.run(
            [
                *("setpriv", "--reuid", str(_UID + 1), "--regid", str(_UID + 1), "--clear-groups", "env", "-i"),
                *nobody._environment(),
                *(nobody.python, "-c", railfab, "lab", "status", str(intent)),
            ],
            capture_output=True,
            text=True,
            cwd="/",
        )
        assert other.returncode == 2
        assert "belongs to another user" in other.stderr or "Permission" in other.stderr, other.stderr
    finally:
        nobody.run("-c", railfab, "lab", "down", str(intent))
    assert running() == {}
