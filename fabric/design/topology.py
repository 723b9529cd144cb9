"""Rules TOPO-* of the rule catalogue (facts: ai-fabric 7) on a Plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from fabric.design.capacity import Capacity
from fabric.design.census import Census, SwitchCensus, counts, rank
from fabric.design.tally import Tally
from fabric.values.finding import Severity
from fabric.values.plan import LifeState, Network, Plan, PlannedPort, PortUse, Role

# Fewer spines than this and one of them is too much of the fabric (facts: ai-fabric 2.2, TOPO-04).
MIN_SPINES = 4


def rails(plan: Plan, tally: Tally) -> None:
    """TOPO-01: NIC r of a node stands on the leaf of rail r of its pod and plane, and both ends say the same."""
    for host in plan.hosts.values():
        for nic in host.nics.values():
            switch = plan.switches.get(nic.switch)
            if switch is None:
                tally.fail("TOPO-01", node=host.name, nic=nic.name, observed=f"{nic.switch} is not in the Plan")
                continue
            port = switch.ports.get(nic.switch_port)
            if port is None or (port.peer_device, port.peer_port) != (host.name, nic.name):
                tally.fail(
                    "TOPO-01",
                    device=switch.name,
                    port=nic.switch_port,
                    node=host.name,
                    nic=nic.name,
                    expected=f"{switch.name} {nic.switch_port} is planned for {host.name} {nic.name}",
                    observed="no such port" if port is None else f"it is planned for {port.peer_device}",
                )
            elif nic.network is Network.COMPUTE and (
                (switch.rail is not None and switch.rail != nic.rail) or switch.pod not in (None, host.pod)
            ):
                tally.fail(
                    "TOPO-01",
                    device=switch.name,
                    port=port.name,
                    node=host.name,
                    nic=nic.name,
                    rail=nic.rail,
                    expected=f"a leaf of pod {host.pod}, rail {nic.rail}",
                    observed=f"{switch.name} is pod {switch.pod}, rail {switch.rail}",
                    remedy="correct the attachment in the intent",
                )
            else:
                tally.passed += 1


def rail_symmetry(plan: Plan, tally: Tally) -> None:
    """TOPO-01: each rail of a pod carries as many NICs as the others, per class of host."""
    load: dict[int, Counter[int]] = defaultdict(Counter)
    wanted: dict[int, set[int]] = defaultdict(set)
    for host in plan.hosts.values():
        for nic in host.nics.values():
            if nic.network is Network.COMPUTE and nic.rail is not None:
                load[host.pod][nic.rail] += nic.speed_mbps
                wanted[host.pod].add(nic.rail)
    for pod, rails_ in load.items():
        if len(set(rails_.values())) > 1:
            tally.warn(
                "TOPO-01",
                expected=f"pod {pod}: the same bandwidth on every rail",
                observed=", ".join(f"rail {rail}: {mbps // 1000}G" for rail, mbps in sorted(rails_.items())),
                rails=tuple(sorted(rails_)),
                remedy="collectives run at the slowest rail: give every class of host the same rails, or say why not",
            )
        else:
            tally.passed += 1


def pairs(plan: Plan, census: Census, tally: Tally) -> None:
    """TOPO-02: every leaf-spine pair has the same number of parallel cables of one speed; a higher tier is dealt
    out evenly (counts differ by one at most). Both ends of each cable name each other and run at one speed."""
    groups: dict[tuple[Network, Role, int | None, int | None], list[SwitchCensus]] = defaultdict(list)
    for entry in census.switches.values():
        if entry.above:
            switch = entry.switch
            groups[(switch.network, switch.role, switch.pod, switch.plane)].append(entry)
    for (_, role, pod, plane), entries in groups.items():
        sizes = Counter(bundle.links for entry in entries for bundle in entry.above.values())
        usual = sizes.most_common(1)[0][0]
        spread = 0 if role is Role.LEAF else 1
        where = f"{role.value} tier" + (f", pod {pod}" if pod is not None else "")
        where += f", plane {plane}" if plane is not None else ""
        for entry in entries:
            for peer, bundle in entry.above.items():
                if abs(bundle.links - usual) > spread or bundle.slowest != bundle.fastest:
                    tally.fail(
                        "TOPO-02",
                        device=entry.switch.name,
                        expected=f"{usual} parallel cables of one speed to {peer}, as the other pairs of the {where}",
                        observed=f"{bundle.links} cables, {bundle.slowest // 1000}G to {bundle.fastest // 1000}G",
                        remedy="ECMP spreads by cable, not by bandwidth: make the pairs equal",
                    )
                else:
                    tally.passed += 1
    _far_ends(plan, tally)


def _far_ends(plan: Plan, tally: Tally) -> None:
    switches = plan.switches
    for name, switch in switches.items():
        for port in switch.ports.values():
            if port.use is not PortUse.FABRIC or port.peer_device is None:
                continue
            peer = switches.get(port.peer_device)
            far = peer.ports.get(port.peer_port or "") if peer is not None else None
            if far is None or far.peer_device != name or far.peer_port != port.name:
                tally.fail(
                    "TOPO-02",
                    device=name,
                    port=port.name,
                    cable=port.cable,
                    expected=f"{port.peer_device} {port.peer_port} at the far end",
                    observed="that end is planned for something else" if far else "no such port",
                )
            elif far.speed_mbps != port.speed_mbps:
                tally.fail(
                    "TOPO-02",
                    device=name,
                    port=port.name,
                    cable=port.cable,
                    expected=f"{port.speed_mbps} Mb/s at both ends",
                    observed=f"{far.speed_mbps} Mb/s at {port.peer_device} {port.peer_port}",
                    remedy="give both ends a breakout mode of the same speed",
                )
            else:
                tally.passed += 1


def oversubscription(network: Network, capacity: Capacity, tally: Tally) -> None:
    """TOPO-03: no tier sends down more than it has up; a leaf stays so after one spine is lost."""
    for tier in capacity.tiers:
        if tier.ratio is None:
            continue
        what = f"{network.value} {tier.tier.value} {tier.worst}"
        load = f"{tier.down_gbps:g}G down over {tier.up_gbps:g}G up = {tier.ratio:.3f}:1"
        edge = rank(tier.tier) == 0
        if tier.ratio > 1:
            say = tally.fail if edge else tally.warn
            say(
                "TOPO-03",
                device=tier.worst,
                expected="down : up at most 1.0 with everything up",
                observed=load,
                remedy="add spines or parallel cables, or take hosts off"
                if edge
                else "fine where pods rarely talk to each other; else add cables to the upper tier",
            )
            continue
        tally.passed += 1
        if edge and (tier.after_one_upper is None or tier.after_one_upper > 1):
            after = f"{tier.after_one_upper:.3f}:1" if tier.after_one_upper is not None else "no uplink left"
            tally.warn(
                "TOPO-03",
                device=tier.worst,
                expected="down : up at most 1.0 after one spine is lost",
                observed=f"{after} ({what}: {load} with everything up)",
                remedy="one spine for maintenance means congestion: plan one spine more, or drain jobs first",
            )
        elif edge:
            tally.passed += 1


def spines(census: Census, tally: Tally) -> None:
    """TOPO-04: each leaf has at least four spines, and no switch of the GPU network is cabled to one of its tier."""
    few: dict[int, list[str]] = defaultdict(list)
    for entry in census.of(Network.COMPUTE, Role.LEAF):
        if not entry.above:
            continue
        if len(entry.above) < MIN_SPINES:
            few[len(entry.above)].append(entry.switch.name)
        else:
            tally.passed += 1
    for number, leaves in sorted(few.items()):
        tally.warn(
            "TOPO-04",
            expected=f"at least {MIN_SPINES} spines above each leaf",
            observed=f"{number} above {_some(leaves)}",
            remedy=f"one lost spine costs 1/{number} of the fabric: use at least {MIN_SPINES}, with fewer cables each",
        )
    for entry in census.of(Network.COMPUTE):
        for peer in entry.level:
            if entry.switch.name < peer:
                tally.fail(
                    "TOPO-04",
                    device=entry.switch.name,
                    expected="no cable between two switches of one tier",
                    observed=f"{entry.switch.name} is cabled to {peer}",
                    remedy="MLAG and stack peer links have no place on a GPU network: take the cable out",
                )


def isolation(plan: Plan, census: Census, tally: Tally) -> None:
    """TOPO-05: rails of a rail-only fabric and planes of a multi-plane one never meet. TOPO-07: storage and compute
    share no switch."""
    for entry in census.switches.values():
        mine = entry.switch
        for peer in (*entry.above, *entry.level):
            other = plan.switches.get(peer)
            if other is None:
                continue
            if mine.network is not other.network:
                tally.fail(
                    "TOPO-07",
                    device=mine.name,
                    expected="storage and GPU networks share no switch and no cable",
                    observed=f"{mine.name} ({mine.network.value}) is cabled to {peer} ({other.network.value})",
                )
            elif None not in (mine.plane, other.plane) and mine.plane != other.plane:
                tally.fail(
                    "TOPO-05",
                    device=mine.name,
                    expected=f"plane {mine.plane} stays in plane {mine.plane}",
                    observed=f"{mine.name} is cabled to {peer} of plane {other.plane}",
                )
            elif None not in (mine.rail, other.rail) and mine.rail != other.rail:
                tally.fail(
                    "TOPO-05",
                    device=mine.name,
                    rail=mine.rail,
                    expected=f"rail {mine.rail} is an island (rail-only)",
                    observed=f"{mine.name} is cabled to {peer} of rail {other.rail}",
                )
            else:
                tally.passed += 1
    for host in plan.hosts.values():
        for nic in host.nics.values():
            switch = plan.switches.get(nic.switch)
            if switch is not None and switch.network is not nic.network:
                tally.fail(
                    "TOPO-07",
                    node=host.name,
                    nic=nic.name,
                    device=switch.name,
                    expected=f"a switch of the {nic.network.value} network",
                    observed=f"{switch.name} belongs to the {switch.network.value} network",
                )


def storage_hosts(plan: Plan, tally: Tally) -> None:
    """TOPO-07: a host with storage NICs stands on at least two storage switches."""
    single: list[str] = []
    for host in plan.hosts.values():
        used = [nic.switch for nic in host.nics.values() if nic.network is Network.STORAGE]
        if not used or not counts(host):
            continue
        if len(set(used)) < 2:
            single.append(host.name)
        else:
            tally.passed += 1
    if single:
        tally.fail(
            "TOPO-07",
            nodes=tuple(single),
            expected="each host on two storage switches",
            observed=f"one storage switch carries all of {_some(single)}",
            remedy="one switch down would take their storage away: use two switches",
        )


def ports(plan: Plan, tally: Tally) -> None:
    """TOPO-06: lanes and cages used once, breakout mode exists and gives the speed, reserve places have their ports."""
    from fabric.errors import PlatformError
    from fabric.platforms import load

    derived: dict[tuple[str, str, str, int], dict[str, tuple[tuple[int, ...], str]] | str] = {}
    for switch in plan.switches.values():
        try:
            box = load(switch.platform)
        except PlatformError as error:
            tally.fail("TOPO-06", device=switch.name, observed=str(error))
            continue
        by_cage: dict[str, list[PlannedPort]] = defaultdict(list)
        for port in switch.ports.values():
            by_cage[port.parent].append(port)
        wrong = False
        lanes: dict[int, str] = {}
        for parent, members in by_cage.items():
            mode = switch.breakouts.get(parent, "")
            for port in members:
                key = (switch.platform, parent, mode, port.speed_mbps)
                if key not in derived:
                    try:
                        made = box.children(parent, mode or None, port.speed_mbps)
                        derived[key] = {child.name: (child.lanes, child.alias) for child in made}
                    except PlatformError as error:
                        derived[key] = str(error)
                known = derived[key]
                if isinstance(known, str):
                    wrong = True
                    tally.fail("TOPO-06", device=switch.name, port=port.name, observed=known)
                elif known.get(port.name, ((), ""))[0] != port.lanes:
                    wrong = True
                    tally.fail(
                        "TOPO-06",
                        device=switch.name,
                        port=port.name,
                        expected=f"lanes of {switch.hwsku} in mode {mode or 'of the HwSKU'}",
                        observed=f"lanes {','.join(map(str, port.lanes))}",
                    )
                for lane in port.lanes:
                    if lane in lanes:
                        wrong = True
                        tally.fail(
                            "TOPO-06",
                            device=switch.name,
                            port=port.name,
                            expected="each lane in one port",
                            observed=f"lane {lane} is in {lanes[lane]} too",
                        )
                    lanes[lane] = port.name
        tally.passed += not wrong
    _reserve(plan, tally)


def _reserve(plan: Plan, tally: Tally) -> None:
    for host in plan.hosts.values():
        if not host.reserve:
            continue
        for nic in host.nics.values():
            port = plan.port(nic.switch, nic.switch_port)
            if port is None or port.peer_device != host.name:
                tally.fail(
                    "TOPO-06",
                    node=host.name,
                    nic=nic.name,
                    device=nic.switch,
                    port=nic.switch_port,
                    expected="a pre-provisioned port for every NIC of a reserve host",
                    observed="none",
                )
            elif host.state is LifeState.PLANNED and port.admin_up:
                tally.fail(
                    "TOPO-06",
                    node=host.name,
                    nic=nic.name,
                    device=nic.switch,
                    port=port.name,
                    expected="admin down until the reserve host is in service",
                    observed="admin up",
                )
            else:
                tally.passed += 1


def ecmp_width(plan: Plan, census: Census, tally: Tally) -> None:
    """TOPO-08: next hops of each switch fit the platform's ECMP group. BGP-02: and the maximum-paths of routing."""
    from fabric.errors import PlatformError
    from fabric.platforms import load

    unknown: dict[tuple[str, int], list[str]] = defaultdict(list)
    for entry in census.switches.values():
        width = max(entry.uplinks, max((bundle.links for bundle in entry.below.values()), default=0))
        if width == 0:
            continue
        if width > plan.routing.maximum_paths:
            tally.fail(
                "BGP-02",
                device=entry.switch.name,
                expected=f"maximum-paths of at least {width}",
                observed=f"{plan.routing.maximum_paths}",
                remedy="raise routing.maximum_paths, or cables above it stay idle",
            )
        else:
            tally.passed += 1
        try:
            limit = load(entry.switch.platform).ecmp_limit
        except PlatformError:
            continue  # TOPO-06 says so already
        if limit is None:
            unknown[(entry.switch.platform, width)].append(entry.switch.name)
        elif width > limit:
            tally.fail(
                "TOPO-08",
                device=entry.switch.name,
                expected=f"at most {limit} members of an ECMP group ({entry.switch.platform}, SAI profile)",
                observed=f"{width} next hops",
                remedy="use fewer, faster uplinks, or a HwSKU with a wider group",
            )
        else:
            tally.passed += 1
    for platform in sorted({platform for platform, _ in unknown}):
        width = max(width for name, width in unknown if name == platform)
        tally.warn(
            "TOPO-08",
            severity=Severity.INFO,
            expected=f"{width} members of an ECMP group on {platform}",
            observed="the vendor's SAI profile states no limit: not known whether it fits",
            remedy="on the switch: crm show resources nexthop group-member",
        )


