"""Bit-packed masks, compared with arrays."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from training_core.extraction.compact_masks import BitMask

SIDES = st.integers(1, 40)
MASKS = st.tuples(SIDES, SIDES).flatmap(lambda shape: arrays(bool, shape))


@settings(deadline=None, max_examples=60)
@given(MASKS)
def test_pixels_come_back_as_they_were(mask):
    bits = BitMask.of(mask)
    np.testing.assert_array_equal(bits.unpacked(), mask)
    assert bits.count == mask.sum()
    assert sorted(bits.pixels().tolist()) == np.argwhere(mask)[:, ::-1][np.lexsort(np.nonzero(mask))].tolist()
    places = np.argwhere(np.ones_like(mask))[:, ::-1]
    np.testing.assert_array_equal(bits.at(places), mask.ravel())
    np.testing.assert_array_equal(BitMask.empty(*mask.shape).with_pixels(bits.pixels()).boards, bits.boards)


@settings(deadline=None, max_examples=60)
@given(MASKS, st.integers(-20, 20), st.integers(-20, 20))
def test_a_mask_is_shifted_by_whole_pixels(mask, columns, rows):
    padded = np.pad(mask, 20)
    moved = np.roll(padded, (rows, columns), axis=(0, 1))[20:-20, 20:-20]
    np.testing.assert_array_equal(BitMask.of(mask).moved(columns, rows).unpacked(), moved)
