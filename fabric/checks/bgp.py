"""BGP sessions against the Plan (BGP-01): one a fabric cable, Established, right ASN, prefixes arriving.

A device none of whose sessions is up is one claim, not one a session.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from fabric.checks._cabling_words import some
from fabric.checks.judged import Judged
from fabric.checks.overload import overload
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import PlannedPort
from fabric.values.snapshot import BgpPeer


@dataclass(slots=True)
class _Bad:
    """A session that is not as planned: what each end says."""

    link: Link
    reasons: list[str]
    at: End


def judge(view: View) -> Judged:
    """Judge every planned session in scope from both its ends."""
    judged = Judged()
    bad: list[_Bad] = []
    fine: set[str] = set()
    for link in view.links:
        if link.life is not Life.SERVICE or link.a_port.peer_asn is None:
            continue
        if view.hold_on(link.a) or view.hold_on(link.b):
            continue
        reasons: list[str] = []
        place = link.a
        told = False
        for end, port in session_ends(link):
            said = _end(view, link, end, port)
            if said is None:
                continue
            if said:
                if not reasons:
                    place = end
                reasons.append(said)
            else:
                judged.passed += 1
            told = True
        if reasons:
            bad.append(_Bad(link, reasons, place))
        elif told:
            fine.update((link.a[0], link.b[0]))
    _tell(view, bad, fine, judged)
    _strangers(view, judged)
    lost = {one.link.name for one in bad}
    lost.update(link.name for link in view.links if _is_dark(view, link))
    overload(view, lost, judged)
    return judged


def _is_dark(view: View, link: Link) -> bool:
    return not link.host and link.life is Life.SERVICE and False in (view.up(link.a), view.up(link.b))


def session_ends(link: Link) -> list[tuple[End, PlannedPort]]:
    """Both switch ends of a fabric cable with their planned ports."""
    ends = [(link.a, link.a_port)]
    if isinstance(link.b_port, PlannedPort):
        ends.append((link.b, link.b_port))
    return ends


def peers_of(view: View, end: End, port: PlannedPort) -> list[BgpPeer] | None:
    """What the switch at `end` says of the session(s) over it; None when it was not asked or gave no answer."""
    state = view.state(end[0])
    if state is None or state.bgp is None:
        return None
    keys = (port.name,) if view.plan.routing.unnumbered else bare(port.peer_addresses)
    return [state.bgp[key] for key in keys if key in state.bgp]


@cache
def bare(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Addresses without their prefix length."""
    return tuple(address.partition("/")[0] for address in addresses)


def session_up(view: View, link: Link) -> bool | None:
    """Whether routes flow over a fabric cable: up at every end that can tell; None when neither can."""
    said: bool | None = None
    for end, port in session_ends(link):
        peers = peers_of(view, end, port)
        if peers is None:
            continue
        if not any(peer.state == "Established" and not peer.policy_blocked for peer in peers):
            return False
        said = True
    return said


def _end(view: View, link: Link, end: End, port: PlannedPort) -> str | None:
    """What is wrong at one end; "" when nothing is, None when it cannot tell."""
    peers = peers_of(view, end, port)
    if peers is None:
        return None
    if not peers:
        return f"{end[0]} has no session over {end[1]}"
    wrong = []
    for peer in peers:
        if peer.state != "Established":
            detail = "shut by hand" if peer.admin_down else peer.last_reset
            wrong.append(f"{end[0]} says {peer.state} to {peer.peer}" + (f" ({detail})" if detail else ""))
        elif peer.remote_asn is not None and peer.remote_asn != port.peer_asn:
            wrong.append(f"{end[0]} has AS {peer.remote_asn} at {peer.peer}, planned is {port.peer_asn}")
        elif peer.policy_blocked:
            wrong.append(f"{end[0]} exchanges nothing with {peer.peer}: no policy (Policy)")
        elif peer.prefixes_received == 0 and _announces(view, link, end):
            wrong.append(f"{end[0]} gets no prefix from {peer.peer}")
        elif view.plan.routing.bfd and (peer.bfd_state or "").lower() != "up":
            wrong.append(f"{end[0]} has no BFD session up with {peer.peer} ({peer.bfd_state or 'none'})")
    return "; ".join(wrong)


def _announces(view: View, link: Link, end: End) -> bool:
    far = link.b if link.a == end else link.a
    return bool(view.plan.switches[far[0]].networks)


def _tell(view: View, bad: list[_Bad], fine: set[str], judged: Judged) -> None:
    """Whole devices first (those that say so themselves, then those with most), then single sessions.

    `fine` are devices with at least one session up. Between two dead bgpd nobody can tell, so bad ones are counted.
    """
    by_device: dict[str, list[_Bad]] = defaultdict(list)
    for one in bad:
        for end, _ in session_ends(one.link):
            by_device[end[0]].append(one)
    told: set[str] = set()
    for device in sorted(by_device, key=lambda name: (not _speechless(view, name), -len(by_device[name]), name)):
        mine = [one for one in by_device[device] if one.link.name not in told]
        if len(mine) < 2 or device in fine:
            continue
        if not any(view.up(one.link.a) is not False and view.up(one.link.b) is not False for one in mine):
            continue  # All its links are dark: that is the story.
        judged.claims.append(_device(view, device, by_device[device]))
        told.update(one.link.name for one in mine)
    for one in bad:
        judged.claims.append(_session(view, one))


