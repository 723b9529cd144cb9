"""A switch that reboots: what is on disk stays, what was in memory is gone, and everybody can tell."""

from __future__ import annotations

import pytest

from tests.twin_fixtures import LabTwin, wait

pytestmark = [pytest.mark.twin, pytest.mark.slow]
BOOT_ID = ("cat", "/proc/sys/kernel/random/boot_id")


def test_a_reboot_keeps_the_disk_and_nothing_else(twin: LabTwin) -> None:
    name = "p1-l3"
    others = [one for one in twin.plan.switches if one != name]
    ids = {one: twin.run(one, *BOOT_ID) for one in twin.plan.switches}
    assert len(set(ids.values())) == len(ids), "each switch boots by itself"
    mtu = twin.row(name, "CONFIG_DB", "PORT|Ethernet0")["mtu"]
    left = "/etc/sonic/checkpoints/kept.cp.json /var/tmp/kept"
    gone = "/run/railfab.lock /run/lock/one /tmp/one"
    try:
        twin.run(name, "sh", "-c", f"touch {left} {gone}; setsid sleep 600 >/dev/null 2>&1 &")
        twin.run(name, "systemd-run", "--unit=later", "--on-active=600", "touch", "/var/tmp/fired")
        twin.run(name, "config", "interface", "mtu", "Ethernet0", "4000")
        cut = twin.ssh(name, "sudo reboot", options=["-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2"])
        assert cut.returncode == 255, "the connection dies with the switch"
        wait(lambda: twin.ssh(name, "true", options=["-o", "ConnectTimeout=2"]).returncode == 0, 60, "the way in")
        assert twin.run(name, *BOOT_ID) not in ids.values()
        assert {one: twin.run(one, *BOOT_ID) for one in others} == {one: ids[one] for one in others}
        assert twin.process(name, "sh", "-c", f"ls -d {left}").returncode == 0
        assert twin.run(name, "sh", "-c", f"ls -d {gone} 2>/dev/null; :") == ""
        assert twin.run(name, "systemctl", "list-timers") == ""
        assert "sleep 600" not in twin.run(name, "ps", "ax")
        assert twin.row(name, "CONFIG_DB", "PORT|Ethernet0")["mtu"] == mtu, "not saved, so it is gone"
        wait(twin.converged, 60, "routing from frr.conf")
    finally:
        twin.process(name, "sh", "-c", f"rm -f {left}")


def test_only_root_reboots(twin: LabTwin) -> None:
    before = twin.run("s0", *BOOT_ID)
    if twin.run("s0", "id", "-u", "monitor").strip() == "0":
        pytest.skip("every account of a twin without root is uid 0")
    done = twin.ssh("s0", "reboot", user="monitor")
    assert (done.returncode, done.stderr.strip()) == (1, "This command must be run as root")
    assert twin.run("s0", *BOOT_ID) == before
