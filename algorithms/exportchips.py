"""Processing algorithm *Export training chips*: names of parameters and numeric outputs of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class ExportChips(JobAlgorithm):
    """Images and true roads in; a folder of training chips out."""

    job_type = jobs.ExportChips
    group_id = "training"
    keywords = "tiles,patches,dataset,training data,coco,stac,esri,arcgis,label,mask,deep learning,road"
    renamed: ClassVar = {"rasters": "INPUT", "folder": "OUTPUT"}
    numbers: ClassVar = {
        "chips": "Number of chips",
        "images": "Images with chips",
        "labeled_share": "Fraction of labeled pixels",
        "road_share": "Fraction of road pixels",
    }
