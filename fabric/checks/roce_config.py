"""Running QoS configuration against the Plan: maps, PFC, ECN, queues, headroom, watchdog (QOS-01 to QOS-05, QOS-08).

One claim a switch and kind of error, with its ports: a wrong map is one mistake on 64 ports. Names of objects do not
matter, what they say does; old releases' `[TABLE|name]` references are read too (F003, F004).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fabric.checks._cabling_words import some
from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim
from fabric.values.device_config import Tables
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import PlannedPort, QosPlan

Row = Mapping[str, str | list[str]]
_LOSSLESS_PROFILE = re.compile(r"pg_lossless_(\d+)_(\d+)m_")


@dataclass(frozen=True, slots=True)
class _Wrong:
    """One kind of error: code, what should be, what is, where from. Equal ones on several ports are one claim."""

    code: str
    expected: str
    observed: str
    remedy: str
    status: Status = Status.FAIL


def judge(view: View, judged: Judged) -> None:
    """Compare the running CONFIG_DB of every switch in scope."""
    by_switch: dict[str, list[tuple[PlannedPort, Link]]] = defaultdict(list)
    for link in view.links:
        if link.life in (Life.PLANNED, Life.KNOWN_DOWN):
            continue
        by_switch[link.a[0]].append((link.a_port, link))
        if isinstance(link.b_port, PlannedPort):
            by_switch[link.b[0]].append((link.b_port, link))
    for name, ports in by_switch.items():
        state = view.state(name)
        if state is None or not view.scope.holds(name) or not (view.plan.qos.lossless or state.config):
            continue
        if state.config is None:
            continue  # Coverage tells.
        _switch(view, name, ports, state.config, judged)


def _switch(view: View, name: str, ports: list[tuple[PlannedPort, Link]], tables: Tables, judged: Judged) -> None:
    found: dict[_Wrong, list[tuple[PlannedPort, Link]]] = defaultdict(list)
    reader = _Reader(tables, view.plan.qos)
    for port, link in ports:
        wrong = list(reader.port(port))
        judged.passed += max(0, _KINDS - len(wrong))
        for one in wrong:
            found[one].append((port, link))
    for one, touched in found.items():
        judged.claims.append(_claim(view, name, one, touched))


_MAPS = ("dscp_to_tc_map", "tc_to_queue_map", "tc_to_pg_map", "pfc_to_queue_map")
# Maps, PFC, ECN, strict queue, headroom, watchdog.
_KINDS = 6


class _Reader:
    """Reads one switch's tables for one port after the other."""

    def __init__(self, tables: Tables, qos: QosPlan) -> None:
        self._tables = tables
        self._qos = qos
        self._metadata = tables.get("DEVICE_METADATA", {}).get("localhost", {})
        self._queues = _by_port(tables.get("QUEUE", {}))
        self._groups = _by_port(tables.get("BUFFER_PG", {}))
        self._known: dict[tuple[str, ...], tuple[_Wrong, ...]] = {}
        self._lengths = tables.get("CABLE_LENGTH", {}).get("AZURE", {})

    def port(self, port: PlannedPort) -> Iterator[_Wrong]:
        """Everything that is wrong with one port."""
        row = self._tables.get("PORT_QOS_MAP", {}).get(port.name, {})
        yield from self._pfc(port, row)
        if port.lossless and self._qos.lossless:
            yield from self._once(("maps", *(_text(row, name) for name in _MAPS)), lambda: self._maps(row))
            queues = self._queues.get(port.name, {})
            wred = _bare(_text(queues.get(self._qos.lossless_tc, {}), "wred_profile"))
            yield from self._once(("ecn", wred), lambda: self._ecn(wred))
            scheduler = _bare(_text(queues.get(self._qos.cnp_tc, {}), "scheduler"))
            yield from self._once(("strict", scheduler), lambda: self._strict(scheduler))
            yield from self._headroom(port)
            yield from self._watchdog(port)

    def _once(self, key: tuple[str, ...], read: Callable[[], Iterator[_Wrong]]) -> tuple[_Wrong, ...]:
        """What a named object says is the same for every port that names it."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(read())
        return found

    def _pfc(self, port: PlannedPort, row: Row) -> Iterator[_Wrong]:
        lossless = port.lossless and self._qos.lossless
        wanted = str(self._qos.lossless_tc) if lossless else ""
        remedy = "render and push this switch again (`railfab drift` shows the rows)"
        for field_name in ("pfc_enable", "pfcwd_sw_enable"):
            seen = ",".join(sorted(filter(None, _text(row, field_name).replace(" ", "").split(","))))
            if seen != wanted:
                yield _Wrong("QOS-02", f"{field_name} {wanted or 'empty'}", f"{field_name} {seen or 'empty'}", remedy)
        asymmetric = _text(self._tables.get("PORT", {}).get(port.name, {}), "pfc_asym")
        if lossless and asymmetric == "on":
            yield _Wrong("QOS-02", "pfc_asym off", "pfc_asym on", "`sudo config interface pfc asymmetric PORT off`")

    def _maps(self, row: Row) -> Iterator[_Wrong]:
        qos = self._qos
        remedy = "render and push this switch again; the maps must be the same at both ends and on the NICs"
        dscp = self._object("DSCP_TO_TC_MAP", _text(row, "dscp_to_tc_map"))
        for code, tc, what in ((qos.roce_dscp, qos.lossless_tc, "RoCE"), (qos.cnp_dscp, qos.cnp_tc, "CNP")):
            seen = _text(dscp, str(code))
            if seen != str(tc):
                yield _Wrong(
                    "QOS-01", f"DSCP {code} ({what}) to TC {tc}", f"DSCP {code} ({what}) to TC {seen or 'none'}", remedy
                )
        if dscp and len(dscp) < 64:
            yield _Wrong("QOS-01", "a DSCP map with 64 entries", f"a DSCP map with {len(dscp)} entries", remedy)
        for table, field_name, what in (
            ("TC_TO_QUEUE_MAP", "tc_to_queue_map", "queue"),
            ("TC_TO_PRIORITY_GROUP_MAP", "tc_to_pg_map", "priority group"),
            ("MAP_PFC_PRIORITY_TO_QUEUE", "pfc_to_queue_map", "queue of its PFC priority"),
        ):
            seen = _text(self._object(table, _text(row, field_name)), str(qos.lossless_tc))
            if seen != str(qos.lossless_tc):
                yield _Wrong(
                    "QOS-01",
                    f"TC {qos.lossless_tc} in {what} {qos.lossless_tc}",
                    f"TC {qos.lossless_tc} in {what} {seen or 'none'}",
                    remedy,
                )

    def _ecn(self, name: str) -> Iterator[_Wrong]:
        qos, ecn = self._qos, self._qos.ecn
        expected = (
            f"queue {qos.lossless_tc} marks from {ecn.min_bytes:,} to {ecn.max_bytes:,} bytes, {ecn.probability} %"
        )
        if not name:
            why = "" if self._tables.get("WRED_PROFILE") else ": there is no WRED_PROFILE table at all"
            yield _Wrong("QOS-03", expected, f"queue {qos.lossless_tc} has no WRED profile{why}", _PUSH)
            return
        profile = self._tables.get("WRED_PROFILE", {}).get(name, {})
        mark = _text(profile, "ecn")
        if mark in ("", "ecn_none"):
            yield _Wrong("QOS-03", expected, f"profile {name} marks nothing (ecn {mark or 'not set'})", _PUSH)
            return
        seen = [_text(profile, f"green_{part}") for part in ("min_threshold", "max_threshold", "drop_probability")]
        if seen != [str(ecn.min_bytes), str(ecn.max_bytes), str(ecn.probability)]:
            yield _Wrong("QOS-03", expected, f"profile {name}: {seen[0]} to {seen[1]} bytes, {seen[2]} %", _PUSH)

    def _strict(self, name: str) -> Iterator[_Wrong]:
        kind = _text(self._tables.get("SCHEDULER", {}).get(name, {}), "type")
        if kind != "STRICT":
            queue = self._qos.cnp_tc
            yield _Wrong(
                "QOS-04", f"queue {queue} (CNP) is strict", f"queue {queue} is {kind or 'not scheduled'}", _PUSH
            )

    def _headroom(self, port: PlannedPort) -> Iterator[_Wrong]:
        group = self._qos.lossless_tc
        row = self._groups.get(port.name, {}).get(group, {})
        name = _bare(_text(row, "profile"))
        dynamic = _text(self._metadata, "buffer_model") == "dynamic"
        if not name or (name == "NULL" and not dynamic):
            length = _text(self._lengths, port.name)
            yield _Wrong(
                "QOS-05",
                f"priority group {group} with headroom",
                f"priority group {group} has no headroom (cable length {length or 'not set'})",
                "SONiC makes none when speed and cable length have no row in pg_profile_lookup.ini: look into syslog "
                "for buffermgrd, then push CABLE_LENGTH again",
            )
            return
        match = _LOSSLESS_PROFILE.match(name)
        if match is None:
            return
        length = _text(self._lengths, port.name).removesuffix("m")
        if length and length != "0" and length != match[2]:
            yield _Wrong(
                "QOS-05",
                f"headroom for {length} m of cable",
                f"profile {name} is for {match[2]} m",
                "SONiC kept the old profile: shut and open the port in a quiet moment, then read BUFFER_PG again",
            )
        if int(match[1]) != port.speed_mbps:
            yield _Wrong(
                "QOS-05",
                f"headroom for {port.speed_mbps / 1000:g}G",
                f"profile {name} is for {int(match[1]) / 1000:g}G",
                "shut and open the port in a quiet moment, then read BUFFER_PG again",
            )

    def _watchdog(self, port: PlannedPort) -> Iterator[_Wrong]:
        qos = self._qos
        row = self._tables.get("PFC_WD", {}).get(port.name)
        expected = f"watchdog {qos.watchdog_action} after {qos.watchdog_detection_ms} ms"
        if row is None:
            default = _text(self._metadata, "default_pfcwd_status")
            why = " (default_pfcwd_status is disable)" if default == "disable" else ""
            yield _Wrong("QOS-08", expected, f"no watchdog on the port{why}", _PUSH)
            return
        seen = tuple(_text(row, part) for part in ("action", "detection_time", "restoration_time"))
        wanted = (qos.watchdog_action, str(qos.watchdog_detection_ms), str(qos.watchdog_restoration_ms))
        if seen != wanted:
            yield _Wrong(
                "QOS-08",
                f"{expected}, back after {qos.watchdog_restoration_ms} ms",
                f"{seen[0] or 'no action'} after {seen[1] or '?'} ms, back after {seen[2] or '?'} ms",
                _PUSH,
            )

    def _object(self, table: str, name: str) -> Row:
        return self._tables.get(table, {}).get(_bare(name), {})


_PUSH = "`railfab drift INTENT` shows the rows; `railfab plan` says what putting them right takes, `railfab apply` does"


def _text(row: Row, name: str) -> str:
    value = row.get(name, "")
    return value if isinstance(value, str) else ",".join(value)


def _bare(reference: str) -> str:
    """The name in a reference: `AZURE`, `[TABLE|AZURE]` and `TABLE|AZURE` are the same object."""
    return reference.strip("[]").rpartition("|")[2]


def _by_port(rows: Mapping[str, Row]) -> dict[str, dict[int, Row]]:
    """QUEUE and BUFFER_PG rows by port and number; `Ethernet0|3-4` stands for both."""
    found: dict[str, dict[int, Row]] = defaultdict(dict)
    for key, row in rows.items():
        ports, _, numbers = key.partition("|")
        low, _, high = numbers.partition("-")
        if not low.isdigit() or (high and not high.isdigit()):
            continue
        for port in ports.split(","):
            for number in range(int(low), int(high or low) + 1):
                found[port].setdefault(number, row)
    return found


def _claim(view: View, device: str, wrong: _Wrong, touched: list[tuple[PlannedPort, Link]]) -> Claim:
    switch = view.plan.switches[device]
    links = [link for _, link in touched]
    hosts = tuple(sorted({link.b[0] for link in links if link.host}))
    single = len(touched) == 1
    ports = some((port.name for port, _ in touched), 6)
    finding = Finding(
        code=wrong.code,
        status=wrong.status,
        severity=Severity.BLOCK if any(link.life is Life.SERVICE for link in links) else Severity.WARN,
        confidence=Confidence.CERTAIN,
        device=device,
        port=touched[0][0].name if single else None,
        rail=switch.rail,
        rails=(switch.rail,) if switch.rail is not None and hosts else (),
        nodes=hosts,
        cable=links[0].name if single else None,
        expected=wrong.expected,
        observed=f"{wrong.observed} on {len(touched)} port{'s' if len(touched) > 1 else ''} of {device}: {ports}",
        evidence=f"running CONFIG_DB of {device}",
        remedy=wrong.remedy,
    )
    return Claim(Cause.QOS_CONFIG, finding, cables=frozenset(link.name for link in links), devices=frozenset({device}))
