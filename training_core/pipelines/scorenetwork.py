"""The job scorenetwork: APLS, TOPO and length-based scores of a proposed road network against a true one.

Scope: the order of the steps, and the outputs. Independent of how scores are computed.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..comparison import network_scores
from ..comparison.buffer_matching import score_lines
from ..events import Reporter
from ..geodata.vector_output import check_vector_output, write_layers
from ..jobs import ScoreNetwork
from ..reports.score_report import NetworkRecord, write_network_report
from ..system.outputs import Outputs, write_json
from ..system.work import Stages

# The tolerances of the report's chart, as multiples of the job's.
_SWEEP = (0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3)


def run(job: ScoreNetwork, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.ScoreNetwork`."""
    if job.errors:
        check_vector_output(job.errors)
    with Outputs([job.truth, job.proposal, job.aoi]) as outputs:
        paths, staged = outputs.stage_fields(job, "errors", "report", "scores")
        stages = Stages(reporter)
        with stages.timed("reading", 0, 0.1):
            networks = network_scores.read_networks(job, reporter)
        scores = network_scores.score(networks, job, stages)
        document = network_scores.to_document(job, networks, scores)
        sentences = network_scores.summary_sentences(document)
        for sentence in sentences:
            reporter.log(sentence)
        with stages.timed("writing", 0.95, 1):
            parts = network_scores.differences(networks, job.tolerance_m) if {"errors", "report"} & set(staged) else {}
            if "errors" in staged:
                errors = network_scores.to_layer(parts, networks)
                write_layers(staged["errors"], {"errors": errors}, {"errors": "LineString"})
            if "scores" in staged:
                write_json(staged["scores"], document)
            if "report" in staged:
                pair = {network_scores.TRUTH: networks.truth, network_scores.PROPOSAL: networks.proposal}
                record = NetworkRecord(
                    options=asdict(job),
                    scores=scores,
                    sentences=sentences,
                    sweep=[
                        score_lines(networks.truth, networks.proposal, job.tolerance_m * factor) for factor in _SWEEP
                    ],
                    summaries=[network_scores.size_of(name, roads) for name, roads in pair.items()],
                    parts={kind: roads.lines_at(at.edge, at.begin_m, at.end_m) for kind, (roads, at) in parts.items()},
                    timings_s=stages.timings_s,
                    warnings=stages.reporter.warnings,
                )
                write_network_report(record, staged["report"])
    return {**paths, **document}
