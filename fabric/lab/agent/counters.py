"""COUNTERS_DB: name maps, port counters from the kernel, and the counters no veth has, which stay at zero.

Real: octets, packets, errors, drops. Not there in the twin, hence zero: PFC, FEC, queues, priority groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fabric.lab.agent.netlink import Link
from fabric.lab.agent.oids import Oids
from fabric.lab.agent.rows import Rows
from fabric.lab.box.redis import Redis

_STAT = "SAI_PORT_STAT_"
# Fields the kernel counts, in the order of netlink.Link.stats.
_REAL = (
    "IF_IN_UCAST_PKTS",
    "IF_OUT_UCAST_PKTS",
    "IF_IN_OCTETS",
    "IF_OUT_OCTETS",
    "IF_IN_ERRORS",
    "IF_OUT_ERRORS",
    "IF_IN_DISCARDS",
    "IF_OUT_DISCARDS",
)
_ZERO = (
    "IF_IN_NON_UCAST_PKTS",
    "IF_OUT_NON_UCAST_PKTS",
    *(f"PFC_{priority}_{way}_PKTS" for way in ("RX", "TX") for priority in range(8)),
    "IF_IN_FEC_CORRECTABLE_FRAMES",
    "IF_IN_FEC_NOT_CORRECTABLE_FRAMES",
    "IF_IN_FEC_SYMBOL_ERRORS",
    *(f"IF_IN_FEC_CODEWORD_ERRORS_S{number}" for number in range(16)),
    "TRIM_PACKETS",
    "DROPPED_TRIM_PACKETS",
    "TX_TRIM_PACKETS",
)
_QUEUE = tuple(f"SAI_QUEUE_STAT_{name}" for name in ("PACKETS", "BYTES", "DROPPED_PACKETS", "DROPPED_BYTES"))
_QUEUE_ECN = tuple(f"SAI_QUEUE_STAT_WRED_ECN_MARKED_{name}" for name in ("PACKETS", "BYTES"))
_GROUP = tuple(f"SAI_INGRESS_PRIORITY_GROUP_STAT_{name}" for name in ("PACKETS", "BYTES", "DROPPED_PACKETS"))
_WATCHDOG = (
    "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED",
    "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED",
    "PFC_WD_QUEUE_STATS_TX_PACKETS",
    "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS",
    "PFC_WD_QUEUE_STATS_RX_PACKETS",
    "PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS",
)
# Redis fills thousands of rows itself: a few milliseconds instead of megabytes over the socket.
_FILL = """
local out = cjson.decode(ARGV[1])
for map, pairs in pairs(out.maps) do
  for name, id in next, pairs do redis.call('HSET', map, name, id) end
end
for _, set in ipairs(out.sets) do
  local words = {}
  for _, field in ipairs(set.fields) do words[#words + 1] = field; words[#words + 1] = '0' end
  for _, key in ipairs(set.keys) do redis.call('HSET', key, unpack(words)) end
end
return 0
"""


class Counters:
    """The counters of one switch since its daemons started."""

    def __init__(self, redis: Redis, rows: Rows, oids: Oids) -> None:
        self._redis, self._rows, self._oids = redis, rows, oids
        self._base: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._last: dict[str, tuple[int, ...]] = {}

    def start(self, ports: Iterable[str], watched: Mapping[str, Iterable[int]], ecn: bool) -> None:
        """Empty the database and make rows for these ports; `watched` are the queues under PFC watchdog.

        ECN-mark counters exist when their counter group is enabled.
        """
        import json

        self._rows.clear()
        self._base.clear()
        self._last.clear()
        maps: dict[str, dict[str, str]] = {}
        queues, groups, watchdog = [], [], []
        for port in ports:
            maps.setdefault("COUNTERS_PORT_NAME_MAP", {})[port] = self._oids.port(port)
            for index in range(8):
                queue, group = self._oids.queue(port, index), self._oids.priority_group(port, index)
                maps.setdefault("COUNTERS_QUEUE_NAME_MAP", {})[f"{port}:{index}"] = queue
                maps.setdefault("COUNTERS_QUEUE_PORT_MAP", {})[queue] = self._oids.port(port)
                maps.setdefault("COUNTERS_QUEUE_INDEX_MAP", {})[queue] = str(index)
                maps.setdefault("COUNTERS_QUEUE_TYPE_MAP", {})[queue] = "SAI_QUEUE_TYPE_UNICAST"
                maps.setdefault("COUNTERS_PG_NAME_MAP", {})[f"{port}:{index}"] = group
                maps.setdefault("COUNTERS_PG_PORT_MAP", {})[group] = self._oids.port(port)
                maps.setdefault("COUNTERS_PG_INDEX_MAP", {})[group] = str(index)
                queues.append(f"COUNTERS:{queue}")
                groups.append(f"COUNTERS:{group}")
                if index in watched.get(port, ()):
                    watchdog.append(f"COUNTERS:{queue}")
        if not maps:
            return
        sets = [
            {"fields": _QUEUE + (_QUEUE_ECN if ecn else ()), "keys": queues},
            {"fields": _GROUP, "keys": groups},
            {"fields": _WATCHDOG, "keys": watchdog},
            {
                "fields": ["SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"],
                "keys": [key.replace("COUNTERS:", "USER_WATERMARKS:") for key in queues],
            },
            {
                "fields": [
                    "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES",
                    "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES",
                ],
                "keys": [key.replace("COUNTERS:", "USER_WATERMARKS:") for key in groups],
            },
            {
                "fields": [f"{_STAT}{name}" for name in (*_REAL, *_ZERO)],
                "keys": [f"COUNTERS:{oid}" for oid in maps["COUNTERS_PORT_NAME_MAP"].values()],
            },
        ]
        self._redis.run("EVAL", _FILL, 0, json.dumps({"maps": maps, "sets": sets}))
        self._redis.pipeline([("HSET", key, "PFC_WD_STATUS", "operational") for key in watchdog])

    def poll(self, links: Iterable[Link], ports: Mapping[str, Mapping[str, str]], seconds: float) -> None:
        """Write what the kernel has counted since `start`; rates over `seconds` as bytes and packets a second."""
        for link in links:
            if link.stats is None or link.name not in ports:
                continue
            index, base = self._base.get(link.name, (0, (0,) * 8))
            last = self._last.get(link.name, (0,) * 8)
            if index != link.index:
                # A device that was made anew starts at zero; the counters of the port go on.
                base = tuple(was - now for was, now in zip(last, link.stats))
                self._base[link.name] = (link.index, base)
            now = tuple(value + offset for value, offset in zip(link.stats, base))
            oid = self._oids.port(link.name)
            changed = {f"{_STAT}{name}": str(value) for name, value, was in zip(_REAL, now, last) if value != was}
            if changed:
                self._rows.merge(f"COUNTERS:{oid}", changed)
            if seconds > 0:
                self._rows.put(
                    f"RATES:{oid}",
                    {
                        "RX_BPS": f"{(now[2] - last[2]) / seconds:.2f}",
                        "RX_PPS": f"{(now[0] - last[0]) / seconds:.2f}",
                        "TX_BPS": f"{(now[3] - last[3]) / seconds:.2f}",
                        "TX_PPS": f"{(now[1] - last[1]) / seconds:.2f}",
                    },
                )
            self._last[link.name] = now
