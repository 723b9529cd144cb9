"""FRR started from a rendered file holds exactly what the Plan says, and the fabric it makes behaves."""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest

from fabric.render import render_switch
from fabric.values.plan import Plan, Role, RoutingPlan
from tests.render import frr_room
from tests.render.plans import plan

pytestmark = pytest.mark.twin

# What FRR 8.4 adds to `show running-config` by itself or by the room, and what the machine's hostname makes differ.
_OF_THE_ROOM = {"no ip forwarding", "no ipv6 forwarding", "no zebra nexthop kernel enable", "end"}


def _lines(text: str) -> list[str]:
    """Lines that say something, each with the block it stands in, sorted: order inside FRR's answer is its own."""
    block, found = "", []
    for line in text.splitlines():
        bare = line.rstrip()
        if not bare or bare.lstrip().startswith("!") or bare in _OF_THE_ROOM or bare.strip().startswith("exit"):
            continue
        if bare.startswith(("Building", "Current", "frr version", "hostname")):
            continue
        if not bare.startswith(" "):
            block = bare
        elif bare.startswith(" address-family"):
            block = f"{block.partition(' /')[0]} /{bare}"
        found.append(f"{block} >{bare}")
    return sorted(found)


def _script(of: Plan, name: str) -> str:
    own = " ".join(of.switches[name].loopbacks)
    return f"node {name} {own}; echo '== load'; start {name}; echo '== run'; ask {name} -c 'show running-config'"


VARIANTS = {
    "leaf": ("p1-l0", plan()),
    "spine-both-families": ("s0", plan(routing=RoutingPlan(ipv6=True, weighted_ecmp=True, prefix_limit=500))),
    "leaf-ipv6": ("p1-l1", plan(routing=RoutingPlan(ipv4=False, ipv6=True))),
    "leaf-unnumbered": ("p1-l0", plan(routing=RoutingPlan(unnumbered=True, ipv6=True))),
    "storage": ("st0", plan()),
    "leaf-202405": ("p1-l0", plan(release="202405")),
}


@pytest.mark.parametrize(("name", "of"), VARIANTS.values(), ids=VARIANTS)
def test_running_config_is_the_rendered_text(name: str, of: Plan, tmp_path: Path) -> None:
    text = render_switch(of, name).frr
    assert text is not None
    answer = frr_room.play(tmp_path, {name: text}, _script(of, name))
    assert answer["load"] == "", "FRR has something to say about our text"
    assert _lines(answer["run"]) == _lines(text)


def _fabric(of: Plan) -> str:
    routers = [switch for switch in of.switches.values() if _routes(switch.role)]
    parts = [f"node {switch.name} {' '.join(switch.loopbacks)}" for switch in routers]
    leaves = [switch for switch in of.switches.values() if switch.role is Role.LEAF]
    for leaf in leaves:
        for port in leaf.sessions():
            parts.append(
                f"cable {leaf.name} {port.name} '{port.addresses[0]}' "
                f"{port.peer_device} {port.peer_port} '{port.peer_addresses[0]}'"
            )
    parts += [f"start {switch.name}" for switch in routers]
    return "\n".join(parts)


def _routes(role: Role) -> bool:
    return role is not Role.STORAGE


