import os
import re

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.enums import ColorInterp
from shapely.geometry import box

from tests.core.support.rasters import NORTH_UP, layer, write_raster
from tests.core.support.scenes import RGB, cut, noise, wanted
from training_core.events import Reporter
from training_core.geodata.rasters import IMAGE
from training_core.regions.catalog import read_catalog, scene_name, scene_names

IMAGE_PX = noise(20, 30)


def catalog_of(*paths, model_input=RGB, aoi=None):
    return read_catalog([str(path) for path in paths], model_input, aoi, Reporter())


def write(folder, name, **profile):
    return cut(folder / f"{name}.tif", IMAGE_PX, (0, 0, 30, 20), **profile)


def test_a_scene_is_what_its_file_says(tmp_path):
    path = write(tmp_path, "north.east")
    (scene,) = catalog_of(path).scenes
    assert scene.path == path and scene.name == "north.east" and scene.indexes == (1, 2, 3)
    assert (scene.grid.width, scene.grid.height) == (30, 20) and scene.grid.transform == NORTH_UP
    assert [(band.number, band.dtype, band.color) for band in scene.bands] == [
        (1, "uint8", "red"), (2, "uint8", "green"), (3, "uint8", "blue")
    ]  # fmt: skip
    assert scene.masking == "full"


def test_a_bad_image_stops_no_other(tmp_path):
    good = [write(tmp_path, name) for name in ("a", "z")]
    other = tmp_path / "other"
    other.mkdir()
    bad = {
        "without a CRS": (write(tmp_path, "b", crs=None), "imagery", "no coordinate reference system"),
        "damaged": (str(tmp_path / "c.tif"), "imagery", r"c\.tif cannot be read"),
        "missing": (str(tmp_path / "d.tif"), "imagery", r"d\.tif cannot be read"),
        "gray": (write_raster(tmp_path / "e.tif", IMAGE_PX[:2]), "imagery", "2 image bands"),
        "coarse": (
            cut(tmp_path / "f.tif", IMAGE_PX, (0, 0, 30, 20), NORTH_UP @ Affine.scale(100)),
            "imagery",
            "pixels of 100 m",
        ),
        "of the same name": (write(other, "A"), "imagery", r"same name as .*a\.tif"),
        "not on Earth": (write(tmp_path, "g", crs="EPSG:4326"), "imagery", "outside the area|not on Earth"),
    }
    (tmp_path / "c.tif").write_bytes(b"II*\0 no more")
    found = catalog_of(good[0], *(path for path, _, _ in bad.values()), good[1])
    assert [scene.path for scene in found.scenes] == good and found.outside == ()
    for problem, (path, code, reason) in zip(found.problems, bad.values(), strict=True):
        assert problem.path == path and problem.code == code and problem.remedy
        assert re.search(reason, problem.reason), problem.reason
        assert problem.name == path.rsplit("/")[-1].removesuffix(".tif")


def test_what_lies_outside_the_area_is_no_problem(tmp_path):
    inside = write(tmp_path, "inside")
    outside = cut(tmp_path / "outside.tif", np.pad(IMAGE_PX, ((0, 0), (0, 0), (100, 0))), (100, 0, 30, 20))
    aoi = layer(box(390010, 5819990, 390020, 5819995)).to_crs("EPSG:4326")
    found = catalog_of(inside, outside, aoi=aoi)
    assert [scene.path for scene in found.scenes] == [inside]
    assert found.outside == (outside,) and found.problems == ()


def test_bands_are_found_by_name_and_gray_serves_a_model_that_normalizes_by_image(tmp_path):
    path = write_raster(tmp_path / "nir first.tif", noise(8, 8, 4))
    with rasterio.open(path, "r+") as dataset:
        dataset.colorinterp = [ColorInterp.undefined, ColorInterp.blue, ColorInterp.green, ColorInterp.red]
    (scene,) = catalog_of(path).scenes
    assert scene.indexes == (4, 3, 2)
    path = write_raster(tmp_path / "gray.tif", IMAGE_PX[:1])
    (scene,) = catalog_of(path, model_input=wanted(scaling=IMAGE)).scenes
    assert scene.indexes == (1, 1, 1)


