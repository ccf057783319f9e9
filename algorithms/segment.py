"""Segment roads: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.image_algorithm import ImageAlgorithm
from ..training_core import jobs


class Segment(ImageAlgorithm):
    """An image and a model in; a road mask, and the probability where wanted, out."""

    job_type = jobs.Segment
    group_id = "roads"
    keywords = "mask,probability,predict,inference,classification,deep learning,road"
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
