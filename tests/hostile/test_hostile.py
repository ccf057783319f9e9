"""Every job, given what no job expects: see `cases.py` for what a case is, and `outcome.py` for what must hold."""

import merge_cases

import bound_cases
import checkpoint_cases
import good_cases
import job_cases
import model_cases
import name_cases
import profile_cases
import raster_cases
import vector_cases
from outcome import try_case

CASES = {
    "bounds": bound_cases.CASES,
    "checkpoints": checkpoint_cases.CASES,
    "good": good_cases.CASES,
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
