"""Processing algorithm *Extract roads*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.image_algorithm import ImageAlgorithm
from ..training_core import jobs


class ExtractRoads(ImageAlgorithm):
    """An image and a model in; center-lines, and the mask on request, out."""

    job_type = jobs.ExtractRoads
    group_id = "roads"
    keywords = "map,network,center-line,centerline,predict,deep learning,road"
    renamed: ClassVar = {"raster": "INPUT", "roads": "OUTPUT"}
    numbers: ClassVar = {"count": "Number of lines", "length_m": "Total length (m)"}
    words: ClassVar = {"engine": "Engine used"}
    styles: ClassVar = {"roads": "roads", "links": "links", "breaks": "breaks", "mask": "mask"}
