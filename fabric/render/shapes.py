"""The shape of each policy file in `templates/`: what may stand in it, and what is wrong with one that does not fit.

key -> kind. A kind is a type, the words to choose from, a range of whole numbers, a pattern, or a mapping of the same.
`...` stands for any key; a key after `?` may be left out; the keys below `!` are set by railfab and nobody else.
"""

from __future__ import annotations

import re
from typing import Any

from fabric.errors import Problem

# Fields that say a box has several ASICs, each with a configuration of its own (sonic-device_metadata.yang). railfab
# writes one config_db.json a switch, which such a box would not take.
MULTI_ASIC_FIELDS = ("asic_name", "asic_id", "sub_role")

_HOST_CLASS = {
    "network": ("netplan", "networkd"),
    "nic": ("auto", "nvidia", "broadcom"),
    "lldp": ("lldpd", "networkd", "none"),
    # The number is the rule's priority too, and a rule must come before the main table's, at 32766.
    "table_base": range(1, 32000),
    "rail_routes": range(1 << 31),
    "management": list,
    # Bounds of NCCL and of InfiniBand's local ACK timeout, five bits.
    "qps": range(1, 129),
    "timeout": range(1, 32),
    "gid_index": range(256),
}
HOST_CLASSES = {"default": _HOST_CLASS, "classes": {...: {f"?{key}": kind for key, kind in _HOST_CLASS.items()}}}

_TEXT = (str, int)
_MILLISECONDS = range(100, 1 << 31)
_RELEASE = re.compile(r"20\d{4}|master")
_CLASS = range(8)
SHAPES: dict[str, Any] = {
    "device": {
        "metadata": {
            "!": (
                "hostname", "hwsku", "platform", "type", "mac", "bgp_asn", "docker_routing_config_mode",
                "frr_mgmt_framework_config", "buffer_model", "suppress-fib-pending", "bgp_adv_lo_prefix_as_128",
                *MULTI_ASIC_FIELDS,
            ),
            ...: _TEXT,
        },
        "features": {...: _TEXT},
        "management_port": {...: _TEXT},
        "host_type": str,
    },
    "ports": {
        "description": re.compile(r"([^{}]|\{(port|peer|peer_port)\})*"),
        "fields": {
            "!": ("admin_status", "alias", "description", "fec", "index", "lanes", "mtu", "speed", "subport"),
            ...: _TEXT,
        },
    },
    "services": {
        "ntp": {"!": ("vrf",), ...: _TEXT},
        "ntp_server": {...: _TEXT},
        "syslog_server": {"!": ("vrf",), ...: _TEXT},
        "dns_nameserver": {...: _TEXT},
    },
    "counters": {...: {"?interval": _MILLISECONDS, "?since": _RELEASE, "?lossless": ("yes",)}},
    "hash": {"default": {...: (str, list)}, "roles": {...: {...: (str, list)}}},
    "qos": {
        "map": str,
        "lossy_group_map": str,
        "wred_profile": str,
        "traffic_classes": range(1, 9),
        "default_class": _CLASS,
        "dscp": {...: int},
        "schedulers": {...: {"type": ("DWRR", "WRR", "STRICT"), "?weight": range(1, 101), ...: _TEXT}},
        "queues": {"count": range(1, 17), "lossless": str, "cnp": str, "other": str},
        "wred": {"ecn": ("ecn_all", "ecn_green_yellow", "ecn_green_red", "ecn_yellow_red", "ecn_green", "ecn_yellow",
                         "ecn_red", "ecn_none"), "colours": list},
        "pfc_to_group_asics": list,
    },
    "buffers": {
        "group_lossy": list,
        "queue_lossless": list,
        "queue_lossy": list,
        "lossless_pool": str,
        "dynamic": {"lossless_mtu": range(64, 9217), "small_packet_percentage": range(101)},
    },
    "watchdog": {
        "port": {
            "!": ("action", "detection_time", "restoration_time"),
            ...: {"value": _TEXT, "?since": _RELEASE, "?asics": list},
        }
    },
}  # fmt: skip


def misfits(content: Any, shape: Any, path: str, file: str) -> list[Problem]:
    """What is wrong with `content` as a `shape`; `path` is where it stands in `file`."""
    if isinstance(shape, dict):
        if not isinstance(content, dict):
            return [Problem("must be a mapping", "see railfab's own file of this name", file, path=path or None)]
        return _mapping_misfits(content, shape, path, file)
    problem = _misfit(content, shape)
    return [Problem(*problem, file, path=path)] if problem else []


def unprintable(text: str) -> bool:
    """Whether a text has control characters (line ends too), which no CONFIG_DB name or value may have."""
    return not text.isprintable()


def _misfit(content: Any, shape: Any) -> tuple[str, str] | None:
    if isinstance(content, str) and unprintable(content):
        return f"{content!r} has control characters", "take them out"
    if isinstance(shape, re.Pattern):
        text = str(content) if shape is _RELEASE else content  # releases may be written as numbers
        if not isinstance(text, str) or not shape.fullmatch(text):
            return f"cannot be {content!r}", "see railfab's own file of this name"
        return None
    if isinstance(shape, range):
        if not isinstance(content, int) or isinstance(content, bool) or content not in shape:
            return f"must be a whole number from {shape.start} to {shape.stop - 1}, is {content!r}", ""
        return None
    if isinstance(shape, tuple) and all(isinstance(word, str) for word in shape):
        return None if content in shape else (f"must be one of {', '.join(shape)}, is {content!r}", "")
    if isinstance(content, bool) or not isinstance(content, shape):
        hint = "quote it: YAML reads on, off, yes and no as true and false" if isinstance(content, bool) else ""
        kinds = " or ".join(kind.__name__ for kind in (shape if isinstance(shape, tuple) else (shape,)))
        return f"must be {kinds}, is {content!r}", hint
    if isinstance(content, list):
        for item in content:
            if not isinstance(item, str) or not item or unprintable(item):
                return f"must hold text only, has {item!r}", ""
    return None


def _mapping_misfits(content: dict[Any, Any], shape: dict[Any, Any], path: str, file: str) -> list[Problem]:
    problems: list[Problem] = []
    free, ours = shape.get(...), shape.get("!", ())
    known = {str(key).removeprefix("?"): kind for key, kind in shape.items() if key is not ... and key != "!"}
    for key, value in content.items():
        where = f"{path}.{key}" if path else str(key)
        kind = known.get(str(key), free)
        if str(key) in ours:
            problems.append(Problem("railfab sets this itself", "take it out", file, path=where))
        elif kind is None:
            problems.append(Problem("unknown key", f"known here: {', '.join(known)}", file, path=where))
        elif isinstance(key, bool) or not isinstance(key, str | int) or not str(key) or unprintable(str(key)):
            problems.append(Problem(f"{key!r} is no name", "name it by a text without control characters", file))
        else:
            problems += misfits(value, kind, where, file)
    required = (key for key in shape if key is not ... and key[0] not in "?!")
    problems += [
        Problem("missing", "see railfab's own file of this name", file, path=f"{path}.{key}" if path else key)
        for key in required
        if key not in content
    ]
    return problems
