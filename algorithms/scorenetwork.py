"""Processing algorithm *Score a network*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class ScoreNetwork(JobAlgorithm):
    """Proposed and true roads in; scores, a report, and matched, missed and false lines out."""

    job_type = jobs.ScoreNetwork
    group_id = "network"
    keywords = "apls,topo,completeness,correctness,quality,accuracy,graph,compare,evaluate,line,road"
    renamed: ClassVar = {"proposal": "INPUT", "errors": "OUTPUT"}
    created = ("errors", "report")
    numbers: ClassVar = {
        "apls.score": "APLS by length",
        "apls.truth_in_proposal.score": "APLS, truth onto proposal",
        "apls.proposal_in_truth.score": "APLS, proposal onto truth",
        "apls_time.score": "APLS by travel time",
        "topo.precision": "TOPO precision",
        "topo.recall": "TOPO recall",
        "topo.f1": "TOPO F1",
        "lines.completeness": "Completeness",
        "lines.correctness": "Correctness",
        "lines.quality": "Quality",
        "relaxed.precision": "Relaxed precision",
        "relaxed.recall": "Relaxed recall",
        "relaxed.f1": "Relaxed F1",
    }
    styles: ClassVar = {"errors": "errors"}
