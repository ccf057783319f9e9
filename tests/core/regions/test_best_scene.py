"""Which of several scenes counts, and the grid on which all of them are seen."""

import numpy as np
from affine import Affine
from rasterio.crs import CRS
from rasterio.warp import transform_bounds

from tests.core.support.rasters import NORTH_UP, UTM, write_raster
from training_core.geodata.grid import Grid, shared_offset
from training_core.regions.region_grid import CELL_PX, Part, PlacedScene, outline_on, read_best, region_grid

SIDE_PX = 2 * CELL_PX
GRID = Grid(CRS.from_string(UTM), NORTH_UP, SIDE_PX, SIDE_PX)
WHOLE = Part(0, 0, SIDE_PX, SIDE_PX)


def view(folder, name, values, column=0, row=0, classes=None, **placed):
    placed = placed or {"transform": NORTH_UP @ Affine.translation(column, row)}
    path = write_raster(folder / f"{name}.tif", np.asarray(values, np.uint8), nodata=255, **placed)
    numbers = write_raster(folder / f"{name}_c.tif", classes, nodata=255, **placed) if classes is not None else ""
    height, width = np.shape(values)
    return PlacedScene(name, path, numbers, (column, row, column + width, row + height))


def plain(value, height=SIDE_PX, width=SIDE_PX):
    return np.full((height, width), value, np.uint8)


def test_a_scene_with_less_nodata_in_a_cell_counts_there(tmp_path):
    holed = plain(250)
    holed[:10, :10] = 255  # in the first cell alone
    found, classes = read_best(GRID, WHOLE, [view(tmp_path, "a", holed), view(tmp_path, "b", plain(100))])
    assert (found[:CELL_PX, :CELL_PX] == 100).all() and classes is None
    assert (found[CELL_PX:] == 250).all() and (found[:, CELL_PX:] == 250).all()


def test_of_two_with_equal_data_the_more_certain_one_counts(tmp_path):
    one, other = plain(127), plain(127)
    one[:, :CELL_PX], other[:, CELL_PX:] = 5, 240
    found, _ = read_best(GRID, WHOLE, [view(tmp_path, "a", one), view(tmp_path, "b", other)])
    assert (found[:, :CELL_PX] == 5).all() and (found[:, CELL_PX:] == 240).all()


def test_where_the_better_one_has_no_data_the_other_is_seen(tmp_path):
    best, rest = plain(254), plain(120)
    best[20:30] = 255
    rest[5:200] = 255
    found, _ = read_best(GRID, WHOLE, [view(tmp_path, "a", best), view(tmp_path, "b", rest)])
    assert (found[:20] == 254).all() and (found[20:30] == 255).all() and (found[30:] == 254).all()


def test_equal_scenes_go_by_their_names_and_scenes_side_by_side_are_one(tmp_path):
    views = [view(tmp_path, name, plain(value), classes=plain(value // 10)) for name, value in (("b", 10), ("a", 244))]
    found, classes = read_best(GRID, WHOLE, views)
    assert (found == 244).all() and (classes == 24).all()
    left, right = view(tmp_path, "l", plain(10, width=300)), view(tmp_path, "r", plain(20, width=212), column=300)
    found, _ = read_best(GRID, WHOLE, [left, right])
    assert (found[:, :300] == 10).all() and (found[:, 300:] == 20).all()


def test_what_is_seen_does_not_depend_on_the_window(tmp_path):
    random = np.random.default_rng(1)
    views = [view(tmp_path, name, random.integers(0, 256, (SIDE_PX, SIDE_PX))) for name in "abc"]
    whole, _ = read_best(GRID, WHOLE, views)
    part, _ = read_best(GRID, Part(CELL_PX, 0, CELL_PX, SIDE_PX), views)
    assert (whole[CELL_PX:] == part).all()


def test_a_scene_in_another_crs_is_seen_where_it_lies(tmp_path):
    bounds = transform_bounds(UTM, "EPSG:4326", *_bounds(GRID))
    step = (bounds[2] - bounds[0]) / 900
    transform = Affine(step, 0, bounds[0], 0, -step, bounds[3])
    height = int((bounds[3] - bounds[1]) / step)
    values = plain(0, height, 900)
    values[:, 450:] = 200
    scene = view(tmp_path, "far", values, crs="EPSG:4326", transform=transform)
    outline = outline_on(GRID, Grid(CRS.from_epsg(4326), transform, 900, height))
    found, _ = read_best(GRID, WHOLE, [PlacedScene("far", scene.probability, "", outline.bounds)])
    middle = found[SIDE_PX // 2]
    assert (middle[20:200] == 0).all() and (middle[300:490] == 200).all()


def _bounds(grid):
    (left, top), (right, bottom) = grid.transform @ (0, 0), grid.transform @ (grid.width, grid.height)
    return left, bottom, right, top


def test_the_regions_grid_is_the_largest_extended_to_all_others_by_whole_cells():
    small = Grid(GRID.crs, NORTH_UP @ Affine.translation(-10, 700), 100, 50)
    grid = region_grid([small, GRID])
    assert shared_offset(grid, GRID) == (CELL_PX, 0) and shared_offset(grid, small) == (CELL_PX - 10, 700)
    assert (grid.width, grid.height) == (CELL_PX + SIDE_PX, 750)
    assert region_grid([GRID]) == GRID
