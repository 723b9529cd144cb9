"""After a plug has moved, lldpd keeps the old row beside the new one until its lifetime ends (seen on the twin)."""

from __future__ import annotations

import dataclasses

from fabric.values.finding import Status
from fabric.values.snapshot import LldpNeighbour, Snapshot
from fabric.whatif.faults import Swap, place
from tests.checks.bench import judge, judged, only, small


def _moved(went_down_s_ago: float | None) -> Snapshot:
    """gpu001's rail0 and rail1 exchanged 20 s ago; each leaf holds the old row and the new one."""
    snapshot = small().snapshot([Swap(place("gpu001:rail0"), place("gpu001:rail1"))])
    before = small().snapshot().switches
    switches = dict(snapshot.switches)
    rows = {leaf: next(row for row in before[leaf].lldp or () if row.system_name == "gpu001") for leaf in _LEAVES}
    for leaf, other in zip(_LEAVES, reversed(_LEAVES)):
        state = switches[leaf]
        old = dataclasses.replace(rows[leaf], age_s=4000.0)
        new = dataclasses.replace(rows[other], local_port=old.local_port, age_s=20.0)
        ports = dict(state.ports or {})
        when = None if went_down_s_ago is None else state.taken_at - went_down_s_ago
        ports[old.local_port] = dataclasses.replace(ports[old.local_port], last_down_time=when)
        others = tuple(row for row in state.lldp or () if row.system_name != "gpu001")
        switches[leaf] = dataclasses.replace(state, ports=ports, lldp=(*others, old, new), clock=None)
    return dataclasses.replace(snapshot, switches=switches)


_LEAVES = ("p1-l0", "p1-l1")


def test_a_row_older_than_the_last_down_is_gone_and_the_swap_is_named() -> None:
    finding = only(judged(small().plan, _moved(21.0)))
    assert (finding.code, finding.status) == ("TOPO-01", Status.FAIL)
    assert len(finding.moves) == 2


def test_two_rows_of_one_chassis_with_different_ports_are_never_healthy() -> None:
    report = judged(small().plan, _moved(None))
    doubt = [finding for finding in report.findings if finding.code == "TOPO-01"]
    assert [(finding.status, finding.moves) for finding in doubt] == [(Status.UNKNOWN, ())] * 2
    assert all("several neighbours" in (finding.observed or "") for finding in doubt)


def test_ports_are_kept_when_every_row_is_older_than_the_last_down() -> None:
    """lldpd may keep its only row over a short bounce: that is no reason to call the cable silent."""
    snapshot = small().snapshot()
    state = snapshot.switches["p1-l0"]
    rows: tuple[LldpNeighbour, ...] = tuple(dataclasses.replace(row, age_s=4000.0) for row in state.lldp or ())
    ports = {
        name: dataclasses.replace(port, last_down_time=state.taken_at - 5) for name, port in (state.ports or {}).items()
    }
    changed = dataclasses.replace(state, lldp=rows, ports=ports)
    report = judged(small().plan, dataclasses.replace(snapshot, switches={**snapshot.switches, "p1-l0": changed}))
    assert report.findings == judge(small()).findings == ()


def test_an_old_row_of_the_planned_neighbour_is_no_doubt_when_its_session_is_up() -> None:
    """s0 was plugged elsewhere and back: two rows of s0 on one port, and the /31 of the planned one answers."""
    snapshot = small().snapshot()
    state = snapshot.switches["p1-l0"]
    right = next(row for row in state.lldp or () if row.local_port == "Ethernet256")
    old = dataclasses.replace(right, port_id="etp2", port_description="")
    changed = dataclasses.replace(state, lldp=(*(state.lldp or ()), old))
    report = judged(small().plan, dataclasses.replace(snapshot, switches={**snapshot.switches, "p1-l0": changed}))
    assert report.findings == ()
