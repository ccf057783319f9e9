import numpy as np
import pytest
import shapely
from affine import Affine
from pyproj import Geod
from rasterio.crs import CRS
from shapely.geometry import LineString, Point, box

import training_core.system.large_arrays
from tests.core.support.rasters import NORTH_UP, layer
from training_core.errors import LayerError
from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.geodata.shapes import limit_to
from training_core.jobs import LabelOptions
from training_core.labels import drawing
from training_core.labels.drawing import Drawing
from training_core.labels.training_images import choose_blocks

UTM = CRS.from_epsg(32633)
X, Y = NORTH_UP.c, NORTH_UP.f
OPTIONS = LabelOptions(width_m=6.0, background_m=20.0)


def grid(width=200, height=100):
    return Grid(UTM, NORTH_UP, width, height)


def across():
    """A road along row 50, from one side of the grid to the other."""
    return LineString([(X - 50, Y - 50), (X + 250, Y - 50)])


def burned(grid, roads, area, options, **others):
    return Drawing(roads, area, options, **others).burn(grid)


def test_a_line_is_as_wide_as_its_width_in_meters():
    labels = burned(grid(), layer(across()), layer(box(X, Y - 100, X + 200, Y)), OPTIONS)
    road = labels.values == ROAD
    assert (labels.column, labels.row, labels.values.shape) == (0, 0, (100, 200))
    np.testing.assert_array_equal(np.flatnonzero(road.all(axis=1)), np.arange(47, 53))
    assert road.sum() == 6 * 200
    assert (labels.values[~road] == BACKGROUND).all()


def test_without_an_area_what_is_far_from_roads_is_ignored():
    labels = burned(grid(), layer(across()), None, OPTIONS)
    rows = labels.values[:, 100]
    assert labels.row + np.flatnonzero(rows != IGNORE).min() == 27  # 50 - 3 - 20
    assert labels.row + np.flatnonzero(rows != IGNORE).max() == 72
    assert (rows == ROAD).sum() == 6


def test_outside_the_area_all_is_ignored_even_roads():
    labels = burned(grid(), layer(across()), layer(box(X + 50, Y - 80, X + 90, Y - 20)), OPTIONS)
    assert (labels.column, labels.row, labels.values.shape) == (50, 20, (60, 40))
    concave = layer(box(X, Y - 100, X + 50, Y).union(box(X, Y - 100, X + 200, Y - 70)))
    values = burned(grid(), layer(across()), concave, OPTIONS).values
    assert (values[47:53, :50] == ROAD).all() and (values[:70, 50:] == IGNORE).all()


def test_no_road_is_background_where_no_road_is_drawn_also_outside_of_the_area():
    free = layer(box(X + 120, Y - 90, X + 180, Y - 10))
    labels = burned(grid(), layer(across()), layer(box(X, Y - 80, X + 100, Y - 20)), OPTIONS, no_road=free)
    values = np.full((100, 200), IGNORE, dtype=np.uint8)
    height, width = labels.values.shape
    values[labels.row : labels.row + height, labels.column : labels.column + width] = labels.values
    inside = values[10:90, 120:180]
    assert (inside[:37] == BACKGROUND).all() and (inside[43:] == BACKGROUND).all()
    assert (inside[37:43] == IGNORE).all()  # a road outside of the area is not learned from, nor taken for none
    assert (values[47:53, :100] == ROAD).all() and (values[:, 181:] == IGNORE).all()


def test_an_unsure_road_where_there_is_no_road_is_ignored():
    free = layer(box(X, Y - 100, X + 200, Y))
    options = LabelOptions(sure_field="sure", background_m=20.0)
    values = burned(grid(), layer(across(), sure=[False]), None, options, no_road=free).values
    assert (values[47:53] == IGNORE).all() and (values[:47] == BACKGROUND).all()


@pytest.mark.parametrize("count", [2, 9, 10, 17, 300])
def test_a_line_that_crosses_itself_covers_what_a_buffer_of_the_whole_covers(count):
    ways = np.random.default_rng(count).uniform((X, Y - 100), (X + 200, Y), (count, 2))
    drawn = layer(LineString(ways), LineString(ways[:2]), width=[8.0, 2.0])
    found = burned(grid(), drawn, layer(box(X, Y - 100, X + 200, Y)), LabelOptions(width_field="width")).values
    inside, outside = (
        shapely.contains_xy(LineString(ways).buffer(half_m, quad_segs=64), *centers()) for half_m in (3.9, 4.05)
    )
    assert (found[inside] == ROAD).all() and (found[~outside] == BACKGROUND).all()


def centers():
    """Map coordinates of the pixels' centers: twice (100, 200)."""
    return np.meshgrid(X + 0.5 + np.arange(200), Y - 0.5 - np.arange(100))


