"""Kept labels: a fine-tune that reads them learns from the same pixels as the session did."""

import numpy as np
import pytest
import shapely
from affine import Affine
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
from training_core.live.drawn_labels import DrawnLabels
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


def drawn(changes, shown, grid=GRID):
    """Return the labels of a session in which these changes came one by one, and the map showed roads."""
    labels = DrawnLabels(grid, OPTIONS)
    padded = np.pad(shown, 100)
    for change in changes:
        labels.change([change], lambda column, row, width, height: padded[
            100 + row : 100 + row + height, 100 + column : 100 + column + width
        ])  # fmt: skip
    return labels


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


def whole(labels):
    return labels.read_all(0, 0, WIDTH, HEIGHT)


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
    assert kept_labels(drawn([], mask_of()), GRID, 6.0) == {}
    erased = drawn([road("a", (10, 20), (490, 20)), Change("roads", "a", None)], mask_of((0, 0, 500, 60)))
    assert kept_labels(erased, GRID, 6.0) == {}
