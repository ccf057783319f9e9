"""The demo project: a generated scene, roads drawn in one half of it, and initial values of the algorithms' dialogs.

Scope: layers, symbols, the project file. Independent of the window, and of how a scene is generated.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qgis.core import (
    QgsFeature,
    QgsFillSymbol,
    QgsGeometry,
    QgsLineSymbol,
    QgsMapLayer,
    QgsProcessingContext,
    QgsProject,
    QgsRasterLayer,
    QgsReferencedRectangle,
    QgsSingleSymbolRenderer,
    QgsVectorLayer,
)

from ...training_core.errors import OutputError
from ...training_core.jobs import has_starter
from ..paths import data_folder
from ..translation import tr
from . import exchange, results

# Values for makescene: with this seed and the layout mixed, both halves hold streets of all kinds.
SCENE = {"SIZE_PX": 2048, "SEED": 3, "LAYOUT": "mixed"}
MINUTES = 2

_SCOPE = "RoadSeg"
_DRAWN = {"line_color": "230,60,160", "line_width": "0.8", "capstyle": "round", "joinstyle": "round"}
_TRUE = {"line_color": "90,200,250", "line_width": "0.5", "capstyle": "round", "joinstyle": "round"}
_AREA = {"style": "no", "outline_color": "255,255,255", "outline_width": "0.6", "outline_style": "dash"}


def folder() -> Path:
    """Return the folder of the demo."""
    return data_folder() / "demo"


def files(folder: Path) -> dict[str, Path]:
    """Return the demo's paths by content; the project comes last, as it is written last."""
    names = {
        "image": "scene.tif",
        "true": "true_roads.gpkg",
        "drawn": "drawn_roads.gpkg",
        "aoi": "area_of_interest.gpkg",
    }
    return {kind: folder / name for kind, name in {**names, "project": "demo.qgz"}.items()}


def is_made(folder: Path) -> bool:
    """Return whether all files of the demo exist."""
    return all(path.is_file() for path in files(folder).values())


def make(folder: Path) -> Path:
    """Make the project of the scene in a folder, and return its path; raise OutputError if that fails."""
    paths = files(folder)
    image = QgsRasterLayer(str(paths["image"]), tr("Generated scene"))
    true = QgsVectorLayer(str(paths["true"]), tr("True roads"), "ogr")
    west = image.extent()
    west.setXMaximum(west.center().x())
    half = QgsGeometry.fromRect(west)
    exchange.write_shape(half, image.crs(), paths["aoi"], QgsProcessingContext())
    _write_parts(true, half, paths["drawn"])
    drawn = QgsVectorLayer(str(paths["drawn"]), tr("Drawn roads"), "ogr")
    area = QgsVectorLayer(str(paths["aoi"]), tr("Area of interest"), "ogr")
    for layer, symbol in (
        (drawn, QgsLineSymbol.createSimple(_DRAWN)),
        (true, QgsLineSymbol.createSimple(_TRUE)),
        (area, QgsFillSymbol.createSimple(_AREA)),
    ):
        layer.setRenderer(QgsSingleSymbolRenderer(symbol))  # in place of the style file next to a result
    _write_project([image, true, drawn, area], true, folder)
    return paths["project"]


def starting_values(project: QgsProject, algorithm: str) -> dict[str, Any]:
    """Return an algorithm's initial parameter values that are stored in a project; none but in the demo."""
    text, _ = project.readEntry(_SCOPE, algorithm)
    try:
        values = json.loads(text or "{}")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _write_parts(source: QgsVectorLayer, shape: QgsGeometry, path: Path) -> None:
    fields = results.result_fields(source)
    context = QgsProcessingContext().transformContext()
    writer = exchange.create_writer(path, fields, source.wkbType(), source.crs(), context)
    for feature in source.getFeatures(shape.boundingBox()):
        for line in feature.geometry().intersection(shape).asGeometryCollection():
            if line.length() > 0:
                part = QgsFeature(fields)
                part.setGeometry(line)
                part.setAttributes([feature[name] for name in fields.names()])
                writer.addFeature(part)
    message = writer.errorMessage()
    del writer  # which closes the file
    if message:
        raise OutputError(f"{path} cannot be written: {message}", "Make room on the disk.")


def _write_project(from_below: list[QgsMapLayer], hidden: QgsMapLayer, folder: Path) -> None:
    image, _, drawn, area = from_below
    project = QgsProject()
    for layer in from_below:
        project.addMapLayer(layer)
    project.layerTreeRoot().findLayer(hidden.id()).setItemVisibilityChecked(False)
    project.setCrs(image.crs())
    project.setTitle(tr("RoadSeg demo"))
    project.viewSettings().setDefaultViewExtent(QgsReferencedRectangle(image.extent(), image.crs()))
    model = str(folder / "demo.safetensors")
    learning = {"INPUT": [image.id()], "ROADS": drawn.id(), "WIDTH_FIELD": "width_m", "AOI": area.id()}
    if not has_starter():
        learning["BASE_MODEL"] = ""
    found = {"INPUT": image.id(), "MODEL": model}
    values = {"finetune": {**learning, "MINUTES": MINUTES, "MODEL": model}, "segment": found, "extractroads": found}
    for algorithm, start in values.items():
        project.writeEntry(_SCOPE, algorithm, json.dumps(start))
    path = files(folder)["project"]
    if not project.write(str(path)):
        raise OutputError(f"{path} cannot be written: {project.error()}", "Make room on the disk.")
