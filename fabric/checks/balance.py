"""Is load spread as random hashing would, for as many flows as there are? (ECMP-01 to ECMP-04.)

No constant limit is right: 50 flows over 32 links are 3 times the mean on the fullest one by luck alone (facts
ai-fabric 5.2). A group is judged against the binomial tail for its flow count, so that luck raises at most one alarm
in 1 / `balance_level` groups. Flows are counted from below: what the group carries, in flows as large as the largest
there can be (the busiest NIC's rate over its QPs), and no more than the NICs that send can have. Traffic that stays
below a leaf, or goes to a few receivers, makes few flows of many senders.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from fabric.checks._cabling_words import some
from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.checks.window import grown, span_s
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import Network, Role


def judge(view: View, judged: Judged) -> None:
    """Judge seeds of tiers always; spread of links and rails where there is a baseline and traffic."""
    _seeds(view, judged)
    if view.baseline is None:
        return
    sending = _sending(view)
    for name, switch in view.switches.items():
        mine = sending.flows.get(name, 0)
        if switch.role is Role.LEAF:
            _group(view, name, "all uplinks", _uplinks(view, name), sending, mine, judged)
        for peer, links in sorted(_parallel(view, name).items()):
            most = mine if switch.role is Role.LEAF else sum(sending.flows.values()) - sending.flows.get(peer, 0)
            _group(view, name, f"the links to {peer}", links, sending, most, judged)
    _rails(view, judged)


# What luck can do


@cache
def binomial_tail(trials: int, chance: float, least: int) -> float:
    """P(X >= least) for X binomial."""
    if least <= 0:
        return 1.0
    if least > trials:
        return 0.0
    total = 0.0
    for hits in range(least, trials + 1):
        log = (
            math.lgamma(trials + 1)
            - math.lgamma(hits + 1)
            - math.lgamma(trials - hits + 1)
            + hits * math.log(chance)
            + (trials - hits) * math.log1p(-chance)
        )
        term = math.exp(log)
        total += term
        if term < total * 1e-12 and hits > trials * chance:
            break
    return min(1.0, total)


@cache
def fullest_by_luck(flows: int, links: int, level: float) -> float:
    """Load of the fullest of `links` over the mean that random hashing of `flows` equal flows exceeds with probability
    at most `level` (union bound over the links)."""
    if flows <= 0 or links <= 1:
        return float(links)
    count = max(1, math.ceil(flows / links))
    while count < flows and links * binomial_tail(flows, 1 / links, count + 1) > level:
        count += 1
    return min(float(links), count * links / flows)


@cache
def chi_square_limit(freedom: int, level: float) -> float:
    """Quantile 1 - level of chi-square (Wilson-Hilferty)."""
    z = _normal_quantile(1 - level)
    return freedom * (1 - 2 / (9 * freedom) + z * math.sqrt(2 / (9 * freedom))) ** 3


def _normal_quantile(probability: float) -> float:
    low, high = -40.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        if 0.5 * math.erfc(-middle / math.sqrt(2)) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def effective_members(loads: Sequence[float]) -> float:
    """1 / sum of squared shares: n when even, 1 when one link carries all."""
    total = sum(loads)
    return total * total / sum(load * load for load in loads) if total else 0.0


# Groups


@dataclass(frozen=True, slots=True)
class _Sending:
    """Leaf -> flows its busy NICs have at the least; and how much one flow can be at the most (Mb/s)."""

    flows: Mapping[str, int]
    largest_mbps: float


def _group(view: View, device: str, what: str, links: list[Link], sending: _Sending, most: int, judged: Judged) -> None:
    """Judge the members of one group by bytes sent over the window; `most` flows can be in it."""
    loads: list[tuple[Link, End, float]] = []
    for link in links:
        end = link.a if link.a[0] == device else link.b
        if view.up(end) is not True:
            continue
        sent = grown(view, device, "counters", end[1]).by("IF_OUT_OCTETS")
        if sent is None:
            return
        loads.append((link, end, float(sent)))
    elapsed = span_s(view, device)
    if len(loads) < 2 or elapsed is None or not sending.largest_mbps:
        return
    carried_mbps = sum(sent for _, _, sent in loads) * 8 / 1e6 / elapsed
    # Rates are measured over windows that end some milliseconds apart.
    flows = min(most, math.floor(carried_mbps / sending.largest_mbps + 0.01))
    if flows < 2:
        return
    rates = [sent / link.cable.speed_mbps for link, _, sent in loads]
    mean = sum(rates) / len(rates)
    if mean * 8 / 1e6 / elapsed < view.limits.busy_share:
        return
    fullest = max(rates) / mean
    limit = fullest_by_luck(flows, len(rates), view.limits.balance_level)
    effective = effective_members(rates)
    shares = [rate / sum(rates) for rate in rates]
    spread = sum((share * flows - flows / len(rates)) ** 2 / (flows / len(rates)) for share in shares)
    too_uneven = spread > chi_square_limit(len(rates) - 1, view.limits.balance_level)
    few = effective < view.limits.members_share * len(rates) and too_uneven
    if fullest <= limit and not few:
        judged.passed += 1
        return
    judged.claims.append(_claim(view, device, what, loads, rates, flows, fullest, limit, effective, few))


def _claim(
    view: View,
    device: str,
    what: str,
    loads: list[tuple[Link, End, float]],
    rates: list[float],
    flows: int,
    fullest: float,
    limit: float,
    effective: float,
    few: bool,
) -> Claim:
    switch = view.plan.switches[device]
    mean = sum(rates) / len(rates)
    idle = [end for (_, end, _), rate in zip(loads, rates) if rate < 0.01 * mean]
    one = effective < 1.5
    if one:
        cause, remedy = (
            "one link carries nearly all",
            (
                "few source ports: set NCCL_IB_QPS_PER_CONNECTION=4 and NCCL_IB_SPLIT_DATA_ON_QPS=1 for the job, and "
                "see "
                "by `rdma resource show qp` on its nodes that there are more queue pairs; "
                "routes and group are complete when BGP-03 says nothing"
            ),
        )
    elif idle:
        cause, remedy = (
            f"{len(idle)} of {len(rates)} carry next to nothing",
            (
                f"the hash chooses as the tier below (polarisation): `sonic-db-cli APPL_DB HGET SWITCH_TABLE:switch "
                f"ecmp_hash_seed` on {device} and on the switches below must differ (DEVICE_METADATA type), or `sudo "
                f"config "
                "switch-hash global ecmp-hash` with IN_PORT; if they differ, `railfab audit INTENT` finds a dead member"
            ),
        )
    else:
        cause, remedy = (
            "more uneven than luck",
            f"set NCCL_IB_QPS_PER_CONNECTION=4 for the job; if it stays, `show switch-hash global` on {device}: source "
            "port (L4_SRC_PORT) must be among the ECMP hash fields",
        )
    finding = Finding(
        code="ECMP-02" if few else "ECMP-01",
        status=Status.WARN,
        severity=Severity.WARN,
        confidence=Confidence.LIKELY,
        device=device,
        port=idle[0][1] if len(idle) == 1 else None,
        rail=switch.rail,
        rails=(switch.rail,) if switch.rail is not None else (),
        expected=f"fullest of {len(rates)} links at most {limit:.2f} times the mean for {flows} flows or more",
        observed=f"{device}, {what}: {cause}; fullest {fullest:.2f} times the mean, {effective:.1f} effective members"
        + (f" (idle: {some((view.name(end) for end in idle), 4)})" if idle else ""),
        evidence=f"IF_OUT_OCTETS over the window; random hashing exceeds the limit with probability "
        f"{view.limits.balance_level:g} at most",
        remedy=remedy,
    )
    return Claim(
        Cause.BALANCE,
        finding,
        cables=frozenset(link.name for link, _, _ in loads),
        devices=frozenset({device}),
    )


def _uplinks(view: View, device: str) -> list[Link]:
    return [
        link
        for name in view.plan.switches[device].ports
        if (link := view.of_end.get((device, name))) is not None and not link.host and link.life is Life.SERVICE
    ]


def _parallel(view: View, device: str) -> dict[str, list[Link]]:
    found: dict[str, list[Link]] = defaultdict(list)
    for link in _uplinks(view, device):
        found[link.b[0] if link.a[0] == device else link.a[0]].append(link)
    return {peer: links for peer, links in found.items() if len(links) > 1}


def _sending(view: View) -> _Sending:
    """Flows of NICs that sent a busy share of their rate (QPs a NIC); the busiest NIC has the largest of them."""
    found: dict[str, int] = defaultdict(int)
    busiest = 0.0
    for link in view.all_links:
        if not link.host or link.cable.network is not Network.COMPUTE:
            continue
        elapsed = span_s(view, link.a[0])
        if elapsed is None:
            continue
        sent = grown(view, link.a[0], "counters", link.a[1]).by("IF_IN_OCTETS") or 0
        mbps = sent * 8 / 1e6 / elapsed
        if mbps >= view.limits.busy_share * link.cable.speed_mbps:
            found[link.a[0]] += view.limits.qps_per_nic
            busiest = max(busiest, mbps)
    return _Sending(found, busiest / view.limits.qps_per_nic)


# Tiers and rails


def _seeds(view: View, judged: Judged) -> None:
    """ECMP-03: two tiers with one hash seed repeat each other's choice (F061)."""
    by_role: dict[Role, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, switch in view.plan.switches.items():
        seed = _seed(view, name)
        if seed is not None and switch.network is Network.COMPUTE:
            by_role[switch.role][seed].append(name)
    roles = [role for role in (Role.LEAF, Role.SPINE, Role.SUPERSPINE) if role in by_role]
    for lower, upper in itertools.pairwise(roles):
        same = sorted(set(by_role[lower]) & set(by_role[upper]))
        if not same:
            judged.passed += 1
            continue
        names = [name for seed in same for name in (*by_role[lower][seed], *by_role[upper][seed])]
        if not view.scope.holds(*names):
            continue
        finding = Finding(
            code="ECMP-03",
            status=Status.WARN,
            severity=Severity.WARN,
            confidence=Confidence.CERTAIN,
            device=names[0],
            expected=f"another hash seed on {upper.value}s than on {lower.value}s",
            observed=f"{lower.value}s and {upper.value}s share the hash seed {', '.join(same)}: {some(names, 4)}",
            evidence="APPL_DB SWITCH_TABLE:switch ecmp_hash_seed (it follows DEVICE_METADATA type)",
            remedy="`sonic-db-cli CONFIG_DB HGET 'DEVICE_METADATA|localhost' type` on both: leaves are LeafRouter, "
            "spines "
            "SpineRouter; `railfab plan` and `apply` it, then `sudo config reload -y` one drained switch of the tier "
            "after the other",
        )
        judged.claims.append(Claim(Cause.BALANCE, finding, devices=frozenset(names)))


# Seeds orchagent takes from DEVICE_METADATA type (facts sonic 1.9).
_SEED_OF_TYPE = {"ToRRouter": "0", "LeafRouter": "10", "SpineRouter": "25"}


def _seed(view: View, name: str) -> str | None:
    state = view.state(name)
    if state is None:
        return None
    seed = (state.switch or {}).get("ecmp_hash_seed")
    if seed is not None:
        return seed
    if state.config is None:
        return None
    kind = state.config.get("DEVICE_METADATA", {}).get("localhost", {}).get("type")
    return _SEED_OF_TYPE.get(kind) if isinstance(kind, str) else None


def _rails(view: View, judged: Judged) -> None:
    """ECMP-04: a node whose rails carry unequal load while it is busy: collectives use all rails alike."""
    by_node: dict[str, list[tuple[Link, float]]] = defaultdict(list)
    for link in view.links:
        if not link.host or link.life is not Life.SERVICE or link.cable.network is not Network.COMPUTE:
            continue
        elapsed = span_s(view, link.a[0])
        sent = grown(view, link.a[0], "counters", link.a[1]).by("IF_IN_OCTETS")
        if elapsed is not None and sent is not None:
            by_node[link.b[0]].append((link, sent * 8 / 1e6 / elapsed / link.cable.speed_mbps))
    for node, rows in sorted(by_node.items()):
        rates = [rate for _, rate in rows]
        mean = sum(rates) / len(rates)
        if len(rates) < 2 or mean < view.limits.busy_share:
            continue
        if max(rates) <= view.limits.rail_imbalance * mean:
            judged.passed += 1
            continue
        judged.claims.append(_uneven_node(view, node, rows, mean))


def _uneven_node(view: View, node: str, rows: list[tuple[Link, float]], mean: float) -> Claim:
    full = max(rows, key=lambda row: row[1])
    listed = some((f"rail {link.rail} {rate:.0%}" for link, rate in rows), 8)
    finding = Finding(
        code="ECMP-04",
        status=Status.WARN,
        severity=Severity.WARN,
        confidence=Confidence.LIKELY,
        device=full[0].a[0],
        port=full[0].a[1],
        node=node,
        nodes=(node,),
        rails=tuple(sorted({link.rail for link, _ in rows if link.rail is not None})),
        expected=f"rails of {node} alike (fullest at most {view.limits.rail_imbalance:g} times the mean)",
        observed=f"{node}: rail {full[0].rail} sends {full[1] / mean:.1f} times the mean of its rails ({listed})",
        evidence="IF_IN_OCTETS of its leaf ports over the window",
        remedy=f"on {node}: `nvidia-smi topo -m` and NCCL_IB_HCA of the job must be as on a good node (all rails carry "
        "alike in a collective); then `show interfaces counters errors` on the leaves of the slow rails",
    )
    return Claim(Cause.BALANCE, finding, cables=frozenset(link.name for link, _ in rows), devices=frozenset({node}))
