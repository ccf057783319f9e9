"""Layers that are no file, rendered to files: what lands where, at which size, and what is told when it cannot be."""

import math
import shutil
import threading
from collections import Counter

import numpy as np
import pytest
from osgeo import gdal
from qgis.core import (
    Qgis,
    QgsCoordinateReferenceSystem,
    QgsMessageLog,
    QgsRasterBlock,
    QgsRasterDataProvider,
    QgsRasterLayer,
    QgsRasterRange,
    QgsRectangle,
)
from roadseg.qgis_roadseg.rendering import rendering
from roadseg.training_core.errors import Cancelled, ImageryError, OutputError, ResourceError

from ..support.acting import Ear
from ..support.rendered import TRANSFORMS, color_of, frame_of, render
from ..support.tiles import (
    ALL,
    COLUMN,
    LAND,
    LATITUDE,
    ROW,
    SQUARE,
    UNITS_PER_PX,
    paint_tiles,
    serve,
    square_extent,
    tile_extent,
    tile_layer,
)

pytestmark = pytest.mark.usefixtures("qgis_app", "short_waits")

NOTHING = "http://127.0.0.1:1/{z}/{x}/{y}.png"  # where nobody listens


def from_folder(folder):
    """Return what answers a request with a file of the folder, or with words where there is none."""

    def answer(path):
        file = folder / path.lstrip("/")
        return (200, "image/png", file.read_bytes()) if file.is_file() else (404, "text/plain", b"nothing here")

    return answer


@pytest.mark.parametrize("resolution_m", [0.3, 2.0])
def test_pixels_have_the_wanted_size_on_the_ground(tmp_path, resolution_m):
    layer = tile_layer(paint_tiles(tmp_path))
    dataset, _ = render(layer, tmp_path / "image.tif", resolution_m=resolution_m)
    assert dataset.GetSpatialRef().GetAuthorityCode(None) == "3857"
    colors = [dataset.GetRasterBand(band).GetColorInterpretation() for band in (1, 2, 3, 4)]
    assert colors == [gdal.GCI_RedBand, gdal.GCI_GreenBand, gdal.GCI_BlueBand, gdal.GCI_AlphaBand]
    west, x, _, north, _, y = dataset.GetGeoTransform()
    scale = 1 / math.cos(math.radians(LATITUDE))  # of Web Mercator on a sphere; the ellipsoid differs by some 0.2 %
    assert x / scale == pytest.approx(resolution_m, rel=0.02)
    assert -y / scale == pytest.approx(resolution_m, rel=0.02)
    assert (west, north) == pytest.approx((ALL.xMinimum(), ALL.yMaximum()))
    assert west + dataset.RasterXSize * x == pytest.approx(ALL.xMaximum(), abs=x / 2)
    assert north + dataset.RasterYSize * y == pytest.approx(ALL.yMinimum(), abs=-y / 2)


@pytest.mark.parametrize("resolution_m", [0.2, 1.0])
def test_what_is_on_the_tiles_lands_at_its_place_and_without_seams(tmp_path, resolution_m):
    layer = tile_layer(paint_tiles(tmp_path))
    dataset, values = render(layer, tmp_path / "image.tif", resolution_m=resolution_m)
    west, x, _, north, _, y = dataset.GetGeoTransform()
    rows, columns = np.nonzero(values[0] > (LAND.red() + SQUARE.red()) / 2)
    where = square_extent()
    assert west + columns.min() * x == pytest.approx(where.xMinimum(), abs=x)
    assert west + (columns.max() + 1) * x == pytest.approx(where.xMaximum(), abs=x)
    assert north + rows.min() * y == pytest.approx(where.yMaximum(), abs=-y)
    assert north + (rows.max() + 1) * y == pytest.approx(where.yMinimum(), abs=-y)
    assert (values[3] == 255).all()
    assert values[0].min() == LAND.red() and values[0].max() == SQUARE.red()


