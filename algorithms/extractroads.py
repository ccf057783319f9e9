"""Extract roads: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.image_algorithm import ImageAlgorithm
from ..training_core import jobs


class ExtractRoads(ImageAlgorithm):
    """An image and a model in; center-lines, and the mask where wanted, out."""

    job_type = jobs.ExtractRoads
    renamed: ClassVar = {"raster": "INPUT", "roads": "OUTPUT"}
    numbers: ClassVar = {"count": "Number of lines", "length_m": "Length of all lines (m)"}
    words: ClassVar = {"engine": "Engine that ran"}
    styles: ClassVar = {"roads": "roads", "mask": "mask"}

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr("Roads")

    def groupId(self) -> str:
        """Return the group's id."""
        return "roads"

    def tags(self) -> list[str]:
        """Return the words that the toolbox also finds the algorithm by."""
        return self.tr("map,network,center-line,centerline,predict,deep learning,road").split(",")
