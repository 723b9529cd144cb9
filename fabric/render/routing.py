"""frr.conf of one switch: what the template is given, derived from the Plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network

from fabric.errors import RenderError
from fabric.render.device import bare, version_of, with_prefix
from fabric.render.scope import Scope
from fabric.values.plan import LifeState, PlannedPort, PortUse, Role


@dataclass(frozen=True, slots=True)
class Peer:
    """One BGP session: the far end's address (or our port, unnumbered), its ASN, its peer group."""

    address: str
    asn: int
    group: str
    description: str


@dataclass(frozen=True, slots=True)
class Group:
    """A peer group: all far ends of one role. Map names lack the family's tag."""

    name: str
    map_in: str
    map_out: str


@dataclass(frozen=True, slots=True)
class PolicyMap:
    """One route-map in one family. `only_own`: permits the switch's own prefixes and nothing else."""

    name: str
    only_own: bool
    prefer_global: bool
    weighted: bool


@dataclass(slots=True)
class Family:
    """One address family; `tag` (V4, V6) is in the names of its maps and lists, where TSA looks for it."""

    tag: str
    name: str
    ip: str
    bits: int
    default: str
    set_src_map: str
    loopback: str
    source: str
    networks: list[str]
    aggregates: list[str]
    management: list[str]
    groups: list[Group] = field(default_factory=list)
    maps: list[PolicyMap] = field(default_factory=list)


_NAMES = {
    4: ("V4", "ipv4", "ip", 32, "0.0.0.0/0", "RM_SET_SRC"),
    6: ("V6", "ipv6", "ipv6", 128, "::/0", "RM_SET_SRC6"),
}


def session_ports(scope: Scope) -> list[PlannedPort]:
    """Ports with an eBGP session, in natural order. A planned place has none yet."""
    return [
        port
        for port in scope.fabric
        if port.peer_asn is not None and port.use is PortUse.FABRIC and port.state is not LifeState.PLANNED
    ]


def frr_text(scope: Scope) -> str | None:
    """The whole frr.conf; None in a mode in which SONiC writes it. RenderError where options do not go together."""
    plan, switch = scope.plan.routing, scope.switch
    if plan.mode != "frr":
        return None
    refuse(scope)
    sessions = peers(scope)
    families = filled_families(scope, sessions)
    text = scope.templates.text(
        "frr/frr.conf.j2",
        hostname=switch.name,
        asn=switch.asn,
        router_id=router_id(scope),
        release=scope.release,
        families=families,
        groups=groups(families),
        peers=sessions,
        fabric_interfaces=[port.name for port in session_ports(scope)],
        unnumbered=plan.unnumbered,
        keepalive_s=plan.keepalive_s,
        hold_s=plan.hold_s,
        connect_s=plan.connect_s,
        maximum_paths=plan.maximum_paths,
        prefix_limit=plan.prefix_limit,
    )
    if f"router bgp {switch.asn}\n" not in text:
        raise RenderError(
            f"{switch.name}: frr/frr.conf.j2 wrote no `router bgp {switch.asn}`: SONiC would start without routing; "
            "mend the template"
        )
    return text


def peers(scope: Scope) -> list[Peer]:
    """Every session of the switch, in the natural order of its ports."""
    used = versions(scope)
    return [peer for port in session_ports(scope) for peer in _peers(scope, port, used)]


def filled_families(scope: Scope, sessions: Iterable[Peer]) -> list[Family]:
    """The address families with the peer groups of these sessions and their route-maps, IPv4 first."""
    families = [family(scope, version) for version in versions(scope)]
    for name in sorted({peer.group for peer in sessions}):
        role = name.partition("_")[0]
        group = Group(name, f"FROM_{role}_", f"TO_{role}_")
        for one in families:
            if scope.plan.routing.unnumbered or name.endswith(one.tag):
                one.groups.append(group)
                one.maps += _maps(scope, group, one)
    return families


def groups(families: Iterable[Family]) -> list[Group]:
    """The peer groups of all families, each once, by name."""
    return sorted({group for one in families for group in one.groups}, key=lambda group: group.name)


def refuse(scope: Scope) -> None:
    """Refuse what the stock image cannot do in this mode, with the reason."""
    routing, release, name = scope.plan.routing, scope.release, scope.switch.name
    if routing.bfd:
        raise RenderError(
            f"{name}: BFD is asked for, but SONiC's bgp container starts no bfdd in routing mode frr "
            "(supervisord.conf.j2); use routing mode frr-mgmt, or leave BFD off: carrier loss, timers and the path "
            "audit find a silent link"
        )
    if routing.maximum_paths > release.frr_paths:
        raise RenderError(
            f"{name}: maximum_paths {routing.maximum_paths} is above the {release.frr_paths} next hops of SONiC "
            f"{release.name}; lower it or choose a newer release"
        )


