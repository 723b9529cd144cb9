"""One switch's answer -> SwitchState. Pure. What cannot be had is None with a Hole that says why; it never raises for
a part that is bad, and never lets bad data pass for good."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from fabric.collect import parse_counters, parse_frr, parse_lldp, parse_optics, parse_ports, parse_routes, parse_system
from fabric.collect.answer import Answer, Section, split
from fabric.collect.ask import database_jobs
from fabric.collect.parts import DEFAULT_PARTS, FIELDS, Part
from fabric.collect.scalars import clean
from fabric.collect.tables import Database
from fabric.errors import CollectError
from fabric.values.snapshot import Hole, SwitchState

# Tables that each ASIC of a multi-ASIC switch has for itself, with next hops of its own.
_PER_ASIC = (Part.BGP, Part.RIB, Part.APPL, Part.ASIC, Part.KERNEL, Part.FRR, Part.BFD, Part.CRM)


def parse_switch(
    device: str,
    answer: str | bytes,
    taken_at: float,
    source: str = "",
    *,
    errors: str | bytes = "",
    parts: Iterable[Part] = DEFAULT_PARTS,
    token: str | None = None,
    duration_s: float = 0.0,
) -> SwitchState:
    """Typed state of one switch from what it answered to `script(parts)`.

    `errors` is what came on standard error. CollectError only when the answer holds nothing of ours at all, or
    another collector had the switch.
    """
    cut = split(answer, errors, token=token)
    locked = cut.sections.get("lock")
    if locked is not None and locked.rc == 75:
        raise CollectError("another collector is reading this switch; try again in a minute")
    return _Reader(device, cut, taken_at, source, frozenset(parts), duration_s).state()


class _Reader:
    def __init__(
        self, device: str, cut: Answer, taken_at: float, source: str, parts: frozenset[Part], duration_s: float
    ) -> None:
        self._cut = cut
        self._parts = parts
        self._holes: dict[str, str] = {}
        self._notes: list[str] = []
        self._values: dict[str, Any] = {
            "device": device,
            "taken_at": taken_at,
            "source": source,
            "duration_s": duration_s,
        }
        self._databases: dict[str, Database | str] = {}
        self._system = parse_system.System()

    def state(self) -> SwitchState:
        self._identity()
        steps: dict[Part, Callable[[], None]] = {
            Part.PORTS: self._ports,
            Part.LLDP: self._lldp,
            Part.BGP: self._bgp,
            Part.RIB: self._rib,
            Part.APPL: self._appl,
            Part.ASIC: self._asic,
            Part.KERNEL: self._kernel,
            Part.NEIGHBOURS: self._neighbours,
            Part.FDB: self._fdb,
            Part.OPTICS: self._optics,
            Part.COUNTERS: self._counters,
            Part.QUEUES: self._queues,
            Part.WATERMARKS: self._watermarks,
            Part.CONFIG: self._config,
            Part.FRR: self._frr,
            Part.BFD: self._bfd,
            Part.CRM: self._crm,
        }
        for part, step in steps.items():
            if part not in self._parts:
                continue
            if self._system.asics > 1 and part in _PER_ASIC:
                self._hole(part, f"{self._system.asics} ASICs with tables of their own; not put together")
                continue
            try:
                step()
            except CollectError as error:
                self._hole(part, str(error))
        if self._cut.noise:
            self._notes.append(f"said before its answer: {clean(self._cut.noise[:200])}")
        holes = tuple(Hole(name, reason) for name, reason in self._holes.items())
        return SwitchState(**self._values, holes=holes, notes=tuple(self._notes))

    def _hole(self, part: Part, reason: str) -> None:
        for name in FIELDS[part]:
            if self._values.get(name) is None:
                self._holes.setdefault(name, reason)

    def _section(self, name: str) -> Section:
        section = self._cut.sections.get(name)
        if section is None:
            raise CollectError("the answer was cut off" if not self._cut.complete else "not asked")
        failure = section.failure()
        if failure is not None:
            raise CollectError(failure)
        return section

    def _database(self, name: str) -> Database:
        """All namespaces of a database as one; an error of any is the error of all."""
        known = self._databases.get(name)
        if known is None:
            known = self._read_database(name)
            self._databases[name] = known
        if isinstance(known, str):
            raise CollectError(known)
        return known

    def _read_database(self, name: str) -> Database | str:
        sections = self._cut.under(f"db.{name}")
        if not sections:
            return "the answer was cut off" if not self._cut.complete else "not asked"
        if self._system.asics > 1 and len(sections) <= self._system.asics:
            return "the answer was cut off"
        database = Database()
        for section in sections:
            failure = section.failure()
            if failure is not None:
                return f"{name}: {failure}"
            try:
                database.add(section.text)
            except CollectError as error:
                return f"{name}: {error}"
        return database

    # Parts

    def _identity(self) -> None:
        try:
            self._system = parse_system.system(self._section("system").text)
        except CollectError as error:
            self._notes.append(f"identity: {error}")
        system = self._system
        self._values |= {
            "hostname": system.hostname,
            "release": system.release,
            "onie_platform": system.onie_platform,
            "uptime_s": system.uptime_s,
            "swss_uptime_s": system.swss_uptime_s,
            "clock": system.clock,
            "reboot_cause": system.reboot_cause,
            "chassis_id": system.eth0_mac,
        }
        if "STATE_DB" in database_jobs(self._parts):
            try:
                rows = self._database("STATE_DB").table("EEPROM_INFO|")
            except CollectError as error:
                self._notes.append(f"identity: {error}")
            else:
                self._values["serial"], self._values["base_mac"] = parse_system.eeprom(rows)

    def _ports(self) -> None:
        appl = self._database("APPL_DB")
        try:
            state = self._database("STATE_DB")
        except CollectError as error:
            state = Database()
            self._holes["errors_by_port"] = str(error)
            self._notes.append(f"ports: without STATE_DB ({error}): operational speed and FEC are not known")
        else:
            self._values["errors_by_port"] = parse_ports.errors_by_port(state.table("PORT_OPERR_TABLE|"))
        self._values["ports"] = parse_ports.ports(appl.table("PORT_TABLE:"), state.table("PORT_TABLE|"))
        self._values["switch"] = parse_ports.switch_table(appl.table("SWITCH_TABLE:"))

    def _lldp(self) -> None:
        """lldpctl keeps every neighbour of a port, the database one: lldpctl where it could be had, else the rows."""
        rows = None
        problem = ""
        try:
            database = self._database("APPL_DB")
            self._values["chassis_id"] = (
                parse_lldp.local_chassis(database.hashes.get("LLDP_LOC_CHASSIS", {})) or self._values["chassis_id"]
            )
            rows, notes = parse_lldp.from_table(database.table("LLDP_ENTRY_TABLE:"))
            self._notes.extend(notes)
        except CollectError as error:
            problem = str(error)
        try:
            live = parse_lldp.from_lldpctl(self._section("lldpctl").text)
        except CollectError as error:
            if rows is None:
                raise CollectError(f"{problem}; lldpctl: {error}") from None
            self._notes.append(f"lldp: one neighbour a port, from the database (lldpctl: {error})")
            self._values["lldp"] = rows
            return
        silent = sorted({row.local_port for row in rows or ()} - {row.local_port for row in live})
        if rows and not live:
            raise CollectError(f"lldpctl sees no neighbour, LLDP_ENTRY_TABLE has {len(rows)}: one of them is wrong")
        if silent:
            self._notes.append(f"lldp: rows of {', '.join(silent[:8])} are older than lldpd's own table")
        self._values["lldp"] = live

    def _frr_text(self, name: str) -> str:
        """Output of one FRR command: asked alone, or out of the one call that asked several."""
        alone = self._cut.sections.get(f"frr.{name}")
        if alone is not None:
            failure = alone.failure()
            if failure is not None:
                said = parse_frr_words(alone.text)
                raise CollectError(said if said.endswith("is not running") else failure)
            return alone.text
        section = self._section("frr")
        outputs = parse_frr.several(section.text, section.words)
        if name not in outputs:
            raise CollectError("not asked" if name not in section.words else "FRR stopped before it")
        return outputs[name]

    def _bgp(self) -> None:
        self._values["bgp"], self._values["bgp_local_asn"] = parse_frr.bgp_summary(self._frr_text("bgp"))

    def _bfd(self) -> None:
        peers = self._values.get("bgp")
        try:
            states = parse_frr.bfd_states(self._frr_text("bfd"))
        except CollectError as error:
            self._notes.append(f"bfd: {error}")
            return
        if peers:
            self._values["bgp"] = {
                key: replace(peer, bfd_state=states[key]) if key in states else peer for key, peer in peers.items()
            }

    def _rib(self) -> None:
        self._values["rib"] = {**parse_frr.rib(self._frr_text("rib4")), **parse_frr.rib(self._frr_text("rib6"))}

    def _frr(self) -> None:
        self._values["frr"] = parse_frr.running_config(self._frr_text("config"))

    def _appl(self) -> None:
        database = self._database("APPL_DB")
        self._values["appl"] = parse_routes.appl(
            database.table("ROUTE_TABLE:"),
            database.table("NEXTHOP_GROUP_TABLE:"),
            database.table("CLASS_BASED_NEXT_HOP_GROUP_TABLE:"),
        )

    def _asic(self) -> None:
        counters = self._database("COUNTERS_DB")
        objects = self._database("ASIC_DB").table("ASIC_STATE:SAI_OBJECT_TYPE_")
        if not objects:
            raise CollectError("ASIC_DB is empty: syncd is not up")
        names = counters.hashes.get("COUNTERS_PORT_NAME_MAP", {})
        if not names:
            raise CollectError("COUNTERS_DB has no port names: next hops cannot be followed to ports")
        self._values["asic"] = parse_routes.asic(objects, names, counters.hashes.get("COUNTERS_LAG_NAME_MAP", {}))

    def _kernel(self) -> None:
        self._values["kernel"] = parse_routes.kernel(self._section("kernel4").text, self._section("kernel6").text)

    def _neighbours(self) -> None:
        self._values["neighbours"] = parse_routes.neighbours(self._section("neighbours").text)

    def _fdb(self) -> None:
        self._values["fdb"] = parse_system.fdb(self._database("STATE_DB").table("FDB_TABLE|"))

    def _optics(self) -> None:
        self._values["optics"] = parse_optics.optics(self._database("STATE_DB").hashes)

    def _counters(self) -> None:
        database = self._database("COUNTERS_DB")
        self._values["counters"] = parse_counters.port_counters(database)
        self._values["rates"] = parse_counters.port_rates(database)

    def _queues(self) -> None:
        database = self._database("COUNTERS_DB")
        self._values["queues"] = parse_counters.queues(database)
        self._values["pgs"] = parse_counters.priority_groups(database)

    def _watermarks(self) -> None:
        self._values["watermarks"] = parse_counters.watermarks(self._database("COUNTERS_DB"))

    def _crm(self) -> None:
        self._values["crm"] = parse_counters.crm(self._database("COUNTERS_DB"))

    def _config(self) -> None:
        tables = parse_system.config(self._database("CONFIG_DB").hashes)
        self._values["config"] = tables
        row = tables["DEVICE_METADATA"]["localhost"]
        for name, field in (("hwsku", "hwsku"), ("onie_platform", "platform")):
            value = row.get(field)
            if isinstance(value, str) and value and not self._values.get(name):
                self._values[name] = clean(value)
        hostname = row.get("hostname")
        if isinstance(hostname, str) and hostname:
            self._values["hostname"] = clean(hostname)


def parse_frr_words(text: str) -> str:
    """What FRR said in words, such as `bgpd is not running`; empty when it said none."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return clean(line[:160]) if line and not line.startswith(("{", "[")) else ""
