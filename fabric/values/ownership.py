"""What of a switch's CONFIG_DB railfab owns: tables, keys and fields. Everything else on the box is not ours.

We own parts, not the box: the image's own rows (FEATURE, CRM, VERSIONS, users, ...) stay. Rows that SONiC's daemons
write by themselves in answer to ours (`pg_lossless_*` of the traditional buffer manager) are never drift.

Read with a desired and a running configuration side by side:

- `Scope.TABLE`: a running row that the desired tables lack is ours to remove - when the desired tables have the
  table at all, or `removed_when_absent` is set (a second writer of BGP peers would fight our FRR text; a watchdog
  without a lossless class watches nothing).
- `Scope.ROWS`: only the rows that the desired tables have are ours; other rows are somebody else's.
- `fields`: of an owned row these fields are ours, None for all. Other fields stay as they are on the box.
- `only`: keys outside these patterns are never ours. `never`: neither are keys inside these, nor rows whose
  `profile` matches `never_profile`.

Patterns are those of `fnmatch.fnmatchcase` over the CONFIG_DB key (`Ethernet0|3`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from fabric.values.device_config import Row, Tables


class Scope(StrEnum):
    """Whether rows that we did not render are ours to remove (TABLE) or somebody else's (ROWS)."""

    TABLE = "table"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Ownership:
    """Our share of one CONFIG_DB table; see the module's docstring for how the parts are read."""

    scope: Scope
    fields: frozenset[str] | None = None
    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    never_profile: tuple[str, ...] = ()
    removed_when_absent: bool = False


_ROWS = Ownership(Scope.ROWS)
_TABLE = Ownership(Scope.TABLE)

# The traditional buffer manager writes these itself (swss cfgmgr/buffermgr.cpp).
MANAGER_PROFILES = ("pg_lossless_*_profile",)

OWNED: Mapping[str, Ownership] = {
    "DEVICE_METADATA": Ownership(
        Scope.ROWS,
        fields=frozenset(
            (
                "hostname",
                "hwsku",
                "platform",
                "type",
                "bgp_asn",
                "bgp_router_id",
                "docker_routing_config_mode",
                "frr_mgmt_framework_config",
                "buffer_model",
                "default_pfcwd_status",
                "synchronous_mode",
                "suppress-fib-pending",
                "bgp_adv_lo_prefix_as_128",
            )
        ),
        only=("localhost",),
    ),
    "PORT": Ownership(
        Scope.TABLE,
        fields=frozenset(
            ("lanes", "alias", "index", "subport", "speed", "fec", "mtu", "admin_status", "description", "pfc_asym")
        ),
        only=("Ethernet*",),
    ),
    "BREAKOUT_CFG": _ROWS,
    "INTERFACE": Ownership(Scope.TABLE, only=("Ethernet*",)),
    "VLAN": _TABLE,
    "VLAN_MEMBER": _TABLE,
    "VLAN_INTERFACE": _TABLE,
    "LOOPBACK_INTERFACE": Ownership(Scope.TABLE, only=("Loopback0", "Loopback0|*")),
    "MGMT_PORT": Ownership(Scope.ROWS, fields=frozenset(("alias", "admin_status"))),
    "MGMT_INTERFACE": _ROWS,
    "MGMT_VRF_CONFIG": _ROWS,
    "NTP": Ownership(Scope.ROWS, fields=frozenset(("src_intf", "vrf", "admin_state"))),
    "NTP_SERVER": _TABLE,
    "SYSLOG_SERVER": _TABLE,
    "DNS_NAMESERVER": _TABLE,
    "FEATURE": Ownership(Scope.ROWS, fields=frozenset(("state",))),
    "FLEX_COUNTER_TABLE": Ownership(Scope.ROWS, fields=frozenset(("FLEX_COUNTER_STATUS", "POLL_INTERVAL"))),
    "SWITCH_HASH": Ownership(Scope.ROWS, only=("GLOBAL",)),
    "DEVICE_NEIGHBOR": _TABLE,
    "DEVICE_NEIGHBOR_METADATA": _TABLE,
    "DSCP_TO_TC_MAP": _ROWS,
    "TC_TO_QUEUE_MAP": _ROWS,
    "TC_TO_PRIORITY_GROUP_MAP": _ROWS,
    "MAP_PFC_PRIORITY_TO_QUEUE": _ROWS,
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": _ROWS,
    "SCHEDULER": _ROWS,
    "WRED_PROFILE": _ROWS,
    "PORT_QOS_MAP": _TABLE,
    "QUEUE": _TABLE,
    "BUFFER_POOL": _ROWS,
    "BUFFER_PROFILE": _ROWS,
    "BUFFER_PG": Ownership(Scope.TABLE, never_profile=MANAGER_PROFILES),
    "BUFFER_QUEUE": _TABLE,
    "BUFFER_PORT_INGRESS_PROFILE_LIST": _TABLE,
    "BUFFER_PORT_EGRESS_PROFILE_LIST": _TABLE,
    "CABLE_LENGTH": Ownership(Scope.ROWS, only=("AZURE",)),
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": _ROWS,
    "LOSSLESS_TRAFFIC_PATTERN": _ROWS,
    # A port that loses its lossless class loses its watchdog, the last one too. GLOBAL cannot be removed by SONiC's
    # updater (generic_config_updater/patch_sorter.py), so it stays.
    "PFC_WD": Ownership(Scope.TABLE, only=("Ethernet*",), removed_when_absent=True),
    # In mode frr our text holds the peers: a row here would make bgpcfgd write a second set.
    "BGP_NEIGHBOR": Ownership(Scope.TABLE, removed_when_absent=True),
    "BGP_PEER_RANGE": Ownership(Scope.TABLE, removed_when_absent=True),
    "BGP_DEVICE_GLOBAL": Ownership(Scope.ROWS, fields=frozenset(("wcmp_enabled",)), only=("STATE",)),
    "STATIC_ROUTE": _ROWS,
    "BGP_GLOBALS": Ownership(Scope.TABLE, removed_when_absent=True),
    "BGP_GLOBALS_AF": Ownership(Scope.TABLE, removed_when_absent=True),
    "BGP_GLOBALS_AF_NETWORK": Ownership(Scope.TABLE, removed_when_absent=True),
    "BGP_PEER_GROUP": Ownership(Scope.TABLE, removed_when_absent=True),
    "BGP_PEER_GROUP_AF": Ownership(Scope.TABLE, removed_when_absent=True),
    "BGP_NEIGHBOR_AF": Ownership(Scope.TABLE, removed_when_absent=True),
    "PREFIX_SET": _ROWS,
    "PREFIX": _ROWS,
    "ROUTE_MAP_SET": _ROWS,
    "ROUTE_MAP": _ROWS,
}


