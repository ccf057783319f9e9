"""Thinning keeps topology and length; clearance is the distance transform."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from tests.core.support.masks import EIGHT_NEIGHBORS, MASKS, topology
from training_core.extraction.clearance import Clearance, cut_ends
from training_core.extraction.compact_masks import BitMask
from training_core.extraction.skeletons import thin


def clearance_of(mask, known, pixel_m):
    return Clearance(BitMask.of(mask), BitMask.of(known), np.array(pixel_m))


def ends_of(mask):
    """Column and row of each end."""
    known = np.ones_like(mask)
    return cut_ends(BitMask.of(mask), BitMask.of(known), clearance_of(mask, known, (1, 1)))


def can_go(skeleton):
    """The pixels that are no ends and whose removal leaves the topology as it is, found by removing each."""
    before = topology(skeleton)
    neighbors = ndimage.convolve(skeleton.astype(int), EIGHT_NEIGHBORS.astype(int), mode="constant") - 1
    found = []
    for row, column in np.argwhere(skeleton & (neighbors > 1)):
        without = skeleton.copy()
        without[row, column] = False
        if topology(without) == before:
            found.append((row, column))
    return found


@settings(deadline=None, max_examples=100)
@given(MASKS, st.sampled_from([0, 2, 3]), st.integers(0, 2**32 - 1))
def test_thinning_keeps_the_topology_and_fixed_pixels_and_leaves_no_simple_pixel(mask, opening, seed):
    if opening:
        mask = ndimage.binary_opening(mask, np.ones((opening, opening)))
    skeleton = thin(mask)
    assert not (skeleton & ~mask).any()
    assert topology(skeleton) == topology(mask)
    assert can_go(skeleton) == []
    fixed = mask & (np.random.default_rng(seed).random(mask.shape) < 0.1)
    skeleton = thin(mask, fixed)
    assert skeleton[fixed].all()
    assert topology(skeleton) == topology(mask)


@settings(deadline=None, max_examples=100)
@given(MASKS, st.integers(0, 7), st.integers(0, 7))
def test_a_skeleton_does_not_depend_on_the_boards_it_was_made_on(mask, rows, columns):
    mask = ndimage.binary_opening(mask, np.ones((2, 2)))
    moved = thin(np.pad(mask, ((2 * rows, 0), (2 * columns, 0))))  # pixels go in turns by even and odd places
    np.testing.assert_array_equal(moved[2 * rows :, 2 * columns :], thin(mask))


def test_a_straight_road_has_its_middle_as_skeleton_and_a_diagonal_one_keeps_its_length():
    mask = np.zeros((60, 60), dtype=bool)
    steps = np.arange(5, 55)
    mask[steps, steps] = mask[steps, steps + 1] = True
    assert np.ptp(np.nonzero(thin(mask))[0]) >= 47
    mask = np.zeros((31, 100), dtype=bool)
    mask[10:21, 10:90] = True
    rows, columns = np.nonzero(thin(mask)[:, 20:80])
    assert set(rows) == {15}
    assert len(columns) == 60


@settings(deadline=None, max_examples=60)
@given(MASKS)
def test_the_clearance_is_the_distance_transform(mask):
    clearance = clearance_of(mask, np.ones_like(mask), (0.5, 2.0))
    points = np.argwhere(mask)[:, ::-1] * (0.5, 2.0)
    if mask.all():
        assert np.isinf(clearance(points)).all()
    else:
        distances = ndimage.distance_transform_edt(mask, sampling=(2.0, 0.5))
        assert clearance(points) == pytest.approx(distances[mask])


def test_the_side_of_a_road_is_not_where_the_data_ends():
    mask = np.zeros((50, 50), dtype=bool)
    mask[20:31] = True
    known = np.ones_like(mask)
    known[26:] = False
    clearance = clearance_of(mask & known, known, (1, 1))
    assert clearance(np.array([[25.0, 25.0]])) == pytest.approx([6.0])


@pytest.mark.parametrize(("width_px", "row"), [(9, 24), (8, 23), (1, 20)])
def test_the_width_is_within_half_a_pixel(width_px, row):
    mask = np.zeros((50, 50), dtype=bool)
    mask[20 : 20 + width_px] = True
    width_m = clearance_of(mask, np.ones_like(mask), (2.0, 2.0)).width_m(np.array([[50.0, 2.0 * row]]))
    assert width_m == pytest.approx([2 * width_px], abs=1.0)


def test_a_cut_road_has_its_end_in_the_middle_of_the_cut_and_one_along_the_border_none():
    mask = np.zeros((100, 100), dtype=bool)
    rows = np.arange(100)
    mask[rows, np.rint(20 + 60 * rows / 99).astype(int)] = True
    mask = ndimage.binary_dilation(mask, iterations=5)
    ends = ends_of(mask)
    columns, rows = ends[np.argsort(ends[:, 1])].T
    assert rows.tolist() == [0, 99]
    assert columns == pytest.approx([20, 80], abs=1.5)
    mask = np.zeros((60, 100), dtype=bool)
    mask[:8, 10:90] = True
    assert len(ends_of(mask)) == 0
