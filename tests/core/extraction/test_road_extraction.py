"""Road networks extracted from rasters."""

from dataclasses import replace

import numpy as np
import pandas
import pyproj
import pytest
import shapely
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod
from rasterio.crs import CRS
from rasterio.features import rasterize
from scipy import ndimage
from shapely.geometry import LineString, Point, box

from tests.core.support.rasters import NORTH_UP, UTM
from training_core.events import Reporter, Warning
from training_core.extraction.road_extraction import extract_network
from training_core.geodata.grid import Grid
from training_core.geodata.road_raster import array_raster
from training_core.jobs import Vectorize

PLAIN = Vectorize(min_area_m2=0, spur_m=10, min_length_m=20, simplify_m=0.5)
ALL_STUBS = Vectorize(min_area_m2=0, stub_m=0)
SQUARE_PIXELS = Grid(CRS.from_string(UTM), NORTH_UP, 300, 200)


def drawn(*shapes, width=300, height=200):
    """A mask of shapes given in columns and rows, their corners."""
    return rasterize(shapes, out_shape=(height, width), transform=Affine.identity()) > 0


def extracted(road, grid=SQUARE_PIXELS, options=PLAIN, known=None, probability=None, reporter=None):
    if known is None:
        known = np.ones((road if probability is None else probability).shape, dtype=bool)
    raster = array_raster(road, known) if probability is None else array_raster(probability, known, threshold=0.5)
    return extract_network(raster, grid, options, reporter or Reporter())


def on_map(shape, grid):
    return shapely.transform(shape, lambda points: np.column_stack(grid.transform @ tuple(points.T)))


def in_pixels(shape, grid):
    return shapely.transform(shape, lambda points: np.column_stack(~grid.transform @ tuple(points.T)))


def degrees(found):
    return sorted(found.nodes["degree"])


def test_a_road_is_one_line_along_its_middle_with_its_length_and_width():
    middle = LineString([(30, 60), (150, 120), (270, 120)])
    found = extracted(drawn(middle.buffer(4.5, cap_style="flat")))
    assert len(found.roads) == 1
    assert degrees(found) == [1, 1]
    road = found.roads.iloc[0]
    line = in_pixels(road.geometry, SQUARE_PIXELS)
    assert line.hausdorff_distance(middle) < 5.5
    assert max(middle.distance(Point(point)) for point in line.coords[1:-1]) < 1
    assert road.length_m == pytest.approx(middle.length, abs=10)
    assert road.width_m == pytest.approx(9, abs=1)
    assert np.isnan(road.confidence)
    assert road.component == 1
    assert (road.highway, road.source) == ("road", "RoadSeg") and float(road.width) == pytest.approx(
        road.width_m, abs=0.05
    )


ROTATED = Affine.translation(390000, 5820000) @ Affine.rotation(33) @ Affine.scale(1, -1)
GRIDS = {
    "north up": Grid(CRS.from_string(UTM), NORTH_UP, 300, 200),
    "rotated": Grid(CRS.from_string(UTM), ROTATED, 300, 200),
    "south up": Grid(CRS.from_string(UTM), Affine(1, 0, 390000, 0, 1, 5820000), 300, 200),
    "rotated, not square": Grid(CRS.from_string(UTM), ROTATED @ Affine.scale(0.5, 1), 300, 200),
    "geographic": Grid(CRS.from_epsg(4326), Affine(1e-5, 0, 10, 0, -1e-5, 60), 300, 200),
    "Web Mercator": Grid(CRS.from_epsg(3857), Affine(1, 0, 1e6, 0, -1, 8.4e6), 300, 200),
}


@pytest.mark.parametrize("name", GRIDS)
def test_lines_lie_on_the_map_and_are_measured_on_the_ground(name):
    grid = GRIDS[name]
    drawn_line = LineString([(-60, -32), (150, 150), (360, 178)])
    middle = drawn_line.intersection(box(0, 0, 300, 200))
    found = extracted(drawn(drawn_line.buffer(5)), grid)
    assert len(found.roads) == 1
    assert pyproj.CRS(found.roads.crs) == pyproj.CRS(grid.crs)
    line = found.roads.geometry[0]
    assert max(middle.distance(Point(point)) for point in in_pixels(line, grid).coords[1:-1]) < 1
    to_degrees = pyproj.Transformer.from_crs(grid.crs, 4326, always_xy=True)
    true = shapely.transform(on_map(middle.segmentize(10), grid), to_degrees.transform, interleaved=False)
    assert found.roads["length_m"][0] == pytest.approx(Geod(ellps="WGS84").geometry_length(true), rel=0.01)


