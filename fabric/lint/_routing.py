"""Rules about BGP as SONiC's daemons read it from CONFIG_DB: AS numbers, local addresses, who programs the peers."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from fabric.lint.view import Config, found, some, text
from fabric.values.finding import Confidence, Finding, Status

_AS_TRANS = 23456
_LARGEST = 4_294_967_295

# Modes in which an operator's own text programs FRR (dockers/docker-fpm-frr/docker_init.sh).
_OWN_TEXT = ("split", "split-unified")


def _framework(config: Config) -> bool:
    return text(config.metadata.get("frr_mgmt_framework_config")) == "true"


def _bgpcfgd_peers(config: Config) -> dict[str, dict[str, str | list[str]]]:
    """BGP_NEIGHBOR rows that SONiC's own BGP manager programs: keyed by an address, no VRF in front."""
    if _framework(config):
        return {}
    return {key: dict(row) for key, row in config.rows("BGP_NEIGHBOR").items() if "|" not in key}


def asn_problem(value: str) -> str | None:
    """Why this text is no usable AS number, or None (F010)."""
    if value in ("None", "null", ""):
        return "no number; SONiC renders the text `router bgp None` or starts no BGP"
    if value != value.strip():
        return "spaces around the number"
    if "." in value:
        return "the dotted form; SONiC takes plain decimals only"
    if not value.isascii() or not value.isdigit():
        return "no number"
    number = int(value)
    if number == 0:
        return "AS 0 is reserved"
    if number == _AS_TRANS:
        return 'AS 23456 (AS_TRANS) stands for "does not fit in two bytes" and is nobody\'s own'
    if number > _LARGEST:
        return f"larger than {_LARGEST}"
    return None


def as_numbers_are_numbers(config: Config) -> Iterator[Finding]:
    """CFG-40: AS numbers are plain decimals from 1 to 4294967295, and not 23456 (F010)."""
    places = [("DEVICE_METADATA", "localhost", "bgp_asn")]
    places += [("BGP_NEIGHBOR", key, "asn") for key in config.rows("BGP_NEIGHBOR")]
    places += [("BGP_GLOBALS", key, "local_asn") for key in config.rows("BGP_GLOBALS")]
    places += [("BGP_PEER_GROUP", key, "asn") for key in config.rows("BGP_PEER_GROUP")]
    places += [("BGP_PEER_RANGE", key, "peer_asn") for key in config.rows("BGP_PEER_RANGE")]
    for table, key, field in places:
        value = config.rows(table).get(key, {}).get(field)
        if value is None:
            continue
        # The neighbour's AS of a peer known by name only may be absent as an empty text in minigraph-made files.
        why = asn_problem(text(value))
        if why:
            dotted = text(value).split(".")
            remedy = "write the AS number as a plain decimal"
            if len(dotted) == 2 and all(part.isdigit() and int(part) < 65536 for part in dotted):
                remedy = f"write {int(dotted[0]) * 65536 + int(dotted[1])}"
            unset = table == "DEVICE_METADATA" and text(value) == "None" and not config.has("BGP_NEIGHBOR")
            status = Status.WARN if unset else Status.FAIL
            yield found("CFG-40", (table, key, field), why, remedy, value=value, status=status)


def peers_can_be_programmed(config: Config) -> Iterator[Finding]:
    """CFG-41: SONiC's BGP manager waits silently for these; without them no session is ever configured."""
    peers = _bgpcfgd_peers(config)
    if not peers or not config.whole_switch or text(config.metadata.get("docker_routing_config_mode")) in _OWN_TEXT:
        return
    count = f"{len(peers)} peer{'s' if len(peers) > 1 else ''} of BGP_NEIGHBOR"
    for field in ("bgp_asn", "type"):
        if not text(config.metadata.get(field)):
            what = f"missing; {count} will never be configured, and nothing says so"
            yield found("CFG-41", ("DEVICE_METADATA", "localhost", field), what, f"write {field}")
    loopbacks = config.rows("LOOPBACK_INTERFACE")
    has_address = any(
        address.name == "Loopback0" and address.interface.version == 4
        for address in config.addresses
        if address.table == "LOOPBACK_INTERFACE"
    )
    if "Loopback0" not in loopbacks:
        what = f"missing; {count} will never be configured, and nothing says so"
        yield found("CFG-41", ("LOOPBACK_INTERFACE", "Loopback0", None), what, 'add "Loopback0": {} and its address')
    elif not has_address and not text(config.metadata.get("bgp_router_id")):
        what = f"Loopback0 has no IPv4 address and there is no bgp_router_id; {count} will never be configured"
        yield found("CFG-41", ("LOOPBACK_INTERFACE", "Loopback0", None), what, "add an IPv4 /32, or bgp_router_id")


