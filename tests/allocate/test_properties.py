"""What holds for any valid intent: nothing given twice, both ends agree, pairs equal, growth changes nothing."""

from __future__ import annotations

import copy
import ipaddress
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.allocate import allocate
from fabric.allocate.ledger import Ledger, dump, read
from fabric.allocate.names import fold, unfold
from fabric.errors import AllocationError
from fabric.model.lookup import far_end
from fabric.values.plan import Plan, PlannedPort, PortUse, Role
from tests.model.shapes import Document, documents, file_of

_SLOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def planned(document: Document, ledger: Ledger | None = None) -> tuple[Ledger, Plan]:
    _, grown, plan = allocate(file_of(document), ledger)
    return grown, plan


@_SLOW
@given(document=documents())
def test_no_address_is_given_twice(document: Document) -> None:
    plan = planned(document)[1]
    seen: Counter[str] = Counter()
    for switch in plan.switches.values():
        seen.update(entry.partition("/")[0] for entry in (*switch.loopbacks, switch.mgmt_address))
        for port in switch.ports.values():
            seen.update(entry.partition("/")[0] for entry in port.addresses)
    for host in plan.hosts.values():
        seen.update([(host.mgmt_address or "").partition("/")[0]])
        for nic in host.nics.values():
            seen.update(entry.partition("/")[0] for entry in nic.addresses)
    assert [address for address, times in seen.items() if times > 1] == []


@_SLOW
@given(document=documents())
def test_both_ends_agree(document: Document) -> None:
    plan = planned(document)[1]
    for switch in plan.switches.values():
        for port in switch.ports.values():
            if port.use is PortUse.FABRIC:
                far = plan.switches[port.peer_device or ""].ports[port.peer_port or ""]
                assert (far.peer_device, far.peer_port, far.cable) == (switch.name, port.name, port.cable)
                assert (far.speed_mbps, far.fec, far.mtu, far.state) == (
                    port.speed_mbps,
                    port.fec,
                    port.mtu,
                    port.state,
                )
                assert (far.addresses, far.peer_addresses) == (port.peer_addresses, port.addresses)
                assert port.peer_asn == plan.switches[port.peer_device or ""].asn
                assert far_end(plan, far_end(plan, switch.name, port.name)[0], port.peer_port or "") == (  # type: ignore[index]
                    switch.name,
                    port.name,
                )
                for ours, theirs in zip(port.addresses, far.addresses, strict=True):
                    assert ipaddress.ip_interface(ours).network == ipaddress.ip_interface(theirs).network
                    lower = plan.switches[switch.name].role is Role.LEAF
                    if lower:
                        assert int(ipaddress.ip_interface(ours).ip) % 2 == 0
            elif port.use is PortUse.HOST:
                nic = plan.hosts[port.peer_device or ""].nics[port.peer_port or ""]
                assert (nic.switch, nic.switch_port) == (switch.name, port.name)
                assert (nic.speed_mbps, nic.addresses, nic.cable) == (port.speed_mbps, port.peer_addresses, port.cable)
                if port.rail is not None and switch.rail is not None:
                    assert port.rail == nic.rail == switch.rail
    for cable in plan.cables.values():
        assert far_end(plan, cable.a_device, cable.a_port) == (cable.b_device, cable.b_port)
        assert far_end(plan, cable.b_device, cable.b_port) == (cable.a_device, cable.a_port)


@_SLOW
@given(document=documents())
def test_lanes_names_and_aliases_are_used_once(document: Document) -> None:
    for switch in planned(document)[1].switches.values():
        lanes = Counter(lane for port in switch.ports.values() for lane in port.lanes)
        assert max(lanes.values()) == 1
        assert len({port.alias for port in switch.ports.values()}) == len(switch.ports)
        assert list(switch.ports) == [port.name for port in switch.ports.values()]


@_SLOW
@given(document=documents())
def test_every_leaf_spine_pair_has_equally_many_links(document: Document) -> None:
    plan = planned(document)[1]
    pairs: Counter[tuple[str, str]] = Counter()
    for cable in plan.cables.values():
        if cable.kind is PortUse.FABRIC:
            a, b = plan.switches[cable.a_device], plan.switches[cable.b_device]
            if Role.LEAF in (a.role, b.role):
                pairs[a.name, b.name] += 1
    assert set(pairs.values()) <= {document["compute"]["spine"]["links"]}


