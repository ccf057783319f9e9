import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.control import GroundControlPoint
from rasterio.enums import ColorInterp
from rasterio.errors import NotGeoreferencedWarning
from rasterio.rpc import RPC

from tests.core.support.rasters import UTM, write_raster
from training_core.errors import ImageryError
from training_core.geodata.grid import grid_of
from training_core.geodata.rasters import (
    Band,
    Image,
    band_names,
    choose_bands,
    match_bands,
    measure_bands,
    normalize,
    open_raster,
)


@pytest.mark.parametrize(
    ("dtype", "count"), [("uint8", 1), ("int16", 2), ("uint16", 3), ("uint32", 8), ("float32", 3), ("float64", 1)]
)
def test_any_dtype_and_band_count_is_read_as_it_is(tmp_path, dtype, count):
    values = np.arange(count * 20 * 30).reshape(count, 20, 30).astype(dtype)
    path = write_raster(tmp_path / "image.tif", values)
    with open_raster(path) as dataset, Image(dataset, tuple(choose_bands(dataset, ()))) as image:
        read, known = image.read(5, 10, 8, 6)
    np.testing.assert_array_equal(read, values[:, 10:16, 5:13])
    assert known.all()


def test_nodata_not_a_number_and_alpha_say_where_data_is(tmp_path):
    values = np.ones((1, 4, 4), dtype="float32")
    values[0, 0, 0], values[0, 1, 1] = -9, np.nan
    path = write_raster(tmp_path / "image.tif", values, nodata=-9)
    with open_raster(path) as dataset, Image(dataset, (1,)) as image:
        _, known = image.read(0, 0, 4, 4)
    assert not known[0, 0] and not known[1, 1] and known.sum() == 14
    values = np.full((4, 4, 4), 100, dtype="uint8")
    values[3] = 255
    values[3, :, :2] = 0
    path = write_raster(tmp_path / "image.tif", values, photometric="RGB", alpha="YES")
    with open_raster(path) as dataset:
        assert list(band_names(dataset).values()) == ["red", "green", "blue"]
        with Image(dataset, (1, 2, 3)) as image:
            _, known = image.read(0, 0, 4, 4)
    np.testing.assert_array_equal(known, np.tile([False, False, True, True], (4, 1)))


@pytest.mark.parametrize(
    ("declared", "option", "missing"),
    [(None, "0.0", 0), (7, "none", None), (7, "0.0", 0), (7, "none&a_srs=EPSG:32634", None)],
)
def test_nodata_in_the_name_of_a_raster_counts_in_place_of_its_own(tmp_path, declared, option, missing):
    values = np.full((3, 4, 4), 100, dtype="uint8")
    values[:, :, 0], values[:, 0, :], values[0, 2, 2] = 0, 7, 0  # of which the last is dark in one band
    path = write_raster(tmp_path / "image.tif", values, nodata=declared)
    with open_raster(f"vrt://{path}?a_nodata={option}") as dataset, Image(dataset, (1, 2, 3)) as image:
        read, known = image.read(0, 0, 4, 4)
    np.testing.assert_array_equal(read, values)
    np.testing.assert_array_equal(known, (values != missing).any(axis=0) if missing is not None else True)


def test_another_resolution_averages_and_keeps_the_extent_and_nodata(tmp_path):
    values = np.repeat(np.repeat(np.arange(16, dtype="uint8").reshape(4, 4), 4, axis=0), 4, axis=1)
    path = write_raster(tmp_path / "image.tif", values)
    with open_raster(path) as dataset, Image(dataset, (1,), 4.0) as image:
        read, known = image.read(0, 0, 4, 4)
        assert (image.grid.width, image.grid.height) == (4, 4)
        assert image.grid.outline.equals(grid_of(dataset).outline)
    np.testing.assert_array_equal(read[0], np.arange(16).reshape(4, 4))
    assert known.all()
    values = np.full((64, 64), 7, dtype="uint8")
    values[:, :32] = 0
    path = write_raster(tmp_path / "image.tif", values, nodata=0)
    with open_raster(path) as dataset, Image(dataset, (1,), 2.0) as image:
        _, known = image.read(0, 0, 32, 32)
    assert known[:, 16:].all() and not known[:, :16].any()


