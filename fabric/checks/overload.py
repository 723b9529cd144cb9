"""What lost uplinks do to the rest: the same traffic on fewer parallel links (BGP-05).

Plain BGP does not tell the loss of one of several parallel links: other leaves keep sending the same share to that
spine, which has fewer links left towards the leaf (facts ai-fabric 5.4). Below a full host load nothing is lost.
"""

from __future__ import annotations

from collections import defaultdict

from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import Role


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
    if not lost or not host_mbps or view.plan.routing.weighted_ecmp:
        return
    reachable = sum(planned[spine] for spine in alive)
    worst, load = "", 0.0
    for spine, mbps in alive.items():
        share = host_mbps * planned[spine] / reachable / mbps
        if share > load and mbps < planned[spine]:
            worst, load = spine, share
    sending = host_mbps / up_mbps if up_mbps else float("inf")
    heaviest = max(load, sending)
    if heaviest <= view.limits.overload_warn:
        return
    fails = heaviest > view.limits.overload_fail or sending > view.limits.overload_warn
    if up_mbps == 0:
        observed = f"{leaf} has no uplink left: its hosts reach nobody outside the leaf"
    elif sending >= load:
        observed = f"hosts of {leaf} can send {host_mbps / 1000:g}G into {up_mbps / 1000:g}G of uplinks ({sending:.0%})"
    else:
        observed = (
            f"traffic to {leaf} through {worst} loads the {alive[worst] / 1000:g}G that is left with {load:.0%}, "
            "because BGP does not tell the other leaves"
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
        remedy=f"repair the link, or withdraw {worst or 'the spine'} for {leaf} until it is (or use weighted ECMP)",
    )
    judged.claims.append(
        Claim(Cause.OVERLOAD, finding, cables=frozenset(link.name for link in lost), devices=frozenset({leaf}))
    )
