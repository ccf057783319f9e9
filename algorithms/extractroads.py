"""Extract roads: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.image_algorithm import ImageAlgorithm
from ..training_core import jobs


class ExtractRoads(ImageAlgorithm):
    """An image and a model in; center-lines, and the mask where wanted, out."""

    job_type = jobs.ExtractRoads
    group_id = "roads"
    keywords = "map,network,center-line,centerline,predict,deep learning,road"
    renamed: ClassVar = {"raster": "INPUT", "roads": "OUTPUT"}
    numbers: ClassVar = {"count": "Number of lines", "length_m": "Length of all lines (m)"}
    words: ClassVar = {"engine": "Engine that ran"}
    styles: ClassVar = {"roads": "roads", "mask": "mask"}
