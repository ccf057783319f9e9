import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from osgeo import gdal, ogr, osr  # noqa: E402

import headless  # noqa: E402
from demo import core  # noqa: E402

gdal.UseExceptions()
ogr.UseExceptions()


@dataclass
class Ground:
    """A small scene with its roads, a model that has learned them a little, and where it lies."""

    image: Path
    roads: Path
    model: Path
    learned: dict


@pytest.fixture(scope="session")
def ground(tmp_path_factory):
    folder = tmp_path_factory.mktemp("Straße 1")  # with a space, and a letter that is no ASCII
    image, roads, model = folder / "scene.tif", folder / "roads.gpkg", folder / "model.safetensors"
    core("makescene", raster=image, roads=roads, size_px=512, seed=5, layout="mixed")
    learned = headless.run(
        "roadseg:finetune",
        {
            "INPUT": [str(image)],
            "ROADS": str(roads),
            "WIDTH_FIELD": "width_m",
            "BASE_MODEL": "",  # fresh: what is told of learning is then not the starter's merit
            "STEPS": 80,  # not minutes, so that a busy machine learns as much
            "CHIP_PX": 192,
            "MODEL": str(model),
            "REPORT": str(folder / "report.html"),
        },
    )
    return Ground(image, roads, model, learned)


@pytest.fixture(scope="session")
def real_data():
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real imagery (shared/data) is not here")
    return folder


def write_image(path, count=3, epsg=32633, value=100, nodata=None, size=96):
    """Write a flat image, for what goes wrong with it."""
    dataset = gdal.GetDriverByName("GTiff").Create(str(path), size, size, count, gdal.GDT_Byte)
    dataset.SetGeoTransform((390000, 0.5, 0, 5820000, 0, -0.5))
    if epsg:
        reference = osr.SpatialReference()
        reference.ImportFromEPSG(epsg)
        dataset.SetProjection(reference.ExportToWkt())
    for band in range(1, count + 1):
        dataset.GetRasterBand(band).Fill(value)
        if nodata is not None:
            dataset.GetRasterBand(band).SetNoDataValue(nodata)
    return str(path)


def write_layer(path, wkt=None, epsg=32633):
    """Write a layer of one geometry, or of none."""
    reference = osr.SpatialReference()
    reference.ImportFromEPSG(epsg)
    source = ogr.GetDriverByName("GPKG").CreateDataSource(str(path))
    kind = ogr.CreateGeometryFromWkt(wkt).GetGeometryType() if wkt else ogr.wkbLineString
    layer = source.CreateLayer(path.stem, reference, kind)
    if wkt:
        feature = ogr.Feature(layer.GetLayerDefn())
        feature.SetGeometry(ogr.CreateGeometryFromWkt(wkt))
        layer.CreateFeature(feature)
    return str(path)
