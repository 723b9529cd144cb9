"""FRR's JSON: BGP summary, RIB, BFD peers (facts: sonic.md 5.6). Several outputs of one vtysh call are told apart."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from fabric.collect.scalars import clean
from fabric.collect.tables import load_json
from fabric.errors import CollectError
from fabric.values.snapshot import BgpPeer, NextHop, Route

_FAMILIES = ("ipv4Unicast", "ipv6Unicast")


def several(text: str, names: Iterable[str]) -> dict[str, str]:
    """Outputs of one `vtysh -c ... -c ...`, by the names of its commands in order.

    `config` is the text up to its `end` line; every other is one JSON document. Where FRR wrote words instead of
    JSON, they stand as that command's output and the rest is left out: vtysh stops there.
    """
    outputs: dict[str, str] = {}
    place = 0
    for name in names:
        while place < len(text) and text[place].isspace():
            place += 1
        if place >= len(text):
            break
        if name == "config":
            end = text.find("\nend\n", place)
            if end < 0 and text[place:].rstrip().endswith("\nend"):
                end = len(text.rstrip()) - 4
            if end < 0:
                outputs[name] = text[place:]
                break
            outputs[name] = text[place : end + 5]
            place = end + 5
            continue
        after = _end_of_json(text, place)
        if after is None:
            outputs[name] = text[place:]
            break
        outputs[name] = text[place:after]
        place = after
    return outputs


def _end_of_json(text: str, start: int) -> int | None:
    """Where the JSON document that starts here ends; None when none does.

    FRR closes a document with a brace at the start of a line, which is found without reading it all; the reader of
    the document will refuse it if that was wrong. Other spellings are decoded to find their end.
    """
    if text.startswith("{}", start):
        return start + 2
    if text.startswith("{\n", start):
        close = text.find("\n}\n", start)
        while close >= 0:
            following = text[close + 3 : close + 8].lstrip()[:1]
            if following not in ("}", ","):
                return close + 2
            close = text.find("\n}\n", close + 2)
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def document(text: str) -> dict[str, Any]:
    """One JSON object, or CollectError with what FRR said instead (`bgpd is not running`)."""
    stripped = text.strip()
    if not stripped.startswith("{"):
        line = next((line.strip() for line in stripped.splitlines() if line.strip()), "")
        raise CollectError(clean(line[:160]) if line else "FRR said nothing")
    data = load_json(stripped)
    if not isinstance(data, dict):
        raise CollectError("not a JSON object")
    return data


def bgp_summary(text: str) -> tuple[dict[str, BgpPeer], int | None]:
    """Sessions by peer (address, or port name when unnumbered), and our own ASN. `{}` is an answer: no session.

    A peer that speaks both families is one session: states are equal, prefixes of the first family count.
    """
    data = document(text)
    peers: dict[str, BgpPeer] = {}
    local: int | None = None
    if data and not any(family in data for family in _FAMILIES) and "peers" in data:
        data = {"ipv4Unicast": data}  # `show bgp ipv4 unicast summary json` has no level for the family.
    for family in _FAMILIES:
        body = data.get(family)
        if not isinstance(body, dict):
            continue
        local = local if local is not None else _integer(body.get("as"))
        rows = body.get("peers")
        for key, row in rows.items() if isinstance(rows, dict) else ():
            if isinstance(row, dict) and key not in peers:
                peers[clean(key)] = _peer(clean(key), row, _integer(body.get("as")))
    return peers, local


def _peer(key: str, row: Mapping[str, Any], local: int | None) -> BgpPeer:
    state = clean(row.get("state")) or "unknown"
    received, sent = row.get("pfxRcd"), row.get("pfxSnt")
    blocked = any(
        isinstance(value, str) and "policy" in value.lower() for value in (received, sent, row.get("peerState"))
    )
    milliseconds = _number(row.get("peerUptimeMsec"))
    return BgpPeer(
        peer=key,
        state=state,
        remote_asn=_integer(row.get("remoteAs")),
        local_asn=_integer(row.get("localAs")) or local,
        prefixes_received=_integer(received),
        prefixes_sent=_integer(sent),
        uptime_s=None if milliseconds is None else milliseconds / 1000.0,
        established=_integer(row.get("connectionsEstablished")),
        dropped=_integer(row.get("connectionsDropped")),
        description=clean(row.get("desc")),
        last_reset=clean(row.get("lastResetDueTo")),
        policy_blocked=blocked,
        admin_down="admin" in state.lower() or "admin" in clean(row.get("peerState")).lower(),
    )


def bfd_states(text: str) -> dict[str, str]:
    """BFD peers: address (or interface where it has none) -> status."""
    stripped = text.strip()
    try:
        data = load_json(stripped) if stripped.startswith("[") else None
    except CollectError:
        data = None
    if data is None:
        document(text)
        raise CollectError("not a list of BFD peers")
    found: dict[str, str] = {}
    for row in data:
        if isinstance(row, dict) and isinstance(row.get("status"), str):
            found[clean(row.get("peer") or row.get("interface"))] = clean(row["status"])
    return found


def rib(text: str) -> dict[str, Route]:
    """Selected routes of `show ip route json` by prefix. Routes that lost are not among them; a prefix nobody won is.

    `next_hops` are those FRR marked for the FIB, sorted by port; `inactive` the rest. Where it marked none because the
    route was rejected or waits, `next_hops` are the active ones it chose. A recursive next hop stands by what it
    resolves to.
    """
    data = document(text)
    routes: dict[str, Route] = {}
    hops: dict[tuple[NextHop, ...], tuple[NextHop, ...]] = {}
    for prefix, entries in data.items():
        candidates = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        if not candidates:
            raise CollectError(f"the route to {clean(prefix)[:60]} is not what FRR writes")
        chosen = next(
            (entry for entry in candidates if entry.get("destSelected")),
            next((entry for entry in candidates if entry.get("selected")), candidates[0]),
        )
        routes[clean(prefix)] = _route(clean(prefix), chosen, hops)
    return routes


def _route(prefix: str, entry: Mapping[str, Any], known: dict[tuple[NextHop, ...], tuple[NextHop, ...]]) -> Route:
    active: list[NextHop] = []
    inactive: list[NextHop] = []
    drop = False
    rows = entry.get("nexthops")
    waits = not any(isinstance(row, dict) and row.get("fib") for row in (rows if isinstance(rows, list) else ()))
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict):
            continue
        # FRR spells a discard route in these ways; "unreachable" with an interface is a discard all the same.
        drops = any(row.get(word) for word in ("blackhole", "reject", "unreachable", "admin-prohibited"))
        if row.get("recursive") and not drops:
            continue
        hop = NextHop(clean(row.get("ip")), clean(row.get("interfaceName")), _integer(row.get("weight")) or 1)
        fib = bool(row.get("active") if waits else row.get("fib")) and not row.get("duplicate")
        if drops:
            drop = True
            if not hop.port:
                continue
        (active if fib else inactive).append(hop)
    next_hops = tuple(sorted(active, key=by_port))
    selected = bool(entry.get("selected") or entry.get("destSelected"))
    return Route(
        prefix=prefix,
        protocol=clean(entry.get("protocol")) or "unknown",
        next_hops=known.setdefault(next_hops, next_hops) if selected else (),
        inactive=tuple(sorted([*inactive, *([] if selected else active)], key=by_port)),
        installed=bool(entry["installed"]) if "installed" in entry else False,
        offloaded=bool(entry["offloaded"]) if "offloaded" in entry else None,
        failed=bool(entry.get("failed") or entry.get("rejected") or entry.get("offloadFailed")),
        queued=bool(entry.get("queued")),
        blackhole=drop,
    )


def by_port(hop: NextHop) -> tuple[int, str, str]:
    """Sort key: ports in the order of their numbers, then address."""
    digits = hop.port.removeprefix("Ethernet")
    if digits.isascii() and digits.isdigit() and len(digits) < 9:
        return int(digits), "", hop.address
    return 1 << 30, hop.port, hop.address


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def running_config(text: str) -> str:
    """The text of `show running-config` from its version line on. CollectError when it is not one, or cut off."""
    lines = text.splitlines()
    start = next(
        (i for i, line in enumerate(lines) if line.startswith("frr version") or line.startswith("frr defaults")), None
    )
    if start is None:
        raise CollectError("not FRR's running configuration: " + (clean(text.strip()[:120]) or "empty"))
    if not any(line.strip() == "end" for line in lines[start:]):
        raise CollectError("FRR's running configuration was cut off")
    return "\n".join(lines[start:]).rstrip() + "\n"
