"""Every way a plug can be in the wrong place, and every way not to know."""

from __future__ import annotations

import dataclasses
import random

import pytest

from fabric.values.finding import Confidence, Finding, Place, Severity, Status
from fabric.values.plan import LifeState, Plan
from fabric.values.snapshot import LldpNeighbour, Snapshot
from fabric.whatif.faults import (
    Cut,
    Dead,
    Fault,
    LldpRow,
    Missing,
    NoLldp,
    NoLldpSeen,
    Replug,
    SessionDown,
    Swap,
    Unreachable,
)
from fabric.whatif.synthetic import Synthetic, place
from tests.checks.bench import everything, judge, judged, only, small, top, two_pods, with_hosts
from tests.whatif.clos import clos


def restores(plan: Plan, snapshot_far: dict[tuple[str, str], tuple[str, str]], findings: list[Finding]) -> bool:
    """Do the moves as a technician would and compare with the plan."""
    far = dict(snapshot_far)
    for finding in findings:
        cables = {frozenset(pair) for pair in far.items()}
        for move in finding.moves:
            cable = plan.cables[move.cable]
            ends = {(cable.a_device, cable.a_port), (cable.b_device, cable.b_port)}
            to = (move.to.device, move.to.port)
            (keep,) = ends - {to}
            old = frozenset({keep, (move.from_.device, move.from_.port)})
            assert old in cables, f"{move} takes a plug that is not there"
            cables.remove(old)
            cables.add(frozenset({keep, to}))
        far = {}
        for pair in cables:
            one, other = tuple(pair)
            far[one], far[other] = other, one
    planned = {}
    for cable in plan.cables.values():
        a, b = (cable.a_device, cable.a_port), (cable.b_device, cable.b_port)
        planned[a], planned[b] = b, a
    return far == planned


def wired(plan: Plan, moves: dict[Place, Place]) -> dict[tuple[str, str], tuple[str, str]]:
    """The cabling after a permutation of plugs."""
    far = {}
    at = {(here.device, here.port): (there.device, there.port) for here, there in moves.items()}
    for cable in plan.cables.values():
        a = at.get((cable.a_device, cable.a_port), (cable.a_device, cable.a_port))
        b = at.get((cable.b_device, cable.b_port), (cable.b_device, cable.b_port))
        far[a], far[b] = b, a
    return far


def swap(a: str, b: str) -> dict[Place, Place]:
    return {place(a): place(b), place(b): place(a)}


# One mistake each, and its name


@pytest.mark.parametrize(
    ("a", "b", "code", "kind"),
    [
        pytest.param("gpu001:rail0", "gpu001:rail1", "TOPO-01", "wrong rail", id="F043-wrong-rail"),
        pytest.param(
            "gpu001:rail0", "gpu002:rail0", "TOPO-01", "wrong port of the same device", id="same-rail-two-nodes"
        ),
        pytest.param(
            "p1-l0:Ethernet0", "p1-l0:Ethernet4", "TOPO-01", "wrong port of the same device", id="F145-subports"
        ),
        pytest.param("gpu001:rail2", "gpu005:rail2", "TOPO-01", "wrong pod", id="wrong-pod"),
        pytest.param("p1-l0:Ethernet256", "p1-l0:Ethernet272", "TOPO-02", "wrong switch", id="two-spines"),
        pytest.param("s0:Ethernet0", "s0:Ethernet8", "TOPO-02", "wrong port of the same device", id="parallel-crossed"),
        pytest.param("s0:Ethernet0", "s0:Ethernet64", "TOPO-02", "wrong port of", id="two-leaves-of-two-pods"),
    ],
)
def test_a_swap_is_one_finding_with_two_moves(a: str, b: str, code: str, kind: str) -> None:
    fabric = two_pods()
    finding = only(judge(fabric, [Swap(place(a), place(b))]))
    assert (finding.code, finding.status, finding.severity) == (code, Status.FAIL, Severity.BLOCK)
    assert finding.confidence is Confidence.CERTAIN
    assert len(finding.moves) == 2
    assert kind in (finding.observed or "")
    assert restores(fabric.plan, wired(fabric.plan, swap(a, b)), [finding])