@pytest.mark.parametrize("angle", [90, 60, 45, 30])
def test_a_crossing_is_one_node(angle):
    run_x = 90 / np.tan(np.radians(angle))
    found = extracted(
        drawn(
            LineString([(0, 100), (300, 100)]).buffer(5), LineString([(150 - run_x, 10), (150 + run_x, 190)]).buffer(4)
        )
    )
    assert degrees(found) == [1, 1, 1, 1, 4]
    crossing = in_pixels(found.nodes.geometry[found.nodes["degree"] == 4].iloc[0], SQUARE_PIXELS)
    assert crossing.distance(Point(150, 100)) < 1.5


def test_a_short_side_road_stays_where_the_data_ends():
    main = box(0, 12, 300, 21)
    cut_by_border, dead_end = box(100, 0, 106, 12), box(200, 4, 206, 12)
    found = extracted(drawn(main, cut_by_border, dead_end))
    assert degrees(found) == [1, 1, 1, 3]
    known = drawn(box(0, 4, 300, 200))
    found = extracted(drawn(main, cut_by_border), known=known, options=Vectorize(spur_m=30))
    assert degrees(found) == [1, 1, 1, 3]


def test_roads_reach_the_border_of_the_image_and_of_the_data_also_around_a_hole():
    known = drawn(box(0, 0, 240, 200))
    found = extracted(drawn(LineString([(0, 30), (300, 150)]).buffer(6)), known=known)
    left, _, right, _ = in_pixels(found.roads.geometry[0], SQUARE_PIXELS).bounds
    assert left <= 1
    assert 239 <= right <= 240
    known = ~drawn(box(140, 80, 160, 120))
    found = extracted(drawn(box(0, 95, 300, 105)), known=known)
    assert len(found.roads) == 2
    assert not found.roads.intersects(on_map(box(140, 80, 160, 120), SQUARE_PIXELS).buffer(-0.1)).any()


@pytest.mark.parametrize("known", [np.ones((200, 300), dtype=bool), np.zeros((200, 300), dtype=bool)])
def test_nothing_found_is_an_empty_network_and_a_warning(known):
    heard = []
    found = extracted(~known, known=known, reporter=Reporter(heard.append))
    assert found.numbers == {"count": 0, "length_m": 0.0, "components": 0}
    assert list(found.roads.columns) == [
        "length_m", "width_m", "confidence", "road_probability", "status", "highway", "width", "source",
        "dual_carriageway", "component", "geometry",
    ]  # fmt: skip
    assert [type(event) for event in heard].count(Warning) == 1


def warnings_of(road, **options):
    heard = []
    found = extracted(None if road.dtype != bool else road, probability=None if road.dtype == bool else road,
                      reporter=Reporter(heard.append), **options)  # fmt: skip
    return found, [event.message for event in heard if isinstance(event, Warning)]


def test_more_road_than_any_town_is_doubted():
    stripes = np.indices((200, 300)).sum(axis=0) % 27 < 8
    (warning,) = warnings_of(stripes)[1]
    assert warning == "30% of the raster is road, more than in any town. Check that it is a road mask."
    (warning,) = warnings_of(np.where(stripes, np.float32(0.9), np.float32(0.1)))[1]
    assert "30% of the raster is road" in warning and "Raise the threshold" in warning
    found, (warning,) = warnings_of(np.ones((200, 300), dtype=bool))
    assert "100% of the raster is road" in warning and found.roads["width_m"].isna().all()
    (warning,) = warnings_of(np.linspace(0.49, 0.51, 60_000, dtype=np.float32).reshape(200, 300))[1]
    assert "no contrast: all values lie between 0.49 and 0.51" in warning