def _speechless(view: View, device: str) -> bool:
    """Whether the switch answered, but its bgpd did not."""
    state = view.state(device)
    return state is not None and state.bgp is None


def _device(view: View, device: str, bad: list[_Bad]) -> Claim:
    state = view.state(device)
    hole = state.hole("bgp") if state is not None else None
    switch = view.plan.switches[device]
    finding = Finding(
        code="BGP-01",
        status=Status.FAIL,
        severity=Severity.BLOCK if _hosts_of(view, device) else Severity.WARN,
        confidence=Confidence.CERTAIN,
        device=device,
        rail=switch.rail,
        rails=(switch.rail,) if switch.rail is not None else (),
        nodes=_hosts_of(view, device),
        expected=f"{len(bad)} sessions of {device} Established",
        observed=f"none of the {len(bad)} sessions of {device} is up, though its links are"
        + (f": {hole}" if hole else ""),
        evidence=some(bad[0].reasons),
        remedy=f"on {device}: `docker ps` and `docker exec bgp supervisorctl status`: bgpd not RUNNING: `sudo "
        f"systemctl "
        "restart bgp`; running: `vtysh -c 'show bgp summary'` must show ASN "
        f"{switch.asn}, and `railfab drift INTENT` what else differs",
    )
    return Claim(
        Cause.BGP_DEVICE,
        finding,
        cables=frozenset(one.link.name for one in bad),
        devices=frozenset({device}),
    )


def _hosts_of(view: View, device: str) -> tuple[str, ...]:
    links = (view.of_end.get((device, name)) for name in view.plan.switches[device].ports)
    return tuple(sorted({link.b[0] for link in links if link is not None and link.host and link.life is Life.SERVICE}))


def _session(view: View, one: _Bad) -> Claim:
    link = one.link
    finding = Finding(
        code="BGP-01",
        status=Status.FAIL,
        severity=Severity.WARN,
        confidence=Confidence.CERTAIN,
        device=one.at[0],
        port=one.at[1],
        cable=link.name,
        expected=f"session {view.name(link.a)} - {view.name(link.b)} Established with prefixes",
        observed=some(one.reasons),
        evidence="`show bgp summary json` at " + " and ".join(sorted({end[0] for end, _ in session_ends(link)})),
        remedy=_remedy(view, link, one.at),
    )
    return Claim(Cause.BGP_SESSION, finding, cables=frozenset({link.name}), devices=frozenset({link.a[0], link.b[0]}))


def _remedy(view: View, link: Link, at: End) -> str:
    """What to type at the end that says what is wrong, by what it says."""
    end, port = next((one for one in session_ends(link) if one[0] == at), session_ends(link)[0])
    peers = peers_of(view, end, port)
    if not peers:
        return (
            f"{end[0]} has no such neighbour: `railfab drift INTENT` shows the lines; `railfab plan` and `apply` them"
        )
    peer = next((one for one in peers if one.state != "Established"), peers[0])
    show = f"`vtysh -c 'show bgp neighbors {peer.peer}'`"
    if peer.admin_down:
        return (
            f"on {end[0]}: ask who shut it (`railfab hold {end[0]}:{end[1]}` keeps it); else `vtysh -c 'configure "
            f"terminal' -c 'router bgp' -c 'no neighbor {peer.peer} shutdown'`"
        )
    if peer.state != "Established":
        return (
            f"on {end[0]}: `ping -c 3 {peer.peer}` (no answer: address or MTU of the far end), then {show}: `Last "
            f"reset` and the notification in it say wrong ASN, hold timer or shut; the same at the far end of "
            f"{link.name}"
        )
    if (peer.remote_asn is not None and peer.remote_asn != port.peer_asn) or peer.policy_blocked:
        return f"`railfab drift INTENT` shows the lines of {end[0]} and its neighbour; `railfab plan` and `apply` them"
    if peer.prefixes_received == 0:
        return (
            f"on {end[0]}: {show}: an inbound prefix-list or route-map takes nothing (one that is named but not "
            f"defined refuses all); at the far end `advertised-routes` for us is empty: drained (`TSC`) or filtered "
            "there; `railfab drift INTENT` names the line"
        )
    return f"on {end[0]}: `vtysh -c 'show bfd peers'` and `docker exec bgp supervisorctl status bfdd`"


def _strangers(view: View, judged: Judged) -> None:
    """Established sessions that the Plan does not have."""
    for name, switch in view.switches.items():
        state = view.state(name)
        if state is None or state.bgp is None:
            continue
        planned: set[str] = set()
        for port in switch.ports.values():
            planned.add(port.name)
            planned.update(address.partition("/")[0] for address in port.peer_addresses)
        extra = [key for key, peer in state.bgp.items() if key not in planned and peer.state == "Established"]
        if extra:
            finding = Finding(
                code="BGP-01",
                status=Status.WARN,
                severity=Severity.WARN,
                confidence=Confidence.CERTAIN,
                device=name,
                expected="only sessions of the plan",
                observed=f"{name} has {len(extra)} session(s) that the plan does not have: {some(sorted(extra))}",
                remedy=f"on {name}: `vtysh -c 'configure terminal' -c 'router bgp' -c 'no neighbor {min(extra)}'` "
                f"when nobody "
                "needs it; else put it into the intent",
            )
            judged.claims.append(Claim(Cause.LIFE, finding, devices=frozenset({name})))
