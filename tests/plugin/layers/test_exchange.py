import gzip
import shutil
import sys
import tarfile
import threading
import zipfile

import pytest
from osgeo import gdal
from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsFeature,
    QgsGeometry,
    QgsMultiBandColorRenderer,
    QgsProcessingContext,
    QgsProcessingParameterFeatureSource,
    QgsProcessingParameters,
    QgsProject,
    QgsRasterLayer,
    QgsVectorLayer,
    QgsWkbTypes,
)
from roadseg.qgis_roadseg.layers import exchange
from roadseg.training_core.errors import ImageryError, LayerError

pytestmark = pytest.mark.usefixtures("qgis_app")


@pytest.fixture
def context(qgis_new_project):
    context = QgsProcessingContext()
    context.setProject(QgsProject.instance())
    return context


@pytest.fixture
def drawn(context):
    """A layer in memory with three roads, of which one is a curve, and fields that no file could take."""
    layer = QgsVectorLayer(
        "CompoundCurve?crs=epsg:32645&field=fid:integer&field=width:double&field=sure:bool&field=words:string[]",
        "Straßen gezeichnet",
        "memory",
    )
    shapes = ["LineString (0 0, 10 0)", "CompoundCurve (CircularString (0 0, 5 5, 10 0))", "LineString (0 9, 10 9)"]
    for number, shape in enumerate(shapes):
        feature = QgsFeature(layer.fields())
        feature.setGeometry(QgsGeometry.fromWkt(shape))
        feature.setAttributes([7, 2.5 * number, bool(number), ["a"]])
        layer.dataProvider().addFeature(feature)
    layer.updateExtents()
    QgsProject.instance().addMapLayer(layer)
    return layer


def source_of(value, context):
    parameter = QgsProcessingParameterFeatureSource("ROADS")
    return QgsProcessingParameters.parameterAsSource(parameter, {"ROADS": value}, context)


def written(path):
    layer = QgsVectorLayer(str(path), "written", "ogr")
    assert layer.isValid()
    return layer


def test_a_layer_in_memory_is_written_with_the_fields_that_are_needed(drawn, context, tmp_path):
    path = tmp_path / "Straße mit Leerzeichen.gpkg"
    exchange.write_source(source_of(drawn.id(), context), ["width", "sure"], path, context)
    layer = written(path)
    assert layer.crs().authid() == "EPSG:32645"
    assert layer.fields().names() == ["fid", "width", "sure"]
    assert [feature["width"] for feature in layer.getFeatures()] == [0, 2.5, 5]
    curve = [feature.geometry() for feature in layer.getFeatures()][1]
    assert curve.constGet().partCount() == 1
    assert "Curve" not in curve.asWkt()
    assert curve.length() == pytest.approx(5 * 3.14159, rel=1e-3)


def test_fields_whose_names_a_geopackage_takes_for_one_are_kept_apart(context, tmp_path):
    fields = "&field=".join(["", "fixme:string", "FIXME:string", "geom:integer", "geometry:string"])
    layer = QgsVectorLayer(f"LineString?crs=epsg:32645{fields}", "OSM", "memory")
    feature = QgsFeature(layer.fields())
    feature.setGeometry(QgsGeometry.fromWkt("LineString (0 0, 10 0)"))
    feature.setAttributes(["name?", "continue", 7, None])
    layer.dataProvider().addFeature(feature)
    QgsProject.instance().addMapLayer(layer)
    names, path = layer.fields().names(), tmp_path / "osm.gpkg"
    stored = exchange.write_source(source_of(layer.id(), context), names, path, context)
    assert stored == {"fixme": "fixme", "FIXME": "FIXME_2", "geom": "geom_2", "geometry": "geometry_2"}
    (kept,) = written(path).getFeatures()
    assert kept.attributes()[1:] == ["name?", "continue", 7, None] and kept.fields().names()[1:] == [*stored.values()]


@pytest.mark.parametrize(
    ("kind", "shape", "written_as"),
    [
        ("LineString", "", "MultiLineString"),
        ("PolygonZ", "", "MultiPolygonZ"),
        ("LineStringZM", "LineString ZM (0 0 340 1, 10 0 345 2)", "MultiLineStringZM"),
        ("LineStringM", "LineString M (0 0 1, 10 0 2)", "MultiLineStringM"),
    ],
)
def test_an_empty_layer_is_one_and_heights_are_for_the_worker_to_tell_of(context, tmp_path, kind, shape, written_as):
    layer = QgsVectorLayer(f"{kind}?crs=epsg:32645", "Straßen", "memory")
    if shape:
        feature = QgsFeature(layer.fields())
        feature.setGeometry(QgsGeometry.fromWkt(shape))
        layer.dataProvider().addFeature(feature)
    QgsProject.instance().addMapLayer(layer)
    exchange.write_source(source_of(layer.id(), context), [], tmp_path / "layer.gpkg", context)
    found = written(tmp_path / "layer.gpkg")
    assert found.featureCount() == bool(shape) and found.crs().authid() == "EPSG:32645"
    assert QgsWkbTypes.displayString(found.wkbType()) == written_as
    assert [feature.geometry().constGet().is3D() for feature in found.getFeatures()] == ["Z" in shape] * bool(shape)


