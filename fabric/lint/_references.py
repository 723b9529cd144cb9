"""Rules about rows that point at other rows. YANG holds most of them too; these speak without any models at hand."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.lint.view import Config, found, some, text
from fabric.values.finding import Finding

# (table, field) -> table whose row the field names. Several names are joined by commas.
REFERENCES: dict[tuple[str, str], str] = {
    ("PORT_QOS_MAP", "dscp_to_tc_map"): "DSCP_TO_TC_MAP",
    ("PORT_QOS_MAP", "dot1p_to_tc_map"): "DOT1P_TO_TC_MAP",
    ("PORT_QOS_MAP", "tc_to_queue_map"): "TC_TO_QUEUE_MAP",
    ("PORT_QOS_MAP", "tc_to_pg_map"): "TC_TO_PRIORITY_GROUP_MAP",
    ("PORT_QOS_MAP", "tc_to_dscp_map"): "TC_TO_DSCP_MAP",
    ("PORT_QOS_MAP", "pfc_to_queue_map"): "MAP_PFC_PRIORITY_TO_QUEUE",
    ("PORT_QOS_MAP", "pfc_to_pg_map"): "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    ("PORT_QOS_MAP", "scheduler"): "SCHEDULER",
    ("QUEUE", "scheduler"): "SCHEDULER",
    ("QUEUE", "wred_profile"): "WRED_PROFILE",
    ("BUFFER_PG", "profile"): "BUFFER_PROFILE",
    ("BUFFER_QUEUE", "profile"): "BUFFER_PROFILE",
    ("BUFFER_PROFILE", "pool"): "BUFFER_POOL",
    ("BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list"): "BUFFER_PROFILE",
    ("BUFFER_PORT_EGRESS_PROFILE_LIST", "profile_list"): "BUFFER_PROFILE",
}


def references_lead_somewhere(config: Config) -> Iterator[Finding]:
    """CFG-30: a name that no row has (F003, F024). One finding a missing row, with the rows that ask for it."""
    for (table, field), target in REFERENCES.items():
        if not config.whole_switch and not config.has(target):
            continue
        missing: dict[str, list[str]] = {}
        for key, row in config.rows(table).items():
            for name in filter(None, text(row.get(field)).split(",")):
                if name not in config.rows(target) and not (name == "NULL" and table == "BUFFER_PG"):
                    missing.setdefault(name, []).append(key)
        for name, keys in missing.items():
            prefixed = name.startswith(f"{target}|")
            remedy = (
                f'write the bare name, "{name.partition("|")[2]}"'
                if prefixed
                else f"add {target}|{name}, or correct the name"
            )
            yield found(
                "CFG-30",
                (table, some(keys), field),
                f"{target} has no row {name}; {len(keys)} row{'s' if len(keys) > 1 else ''} of {table} name it",
                remedy,
                value=name,
            )
    tables = config.rows("ACL_TABLE")
    orphans: dict[str, list[str]] = {}
    for key in config.rows("ACL_RULE"):
        name = key.partition("|")[0]
        if name not in tables:
            orphans.setdefault(name, []).append(key)
    for name, keys in orphans.items():
        what = f"ACL_TABLE has no row {name}; every later replace or rollback of this switch fails on it"
        yield found("CFG-30", ("ACL_RULE", some(keys), None), what, f"add ACL_TABLE|{name}, or drop these rules")


def route_maps_have_bodies(config: Config) -> Iterator[Finding]:
    """CFG-31: a route map named by a session or redistribution must have an entry; YANG is content with its name."""
    bodies = {key.partition("|")[0] for key in config.rows("ROUTE_MAP")}
    if not bodies and not config.has("ROUTE_MAP_SET"):
        return
    missing: dict[str, list[tuple[str, str, str]]] = {}
    for table, fields in (
        ("BGP_PEER_GROUP_AF", ("route_map_in", "route_map_out")),
        ("BGP_NEIGHBOR_AF", ("route_map_in", "route_map_out")),
        ("ROUTE_REDISTRIBUTE", ("route_map",)),
    ):
        for key, row in config.rows(table).items():
            for field in fields:
                for name in filter(None, text(row.get(field)).split(",")):
                    if name not in bodies:
                        missing.setdefault(name, []).append((table, key, field))
    for name, users in missing.items():
        what = f"route map {name} has no entry in ROUTE_MAP, so it denies everything"
        yield found("CFG-31", users[0], what, f"add ROUTE_MAP|{name}|10", value=name)


RULES = (references_lead_somewhere, route_maps_have_bodies)
