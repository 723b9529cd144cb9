"""Rules ADDR-* of the rule catalogue (facts: ai-fabric 7) on a Plan."""

from __future__ import annotations

import ipaddress
from collections import defaultdict

from fabric.design.census import Census, rank
from fabric.design.tally import Tally
from fabric.values.plan import Network, Plan, PlannedPort, PortUse, Role, SwitchPlan

# Switch MTUs in use (SONiC's default and what vendor guides give) and the least a host needs for RDMA MTU 4096.
SWITCH_MTUS = (9100, 9214, 9216)
MIN_HOST_MTU = 4192


def pairing(plan: Plan, tally: Tally) -> None:
    """ADDR-01: the two ends of a cable share a /31 (or /127), even on the lower end; no address is used twice; a
    leaf's aggregate holds its hosts' addresses."""
    used: dict[str, str] = {}
    tiers = {name: rank(switch.role) for name, switch in plan.switches.items()}
    for name, switch in plan.switches.items():
        aggregates = [ipaddress.ip_network(prefix) for prefix in switch.aggregates]
        ranges = [(int(net.network_address), int(net.broadcast_address)) for net in aggregates if net.version == 4]
        for loopback in switch.loopbacks:
            _claim(loopback, name, used, tally)
        for port in switch.ports.values():
            if not port.addresses:
                continue
            for address in port.addresses:
                _claim(address, f"{name} {port.name}", used, tally)
            lower = port.use is PortUse.HOST or tiers[name] < tiers.get(port.peer_device or "", 0)
            if not lower:
                continue
            for mine, theirs in zip(port.addresses, port.peer_addresses, strict=False):
                if not _paired(mine, theirs):
                    tally.fail(
                        "ADDR-01",
                        device=name,
                        port=port.name,
                        cable=port.cable,
                        expected="the even address of a /31 here, the odd one at the far end",
                        observed=f"{mine} and {theirs}",
                    )
                elif port.use is PortUse.HOST and ranges and not _inside(theirs, ranges):
                    tally.fail(
                        "ADDR-01",
                        device=name,
                        port=port.name,
                        expected=f"an address inside {', '.join(switch.aggregates)}, which the leaf announces",
                        observed=theirs,
                    )
                else:
                    tally.passed += 1
    _far_ends(plan, tally)


def _claim(address: str, owner: str, used: dict[str, str], tally: Tally) -> None:
    bare = address.partition("/")[0]
    other = used.setdefault(bare, owner)
    if other is not owner:
        tally.fail(
            "ADDR-01", device=owner.split()[0], expected="each address once", observed=f"{bare}: {other}, {owner}"
        )


def _far_ends(plan: Plan, tally: Tally) -> None:
    for name, switch in plan.switches.items():
        for port in switch.ports.values():
            if not port.addresses or port.peer_device is None:
                continue
            far: tuple[str, ...] | None
            peer = plan.switches.get(port.peer_device)
            if peer is not None:
                end = peer.ports.get(port.peer_port or "")
                far = end.addresses if end else None
            else:
                host = plan.hosts.get(port.peer_device)
                nic = host.nics.get(port.peer_port or "") if host else None
                far = nic.addresses if nic else None
            if far != port.peer_addresses:
                tally.fail(
                    "ADDR-01",
                    device=name,
                    port=port.name,
                    expected=f"{', '.join(port.peer_addresses)} at {port.peer_device} {port.peer_port}",
                    observed=", ".join(far) if far else "no address",
                )


def _paired(mine: str, theirs: str) -> bool:
    """Whether two addresses are the even and the odd one of a /31 or /127. IPv4 by its last byte: fast and exact."""
    ours, _, length = mine.partition("/")
    other, _, far_length = theirs.partition("/")
    if length != far_length:
        return False
    if ":" in ours:
        low, high = int(ipaddress.ip_address(ours)), int(ipaddress.ip_address(other))
        return length == "127" and low % 2 == 0 and high == low + 1
    if length != "31":
        return False
    head, _, last = ours.rpartition(".")
    far_head, _, far_last = other.rpartition(".")
    return head == far_head and int(last) % 2 == 0 and int(far_last) == int(last) + 1


def _inside(address: str, ranges: list[tuple[int, int]]) -> bool:
    bare = address.partition("/")[0]
    if ":" in bare:
        return True
    a, b, c, d = bare.split(".")
    number = (int(a) << 24) | (int(b) << 16) | (int(c) << 8) | int(d)
    return any(low <= number <= high for low, high in ranges)


