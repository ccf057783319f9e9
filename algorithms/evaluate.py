"""Processing algorithm *Evaluate a model*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.labeled_images_algorithm import LabeledImagesAlgorithm
from ..training_core import jobs


class Evaluate(LabeledImagesAlgorithm):
    """Images, true roads and a model in; scores and their report out."""

    job_type = jobs.Evaluate
    group_id = "training"
    keywords = "score,accuracy,iou,f1,precision,recall,validate,test,deep learning,road"
    renamed: ClassVar = {"rasters": "INPUT"}
    created = ("report",)
    numbers: ClassVar = {
        "pixel.iou": "IoU",
        "pixel.f1": "F1",
        "pixel.precision": "Precision",
        "pixel.recall": "Recall",
        "relaxed.f1": "Relaxed F1",
        "relaxed.precision": "Relaxed precision",
        "relaxed.recall": "Relaxed recall",
        "best.threshold": "Threshold with the best F1",
        "best.f1": "F1 at that threshold",
        "pixels": "Evaluated pixels",
        "road_share": "Fraction of road pixels",
    }
    words: ClassVar = {"engine": "Engine used"}
