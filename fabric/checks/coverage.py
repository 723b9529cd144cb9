"""What we have no data for: never healthy (COV-01), unless its neighbours prove that the device is down (DEV-01)."""

from __future__ import annotations

from collections import defaultdict

from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import LifeState

# check -> parts of SwitchState it cannot do without. Where the kernel's routes cannot be read, APPL_DB still can.
_NEEDS: dict[str, tuple[str, ...]] = {
    "cabling": ("lldp",),
    "links": ("ports",),
    "bgp": ("bgp",),
    "ecmp": ("rib", "appl", "asic"),
    "roce": ("config", "queues"),
}
_ROUTING = frozenset({"bgp", "rib"})
_EXPECTED = (LifeState.IN_SERVICE, LifeState.INSTALLED)


def expected(view: View) -> int:
    """How many switches in scope should have answered."""
    return sum(switch.state in _EXPECTED for switch in view.switches.values())


def missing(view: View) -> list[str]:
    """Switches in scope that should have answered and did not."""
    return [
        name
        for name, switch in view.switches.items()
        if switch.state in _EXPECTED and name not in view.snapshot.switches
    ]


def judge(view: View) -> Judged:
    """Claims for dead devices, silent devices and holes in what a device said."""
    judged = Judged()
    absent = set(missing(view))
    for name in sorted(absent):
        judged.claims.append(_absent(view, name))
    for name in view.switches:
        if name not in absent:
            judged.claims.extend(_holes(view, name))
    if view.asks("links"):
        _dark_hosts(view, judged)
    return judged


def _links_of(view: View, device: str) -> list[Link]:
    names = view.plan.switches[device].ports if device in view.plan.switches else view.plan.hosts[device].nics
    links = (view.of_end.get((device, name)) for name in names)
    return [link for link in links if link is not None and link.life in (Life.SERVICE, Life.INSTALLED)]


def _absent(view: View, device: str) -> Claim:
    """A switch without an answer: dead when every neighbour that can tell sees its link down."""
    links = _links_of(view, device)
    seen = [view.up(link.b if link.a[0] == device else link.a) for link in links]
    up, down = sum(one is True for one in seen), sum(one is False for one in seen)
    reason = view.snapshot.missing.get(device, "nothing collected from it")
    switch = view.plan.switches[device]
    hosts = tuple(sorted({link.b[0] for link in links if link.host}))
    dead = down > 0 and up == 0
    finding = Finding(
        code="DEV-01" if dead else "COV-01",
        status=Status.FAIL if dead else Status.UNKNOWN,
        # Without hosts of its own a switch that is down costs capacity (BGP-05 says how much), not a rail.
        severity=Severity.WARN if not hosts and (dead or (up and not down)) else Severity.BLOCK,
        confidence=Confidence.CERTAIN if dead and down > 1 else Confidence.LIKELY if dead else None,
        device=device,
        rail=switch.rail,
        nodes=hosts,
        rails=(switch.rail,) if switch.rail is not None else (),
        expected=f"{device} answers",
        observed=f"{device} is down: no answer, and no link to it is up"
        if dead
        else f"no data from {device}: {reason}",
        evidence=f"{down} of {down} neighbour ports that can be seen are down; management: {reason}"
        if dead
        else f"{up} of {up + down} neighbour ports that can be seen are up: it still forwards"
        if up
        else None,
        remedy=f"look at the console and power of {device}; every finding below clears with it"
        if dead
        else f"reach {device} ({switch.mgmt_address.split('/')[0]}) and collect again; nothing about it was judged",
    )
    return Claim(
        Cause.DEVICE_DOWN if dead else Cause.COVERAGE,
        finding,
        cables=frozenset(link.name for link in links),
        devices=frozenset({device}),
    )


def _holes(view: View, device: str) -> list[Claim]:
    """One claim for the missing parts of what a switch said, routing apart (a dead bgpd explains it)."""
    state = view.snapshot.switches[device]
    gaps: dict[bool, list[str]] = defaultdict(list)
    reasons: dict[bool, list[str]] = defaultdict(list)
    for name, parts in _NEEDS.items():
        if not view.asks(name) or (name == "roce" and not view.plan.qos.lossless):
            continue
        for part in parts:
            reason = state.hole(part)
            if reason is not None:
                routing = part in _ROUTING
                gaps[routing].append(part)
                reasons[routing].append(reason)
    claims = []
    for routing, parts_missing in gaps.items():
        why = "; ".join(dict.fromkeys(reasons[routing]))
        finding = Finding(
            code="COV-01",
            status=Status.UNKNOWN,
            severity=Severity.BLOCK,
            device=device,
            expected=f"{', '.join(parts_missing)} of {device}",
            observed=f"cannot tell: {device} gave no {', '.join(parts_missing)} ({why})",
            remedy="collect again; if it stays, run the command by hand on the switch (`railfab explain COV-01`)",
        )
        claims.append(
            Claim(
                Cause.NO_ROUTING_DATA if routing else Cause.COVERAGE,
                finding,
                cables=frozenset(link.name for link in _links_of(view, device))
                if "lldp" in parts_missing
                else frozenset(),
                devices=frozenset({device}),
            )
        )
    return claims


def _dark_hosts(view: View, judged: Judged) -> None:
    """A host none of whose NICs has a link is one dead host, not eight cables."""
    for host in view.plan.hosts.values():
        if host.state is LifeState.PLANNED or not view.scope.holds(
            host.name, *(nic.switch for nic in host.nics.values())
        ):
            continue
        links = _links_of(view, host.name)
        if len(links) < view.limits.node_down_nics:
            continue
        for link in links:
            port = view.port(link.a)
            if port is None or port.oper_up is not False or port.admin_up is False or view.hold_on(link.a):
                break
        else:
            judged.claims.append(_dark_host(host.name, links))


def _dark_host(host: str, links: list[Link]) -> Claim:
    in_service = any(link.life is Life.SERVICE for link in links)
    finding = Finding(
        code="DEV-01",
        status=Status.FAIL,
        severity=Severity.BLOCK if in_service else Severity.WARN,
        confidence=Confidence.LIKELY,
        node=host,
        nodes=(host,),
        rails=tuple(sorted({link.rail for link in links if link.rail is not None})),
        expected=f"{host} has link on its {len(links)} NICs",
        observed=f"{host} is dark: none of its {len(links)} NICs has link",
        evidence="; ".join(f"{link.a[0]} {link.a[1]} down" for link in links[:8]),
        remedy=f"look at the power and console of {host}; if it is out on purpose, the intent must say so",
    )
    return Claim(Cause.DEVICE_DOWN, finding, cables=frozenset(link.name for link in links), devices=frozenset({host}))
