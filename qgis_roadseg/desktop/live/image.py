"""The image of a live session as a file for the worker: the layer's own, or one rendered from the view.

Scope: raster layers. Independent of the session.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Optional

from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransform,
    QgsCsException,
    QgsMapLayer,
    QgsProcessingFeedback,
    QgsProject,
    QgsRectangle,
    QgsTask,
)
from qgis.gui import QgsMapCanvas

from ....training_core.errors import ImageryError, JobError, ModelFileError
from ....training_core.jobs import model_path
from ....training_core.jobs.file_systems import replace
from ...layers import work_area
from ...rendering import mesh_painting, rendering
from ...toolbox.model_files import read_resolution_m
from ...translation import tr
from ..tasks import run_function

# A session on a rendered layer covers the view and a margin of this fraction of it on each side.
MARGIN = 0.25
MAX_MEGAPIXELS = 100


def view_on(crs: QgsCoordinateReferenceSystem, extent: QgsRectangle, canvas: QgsMapCanvas) -> Optional[QgsRectangle]:
    """Return the visible part of an image with an extent, both in its CRS; None where the map does not show it.

    An empty or infinite extent is all of the world.
    """
    try:
        transform = QgsCoordinateTransform(canvas.mapSettings().destinationCrs(), crs, QgsProject.instance())
        shown = transform.transformBoundingBox(canvas.extent())
    except QgsCsException:
        return None
    if extent.isFinite() and not extent.isEmpty():
        shown = shown.intersect(extent)
    return shown if shown.isFinite() and not shown.isEmpty() else None


def frame_of_view(layer: QgsMapLayer, model: str, canvas: QgsMapCanvas, folder: Path) -> rendering.Frame:
    """Return the pixel grid on which to render the visible part of a layer and a margin.

    Raises ImageryError or JobError if the layer has no CRS, or the map does not show it, or shows too much of it.
    Raises ModelFileError if the model does not state its ground resolution. Raises ResourceError if there is not enough
    room on the disk.
    """
    work_area.check_image_crs(layer)
    shown = view_on(layer.crs(), layer.extent(), canvas)
    if shown is None:
        raise JobError(
            f"The map does not show the layer {layer.name()}, but the session uses only the visible part of it.",
            "Zoom to where the roads are.",
        )
    resolution_m = read_resolution_m(model_path(model))
    if resolution_m is None:
        raise ModelFileError(
            f"The model {model} states no ground resolution, which is needed to render the layer {layer.name()}.",
            "Choose another model, or export the area to a GeoTIFF file (the layer's menu, Export) and choose that "
            "file.",
        )
    margin = max(shown.width(), shown.height()) * MARGIN
    extent = work_area.clip_to_layer(shown.buffered(margin), layer)
    transforms = QgsProject.instance().transformContext()
    frame = rendering.make_frame(layer.name(), layer.crs(), extent, resolution_m, transforms)
    if frame.width * frame.height > MAX_MEGAPIXELS * 1e6:
        raise ImageryError(
            f"The map shows too much of the layer {layer.name()}: {frame.size}. A session takes at most "
            f"{MAX_MEGAPIXELS} megapixels of a layer that QGIS has to render.",
            "Zoom in, or export the area to a GeoTIFF file (the layer's menu, Export) and choose that file.",
        )
    rendering.check_size([frame], layer, folder)
    return frame


def render_image(
    layer: QgsMapLayer, frame: rendering.Frame, path: Path, on_end: Callable[[Optional[Exception]], None]
) -> QgsTask:
    """Render a layer to a file, which appears whole or not at all, in the background; return the task.

    `on_end` is called in the main thread with the error or None, but never after a cancellation.
    """
    provider, draft = mesh_painting.provider_of(layer), path.with_name(f".{path.name}")

    def work(feedback: QgsProcessingFeedback) -> None:
        try:
            rendering.render(provider, frame, draft, feedback)
            replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)

    title = tr("RoadSeg live: rendering {layer}").format(layer=layer.name())
    return run_function(title, work, lambda _, error: on_end(error))
