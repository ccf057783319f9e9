"""Training chips: each format is read back with the same labels, and other programs find what they look for."""

import json

import numpy as np
import pytest
import rasterio
import shapely
from rasterio.features import rasterize
from shapely.geometry import box

from tests.core.support.rasters import write_layer, write_raster
from tests.core.support.towns import SIDE_PX, on_map
from training_core.cli import _PARTS
from training_core.errors import ImageryError, LabelError
from training_core.events import Reporter
from training_core.geodata.grid import grid_of
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.geodata.rasters import open_raster
from training_core.geodata.sources import expand
from training_core.jobs import COCO, ESRI, GEOTIFF, Evaluate, ExportChips
from training_core.labels.label_masks import read_masks
from training_core.labels.training_chips import without_holes
from training_core.pipelines import exportchips

pytestmark = pytest.mark.filterwarnings("ignore:Dataset has no geotransform")
FORMATS = (GEOTIFF, COCO, ESRI)
CHIP_PX = 48


def speckled(seed=0, side_px=SIDE_PX):
    """Return labels as hard to draw as any: each pixel at random, also unknown ones, and every hole a pixel wide."""
    random = np.random.default_rng(seed)
    return random.choice([BACKGROUND, ROAD, IGNORE], (side_px, side_px), p=[0.4, 0.5, 0.1]).astype(np.uint8)


def masked(folder, labels, name="town", **place):
    """Write an image whose values tell its pixels, and its mask."""
    values = np.random.default_rng(1).integers(0, 256, (3, *labels.shape), dtype=np.uint8)
    (folder / "in").mkdir(exist_ok=True)
    image = write_raster(folder / "in" / f"{name}.tif", values, photometric="rgb", **place)
    return {"rasters": (image,), "masks": (write_raster(folder / f"{name}_mask.tif", labels, nodata=IGNORE, **place),)}


def export(folder, reporter=None, **options):
    return exportchips.run(ExportChips(folder=str(folder), chip_px=CHIP_PX, **options), reporter or Reporter())


def read_back(folder, pixel_m=0.0):
    """Return the labels of each chip as a training reads them, by the place of its upper left pixel, and its values."""
    images, masks = (expand([str(folder)], _PARTS[field]) for field in ("rasters", "masks"))
    truth = read_masks(Evaluate(masks=masks, pixel_m=pixel_m), "", images, Reporter())
    chips = {}
    for path in images:
        with open_raster(path) as dataset:
            grid, values = grid_of(dataset, pixel_m), dataset.read()
        labels = truth.burn(grid, path)
        corner = (grid.transform.c, grid.transform.f) if dataset.crs else path
        chips[corner] = values, labels.within((0, 0, grid.width, grid.height))
    return chips


