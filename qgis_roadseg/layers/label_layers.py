"""Label layers to digitize roads and areas of interest in: one GeoPackage with fields, forms and styles.

Scope: layers, forms, files. Independent of Processing. Labels are precious, so no file is ever replaced.
"""

from __future__ import annotations

import os
import tempfile
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
from ..paths import RESOURCES

ROADS, AOI = "roads", "aoi"
# Named as the fields of RoadSeg's own layers of roads are.
CLASS_FIELD, WIDTH_FIELD, SURE_FIELD = "road_class", "width_m", "sure"
WIDTH = next(field for field in LabelOptions.option_fields() if field.name == "width_m")
# Definitions for the memory provider: geometry type and fields.
_KINDS = {
    ROADS: f"LineString?field={CLASS_FIELD}:string&field={WIDTH_FIELD}:double&field={SURE_FIELD}:bool",
    AOI: "Polygon",
}
_STYLES = {ROADS: "drawnroads", AOI: "aoi"}
_SUFFIX = ".gpkg"


@dataclass(frozen=True)
class LabelLayers:
    """Properties of label layers.

    Parameters
    ----------
    crs : QgsCoordinateReferenceSystem
        The CRS of both layers.
    classes : list of str
        Road classes that the form offers, beside no class.
    width_m : float
        Default width of a new road in meters.
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


def check_new(path: str) -> None:
    """Check that a path has a GeoPackage's extension, and that no file exists there, which may hold labels.

    Raises
    ------
    OutputError
        Either is not so.
    """
    if not path.lower().endswith(_SUFFIX):
        raise OutputError(
            f"Label layers are a GeoPackage, but {path} has another extension.", "Use the extension .gpkg."
        )
    if os.path.lexists(path):
        raise OutputError(
            f"{path} exists already, and the labels in it would be lost.",
            "Choose another name, or delete the file yourself.",
        )


def write_label_layers(
    path: str, wanted: LabelLayers, transforms: QgsCoordinateTransformContext, tr: Callable[[str], str]
) -> None:
    """Write a GeoPackage with a roads layer and an area of interest layer, with their forms and styles.

    Styles and forms are stored in the table `layer_styles` as the layers' defaults, so QGIS finds them wherever the
    file is opened. The file appears whole or not at all.

    Parameters
    ----------
    path : str
        The file, which must not exist.
    wanted : LabelLayers
        What to write.
    transforms : QgsCoordinateTransformContext
        The project's coordinate transforms.
    tr : callable
        Translates the form's labels.

    Raises
    ------
    OutputError
        See `check_new`; or the file cannot be written.
    """
    check_new(path)
    try:
        with tempfile.TemporaryDirectory(prefix=".roadseg-", dir=Path(path).parent) as folder:
            draft = os.path.join(folder, f"labels{_SUFFIX}")
            _write_tables(draft, wanted, transforms)
            _store_form(draft, ROADS, lambda layer: _make_road_form(layer, wanted, tr))
            _store_form(draft, AOI, _make_area_form)
            os.rename(draft, path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}).", "Choose another folder.") from error


def _write_tables(path: str, wanted: LabelLayers, transforms: QgsCoordinateTransformContext) -> None:
    for name, kind in _KINDS.items():
        layer = QgsVectorLayer(kind, name, "memory")
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
    """Suppress the form: an area of interest has no attributes."""
    _hide_key(layer)
    form = layer.editFormConfig()
    form.setSuppress(QgsEditFormConfig.FeatureFormSuppress.SuppressOn)
    layer.setEditFormConfig(form)


def _hide_key(layer: QgsVectorLayer) -> None:
    for index in layer.primaryKeyAttributes():
        layer.setEditorWidgetSetup(index, QgsEditorWidgetSetup("Hidden", {}))
