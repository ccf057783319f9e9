"""Images that are no plain file: virtual rasters, and rasters within a file that holds several."""

import zipfile

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.shutil import copy

from tests.core.support.rasters import NORTH_UP, write_mosaic, write_raster
from tests.core.support.towns import SIDE_PX, image_of, true_roads
from training_core.errors import OutputError
from training_core.events import Reporter
from training_core.jobs import JOBS, Segment, from_options
from training_core.pipelines import evaluate, extractroads, finetune, quantize, segment, suggestlabels, vectorize
from training_core.system.outputs import Outputs

NATIVE = {"engine": "native", "precision": "fp32", "threads": 1}


@pytest.fixture(scope="module")
def image():
    return image_of(true_roads())


def write_geopackage(path, values):
    """Write an image into a GeoPackage beside another, and return the names of both."""
    for name, part in (("TOWN", values), ("OTHER", values[:, :64, :64])):
        source = write_raster(path.with_name(f"{name}.tif"), part)
        append = {"APPEND_SUBDATASET": "YES"} if path.exists() else {}
        copy(source, path, driver="GPKG", RASTER_TABLE=name, TILE_FORMAT="PNG", **append)
    return f"GPKG:{path}:TOWN"


def write_archive(path, values):
    """Write a zip file that holds an image, and return what GDAL calls the image."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(write_raster(path.with_name("inner.tif"), values, photometric="rgb"), "town.tif")
    return f"/vsizip/{path}/town.tif"


def mask_of(folder, raster, model):
    folder.mkdir()
    path = str(folder / "mask.tif")
    segment.run(Segment(raster=raster, model=model, mask=path, **NATIVE), Reporter())
    with rasterio.open(path) as dataset:
        return dataset.read(1), dataset.crs, dataset.transform


def test_a_virtual_raster_is_worked_through_like_one_image(tmp_path, planted, image):
    whole = write_raster(tmp_path / "whole.tif", image, photometric="rgb")
    parts = [tmp_path / "Teil ä 1.tif", tmp_path / "Teil ä 2.tif"]
    write_raster(parts[0], image[:, :, :80])
    write_raster(parts[1], image[:, :, 80:], transform=NORTH_UP @ Affine.translation(80, 0))
    virtual = write_mosaic(tmp_path / "Mosaik ß.vrt", {parts[0]: (0, 0), parts[1]: (80, 0)}, SIDE_PX)
    found, expected = mask_of(tmp_path / "a", virtual, planted), mask_of(tmp_path / "b", whole, planted)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1:] == expected[1:]


@pytest.mark.parametrize(
    ("write", "name"), [(write_geopackage, "towns.gpkg"), (write_archive, "Zwei Städte.zip")], ids=["GPKG", "vsizip"]
)
def test_a_raster_within_a_file_is_worked_through_like_one_of_its_own_and_the_file_is_an_input(
    tmp_path, planted, image, write, name
):
    whole = write_raster(tmp_path / "whole.tif", image, photometric="rgb")
    inner = write(tmp_path / name, image)
    found, expected = mask_of(tmp_path / "a", inner, planted), mask_of(tmp_path / "b", whole, planted)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[2].almost_equals(expected[2], 1e-3)
    with pytest.raises(OutputError, match="is an input of this job"), Outputs([inner]) as outputs:
        outputs.stage(str(tmp_path / name))


@pytest.mark.parametrize(
    ("pipeline", "inputs", "output"),
    [
        (segment, ("raster",), "mask"),
        (extractroads, ("raster",), "roads"),
        (vectorize, ("raster",), "roads"),
        (suggestlabels, ("raster",), "suggestions"),
        (evaluate, ("rasters", "roads"), "report"),
        (finetune, ("rasters", "roads"), "model"),
        (quantize, ("rasters",), "onnx"),
    ],
    ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2] or None,
)
def test_an_image_of_a_mosaic_within_a_mosaic_is_not_overwritten(
    tmp_path, town, planted, image, pipeline, inputs, output
):
    part, inner = tmp_path / "part.gpkg", tmp_path / "inner.vrt"  # its suffix is one that each job may write
    write_raster(part, image, photometric="rgb")
    write_mosaic(inner, {part: (0, 0)}, SIDE_PX)
    mosaic, whole = write_mosaic(tmp_path / "outer.vrt", {inner: (0, 0)}, SIDE_PX), part.read_bytes()
    job_type = JOBS[pipeline.__name__.rpartition(".")[2]]
    known = {"raster": mosaic, "rasters": [mosaic], "roads": town.roads}
    options = {**{name: known[name] for name in inputs}, output: str(part)}
    options |= {"model": planted} if "model" in job_type.__dataclass_fields__ and output != "model" else {}
    with pytest.raises(OutputError, match=r"part\.gpkg is an input of this job"):
        pipeline.run(from_options(job_type, options), Reporter())
    assert part.read_bytes() == whole