def test_the_person_is_sent_to_one_box_where_one_is_enough() -> None:
    finding = only(judge(small(), [Swap(place("p1-l0:Ethernet0"), place("p1-l1:Ethernet0"))]))
    assert finding.remedy == "At gpu001: exchange the plugs in rail0 and rail1."
    assert finding.nodes == ("gpu001",)
    assert finding.rails == (0, 1)
    assert (finding.device, finding.port, finding.node) == ("p1-l0", "Ethernet0", "gpu001")


def test_a_fabric_swap_explains_its_dead_sessions() -> None:
    finding = only(judge(small(), [Swap(place("p1-l0:Ethernet256"), place("p1-l1:Ethernet256"))]))
    under = {one.code for one in everything(finding.consequences)}
    assert "BGP-01" in under
    assert all(one.status is not Status.UNKNOWN for one in everything(finding.consequences))


@pytest.mark.parametrize("size", [3, 4])
def test_a_ring_is_one_finding(size: int) -> None:
    fabric = two_pods()
    ends = [place(f"gpu00{number}:rail1") for number in range(1, size + 1)]
    moves = dict(zip(ends, [*ends[1:], ends[0]]))
    finding = only(judge(fabric, [Replug(moves)]))
    assert len(finding.moves) == size
    assert f"{size} cables are exchanged in a ring" in (finding.observed or "")
    assert restores(fabric.plan, wired(fabric.plan, moves), [finding])


def test_a_shift_into_a_spare_port_is_one_finding_and_starts_at_the_free_end() -> None:
    plan = clos(rails=4, nodes=4)
    shifted = _with_rows(
        Synthetic(plan).snapshot(),
        "p1-l2",
        {f"Ethernet{4 * (number + 1)}": f"gpu{number + 1:03d}" for number in range(4)},
        gone=("Ethernet0",),
    )
    finding = only(judged(plan, shifted, only=["cabling"]))
    assert "4 cables are shifted" in (finding.observed or "")
    assert [move.to.port for move in finding.moves] == ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"]
    assert [move.from_.port for move in finding.moves] == ["Ethernet4", "Ethernet8", "Ethernet12", "Ethernet16"]


def _with_rows(snapshot: Snapshot, leaf: str, hosts: dict[str, str], gone: tuple[str, ...] = ()) -> Snapshot:
    """The leaf hears these hosts' NICs (of its rail) on these ports; ports in `gone` hear nobody and are down."""
    state = snapshot.switches[leaf]
    assert state.lldp is not None
    assert state.ports is not None
    by_host = {row.system_name: row for row in state.lldp}
    kept = tuple(row for row in state.lldp if row.local_port not in hosts and row.local_port not in gone)
    rows = tuple(dataclasses.replace(by_host[host], local_port=port) for port, host in hosts.items())
    ports = dict(state.ports)
    for port in hosts:
        ports[port] = dataclasses.replace(ports[port], oper_up=True)
    for port in gone:
        ports[port] = dataclasses.replace(ports[port], oper_up=False)
    changed = dataclasses.replace(state, lldp=kept + rows, ports=ports, neighbours=())
    return dataclasses.replace(snapshot, switches={**snapshot.switches, leaf: changed})


def test_F043_one_plug_in_a_spare_port_is_one_move() -> None:
    plan = clos(rails=4, nodes=4)
    snapshot = _with_rows(Synthetic(plan).snapshot(), "p1-l2", {"Ethernet16": "gpu003"}, gone=("Ethernet8",))
    finding = only(judged(plan, snapshot, only=["cabling"]))
    (move,) = finding.moves
    assert (move.from_, move.to) == (Place("p1-l2", "Ethernet16"), Place("p1-l2", "Ethernet8"))
    assert (finding.node, finding.nic, finding.rail) == ("gpu003", "rail2", 2)
    assert "a plug is in the wrong port" in (finding.observed or "")


# Whole groups


def test_two_leaves_in_each_others_place_are_one_finding_and_need_no_plug_moved() -> None:
    fabric = two_pods()
    plan = fabric.plan
    moves: dict[Place, Place] = {}
    for name in plan.switches["p1-l0"].ports:
        one, other = place(f"p1-l0:{name}"), place(f"p1-l1:{name}")
        if plan.switches["p1-l0"].ports[name].cable:
            moves[one], moves[other] = other, one
    report = judge(fabric, [Replug(moves)], only=["cabling"])
    finding = only(report)
    assert finding.observed is not None
    assert finding.observed.startswith("p1-l0 and p1-l1 stand in each other's place")
    assert finding.remedy is not None
    assert finding.remedy.startswith("cheapest: leave the cables and exchange the identities of p1-l0 and p1-l1")
    assert len(finding.moves) == len(moves)
    assert restores(plan, wired(plan, moves), [finding])


