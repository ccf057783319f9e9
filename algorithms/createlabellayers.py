"""Processing algorithm *Create label layers*: an empty GeoPackage to digitize roads and their surroundings in."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Optional

from qgis.core import (
    QgsGeometry,
    QgsMapLayer,
    QgsProcessing,
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingOutputVectorLayer,
    QgsProcessingParameterExtent,
    QgsProcessingParameterNumber,
    QgsProcessingParameterString,
    QgsProcessingParameterVectorDestination,
)

from ..qgis_roadseg.layers import label_layers, work_area
from ..qgis_roadseg.layers.destinations import check_destination
from ..qgis_roadseg.layers.image_layer import extent_on, image_layer, image_parameter
from ..qgis_roadseg.layers.results import sink_destination
from ..qgis_roadseg.layers.styles import use_stored_style
from ..qgis_roadseg.toolbox.algorithm import RoadSegAlgorithm, Values

_CLASSES = "motorway, primary, secondary, tertiary, residential, unclassified, service, track, path"


class CreateLabelLayers(RoadSegAlgorithm):
    """Input: an image. Output: empty layers for its roads, area of interest and places without road."""

    own_name = "createlabellayers"
    title = "Create label layers"
    summary = "Create layers for drawing roads and an area of interest, ready for training."
    description = (
        "Creates a GeoPackage with three layers: roads, for tracing road center-lines, with a form for class, "
        "width and certainty; aoi, for polygons in which every road is drawn; and no_road, for polygons around "
        "objects that look like roads but are not. In Fine-tune a model, choose road_class as road class field, "
        "width_m as road width field and sure as sure field."
    )
    group_id = "training"
    keywords = "draw,digitize,annotate,label,area of interest,aoi,new layer,geopackage,form,road"

    INPUT = "INPUT"
    CLASSES = "CLASSES"
    WIDTH_M = "WIDTH_M"
    EXTENT = "EXTENT"
    OUTPUT = "OUTPUT"
    AOI = "AOI"
    NO_ROAD = "NO_ROAD"
    _OUTPUTS: ClassVar = {label_layers.AOI: AOI, label_layers.NO_ROAD: NO_ROAD, label_layers.ROADS: OUTPUT}

    def initAlgorithm(self, config: Any = None) -> None:
        self.addParameter(
            image_parameter(
                self.INPUT,
                self.tr("Image"),
                self.tr("Image to draw roads on: a raster or mesh layer. The label layers get its CRS."),
            )
        )
        width = label_layers.WIDTH
        self._add(
            QgsProcessingParameterNumber(
                self.WIDTH_M,
                self.tr("Width of a new road (m)"),
                QgsProcessingParameterNumber.Type.Double,
                width.default,
                minValue=width.option.minimum,
                maxValue=width.option.maximum,
            ),
            self.tr("Default width in the form. It can be changed for each road."),
        )
        self._add(
            QgsProcessingParameterString(self.CLASSES, self.tr("Road classes"), _CLASSES, optional=True),
            self.tr(
                "Classes offered in the form, separated by commas: kinds of roads, surfaces, or anything else that is "
                "visible in the image. A road may also have no class."
            ),
        )
        self._add(
            QgsProcessingParameterExtent(self.EXTENT, self.tr("Extent"), optional=True),
            self.tr(
                "Initial rectangle of the area of interest. Without it, the layer is empty. Add a polygon once every "
                "road in it is drawn."
            ),
        )
        line, polygon = QgsProcessing.SourceType.TypeVectorLine, QgsProcessing.SourceType.TypeVectorPolygon
        output = QgsProcessingParameterVectorDestination(self.OUTPUT, self.tr("Label layers"), line)
        output.setSupportsNonFileBasedOutput(False)
        self._add(
            output,
            self.tr(
                "GeoPackage to create, with the layers roads, aoi and no_road. Existing files are never overwritten."
            ),
        )
        self.addOutput(QgsProcessingOutputVectorLayer(self.AOI, self.tr("Area of interest"), polygon))
        self.addOutput(QgsProcessingOutputVectorLayer(self.NO_ROAD, self.tr("No road here"), polygon))

    def _check(self, parameters: Values, context: QgsProcessingContext) -> None:
        """Check that the layers can be created without overwriting a file."""
        self._area(image_layer(self, self.INPUT, parameters, context), parameters, context)
        destination = sink_destination(parameters.get(self.OUTPUT), context)
        if not destination.is_temporary:
            label_layers.check_new(destination.text)
            check_destination(destination)

    def _prepare(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> None:
        """Read CRS and extent of the image, in the main thread."""
        layer = image_layer(self, self.INPUT, parameters, context)
        self._wanted = label_layers.LabelLayers(
            layer.crs(),
            _split(self.parameterAsString(parameters, self.CLASSES, context)),
            self.parameterAsDouble(parameters, self.WIDTH_M, context),
            self._area(layer, parameters, context),
        )

    def _work(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> Values:
        """Write the layers, and load them into the project if requested."""
        destination = self.parameterAsOutputLayer(parameters, self.OUTPUT, context)
        path = os.path.abspath(destination)
        label_layers.write_label_layers(path, self._wanted, context.transformContext(), self.tr)
        uris = {name: label_layers.layer_uri(path, name) for name in label_layers.NAMES}
        self._load(destination, uris, context)
        if sink_destination(parameters.get(self.OUTPUT), context).is_temporary:
            feedback.pushWarning(
                self.tr(
                    "The label layers are in a temporary file that QGIS deletes when it closes. Choose a file to keep "
                    "them."
                )
            )
        feedback.pushInfo(
            self.tr(
                "Trace road center-lines in the layer roads. In the layer aoi, add polygons in which every road is "
                "drawn. Save the edits of both layers, and run Fine-tune a model."
            )
        )
        return {output: uris[name] for name, output in self._OUTPUTS.items()}

    def _area(self, layer: QgsMapLayer, parameters: Values, context: QgsProcessingContext) -> Optional[QgsGeometry]:
        """Return the initial area of interest or None; raise RoadSegError if it is invalid."""
        work_area.check_image_crs(layer)
        extent = extent_on(layer, self, self.EXTENT, parameters, context)
        if extent is None:
            return None
        shape = work_area.intersection(extent, None, layer, context)
        return shape.intersection(QgsGeometry.fromRect(work_area.clip_to_layer(shape.boundingBox(), layer)))

    def _load(self, destination: str, uris: dict[str, str], context: QgsProcessingContext) -> None:
        """If the destination would be loaded, load all of its layers instead, roads on top."""
        waiting = context.layersToLoadOnCompletion()
        details = waiting.pop(destination, None)
        if details is None:
            return
        context.setLayersToLoadOnCompletion(waiting)
        titles = label_layers.titles(self.tr)
        for order, (name, uri) in enumerate(uris.items()):
            loaded = QgsProcessingContext.LayerDetails(titles[name], details.project, self._OUTPUTS[name])
            loaded.forceName, loaded.layerSortKey = True, order
            context.addLayerToLoadOnCompletion(uri, loaded)
            use_stored_style(uri, context)


def _split(classes: str) -> list[str]:
    """Return the unique classes in a comma-separated text, in order."""
    return list(dict.fromkeys(name.strip() for name in classes.split(",") if name.strip()))
