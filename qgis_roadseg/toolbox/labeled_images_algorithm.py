"""Algorithms on several images with labels; web maps among the images are rendered where the labels are.

Scope: how images, labels and model combine. Independent of rendering; see `rendering`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, ClassVar

from qgis.core import (
    QgsFileUtils,
    QgsMapLayer,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProcessingMultiStepFeedback,
    QgsRectangle,
)

from ...training_core.errors import JobError, ModelFileError, RoadSegError
from ...training_core.jobs import OptionField, model_path
from ..layers import exchange, label_bounds, work_area
from ..layers.image_layer import image_layers
from ..layers.snapshot import take_source
from ..rendering import mesh_painting, rendering
from .job_algorithm import JobAlgorithm
from .model_files import read_resolution_m
from .parameters import INPUT

AOI, ROADS, NO_ROAD, BACKGROUND_M, RESOLUTION_M = "AOI", "ROADS", "NO_ROAD", "BACKGROUND_M", "RESOLUTION_M"
IMAGES_FIELD = "rasters"
# What is rendered around labels, so that their surroundings are seen: as much as a tile's usual halo.
MARGIN_PX = 128


class LabeledImagesAlgorithm(JobAlgorithm):
    """An algorithm on images with labels: the job's fields rasters, roads, aoi and no_road.

    Attributes
    ----------
    model_parameter : str
        The parameter with the model at whose ground resolution web maps are rendered.
    """

    model_parameter: ClassVar[str] = "MODEL"

    def checkParameterValues(self, parameters: dict[str, Any], context: QgsProcessingContext) -> tuple[bool, str]:
        """Return whether the values are valid, and web maps can be rendered, with a message if not."""
        fine, message = super().checkParameterValues(parameters, context)
        if not fine:
            return False, message
        try:
            self._find_frames(parameters, context)
        except (RoadSegError, QgsProcessingException) as error:
            return False, str(error)
        return True, ""

    def _prepare(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> None:
        """See JobAlgorithm; also make a provider for the other thread for each layer to render."""
        self._rendered = []
        for layer, frames in self._find_frames(parameters, context):
            provider = mesh_painting.provider_of(layer)
            self._rendered += [(provider, frame) for frame in frames]
        super()._prepare(parameters, context, feedback)

    def _work(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        """Run the job; if layers are rendered, that is the first of two steps."""
        steps = QgsProcessingMultiStepFeedback(2, feedback) if self._rendered else feedback
        return super()._work(parameters, context, steps)

    def _find_frames(
        self, parameters: dict[str, Any], context: QgsProcessingContext
    ) -> list[tuple[QgsMapLayer, list[rendering.Frame]]]:
        """Return the layers to render, each with the pixel grids on which; raise RoadSegError where that cannot be."""
        layers = [layer for layer in self._layers(parameters, context) if exchange.why_no_file(layer)]
        return [(layer, self._frames_of(layer, parameters, context)) for layer in layers]

    def _frames_of(
        self, layer: QgsMapLayer, parameters: dict[str, Any], context: QgsProcessingContext
    ) -> list[rendering.Frame]:
        work_area.check_image_crs(layer)
        resolution_m, transforms = self._resolution_m(layer, parameters, context), context.transformContext()
        labels = self._label_bounds(layer, parameters, context)
        extents = []
        if labels:
            whole = label_bounds.around(labels)
            margin = rendering.units_per_m(layer.name(), layer.crs(), whole, transforms)
            margin *= self._margin_m(resolution_m, parameters, context)
            extents = [work_area.clip_to_layer(bounds.buffered(margin), layer) for bounds in labels]
            extents = label_bounds.join([extent for extent in extents if not extent.isEmpty()])
        if not extents:
            raise JobError(
                f"The labels lie outside the layer {layer.name()}.",
                "Check the coordinate systems of both, or choose another layer.",
            )
        frames = [
            rendering.make_frame(layer.name(), layer.crs(), extent, resolution_m, transforms) for extent in extents
        ]
        rendering.check_size(frames, layer, tempfile.gettempdir())
        return frames

    def _margin_m(self, resolution_m: float, parameters: dict[str, Any], context: QgsProcessingContext) -> float:
        seen_m = MARGIN_PX * resolution_m
        return seen_m if parameters.get(AOI) else seen_m + self.parameterAsDouble(parameters, BACKGROUND_M, context)

    def _label_bounds(
        self, layer: QgsMapLayer, parameters: dict[str, Any], context: QgsProcessingContext
    ) -> list[QgsRectangle]:
        """Return the bounds of labels on a layer: of the area of interest or else of the roads, and of no road."""
        area = AOI if parameters.get(AOI) else ROADS
        if not parameters.get(area):
            raise JobError(
                f"The layer {layer.name()} {exchange.why_no_file(layer)}, and neither an area of interest nor drawn "
                "roads say where to render it.",
                "Give one of them (AOI, ROADS).",
            )
        sources = [take_source(self, name, parameters, context) for name in (area, NO_ROAD)]
        bounds = label_bounds.bounds_of(filter(None, sources), layer, context)
        return [each for each in bounds if not work_area.clip_to_layer(label_bounds.around([each]), layer).isEmpty()]

    def _resolution_m(self, layer: QgsMapLayer, parameters: dict[str, Any], context: QgsProcessingContext) -> float:
        can_be_given = self.parameterDefinition(RESOLUTION_M) is not None
        given_m = self.parameterAsDouble(parameters, RESOLUTION_M, context) if can_be_given else 0.0
        model = self.parameterAsString(parameters, self.model_parameter, context)  # empty is random weights
        resolution_m = given_m or read_resolution_m(model_path(model))
        if resolution_m is None:
            or_give = f", or give the ground resolution ({RESOLUTION_M})" if can_be_given else ""
            raise ModelFileError(
                f"The ground resolution at which to render the layer {layer.name()} is unknown: the model "
                f"({self.model_parameter}) does not state it.",
                f"Choose another model{or_give}.",
            )
        return resolution_m

    def _layers(self, parameters: dict[str, Any], context: QgsProcessingContext) -> list[QgsMapLayer]:
        return image_layers(self, INPUT, self._layers_alone(parameters), context)

    def _raster_paths(self, field: OptionField, parameters: dict[str, Any], context: QgsProcessingContext) -> Any:
        files = [layer for layer in self._layers(parameters, context) if not exchange.why_no_file(layer)]
        given = [*exchange.training_data(parameters.get(INPUT)), *files]
        return super()._raster_paths(field, {**parameters, INPUT: given}, context)

    def _write_inputs(
        self,
        parameters: dict[str, Any],
        context: QgsProcessingContext,
        folder: Path,
        feedback: QgsProcessingFeedback,
    ) -> dict[str, Any]:
        inputs = super()._write_inputs(parameters, context, folder, feedback)
        if not self._rendered:
            return inputs
        paths, images = self._image_files(folder), QgsProcessingMultiStepFeedback(len(self._rendered), feedback)
        for number, (path, (provider, frame)) in enumerate(zip(paths, self._rendered)):
            images.setCurrentStep(number)
            rendering.render(provider, frame, path, images)
        feedback.setCurrentStep(1)
        return {**inputs, IMAGES_FIELD: (*self._rasters[IMAGES_FIELD], *map(str, paths))}

    def _image_files(self, folder: Path) -> list[Path]:
        """Return where images are rendered to: reports and warnings name them as the layer, with a number."""
        names = [QgsFileUtils.stringToSafeFilename(frame.layer_name) for _, frame in self._rendered]
        return [folder / f"{name} {number}.tif" for number, name in enumerate(names, 1)]

    def _with_layer_names(self, message: str, folder: str) -> str:
        message = super()._with_layer_names(message, folder)
        for path, (_, frame) in zip(self._image_files(Path(folder)), self._rendered):
            message = message.replace(str(path), frame.layer_name)
        return message