def test_two_hosts_in_each_others_place_are_one_finding() -> None:
    fabric = two_pods()
    moves: dict[Place, Place] = {}
    for rail in range(4):
        moves |= swap(f"gpu002:rail{rail}", f"gpu007:rail{rail}")
    finding = only(judge(fabric, [Replug(moves)], only=["cabling"]))
    assert (finding.observed or "").startswith("gpu002 and gpu007 stand in each other's place (8 cables)")
    assert len(finding.moves) == 8
    assert {move.to.device for move in finding.moves} == {"gpu002", "gpu007"}, "two boxes are visited, not eight"
    assert restores(fabric.plan, wired(fabric.plan, moves), [finding])


def test_rails_exchanged_for_a_whole_pod_are_one_finding() -> None:
    fabric = two_pods()
    moves: dict[Place, Place] = {}
    for number in range(1, 5):
        moves |= swap(f"gpu00{number}:rail2", f"gpu00{number}:rail3")
    finding = only(judge(fabric, [Replug(moves)]))
    assert (finding.observed or "").startswith("rails 2 and 3 are exchanged on 4 nodes, gpu001 to gpu004")
    assert finding.rails == (2, 3)
    assert len(finding.moves) == 8
    assert {move.to.device for move in finding.moves} == {"p1-l2", "p1-l3"}
    assert restores(fabric.plan, wired(fabric.plan, moves), [finding])


def test_two_swaps_on_the_same_leaves_stay_two_when_other_nodes_are_right() -> None:
    moves = [Swap(place(f"gpu00{n}:rail2"), place(f"gpu00{n}:rail3")) for n in (1, 2)]
    report = judge(two_pods(), moves)
    assert top(report) == [("TOPO-01", "fail")] * 2


def test_two_exchanged_cages_are_one_finding() -> None:
    fabric = two_pods()
    moves = swap("p1-l1:Ethernet0", "p1-l1:Ethernet8") | swap("p1-l1:Ethernet4", "p1-l1:Ethernet12")
    finding = only(judge(fabric, [Replug(moves)]))
    assert (finding.observed or "").startswith("two cages are exchanged (4 cables)")
    assert len(finding.moves) == 4
    assert {move.to.device for move in finding.moves} == {"p1-l1"}


# What nobody knows


def test_silence_on_one_fabric_port_is_one_unknown_and_no_wrong_cable() -> None:
    for fault in (NoLldp(place("p1-l0:Ethernet256")), NoLldpSeen(place("p1-l0:Ethernet256"))):
        report = judge(small(), [fault])
        finding = only(report)
        assert (finding.code, finding.status, finding.severity) == ("TOPO-02", Status.UNKNOWN, Severity.WARN)
        assert not finding.moves
        assert "cannot tell" in (finding.observed or "")
        assert "do not recable" in (finding.remedy or "")


def test_F030_rows_lost_after_a_restart_are_one_unknown_for_the_switch() -> None:
    lost = [NoLldpSeen(place(f"s1:Ethernet{8 * port}")) for port in range(4)]
    finding = only(judge(small(), lost))
    assert finding.status is Status.UNKNOWN
    assert finding.device == "s1"
    assert all(f"Ethernet{8 * port} " in (finding.observed or "") for port in range(4))
    assert "restart lldp" in (finding.remedy or "")


def test_a_host_without_agent_is_one_unknown() -> None:
    finding = only(judge(small(), [NoLldp(place(f"gpu002:rail{rail}")) for rail in range(4)]))
    assert (finding.status, finding.node, finding.rails) == (Status.UNKNOWN, "gpu002", (0, 1, 2, 3))
    assert "start the LLDP agent of gpu002" in (finding.remedy or "")


def test_F035_a_silent_host_side_proves_nothing() -> None:
    fabric = with_hosts()
    snapshot = fabric.snapshot()
    silent = {name: dataclasses.replace(host, lldp=()) for name, host in snapshot.hosts.items()}
    report = judged(fabric.plan, dataclasses.replace(snapshot, hosts=silent))
    assert report.findings == ()


