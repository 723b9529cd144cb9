"""What the Generic Config Updater refuses and what it takes links down for, as data.

Every row names the line of the facts it stands on (`gcu.md`, or `sonic.md` 4.3); a test looks each one up there. The
table is written from those facts alone: it shares nothing with the code that plans changes, so that a wrong idea
there meets a right one here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """`what` the rule is about, and the words in `file` it was taken from."""

    what: tuple[str, ...]
    file: str
    line: str


# Fields that cannot be changed in place: the row is removed and added again.
CREATE_ONLY = (
    Rule(("PORT", "lanes"), "sonic.md", "PORT.lanes"),
    Rule(("LOOPBACK_INTERFACE", "vrf_name"), "sonic.md", "LOOPBACK_INTERFACE.vrf_name"),
    *(
        Rule(
            ("BGP_NEIGHBOR", field),
            "sonic.md",
            "BGP_NEIGHBOR asn, name, holdtime, keepalive, local_addr, nhopself, rrclient",
        )
        for field in ("asn", "name", "holdtime", "keepalive", "local_addr", "nhopself", "rrclient")
    ),
    Rule(("BGP_PEER_RANGE", "*"), "sonic.md", "BGP_PEER_RANGE all"),
    Rule(("BGP_MONITORS", "*"), "sonic.md", "BGP_MONITORS, BGP_SENTINELS, MIRROR_SESSION"),
    Rule(("BGP_SENTINELS", "*"), "sonic.md", "BGP_MONITORS, BGP_SENTINELS, MIRROR_SESSION"),
    Rule(("MIRROR_SESSION", "*"), "sonic.md", "BGP_MONITORS, BGP_SENTINELS, MIRROR_SESSION"),
)

# Tables whose rows of a port are only changed while that port is admin down: an up port is taken down for it.
_DOWN = "BUFFER_PG, BUFFER_QUEUE, BUFFER_PORT_*_PROFILE_LIST, PORT_QOS_MAP, QUEUE rows"
NEEDS_PORT_DOWN = tuple(
    Rule((table,), "sonic.md", _DOWN)
    for table in (
        "BUFFER_PG",
        "BUFFER_QUEUE",
        "BUFFER_PORT_INGRESS_PROFILE_LIST",
        "BUFFER_PORT_EGRESS_PROFILE_LIST",
        "PORT_QOS_MAP",
        "QUEUE",
    )
)

CANNOT_REMOVE = (
    Rule(("PFC_WD", "GLOBAL"), "sonic.md", "/PFC_WD/GLOBAL (and POLL_INTERVAL), /LOOPBACK_INTERFACE/Loopback0"),
    Rule(("PFC_WD", "GLOBAL", "POLL_INTERVAL"), "sonic.md", "/PFC_WD/GLOBAL (and POLL_INTERVAL)"),
    Rule(("LOOPBACK_INTERFACE", "Loopback0"), "sonic.md", "/LOOPBACK_INTERFACE/Loopback0"),
)


# Restrictions by table. From which release on (None: always), which operations, which fields below a row.
@dataclass(frozen=True)
class Permit:
    """A change that a table's validator lets through: operations, key (`*`: any), field (None: the whole row)."""

    table: str
    operations: tuple[str, ...]
    key: str
    field: str | None
    first: str
    last: str
    file: str
    line: str


RESTRICTED = (
    Rule(("BUFFER_POOL",), "gcu.md", "BUFFER_POOL size | refused by a validator"),
    Rule(("BUFFER_PROFILE",), "gcu.md", "Only four tables have field validators on this master"),
    Rule(("WRED_PROFILE",), "sonic.md", "202205-202411: only AZURE_LOSSLESS green min/max/drop"),
    Rule(("PFC_WD",), "gcu.md", "add the whole PFC_WD table | refused"),
)
_LATEST = "999999"
_POOL_OLD = "<=202505: only replace of ingress_lossless_pool xoff/size and egress_lossy_pool size"
_PROFILE = "<=202505: replace dynamic_th/xoff; 202511+: also whole object and packet_discard_action"
_WRED = "202205-202411: only AZURE_LOSSLESS green min/max/drop; 202505: any profile name; 202511+: free"
_GREEN = ("green_min_threshold", "green_max_threshold", "green_drop_probability")
PERMITTED = (
    Permit("BUFFER_POOL", ("replace",), "ingress_lossless_pool", "xoff", "0", "202505", "sonic.md", _POOL_OLD),
    Permit("BUFFER_POOL", ("replace",), "ingress_lossless_pool", "size", "0", "202505", "sonic.md", _POOL_OLD),
    Permit("BUFFER_POOL", ("replace",), "egress_lossy_pool", "size", "0", "202505", "sonic.md", _POOL_OLD),
    Permit("BUFFER_PROFILE", ("replace",), "*", "dynamic_th", "0", _LATEST, "sonic.md", _PROFILE),
    Permit("BUFFER_PROFILE", ("replace",), "*", "xoff", "0", "202505", "sonic.md", _PROFILE),
    Permit("BUFFER_PROFILE", ("add", "remove", "replace"), "*", None, "202511", _LATEST, "sonic.md", _PROFILE),
    Permit("BUFFER_PROFILE", ("add", "replace"), "*", "xoff", "202511", _LATEST, "sonic.md", _PROFILE),
    Permit("BUFFER_PROFILE", ("add", "replace"), "*", "packet_discard_action", "202511", _LATEST, "sonic.md", _PROFILE),
    *(Permit("WRED_PROFILE", ("replace",), "AZURE_LOSSLESS", f, "0", "202411", "sonic.md", _WRED) for f in _GREEN),
    *(Permit("WRED_PROFILE", ("replace",), "*", f, "202505", "202505", "sonic.md", _WRED) for f in _GREEN),
    Permit("WRED_PROFILE", ("add", "remove", "replace"), "*", None, "202511", _LATEST, "sonic.md", _WRED),
    Permit("WRED_PROFILE", ("add", "remove", "replace"), "*", "*", "202511", _LATEST, "sonic.md", _WRED),
    *(
        Permit(
            "PFC_WD", ("add", "remove", "replace"), "*", f, "0", _LATEST, "sonic.md", "HwSKU must be in the ASIC map"
        )
        for f in ("detection_time", "restoration_time", "action", "POLL_INTERVAL")
    ),
    Permit(
        "PFC_WD", ("add", "remove", "replace"), "*", None, "0", _LATEST, "sonic.md", "HwSKU must be in the ASIC map"
    ),
)

