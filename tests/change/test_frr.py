"""Our FRR difference: what it sees, what it sends, what it costs; and that a real FRR ends up where it must."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.change.frr_diff import frr_diff
from fabric.change.frr_text import parse, write
from fabric.render import render_switch
from fabric.values.change import Impact
from tests.change.frr_box import FrrBox


@pytest.fixture(scope="module")
def leaf_text(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    plan = load_plan(tree / "topology" / "lab.yaml", state=tmp_path_factory.mktemp("state"))
    text = render_switch(plan, "p1-l0").frr
    assert text is not None
    return text


def commands(wanted: str, running: str) -> list[str]:
    return [line.strip() for line in frr_diff(wanted, running).commands]


def test_the_same_text_is_no_difference(leaf_text: str) -> None:
    assert frr_diff(leaf_text, leaf_text).commands == ()
    assert frr_diff(leaf_text, leaf_text).steps == ()
    assert parse(write(parse(leaf_text))) == parse(leaf_text)


def test_what_sonic_adds_is_neither_drift_nor_removed(leaf_text: str) -> None:
    """sonic.md 1.7: docker_init's lines, bgpcfgd's set-src map, the stock vty password, SNMP."""
    without = leaf_text.replace("ip nht resolve-via-default\n", "").replace(
        "ip protocol bgp route-map RM_SET_SRC\n", ""
    )
    without = without.replace("route-map RM_SET_SRC permit 10\n set src 10.255.0.17\nexit\n", "")
    running = "frr version 10.3\npassword zebra\nenable password zebra\nagentx\n" + leaf_text.replace(
        "zebra nexthop-group keep 1\n", ""
    )
    assert frr_diff(without, running).steps == ()


def test_old_frr_that_prints_no_exit_reads_the_same(leaf_text: str) -> None:
    lines = [line for line in leaf_text.splitlines() if line.strip() not in ("exit", "exit-address-family")]
    assert frr_diff(leaf_text, "\n".join(lines)).steps == ()


def test_one_timer_is_one_command(leaf_text: str) -> None:
    change = frr_diff(leaf_text.replace("timers bgp 3 9", "timers bgp 10 30"), leaf_text)
    assert [line.strip() for line in change.commands] == ["router bgp 4200000110", "timers bgp 10 30", "exit"]
    assert change.impact is Impact.HITLESS


def test_a_peer_that_goes_takes_one_command(leaf_text: str) -> None:
    gone = "\n".join(line for line in leaf_text.splitlines() if " 10.254.0.7 " not in f"{line} ")
    change = frr_diff(gone, leaf_text)
    assert commands(gone, leaf_text) == ["router bgp 4200000110", "no neighbor 10.254.0.7", "exit"]
    assert {step.sessions for step in change.steps} == {("10.254.0.7",), ()}
    assert change.impact is Impact.RESETS_SESSIONS


def test_a_new_peer_costs_nothing(leaf_text: str) -> None:
    shorter = "\n".join(line for line in leaf_text.splitlines() if " 10.254.0.7 " not in f"{line} ")
    change = frr_diff(leaf_text, shorter)
    assert change.impact is Impact.HITLESS
    assert [line.strip() for line in change.commands][1] == "neighbor 10.254.0.7 remote-as 4200000000"


def test_definitions_come_first_and_go_last(leaf_text: str) -> None:
    renamed = leaf_text.replace("PL_OwnV4", "PL_MineV4").replace("TO_SPINE_V4", "AWAY_V4")
    sent = commands(renamed, leaf_text)
    order = [
        "ip prefix-list PL_MineV4 seq 5 permit 10.101.0.0/25",
        "route-map AWAY_V4 permit 110",
        "neighbor SPINE_V4 route-map AWAY_V4 out",
        "no route-map TO_SPINE_V4 permit 110",
        "no ip prefix-list PL_OwnV4 seq 5 permit 10.101.0.0/25",
    ]
    assert [sent.index(line) for line in order] == sorted(sent.index(line) for line in order)
    assert not any(line.startswith("no neighbor") for line in sent), "the map is given anew, never taken away"


ALL = ("10.254.0.1", "10.254.0.3", "10.254.0.5", "10.254.0.7")
# (what, old text, new text, impact, sessions)
COSTS = [
    ("description", "description s0:Ethernet0", "description other", Impact.HITLESS, ()),
    ("connect timer", "timers connect 10", "timers connect 7", Impact.HITLESS, ()),
    ("hold timer", "timers bgp 3 9", "timers bgp 1 3", Impact.HITLESS, ()),
    ("width", "maximum-paths 64", "maximum-paths 32", Impact.HITLESS, ()),
    ("policy", "prefix-list PL_OwnV4\nexit", "prefix-list PL_LoopbackV4\nexit", Impact.HITLESS, ()),
    ("announcement", "  network 10.101.0.0/25\n", "", Impact.HITLESS, ()),
    ("static route", "ip route 10.101.0.0/25 blackhole\n", "", Impact.HITLESS, ()),
    ("far ASN", "neighbor 10.254.0.1 remote-as 4200000000", "neighbor 10.254.0.1 remote-as 65001",
     Impact.RESETS_SESSIONS, ("10.254.0.1",)),
    ("router id", "bgp router-id 10.255.0.17", "bgp router-id 10.255.0.99", Impact.RESETS_SESSIONS, ALL),
    ("fib wait", " bgp suppress-fib-pending\n", "", Impact.RESETS_SESSIONS, ALL),
    ("family", "  neighbor SPINE_V4 activate\n", "", Impact.RESETS_SESSIONS, ALL),
    ("own ASN", "router bgp 4200000110", "router bgp 4200000999", Impact.RESETS_SESSIONS, ALL),
    ("unknown", " timers bgp 3 9\n", " timers bgp 3 9\n bgp something-new\n", Impact.RESETS_SESSIONS, ALL),
]  # fmt: skip


@pytest.mark.parametrize(("what", "old", "new", "impact", "sessions"), COSTS, ids=[case[0] for case in COSTS])
def test_cost_of_a_line(
    leaf_text: str, what: str, old: str, new: str, impact: Impact, sessions: tuple[str, ...]
) -> None:
    assert old in leaf_text
    change = frr_diff(leaf_text.replace(old, new), leaf_text)
    assert change.steps
    assert change.impact is impact
    assert sorted({peer for step in change.steps for peer in step.sessions}) == sorted(sessions)
    assert all(step.why for step in change.steps)


@pytest.fixture(scope="module")
def frr(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrrBox]:
    with FrrBox(tmp_path_factory.mktemp("frr")) as box:
        yield box


def peer_gone(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if " 10.254.0.7 " not in f"{line} ") + "\n"


Alter = Callable[[str], str]


def swapped(*pairs: str) -> Alter:
    """Old and new text in turn."""

    def alter(text: str) -> str:
        for old, new in zip(pairs[::2], pairs[1::2]):
            assert old in text
            text = text.replace(old, new)
        return text

    return alter


# Each is taken from the one before, on the same FRR.
JOURNEY: list[tuple[str, Alter]] = [
    ("first load", lambda text: text),
    ("a prefix-list entry", swapped("seq 5 permit 10.101.0.0/25", "seq 5 permit 10.102.0.0/25")),
    ("a peer goes, a timer changes", lambda text: peer_gone(text).replace("timers connect 10", "timers connect 5")),
    ("the group is renamed", swapped("SPINE_V4", "UPPER_V4")),
    ("a default comes and goes", swapped("bgp suppress-fib-pending", "bgp bestpath med missing-as-worst")),
    ("another ASN", swapped("4200000110", "4200000111")),
    (
        "routes and announcements go",
        swapped("ip route 10.101.0.0/25 blackhole\n", "", "  network 10.101.0.0/25\n", "", "paths 64", "paths 32"),
    ),
    ("maps are renamed", swapped("TO_SPINE_V4", "AWAY_V4", "PL_OwnV4", "PL_MineV4")),
    ("back to the start", lambda text: text),
]


def test_a_real_frr_ends_where_it_must(frr: FrrBox, leaf_text: str) -> None:
    for what, alter in JOURNEY:
        wanted = alter(leaf_text)
        if what != "first load":
            assert wanted != leaf_text or what == "back to the start", what
        frr.apply(frr_diff(wanted, frr.running()).commands)
        left = frr_diff(wanted, frr.running())
        assert left.commands == (), (what, left.commands)
    # And the way back of every pair is exact, as an undo needs it.
    for what, alter in JOURNEY[1:-1]:
        there = frr.running()
        frr.apply(frr_diff(alter(leaf_text), there).commands)
        frr.apply(frr_diff(there, frr.running()).commands)
        assert frr_diff(there, frr.running()).commands == (), what