def test_the_host_side_tells_the_rail_when_the_switch_side_is_gone() -> None:
    fabric = with_hosts()
    report = judge(
        fabric,
        [Swap(place("gpu001:rail0"), place("gpu001:rail1")), Missing("p1-l0", "lldp"), Missing("p1-l1", "lldp")],
        only=["cabling"],
    )
    (wrong,) = [finding for finding in report.findings if finding.status is Status.FAIL]
    assert len(wrong.moves) == 2
    assert {finding.code for finding in report.findings if finding.status is Status.UNKNOWN} == {"COV-01"}


def test_half_a_swap_is_seen_through() -> None:
    """One of the two leaves gives no LLDP: the other cable must be in the port that is left over."""
    fabric = small()
    faults: list[Fault] = [Swap(place("gpu001:rail0"), place("gpu001:rail1")), Missing("p1-l1", "lldp")]
    report = judge(fabric, faults, only=["cabling"])
    (wrong,) = [finding for finding in report.findings if finding.status is Status.FAIL]
    assert wrong.confidence is Confidence.LIKELY
    assert len(wrong.moves) == 2
    assert "not seen, but it must be there" in (wrong.evidence or "")


def test_a_missing_switch_is_one_unknown_and_no_cable_of_it_is_wrong() -> None:
    report = judge(small(), [Unreachable("p1-l3")])
    assert top(report) == [("COV-01", "unknown")]
    assert report.summary.missing_devices == ("p1-l3",)


def test_a_dark_link_is_told_once() -> None:
    finding = only(judge(small(), [Cut(place("gpu003:rail1"))]))
    assert finding.code == "PHY-05"
    assert [one.code for one in finding.consequences] == ["TOPO-01"]


def test_only_cabling_still_says_that_it_cannot_tell_a_dark_link() -> None:
    report = judge(small(), [Cut(place("gpu003:rail1"))], only=["cabling"])
    assert top(report) == [("TOPO-01", "unknown")]


# Rows as switches and hosts really send them


def row(at: str, extra: bool = False, **fields: object) -> LldpRow:
    return LldpRow(place(at), fields, extra)


SPINE = "p1-l0:Ethernet256"  # its planned far end is s0 Ethernet0 (etp1)
HOST = "p1-l0:Ethernet0"  # its planned far end is gpu001 rail0 (ens0f0np0)
RIGHT_ROWS = [
    pytest.param(row(SPINE, port_id="Ethernet0", port_subtype="ifname"), id="F029-name"),
    pytest.param(row(SPINE, port_id="etp1", port_description="s0-uplink"), id="F029-alias"),
    pytest.param(row(SPINE, port_id="", port_description="Ethernet0|to:p1-l0:Ethernet256"), id="description"),
    pytest.param(row(SPINE, port_id="ETP1", system_name="S0"), id="capitals"),
    pytest.param(row(SPINE, system_name="s0.dc.example.net"), id="F039-domain"),
    pytest.param(row(SPINE, system_name="sonic"), id="nameless-by-chassis"),
    pytest.param(row(HOST, port_id="rail0", port_subtype="ifname", chassis_id="m"), id="host-nic-name"),
    pytest.param(row(HOST, port_id="ens0f0np0", port_subtype="ifname"), id="host-netdev"),
    pytest.param(row(HOST, port_id="mlx5_0", port_subtype="local", port_description=""), id="host-hca"),
    pytest.param(row(HOST, system_name="GPU001.cluster.local"), id="host-fqdn"),
    pytest.param(
        row(HOST, extra=True, system_name="", chassis_id="02:aa:bb:cc:dd:01", port_id="02:aa:bb:cc:dd:01",
            port_description=""),
        id="firmware-agent-beside-lldpd",
    ),
    pytest.param(
        row(SPINE, extra=True, system_name="", port_id="02:00:5e:00:00:04", port_subtype="mac", port_description="",
            chassis_id="02:00:5e:00:00:04"),
        id="F032-same-chassis-twice",
    ),
]  # fmt: skip


@pytest.mark.parametrize("fault", RIGHT_ROWS)
def test_every_right_spelling_is_right(fault: LldpRow) -> None:
    report = judge(small(), [fault])
    assert report.findings == ()


