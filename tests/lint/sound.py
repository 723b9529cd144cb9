"""A small switch configuration that is sound: two uplinks of 800G, two hosts of 400G in one split cage."""

from __future__ import annotations

from fabric.values.plan import HeadroomRow

Tables = dict[str, dict[str, dict[str, str | list[str]]]]

# Rows of the shape pg_profile_lookup.ini has, bytes.
ROWS = (
    HeadroomRow(400000, 5, 18796, 0, 393192, 0, 3556),
    HeadroomRow(400000, 40, 18796, 0, 446024, 0, 3556),
    HeadroomRow(800000, 5, 18796, 0, 729488, 0, 3556),
    HeadroomRow(800000, 40, 18796, 0, 835406, 0, 3556),
)

PORTS = ("Ethernet0", "Ethernet8", "Ethernet16", "Ethernet20")


def port(lanes: range, alias: str, index: int, speed: int, subport: int = 0) -> dict[str, str | list[str]]:
    return {
        "lanes": ",".join(map(str, lanes)),
        "alias": alias,
        "index": str(index),
        "subport": str(subport),
        "speed": str(speed),
        "fec": "rs",
        "mtu": "9100",
        "admin_status": "up",
        "pfc_asym": "off",
    }


def leaf() -> Tables:
    """A fresh copy, for the caller to break."""
    identity: dict[str, str | list[str]] = {str(index): str(index) for index in range(8)}
    dscp: dict[str, str | list[str]] = {str(index): "0" for index in range(64)}
    dscp |= {"26": "3", "48": "6"}
    qos: dict[str, str | list[str]] = {
        "dscp_to_tc_map": "AZURE",
        "tc_to_queue_map": "AZURE",
        "tc_to_pg_map": "AZURE",
        "pfc_to_queue_map": "AZURE",
        "pfc_enable": "3",
        "pfcwd_sw_enable": "3",
    }
    interfaces = {name: f"10.0.0.{2 * at}/31" for at, name in enumerate(PORTS)}
    peers = {"Ethernet0": ("s0", "Ethernet0"), "Ethernet8": ("s1", "Ethernet0")}
    routed: dict[str, dict[str, str | list[str]]] = {name: {} for name in PORTS}
    routed |= {f"{name}|{prefix}": {} for name, prefix in interfaces.items()}
    watchdog: dict[str, dict[str, str | list[str]]] = {"GLOBAL": {"POLL_INTERVAL": "200"}}
    for name in PORTS:
        watchdog[name] = {"action": "drop", "detection_time": "400", "restoration_time": "800"}
    queues: dict[str, dict[str, str | list[str]]] = {}
    for name in PORTS:
        queues[f"{name}|0"] = {"scheduler": "besteffort"}
        queues[f"{name}|3"] = {"scheduler": "lossless", "wred_profile": "ROCE"}
        queues[f"{name}|6"] = {"scheduler": "cnp"}
    return {
        "DEVICE_METADATA": {
            "localhost": {
                "hostname": "p1-l0",
                "hwsku": "Dell-Z9864f-O64",
                "platform": "x86_64-dell_z9864f-r0",
                "type": "LeafRouter",
                "bgp_asn": "4200000101",
                "buffer_model": "traditional",
                "default_pfcwd_status": "disable",
                "docker_routing_config_mode": "separated",
            }
        },
        "PORT": {
            "Ethernet0": port(range(17, 25), "etp1", 1, 800000),
            "Ethernet8": port(range(1, 9), "etp2", 2, 800000),
            "Ethernet16": port(range(9, 13), "etp3a", 3, 400000, 1),
            "Ethernet20": port(range(13, 17), "etp3b", 3, 400000, 2),
        },
        "BREAKOUT_CFG": {
            "Ethernet0": {"brkout_mode": "1x800G"},
            "Ethernet8": {"brkout_mode": "1x800G"},
            "Ethernet16": {"brkout_mode": "2x400G(8)"},
        },
        "INTERFACE": routed,
        "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.255.0.1/32": {}},
        "MGMT_PORT": {"eth0": {"alias": "eth0"}},
        "MGMT_INTERFACE": {"eth0|172.31.0.11/16": {"gwaddr": "172.31.0.1"}},
        "BGP_NEIGHBOR": {
            "10.0.0.1": {"asn": "4200000001", "name": "s0", "local_addr": "10.0.0.0", "holdtime": "9"},
            "10.0.0.3": {"asn": "4200000001", "name": "s1", "local_addr": "10.0.0.2", "holdtime": "9"},
        },
        "DEVICE_NEIGHBOR": {name: {"name": peer, "port": far} for name, (peer, far) in peers.items()},
        "DEVICE_NEIGHBOR_METADATA": {"s0": {"type": "SpineRouter"}, "s1": {"type": "SpineRouter"}},
        "DSCP_TO_TC_MAP": {"AZURE": dscp},
        "TC_TO_QUEUE_MAP": {"AZURE": dict(identity)},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {tc: ("3" if tc == "3" else "0") for tc in identity}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": dict(identity)},
        "PORT_QOS_MAP": {name: dict(qos) for name in PORTS},
        "SCHEDULER": {
            "lossless": {"type": "DWRR", "weight": "60"},
            "besteffort": {"type": "DWRR", "weight": "20"},
            "cnp": {"type": "STRICT"},
        },
        "WRED_PROFILE": {
            "ROCE": {
                "ecn": "ecn_all",
                "wred_green_enable": "true",
                "green_min_threshold": "1000000",
                "green_max_threshold": "2000000",
                "green_drop_probability": "5",
            }
        },
        "QUEUE": queues,
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "162539680", "xoff": "33374584"},
            "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "165867080"},
        },
        "BUFFER_PROFILE": {
            "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "static_th": "165867080"},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "165867080"},
        },
        "BUFFER_PG": {f"{name}|0": {"profile": "ingress_lossy_profile"} for name in PORTS},
        "BUFFER_QUEUE": {f"{name}|3": {"profile": "egress_lossless_profile"} for name in PORTS},
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m", "Ethernet8": "40m", "Ethernet16": "5m", "Ethernet20": "5m"}},
        "PFC_WD": watchdog,
    }
