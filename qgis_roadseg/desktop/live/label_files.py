"""Label layers made for a live session in the background, and loaded on top of the layer tree.

Scope: files, the layer tree. Independent of drawn features.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Optional

from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransformContext,
    QgsEditFormConfig,
    QgsMapLayer,
    QgsProject,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QTimer

from ...layers import label_layers
from ...translation import tr
from ..tasks import run_algorithm, run_function


def create_label_layers(
    image: QgsMapLayer, path: str, on_end: Callable[[dict[str, QgsVectorLayer], str], None]
) -> None:
    """Make label layers as *Create label layers* does, in the background, and load them.

    `on_end` is called with the layers by their names in the file, and an error; either is empty.
    """

    def load(is_made: bool, error: str) -> None:
        if is_made:
            _load_one_by_one({name: label_layers.layer_uri(path, name) for name in label_layers.NAMES}, {}, on_end)
        else:
            on_end({}, error or tr("{path} cannot be written.").format(path=path))

    run_algorithm("createlabellayers", {"INPUT": image.id(), "OUTPUT": path}, load)


def create_no_road(
    beside: str, crs: QgsCoordinateReferenceSystem, on_end: Callable[[Optional[QgsVectorLayer], str], None]
) -> None:
    """Make the layer of places without road for labels that have none, in the background, and load it."""
    transforms = QgsCoordinateTransformContext(QgsProject.instance().transformContext())
    run_function(
        tr("RoadSeg live: creating a layer for places without a road"),
        lambda _: label_layers.write_no_road(beside, crs, transforms),
        lambda uri, error: on_end(None, str(error)) if error else on_end(_load(uri, label_layers.NO_ROAD), ""),
    )


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
