"""Results as they arrive in a project: named, grouped and styled; and batches, as Processing runs them."""

import shutil

import pytest
from osgeo import gdal
from qgis.core import (
    Qgis,
    QgsApplication,
    QgsMapRendererCustomPainterJob,
    QgsMapSettings,
    QgsProcessingContext,
    QgsProcessingOutputLayerDefinition,
    QgsProject,
    QgsRasterLayer,
    QgsRectangle,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QSize, Qt
from qgis.PyQt.QtGui import QImage, QPainter
from roadseg.qgis_roadseg.desktop.threshold.choice import read_choice
from roadseg.qgis_roadseg.layers.styles import set_style, source_name_of
from roadseg.qgis_roadseg.paths import RESOURCES

from ..support.acting import Ear, memory_layer, run, run_in_task
from ..support.parts import CHANGES, NETWORK, REGION, SEGMENT, WRITE

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")


def load(name, values, outputs, application):
    """Run an algorithm as the toolbox does, with results that are to be loaded, and load them."""
    from processing.gui.Postprocessing import handleAlgorithmResults

    context, ear, project = QgsProcessingContext(), Ear(), QgsProject.instance()
    context.setProject(project)
    wanted = {key: QgsProcessingOutputLayerDefinition(value, project) for key, value in outputs.items()}
    algorithm = QgsApplication.processingRegistry().createAlgorithmById(f"roadseg:{name}")
    parameters = {**values, **wanted}
    ends = run_in_task(algorithm, parameters, context, ear, application)
    assert ends[0][0], ear.text
    assert handleAlgorithmResults(algorithm, context, ear, parameters), ear.text
    group = project.layerTreeRoot().findGroup("RoadSeg")
    return {node.layer().name(): node.layer() for node in group.findLayers()}


def test_segments_results_arrive_grouped_named_and_styled(play_runtime, image, tmp_path, model, qgis_app, no_iface):
    play_runtime(SEGMENT)
    outputs = {"MASK": str(tmp_path / "a.tif"), "PROBABILITY": "TEMPORARY_OUTPUT"}
    layers = load("segment", {"INPUT": str(image), "MODEL": model}, outputs, qgis_app)
    assert set(layers) == {"Road mask (Bild ä)", "Road probability (Bild ä)"}
    assert layers["Road mask (Bild ä)"].renderer().type() == "paletted"
    assert layers["Road probability (Bild ä)"].renderer().type() == "singlebandpseudocolor"
    assert read_choice(layers["Road probability (Bild ä)"]).threshold == 0.35


def color_of(renderer, value):
    categories = renderer.categories()  # which own their symbols
    return categories[renderer.categoryIndexForValue(value)].symbol().color().name()


def test_a_regions_index_arrives_with_its_roads_colored_by_status(
    play_runtime, image, tmp_path, model, qgis_app, no_iface
):
    play_runtime(REGION)
    folder = tmp_path / "region"
    values = {"INPUT": [str(image)], "MODEL": model, "FOLDER": str(folder)}
    layers = load("mapregion", values, {"OUTPUT": str(tmp_path / "roads.gpkg")}, qgis_app)
    assert set(layers) == {"Roads", "Index of scenes"}
    index = layers["Index of scenes"]
    assert [feature["status"] for feature in index.getFeatures()] == ["done"]
    renderer = index.renderer()
    statuses = ("waiting", "running", "done", "kept", "failed", "outside")
    assert {category.value() for category in renderer.categories()} == {*statuses, ""}
    assert len({color_of(renderer, status) for status in statuses[:5]}) == 5
    later = QgsVectorLayer(str(folder / "index.gpkg"), "later", "ogr")  # as somebody adds it who looks on
    assert later.renderer().dump() == renderer.dump()


def test_an_index_that_is_added_while_a_region_is_mapped_is_read_again_by_itself(tmp_path, play_runtime, image, model):
    play_runtime(REGION)
    index = tmp_path / "region" / "index.gpkg"
    values = {"INPUT": [str(image)], "MODEL": model, "FOLDER": str(index.parent)}
    run("mapregion", {**values, "OUTPUT": str(tmp_path / "roads.gpkg")})
    assert QgsVectorLayer(str(index), "done", "ogr").autoRefreshMode() == Qgis.AutoRefreshMode.Disabled
    shutil.copyfile(RESOURCES / "styles" / "region_index_live.qml", index.with_suffix(".qml"))  # as the worker does
    live = QgsVectorLayer(str(index), "live", "ogr")
    assert live.autoRefreshMode() == Qgis.AutoRefreshMode.ReloadData and live.autoRefreshInterval() == 5000
    assert live.renderer().classAttribute() == "status"


def test_a_regions_index_is_not_loaded_where_no_result_is(play_runtime, image, tmp_path, model):
    play_runtime(REGION)
    context = QgsProcessingContext()
    context.setProject(QgsProject.instance())
    values = {"INPUT": [str(image)], "MODEL": model, "FOLDER": str(tmp_path / "region")}
    run("mapregion", {**values, "OUTPUT": str(tmp_path / "roads.gpkg")}, context=context)
    assert not context.layersToLoadOnCompletion()


def test_a_models_results_arrive_as_those_of_its_steps(play_runtime, image, tmp_path, model, qgis_app, no_iface):
    play_runtime(f"exec({ {'extractroads': NETWORK, 'comparenetworks': CHANGES}!r}[job()['job']])")
    before = memory_layer("LineString", "OSM", "LineString (350001 3059999, 350011 3059999)")
    values = {"INPUT": str(image), "MODEL": model, "BEFORE": before, "EXTENT": str(image)}
    outputs = {"OUTPUT": str(tmp_path / "changes.gpkg"), "ROADS": str(tmp_path / "roads.gpkg")}
    layers = load("updateosm", values, outputs, qgis_app)
    assert set(layers) == {"Roads (Bild ä)", "Changes (Bild ä)"}
    assert layers["Changes (Bild ä)"].renderer().type() == "categorizedSymbol"


def paint(style, kind="string", **values):
    """Return the red, green and blue of a line with such values, painted on white, where it is darkest."""
    fields = "".join(f"&field={name}:{kind}" for name in values)
    layer = memory_layer("LineString", "lines", "LineString (350000 3060000, 350010 3060000)", fields)
    layer.dataProvider().changeAttributeValues({1: dict(enumerate(values.values()))})
    layer.loadNamedStyle(str(RESOURCES / "styles" / f"{style}.qml"))
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(layer.crs())
    settings.setExtent(QgsRectangle(350002, 3059999, 350008, 3060001))
    settings.setOutputSize(QSize(60, 20))
    image = QImage(settings.outputSize(), QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    QgsMapRendererCustomPainterJob(settings, painter).renderSynchronously()
    painter.end()
    return min((image.pixelColor(30, row).getRgb()[:3] for row in range(20)), key=sum)


def test_lines_are_painted_by_their_fields_and_where_they_have_none_too():
    new = paint("changes", change="new")
    assert new == paint("changes", change="new", review=None) == paint("changes", change="new", review="accepted")
    assert new[0] < 55 and 175 < paint("changes", change="new", review="rejected")[0] < 235  # faint
    states = ("seen", "partly seen", "not seen", "under water", "in a hazard", "hidden")
    assert len({paint("states", state=state) for state in states}) == len(states)
    sure, middling, doubtful = (paint("roads", "double", confidence=value) for value in (0.9, 0.7, 0.5))
    assert len({sure, middling, doubtful}) == 3
    assert paint("roads", "double", confidence=None) == paint("roads", "double", width_m=5.0) == sure


# Lines of the classes that the mask's folder is named for.
CLASSED = (
    WRITE
    + """
options = job()["options"]
classes = os.path.basename(os.path.dirname(options["raster"])).split(",")
rows = [("LINESTRING (350001 3059999, 350011 3059999)", {"road_class": name, "confidence": 0.9}) for name in classes]
write(options["roads"], "roads", ogr.wkbLineString, {"road_class": ogr.OFTString, "confidence": ogr.OFTReal}, rows)
send("result", result={"count": len(rows), "length_m": 20.0})
"""
)


def mask_of(image, classes):
    """Return a mask of which the lines will be of certain classes."""
    folder = image.parent / classes
    folder.mkdir()
    return shutil.copyfile(image, folder / "mask.tif")


@pytest.mark.parametrize(
    ("classes", "renderer"),
    [("primary,track", "categorizedSymbol"), ("track,track", "RuleRenderer"), ("paved,dirt", "RuleRenderer")],
)
def test_roads_arrive_by_class_where_they_are_of_several_that_maps_know(
    play_runtime, image, tmp_path, qgis_app, no_iface, classes, renderer
):
    play_runtime(CLASSED)
    roads = tmp_path / "roads.gpkg"
    layers = load("vectorize", {"INPUT": str(mask_of(image, classes))}, {"OUTPUT": str(roads)}, qgis_app)
    assert layers["Roads (mask)"].renderer().type() == renderer
    assert QgsVectorLayer(str(roads), "later", "ogr").renderer().type() == renderer


def test_the_style_beside_a_file_follows_the_result_and_is_never_half_there(play_runtime, image, tmp_path):
    play_runtime(CLASSED)
    out = tmp_path / "out"
    out.mkdir()
    for classes, style in (("primary,track", "roadsbyclass"), ("track", "roads")):
        run("vectorize", {"INPUT": str(mask_of(image, classes)), "OUTPUT": str(out / "a.gpkg")})
        assert (out / "a.qml").read_text() == (RESOURCES / "styles" / f"{style}.qml").read_text()
        assert sorted(path.name for path in out.iterdir()) == ["a.gpkg", "a.qml"]


def test_a_style_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path):
    file, taken = tmp_path / "a.tif", tmp_path / "a.qml"
    file.touch()
    taken.mkdir()
    ear = Ear()
    set_style(str(file), "mask", QgsProcessingContext(), ear)
    assert "style file next to" in ear.text
    assert sorted(tmp_path.iterdir()) == [taken, file]


def test_roads_of_a_mask_are_named_for_the_image(play_runtime, image, tmp_path, model, qgis_app, no_iface):
    play_runtime(f"exec({ {'segment': SEGMENT, 'vectorize': NETWORK}!r}[job()['job']])")
    masks = load("segment", {"INPUT": str(image), "MODEL": model}, {"MASK": str(tmp_path / "a.tif")}, qgis_app)
    (mask,) = masks.values()
    layers = load("vectorize", {"INPUT": mask.id()}, {"OUTPUT": "TEMPORARY_OUTPUT"}, qgis_app)
    assert set(layers) == {"Road mask (Bild ä)", "Roads (Bild ä)"}


def test_only_what_roadseg_itself_has_named_is_named_for_what_it_is_made_of():
    assert source_name_of("Road probability (Bonn (2019))") == "Bonn (2019)"
    for name in ("Bonn (2019)", "Road mask", "Road mask of Bonn (2019)", "Road mask (a) b", ""):
        assert source_name_of(name) == name


def test_a_bad_row_of_a_batch_is_told_and_the_others_are_done(play_runtime, image, tmp_path, model, batch):
    play_runtime(SEGMENT)
    broken = tmp_path / "broken.tif"
    broken.write_text("no image")
    rows = [
        {"INPUT": str(path), "MODEL": model, "MASK": str(tmp_path / f"{number}.tif")}
        for number, path in enumerate((image, broken, image))
    ]
    told = batch("segment", rows)
    assert [path.name for path in sorted(tmp_path.glob("[0-9].tif"))] == ["0.tif", "2.tif"]
    assert "broken.tif" in told.partition("Processing algorithm 2/3")[2]


def test_each_row_of_a_batch_is_named_for_its_own_image(play_runtime, image, tmp_path, model, batch):
    play_runtime(SEGMENT)
    project = QgsProject()  # in the open one, pytest-qgis lets events pass whenever a layer arrives
    rows = [
        {
            "INPUT": str(shutil.copyfile(image, tmp_path / f"{name}.tif")),
            "MODEL": model,
            "MASK": QgsProcessingOutputLayerDefinition(str(tmp_path / f"{name}_mask.tif"), project),
        }
        for name in ("Bonn", "Köln")
    ]
    told = batch("segment", rows)
    group = project.layerTreeRoot().findGroup("RoadSeg")
    assert group is not None, told
    assert {node.layer().name() for node in group.findLayers()} == {"Road mask (Bonn)", "Road mask (Köln)"}


@pytest.mark.parametrize("style", ["probability", "uncertainty"])
def test_a_raster_of_levels_with_a_scale_is_visible_where_it_is_high(tmp_path, style):
    """QGIS applies the scale of a band, so that 254 levels are values from 0 to 1."""
    path = str(tmp_path / "levels.tif")
    dataset = gdal.GetDriverByName("GTiff").Create(path, 2, 1, 1, gdal.GDT_Byte)
    dataset.SetGeoTransform((0, 1, 0, 0, 0, -1))
    dataset.GetRasterBand(1).SetScale(1 / 254)
    dataset.GetRasterBand(1).WriteRaster(0, 0, 2, 1, bytes([0, 254]))
    del dataset
    layer = QgsRasterLayer(path, "levels")
    _, loaded = layer.loadNamedStyle(str(RESOURCES / "styles" / f"{style}.qml"))
    block = layer.renderer().block(1, layer.extent(), 2, 1)
    assert loaded and [block.image().pixelColor(column, 0).alpha() for column in (0, 1)] == [0, 230]
