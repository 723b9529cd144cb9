"""Rules about headroom and buffers: whether a port that says it is lossless really gets a lossless priority group."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabric.lint.view import Config, found, some, text, whole
from fabric.values.finding import Confidence, Finding, Status

# The name SONiC's buffer manager gives a profile it makes from a lookup row (swss cfgmgr/buffermgr.cpp).
_MADE = re.compile(r"pg_lossless_(\d+)_(\d+m)_.*profile")


def lossless_ports_have_headroom(config: Config) -> Iterator[Finding]:
    """CFG-70: a lossless port has a cable length (F014), not `0m` (F088), or a priority group written for it."""
    if not config.whole_switch:
        return
    groups = config.expand("BUFFER_PG")
    lengths = config.cable_lengths
    by_hand: list[str] = []
    for port, priorities in config.lossless.items():
        if port not in config.ports:
            continue
        written = {
            priority
            for _, span, row in groups.get(port, [])
            for priority in priorities & set(span)
            if text(row.get("profile")) not in ("", "NULL") and not _MADE.fullmatch(text(row.get("profile")))
        }
        length = lengths.get(port)
        where = ("CABLE_LENGTH", "AZURE", port)
        if length is None and written != priorities:
            what = "lossless with no cable length; SONiC makes no lossless priority group and drops under load"
            yield found("CFG-70", where, what, "write the cable's length")
        elif length in ("0m", "0") and written != priorities:
            what = "0m means: no lossless priority group; PFC is on and nothing is behind it"
            yield found("CFG-70", where, what, "write the cable's length", value=length)
        elif length not in (None, "0m", "0") and written and config.traditional:
            by_hand.append(port)
    if by_hand:
        yield found(
            "CFG-70",
            ("BUFFER_PG", some(by_hand), None),
            f"{len(by_hand)} ports have a priority group written by hand and a cable length; "
            "SONiC's buffer manager makes its own group over it",
            'write "0m" as the cable length of these ports, or drop the groups',
            status=Status.WARN,
            port=by_hand[0] if len(by_hand) == 1 else None,
        )


def lookup_rows_exist(config: Config) -> Iterator[Finding]:
    """CFG-71: the pair of speed and cable length must be a row of pg_profile_lookup.ini, to the letter (F086)."""
    if config.platform_rows is None or not config.traditional:
        return
    known: dict[int, list[int]] = {}
    for row in config.platform_rows:
        known.setdefault(row.speed_mbps, []).append(row.cable_m)
    for port in config.lossless:
        length = config.cable_lengths.get(port)
        speed = whole(config.ports.get(port, {}).get("speed"))
        if length in (None, "0m") or speed is None:
            continue
        metres = sorted(known.get(speed, []))
        if str(length).removesuffix("m") in map(str, metres):
            continue
        have = ", ".join(f"{metre}m" for metre in metres)
        what = f"the platform has no headroom row for {speed} Mb/s and this length, so the port is not lossless"
        remedy = f"write one of {have}, not shorter than the cable" if have else "the platform has no row of this speed"
        yield found("CFG-71", ("CABLE_LENGTH", "AZURE", port), what, remedy, value=length, allowed=have or None)


def made_profiles_fit(config: Config) -> Iterator[Finding]:
    """CFG-72: a group made for another length or speed than the port now has keeps the old headroom (F089)."""
    lengths = config.cable_lengths
    for port, entries in config.expand("BUFFER_PG").items():
        for key, _, row in entries:
            name = text(row.get("profile"))
            made = _MADE.fullmatch(name)
            if made is None:
                continue
            where = ("BUFFER_PG", key, "profile")
            speed, length = text(config.ports.get(port, {}).get("speed")), lengths.get(port)
            remedy = "shut and open the port, or reload, and read the group again"
            if length is not None and length != made[2]:
                what = f"headroom for {made[2]}, and the cable length is {length}"
                yield found("CFG-72", where, what, remedy, value=name)
            if speed and speed != made[1]:
                what = f"headroom for {made[1]} Mb/s, and the port's speed is {speed}"
                yield found("CFG-72", where, what, remedy, value=name)


def null_means_dynamic(config: Config) -> Iterator[Finding]:
    """CFG-73: profile NULL asks the dynamic model for headroom; the traditional one has no answer (F097)."""
    if not config.traditional or not config.metadata:
        return
    keys = [key for key, row in config.rows("BUFFER_PG").items() if text(row.get("profile")) == "NULL"]
    if keys:
        model = text(config.metadata.get("buffer_model")) or "absent, which means traditional"
        what = f"{len(keys)} priority groups ask for computed headroom, and buffer_model is {model}"
        remedy = 'write buffer_model "dynamic" where the platform has it, or drop the rows'
        yield found("CFG-73", ("BUFFER_PG", some(keys), "profile"), what, remedy, value="NULL", port=None)


def pools_and_profiles_fit(config: Config) -> Iterator[Finding]:
    """CFG-74: shared headroom belongs to an ingress pool; a profile needs one threshold."""
    for name, row in config.rows("BUFFER_POOL").items():
        if text(row.get("type")) == "egress" and text(row.get("xoff")):
            what = "shared headroom on an egress pool means nothing"
            where = ("BUFFER_POOL", name, "xoff")
            yield found("CFG-74", where, what, "move it to the ingress lossless pool", value=row.get("xoff"))
        size, xoff = whole(row.get("size")), whole(row.get("xoff"))
        if size is not None and xoff is not None and xoff > size:
            where = ("BUFFER_POOL", name, "xoff")
            what = f"the shared headroom is larger than the pool ({size})"
            yield found("CFG-74", where, what, "write bytes", value=str(xoff), status=Status.WARN)
    for name, row in config.rows("BUFFER_PROFILE").items():
        thresholds = [field for field in ("dynamic_th", "static_th") if text(row.get(field))]
        if len(thresholds) == 2:
            what = "both thresholds; SONiC takes the one that comes last"
            yield found("CFG-74", ("BUFFER_PROFILE", name, "static_th"), what, "keep one threshold")
        elif not thresholds and text(row.get("headroom_type")) != "dynamic" and not _MADE.fullmatch(name):
            what = "no threshold; the ASIC's default decides how much of the pool this may take"
            where = ("BUFFER_PROFILE", name, "dynamic_th")
            yield found("CFG-74", where, what, "write dynamic_th or static_th", status=Status.WARN)


def ranges_are_apart(config: Config) -> Iterator[Finding]:
    """CFG-75: `Ethernet0|3` and `Ethernet0|3-4` name one queue twice; which one wins depends on the order."""
    for table in ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE"):
        for entries in config.expand(table).values():
            seen: dict[int, str] = {}
            for key, span, _ in entries:
                clash = next((seen[index] for index in span if index in seen), None)
                if clash is not None:
                    what = f"overlaps {table}|{clash}"
                    yield found("CFG-75", (table, key, None), what, "give each queue or group one row")
                seen |= dict.fromkeys(span, key)


def marking_comes_before_pause(config: Config) -> Iterator[Finding]:
    """CFG-76: the queue must mark before its priority group pauses, or ECN never acts (F095).

    Pause point of one congested group: static_th, or alpha * pool / (1 + alpha) with alpha = 2^dynamic_th.
    """
    pool = config.rows("BUFFER_POOL").get("ingress_lossless_pool", {})
    size = whole(pool.get("size"))
    points: dict[str, int] = {}
    lookup = {(row.speed_mbps, f"{row.cable_m}m"): row.threshold for row in config.platform_rows or ()}
    for port, priorities in config.lossless.items():
        speed = whole(config.ports.get(port, {}).get("speed")) or 0
        made = lookup.get((speed, config.cable_lengths.get(port, "")))
        if made is not None and size is not None and text(pool.get("mode")) == "dynamic" and config.traditional:
            points[port] = _pause_point(size, made)
        for _, span, row in config.expand("BUFFER_PG").get(port, []):
            name = text(row.get("profile"))
            profile = config.rows("BUFFER_PROFILE").get(name)
            if profile is None or not priorities & set(span):
                continue
            static, dynamic = whole(profile.get("static_th")), whole(profile.get("dynamic_th"))
            if static is not None:
                points[port] = static
            elif dynamic is not None and size is not None:
                points[port] = _pause_point(size, dynamic)
    if not points:
        return
    late: dict[tuple[str, int, int], list[str]] = {}
    for port, point in points.items():
        for priority in config.lossless[port]:
            for _, span, row in config.expand("QUEUE").get(port, []):
                name = text(row.get("wred_profile"))
                highest = whole(config.rows("WRED_PROFILE").get(name, {}).get("green_max_threshold"))
                if priority in span and highest is not None and highest >= point:
                    late.setdefault((name, highest, point), []).append(port)
    for (name, highest, point), ports in late.items():
        what = f"{len(ports)} ports ({some(ports, 2)}) pause at {point} bytes, before marking is complete"
        where = ("WRED_PROFILE", name, "green_max_threshold")
        yield found("CFG-76", where, what, "keep minimum < maximum < pause point", value=str(highest))


def _pause_point(pool_bytes: int, dynamic_th: int) -> int:
    alpha = 2.0**dynamic_th
    return int(alpha * pool_bytes / (1 + alpha))


def headroom_fits_the_pool(config: Config) -> Iterator[Finding]:
    """CFG-77: worst-case demand for headroom against the shared pool: above it a warning, above twice it an error.

    The limits (1.0 and 2.0) are ours. The demand is the sum of xoff over lossless groups of ports that are up: of the
    profile a BUFFER_PG row names, else of the platform's row for the port's speed and cable length.
    """
    shared = whole(config.rows("BUFFER_POOL").get("ingress_lossless_pool", {}).get("xoff"))
    if not shared:
        return
    rows = {(row.speed_mbps, row.cable_m): row.xoff for row in config.platform_rows or ()}
    demand = 0
    for port, priorities in config.lossless.items():
        port_row = config.ports.get(port, {})
        length = whole(config.cable_lengths.get(port, "").removesuffix("m"))
        speed = whole(port_row.get("speed"))
        if text(port_row.get("admin_status")) != "up":
            continue
        looked_up = rows.get((speed, length), 0) if speed is not None and length is not None else 0
        for priority in priorities:
            written = [
                whole(config.rows("BUFFER_PROFILE").get(text(row.get("profile")), {}).get("xoff"))
                for _, span, row in config.expand("BUFFER_PG").get(port, [])
                if priority in span
            ]
            demand += next((xoff for xoff in written if xoff is not None), looked_up)
    share = demand / shared
    if share > 1.0:
        yield found(
            "CFG-77",
            ("BUFFER_POOL", "ingress_lossless_pool", "xoff"),
            f"all lossless ports together may ask for {demand} bytes of headroom, {share:.2f} times the shared pool",
            "fewer lossless classes or ports, shorter cable rows, or a larger pool",
            value=str(shared),
            status=Status.FAIL if share > 2.0 else Status.WARN,
            confidence=Confidence.LIKELY,
        )


RULES = (
    lossless_ports_have_headroom,
    lookup_rows_exist,
    made_profiles_fit,
    null_means_dynamic,
    pools_and_profiles_fit,
    ranges_are_apart,
    marking_comes_before_pause,
    headroom_fits_the_pool,
)
