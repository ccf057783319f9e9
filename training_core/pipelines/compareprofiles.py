"""The job compareprofiles: what became faster or slower between two profiles, as numbers and a report.

Scope: from two files to a result, a document and a report. Independent of how profiles are measured.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..errors import JobError
from ..events import Reporter
from ..jobs import CompareProfiles
from ..profiling.profile import Profile, read_profile
from ..profiling.profile_comparison import RunComparison, compare, to_document
from ..profiling.profile_report import ComparisonRecord, write_comparison_report
from ..system.outputs import Outputs, write_json

LARGEST = 5


def run(job: CompareProfiles, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.CompareProfiles`.

    Raises JobError if a profile cannot be read, or no run of one measures what a run of the other does.
    """
    with Outputs([job.before, job.after]) as outputs:
        paths, staged = outputs.stage_fields(job, "report", "differences")
        reporter.progress(0.1, "Reading the profiles")
        profiles = read_profile(job.before), read_profile(job.after)
        comparison = compare(*profiles)
        if not comparison.runs:
            raise JobError(
                f"{job.before} has profiles of {_measured(profiles[0])}, {job.after} of {_measured(profiles[1])}: "
                "there is nothing to compare.",
                "Choose two profiles of training, or two of inference.",
            )
        for note in (f"{each.name}: {note}" for each in comparison.runs for note in each.notes):
            reporter.log(note)
        reporter.check_cancelled()
        if "differences" in staged:
            write_json(staged["differences"], to_document(comparison))
        if "report" in staged:
            reporter.progress(0.5, "Writing the report")
            record = ComparisonRecord(
                options=asdict(job),
                warnings=reporter.warnings,
                comparison=comparison,
            )
            write_comparison_report(record, staged["report"])
    rows = [{"name": each.name, **_times(each)} for each in comparison.runs]
    return {**paths, **_times(comparison.runs[0]), "largest": _largest(comparison.runs[0]), "runs": rows}


def _measured(profile: Profile) -> str:
    return " and ".join(dict.fromkeys(run.what for run in profile.runs)) or "nothing"


def _largest(compared: RunComparison) -> list[dict[str, Any]]:
    rows = compared.tables["primitives"].head(LARGEST).to_dict("records")
    names = [" ".join(filter(None, (row["name"], row["phase"], row["shape"]))) for row in rows]
    return [
        {"name": name, "difference_s": row["difference_s"], "share": row["share"]} for name, row in zip(names, rows)
    ]


def _times(compared: RunComparison) -> dict[str, float]:
    return {"step_before_s": compared.step_before_s, "step_after_s": compared.step_after_s, "ratio": compared.ratio}
