"""What cabling findings say: sentences for the person who walks to the rack."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from fabric.checks.exchange import Story
from fabric.checks.neighbours import Seen, weaker
from fabric.checks.observe import Cabling, Doubt
from fabric.checks.replug import Pair, Replug
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status

_MANY = 8


def some(items: Iterable[str], most: int = _MANY) -> str:
    """A list in a sentence, cut after `most` with the number left."""
    listed = list(items)
    if len(listed) <= most:
        return "; ".join(listed)
    return "; ".join(listed[:most]) + f"; and {len(listed) - most} more"


def _pair(view: View, pair: Pair) -> str:
    one, other = pair
    if one[0] in view.plan.hosts or (other[0] in view.plan.switches and other < one):
        one, other = other, one
    return f"{view.name(one)} - {view.name(other)}"


def expected(view: View, story: Story) -> str:
    """The planned cables of the story."""
    return some(_pair(view, pair) for pair in sorted(story.planned))


def observed(view: View, story: Story) -> str:
    """What is wrong in one phrase, then the cables as they are."""
    seen = some(_pair(view, pair) for pair in sorted(story.observed))
    return f"{_headline(view, story)}: {seen}"


def _headline(view: View, story: Story) -> str:
    count = len(story.planned)
    if story.pattern == "devices":
        if len(story.exchanged) == 2 and story.exchanged[0][0] == story.exchanged[1][1]:
            one, other = story.exchanged[0]
            return f"{one} and {other} stand in each other's place ({count} cables)"
        shifted = some(f"{other} where {one} belongs" for one, other in story.exchanged)
        return f"{shifted} ({count} cables)"
    if story.pattern == "rails":
        rails = sorted({link.rail for link in _links(view, story) if link.rail is not None})
        hosts = sorted({link.b[0] for link in _links(view, story) if link.host})
        named = " and ".join(str(rail) for rail in rails)
        return f"rails {named} are exchanged on {len(hosts)} nodes, {hosts[0]} to {hosts[-1]}"
    if story.pattern == "cages":
        return f"two cages are exchanged ({count} cables)"
    if not story.planned:
        return "a cable the plan does not have"
    return _single(view, story)


def _links(view: View, story: Story) -> list[Link]:
    return [link for link in (view.of_end.get(pair[0]) for pair in story.planned) if link is not None]


def _single(view: View, story: Story) -> str:
    tangle = story.tangles[0]
    count = len(tangle.planned)
    kind = _kind(view, tangle.observed)
    if tangle.is_ring and count == 2:
        return f"two cables are swapped ({kind})"
    if tangle.is_ring:
        return f"{count} cables are exchanged in a ring ({kind})"
    if len(tangle.observed) == 1:
        return f"a plug is in the wrong port ({kind})"
    return f"{len(tangle.observed)} cables are shifted ({kind})"


def _kind(view: View, pairs: Sequence[Pair]) -> str:
    """Wrong rail, node, pod, switch or port, by what the NIC or the lower switch should be connected to."""
    kinds = []
    for one, other in pairs:
        near, far = (one, other) if one[0] in view.plan.hosts else (other, one)
        planned = view.far(near)
        kinds.append(_wrong(view, near, planned, far))
    return ", ".join(sorted(set(kinds)))


def _wrong(view: View, near: End, planned: End | None, far: End) -> str:
    if planned is None:
        return "a port without a cable in the plan"
    if planned[0] == far[0]:
        return "wrong port of the same device"
    switch, other = view.plan.switches.get(planned[0]), view.plan.switches.get(far[0])
    if switch is None or other is None:
        return "wrong node"
    if switch.role != other.role:
        return "wrong tier"
    if switch.pod != other.pod:
        return "wrong pod"
    if near[0] in view.plan.hosts and switch.rail != other.rail:
        return "wrong rail"
    return "wrong switch"


def grade(seen: Cabling, story: Story, ends: Iterable[End]) -> Confidence:
    """The weakest evidence in it; a cable that nobody sees is likely at best."""
    grades = [seen.grade.get(end, Confidence.CERTAIN) for end in ends]
    if story.hidden:
        grades.append(Confidence.LIKELY)
    return weaker(*grades) if grades else Confidence.CERTAIN


def evidence(view: View, seen: Cabling, story: Story, doubtful: bool) -> str:
    """Who says so."""
    both = sum(seen.mutual.get(pair[0], False) for pair in story.observed)
    heard = f", {both} of them heard at both ends" if both else ", heard by the switch"
    parts = [f"LLDP on {len(story.observed)} cable(s){heard}"]
    notes = sorted({note for note in (seen.notes.get(end) for pair in story.observed for end in pair) if note})
    parts.extend(notes[:3])
    if story.hidden:
        unseen = some(_pair(view, pair) for pair in story.hidden)
        parts.append(f"not seen, but it must be there if no cable was taken away: {unseen}")
    if doubtful:
        parts.append("against it: sessions or ARP entries of the planned neighbours are up on all of these ports")
    return "; ".join(parts)


def remedy(view: View, story: Story) -> str:
    """What to do, shortest first."""
    steps = list(story.moves)
    tangles = story.tangles
    lines: list[str] = []
    if story.pattern == "devices" and len(steps) > 4:
        names = " and ".join(sorted({device for pair in story.exchanged for device in pair}))
        lines.append(
            f"cheapest: leave the cables and exchange the identities of {names} (name, management address and "
            f"configuration, or the serials in the ledger); else move {len(steps)} plugs:"
        )
    for tangle in tangles:
        lines.extend(_losses(view, story, tangle.options, tangle.extra, tangle.missing))
    lines.append(_steps(view, steps))
    return " ".join(line for line in lines if line)


def _losses(
    view: View,
    story: Story,
    options: Sequence[tuple[Replug, ...]],
    extra: Sequence[Pair | None],
    missing: Sequence[Pair | None],
) -> Iterable[str]:
    if len(story.tangles) != 1:
        return
    chosen = options.index(story.moves)
    out, gap = extra[chosen], missing[chosen]
    if out is not None:
        yield f"Take out the cable {_pair(view, out)}: the plan has none there."
    if gap is not None:
        yield f"The cable {_pair(view, gap)} is missing or dark: plug it in."


def _steps(view: View, steps: Sequence[Replug]) -> str:
    if not steps:
        return ""
    if len(steps) == 2 and steps[0].from_ == steps[1].to and steps[0].to == steps[1].from_:
        here, there = sorted((steps[0].from_, steps[0].to))
        if here[0] == there[0]:
            return f"At {here[0]}: exchange the plugs in {_port(view, here)} and {_port(view, there)}."
        return f"Exchange the plugs in {view.name(here)} and {view.name(there)}."
    shown = [
        f"{number}. take the plug out of {view.name(step.from_)} and put it into {view.name(step.to)}"
        for number, step in enumerate(steps, 1)
    ]
    return some(shown) + "."


def _port(view: View, end: End) -> str:
    return view.name(end).removeprefix(end[0]).strip()


def _claim_dark(
    view: View,
    links: Sequence[Link],
    *,
    place: End,
    observed: str,
    remedy: str,
    evidence: str | None = None,
    proven: bool = False,
    confidence: Confidence | None = None,
) -> Claim:
    first = links[0]
    hosts = sorted({link.b[0] for link in links if link.host})
    rails = sorted({link.rail for link in links if link.rail is not None})
    blocks = any(link.life is Life.SERVICE for link in links) and not proven
    single = len(links) == 1
    finding = Finding(
        code="TOPO-01" if any(link.host for link in links) else "TOPO-02",
        status=Status.UNKNOWN,
        severity=Severity.BLOCK if blocks else Severity.WARN,
        confidence=confidence,
        device=place[0],
        port=place[1] if single else None,
        node=hosts[0] if len(hosts) == 1 else None,
        nic=first.b[1] if first.host and single else None,
        rail=rails[0] if len(rails) == 1 else None,
        nodes=tuple(hosts),
        rails=tuple(rails),
        cable=first.name if single else None,
        expected=some(_pair(view, (link.a, link.b)) for link in links),
        observed=observed,
        evidence=evidence,
        remedy=remedy,
    )
    return Claim(
        Cause.CABLING_DARK,
        finding,
        cables=frozenset(link.name for link in links),
        devices=frozenset(device for link in links for device in (link.a[0], link.b[0])),
    )


def dark(view: View, link: Link) -> Claim:
    """The link is down, so nobody can hear anybody."""
    return _claim_dark(
        view,
        [link],
        place=link.a,
        observed=f"cannot tell where the cable of {view.name(link.a)} goes: the link is down",
        remedy=f"bring the link {view.name(link.a)} - {view.name(link.b)} up (what keeps it down is "
        "a finding of its own), then check again",
    )


def silent_host(view: View, host: str, links: Sequence[Link], proven: bool) -> Claim:
    """A host that sends no LLDP on any NIC: its agent, not its cables."""
    return _claim_dark(
        view,
        links,
        place=links[0].a,
        observed=f"cannot tell the rails of {host}: none of its {len(links)} NICs sends LLDP, though the links are up",
        evidence="the switches resolved the NICs' own addresses on these ports, so the cables are likely right"
        if proven
        else None,
        remedy=f"start the LLDP agent of {host} (lldpd, or the NIC firmware's), then check again",
        proven=proven,
    )


def silent_ports(view: View, device: str, links: Sequence[tuple[Link, End]], proven: bool, one_way: bool) -> Claim:
    """Ports that are up and hear nobody."""
    ports = some(_port(view, end) for _, end in links)
    plural = "ports hear" if len(links) > 1 else "port hears"
    return _claim_dark(
        view,
        [link for link, _ in links],
        place=links[0][1],
        observed=f"cannot tell the cabling of {device} {ports}: the {plural} no LLDP neighbour, though up",
        evidence=_why_likely(one_way) if proven else None,
        remedy=f"look on {device} with `show lldp neighbors`; restart lldp there or at the far end; do not recable",
        proven=proven,
    )


def _why_likely(one_way: bool) -> str:
    if one_way:
        return "the far end does hear this port, as planned: the cable is likely right, one direction is not proven"
    return "the planned neighbour's session or ARP entry is up on it: the cable is likely right, the port not proven"


_DOUBTS = {
    Doubt.UNKNOWN_DEVICE: "hears {rows}, which the plan does not know",
    Doubt.NAMELESS: "hears a neighbour that gives no name the plan knows ({rows})",
    Doubt.AMBIGUOUS: "hears several neighbours ({rows})",
    Doubt.PORT_UNREAD: "hears {rows}, whose port id is no port of that device",
    Doubt.CONTRADICTED: "hears {rows}, but that end hears somebody else",
    Doubt.DUPLICATE: "hears {rows}, which another port hears too",
    Doubt.AGED: "still shows {rows}, which another port has heard since",
}
_DOUBT_REMEDIES = {
    Doubt.UNKNOWN_DEVICE: "if the box is right and only its name differs, set its name (or the plan's); else "
    "follow the cable. A neighbour that was just replaced stays in the table for up to 120 s: check again",
    Doubt.NAMELESS: "give the neighbour its name, or enrol its MAC in the ledger (`railfab trust`); then check again",
    Doubt.AMBIGUOUS: "a cable has two ends: look for an old row (it lives 120 s), a hub or a second agent behind the "
    "port, and check again",
    Doubt.PORT_UNREAD: "the neighbour has not set its port id yet (some minutes after a reload), or sends a name the "
    "plan does not have; check again, then compare `show interfaces alias` there",
    Doubt.CONTRADICTED: "check again after 120 s; if it stays, restart lldp at both ends",
    Doubt.DUPLICATE: "one of the rows is old or a loop: check again after 120 s; if it stays, restart lldp here",
    Doubt.AGED: "check again after 120 s, when old rows are gone",
}


def doubtful(
    view: View, link: Link, doubts: Sequence[tuple[End, Doubt, tuple[Seen, ...]]], proof: bool | None
) -> Claim:
    """Somebody is heard, but who or where is not settled."""
    end, doubt, rows = doubts[0]
    planned = view.far(end)
    if doubt is Doubt.PORT_UNREAD and planned is not None and rows[0].device != planned[0]:
        return _wrong_device(view, link, end, rows[0])
    said = _DOUBTS[doubt].format(rows=some(row.words for row in rows))
    return _claim_dark(
        view,
        [link],
        place=end,
        observed=f"cannot tell: {view.name(end)} {said}",
        evidence="the planned neighbour's session or ARP entry is up on it: the cable is likely right"
        if proof
        else None,
        remedy=_DOUBT_REMEDIES[doubt],
        proven=proof is True,
        confidence=Confidence.WEAK,
    )


def _wrong_device(view: View, link: Link, end: End, seen: Seen) -> Claim:
    """The neighbour is a known device, but not the planned one; only its port is not readable."""
    claim = _claim_dark(
        view,
        [link],
        place=end,
        observed=f"wrong device: {view.name(end)} hears {seen.device} (port {seen.row.port_id or 'not said'})",
        evidence=f"LLDP; {seen.note}" if seen.note else "LLDP",
        remedy=f"follow the cable in {view.name(end)}: it ends at {seen.device}",
        confidence=weaker(seen.grade, Confidence.LIKELY),
    )
    finding = dataclasses.replace(claim.finding, status=Status.FAIL)
    return dataclasses.replace(claim, cause=Cause.CABLING_WRONG, finding=finding)
