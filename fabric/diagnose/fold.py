"""Fold claims: what another one causes goes under it; whatever is left stands on top.

Each claim may have one parent: the deepest cause that explains its kind and shares a cable, an end or a device
with it. Nothing is dropped; a consequence keeps its code, place and words. A lost link that overloads what is left
blocks jobs, so that severity goes up to the cause.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from fabric.diagnose.claim import Cause, Claim
from fabric.values.finding import Finding, Severity, Status

_LIGHT = frozenset({Cause.LINK_DOWN, Cause.FLAP, Cause.SIGNAL, Cause.OPTICS})
_ROUTED = frozenset({Cause.BGP_SESSION, Cause.ROUTE_LOST, Cause.NEIGHBOUR, Cause.ECMP, Cause.OVERLOAD})

# cause -> kinds it explains on the same cable or end
_ON_CABLE: dict[Cause, frozenset[Cause]] = {
    Cause.DEVICE_DOWN: _LIGHT
    | _ROUTED
    | {Cause.CABLING_DARK, Cause.CONGESTION, Cause.STORM, Cause.QOS_CONFIG, Cause.MODULE},
    Cause.CABLING_WRONG: _LIGHT
    | {Cause.LINK_MISMATCH}
    | _ROUTED
    # A switch of whose sessions none is up because every one of its cables goes elsewhere: two switches exchanged.
    | {Cause.BGP_DEVICE, Cause.CABLING_DARK, Cause.QOS_CONFIG, Cause.MODULE},
    Cause.MODULE: _LIGHT | _ROUTED | {Cause.CABLING_DARK},
    Cause.LINK_MISMATCH: _LIGHT | _ROUTED | {Cause.CABLING_DARK},
    Cause.LINK_DOWN: _LIGHT | _ROUTED | {Cause.CABLING_DARK, Cause.CONGESTION},
    Cause.RESTART: frozenset({Cause.FLAP}),
    Cause.FLAP: frozenset({Cause.BGP_SESSION, Cause.SIGNAL, Cause.OPTICS, Cause.CABLING_DARK, Cause.CONGESTION}),
    Cause.MTU: _ROUTED,
    Cause.BGP_DEVICE: _ROUTED,
    Cause.BGP_SESSION: frozenset({Cause.ROUTE_LOST, Cause.NEIGHBOUR, Cause.ECMP, Cause.OVERLOAD}),
    Cause.NEIGHBOUR: frozenset({Cause.ECMP}),
    Cause.QOS_CONFIG: frozenset({Cause.STORM, Cause.CONGESTION}),
    Cause.STORM: frozenset({Cause.CONGESTION, Cause.BALANCE}),
    Cause.SIGNAL: frozenset({Cause.OPTICS}),
    Cause.COVERAGE: frozenset({Cause.CABLING_DARK}),
}

# cause -> kinds about a whole device that it explains for the same device
_ON_DEVICE: dict[Cause, frozenset[Cause]] = {
    Cause.DEVICE_DOWN: frozenset(
        {Cause.RESTART, Cause.BGP_DEVICE, Cause.COVERAGE, Cause.NO_ROUTING_DATA, Cause.ROUTE_LOST, Cause.ECMP}
    ),
    Cause.BGP_DEVICE: frozenset({Cause.NO_ROUTING_DATA, Cause.ROUTE_LOST, Cause.ECMP}),
}


def fold(claims: Iterable[Claim]) -> tuple[Finding, ...]:
    """Findings to stand on top, worst first, each with its consequences inside."""
    ranked = sorted(claims, key=_rank)
    families = _Families(ranked)
    children: dict[int, list[int]] = defaultdict(list)
    top = []
    for index, claim in enumerate(ranked):
        parent = families.parent(index, claim)
        if parent is None:
            top.append(index)
        else:
            children[parent].append(index)

    def build(index: int) -> Finding:
        finding = ranked[index].finding
        under = children.get(index, ())
        if not under:
            return finding
        below = tuple(build(child) for child in under)
        worst = [one.severity for child, one in zip(under, below) if ranked[child].cause is Cause.OVERLOAD]
        severity = min((finding.severity, *worst), key=_SEVERITY_ORDER.__getitem__)
        return dataclasses.replace(finding, severity=severity, consequences=finding.consequences + below)

    return tuple(sorted((build(index) for index in top), key=order))


def _rank(claim: Claim) -> tuple[int, str, str, str, str]:
    finding = claim.finding
    return (
        claim.cause,
        finding.device or finding.node or "",
        finding.port or finding.nic or "",
        finding.code,
        finding.observed or "",
    )


_STATUS_ORDER = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.WARN: 2, Status.PASS: 3}
_SEVERITY_ORDER = {Severity.BLOCK: 0, Severity.WARN: 1, Severity.INFO: 2}


def order(finding: Finding) -> tuple[int, int, str, str, str]:
    """Sort key of findings for people: failures first, what blocks a job before what does not, then by place."""
    return (
        _STATUS_ORDER[finding.status],
        _SEVERITY_ORDER[finding.severity],
        finding.code,
        finding.device or finding.node or "",
        finding.port or finding.nic or "",
    )


class _Families:
    """Finds the parent of a claim among the claims ranked before it."""

    def __init__(self, ranked: Sequence[Claim]) -> None:
        self._ranked = ranked
        self._by_cable: dict[str, list[int]] = defaultdict(list)
        self._by_device: dict[str, list[int]] = defaultdict(list)
        self._lost: dict[str, int] = {}
        self._passing_on: dict[str, Claim] = {}
        for index, claim in enumerate(ranked):
            if claim.cause in _ON_CABLE:
                for cable in claim.cables:
                    self._by_cable[cable].append(index)
            if claim.cause in _ON_DEVICE:
                for device in claim.devices:
                    self._by_device[device].append(index)
            if claim.cause is Cause.ROUTE_LOST:
                for device in claim.devices:
                    if claim.blamed:
                        self._passing_on.setdefault(device, claim)
                    else:
                        self._lost.setdefault(device, index)

    def parent(self, index: int, claim: Claim) -> int | None:
        """The deepest cause that explains the whole of `claim`; a claim explained in part stays on top."""
        whole = self._of_device(index, claim)
        if whole is not None:
            return whole
        origin = self._origin(claim, frozenset())
        if origin is not None and origin != index:
            return origin
        if not claim.cables:
            return None
        best: int | None = None
        for cable in claim.cables:
            found_here = next(self._on_cable(cable, index, claim.cause), None)
            if found_here is None:
                return None
            best = found_here if best is None else min(best, found_here)
        return best

    def _origin(self, claim: Claim, been: frozenset[str]) -> int | None:
        """Where a loss that a claim blames on others began; None when one of them has no story of its own.

        A leaf misses what its spine misses because another leaf no longer announces it: that leaf is the story.
        """
        found: list[int] = []
        for device in claim.blamed:
            begun = self._lost.get(device)
            if begun is None and device not in been and device in self._passing_on:
                begun = self._origin(self._passing_on[device], been | {device})
            if begun is None:
                return None
            found.append(begun)
        return min(found, default=None)

    def _of_device(self, index: int, claim: Claim) -> int | None:
        for device in sorted(claim.devices):
            for candidate in self._by_device.get(device, ()):
                if candidate < index and claim.cause in _ON_DEVICE[self._ranked[candidate].cause]:
                    return candidate
        return None

    def _on_cable(self, cable: str, index: int, cause: Cause) -> Iterator[int]:
        for candidate in self._by_cable.get(cable, ()):
            if candidate >= index:
                return
            if cause in _ON_CABLE[self._ranked[candidate].cause]:
                yield candidate
