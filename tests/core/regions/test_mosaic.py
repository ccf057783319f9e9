import json
import time

import numpy as np
import pytest
import rasterio
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.crs import CRS
from rasterio.enums import ColorInterp

from tests.core.support.no_data import WAYS, write
from tests.core.support.rasters import NORTH_UP, UTM, write_raster
from tests.core.support.scenes import cut, mosaics_of, noise, scenes_of, wanted
from training_core.errors import ImageryError
from training_core.geodata.grid import Grid
from training_core.geodata.rasters import IMAGE, open_for_model
from training_core.regions.catalog import Scene, SceneBand
from training_core.regions.mosaic import find_mosaics, normalized_bands, own_reach_px
from training_core.regions.virtual_raster import VirtualImage, virtual_raster_from


def scene(name, column, row, width=100, height=100, transform=NORTH_UP, crs=UTM, **others):
    """A scene of a file that is not there."""
    grid = Grid(CRS.from_string(crs), transform @ Affine.translation(column, row), width, height)
    facts = {"indexes": (1,), "version": "1", "bands": (SceneBand(1, "uint8"),), **others}
    return Scene(f"/{name}.tif", name, grid, **facts)


def groups(scenes, reach_px=0, resolution_m=0.0):
    return [[each.name for each in mosaic.scenes] for mosaic in find_mosaics(scenes, reach_px, resolution_m)]


def read(view, resolution_m=0.0, window=None):
    """Read a view after it has traveled."""
    travelled = json.loads(json.dumps(view.to_document(), allow_nan=False))
    with VirtualImage(virtual_raster_from(travelled), resolution_m) as image:
        return image.read(*(window or (0, 0, image.grid.width, image.grid.height)))


def test_scenes_on_one_grid_that_overlap_or_touch_are_a_mosaic_from_their_first_pixel_on():
    scenes = [scene("a", 0, 0), scene("far", 300, 0), scene("b", 90, 50), scene("c", 190, 150), scene("d", 301, 100)]
    assert groups(scenes) == [["a", "b", "c"], ["far", "d"]]
    first, second = find_mosaics(scenes, 0)
    assert first.offsets == ((0, 0), (90, 50), (190, 150)) and (first.grid.width, first.grid.height) == (290, 250)
    assert first.grid.transform == NORTH_UP
    assert second.grid.transform == NORTH_UP @ Affine.translation(300, 0)
    assert second.window(scenes[4]) == (1, 100, 100, 100)
    (mosaic,) = find_mosaics([scene("a", 50, 80), scene("b", -20, 100), scene("c", 40, 3)], 0)
    assert mosaic.grid.transform == NORTH_UP @ Affine.translation(-20, 3)
    assert mosaic.offsets == ((70, 77), (0, 97), (60, 0))
    assert (mosaic.grid.width, mosaic.grid.height) == (170, 197)
    (mosaic,) = find_mosaics([scene("a", 0, 0)], 100)
    view = mosaic.scene_on_top(mosaic.scenes[0])
    assert view.is_one_raster and view.grid == mosaic.scenes[0].grid


def test_a_gap_within_reach_joins():
    scenes = [scene("a", 0, 0), scene("b", 150, 0)]
    assert groups(scenes) == [["a"], ["b"]] and groups(scenes, 17) == [["a"], ["b"]]
    assert groups(scenes, 18) == [["a", "b"]]  # with the 32 pixels by which a tile may begin earlier
    far = [scene("a", 0, 0), scene("b", 200, 0)]
    assert groups(far, 20) == groups(far, 2, 2.0) == [["a"], ["b"]]
    assert groups(far, 20, 2.0) == [["a", "b"]]  # for a model of pixels twice as large


@pytest.mark.parametrize(
    "other",
    [
        {"crs": "EPSG:32634"},
        {"transform": NORTH_UP @ Affine.translation(0.5, 0)},
        {"transform": NORTH_UP @ Affine.translation(0, 0.02)},
        {"transform": NORTH_UP @ Affine.scale(1.001)},
        {"transform": NORTH_UP @ Affine.scale(1, -1)},
        {"transform": NORTH_UP @ Affine.rotation(0.1)},
        {"bands": (SceneBand(1, "uint16"),)},
        {"bands": (SceneBand(1, "uint8"), SceneBand(2, "uint8"))},
        {"bands": (SceneBand(1, "uint8", description="nir"),)},
    ],
    ids=str,
)
def test_what_differs_is_no_mosaic(other):
    assert groups([scene("a", 0, 0), scene("b", 10, 10, **other)]) == [["a"], ["b"]]


