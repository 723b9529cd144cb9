from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.audit.coverage import chance_of_at_least, chance_of_no_answer_by_luck, probability_all_seen, probes_needed


@pytest.mark.parametrize(
    ("next_hops", "confidence", "probes"),
    [(4, 0.95, 16), (4, 0.99, 21), (8, 0.95, 38), (8, 0.99, 51), (32, 0.95, 203), (32, 0.99, 255), (32, 0.999, 327)],
)
def test_the_published_numbers_of_probes(next_hops: int, confidence: float, probes: int) -> None:
    # ai-fabric.md 5.6
    assert probes_needed(next_hops, confidence) == probes


@pytest.mark.parametrize(("found", "stop"), [(1, 6), (2, 11), (3, 16), (4, 21), (8, 44), (16, 96), (32, 211)])
def test_the_published_stopping_points_of_multipath_discovery(found: int, stop: int) -> None:
    assert probes_needed(found + 1, 0.95) == stop


@given(st.integers(1, 40), st.integers(1, 200))
def test_the_probability_is_one_and_grows_with_probes(next_hops: int, probes: int) -> None:
    before, after = probability_all_seen(next_hops, probes), probability_all_seen(next_hops, probes + 1)
    assert 0 <= before <= after <= 1


def test_fewer_probes_than_next_hops_never_suffice() -> None:
    assert probability_all_seen(8, 7) == 0


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        probability_all_seen(0, 3)
    with pytest.raises(ValueError, match="between 0 and 1"):
        probes_needed(4, 1.0)


def test_luck_is_the_share_left_over() -> None:
    assert chance_of_no_answer_by_luck(Fraction(1, 4), 10) == pytest.approx(0.75**10)


def test_the_binomial_tail() -> None:
    assert chance_of_at_least(0, 10, Fraction(1, 2)) == 1
    assert chance_of_at_least(10, 10, Fraction(1, 2)) == pytest.approx(2**-10)
    assert chance_of_at_least(1, 3, Fraction(1, 20)) == pytest.approx(1 - 0.95**3)
