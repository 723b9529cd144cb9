"""From the running FRR to the wanted one: lines that differ, the vtysh commands in order, and what each costs.

Stock bgp containers have no `frr-reload.py`, so this is our own. Commands keep what stands: a changed setting is
given anew (never `no` first), definitions come before their users and go after them, and a peer that goes takes one
command. bgpd is never restarted for what a command can do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fabric.change.frr_impact import classify
from fabric.change.frr_text import FrrConfig, Path, added_by_sonic, parse, set_at_start
from fabric.values.change import Impact, Step

# Lines of which a context holds one a key: giving the new one replaces the old one.
_SETTINGS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(hostname|log syslog|log facility|log file|fpm address|zebra nexthop-group keep|ip router-id)\b",
        r"(ip(?:v6)? protocol \S+ route-map)\b",
        r"(ip(?:v6)? prefix-list \S+ seq \d+)\b",
        r"(bgp router-id|bgp cluster-id|timers bgp|bgp graceful-restart \S+-time|coalesce-time)\b",
        r"(neighbor \S+ remote-as)\b",
        r"(neighbor \S+ (?:description|password|ebgp-multihop|update-source|advertisement-interval|local-as))\b",
        r"(neighbor \S+ timers connect)\b",
        r"(neighbor \S+ timers) \d",
        r"(maximum-paths ibgp|maximum-paths)\b",
        r"(neighbor \S+ (?:maximum-prefix|weight|allowas-in))\b",
        r"(match (?:ip|ipv6) (?:address|next-hop)(?: prefix-list)?)\b",
        r"(match \S+)\b",
        r"(set (?:ip|ipv6) next-hop)\b",
        r"(set (?:extcommunity \S+|large-community|community|\S+))\b",
        r"(description|on-match|call)\b",
        r"(ipv6 nd ra-interval)\b",
    )
)
_DIRECTED = re.compile(r"(neighbor \S+ (?:route-map|prefix-list|filter-list|distribute-list)) \S+ (in|out)$")
_PEER = re.compile(r"neighbor (\S+) ")
_MEMBER = re.compile(r"neighbor (\S+) (?:interface )?peer-group (\S+)$")


@dataclass(frozen=True, slots=True)
class FrrChange:
    """Commands for `vtysh -f` (configuration mode, contexts entered and left) and the steps they amount to."""

    commands: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def impact(self) -> Impact:
        """The worst step's class."""
        return max((step.impact for step in self.steps), default=Impact.NONE)


@dataclass(slots=True)
class _Context:
    """What changes in one context. `replaced` pairs old and new lines of one setting."""

    path: Path
    added: list[str]
    removed: list[str]
    replaced: list[tuple[str, str]]
    comes: bool = False
    goes: bool = False


def frr_diff(wanted_text: str, running_text: str) -> FrrChange:
    """Compare frr.conf as it must be with `show running-config`; empty when they mean the same."""
    wanted, running = parse(wanted_text), parse(running_text)
    contexts = list(_contexts(wanted, running))
    steps = [step for context in contexts for step in _steps(context, running)]
    regrouped = _regrouped(wanted, running)
    if regrouped:
        # A peer that leaves its group loses all it has (peer_group_unbind), so it is made anew, line by line.
        contexts = list(_contexts(wanted, _without(running, regrouped)))
    commands = [*_commands(contexts, wanted, running, regrouped)]
    return FrrChange(tuple(commands), tuple(steps))


def setting(line: str) -> str | None:
    """What a line sets, when giving another value replaces it; None for lines that stand side by side."""
    directed = _DIRECTED.match(line)
    if directed:
        return f"{directed[1]} {directed[2]}"
    for pattern in _SETTINGS:
        match = pattern.match(line)
        if match:
            return match[1]
    return None


def negated(line: str) -> str:
    """The command that takes a line away."""
    if line.startswith("no "):
        return line.removeprefix("no ")
    words = line.split()
    if words[0] == "neighbor" and len(words) > 2:
        if words[2] == "interface":
            return f"no neighbor {words[1]} interface"
        if words[2] in ("description", "password", "maximum-prefix"):
            return f"no neighbor {words[1]} {words[2]}"
    if words[0] == "description":
        return "no description"
    return f"no {line}"


def _contexts(wanted: FrrConfig, running: FrrConfig) -> Iterator[_Context]:
    for path in [*wanted.contexts, *(path for path in running.contexts if path not in wanted.contexts)]:
        want, have = wanted.lines(path), running.lines(path)
        comes, goes = path not in running.contexts, path not in wanted.contexts
        if goes and (path[:1] in ((),) or added_by_sonic(path, "")):
            continue
        have_set, want_set = frozenset(have), frozenset(want)
        added = [line for line in want if line not in have_set and not set_at_start(path, line)]
        removed = [
            line
            for line in have
            if line not in want_set and not added_by_sonic(path, line) and not set_at_start(path, line)
        ]
        replaced = []
        by_setting = {key: line for line in removed if (key := setting(line)) is not None}
        for line in list(added):
            old = by_setting.get(setting(line) or "")
            if old is not None:
                replaced.append((old, line))
                added.remove(line)
                removed.remove(old)
        if goes and path[0].startswith("interface ") and not removed:
            continue
        if added or removed or replaced or comes or goes:
            yield _Context(path, added, removed, replaced, comes, goes)


