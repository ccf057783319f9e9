"""Results as they arrive in a project: named, grouped and styled; and batches, as Processing runs them."""

import time

import pytest
from qgis.core import (
    QgsApplication,
    QgsProcessingContext,
    QgsProcessingOutputLayerDefinition,
    QgsProject,
    QgsRasterLayer,
    QgsRenderContext,
    QgsVectorLayer,
)
from qgis.PyQt.QtWidgets import QTextEdit
from roadseg.qgis_roadseg.paths import RESOURCES

from .acting import Ear, memory_layer, run, run_in_task
from .parts import CHANGES, NETWORK, SEGMENT

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


@pytest.fixture
def no_iface(monkeypatch):
    monkeypatch.setattr("processing.gui.Postprocessing.iface", None)


def test_segments_results_arrive_grouped_named_and_styled(play_runtime, image, tmp_path, model, qgis_app, no_iface):
    play_runtime(SEGMENT)
    outputs = {"MASK": str(tmp_path / "a.tif"), "PROBABILITY": "TEMPORARY_OUTPUT"}
    layers = load("segment", {"INPUT": str(image), "MODEL": model}, outputs, qgis_app)
    assert set(layers) == {"Road mask (Bild ä)", "Road probability (Bild ä)"}
    assert layers["Road mask (Bild ä)"].renderer().type() == "paletted"
    assert layers["Road probability (Bild ä)"].renderer().type() == "singlebandpseudocolor"


def test_a_models_results_arrive_as_those_of_its_steps(play_runtime, image, tmp_path, model, qgis_app, no_iface):
    play_runtime(f"exec({ {'extractroads': NETWORK, 'comparenetworks': CHANGES}!r}[job()['job']])")
    before = memory_layer("LineString", "OSM", "LineString (350001 3059999, 350011 3059999)")
    values = {"INPUT": str(image), "MODEL": model, "BEFORE": before, "EXTENT": str(image)}
    outputs = {"OUTPUT": str(tmp_path / "changes.gpkg"), "ROADS": str(tmp_path / "roads.gpkg")}
    layers = load("updateosm", values, outputs, qgis_app)
    assert set(layers) == {"Roads (Bild ä)", "Changes (Bild ä)"}
    assert layers["Changes (Bild ä)"].renderer().type() == "categorizedSymbol"


def test_a_file_that_is_added_later_is_styled_by_qgis_itself(play_runtime, image, tmp_path, model):
    play_runtime(f"exec({ {'segment': SEGMENT, 'vectorize': NETWORK}!r}[job()['job']])")
    roads, probability = tmp_path / "roads.gpkg", tmp_path / "probability.tif"
    run("maproads", {"INPUT": str(image), "MODEL": model, "OUTPUT": str(roads), "PROBABILITY": str(probability)})
    assert QgsRasterLayer(str(probability)).renderer().type() == "singlebandpseudocolor"
    layer = QgsVectorLayer(str(roads), "roads", "ogr")
    shipped = QgsVectorLayer(str(roads), "roads", "ogr", QgsVectorLayer.LayerOptions(False))
    shipped.loadNamedStyle(str(roads.with_suffix(".qml")))
    assert layer.renderer().dump() == shipped.renderer().dump()


def color_of_a_road(**values):
    """Return the color in which a road with such values is painted."""
    layer = memory_layer("LineString", "roads", "LineString (0 0, 9 9)", "".join(f"&field={n}:double" for n in values))
    layer.loadNamedStyle(str(RESOURCES / "styles" / "roads.qml"))
    (road,) = layer.getFeatures()
    for name, value in values.items():
        road[name] = value
    context, renderer = QgsRenderContext(), layer.renderer()
    context.setExpressionContext(layer.createExpressionContext())
    renderer.startRender(context, layer.fields())
    (symbol,) = renderer.symbolsForFeature(road, context)
    color = symbol.symbolLayer(1).color().name()
    renderer.stopRender(context)
    return color


def test_roads_are_painted_by_confidence_and_where_there_is_none_too():
    sure, middling, doubtful = (color_of_a_road(confidence=value) for value in (0.9, 0.7, 0.5))
    assert len({sure, middling, doubtful}) == 3
    assert color_of_a_road(confidence=None) == color_of_a_road(width_m=5.0) == sure


def test_a_bad_row_of_a_batch_is_told_and_the_others_are_done(
    play_runtime, image, tmp_path, model, monkeypatch, qgis_app
):
    from processing.gui.BatchAlgorithmDialog import BatchAlgorithmDialog

    play_runtime(SEGMENT)
    for module in ("ParametersPanel", "BatchPanel", "Postprocessing", "BatchAlgorithmDialog"):
        monkeypatch.setattr(f"processing.gui.{module}.iface", None)
    dialog = BatchAlgorithmDialog(QgsApplication.processingRegistry().createAlgorithmById("roadseg:segment"))
    broken = tmp_path / "broken.tif"
    broken.write_text("no image")
    rows = [
        {"INPUT": str(path), "MODEL": model, "MASK": str(tmp_path / f"{number}.tif")}
        for number, path in enumerate((image, broken, image))
    ]
    dialog.execute(rows)
    end = time.monotonic() + 20
    while not (tmp_path / "2.tif").exists() and time.monotonic() < end:
        qgis_app.processEvents()
        time.sleep(0.01)
    assert [path.name for path in sorted(tmp_path.glob("[0-9].tif"))] == ["0.tif", "2.tif"]
    told = "\n".join(log.toPlainText() for log in dialog.findChildren(QTextEdit))
    assert "broken.tif" in told.partition("Processing algorithm 2/3")[2]
    dialog.close()
