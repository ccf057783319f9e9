"""Algorithms of the group *Roads*: names of parameters, outputs and styles."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from qgis.core import QgsProcessingContext

from ..qgis_roadseg.toolbox.algorithm import Values
from ..qgis_roadseg.toolbox.image_algorithm import ImageAlgorithm
from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class Segment(ImageAlgorithm):
    """An image and a model in; a road mask, and the probability on request, out."""

    job_type = jobs.Segment
    group_id = "roads"
    keywords = "mask,probability,predict,inference,classification,deep learning,road"
    renamed: ClassVar = {"raster": "INPUT"}
    omitted = ("rasters", "folder", "resume")  # for several images QGIS has its batch process
    created = ("mask",)
    numbers: ClassVar = {
        "megapixels_per_s": "Megapixels per second",
        "overhead": "Pixels computed per output pixel",
        "halo_px": "Tile halo (px)",
    }
    words: ClassVar = {"engine": "Engine used", "precision": "Precision used"}
    styles: ClassVar = {"mask": "mask", "probability": "probability"}


class Vectorize(JobAlgorithm):
    """A road mask or probability in; center-lines, and nodes, links and likely breaks on request, out."""

    job_type = jobs.Vectorize
    group_id = "roads"
    keywords = "center-line,centerline,skeleton,network,graph,line,road"
    renamed: ClassVar = {"raster": "INPUT", "roads": "OUTPUT"}
    whole = ("threshold_areas",)
    numbers: ClassVar = {"count": "Number of lines", "length_m": "Total length (m)"}
    styles: ClassVar = {"roads": "roads", "links": "links", "breaks": "breaks"}


class ExtractRoads(ImageAlgorithm):
    """An image and a model in; center-lines, and mask and probability on request, out."""

    job_type = jobs.ExtractRoads
    group_id = "roads"
    keywords = "map,network,center-line,centerline,predict,deep learning,road"
    renamed: ClassVar = {"raster": "INPUT", "roads": "OUTPUT"}
    numbers: ClassVar = {"count": "Number of lines", "length_m": "Total length (m)"}
    words: ClassVar = {"engine": "Engine used"}
    styles: ClassVar = {name: name for name in ("roads", "links", "breaks", "mask", "probability")}


class MapRegion(JobAlgorithm):
    """Many scenes and a model in; one network of center-lines, masks in a folder, their index and a report out."""

    job_type = jobs.MapRegion
    group_id = "roads"
    keywords = "scenes,tiles,mosaic,district,country,cluster,dask,batch,network,center-line,mask,deep learning,road"
    renamed: ClassVar = {"rasters": "INPUT", "roads": "OUTPUT"}
    numbers: ClassVar = {
        "count": "Number of lines",
        "length_m": "Total length (m)",
        "components": "Number of connected components",
        "scenes": "Number of scenes",
        "done": "Scenes mapped in this run",
        "kept": "Scenes kept from an earlier run",
        "failed": "Number of failures",
        "outside": "Scenes outside the area of interest",
        "megapixels": "Megapixels mapped",
        "megapixels_per_s": "Megapixels per second",
        "seam_mismatches": "Line ends at seams without a counterpart",
    }
    pages: ClassVar = {"report": "Report"}
    layers: ClassVar = {"index": "Index of scenes"}
    styles: ClassVar = {"roads": "roads", "index": "region_index"}

    def _plain_options(self, parameters: Values, context: QgsProcessingContext) -> dict[str, Any]:
        """See JobAlgorithm; the worker, which has another working directory, gets an absolute path of the source."""
        options = super()._plain_options(parameters, context)
        source = options["source"]
        if source and ":" not in source:  # with a colon: an address, or a path on Windows that is absolute
            options["source"] = os.path.abspath(source)
        return options