UNSETTLED = [
    pytest.param(
        row(SPINE, system_name="", chassis_id="", port_id="fortyGigE0/0", port_description="Ethernet1"),
        "no name the plan knows", id="F027-nameless",
    ),
    pytest.param(row(HOST, system_name="gpu942", chassis_id="02:11:22:33:44:55"), "gpu942", id="F136-replaced-node"),
    pytest.param(row(SPINE, system_name="s01.example.net", chassis_id="x"), "does not know", id="F039-s01-is-not-s0"),
    pytest.param(row(SPINE, port_id="02:00:5e:00:00:04", port_description="eth9"), "no port of that", id="mac-port-id"),
    pytest.param(
        row(SPINE, extra=True, system_name="s1", chassis_id="02:00:5e:00:00:05", port_id="etp2"), "several neighbours",
        id="F032-two-chassis",
    ),
    pytest.param(row(SPINE, port_id="etp999", port_description=""), "no port of that device", id="unknown-alias"),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "words"), UNSETTLED)
def test_what_is_not_settled_is_no_wrong_cable(fault: LldpRow, words: str) -> None:
    """The far end of a fabric cable is made silent too, else it settles the matter."""
    faults: list[Fault] = [fault]
    if fault.at.port == "Ethernet256":
        faults.append(NoLldpSeen(place("s0:Ethernet0")))
    finding = only(judge(small(), faults))
    assert finding.status is Status.UNKNOWN
    assert words in (finding.observed or "")
    assert not finding.moves


def test_F029_another_alias_of_the_same_switch_is_a_wrong_port_by_name() -> None:
    silent = [NoLldpSeen(place(end)) for end in ("s0:Ethernet0", "s0:Ethernet8", "p1-l0:Ethernet264")]
    down = [SessionDown(place(end)) for end in ("p1-l0:Ethernet256", "p1-l0:Ethernet264")]
    finding = only(judge(small(), [row(SPINE, port_id="etp2", port_description=""), *silent, *down]))
    assert (finding.status, finding.code) == (Status.FAIL, "TOPO-02")
    assert "p1-l0 Ethernet256 (etp33) - s0 Ethernet8 (etp2)" in (finding.observed or "")
    assert "wrong port of the same device" in (finding.observed or "")


def test_F039_a_short_name_is_taken_only_when_it_is_unique() -> None:
    plan = _renamed(clos(rails=2, nodes=2), "s0", "s0.pod2")
    fabric = Synthetic(plan)
    report = judge(fabric, [row("p1-l0:Ethernet256", system_name="s0", chassis_id="x")], only=["cabling"])
    assert report.findings == ()


def _renamed(plan: Plan, old: str, new: str) -> Plan:
    """The plan with one switch called something else."""
    from fabric.values.codec import decode, plain

    data = plain(plan)
    text = repr(data).replace(f"'{old}'", f"'{new}'").replace(f"{old}:", f"{new}:")
    import ast

    return decode(Plan, ast.literal_eval(text))


def test_F033_management_neighbours_never_enter_the_rail_check() -> None:
    fabric = small()
    snapshot = fabric.snapshot()
    state = snapshot.switches["p1-l0"]
    noise = tuple(LldpNeighbour("eth0", f"sw{n}", f"02:00:00:00:00:0{n}", "mac", "eth0", "ifname") for n in range(3))
    changed = dataclasses.replace(state, lldp=(*(state.lldp or ()), *noise))
    report = judged(fabric.plan, dataclasses.replace(snapshot, switches={**snapshot.switches, "p1-l0": changed}))
    assert report.findings == ()


def test_F041_a_row_with_nothing_in_it_is_no_row() -> None:
    empty = row(SPINE, system_name="", chassis_id="", port_id="", port_description="")
    finding = only(judge(small(), [empty]))
    assert finding.status is Status.UNKNOWN
    assert "hears no LLDP neighbour" in (finding.observed or "")


def _claims_twice(age_old: float | None, age_new: float | None) -> list[LldpRow]:
    """p1-l0 Ethernet16 (spare) hears gpu001 rail0, which Ethernet0 (its planned port) hears too."""
    fields = {"system_name": "gpu001", "chassis_id": "02:00:5e:10:00:00", "chassis_subtype": "mac", "port_id": "rail0"}
    return [
        LldpRow(place("p1-l0:Ethernet16"), {**fields, "age_s": age_new}),
        LldpRow(place("p1-l0:Ethernet0"), {"age_s": age_old}),
    ]


def _spare_up(snapshot: Snapshot) -> Snapshot:
    state = snapshot.switches["p1-l0"]
    ports = dict(state.ports or {})
    ports["Ethernet16"] = dataclasses.replace(ports["Ethernet16"], oper_up=True, admin_up=True)
    return dataclasses.replace(
        snapshot, switches={**snapshot.switches, "p1-l0": dataclasses.replace(state, ports=ports, neighbours=())}
    )