@pytest.mark.parametrize("source", ["folder", "server"])
def test_missing_tiles_are_no_data(tmp_path, source):
    ear = Ear()
    url = paint_tiles(tmp_path / "tiles", missing=[(0, 2)])
    with serve(from_folder(tmp_path / "tiles")) as address:
        layer = tile_layer(url if source == "folder" else address + "/{z}/{x}/{y}.png")
        dataset, values = render(layer, tmp_path / "image.tif", ear)
    hole = tile_extent(COLUMN, ROW + 2)
    west, x, _, north, _, y = dataset.GetGeoTransform()
    columns = west + (np.arange(dataset.RasterXSize) + 0.5) * x
    rows = north + (np.arange(dataset.RasterYSize) + 0.5) * y
    expected = (columns < hole.xMaximum())[None, :] & (rows < hole.yMaximum())[:, None]
    differs = (values[3] == 0) != expected
    assert differs.mean() < 0.005  # at the border alone
    assert "do not exist. They become nodata" in ear.text
    assert color_of(values, 5, 5) == (LAND.red(), LAND.green(), LAND.blue())


def test_many_blocks_make_one_picture(tmp_path):
    """Blocks overlap nowhere and leave no gap: the picture is that of one block."""
    layer = tile_layer(paint_tiles(tmp_path))
    ear, told = Ear(), []
    ear.progressChanged.connect(told.append)
    _, values = render(layer, tmp_path / "image.tif", ear, resolution_m=0.1)
    assert values.shape[1] > 2 * rendering.BLOCK_PX
    assert (values[3] == 255).all()
    assert told == sorted(told) and len(told) >= 8
    share = (values[0] > (LAND.red() + SQUARE.red()) / 2).mean()
    assert share == pytest.approx(0.5**2 / 9, rel=0.01)


def test_it_can_be_stopped_while_a_server_keeps_it_waiting(tmp_path):
    ear, asked, done = Ear(), threading.Event(), threading.Event()

    def wait(path):
        asked.set()
        done.wait(20)
        return 200, "image/png", b""

    def stop():
        asked.wait(20)
        ear.cancel()

    with serve(wait) as address:
        stopper = threading.Thread(target=stop)
        stopper.start()
        with pytest.raises(Cancelled):
            render(tile_layer(address + "/{z}/{x}/{y}.png"), tmp_path / "image.tif", ear)
        assert not done.is_set()
        done.set()
        stopper.join()


def test_a_server_that_is_not_there_is_an_error_and_no_black_picture(tmp_path):
    with pytest.raises(ImageryError, match=r"Kacheln could not be loaded completely: 127\.0\.0\.1: Connection"):
        render(tile_layer(NOTHING), tmp_path / "image.tif")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((500, "text/plain", b"broken"), "HTTP status 500"),
        ((403, "text/plain", b"no key"), "HTTP status 403"),
        ((200, "text/html", b"<p>Log in</p>"), "the answer is not an image, but text/html"),
    ],
)
def test_a_server_that_refuses_is_an_error_that_keeps_the_key_to_itself(tmp_path, answer, told):
    with serve(lambda path: answer) as address:
        with pytest.raises(ImageryError) as caught:
            render(tile_layer(address + "/{z}/{x}/{y}.png?key=secret"), tmp_path / "image.tif")
    assert told in str(caught.value) and "127.0.0.1" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_a_server_gives_after_a_while_is_fine(tmp_path):
    ear, asked, tiles = Ear(), Counter(), tmp_path / "tiles"
    paint_tiles(tiles)

    def answer(path):
        asked[path] += 1
        if asked[path] <= 6:  # which is more often than QGIS itself asks for a tile
            return 503, "text/plain", b"busy"
        return from_folder(tiles)(path)

    with serve(answer) as address:
        _, values = render(tile_layer(address + "/{z}/{x}/{y}.png"), tmp_path / "image.tif", ear)
    assert (values[3] == 255).all()
    assert "Kacheln: 127.0.0.1: HTTP status 503; trying again in 0.02 s" in ear.text


def write_in_memory(path, values, pixel, nodata=None):
    """Write a raster that only this process can open, near Berlin."""
    count, height, width = values.shape
    kind = {"uint8": gdal.GDT_Byte, "uint16": gdal.GDT_UInt16, "float32": gdal.GDT_Float32}[str(values.dtype)]
    dataset = gdal.GetDriverByName("GTiff").Create(path, width, height, count, kind)
    dataset.SetGeoTransform((390000, pixel, 0, 5820040, 0, -pixel))
    dataset.SetProjection(QgsCoordinateReferenceSystem("EPSG:25833").toWkt())
    for band in range(count):
        if nodata is not None:
            dataset.GetRasterBand(band + 1).SetNoDataValue(nodata)
        dataset.GetRasterBand(band + 1).WriteArray(values[band])
    dataset.FlushCache()
    return QgsRasterLayer(path, "Bild")