@_SLOW
@given(document=documents())
def test_as_numbers_follow_the_tiers(document: Document) -> None:
    plan = planned(document)[1]
    leaves = [switch.asn for switch in plan.switches.values() if switch.role is Role.LEAF]
    assert len(set(leaves)) == len(leaves)
    spines = {
        (switch.pod, switch.plane, switch.rail): set() for switch in plan.switches.values() if switch.role is Role.SPINE
    }  # type: ignore[var-annotated]
    for switch in plan.switches.values():
        if switch.role is Role.SPINE:
            spines[switch.pod, switch.plane, switch.rail].add(switch.asn)
    assert all(len(asns) == 1 for asns in spines.values())
    assert len({asn for asns in spines.values() for asn in asns}) == len(spines)
    assert not set(leaves) & {asn for asns in spines.values() for asn in asns}


@_SLOW
@given(document=documents())
def test_the_ledger_comes_back_from_its_file(document: Document, tmp_path_factory: pytest.TempPathFactory) -> None:
    ledger, plan = planned(document)
    path = tmp_path_factory.mktemp("ledger") / "any.ledger.yaml"
    path.write_text(dump(ledger))
    again = read(path)
    assert again == ledger
    same, replanned = planned(document, again)
    assert (same, replanned) == (ledger, plan)


def grow_pod(document: Document) -> None:
    document["compute"]["pods"].append({"segments": 1, "nodes": "late[1-2]"})


def grow_host(document: Document) -> None:
    document["compute"]["pods"][0].setdefault("hosts", []).append({"nodes": "late1", "class": "kind"})


def grow_spine(document: Document) -> None:
    document["compute"]["spine"]["count"] += 1


def grow_links(document: Document) -> None:
    document["compute"]["spine"]["links"] += 1


def grow_segment(document: Document) -> None:
    document["compute"]["pods"][0]["segments"] += 1


def grow_rail(document: Document) -> None:
    document["compute"]["rails"] += 1
    document["classes"]["wide"] = {"nics": document["compute"]["rails"], "speed": "400G"}
    for pod in document["compute"]["pods"]:
        pod["class"] = "kind"
    document["compute"]["pods"].append({"segments": 1, "nodes": "late[1-2]", "class": "wide"})


def grow_reserve(document: Document) -> None:
    document["compute"]["pods"][0]["reserve"] = "late1"


def grow_family(document: Document) -> None:
    document["addressing"]["family"] = "dual"


def given_values(plan: Plan) -> dict[object, object]:
    """Everything that is configured somewhere and must not move."""
    found: dict[object, object] = {}
    for switch in plan.switches.values():
        found["switch", switch.name] = (switch.asn, switch.mgmt_address, switch.index, switch.platform)
        for entry in (*switch.loopbacks, *switch.networks):
            found["announced", switch.name, entry] = True
        for port in switch.ports.values():
            if port.use in (PortUse.HOST, PortUse.FABRIC):
                found["port", switch.name, port.name] = _port(port)
                for entry in port.addresses:
                    found["address", switch.name, port.name, entry] = True
    for host in plan.hosts.values():
        found["host", host.name] = (host.pod, host.mgmt_address)
        for nic in host.nics.values():
            found["nic", host.name, nic.name] = (nic.switch, nic.switch_port)
            for entry in nic.addresses:
                found["nic address", host.name, nic.name, entry] = True
    return found


def _port(port: PlannedPort) -> tuple[object, ...]:
    return (
        port.alias,
        port.lanes,
        port.speed_mbps,
        port.peer_device,
        port.peer_port,
        port.peer_asn,
        port.cable,
        port.parallel,
    )


@pytest.mark.parametrize(
    "change",
    [grow_pod, grow_host, grow_spine, grow_links, grow_segment, grow_rail, grow_reserve, grow_family],
    ids=lambda change: change.__name__,
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=documents())
def test_growth_changes_no_value(change: object, document: Document) -> None:
    ledger, plan = planned(document)
    bigger = copy.deepcopy(document)
    change(bigger)  # type: ignore[operator]
    refusal = ""
    try:
        grown, after = planned(bigger, ledger)
    except AllocationError as error:
        refusal = str(error)
    if refusal:
        # What would move cables or rename leaves is refused, never done.
        assert any(
            word in refusal
            for word in ("would move cables", "would rename", "no place for", "free ports", "host links left")
        )
        return
    assert given_values(plan).items() <= given_values(after).items()
    assert grown.switches[: len(ledger.switches)] == ledger.switches
    assert grown.hosts[: len(ledger.hosts)] == ledger.hosts
    assert grown.links[: len(ledger.links)] == ledger.links
    back = planned(document, grown)[1]
    assert given_values(back) == given_values(plan)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.from_regex(r"[a-c][0-9]{1,3}[a-b]?|x", fullmatch=True), unique=True, max_size=30))
def test_name_lists_fold_and_unfold(names: list[str]) -> None:
    if names:
        assert list(unfold(fold(names))) == names
