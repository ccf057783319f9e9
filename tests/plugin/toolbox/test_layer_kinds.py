"""Every kind of layer at every parameter for layers: it reaches the worker, or is refused by name. Never a crash."""

import pytest
from qgis.core import (
    QgsAnnotationLayer,
    QgsGroupLayer,
    QgsMeshLayer,
    QgsPointCloudLayer,
    QgsProcessingContext,
    QgsProcessingParameterFeatureSink,
    QgsProcessingParameterFeatureSource,
    QgsProcessingParameterMapLayer,
    QgsProject,
    QgsRasterLayer,
    QgsTiledSceneLayer,
    QgsVectorLayer,
    QgsVectorTileLayer,
)
from roadseg.qgis_roadseg.layers.image_layer import takes_areas
from roadseg.qgis_roadseg.toolbox import job_algorithm
from roadseg.training_core.errors import JobError

from ..support.acting import Ear
from ..support.declared import SHAPES, good_values, inputs_of, is_raster, make_container
from ..support.meshes import write_mesh

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")
HERE = "This run has come to the worker."
PROJECT = QgsProject.instance()


class Worker:
    """A worker that gets every job, and does none."""

    def __init__(self, *about, **variables):
        pass

    def run(self, job):
        raise JobError(HERE, "")


def layers(container, folder):
    """Return a layer of each kind, by kind; all but those whose file is missing can be shown."""
    tiles = "type=xyz&zmax=0&zmin=0&url=file:///nowhere/{z}/{x}/{y}"
    annotations = QgsAnnotationLayer.LayerOptions(PROJECT.transformContext())
    made = {
        "image": QgsRasterLayer(f"GPKG:{container}:image", "image"),
        "web map": QgsRasterLayer(f"{tiles}.png", "web map", "wms"),
        "mesh": QgsMeshLayer(write_mesh(folder / "height.2dm"), "mesh", "mdal"),
        **{name: QgsVectorLayer(f"{container}|layername={name}", name, "ogr") for name in SHAPES},
        "table": QgsVectorLayer("None?field=a:integer", "table", "memory"),
        "vector tiles": QgsVectorTileLayer(f"{tiles}.pbf", "vector tiles"),
        "point cloud": QgsPointCloudLayer("/nowhere/cloud.copc.laz", "point cloud", "copc"),
        "annotations": QgsAnnotationLayer("annotations", annotations),
        "group": QgsGroupLayer("group", QgsGroupLayer.LayerOptions(PROJECT.transformContext())),
        "tiled scene": QgsTiledSceneLayer("url=file:///nowhere/tileset.json", "tiled scene", "cesiumtiles"),
        "gone image": QgsRasterLayer("/nowhere/image.tif", "gone image"),
        "gone lines": QgsVectorLayer("/nowhere/lines.gpkg", "gone lines", "ogr"),
    }
    for kind, layer in made.items():
        layer.setName(named(kind))
    return made


def named(kind):
    """Return the name of a layer of a kind, which no message has in other words."""
    return f"<{kind}>"


# Kinds that some algorithms render.
RENDERED = {"web map", "mesh"}


@pytest.fixture
def outcome(provider, play_runtime, monkeypatch, tmp_path):
    """Return a function that runs an algorithm and returns its messages, or HERE if it reaches the worker."""
    play_runtime("")
    monkeypatch.setattr(job_algorithm, "WorkerClient", Worker)

    def run(algorithm, values):
        context, ear = QgsProcessingContext(), Ear()
        context.setProject(PROJECT)
        (tmp_path / "OUTPUT.gpkg").unlink(missing_ok=True)
        fine, told = algorithm.checkParameterValues(values, context)
        if fine and algorithm.groupId() == "workflows":  # whose steps are algorithms of this table
            return HERE
        if fine:
            _, is_done = algorithm.run(values, context, ear)  # which runs a copy of it
            told = HERE if is_done else ear.text  # Create label layers needs no worker
        return told

    return run


def layer_inputs(provider):
    return [
        (algorithm, source)
        for algorithm in provider.algorithms()
        for source in inputs_of(algorithm)
        if is_raster(source) or isinstance(source, QgsProcessingParameterFeatureSource)
    ]


def test_every_kind_of_layer_is_taken_or_refused_by_name(provider, outcome, model, tmp_path):
    container = make_container(tmp_path / "town.gpkg")
    made = layers(container, tmp_path)
    PROJECT.addMapLayers(list(made.values()))
    failures, count = [], 0
    for algorithm, source in layer_inputs(provider):
        good = good_values(algorithm, container, model, tmp_path, source.name())
        sinks = [
            each for each in algorithm.parameterDefinitions() if isinstance(each, QgsProcessingParameterFeatureSink)
        ]
        good.update({each.name(): "TEMPORARY_OUTPUT" for each in sinks})  # whose formats are no matter here
        taken = {"image"} if is_raster(source) else set(SHAPES)  # the worker knows which shapes it needs
        if isinstance(source, QgsProcessingParameterMapLayer) and takes_areas(source):
            taken |= set(SHAPES)
        for kind, layer in made.items():
            count += 1
            value = [layer] if isinstance(good[source.name()], list) else layer
            told = outcome(algorithm, {**good, source.name(): value})
            if not (HERE in told if kind in taken else named(kind) in told or (kind in RENDERED and HERE in told)):
                failures.append(f"{algorithm.name()} {source.name()} {kind}: {told}")
    assert failures == []
    assert count > 500