def test_rounding_of_coordinates_divides_no_mosaic():
    degrees = Affine(0.3 / 111_000, 0, 85.51, 0, -0.3 / 111_000, 27.63)
    tiles = []
    for number in range(200):
        column, row = 977 * number, -513 * number
        exact = degrees @ Affine.translation(column, row)
        rounded = Affine(*(round(value, 15) for value in exact[:6]))
        grid = Grid(CRS.from_epsg(4326), rounded, 1000, 1000)
        tiles.append(Scene(f"/{number}.tif", str(number), grid, (1,), "1", (SceneBand(1, "uint8"),)))
    (mosaic,) = find_mosaics(tiles, 0)
    assert mosaic.offsets[::199] == ((0, 513 * 199), (977 * 199, 0))


offsets = st.tuples(st.integers(-500, 500), st.integers(-500, 500))


@given(st.lists(offsets, min_size=1, max_size=12), st.floats(0, 0.99), st.integers(0, 40))
@settings(max_examples=50, deadline=None)
def test_mosaics_are_the_connected_groups(places, fraction, gap_px):
    transform = NORTH_UP @ Affine.translation(fraction, fraction)
    scenes = [scene(str(number), *place, 60, 40, transform) for number, place in enumerate(places)]
    reach = own_reach_px(scenes[0].grid, gap_px, 0)
    parent = list(range(len(places)))
    for i, (x, y) in enumerate(places):
        for j, (u, v) in enumerate(places[:i]):
            if abs(x - u) <= 60 + reach and abs(y - v) <= 40 + reach:
                old, new = parent[i], parent[j]
                parent = [new if each == old else each for each in parent]
    expected = [[str(i) for i, each in enumerate(parent) if each == label] for label in dict.fromkeys(parent)]
    assert groups(scenes, gap_px) == expected


def test_a_mosaic_of_many_scenes_is_found_soon():
    scenes = [scene(f"{x} {y}", 90 * x, 90 * y) for x in range(60) for y in range(60)]
    scattered = [scene(f"s{n}", 90 * n + (n * 0.317) % 1, (n * 0.731) % 1) for n in range(2000)]
    began_s = time.perf_counter()
    found = find_mosaics([*scenes, *scattered], 100)
    tops = [found[0].scene_on_top(each) for each in scenes[:500]]
    assert time.perf_counter() - began_s < 20
    assert len(found[0].scenes) >= 3600 and max(len(view.sources) for view in tops) < 60


def layered(folder, low_image, high_image, **profiles):
    """Return the values and known pixels of an image of `high` on top of one of `low` of the same size."""
    paths = [
        cut(folder / f"{name}.tif", image, (0, 0, image.shape[2], image.shape[1]), **profiles.get(name, {}))
        for name, image in (("low", low_image), ("high", high_image))
    ]
    for path, name in zip(paths, ("low", "high")):
        if "mask" in profiles and name in profiles["mask"]:
            with rasterio.open(path, "r+") as dataset:
                dataset.write_mask(profiles["mask"][name])
    (mosaic,) = mosaics_of(paths)
    found = [read(mosaic.scene_on_top(scenes_of(paths)[name])) for name in ("low", "high")]
    return found[1] + found[0]


HOLE = np.zeros((20, 30), bool)
HOLE[5:12, 8:20] = True
BOTH = np.zeros_like(HOLE)
BOTH[10:15, 15:25] = True


def missing(kind, image, where, value=0):
    """Return an image without data in some pixels, and how to write it."""
    image = image.copy()
    if kind == "nodata":
        image[:, where] = value
        return image, {"nodata": value}
    if kind == "alpha":
        return np.concatenate([image, np.where(where, 0, 255).astype(np.uint8)[None]]), {"alpha": "yes"}
    return image, {}


@pytest.mark.parametrize("upper", ["nodata", "alpha", "mask"])
@pytest.mark.parametrize("lower", ["nodata", "other nodata", "alpha", "mask", "full"])
def test_where_the_top_has_no_data_what_is_beneath_shows(tmp_path, upper, lower):
    high, low = noise(20, 30, seed=1), noise(20, 30, seed=2)
    high_image, high_profile = missing(upper, high, HOLE)
    low_image, low_profile = missing(lower.split()[-1], low, BOTH, 255 if lower == "other nodata" else 0)
    masks = {"high": ~HOLE} if upper == "mask" else {}
    masks |= {"low": ~BOTH} if lower == "mask" else {}
    values, known, below, below_known = layered(
        tmp_path, low_image, high_image, high=high_profile, low=low_profile, mask=masks
    )
    nowhere = HOLE & BOTH if lower != "full" else np.zeros_like(HOLE)
    np.testing.assert_array_equal(known, ~nowhere)
    np.testing.assert_array_equal(values[:, known], np.where(HOLE, low, high)[:, known])
    np.testing.assert_array_equal(below_known, known)
    expected = np.where(BOTH if lower != "full" else False, high, low)
    np.testing.assert_array_equal(below[:, known], expected[:, known])