@pytest.mark.parametrize(
    "mean, options, said", [(0.4, Vectorize(), "looks like noise"), (0.3, Vectorize(), "are likely to be roads")]
)
def test_noise_is_doubted(mean, options, said):
    grid = Grid(CRS.from_string(UTM), NORTH_UP, 1000, 1000)
    noise = ndimage.gaussian_filter(np.random.default_rng(0).standard_normal((1000, 1000), dtype=np.float32), 2.0)
    noise = np.clip(mean + noise / (6 * noise.std()), 0, 1)
    assert any(said in warning for warning in warnings_of(noise, options=options, grid=grid)[1])


def test_a_town_is_not_doubted():
    streets = [LineString([(0, y), (300, y)]) for y in (20, 100, 180)] + [LineString([(150, 0), (150, 200)])]
    assert warnings_of(drawn(*(street.buffer(4) for street in streets)))[1] == []


def test_a_noisy_town_has_lines_on_its_roads_only():
    rng = np.random.default_rng(7)
    streets = [LineString([(0, y), (300, y + 15)]) for y in (30, 90, 150)]
    streets += [LineString([(x, 0), (x - 20, 200)]) for x in (60, 140, 220)]
    road = drawn(*(street.buffer(4) for street in streets))
    noise = ndimage.gaussian_filter(rng.standard_normal(road.shape), 1.2)
    noisy = (ndimage.gaussian_filter(road.astype(float), 1) + noise) > 0.5
    found = extracted(noisy, options=Vectorize(min_area_m2=60))
    assert (found.nodes["degree"] == 4).sum() == 9
    near = shapely.union_all(shapely.buffer(streets, 3))
    lines = found.roads.geometry.apply(lambda line: in_pixels(line, SQUARE_PIXELS))
    assert lines.intersection(near).length.sum() / lines.length.sum() > 0.97
    assert lines.length.sum() == pytest.approx(sum(street.length for street in streets), rel=0.05)


@pytest.mark.parametrize("name", GRIDS)
def test_a_gap_and_a_missed_junction_are_closed_on_any_grid(name):
    grid = GRIDS[name]
    x_m, y_m = grid.pixel_m
    gap = box(150 - 4 / x_m, 0, 150 + 4 / x_m, 200)  # 8 m on the ground
    side = box(80 - 4 / x_m, 0, 80 + 4 / x_m, 100 - 9 / y_m)  # ends 5 m beside a road that is 8 m wide
    road = drawn(box(0, 100 - 4 / y_m, 300, 100 + 4 / y_m)) & ~drawn(gap) | drawn(side)
    found = extracted(road, grid)
    assert degrees(found) == [1, 1, 1, 3]
    assert found.roads["component"].max() == 1
    junction = in_pixels(found.nodes.geometry[found.nodes["degree"] == 3].iloc[0], grid)
    assert (abs(junction.x - 80) * x_m, abs(junction.y - 100) * y_m) < (1.5, 1.5)
    left_open = extracted(road, grid, Vectorize(min_area_m2=0, gap_m=0.0, snap_m=0.0))
    assert left_open.roads["component"].max() == 3


def test_two_carriageways_and_the_gaps_in_them_stay_two():
    road = drawn(box(0, 80, 300, 88), box(0, 96, 300, 104)) & ~drawn(box(140, 0, 152, 200))
    found = extracted(road)
    assert degrees(found) == [1, 1, 1, 1]
    assert sorted(in_pixels(line, SQUARE_PIXELS).centroid.y for line in found.roads.geometry) == pytest.approx(
        [84, 100], abs=0.5
    )


def seen_road(shape, blind=None, faint=0.38, width=300, height=200):
    """The probability of a road, which is faint in an area."""
    probability = np.where(drawn(shape, width=width, height=height), np.float32(0.9), np.float32(0.02))
    hidden = drawn(blind, width=width, height=height) if blind is not None else np.zeros(probability.shape, dtype=bool)
    probability[hidden & (probability > 0.5)] = faint
    return ndimage.gaussian_filter(probability, 1.0)


def test_a_long_gap_is_joined_along_the_road_that_the_probability_shows_and_else_stays():
    bend = LineString([(10, 60), (100, 60), (130, 70), (150, 95), (160, 180)])
    options = Vectorize(link_probability=0.2)  # the road is too faint there for the usual one
    probability = seen_road(bend.buffer(4), box(118, 0, 146, 130))
    found = extracted(None, probability=probability, options=options)
    assert len(found.roads) == 1
    line = in_pixels(found.roads.geometry.iloc[0], SQUARE_PIXELS)
    unseen = line.intersection(box(118, 0, 140, 130))
    assert max(bend.distance(Point(place)) for place in unseen.coords) < 1.5
    dark = seen_road(bend.buffer(4), box(118, 0, 146, 130), faint=0.02)
    assert len(extracted(None, probability=dark, options=options).roads) == 2