# Tables whose validator looks the switch model up. (part of a hwsku name, first release that knows it)
KNOWN_HWSKU_TABLES = (
    Rule(("PFC_WD",), "sonic.md", "HwSKU must be in the ASIC map of the validator file"),
    Rule(("BUFFER_PROFILE",), "gcu.md", "an HWSKU they do not list is refused"),
)
_SKUS = "202405 Nokia-IXR7220-H5-64D only; 202411 + Arista-7060X6-64DE/64PE"
KNOWN_HWSKUS = (
    (Rule(("Nokia-IXR7220-H5-64D",), "sonic.md", _SKUS), "202405"),
    (Rule(("Arista-7060X6-64DE",), "sonic.md", _SKUS), "202411"),
    (Rule(("Arista-7060X6-64PE",), "sonic.md", _SKUS), "202411"),
    (Rule(("P32O64",), "sonic.md", "202511 adds P32O64, P64 and others"), "202511"),
    (Rule(("P64",), "sonic.md", "202511 adds P32O64, P64 and others"), "202511"),
    # NVIDIA's are looked up by exact name.
    (Rule(("ACS-SN5600",), "sonic.md", "NVIDIA exact"), "202405"),
    (Rule(("Mellanox-SN5600-O128",), "sonic.md", "NVIDIA exact"), "202411"),
    (Rule(("Mellanox-SN5600-V256",), "sonic.md", "NVIDIA exact"), "202411"),
)

# Tables left out when the end state is compared with what was wanted.
NOT_COMPARED = (
    Rule(
        ("BUFFER_PG", "BUFFER_PROFILE", "FLEX_COUNTER_TABLE"),
        "sonic.md",
        "ignoring BUFFER_PG, BUFFER_PROFILE, FLEX_COUNTER_TABLE",
    ),
)

# General behaviour, each tested on the twin itself.
BEHAVIOUR = (
    Rule(("empty table",), "sonic.md", "target must not contain `{}` tables; delete the table instead"),
    Rule(("no YANG table",), "sonic.md", "whole operation fails unless `-n`"),
    Rule(("lanes",), "gcu.md", "lanes numeric and unique over all PORTs"),
    Rule(("speed and fec",), "sonic.md", "value must be in STATE_DB PORT_TABLE supported_speeds / supported_fecs"),
    Rule(("no rollback",), "sonic.md", "**no automatic rollback** (checkpoint first)"),
    Rule(("no lock",), "sonic.md", "two parallel `apply-patch` runs interleave"),
    Rule(("not saved",), "sonic.md", "GCU does not persist; run `config save -y` after success"),
    Rule(("strings",), "gcu.md", 'upstream turns them into the strings "None" / "True"'),
)

# Order in which rows are added; they are removed in the opposite one. What others refer to comes first.
ORDER = (
    "DEVICE_METADATA",
    "PORT",
    "BREAKOUT_CFG",
    "LOOPBACK_INTERFACE",
    "VRF",
    "DSCP_TO_TC_MAP",
    "TC_TO_QUEUE_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "SCHEDULER",
    "WRED_PROFILE",
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "INTERFACE",
    "DEVICE_NEIGHBOR_METADATA",
    "DEVICE_NEIGHBOR",
    "BGP_GLOBALS",
    "BGP_PEER_GROUP",
    "BGP_NEIGHBOR",
)

