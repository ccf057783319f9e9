"""Segment roads: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.image_algorithm import ImageAlgorithm
from ..training_core import jobs


class Segment(ImageAlgorithm):
    """An image and a model in; a road mask, and the probability where wanted, out."""

    job_type = jobs.Segment
    renamed: ClassVar = {"raster": "INPUT"}
    omitted = ("rasters", "folder", "resume")  # QGIS has its own way for several images: run as batch process
    created = ("mask",)
    numbers: ClassVar = {
        "megapixels_per_s": "Megapixels a second",
        "overhead": "Pixels computed for each pixel kept",
        "halo_px": "Halo of the tiles (px)",
    }
    words: ClassVar = {"engine": "Engine that ran", "precision": "Number format that ran"}
    styles: ClassVar = {"mask": "mask", "probability": "probability"}

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr("Roads")

    def groupId(self) -> str:
        """Return the group's id."""
        return "roads"

    def tags(self) -> list[str]:
        """Return the words that the toolbox also finds the algorithm by."""
        return self.tr("mask,probability,predict,inference,classification,deep learning,road").split(",")
