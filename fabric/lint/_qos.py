"""Rules about classification, queues and ECN: what DSCP a packet carries, where it lands, whether it gets marked.

DSCP 26 for RoCE data and 48 for congestion notifications are what RoCE hosts send by default; a file alone does not
say what its hosts send, so a map that treats them otherwise is a warning here and an error against the Plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fabric.lint.view import Config, found, numbers, some, text, whole
from fabric.values.device_config import Row
from fabric.values.finding import Confidence, Finding, Status

ROCE_DSCP = 26
CNP_DSCP = 48
_COLOURS = ("green", "yellow", "red")
# orchagent reads thresholds as signed 32-bit numbers (swss orchagent/qosorch.cpp); YANG allows 64 bits.
_LARGEST_THRESHOLD = 2**31 - 1


def _groups(config: Config, *fields: str) -> dict[tuple[str, ...], list[str]]:
    """Ports with lossless priorities, grouped by the values of some PORT_QOS_MAP fields."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for port in config.lossless:
        row = config.port_maps[port]
        groups.setdefault(tuple(text(row.get(field)) for field in fields), []).append(port)
    return groups


def _entry(rows: Mapping[str, Row], name: str, index: int) -> int | None:
    return whole(rows.get(name, {}).get(str(index)))


def dscp_maps_are_complete(config: Config) -> Iterator[Finding]:
    """CFG-50: a DSCP without an entry falls to the ASIC's default; write all 64."""
    for name, row in config.rows("DSCP_TO_TC_MAP").items():
        missing = [dscp for dscp in range(64) if str(dscp) not in row]
        if missing:
            yield found(
                "CFG-50",
                ("DSCP_TO_TC_MAP", name, None),
                f"{len(missing)} of 64 DSCP values have no entry ({', '.join(map(str, missing[:6]))}"
                f"{', ...' if len(missing) > 6 else ''}); they fall to the ASIC's default class",
                "write all 64 entries",
                status=Status.WARN,
            )


def roce_is_lossless(config: Config) -> Iterator[Finding]:
    """CFG-51: RoCE's DSCP must lead to a priority with PFC, and at least one DSCP must."""
    fields = ("dscp_to_tc_map", "tc_to_pg_map", "pfc_enable")
    for (name, pg_name, enabled), ports in _groups(config, *fields).items():
        row = config.rows("DSCP_TO_TC_MAP").get(name)
        if row is None:
            continue
        priorities = numbers(enabled)
        groups = config.rows("TC_TO_PRIORITY_GROUP_MAP")

        def priority(tc: int | None, groups: Mapping[str, Row] = groups, pg_name: str = pg_name) -> int | None:
            if tc is None or pg_name not in groups:
                return tc
            return _entry(groups, pg_name, tc)

        paused = [dscp for dscp in range(64) if priority(whole(row.get(str(dscp)))) in priorities]
        where = ("DSCP_TO_TC_MAP", name, None)
        count = f"{len(ports)} port{'s' if len(ports) > 1 else ''} ({some(ports, 2)})"
        if not paused:
            what = f"no DSCP leads to a priority with PFC ({enabled}) on {count}; nothing on them is lossless"
            yield found("CFG-51", where, what, f'write "{ROCE_DSCP}": the lossless class', port=None)
            continue
        if ROCE_DSCP not in paused:
            value = text(row.get(str(ROCE_DSCP)))
            yield found(
                "CFG-51",
                ("DSCP_TO_TC_MAP", name, str(ROCE_DSCP)),
                f"RoCE's usual DSCP leads to a lossy class on {count}, where only DSCP "
                f"{', '.join(map(str, paused[:8]))} is lossless",
                "map it to the lossless class, or make sure every host marks with a lossless DSCP",
                value=value,
                status=Status.WARN,
                confidence=Confidence.LIKELY,
            )
        if CNP_DSCP in paused:
            yield found(
                "CFG-51",
                ("DSCP_TO_TC_MAP", name, str(CNP_DSCP)),
                f"congestion notifications share a lossless class on {count} and wait behind the data they slow down",
                "map them to a strict queue without PFC",
                value=text(row.get(str(CNP_DSCP))),
                status=Status.WARN,
            )


