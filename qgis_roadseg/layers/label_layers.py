"""Label layers to digitize roads, areas of interest and places without road in: one GeoPackage with forms and styles.

Scope: layers, forms, files. Independent of Processing. Labels are precious, so no file is ever replaced.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransformContext,
    QgsDefaultValue,
    QgsEditFormConfig,
    QgsEditorWidgetSetup,
    QgsFeature,
    QgsGeometry,
    QgsValueMapFieldFormatter,
    QgsVectorFileWriter,
    QgsVectorLayer,
)

from ...training_core.errors import OutputError
from ...training_core.jobs import LabelOptions
from ...training_core.jobs.file_systems import BESIDE_OUTPUTS, PrivateFolder, replace
from ..paths import RESOURCES, free_path

ROADS, AOI, NO_ROAD = "roads", "aoi", "no_road"
# From below, as they lie on the map.
NAMES = (AOI, NO_ROAD, ROADS)
# Named as the fields of RoadSeg's own layers of roads are.
CLASS_FIELD, WIDTH_FIELD, SURE_FIELD = "road_class", "width_m", "sure"
WIDTH = next(field for field in LabelOptions.option_fields() if field.name == "width_m")
# Definitions for the memory provider: geometry type and fields.
_KINDS = {
    ROADS: f"LineString?field={CLASS_FIELD}:string&field={WIDTH_FIELD}:double&field={SURE_FIELD}:bool",
    AOI: "Polygon",
    NO_ROAD: "Polygon",
}
_STYLES = {ROADS: "drawnroads", AOI: "aoi", NO_ROAD: "noroad"}
_SUFFIX = ".gpkg"


@dataclass(frozen=True)
class LabelLayers:
    """Properties of label layers.

    Parameters
    ----------
    classes : list of str
        Road classes that the form offers, besides no class.
    area : QgsGeometry, optional
        Initial area of interest, in the CRS; None for an empty layer.
    """

    crs: QgsCoordinateReferenceSystem
    classes: list[str]
    width_m: float
    area: Optional[QgsGeometry] = None


def layer_uri(path: str, name: str) -> str:
    """Return the URI of a layer in a GeoPackage."""
    return f"{path}|layername={name}"


def titles(tr: Callable[[str], str]) -> dict[str, str]:
    """Return the layers' names in the layer tree, by their names in the file."""
    return {AOI: tr("Area of interest"), NO_ROAD: tr("No road here"), ROADS: tr("Drawn roads")}


def check_new(path: str) -> None:
    """Raise OutputError if a path has not a GeoPackage's extension, or a file exists there, which may hold labels."""
    if not path.lower().endswith(_SUFFIX):
        raise OutputError(
            f"Label layers are stored in a GeoPackage, but {path} has another extension.", "Use the extension .gpkg."
        )
    if os.path.lexists(path):
        raise OutputError(
            f"{path} exists already, and the labels in it would be lost.",
            "Choose another name, or delete the file yourself.",
        )


def write_label_layers(
    path: str, wanted: LabelLayers, transforms: QgsCoordinateTransformContext, tr: Callable[[str], str]
) -> None:
    """Write a GeoPackage with layers of roads, areas of interest and places without road, their forms and styles.

    Styles and forms are stored in the table `layer_styles` as the layers' defaults, so QGIS finds them wherever the
    file is opened. The file appears whole or not at all. Raises OutputError; see `check_new`; or the file cannot be
    written.
    """
    check_new(path)
    try:
        folder = PrivateFolder(Path(path).parent, *BESIDE_OUTPUTS)
        try:
            draft = folder.path / f"labels{_SUFFIX}"
            for name in _KINDS:
                _write_table(str(draft), name, wanted, transforms)
            _store_form(str(draft), ROADS, lambda layer: _make_road_form(layer, wanted, tr))
            for name in (AOI, NO_ROAD):
                _store_form(str(draft), name, _make_area_form)
            replace(draft, Path(path))
        finally:
            folder.remove()
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}).", "Choose another folder.") from error