@pytest.mark.parametrize("way", WAYS)
def test_a_hole_shows_what_is_beneath_whichever_way_the_image_says_it(tmp_path, way):
    image, below = np.random.default_rng(0).integers(10, 100, (2, 3, 20, 30), dtype=np.uint8)
    path, bands = WAYS[way](tmp_path, image, HOLE)
    full = np.concatenate([below, below])[: len(bands)].astype(bands.dtype)
    low = write(tmp_path / "low.tif", full, "rgbx"[: len(bands)] if len(bands) > 1 else "x")
    model_input = wanted(scaling=IMAGE)
    (mosaic,) = mosaics_of([low, path], model_input=model_input)
    scenes = scenes_of([low, path], model_input)
    for name, expected in (("image", np.where(HOLE, full, bands)), ("low", full)):
        values, known = read(mosaic.scene_on_top(scenes[name]))
        assert known.all()
        np.testing.assert_array_equal(values, np.broadcast_to(expected[:3], values.shape))
    values, known = read(mosaic.scene_on_top(scenes["image"]), 0.5)
    assert known.all()


def test_a_nodata_value_in_one_band_is_a_value(tmp_path):
    """As in each image by itself: black in one band is no missing pixel."""
    high, low = noise(20, 30, seed=1), noise(20, 30, seed=2)
    high[0, 3, 4], high[:, 7, 8] = 0, 0
    values, known, *_ = layered(tmp_path, low, high, high={"nodata": 0}, low={"nodata": 0})
    assert known.all() and values[0, 3, 4] == 0
    np.testing.assert_array_equal(values[1:, 3, 4], high[1:, 3, 4])
    np.testing.assert_array_equal(values[:, 7, 8], low[:, 7, 8])


def test_not_a_number_is_nodata(tmp_path):
    high, low = noise(20, 30, seed=1).astype(np.float32), noise(20, 30, seed=2).astype(np.float32)
    high[:, HOLE], low[:, BOTH] = np.nan, np.nan
    values, known, *_ = layered(tmp_path, low, high, high={"nodata": np.nan}, low={"nodata": np.nan})
    np.testing.assert_array_equal(known, ~(HOLE & BOTH))
    np.testing.assert_array_equal(values[:, known], np.where(HOLE, low, high)[:, known])


@pytest.mark.parametrize("resolution_m", [0.0, 2.0, 0.4])
@pytest.mark.parametrize("profile", [{}, {"nodata": 0}], ids=["full", "nodata"])
def test_resampled_a_mosaic_is_read_as_the_undivided_image(tmp_path, resolution_m, profile):
    image = noise(90, 120)
    image[:, 30:50, 40:90] = 0 if profile else image[:, 30:50, 40:90]
    whole = cut(tmp_path / "whole.tif", image, (0, 0, 120, 90), **profile)
    paths = [cut(tmp_path / f"{x}.tif", image, (x, 0, 60, 90), **profile) for x in (0, 37, 60)]
    (mosaic,) = mosaics_of(paths, 100)
    with open_for_model(whole, wanted(resolution_m)) as (undivided, _):
        assert mosaic.grid_at(resolution_m) == undivided.grid
        expected, expected_known = undivided.read(0, 0, undivided.grid.width, undivided.grid.height)
    for each in mosaic.scenes:
        values, known = read(mosaic.scene_on_top(each), resolution_m)
        np.testing.assert_array_equal(known, expected_known)
        np.testing.assert_array_equal(values[:, known], expected[:, known])


def test_bands_keep_names_and_colors_and_are_found_by_them(tmp_path):
    image = noise(20, 60, 5)
    paths = [cut(tmp_path / f"{x}.tif", image, (x, 0, 30, 20), photometric="minisblack") for x in (0, 30)]
    for path in paths:
        with rasterio.open(path, "r+") as dataset:
            dataset.colorinterp = [
                ColorInterp.blue, ColorInterp.alpha, ColorInterp.undefined, ColorInterp.green, ColorInterp.red
            ]  # fmt: skip
            dataset.set_band_description(3, "near & <infrared>")
    (mosaic,) = mosaics_of(paths)
    view = mosaic.scene_on_top(mosaic.scenes[0])
    with rasterio.MemoryFile(view.xml().encode(), ext=".vrt") as file, file.open() as dataset:
        assert dataset.descriptions == (None, "near & <infrared>", None, None)
        assert dataset.colorinterp == (ColorInterp.blue, ColorInterp.undefined, ColorInterp.green, ColorInterp.red)
        assert dataset.crs == CRS.from_string(UTM) and dataset.transform == NORTH_UP
    values, _ = read(view)
    np.testing.assert_array_equal(values, image[[4, 3, 0]])


