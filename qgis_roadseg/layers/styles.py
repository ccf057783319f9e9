"""How results look on the map, what they are called there and where.

Knows the style files in resources/styles; knows nothing of where results come from.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

from qgis.core import (
    Qgis,
    QgsMapLayer,
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingLayerPostProcessorInterface,
    QgsVectorLayer,
    QgsVectorLayerUtils,
)

from ...training_core import jobs
from ..paths import RESOURCES
from ..translation import tr

GROUP = "RoadSeg"
_GROUPS_SINCE = 33200  # before, Processing knows one group for all results, which the person sets

# Styles of which there is another one for lines that tell their class.
_BY_CLASS = {"roads": "roadsbyclass"}

# Processing does not keep post-processors alive, so this does: one a destination.
_POST_PROCESSORS: dict[str, QgsProcessingLayerPostProcessorInterface] = {}


class StylePostProcessor(QgsProcessingLayerPostProcessorInterface):
    """Gives a loaded result its style.

    Parameters
    ----------
    load : callable
        Loads the style into a layer; returns a message and whether that went well, as QGIS' own functions do.
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


def arrive(destination: str, label: str, made_of: str, context: QgsProcessingContext) -> None:
    """Say what a result is called in the layer tree, and put it into RoadSeg's group, where it is to be loaded.

    A name that the person has chosen by naming the file stays, where QGIS is set to name layers for files.

    Parameters
    ----------
    destination : str
        The layer's destination, as Processing names it.
    label : str
        What the result is.
    made_of : str
        The name of the layer that it is made of; empty where there is no single one.
    context : QgsProcessingContext
        Processing's context.
    """
    if context.willLoadLayerOnCompletion(destination):
        details = context.layerToLoadOnCompletionDetails(destination)
        details.name = f"{label} ({made_of})" if made_of else label
        if Qgis.QGIS_VERSION_INT >= _GROUPS_SINCE:
            details.groupName = GROUP


def origin(layer_name: str) -> str:
    """Return what results of a layer are made of: of a result that is called "Road mask (Bonn)", Bonn; else the layer.

    Parameters
    ----------
    layer_name : str
        What the layer is called in the person's project.
    """
    for job_type in jobs.JOBS.values():
        for field in job_type.option_fields():
            start = f"{tr(field.option.caption)} ("
            if field.option.kind in jobs.OUTPUT_KINDS and layer_name.startswith(start) and layer_name.endswith(")"):
                return layer_name[len(start) : -1]
    return layer_name


def use_stored_style(destination: str, context: QgsProcessingContext) -> None:
    """Style a result, where it is loaded, by what is stored in its own file, which Processing does not look for."""
    if context.willLoadLayerOnCompletion(destination):
        _set_post_processor(destination, StylePostProcessor(lambda layer: layer.loadDefaultStyle()), context)


def fitting_style(style_name: str, layer: QgsVectorLayer) -> str:
    """Return the name of the style that fits what a layer holds.

    Parameters
    ----------
    style_name : str
        The style where the layer tells no classes.
    layer : QgsVectorLayer
        It gets the style by class where there is one.

    Returns
    -------
    str
        The style by class, where the lines are of several of those that it knows; else the style as named.
    """
    by_class = _BY_CLASS.get(style_name)
    if by_class is None:
        return style_name
    layer.loadNamedStyle(str(_file_of(by_class)))
    renderer = layer.renderer()
    values, _ = QgsVectorLayerUtils.getValues(layer, renderer.classAttribute())
    known = {renderer.categoryIndexForValue(value) for value in set(filter(None, values))} - {-1}
    return by_class if len(known) > 1 else style_name


def set_style(
    destination: str, style_name: str, context: QgsProcessingContext, feedback: QgsProcessingFeedback
) -> None:
    """Style a result when it is loaded, and beside its file for those who load it later.

    Models and qgis_process run no post-processors, but QGIS finds a style file beside a layer's file.

    Parameters
    ----------
    destination : str
        The layer's destination, as Processing names it.
    style_name : str
        The style's file is resources/styles/<style_name>.qml.
    context : QgsProcessingContext
        Processing's context.
    feedback : QgsProcessingFeedback
        Is told where the style cannot be written.
    """
    style = _file_of(style_name)
    if context.willLoadLayerOnCompletion(destination):
        _set_post_processor(destination, StylePostProcessor(lambda layer: layer.loadNamedStyle(str(style))), context)
    file = Path(destination)
    if file.is_file():
        try:
            _put_beside(file, style)
        except OSError as error:
            message = tr("The style cannot be written beside {file} ({reason}).")
            feedback.pushWarning(message.format(file=file, reason=error.strerror))


def _file_of(style_name: str) -> Path:
    return RESOURCES / "styles" / f"{style_name}.qml"


def _put_beside(file: Path, style: Path) -> None:
    """Put a style beside a file, whole or not at all; one that is not as RoadSeg ships it may be the person's own."""
    beside = file.with_suffix(".qml")
    if beside.exists() and beside.read_bytes() not in (each.read_bytes() for each in style.parent.glob("*.qml")):
        return
    draft = beside.with_name(f".{uuid.uuid4().hex}.qml")
    try:
        shutil.copyfile(style, draft)
        os.replace(draft, beside)
    finally:
        draft.unlink(missing_ok=True)


def _set_post_processor(
    destination: str, post_processor: QgsProcessingLayerPostProcessorInterface, context: QgsProcessingContext
) -> None:
    _POST_PROCESSORS[destination] = post_processor
    context.layerToLoadOnCompletionDetails(destination).setPostProcessor(post_processor)
