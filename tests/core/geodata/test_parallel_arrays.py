"""Parallel arrays: dataclasses of arrays concatenated, and several ranges as one array."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from training_core.geodata.parallel_arrays import concatenated, ranges, selected
from training_core.networks.road_graph import Places

whole = st.integers(-20, 20)


@given(st.lists(st.tuples(whole, st.integers(0, 5), whole)))
def test_ranges_are_those_of_python_one_after_the_other(several):
    begins, counts, steps = np.array(several, dtype=np.int64).reshape(-1, 3).T
    assert ranges(begins, counts, steps).tolist() == [
        begin + step * number for begin, count, step in several for number in range(count)
    ]
    assert ranges(begins, counts).tolist() == [
        number for begin, count, _ in several for number in range(begin, begin + count)
    ]


def test_dataclasses_of_arrays_are_concatenated_field_by_field():
    one, other = Places(np.array([3, 1]), np.array([0.5, 7.0])), Places(np.array([2]), np.array([9.0]))
    both = concatenated(one, other)
    assert (both.edge.tolist(), both.along_m.tolist()) == ([3, 1, 2], [0.5, 7.0, 9.0])
    part = selected(both, both.edge < 3)
    assert (part.edge.tolist(), part.along_m.tolist()) == ([1, 2], [7.0, 9.0])
