"""Algorithms on one image, which may be any raster or mesh layer, within an extent and an area of interest.

Scope: how image, extent, area of interest and model combine. Independent of rendering; see `rendering`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsGeometry,
    QgsMapLayer,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProcessingMultiStepFeedback,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterExtent,
    QgsProcessingParameterMapLayer,
    QgsProcessingParameterNumber,
)

from ...training_core.errors import JobError, ModelFileError, RoadSegError
from ...training_core.jobs import OptionField, model_path
from ..layers import exchange, work_area
from ..layers.image_layer import extent_on, image_layer, image_parameter
from ..layers.snapshot import take_source
from ..rendering import mesh_painting, rendering
from .job_algorithm import JobAlgorithm
from .model_files import read_resolution_m
from .parameters import INPUT

AOI, MODEL, EXTENT, RESOLUTION_M = "AOI", "MODEL", "EXTENT", "RESOLUTION_M"
AOI_FIELD, RASTER_FIELD = "aoi", "raster"


@dataclass(frozen=True)
class Scope:
    """Part of a layer to work on.

    Parameters
    ----------
    shape : QgsGeometry, optional
        The work area in that CRS; None leaves it to the area of interest.
    frame : rendering.Frame, optional
        The pixel grid on which QGIS renders the layer; None if the worker reads the layer's file.
    """

    layer_name: str
    crs: QgsCoordinateReferenceSystem
    shape: Optional[QgsGeometry] = None
    frame: Optional[rendering.Frame] = None


class ImageAlgorithm(JobAlgorithm):
    """An algorithm on one image, an area of interest and a model: the job's fields raster, aoi and model."""

    def _make_parameters(self) -> list[QgsProcessingParameterDefinition]:
        own = [
            (
                QgsProcessingParameterExtent(EXTENT, self.tr("Extent"), optional=True),
                self.tr(
                    "Rectangle to process, combined with the area of interest. A layer that is not a file, such as a "
                    "web map, needs an extent or an area of interest."
                ),
            ),
            (
                QgsProcessingParameterNumber(
                    RESOLUTION_M,
                    self.tr("Ground resolution of web maps (m)"),
                    QgsProcessingParameterNumber.Type.Double,
                    0.0,
                    minValue=0.0,
                    maxValue=1000.0,
                ),
                self.tr("Ground resolution at which a layer that is not a file is rendered. 0 uses the model's."),
            ),
        ]
        for parameter, help_text in own:
            parameter.setHelp(help_text)
        resolution = own[1][0]
        resolution.setFlags(resolution.flags() | QgsProcessingParameterDefinition.Flag.FlagAdvanced)
        inherited = [_of_any_layer(each) if each.name() == INPUT else each for each in super()._make_parameters()]
        parameters = [*inherited, *(parameter for parameter, _ in own)]
        rare = QgsProcessingParameterDefinition.Flag.FlagAdvanced
        return sorted(parameters, key=lambda parameter: (parameter.isDestination(), bool(parameter.flags() & rare)))

    def checkParameterValues(self, parameters: dict[str, Any], context: QgsProcessingContext) -> tuple[bool, str]:
        """Return whether the values are valid, and extent and layer overlap, with a message if not."""
        try:
            fine, message = super().checkParameterValues(parameters, context)
            if fine:
                self._find_scope(parameters, context)
        except (RoadSegError, QgsProcessingException) as error:
            return False, str(error)
        return fine, message

    def _prepare(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> None:
        """See JobAlgorithm; also make a provider for the other thread, if the layer is rendered."""
        self._scope = self._find_scope(parameters, context)
        if self._scope.frame is not None:
            self._provider = mesh_painting.provider_of(self._layer(parameters, context))
        super()._prepare(parameters, context, feedback)
        if self._scope.shape is not None:
            self._sources[AOI_FIELD] = None  # the shape includes it

    def _work(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        """Run the job; if the layer is rendered, that is the first of two steps."""
        steps = feedback if self._scope.frame is None else QgsProcessingMultiStepFeedback(2, feedback)
        return super()._work(parameters, context, steps)

    def _find_scope(self, parameters: dict[str, Any], context: QgsProcessingContext) -> Scope:
        """Return the part of the layer to work on; raise RoadSegError if it is missing or too large."""
        layer = self._layer(parameters, context)
        why_no_file = exchange.why_no_file(layer)
        extent = extent_on(layer, self, EXTENT, parameters, context)
        if extent is None and not why_no_file:
            return Scope(layer.name(), layer.crs())
        source = take_source(self, AOI, parameters, context)
        if extent is None and source is None:
            raise JobError(
                f"The layer {layer.name()} {why_no_file}, and neither an extent nor an area of interest is given.",
                "Give one of them (EXTENT, AOI).",
            )
        shape = work_area.intersection(extent, source, layer, context)
        frame = self._make_frame(layer, shape, parameters, context) if why_no_file else None
        return Scope(layer.name(), layer.crs(), shape, frame)

    def _layer(self, parameters: dict[str, Any], context: QgsProcessingContext) -> QgsMapLayer:
        return image_layer(self, INPUT, parameters, context)

    def _make_frame(
        self, layer: QgsMapLayer, shape: QgsGeometry, parameters: dict[str, Any], context: QgsProcessingContext
    ) -> rendering.Frame:
        extent = work_area.clip_to_layer(shape.boundingBox(), layer)
        resolution_m = self._resolution_m(layer, parameters, context)
        frame = rendering.make_frame(layer.name(), layer.crs(), extent, resolution_m, context.transformContext())
        rendering.check_size([frame], layer, tempfile.gettempdir())
        return frame

    def _resolution_m(self, layer: QgsMapLayer, parameters: dict[str, Any], context: QgsProcessingContext) -> float:
        model = self.parameterAsFile(parameters, MODEL, context)
        resolution_m = self.parameterAsDouble(parameters, RESOLUTION_M, context) or read_resolution_m(model_path(model))
        if resolution_m is None:
            raise ModelFileError(
                f"The model {model} states no ground resolution, which is needed to render the layer {layer.name()}.",
                "Check the model file, or give the ground resolution of web maps (RESOLUTION_M).",
            )
        return resolution_m

    def _raster_paths(self, field: OptionField, parameters: dict[str, Any], context: QgsProcessingContext) -> Any:
        return "" if self._scope.frame is not None else super()._raster_paths(field, parameters, context)

    def _write_inputs(
        self,
        parameters: dict[str, Any],
        context: QgsProcessingContext,
        folder: Path,
        feedback: QgsProcessingFeedback,
    ) -> dict[str, str]:
        inputs = super()._write_inputs(parameters, context, folder, feedback)
        scope = self._scope
        if scope.shape is not None:
            exchange.write_shape(scope.shape, scope.crs, _area_file(folder), context)
            inputs[AOI_FIELD] = str(_area_file(folder))
        if scope.frame is not None:
            rendering.render(self._provider, scope.frame, _image_file(folder), feedback)
            inputs[RASTER_FIELD] = str(_image_file(folder))
            feedback.setCurrentStep(1)
        return inputs

    def _with_layer_names(self, message: str, folder: str) -> str:
        message = super()._with_layer_names(message, folder)
        message = message.replace(str(_area_file(Path(folder))), self.tr("the extent"))
        return message.replace(str(_image_file(Path(folder))), self._scope.layer_name)


def _of_any_layer(parameter: QgsProcessingParameterDefinition) -> QgsProcessingParameterMapLayer:
    """Return a parameter like the given one that takes mesh layers, too."""
    return image_parameter(parameter.name(), parameter.description(), parameter.help())


def _area_file(folder: Path) -> Path:
    return folder / "aoi.gpkg"


def _image_file(folder: Path) -> Path:
    return folder / "image.tif"