def test_data_stay_what_they_are(tmp_path):
    """A raster that only QGIS can open: sixteen bits, two bands, no data."""
    values = np.arange(8000, dtype=np.uint16).reshape(80, 100) + 1000
    values = np.stack([values, values * 3])
    values[:, :10] = 7
    layer = write_in_memory("/vsimem/heights.tif", values, 0.5, nodata=7)
    rendered, found = render(layer, tmp_path / "image.tif", extent=layer.extent(), resolution_m=0.5)
    assert rendered.GetRasterBand(1).DataType == gdal.GDT_UInt16
    assert rendered.GetRasterBand(1).GetNoDataValue() == 7
    assert np.array_equal(found == 7, values == 7)
    # The unit of UTM is 0.9998 m here, so that the pixels part by some hundredths at the far corner.
    assert np.abs(found.astype(int) - values).max() <= 0.05 * 3 * 101
    gdal.Unlink("/vsimem/heights.tif")


@pytest.mark.parametrize(("declared", "is_ticked", "own"), [(7, True, 7), (7, False, 3), (None, True, 3)])
def test_what_qgis_takes_for_no_data_is_no_data_in_the_file(tmp_path, declared, is_ticked, own):
    values = np.tile(np.arange(16, dtype=np.uint8).repeat(4), (2, 16, 1))
    layer = write_in_memory("/vsimem/steps.tif", values, 0.5, nodata=declared)
    for band in (1, 2):
        layer.dataProvider().setUseSourceNoDataValue(band, is_ticked)
        layer.dataProvider().setUserNoDataValue(band, [QgsRasterRange(3, 3), QgsRasterRange(9, 11)])
    rendered, found = render(layer, tmp_path / "image.tif", extent=layer.extent(), resolution_m=0.5)
    missing = [3, 9, 10, 11, *([7] if declared and is_ticked else [])]
    assert rendered.GetRasterBand(1).GetNoDataValue() == own
    within = slice(1, None, 4)  # where no pixel is interpolated between two values
    assert np.array_equal(found[..., within], np.where(np.isin(values, missing), own, values)[..., within])
    gdal.Unlink("/vsimem/steps.tif")


def test_what_gets_coarser_is_averaged(tmp_path):
    board = np.indices((400, 400)).sum(axis=0) % 2 * 200
    layer = write_in_memory("/vsimem/board.tif", board[None].astype(np.uint8), 0.1)
    _, values = render(layer, tmp_path / "image.tif", extent=layer.extent(), resolution_m=0.8)
    assert values.min() > 80 and values.max() < 120
    gdal.Unlink("/vsimem/board.tif")


def test_bands_of_different_types_share_one_that_holds_them(tmp_path):
    path = tmp_path / "mixed.vrt"
    for number, (kind, value) in enumerate((("Byte", 200), ("Float32", -0.5)), 1):
        kinds = {"Byte": gdal.GDT_Byte, "Float32": gdal.GDT_Float32}
        dataset = gdal.GetDriverByName("GTiff").Create(str(tmp_path / f"{number}.tif"), 40, 40, 1, kinds[kind])
        dataset.SetGeoTransform((390000, 0.5, 0, 5820020, 0, -0.5))
        dataset.SetProjection(QgsCoordinateReferenceSystem("EPSG:25833").toWkt())
        dataset.GetRasterBand(1).Fill(value)
        dataset.FlushCache()
    gdal.BuildVRT(str(path), [str(tmp_path / "1.tif"), str(tmp_path / "2.tif")], separate=True).FlushCache()
    layer = QgsRasterLayer(str(path), "Gemischt")
    assert layer.isValid() and layer.bandCount() == 2
    _, values = render(layer, tmp_path / "image.tif", extent=layer.extent(), resolution_m=0.5)
    assert (values[0] == 200).all() and (values[1] == -0.5).all()


