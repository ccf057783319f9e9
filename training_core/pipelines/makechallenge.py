"""The job makechallenge: changes, states or likely breaks of a network as tasks for MapRoulette.

Scope: the order of steps. Tasks are made in `challenge_tasks`, the changes that they propose in `osm_change`, their ids
and the file in `challenge_file`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..comparison.challenge_file import MAX_TASKS, make_ids, read_task_ids, write_challenge
from ..comparison.challenge_tasks import PURPOSE, known_features, make_tasks
from ..comparison.change_results import reviewed_only, without_rejected
from ..comparison.osm_change import propose
from ..errors import OutputError
from ..events import Reporter
from ..geodata.vectors import read_layer
from ..jobs import MakeChallenge
from ..system.outputs import Outputs


def run(job: MakeChallenge, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.MakeChallenge`."""
    if Path(job.challenge).suffix.lower() not in (".geojson", ".json"):
        raise OutputError(
            f"MapRoulette does not accept a file named {job.challenge}.", "Give a name that ends in .geojson."
        )
    with Outputs(inputs=[job.layer, job.earlier, job.extract]) as outputs:
        staged = outputs.stage(job.challenge)
        reporter.progress(0, "Reading")
        layer = known_features(read_layer(job.layer, PURPOSE, reporter), job, reporter)
        chosen = without_rejected(layer, PURPOSE, job.layer)
        chosen = reviewed_only(chosen, job.reviewed_only, PURPOSE, job.layer)
        earlier = read_task_ids(job.earlier) if job.earlier else []
        reporter.step(0.3, "Making tasks")
        tasks, too_short = make_tasks(chosen, job)
        ids, kept = make_ids(tasks["change"].tolist(), tasks[["longitude", "latitude"]].to_numpy(), earlier)
        reporter.step(0.5, "Proposing changes")
        proposals = propose(tasks, chosen, layer, job.extract) if job.extract else None
        reporter.step(0.7, "Writing")
        write_challenge(staged, tasks, ids, proposals)
    if len(tasks) > MAX_TASKS:
        reporter.warning(
            f"The challenge has {len(tasks):,} tasks, but MapRoulette takes at most {MAX_TASKS:,}. Make challenges of "
            "parts of the area, or raise the shortest stretch (min_length_m)."
        )
    if tasks.empty:
        reporter.warning(
            f"No feature of the {PURPOSE} ({job.layer}) gives a task, so the challenge is empty. Tasks are made from "
            "new and lost stretches that reach the shortest length (min_length_m), from displaced stretches on "
            "request (displaced), from roads that are not seen, partly seen or under water, and from likely breaks."
        )
    reporter.log(_summary(tasks["change"].value_counts().to_dict(), too_short, job))
    return {"challenge": job.challenge, "tasks": len(tasks), "kept": kept, "too_short": too_short}


def _summary(counts: dict[str, int], too_short: int, job: MakeChallenge) -> str:
    made = ", ".join(f"{count:,} {change}" for change, count in counts.items()) or "none"
    left_out = f" Stretches below {job.min_length_m:g} m, left out: {too_short:,}." if too_short else ""
    return f"Tasks: {made}.{left_out}"