def test_F046_one_nic_on_two_ports_is_settled_by_nobody_without_age() -> None:
    fabric = small()
    report = judged(fabric.plan, _spare_up(fabric.snapshot(_claims_twice(None, None))), only=["cabling"])
    finding = only(report)
    assert finding.status is Status.UNKNOWN
    assert "another port hears too" in (finding.observed or "")


def test_an_old_row_gives_way_to_the_newer_one() -> None:
    fabric = small()
    report = judged(fabric.plan, _spare_up(fabric.snapshot(_claims_twice(9000.0, 5.0))), only=["cabling"])
    (wrong,) = [finding for finding in report.findings if finding.status is Status.FAIL]
    assert wrong.confidence is Confidence.LIKELY
    assert [(move.from_.port, move.to.port) for move in wrong.moves] == [("Ethernet16", "Ethernet0")]


def test_an_old_row_on_the_wrong_port_does_not_hurt_the_right_one() -> None:
    fabric = small()
    report = judged(fabric.plan, _spare_up(fabric.snapshot(_claims_twice(5.0, 9000.0))), only=["cabling"])
    assert [finding for finding in report.findings if finding.status is Status.FAIL] == []


def test_a_row_on_a_dark_port_is_stale() -> None:
    """The cable went from Ethernet0 to another port; the row of Ethernet0 still stands and its port is down."""
    fabric = small()
    snapshot = fabric.snapshot([Cut(place("p1-l0:Ethernet0"))])
    state = snapshot.switches["p1-l0"]
    healthy = fabric.snapshot().switches["p1-l0"]
    old = tuple(one for one in healthy.lldp or () if one.local_port == "Ethernet0")
    changed = dataclasses.replace(state, lldp=(*(state.lldp or ()), *old))
    report = judged(
        fabric.plan, dataclasses.replace(snapshot, switches={**snapshot.switches, "p1-l0": changed}), only=["cabling"]
    )
    assert top(report) == [("TOPO-01", "unknown")]


def test_sessions_on_numbered_cables_contradict_a_lying_lldp() -> None:
    """LLDP names the other spine on both cables, but both numbered sessions are up: the cables are right."""
    s0, s1 = {"system_name": "s1", "port_id": "etp1"}, {"system_name": "s0", "port_id": "etp1"}
    chassis = {"s0": "02:00:5e:00:00:04", "s1": "02:00:5e:00:00:05"}
    faults: list[Fault] = [
        LldpRow(place("p1-l0:Ethernet256"), {**s0, "chassis_id": chassis["s1"]}),
        LldpRow(place("p1-l0:Ethernet272"), {**s1, "chassis_id": chassis["s0"]}),
        NoLldpSeen(place("s0:Ethernet0")),
        NoLldpSeen(place("s1:Ethernet0")),
    ]
    report = judge(small(), faults)
    finding = only(report)
    assert (finding.status, finding.confidence) == (Status.UNKNOWN, Confidence.WEAK)
    assert "against it" in (finding.evidence or "")


def test_a_known_device_in_the_wrong_place_fails_even_when_its_port_cannot_be_read() -> None:
    faults: list[Fault] = [
        LldpRow(
            place("p1-l0:Ethernet256"),
            {"system_name": "s1", "port_id": "02:aa:aa:aa:aa:aa", "port_description": "", "chassis_id": ""},
        ),
        NoLldpSeen(place("s0:Ethernet0")),
        SessionDown(place("p1-l0:Ethernet256")),
    ]  # fmt: skip
    finding = only(judge(small(), faults))
    assert (finding.status, finding.confidence) == (Status.FAIL, Confidence.LIKELY)
    assert "wrong device" in (finding.observed or "")


# Life-cycle


def test_spare_places_are_not_missing() -> None:
    plan = clos(rails=4, nodes=2, spares=4)
    assert judged(plan, Synthetic(plan).snapshot()).findings == ()