def test_bands_are_matched_by_name_then_by_count(tmp_path):
    path = write_raster(tmp_path / "image.tif", np.zeros((4, 4, 4), "uint8"), photometric="RGB", alpha="NO")
    with rasterio.open(path, "r+") as dataset:
        dataset.colorinterp = [ColorInterp.blue, ColorInterp.green, ColorInterp.red, ColorInterp.undefined]
    with open_raster(path) as dataset:
        assert match_bands(dataset, (Band("red"), Band("green"), Band("blue"))) == (3, 2, 1)
        assert match_bands(dataset, tuple(map(Band, "abcd"))) == (1, 2, 3, 4)
        with pytest.raises(ImageryError, match="4 image bands .* 2"):
            match_bands(dataset, (Band("a"), Band("b")))


def test_normalized_values_have_mean_0_and_std_1_and_0_where_unknown():
    values = np.random.default_rng(0).integers(0, 2047, (2, 50, 50)).astype("uint16")
    bands = measure_bands(("a", "b"), [values.reshape(2, -1)])
    known = np.ones((50, 50), bool)
    known[0] = False
    normalized = normalize(values, known, bands)
    assert normalized.dtype == np.float32
    assert abs(normalized[:, 1:].mean()) < 0.05 and normalized[:, 1:].std() == pytest.approx(1, abs=0.05)
    assert (normalized[:, 0] == 0).all()
    assert measure_bands(("a",), [np.full((1, 10), 5)]) == (Band("a", 5.0, 1.0),)


def test_an_unreadable_or_truncated_raster_is_named(tmp_path):
    (tmp_path / "empty.tif").touch()
    (tmp_path / "text.tif").write_text("no raster at all")
    (tmp_path / "none.vrt").write_text('<VRTDataset rasterXSize="10" rasterYSize="10"></VRTDataset>')
    for name in ("missing.tif", "empty.tif", "text.tif", "none.vrt"):
        with pytest.raises(ImageryError, match=name), open_raster(str(tmp_path / name)):
            pass
    path = tmp_path / "image.tif"
    write_raster(path, np.random.default_rng(0).integers(0, 255, (3, 500, 500)).astype("uint8"))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ImageryError, match="image.tif"), open_raster(str(path)) as dataset:
        Image(dataset, (1, 2, 3)).read(0, 0, 500, 500)


def test_a_png_that_is_cut_off_is_not_read_as_noise(tmp_path):
    path = tmp_path / "mask.png"
    rows = np.random.default_rng(0).random((200, 1)) < 0.5
    write_raster(path, np.repeat(rows * 255, 200, axis=1).astype("uint8")[None], driver="PNG")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ImageryError, match=r"mask\.png"), open_raster(str(path)) as dataset:
        dataset.read()


def test_a_raster_without_crs_is_refused_with_a_remedy(tmp_path):
    path = write_raster(tmp_path / "image.tif", np.zeros((4, 4), "uint8"), crs=None)
    with open_raster(path) as dataset, pytest.raises(ImageryError, match="Set it"):
        Image(dataset, (1,))


