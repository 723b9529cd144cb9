"""Balance against luck, end to end: flows are hashed through a fabric, counters follow, the check must (not) speak."""

from __future__ import annotations

import dataclasses
import random
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from fabric.checks import Limits, balance
from fabric.checks.judged import Judged
from fabric.checks.view import View, look
from fabric.values.snapshot import Snapshot
from fabric.whatif.synthetic import Synthetic
from tests.checks.bench import BEFORE, NOW
from tests.whatif.clos import clos

RAILS, NODES, SPINES, LINKS = 4, 16, 4, 2
End = tuple[str, str]
# (source NIC's switch port, destination NIC's switch port, UDP source port)
Flow = tuple[End, End, int]
# Which of `count` members a switch takes for a flow.
Choice = Callable[[str, Flow, int], int]


@cache
def fabric() -> Synthetic:
    """2 pods x 4 rails x 16 nodes, 4 spines with 2 links a pair."""
    return Synthetic(clos(pods=2, rails=RAILS, spines=SPINES, parallel=LINKS, nodes=NODES))


@cache
def views() -> tuple[View, Snapshot]:
    """A view whose snapshot is a minute after its baseline, and that baseline."""
    before, after = fabric().snapshot(at=BEFORE), fabric().snapshot(at=NOW)
    return look(fabric().plan, after, baseline=before), before


@cache
def links() -> dict[tuple[str, str], tuple[str, ...]]:
    """(switch, peer) -> its ports to that peer."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for switch in fabric().plan.switches.values():
        for port in switch.sessions():
            found[switch.name, port.peer_device or ""].append(port.name)
    return {pair: tuple(ports) for pair, ports in found.items()}


def nic(pod: int, rail: int, node: int) -> End:
    return f"p{pod}-l{rail}", f"Ethernet{4 * node}"


def crossing(qps: int) -> Iterator[Flow]:
    """Every NIC to its rail in the other pod."""
    for pod, rail, node in places():
        for number in range(qps):
            yield nic(pod, rail, node), nic(3 - pod, rail, node), 49152 + 977 * node + 131 * number


def staying(qps: int) -> Iterator[Flow]:
    """A ring a rail: most hops stay below the leaf, every fourth node sends to the other pod."""
    for pod, rail, node in places():
        for number in range(qps):
            to = nic(3 - pod, rail, node) if node % 4 == 0 else nic(pod, rail, (node + 1) % NODES)
            yield nic(pod, rail, node), to, 49152 + 977 * node + 131 * number


def incast(qps: int) -> Iterator[Flow]:
    """Everybody in pod 2 to one leaf of pod 1."""
    for rail in range(RAILS):
        for node in range(NODES):
            for number in range(qps):
                yield nic(2, rail, node), nic(1, 0, node), 49152 + 977 * node + 131 * number


def places() -> Iterator[tuple[int, int, int]]:
    return ((pod, rail, node) for pod in (1, 2) for rail in range(RAILS) for node in range(NODES))


def carried(flows: list[Flow], qps: int, choose: Choice) -> dict[End, dict[str, int]]:
    """Octets by port and way that these flows leave behind in the window: each NIC sends at half its rate."""
    octets: dict[End, dict[str, int]] = defaultdict(lambda: {"IF_IN_OCTETS": 0, "IF_OUT_OCTETS": 0})
    size = int(400e9 / 8 * 0.5 * (NOW - BEFORE) / qps)
    for flow in flows:
        source, to, _ = flow
        octets[source]["IF_IN_OCTETS"] += size
        octets[to]["IF_OUT_OCTETS"] += size
        if source[0] == to[0]:
            continue
        up = choose(source[0], flow, SPINES * LINKS)
        spine = f"s{up % SPINES}"
        octets[source[0], links()[source[0], spine][up // SPINES]]["IF_OUT_OCTETS"] += size
        down = links()[spine, to[0]]
        octets[spine, down[choose(spine, flow, len(down))]]["IF_OUT_OCTETS"] += size
    return octets


def judged(flows: list[Flow], qps: int, choose: Choice, told: int = 1, seeds: dict[str, str] | None = None) -> Judged:
    """What the check says of the fabric after this traffic; `told`: how many flows a NIC it is told there are."""
    view, before = views()
    octets = carried(flows, qps, choose)
    switches = {}
    for name, state in before.switches.items():
        counters = {
            port: {**row, **{field: row[field] + more for field, more in octets[name, port].items()}}
            for port, row in (state.counters or {}).items()
        }
        switch = {"ecmp_hash_seed": seeds[name[0]]} if seeds else state.switch
        switches[name] = dataclasses.replace(state, counters=counters, switch=switch, taken_at=NOW)
    after = dataclasses.replace(view.snapshot, switches=switches)
    found = Judged()
    balance.judge(dataclasses.replace(view, snapshot=after, limits=Limits(qps_per_nic=told)), found)
    return found


def codes(found: Judged) -> list[str]:
    return [claim.finding.code for claim in found.claims if claim.finding.code != "ECMP-04"]


@pytest.mark.parametrize("pattern", [crossing, staying, incast])
@pytest.mark.parametrize(("qps", "told"), [(1, 1), (4, 1), (4, 4)])
def test_random_hashing_raises_no_alarm_whatever_the_traffic(
    pattern: Callable[[int], Iterator[Flow]], qps: int, told: int
) -> None:
    """1,000 runs for each flow count, of up to 72 groups each, at one in a million a group."""
    rng = random.Random(f"{pattern.__name__}{qps}{told}")
    flows = list(pattern(qps))
    spoken = 0
    for _ in range(334):
        found = judged(flows, qps, lambda _switch, _flow, count: rng.randrange(count), told)
        assert codes(found) == []
        spoken += found.passed
    assert spoken, "groups were judged, not left out"


def _hash(seed: str, flow: Flow) -> int:
    return zlib.crc32(repr((seed, *flow)).encode())


@pytest.mark.parametrize("same", [False, True])
def test_polarised_seeds_are_told_from_unpolarised_ones(same: bool) -> None:
    """The same hash on both tiers: a spine sees only flows that choose one of its two links, and ECMP-02 says so."""
    seeds = {"p": "10", "s": "10" if same else "25"}
    qps = 8

    def choose(switch: str, flow: Flow, count: int) -> int:
        # CRC is linear: flows are spread by a second mixing, as an ASIC does, and the seed goes into both.
        return (_hash(seeds[switch[0]], flow) * 0x9E3779B1 >> 16) % count

    found = codes(judged(list(crossing(qps)), qps, choose, told=qps, seeds=seeds))
    if not same:
        assert found == []
        return
    assert found.count("ECMP-03") == 1
    assert found.count("ECMP-02") > RAILS * SPINES, "of all pairs of a spine and a leaf most have flows enough to tell"


def test_one_uplink_of_a_leaf_for_all_its_flows_is_seen_whatever_the_others_do() -> None:
    rng = random.Random(7)

    def choose(switch: str, flow: Flow, count: int) -> int:
        return 0 if switch == "p1-l2" else rng.randrange(count)

    found = judged(list(crossing(4)), 4, choose, told=4)
    assert {claim.finding.device for claim in found.claims if "all uplinks" in (claim.finding.observed or "")} == {
        "p1-l2"
    }