@pytest.mark.parametrize("name", ["<a> & ]]> &lt;", "\"quoted\" 'twice'", "Straße नेपाल", "new\nline", " 100% blank "])
def test_any_name_of_a_file_can_be_read(tmp_path, name):
    image = noise(20, 60)
    folder = tmp_path / name
    folder.mkdir()
    profile = {"nodata": 0}  # so that it stands in a virtual raster within another one
    paths = [cut(folder / f"{name}{x}.tif", image, (x, 0, 35, 20), **profile) for x in (0, 25)]
    (mosaic,) = mosaics_of(paths)
    values, known = read(mosaic.scene_on_top(mosaic.scenes[1]))
    np.testing.assert_array_equal(values, image)
    assert known.all()


def test_a_mosaic_that_normalizes_by_image_does_so_as_the_undivided_image(tmp_path):
    image = (noise(300, 500) // np.linspace(1, 4, 500)).astype(np.uint8)
    whole = cut(tmp_path / "whole.tif", image, (0, 0, 500, 300))
    paths = [cut(tmp_path / f"{x}.tif", image, (x, 0, 200, 300)) for x in (0, 150, 300)]
    model_input = wanted(scaling=IMAGE)
    (mosaic,) = mosaics_of(paths, model_input=model_input)
    with open_for_model(whole, model_input) as (_, expected):
        assert normalized_bands(mosaic, model_input) == (expected, [])
    assert normalized_bands(mosaic, wanted()) == (wanted().bands, [])


@pytest.mark.parametrize("damage", ["missing", "cut off", "empty"])
def test_a_damaged_scene_is_left_out_but_not_from_the_top(tmp_path, damage):
    image = noise(60, 300)
    paths = [cut(tmp_path / f"s{x}.tif", image, (x, 0, 120, 60)) for x in (0, 100, 180)]
    model_input = wanted(scaling=IMAGE)
    (mosaic,) = mosaics_of(paths, 200, model_input)
    content = (tmp_path / "s100.tif").read_bytes()
    (tmp_path / "s100.tif").write_bytes(content[: len(content) // 2] if damage == "cut off" else b"")
    if damage == "missing":
        (tmp_path / "s100.tif").unlink()
    with VirtualImage(mosaic.scene_on_top(mosaic.scenes[0])) as view:
        values, known = view.read(0, 0, 300, 60)
        assert view.left_out == ["s100"]
    assert known[:, :120].all() and not known[:, 120:180].any() and known[:, 180:].all()
    np.testing.assert_array_equal(values[:, known], image[:, known])
    bands, left_out = normalized_bands(mosaic, model_input)
    assert left_out == ["s100"] and bands[0].mean == pytest.approx(image[0][known].mean())
    with pytest.raises(ImageryError, match=r"s100\.tif cannot be read"):
        read(mosaic.scene_on_top(mosaic.scenes[1]))


def test_a_mosaic_of_which_nothing_can_be_read_is_an_error(tmp_path):
    paths = [cut(tmp_path / f"{x}.tif", noise(20, 60), (x, 0, 30, 20)) for x in (0, 30)]
    (mosaic,) = mosaics_of(paths)
    for path in tmp_path.glob("*.tif"):
        path.unlink()
    with pytest.raises(ImageryError, match="cannot be read"):
        normalized_bands(mosaic, wanted(scaling=IMAGE))


def test_a_mosaic_larger_than_a_grid_may_be_is_divided():
    wide = 200_000
    scenes = [scene(f"{x} {y}", wide * x, wide * y, wide, wide) for x in range(3) for y in range(2)]
    found = find_mosaics(scenes, 10)
    assert all(each.grid.width * each.grid.height <= 10**11 for each in found)
    assert sorted(each.name for mosaic in found for each in mosaic.scenes) == sorted(each.name for each in scenes)


def test_scenes_with_and_without_alpha_are_one_mosaic(tmp_path):
    image = noise(20, 60)
    plain = cut(tmp_path / "plain.tif", image, (0, 0, 40, 20))
    with_alpha = np.concatenate([image, np.full((1, 20, 60), 255, np.uint8)])
    other = write_raster(
        tmp_path / "alpha.tif", with_alpha[:, :, 20:], transform=NORTH_UP @ Affine.translation(20, 0),
        photometric="rgb", alpha="yes",
    )  # fmt: skip
    (mosaic,) = mosaics_of([plain, other])
    values, known = read(mosaic.scene_on_top(mosaic.scenes[0]))
    np.testing.assert_array_equal(values, image)
    assert known.all()
