"""Algorithms on several images with labels; web maps among the images are rendered where the labels are.

Scope: how images and labels combine. Independent of rendering; see `rendering`.
"""

from __future__ import annotations

from typing import Any

from qgis.core import QgsMapLayer, QgsProcessingContext, QgsRectangle

from ...training_core.errors import JobError
from ...training_core.jobs import OptionField
from ..layers import exchange, work_area
from ..layers.image_layer import image_layers
from ..layers.snapshot import take_source
from ..rendering import rendering
from .algorithm import Values
from .parameters import INPUT
from .rendered_images_algorithm import AOI, RenderedImagesAlgorithm

ROADS, NO_ROAD, BACKGROUND_M = "ROADS", "NO_ROAD", "BACKGROUND_M"
# What is rendered around labels, so that their surroundings are seen: as much as a tile's usual halo.
MARGIN_PX = 128


class LabeledImagesAlgorithm(RenderedImagesAlgorithm):
    """An algorithm on images with labels: the job's fields rasters, roads, aoi and no_road."""

    images_field = "rasters"

    def _find_frames(
        self, parameters: Values, context: QgsProcessingContext
    ) -> list[tuple[QgsMapLayer, list[rendering.Frame]]]:
        layers = [layer for layer in self._layers(parameters, context) if exchange.why_no_file(layer)]
        return [(layer, self._frames_of(layer, parameters, context)) for layer in layers]

    def _frames_of(
        self, layer: QgsMapLayer, parameters: Values, context: QgsProcessingContext
    ) -> list[rendering.Frame]:
        work_area.check_image_crs(layer)
        resolution_m = self._resolution_m(layer, parameters, context)
        labels = self._label_bounds(layer, parameters, context)
        extents = []
        if labels:
            whole = work_area.around(labels)
            margin = rendering.units_per_m(layer.name(), layer.crs(), whole, context.transformContext())
            margin *= self._margin_m(resolution_m, parameters, context)
            extents = [work_area.clip_to_layer(bounds.buffered(margin), layer) for bounds in labels]
            extents = work_area.join([extent for extent in extents if not extent.isEmpty()])
        if not extents:
            raise JobError(
                f"The labels lie outside the layer {layer.name()}.",
                "Check the coordinate systems of both, or choose another layer.",
            )
        return self._make_frames(layer, extents, resolution_m, context)

    def _margin_m(self, resolution_m: float, parameters: Values, context: QgsProcessingContext) -> float:
        seen_m = MARGIN_PX * resolution_m
        return seen_m if parameters.get(AOI) else seen_m + self.parameterAsDouble(parameters, BACKGROUND_M, context)

    def _label_bounds(
        self, layer: QgsMapLayer, parameters: Values, context: QgsProcessingContext
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
        bounds = work_area.bounds_of(filter(None, sources), layer, context)
        return [each for each in bounds if not work_area.clip_to_layer(work_area.around([each]), layer).isEmpty()]

    def _layers(self, parameters: Values, context: QgsProcessingContext) -> list[QgsMapLayer]:
        return image_layers(self, INPUT, self._layers_alone(parameters), context)

    def _raster_paths(self, field: OptionField, parameters: Values, context: QgsProcessingContext) -> Any:
        files = [layer for layer in self._layers(parameters, context) if not exchange.why_no_file(layer)]
        given = [*exchange.training_data(parameters.get(INPUT)), *files]
        return super()._raster_paths(field, {**parameters, INPUT: given}, context)
