"""How full the ASIC's forwarding tables are (ECMP-05), by CRM: near the end is a warning, refused routes fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from fabric.checks.view import View
from fabric.diagnose.claim import Cause, Claim
from fabric.values.finding import Confidence, Finding, Severity, Status

# CRM's name -> ours. Only tables that routing fills.
_TABLES: dict[str, str] = {
    "nexthop_group": "ECMP groups",
    "nexthop_group_member": "ECMP group members",
    "ipv4_nexthop": "IPv4 next hops",
    "ipv6_nexthop": "IPv6 next hops",
    "ipv4_neighbor": "IPv4 neighbours",
    "ipv6_neighbor": "IPv6 neighbours",
    "ipv4_route": "IPv4 routes",
    "ipv6_route": "IPv6 routes",
}


def judge(view: View, device: str, refused: Sequence[Claim]) -> tuple[list[Claim], int]:
    """Claims about the tables of one switch, and how many have room.

    `refused`: claims about routes that the ASIC of this switch does not have as the layers above do. A full table
    explains them: then they come back inside its own claim; else they come back as they are.
    """
    state = view.state(device)
    if state is None or state.crm is None:
        view.skip("how full the ASIC's tables are", "a switch gave no CRM counters")
        return list(refused), 0
    full: list[tuple[str, int]] = []
    close: list[tuple[str, int, int]] = []
    room = 0
    for name in _TABLES:
        used, free = state.crm.get(f"{name}_used"), state.crm.get(f"{name}_available")
        if used is None or free is None or used + free == 0:
            continue  # Not counted by this ASIC.
        if free == 0:
            full.append((name, used))
        elif used > view.limits.table_share * (used + free):
            close.append((name, used, used + free))
        else:
            room += 1
    claims = [] if full and refused else list(refused)
    if full:
        claims.append(_full(view, device, full, refused))
    if close:
        claims.append(_close(view, device, close))
    return claims, room


def _full(view: View, device: str, full: list[tuple[str, int]], refused: Sequence[Claim]) -> Claim:
    said = " and ".join(f"{_TABLES[name]} ({used:,} used, none free)" for name, used in full)
    after = "the ASIC lacks routes that the RIB has" if refused else "nothing is missing yet, the next change will be"
    base = _finding(view, device, f"{device}: the ASIC's table is full: {said}; {after}")
    fails = any(claim.finding.status is Status.FAIL for claim in refused)
    finding = dataclasses.replace(
        base,
        status=Status.FAIL if fails else Status.WARN,
        severity=Severity.BLOCK if fails else Severity.WARN,
        confidence=Confidence.LIKELY if refused else Confidence.CERTAIN,
        consequences=tuple(claim.finding for claim in refused),
    )
    return Claim(Cause.ECMP, finding, devices=frozenset({device}))


def _close(view: View, device: str, close: list[tuple[str, int, int]]) -> Claim:
    said = ", ".join(f"{_TABLES[name]} {used:,} of {size:,} ({used / size:.0%})" for name, used, size in close)
    return Claim(Cause.BALANCE, _finding(view, device, f"{device}: {said}"), devices=frozenset({device}))


def _finding(view: View, device: str, observed: str) -> Finding:
    rail = view.plan.switches[device].rail
    return Finding(
        code="ECMP-05",
        status=Status.WARN,
        severity=Severity.WARN,
        confidence=Confidence.CERTAIN,
        device=device,
        rail=rail,
        rails=(rail,) if rail is not None else (),
        expected=f"at most {view.limits.table_share:.0%} of each forwarding table used",
        observed=observed,
        evidence="COUNTERS_DB CRM:STATS, as old as CRM's polling interval",
        remedy=f"on {device}: `crm show resources all`. Routes: `vtysh -c 'show ip route summary'` far above what "
        "`railfab design INTENT` counts means routes of others leaked in. ECMP groups: prefixes whose next hops differ "
        "without need take one each (a spine half drained: `TSC` on the spines; links down: the other findings). "
        "Neither: "
        "the fabric needs a HwSKU with larger tables",
    )