def beside_a_road(shape, seen):
    """A road, and something beside it, which the probability shows as well as told."""
    probability = np.where(drawn(LineString([(0, 100), (300, 100)]).buffer(4)), np.float32(0.9), np.float32(0.02))
    probability[drawn(shape) & (probability < 0.5)] = seen
    return ndimage.gaussian_filter(probability, 1.0)


YARD = beside_a_road(LineString([(150, 100), (150, 118), (158, 122)]).buffer(2).union(Point(160, 122).buffer(6)), 0.56)
SIDE_ROAD = beside_a_road(LineString([(150, 100), (150, 135)]).buffer(3), 0.9)


def test_each_line_has_a_probability_by_which_faint_ragged_dead_ends_go_and_clear_ones_stay():
    assert len(extracted(None, probability=YARD).roads) == 1
    assert len(extracted(None, probability=YARD, options=ALL_STUBS).roads) == 3
    assert len(extracted(None, probability=SIDE_ROAD).roads) == 3
    found = extracted(None, probability=YARD, options=ALL_STUBS).roads
    stub = found["length_m"].idxmin()
    assert found["road_probability"].between(0, 1).all()
    assert found["road_probability"].drop(stub).min() > 0.8 > 0.5 > found["road_probability"][stub]
    of_mask = extracted(drawn(LineString([(0, 100), (300, 100)]).buffer(4))).roads
    assert len(of_mask) == 1 and of_mask["road_probability"].isna().all()


def test_lines_have_lengths_even_where_all_spurs_are_kept():
    rng = np.random.default_rng(1)
    probability = ndimage.gaussian_filter(rng.random((200, 300), dtype=np.float32), 2)
    probability = (probability - probability.min()) / np.ptp(probability)
    options = Vectorize(min_area_m2=0, spur_m=0, min_length_m=0, gap_m=30, snap_m=30)
    found = extracted(None, probability=probability, options=options)
    assert len(found.roads) > 50
    assert found.roads.length.min() > 0


def test_a_gap_along_which_a_road_is_not_probable_stays_open():
    probability = np.zeros((200, 300), dtype=np.float32)
    probability[95:105], probability[95:105, 100:112], probability[95:105, 200:212] = 0.9, 0.3, 0.01
    options = Vectorize(min_area_m2=0, gap_probability=0.2)
    found = extracted(probability > 0.5, probability=probability, options=options)
    assert sorted(found.roads["length_m"]) == pytest.approx([88, 200], abs=3)
    assert len(extracted(probability > 0.5, probability=probability).roads) == 1


def noisy_town(seed, shape=(200, 300)):
    """The probability of a small town's roads, as an unsure model predicts it."""
    rng = np.random.default_rng(seed)
    height, width = shape
    streets = [LineString([(0, y), (width, y + rng.uniform(-40, 40))]) for y in rng.uniform(0, height, 4)]
    streets += [LineString([(x, 0), (x + rng.uniform(-40, 40), height)]) for x in rng.uniform(0, width, 5)]
    streets.append(Point(width / 2, height / 2).buffer(50).boundary)
    road = drawn(*(street.buffer(rng.uniform(1.5, 7)) for street in streets), width=width, height=height)
    noise = ndimage.gaussian_filter(rng.standard_normal(shape), 1.5)
    return np.clip(ndimage.gaussian_filter(road.astype(np.float32), 1) + noise, 0, 1).astype(np.float32)


@settings(deadline=None, max_examples=6)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
def test_a_network_does_not_depend_on_the_strips_it_was_read_by(seed, boards, is_mask):
    probability = noisy_town(seed)
    known = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal(probability.shape), 30) > -0.02
    values, threshold = (probability > 0.5, None) if is_mask else (probability, 0.5)
    whole, stripped = (
        extract_network(
            array_raster(values, known, threshold=threshold, strip_rows=rows), SQUARE_PIXELS, PLAIN, Reporter()
        )
        for rows in (200, 8 * boards)
    )
    assert len(whole.roads) > 5
    pandas.testing.assert_frame_equal(stripped.roads, whole.roads)
    pandas.testing.assert_frame_equal(stripped.nodes, whole.nodes)


