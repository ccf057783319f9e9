"""Bit-packed masks, compared with arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

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


@settings(deadline=None, max_examples=60)
@given(MASKS)
def test_a_mask_is_dilated_in_eight_directions(mask):
    grown = ndimage.binary_dilation(mask, np.ones((3, 3)))
    np.testing.assert_array_equal(BitMask.of(mask).grown().unpacked(), grown)


def test_the_outside_of_a_mask_is_in_its_complement_and_is_dilated_into_it():
    known = np.ones((7, 9), dtype=bool)
    known[3, 4] = False
    bits = BitMask.of(known)
    edge = (bits & (~bits).grown()).unpacked()
    assert edge.sum() == 28 + 8
    assert not edge[3, 4]
    assert edge[2, 3]


@pytest.mark.parametrize("strip_rows", [8, 24, 64])
def test_a_mask_can_be_written_and_read_by_strips(strip_rows):
    mask = np.random.default_rng(0).random((101, 37)) < 0.5
    bits = BitMask.empty(*mask.shape)
    for row in range(0, 101, strip_rows):
        bits.write(row, mask[row : row + strip_rows])
    np.testing.assert_array_equal(bits.boards, BitMask.of(mask).boards)
    np.testing.assert_array_equal(bits.read(16, 30), mask[16:46])
