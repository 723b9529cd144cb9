"""From answers to findings: which cables carry traffic, which swallow it, and where we cannot tell.

A source port that was answered by one switch and by none behind it was lost on a cable we did not see. Which one is
found by elimination: of the equal-cost cables out of that switch, those that no other source port was seen to cross.
Seen to cross nothing while nothing was lost is a next hop that is not used. Lost although every cable was crossed is
a control-plane policer, or a fault this cannot place: "cannot tell".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from ipaddress import ip_interface
from statistics import median

from fabric.audit.answers import Answer, Answers
from fabric.audit.coverage import chance_of_at_least, chance_of_no_answer_by_luck
from fabric.audit.flights import Flight
from fabric.values.finding import Confidence, Finding, Report, Severity, Status, summarize
from fabric.values.plan import Plan

# Chance of one false alarm in a whole audit. Each cable (or path) judged gets its share of it.
FALSE_ALARM = 0.01
# A policer drops a few answers on a healthy fabric (SONiC's CoPP); surely more than this share is worth saying.
LOST_SHARE = Fraction(1, 20)
# Answers are made by a switch's CPU: only a cable far slower than its peers says something about the cable.
SLOW_FACTOR, SLOW_MS = 5.0, 1.0


@dataclass(slots=True)
class _Crossings:
    """What one switch did with the flows of all flights to one target leaf, by the cable they came in on."""

    switch: str
    target_leaf: str
    next_cables: Mapping[str, str]
    seen: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    lost: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def entries(self) -> set[str]:
        return set(self.seen) | set(self.lost)

    def crossed(self) -> set[str]:
        return {cable for cables in self.seen.values() for cable in cables}

    def total(self, entry: str) -> int:
        return sum(self.seen[entry].values()) + self.lost[entry]


def judge(plan: Plan, flown: Sequence[Flight], answers: Answers) -> Report:
    """Findings of an audit (PATH-01 black hole, -02 wrong way, -03 unused, -04 slow, -05 cannot tell, -06 no route).

    A pass is one cable crossed in one direction. Devices counted are switches that answered.
    """
    ingress = _ingress_cables(plan)
    crossings: dict[tuple[str, str], _Crossings] = {}
    wrong: dict[tuple[str, str], list[str]] = defaultdict(list)
    refused: dict[tuple[str, str], int] = defaultdict(int)
    times: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    findings: list[Finding] = []
    answered: set[str] = set()
    for flight in flown:
        ports = answers.flights.get(flight.name)
        if not ports:
            why = answers.silent.get(flight.source_host, "no answer of the prober")
            findings.append(_silent(flight, why))
            continue
        given = [answer for by_ttl in ports.values() for answer in by_ttl.values() if answer is not None]
        if all(answer.address == flight.source for answer in given):
            # "Unreachable" from the host itself: no route, or the leaf did not resolve.
            findings.append(_silent(flight, "no probe was answered, not even by the leaf"))
            continue
        for port, by_ttl in ports.items():
            _follow(flight, port, by_ttl, ingress, crossings, wrong, refused, times, answered)
    passed = 0
    for crossing in crossings.values():
        passed += len(crossing.crossed())
    findings += _swallowed(list(crossings.values()))
    findings += _wrong_way(wrong)
    findings += [_refusal(switch, leaf, ports) for (switch, leaf), ports in sorted(refused.items())]
    findings += _slow(times)
    return Report(tuple(findings), summarize(findings, passed, len(answered)))


def _ingress_cables(plan: Plan) -> dict[str, tuple[str, str]]:
    """Address without length -> (switch, cable it stands on)."""
    found = {}
    for switch in plan.switches.values():
        for port in switch.ports.values():
            for address in port.addresses:
                if port.cable:
                    found[str(ip_interface(address).ip)] = (switch.name, port.cable)
    return found


def _follow(
    flight: Flight,
    port: int,
    by_ttl: Mapping[int, Answer | None],
    ingress: Mapping[str, tuple[str, str]],
    crossings: dict[tuple[str, str], _Crossings],
    wrong: dict[tuple[str, str], list[str]],
    refused: dict[tuple[str, str], int],
    times: dict[int, dict[str, list[float]]],
    answered: set[str],
) -> None:
    """Walk one source port from switch to switch; stop where the way is no longer known."""
    at, entry = flight.source_leaf, ""
    for ttl in flight.ttls:
        answer = by_ttl.get(ttl)
        if answer is None:
            if ttl > 1 and not any(by_ttl.get(later) for later in range(ttl + 1, flight.hops + 1)):
                _crossing(crossings, flight, at).lost[entry] += 1
            # A later answer proves that only this one was not given; which cable it took stays unknown.
            return
        place = ingress.get(answer.address)
        if answer.kind == "refused" and place is not None:
            refused[(place[0], flight.target_leaf)] += 1
            return
        if ttl == 1:
            if place is None or place[0] != flight.source_leaf:
                wrong[(flight.name, answer.address)].append(f"source port {port}, hop 1")
                return
            entry = place[1]
        else:
            if place is None or place[1] not in _crossing(crossings, flight, at).next_cables:
                wrong[(flight.name, answer.address)].append(f"source port {port}, hop {ttl}")
                return
            _crossing(crossings, flight, at).seen[entry][place[1]] += 1
            times[ttl][place[1]].append(answer.milliseconds)
            entry = place[1]
        at = place[0]
        answered.add(at)


def _crossing(crossings: dict[tuple[str, str], _Crossings], flight: Flight, at: str) -> _Crossings:
    key = (at, flight.target_leaf)
    if key not in crossings:
        crossings[key] = _Crossings(at, flight.target_leaf, flight.next_cables.get(at, {}))
    return crossings[key]


def _silent(flight: Flight, why: str) -> Finding:
    return Finding(
        "PATH-05",
        Status.UNKNOWN,
        Severity.WARN,
        node=flight.source_host,
        nic=flight.source_nic,
        expected=f"answers to probes from {flight.source_leaf} to {flight.target_leaf}",
        observed=why,
        remedy=f"check that {flight.source_host} is up and may open raw sockets, then audit again",
    )


def _chance_if_sound(crossing: _Crossings, cable: str, seen: Mapping[str, int], total: int) -> float:
    """Chance that no flow of `total` was seen on `cable` though it passes traffic.

    Each flow takes it with probability 1/n and is then seen unless a policer took the answer. How often one does is
    read off the other cables; off those to the same switch alone when it answers less than half as often as the rest.
    """
    width = len(crossing.next_cables)
    answering = [other for other in seen if seen[other]]
    if not answering:
        return 1.0
    policed = _policed(answering, seen, total, width)
    behind = crossing.next_cables[cable]
    peers = [other for other in answering if crossing.next_cables[other] == behind]
    if peers and (there := _policed(peers, seen, total, width)) > (1 + policed) / 2:
        policed = there
    return chance_of_no_answer_by_luck((1 - policed) / width, total)


def _policed(cables: Sequence[str], seen: Mapping[str, int], total: int, width: int) -> Fraction:
    """Share of the flows expected on `cables` that were not seen there; 0 when there are more than expected."""
    expected = Fraction(total * len(cables), width)
    return max(Fraction(0), 1 - Fraction(sum(seen[cable] for cable in cables)) / expected)


def _swallowed(crossings: Sequence[_Crossings]) -> list[Finding]:
    findings: list[Finding] = []
    alarm = FALSE_ALARM / max(1, sum(len(crossing.next_cables) for crossing in crossings))
    path_alarm = FALSE_ALARM / max(
        1, sum(len(crossing.next_cables) * len(crossing.entries()) for crossing in crossings)
    )
    for crossing in crossings:
        lost, total = sum(crossing.lost.values()), sum(crossing.total(entry) for entry in crossing.entries())
        seen: dict[str, int] = defaultdict(int)
        for cables in crossing.seen.values():
            for cable, count in cables.items():
                seen[cable] += count
        unseen = sorted(set(crossing.next_cables) - set(seen))
        chances = {cable: _chance_if_sound(crossing, cable, seen, total) for cable in unseen}
        sure = [cable for cable in unseen if chances[cable] <= alarm]
        if sure and lost:
            findings.append(_black_hole(crossing, sure, lost, total))
        elif sure:
            findings += [_unused(crossing, cable, total, chances[cable]) for cable in sure]
        if doubtful := [cable for cable in unseen if cable not in sure]:
            findings.append(_too_few(crossing, doubtful, total, max(chances[cable] for cable in doubtful)))
        if unseen:
            continue
        paths = _lost_paths(crossing, path_alarm)
        findings += paths
        if not paths and chance_of_at_least(lost, total, LOST_SHARE) <= FALSE_ALARM / len(crossings):
            findings.append(_lost_answers(crossing, lost, total))
    return findings


def _black_hole(crossing: _Crossings, cables: list[str], lost: int, total: int) -> Finding:
    one = len(cables) == 1
    names = ", ".join(cables)
    return Finding(
        "PATH-01",
        Status.FAIL,
        Severity.BLOCK,
        Confidence.CERTAIN if one and lost >= 3 else Confidence.LIKELY,
        device=crossing.switch,
        cable=cables[0] if one else None,
        expected=f"traffic from {crossing.switch} to {crossing.target_leaf} comes out of each of "
        f"{len(crossing.next_cables)} cables",
        observed=f"{lost} of {total} source ports reach {crossing.switch} and nothing behind it; no other one "
        f"crosses {names}",
        evidence="TTL-limited probes; every other equal-cost cable was crossed",
        remedy=f"take {names} out of the group (shut the port at {crossing.switch}), then clean or replace the optic; "
        "a link that is up and swallows frames is not seen by BGP before its hold time",
    )


def _lost_paths(crossing: _Crossings, alarm: float) -> list[Finding]:
    """Whole paths (in by one cable, out by another) that swallow traffic though both cables carry some."""
    findings = []
    for entry, lost in crossing.lost.items():
        if not lost or not entry:
            continue
        missing = sorted(set(crossing.next_cables) - set(crossing.seen[entry]))
        total = crossing.total(entry)
        if len(missing) != 1 or _chance_if_sound(crossing, missing[0], crossing.seen[entry], total) > alarm:
            continue
        findings.append(
            Finding(
                "PATH-01",
                Status.FAIL,
                Severity.BLOCK,
                Confidence.LIKELY,
                device=crossing.switch,
                cable=missing[0],
                expected=f"{crossing.switch} passes traffic from {entry} to each of {len(crossing.next_cables)} cables",
                observed=f"{lost} of {total} source ports that came in by {entry} are lost; none left by {missing[0]}, "
                "which other traffic crosses",
                evidence="TTL-limited probes, judged by the cable they came in on",
                remedy=f"a fault inside {crossing.switch} between these two ports (forwarding table or slice): compare "
                "ASIC_DB with a healthy spine, drain it, reload it",
            )
        )
    return findings


def _unused(crossing: _Crossings, cable: str, total: int, luck: float) -> Finding:
    return Finding(
        "PATH-03",
        Status.WARN,
        Severity.WARN,
        Confidence.LIKELY,
        device=crossing.switch,
        cable=cable,
        expected=f"{crossing.switch} uses {len(crossing.next_cables)} cables towards {crossing.target_leaf}",
        observed=f"none of {total} source ports crossed it and none was lost (chance by luck {luck:.1g})",
        evidence="TTL-limited probes",
        remedy="compare the next hops in the RIB, APPL_DB and ASIC_DB (`railfab check --only ecmp`); if they are all "
        "there, the tiers hash alike (ECMP-03)",
    )


def _too_few(crossing: _Crossings, cables: list[str], total: int, luck: float) -> Finding:
    return Finding(
        "PATH-05",
        Status.UNKNOWN,
        Severity.WARN,
        device=crossing.switch,
        cable=cables[0] if len(cables) == 1 else None,
        expected=f"each of {len(crossing.next_cables)} cables towards {crossing.target_leaf} crossed",
        observed=f"{len(cables)} not crossed by {total} source ports: {', '.join(cables)} (chance by luck {luck:.2g})",
        remedy="audit again with a higher --confidence",
    )


def _lost_answers(crossing: _Crossings, lost: int, total: int) -> Finding:
    return Finding(
        "PATH-05",
        Status.UNKNOWN,
        Severity.WARN,
        device=crossing.switch,
        expected=f"answers from behind {crossing.switch} towards {crossing.target_leaf}",
        observed=f"{lost} of {total} lost, though every cable was crossed",
        evidence="a control-plane policer drops answers like this; so does a cable that loses some frames",
        remedy="audit again with a lower --rate; if the share stays, check the links' FEC and drop counters",
    )


def _wrong_way(wrong: Mapping[tuple[str, str], list[str]]) -> list[Finding]:
    return [
        Finding(
            "PATH-02",
            Status.FAIL,
            Severity.BLOCK,
            Confidence.LIKELY,
            node=flight.split(":", maxsplit=1)[0],
            expected=f"probes of {flight} stay on the shortest paths of the plan",
            observed=f"{len(where)} answered by {address}, which is on none of them ({where[0]})",
            evidence="ingress address of an ICMP answer",
            remedy="check the cabling and the announced prefixes of the switch that has this address "
            f"(`railfab where {address}`)",
        )
        for (flight, address), where in sorted(wrong.items())
    ]


def _refusal(switch: str, target_leaf: str, ports: int) -> Finding:
    return Finding(
        "PATH-06",
        Status.FAIL,
        Severity.BLOCK,
        Confidence.CERTAIN,
        device=switch,
        expected=f"{switch} forwards to the hosts of {target_leaf}",
        observed=f'{switch} answers {ports} source ports with "unreachable"',
        evidence="ICMP destination unreachable from the switch itself",
        remedy=f"`show ip route` of the host prefix of {target_leaf} on {switch}: the route is missing or rejected "
        "(`railfab check --only bgp,ecmp`)",
    )


def _slow(times: Mapping[int, Mapping[str, list[float]]]) -> list[Finding]:
    """A cable whose fastest answer is far slower than that of its peers at the same hop."""
    findings = []
    for cables in times.values():
        fastest = {cable: min(samples) for cable, samples in cables.items()}
        if len(fastest) < 3:
            continue
        usual = median(fastest.values())
        for cable, best in sorted(fastest.items()):
            if best > usual * SLOW_FACTOR and best > usual + SLOW_MS:
                findings.append(
                    Finding(
                        "PATH-04",
                        Status.WARN,
                        Severity.WARN,
                        Confidence.WEAK,
                        cable=cable,
                        expected=f"about {usual:.2f} ms, as its peers",
                        observed=f"fastest of {len(cables[cable])} answers {best:.2f} ms",
                        evidence="answers are made by the switch's CPU; the fastest one counts",
                        remedy="compare the port's queue watermarks and pause counters; audit again",
                    )
                )
    return findings