@pytest.mark.parametrize(
    ("crs", "center", "units_per_m"),
    [
        ("EPSG:4326", (85.5, 27.63), (1 / 98710, 1 / 110815)),  # by the series for lengths of a degree
        ("EPSG:3857", (9518000, 3203000), (1.1278, 1.1333)),  # 1 / cos(latitude), on the ellipsoid
        ("EPSG:32645", (353000, 3057000), (0.99987, 0.99987)),
        ("EPSG:2263", (980000, 200000), (3.2808, 3.2808)),  # feet
    ],
)
def test_units_of_any_crs_are_measured_on_the_ellipsoid(crs, center, units_per_m):
    """A square kilometer has pixels of half a meter, and of less where a unit is longer from south to north."""
    x, y = units_per_m
    extent = QgsRectangle(center[0] - 500 * x, center[1] - 500 * y, center[0] + 500 * x, center[1] + 500 * y)
    frame = rendering.make_frame("Bild", QgsCoordinateReferenceSystem(crs), extent, 0.5, TRANSFORMS)
    pixel = 0.5 * min(x, y)
    assert frame.width == pytest.approx(1000 * x / pixel, rel=1e-3)
    assert frame.height == pytest.approx(1000 * y / pixel, rel=1e-3)
    assert frame.extent.width() / frame.width == pytest.approx(frame.extent.height() / frame.height, rel=1e-9)


def test_an_absurd_size_is_refused_with_its_numbers(tmp_path):
    layer = tile_layer(NOTHING)
    frame = frame_of(layer, QgsRectangle(1400000, 6800000, 1600000, 7000000))
    with pytest.raises(ResourceError) as caught:
        rendering.check_size([frame], layer, tmp_path)
    pixels = frame.width * frame.height
    assert pixels > 20e9
    for number in (f"{pixels / 1e9:,.2f} gigapixels", f"{frame.width:,} x", "0.5 m", "web tiles", "at most 20"):
        assert number in str(caught.value)


def test_more_than_the_disk_has_is_refused_with_its_numbers(tmp_path, monkeypatch):
    layer = tile_layer(NOTHING)
    frame = frame_of(layer, QgsRectangle(1400000, 6800000, 1420000, 6820000))
    free = shutil.disk_usage(tmp_path)._replace(free=1_500_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free)
    with pytest.raises(ResourceError, match=r"up to 2\.\d GB of temporary files, but .* has only 1\.5 GB free"):
        rendering.check_size([frame], layer, tmp_path)


def test_a_layer_that_is_coarser_than_the_model_is_warned_of(tmp_path):
    ear = Ear()
    render(tile_layer(paint_tiles(tmp_path)), tmp_path / "image.tif", ear, resolution_m=0.1)
    assert "The finest pixels of the layer Kacheln are 0.36 m, but the pixels of the model are 0.1 m" in ear.text
    assert UNITS_PER_PX * math.cos(math.radians(LATITUDE)) == pytest.approx(0.36, abs=0.005)


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(OutputError, match="The layer Kacheln cannot be written"):
        render(tile_layer(paint_tiles(tmp_path)), tmp_path / "missing" / "image.tif")


class GoneDatabase(QgsRasterDataProvider):
    """Does as the provider for PostGIS has been seen to do when the database is gone: a black block, and a log."""

    def __init__(self, heading):
        super().__init__()
        self.heading = heading

    def bandCount(self):  # noqa: N802
        return 1

    def dataType(self, band):  # noqa: N802
        return Qgis.DataType.Byte

    def block(self, band, extent, width, height, feedback=None):
        QgsMessageLog.logMessage(
            "Error fetching tile index from backend.\nSQL: SELECT 1", self.heading, Qgis.MessageLevel.Critical
        )
        black = QgsRasterBlock(Qgis.DataType.Byte, width, height)
        black.setData(bytes(width * height))
        return black


def test_a_database_that_is_gone_is_an_error_and_no_black_picture(tmp_path):
    frame = frame_of(tile_layer(NOTHING))
    told = "The layer Kacheln could not be loaded completely: Error fetching tile index from backend. Check"
    with pytest.raises(ImageryError, match=told):
        rendering.render(GoneDatabase("PostGIS"), frame, tmp_path / "image.tif", Ear())
    rendering.render(GoneDatabase("Others"), frame, tmp_path / "image.tif", Ear())  # which is none of our business
