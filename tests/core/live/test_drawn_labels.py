"""Labels of a live session: as if all were drawn at once; held-out blocks; what a fine-tune learns from kept ones."""

import numpy as np
import pytest
import shapely
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.crs import CRS
from shapely.geometry import LineString, MultiPolygon, box

from tests.core.support.rasters import NORTH_UP
from training_core.events import Reporter
from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.geodata.vector_output import write_layers
from training_core.jobs import LabelOptions
from training_core.labels.drawing import read_drawing
from training_core.live.commands import Change
from training_core.live.drawn_labels import BLOCK_PX, HELD_OUT_ONE_IN, DrawnLabels, is_chosen
from training_core.live.kept_model import kept_labels

HEIGHT, WIDTH = 400, 500
GRIDS = {
    "in meters": Grid(CRS.from_epsg(32633), NORTH_UP, WIDTH, HEIGHT),
    "turned": Grid(CRS.from_epsg(32633), NORTH_UP @ Affine.rotation(20), WIDTH, HEIGHT),
    "in degrees": Grid(
        CRS.from_epsg(4326), Affine.translation(13.4, 52.5) @ Affine.scale(1.5e-5, -9e-6), WIDTH, HEIGHT
    ),
}
GRID = GRIDS["in meters"]
# That of the session; a fine-tune has others, which must not matter.
OPTIONS = LabelOptions(width_m=7.0, background_m=20.0)
NOTHING = np.zeros((HEIGHT, WIDTH), dtype=bool)


def on_map(shape, grid=GRID):
    """Return a shape in columns and rows in map coordinates."""
    return shapely.transform(shape, lambda points: np.column_stack(grid.transform @ (points[:, 0], points[:, 1])))


def road(name, *points, grid=GRID, **more):
    return Change("roads", name, on_map(LineString(points), grid), **more)


def square(layer, name, *bounds):
    return Change(layer, name, on_map(box(*bounds)))


def mask_of(*bounds):
    shown = np.zeros((HEIGHT, WIDTH), dtype=bool)
    for left, top, right, bottom in bounds:
        shown[top:bottom, left:right] = True
    return shown


def seen_of(shown):
    """Return a function of windows for a mask of what the map shows as road."""
    padded = np.pad(shown, 100)
    return lambda column, row, width, height: padded[
        100 + row : 100 + row + height, 100 + column : 100 + column + width
    ]


def drawn(changes, shown=NOTHING, grid=GRID):
    """Return the labels of a session in which these changes came one by one, and the map showed roads."""
    labels = DrawnLabels(grid, OPTIONS)
    for change in changes:
        labels.change([change], seen_of(shown))
    return labels


def whole(labels):
    return labels.read_all(0, 0, WIDTH, HEIGHT)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["roads", "aoi", "no_road"]),
        st.sampled_from("abc"),
        st.none() | st.tuples(*[st.integers(-40, 540)] * 4),
    ),
    min_size=1,
    max_size=8,
)


def change_of(layer, name, place):
    if place is None:
        return Change(layer, name, None)
    left, top, right, bottom = place
    if layer == "roads":
        return road(name, (left, top), (right + 0.5, bottom))
    return square(layer, name, left, top, right + 1, bottom + 1)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_labels_that_come_one_by_one_are_those_that_come_at_once(steps):
    one_by_one = DrawnLabels(GRID, OPTIONS)
    last = {}
    for step in steps:
        change = change_of(*step)
        one_by_one.change([change])
        last[change.key] = change
    at_once = DrawnLabels(GRID, OPTIONS)
    at_once.change(change for change in last.values() if change.geometry is not None)
    np.testing.assert_array_equal(whole(one_by_one), whole(at_once))
    assert one_by_one.labeled_px == at_once.labeled_px and one_by_one.road_px == at_once.road_px


def test_erasing_leaves_nothing_and_tells_where_it_was():
    labels = drawn([road("a", (10, 20), (490, 20)), road("b", (100, 300), (200, 300))])
    erased = labels.change([Change("roads", "b", None)]).erased
    assert all(lost.any() for lost in erased.values()) and {row for row, _ in erased} <= {4, 5}
    assert (labels.read_all(0, 200, 500, 200) == IGNORE).all()
    labels.change([Change("roads", "a", None), Change("roads", "never drawn", None)])
    assert labels.labels == {} and labels.roads == 0


