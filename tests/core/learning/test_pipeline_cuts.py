from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_core.learning.pipeline_cuts import place_cuts


def all_balances(parts, stages, fewest_first):
    for cuts in combinations(range(1, parts), stages - 1):
        ends = [0, *cuts, parts]
        if ends[1] >= fewest_first:
            yield tuple(end - first for first, end in zip(ends, ends[1:]))


def largest(balance, cost):
    ends = [sum(balance[:stage]) for stage in range(len(balance) + 1)]
    return max(cost(stage, *ends[stage : stage + 2]) for stage in range(len(balance)))


@given(st.lists(st.integers(0, 50), min_size=6, max_size=9), st.integers(1, 5), st.integers(1, 2))
def test_no_other_cuts_have_a_smaller_largest_stage(costs, stages, fewest_first):
    def cost(stage, first, end):
        return (stages - stage) * sum(costs[first:end])  # as with activations of batches in flight

    found = place_cuts(cost, len(costs), stages, fewest_first)
    assert sum(found) == len(costs) and len(found) == stages and min(found) >= 1 and found[0] >= fewest_first
    assert largest(found, cost) == min(largest(each, cost) for each in all_balances(len(costs), stages, fewest_first))


def test_even_parts_are_cut_evenly():
    costs = [1, 1, 1, 1, 2, 2]
    assert place_cuts(lambda _, first, end: sum(costs[first:end]), 6, 4) == (2, 2, 1, 1)
    with pytest.raises(ValueError, match="4 parts do not make 3 stages"):
        place_cuts(lambda _, first, end: end - first, 4, 3, fewest_first=3)