def owns_row(table: str, key: str, running: Row | None, desired: Tables) -> bool:
    """Whether `table|key` is ours, judged with the row as it runs (None when absent) and the desired tables.

    A row that is desired is ours whatever the table: a site's own additions are desired too.
    """
    wanted = desired.get(table)
    if wanted is not None and key in wanted:
        return True
    ownership = OWNED.get(table)
    if ownership is None:
        return False
    if ownership.only and not any(fnmatchcase(key, pattern) for pattern in ownership.only):
        return False
    if any(fnmatchcase(key, pattern) for pattern in ownership.never):
        return False
    profile = (running or {}).get("profile", "")
    if isinstance(profile, str) and any(fnmatchcase(profile, pattern) for pattern in ownership.never_profile):
        return False
    if ownership.scope is Scope.ROWS:
        return False
    return wanted is not None or ownership.removed_when_absent


def owns_field(table: str, field: str) -> bool:
    """Whether a field of an owned row of `table` is ours even where it is not desired (then it goes)."""
    ownership = OWNED.get(table)
    return ownership is not None and (ownership.fields is None or field in ownership.fields)


def merged(desired: Tables, base: Tables) -> dict[str, dict[str, Row]]:
    """`base` with our parts replaced by the desired ones: what a switch holds once our change is in.

    Rows and fields that are not ours stay; our rows that are no longer wanted go; no table is left empty.
    """
    result: dict[str, dict[str, Row]] = {}
    for table in [*base, *(name for name in desired if name not in base)]:
        rows: dict[str, Row] = {}
        wanted = desired.get(table, {})
        for key, row in base.get(table, {}).items():
            if key in wanted:
                kept = {name: value for name, value in row.items() if not owns_field(table, name)}
                rows[key] = {**kept, **wanted[key]}
            elif not owns_row(table, key, row, desired):
                rows[key] = row
        for key, row in wanted.items():
            rows.setdefault(key, row)
        if rows:
            result[table] = rows
    return result
