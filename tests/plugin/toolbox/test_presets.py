"""What a dialog begins with, and where results come to lie, so that the next step finds them."""

import pytest
from qgis.core import QgsProcessingContext, QgsProject, QgsRasterLayer
from roadseg.qgis_roadseg.layers.styles import GROUP, set_order


@pytest.fixture
def project(qgis_app, monkeypatch):
    monkeypatch.setattr("qgis.utils.iface", object())
    yield QgsProject.instance()
    QgsProject.instance().clear()


def proposed(provider):
    definitions = {name: provider.algorithm(name).create() for name in ("roadstatus", "extractroads", "finetune")}
    given = {"roadstatus": "RASTER", "extractroads": "INPUT", "finetune": "INPUT"}
    return [each.parameterDefinition(given[name]).defaultValueForGui() for name, each in definitions.items()]


def test_the_only_image_is_proposed_where_an_image_is_asked_for(project, provider, image):
    assert proposed(provider) == [None, None, None]
    first, result = QgsRasterLayer(str(image), "Image"), QgsRasterLayer(str(image), "Road mask")
    project.addMapLayer(first)
    project.addMapLayer(result, False)
    project.layerTreeRoot().addGroup(GROUP).addLayer(result)
    assert proposed(provider) == [first.id(), first.id(), [first.id()]]
    assert provider.algorithm("vectorize").create().parameterDefinition("INPUT").defaultValueForGui() is None
    project.addMapLayer(QgsRasterLayer(str(image), "Image before"))
    assert proposed(provider) == [None, None, None]


@pytest.mark.parametrize(
    ("algorithm", "from_above"),
    [("roadstatus", ["ARROWS", "REACHED", "OUTPUT"]), ("getosmdata", ["OUTPUT", "RAILS", "NO_ROAD"])],
)
def test_no_result_hides_another_and_the_main_one_lies_on_those_like_it(project, provider, algorithm, from_above):
    context = QgsProcessingContext()
    for name in from_above:
        context.addLayerToLoadOnCompletion(name, QgsProcessingContext.LayerDetails(name, project))
        set_order(name, provider.algorithm(algorithm).parameterDefinition(name), context)
    waiting = context.layersToLoadOnCompletion()
    assert sorted(waiting, key=lambda name: -waiting[name].layerSortKey) == from_above
