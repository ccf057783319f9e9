"""Processing algorithm *Export a model*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class ExportModel(JobAlgorithm):
    """A model in; an ONNX file and its STAC item out."""

    job_type = jobs.ExportModel
    group_id = "training"
    keywords = "onnx,deepness,stac,mlm,share,convert,save,model,road"
    renamed: ClassVar = {"model": "INPUT", "onnx": "OUTPUT"}
    numbers: ClassVar = {"megabytes": "File size (MB)"}
