"""Moves restore the plan, and there are never more than needed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.checks.replug import Pair, Replug, tangles
from fabric.diagnose.claim import End


def _both(pairs: Iterable[Pair]) -> dict[End, End]:
    table: dict[End, End] = {}
    for one, other in pairs:
        table[one], table[other] = other, one
    return table


def _never(_a: End, _b: End) -> bool:
    return False


def _apply(cables: list[list[End]], moves: Iterable[Replug]) -> list[list[End]]:
    """Do what a person does: the cable that keeps its plug in `keep` moves the other one."""
    for move in moves:
        cable = next(cable for cable in cables if set(cable) == {move.keep, move.from_})
        cable[cable.index(move.from_)] = move.to
    return cables


def _wrong(planned: Mapping[End, End], pairs: Iterable[Pair]) -> dict[End, End]:
    return _both(pair for pair in pairs if planned.get(pair[0]) != pair[1])


def _switch_ends(count: int) -> list[End]:
    return [("leaf", f"Ethernet{4 * number}") for number in range(count)]


def _host_ends(count: int) -> list[End]:
    return [(f"gpu{number:03d}", "rail0") for number in range(count)]


@settings(max_examples=300, deadline=None)
@given(st.permutations(range(7)))
def test_any_permutation_is_restored_with_one_move_a_wrong_cable(order: list[int]) -> None:
    a, b = _switch_ends(7), _host_ends(7)
    planned = _both(zip(a, b))
    seen = [(a[number], b[order[number]]) for number in range(7)]
    cables = [list(pair) for pair in seen]
    count = 0
    for tangle in tangles(planned, _wrong(planned, seen), _never):
        assert tangle.is_ring
        assert tangle.extra[0] is None
        for option in tangle.options[1:]:
            assert len(option) == len(tangle.options[0])
        count += len(tangle.options[0])
        _apply(cables, tangle.options[0])
    assert _both(tuple(cable) for cable in cables) == planned  # type: ignore[misc]
    assert count == sum(order[number] != number for number in range(7))


@settings(max_examples=200, deadline=None)
@given(st.permutations(range(8)))
def test_both_directions_of_a_ring_restore_it(order: list[int]) -> None:
    a, b = _switch_ends(8), _host_ends(8)
    planned = _both(zip(a, b))
    seen = [(a[number], b[order[number]]) for number in range(8)]
    for side in (0, 1):
        cables = [list(pair) for pair in seen]
        for tangle in tangles(planned, _wrong(planned, seen), _never):
            _apply(cables, tangle.options[side])
        assert _both(tuple(cable) for cable in cables) == planned  # type: ignore[misc]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 3), st.integers(0, 3))
def test_any_wiring_with_lost_and_spare_ports_comes_as_near_as_cables_allow(seed: int, lost: int, spare: int) -> None:
    """Switch-to-switch too: ends of any kind, cables missing, plugs in ports the plan leaves free."""
    rng = random.Random(seed)
    ends: list[End] = [(f"s{number % 3}", f"Ethernet{8 * number}") for number in range(12)]
    planned_pairs = [(ends[2 * number], ends[2 * number + 1]) for number in range(6)]
    planned = _both(planned_pairs)
    free: list[End] = [("s9", f"Ethernet{8 * number}") for number in range(spare)]
    sockets = ends + free
    rng.shuffle(sockets)
    count = min(6 - lost, len(sockets) // 2)
    seen = [(sockets[2 * number], sockets[2 * number + 1]) for number in range(count)]
    for choice in (0, -1):
        cables = [list(pair) for pair in seen]
        moves = 0
        extra: list[set[End]] = []
        missing: list[set[End]] = []
        for tangle in tangles(planned, _wrong(planned, seen), _never):
            moves += len(tangle.options[choice])
            gap, out = tangle.missing[choice], tangle.extra[choice]
            if out is not None:
                extra.append(set(out))
                cables = [cable for cable in cables if set(cable) != set(out)]
            if gap is not None:
                missing.append(set(gap))
            _apply(cables, tangle.options[choice])
        reached = {frozenset(cable) for cable in cables}
        wanted = {frozenset(pair) for pair in planned_pairs}
        assert reached <= wanted
        # Planned cables without a plug: those the tangles name, and those nobody ever saw an end of.
        unseen = wanted - reached - {frozenset(pair) for pair in missing}
        touched = {end for pair in seen for end in pair}
        assert not any(pair & touched for pair in unseen)
        right = sum(planned.get(pair[0]) == pair[1] for pair in seen)
        assert moves == len(seen) - right - len(extra)


def _fewest(planned: Mapping[End, End], seen: list[Pair]) -> int:
    """Brute force: give each cable a planned place (or none), count plugs that move."""
    wanted = sorted({tuple(sorted(pair)) for pair in planned.items()})
    best = 99
    for places in itertools.permutations(wanted, len(seen)):
        cost = 0
        for cable, place in zip(seen, places):
            kept = len(set(cable) & set(place))
            cost += 2 - kept
        best = min(best, cost)
    return best


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(5)), st.permutations(range(5)))
def test_nobody_finds_fewer_moves(left: list[int], right: list[int]) -> None:
    """Both sides shuffled, against every way to give cables their places."""
    a, b = _switch_ends(5), _host_ends(5)
    planned = _both(zip(a, b))
    seen = [(a[left[number]], b[right[number]]) for number in range(5)]
    moves = sum(len(tangle.options[0]) for tangle in tangles(planned, _wrong(planned, seen), _never))
    assert moves == _fewest(planned, seen)


def test_a_shift_by_one_starts_at_the_free_port() -> None:
    a, b = _switch_ends(5), _host_ends(4)
    planned = _both(zip(a, b))
    seen = [(a[number + 1], b[number]) for number in range(4)]
    (tangle,) = tangles(planned, _wrong(planned, seen), _never)
    (moves,) = tangle.options
    assert [move.to for move in moves] == a[:4]
    taken = {end for pair in seen for end in pair}
    for move in moves:
        assert move.to not in taken, "each plug goes into a port that is free by then"
        taken.remove(move.from_)
        taken.add(move.to)


def test_an_unseen_cable_closes_a_ring_only_where_it_may() -> None:
    a, b = _switch_ends(2), _host_ends(2)
    planned = _both(zip(a, b))
    wrong = _both([(a[0], b[1])])
    (open_end,) = tangles(planned, wrong, _never)
    assert open_end.hidden is None
    assert [len(option) for option in open_end.options] == [1, 1]
    (closed,) = tangles(planned, wrong, lambda one, other: True)
    assert closed.hidden is not None
    assert set(closed.hidden) == {a[1], b[0]}
    assert closed.observed == ((a[0], b[1]),)
    assert [len(option) for option in closed.options] == [2, 2]


@pytest.mark.parametrize("size", [2, 3, 9])
def test_rings_of_any_size_are_one_tangle(size: int) -> None:
    a, b = _switch_ends(size), _host_ends(size)
    planned = _both(zip(a, b))
    seen = [(a[number], b[(number + 1) % size]) for number in range(size)]
    (tangle,) = tangles(planned, _wrong(planned, seen), _never)
    assert len(tangle.planned) == len(tangle.observed) == size
