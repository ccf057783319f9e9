"""The job evaluate: pixel scores of a model against drawn roads, strict and within a tolerance.

Scope: the order of images, and the files of scores and report. Scores are in `comparison.evaluation`.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..comparison.evaluation import Evaluation
from ..events import Reporter
from ..geodata.sources import with_sources
from ..jobs import Evaluate
from ..labels.labeled_images import nothing_labeled
from ..reports.evaluation_report import EvaluationRecord, write_evaluation_report
from ..system.outputs import Outputs, write_json

# The result is one line of text; scores of more images or areas than this are in the files alone.
MAX_ROWS = 200


def run(job: Evaluate, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.Evaluate`."""
    with Outputs([*with_sources(job.rasters), *job.masks, job.roads, job.aoi, job.no_road, job.model]) as outputs:
        paths, staged = outputs.stage_fields(job, "report", "scores")
        evaluation = Evaluation(job, reporter, has_pictures=bool(job.report))
        for number, path in enumerate(job.rasters):
            evaluation.add_image(
                path, reporter.part(0.97 * number / len(job.rasters), 0.97 * (number + 1) / len(job.rasters))
            )
        if not evaluation.total.confusion.count:
            raise nothing_labeled(job.rasters)
        document = evaluation.to_document()
        if not document["road_share"]:
            reporter.warning(
                f"The labels, such as {(*job.masks, job.roads)[0]}, show no road on the images, so F1 and recall are "
                "0 whatever the model finds. Check the layers and, for masks, which values are road (road_values)."
            )
        reporter.check_cancelled()
        if "scores" in staged:
            write_json(staged["scores"], document)
        if "report" in staged:
            reporter.progress(0.98, "Writing the report")
            write_evaluation_report(_record(evaluation), staged["report"])
    brief = {name: rows for name, rows in document.items() if not (isinstance(rows, list) and len(rows) > MAX_ROWS)}
    return {**paths, **brief}


def _record(evaluation: Evaluation) -> EvaluationRecord:
    segmenter = evaluation.segmenter
    return EvaluationRecord(
        options=asdict(evaluation.job),
        model=Path(evaluation.job.model).name,
        card=segmenter.card,
        engine=segmenter.engine,
        confusion=evaluation.total.confusion,
        threshold=segmenter.threshold,
        total=evaluation.scores(evaluation.total),
        images=[(name, evaluation.scores(tally)) for name, tally in evaluation.images],
        areas=[(f"Area {number}", evaluation.scores(tally)) for number, tally in sorted(evaluation.areas.items())],
        summaries=evaluation.summaries,
        timings_s=evaluation.timings_s,
        warnings=evaluation.reporter.warnings,
        panels=evaluation.panels,
    )
