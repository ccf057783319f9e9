"""Algorithms on one image, which may be any raster or mesh layer, within an extent and an area of interest.

Scope: how image, extent and area of interest combine. Independent of rendering; see `rendering`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

from qgis.core import (
    QgsGeometry,
    QgsMapLayer,
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterExtent,
    QgsProcessingParameterNumber,
)

from ...training_core.errors import JobError
from ...training_core.jobs import OptionField
from ..layers import exchange, work_area
from ..layers.image_layer import extent_on, image_layer, image_parameter
from ..layers.snapshot import take_source
from ..rendering import rendering
from .algorithm import Values, explained
from .parameters import INPUT
from .rendered_images_algorithm import AOI, RESOLUTION_M, RenderedImagesAlgorithm

EXTENT = "EXTENT"
AOI_FIELD = "aoi"


class ImageAlgorithm(RenderedImagesAlgorithm):
    """An algorithm on one image, an area of interest and a model: the job's fields raster, aoi and model."""

    images_field = "raster"

    def _make_parameters(self) -> list[QgsProcessingParameterDefinition]:
        extent = explained(
            QgsProcessingParameterExtent(EXTENT, self.tr("Extent"), optional=True),
            self.tr(
                "Rectangle to process, combined with the area of interest. A layer that is not a file, such as a "
                "web map, needs an extent or an area of interest."
            ),
        )
        resolution = explained(
            QgsProcessingParameterNumber(
                RESOLUTION_M,
                self.tr("Ground resolution of web maps (m)"),
                QgsProcessingParameterNumber.Type.Double,
                0.0,
                minValue=0.0,
                maxValue=1000.0,
            ),
            self.tr("Ground resolution at which a layer that is not a file is rendered. 0 uses the model's."),
            advanced=True,
        )
        inherited = [
            image_parameter(each.name(), each.description(), each.help()) if each.name() == INPUT else each
            for each in super()._make_parameters()
        ]  # with mesh layers at the input, too
        rare = QgsProcessingParameterDefinition.Flag.FlagAdvanced
        parameters = [*inherited, extent, resolution]
        return sorted(parameters, key=lambda parameter: (parameter.isDestination(), bool(parameter.flags() & rare)))

    def _find_frames(
        self, parameters: Values, context: QgsProcessingContext
    ) -> list[tuple[QgsMapLayer, list[rendering.Frame]]]:
        """See RenderedImagesAlgorithm; also keep the work area, in the CRS of the image."""
        layer = image_layer(self, INPUT, parameters, context)
        self._shape, self._crs = self._find_shape(layer, parameters, context), layer.crs()
        if self._shape is None or not exchange.why_no_file(layer):
            return []
        extent = work_area.clip_to_layer(self._shape.boundingBox(), layer)
        resolution_m = self._resolution_m(layer, parameters, context)
        return [(layer, self._make_frames(layer, [extent], resolution_m, context))]

    def _find_shape(
        self, layer: QgsMapLayer, parameters: Values, context: QgsProcessingContext
    ) -> Optional[QgsGeometry]:
        """Return the work area; None leaves it to the area of interest. Raise RoadSegError if it is missing."""
        why_no_file = exchange.why_no_file(layer)
        extent = extent_on(layer, self, EXTENT, parameters, context)
        if extent is None and not why_no_file:
            return None
        source = take_source(self, AOI, parameters, context)
        if extent is None and source is None:
            raise JobError(
                f"The layer {layer.name()} {why_no_file}, and neither an extent nor an area of interest is given.",
                "Give one of them (EXTENT, AOI).",
            )
        return work_area.intersection(extent, source, layer, context)

    def _prepare(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> None:
        super()._prepare(parameters, context, feedback)
        if self._shape is not None:
            self._sources[AOI_FIELD] = None  # the shape includes it

    def _raster_paths(self, field: OptionField, parameters: Values, context: QgsProcessingContext) -> Any:
        return "" if self._rendered else super()._raster_paths(field, parameters, context)

    def _write_inputs(
        self, parameters: Values, context: QgsProcessingContext, folder: Path, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        inputs = super()._write_inputs(parameters, context, folder, feedback)
        if self._shape is not None:
            exchange.write_shape(self._shape, self._crs, _area_file(folder), context)
            inputs[AOI_FIELD] = str(_area_file(folder))
        return inputs

    def _with_layer_names(self, message: str, folder: str) -> str:
        message = super()._with_layer_names(message, folder)
        return message.replace(str(_area_file(Path(folder))), self.tr("the extent"))


def _area_file(folder: Path) -> Path:
    return folder / "aoi.gpkg"