def local_addresses_are_ours(config: Config) -> Iterator[Finding]:
    """CFG-42: a peer whose `local_addr` is missing or on no interface of this switch never appears."""
    if not config.whole_switch or text(config.metadata.get("docker_routing_config_mode")) in _OWN_TEXT:
        return
    ours = {address.interface.ip: address for address in config.addresses if address.table != "MGMT_INTERFACE"}
    own_as = text(config.metadata.get("bgp_asn"))
    for key, row in _bgpcfgd_peers(config).items():
        local = text(row.get("local_addr"))
        where = ("BGP_NEIGHBOR", key, "local_addr")
        remedy = "write this switch's address on that cable"
        if not local:
            yield found("CFG-42", where, "missing; the peer is never configured, and nothing says so", remedy)
            continue
        try:
            address, peer = ipaddress.ip_address(local), ipaddress.ip_address(key)
        except ValueError as error:
            yield found("CFG-42", where, f"no address: {error}", remedy, value=local)
            continue
        if address not in ours:
            what = "no interface of this switch has this address; the peer is never configured, and nothing says so"
            yield found("CFG-42", where, what, remedy, value=local)
            continue
        network = ours[address].interface.network
        external = text(row.get("asn")) != own_as
        if external and network.version == peer.version and peer not in network and network.num_addresses > 1:
            what = f"the peer {key} is outside {network}, so an external session has no connected path to it"
            yield found(
                "CFG-42",
                where,
                what,
                "correct the peer's address or the local one",
                value=local,
                status=Status.WARN,
                confidence=Confidence.LIKELY,
            )


def one_master_of_frr(config: Config) -> Iterator[Finding]:
    """CFG-43: where an own frr.conf programs FRR, SONiC's BGP manager still runs and programs CONFIG_DB's peers too."""
    mode = text(config.metadata.get("docker_routing_config_mode"))
    if mode not in _OWN_TEXT:
        return
    for table in ("BGP_NEIGHBOR", "BGP_PEER_RANGE"):
        if config.has(table):
            what = f"{len(config.rows(table))} peers here and an own frr.conf ({mode}): both will program FRR"
            where = (table, some(config.rows(table), 2), None)
            yield found("CFG-43", where, what, f"drop {table}, or use another docker_routing_config_mode")


def framework_sessions_carry_routes(config: Config) -> Iterator[Finding]:
    """CFG-44: with the management framework an external session without both route maps carries no route."""
    if not _framework(config):
        return
    groups = config.rows("BGP_PEER_GROUP_AF")
    neighbors = config.rows("BGP_NEIGHBOR_AF")
    for table, rows in (("BGP_PEER_GROUP_AF", groups), ("BGP_NEIGHBOR_AF", neighbors)):
        owners = config.rows("BGP_PEER_GROUP" if table == "BGP_PEER_GROUP_AF" else "BGP_NEIGHBOR")
        for key, row in rows.items():
            owner = owners.get(key.rpartition("|")[0], {})
            if text(owner.get("peer_type")) == "internal":
                continue
            if table == "BGP_NEIGHBOR_AF" and text(owner.get("peer_group_name")):
                continue
            missing = [field for field in ("route_map_in", "route_map_out") if not text(row.get(field))]
            if missing:
                what = f"{' and '.join(missing)} missing; FRR holds back every route of an external peer (Policy)"
                yield found("CFG-44", (table, key, missing[0]), what, "name a route map for both directions")
    for key, row in config.rows("BGP_GLOBALS_AF").items():
        if key.endswith("_unicast") and not text(row.get("max_ebgp_paths")):
            what = "missing; the management framework's default is 1, so there is no ECMP"
            where = ("BGP_GLOBALS_AF", key, "max_ebgp_paths")
            yield found("CFG-44", where, what, "write the number of equal-cost paths", status=Status.WARN)


# Hash seed by type: dockers/docker-orchagent/switch.json.j2. A BackEnd type takes the seed of the word it contains.
_SEEDS = (("ToRRouter", 0), ("LeafRouter", 10), ("SpineRouter", 25))


def hash_seed(device_type: str) -> int | None:
    """ECMP hash seed SONiC derives from DEVICE_METADATA type, or None where it has no rule for it."""
    return next((seed for word, seed in _SEEDS if device_type.removeprefix("BackEnd") == word), None)


def tiers_hash_apart(config: Config) -> Iterator[Finding]:
    """CFG-45: two tiers of one type hash alike, so a flow meets the same choice twice and links idle (F061)."""
    mine = text(config.metadata.get("type"))
    seed = hash_seed(mine)
    if seed is None:
        return
    near = {text(row.get("name")) for row in config.rows("DEVICE_NEIGHBOR").values()}
    alike = [
        name
        for name, row in config.rows("DEVICE_NEIGHBOR_METADATA").items()
        if (not near or name in near) and hash_seed(text(row.get("type"))) == seed
    ]
    if alike:
        yield found(
            "CFG-45",
            ("DEVICE_METADATA", "localhost", "type"),
            f"{some(alike)} hash with the same seed ({seed}); the tiers polarise and some equal-cost links stay idle",
            "give the tiers different types (LeafRouter, SpineRouter)",
            value=mine,
            status=Status.WARN,
        )


RULES = (
    as_numbers_are_numbers,
    peers_can_be_programmed,
    local_addresses_are_ours,
    one_master_of_frr,
    framework_sessions_carry_routes,
    tiers_hash_apart,
)
