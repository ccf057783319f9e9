"""Processing algorithm *Vectorize roads*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class Vectorize(JobAlgorithm):
    """A road mask or probability in; center-lines, and nodes, links and likely breaks on request, out."""

    job_type = jobs.Vectorize
    group_id = "roads"
    keywords = "center-line,centerline,skeleton,network,graph,line,road"
    renamed: ClassVar = {"raster": "INPUT", "roads": "OUTPUT"}
    numbers: ClassVar = {"count": "Number of lines", "length_m": "Total length (m)"}
    styles: ClassVar = {"roads": "roads", "links": "links", "breaks": "breaks"}