def test_a_reserve_node_plugged_in_early_is_not_wrong_and_a_stray_cable_warns() -> None:
    fabric = Synthetic(clos(rails=4, nodes=4))
    plan = fabric.plan
    spare = plan.switches["p1-l2"].ports["Ethernet16"]
    ports = {**plan.switches["p1-l2"].ports}
    ports["Ethernet16"] = dataclasses.replace(spare, peer_device="gpu005", peer_port="rail2")
    hosts = dict(plan.hosts)
    nic = dataclasses.replace(hosts["gpu004"].nics["rail2"], switch_port="Ethernet16", cable=None)
    hosts["gpu005"] = dataclasses.replace(
        hosts["gpu004"], name="gpu005", place=4, state=LifeState.PLANNED, nics={"rail2": nic}
    )
    switches = {**plan.switches, "p1-l2": dataclasses.replace(plan.switches["p1-l2"], ports=ports)}
    plan = dataclasses.replace(plan, hosts=hosts, switches=switches)
    for where_, expected in (("p1-l2:Ethernet16", []), ("p1-l1:Ethernet16", [("TOPO-01", "warn")])):
        device, _, port = where_.partition(":")
        snapshot = fabric.snapshot()
        state = snapshot.switches[device]
        row_ = LldpNeighbour(port, "gpu005", "02:aa:00:00:00:01", "mac", "rail2", "ifname")
        live = {**(state.ports or {}), port: dataclasses.replace((state.ports or {})[port], oper_up=True)}
        changed = dataclasses.replace(state, lldp=(*(state.lldp or ()), row_), ports=live)
        report = judged(plan, dataclasses.replace(snapshot, switches={**snapshot.switches, device: changed}))
        assert top(report) == expected


def test_a_host_out_of_service_is_known_down() -> None:
    plan = small().plan
    hosts = dict(plan.hosts)
    hosts["gpu002"] = dataclasses.replace(hosts["gpu002"], state=LifeState.OUT_OF_SERVICE)
    plan = dataclasses.replace(plan, hosts=hosts)
    report = judged(plan, Synthetic(plan).snapshot([Dead("gpu002")]))
    assert report.findings == ()


def test_an_installed_host_warns_and_never_blocks() -> None:
    plan = small().plan
    hosts = dict(plan.hosts)
    hosts["gpu002"] = dataclasses.replace(hosts["gpu002"], state=LifeState.INSTALLED)
    plan = dataclasses.replace(plan, hosts=hosts)
    report = judged(plan, Synthetic(plan).snapshot([Swap(place("gpu002:rail0"), place("gpu002:rail1"))]))
    finding = only(report)
    assert (finding.status, finding.severity) == (Status.FAIL, Severity.WARN)


# Everything at once


def _thousand() -> Synthetic:
    """1,024 cables: 2 pods x 8 rails x 32 nodes, 8 spines x 4 parallel links."""
    return Synthetic(clos(pods=2, rails=8, spines=8, parallel=4, nodes=32, spares=0))


@pytest.fixture(scope="module")
def thousand() -> Synthetic:
    return _thousand()


@pytest.mark.slow
def test_every_single_misplug_of_1024_cables_is_named_and_restored(thousand: Synthetic) -> None:
    """Each cable with another of its kind, at one end or the other."""
    plan = thousand.plan
    assert len(plan.cables) == 1024
    rng = random.Random(7)
    cables = list(plan.cables.values())
    for first in cables:
        second = rng.choice([one for one in cables if one.kind is first.kind and one is not first])
        end = rng.choice("ab")
        a = Place(getattr(first, f"{end}_device"), getattr(first, f"{end}_port"))
        b = Place(getattr(second, f"{end}_device"), getattr(second, f"{end}_port"))
        finding = only(judge(thousand, [Swap(a, b)], only=["cabling"]))
        assert len(finding.moves) == 2
        assert restores(plan, wired(plan, {a: b, b: a}), [finding])


@pytest.mark.parametrize("seed", range(6))
def test_ten_random_misplugs_of_1024_cables_are_restored(thousand: Synthetic, seed: int) -> None:
    plan = thousand.plan
    rng = random.Random(seed)
    hosts = [Place(host, nic) for host, plan_of in plan.hosts.items() for nic in plan_of.nics]
    chosen = rng.sample(hosts, 10)
    shuffled = chosen[1:] + chosen[:1] if seed % 2 else [chosen[n ^ 1] for n in range(10)]
    moves = dict(zip(chosen, shuffled))
    report = judge(thousand, [Replug(moves)], only=["cabling"])
    assert all(finding.status is Status.FAIL for finding in report.findings)
    assert sum(len(finding.moves) for finding in report.findings) == 10
    assert restores(plan, wired(plan, moves), list(report.findings))