def test_a_raster_that_qgis_shows_by_a_model_is_refused_with_qgis_tool_for_it(tmp_path):
    corners = [(0, 0), (0, 4), (4, 0), (4, 4)]
    points = [GroundControlPoint(row, column, 390000 + column, 5820000 - row) for row, column in corners]
    scale, ratio = {f"{axis}_{of}": 1.0 for axis in ("lat", "long") for of in ("off", "scale")}, [1.0] + 19 * [0.0]
    sensor = RPC(
        height_off=0, height_scale=1, line_off=2, line_scale=2, samp_off=2, samp_scale=2, **scale,
        line_num_coeff=ratio, line_den_coeff=ratio, samp_num_coeff=ratio, samp_den_coeff=ratio,
    )  # fmt: skip
    for place, crs, said, remedy in (
        ({"gcps": points}, UTM, "only by 4 ground control points", r"Warp \(Reproject\) in QGIS, and give that"),
        ({"rpcs": sensor}, None, "by RPCs", "RPC_DEM="),
        ({}, UTM, "has no georeference", "Georeferencer"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            path = write_raster(tmp_path / "image.tif", np.ones((4, 4), "uint8"), crs=crs, transform=None, **place)
        with open_raster(path) as dataset, pytest.raises(ImageryError, match=said) as refused:
            Image(dataset, (1,))
        assert re.search(remedy, refused.value.remedy)


def place_refused(tmp_path, crs, transform):
    path = write_raster(tmp_path / "image.tif", np.zeros((96, 96), "uint8"), crs=crs, transform=transform)
    with open_raster(path) as dataset, pytest.raises(ImageryError, match=r"image\.tif") as refused:
        grid_of(dataset)
    assert "correct coordinate reference system and georeference" in refused.value.remedy
    return refused.value.message


@pytest.mark.parametrize("side", [1e-9, 3e-6, 0.0009, 20_000])
def test_pixels_of_absurd_size_are_refused_with_their_size(tmp_path, side):
    message = place_refused(tmp_path, UTM, Affine(side, 0, 390000, 0, -side, 5820000))
    sides = re.search(r"pixels of (\S+) x (\S+) m on the ground", message).groups()
    assert [float(each) for each in sides] == pytest.approx([side, side], rel=0.5)


OUTSIDE = "outside the area of its coordinate reference system"


@pytest.mark.parametrize(
    ("crs", "transform", "words"),
    [
        ("EPSG:4326", Affine(0.01, 0, 10, 0, -0.01, 90.5), OUTSIDE),  # over the pole
        ("EPSG:4326", Affine(1, 0, 390000, 0, -1, 5820000), OUTSIDE),  # meters as degrees
        (UTM, Affine(10, 0, 3e7, 0, -10, 5820000), OUTSIDE),
        ("EPSG:4326", Affine(1e-5, 0, 10, 0, -1e-5, 90), r"pixels of \S+e-\d+ x 1\.12 m"),  # nothing, at the pole
        (UTM, Affine(1, 1, 390000, 1, 1 + 1e-9, 5820000), "pixels of"),  # rows and columns run alike
        ("EPSG:3857", Affine(1, 0, 0, 0, -1, 9e7), "pixels of"),  # far past the limit of Web Mercator
    ],
)
def test_an_image_that_its_crs_cannot_place_is_refused(tmp_path, crs, transform, words):
    assert re.search(words, place_refused(tmp_path, crs, transform))


@pytest.mark.parametrize("value", [1e30, np.inf, np.nan])
def test_an_image_that_is_not_on_earth_is_refused(tmp_path, value):
    path = write_raster(tmp_path / "image.tif", np.zeros((4, 4), "uint8"))
    with open_raster(path) as dataset:
        found = SimpleNamespace(name=path, crs=dataset.crs, transform=Affine(1, 0, value, 0, -1, 0), width=4, height=4)
        with pytest.raises(ImageryError, match=r"image\.tif is not on Earth"):
            grid_of(found)


MOON = (
    'GEOGCS["Moon 2000",DATUM["D_Moon_2000",SPHEROID["Moon_2000",1737400,0]],PRIMEM["Reference_Meridian",0],'
    'UNIT["degree",0.0174532925199433]]'
)
SITE = 'LOCAL_CS["Building site",UNIT["metre",1]]'


@pytest.mark.parametrize(("crs", "name"), [(MOON, "Moon 2000"), (SITE, "Building site"), ("EPSG:5773", "unnamed")])
def test_a_crs_of_no_place_on_earth_is_refused_by_name(tmp_path, crs, name):
    assert f"image.tif, {name}, cannot be placed on Earth" in place_refused(
        tmp_path, crs, Affine(1e-5, 0, 10, 0, -1e-5, 20)
    )


def test_more_pixels_than_any_machine_can_do_are_refused_at_once(tmp_path):
    path = tmp_path / "endless.vrt"
    path.write_text(
        f'<VRTDataset rasterXSize="2147483647" rasterYSize="2147483647"><SRS>{UTM}</SRS><GeoTransform>390000, 1, 0, '
        '5820000, 0, -1</GeoTransform><VRTRasterBand dataType="Byte" band="1"/></VRTDataset>'
    )
    with open_raster(str(path)) as dataset, pytest.raises(ImageryError, match=r"endless\.vrt has 2,147,483,647 x"):
        grid_of(dataset)