def test_roads_outside_of_the_area_count_with_their_surroundings_and_widths_of_their_own():
    labels = drawn([square("aoi", "1", 0, 0, 100, 100), road("a", (300, 300), (400, 300))])
    values = whole(labels)
    assert (values[:100, :100] == BACKGROUND).all()
    assert values[300, 350] == ROAD and values[315, 350] == BACKGROUND and values[350, 350] == IGNORE
    wide = whole(drawn([road("a", (10, 200), (490, 200), width_m=12.0)]))
    assert (wide[:, 250] == ROAD).sum() == 12


def test_no_road_is_background_but_where_a_road_is_drawn():
    labels = drawn([square("no_road", "1", 200, 100, 300, 200), road("a", (250, 0), (250, 399))])
    values = whole(labels)
    assert values[150, 250] == ROAD and values[150, 205] == BACKGROUND and values[150, 150] == IGNORE
    labels.change([road("a", (250, 0), (250, 399), sure=False)])
    values = whole(labels)
    assert values[150, 250] == IGNORE and values[150, 205] == BACKGROUND


@pytest.mark.parametrize(
    "change",
    [
        road("a", (1e8, 1e8), (1e8 + 50, 1e8)),
        road("a", (-1e9, 200), (1e9, 200)),
        square("roads", "a", -1e6, -1e6, 1e6, 1e6),
    ],
)
def test_labels_anywhere_are_labels_on_the_image_alone(change):
    labels = drawn([change])
    inside = {(row, column) for row in range(7) for column in range(8)}
    assert set(labels.labels) <= inside
    values = labels.read_all(-100, -100, 700, 600)
    assert (values[:100] == IGNORE).all() and (values[:, 600:] == IGNORE).all()


def test_what_is_shown_as_road_beside_a_drawn_one_is_not_taken_for_background():
    labels = drawn([road("a", (10, 200), (490, 200))], mask_of((240, 100, 248, 300)))
    values = whole(labels)
    assert (values[185:195, 240:248] == IGNORE).all() and (values[185:195, 255:300] == BACKGROUND).all()
    assert (values[198:202, 240:248] == ROAD).all()
    # A later map without the road changes nothing, and nothing counts as erased.
    changed = labels.change([road("a", (10, 200), (491, 200))])
    assert (whole(labels)[185:195, 240:248] == IGNORE).all() and not changed.erased


def test_a_road_that_is_shown_because_it_was_drawn_is_not_spared_where_it_was():
    def on_the_map(column, row, width, height):
        return labels.read_all(column, row, width, height) == ROAD  # all that is drawn was learned

    labels = DrawnLabels(GRID, OPTIONS)
    labels.change([road("a", (10, 200), (490, 200))], on_the_map)
    labels.change([road("b", (10, 230), (490, 230))], on_the_map)
    labels.change([road("a", (10, 210), (490, 210))], on_the_map)  # it was drawn next to the road, and is moved onto it
    values = whole(labels)
    assert (values[198:202, 20:480] == BACKGROUND).all() and (values[208:212, 20:480] == ROAD).all()
    labels.change([Change("roads", "a", None)], on_the_map)
    assert (whole(labels)[214:226, 20:480] == BACKGROUND).all()


def test_about_one_block_in_six_is_held_out_wherever_one_looks():
    for first in (0, 1000, -3000):
        chosen = [is_chosen((row, column)) for row in range(first, first + 100) for column in range(first, first + 100)]
        assert np.mean(chosen) == pytest.approx(1 / HELD_OUT_ONE_IN, abs=0.02)
        grid = np.array(chosen).reshape(100, 100)
        assert np.mean(grid[1:] & grid[:-1]) == pytest.approx(1 / HELD_OUT_ONE_IN**2, abs=0.02)  # no stripes


def test_no_pixel_is_learned_from_and_validated_on():
    labels = drawn([square("aoi", "1", 0, 0, 500, 400), road("a", (0, 100), (500, 100))])
    training, held = labels.read(0, 0, WIDTH, HEIGHT), labels.read(0, 0, WIDTH, HEIGHT, held_out=True)
    assert ((training == IGNORE) | (held == IGNORE)).all()
    assert (training != IGNORE).any() and (held != IGNORE).any()
    for row in range(6):
        for column in range(7):
            place = np.s_[row * BLOCK_PX : (row + 1) * BLOCK_PX, column * BLOCK_PX : (column + 1) * BLOCK_PX]
            assert (held[place] != IGNORE).any() == is_chosen((row, column))