def classes_agree(config: Config) -> Iterator[Finding]:
    """CFG-52: one class is queue, priority group and PFC priority together, or pause stops another queue."""
    fields = ("tc_to_queue_map", "tc_to_pg_map", "pfc_to_queue_map", "pfc_enable")
    for (queue_map, pg_map, pfc_map, enabled), ports in _groups(config, *fields).items():
        queues, groups = config.rows("TC_TO_QUEUE_MAP"), config.rows("TC_TO_PRIORITY_GROUP_MAP")
        if queue_map not in queues or pg_map not in groups:
            continue
        for priority in sorted(numbers(enabled)):
            classes = [int(tc) for tc, group in groups[pg_map].items() if tc.isdigit() and text(group) == str(priority)]
            if not classes:
                what = f"no traffic class leads to priority group {priority}, where {some(ports, 2)} have PFC"
                where = ("TC_TO_PRIORITY_GROUP_MAP", pg_map, str(priority))
                yield found("CFG-52", where, what, f"map traffic class {priority} to group {priority}")
                continue
            paused = _entry(config.rows("MAP_PFC_PRIORITY_TO_QUEUE"), pfc_map, priority)
            served = {_entry(queues, queue_map, tc) for tc in classes} - {None}
            if pfc_map in config.rows("MAP_PFC_PRIORITY_TO_QUEUE") and paused not in served:
                what = (
                    f"a pause for priority {priority} stops queue {paused}, but its traffic waits in queue "
                    f"{', '.join(map(str, sorted(filter(None, served)))) or '?'} ({some(ports, 2)})"
                )
                where = ("MAP_PFC_PRIORITY_TO_QUEUE", pfc_map, str(priority))
                yield found("CFG-52", where, what, "make the three maps agree", value=str(paused))


def one_lossless_class(config: Config) -> Iterator[Finding]:
    """CFG-53: a second lossless class doubles the headroom; asymmetric PFC must be off."""
    several = [port for port, priorities in config.lossless.items() if len(priorities) > 1]
    if several:
        yield found(
            "CFG-53",
            ("PORT_QOS_MAP", some(several), "pfc_enable"),
            f"{len(several)} ports have more than one lossless priority; each one takes its own headroom",
            "keep one lossless class for RoCE",
            value=config.port_maps[several[0]].get("pfc_enable"),
            status=Status.WARN,
            port=several[0] if len(several) == 1 else None,
        )
    for port in config.lossless:
        if text(config.ports.get(port, {}).get("pfc_asym")) == "on":
            what = "asymmetric PFC on a lossless port: it pauses for priorities it does not honour"
            yield found("CFG-53", ("PORT", port, "pfc_asym"), what, 'write "off"', value="on")


def switch_map_agrees(config: Config) -> Iterator[Finding]:
    """CFG-54: the row `global` is the switch-level map and no port (F017); one that differs confuses everyone."""
    row = config.rows("PORT_QOS_MAP").get("global")
    if row is None:
        return
    name = text(row.get("dscp_to_tc_map"))
    others = {text(port.get("dscp_to_tc_map")) for port in config.port_maps.values()} - {"", name}
    if name and others:
        yield found(
            "CFG-54",
            ("PORT_QOS_MAP", "global", "dscp_to_tc_map"),
            f"the switch-level map differs from the map of its ports ({some(others)})",
            "use one map, or drop the switch-level one",
            value=name,
            status=Status.WARN,
        )


def lossless_queues_mark(config: Config) -> Iterator[Finding]:
    """CFG-55: a lossless queue without a WRED profile that marks ECN never slows a sender down (F094)."""
    if not config.lossless or not config.has("QUEUE"):
        return
    queues = config.expand("QUEUE")
    bare: dict[int, list[str]] = {}
    unmarked: dict[str, set[str]] = {}
    for port, priorities in config.lossless.items():
        pfc_map = text(config.port_maps[port].get("pfc_to_queue_map"))
        for priority in sorted(priorities):
            queue = _entry(config.rows("MAP_PFC_PRIORITY_TO_QUEUE"), pfc_map, priority)
            queue = priority if queue is None else queue
            names = {text(row.get("wred_profile")) for _, span, row in queues.get(port, []) if queue in span} - {""}
            if not names:
                bare.setdefault(queue, []).append(port)
            for name in names & set(config.rows("WRED_PROFILE")):
                if text(config.rows("WRED_PROFILE")[name].get("ecn")) in ("", "ecn_none"):
                    unmarked.setdefault(name, set()).add(port)
    for queue, ports in bare.items():
        cause = "" if config.has("WRED_PROFILE") else "; the table WRED_PROFILE is missing altogether"
        what = f"lossless queue {queue} of {len(ports)} ports has no wred_profile, so congestion is never marked{cause}"
        where = ("QUEUE", some([f"{port}|{queue}" for port in ports]), "wred_profile")
        yield found("CFG-55", where, what, "name an ECN profile", port=ports[0] if len(ports) == 1 else None)
    for name, users in unmarked.items():
        what = f"the profile marks nothing, and the lossless queues of {len(users)} ports rely on it"
        where = ("WRED_PROFILE", name, "ecn")
        value = text(config.rows("WRED_PROFILE")[name].get("ecn")) or None
        yield found("CFG-55", where, what, 'write "ecn_all"', value=value)