def test_how_data_are_missing(tmp_path):
    paths = {"nodata": write(tmp_path, "nodata", nodata=0), "full": write(tmp_path, "full")}
    paths["alpha"] = write_raster(tmp_path / "alpha.tif", noise(8, 8, 4), photometric="rgb", alpha="yes")
    paths["mask"] = write(tmp_path, "mask")
    with rasterio.open(paths["mask"], "r+") as dataset:
        dataset.write_mask(np.eye(20, 30) > 0)
    found = {scene.name: scene for scene in catalog_of(*paths.values()).scenes}
    assert {name: scene.masking for name, scene in found.items()} == {name: name for name in paths}
    assert [band.number for band in found["alpha"].bands] == [1, 2, 3]
    assert found["nodata"].bands[0].nodata == 0


def test_the_version_changes_with_the_file_and_with_what_it_is_made_of(tmp_path):
    def version():
        return catalog_of(vrt).scenes[0].version, catalog_of(path).scenes[0].version

    path, vrt = write(tmp_path, "a"), tmp_path / "b.vrt"
    bands = "".join(
        f"<VRTRasterBand dataType='Byte' band='{n}'><ColorInterp>{color}</ColorInterp><SimpleSource>"
        f"<SourceFilename relativeToVRT='1'>a.tif</SourceFilename><SourceBand>{n}</SourceBand></SimpleSource>"
        "</VRTRasterBand>"
        for n, color in enumerate(("Red", "Green", "Blue"), 1)
    )
    with rasterio.open(path) as dataset:
        place = ", ".join(map(str, dataset.transform.to_gdal()))
        vrt.write_text(
            f"<VRTDataset rasterXSize='30' rasterYSize='20'><SRS>{dataset.crs}</SRS>"
            f"<GeoTransform>{place}</GeoTransform>{bands}</VRTDataset>"
        )
    first = version()
    assert first == version() and first[0] != first[1]
    os.utime(path, ns=(0, 1_000_000_007))
    second = version()
    assert first[0] != second[0] and first[1] != second[1]
    with rasterio.open(path, "r+") as dataset:
        dataset.write_mask(np.eye(20, 30) > 0)  # a file beside it
    os.utime(path, ns=(0, 1_000_000_007))
    assert version()[1] != second[1]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/Straße 7.b.tif", "Straße 7.b"),
        ("/vsicurl/https://x.org/a.tif?token=se.cr/et", "a"),
        ("vrt:///data/a.tif?a_srs=EPSG:32645", "a"),
        ("GTIFF_DIR:2:/data/a.tif", "a"),
        ('NETCDF:"x.nc":Band1', "NETCDF__x.nc__Band1"),
        ("/data/..tif", "scene"),
        ("/data/Aux.v2.tif", "_Aux.v2"),
        ("/data/a\nb<c>.tif", "a_b_c_"),
        ("/data/" + "ä" * 120 + ".tif", "ä" * 100),
    ],
)
def test_names_are_such_as_files_may_have(path, name):
    assert scene_name(path) == name


def test_images_of_a_server_with_the_same_name_are_told_apart_by_their_folders():
    tiles = "/vsicurl/https://x.org/ard/46"
    paths = [
        f"{tiles}/012/2024-09-01/A-visual.tif",
        f"{tiles}/012/2024-09-27/a-visual.tif?t=1",
        f"{tiles}/013/2024-09-27/A-visual.tif",
    ]
    paths += [f"{tiles}/B.tif", "/data/1/C.tif", "/data/2/C.tif"]
    assert scene_names(paths) == [
        "2024-09-01_A-visual", "012_2024-09-27_a-visual", "013_2024-09-27_A-visual", "B", "C", "C"
    ]  # fmt: skip