def test_a_feature_that_would_be_held_out_as_a_whole_is_learned_from():
    row, column = next((row, column) for row in range(6) for column in range(7) if is_chosen((row, column)))
    left, top = column * BLOCK_PX, row * BLOCK_PX
    short = road("a", (left + 20, top + 30), (left + 40, top + 30))
    labels = drawn([short])
    assert (labels.read(0, 0, WIDTH, HEIGHT) == ROAD).any() and not labels.is_held_out((row, column))
    long = road("b", (left + 20, top + 30), (left + 400, top + 30))
    labels.change([long, Change("roads", "a", None)])
    assert labels.is_held_out((row, column))


# What a fine-tune learns from kept labels


def fine_tuned_on(path, layers, grid=GRID):
    """Return the labels of a fine-tune on the kept layers, on all of the grid."""
    write_layers(path, layers)
    aoi, no_road = (f"{path}|layername={name}" if name in layers else "" for name in ("aoi", "no_road"))
    options = LabelOptions(width_field="width_m", sure_field="sure", no_road=no_road)
    found = read_drawing(f"{path}|layername=roads", aoi, options, Reporter()).burn(grid)
    values = np.full((HEIGHT, WIDTH), IGNORE, dtype=np.uint8)
    height, width = found.values.shape
    values[found.row : found.row + height, found.column : found.column + width] = found.values
    return values


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_a_fine_tune_spares_what_the_session_has_spared(tmp_path, grid):
    side_street = mask_of((240, 100, 248, 300))
    labels = drawn([road("a", (10.2, 200), (490, 203), grid=grid)], side_street, grid)
    values = fine_tuned_on(tmp_path / "kept.gpkg", kept_labels(labels, grid, OPTIONS.width_m), grid)
    assert (values[185:195, 240:248] == IGNORE).all()  # whatever its background distance is
    assert (values[188:192, 260:300] == BACKGROUND).all() and (values[200:203, 100:110] == ROAD).all()
    np.testing.assert_array_equal(values, whole(labels))


def test_all_that_says_what_is_there_counts_in_a_fine_tune_as_in_the_session(tmp_path):
    changes = [
        road("a", (10, 200), (490, 203), width_m=9.5),
        road("b", (100, 20), (130, 380), sure=False),
        square("no_road", "1", 230, 215, 260, 290),
        square("aoi", "1", 300, 100, 420, 180),
        Change("aoi", "2", on_map(MultiPolygon([box(5, 5, 40, 30), box(450, 300, 499, 399)]))),
        road("c", (480, 310), (495, 390)),
    ]
    labels = drawn(changes, mask_of((240, 100, 248, 300), (320, 90, 330, 240), (60, 180, 90, 190)))
    layers = kept_labels(labels, GRID, OPTIONS.width_m)
    assert {name: set(layer.geom_type) for name, layer in layers.items()} == {
        "roads": {"LineString"}, "aoi": {"Polygon"}, "no_road": {"Polygon"},
    }  # fmt: skip
    assert layers["roads"].width_m.tolist() == [9.5, 7.0, 7.0] and layers["roads"].sure.tolist() == [True, False, True]
    values = fine_tuned_on(tmp_path / "kept.gpkg", layers)
    np.testing.assert_array_equal(values, whole(labels))
    assert (values[183:188, 62:88] == IGNORE).all() and (values[240:280, 232:258] == BACKGROUND).all()
    assert (values[105:175, 322:328] == BACKGROUND).all()  # in the area of interest nothing is spared


def test_lines_beside_polygons_are_kept_as_polygons_of_their_width(tmp_path):
    changes = [road("a", (10, 200), (490, 203), (300, 40)), square("roads", "b", 50, 50, 90, 62)]
    labels = drawn(changes, mask_of((240, 100, 248, 300)))
    layers = kept_labels(labels, GRID, OPTIONS.width_m)
    assert set(layers["roads"].geom_type) == {"Polygon"}
    np.testing.assert_array_equal(fine_tuned_on(tmp_path / "kept.gpkg", layers), whole(labels))


def test_of_nothing_nothing_is_kept():
    assert kept_labels(drawn([]), GRID, 6.0) == {}
    erased = drawn([road("a", (10, 20), (490, 20)), Change("roads", "a", None)], mask_of((0, 0, 500, 60)))
    assert kept_labels(erased, GRID, 6.0) == {}
