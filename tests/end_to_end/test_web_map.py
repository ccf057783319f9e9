"""A web map as the image, through QGIS' own command line client and the real worker."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from osgeo import gdal

from scripts import headless

from .conftest import write_layer

# `make test` has the pixels of web maps from the plugin's tests of rendering, and jobs on such files from the core's.
pytestmark = pytest.mark.slow

HALF_WORLD, TILE_PX = 20037508.342789244, 256
ECCENTRICITY_SQUARED = 0.00669437999014  # of the WGS 84 ellipsoid


@dataclass(frozen=True)
class WebTiles:
    """A layer of tiles in Web Mercator: its source, and a file of the same pixels."""

    source: str
    mosaic: str
    extent: str
    pixel_m: float


def cut_tiles(image, folder, zoom):
    """Warp an image to Web Mercator, cut it into PNG tiles, and return them."""
    side = 2 * HALF_WORLD / 2**zoom
    west, south, east, north = _bounds(gdal.Warp("", image, format="VRT", dstSRS="EPSG:3857"))
    columns = range(math.floor((west + HALF_WORLD) / side), math.ceil((east + HALF_WORLD) / side))
    rows = range(math.floor((HALF_WORLD - north) / side), math.ceil((HALF_WORLD - south) / side))
    left, top = columns.start * side - HALF_WORLD, HALF_WORLD - rows.start * side
    right, bottom = columns.stop * side - HALF_WORLD, HALF_WORLD - rows.stop * side
    mosaic = gdal.Warp(
        str(folder / "mosaic.tif"), image, dstSRS="EPSG:3857", dstAlpha=True, resampleAlg="bilinear",
        outputBounds=(left, bottom, right, top), width=len(columns) * TILE_PX, height=len(rows) * TILE_PX,
    )  # fmt: skip
    for across, column in enumerate(columns):
        for down, row in enumerate(rows):
            path = folder / str(zoom) / str(column) / f"{row}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            window = [across * TILE_PX, down * TILE_PX, TILE_PX, TILE_PX]
            gdal.Translate(str(path), mosaic, format="PNG", srcWin=window)
    url = f"{folder.as_uri()}/%7Bz%7D/%7Bx%7D/%7By%7D.png"
    return WebTiles(
        source=f"wms://type=xyz&url={url}&zmin={zoom}&zmax={zoom}",
        mosaic=str(folder / "mosaic.tif"),
        extent=f"{left},{right},{bottom},{top} [EPSG:3857]",
        pixel_m=side / TILE_PX / _units_per_m((top + bottom) / 2),
    )


def _bounds(dataset):
    west, x, _, north, _, y = dataset.GetGeoTransform()
    return west, north + dataset.RasterYSize * y, west + dataset.RasterXSize * x, north


def _units_per_m(y):
    """Return how many units of Web Mercator a meter is from west to east."""
    latitude = math.atan(math.sinh(y / 6378137))
    return math.sqrt(1 - ECCENTRICITY_SQUARED * math.sin(latitude) ** 2) / math.cos(latitude)


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


def test_a_web_map_is_learned_from_and_scored_as_a_file_of_its_pixels_is(ground, tiles, tmp_path):
    west, south, east, north = _bounds(gdal.Open(str(ground.image)))
    west, south, east, north = west + 20, south + 20, east - 20, north - 20
    square = f"POLYGON (({west} {south}, {east} {south}, {east} {north}, {west} {north}, {west} {south}))"
    area = write_layer(tmp_path / "area.gpkg", square)
    labels = {"ROADS": str(ground.roads), "WIDTH_FIELD": "width_m", "AOI": area}
    scores = {}
    for image in (tiles.source, tiles.mosaic):
        report = {"REPORT": str(tmp_path / "scores.html")}
        scored = headless.run("roadseg:evaluate", {**labels, "INPUT": [image], "MODEL": str(ground.model), **report})
        scores[image] = scored["PIXEL_F1"]
    assert scores[tiles.source] == pytest.approx(scores[tiles.mosaic], abs=0.06)  # QGIS resamples in another way
    learning = {"BASE_MODEL": str(ground.model), "STEPS": 2, "CHIP_PX": 128}
    outputs = {"MODEL": str(tmp_path / "model.safetensors"), "REPORT": str(tmp_path / "report.html")}
    learned = headless.run("roadseg:finetune", {**labels, **learning, "INPUT": [tiles.source], **outputs})
    assert learned["STEPS"] == 2 and (tmp_path / "model.safetensors").is_file()


def test_a_web_map_is_taken_at_the_models_resolution(ground, tiles, tmp_path):
    mask = segment(tiles.source, ground, tiles, tmp_path / "tiles.tif")
    native_units = gdal.Open(tiles.mosaic).GetGeoTransform()[1]
    units_per_m = native_units / tiles.pixel_m
    assert mask.GetGeoTransform()[1] / units_per_m == pytest.approx(0.5, rel=0.02)  # a generated scene's pixel
    assert (mask.ReadAsArray() == 1).any()
