"""Export a model: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class ExportModel(JobAlgorithm):
    """A model in; an ONNX file that other programs run out."""

    job_type = jobs.ExportModel
    group_id = "training"
    keywords = "onnx,deepness,share,convert,save,model,road"
    renamed: ClassVar = {"model": "INPUT", "onnx": "OUTPUT"}
    numbers: ClassVar = {"megabytes": "Size of the file (MB)"}
