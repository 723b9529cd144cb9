"""Capacity of one network: bandwidth per pod and leaf, oversubscription per tier, what may be lost. Gb/s."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from fabric.design.census import Census, SwitchCensus, counts, rank
from fabric.values.plan import HostPlan, Network, Plan, Role


@dataclass(frozen=True, slots=True)
class TierCapacity:
    """Down against up of the worst switch of one tier. Ratios are down / up; None where there is nothing upwards.

    `after_one_upper` is with the fattest neighbour above lost, `after_one_link` with the fastest cable above lost.
    """

    tier: Role
    switches: int
    worst: str
    down_gbps: float
    up_gbps: float
    ratio: float | None
    after_one_upper: float | None
    after_one_link: float | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the JSON contract states per network, and the tiers behind it. Absent is None.

    `pod_gbps` is the largest pod's, `leaf_*` those of the leaf with the worst ratio. `survives_spines` counts spines
    of one leaf, `survives_uplinks_per_leaf` cables of one leaf, before down exceeds up. `remote_load_after_one_link`
    is the load of the cables left between a spine and a leaf when one of them is lost and the others keep sending
    (plain ECMP does not tell them; weighted ECMP does). `ecmp_up` is the next hops of a leaf towards other leaves,
    `ecmp_down` those of a spine towards a leaf. `after_one_plane` is the share of each NIC left without one plane.
    """

    switches: int
    cables: int
    nics: int
    pod_gbps: float | None
    leaf_down_gbps: float | None
    leaf_up_gbps: float | None
    oversubscription: float | None
    survives_spines: int | None
    survives_uplinks_per_leaf: int | None
    remote_load_after_one_link: float | None
    ecmp_up: int | None
    ecmp_down: int | None
    tiers: tuple[TierCapacity, ...] = ()
    planes: int = 1
    after_one_plane: float | None = None
    hosts: int = 0
    reserve_hosts: int = 0


def measure(plan: Plan, census: Census, network: Network) -> Capacity:
    """Capacity of one network of the Plan."""
    edge = census.of(network, Role.LEAF, Role.STORAGE)
    everything = census.of(network)
    worst = _worst(edge)
    pods: dict[int, int] = defaultdict(int)
    for entry in edge:
        if entry.switch.pod is not None:
            pods[entry.switch.pod] += entry.host_mbps
    planes = len({entry.switch.plane for entry in edge if entry.switch.plane is not None}) or 1
    uplinked = worst is not None and worst.up_mbps > 0
    return Capacity(
        switches=len(everything),
        cables=census.cables[network],
        nics=census.nics[network],
        pod_gbps=max(pods.values()) / 1000 if pods else None,
        leaf_down_gbps=worst.host_mbps / 1000 if worst else None,
        leaf_up_gbps=worst.up_mbps / 1000 if worst else None,
        oversubscription=_ratio(worst.down_mbps, worst.up_mbps) if worst else None,
        survives_spines=min(_spines_to_spare(entry) for entry in edge if entry.up_mbps) if uplinked else None,
        survives_uplinks_per_leaf=min(_links_to_spare(entry) for entry in edge if entry.up_mbps) if uplinked else None,
        remote_load_after_one_link=remote_load(plan, edge) if uplinked else None,
        ecmp_up=min(entry.uplinks for entry in edge if entry.up_mbps) if uplinked else None,
        ecmp_down=min(bundle.links for entry in edge for bundle in entry.above.values()) if uplinked else None,
        tiers=_tiers(everything),
        planes=planes,
        after_one_plane=(planes - 1) / planes if planes > 1 else None,
        hosts=sum(_stands(host, network) for host in plan.hosts.values() if counts(host)),
        reserve_hosts=sum(_stands(host, network) for host in plan.hosts.values() if not counts(host)),
    )


def _stands(host: HostPlan, network: Network) -> bool:
    return any(nic.network is network for nic in host.nics.values())


def remote_load(plan: Plan, edge: Iterable[SwitchCensus]) -> float | None:
    """Worst load, over all leaves, of what is left between one spine and one leaf after one cable of it is lost,
    when the leaf receives all it can. 1.0 is full.

    Other leaves spread by cable count and do not learn of the loss, so the spine still gets its share; where the
    lost cable was the only one the spine withdraws, and the leaf's other cables take it. With weighted ECMP the loss
    is told and the load is that of the leaf's remaining cables.
    """
    worst: float | None = None
    seen: dict[tuple[int, tuple[tuple[int, int, int], ...]], float] = {}
    for entry in edge:
        shape = tuple(sorted((bundle.links, bundle.mbps, bundle.fastest) for bundle in entry.above.values()))
        key = (entry.host_mbps, shape)
        if key not in seen:
            seen[key] = max((_after_loss(plan, entry.host_mbps, shape, at) for at in range(len(shape))), default=0.0)
        if shape:
            worst = seen[key] if worst is None else max(worst, seen[key])
    return worst


def _after_loss(plan: Plan, host_mbps: int, shape: tuple[tuple[int, int, int], ...], at: int) -> float:
    links, mbps, fastest = shape[at]
    total = sum(bundle[1] for bundle in shape)
    if links == 1 or plan.routing.weighted_ecmp:
        left = total - fastest
        return host_mbps / left if left else float("inf")
    share = host_mbps * links / sum(bundle[0] for bundle in shape)
    return share / (mbps - fastest)


def _tiers(entries: list[SwitchCensus]) -> tuple[TierCapacity, ...]:
    by_role: dict[Role, list[SwitchCensus]] = defaultdict(list)
    for entry in entries:
        by_role[entry.switch.role].append(entry)
    tiers = []
    for role in sorted(by_role, key=rank):
        members = by_role[role]
        worst = _worst(members)
        if worst is None:
            continue
        down, up = worst.down_mbps, worst.up_mbps
        fattest = max((bundle.mbps for bundle in worst.above.values()), default=0)
        tiers.append(
            TierCapacity(
                tier=role,
                switches=len(members),
                worst=worst.switch.name,
                down_gbps=down / 1000,
                up_gbps=up / 1000,
                ratio=_ratio(down, up),
                after_one_upper=_ratio(down, up - fattest),
                after_one_link=_ratio(down, up - worst.fastest_uplink),
            )
        )
    return tuple(tiers)


def _worst(entries: Iterable[SwitchCensus]) -> SwitchCensus | None:
    """The switch with the highest down / up; among switches without uplinks the one that carries most down."""
    return max(
        entries,
        key=lambda entry: (entry.down_mbps / entry.up_mbps if entry.up_mbps else 0.0, entry.down_mbps),
        default=None,
    )


def _spines_to_spare(entry: SwitchCensus) -> int:
    left, lost = entry.up_mbps, 0
    for mbps in sorted((bundle.mbps for bundle in entry.above.values()), reverse=True):
        left -= mbps
        if left < entry.host_mbps or left == 0:
            break
        lost += 1
    return lost


def _links_to_spare(entry: SwitchCensus) -> int:
    speeds = sorted(
        (bundle.mbps // bundle.links for bundle in entry.above.values() for _ in range(bundle.links)), reverse=True
    )
    left, lost = entry.up_mbps, 0
    for mbps in speeds:
        left -= mbps
        if left < entry.host_mbps or left == 0:
            break
        lost += 1
    return lost


def _ratio(down: int, up: int) -> float | None:
    return down / up if up > 0 else None
