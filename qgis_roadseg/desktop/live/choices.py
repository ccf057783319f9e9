"""Inputs of a live session: the form that asks for them, its suggestions, and how a resumed session finds them again.

Scope: widgets, layers of the project. Independent of the session.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, Optional

from qgis.core import Qgis, QgsMapLayer, QgsProject, QgsRasterLayer, QgsVectorLayer
from qgis.gui import QgsFileWidget, QgsMapLayerComboBox
from qgis.PyQt.QtWidgets import QFormLayout, QWidget

from ....training_core.jobs import STARTER
from ...layers.label_layers import AOI, NAMES, NO_ROAD, ROADS, titles
from ...toolbox.parameters import ANY_FILTER, MODEL_FILTER
from ...translation import tr
from .label_files import name_in_file
from .overlay import former_overlays

IMAGE, MODEL = "image", "model"
_CHOSEN = "chosen"  # property of a box: the id of the layer
# As flags: the union of two alone is a number in PyQt5.
_IMAGES = Qgis.LayerFilters(Qgis.LayerFilter.RasterLayer | Qgis.LayerFilter.MeshLayer)
_POLYGONS = Qgis.LayerFilters(Qgis.LayerFilter.PolygonLayer)
_FILTERS = {
    ROADS: Qgis.LayerFilters(Qgis.LayerFilter.LineLayer | Qgis.LayerFilter.PolygonLayer),
    AOI: _POLYGONS,
    NO_ROAD: _POLYGONS,
}


class ChoicesForm(QWidget):
    """Asks for image, model and label layers; suggests layers of the project."""

    def __init__(self, parent: Optional[QWidget] = None) -> None:
        super().__init__(parent)
        self.image = QgsMapLayerComboBox()
        self.image.setFilters(_IMAGES)
        self.image.setAllowEmptyLayer(True, tr("Choose an image"))
        self.image.setCurrentIndex(0)
        self.model = QgsFileWidget()
        self.model.setFilter(f"{MODEL_FILTER};;{ANY_FILTER}")
        self.model.lineEdit().setPlaceholderText(tr("Starter model"))
        self.labels = {name: QgsMapLayerComboBox() for name in (ROADS, AOI, NO_ROAD)}
        for name, box in self.labels.items():
            box.setFilters(_FILTERS[name])
            box.setAllowEmptyLayer(True, tr("Create new layers") if name == ROADS else tr("None"))
            box.setCurrentIndex(0)
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow(tr("Image"), self.image)
        form.addRow(tr("Model"), self.model)
        for name, box in self.labels.items():
            form.addRow(titles(tr)[name], box)
        for box in self._boxes():
            box.activated.connect(lambda _: self._remember())
        self.suggest()

    def model_name(self) -> str:
        """Return the model to start from: a path, or `starter`."""
        return self.model.filePath().strip() or STARTER

    def choose(self, name: str, layer: Optional[QgsVectorLayer]) -> None:
        """Choose a label layer."""
        _set(self.labels[name], layer)
        self._remember()

    def forget(self, layer_ids: Collection[str]) -> None:
        """Choose nothing in place of layers that were removed: a box itself takes their neighbor in its list."""
        for box in self._boxes():
            if box.property(_CHOSEN) in layer_ids:
                box.setCurrentIndex(0)
        self._remember()

    def suggest(self) -> None:
        """Fill empty boxes with the topmost visible layers that fit."""
        project = QgsProject.instance()
        overlays = [project.mapLayer(each) for each in former_overlays(project)]
        self.image.setExceptedLayerList(overlays)
        tree = project.layerTreeRoot()
        shown = {layer.id() for layer in tree.checkedLayers()}
        layers = [each for each in tree.layerOrder() if each.id() in shown and each not in overlays]
        if self.image.currentLayer() is None:
            _set(self.image, next((each for each in layers if isinstance(each, QgsRasterLayer)), None))
        vectors = [layer for layer in layers if isinstance(layer, QgsVectorLayer)]
        for name, box in self.labels.items():
            if box.currentLayer() is None:
                _set(box, _suggestion(name, vectors))
        self._remember()

    def chosen(self) -> dict[str, Any]:
        """Return the choices in the form that a resumed session restores."""
        labels = {name: _described(box.currentLayer()) for name, box in self.labels.items()}
        return {IMAGE: _described(self.image.currentLayer()), MODEL: self.model_name(), **labels}

    def restore(self, chosen: Mapping[str, Any]) -> None:
        """Restore the choices of a session; layers that are not in the project are loaded from their sources."""
        model = chosen.get(MODEL)
        self.model.setFilePath(model if isinstance(model, str) and model != STARTER else "")
        _set(self.image, _find(chosen.get(IMAGE), is_raster=True))
        for name in NAMES:
            _set(self.labels[name], _find(chosen.get(name), is_raster=False))
        self._remember()

    def _boxes(self) -> list[QgsMapLayerComboBox]:
        return [self.image, *self.labels.values()]

    def _remember(self) -> None:
        for box in self._boxes():
            layer = box.currentLayer()
            box.setProperty(_CHOSEN, "" if layer is None else layer.id())


def _set(box: QgsMapLayerComboBox, layer: Optional[QgsMapLayer]) -> None:
    """Choose a layer in a box, or the first entry, which stands for none and says what that means."""
    if layer is None:
        box.setCurrentIndex(0)
    else:
        box.setLayer(layer)


def _suggestion(name: str, layers: list[QgsVectorLayer]) -> Optional[QgsVectorLayer]:
    """Return the layer that has this name in its file or on the map; for roads, else the upper one of lines."""
    title = titles(tr)[name]
    named = [layer for layer in layers if name_in_file(layer) == name or layer.name() == title]
    lines = [layer for layer in layers if layer.geometryType() == Qgis.GeometryType.Line]
    return next(iter(named or (lines if name == ROADS else [])), None)


def _described(layer: Optional[QgsMapLayer]) -> dict[str, str]:
    if layer is None:
        return {}
    return {"id": layer.id(), "name": layer.name(), "source": layer.source(), "provider": layer.providerType()}


def _find(described: Any, is_raster: bool) -> Optional[QgsMapLayer]:
    """Return a layer of the project by its id, else by its source; else load it where its file is still there."""
    if not isinstance(described, dict) or not described:
        return None
    project = QgsProject.instance()
    layer_id, name, source, provider = (str(described.get(each, "")) for each in ("id", "name", "source", "provider"))
    layer = project.mapLayer(layer_id)
    if layer is not None:
        return layer
    layer = next((each for each in project.mapLayers().values() if each.source() == source), None)
    if layer is not None or not os.path.isfile(source.partition("|")[0]):
        return layer
    layer = QgsRasterLayer(source, name, provider) if is_raster else QgsVectorLayer(source, name, provider)
    return project.addMapLayer(layer) if layer.isValid() else None
