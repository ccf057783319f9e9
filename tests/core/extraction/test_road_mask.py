"""Road masks, strip by strip, compared with SciPy on whole arrays."""

from dataclasses import replace

import numpy as np
import pytest
import rasterio
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from tests.core.support.rasters import write_raster
from training_core.errors import Cancelled, ImageryError
from training_core.events import Reporter
from training_core.extraction.road_mask import find_road
from training_core.geodata.road_raster import array_raster, band_raster, byte_raster
from training_core.jobs import Vectorize

EIGHT_NEIGHBORS = np.ones((3, 3), dtype=bool)
STRIP_ROWS = st.integers(1, 6).map(lambda boards: 8 * boards)
SIDES = st.integers(1, 70)


def noise(shape, seed, smoothing=1.5):
    """Smooth noise from 0 to 1, and where it is known."""
    rng = np.random.default_rng(seed)
    values = ndimage.gaussian_filter(rng.standard_normal(shape), smoothing)
    known = ndimage.gaussian_filter(rng.standard_normal(shape), 4) > -0.1
    low, high = values.min(), values.max()
    return ((values - low) / max(high - low, 1e-9)).astype(np.float32), known


def found(raster, pixel_m=(1.0, 1.0), reporter=None, **options):
    road, known = find_road(raster, pixel_m, Vectorize(**options), reporter or Reporter())
    return road.unpacked(), known.unpacked()


def whole(probability, known, threshold, hysteresis, smallest_px):
    """Hysteresis and cleaning of a whole array at once."""
    sure, likely = (known & (probability >= share * threshold - 1e-6) for share in (1, hysteresis))
    road = ndimage.binary_propagation(sure, EIGHT_NEIGHBORS, mask=likely)
    patches, _ = ndimage.label(road, EIGHT_NEIGHBORS)
    road &= np.bincount(patches.ravel())[patches] >= smallest_px
    gaps, _ = ndimage.label(known & ~road)
    edge = ndimage.binary_dilation(np.pad(~known, 1, constant_values=True), EIGHT_NEIGHBORS)[1:-1, 1:-1]
    is_hole = np.bincount(gaps.ravel()) < smallest_px
    is_hole[gaps[edge & known]] = False
    is_hole[0] = False
    return road | is_hole[gaps]


@settings(deadline=None, max_examples=60)
@given(SIDES, SIDES, st.integers(0, 2**32 - 1), STRIP_ROWS, st.sampled_from([0.5, 0.8, 1.0]), st.integers(0, 60))
def test_strips_give_the_same_mask_as_the_whole_raster(height, width, seed, strip_rows, hysteresis, smallest_px):
    probability, known = noise((height, width), seed)
    raster = array_raster(probability, known, threshold=0.6, strip_rows=strip_rows)
    options = {"min_area_m2": smallest_px, "min_hole_m2": smallest_px, "hysteresis": hysteresis, "close_m": 0}
    road, seen = found(raster, **options)
    np.testing.assert_array_equal(road, whole(probability, known, 0.6, hysteresis, smallest_px))
    np.testing.assert_array_equal(seen, known)


def test_gaps_patches_and_holes_are_measured_on_the_ground():
    road = np.zeros((60, 200), dtype=bool)
    road[20:30, 10:190] = True
    road[20:30, 100:103] = False
    road[40:46, 10:16] = True  # 36 pixels of 0.5 m2
    raster = array_raster(road, np.ones_like(road))
    pixel_m, options = (0.5, 1.0), {"min_hole_m2": 0, "min_area_m2": 0}
    assert not found(raster, pixel_m, close_m=1.4, **options)[0][25, 100:103].any()
    assert found(raster, pixel_m, close_m=1.5, **options)[0][25, 100:103].all()
    assert found(raster, (1.0, 0.5), close_m=1.5, **options)[0][25, 100:103].tolist() == [False] * 3
    assert found(raster, pixel_m, min_area_m2=18, close_m=0)[0][42, 12]
    assert not found(raster, pixel_m, min_area_m2=18.5, close_m=0)[0][42, 12]
    road[24:26, 50:56] = False  # a hole of 12 pixels
    assert found(raster, pixel_m, min_hole_m2=6.5, close_m=0)[0][24, 52]
    assert not found(raster, pixel_m, min_hole_m2=6, close_m=0)[0][24, 52]


