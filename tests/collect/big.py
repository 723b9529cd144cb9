"""Databases the size of a 64x800G switch in a large fabric: 128 ports, 20 queues each, thousands of routes."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.collect import ask
from tests.collect.switch_box import Box

PORTS = 128
UNICAST, MULTICAST = 10, 10
PREFIXES = 6000
WIDTH = 32


def _oid(kind: int, number: int) -> str:
    return f"oid:{kind << 48 | number:#x}"


def ports() -> Iterator[str]:
    return (f"Ethernet{4 * number}" for number in range(PORTS))


def fill(box: Box) -> None:
    """Load everything. The counters have every field SONiC has, not only those we ask for."""
    box.load("APPL_DB", _appl())
    box.load("ASIC_DB", _asic())
    box.load("COUNTERS_DB", _counters())
    box.load("STATE_DB", _state())
    box.load("CONFIG_DB", _config())


def _appl() -> dict[str, dict[str, str]]:
    rows: dict[str, dict[str, str]] = {
        "PORT_TABLE:PortInitDone": {"lanes": "0"},
        "SWITCH_TABLE:switch": {"ecmp_hash_seed": "10"},
    }
    for number, name in enumerate(ports()):
        rows[f"PORT_TABLE:{name}"] = {
            "oper_status": "up",
            "admin_status": "up",
            "speed": "400000",
            "lanes": ",".join(str(4 * number + i) for i in range(4)),
            "fec": "rs",
            "mtu": "9100",
            "alias": f"etp{number}",
            "index": str(number // 2),
            "description": "",
            "autoneg": "off",
            "flap_count": "1",
            "last_up_time": "Sat Jan 18 00:08:42 2025",
            "pfc_asym": "off",
            "tpid": "0x8100",
        }
        rows[f"LLDP_ENTRY_TABLE:{name}"] = {
            "lldp_rem_chassis_id_subtype": "4",
            "lldp_rem_chassis_id": "02:00:5e:00:00:01",
            "lldp_rem_port_id_subtype": "7",
            "lldp_rem_port_id": f"etp{number}",
            "lldp_rem_port_desc": name,
            "lldp_rem_sys_name": f"s{number % 32}",
            "lldp_rem_sys_desc": "SONiC Software Version: SONiC.202411 - HwSku: X",
            "lldp_rem_man_addr": "172.31.0.9",
            "lldp_rem_time_mark": "7",
        }
    hops = {
        "nexthop": ",".join(f"10.254.0.{2 * i + 1}" for i in range(WIDTH)),
        "ifname": ",".join(f"Ethernet{4 * i}" for i in range(WIDTH)),
        "weight": ",".join("1" for _ in range(WIDTH)),
        "protocol": "bgp",
    }
    for prefix in prefixes():
        rows[f"ROUTE_TABLE:{prefix}"] = hops
    return rows


def prefixes() -> Iterator[str]:
    return (f"10.{64 + number // 256}.{number % 256}.0/25" for number in range(PREFIXES))


def _asic() -> dict[str, dict[str, str]]:
    kind = "ASIC_STATE:SAI_OBJECT_TYPE_"
    rows: dict[str, dict[str, str]] = {
        f"{kind}NEXT_HOP_GROUP:{_oid(5, 1)}": {
            "SAI_NEXT_HOP_GROUP_ATTR_TYPE": "SAI_NEXT_HOP_GROUP_TYPE_DYNAMIC_UNORDERED_ECMP"
        }
    }
    for number in range(WIDTH):
        rows[f"{kind}NEXT_HOP_GROUP_MEMBER:{_oid(0x2D, number)}"] = {
            "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID": _oid(5, 1),
            "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID": _oid(4, number),
        }
        rows[f"{kind}NEXT_HOP:{_oid(4, number)}"] = {
            "SAI_NEXT_HOP_ATTR_IP": f"10.254.0.{2 * number + 1}",
            "SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID": _oid(6, number),
            "SAI_NEXT_HOP_ATTR_TYPE": "SAI_NEXT_HOP_TYPE_IP",
        }
    for number in range(PORTS):
        rows[f"{kind}ROUTER_INTERFACE:{_oid(6, number)}"] = {
            "SAI_ROUTER_INTERFACE_ATTR_PORT_ID": _oid(1, number),
            "SAI_ROUTER_INTERFACE_ATTR_TYPE": "SAI_ROUTER_INTERFACE_TYPE_PORT",
            "SAI_ROUTER_INTERFACE_ATTR_MTU": "9100",
        }
        rows[f"{kind}PORT:{_oid(1, number)}"] = {f"SAI_PORT_ATTR_{n}": "x" for n in range(20)}
        for queue in range(UNICAST + MULTICAST):
            rows[f"{kind}QUEUE:{_oid(0x15, number * 32 + queue)}"] = {
                "SAI_QUEUE_ATTR_WRED_PROFILE_ID": "oid:0x0",
                "SAI_QUEUE_ATTR_X": "1",
            }
        for group in range(8):
            rows[f"{kind}INGRESS_PRIORITY_GROUP:{_oid(0x1A, number * 8 + group)}"] = {"NULL": "NULL"}
    ids = '"switch_id":"oid:0x21000000000000","vr":"oid:0x3000000000002"'
    for prefix in prefixes():
        rows[f'{kind}ROUTE_ENTRY:{{"dest":"{prefix}",{ids}}}'] = {
            "SAI_ROUTE_ENTRY_ATTR_NEXT_HOP_ID": _oid(5, 1),
            "SAI_ROUTE_ENTRY_ATTR_PACKET_ACTION": "SAI_PACKET_ACTION_FORWARD",
        }
    return rows


def _counters() -> dict[str, dict[str, str]]:
    rows: dict[str, dict[str, str]] = {}
    maps: dict[str, dict[str, str]] = {
        f"COUNTERS_{name}_MAP": {} for name in ("PORT_NAME", "QUEUE_NAME", "PG_NAME", "QUEUE_TYPE", "BUFFER_POOL_NAME")
    }
    ethernet = {f"SAI_PORT_STAT_ETHER_IN_PKTS_{n}_OCTETS": "123456789012" for n in range(40)}
    rows["CRM:STATS"] = {"crm_stats_nexthop_group_used": "40", "crm_stats_nexthop_group_available": "472"}
    for number, name in enumerate(ports()):
        port = _oid(1, number)
        maps["COUNTERS_PORT_NAME_MAP"][name] = port
        rows[f"COUNTERS:{port}"] = {**dict.fromkeys(ask.PORT_COUNTERS, str(10**14 + number)), **ethernet}
        rows[f"RATES:{port}"] = {**dict.fromkeys(ask.PORT_RATES, "1.25e10"), "SAI_PORT_STAT_IF_IN_OCTETS_last": "1"}
        for index in range(UNICAST + MULTICAST):
            queue = _oid(0x15, number * 32 + index)
            maps["COUNTERS_QUEUE_NAME_MAP"][f"{name}:{index}"] = queue
            maps["COUNTERS_QUEUE_TYPE_MAP"][queue] = f"SAI_QUEUE_TYPE_{'UNICAST' if index < UNICAST else 'MULTICAST'}"
            rows[f"COUNTERS:{queue}"] = dict.fromkeys(ask.QUEUE_COUNTERS, "98765432101")
            for table in (*ask.WATERMARK_TABLES, "PERIODIC_WATERMARKS"):
                rows[f"{table}:{queue}"] = {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": "2057328"}
        for index in range(8):
            group = _oid(0x1A, number * 8 + index)
            maps["COUNTERS_PG_NAME_MAP"][f"{name}:{index}"] = group
            rows[f"COUNTERS:{group}"] = dict.fromkeys(ask.PG_COUNTERS, "98765432101")
            for table in (*ask.WATERMARK_TABLES, "PERIODIC_WATERMARKS"):
                rows[f"{table}:{group}"] = dict.fromkeys(ask.PG_WATERMARKS, "103")
    maps["COUNTERS_BUFFER_POOL_NAME_MAP"]["ingress_lossless_pool"] = _oid(0x18, 1)
    return rows | maps


def _state() -> dict[str, dict[str, str]]:
    rows: dict[str, dict[str, str]] = {}
    for name in ports():
        rows[f"PORT_TABLE|{name}"] = {
            "speed": "400000",
            "fec": "rs",
            "state": "ok",
            "netdev_oper_status": "up",
            "supported_speeds": "400000",
        }
        rows[f"TRANSCEIVER_INFO|{name}"] = {f"field{n}": "some text of a module" for n in range(30)} | {
            "serial": "X",
            "type": "OSFP",
        }
        rows[f"TRANSCEIVER_DOM_SENSOR|{name}"] = {f"rx{n}power": "1.2" for n in range(1, 9)} | {
            f"tx{n}bias": "80.0" for n in range(1, 9)
        }
        rows[f"TRANSCEIVER_DOM_THRESHOLD|{name}"] = {f"threshold{n}": "1.0" for n in range(24)}
        for table in (
            "STATUS",
            "STATUS_FLAG",
            "STATUS_FLAG_CHANGE_COUNT",
            "STATUS_FLAG_SET_TIME",
            "STATUS_FLAG_CLEAR_TIME",
        ):
            rows[f"TRANSCEIVER_{table}|{name}"] = {f"rx{n}los": "False" for n in range(1, 41)}
        rows[f"TRANSCEIVER_VDM_REAL_VALUE|{name}"] = {f"prefec_ber_avg_media_input{n}": "1.2e-08" for n in range(40)}
        for level in ("HALARM", "LALARM", "HWARN", "LWARN"):
            for table in ("FLAG", "THRESHOLD", "FLAG_CHANGE_COUNT", "FLAG_SET_TIME", "FLAG_CLEAR_TIME"):
                rows[f"TRANSCEIVER_VDM_{level}_{table}|{name}"] = {
                    f"prefec_ber_avg_media_input{n}": "1.0" for n in range(40)
                }
    return rows


def _config() -> dict[str, dict[str, str]]:
    rows: dict[str, dict[str, str]] = {"DEVICE_METADATA|localhost": {"hwsku": "X", "platform": "p", "hostname": "sw"}}
    for name in ports():
        rows[f"PORT|{name}"] = {
            "speed": "400000",
            "lanes": "1,2,3,4",
            "admin_status": "up",
            "mtu": "9100",
            "fec": "rs",
            "alias": name,
            "index": "1",
        }
        rows[f"PORT_QOS_MAP|{name}"] = {"pfc_enable": "3", "dscp_to_tc_map": "AZURE", "pfcwd_sw_enable": "3"}
        for queue in range(10):
            rows[f"QUEUE|{name}|{queue}"] = {"scheduler": "scheduler.0", "wred_profile": "AZURE_LOSSLESS"}
            rows[f"BUFFER_QUEUE|{name}|{queue}"] = {"profile": "q_lossy_profile"}
    return rows
