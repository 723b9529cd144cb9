"""What lost uplinks do to the rest: the same traffic on fewer parallel links (BGP-05).

Plain BGP does not tell the loss of one of several parallel links: other leaves keep sending the same share to that
spine, which has fewer links left towards the leaf (facts ai-fabric 5.4). Below a full host load nothing is lost.
Weighted ECMP tells them, but being configured is not being in force: then the share is what their tables hold, down to
the ASIC.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import Role
from fabric.values.snapshot import NextHop, SwitchState

# Weights are whole percents: a share may be this much above the exact one.
_ROUNDING = 1.1


def overload(view: View, lost: set[str], judged: Judged) -> None:
    """Claims for leaves whose hosts at full rate no longer fit; `lost` names cables that carry no routes now."""
    leaves: set[str] = set()
    for name in lost:
        cable = view.plan.cables[name]
        leaves.update(device for device in (cable.a_device, cable.b_device) if _is_leaf(view, device))
    for leaf in sorted(leaves):
        _leaf(view, leaf, lost, judged)


def _is_leaf(view: View, device: str) -> bool:
    switch = view.plan.switches.get(device)
    return switch is not None and switch.role is Role.LEAF


def _leaf(view: View, leaf: str, gone: set[str], judged: Judged) -> None:
    host_mbps = 0
    alive: dict[str, int] = defaultdict(int)
    planned: dict[str, int] = defaultdict(int)
    lost: list[Link] = []
    for name in view.plan.switches[leaf].ports:
        link = view.of_end.get((leaf, name))
        if link is None or link.life is not Life.SERVICE:
            continue
        if link.host:
            host_mbps += link.cable.speed_mbps
            continue
        spine = link.b[0] if link.a[0] == leaf else link.a[0]
        planned[spine] += link.cable.speed_mbps
        if link.name in gone:
            lost.append(link)
        else:
            alive[spine] += link.cable.speed_mbps
    up_mbps = sum(alive.values())
    if not lost or not host_mbps:
        return
    weighted = view.plan.routing.weighted_ecmp
    reachable = sum(planned[spine] for spine in alive)
    shares = {spine: planned[spine] / reachable for spine in alive}
    if weighted:
        shares = _shares(view, leaf)
    worst, load = "", 0.0
    for spine, mbps in alive.items():
        carried = host_mbps * shares.get(spine, 0.0) / mbps
        if carried > load and mbps < planned[spine]:
            worst, load = spine, carried
    sending = host_mbps / up_mbps if up_mbps else float("inf")
    if weighted and load <= sending * _ROUNDING:
        load = sending
    heaviest = max(load, sending)
    if heaviest <= view.limits.overload_warn:
        return
    fails = heaviest > view.limits.overload_fail or sending > view.limits.overload_warn
    repair = f"repair {lost[0].name}" + (f" and {len(lost) - 1} more uplinks" if len(lost) > 1 else "")
    remedy = f"{repair}; until then keep jobs off {leaf} or run fewer of its nodes: no other setting makes room"
    if up_mbps == 0:
        observed = f"{leaf} has no uplink left: its hosts reach nobody outside the leaf"
    elif sending >= load:
        observed = f"hosts of {leaf} can send {host_mbps / 1000:g}G into {up_mbps / 1000:g}G of uplinks ({sending:.0%})"
    else:
        why = (
            "because other leaves do not weigh it by the links it has left (ECMP-06)"
            if weighted
            else "because BGP does not tell the other leaves"
        )
        observed = (
            f"traffic to {leaf} through {worst} loads the {alive[worst] / 1000:g}G that is left with {load:.0%}, {why}"
        )
        remedy = (
            f"{repair}; until then shut the other sessions of {leaf} to {worst} (`railfab hold {leaf}` keeps it), or "
        )
        remedy += (
            "put the weights right that ECMP-06 names" if weighted else "switch routing.weighted_ecmp on in the intent"
        )
    finding = Finding(
        code="BGP-05",
        status=Status.FAIL if fails else Status.WARN,
        severity=Severity.BLOCK if fails else Severity.WARN,
        confidence=Confidence.CERTAIN,
        device=leaf,
        rail=view.plan.switches[leaf].rail,
        cable=lost[0].name,
        expected=f"hosts of {leaf} at full rate fit into what is left of its uplinks",
        observed=observed,
        evidence=f"{len(lost)} uplink(s) of {leaf} down; {host_mbps / 1000:g}G of hosts in service",
        remedy=remedy,
    )
    judged.claims.append(
        Claim(Cause.OVERLOAD, finding, cables=frozenset(link.name for link in lost), devices=frozenset({leaf}))
    )


def _shares(view: View, leaf: str) -> dict[str, float]:
    """Spine -> share of the traffic to a leaf that other leaves send it, by the lowest table each of them gave.

    The mean over the leaves that say it: hosts elsewhere send alike. Empty when none does, which COV-01 says.
    """
    prefixes = view.plan.switches[leaf].aggregates or view.plan.switches[leaf].networks
    total: dict[str, float] = defaultdict(float)
    count = 0
    for name in view.plan.switches:
        state = view.state(name)
        if name == leaf or state is None or not _is_leaf(view, name):
            continue
        for hops in filter(None, (_lowest(state, prefix) for prefix in prefixes)):
            weight = sum(hop.weight for hop in hops)
            count += 1
            for hop in hops:
                far = view.far((name, hop.port or _port(view, name, hop.address)))
                total[far[0] if far is not None else ""] += hop.weight / max(1, weight)
    return {spine: share / count for spine, share in total.items()}


def _lowest(state: SwitchState, prefix: str) -> tuple[NextHop, ...]:
    """Next hops as the ASIC has them, else as the last layer above that can be read."""
    tables: tuple[Mapping[str, object] | None, ...] = (state.asic, state.appl, state.kernel, state.rib)
    for table in tables:
        hops: tuple[NextHop, ...] = getattr((table or {}).get(prefix), "next_hops", ())
        if hops:
            return hops
    return ()


def _port(view: View, name: str, address: str) -> str:
    return next(
        (
            port.name
            for port in view.plan.switches[name].sessions()
            if any(peer.partition("/")[0] == address for peer in port.peer_addresses)
        ),
        "",
    )
