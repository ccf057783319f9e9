"""Create label layers: a GeoPackage to draw roads and areas of interest in, ready for a training."""

from __future__ import annotations

import os
from typing import Any, Optional

from qgis.core import (
    QgsGeometry,
    QgsMapLayer,
    QgsProcessing,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProcessingOutputVectorLayer,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterExtent,
    QgsProcessingParameterNumber,
    QgsProcessingParameterString,
    QgsProcessingParameterVectorDestination,
)

from ..qgis_roadseg.layers import exchange, label_layers, work_area
from ..qgis_roadseg.layers.image_layer import extent_on, image_layer, image_parameter
from ..qgis_roadseg.layers.styles import use_stored_style
from ..qgis_roadseg.toolbox.algorithm import RoadSegAlgorithm, help_text
from ..qgis_roadseg.toolbox.parameters import sink_destination
from ..training_core.errors import RoadSegError

_CLASSES = "motorway, primary, secondary, tertiary, residential, unclassified, service, track, path"


class CreateLabelLayers(RoadSegAlgorithm):
    """An image in; layers to draw its roads and an area of interest in out."""

    group_id = "training"
    keywords = "draw,digitize,annotate,label,area of interest,aoi,new layer,geopackage,form,road"

    INPUT = "INPUT"
    CLASSES = "CLASSES"
    WIDTH_M = "WIDTH_M"
    EXTENT = "EXTENT"
    OUTPUT = "OUTPUT"
    AOI = "AOI"

    def initAlgorithm(self, config: Any = None) -> None:
        """Declare parameters and outputs."""
        self.addParameter(
            image_parameter(
                self.INPUT,
                self.tr("Image"),
                self.tr("The image on which roads will be drawn: a raster or mesh layer. The layers get its CRS."),
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
            self.tr("Width that the form begins with; it can be changed for each road."),
        )
        self._add(
            QgsProcessingParameterString(self.CLASSES, self.tr("Road classes"), _CLASSES, optional=True),
            self.tr(
                "Classes that the form offers, separated by commas: kinds of roads, surfaces, or whatever can be seen "
                "in the image. A road may be left without one."
            ),
        )
        self._add(
            QgsProcessingParameterExtent(self.EXTENT, self.tr("Extent"), optional=True),
            self.tr(
                "Rectangle that the area of interest begins with. Without it that layer is empty: outline the ground "
                "once every road in it is drawn."
            ),
        )
        output = QgsProcessingParameterVectorDestination(
            self.OUTPUT, self.tr("Label layers"), QgsProcessing.SourceType.TypeVectorLine
        )
        output.setSupportsNonFileBasedOutput(False)
        self._add(
            output,
            self.tr("The GeoPackage to make, with the layers roads and aoi. A file that is there is never replaced."),
        )
        self.addOutput(
            QgsProcessingOutputVectorLayer(
                self.AOI, self.tr("Area of interest"), QgsProcessing.SourceType.TypeVectorPolygon
            )
        )

    def _add(self, parameter: QgsProcessingParameterDefinition, help_text: str) -> None:
        parameter.setHelp(help_text)
        self.addParameter(parameter)

    def name(self) -> str:
        """Return the id."""
        return "createlabellayers"

    def displayName(self) -> str:
        """Return the name in the toolbox."""
        return self.tr("Create label layers")

    def shortDescription(self) -> str:
        """Return the tooltip in the toolbox."""
        return self.tr("Make layers to draw roads and an area of interest in, ready for a training.")

    def shortHelpString(self) -> str:
        """Return the help."""
        what = self.tr(
            "Makes a GeoPackage with two layers: roads, to trace the middle of roads in, with a form for class, width "
            "and whether one is sure; and aoi, to outline the ground within which every road is drawn. Fine-tune a "
            "model takes them with road_class as road class field, width_m as road width field and sure as sure field."
        )
        return help_text(what, self.parameterDefinitions())

    def checkParameterValues(self, parameters: dict[str, Any], context: QgsProcessingContext) -> tuple[bool, str]:
        """Say whether such layers can be made, and that no file would be replaced."""
        try:
            layer = image_layer(self, self.INPUT, parameters, context)
            fine, message = super().checkParameterValues(parameters, context)
            if fine:
                self._area(layer, parameters, context)
                destination = sink_destination(parameters.get(self.OUTPUT), context)
                if destination != QgsProcessing.TEMPORARY_OUTPUT:
                    exchange.check_destination(os.path.abspath(destination))
                    label_layers.check_new(destination)
        except (RoadSegError, QgsProcessingException) as error:
            return False, str(error)
        return fine, message

    def _prepare(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> None:
        """Look at the image, which belongs to the main thread."""
        layer = image_layer(self, self.INPUT, parameters, context)
        self._wanted = label_layers.LabelLayers(
            layer.crs(),
            _split(self.parameterAsString(parameters, self.CLASSES, context)),
            self.parameterAsDouble(parameters, self.WIDTH_M, context),
            self._area(layer, parameters, context),
        )

    def _work(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        """Write the layers, and have those loaded that are wanted on the map."""
        destination = self.parameterAsOutputLayer(parameters, self.OUTPUT, context)
        path = os.path.abspath(destination)
        label_layers.write_label_layers(path, self._wanted, context.transformContext(), self.tr)
        uris = {name: label_layers.layer_uri(path, name) for name in (label_layers.AOI, label_layers.ROADS)}
        self._load(destination, uris, context)
        if sink_destination(parameters.get(self.OUTPUT), context) == QgsProcessing.TEMPORARY_OUTPUT:
            feedback.pushWarning(
                self.tr(
                    "The layers are in a temporary file, which goes when QGIS is closed. Name a file to keep labels."
                )
            )
        feedback.pushInfo(
            self.tr(
                "Trace the middle of roads in the layer roads, and outline in the layer aoi the ground within which "
                "every road is drawn. Save the edits of both, and run Fine-tune a model."
            )
        )
        return {self.OUTPUT: uris[label_layers.ROADS], self.AOI: uris[label_layers.AOI]}

    def _area(
        self, layer: QgsMapLayer, parameters: dict[str, Any], context: QgsProcessingContext
    ) -> Optional[QgsGeometry]:
        """Return what the area of interest begins with, or None; raise RoadSegError where it makes no sense."""
        work_area.check_image_crs(layer)
        extent = extent_on(layer, self, self.EXTENT, parameters, context)
        if extent is None:
            return None
        shape = work_area.intersection(extent, None, layer, context)
        return shape.intersection(QgsGeometry.fromRect(work_area.clip_to_layer(shape.boundingBox(), layer)))

    def _load(self, destination: str, uris: dict[str, str], context: QgsProcessingContext) -> None:
        """Where the destination would be loaded, have both of its layers loaded in its place, the roads on top."""
        waiting = context.layersToLoadOnCompletion()
        details = waiting.pop(destination, None)
        if details is None:
            return
        context.setLayersToLoadOnCompletion(waiting)
        titles = {label_layers.AOI: self.tr("Area of interest"), label_layers.ROADS: self.tr("Drawn roads")}
        outputs = {label_layers.AOI: self.AOI, label_layers.ROADS: self.OUTPUT}
        for order, (name, uri) in enumerate(uris.items()):
            loaded = QgsProcessingContext.LayerDetails(titles[name], details.project, outputs[name])
            loaded.forceName, loaded.layerSortKey = True, order
            context.addLayerToLoadOnCompletion(uri, loaded)
            use_stored_style(uri, context)


def _split(classes: str) -> list[str]:
    """Return the classes in a text, each once, in order."""
    return list(dict.fromkeys(name.strip() for name in classes.split(",") if name.strip()))
