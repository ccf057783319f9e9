"""Algorithm *Get OpenStreetMap data*: what a server or a file has of an area, as layers with the license in them."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Any, ClassVar, Optional

from qgis.core import (
    QgsGeometry,
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingMultiStepFeedback,
    QgsProcessingParameterAuthConfig,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterExtent,
    QgsProcessingParameterFileDestination,
    QgsProcessingParameterString,
    QgsProcessingUtils,
)

from ..qgis_roadseg.layers import exchange, work_area
from ..qgis_roadseg.layers.degree_boxes import boxes_of_extent, boxes_of_source
from ..qgis_roadseg.layers.licenses import set_license
from ..qgis_roadseg.layers.snapshot import take_source
from ..qgis_roadseg.runtime.overpass import Server, download
from ..qgis_roadseg.toolbox import presets
from ..qgis_roadseg.toolbox.algorithm import Values, explained
from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs
from ..training_core.errors import JobError, OutputError, ResourceError
from ..training_core.jobs.file_systems import replace
from ..training_core.jobs.overpass import ADDRESS, MAX_AREA_KM2, MAX_BOXES, Box, area_km2


class GetOsmData(JobAlgorithm):
    """An area, or a file, in; roads, bridges, water, railways, runways and places without a road out."""

    job_type = jobs.GetOsmData
    group_id = "network"
    keywords = "openstreetmap,osm,overpass,download,extract,highway,river,railway,label,before,line,road"
    renamed: ClassVar = {"aoi": "INPUT", "roads": "OUTPUT"}
    created = ("bridges", "water", "rails", "runways", "no_road")
    numbers: ClassVar = {
        "counts.roads": "Number of roads",
        "counts.bridges": "Number of bridges",
        "counts.no_road": "Number of places without a road",
    }
    words: ClassVar = {"attribution": "Attribution"}
    styles: ClassVar = {
        **{"roads": "roadsbyclass", "bridges": "roadsbyclass", "no_road": "noroad"},
        **{name: name for name in ("water", "rails", "runways")},
    }

    INPUT, EXTENT, EXTRACT, SERVER, AUTHCFG, DOWNLOAD = "INPUT", "EXTENT", "EXTRACT", "SERVER", "AUTHCFG", "DOWNLOAD"

    def _make_parameters(self) -> list[QgsProcessingParameterDefinition]:
        area, extract, *outputs = super()._make_parameters()
        extent = explained(
            QgsProcessingParameterExtent(self.EXTENT, self.tr("Extent"), optional=True),
            self.tr(
                "Rectangle to get data of, such as the map's. An area of interest takes precedence. At most {area} km² "
                "are downloaded; of a file, any area is read."
            ).format(area=f"{MAX_AREA_KM2:,}"),
        )
        extent.setGuiDefaultValueOverride(presets.view())
        server = explained(
            QgsProcessingParameterString(self.SERVER, self.tr("Overpass server"), ADDRESS),
            self.tr(
                "Address of the server that is asked if no file is given. It learns the area and your IP address. The "
                "proxy settings of QGIS apply."
            ),
            advanced=True,
        )
        login = explained(
            QgsProcessingParameterAuthConfig(self.AUTHCFG, self.tr("Login for the server"), optional=True),
            self.tr("Authentication that is stored in QGIS, for a server that needs one."),
            advanced=True,
        )
        kept = QgsProcessingParameterFileDestination(
            self.DOWNLOAD, self.tr("Downloaded file"), "OpenStreetMap (*.osm)", optional=True, createByDefault=False
        )
        explained(
            kept,
            self.tr(
                "File to keep the data in, if they are downloaded. It can be given as the OpenStreetMap file later, "
                "without a network, and as the extract of Export changes for OpenStreetMap."
            ),
        )
        return [area, extent, extract, server, login, *outputs, kept]

    def _check(self, parameters: Values, context: QgsProcessingContext) -> None:
        super()._check(parameters, context)
        self._request(parameters, context)

    def _plain_options(self, parameters: Values, context: QgsProcessingContext) -> dict[str, Any]:
        """See JobAlgorithm; the file to download is not there yet."""
        options = super()._plain_options(parameters, context)
        return {**options, "extract": options["extract"] or "download.osm"}

    def _prepare(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> None:
        super()._prepare(parameters, context, feedback)
        self._asked = self._request(parameters, context)

    def _request(self, parameters: Values, context: QgsProcessingContext) -> Optional[tuple[Server, list[Box]]]:
        """Return the server to ask and the boxes to ask for, or None if a file is given.

        Raises RoadSegError if the address or the area is no possible one, or the area is too large.
        """
        source = take_source(self, self.INPUT, parameters, context)
        extent = None if source else self._extent(parameters, context)
        if parameters.get(self.EXTRACT):
            return None
        boxes = boxes_of_source(source, context) if source else extent and boxes_of_extent(*extent, context)
        if not boxes:
            raise JobError(
                "There is no area to get data of.", "Give an extent (EXTENT), polygons (INPUT), or a file (EXTRACT)."
            )
        server = Server(
            self.parameterAsString(parameters, self.SERVER, context).strip(),
            self.parameterAsString(parameters, self.AUTHCFG, context),
        )
        server.check()
        if len(boxes) > MAX_BOXES:
            raise ResourceError(
                f"The polygons lie in {len(boxes):,} places. Data of {MAX_BOXES} places are downloaded at most.",
                "Give an extent around them, or an extract as a file (EXTRACT).",
            )
        if (area := area_km2(boxes)) > MAX_AREA_KM2:
            raise ResourceError(
                f"The area has {area:,.0f} km². Data of {MAX_AREA_KM2:,} km² are downloaded at most.",
                "Choose a smaller area, or give an extract as a file (EXTRACT), for example of a country.",
            )
        return server, boxes

    def _extent(self, parameters: Values, context: QgsProcessingContext) -> Optional[tuple[Any, Any]]:
        """Return the extent with its CRS, or None if none is given."""
        if parameters.get(self.EXTENT) in (None, ""):
            return None
        crs = self.parameterAsExtentCrs(parameters, self.EXTENT, context)
        if not crs.isValid():
            raise JobError("The extent (EXTENT) has no coordinate reference system.", "Add one, such as [EPSG:4326].")
        extent = self.parameterAsExtent(parameters, self.EXTENT, context)
        work_area.check_extent(extent)
        return extent, crs

    def _work(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> Values:
        """Download, if no file is given, and run the job: two steps."""
        steps = QgsProcessingMultiStepFeedback(2, feedback) if self._asked else feedback
        return super()._work(parameters, context, steps)

    def _write_inputs(
        self, parameters: Values, context: QgsProcessingContext, folder: Path, feedback: QgsProcessingFeedback
    ) -> dict[str, str]:
        inputs = super()._write_inputs(parameters, context, folder, feedback)
        if "aoi" not in inputs and (extent := self._extent(parameters, context)):
            rectangle, crs = extent
            inputs["aoi"] = str(folder / "extent.gpkg")
            exchange.write_shape(QgsGeometry.fromRect(rectangle), crs, Path(inputs["aoi"]), context)
        if self._asked:
            server, boxes = self._asked
            feedback.setProgressText(self.tr("Asking {server}").format(server=server.name))
            download(server, boxes, folder / "download.osm", feedback)
            inputs["extract"] = str(folder / "download.osm")
            feedback.setCurrentStep(1)
        return inputs

    def _do(
        self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback, folder: Path
    ) -> Values:
        results = super()._do(parameters, context, feedback, folder)
        for field in self._fields(jobs.VECTOR_OUTPUT):
            destination, caption = results.get(self._name(field)) or "", self.tr(field.option.caption)
            layer = QgsProcessingUtils.mapLayerFromString(destination, context)
            if layer is None:
                continue
            set_license(layer, caption)
            waiting = context.layersToLoadOnCompletion()
            if not layer.featureCount() and waiting.pop(destination, None) is not None:
                context.setLayersToLoadOnCompletion(waiting)
                feedback.pushInfo(self.tr("There is nothing for the layer {layer}.").format(layer=caption))
        kept = self.parameterAsFileOutput(parameters, self.DOWNLOAD, context) if self._asked else ""
        if kept:
            _keep(folder / "download.osm", Path(kept))
            results[self.DOWNLOAD] = kept
        return results

    def _with_layer_names(self, message: str, folder: str) -> str:
        message = super()._with_layer_names(message, folder)
        message = message.replace(str(Path(folder, "extent.gpkg")), self.tr("the extent"))
        name = self._asked[0].name if self._asked else ""
        return message.replace(str(Path(folder, "download.osm")), name)


def _keep(file: Path, destination: Path) -> None:
    """Copy a file to its destination, which holds all of it or is as before; raise OutputError if that fails."""
    draft = destination.with_name(f".{uuid.uuid4().hex}.osm")
    try:
        shutil.copyfile(file, draft)
        replace(draft, destination)
    except OSError as error:
        raise OutputError(f"{destination} cannot be written: {error.strerror}.", "Choose another folder.") from error
    finally:
        draft.unlink(missing_ok=True)
