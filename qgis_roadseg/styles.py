"""How results look on the map, what they are called there and where.

Knows the style files in resources/styles; knows nothing of where results come from.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from qgis.core import (
    Qgis,
    QgsMapLayer,
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingLayerPostProcessorInterface,
)

from .paths import RESOURCES

GROUP = "RoadSeg"
_GROUPS_SINCE = 33200  # before, Processing knows one group for all results, which the person sets

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


def use_stored_style(destination: str, context: QgsProcessingContext) -> None:
    """Style a result, where it is loaded, by what is stored in its own file, which Processing does not look for."""
    if context.willLoadLayerOnCompletion(destination):
        _set_post_processor(destination, StylePostProcessor(lambda layer: layer.loadDefaultStyle()), context)


def set_style(destination: str, style_name: str, context: QgsProcessingContext) -> None:
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
    """
    style = RESOURCES / "styles" / f"{style_name}.qml"
    if context.willLoadLayerOnCompletion(destination):
        _set_post_processor(destination, StylePostProcessor(lambda layer: layer.loadNamedStyle(str(style))), context)
    file = Path(destination)
    beside = file.with_suffix(".qml")
    if file.is_file() and not beside.exists():  # a style that is there may be the person's own
        shutil.copyfile(style, beside)


def _set_post_processor(
    destination: str, post_processor: QgsProcessingLayerPostProcessorInterface, context: QgsProcessingContext
) -> None:
    _POST_PROCESSORS[destination] = post_processor
    context.layerToLoadOnCompletionDetails(destination).setPostProcessor(post_processor)