@pytest.mark.parametrize("name", ["north up", "south up", "rotated", "geographic"])
@pytest.mark.parametrize("driving_side", ["right", "left"])
def test_carriageways_run_with_the_traffic_whichever_way_rows_go(name, driving_side):
    grid = replace(GRIDS[name], width=400)
    road = drawn(box(0, 80, 400, 89), box(0, 99, 400, 108), width=400)
    found = extracted(road, grid, replace(PLAIN, driving_side=driving_side))
    assert found.roads["oneway"].tolist() == found.roads["dual_carriageway"].tolist() == ["yes", "yes"]
    lines = found.roads.geometry.to_numpy()
    middle = shapely.union_all(lines).centroid
    for line in lines:
        begin, end = np.array(line.coords)[[0, -1]]
        along, aside = end - begin, np.array(middle.coords[0]) - begin
        is_other_left = along[0] * aside[1] - along[1] * aside[0] > 0
        assert is_other_left == (driving_side == "right")


@pytest.mark.parametrize(
    ("highest", "said"),
    [(0.31, "No probability reaches the threshold of 0.50: the highest is 0.31."), (np.nan, "empty.")],
)
def test_where_nothing_is_found_the_highest_probability_is_told(highest, said):
    heard, probability = [], np.full((200, 300), 0.3, dtype=np.float32)
    probability[50, 50] = highest
    known = np.full(probability.shape, np.isfinite(highest))
    extracted(None, known=known, probability=probability, reporter=Reporter(heard.append))
    assert next(event.message for event in heard if isinstance(event, Warning)).endswith(said)


def test_a_roundabout_is_a_ring_with_its_arms():
    ring = Point(150, 100).buffer(14, quad_segs=64).exterior
    ways = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])
    arms = [LineString([(150, 100) + 14 * way, (150, 100) + 90 * way]) for way in ways]
    found = extracted(drawn(shapely.union_all([ring, *arms]).buffer(4, cap_style="flat")))
    assert degrees(found) == [1, 1, 1, 1, 3, 3, 3, 3]
    lines = [in_pixels(line, SQUARE_PIXELS) for line in found.roads.geometry]
    arcs = [line for line in lines if line.length < 40]
    assert len(arcs) == 4
    # Where an arm begins, the junction is outside of the ring, where the roads would meet if they went on straight.
    assert np.mean([ring.distance(Point(point)) for line in arcs for point in line.segmentize(1).coords]) < 1.2


@pytest.mark.parametrize("apart", [12, 16, 25])
def test_side_roads_that_are_offset_have_a_junction_each(apart):
    left, right = 150 - apart / 2, 150 + apart / 2
    found = extracted(drawn(box(0, 96, 300, 104), box(left - 4, 0, left + 4, 100), box(right - 4, 100, right + 4, 200)))
    assert degrees(found) == [1, 1, 1, 1, 3, 3]
    x = sorted(in_pixels(node, SQUARE_PIXELS).x for node in found.nodes.geometry[found.nodes["degree"] == 3])
    assert x == pytest.approx([left, right], abs=0.6)


@pytest.mark.parametrize("width", [12, 20, 40])
def test_a_wide_road_with_ragged_sides_and_parking_lanes_is_one_line(width):
    rng, top, bottom = np.random.default_rng(0), 100 - width // 2, 100 + width // 2
    out = rng.integers(1, 6, (14, 2))
    bumps = [box(x, top - up, x + 9, bottom + down) for x, (up, down) in zip(range(5, 290, 22), out)]
    parking = [box(40, top - 6, 140, top), box(180, bottom, 260, bottom + 5)]
    for sides in (bumps, parking):
        found = extracted(drawn(box(0, top, 300, bottom), *sides))
        assert degrees(found) == [1, 1]
        line = in_pixels(found.roads.geometry.iloc[0], SQUARE_PIXELS)
        assert line.hausdorff_distance(LineString([(0, 100), (300, 100)])) < 5