def hash_seeds(census: Census, tally: Tally) -> None:
    """ECMP-03: SONiC takes the hash seed from DEVICE_METADATA type (ToRRouter 0, LeafRouter 10, SpineRouter 25:
    sonic-buildimage dockers/docker-orchagent/switch.json.j2), so two tiers of one type polarise."""
    seen: set[tuple[Role, Role]] = set()
    for entry in census.switches.values():
        for peer in entry.above:
            other = census.switches[peer].switch
            tiers = (entry.switch.role, other.role)
            if tiers in seen:
                continue
            seen.add(tiers)
            mine, theirs = hash_seed(entry.switch.device_type), hash_seed(other.device_type)
            if mine == theirs:
                tally.warn(
                    "ECMP-03",
                    device=entry.switch.name,
                    expected=f"{tiers[0].value} and {tiers[1].value} with different hash seeds",
                    observed=f"both have seed {mine} (types {entry.switch.device_type}, {other.device_type})",
                    remedy="give the tiers different device types, or parallel cables of a pair stay idle",
                )
            else:
                tally.passed += 1


# First match wins, as in SONiC's template: every name with SpineRouter in it gets 25.
_SEEDS = (
    ("ToRRouter", 0),
    ("LeafRouter", 10),
    ("SpineRouter", 25),
    ("LowerRegionalHub", 60),
    ("FabricRegionalHub", 70),
    ("UpperRegionalHub", 80),
)


