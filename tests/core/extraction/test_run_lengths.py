"""Run-length encoded masks and their components, compared with labeling by SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.core.support.masks import SHAPES
from training_core.extraction.compact_masks import BitMask, Frame, Runs
from training_core.extraction.road_mask import closed, without_small_patches

TWO_MASKS = SHAPES.flatmap(lambda shape: st.tuples(arrays(bool, shape), arrays(bool, shape)))


def closed_array(mask, columns, rows, known=None):
    known = np.ones_like(mask) if known is None else known
    return closed(BitMask.of(mask & known), BitMask.of(known), columns, rows).unpacked()


def test_a_patch_counts_past_sixteen_and_thirty_two_bits():
    frame = Frame(70_000, 70_000)
    far = np.array([frame.row(69_999)])
    square = Runs(np.concatenate([[frame.row(0)], far]), np.concatenate([[frame.row(0) + 69_000], far + 40_000]))
    kept = without_small_patches(square, 50_000, frame)
    assert kept.sizes.tolist() == [69_000]
    kept = without_small_patches(square, 30_000, frame)
    assert kept.stops[1] == 70_000 * 70_001 + 40_000


@pytest.mark.parametrize("width_px", range(1, 9))
def test_gaps_close_up_to_their_width_across_roads_and_along_them(width_px):
    mask = np.zeros((60, 60), dtype=bool)
    mask[20:30, 5:55] = True
    mask[:, 28 : 28 + width_px] = False
    middle = np.s_[24:26, 5:55]
    assert closed_array(mask, width_px, width_px)[middle].all()
    assert not closed_array(mask, width_px - 1, width_px - 1)[:, 28 : 28 + width_px].any()
    np.testing.assert_array_equal(closed_array(mask.T, width_px, width_px), closed_array(mask, width_px, width_px).T)
    assert closed_array(mask, width_px, 0)[middle].all()
    assert not closed_array(mask, 0, width_px)[middle].all()


@settings(deadline=None, max_examples=60)
@given(TWO_MASKS, st.integers(0, 5), st.integers(0, 5))
def test_closing_is_extensive_and_idempotent(masks, columns, rows):
    mask, known = masks[0] & masks[1], masks[1]
    once = closed_array(mask, columns, rows, known)
    assert not (mask & ~once).any()
    assert not (once & ~known).any()
    np.testing.assert_array_equal(closed_array(once, columns, rows, known), once)