def test_fabric_converges_and_stock_tsa_drains_a_leaf(tmp_path: Path) -> None:
    """Full ECMP width; then TSA's three entries as SONiC adds them: the spine keeps the leaf's loopback and no more."""
    of = plan()
    texts = {name: render_switch(of, name).frr or "" for name, switch in of.switches.items() if _routes(switch.role)}
    wait = """
wait_for() {  # node, prefix, wanted number of next hops
  for i in $(seq 150); do
    c=$(ask $1 -c "show ip route $2 json" | grep -c '"fib":true'); [ "$c" = "$3" ] && return; sleep 0.1
  done
}
"""
    tsa = """
ask p1-l0 -c 'conf t' -c 'route-map TO_SPINE_V4 permit 20' -c 'match ip address prefix-list PL_LoopbackV4' \
  -c 'set community 12345:12345' -c 'route-map TO_SPINE_V4 permit 30' -c 'match tag 1001' \
  -c 'set community 12345:12345' -c 'route-map TO_SPINE_V4 deny 40'
wait_for s0 10.101.0.0/25 0
"""
    tsb = """
for e in 'permit 20' 'permit 30' 'deny 40'; do ask p1-l0 -c 'conf t' -c "no route-map TO_SPINE_V4 $e"; done
wait_for s0 10.101.0.0/25 2
"""
    script = "\n".join(
        (
            _fabric(of),
            wait,
            "wait_for p1-l1 10.101.0.0/25 2; wait_for p1-l0 10.101.1.0/25 2; wait_for s0 10.101.0.0/25 2",
            "echo '== leaf'; ask p1-l1 -c 'show ip route json'",
            "echo '== spine'; ask s0 -c 'show ip route json'",
            "echo '== neighbours'; ask s0 -c 'show bgp summary json'",
            tsa,
            "echo '== drained'; ask s0 -c 'show ip route json'",
            tsb,
            "echo '== back'; ask s0 -c 'show ip route json'",
        )
    )
    answer = frr_room.play(tmp_path, texts, script, timeout=90)
    leaf, spine = json.loads(answer["leaf"]), json.loads(answer["spine"])
    assert _bgp(leaf) == {"10.101.0.0/25": 2, "10.255.0.1/32": 2, "10.255.0.17/32": 2}
    assert _bgp(spine) == {"10.101.0.0/25": 2, "10.101.1.0/25": 2, "10.255.0.17/32": 2, "10.255.0.18/32": 2}
    peers = json.loads(answer["neighbours"])["ipv4Unicast"]["peers"]
    assert {peer: data["remoteAs"] for peer, data in peers.items()} == {
        port.peer_addresses[0].partition("/")[0]: port.peer_asn for port in of.switches["s0"].sessions()
    }
    assert all(data["state"] == "Established" for data in peers.values())
    assert set(_bgp(json.loads(answer["drained"]))) == set(_bgp(spine)) - {"10.101.0.0/25"}
    assert _bgp(json.loads(answer["back"])) == _bgp(spine)


def _bgp(routes: dict[str, Any]) -> dict[str, int]:
    """Prefix -> forwarding next hops of the BGP routes in `show ip route json`."""
    return {
        prefix: sum(
            hop.get("fib", False) for entry in entries for hop in entry["nexthops"] if entry["protocol"] == "bgp"
        )
        for prefix, entries in routes.items()
        if any(entry["protocol"] == "bgp" and entry.get("selected") for entry in entries)
    }


def test_no_route_reaches_management(tmp_path: Path) -> None:
    """Whatever a peer sends, neither a default route nor the management network is learned."""
    of = plan()
    name = "p1-l0"
    texts = {name: render_switch(of, name).frr or "", "s0": "frr defaults traditional\n"}
    rogue = " ".join(
        f"-c '{line}'"
        for line in (
            "conf t", "ip route 0.0.0.0/0 blackhole", "ip route 172.31.7.0/24 blackhole",
            "ip route 10.200.0.0/16 blackhole",
            "router bgp 4200000000", "no bgp ebgp-requires-policy", "neighbor 10.254.0.0 remote-as 4200000110",
            "address-family ipv4 unicast", "redistribute static",
        )
    )  # fmt: skip
    port = next(of.switches[name].sessions())
    script = f"""
node {name} 10.255.0.17/32; node s0 10.255.0.1/32
cable {name} {port.name} '{port.addresses[0]}' s0 Ethernet0 '{port.peer_addresses[0]}'
start {name}; start s0
ask s0 {rogue}
for i in $(seq 150); do ask {name} -c 'show ip route json' | grep -q 10.200.0.0/16 && break; sleep 0.1; done
echo '== routes'; ask {name} -c 'show ip route json'
"""
    routes = json.loads(frr_room.play(tmp_path, texts, script)["routes"])
    learned = set(_bgp(routes))
    assert learned == {"10.200.0.0/16"}
    assert not any(ipaddress.ip_network("172.31.0.0/16").overlaps(ipaddress.ip_network(prefix)) for prefix in learned)
