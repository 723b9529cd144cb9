"""Rules about PORT and BREAKOUT_CFG: lanes, aliases, cages, FEC, what a used port must have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from fabric.lint.view import Config, found, natural, some, text, whole
from fabric.values.finding import Confidence, Finding, Status

# `NxSPEED[alternatives](lanes)`, joined by `+`: sonic-buildimage src/sonic-config-engine/portconfig.py.
_MODE_PART = re.compile(r"(\d+)x(\d+)G(?:\[[\dG, ]+\])?(?:\((\d+)\))?")

# Tables whose keys (or fields) name ports, with what may stand there besides a port.
_PORT_KEYED: dict[str, frozenset[str]] = {
    "INTERFACE": frozenset(),
    "PORT_QOS_MAP": frozenset({"global"}),
    "QUEUE": frozenset({"CPU"}),
    "BUFFER_PG": frozenset(),
    "BUFFER_QUEUE": frozenset(),
    "BUFFER_PORT_INGRESS_PROFILE_LIST": frozenset(),
    "BUFFER_PORT_EGRESS_PROFILE_LIST": frozenset(),
    "PFC_WD": frozenset({"GLOBAL"}),
    "DEVICE_NEIGHBOR": frozenset(),
    "BREAKOUT_CFG": frozenset(),
}


def lanes_are_used_once(config: Config) -> Iterator[Finding]:
    """CFG-10: each lane belongs to one port, and lanes are numbers (F011). GCU checks it, YANG does not."""
    owners: dict[str, list[str]] = {}
    for port, row in config.ports.items():
        lanes = [lane.strip() for lane in text(row.get("lanes")).split(",")]
        where = ("PORT", port, "lanes")
        if lanes == [""]:
            yield found("CFG-10", where, "the port has no lanes", "take the lanes from the SKU's port table")
            continue
        bad = [lane for lane in lanes if not lane.isdigit()]
        if bad:
            what = f"{some(bad)} is no lane number"
            yield found("CFG-10", where, what, "write lane numbers with commas", value=row.get("lanes"))
        for lane in dict.fromkeys(lanes):
            owners.setdefault(lane, []).append(port)
        if len(set(lanes)) != len(lanes):
            yield found("CFG-10", where, "a lane stands twice", "name each lane once", value=row.get("lanes"))
    shared: dict[tuple[str, ...], list[str]] = {}
    for lane, ports in owners.items():
        if len(ports) > 1:
            shared.setdefault(tuple(ports), []).append(lane)
    for (first, *others), common in shared.items():
        yield found(
            "CFG-10",
            ("PORT", first, "lanes"),
            f"lanes {', '.join(sorted(common, key=natural))} also belong to {some(others)}; "
            "one of the ports never works",
            "give each port its own lanes; after a breakout the parent keeps only its share",
            value=config.ports[first].get("lanes"),
        )


def aliases_are_unique(config: Config) -> Iterator[Finding]:
    """CFG-11: LLDP sends the alias as port id, so two ports of one alias cannot be told apart from outside."""
    owners: dict[str, list[str]] = {}
    for port, row in config.ports.items():
        alias = text(row.get("alias"))
        if alias:
            owners.setdefault(alias, []).append(port)
    for alias, ports in owners.items():
        for port in ports[1:]:
            what = f"{ports[0]} has this alias too"
            yield found("CFG-11", ("PORT", port, "alias"), what, "take aliases from the SKU's port table", value=alias)


def cages_add_up(config: Config) -> Iterator[Finding]:
    """CFG-12: children of one cage are numbered 1..N by `subport`, or the module is set up for the wrong lanes."""
    cages: dict[str, list[str]] = {}
    for port, row in config.ports.items():
        index = text(row.get("index"))
        if index and text(row.get("role") or "Ext") == "Ext":
            cages.setdefault(index, []).append(port)
    for index, ports in cages.items():
        if len(ports) < 2:
            continue
        seen: dict[str, str] = {}
        without = [port for port in ports if text(config.ports[port].get("subport")) in ("", "0")]
        if without and len(without) < len(ports):
            others = some(set(ports) - set(without))
            what = f"the cage (index {index}) is shared with {others}, but this port has no subport"
            yield found("CFG-12", ("PORT", without[0], "subport"), what, "number the children of the cage from 1")
        elif without:
            yield found(
                "CFG-12",
                ("PORT", without[0], "subport"),
                f"{len(ports)} ports share the cage (index {index}) and none has a subport; "
                "the module may be set up for the wrong lanes",
                "number the children of the cage from 1",
                status=Status.WARN,
                confidence=Confidence.LIKELY,
            )
        for port in ports:
            subport = text(config.ports[port].get("subport"))
            if subport in ("", "0"):
                continue
            if subport in seen:
                what = f"{seen[subport]} is the same child of the cage (index {index})"
                where = ("PORT", port, "subport")
                yield found("CFG-12", where, what, "number the children of the cage from 1", value=subport)
            seen.setdefault(subport, port)


def fec_fits_the_lanes(config: Config) -> Iterator[Finding]:
    """CFG-13: 50G and more a lane is PAM4 and needs RS-FEC (F052). YANG accepts any known word on any speed."""
    for port, row in config.ports.items():
        speed = whole(row.get("speed"))
        lanes = len(text(row.get("lanes")).split(","))
        fec = text(row.get("fec"))
        if speed is None or speed / lanes < 50_000 or fec in ("rs", "auto"):
            continue
        where = ("PORT", port, "fec")
        lane_gbps = speed // lanes // 1000
        if not fec:
            yield found(
                "CFG-13",
                where,
                f"no FEC is named on a port of {lane_gbps}G a lane; the image's default decides",
                'write "rs"',
                status=Status.WARN,
                allowed="rs",
            )
        else:
            what = f"{lane_gbps}G a lane needs RS-FEC; the link stays down, or comes up at one end only"
            yield found("CFG-13", where, what, 'write "rs" at both ends', value=fec, allowed="rs")


def autoneg_on_a_split_cage(config: Config) -> Iterator[Finding]:
    """CFG-14: with autoneg and no limit both ends of a Y-cable may agree on a speed it cannot carry (F048)."""
    for port, row in config.ports.items():
        subport = whole(row.get("subport")) or 0
        if subport and text(row.get("autoneg")) == "on" and not text(row.get("adv_speeds")).replace("all", ""):
            speed = text(row.get("speed"))
            yield found(
                "CFG-14",
                ("PORT", port, "autoneg"),
                "autoneg is on for a child of a split cage and the advertised speeds are not limited",
                f'switch autoneg off, or write adv_speeds "{speed}"',
                value="on",
                status=Status.WARN,
            )


def used_ports_are_up(config: Config) -> Iterator[Finding]:
    """CFG-15: without `admin_status` a port stays down, whatever else stands on it."""
    used = [
        name
        for name in config.rows("INTERFACE")
        if "|" not in name and name in config.ports and "admin_status" not in config.ports[name]
    ]
    if used:
        yield found(
            "CFG-15",
            ("PORT", some(used), "admin_status"),
            f"{len(used)} ports carry an interface and no admin_status; SONiC leaves them down",
            'write "up" (or "down" where that is meant)',
            status=Status.WARN,
            port=used[0] if len(used) == 1 else None,
        )


def breakouts_match_ports(config: Config) -> Iterator[Finding]:
    """CFG-16: BREAKOUT_CFG and PORT must tell the same story about a cage."""
    children = Counter(text(row.get("index")) for row in config.ports.values())
    for parent, row in config.rows("BREAKOUT_CFG").items():
        mode = text(row.get("brkout_mode"))
        where = ("BREAKOUT_CFG", parent, "brkout_mode")
        parts = [_MODE_PART.fullmatch(part) for part in mode.split("+")]
        if not mode or not all(parts):
            what = "no breakout mode; it must equal a key of the platform's platform.json to the letter"
            yield found("CFG-16", where, what, "take the mode string from platform.json", value=mode)
            continue
        base = config.ports.get(parent)
        if base is None or not text(base.get("index")):
            continue
        index = text(base.get("index"))
        planned = sum(int(part[1]) for part in parts if part)
        if children[index] != planned:
            what = f"the mode makes {planned} ports of the cage (index {index}) and PORT has {children[index]}"
            yield found("CFG-16", where, what, "make BREAKOUT_CFG and PORT agree", value=mode)


def rows_name_known_ports(config: Config) -> Iterator[Finding]:
    """CFG-17: a row for a port the switch does not have stays for ever and blocks later replaces (F008)."""
    if not config.whole_switch:
        return
    for table, others in _PORT_KEYED.items():
        for key in config.rows(table):
            name = key.split("|")[0]
            for port in name.split(","):
                if port not in config.ports and port not in others:
                    yield _unknown_port(table, key, None, port)
    for key, row in config.rows("CABLE_LENGTH").items():
        for port in row:
            if port not in config.ports:
                yield _unknown_port("CABLE_LENGTH", key, port, port)
    for key in config.rows("VLAN_SUB_INTERFACE"):
        name = key.split("|")[0]
        parent = re.sub(r"^Eth(?=\d)", "Ethernet", name.rpartition(".")[0] or name)
        if not parent.startswith("Po") and parent not in config.ports:
            yield _unknown_port("VLAN_SUB_INTERFACE", key, None, parent)
    for table, groups in (("VLAN_MEMBER", "VLAN"), ("PORTCHANNEL_MEMBER", "PORTCHANNEL")):
        for key in config.rows(table):
            group, _, port = key.partition("|")
            if port not in config.ports and port not in config.rows("PORTCHANNEL"):
                yield _unknown_port(table, key, None, port)
            if group not in config.rows(groups):
                what = f"{groups} has no row {group}"
                yield found("CFG-17", (table, key, None), what, f"add the row to {groups}, or drop this one")


def _unknown_port(table: str, key: str, field: str | None, port: str) -> Finding:
    what = f"PORT has no row {port}; the row cannot take effect and blocks later replaces"
    return found("CFG-17", (table, key, field), what, "correct the port's name, or drop the row")


def one_mtu(config: Config) -> Iterator[Finding]:
    """CFG-18: headroom depends on the MTU and a smaller one on one port drops what its neighbours send."""
    routed = {name for name in config.rows("INTERFACE") if "|" not in name}
    sizes: dict[str, list[str]] = {}
    for port in routed & set(config.ports):
        sizes.setdefault(text(config.ports[port].get("mtu")) or "9100", []).append(port)
    if len(sizes) > 1:
        usual = max(sizes, key=lambda size: len(sizes[size]))
        odd = [port for size, ports in sizes.items() if size != usual for port in ports]
        yield found(
            "CFG-18",
            ("PORT", some(odd), "mtu"),
            f"routed ports have different MTUs: {', '.join(f'{size} on {len(sizes[size])}' for size in sorted(sizes))}",
            f"give every fabric port one MTU (here most have {usual})",
            status=Status.WARN,
            port=odd[0] if len(odd) == 1 else None,
        )


RULES = (
    lanes_are_used_once,
    aliases_are_unique,
    cages_add_up,
    fec_fits_the_lanes,
    autoneg_on_a_split_cage,
    used_ports_are_up,
    breakouts_match_ports,
    rows_name_known_ports,
    one_mtu,
)
