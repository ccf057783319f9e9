"""How results look on the map.

Knows the style files in resources/styles; knows nothing of where results come from.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from qgis.core import QgsMapLayer, QgsProcessingContext, QgsProcessingFeedback, QgsProcessingLayerPostProcessorInterface

from .paths import RESOURCES

# Processing does not keep post-processors alive, so this does: one a destination.
_POST_PROCESSORS: dict[str, QgsProcessingLayerPostProcessorInterface] = {}


class StylePostProcessor(QgsProcessingLayerPostProcessorInterface):
    """Gives a loaded result its style."""

    def __init__(self, style: Path) -> None:
        super().__init__()
        self._style = style

    def postProcessLayer(
        self, layer: QgsMapLayer, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> None:
        """Load the style; Processing calls this in the main thread."""
        message, loaded = layer.loadNamedStyle(str(self._style))
        if loaded:
            layer.triggerRepaint()
        else:
            feedback.pushWarning(message)


class StoredStylePostProcessor(QgsProcessingLayerPostProcessorInterface):
    """Gives a loaded result the style and form that are stored with it, which Processing does not look for."""

    def postProcessLayer(
        self, layer: QgsMapLayer, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> None:
        """Load the style; Processing calls this in the main thread."""
        message, loaded = layer.loadDefaultStyle()
        if loaded:
            layer.triggerRepaint()
        else:
            feedback.pushWarning(message)


def use_stored_style(destination: str, context: QgsProcessingContext) -> None:
    """Style a result, where it is loaded, by what is stored in its own file."""
    if context.willLoadLayerOnCompletion(destination):
        _set_post_processor(destination, StoredStylePostProcessor(), context)


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
        _set_post_processor(destination, StylePostProcessor(style), context)
    file = Path(destination)
    beside = file.with_suffix(".qml")
    if file.is_file() and not beside.exists():  # a style that is there may be the person's own
        shutil.copyfile(style, beside)


def _set_post_processor(
    destination: str, post_processor: QgsProcessingLayerPostProcessorInterface, context: QgsProcessingContext
) -> None:
    _POST_PROCESSORS[destination] = post_processor
    context.layerToLoadOnCompletionDetails(destination).setPostProcessor(post_processor)
