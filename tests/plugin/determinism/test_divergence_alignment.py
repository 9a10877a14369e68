"""Alignment of two sequences of operations; needs no torch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_tensorcheck.determinism.alignment import Gap, Pair, align

sequences = st.lists(st.sampled_from("abcd"), max_size=40)


@given(sequences, sequences)
def test_every_operation_is_in_one_pair_or_one_gap_and_pairs_agree(first, second):
    i = j = 0
    for step in align(first, second):
        if isinstance(step, Pair):
            assert (step.first, step.second) == (i, j)
            assert first[i] == second[j]
            i, j = i + 1, j + 1
        else:
            assert (step.first[0], step.second[0]) == (i, j)
            assert step.first != (i, i) or step.second != (j, j)
            i, j = step.first[1], step.second[1]
    assert (i, j) == (len(first), len(second))


@given(sequences)
def test_equal_sequences_have_no_gap(keys):
    assert not any(isinstance(step, Gap) for step in align(keys, keys))


@given(st.integers(0, 20), st.integers(1, 5))
def test_an_insertion_is_one_gap(at, length):
    first = list(range(30))
    second = [*first[:at], *[-1] * length, *first[at:]]
    assert [step for step in align(first, second) if isinstance(step, Gap)] == [Gap((at, at), (at, at + length))]


def test_runs_that_never_meet_again_are_one_gap():
    assert list(align("abc", "axyz")) == [Pair(0, 0), Gap((1, 3), (1, 4))]


def test_a_long_insertion_is_found_beyond_the_first_window():
    first = list(range(100))
    second = [*first[:50], *[-1] * 3000, *first[50:]]
    assert [step for step in align(first, second) if isinstance(step, Gap)] == [Gap((50, 50), (50, 3050))]