def _drops(row: Row, colour: str) -> bool:
    """Whether a profile drops packets of a colour that can carry ECN: WRED on, and no marking for that colour."""
    ecn = text(row.get("ecn"))
    marked = ecn == "ecn_all" or colour in ecn.removeprefix("ecn_").split("_")
    return text(row.get(f"wred_{colour}_enable")) == "true" and not marked


def thresholds_make_sense(config: Config) -> Iterator[Finding]:
    """CFG-56: WRED thresholds in order, below 2^31 bytes, and no dropping where loss is not allowed (F095)."""
    lossless = set(_lossless_profiles(config))
    for name, row in config.rows("WRED_PROFILE").items():
        for colour in _COLOURS:
            low, high = whole(row.get(f"{colour}_min_threshold")), whole(row.get(f"{colour}_max_threshold"))
            for value, end in ((low, "min"), (high, "max")):
                if value is not None and value > _LARGEST_THRESHOLD:
                    what = f"larger than {_LARGEST_THRESHOLD} bytes; SONiC reads it as a negative number"
                    where = ("WRED_PROFILE", name, f"{colour}_{end}_threshold")
                    yield found("CFG-56", where, what, "write bytes below 2^31", value=str(value))
            if low is not None and high is not None and low > high:
                where = ("WRED_PROFILE", name, f"{colour}_min_threshold")
                what = f"above the maximum ({high})"
                yield found("CFG-56", where, what, "make the minimum the smaller one", value=str(low))
            enabled = text(row.get(f"wred_{colour}_enable")) == "true"
            if enabled and (low is None or high is None):
                where = ("WRED_PROFILE", name, f"{colour}_{'min' if low is None else 'max'}_threshold")
                what = f"missing, although WRED is on for {colour}"
                yield found("CFG-56", where, what, "write both thresholds in bytes")
            if name in lossless and _drops(row, colour):
                what = f"{colour} packets of a lossless queue are dropped instead of marked"
                where = ("WRED_PROFILE", name, f"wred_{colour}_enable")
                yield found("CFG-56", where, what, 'write ecn "ecn_all"', value="true")


def _lossless_profiles(config: Config) -> Iterator[str]:
    """WRED profiles that a lossless queue uses."""
    if not config.lossless:
        return
    queues = config.expand("QUEUE")
    for port, priorities in config.lossless.items():
        pfc_map = text(config.port_maps[port].get("pfc_to_queue_map"))
        for priority in priorities:
            queue = _entry(config.rows("MAP_PFC_PRIORITY_TO_QUEUE"), pfc_map, priority)
            queue = priority if queue is None else queue
            yield from (text(row.get("wred_profile")) for _, span, row in queues.get(port, []) if queue in span)


def notifications_go_first(config: Config) -> Iterator[Finding]:
    """CFG-57: the queue of congestion notifications is strict and drops nothing early (QOS-04)."""
    if not config.lossless or not config.has("QUEUE"):
        return
    queues = config.expand("QUEUE")
    slow: dict[int, list[str]] = {}
    early: dict[int, list[str]] = {}
    for port in config.lossless:
        row = config.port_maps[port]
        tc = _entry(config.rows("DSCP_TO_TC_MAP"), text(row.get("dscp_to_tc_map")), CNP_DSCP)
        queue = None if tc is None else _entry(config.rows("TC_TO_QUEUE_MAP"), text(row.get("tc_to_queue_map")), tc)
        if queue is None or tc in config.lossless[port]:
            continue
        rows = [entry for _, span, entry in queues.get(port, []) if queue in span]
        schedulers = [config.rows("SCHEDULER").get(text(entry.get("scheduler")), {}) for entry in rows]
        if not any(text(scheduler.get("type")) == "STRICT" for scheduler in schedulers):
            slow.setdefault(queue, []).append(port)
        if any(text(entry.get("wred_profile")) for entry in rows):
            early.setdefault(queue, []).append(port)
    for ports_of, what, remedy, field in (
        (slow, "is not strict, so congestion notifications wait behind data", "use a STRICT scheduler", "scheduler"),
        (early, "has a WRED profile that may drop congestion notifications", "drop the profile", "wred_profile"),
    ):
        for queue, ports in ports_of.items():
            yield found(
                "CFG-57",
                ("QUEUE", some([f"{port}|{queue}" for port in ports]), field),
                f"queue {queue} (DSCP {CNP_DSCP}) of {len(ports)} ports {what}",
                remedy,
                status=Status.WARN,
                confidence=Confidence.LIKELY,
                port=ports[0] if len(ports) == 1 else None,
            )


RULES = (
    dscp_maps_are_complete,
    roce_is_lossless,
    classes_agree,
    one_lossless_class,
    switch_map_agrees,
    lossless_queues_mark,
    thresholds_make_sense,
    notifications_go_first,
)
