"""Cabling: is every plug where the Plan has it? (TOPO-01 for NICs, TOPO-02 between switches.)

Wrong cables become moves; what nobody hears is "cannot tell", never a wrong cable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fabric.checks import _cabling_words as words
from fabric.checks.exchange import Story, stories
from fabric.checks.judged import Judged
from fabric.checks.observe import Cabling, observe
from fabric.checks.proof import arp_proof, second_evidence, session_proof
from fabric.checks.replug import tangles
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Move, Place, Severity, Status
from fabric.values.plan import cable_name


def judge(view: View) -> Judged:
    """Judge every cable in scope by what LLDP says at both ends, and by second evidence."""
    seen = observe(view)
    judged = Judged(passed=len(seen.right))
    wrong_links = _wrong(view, seen, judged)
    _dark(view, seen, judged, wrong_links)
    return judged


def _wrong(view: View, seen: Cabling, judged: Judged) -> set[str]:
    """One claim a tangle of wrong cables (or a group of them that is one mistake). Returns the links named."""
    planned: dict[End, End] = {}
    named: set[str] = set()
    if seen.wrong:
        planned = _planned_around(view, seen.wrong)

    def may_hide(a: End, b: End) -> bool:
        return _fits(view, a, b) and all(_is_in_service(view, end) and end not in seen.doubt for end in (a, b))

    found = list(tangles(planned, seen.wrong, may_hide))
    for story in stories(view, found):
        links = [link for link in (view.of_end.get(pair[0]) for pair in story.planned) if link is not None]
        if not view.scope.holds(*(end[0] for pair in (*story.planned, *story.observed) for end in pair)):
            continue
        judged.claims.append(_claim(view, seen, story, links))
        named.update(link.name for link in links)
    return named


def _planned_around(view: View, wrong: dict[End, End]) -> dict[End, End]:
    """Planned cables of all ends that tangles can reach: walk planned and observed cables from the wrong ends."""
    planned: dict[End, End] = {}
    todo = list(wrong)
    while todo:
        end = todo.pop()
        if end in planned:
            continue
        link = view.of_end.get(end)
        if link is None or link.life is Life.PLANNED:
            continue
        planned[link.a], planned[link.b] = link.b, link.a
        todo.extend(far for far in (wrong.get(link.a), wrong.get(link.b)) if far is not None)
    return planned


def _fits(view: View, a: End, b: End) -> bool:
    """Whether a cable could run between two ends: not between two NICs."""
    return a[0] in view.plan.switches or b[0] in view.plan.switches


def _is_in_service(view: View, end: End) -> bool:
    link = view.of_end.get(end)
    return link is not None and link.life in (Life.SERVICE, Life.INSTALLED)


def _claim(view: View, seen: Cabling, story: Story, links: list[Link]) -> Claim:
    moves = tuple(Move(cable_name(*step.keep, *step.to), Place(*step.from_), Place(*step.to)) for step in story.moves)
    hosts = sorted({link.b[0] for link in links if link.host})
    rails = sorted({link.rail for link in links if link.rail is not None})
    ends = [end for pair in story.observed for end in pair]
    grade = words.grade(seen, story, ends)
    doubtful = _contradicted(view, links)
    first = links[0] if links else None
    place = first.a if first is not None else story.observed[0][0]
    finding = Finding(
        code="TOPO-01" if any(end[0] in view.plan.hosts for end in ends) else "TOPO-02",
        status=Status.UNKNOWN if doubtful else Status.FAIL if links else Status.WARN,
        severity=Severity.BLOCK if any(link.life is Life.SERVICE for link in links) else Severity.WARN,
        confidence=Confidence.WEAK if doubtful else grade,
        device=place[0],
        port=place[1],
        node=hosts[0] if len(hosts) == 1 else None,
        nic=first.b[1] if first is not None and first.host and len(links) == 1 else None,
        rail=rails[0] if len(rails) == 1 else None,
        nodes=tuple(hosts),
        rails=tuple(rails),
        cable=first.name if first is not None else None,
        expected=words.expected(view, story),
        observed=words.observed(view, story),
        evidence=words.evidence(view, seen, story, doubtful),
        remedy=words.remedy(view, story),
        moves=moves,
    )
    return Claim(
        Cause.CABLING_WRONG,
        finding,
        cables=frozenset(link.name for link in links),
        devices=frozenset(end[0] for end in ends),
    )


def _contradicted(view: View, links: Iterable[Link]) -> bool:
    """Whether second evidence says that the planned neighbours are there after all.

    On numbered cables a session to the planned address with the planned ASN, or a resolved ARP entry of the NIC's
    own address, needs the right cable. Unnumbered sessions come up on any cable and say nothing.
    """
    asked = False
    for link in links:
        if link.host:
            proof = arp_proof(view, link)
        else:
            proof = None if view.plan.routing.unnumbered else session_proof(view, link)
        if proof is not True:
            return False
        asked = True
    return asked


def _dark(view: View, seen: Cabling, judged: Judged, wrong_links: set[str]) -> None:
    """Claims for cables that could not be judged; devices with no data at all are told by coverage."""
    silent: list[tuple[Link, End]] = []
    for link in view.links:
        if link.name in seen.right or link.name in wrong_links or link.life in (Life.PLANNED, Life.KNOWN_DOWN):
            continue
        if view.hold_on(link.a) or view.hold_on(link.b):
            continue  # Kept by hand; links say so.
        doubts = [(end, *seen.doubt[end]) for end in (link.a, link.b) if end in seen.doubt]
        if doubts:
            judged.claims.append(words.doubtful(view, link, doubts, second_evidence(view, link)))
        elif link.name in seen.one_way:
            silent.append((link, seen.one_way[link.name]))
        elif _was_asked(view, link):
            if _is_down(view, link):
                judged.claims.append(words.dark(view, link))
            else:
                silent.append((link, link.a))
    _silent(view, seen, silent, judged)


def _was_asked(view: View, link: Link) -> bool:
    """Whether at least one switch of the cable gave its LLDP rows, and no other end is a hole that coverage tells."""
    switches = [end[0] for end in (link.a, link.b) if end[0] in view.plan.switches]
    states = [view.state(name) for name in switches]
    return all(state is not None and state.lldp is not None for state in states)


def _is_down(view: View, link: Link) -> bool:
    states = [view.port(end) for end in (link.a, link.b)]
    return any(state is not None and state.oper_up is False for state in states)


def _silent(view: View, seen: Cabling, silent: list[tuple[Link, End]], judged: Judged) -> None:
    """Group silence: a whole host is one agent, several ports of a switch one lldpd, else one claim a cable."""
    by_host: dict[str, list[Link]] = defaultdict(list)
    for link, _ in silent:
        if link.host:
            by_host[link.b[0]].append(link)
    whole = {host for host, links in by_host.items() if 1 < len(links) == _cables_of_host(view, host)}
    for host in sorted(whole):
        proven = all(arp_proof(view, link) is True for link in by_host[host])
        judged.claims.append(words.silent_host(view, host, by_host[host], proven))
    by_switch: dict[str, list[tuple[Link, End]]] = defaultdict(list)
    for link, end in silent:
        if not (link.host and link.b[0] in whole):
            by_switch[end[0]].append((link, end))
    for device in sorted(by_switch):
        links = by_switch[device]
        proven = all(link.name in seen.one_way or second_evidence(view, link) is True for link, _ in links)
        one_way = all(link.name in seen.one_way for link, _ in links)
        judged.claims.append(words.silent_ports(view, device, links, proven, one_way))


def _cables_of_host(view: View, host: str) -> int:
    links = (view.of_end.get((host, nic)) for nic in view.plan.hosts[host].nics)
    return sum(link is not None and link.life in (Life.SERVICE, Life.INSTALLED) for link in links)
