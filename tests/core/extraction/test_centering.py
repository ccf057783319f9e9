"""Lines in the middle of their roads."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from scipy.ndimage import map_coordinates
from shapely.geometry import LineString, Point

from training_core.extraction.centering import between_pixels, center
from training_core.extraction.clearance import Clearance, cut_ends
from training_core.extraction.compact_masks import BitMask
from training_core.extraction.skeletons import smooth, thin_bits, thin_out, trace_pixels
from training_core.geodata.road_raster import array_raster
from training_core.networks.cleaning import prune_spurs
from training_core.networks.graph import scaled
from training_core.networks.surroundings import Surroundings

PIXEL_M = np.array([1.0, 1.0])
SIDE_M, MARGIN_M = 120, 20
MIDDLE = np.array([SIDE_M / 2, SIDE_M / 2])


def from_middle_m(middle, pixel_m=PIXEL_M):
    """How far each pixel is from the middle of a road."""
    rows, columns = np.mgrid[: int(SIDE_M / pixel_m[1]), : int(SIDE_M / pixel_m[0])]
    points = shapely.points(columns.ravel() * pixel_m[0], rows.ravel() * pixel_m[1])
    return shapely.distance(points, middle).reshape(rows.shape)


def skeleton_and_center(road, probability=None, pixel_m=PIXEL_M):
    """The line of a mask before and after, smoothed."""
    known = np.ones_like(road)
    bits, all_known = BitMask.of(road), BitMask.of(known)
    clearance = Clearance(bits, all_known, pixel_m)
    ends = BitMask.empty(*road.shape).with_pixels(cut_ends(bits, all_known, clearance))
    graph = scaled(trace_pixels(thin_bits(bits, ends).pixels()), pixel_m)
    surroundings = Surroundings(width_m=clearance.width_m)
    graph = prune_spurs(graph, 10, surroundings)
    graph = thin_out(smooth(graph), np.rint(graph.points / pixel_m).astype(np.int64))
    if probability is None:
        raster = array_raster(road, known, strip_rows=24)
    else:
        raster = array_raster(probability.astype(np.float32), known, threshold=0.5, strip_rows=24)
    return graph, center(graph, between_pixels(raster, bits, pixel_m), surroundings)


def rms_m(graph, middle):
    """Root of the mean squared distance from the true middle, of what is not near the border."""
    inside = (np.abs(graph.points - MIDDLE) < SIDE_M / 2 - MARGIN_M).all(axis=1)
    return np.sqrt((shapely.distance(shapely.points(graph.points[inside]), middle) ** 2).mean())


def straight(angle, aside_px):
    along = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    begin = MIDDLE + aside_px * np.array([-along[1], along[0]])
    return LineString([begin - 200 * along, begin + 200 * along])


def bend(radius_px):
    return Point(MIDDLE - (radius_px + 0.4, 0.3)).buffer(radius_px, quad_segs=200).exterior


ROADS = {
    **{f"{angle} degrees": straight(angle, 0.3) for angle in (0, 10, 33, 45, 80)},
    "half a pixel aside": straight(0, 0.5),
    "bend": bend(60),
    "tight bend": bend(25),
}


@pytest.mark.parametrize("width_px", [5, 8])
@pytest.mark.parametrize("name", ROADS)
def test_a_line_is_on_the_ridge_of_a_probability_where_the_skeleton_is_not(name, width_px):
    middle = ROADS[name]
    probability = 1 / (1 + np.exp(1.5 * (from_middle_m(middle) - width_px / 2)))
    before, after = skeleton_and_center(probability >= 0.3, probability)
    assert rms_m(after, middle) < 0.15
    assert rms_m(after, middle) < rms_m(before, middle)


@pytest.mark.parametrize("width_px", [5, 8])
@pytest.mark.parametrize("name", ROADS)
def test_a_line_is_midway_between_the_sides_of_a_mask(name, width_px):
    middle = ROADS[name]
    road = from_middle_m(middle) <= width_px / 2
    before, after = skeleton_and_center(road)
    # Of a mask along the pixels no more is left than where whole pixels lie: up to half of one beside the truth.
    assert rms_m(after, middle) < (0.51 if name in ("0 degrees", "half a pixel aside", "45 degrees") else 0.2)
    assert rms_m(after, middle) <= rms_m(before, middle) + 1e-6


@pytest.mark.parametrize("angle", [0, 20, 45, 70, 90])
def test_where_pixels_are_not_square_a_line_is_in_the_middle_on_the_ground(angle):
    middle, pixel_m = straight(angle, 0.3), np.array([0.5, 1.0])
    probability = 1 / (1 + np.exp(1.5 * (from_middle_m(middle, pixel_m) - 4)))
    _, after = skeleton_and_center(probability >= 0.3, probability, pixel_m)
    assert rms_m(after, middle) < 0.15


def test_a_side_road_draws_the_line_no_farther_and_where_all_is_road_nothing_moves():
    main, side = straight(0, 0), LineString([MIDDLE, MIDDLE + np.array([0, 100])])
    road = np.minimum(from_middle_m(main), from_middle_m(side)) <= 4.5
    before, after = skeleton_and_center(road)
    assert rms_m(after, main.union(side)) <= rms_m(before, main.union(side))
    before, after = skeleton_and_center(np.ones((SIDE_M, SIDE_M), dtype=bool))
    assert (before.points == after.points).all()


def test_values_between_pixels_are_interpolated_whatever_the_strips():
    rng = np.random.default_rng(2)
    image, known = rng.random((40, 30), dtype=np.float32), rng.random((40, 30)) > 0.2
    points = rng.uniform(-1, 41, (500, 2)) * (0.75, 1)
    true = map_coordinates(np.where(known, image, 0), points.T[::-1], order=1, mode="nearest")
    empty = BitMask.empty(40, 30)
    for rows in (8, 40):
        values_at = between_pixels(array_raster(image, known, threshold=0.5, strip_rows=rows), empty, PIXEL_M)
        np.testing.assert_allclose(values_at(points), true, atol=1e-5)
    mask = between_pixels(array_raster(known, known, strip_rows=8), BitMask.of(image > 0.5), PIXEL_M)
    np.testing.assert_allclose(mask(np.array([[3.0, 7.0], [4.0, 8.0]])), [image[7, 3] > 0.5, image[8, 4] > 0.5])
