"""Every job, given what no job expects: see `cases.py` for what a case is, and `outcome.py` for what must hold."""

from tests.hostile import (
    bound_cases,
    checkpoint_cases,
    job_cases,
    merge_cases,
    model_cases,
    name_cases,
    osm_cases,
    profile_cases,
    raster_cases,
    vector_cases,
)
from tests.hostile.cases import DONE, ENDING_JOBS, Case
from tests.hostile.outcome import try_case
from tests.hostile.representatives import representatives
from training_core.jobs import JOBS

CASES = {
    "bounds": bound_cases.CASES,
    "checkpoints": checkpoint_cases.CASES,
    "extracts": osm_cases.CASES,
    # The good inputs themselves: without them a refusal would mean nothing.
    "good": [Case(f"{job}, nothing is spoiled", job, lambda place: {}, DONE, limit_s=60) for job in ENDING_JOBS],
    "jobs": job_cases.CASES,
    "merging": merge_cases.CASES,
    "models": model_cases.CASES,
    "names": name_cases.CASES,
    "profiles": profile_cases.CASES,
    "rasters": raster_cases.CASES,
    "vectors": vector_cases.CASES,
}


def test_every_promise_holds(case, place, server, tmp_path):
    try_case(case, place, server, tmp_path / "job")


def test_the_representatives_are_of_every_job():
    assert {case.job for group, cases in CASES.items() for case in representatives(group, cases)} == set(JOBS)
