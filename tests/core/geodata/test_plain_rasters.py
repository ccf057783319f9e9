"""Plain rasters: where there are data, and what palettes show, whichever way a file says it."""

import shutil

import numpy as np
import pytest
import rasterio

from tests.core.support.no_data import WAYS, write, write_palette
from tests.core.support.rasters import UTM, write_raster
from training_core.errors import ImageryError
from training_core.geodata.rasters import Image, choose_bands, open_image, open_mask

IMAGE = np.random.default_rng(0).integers(10, 100, (3, 36, 48), dtype="uint8")
HOLE = np.zeros((36, 48), bool)
HOLE[12:25, 15:32] = True


@pytest.mark.parametrize("opened", ["{}", f"vrt://{{}}?a_srs={UTM}"], ids=["file", "vrt://"])
@pytest.mark.parametrize("way", WAYS)
def test_a_hole_has_no_data_whichever_way_the_image_says_it(tmp_path, way, opened):
    """Coarser pixels have data where any of their pixels has, and are means of these; finer ones where theirs has."""
    path, bands = WAYS[way](tmp_path, IMAGE, HOLE)
    shown = np.where(HOLE, np.nan, bands)
    coarse = np.nanmean(shown.reshape(len(bands), 18, 2, 24, 2), axis=(2, 4))
    for resolution_m, expected in ((0.0, shown), (2.0, coarse), (0.5, shown.repeat(2, axis=1).repeat(2, axis=2))):
        with open_image(opened.format(path)) as dataset:
            with Image(dataset, tuple(choose_bands(dataset, ())), resolution_m) as image:
                values, known = image.read(0, 0, image.grid.width, image.grid.height)
                _, part_known = image.read(7, 5, 11, 9)
        np.testing.assert_array_equal(known, ~np.isnan(expected[0]))
        np.testing.assert_array_equal(part_known, known[5:14, 7:18])
        if resolution_m != 0.5:
            np.testing.assert_allclose(values[:, known], expected[:, known], atol=0.51 if resolution_m else 0)


GRAYS = [(index, index, index, 255) for index in range(256)]
COLORS = [(0, 90, index, 255) for index in range(256)]


def test_a_palette_has_the_bands_of_what_it_shows(tmp_path):
    for table, names in ((COLORS, ["red", "green", "blue"]), (GRAYS, ["band 1"])):
        address = "file://" + write_palette(tmp_path / "image.tif", IMAGE[0], table)
        with open_image(address) as dataset:
            assert list(choose_bands(dataset, ()).values()) == names
            assert (dataset.name, str(dataset.crs)) == (address, UTM)
            np.testing.assert_array_equal(dataset.read(len(names)), IMAGE[0])


@pytest.mark.parametrize(
    ("layout", "table", "message"),
    [
        ("p", COLORS[:1], "a color table of 1 color"),
        ("p", COLORS[:90], "no color for the index 9[0-9] of some pixels"),
        ("p", [], "a color table of 0 colors"),
        ("pxx", COLORS, "a color table and 2 bands beside it"),
    ],
)
def test_what_is_no_palette_of_a_picture_is_refused_by_name(tmp_path, layout, table, message):
    path = write_palette(tmp_path / "image.vrt", IMAGE[: len(layout)], table)
    with pytest.raises(ImageryError, match=rf"image\.vrt is no picture with a palette: it has {message}"):
        with open_image(path):
            pass


@pytest.mark.parametrize("opened", [open_image, open_mask])
@pytest.mark.parametrize("side", [20, 60])
def test_a_mask_of_another_size_is_refused(tmp_path, side, opened):
    """GDAL would read its corner, or fail without a reason."""
    path = write(tmp_path / "image.tif", IMAGE, "rgb", ~HOLE, is_internal=False)
    write_raster(tmp_path / "other.tif", np.full((side, side), 255, "uint8"))
    with rasterio.open(tmp_path / "other.tif", "r+") as dataset:
        dataset.update_tags(INTERNAL_MASK_FLAGS_1="2")
    shutil.move(tmp_path / "other.tif", f"{path}.msk")
    with pytest.raises(ImageryError, match=rf"image\.tif\.msk has {side} x {side} pixels, but its raster has 48 x 36"):
        with opened(path):
            pass