# Tables that have a model among SONiC's; a patch or a reload with any other is refused.
MODELLED = frozenset(
    """
    AAA ACL_RULE ACL_TABLE ACL_TABLE_TYPE AS_PATH_SET ASIC_SENSORS AUTO_TECHSUPPORT AUTO_TECHSUPPORT_FEATURE
    BANNER_MESSAGE BGP_AGGREGATE_ADDRESS BGP_ALLOWED_PREFIXES BGP_BBR BGP_DEVICE_GLOBAL BGP_GLOBALS BGP_GLOBALS_AF
    BGP_GLOBALS_AF_AGGREGATE_ADDR BGP_GLOBALS_AF_NETWORK BGP_GLOBALS_LISTEN_PREFIX BGP_INTERNAL_NEIGHBOR BGP_MONITORS
    BGP_NEIGHBOR BGP_NEIGHBOR_AF BGP_PEER_GROUP BGP_PEER_GROUP_AF BGP_PEER_RANGE BGP_SENTINELS
    BGP_VOQ_CHASSIS_NEIGHBOR BMP BREAKOUT_CFG BUFFER_PG BUFFER_POOL BUFFER_PORT_EGRESS_PROFILE_LIST
    BUFFER_PORT_INGRESS_PROFILE_LIST BUFFER_PROFILE BUFFER_QUEUE CABLE_LENGTH CHASSIS_MODULE COMMUNITY_SET
    CONSOLE_PORT CONSOLE_SWITCH COPP_GROUP COPP_TRAP CRM DEBUG_COUNTER DEBUG_COUNTER_DROP_REASON DEBUG_DROP_MONITOR
    DEFAULT_LOSSLESS_BUFFER_PARAMETER DEVICE_METADATA DEVICE_NEIGHBOR DEVICE_NEIGHBOR_METADATA DHCP_RELAY DHCP_SERVER
    DNS_NAMESERVER DNS_OPTIONS DOT1P_TO_TC_MAP DSCP_TO_FC_MAP DSCP_TO_TC_MAP EXP_TO_FC_MAP EXTENDED_COMMUNITY_SET
    FABRIC_MONITOR FEATURE FIPS FLEX_COUNTER_TABLE FLOW_COUNTER_ROUTE_PATTERN GNMI HIGH_FREQUENCY_TELEMETRY_GROUP
    HIGH_FREQUENCY_TELEMETRY_PROFILE INTERFACE KDUMP KUBERNETES_MASTER LDAP LDAP_SERVER LLDP LLDP_PORT LOGGER
    LOOPBACK_INTERFACE LOSSLESS_TRAFFIC_PATTERN MACSEC_PROFILE MAP_PFC_PRIORITY_TO_QUEUE MCLAG_DOMAIN MCLAG_INTERFACE
    MEMORY_STATISTICS MGMT_INTERFACE MGMT_PORT MGMT_VRF_CONFIG MIRROR_SESSION MPLS_TC_TO_TC_MAP MUX_CABLE NAT_GLOBAL
    NEIGH NTP NTP_KEY NTP_SERVER PASSW_HARDENING PBH_HASH PBH_HASH_FIELD PBH_RULE PBH_TABLE PEER_SWITCH
    PFC_PRIORITY_TO_PRIORITY_GROUP_MAP PFC_WD POLICER PORT PORTCHANNEL PORTCHANNEL_INTERFACE PORTCHANNEL_MEMBER
    PORT_QOS_MAP PORT_STORM_CONTROL PREFIX PREFIX_LIST PREFIX_SET QUEUE RADIUS RADIUS_SERVER RESTAPI ROUTE_MAP
    ROUTE_MAP_SET ROUTE_REDISTRIBUTE SCHEDULER SERIAL_CONSOLE SFLOW SFLOW_COLLECTOR SFLOW_SESSION SNMP
    SNMP_AGENT_ADDRESS_CONFIG SNMP_COMMUNITY SNMP_USER SRV6_MY_LOCATORS SRV6_MY_SIDS SSH_SERVER STATIC_ROUTE
    STORMOND_CONFIG STP STP_PORT STP_VLAN STP_VLAN_PORT SUBNET_DECAP SUPPRESS_ASIC_SDK_HEALTH_EVENT SWITCH_FAST_LINKUP
    SWITCH_HASH SWITCH_TRIMMING SYSLOG_CONFIG SYSLOG_CONFIG_FEATURE SYSLOG_SERVER SYSTEM_DEFAULTS SYSTEM_PORT TACPLUS
    TACPLUS_SERVER TC_TO_DSCP_MAP TC_TO_PRIORITY_GROUP_MAP TC_TO_QUEUE_MAP TELEMETRY TELEMETRY_CLIENT TUNNEL VERSIONS
    VLAN VLAN_INTERFACE VLAN_MEMBER VLAN_SUB_INTERFACE VNET VNET_ROUTE VNET_ROUTE_TUNNEL VOQ_INBAND_INTERFACE VRF
    VXLAN_EVPN_NVO VXLAN_TUNNEL VXLAN_TUNNEL_MAP WARM_RESTART WRED_PROFILE
    """.split()
)
