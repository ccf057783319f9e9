"""Algorithms on images of which QGIS renders those that are not files, such as web maps, before the job.

Scope: the first of two steps, and the ground resolution. Independent of the part of a layer that is rendered.
"""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from qgis.core import (
    QgsFileUtils,
    QgsMapLayer,
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingMultiStepFeedback,
    QgsRectangle,
)

from ...training_core.errors import ModelFileError
from ...training_core.jobs import model_path
from ..rendering import mesh_painting, rendering
from .algorithm import Values
from .job_algorithm import JobAlgorithm
from .model_files import read_resolution_m

AOI, RESOLUTION_M = "AOI", "RESOLUTION_M"


class RenderedImagesAlgorithm(JobAlgorithm):
    """An algorithm on one image or several.

    Attributes
    ----------
    model_parameter : str
        The parameter with the model at whose ground resolution layers are rendered.
    """

    model_parameter: ClassVar[str] = "MODEL"

    @abstractmethod
    def _find_frames(
        self, parameters: Values, context: QgsProcessingContext
    ) -> list[tuple[QgsMapLayer, list[rendering.Frame]]]:
        """Return the layers to render, each with the pixel grids on which; raise RoadSegError where that cannot be."""

    def _check(self, parameters: Values, context: QgsProcessingContext) -> None:
        super()._check(parameters, context)
        self._find_frames(parameters, context)

    def _prepare(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> None:
        """See JobAlgorithm; also make a provider for the other thread for each layer to render."""
        self._rendered = []
        for layer, frames in self._find_frames(parameters, context):
            provider = mesh_painting.provider_of(layer)
            self._rendered += [(provider, frame) for frame in frames]
        super()._prepare(parameters, context, feedback)

    def _work(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> Values:
        """Run the job; if layers are rendered, that is the first of two steps."""
        steps = QgsProcessingMultiStepFeedback(2, feedback) if self._rendered else feedback
        return super()._work(parameters, context, steps)

    def _write_inputs(
        self, parameters: Values, context: QgsProcessingContext, folder: Path, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        inputs = super()._write_inputs(parameters, context, folder, feedback)
        if not self._rendered:
            return inputs
        paths, images = self._image_files(folder), QgsProcessingMultiStepFeedback(len(self._rendered), feedback)
        for number, (path, (provider, frame)) in enumerate(zip(paths, self._rendered)):
            images.setCurrentStep(number)
            rendering.render(provider, frame, path, images)
        feedback.setCurrentStep(1)
        files, written = self._rasters[self.images_field], tuple(map(str, paths))
        return {**inputs, self.images_field: (*files, *written) if isinstance(files, tuple) else written[0]}

    def _make_frames(
        self, layer: QgsMapLayer, extents: Iterable[QgsRectangle], resolution_m: float, context: QgsProcessingContext
    ) -> list[rendering.Frame]:
        """Return the pixel grids of a layer's extents; raise ResourceError if they are too large."""
        transforms = context.transformContext()
        frames = [rendering.make_frame(layer.name(), layer.crs(), each, resolution_m, transforms) for each in extents]
        rendering.check_size(frames, layer, tempfile.gettempdir())
        return frames

    def _resolution_m(self, layer: QgsMapLayer, parameters: Values, context: QgsProcessingContext) -> float:
        """Return the ground resolution that is given, or else the model's."""
        can_be_given = self.parameterDefinition(RESOLUTION_M) is not None
        given_m = self.parameterAsDouble(parameters, RESOLUTION_M, context) if can_be_given else 0.0
        model = self.parameterAsString(parameters, self.model_parameter, context)  # empty is random weights
        resolution_m = given_m or read_resolution_m(model_path(model))
        if resolution_m is None:
            shown = f"{model} ({self.model_parameter})" if model else f"({self.model_parameter})"
            or_give = f", or give the ground resolution ({RESOLUTION_M})" if can_be_given else ""
            raise ModelFileError(
                f"The ground resolution at which to render the layer {layer.name()} is unknown: the model {shown} "
                "does not state it.",
                f"Choose another model{or_give}.",
            )
        return resolution_m

    def _image_files(self, folder: Path) -> list[Path]:
        """Return where images are rendered to: reports and warnings name them as the layer, with a number."""
        names = [QgsFileUtils.stringToSafeFilename(frame.layer_name) for _, frame in self._rendered]
        return [folder / f"{name} {number}.tif" for number, name in enumerate(names, 1)]

    def _with_layer_names(self, message: str, folder: str) -> str:
        message = super()._with_layer_names(message, folder)
        for path, (_, frame) in zip(self._image_files(Path(folder)), self._rendered):
            message = message.replace(str(path), frame.layer_name)
        return message
