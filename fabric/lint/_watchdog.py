"""Rules about the PFC watchdog: which priorities it watches, and whether its rows do anything."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.lint.view import Config, found, numbers, some, text, whole
from fabric.values.finding import Finding, Status


def watched_priorities_have_pfc(config: Config) -> Iterator[Finding]:
    """CFG-60: `pfcwd_sw_enable` within `pfc_enable`; absent means that nothing is watched, whatever PFC_WD says."""
    unwatched: dict[str, list[str]] = {}
    for port, row in config.port_maps.items():
        enabled, watched = numbers(row.get("pfc_enable")), numbers(row.get("pfcwd_sw_enable"))
        extra = watched - enabled
        if extra:
            what = f"priority {', '.join(map(str, sorted(extra)))} is watched and has no PFC"
            where = ("PORT_QOS_MAP", port, "pfcwd_sw_enable")
            yield found("CFG-60", where, what, "watch exactly pfc_enable", value=row.get("pfcwd_sw_enable"))
        if enabled - watched:
            missing = ", ".join(map(str, sorted(enabled - watched)))
            unwatched.setdefault(missing, []).append(port)
    for priorities, ports in unwatched.items():
        what = f"priority {priorities} of {len(ports)} ports has PFC and no watchdog; rows of PFC_WD do nothing for it"
        where = ("PORT_QOS_MAP", some(ports), "pfcwd_sw_enable")
        remedy = "write the priorities of pfc_enable"
        yield found("CFG-60", where, what, remedy, port=ports[0] if len(ports) == 1 else None)


def lossless_ports_are_watched(config: Config) -> Iterator[Finding]:
    """CFG-61: every lossless port has a PFC_WD row (F079); the image's default is off."""
    if not config.whole_switch:
        return
    rows = config.rows("PFC_WD")
    bare = [port for port in config.lossless if port not in rows and port in config.ports]
    if bare:
        default = text(config.metadata.get("default_pfcwd_status")) or "absent"
        cause = f" (default_pfcwd_status is {default}, so SONiC starts none by itself)" if default != "enable" else ""
        yield found(
            "CFG-61",
            ("PFC_WD", some(bare), None),
            f"the watchdog is off on {len(bare)} lossless ports{cause}; one sick NIC can stop the fabric",
            "write a PFC_WD row for each lossless port",
            status=Status.WARN if default == "enable" else Status.FAIL,
            port=bare[0] if len(bare) == 1 else None,
        )
    idle = [port for port in rows if port != "GLOBAL" and port in config.ports and port not in config.lossless]
    if idle and config.has("PORT_QOS_MAP"):
        what = f"{len(idle)} ports have a watchdog row and no lossless priority; the row does nothing"
        where = ("PFC_WD", some(idle), None)
        yield found("CFG-61", where, what, "drop the rows", status=Status.WARN, port=None)


def watchdog_rows_work(config: Config) -> Iterator[Finding]:
    """CFG-62: a row names its action; times are in order. YANG accepts a row without an action."""
    poll = whole(config.rows("PFC_WD").get("GLOBAL", {}).get("POLL_INTERVAL"))
    for port, row in config.rows("PFC_WD").items():
        if port == "GLOBAL":
            if "BIG_RED_SWITCH" in row:
                what = "written by the CLI and unknown to the models; GCU and reload refuse the file with it"
                yield found("CFG-62", ("PFC_WD", port, "BIG_RED_SWITCH"), what, "drop the field")
            continue
        action = text(row.get("action"))
        if action not in ("drop", "forward", "alert"):
            what = "missing; the watchdog's action is then up to the release" if not action else "no known action"
            where = ("PFC_WD", port, "action")
            allowed = "drop, forward, alert"
            yield found("CFG-62", where, what, "write the action", value=action or None, allowed=allowed)
        detection, restoration = whole(row.get("detection_time")), whole(row.get("restoration_time"))
        if detection is None:
            what = "missing; without it the row starts nothing"
            yield found("CFG-62", ("PFC_WD", port, "detection_time"), what, "write milliseconds, 100 to 5000")
            continue
        if restoration is not None and restoration < detection:
            what = f"shorter than detection ({detection} ms): the queue opens again before a storm can be seen"
            where = ("PFC_WD", port, "restoration_time")
            yield found("CFG-62", where, what, "make it at least as long", value=str(restoration), status=Status.WARN)
        if poll is not None and detection < poll:
            what = f"shorter than the poll interval ({poll} ms)"
            where = ("PFC_WD", port, "detection_time")
            yield found("CFG-62", where, what, "make it at least as long", value=str(detection))


RULES = (watched_priorities_have_pfc, lossless_ports_are_watched, watchdog_rows_work)
