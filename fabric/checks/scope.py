"""Which part of a fabric to judge: by pod, rack, rail, role or name."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from fabric.errors import InputError, Problem
from fabric.values.plan import Plan


def scope_devices(plan: Plan, words: Iterable[str]) -> frozenset[str]:
    """Switches and hosts that `words` mean: `pod=1`, `rack=R12`, `rail=3`, `role=spine`, or a name (`p1-*`).

    Several words add up. InputError for a word that means nobody.
    """
    found: set[str] = set()
    problems = []
    for word in words:
        devices = _devices(plan, word.strip())
        if not devices:
            problems.append(
                Problem(f"scope {word!r} holds no device", "use pod=N, rack=NAME, rail=N, role=leaf|spine or a name")
            )
        found |= devices
    if problems:
        raise InputError(problems)
    return frozenset(found)


def _devices(plan: Plan, word: str) -> set[str]:
    key, equals, value = word.partition("=")
    if not equals:
        return {name for name in (*plan.switches, *plan.hosts) if fnmatchcase(name, word)}
    switches = plan.switches.values()
    hosts = plan.hosts.values()
    if key == "pod":
        return {one.name for one in switches if str(one.pod) == value} | {
            one.name for one in hosts if str(one.pod) == value
        }
    if key == "rack":
        return {one.name for one in switches if one.rack == value} | {one.name for one in hosts if one.rack == value}
    if key == "rail":
        return {one.name for one in switches if str(one.rail) == value}
    if key == "role":
        return {one.name for one in switches if one.role.value == value}
    return set()