def hash_seed(device_type: str) -> int:
    """ECMP hash seed SONiC derives from DEVICE_METADATA type."""
    return next((seed for word, seed in _SEEDS if word in device_type), 0)


def outages(plan: Plan, today: str, tally: Tally) -> None:
    """LIFE-01: nothing is out of service beyond the date somebody promised (ISO dates)."""
    for device, port, until, who, reason in _outages(plan):
        if until is not None and until < today:
            tally.warn(
                "LIFE-01",
                device=device if device in plan.switches else None,
                port=port,
                node=device if device in plan.hosts else None,
                nodes=(device,) if device in plan.hosts else (),
                expected=f"back in service by {until}",
                observed=f"still out of service on {today}: {reason} ({who})",
                remedy="put it back, or give a new date in the intent",
            )
        else:
            tally.passed += 1


def _outages(plan: Plan) -> Iterator[tuple[str, str | None, str | None, str, str]]:
    """Each outage once: a port that is down because its switch, its far end or its cable is, says nothing new."""
    devices = {name: switch.outage for name, switch in plan.switches.items() if switch.outage is not None}
    devices.update((name, host.outage) for name, host in plan.hosts.items() if host.outage is not None)
    for name, outage in devices.items():
        yield name, None, outage.until, outage.owner, outage.reason
    seen: set[str] = set()
    for switch in plan.switches.values():
        for port in switch.ports.values():
            found = port.outage
            if found is None or found in (devices.get(switch.name), devices.get(port.peer_device or "")):
                continue
            if port.cable is not None:
                if port.cable in seen:
                    continue
                seen.add(port.cable)
            yield switch.name, port.name, found.until, found.owner, found.reason


def _some(names: list[str], most: int = 4) -> str:
    listed = ", ".join(names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"