def test_no_gap_is_wider_than_the_image():
    road = np.zeros((30, 40), dtype=bool)
    road[10:20, :5], road[10:20, 30:] = True, True
    raster, options = array_raster(road, np.ones_like(road)), {"min_area_m2": 0, "min_hole_m2": 0}
    at_most = found(raster, (0.001, 0.001), close_m=100, **options)[0]  # 100,000 pixels
    np.testing.assert_array_equal(at_most, found(raster, (1.0, 1.0), close_m=40, **options)[0])
    assert at_most[15, 20]


def test_a_stop_is_heeded_at_every_strip():
    road = np.zeros((80, 20), dtype=bool)
    asked = []

    def is_cancelled():
        asked.append(1)
        return len(asked) > 4

    with pytest.raises(Cancelled):
        found(array_raster(road, road, strip_rows=8), reporter=Reporter(is_cancelled=is_cancelled))
    assert len(asked) == 5


# What a file says.


@settings(deadline=None, max_examples=30)
@given(SIDES, SIDES, st.integers(0, 2**32 - 1), STRIP_ROWS)
def test_the_probability_at_a_point_is_that_of_its_pixel(height, width, seed, strip_rows):
    probability, known = noise((height, width), seed)
    rng = np.random.default_rng(seed)
    points = np.column_stack([rng.uniform(-0.4, size - 0.6, 40) for size in (width, height)])
    columns, rows = np.rint(points).astype(int).T
    expected = np.where(known, probability, np.nan)[rows, columns]
    raster = array_raster(probability, known, threshold=0.5, strip_rows=strip_rows)
    np.testing.assert_array_equal(raster.probability_at(points), expected.astype(float))
    assert np.isnan(array_raster(probability > 0.5, known).probability_at(points)).all()


@pytest.mark.parametrize("strip_rows", [8, 16, 128])
def test_bytes_in_memory_and_in_a_file_are_the_same_by_strips(tmp_path, strip_rows):
    probability, known = noise((101, 77), 1)
    values = np.where(known, np.rint(probability * 254), 255).astype(np.uint8)
    path = write_raster(tmp_path / "probability.tif", values, nodata=255)
    with rasterio.open(path, "r+") as dataset:
        dataset.scales = (1 / 254,)
    with rasterio.open(path) as dataset:
        from_file = found(replace(band_raster(dataset, 0.6, Reporter()), strip_rows=strip_rows))
    from_memory = found(byte_raster(values, 0.6))
    for one, other in zip(from_file, from_memory):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(from_memory[1], known)


def test_data_and_background_are_found_in_whatever_strip_they_are(tmp_path):
    values = np.full((64, 40), 255, dtype=np.uint8)
    values[50:60] = 1
    raster = write_raster(tmp_path / "roads.tif", values, nodata=255)
    with rasterio.open(raster) as dataset:
        _, known = found(band_raster(dataset, 0.5, Reporter()))
    assert known.all()
    values[61, 3] = 0
    raster = write_raster(tmp_path / "mask.tif", values, nodata=255)
    with rasterio.open(raster) as dataset:
        _, known = found(band_raster(dataset, 0.5, Reporter()))
    np.testing.assert_array_equal(known, values != 255)


@pytest.mark.parametrize("values", [np.full((20, 20), 255, np.uint8), np.full((20, 20), np.nan, np.float32)])
def test_a_raster_without_data_is_refused(tmp_path, values):
    raster = write_raster(tmp_path / "nothing.tif", values, nodata=values[0, 0])
    with rasterio.open(raster) as dataset, pytest.raises(ImageryError, match=r"nothing\.tif has no data"):
        band_raster(dataset, 0.5, Reporter())
