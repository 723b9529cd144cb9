"""What a switch of a running twin is: daemons, databases, commands, and the way its state follows the kernel."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import sys
import time

import pytest

from tests.lab import handmade
from tests.twin_fixtures import LabTwin, wait

pytestmark = pytest.mark.twin


def test_sessions_and_paths(twin: LabTwin) -> None:
    assert all(peer["state"] == "Established" for name in twin.plan.switches for peer in twin.sessions(name).values())
    routes = json.loads(twin.run("p1-l0", "ip", "-j", "route", "show", "10.1.0.0/16"))
    assert [hop["gateway"] for hop in routes[0]["nexthops"]] == ["10.100.0.1", "10.100.0.3", "10.100.0.5", "10.100.0.7"]


def test_no_fabric_route_covers_management(twin: LabTwin) -> None:
    management = ipaddress.ip_network("172.31.0.0/16")
    for name in twin.plan.switches:
        for route in json.loads(twin.run(name, "ip", "-j", "route", "show")):
            if route.get("dev") != "eth0":
                assert route["dst"] != "default"
                assert not ipaddress.ip_network(route["dst"]).overlaps(management), route


def test_appl_db_and_asic_db_follow_the_routes(twin: LabTwin) -> None:
    row = twin.row("p1-l0", "APPL_DB", "ROUTE_TABLE:10.1.0.0/16")
    assert row["nexthop"] == "10.100.0.1,10.100.0.3,10.100.0.5,10.100.0.7"
    assert row["ifname"] == "Ethernet32,Ethernet40,Ethernet48,Ethernet56"
    assert asic_hops(twin, "p1-l0", "10.1.0.0/16") == {
        ("10.100.0.1", "Ethernet32"),
        ("10.100.0.3", "Ethernet40"),
        ("10.100.0.5", "Ethernet48"),
        ("10.100.0.7", "Ethernet56"),
    }
    assert not any(key.startswith("ROUTE_TABLE:172.31") for key in twin.rows("p1-l0", "APPL_DB", "ROUTE_TABLE:*"))


def test_lldp_names_host_nics_and_aliases(twin: LabTwin) -> None:
    host = twin.row("p1-l0", "APPL_DB", "LLDP_ENTRY_TABLE:Ethernet0")
    assert (host["lldp_rem_sys_name"], host["lldp_rem_port_desc"]) == ("gpu001", "rail0")
    mac = json.loads(twin.run("gpu001", "ip", "-j", "link", "show", "rail0"))[0]["address"]
    assert (host["lldp_rem_port_id_subtype"], host["lldp_rem_port_id"]) == ("3", mac)
    spine = twin.row("p1-l0", "APPL_DB", "LLDP_ENTRY_TABLE:Ethernet32")
    assert spine["lldp_rem_sys_name"] == "s0"
    assert (spine["lldp_rem_port_id_subtype"], spine["lldp_rem_port_id"]) == (
        "7",
        twin.plan.switches["s0"].ports["Ethernet0"].alias,
    )
    assert spine["lldp_rem_port_desc"] == "Ethernet0"
    assert "HwSku: Accton-AS9817-64O" in spine["lldp_rem_sys_desc"]
    own = twin.row("s0", "APPL_DB", "LLDP_LOC_CHASSIS")
    assert (
        own["lldp_loc_chassis_id"]
        == spine["lldp_rem_chassis_id"]
        == twin.row("s0", "CONFIG_DB", "DEVICE_METADATA|localhost")["mac"]
    )


def test_description_takes_the_place_of_the_port_name(twin: LabTwin) -> None:
    twin.run("s0", "sonic-db-cli", "CONFIG_DB", "HSET", "PORT|Ethernet0", "description", "to the first leaf")
    try:
        wait(
            lambda: (
                twin.row("p1-l0", "APPL_DB", "LLDP_ENTRY_TABLE:Ethernet32").get("lldp_rem_port_desc")
                == "to the first leaf"
            ),
            20,
            "the description to travel",
        )
    finally:
        twin.run("s0", "sonic-db-cli", "CONFIG_DB", "HDEL", "PORT|Ethernet0", "description")


def test_lldpd_that_dies_is_started_again(twin: LabTwin) -> None:
    """As SONiC starts a container again whose critical process has died."""
    old = twin.run("p1-l2", "cat", "/run/lldpd.pid")
    twin.run("p1-l2", "sh", "-c", "kill -9 $(cat /run/lldpd.pid)")
    wait(lambda: twin.process("p1-l2", "cat", "/run/lldpd.pid").stdout not in ("", old), 30, "a new lldpd")
    wait(lambda: twin.process("p1-l2", "lldpcli", "show", "chassis").returncode == 0, 10, "it to answer")
    for node in (*twin.plan.switches, *twin.plan.hosts):
        twin.run(node, "lldpcli", "update")  # else they wait for their next turn, 30 s at most
    wait(twin.converged, 60, "its neighbours")
    assert twin.run("p1-l2", "systemctl", "is-active", "lldp") == "active\n"


def test_counters_come_from_the_kernel(twin: LabTwin) -> None:
    oid = twin.row("p1-l0", "COUNTERS_DB", "COUNTERS_PORT_NAME_MAP")["Ethernet0"]

    def octets() -> int:
        return int(twin.row("p1-l0", "COUNTERS_DB", f"COUNTERS:{oid}")["SAI_PORT_STAT_IF_IN_OCTETS"])

    before = octets()
    # Python rather than ping, which a small Debian has not; the machine's own, since a node does not see all folders.
    send = "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\n"
    send += "for _ in range(20): s.sendto(bytes(1000), ('10.0.0.0', 9))"
    twin.run("gpu001", os.path.realpath(sys.executable), "-c", send)
    wait(lambda: octets() >= before + 20 * 1028, 5, "the datagrams to be counted")


def test_port_down_by_hand_is_seen_on_both_ends_and_everywhere(twin: LabTwin) -> None:
    before = int(twin.row("s0", "APPL_DB", "PORT_TABLE:Ethernet0")["flap_count"])
    dropped = twin.sessions("s0")["10.100.0.0"]["connectionsDropped"]
    twin.run("p1-l0", "config", "interface", "shutdown", "Ethernet32")
    try:
        wait(
            lambda: twin.row("s0", "APPL_DB", "PORT_TABLE:Ethernet0")["oper_status"] == "down",
            5,
            "the far end to go down",
        )
        far, near = (
            twin.row("s0", "APPL_DB", "PORT_TABLE:Ethernet0"),
            twin.row("p1-l0", "APPL_DB", "PORT_TABLE:Ethernet32"),
        )
        assert (far["admin_status"], far["flap_count"]) == ("up", str(before + 1))
        assert (near["admin_status"], near["oper_status"]) == ("down", "down")
        assert re.fullmatch(r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d \d{4}", far["last_down_time"])
        state = twin.row("s0", "STATE_DB", "PORT_TABLE|Ethernet0")
        assert (state["netdev_oper_status"], state["speed"]) == ("down", "N/A")
        wait(lambda: len(asic_hops(twin, "p1-l0", "10.1.0.0/16")) == 3, 5, "the ASIC to lose the path")
        wait(
            lambda: "Ethernet32" not in twin.row("p1-l0", "APPL_DB", "ROUTE_TABLE:10.1.0.0/16")["ifname"], 5, "APPL_DB"
        )
    finally:
        twin.run("p1-l0", "config", "interface", "startup", "Ethernet32")
    wait(twin.converged, 30, "everything to come back")
    assert twin.row("s0", "APPL_DB", "PORT_TABLE:Ethernet0")["flap_count"] == str(before + 2)
    assert twin.sessions("s0")["10.100.0.0"]["connectionsDropped"] == dropped + 1
    wait(lambda: len(asic_hops(twin, "p1-l0", "10.1.0.0/16")) == 4, 10, "the path to come back")


def test_addresses_and_mtu_follow_config_db(twin: LabTwin) -> None:
    twin.run("p1-l1", "config", "interface", "ip", "add", "Ethernet0", "192.0.2.1/31")
    twin.run("p1-l1", "config", "interface", "mtu", "Ethernet0", "4000")
    try:
        wait(lambda: (has_address(twin, "p1-l1", "Ethernet0", "192.0.2.1") or {}).get("mtu") == 4000, 5, "both")
        wait(lambda: twin.row("p1-l1", "APPL_DB", "INTF_TABLE:Ethernet0:192.0.2.1/31") != {}, 5, "INTF_TABLE")
        wait(lambda: twin.row("p1-l1", "STATE_DB", "PORT_TABLE|Ethernet0")["mtu"] == "4000", 5, "STATE_DB")
    finally:
        twin.run("p1-l1", "config", "interface", "ip", "remove", "Ethernet0", "192.0.2.1/31")
        twin.run("p1-l1", "config", "interface", "mtu", "Ethernet0", "9100")
    wait(lambda: not has_address(twin, "p1-l1", "Ethernet0", "192.0.2.1"), 5, "the address to go")


def test_sonics_own_lines_appear_and_the_known_difference(twin: LabTwin) -> None:
    text = twin.run("p1-l0", "vtysh", "-c", "show running-config")
    for line in (
        "fpm address 127.0.0.1",
        "no fpm use-next-hop-groups",
        "set src 10.255.0.1",
        "ip protocol bgp route-map RM_SET_SRC",
        "no zebra nexthop kernel enable",
    ):
        assert re.search(rf"^\s*{re.escape(line)}$", text, re.MULTILINE), line
    file = twin.run("p1-l0", "cat", "/etc/sonic/frr/frr.conf")
    assert file == handmade.frr_conf(twin.plan, "p1-l0") + "no fpm use-next-hop-groups\nfpm address 127.0.0.1\n"
    assert "nhid" not in twin.run("p1-l0", "ip", "route", "show")


def test_no_frr_reload_and_three_daemons(twin: LabTwin) -> None:
    assert twin.process("p1-l0", "sh", "-c", "ls /usr/lib/frr").stdout.split() == ["bgpd", "staticd", "zebra"]
    running = set(twin.run("p1-l0", "ps", "-eo", "comm").split())
    assert {"zebra", "staticd", "bgpd", "lldpd", "redis-server", "sshd"} <= running
    assert not running & {"watchfrr", "bfdd", "mgmtd"}


def test_routing_mode_decides_what_becomes_of_the_text(twin: LabTwin) -> None:
    """As docker_init.sh: only in split-unified is our file loaded; without it, it is deleted."""
    twin.run("p1-l3", "sonic-db-cli", "CONFIG_DB", "HDEL", "DEVICE_METADATA|localhost", "docker_routing_config_mode")
    twin.run("p1-l3", "systemctl", "restart", "bgp")
    assert twin.sessions("p1-l3") == {}
    assert twin.process("p1-l3", "test", "-e", "/etc/frr/frr.conf").returncode == 1
    twin.run(
        "p1-l3",
        "sonic-db-cli",
        "CONFIG_DB",
        "HSET",
        "DEVICE_METADATA|localhost",
        "docker_routing_config_mode",
        "split-unified",
    )
    twin.run("p1-l3", "sh", "-c", "cat > /etc/sonic/frr/frr.conf", text=handmade.frr_conf(twin.plan, "p1-l3"))
    twin.run("p1-l3", "systemctl", "restart", "bgp")
    wait(twin.converged, 30, "the sessions to come back")


def test_reload_without_management_address_loses_management(twin: LabTwin) -> None:
    """SONiC asks DHCP then; there is no server here, so the switch is gone for its users."""
    saved = json.loads(twin.run("p1-l3", "cat", "/etc/sonic/config_db.json"))
    without = {table: rows for table, rows in saved.items() if table != "MGMT_INTERFACE"}
    twin.run("p1-l3", "sh", "-c", "cat > /tmp/without.json", text=json.dumps(without))
    twin.run("p1-l3", "config", "reload", "-y", "-f", "/tmp/without.json")
    assert not has_address(twin, "p1-l3", "eth0", "172.31.0.14")
    twin.run("p1-l3", "config", "reload", "-y", "-f")
    assert has_address(twin, "p1-l3", "eth0", "172.31.0.14")
    wait(twin.converged, 60, "the sessions to come back")


def test_reload_drops_links_sessions_and_counts(twin: LabTwin) -> None:
    flaps = int(twin.row("s1", "APPL_DB", "PORT_TABLE:Ethernet16")["flap_count"])
    dropped = twin.sessions("s1")["10.100.0.12"]["connectionsDropped"]
    twin.run("p1-l1", "config", "reload", "-y", "-f")
    refused = twin.process("p1-l1", "config", "reload", "-y")
    assert refused.returncode == 1
    assert "SwSS container is not ready" in refused.stdout
    wait(twin.converged, 60, "the sessions to come back")
    assert int(twin.row("s1", "APPL_DB", "PORT_TABLE:Ethernet16")["flap_count"]) == flaps + 2
    assert twin.sessions("s1")["10.100.0.12"]["connectionsDropped"] == dropped + 1
    assert twin.row("p1-l1", "APPL_DB", "PORT_TABLE:Ethernet32")["flap_count"] == "1"


def test_reload_refuses_what_sonic_refuses_and_touches_nothing(twin: LabTwin) -> None:
    uptime = twin.run("p1-l0", "vtysh", "-c", "show bgp summary json")
    for text, words in (
        ('{"PORT": {"Ethernet0": 1}}', "fail to validate"),
        ('{"MY_TABLE": {"a": {}}}', "missing yang models: ['MY_TABLE']"),
        ("{", "no JSON"),
    ):
        twin.run("p1-l0", "sh", "-c", "cat > /tmp/bad.json", text=text)
        done = twin.process("p1-l0", "config", "reload", "-y", "-f", "/tmp/bad.json")
        assert done.returncode == 1
        assert words in done.stdout + done.stderr
    assert json.loads(uptime)["ipv4Unicast"]["peers"].keys() == twin.sessions("p1-l0").keys()
    assert twin.converged()


def test_ssh_is_the_way_in_and_files_stay_private(twin: LabTwin) -> None:
    done = twin.ssh(
        "p1-l0", "hostname; sudo sonic-cfggen -d -v DEVICE_METADATA.localhost.hwsku; sudo config list-checkpoints"
    )
    assert done.stdout.split("\n")[:2] == ["p1-l0", "Accton-AS9817-64O"], done.stderr
    assert done.returncode == 0
    twin.ssh("p1-l0", "echo mine > /tmp/here")
    assert twin.ssh("p1-l1", "cat /tmp/here").returncode == 1
    assert twin.ssh("p1-l0", "touch /usr/here").returncode == 1
    wrong = twin.ssh("p1-l0", "true", options=["-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=yes"])
    assert wrong.returncode == 255


@pytest.mark.skipif(os.geteuid() != 0, reason="without root all accounts are uid 0 (docs/twin.md)")
def test_accounts_and_what_they_may(twin: LabTwin) -> None:
    assert twin.ssh("p1-l0", "id -un; sudo id -u").stdout.split() == ["admin", "0"]
    assert "Root privileges" in twin.ssh("p1-l0", "config save -y").stderr
    monitor = "monitor"
    assert twin.ssh("p1-l0", "sudo rvtysh -c 'show ip bgp summary json'", user=monitor).stdout.startswith("{")
    assert twin.ssh("p1-l0", "sonic-db-cli CONFIG_DB HGET 'PORT|Ethernet0' alias", user=monitor).stdout == "Eth1\n"
    for command in ("sudo config save -y", "sudo id", "vtysh -c 'show version'", "sudo rvtysh -c 'configure terminal'"):
        assert twin.ssh("p1-l0", f"{command} </dev/null", user=monitor).returncode != 0, command


def test_a_timer_outlives_the_session_and_can_be_stopped(twin: LabTwin) -> None:
    done = twin.ssh("p1-l0", "sudo systemd-run --unit=revert --on-active=2s touch /tmp/reverted")
    assert done.returncode == 0, done.stderr
    assert "revert.timer" in twin.ssh("p1-l0", "systemctl list-timers").stdout
    assert twin.process("p1-l0", "test", "-e", "/tmp/reverted").returncode == 1
    wait(lambda: twin.process("p1-l0", "test", "-e", "/tmp/reverted").returncode == 0, 10, "the timer to fire")
    twin.ssh("p1-l0", "sudo systemd-run --unit=never --on-active=2s touch /tmp/never; sudo systemctl stop never.timer")
    time.sleep(2.5)
    assert twin.process("p1-l0", "test", "-e", "/tmp/never").returncode == 1


def test_containers_have_files_of_their_own_but_for_frr(twin: LabTwin) -> None:
    script = (
        "echo '!' > /tmp/new.conf && docker cp /tmp/new.conf bgp:/tmp/new.conf "
        "&& docker exec -i bgp vtysh -C -f /tmp/new.conf"
        " && docker exec bgp cat /etc/frr/frr.conf | head -1 && rm /tmp/new.conf && docker exec bgp ls /tmp"
    )
    done = twin.ssh("p1-l0", f"sudo sh -c {json.dumps(script)}")
    assert done.stdout.split("\n")[-3:] == ["hostname p1-l0", "new.conf", ""], done.stderr
    assert twin.ssh("p1-l0", "sudo docker exec nowhere true").returncode == 1
    assert twin.ssh("p1-l0", "sudo docker exec lldp lldpctl -f json0").stdout.lstrip().startswith("{")


def test_save_and_load(twin: LabTwin) -> None:
    twin.run(
        "p1-l2",
        "sh",
        "-c",
        "cat > /tmp/more.json",
        text='{"NTP_SERVER": {"192.0.2.9": {}}, "PORT": {"Ethernet0": {"description": "x"}}}',
    )
    twin.run("p1-l2", "config", "load", "-y", "/tmp/more.json")
    twin.run("p1-l2", "config", "save", "-y", "/tmp/saved.json")
    saved = json.loads(twin.run("p1-l2", "cat", "/tmp/saved.json"))
    assert saved["NTP_SERVER"] == {"192.0.2.9": {}}
    assert saved["PORT"]["Ethernet0"]["description"] == "x"
    assert saved["PORT"]["Ethernet0"]["alias"] == "Eth1"
    assert "NTP_SERVER" not in json.loads(twin.run("p1-l2", "cat", "/etc/sonic/config_db.json"))
    twin.run("p1-l2", "sonic-db-cli", "CONFIG_DB", "DEL", "NTP_SERVER|192.0.2.9")
    twin.run("p1-l2", "sonic-db-cli", "CONFIG_DB", "HDEL", "PORT|Ethernet0", "description")


def asic_hops(twin: LabTwin, switch: str, prefix: str) -> set[tuple[str, str]]:
    """(address, port) of a route's next hops by the chain of objects in ASIC_DB."""
    rows = twin.rows(switch, "ASIC_DB", "ASIC_STATE:*")
    ports = {oid: name for name, oid in twin.row(switch, "COUNTERS_DB", "COUNTERS_PORT_NAME_MAP").items()}
    kind = "ASIC_STATE:SAI_OBJECT_TYPE_"
    target = next(
        row["SAI_ROUTE_ENTRY_ATTR_NEXT_HOP_ID"]
        for key, row in rows.items()
        if key.startswith(f"{kind}ROUTE_ENTRY:") and json.loads(key[len(kind) + 12 :])["dest"] == prefix
    )
    hops = [
        row["SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID"]
        for key, row in rows.items()
        if key.startswith(f"{kind}NEXT_HOP_GROUP_MEMBER:")
        and row["SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID"] == target
    ] or [target]
    found = set()
    for hop in hops:
        row = rows[f"{kind}NEXT_HOP:{hop}"]
        interface = rows[f"{kind}ROUTER_INTERFACE:{row['SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID']}"]
        found.add((row["SAI_NEXT_HOP_ATTR_IP"], ports[interface["SAI_ROUTER_INTERFACE_ATTR_PORT_ID"]]))
    return found


def has_address(twin: LabTwin, switch: str, port: str, address: str) -> dict[str, int] | None:
    """The interface, when it has the address."""
    link: dict[str, int] = json.loads(twin.run(switch, "ip", "-j", "addr", "show", port))[0]
    return link if any(one["local"] == address for one in link["addr_info"]) else None  # type: ignore[attr-defined]
