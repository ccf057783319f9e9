"""Styles of results, and their names and group in the layer tree.

Scope: style files in resources/styles, Processing's loading of layers. Independent of how results are computed.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Optional

from qgis.core import (
    QgsMapLayer,
    QgsProcessing,
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingLayerPostProcessorInterface,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterFeatureSink,
    QgsVectorLayer,
    QgsVectorLayerUtils,
)

from ...training_core import jobs
from ...training_core.jobs.file_systems import replace
from ..paths import RESOURCES
from ..translation import tr

GROUP = "RoadSeg"
# Under which a layer of a probability keeps what the panel *Threshold* chose; see its `choice`.
THRESHOLD_PROPERTY = "roadseg/threshold"

_ORDER = {
    QgsProcessing.SourceType.TypeVectorPolygon: 1,
    QgsProcessing.SourceType.TypeVectorLine: 2,
    QgsProcessing.SourceType.TypeVectorPoint: 3,
}

# Styles with a categorized variant, for lines with a class.
_BY_CLASS = {"roads": "roadsbyclass"}

# Keeps post-processors alive, which Processing does not: one per destination.
_POST_PROCESSORS: dict[str, QgsProcessingLayerPostProcessorInterface] = {}


class StylePostProcessor(QgsProcessingLayerPostProcessorInterface):
    """Applies a style to a loaded result.

    `load` does so, and returns a message and whether it succeeded, as QGIS' functions do.
    """

    def __init__(self, load: Callable[[QgsMapLayer], tuple[str, bool]]) -> None:
        super().__init__()
        self._load = load

    def postProcessLayer(
        self, layer: QgsMapLayer, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> None:
        """Load the style; Processing calls this in the main thread."""
        message, loaded = self._load(layer)
        if loaded:
            layer.triggerRepaint()
        else:
            feedback.pushWarning(message)


def set_name_and_group(destination: str, label: str, source_name: str, context: QgsProcessingContext) -> None:
    """Set the name and the group that a result gets in the layer tree, if it is loaded.

    Where QGIS is set to name layers after files, it uses the file's name instead. The name of the source is empty if
    there are several or none.
    """
    if context.willLoadLayerOnCompletion(destination):
        details = context.layerToLoadOnCompletionDetails(destination)
        details.name = f"{label} ({source_name})" if source_name else label
        details.groupName = GROUP


def set_order(destination: str, definition: QgsProcessingParameterDefinition, context: QgsProcessingContext) -> None:
    """Have a result loaded above those that would hide it: arrows, points, lines, polygons, rasters.

    The main result is the topmost layer of its geometry type. QGIS activates the topmost layer of all.
    """
    if context.willLoadLayerOnCompletion(destination) and isinstance(definition, QgsProcessingParameterFeatureSink):
        order = 4 if definition.name() == "ARROWS" else _ORDER[definition.dataType()]
        details = context.layerToLoadOnCompletionDetails(destination)
        details.layerSortKey = 2 * order + (definition.name() == "OUTPUT")


def source_name_of(layer_name: str) -> str:
    """Return the source's name in the name of a result, Bonn for "Road mask (Bonn)"; else the layer's name itself."""
    for job_type in jobs.JOBS.values():
        for field in job_type.option_fields():
            start = f"{tr(field.option.caption)} ("
            if field.option.kind in jobs.OUTPUT_KINDS and layer_name.startswith(start) and layer_name.endswith(")"):
                return layer_name[len(start) : -1]
    return layer_name


def use_stored_style(destination: str, context: QgsProcessingContext) -> None:
    """Have a loaded result styled by the default style in its file, which Processing does not look for."""
    if context.willLoadLayerOnCompletion(destination):
        _set_post_processor(destination, StylePostProcessor(lambda layer: layer.loadDefaultStyle()), context)


def fitting_style(style_name: str, layer: QgsVectorLayer) -> str:
    """Return the style by class if a layer's lines have at least two of its classes; else the given style.

    The style by class is applied to the layer for the test.
    """
    by_class = _BY_CLASS.get(style_name)
    if by_class is None:
        return style_name
    layer.loadNamedStyle(str(style_file(by_class)))
    renderer = layer.renderer()
    values, _ = QgsVectorLayerUtils.getValues(layer, renderer.classAttribute())
    known = {renderer.categoryIndexForValue(value) for value in set(filter(None, values))} - {-1}
    return by_class if len(known) > 1 else style_name


def set_style(
    destination: str,
    style_name: str,
    context: QgsProcessingContext,
    feedback: QgsProcessingFeedback,
    threshold: Optional[float] = None,
) -> None:
    """Have a result styled when it is loaded, and write the style file next to it for later.

    A probability keeps the threshold of its run for the panel *Threshold*. Models and qgis_process run no
    post-processors, but QGIS finds a style file next to a layer's file.
    """
    style = style_file(style_name)

    def load(layer: QgsMapLayer) -> tuple[str, bool]:
        if threshold is not None:
            layer.setCustomProperty(THRESHOLD_PROPERTY, json.dumps({"threshold": threshold}))
        return layer.loadNamedStyle(str(style))

    if context.willLoadLayerOnCompletion(destination):
        _set_post_processor(destination, StylePostProcessor(load), context)
    file = Path(destination)
    if file.is_file():
        try:
            _put_beside(file, style)
        except OSError as error:
            message = tr("The style file next to {file} cannot be written ({reason}).")
            feedback.pushWarning(message.format(file=file, reason=error.strerror))


def style_file(style_name: str) -> Path:
    """Return the path of a style file of RoadSeg's by its name."""
    return RESOURCES / "styles" / f"{style_name}.qml"


def _put_beside(file: Path, style: Path) -> None:
    """Write a style file next to a file atomically, but never over the user's own: one that RoadSeg does not ship."""
    beside = file.with_suffix(".qml")
    if beside.exists() and beside.read_bytes() not in (each.read_bytes() for each in style.parent.glob("*.qml")):
        return
    draft = beside.with_name(f".{uuid.uuid4().hex}.qml")
    try:
        shutil.copyfile(style, draft)
        replace(draft, beside)
    finally:
        draft.unlink(missing_ok=True)


def _set_post_processor(
    destination: str, post_processor: QgsProcessingLayerPostProcessorInterface, context: QgsProcessingContext
) -> None:
    _POST_PROCESSORS[destination] = post_processor
    context.layerToLoadOnCompletionDetails(destination).setPostProcessor(post_processor)