def test_a_layer_without_crs_is_named(context, tmp_path):
    layer = QgsVectorLayer("Polygon", "Gebiet", "memory")
    layer.setCrs(QgsCoordinateReferenceSystem())
    QgsProject.instance().addMapLayer(layer)
    with pytest.raises(LayerError, match=r"^The layer Gebiet has no coordinate reference system"):
        exchange.write_source(source_of(layer.id(), context), [], tmp_path / "aoi.gpkg", context)


def test_a_crs_whose_definition_ended_with_the_threads_that_used_it_is_written(context, tmp_path):
    is_made, is_used = threading.Event(), threading.Event()

    def make():
        QgsCoordinateReferenceSystem("EPSG:25835").toWkt()
        is_made.set()
        is_used.wait()

    def use():
        is_made.wait()
        QgsCoordinateReferenceSystem("EPSG:25835").toWkt()
        is_used.set()
        maker.join()  # so that the one who made it ends first

    maker, user = threading.Thread(target=make), threading.Thread(target=use)
    maker.start(), user.start()
    user.join()
    crs = QgsCoordinateReferenceSystem("EPSG:25835")
    shape = QgsGeometry.fromWkt("Polygon ((0 0, 1 0, 1 1, 0 0))")
    exchange.write_shape(shape, crs, tmp_path / "area.gpkg", context)
    assert written(tmp_path / "area.gpkg").crs().authid() == "EPSG:25835"


def test_a_source_that_cannot_be_written_is_named(drawn, context, tmp_path):
    with pytest.raises(LayerError, match="Straßen gezeichnet cannot be written"):
        exchange.write_source(source_of(drawn.id(), context), [], tmp_path / "missing" / "roads.gpkg", context)


def test_a_crs_that_only_the_layer_has_is_handed_on_with_it(image, tmp_path):
    plain = str(tmp_path / "plain.tif")
    gdal.GetDriverByName("GTiff").Create(plain, 4, 4).SetGeoTransform((350000, 0.5, 0, 3060000, 0, -0.5))
    layer = QgsRasterLayer(plain)
    assert exchange.raster_path(layer) == plain  # the worker refuses it
    layer.setCrs(QgsCoordinateReferenceSystem("EPSG:32645"))
    assert exchange.raster_path(layer) == f"vrt://{plain}?a_srs=EPSG:32645"
    site = QgsCoordinateReferenceSystem.fromProj("+proj=tmerc +lon_0=87 +x_0=1000 +datum=WGS84")
    layer.setCrs(site)
    named = QgsCoordinateReferenceSystem(exchange.raster_path(layer).partition("?a_srs=")[2])
    assert named.isValid() and "+proj=tmerc +lat_0=0 +lon_0=87 +k=1 +x_0=1000" in named.toProj()
    with_own = QgsRasterLayer(str(image))
    with_own.setCrs(QgsCoordinateReferenceSystem("EPSG:25832"))  # against the file's
    assert exchange.raster_path(with_own) == f"vrt://{image}?a_srs=EPSG:25832"


NAMES = [
    "bild.tif", "teil/bild.tif", "a|b.tif", "GTIFF_DIR:1:bild.tif", "GPKG:teil/two.gpkg:one", 'NETCDF:"bands.nc":Band1',
    "NETCDF:bands.nc:Band1", "vrt://bild.tif?bands=1", "vrt://teil/bild.tif?bands=1",
    "/vsizip/teil/Bilder 1.zip/bild.tif", "/vsizip/{teil/Bilder 1.zip}/bild.tif", "/vsizip/teil/Bilder 1.zip",
    "vrt:///vsizip/teil/Bilder 1.zip/bild.tif?bands=1", "/vsitar/bilder.tar/bild.tif", "/vsigzip/bild.tif.gz",
    "/vsizip/teil/../teil/Bilder 1.zip/bild.tif", 'ZARR:"bands.zarr":/Band1',
]  # fmt: skip


