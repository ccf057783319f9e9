"""A web map as the image, through QGIS' own command line client and the real worker."""

import numpy as np
import pytest
from osgeo import gdal

from scripts import headless

from .webtiles import cut_tiles


@pytest.fixture(scope="module")
def tiles(ground, tmp_path_factory):
    return cut_tiles(str(ground.image), tmp_path_factory.mktemp("Kacheln ä"), zoom=18)


def segment(image, ground, tiles, path, **more):
    """Segment what the tiles cover, and return the mask."""
    headless.run(
        "roadseg:segment",
        {
            "INPUT": image,
            "MODEL": str(ground.model),
            "EXTENT": tiles.extent,
            "MASK": str(path),
            "ENGINE": "native",
            **more,
        },
    )
    return gdal.Open(str(path))


def test_a_web_map_gives_the_roads_of_its_pixels(ground, tiles, tmp_path):
    """A file of the very pixels that the tiles have gives the same mask."""
    mask = segment(tiles.source, ground, tiles, tmp_path / "tiles.tif", RESOLUTION_M=tiles.pixel_m)
    expected = segment(tiles.mosaic, ground, tiles, tmp_path / "file.tif")
    assert mask.GetSpatialRef().IsSame(expected.GetSpatialRef())
    assert (mask.RasterXSize, mask.RasterYSize) == (expected.RasterXSize, expected.RasterYSize)
    assert mask.GetGeoTransform() == pytest.approx(expected.GetGeoTransform(), rel=1e-6)
    values, wanted = mask.ReadAsArray(), expected.ReadAsArray()
    assert {0, 1, 255} == set(np.unique(values))
    assert (values == wanted).mean() > 0.99


@pytest.mark.slow
def test_a_web_map_is_taken_at_the_models_resolution(ground, tiles, tmp_path):
    mask = segment(tiles.source, ground, tiles, tmp_path / "tiles.tif")
    native_units = gdal.Open(tiles.mosaic).GetGeoTransform()[1]
    units_per_m = native_units / tiles.pixel_m
    assert mask.GetGeoTransform()[1] / units_per_m == pytest.approx(0.5, rel=0.02)  # a generated scene's pixel
    assert (mask.ReadAsArray() == 1).any()