def test_a_large_grid_is_burned_in_strips_as_in_one(monkeypatch):
    other = LineString([(X + 20, Y), (X + 160, Y - 100)])
    roads, options = layer(across(), other, sure=[True, False]), LabelOptions(sure_field="sure", background_m=20.0)
    expected = burned(grid(), roads, None, options)
    monkeypatch.setattr(training_core.system.large_arrays, "STRIP_PX", 1400)
    labels = burned(grid(), roads, None, options)
    assert (labels.column, labels.row) == (expected.column, expected.row)
    np.testing.assert_array_equal(labels.values, expected.values)


@pytest.mark.parametrize(
    "transform",
    [
        Affine(1e-5, 0, 10, 0, -1e-5, 60),
        Affine(1e-5, 0, 10, 0, 1e-5, 60),
        Affine.translation(10, 60) @ Affine.rotation(30) @ Affine.scale(1e-5, -1e-5),
        Affine(2e-5, 0, 10, 0, -0.5e-5, 60),
    ],
    ids=["geographic", "south up", "rotated", "not square"],
)
def test_area_on_the_ground_is_length_times_width_on_any_grid(transform):
    anywhere = Grid(CRS.from_epsg(4326), transform, 600, 600)
    corner, opposite = anywhere.transform @ (150, 200), anywhere.transform @ (450, 380)
    line = LineString([corner, opposite])
    values = burned(anywhere, layer(line, crs="EPSG:4326"), None, LabelOptions(width_m=8.0)).values
    area_m2 = (values == ROAD).sum() * anywhere.resolution_m**2
    expected_m2 = Geod(ellps="WGS84").geometry_length(line) * 8 + np.pi * 16
    assert area_m2 == pytest.approx(expected_m2, rel=0.03)


def test_what_does_not_touch_the_grid_gives_no_labels():
    far = LineString([(X + 5000, Y), (X + 6000, Y)])
    assert burned(grid(), layer(far), None, OPTIONS) is None
    assert burned(grid(), layer(across()), layer(box(X + 5000, Y, X + 6000, Y + 10)), OPTIONS) is None


def test_an_area_outside_the_image_is_refused():
    with pytest.raises(LayerError, match="outside the image"):
        limit_to(grid(), layer(Point(X + 9000, Y).buffer(10)))


def test_validation_blocks_are_whole_and_hold_the_share():
    label = np.zeros((1000, 1000), np.uint8)
    label[::50] = ROAD
    block_px, (chosen,) = choose_blocks([label], 0.2, 100, seed=3)
    assert block_px == 100 and chosen.shape == (10, 10) and chosen.sum() == 20
    _, (again,) = choose_blocks([label], 0.2, 100, seed=3)
    _, (other,) = choose_blocks([label], 0.2, 100, seed=4)
    assert (again == chosen).all() and (other != chosen).any()


def test_the_road_kept_apart_is_near_its_share_even_in_few_blocks():
    # Four blocks with as much road each, and six with next to none: two of ten must not be two of those six.
    label = np.zeros((200, 500), np.uint8)
    label[:, ::100] = ROAD
    label[50, :400] = label[60, :400] = label[150, :200] = ROAD
    for seed in range(20):
        block_px, (chosen,) = choose_blocks([label], 0.2, 100, seed)
        apart = np.repeat(np.repeat(chosen, block_px, 0), block_px, 1)
        assert chosen.sum() == 2 and 0.1 <= (label[apart] == ROAD).sum() / (label == ROAD).sum() <= 0.3


@pytest.mark.parametrize("has_area", [True, False])
@pytest.mark.parametrize("crs", ["EPSG:32633", "EPSG:4326"])
def test_each_image_takes_the_shapes_near_it_alone_and_gets_the_same_labels(has_area, crs, monkeypatch):
    """The labels are those of all shapes of a country, but only the few near the image are buffered."""
    rng, corner = np.random.default_rng(0), np.array([X, Y - 50])
    starts = corner + np.concatenate([rng.uniform(-150, 350, (60, 2)), rng.uniform(-50_000, 50_000, (500, 2))])
    lines = [LineString([start, start + rng.uniform(-80, 80, 2)]) for start in starts]
    blocks = [box(X + 60 * each, Y - 70, X + 60 * each + 50, Y - 10) for each in range(-1000, 1000)]
    roads, area = layer(*lines).to_crs(crs), layer(*blocks).to_crs(crs) if has_area else None
    with monkeypatch.context() as patch:
        patch.setattr(drawing, "near", lambda layer, *_: np.arange(len(layer)))
        whole = burned(grid(), roads, area, OPTIONS)
    sizes, buffer = [], shapely.buffer
    monkeypatch.setattr(shapely, "buffer", lambda shapes, *rest, **named: (
        sizes.append(np.size(shapes)), buffer(shapes, *rest, **named))[1])  # fmt: skip
    found = burned(grid(), roads, area, OPTIONS)
    assert (found.column, found.row) == (whole.column, whole.row) and sizes and max(sizes) < 100
    np.testing.assert_array_equal(found.values, whole.values)
