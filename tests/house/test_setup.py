"""Set-up installs what it says and leaves services alone, whichever way it ends.

The machine is a folder: fake `apt-get` and `dpkg-query` do to it what Debian's packages do to `/` (ask policy-rc.d
before a start, enable units by links).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

_APT = """#!/bin/sh
[ "$1" = install ] || exit 0
echo "$@" >>"$RAILFAB_SETUP_ROOT/installed"
"$RAILFAB_SETUP_ROOT/usr/sbin/policy-rc.d" frr start; echo $? >"$RAILFAB_SETUP_ROOT/policy-answer"
cd "$RAILFAB_SETUP_ROOT"
ln -s /lib/systemd/system/frr.service etc/systemd/system/multi-user.target.wants/frr.service
mkdir -p etc/systemd/system/sockets.target.wants
ln -s /lib/systemd/system/ssh.socket etc/systemd/system/sockets.target.wants/ssh.socket
ln -s ../init.d/frr etc/rc2.d/S01frr
[ -z "$FAKE_APT_WAITS" ] || { touch "$RAILFAB_SETUP_ROOT/waiting"; sleep 30; }
exit ${FAKE_APT_STATUS:-0}
"""
_DPKG = """#!/bin/sh
for name; do :; done
case " $FAKE_INSTALLED " in *" $name "*) echo "ii ";; *) exit 1;; esac
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for folder in ("usr/sbin", "etc/systemd/system/multi-user.target.wants", "etc/rc2.d"):
        (root / folder).mkdir(parents=True)
    (root / "etc/systemd/system/multi-user.target.wants/cron.service").symlink_to("/lib/systemd/system/cron.service")
    (root / "etc/rc2.d/S01cron").symlink_to("../init.d/cron")
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in (("apt-get", _APT), ("dpkg-query", _DPKG)):
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    return root


def environment(machine: Path, **more: str) -> dict[str, str]:
    path = f"{machine.parent / 'bin'}:{os.environ['PATH']}"
    return {
        "PATH": path,
        "HOME": str(machine),
        "RAILFAB_SETUP_ROOT": str(machine),
        "TMPDIR": str(machine.parent),
        **more,
    }


def setup(tree: Path, machine: Path, script: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-euc", f". {tree}/scripts/setup.sh; {script}"],
        env=environment(machine, **more),
        capture_output=True,
        text=True,
        timeout=60,
    )


def links(machine: Path) -> set[str]:
    return {str(path.relative_to(machine)) for path in machine.rglob("*") if path.is_symlink()}


_KEPT = {"etc/systemd/system/multi-user.target.wants/cron.service", "etc/rc2.d/S01cron"}


def left_clean(machine: Path) -> None:
    assert not (machine / "usr/sbin/policy-rc.d").exists()
    assert links(machine) == _KEPT | {"etc/rc2.d/K01frr"}
    assert [path.name for path in machine.parent.iterdir()] in (["bin", "root"], ["root", "bin"])


def test_installs_what_it_said_and_starts_and_enables_nothing(tree: Path, machine: Path) -> None:
    done = setup(tree, machine, "debian_packages 'the twin' frr lldpd", FAKE_INSTALLED="lldpd")
    assert done.returncode == 0, done.stderr
    assert "installing Debian packages for the twin: frr (and" in done.stdout
    assert (machine / "installed").read_text().split()[-1:] == ["frr"]
    assert (machine / "policy-answer").read_text() == "101\n"
    left_clean(machine)


def test_nothing_missing_nothing_done(tree: Path, machine: Path) -> None:
    done = setup(tree, machine, "debian_packages 'the twin' frr lldpd", FAKE_INSTALLED="frr lldpd")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (machine / "installed").exists()