@pytest.mark.parametrize("format", [GEOTIFF, pytest.param(COCO, marks=pytest.mark.slow), ESRI])
def test_each_format_is_read_back_with_the_same_labels_and_pixels(tmp_path, format):
    labels = speckled()
    given = masked(tmp_path, labels)
    result = export(tmp_path / "out", format=format, **given)
    assert result["chips"] == (SIDE_PX // CHIP_PX) ** 2 and result["images"] == 1
    assert result["labeled_share"] == pytest.approx((labels != IGNORE).mean())
    with rasterio.open(given["rasters"][0]) as dataset:
        pixels, transform = dataset.read(), dataset.transform
    chips = read_back(tmp_path / "out")
    assert len(chips) == result["chips"]
    for corner, (values, found) in chips.items():
        column, row = map(round, ~transform @ corner)
        rows, columns = slice(row, row + CHIP_PX), slice(column, column + CHIP_PX)
        assert (found == labels[rows, columns]).all()
        assert (values == pixels[:, rows, columns]).all()


@pytest.mark.parametrize("format", FORMATS)
def test_pictures_without_a_place_get_none(tmp_path, format):
    given = masked(tmp_path, speckled(side_px=2 * CHIP_PX), transform=None, crs=None)
    export(tmp_path / "out", format=format, pixel_m=0.5, **given)
    chips = read_back(tmp_path / "out", pixel_m=0.5)
    assert len(chips) == 4 and all(isinstance(corner, str) for corner in chips)
    assert sum(int((labels == ROAD).sum()) for _, labels in chips.values()) == (speckled(side_px=96) == ROAD).sum()


def test_drawn_roads_are_cut_into_chips_that_overlap_and_reach_the_edge_of_the_image(tmp_path, town):
    result = export(tmp_path / "out", overlap_px=8, min_labeled=1.0, **town.labeled)
    chips = read_back(tmp_path / "out")
    # 0, 40, 80, 120 and the last one moved back to 192 - 48.
    columns = {round(x - 390000) for x, _ in chips}
    assert columns == {0, 40, 80, 120, 144} and result["chips"] == 25
    for (x, y), (_, labels) in chips.items():
        row, column = round(5820000 - y), round(x - 390000)
        assert ((labels == ROAD) == town.truth[row : row + CHIP_PX, column : column + CHIP_PX]).all()


def test_only_chips_with_enough_labels_are_written(tmp_path, town):
    half = write_layer(tmp_path / "half.gpkg", on_map(box(0, 0, SIDE_PX, 60)))
    given = {**town.labeled, "aoi": half}
    assert export(tmp_path / "any", **given)["chips"] == 8
    assert export(tmp_path / "whole", min_labeled=1.0, **given)["chips"] == 4
    given["aoi"] = write_layer(tmp_path / "strip.gpkg", on_map(box(0, 0, SIDE_PX, 24)))
    assert export(tmp_path / "strip", **given)["labeled_share"] == pytest.approx(0.5)
    with pytest.raises(LabelError, match=r"No chip of 48 px has labels on town\.tif"):
        export(tmp_path / "none", min_labeled=0.6, **given)
    assert not (tmp_path / "none").exists()


def test_pixels_without_data_are_unknown_and_stay_without_data(tmp_path):
    labels = np.zeros((CHIP_PX, CHIP_PX), np.uint8)
    labels[:, 10:20] = ROAD
    given = masked(tmp_path, labels)
    with rasterio.open(given["rasters"][0], "r+") as dataset:
        known = np.ones((CHIP_PX, CHIP_PX), bool)
        known[30:] = False
        dataset.write_mask(known)
    export(tmp_path / "out", **given)
    ((_, found),) = read_back(tmp_path / "out").values()
    assert (found == np.where(known, labels, IGNORE)).all()
    (image,) = (tmp_path / "out" / "images").iterdir()
    with rasterio.open(image) as dataset:
        assert ((dataset.dataset_mask() > 0) == known).all()
        assert [color.name for color in dataset.colorinterp] == ["red", "green", "blue"]


def test_the_index_is_items_of_stac(tmp_path, town):
    export(tmp_path / "out", **town.labeled)
    document = json.loads((tmp_path / "out" / "items.json").read_text())
    assert document["type"] == "FeatureCollection" and len(document["features"]) == 16
    for item in document["features"]:
        assert (item["type"], item["stac_version"], item["links"]) == ("Feature", "1.0.0", [])
        assert item["properties"]["source"] == "town.tif" and item["properties"]["datetime"].endswith("Z")
        for asset in item["assets"].values():
            assert (tmp_path / "out" / asset["href"]).is_file()
        assert shapely.geometry.shape(item["geometry"]).bounds == pytest.approx(item["bbox"])
    west, south, _, _ = shapely.total_bounds(
        [shapely.geometry.shape(item["geometry"]) for item in document["features"]]
    )
    assert (west, south) == pytest.approx((13.38, 52.518), abs=0.02)


def test_esris_layout_lists_files_classes_and_statistics(tmp_path):
    given = masked(tmp_path, speckled())
    export(tmp_path / "out", format=ESRI, **given)
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {
        "images", "labels", "map.txt", "stats.txt", "esri_model_definition.emd",
    }  # fmt: skip
    pairs = [line.split() for line in (out / "map.txt").read_text().splitlines()]
    assert len(pairs) == 16 and all((out / file).is_file() for pair in pairs for file in pair)
    definition = json.loads((out / "esri_model_definition.emd").read_text())
    assert [(each["Value"], each["Name"]) for each in definition["Classes"]] == [(1, "road"), (255, "unknown")]
    with rasterio.open(given["rasters"][0]) as dataset:
        for band, stats in zip(dataset.read().astype(float), definition["AllTilesStats"]):
            expected = band.min(), band.max(), band.mean(), band.std()
            assert [stats[key] for key in ("Min", "Max", "Mean", "StdDev")] == pytest.approx(expected)
    assert f"road                 1        16{(speckled() == ROAD).sum():>14}" in (out / "stats.txt").read_text()


def test_coco_polygons_have_no_holes_and_tell_their_area(tmp_path):
    labels = np.zeros((CHIP_PX, CHIP_PX), np.uint8)
    labels[10:20, 5:35] = ROAD
    labels[12:18, 8:12] = BACKGROUND
    labels[14:16, 20:21] = BACKGROUND
    export(tmp_path / "out", format=COCO, **masked(tmp_path, labels))
    (annotation,) = json.loads((tmp_path / "out" / "annotations.json").read_text())["annotations"]
    assert (annotation["area"], annotation["bbox"], annotation["iscrowd"]) == (300 - 24 - 2, [5, 10, 30, 10], 0)
    polygons = [shapely.Polygon(np.reshape(flat, (-1, 2))) for flat in annotation["segmentation"]]
    assert sum(polygon.area for polygon in polygons) == annotation["area"]
    assert (rasterize(polygons, out_shape=labels.shape) == (labels == ROAD)).all()


def test_nothing_is_left_of_an_export_that_fails(tmp_path, town):
    other = write_raster(tmp_path / "gray.tif", np.zeros((1, SIDE_PX, SIDE_PX), np.uint8))
    given = {**town.labeled, "rasters": (town.raster, other)}
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ImageryError, match=r"gray\.tif has 1 bands, but .*town\.tif has 3"):
        export(tmp_path / "out", **given)
    assert sorted(tmp_path.iterdir()) == before


def test_an_image_smaller_than_a_chip_is_left_out_and_told(tmp_path, town):
    small = write_raster(tmp_path / "small.tif", np.zeros((3, 40, 200), np.uint8))
    reporter = Reporter()
    export(tmp_path / "out", reporter, **{**town.labeled, "rasters": (town.raster, small)})
    assert any("small.tif is smaller than a chip of 48 px" in text for text in reporter.warnings)


def test_a_hole_that_contains_an_island_is_cut_as_well():
    ring = box(0, 0, 9, 9) - box(2, 2, 7, 7)
    parts = without_holes(ring)
    assert not any(part.interiors for part in parts) and sum(part.area for part in parts) == 81 - 25
