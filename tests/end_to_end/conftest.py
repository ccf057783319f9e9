import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

from osgeo import gdal, ogr, osr  # noqa: E402

from scripts import headless  # noqa: E402
from tests.shared_fixtures import make_once  # noqa: E402

# Each process of each run has a profile of its own, so that runs side by side do not meet.
_OWN = tempfile.TemporaryDirectory(prefix="roadseg-end-to-end-")
headless.BUILD = Path(_OWN.name)
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["ROADSEG_THREADS"] = "1"
gdal.UseExceptions()
ogr.UseExceptions()


def pytest_collection_modifyitems(items):
    """Begin with what needs no model, which another process makes meanwhile."""
    items.sort(key=lambda item: "ground" in item.fixturenames)


@dataclass
class Ground:
    """A small scene with its roads, and a model fine-tuned on them; do not write there."""

    folder: Path
    made: dict
    learned: dict

    @property
    def image(self):
        return self.folder / "scene.tif"

    @property
    def roads(self):
        return self.folder / "roads.gpkg"

    @property
    def model(self):
        return self.folder / "model.safetensors"


@pytest.fixture(scope="session")
def ground(tmp_path_factory):
    name = "Straße 1"  # with a space, and a letter that is no ASCII
    return Ground(*make_once(tmp_path_factory, name, make_ground))


def make_ground(folder):
    image, roads, model = folder / "scene.tif", folder / "roads.gpkg", folder / "model.safetensors"
    scene = {"SIZE_PX": 512, "SEED": 5, "LAYOUT": "mixed", "RASTER": str(image), "OUTPUT": str(roads)}
    made = headless.run("roadseg:makescene", scene)
    learned = headless.run(
        "roadseg:finetune",
        {
            "INPUT": [str(image)],
            "ROADS": str(roads),
            "WIDTH_FIELD": "width_m",
            "RESOLUTION_M": 0.5,  # the scene's own
            "STEPS": 12,  # not minutes, so that a busy machine learns as much
            "CHIP_PX": 128,
            "MODEL": str(model),
            "REPORT": str(folder / "report.html"),
        },
    )
    return folder, made, learned


@pytest.fixture(scope="session")
def evaluated(ground, tmp_path_factory):
    """What evaluate returned for the scene, with its report and scores; do not write there."""

    def evaluate(folder):
        values = {"INPUT": [str(ground.image)], "ROADS": str(ground.roads), "WIDTH_FIELD": "width_m"}
        outputs = {"REPORT": str(folder / "report.html"), "SCORES": str(folder / "scores.json")}
        return headless.run("roadseg:evaluate", {**values, "MODEL": str(ground.model), **outputs})

    return make_once(tmp_path_factory, "evaluated", evaluate)


@pytest.fixture(scope="session")
def segmented(ground, tmp_path_factory):
    """The scene's mask and probability, and what segment returned; do not write there."""

    def segment(folder):
        values = {"INPUT": str(ground.image), "MODEL": str(ground.model), "ENGINE": "native", "PRECISION": "fp32"}
        outputs = {name: str(folder / f"{name.lower()}.tif") for name in ("MASK", "PROBABILITY")}
        return headless.run("roadseg:segment", {**values, **outputs})

    return make_once(tmp_path_factory, "segmented", segment)


@pytest.fixture(scope="session")
def extracted(ground, tmp_path_factory):
    """The scene's lines and mask, and what extractroads returned; do not write there."""

    def extract(folder):
        values = {"INPUT": str(ground.image), "MODEL": str(ground.model)}
        outputs = {"OUTPUT": str(folder / "roads.gpkg"), "MASK": str(folder / "mask.tif")}
        # Without what draws lines where the mask has no road.
        as_the_mask = {"HYSTERESIS": 1, "GAP_M": 0, "SNAP_M": 0}
        return headless.run("roadseg:extractroads", {**values, **outputs, **as_the_mask})

    return make_once(tmp_path_factory, "extracted", extract)


@pytest.fixture(scope="session")
def real_data():
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real imagery (shared/data) is not here")
    return folder


def system_of(epsg):
    """Return a coordinate reference system whose axes are east and north."""
    reference = osr.SpatialReference()
    reference.ImportFromEPSG(epsg)
    reference.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    return reference


def write_image(path, size=96):
    dataset = gdal.GetDriverByName("GTiff").Create(str(path), size, size, 3, gdal.GDT_Byte)
    dataset.SetGeoTransform((390000, 0.5, 0, 5820000, 0, -0.5))
    dataset.SetProjection(system_of(32633).ExportToWkt())
    for band in (1, 2, 3):
        dataset.GetRasterBand(band).Fill(100)
    return str(path)


def write_layer(path, *shapes, system=None):
    """Write a GeoPackage of shapes, as text or as geometries."""
    source = ogr.GetDriverByName("GPKG").CreateDataSource(str(path))
    geometries = [ogr.CreateGeometryFromWkt(shape) if isinstance(shape, str) else shape for shape in shapes]
    layer = source.CreateLayer("shapes", system or system_of(32633), geometries[0].GetGeometryType())
    for geometry in geometries:
        feature = ogr.Feature(layer.GetLayerDefn())
        feature.SetGeometry(geometry)
        layer.CreateFeature(feature)
    return str(path)
