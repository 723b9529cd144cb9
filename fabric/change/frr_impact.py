"""What a changed FRR line costs. Source: FRR `bgpd/bgpd.c` (functions named beside each rule), FRR 8.4 to 10.5."""

from __future__ import annotations

import re

from fabric.change.frr_text import FrrConfig, Path
from fabric.values.change import Impact

_Verdict = tuple[Impact, str, tuple[str, ...]]

# Peer lines by what bgpd does with them: (pattern after `neighbor X `, resets the session, source).
_PEER_RULES: tuple[tuple[re.Pattern[str], bool, str], ...] = tuple(
    (re.compile(pattern), resets, source)
    for pattern, resets, source in (
        (r"description\b", False, "a text: peer_description_set"),
        (r"timers\b", False, "used from the next session on: peer_timers_set, PEER_FLAG_TIMER peer_change_none"),
        (r"advertisement-interval\b", False, "PEER_FLAG_ROUTEADV peer_change_none"),
        (r"(route-map|prefix-list|filter-list|distribute-list|unsuppress-map)\b", False, "peer_on_policy_change"),
        (r"maximum-prefix\b", False, "counts only: peer_maximum_prefix_set"),
        (r"(soft-reconfiguration|allowas-in)\b", False, "asks for routes again: peer_change_reset_in"),
        (r"(send-community|next-hop-self|remove-private-AS|attribute-unchanged)\b", False, "peer_change_reset_out"),
        (r"default-originate\b", False, "PEER_FLAG_DEFAULT_ORIGINATE peer_change_none"),
        (r"weight\b", False, "peer_weight_set, peer_on_policy_change"),
        (r"bfd\b", False, "a BFD session beside it: bgp_bfd.c bgp_peer_configure_bfd"),
        (r"remote-as\b", True, "peer_as_change"),
        (r"(interface )?peer-group\b", True, "peer_group_bind, peer_group_unbind"),
        (r"shutdown\b", True, "PEER_FLAG_SHUTDOWN peer_change_reset"),
        (r"activate\b", True, "peer_activate_af, peer_deactivate"),
        (r"password\b", True, "peer_password_set"),
        (r"(update-source|ebgp-multihop|ttl-security|local-as|capability|passive)\b", True, "peer_change_reset"),
        (r"disable-connected-check\b", True, "PEER_FLAG_DISABLE_CONNECTED_CHECK peer_change_reset"),
    )
)
# Lines of `router bgp` that are about no one peer.
_ROUTER_RULES: tuple[tuple[re.Pattern[str], bool, str], ...] = tuple(
    (re.compile(pattern), resets, source)
    for pattern, resets, source in (
        (r"timers bgp\b", False, "used from the next session on: bgp_timers_set"),
        (r"(no )?bgp bestpath\b", False, "best paths are chosen anew: bgp_recalculate_all_bestpaths"),
        (r"(no )?bgp (default|log-neighbor-changes|deterministic-med|always-compare-med)\b", False, "bgp_vty.c"),
        (r"(no )?bgp (ebgp-requires-policy|network import-check|fast-external-failover)\b", False, "bgp_vty.c"),
        (r"coalesce-time\b", False, "bgp_vty.c bgp_coalesce_time"),
        (r"maximum-paths\b", False, "next hops are chosen anew: bgp_maximum_paths_set"),
        (r"(no )?network\b", False, "announced or withdrawn: bgp_static_set"),
        (r"(no )?redistribute\b", False, "announced or withdrawn: bgp_redistribute_set"),
        (r"(no )?aggregate-address\b", False, "announced or withdrawn: bgp_aggregate_set"),
        (r"bgp router-id\b", True, "bgp_router_id_set"),
        (r"(no )?bgp suppress-fib-pending\b", True, "bgp_suppress_fib_pending_set: every peer starts over"),
        (r"(no )?bgp graceful-shutdown\b", False, "bgp_vty.c: announced anew with the community"),
    )
)


def classify(path: Path, before: str | None, after: str | None, running: FrrConfig) -> _Verdict:
    """Class, reason and sessions of one line that goes, comes or changes."""
    line = (after or before or "").removeprefix("no ")
    head = path[0] if path else ""
    if head.startswith("router bgp "):
        return _bgp(path, before, after, line, running)
    if head.startswith("route-map "):
        return Impact.HITLESS, "routes are judged anew: bgp_routemap.c bgp_route_map_update_timer", ()
    if head.startswith("interface "):
        return Impact.HITLESS, "interface settings of zebra", ()
    if not path:
        if line.startswith(("ip prefix-list", "ipv6 prefix-list")):
            return Impact.HITLESS, "routes are judged anew: bgp_filter.c", ()
        if line.startswith(("ip route", "ipv6 route")):
            return Impact.HITLESS, "one static route: staticd", ()
        if line.startswith(("ip protocol", "ipv6 protocol", "ip nht", "ipv6 nht", "log ", "hostname")):
            return Impact.HITLESS, "zebra applies it to the routes it has: zebra_vty.c", ()
        return Impact.RESTARTS_BGP, "no rule: a line at the top is read when the daemons start", ()
    return Impact.RESETS_SESSIONS, "no rule: classed as dearest that a command can do", running.peers()


def _bgp(path: Path, before: str | None, after: str | None, line: str, running: FrrConfig) -> _Verdict:
    if running.bgp() is None or path[0] not in {one[0] for one in running.contexts if one}:
        # An instance that is not there yet has no session to lose; the one that goes has all of them.
        return Impact.HITLESS, "a BGP instance that was not there", ()
    if len(path) == 1 and line == path[0]:
        return Impact.RESETS_SESSIONS, "the BGP instance goes: bgp_delete", running.peers()
    words = line.split()
    if words[0] == "neighbor" and len(words) > 2:
        return _peer(words[1], line.split(" ", 2)[2], before, after, running)
    for pattern, resets, source in _ROUTER_RULES:
        if pattern.match(line):
            if resets:
                return Impact.RESETS_SESSIONS, f"bgpd.c {source}", running.peers()
            return Impact.HITLESS, source, ()
    if line.startswith("address-family"):
        return Impact.HITLESS, "a family without peers", ()
    return Impact.RESETS_SESSIONS, "no rule: classed as dearest that a command can do", running.peers()


def _peer(name: str, rest: str, before: str | None, after: str | None, running: FrrConfig) -> _Verdict:
    is_group = name in running.groups()
    known = is_group or name in running.peers()
    if not known:
        return Impact.HITLESS, "a peer that was not there", ()
    touched = running.members(name) if is_group else (name,)
    for pattern, resets, source in _PEER_RULES:
        if pattern.match(rest):
            if not resets:
                return Impact.HITLESS, f"bgpd.c {source}", ()
            return Impact.RESETS_SESSIONS, f"bgpd.c {source}", touched
    _ = before, after
    return Impact.RESETS_SESSIONS, "no rule: classed as dearest that a command can do", touched