def _regrouped(wanted: FrrConfig, running: FrrConfig) -> frozenset[str]:
    """Peers that stay but are in another group, or in none."""
    there, then = _membership(running), _membership(wanted)
    return frozenset(peer for peer, group in there.items() if peer in wanted.peers() and then.get(peer) != group)


def _membership(config: FrrConfig) -> dict[str, str]:
    return {peer: group for group in config.groups() for peer in config.members(group)}


def _without(config: FrrConfig, peers: frozenset[str]) -> FrrConfig:
    return FrrConfig(
        {path: [line for line in lines if _peer_of(line) not in peers] for path, lines in config.contexts.items()}
    )


def _commands(
    contexts: Sequence[_Context], wanted: FrrConfig, running: FrrConfig, regrouped: frozenset[str]
) -> Iterator[str]:
    top = next((one for one in contexts if not one.path), None)
    maps = [one for one in contexts if one.path and one.path[0].startswith("route-map ")]
    bgp = [one for one in contexts if one.path and one.path[0].startswith("router bgp ")]
    rest = [one for one in contexts if one.path and one not in maps and one not in bgp]
    # What others lean on first.
    if top is not None:
        yield from (line for line in [*(new for _, new in top.replaced), *top.added] if not _leans(line))
    for one in maps:
        if not one.goes:
            yield from _enter(one.path, [*map(negated, one.removed), *(new for _, new in one.replaced), *one.added])
    yield from _bgp(bgp, wanted, running, regrouped)
    for one in rest:
        yield from _enter(one.path, [*map(negated, one.removed), *(new for _, new in one.replaced), *one.added])
    if top is not None:
        yield from (line for line in [*(new for _, new in top.replaced), *top.added] if _leans(line))
    # What nobody leans on any more last.
    if top is not None:
        yield from (negated(line) for line in top.removed if _leans(line))
    yield from (f"no {one.path[0]}" for one in maps if one.goes)
    if top is not None:
        yield from (negated(line) for line in top.removed if not _leans(line))


def _leans(line: str) -> bool:
    """Whether a top-level line names a route-map or another definition."""
    return " route-map " in line and line.startswith(("ip protocol", "ipv6 protocol", "no ip protocol"))


def _bgp(
    contexts: Sequence[_Context], wanted: FrrConfig, running: FrrConfig, regrouped: frozenset[str]
) -> Iterator[str]:
    """Router contexts: instances that go, then per instance peers that go, settings, address families, groups last."""
    gone = {one.path[0] for one in contexts if one.goes and len(one.path) == 1}
    for head in gone:
        yield f"no {head}"
    kept_peers = {*wanted.peers(), *wanted.groups()}
    dead_peers = {peer for peer in running.peers() if peer not in kept_peers}
    dead_groups = {group for group in running.groups() if group not in kept_peers}
    last: list[tuple[Path, str]] = []
    for one in contexts:
        if one.path[0] in gone:
            continue
        lines: list[str] = []
        if len(one.path) == 1:
            lines += [_no_peer(regroup, running.lines(one.path)) for regroup in running.peers() if regroup in regrouped]
            for peer in dict.fromkeys(_peer_of(line) for line in one.removed):
                if peer in dead_peers:
                    lines.append(_no_peer(peer, one.removed))
                elif peer in dead_groups:
                    last.append((one.path, f"no neighbor {peer} peer-group"))
        for line in one.removed:
            if _peer_of(line) in dead_peers or _peer_of(line) in dead_groups:
                continue
            lines.append(negated(line))
        lines += [new for _, new in one.replaced]
        lines += one.added
        if lines or (one.comes and len(one.path) == 1):
            yield from _enter(one.path, lines)
    for path, line in last:
        yield from _enter(path, [line])


def _no_peer(peer: str, lines: Sequence[str]) -> str:
    unnumbered = any(line.startswith(f"neighbor {peer} interface") for line in lines)
    return f"no neighbor {peer} interface" if unnumbered else f"no neighbor {peer}"


def _peer_of(line: str) -> str | None:
    match = _PEER.match(line.removeprefix("no "))
    return match[1] if match else None


def _enter(path: Path, lines: Sequence[str]) -> Iterator[str]:
    if not lines and not path[0].startswith(("route-map", "router")):
        return
    for depth, head in enumerate(path):
        yield " " * depth + head
    for line in lines:
        yield " " * len(path) + line
    for depth in range(len(path) - 1, -1, -1):
        inner = path[depth].startswith("address-family")
        yield " " * depth + ("exit-address-family" if inner else "exit")


def _steps(context: _Context, running: FrrConfig) -> Iterator[Step]:
    path = context.path
    where = " / ".join(path) or "(top)"
    changes: list[tuple[str | None, str | None]] = [
        *((old, new) for old, new in context.replaced),
        *((line, None) for line in context.removed),
        *((None, line) for line in context.added),
    ]
    if not changes and path:
        changes = [(None, path[-1])] if context.comes else [(path[-1], None)]
    for before, after in changes:
        impact, why, sessions = classify(path, before, after, running)
        yield Step("FRR", where, None, before, after, impact, why, (), sessions)


__all__ = ["FrrChange", "frr_diff", "negated", "setting"]
