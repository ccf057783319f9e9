"""Mask values: one meaning in all jobs, for labels as for lines."""

import numpy as np
import pytest
import rasterio
from affine import Affine

from tests.core.support.no_data import write, write_palette
from training_core.errors import ImageryError
from training_core.events import Reporter
from training_core.geodata.grid import grid_of
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.geodata.rasters import open_mask, open_raster
from training_core.geodata.road_classes import CLASSES_TAG
from training_core.geodata.road_raster import band_raster
from training_core.jobs import Evaluate, Vectorize
from training_core.labels.label_masks import read_masks

NAN = float("nan")
# Pixels of a mask and what they are: background, road, ignored.
MEANINGS = {
    "0, 1": ([0, 1], "uint8", None, "br"),
    "0, 255": ([0, 255], "uint8", None, "br"),
    "0, 1, 255": ([0, 1, 255], "uint8", None, "bri"),
    "0, 1, nodata 255": ([0, 1, 255], "uint8", 255, "bri"),
    "0, nodata 255": ([0, 255], "uint8", 255, "bi"),
    "0, 255, 127": ([0, 255, 127], "uint8", None, "bri"),
    "0, 255, 128": ([0, 255, 128], "uint8", None, "bri"),
    "0, 127": ([0, 127], "uint8", None, "bi"),
    "0 alone": ([0, 0], "uint8", None, "bb"),
    "1, nodata 0": ([1, 0], "uint8", 0, "rb"),
    "16 bits": ([0, 1, 255], "uint16", None, "bri"),
    "16 bits, white": ([0, 65535], "uint16", None, "br"),
    "signed, nodata -9999": ([0, 1, -9999], "int16", -9999, "bri"),
    "floats, NaN": ([0, 1, NAN], "float32", None, "bri"),
    "floats, nodata NaN": ([0, 1, NAN], "float32", NAN, "bri"),
    "floats, nodata -3.4e38": ([0, 1, np.finfo("float32").min], "float32", float(np.finfo("float32").min), "bri"),
    "floats, 0, 1, 255": ([0, 1, 255], "float64", None, "bri"),
    "floats, 0, 255": ([0, 255], "float32", None, "br"),
}
CODES = {"b": BACKGROUND, "r": ROAD, "i": IGNORE}


def columns_of(path, values, dtype="uint8", nodata=None, **options):
    """Write a raster with a band of 10 columns for each value."""
    pixels = np.repeat(np.array([values], dtype=dtype), 10, axis=1).repeat(20, axis=0)
    place = {"crs": "EPSG:32645", "transform": Affine(1, 0, 500_000, 0, -1, 3_000_000)}
    shape = {"height": pixels.shape[0], "width": pixels.shape[1], "count": 1, "dtype": pixels.dtype, "nodata": nodata}
    with rasterio.open(path, "w", driver="GTiff", **shape, **place, **options) as file:
        file.write(pixels, 1)
    return str(path)


def as_labels(path, **options):
    read = read_masks(Evaluate(masks=(path,), **options), "", [path], Reporter())
    with open_raster(path) as dataset:
        grid = grid_of(dataset)
    return read.burn(grid, path).within((0, 0, grid.width, grid.height))[0, ::10]


def as_road(path, **options):
    with open_mask(path, options.get("road_values", ())) as dataset:
        road, known = band_raster(dataset, 0.5, Reporter(), Vectorize(**options)).read(0, 1)
    return np.where(known, np.where(road, ROAD, BACKGROUND), IGNORE)[0, ::10]


@pytest.mark.parametrize("read", [as_labels, as_road])
@pytest.mark.parametrize("name", MEANINGS)
def test_a_mask_means_the_same_as_labels_and_as_what_lines_are_made_of(tmp_path, name, read):
    values, dtype, nodata, meant = MEANINGS[name]
    assert read(columns_of(tmp_path / "a.tif", values, dtype, nodata)).tolist() == [CODES[each] for each in meant]


@pytest.mark.parametrize("read", [as_labels, as_road])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
@pytest.mark.parametrize("bands", [1, 3])
def test_where_alpha_is_0_there_is_no_data(tmp_path, bands, dtype, read):
    path = columns_of(tmp_path / "a.tif", [0, 255, 77, 0])
    with rasterio.open(path) as file:
        profile, gray = {**file.profile, "count": bands + 1, "dtype": dtype}, file.read(1)
    with rasterio.open(path, "w", **profile, alpha="YES", photometric="RGB" if bands == 3 else "MINISBLACK") as file:
        file.write(np.stack([gray] * bands + [np.where(gray == 77, 0, 255)]).astype(dtype))
    assert read(path).tolist() == [BACKGROUND, ROAD, IGNORE, BACKGROUND]


@pytest.mark.parametrize("read", [as_labels, as_road])
@pytest.mark.parametrize("layout", ["agb", "ax", "rgba", "rgabx"])
def test_alpha_in_any_band_hides_its_pixels(tmp_path, layout, read):
    gray = np.array([0, 255, 77, 0], "uint8").repeat(10)[None].repeat(20, axis=0)
    bands = [np.where(gray == 77, 0, 9) if each == "a" else gray for each in layout]
    path = write(tmp_path / "a.tif", np.stack(bands).astype("uint16"), layout)
    assert read(path).tolist() == [BACKGROUND, ROAD, IGNORE, BACKGROUND]


