"""Predictions resampled onto another grid: values, pixels without data, and no seams."""

import numpy as np
import pytest
from affine import Affine
from hypothesis import given
from hypothesis import strategies as st
from rasterio.crs import CRS

from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import NO_DATA
from training_core.geodata.tiling import Tile, tile_grid
from training_core.segmentation.image_grid import are_parallel, covering_window, on_grid, resampled
from training_core.segmentation.inference import Prediction

UTM = CRS.from_epsg(32633)


def grid(pixel_m, width, height, column=0.0, row=0.0):
    return Grid(UTM, Affine(pixel_m, 0, 390000 + column, 0, -pixel_m, 5820000 - row), width, height)


def test_finer_pixels_lie_on_the_plane_between_coarser_ones_and_coarser_ones_are_means():
    coarse, fine = grid(0.4, 40, 30), grid(0.1, 160, 120)
    ramp = np.add.outer(3 * np.arange(30), 4 * np.arange(40)).astype(np.uint8)
    found = resampled(ramp, coarse, fine)
    # A fine pixel's center lies at (i + 0.5) / 4 - 0.5 coarse pixels; the outer half pixel has no neighbor beyond.
    expected = np.add.outer(3 * ((np.arange(120) + 0.5) / 4 - 0.5), 4 * ((np.arange(160) + 0.5) / 4 - 0.5))
    np.testing.assert_allclose(found[2:-2, 2:-2], expected[2:-2, 2:-2], atol=0.5)
    assert found[0, 0] == 0 and found[-1, -1] == ramp[-1, -1]
    np.testing.assert_array_equal(resampled(found, fine, coarse)[1:-1, 1:-1], ramp[1:-1, 1:-1])


def test_pixels_without_data_are_those_of_the_nearest_pixel_and_do_not_darken_their_neighbors():
    values = np.full((30, 40), 200, dtype=np.uint8)
    values[:10, :7], values[20, 20] = NO_DATA, NO_DATA
    found = resampled(values, grid(0.4, 40, 30), grid(0.1, 160, 120))
    np.testing.assert_array_equal(found, np.repeat(np.repeat(values, 4, axis=0), 4, axis=1))


def test_classes_are_those_of_the_nearest_pixel():
    classes = np.arange(12, dtype=np.uint8).reshape(3, 4)
    tile = Tile(0, 0, 4, 3, 0, 0, 0, 0), Prediction(np.zeros_like(classes), classes)
    ((place, found),) = on_grid([tile], grid(1, 4, 3), grid(0.5, 8, 6), has_classes=True)
    assert (place.width, place.height) == (8, 6)
    np.testing.assert_array_equal(found.classes, np.repeat(np.repeat(classes, 2, axis=0), 2, axis=1))


@given(
    st.floats(0.07, 3), st.sampled_from([32, 64, 96]), st.tuples(st.integers(0, 60), st.integers(0, 40)),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_any_tiles_of_any_window_give_the_values_of_the_whole(pixel_m, core_px, corner, random):
    source = grid(0.4, 140, 110)
    target = grid(pixel_m, round(140 * 0.4 / pixel_m), round(110 * 0.4 / pixel_m))
    window = (*corner, random.randint(1, 140 - corner[0]), random.randint(1, 110 - corner[1]))
    values = np.random.default_rng(random.randint(0, 99)).integers(0, 255, (110, 140)).astype(np.uint8)
    values[60:80, 50:] = NO_DATA
    inside = np.full_like(values, NO_DATA)
    part = np.s_[window[1] : window[1] + window[3], window[0] : window[0] + window[2]]
    inside[part] = values[part]
    tiles = ((tile, Prediction(values[tile.destination], None)) for tile in tile_grid(140, 110, core_px, 0, window))
    found = np.full((target.height, target.width), NO_DATA, dtype=np.uint8)
    for tile, prediction in on_grid(tiles, source, target, window):
        found[tile.destination] = prediction.probability
    whole = resampled(inside, source, target)
    np.testing.assert_array_equal(found == NO_DATA, whole == NO_DATA)
    assert np.abs(found.astype(int) - whole).max(initial=0) <= 1


def test_the_covering_window_holds_each_pixel_that_another_grid_touches():
    assert covering_window(grid(0.4, 100, 100), grid(0.1, 10, 9, column=4.1, row=3.95)) == (10, 9, 3, 4)
    assert covering_window(grid(0.1, 100, 100), grid(0.4, 10, 10, column=8)) == (80, 0, 20, 40)


@pytest.mark.parametrize(
    "transform, crs, expected",
    [
        (Affine.scale(0.3, -0.3), UTM, True),
        (Affine.rotation(1) @ Affine.scale(0.3, -0.3), UTM, False),
        (Affine.scale(0.3, 0.3), UTM, False),
        (Affine.scale(0.3, -0.3), CRS.from_epsg(32634), False),
    ],
)
def test_only_grids_of_one_crs_and_orientation_are_parallel(transform, crs, expected):
    assert are_parallel(grid(0.4, 10, 10), Grid(crs, transform, 5, 5)) is expected