def write_no_road(beside: str, crs: QgsCoordinateReferenceSystem, transforms: QgsCoordinateTransformContext) -> str:
    """Write the layer of places without road for labels that have none yet, and return its URI.

    It goes into their file, or that of the image, if that is a GeoPackage without such a layer, else into a new file
    next to it. Raises OutputError if it cannot be written.
    """
    wanted = LabelLayers(crs, [], WIDTH.default)
    new = free_path(Path(beside).with_name(f"{Path(beside).stem} no road{_SUFFIX}"))
    path = beside if _takes_no_road(beside) else str(new)
    try:
        _write_table(path, NO_ROAD, wanted, transforms)
    except OutputError:
        if path != beside:
            raise
        path = str(new)  # the labels' own file may be locked
        _write_table(path, NO_ROAD, wanted, transforms)
    _store_form(path, NO_ROAD, _make_area_form)
    return layer_uri(path, NO_ROAD)


def _takes_no_road(path: str) -> bool:
    """Return whether a file is a GeoPackage without such a layer."""
    is_labels = path.lower().endswith(_SUFFIX) and os.path.isfile(path) and os.access(path, os.W_OK)
    return is_labels and not QgsVectorLayer(layer_uri(path, NO_ROAD), NO_ROAD, "ogr").isValid()


def _write_table(path: str, name: str, wanted: LabelLayers, transforms: QgsCoordinateTransformContext) -> None:
    layer = QgsVectorLayer(_KINDS[name], name, "memory")
    layer.setCrs(wanted.crs)
    if name == AOI and wanted.area is not None:
        for shape in wanted.area.coerceToType(layer.wkbType()):
            feature = QgsFeature()
            feature.setGeometry(shape)
            layer.dataProvider().addFeature(feature)
    options = QgsVectorFileWriter.SaveVectorOptions()
    options.driverName, options.layerName = "GPKG", name
    if os.path.exists(path):
        options.actionOnExistingFile = QgsVectorFileWriter.ActionOnExistingFile.CreateOrOverwriteLayer
    failed, message, *_ = QgsVectorFileWriter.writeAsVectorFormatV3(layer, path, transforms, options)
    if failed != QgsVectorFileWriter.WriterError.NoError:
        raise OutputError(f"The label layers cannot be written: {message}", "Make room, or choose another folder.")


def _store_form(path: str, name: str, make_form: Callable[[QgsVectorLayer], None]) -> None:
    """Store a layer's style and form in its file, as the default."""
    layer = QgsVectorLayer(layer_uri(path, name), name, "ogr")
    message, loaded = layer.loadNamedStyle(str(RESOURCES / "styles" / f"{_STYLES[name]}.qml"))
    if loaded:
        make_form(layer)
        message = layer.saveStyleToDatabase(name, "RoadSeg", True, "")
    if message:
        raise OutputError(f"The style of the layer {name} cannot be stored: {message}", "Choose another folder.")


def _make_road_form(layer: QgsVectorLayer, wanted: LabelLayers, tr: Callable[[str], str]) -> None:
    classes = [{tr("(no class)"): QgsValueMapFieldFormatter.NULL_VALUE}, *({name: name} for name in wanted.classes)]
    width = {
        "Min": WIDTH.option.minimum,
        "Max": WIDTH.option.maximum,
        "Step": 0.5,
        "Precision": 1,
        "Suffix": " m",
        "Style": "SpinBox",
        "AllowNull": True,
    }
    widgets = {
        CLASS_FIELD: (tr("Road class"), QgsEditorWidgetSetup("ValueMap", {"map": classes}), ""),
        WIDTH_FIELD: (tr("Width (m)"), QgsEditorWidgetSetup("Range", width), f"{wanted.width_m:g}"),
        SURE_FIELD: (tr("Sure that it is a road"), QgsEditorWidgetSetup("CheckBox", {}), "true"),
    }
    _hide_key(layer)
    for name, (alias, widget, default) in widgets.items():
        index = layer.fields().indexOf(name)
        layer.setFieldAlias(index, alias)
        layer.setEditorWidgetSetup(index, widget)
        layer.setDefaultValueDefinition(index, QgsDefaultValue(default))


def _make_area_form(layer: QgsVectorLayer) -> None:
    """Suppress the form: such areas have no attributes."""
    _hide_key(layer)
    form = layer.editFormConfig()
    form.setSuppress(QgsEditFormConfig.FeatureFormSuppress.SuppressOn)
    layer.setEditFormConfig(form)


def _hide_key(layer: QgsVectorLayer) -> None:
    for index in layer.primaryKeyAttributes():
        layer.setEditorWidgetSetup(index, QgsEditorWidgetSetup("Hidden", {}))
