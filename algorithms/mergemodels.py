"""Processing algorithm *Merge models*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class MergeModels(JobAlgorithm):
    """Models of the same base in; their weighted average out."""

    job_type = jobs.MergeModels
    group_id = "training"
    keywords = "average,federated,fedavg,combine,share,offices,batch normalization,deep learning,model,road"
    renamed: ClassVar = {"models": "INPUT", "model": "OUTPUT"}
    numbers: ClassVar = {"threshold": "Threshold of the merged model", "chips": "Measured image chips"}
