"""BGP as CONFIG_DB rows, for the two routing modes in which SONiC writes FRR's configuration from them.

`bgpcfgd`: BGP_NEIGHBOR rows for SONiC's BGP manager. `frr-mgmt`: the management framework's tables for frrcfgd.
What each can and cannot do is told by `limits` and stands in the README of every rendered folder (sonic.md 1.5, 1.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fabric.errors import RenderError
from fabric.render import routing
from fabric.render.device import Rows, bare, version_of
from fabric.render.releases import since
from fabric.render.scope import Scope
from fabric.values.device_config import Row
from fabric.values.plan import RoutingPlan

_FRAMEWORK_PATHS = 256  # BGP_GLOBALS_AF max_ebgp_paths (sonic-bgp-global.yang)


def tables(scope: Scope) -> Iterator[tuple[str, Rows]]:
    """BGP tables of the mode; none where FRR's text is ours. RenderError for options the mode does not have."""
    maker = _MAKERS.get(scope.plan.routing.mode)
    if maker is None:
        raise RenderError(f"routing mode {scope.plan.routing.mode!r} is not known; choose one of {', '.join(_MAKERS)}")
    yield from maker(scope)


def limits(routing_plan: RoutingPlan) -> tuple[str, ...]:
    """What this routing mode announces and what it cannot do, in sentences for whoever loads the files."""
    return _LIMITS.get(routing_plan.mode, ())


def _nothing(scope: Scope) -> Iterator[tuple[str, Rows]]:
    """Mode frr: a row here would make bgpcfgd write peers beside ours."""
    del scope
    return iter(())


def _manager(scope: Scope) -> Iterator[tuple[str, Rows]]:
    plan, release, name = scope.plan.routing, scope.release, scope.switch.name
    for wanted, what in (
        (plan.unnumbered, "unnumbered links (BGP_NEIGHBOR takes addresses only)"),
        (plan.bfd, "BFD (bgpcfgd has no field for it)"),
        (plan.prefix_limit is not None, "a prefix limit (bgpcfgd has no field for it)"),
        (
            plan.weighted_ecmp and not release.wcmp_field,
            f"weighted ECMP on {release.name} (wcmp_enabled is in YANG from 202411)",
        ),
    ):
        if wanted:
            raise RenderError(f"{name}: routing mode bgpcfgd cannot do {what}; use mode frr, or leave it out")
    if plan.maximum_paths > release.bgpcfgd_paths:
        raise RenderError(
            f"{name}: routing mode bgpcfgd has {release.bgpcfgd_paths} paths on {release.name} (constants.yml), "
            f"{plan.maximum_paths} are asked for; lower maximum_paths, take a newer release, or use mode frr"
        )
    rows: Rows = {}
    for port in routing.session_ports(scope):
        for ours, theirs in zip(port.addresses, port.peer_addresses, strict=True):
            # Without local_addr the peer never appears, and no error either.
            rows[bare(theirs)] = {
                "admin_status": "up",
                "asn": str(port.peer_asn),
                "holdtime": str(plan.hold_s),
                "keepalive": str(plan.keepalive_s),
                "local_addr": bare(ours),
                "name": str(port.peer_device),
                "nhopself": "0",
                "rrclient": "0",
            }
    yield "BGP_NEIGHBOR", rows
    # bgpcfgd redistributes static routes: here that is what carries the aggregate.
    # `advertise` absent means advertised to it, and models up to 202411 have no such field.
    yield "STATIC_ROUTE", {f"default|{prefix}": {"blackhole": "true"} for prefix in scope.switch.aggregates}
    if plan.weighted_ecmp:
        yield "BGP_DEVICE_GLOBAL", {"STATE": {"wcmp_enabled": "true"}}


def _framework(scope: Scope) -> Iterator[tuple[str, Rows]]:
    plan, switch = scope.plan.routing, scope.switch
    if plan.weighted_ecmp:
        raise RenderError(
            f"{switch.name}: routing mode frr-mgmt cannot do weighted ECMP (ROUTE_MAP has no link bandwidth); "
            "use mode frr"
        )
    if not since(scope.release.name, "202511"):
        raise RenderError(
            f"{switch.name}: routing mode frr-mgmt needs 202511: on {scope.release.name} SONiC's model wants a "
            "sequence number in the keys of PREFIX, and its daemon (frrcfgd.py) stops at one; use mode frr"
        )
    if plan.maximum_paths > _FRAMEWORK_PATHS:
        raise RenderError(
            f"{switch.name}: routing mode frr-mgmt has at most {_FRAMEWORK_PATHS} paths; lower maximum_paths"
        )
    sessions = routing.peers(scope)
    families = routing.filled_families(scope, sessions)
    yield (
        "BGP_GLOBALS",
        {
            "default": {
                "default_ipv4_unicast": "false",
                "graceful_restart_enable": "false",
                "holdtime": str(plan.hold_s),
                "keepalive": str(plan.keepalive_s),
                "load_balance_mp_relax": "true",
                "local_asn": str(switch.asn),
                "log_nbr_state_changes": "true",
                "network_import_check": "true",
                "router_id": routing.router_id(scope),
            }
        },
    )
    yield "BGP_GLOBALS_AF", {f"default|{f.name}_unicast": {"max_ebgp_paths": str(plan.maximum_paths)} for f in families}
    yield (
        "BGP_GLOBALS_AF_NETWORK",
        {f"default|{f.name}_unicast|{prefix}": {} for f in families for prefix in f.networks},
    )
    yield "STATIC_ROUTE", {f"default|{prefix}": {"blackhole": "true"} for f in families for prefix in f.aggregates}
    yield from _framework_peers(scope, families, sessions)
    yield from _framework_policy(families)


