"""From LLDP rows to cables: which end really is connected to which.

The switch side comes first, the host side second. A row on a dark port is stale; two claims about one end are
settled by the end itself, then by age, else not at all. What cannot be settled is trouble, not a wrong cable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from fabric.checks.neighbours import Neighbours, Seen, weaker
from fabric.checks.proof import second_evidence
from fabric.checks.view import Link, View
from fabric.diagnose.claim import End
from fabric.values.finding import Confidence
from fabric.values.plan import PlannedPort
from fabric.values.snapshot import LldpNeighbour, PortState


class Doubt(StrEnum):
    """Why the neighbour of an end is not settled."""

    UNKNOWN_DEVICE = "unknown device"
    NAMELESS = "nameless neighbour"
    AMBIGUOUS = "several neighbours"
    PORT_UNREAD = "port not readable"
    CONTRADICTED = "contradicted by the other end"
    DUPLICATE = "claimed by two ports"
    AGED = "old row"


@dataclass(slots=True)
class Cabling:
    """The cabling as seen.

    `right`: links seen as planned by at least one end. `wrong`: both ways, ends of cables that are not as planned,
    with the grade of each in `grade`; `mutual` when both ends say so. `one_way`: links that one end hears as planned
    and the other, named, does not hear at all. `doubt`: ends whose neighbour is not settled, and the rows.
    """

    right: set[str] = field(default_factory=set)
    one_way: dict[str, End] = field(default_factory=dict)
    wrong: dict[End, End] = field(default_factory=dict)
    grade: dict[End, Confidence] = field(default_factory=dict)
    doubt: dict[End, tuple[Doubt, tuple[Seen, ...]]] = field(default_factory=dict)
    notes: dict[End, str] = field(default_factory=dict)
    mutual: dict[End, bool] = field(default_factory=dict)


# SONiC writes port times in whole seconds, and LLDP ages too.
_CLOCK_STEP_S = 1.5
# A row learned this much later than its rival on another port is the true one.
_NEWER_S = 30.0


def observe(view: View) -> Cabling:
    """Settle every LLDP observation of the snapshot. Reads all devices, in scope or not."""
    cabling = Cabling()
    neighbours = Neighbours(view.plan, view.snapshot)
    hears_right: set[End] = set()
    sees: dict[End, Seen] = {}
    for end, rows in _rows(view):
        if len(rows) == 1 and _as_planned(view, end, rows[0]):
            hears_right.add(end)
            continue
        seen = _settle(view, neighbours, end, rows, cabling)
        if seen is None:
            continue
        far = (seen.device or "", seen.port or "")
        if view.far(end) == far:
            hears_right.add(end)
            cabling.grade[end] = seen.grade
            if seen.note:
                cabling.notes[end] = seen.note
        elif not _is_reserved(view, end, far):
            sees[end] = seen
    _host_side(view, neighbours, hears_right, sees, cabling)
    _pair_up(view, hears_right, sees, cabling)
    _settle_right(view, hears_right, cabling)
    return cabling


def _rows(view: View) -> Iterator[tuple[End, list[LldpNeighbour]]]:
    """Rows by switch port: fabric ports only, dark ports and empty rows left out (F033, F041)."""
    for name, state in view.snapshot.switches.items():
        if state.lldp is None or name not in view.plan.switches:
            continue
        ports = state.ports or {}
        planned = view.plan.switches[name].ports
        rows: dict[str, list[LldpNeighbour]] = {}
        for row in state.lldp:
            local = row.local_port
            if local not in planned and local not in ports:
                continue
            live = ports.get(local)
            if live is not None and live.oper_up is False:
                continue
            if not (row.system_name or row.chassis_id or row.port_id or row.port_description):
                continue
            rows.setdefault(local, []).append(row)
        clock = state.clock or state.taken_at
        for local, found in rows.items():
            yield (name, local), found if len(found) == 1 else _since_last_down(found, ports.get(local), clock)


def _since_last_down(rows: list[LldpNeighbour], port: PortState | None, clock: float) -> list[LldpNeighbour]:
    """Without rows learned before the port last went down: that cable is gone, its row lives on up to 120 s (F136).

    Ages count from when the neighbour was first seen. All rows are kept when none is newer than the last down.
    """
    if port is None or port.last_down_time is None:
        return rows
    down = port.last_down_time - _CLOCK_STEP_S
    return [row for row in rows if row.age_s is None or clock - row.age_s >= down] or rows


def _as_planned(view: View, end: End, row: LldpNeighbour) -> bool:
    """The plain case, without the index: the planned far end, by its own name and alias (or name)."""
    link = view.of_end.get(end)
    if link is None or not row.port_id:
        return False
    if link.a == end:
        far, far_port = link.b, link.b_port
    else:
        far, far_port = link.a, link.a_port
    if row.system_name != far[0]:
        return False
    if row.port_id == far[1]:
        return True
    if isinstance(far_port, PlannedPort):
        return row.port_id == far_port.alias
    # A host's lldpd sends the MAC as port id and the interface name as description (facts sonic 6.2).
    mac = far_port.mac
    if mac is not None:
        return row.port_id.lower() == mac.lower()
    return row.port_subtype == "mac" and row.port_description in (far_port.netdev, far_port.name)


def _is_reserved(view: View, end: End, far: End) -> bool:
    """Whether this is a place kept for that NIC, which has no cable in the Plan yet: early, not wrong."""
    planned = view.plan.port(*end)
    return planned is not None and planned.cable is None and (planned.peer_device, planned.peer_port) == far


def _settle(view: View, neighbours: Neighbours, end: End, rows: list[LldpNeighbour], cabling: Cabling) -> Seen | None:
    """One neighbour out of the rows of a port, or None with the doubt written down."""
    seen = [neighbours.resolve(row) for row in rows]
    if len(seen) > 1:
        seen = _merge(view, end, seen)
    places = {(one.device, one.port) for one in seen}
    if len(places) > 1:
        planned = next((one for one in seen if (one.device, one.port) == view.far(end)), None)
        link = view.of_end.get(end)
        one_sender = len({one.row.chassis_id.lower() for one in seen}) == 1
        if planned is not None and one_sender and link is not None and second_evidence(view, link) is True:
            others = ", ".join(one.words for one in seen if one is not planned)
            note = f"an old row beside the true one ({others}): the planned neighbour answers on this port"
            return replace(planned, note=note, grade=weaker(planned.grade, Confidence.LIKELY))
        cabling.doubt[end] = (Doubt.AMBIGUOUS, tuple(seen))
        return None
    one = seen[0]
    if one.device is None:
        nameless = not one.row.system_name
        cabling.doubt[end] = (Doubt.NAMELESS if nameless else Doubt.UNKNOWN_DEVICE, (one,))
        return None
    if one.port is None:
        cabling.doubt[end] = (Doubt.PORT_UNREAD, (one,))
        return None
    return one


def _merge(view: View, end: End, seen: list[Seen]) -> list[Seen]:
    """Rows of one sender become one (F032); a NIC's firmware agent beside its host's lldpd does not count."""
    link = view.of_end.get(end)
    if link is not None and link.host:
        named = [one for one in seen if not _is_firmware_agent(one)]
        seen = named or seen
    by_chassis: dict[str, list[Seen]] = defaultdict(list)
    for one in seen:
        by_chassis[one.row.chassis_id.lower()].append(one)
    return [one for group in by_chassis.values() for one in _one_sender(group)]


def _one_sender(group: list[Seen]) -> list[Seen]:
    """One chassis sends more rows when its port id changed form (F032); rows that name different ports stay apart."""
    by_place = {(one.device, one.port): one for one in group if one.port is not None}
    return list(by_place.values()) or [max(group, key=lambda one: one.device is not None)]


def _is_firmware_agent(seen: Seen) -> bool:
    """ConnectX firmware sends its port MAC as chassis and port id and no name (facts sonic 6.2)."""
    row = seen.row
    return seen.device is None and not row.system_name and row.chassis_id.lower() == row.port_id.lower()


def _host_side(
    view: View, neighbours: Neighbours, hears_right: set[End], sees: dict[End, Seen], cabling: Cabling
) -> None:
    """What hosts hear themselves. An empty answer proves nothing: firmware may eat the frames (F035, F045)."""
    for name, host in view.snapshot.hosts.items():
        if host.lldp is None or name not in view.plan.hosts:
            continue
        spelled = neighbours.ports_of(name)
        rows: dict[str, list[LldpNeighbour]] = defaultdict(list)
        for row in host.lldp:
            nic = spelled.get(row.local_port.lower())
            if nic is not None:
                rows[nic].append(row)
        for nic, found in rows.items():
            if len(found) != 1:
                continue
            end = (name, nic)
            seen = neighbours.resolve(found[0])
            if seen.device is None or seen.port is None:
                continue
            if view.far(end) == (seen.device, seen.port):
                hears_right.add(end)
                cabling.grade[end] = weaker(seen.grade, Confidence.LIKELY)
            else:
                sees[end] = seen


def _pair_up(view: View, hears_right: set[End], sees: dict[End, Seen], cabling: Cabling) -> None:
    """Make cables of claims: mutual ones are certain, single ones stand unless another end claims the same."""
    claimed: dict[End, list[End]] = defaultdict(list)
    for end, seen in sees.items():
        far: End = (seen.device or "", seen.port or "")
        back = _heard_by(view, far, hears_right, sees)
        if back == end:
            if end < far:
                _join(cabling, end, far, weaker(seen.grade, sees[far].grade))
                cabling.mutual[end] = cabling.mutual[far] = True
        elif back is not None:
            cabling.doubt[end] = (Doubt.CONTRADICTED, (seen,))
        else:
            claimed[far].append(end)
    for far, ends in claimed.items():
        planned = view.far(far)
        rivals = [*ends, planned] if planned is not None and planned in hears_right else ends
        if len(rivals) == 1:
            _join(cabling, ends[0], far, sees[ends[0]].grade)
            continue
        _settle_duplicates(view, far, rivals, hears_right, sees, cabling)


def _heard_by(view: View, end: End, hears_right: set[End], sees: dict[End, Seen]) -> End | None:
    if end in hears_right:
        return view.far(end)
    seen = sees.get(end)
    return (seen.device or "", seen.port or "") if seen is not None else None


def _settle_duplicates(
    view: View, far: End, rivals: list[End], hears_right: set[End], sees: dict[End, Seen], cabling: Cabling
) -> None:
    """Two ports hear one end: one row is old (it lives up to 120 s after the move). The newest wins when clearly so."""
    ages = sorted((_age(view, end), end) for end in rivals)
    youngest, next_age = ages[0], ages[1][0]
    clear = next_age - youngest[0] > _NEWER_S
    for _, end in ages:
        seen = sees.get(end)
        if clear and end == youngest[1]:
            if seen is not None:
                _join(cabling, end, far, weaker(seen.grade, Confidence.LIKELY))
            continue
        hears_right.discard(end)
        row = (seen,) if seen is not None else (Seen(_row_of(view, end), *far),)
        cabling.doubt[end] = (Doubt.AGED if clear else Doubt.DUPLICATE, row)


def _row_of(view: View, end: End) -> LldpNeighbour:
    state = view.state(end[0])
    rows = state.lldp if state is not None and state.lldp is not None else ()
    return next((row for row in rows if row.local_port == end[1]), LldpNeighbour(end[1]))


def _age(view: View, end: End) -> float:
    age = _row_of(view, end).age_s
    return age if age is not None else 0.0


def _join(cabling: Cabling, one: End, other: End, grade: Confidence) -> None:
    cabling.wrong[one] = other
    cabling.wrong[other] = one
    cabling.grade[one] = cabling.grade[other] = grade


def _settle_right(view: View, hears_right: set[End], cabling: Cabling) -> None:
    """Links that are as planned. Silence at one end of a switch-to-switch cable is noted as one-way."""
    for link in view.links:
        a_hears, b_hears = link.a in hears_right, link.b in hears_right
        if not (a_hears or b_hears) or link.a in cabling.wrong or link.b in cabling.wrong:
            continue
        if a_hears and b_hears:
            cabling.right.add(link.name)
            continue
        deaf = link.b if a_hears else link.a
        if _is_deaf(view, deaf) and deaf not in cabling.doubt:
            cabling.one_way[link.name] = deaf
        elif cabling.doubt.get(deaf, (Doubt.PORT_UNREAD,))[0] is Doubt.PORT_UNREAD:
            cabling.doubt.pop(deaf, None)
            cabling.right.add(link.name)


def _is_deaf(view: View, end: End) -> bool:
    """Whether a switch was asked and its port hears nothing, though it is up."""
    state = view.state(end[0])
    if state is None or state.lldp is None:
        return False
    live = (state.ports or {}).get(end[1])
    return live is None or live.oper_up is not False


def is_silent(view: View, link: Link) -> bool:
    """Whether both ends are up (or not known to be down) and nobody hears anybody."""
    for end in (link.a, link.b):
        live = view.port(end)
        if live is not None and live.oper_up is False:
            return False
    return True