BLACK, WHITE, RED, GREEN, CLEAR = (0, 0, 0, 255), (255, 255, 255, 255), (255, 0, 0, 255), (0, 255, 0, 255), (9, 9, 9, 0)
# Colors of the indexes from 0 on, a format, what is declared or named, and what the pixels are.
PALETTES = {
    "black and white": ((BLACK, WHITE), "png", {}, "br"),
    "white and black": ((WHITE, BLACK), "png", {}, "rb"),
    "white and black, named as gray": ((WHITE, BLACK), "tif", {"road_values": (255,)}, "rb"),
    "black and white, named as index": ((BLACK, WHITE), "png", {"road_values": (1,)}, "br"),
    "black, white, clear": ((BLACK, WHITE, CLEAR), "png", {}, "bri"),
    "clear, white, black": ((CLEAR, WHITE, BLACK), "png", {}, "irb"),
    "black and red": ((BLACK, RED), "tif", {}, "br"),
    "green and red": ((GREEN, RED), "png", {}, "br"),
    "black, red, clear": ((BLACK, RED, CLEAR), "png", {}, "bri"),
    "red, background as nodata": ((BLACK, RED), "tif", {"nodata": 0}, "br"),
    "white, background as nodata": ((BLACK, WHITE), "tif", {"nodata": 0}, "br"),
    "white, nodata": ((BLACK, WHITE, BLACK), "tif", {"nodata": 2}, "bri"),
    "green and black, named": ((GREEN, BLACK), "tif", {"road_values": (1,)}, "br"),
}


@pytest.mark.parametrize("read", [as_labels, as_road])
@pytest.mark.parametrize("name", PALETTES)
def test_a_palette_of_grays_means_grays_and_one_of_colors_its_indexes(tmp_path, name, read):
    colors, ending, options, meant = PALETTES[name]
    named, declared = ({key: options[key] for key in options if (key == "nodata") == of} for of in (False, True))
    indexes = np.arange(len(colors), dtype="uint8").repeat(10)[None].repeat(20, axis=0)
    path = write_palette(tmp_path / f"a.{ending}", indexes, colors, **declared)
    assert read(path, **named).tolist() == [CODES[each] for each in meant]


@pytest.mark.parametrize("read", [as_labels, as_road])
def test_a_palette_in_which_road_may_be_black_or_1_is_refused_by_name(tmp_path, read):
    indexes = np.arange(2, dtype="uint8").repeat(10)[None].repeat(20, axis=0)
    with pytest.raises(ImageryError, match=r"a\.png has a palette .* not clear which of them is road") as caught:
        read(write_palette(tmp_path / "a.png", indexes, (GREEN, BLACK)))
    assert "(road_values)" in caught.value.remedy


@pytest.mark.parametrize("read", [as_labels, as_road])
def test_of_a_raster_of_road_classes_each_is_road_unless_some_are_named(tmp_path, read):
    path = columns_of(tmp_path / "a.tif", [0, 1, 2, 255])
    with rasterio.open(path, "r+") as file:
        file.update_tags(**{CLASSES_TAG: "[]"})
    assert read(path).tolist() == [BACKGROUND, ROAD, ROAD, IGNORE]
    assert read(path, road_values=(2,), ignored_values=(1,)).tolist() == [BACKGROUND, IGNORE, ROAD, BACKGROUND]


def test_a_probability_of_segment_roads_is_read_also_where_its_nodata_entry_is_lost(tmp_path):
    path = columns_of(tmp_path / "a.tif", [0, 254, 127, 255])
    with rasterio.open(path, "r+") as file:
        file.scales = (1 / 254,)
    with open_raster(path) as dataset:
        raster = band_raster(dataset, 0.6, Reporter())
        probability, known = raster.read(0, 1)
    assert raster.threshold == 0.6 and probability[0, :30:10].tolist() == [0, 1, 0.5]
    assert known[0, ::10].tolist() == [True, True, True, False]


@pytest.mark.parametrize("read", [as_labels, as_road])
@pytest.mark.parametrize("values", [[0, 7], [0, 100], [0, 1, 127], [0, 1, 2], [0, 1, 255, 128]])
def test_other_values_are_refused_by_name_until_they_are_named(tmp_path, values, read):
    path = columns_of(tmp_path / "a.tif", values)
    with pytest.raises(ImageryError, match=r"a\.tif has values of unknown meaning") as caught:
        read(path)
    assert "(road_values)" in caught.value.remedy
    named = {"road_values": (values[1],), "ignored_values": tuple(values[2:])}
    assert read(path, **named).tolist() == [BACKGROUND, ROAD, IGNORE, IGNORE][: len(values)]


def test_a_value_that_comes_late_is_found_before_it_is_taken_for_road(tmp_path, monkeypatch):
    """Each strip is a row: 255 in the first one is no data if 1 occurs anywhere."""
    monkeypatch.setattr("training_core.system.large_arrays.STRIP_PX", 1)
    values = np.zeros((20, 30), np.uint8)
    values[0], values[19, 4] = 255, 1
    path = columns_of(tmp_path / "a.tif", [0, 0, 0])
    with rasterio.open(path, "r+") as file:
        file.write(values, 1)
    with open_raster(path) as dataset:
        road, known = band_raster(dataset, 0.5, Reporter()).read(0, 20)
    assert not known[0].any() and known[1:].all() and np.argwhere(road & known).tolist() == [[19, 4]]
