"""The job checkaccuracy: completeness and correctness of a network from a judged sample.

Scope: the order of steps. Independent of how accuracy is estimated.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..comparison.accuracy_results import read_sample, require_enough, summary_sentences, to_document
from ..events import Reporter
from ..jobs import CheckAccuracy
from ..jobs.accuracy_estimates import estimate
from ..networks.lines import shared_plane
from ..reports.accuracy_report import AccuracyRecord, write_accuracy_report
from ..system.outputs import Outputs, write_json


def run(job: CheckAccuracy, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.CheckAccuracy`."""
    with Outputs([job.sample]) as outputs:
        paths, staged = outputs.stage_fields(job, "report", "numbers")
        reporter.progress(0, "Reading")
        layer, places = read_sample(job.sample, reporter)
        accuracy = estimate(places)
        require_enough(accuracy, job.sample)
        document = to_document(accuracy, places)
        sentences = summary_sentences(document)
        for sentence in sentences:
            reporter.log(sentence)
        told = []
        if accuracy.undecided:
            told = [f"{accuracy.undecided:,} of {len(places):,} places have no verdict. They are left out."]
            reporter.warning(told[0])
        if "numbers" in staged:
            write_json(staged["numbers"], document)
        if "report" in staged:
            plane = shared_plane(layer, of=job.sample)
            record = AccuracyRecord(
                options=asdict(job),
                document=document,
                sentences=sentences,
                places=places,
                shapes=layer.geometry.to_crs(plane).to_numpy(),
                warnings=told,
            )
            write_accuracy_report(record, staged["report"])
    return {**paths, **document}
