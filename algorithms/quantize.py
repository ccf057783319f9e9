"""Quantize a model: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class Quantize(JobAlgorithm):
    """A model and images of the kind that it is for in; an ONNX file that computes with 8-bit integers out."""

    job_type = jobs.Quantize
    group_id = "training"
    keywords = "int8,integer,fast,vnni,amx,onnx,openvino,compress,optimize,model,road"
    renamed: ClassVar = {"rasters": "INPUT", "onnx": "OUTPUT"}
    numbers: ClassVar = {
        "agreement": "Share of the pixels that stay what they were",
        "iou": "IoU with 8-bit integers, where roads are drawn",
        "iou_before": "IoU in full precision, where roads are drawn",
        "apls": "APLS with 8-bit integers, where roads are drawn",
        "apls_before": "APLS in full precision, where roads are drawn",
        "megabytes": "Size of the file (MB)",
    }
