"""The fewest plug moves that turn the cabling that is into the cabling that must be.

Planned and observed cables are two sets of pairs over the same ends. Where they differ they form paths and rings of
ends in which planned and observed cables take turns; each is repaired on its own. Every observed cable in it must
lose at least one plug position, and one move a cable is always enough, so the counts here are the fewest.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabric.diagnose.claim import End

Pair = tuple[End, End]


@dataclass(frozen=True, slots=True, order=True)
class Replug:
    """Leave the plug of a cable in `keep`; take its other plug out of `from_` and put it into `to`."""

    keep: End
    from_: End
    to: End


@dataclass(frozen=True, slots=True)
class Tangle:
    """One connected set of wrong cables and the two ways (or more) to put it right.

    `planned` and `observed` are its cables; `hidden` is a cable nobody sees that must exist if no cable was lost:
    both its ends are dark. `options` are lists of moves, in order; `extra` (same index) is the cable to take out
    first, `missing` the planned cable no plug is left for.
    """

    planned: tuple[Pair, ...]
    observed: tuple[Pair, ...]
    hidden: Pair | None
    options: tuple[tuple[Replug, ...], ...]
    extra: tuple[Pair | None, ...]
    missing: tuple[Pair | None, ...]

    @property
    def is_ring(self) -> bool:
        """Whether the same ends are used, only crosswise: nothing missing, nothing left over, no free port."""
        seen = self.observed if self.hidden is None else (*self.observed, self.hidden)
        return {end for pair in self.planned for end in pair} == {end for pair in seen for end in pair}


def tangles(
    planned: Mapping[End, End], observed: Mapping[End, End], may_hide: Callable[[End, End], bool]
) -> Iterable[Tangle]:
    """Split wrong cabling into its parts.

    `planned` and `observed` map both ends of each cable to each other; `observed` holds wrong cables only.
    `may_hide(a, b)` says whether an unseen cable between two dark ends is possible.
    """
    done: set[End] = set()
    for start in sorted(observed):
        if start in done:
            continue
        chain, ring = _chain(start, planned, observed)
        done.update(chain)
        yield _ring(chain, None) if ring else _path(chain, planned, may_hide)


def _chain(start: End, planned: Mapping[End, End], observed: Mapping[End, End]) -> tuple[list[End], bool]:
    """Ends in order along the alternating path or ring through `start`; a ring starts with a planned cable."""
    forward = _walk(start, planned, observed)
    if len(forward) > 1 and observed.get(forward[-1]) == start:
        return forward, True
    backward = _walk(start, observed, planned)
    return [*reversed(backward[1:]), *forward], False


def _walk(start: End, first: Mapping[End, End], second: Mapping[End, End]) -> list[End]:
    chain, here = [start], start
    step, then = first, second
    while True:
        following = step.get(here)
        if following is None or following == start:
            return chain
        chain.append(following)
        here, step, then = following, then, step


def _ring(chain: Sequence[End], hidden: Pair | None) -> Tangle:
    """chain: e0 =planned= e1 -observed- e2 =planned= e3 ... -observed- e0."""
    size = len(chain)
    planned = tuple((chain[i], chain[i + 1]) for i in range(0, size, 2))
    observed = tuple((chain[i], chain[(i + 1) % size]) for i in range(1, size, 2))
    left = tuple(Replug(chain[i], chain[(i + 1) % size], chain[i - 1]) for i in range(1, size, 2))
    right = tuple(Replug(chain[(i + 1) % size], chain[i], chain[(i + 2) % size]) for i in range(size - 1, 0, -2))
    if hidden is not None:
        observed = tuple(pair for pair in observed if set(pair) != set(hidden))
    return Tangle(planned, observed, hidden, (left, right), (None, None), (None, None))


def _path(chain: list[End], planned: Mapping[End, End], may_hide: Callable[[End, End], bool]) -> Tangle:
    first_planned = planned.get(chain[0]) == chain[1]
    last_planned = planned.get(chain[-1]) == chain[-2]
    if not first_planned and last_planned:
        chain = chain[::-1]
        first_planned, last_planned = True, False
    pairs = list(itertools.pairwise(chain))
    plan_pairs = tuple(pairs[0 if first_planned else 1 :: 2])
    seen_pairs = tuple(pairs[1 if first_planned else 0 :: 2])
    if first_planned and last_planned:
        if may_hide(chain[0], chain[-1]):
            return _ring(chain, (chain[-1], chain[0]))
        options, missing = _short(chain, plan_pairs, seen_pairs)
        return Tangle(plan_pairs, seen_pairs, None, options, (None,) * len(options), missing)
    if first_planned:
        moves = tuple(Replug(a, b, chain[2 * i]) for i, (a, b) in enumerate(seen_pairs))
        return Tangle(plan_pairs, seen_pairs, None, (moves,), (None,), (None,))
    options, extra = _surplus(plan_pairs, seen_pairs)
    return Tangle(plan_pairs, seen_pairs, None, options, extra, (None,) * len(options))


def _short(
    chain: Sequence[End], plan_pairs: tuple[Pair, ...], seen_pairs: tuple[Pair, ...]
) -> tuple[tuple[tuple[Replug, ...], ...], tuple[Pair, ...]]:
    """One cable fewer than planned: any planned cable of the chain may stay without one."""
    options = []
    for gap in range(len(plan_pairs)):
        left = [Replug(a, b, chain[2 * i]) for i, (a, b) in enumerate(seen_pairs[:gap])]
        right = [Replug(b, a, chain[2 * (gap + i) + 3]) for i, (a, b) in enumerate(seen_pairs[gap:])]
        options.append((*left, *reversed(right)))
    return tuple(options), plan_pairs


def _surplus(
    plan_pairs: tuple[Pair, ...], seen_pairs: tuple[Pair, ...]
) -> tuple[tuple[tuple[Replug, ...], ...], tuple[Pair, ...]]:
    """One cable more than planned: any observed cable of the chain may be the one to take out."""
    options = []
    for out in range(len(seen_pairs)):
        before = [Replug(seen_pairs[i][1], seen_pairs[i][0], plan_pairs[i][1]) for i in range(out)]
        after = [
            Replug(seen_pairs[i][0], seen_pairs[i][1], plan_pairs[i - 1][0]) for i in range(out + 1, len(seen_pairs))
        ]
        options.append((*reversed(before), *after))
    return tuple(options), seen_pairs
