"""Processing algorithm *Segment roads*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.image_algorithm import ImageAlgorithm
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
