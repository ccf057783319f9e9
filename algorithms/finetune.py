"""Processing algorithm *Fine-tune a model*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.labeled_images_algorithm import LabeledImagesAlgorithm
from ..training_core import jobs


class FineTune(LabeledImagesAlgorithm):
    """Images and drawn roads in; a model, its report and its scores out."""

    job_type = jobs.FineTune
    group_id = "training"
    keywords = "train,learn,model,deep learning,neural network,road"
    renamed: ClassVar = {"rasters": "INPUT"}
    model_parameter = "BASE_MODEL"
    created = ("report",)
    numbers: ClassVar = {
        "images_per_s": "Images per second",
        "steps": "Training steps",
        "validation.iou": "Validation IoU",
        "validation.f1": "Validation F1",
        "validation.precision": "Validation precision",
        "validation.recall": "Validation recall",
    }
    words: ClassVar = {"engine": "Engine used"}
