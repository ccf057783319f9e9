"""Label layers made for a live session in the background, and loaded on top of the layer tree.

Scope: tasks, files, the layer tree. Independent of drawn features.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from qgis.core import (
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransformContext,
    QgsEditFormConfig,
    QgsMapLayer,
    QgsProcessingAlgRunnerTask,
    QgsProcessingContext,
    QgsProject,
    QgsTask,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QTimer

from ....training_core.errors import RoadSegError
from ...layers import label_layers
from ...runtime.feedback import ErrorRecorder
from ...translation import tr

CREATE = "roadseg:createlabellayers"

# Tasks that run: QGIS does not keep Python's part of them alive.
_RUNNING: "dict[QgsTask, tuple[Any, ...]]" = {}


def create_label_layers(
    image: QgsMapLayer, path: str, on_end: Callable[[dict[str, QgsVectorLayer], str], None]
) -> None:
    """Make label layers as *Create label layers* does, in the background, and load them.

    `on_end` is called with the layers by their names in the file, and an error; either is empty.
    """
    feedback, context = ErrorRecorder(), QgsProcessingContext()
    context.setProject(QgsProject.instance())
    algorithm = QgsApplication.processingRegistry().createAlgorithmById(CREATE)
    task = QgsProcessingAlgRunnerTask(algorithm, {"INPUT": image.id(), "OUTPUT": path}, context, feedback)

    def end(is_made: bool, _: dict[str, Any]) -> None:
        del _RUNNING[task]
        if is_made:
            _load_one_by_one({name: label_layers.layer_uri(path, name) for name in label_layers.NAMES}, {}, on_end)
        else:
            on_end({}, feedback.error or tr("{path} cannot be written.").format(path=path))

    task.executed.connect(end)
    _RUNNING[task] = (feedback, context, algorithm)  # which the task does not keep alive
    QgsApplication.taskManager().addTask(task)


def create_no_road(
    beside: str, crs: QgsCoordinateReferenceSystem, on_end: Callable[[Optional[QgsVectorLayer], str], None]
) -> None:
    """Make the layer of places without road for labels that have none, in the background, and load it."""
    task = _NoRoadTask(beside, crs, on_end)
    _RUNNING[task] = ()
    QgsApplication.taskManager().addTask(task)


class _NoRoadTask(QgsTask):
    """Writes the layer in another thread."""

    def __init__(self, beside: str, crs: QgsCoordinateReferenceSystem, on_end: Callable[..., None]) -> None:
        super().__init__(tr("RoadSeg live: creating a layer for places without a road"))
        self._beside, self._crs, self._on_end = beside, crs, on_end
        self._transforms = QgsCoordinateTransformContext(QgsProject.instance().transformContext())
        self._uri = self._error = ""

    def run(self) -> bool:
        """Write the file; QGIS calls this in another thread."""
        try:
            self._uri = label_layers.write_no_road(self._beside, self._crs, self._transforms)
        except (RoadSegError, OSError) as error:
            self._error = str(error)
        return bool(self._uri)

    def finished(self, is_done: bool) -> None:
        """Load the layer; QGIS calls this in the main thread."""
        del _RUNNING[self]
        self._on_end(_load(self._uri, label_layers.NO_ROAD) if is_done else None, self._error)


def file_of(layer: QgsVectorLayer) -> str:
    """Return the path of a layer's file; empty where it has none."""
    path = layer.source().partition("|")[0]
    return path if layer.providerType() == "ogr" and Path(path).is_file() else ""


def name_in_file(layer: QgsVectorLayer) -> str:
    """Return the name of a layer within its GeoPackage; empty where its source does not state one."""
    parts = (part.partition("=") for part in layer.source().split("|")[1:])
    return next((value for name, _, value in parts if name.lower() == "layername"), "")


def _load_one_by_one(
    uris: dict[str, str], loaded: dict[str, QgsVectorLayer], on_end: Callable[[dict[str, QgsVectorLayer], str], None]
) -> None:
    """Load a layer in each turn of the event loop, so that QGIS stays responsive, then report all."""
    if not uris:
        on_end(loaded, "")
        return
    (name, uri), *others = uris.items()
    loaded[name] = _load(uri, name)
    QTimer.singleShot(0, lambda: _load_one_by_one(dict(others), loaded, on_end))


def _load(uri: str, name: str) -> QgsVectorLayer:
    """Load a label layer on top of the layer tree, with the style in its file, and without a form for each feature."""
    layer = QgsVectorLayer(uri, label_layers.titles(tr)[name], "ogr")
    form = layer.editFormConfig()
    form.setSuppress(QgsEditFormConfig.FeatureFormSuppress.SuppressOn)  # in this project: each stroke counts at once
    layer.setEditFormConfig(form)
    QgsProject.instance().addMapLayer(layer, False)
    QgsProject.instance().layerTreeRoot().insertLayer(0, layer)
    return layer