def _framework_peers(
    scope: Scope, families: list[routing.Family], sessions: list[routing.Peer]
) -> Iterator[tuple[str, Rows]]:
    plan = scope.plan.routing
    group: dict[str, str | list[str]] = {"conn_retry": str(plan.connect_s), "peer_type": "external"}
    if plan.bfd:
        group["bfd"] = "true"
    if plan.unnumbered:
        group["capability_ext_nexthop"] = "true"
    yield "BGP_PEER_GROUP", {f"default|{one.name}": group for one in routing.groups(families)}
    rows: Rows = {}
    for family in families:
        for one in family.groups:
            row: dict[str, str | list[str]] = {
                "admin_status": "up",
                "route_map_in": [f"{one.map_in}{family.tag}"],
                "route_map_out": [f"{one.map_out}{family.tag}"],
            }
            if plan.prefix_limit is not None:
                row |= {"max_prefix_limit": str(plan.prefix_limit), "max_prefix_restart_interval": "1"}
            rows[f"default|{one.name}|{family.name}_unicast"] = row
    yield "BGP_PEER_GROUP_AF", rows
    yield (
        "BGP_NEIGHBOR",
        {
            f"default|{peer.address}": {
                "admin_status": "up",
                "asn": str(peer.asn),
                "name": peer.description,
                "peer_group_name": peer.group,
            }
            for peer in sessions
        },
    )


def _framework_policy(families: list[routing.Family]) -> Iterator[tuple[str, Rows]]:
    sets: Rows = {}
    prefixes: Rows = {}
    maps: Rows = {}
    entries: Rows = {}
    for family in families:
        lists = {
            f"PL_Loopback{family.tag}": [(family.loopback, "exact")],
            f"PL_Own{family.tag}": [(prefix, "exact") for prefix in family.networks],
            f"PL_Never{family.tag}": [
                (family.default, "exact"),
                *((prefix, f"{prefix.partition('/')[2]}..{family.bits}") for prefix in family.management),
            ],
        }
        for name, members in lists.items():
            sets[name] = {"mode": f"IPv{version_of(family.default)}"}
            for place, (prefix, lengths) in enumerate(members, 1):
                prefixes[f"{name}|{5 * place}|{prefix}|{lengths}"] = {"action": "permit"}
        for one in family.maps:
            permit: dict[str, str | list[str]] = {"route_operation": "permit"}
            if one.only_own:
                permit["match_prefix_set"] = f"PL_Own{family.tag}"
            if one.prefer_global:
                permit["set_ipv6_next_hop_prefer_global"] = "true"
            deny: Row = {"match_prefix_set": f"PL_Never{family.tag}", "route_operation": "deny"}
            maps[one.name] = {}
            entries[f"{one.name}|100"] = deny
            entries[f"{one.name}|110"] = permit
    yield "PREFIX_SET", sets
    yield "PREFIX", prefixes
    yield "ROUTE_MAP_SET", maps
    yield "ROUTE_MAP", entries


_MAKERS: dict[str, Callable[[Scope], Iterator[tuple[str, Rows]]]] = {
    "frr": _nothing,
    "bgpcfgd": _manager,
    "frr-mgmt": _framework,
}

_LIMITS = {
    "frr": (
        "frr.conf is whole: SONiC's own BGP manager writes no peer. It announces the loopback and the host prefixes of "
        "the plan, which a blackhole route holds up while hosts are down.",
        "No BFD: the bgp container starts no bfdd in this mode.",
    ),
    "bgpcfgd": (
        "SONiC's BGP manager announces Loopback0, VLAN_INTERFACE prefixes it saw at its start, and static routes: host "
        "prefixes go out as redistributed blackhole routes. Routed host /31s themselves cannot be announced.",
        "A leaf passes on what it learns (there is no outbound filter): only the spines' shared ASN stops it. Every "
        "prefix learned gets community 5060:12345.",
        "No BFD, no unnumbered links, no prefix limit; maximum-paths is the image's own (64 up to 202405, 514 later). "
        "Of an existing peer only admin_status can be changed; anything else is a new session.",
    ),
    "frr-mgmt": (
        "The management framework's daemon writes FRR's configuration from BGP_* rows; TSA and TSB have nobody to do "
        "their work in this mode: drain by admin_status or graceful shutdown.",
        "FIB suppression cannot be asked for (BGP_GLOBALS has no field); NEIGH_STATE_TABLE stays empty.",
        "A peer without both route-maps would be up and carry nothing: both are always rendered.",
    ),
}
