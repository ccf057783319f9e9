"""The job compareprofiles: from two files to numbers, a report and a document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.core.support.browser import Page
from tests.core.support.profiles import make_profile, make_run
from training_core.errors import JobError
from training_core.events import Reporter
from training_core.jobs import JOBS, from_options
from training_core.pipelines import compareprofiles
from training_core.profiling.profile import to_document


@pytest.fixture
def write(tmp_path):
    def write_profile(name, *runs, **members):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(to_document(make_profile(*runs, **members))), encoding="utf-8")
        return str(path)

    return write_profile


def run(before, after, **options):
    job = from_options(JOBS["compareprofiles"], {"before": before, "after": after, **options})
    return compareprofiles.run(job, Reporter())


def test_half_the_time_is_half_the_time_everywhere(write):
    runs = [make_run(slowness=slowness) for slowness in (2.0, 1.0)]
    result = run(*map(write, ("slow", "fast"), runs))
    assert result["step_before_s"] == pytest.approx(runs[0].step_s)
    assert result["step_after_s"] == pytest.approx(runs[1].step_s)
    assert result["ratio"] == pytest.approx(0.5)
    five = runs[0].primitives[:5]  # sorted by time
    assert [each["difference_s"] for each in result["largest"]] == pytest.approx([-row.time_s / 2 for row in five])
    assert [each["share"] for each in result["largest"]] == pytest.approx([-row.share / 2 for row in five])
    for each, row in zip(result["largest"], five):
        assert each["name"] == f"{row.name} {row.phase} {row.shape}"
    assert "report" not in result and "differences" not in result


def test_the_report_and_the_document_are_written(write, tmp_path):
    before, after = write("before"), write("after", make_run(slowness=0.8), make_run("inference"))
    paths = {"report": str(tmp_path / "report.html"), "differences": str(tmp_path / "differences.json")}
    result = run(before, after, **paths)
    assert {name: result[name] for name in paths} == paths
    assert [each["name"] for each in result["runs"]] == ["training, native bf16", "inference, native bf16"]
    document = json.loads(Path(paths["differences"]).read_text())
    assert document["runs"][0]["ratio"] == pytest.approx(result["ratio"]) == pytest.approx(0.8)
    assert "Training, native bf16" in Page(Path(paths["report"]).read_text(encoding="utf-8")).text


def test_training_is_not_compared_with_inference(write, tmp_path):
    before, after = write("before", make_run()), write("after", make_run("inference"))
    report = tmp_path / "report.html"
    with pytest.raises(JobError, match=r"before\.json has profiles of training, .*after\.json of inference"):
        run(before, after, report=str(report))
    assert not report.exists()