def numbers(plan: Plan, census: Census, tally: Tally) -> None:
    """ADDR-02: AS numbers that let every leaf prefix reach every leaf and let no valley route live.

    A leaf's number is its own. Spines of one pod and plane (of a whole two-tier fabric and plane) share one, spines
    of different pods do not; super-spines share one a plane.
    """
    owner: dict[int, SwitchPlan] = {}
    shared: dict[tuple[Network, Role, int | None, int | None, int | None], dict[int, str]] = defaultdict(dict)
    for switch in plan.switches.values():
        if rank(switch.role) == 0:
            other = owner.setdefault(switch.asn, switch)
            if other is not switch:
                tally.fail(
                    "ADDR-02",
                    device=switch.name,
                    expected="an AS number of its own for every leaf",
                    observed=f"{switch.asn} is {other.name}'s too: each drops the other's routes",
                )
            else:
                tally.passed += 1
        else:
            group = (switch.network, switch.role, switch.pod, switch.plane, switch.rail)
            shared[group].setdefault(switch.asn, switch.name)
    tops: dict[int, tuple[Network, Role, int | None, int | None, int | None]] = {}
    for group, asns in shared.items():
        if len(asns) > 1:
            tally.fail(
                "ADDR-02",
                expected=f"one AS number for the {group[1].value}s of a {'pod' if group[2] else 'fabric'} and plane",
                observed=", ".join(f"{asn} ({name})" for asn, name in sorted(asns.items())),
                remedy="with several, leaf-spine-leaf-spine valleys become valid paths",
            )
        else:
            tally.passed += 1
        for asn, name in asns.items():
            if asn in owner:
                tally.fail(
                    "ADDR-02", device=name, expected="no AS number of a leaf", observed=f"{asn}: {owner[asn].name}"
                )
            other_group = tops.setdefault(asn, group)
            if other_group != group and (other_group[1] is not group[1] or other_group[2] != group[2]):
                tally.fail(
                    "ADDR-02",
                    device=name,
                    expected="different AS numbers in different pods and tiers",
                    observed=f"{asn} is used by {other_group[1].value}s of pod {other_group[2]} too",
                    remedy="routes between them would be dropped as loops",
                )
    _loopbacks(census, tally)


def _loopbacks(census: Census, tally: Tally) -> None:
    for entry in census.switches.values():
        if entry.switch.loopbacks:
            tally.passed += 1
        else:
            tally.fail("ADDR-02", device=entry.switch.name, expected="a loopback (router id)", observed="none")


def mtu(plan: Plan, tally: Tally) -> None:
    """ADDR-03: one MTU on both ends of a cable; switches 9100, 9214 or 9216; hosts at least 4192 and never larger
    than their switch."""
    odd: dict[int, str] = {}
    for name, switch in plan.switches.items():
        for port in switch.ports.values():
            if port.peer_device is None or port.use not in (PortUse.HOST, PortUse.FABRIC):
                continue
            if port.mtu not in SWITCH_MTUS:
                odd.setdefault(port.mtu, f"{name} {port.name}")
            _ends(plan, name, port, tally)
    for size, where in odd.items():
        tally.warn(
            "ADDR-03",
            expected=f"a switch MTU of {', '.join(map(str, SWITCH_MTUS))}",
            observed=f"{size} from {where} on",
            remedy="jumbo frames everywhere, or RDMA falls back to small messages",
        )


def _ends(plan: Plan, name: str, port: PlannedPort, tally: Tally) -> None:
    if port.use is PortUse.FABRIC:
        far = plan.port(port.peer_device or "", port.peer_port or "")
        if far is not None and far.mtu != port.mtu:
            tally.fail(
                "ADDR-03",
                device=name,
                port=port.name,
                cable=port.cable,
                expected=f"MTU {port.mtu} at both ends",
                observed=f"{far.mtu} at {port.peer_device} {port.peer_port}",
            )
            return
    else:
        host = plan.hosts.get(port.peer_device or "")
        nic = host.nics.get(port.peer_port or "") if host else None
        if nic is not None and not MIN_HOST_MTU <= nic.mtu <= port.mtu:
            tally.fail(
                "ADDR-03",
                device=name,
                port=port.name,
                node=port.peer_device,
                nic=port.peer_port,
                expected=f"a NIC MTU from {MIN_HOST_MTU} to {port.mtu}",
                observed=str(nic.mtu),
            )
            return
    tally.passed += 1