def test_failed_installation_says_so_and_cleans_up(tree: Path, machine: Path) -> None:
    done = setup(tree, machine, "debian_packages 'the twin' frr || echo went on", FAKE_APT_STATUS="100")
    assert "could not install them; going on without" in done.stdout
    assert "went on" in done.stdout
    left_clean(machine)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_installation_cleans_up(tree: Path, machine: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        ["sh", "-euc", f". {tree}/scripts/setup.sh; debian_packages 'the twin' frr"],
        env=environment(machine, FAKE_APT_WAITS="1"),
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        stdout=subprocess.DEVNULL,
    ) as process:
        waited = time.monotonic() + 20
        while not (machine / "waiting").exists():
            assert time.monotonic() < waited
            time.sleep(0.02)
        os.killpg(process.pid, number)
        assert process.wait(timeout=20) == 128 + number
    (machine / "waiting").unlink()
    left_clean(machine)


def test_policy_of_the_machine_comes_back(tree: Path, machine: Path) -> None:
    policy = machine / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101 # theirs\n")
    policy.chmod(0o755)
    assert setup(tree, machine, "debian_packages 'the twin' frr").returncode == 0
    assert policy.read_text() == "#!/bin/sh\nexit 101 # theirs\n"
    assert [path.name for path in policy.parent.iterdir()] == ["policy-rc.d"]


def test_killed_set_up_leaves_a_policy_that_forbids_nothing(tree: Path, machine: Path) -> None:
    policy = machine / "usr/sbin/policy-rc.d"
    script = f"work=$(mktemp -d); forbid_starts $$; {policy} frr start || echo forbidden; kill -9 $$"
    assert "forbidden" in setup(tree, machine, script).stdout
    assert subprocess.run([policy, "frr", "start"]).returncode == 0
    assert setup(tree, machine, "debian_packages 'the twin' frr").returncode == 0
    assert not policy.exists()


def test_killed_set_up_still_asks_the_machines_own_policy(tree: Path, machine: Path) -> None:
    policy = machine / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 104\n")
    policy.chmod(0o755)
    setup(tree, machine, "work=$(mktemp -d); forbid_starts $$; kill -9 $$")
    assert subprocess.run([policy, "frr", "start"]).returncode == 104
    assert setup(tree, machine, "debian_packages 'the twin' frr").returncode == 0
    assert policy.read_text() == "#!/bin/sh\nexit 104\n"


def test_user_without_rights_is_told_what_to_have_installed(tree: Path, machine: Path) -> None:
    script = "setup_root=; id() { echo 1000; }; sudo() { return 1; }; debian_packages 'the twin' frr || echo went on"
    done = setup(tree, machine, script)
    assert "apt-get install --no-install-recommends frr" in done.stdout
    assert "went on" in done.stdout
    assert not (machine / "installed").exists()


def test_other_systems_are_told_what_is_needed(tree: Path, machine: Path) -> None:
    script = "command() { return 1; }; debian_packages 'the twin' frr || echo went on"
    done = setup(tree, machine, script)
    assert "no Debian or Ubuntu" in done.stdout
    assert "went on" in done.stdout


def test_too_old_python_is_named(tree: Path, machine: Path) -> None:
    script = "find_python() { return 1; }; python_packages || echo refused"
    done = setup(tree, machine, script)
    assert "Python 3.11 or newer is not here" in done.stdout
    assert "refused" in done.stdout


def test_list_of_packages_is_the_twins(tree: Path) -> None:
    from fabric.lab._needs import packages

    told = subprocess.run(
        ["sh", "-c", f". {tree}/scripts/setup.sh; echo $twin_packages"], capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == packages()


@pytest.mark.parametrize("name", ["test", "demo", ".ci/run", "scripts/setup.sh"])
def test_scripts_are_shell(tree: Path, name: str) -> None:
    shell = "bash" if name == ".ci/run" else "sh"
    assert subprocess.run([shell, "-n", tree / name]).returncode == 0
    assert name == "scripts/setup.sh" or os.access(tree / name, os.X_OK)