@pytest.fixture(scope="module")
def folder_of_rasters(tmp_path_factory):
    """Return a folder with a raster of 40 everywhere, also in archives and containers."""
    folder = tmp_path_factory.mktemp("hier")
    (folder / "teil").mkdir()
    image = folder / "bild.tif"
    dataset = gdal.GetDriverByName("GTiff").Create(str(image), 4, 3)
    dataset.SetGeoTransform((350000, 0.5, 0, 3060000, 0, -0.5))
    dataset.GetRasterBand(1).Fill(40)
    dataset = None
    for name in ("teil/bild.tif", "a|b.tif"):
        shutil.copy(image, folder / name)
    gdal.Translate(str(folder / "teil/two.gpkg"), str(image), format="GPKG", creationOptions=["RASTER_TABLE=one"])
    gdal.Translate(str(folder / "bands.nc"), str(image), format="netCDF")
    gdal.Translate(str(folder / "bands.zarr"), str(image), format="Zarr", creationOptions=["ARRAY_NAME=Band1"])
    with zipfile.ZipFile(folder / "teil/Bilder 1.zip", "w") as archive:
        archive.write(image, image.name)
    with tarfile.open(folder / "bilder.tar", "w") as archive:
        archive.add(image, image.name)
    with gzip.open(folder / "bild.tif.gz", "wb") as archive:
        archive.write(image.read_bytes())
    return folder


@pytest.fixture
def rasters_here(folder_of_rasters, monkeypatch):
    """Go to the folder of rasters."""
    monkeypatch.chdir(folder_of_rasters)


@pytest.mark.parametrize("name", NAMES)
def test_a_relative_name_means_elsewhere_what_it_means_here(name, rasters_here, monkeypatch):
    layer = QgsRasterLayer(name)
    assert layer.isValid()
    path = exchange.raster_path(layer)
    assert exchange.absolute(path) == path
    monkeypatch.chdir("/")
    elsewhere = gdal.Open(path)
    assert elsewhere.GetRasterBand(1).ReadAsArray().tolist() == [[40] * 4] * 3


@pytest.mark.parametrize(
    "name",
    ["http://teil/bild.tif", "/vsicurl/http://teil/bild.tif", "/vsis3/teil/bild.tif", "s3://teil/bild.tif",
     "PG:dbname=teil table=bild.tif", "/vsizip//vsicurl/http://teil/bild.zip/bild.tif", "/vsizip/no.zip/bild.tif"],
)  # fmt: skip
def test_addresses_and_what_is_not_there_stay_as_they_are(name, rasters_here):
    assert exchange.absolute(name) == name


def test_bands_that_qgis_draws_in_another_order_are_told(image):
    layer = QgsRasterLayer(str(image), "Bild")
    assert exchange.band_order_note(layer) == ""
    layer.setRenderer(QgsMultiBandColorRenderer(layer.dataProvider(), 3, 2, 1))
    assert "the layer Bild with its bands 3, 2, 1" in exchange.band_order_note(layer)


@pytest.mark.parametrize(
    ("source", "provider", "told"),
    [
        ("type=xyz&url=file:///{z}/{x}/{y}.png", "wms", r"comes from wms.*GeoTIFF"),
        ("IMAGE|option:NUM_THREADS=2", "gdal", r"is opened with extra options \(NUM_THREADS=2\)"),
        ("/vsimem/bild.tif", "gdal", "is in QGIS' memory"),
        ("/vsicurl/http://127.0.0.1:1/bild.tif authcfg='a1b2c3d'", "gdal", "needs a login stored in QGIS"),
        ("PG:host=127.0.0.1 port=1 table=bild", "gdal", "is in a database"),
    ],
)
def test_rasters_that_only_qgis_can_open_are_refused(image, source, provider, told):
    with pytest.raises(ImageryError, match=f"The layer Bild {told}"):
        exchange.raster_path(QgsRasterLayer(source.replace("IMAGE", str(image)), "Bild", provider))


def test_a_layers_own_crs_on_a_name_with_options_is_refused_with_the_remedy(qgis_app):
    layer = QgsRasterLayer("/vsicurl/http://127.0.0.1:1/bild.tif?a=1", "Bild")
    layer.setCrs(QgsCoordinateReferenceSystem("EPSG:32645"))
    with pytest.raises(ImageryError, match="The layer Bild has a coordinate reference system in QGIS that its file"):
        exchange.raster_path(layer)


def calls_of(lines, vertices, path):
    """Return how many functions Python calls while a layer of lines is written."""
    layer = QgsVectorLayer("LineString?crs=epsg:32645&field=width:double", "Straßen", "memory")
    for number in range(lines):
        feature = QgsFeature(layer.fields())
        points = ", ".join(f"{350000 + x} {3060000 + number}" for x in range(vertices))
        feature.setGeometry(QgsGeometry.fromWkt(f"LineString ({points})"))
        layer.dataProvider().addFeature(feature)
    calls = []
    sys.setprofile(lambda frame, event, what: calls.append(event) if event.endswith("call") else None)
    try:
        exchange.write_source(layer, ["width"], path, QgsProcessingContext())
    finally:
        sys.setprofile(None)
    assert written(path).featureCount() == lines
    return len(calls)


def test_the_work_in_python_grows_with_features_alone_and_no_faster(tmp_path):
    base = calls_of(50, 10, tmp_path / "a.gpkg")
    assert calls_of(50, 1000, tmp_path / "b.gpkg") == base
    assert calls_of(500, 10, tmp_path / "c.gpkg") <= 10 * base
