import numpy as np
import pytest
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.crs import CRS
from shapely import from_wkb
from shapely.geometry import Polygon, box

from tests.core.support.rasters import NORTH_UP, UTM, layer
from training_core.geodata.grid import Grid
from training_core.geodata.shapes import burn_shapes, ground_shapes
from training_core.regions.catalog import Scene, SceneBand
from training_core.regions.mosaic import find_mosaics
from training_core.regions.scene_blocks import SceneBlock, mosaic_area, scene_blocks


def scene(name, column, row, width, height, pixel_m=1.0):
    grid = Grid(CRS.from_string(UTM), NORTH_UP @ Affine.scale(pixel_m) @ Affine.translation(column, row), width, height)
    return Scene(f"/{name}.tif", name, grid, (1,), "1", (SceneBand(1, "uint8"),))


sizes, starts = st.integers(1, 700), st.integers(-300, 300)
scenes = st.lists(st.tuples(starts, starts, sizes, sizes), min_size=1, max_size=4)


@given(scenes, st.integers(0, 400), st.sampled_from([0.3, 1.0, 2.0, 1.7]))
@settings(max_examples=60, deadline=None)
def test_blocks_cover_a_scene_without_gap_or_overlap(windows, block_px, pixel_m):
    given_scenes = [scene(f"s{number}", *window, pixel_m) for number, window in enumerate(windows)]
    for mosaic in find_mosaics(given_scenes, 10_000, 1.0):
        grid = mosaic.grid_at(1.0)
        for each in mosaic.scenes:
            column, row, width, height = mosaic.window_at(each, 1.0)
            covered = np.zeros((grid.height, grid.width), int)
            for block in scene_blocks(mosaic, each, 1.0, block_px):
                assert block.scene == each.name and max(block.width, block.height) <= max(32, block_px)
                assert block.column % 32 == 0 or block.column == column
                assert block.row % 32 == 0 or block.row == row
                covered[block.row : block.row + block.height, block.column : block.column + block.width] += 1
            assert (covered[row : row + height, column : column + width] == 1).all()
            assert covered.sum() == width * height > 0


@pytest.mark.parametrize("pixel_m", [1.0, 0.3, 1.7])
def test_scenes_that_touch_share_no_pixel_and_leave_none_out(pixel_m):
    spans = [(0, 101), (101, 97), (198, 45)]
    (mosaic,) = find_mosaics([scene(f"s{start}", start, 0, width, 50, pixel_m) for start, width in spans], 0, 1.0)
    windows = [mosaic.window_at(each, 1.0) for each in mosaic.scenes]
    for before, after in zip(windows, windows[1:]):
        assert before[0] + before[2] == after[0]
    assert windows[-1][0] + windows[-1][2] == mosaic.grid_at(1.0).width


def test_blocks_have_about_one_size_and_may_be_limited_by_a_window():
    (mosaic,) = find_mosaics([scene("a", 0, 0, 1300, 1300)], 0)
    blocks = scene_blocks(mosaic, mosaic.scenes[0], 0.0, 1024)
    assert [block.window for block in blocks] == [
        (0, 0, 672, 672), (672, 0, 628, 672), (0, 672, 672, 628), (672, 672, 628, 628)
    ]  # fmt: skip
    assert blocks[0].megapixels == pytest.approx(0.451584)
    (mosaic,) = find_mosaics([scene("a", 0, 0, 100, 100), scene("b", 90, 0, 100, 100)], 0)
    first, second = mosaic.scenes
    assert [each.window for each in scene_blocks(mosaic, first, 0.0, 512, (70, 10, 60, 20))] == [(70, 10, 30, 20)]
    assert [each.window for each in scene_blocks(mosaic, second, 0.0, 512, (70, 10, 60, 20))] == [(90, 10, 40, 20)]
    assert scene_blocks(mosaic, first, 0.0, 512, (150, 10, 30, 20)) == []


def test_the_part_of_the_area_around_a_block_has_the_same_pixels_or_is_not_needed():
    (mosaic,) = find_mosaics([scene("a", 0, 0, 300, 300)], 0)
    polygon = Polygon([(390010, 5819990), (390290, 5819900), (390100, 5819720), (390150, 5819850)])
    aoi = layer(polygon)
    area = mosaic_area(mosaic, 0.0, aoi)
    grid = mosaic.grid_at(0.0)
    whole = burn_shapes(ground_shapes(aoi, grid), grid, (0, 0, 300, 300))
    for block in scene_blocks(mosaic, mosaic.scenes[0], 0.0, 64):
        part = area.within(block)
        found = (
            np.ones((block.height, block.width), bool)
            if part is None
            else burn_shapes([from_wkb(part)], grid, block.window)
        )
        rows, columns = slice(block.row, block.row + block.height), slice(block.column, block.column + block.width)
        np.testing.assert_array_equal(found, whole[rows, columns])
    area = mosaic_area(mosaic, 0.0, layer(box(390000, 5819700, 390200, 5820000)))
    assert area.window == (0, 0, 200, 300)
    assert area.within(SceneBlock("a", 32, 32, 64, 64)) is None
    assert area.within(SceneBlock("a", 160, 32, 64, 64)) is not None
