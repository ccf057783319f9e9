"""Labels of a live session: rasterized where they change, the same as if all were drawn at once; held-out blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.crs import CRS
from shapely.geometry import LineString, box

from tests.core.support.rasters import NORTH_UP
from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.jobs import LabelOptions
from training_core.live.commands import Change
from training_core.live.drawn_labels import BLOCK_PX, HELD_OUT_ONE_IN, DrawnLabels, is_chosen

X, Y = NORTH_UP.c, NORTH_UP.f
GRID = Grid(CRS.from_epsg(32633), NORTH_UP, 500, 400)
OPTIONS = LabelOptions(width_m=6.0, background_m=20.0)
ALL = (0, 0, 500, 400)


def line(*points):
    return LineString([(X + column, Y - row) for column, row in points])


def square(left, top, right, bottom):
    return box(X + left, Y - bottom, X + right, Y - top)


def drawn(*changes):
    labels = DrawnLabels(GRID, OPTIONS)
    labels.change(changes)
    return labels


def road(name, *points, **more):
    return Change("roads", name, line(*points), **more)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["roads", "aoi", "no_road"]),
        st.sampled_from("abc"),
        st.none() | st.tuples(*[st.integers(-40, 540)] * 4),
    ),
    min_size=1,
    max_size=8,
)


def change_of(layer_, name, place):
    if place is None:
        return Change(layer_, name, None)
    left, top, right, bottom = place
    shape = line((left, top), (right + 0.5, bottom)) if layer_ == "roads" else square(left, top, right + 1, bottom + 1)
    return Change(layer_, name, shape)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_labels_that_come_one_by_one_are_those_that_come_at_once(steps):
    one_by_one = DrawnLabels(GRID, OPTIONS)
    last = {}
    for step in steps:
        change = change_of(*step)
        one_by_one.change([change])
        last[change.key] = change
    at_once = drawn(*(change for change in last.values() if change.geometry is not None))
    np.testing.assert_array_equal(one_by_one.read_all(*ALL), at_once.read_all(*ALL))
    assert one_by_one.labeled_px == at_once.labeled_px and one_by_one.road_px == at_once.road_px


def test_erasing_leaves_nothing_and_tells_where_it_was():
    labels = drawn(road("a", (10, 20), (490, 20)), road("b", (100, 300), (200, 300)))
    erased = labels.change([Change("roads", "b", None)]).erased
    assert all(lost.any() for lost in erased.values()) and {row for row, _ in erased} <= {4, 5}
    assert (labels.read_all(0, 200, 500, 200) == IGNORE).all()
    labels.change([Change("roads", "a", None), Change("roads", "never drawn", None)])
    assert labels.labels == {} and labels.roads == 0


def test_roads_outside_of_the_area_count_with_their_surroundings_and_widths_of_their_own():
    labels = drawn(Change("aoi", "1", square(0, 0, 100, 100)), road("a", (300, 300), (400, 300)))
    values = labels.read_all(*ALL)
    assert (values[:100, :100] == BACKGROUND).all()
    assert values[300, 350] == ROAD and values[315, 350] == BACKGROUND and values[350, 350] == IGNORE
    wide = drawn(road("a", (10, 200), (490, 200), width_m=12.0)).read_all(*ALL)
    assert (wide[:, 250] == ROAD).sum() == 12


def test_no_road_is_background_but_where_a_road_is_drawn():
    labels = drawn(Change("no_road", "1", square(200, 100, 300, 200)), road("a", (250, 0), (250, 399)))
    values = labels.read_all(*ALL)
    assert values[150, 250] == ROAD and values[150, 205] == BACKGROUND and values[150, 150] == IGNORE
    labels.change([road("a", (250, 0), (250, 399), sure=False)])
    values = labels.read_all(*ALL)
    assert values[150, 250] == IGNORE and values[150, 205] == BACKGROUND


@pytest.mark.parametrize(
    "shape", [line((1e8, 1e8), (1e8 + 50, 1e8)), line((-1e9, 200), (1e9, 200)), square(-1e6, -1e6, 1e6, 1e6)]
)
def test_labels_anywhere_are_labels_on_the_image_alone(shape):
    labels = DrawnLabels(GRID, OPTIONS)
    labels.change([Change("roads", "a", shape)])
    inside = {(row, column) for row in range(7) for column in range(8)}
    assert set(labels.labels) <= inside
    values = labels.read_all(-100, -100, 700, 600)
    assert (values[:100] == IGNORE).all() and (values[:, 600:] == IGNORE).all()


def test_what_is_shown_as_road_beside_a_drawn_one_is_not_taken_for_background():
    side_street = square(240, 100, 248, 300)
    shown = np.zeros((400, 500), dtype=bool)
    shown[100:300, 240:248] = True

    def on_the_map(column, row, width, height):
        padded = np.pad(shown, 200)
        return padded[200 + row : 200 + row + height, 200 + column : 200 + column + width]

    labels = DrawnLabels(GRID, OPTIONS)
    labels.change([road("a", (10, 200), (490, 200))], on_the_map)
    values = labels.read_all(*ALL)
    assert (values[185:195, 240:248] == IGNORE).all() and (values[185:195, 255:300] == BACKGROUND).all()
    assert (values[198:202, 240:248] == ROAD).all()
    # A later map without the road changes nothing, and nothing counts as erased.
    changed = labels.change([road("a", (10, 200), (491, 200))])
    assert (labels.read_all(*ALL)[185:195, 240:248] == IGNORE).all() and not changed.erased
    # Places without a road and areas of interest are background all the same.
    labels.change([Change("no_road", "1", side_street)], on_the_map)
    assert (labels.read_all(*ALL)[185:195, 240:248] == BACKGROUND).all()
    labels.change([Change("no_road", "1", None), Change("aoi", "1", square(0, 0, 500, 400))], on_the_map)
    assert (labels.read_all(*ALL)[185:195, 240:248] == BACKGROUND).all()


def test_a_road_that_is_shown_because_it_was_drawn_is_not_spared_where_it_was():
    def on_the_map(column, row, width, height):
        return labels.read_all(column, row, width, height) == ROAD  # all that is drawn was learned

    labels = DrawnLabels(GRID, OPTIONS)
    labels.change([road("a", (10, 200), (490, 200))], on_the_map)
    labels.change([road("b", (10, 230), (490, 230))], on_the_map)
    labels.change([road("a", (10, 210), (490, 210))], on_the_map)  # it was drawn next to the road, and is moved onto it
    values = labels.read_all(*ALL)
    assert (values[198:202, 20:480] == BACKGROUND).all() and (values[208:212, 20:480] == ROAD).all()
    labels.change([Change("roads", "a", None)], on_the_map)
    assert (labels.read_all(*ALL)[214:226, 20:480] == BACKGROUND).all()


def test_about_one_block_in_six_is_held_out_wherever_one_looks():
    for first in (0, 1000, -3000):
        chosen = [is_chosen((row, column)) for row in range(first, first + 100) for column in range(first, first + 100)]
        assert np.mean(chosen) == pytest.approx(1 / HELD_OUT_ONE_IN, abs=0.02)
        grid = np.array(chosen).reshape(100, 100)
        assert np.mean(grid[1:] & grid[:-1]) == pytest.approx(1 / HELD_OUT_ONE_IN**2, abs=0.02)  # no stripes


def test_no_pixel_is_learned_from_and_validated_on():
    labels = drawn(Change("aoi", "1", square(0, 0, 500, 400)), road("a", (0, 100), (500, 100)))
    training, held = labels.read(*ALL), labels.read(*ALL, held_out=True)
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
    labels = drawn(short)
    assert (labels.read(*ALL) == ROAD).any() and not labels.is_held_out((row, column))
    long = road("b", (left + 20, top + 30), (left + 400, top + 30))
    labels.change([long, Change("roads", "a", None)])
    assert labels.is_held_out((row, column))