def versions(scope: Scope) -> tuple[int, ...]:
    """IP versions the switch routes, 4 before 6: those asked for that it has a loopback of.

    A storage switch may have fewer than the GPU fabric asks for; one that has sessions must have them all.
    """
    routing, name = scope.plan.routing, scope.switch.name
    asked = {version for version, wanted in ((4, routing.ipv4), (6, routing.ipv6)) if wanted}
    if not asked:
        raise RenderError(f"{name}: neither IPv4 nor IPv6 is asked for; choose one or both")
    have = {version_of(address) for address in scope.switch.loopbacks}
    if session_ports(scope):
        for version in sorted(asked - have):
            raise RenderError(f"{name}: no IPv{version} loopback; give the intent a pool of them")
    return tuple(sorted(asked & have or have))


def router_id(scope: Scope) -> str:
    """The IPv4 loopback. A fabric of IPv6 alone still needs one for this."""
    for address in scope.switch.loopbacks:
        if version_of(address) == 4:
            return bare(address)
    raise RenderError(
        f"{scope.switch.name}: no IPv4 loopback, and BGP's router id is taken from it; "
        "give the intent an IPv4 loopback pool"
    )


def family(scope: Scope, version: int) -> Family:
    """One address family without its groups."""
    tag, name, ip, bits, default, set_src = _NAMES[version]
    loopbacks = _of(version, map(with_prefix, scope.switch.loopbacks))
    source = bare(loopbacks[0])
    return Family(
        tag=tag,
        name=name,
        ip=ip,
        bits=bits,
        default=default,
        set_src_map=set_src,
        loopback=f"{source}/{bits}",
        source=source,
        networks=_of(version, map(with_prefix, scope.switch.networks)),
        aggregates=_of(version, scope.switch.aggregates),
        management=_of(version, (scope.plan.services.mgmt_network,)),
    )


def _of(version: int, prefixes: Iterable[str]) -> list[str]:
    """Those of one IP version, spelled and sorted as FRR prints them."""
    networks = (ip_network(prefix, strict=False) for prefix in prefixes)
    return [str(network) for network in sorted((n for n in networks if n.version == version), key=_place)]


def _place(network: IPv4Network | IPv6Network) -> tuple[int, int]:
    return int(network.network_address), network.prefixlen


def _peers(scope: Scope, port: PlannedPort, used: tuple[int, ...]) -> list[Peer]:
    assert port.peer_asn is not None
    peer = scope.plan.switches.get(port.peer_device or "")
    if peer is None:
        raise RenderError(f"{scope.switch.name}: {port.name} has a session with {port.peer_device}, which is no switch")
    role = peer.role.name
    description = f"{port.peer_device}:{port.peer_port}"
    if scope.plan.routing.unnumbered:
        return [Peer(port.name, port.peer_asn, role, description)]
    result = []
    for address in port.peer_addresses:
        version = version_of(address)
        if version in used:
            result.append(Peer(bare(address), port.peer_asn, f"{role}_{_NAMES[version][0]}", description))
    if not result:
        raise RenderError(f"{scope.switch.name}: {port.name} has a session and no address of its far end")
    return result


def _maps(scope: Scope, group: Group, one: Family) -> list[PolicyMap]:
    routing = scope.plan.routing
    # A leaf carries nothing through: it announces its own and only its own. Upper tiers pass on what they learn.
    only_own = scope.switch.role in (Role.LEAF, Role.STORAGE)
    numbered6 = one.tag == "V6" and not routing.unnumbered
    return [
        PolicyMap(f"{group.map_in}{one.tag}", False, numbered6, False),
        PolicyMap(f"{group.map_out}{one.tag}", only_own, False, routing.weighted_ecmp),
    ]


def covers_management(scope: Scope) -> None:
    """Refuse a Plan whose announced prefixes reach into the management network."""
    management = ip_network(scope.plan.services.mgmt_network)
    for prefix in scope.switch.networks:
        network = ip_network(with_prefix(prefix))
        if network.version == management.version and network.overlaps(management):
            raise RenderError(
                f"{scope.switch.name}: {prefix} overlaps the management network {management}; "
                "the fabric must not carry it"
            )
