"""Processing algorithm *Quantize a model*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class Quantize(JobAlgorithm):
    """A model and calibration images in; an INT8 ONNX file out."""

    job_type = jobs.Quantize
    group_id = "training"
    keywords = "int8,integer,fast,vnni,amx,onnx,openvino,compress,optimize,model,road"
    renamed: ClassVar = {"rasters": "INPUT", "onnx": "OUTPUT"}
    numbers: ClassVar = {
        "agreement": "Fraction of pixels with the same class",
        "iou": "IoU of the quantized model, with drawn roads",
        "iou_before": "IoU in full precision, with drawn roads",
        "apls": "APLS of the quantized model, with drawn roads",
        "apls_before": "APLS in full precision, with drawn roads",
        "megabytes": "File size (MB)",
    }
