import threading

import pytest

from tests.core.support import toy_work
from tests.core.support.toy_work import task
from training_core import events
from training_core.errors import Cancelled, JobError, ModelFileError, OutputError, RuntimeEnvironmentError
from training_core.events import Reporter
from training_core.regions import executors
from training_core.regions.executors import Handlers, Leader, LocalExecutor, Needs, complaints, open_executor

HANDLERS = Handlers(toy_work.perform, toy_work.prepare, {"model": "m"})


@pytest.fixture
def told():
    """Return a list that receives events, and a reporter to it."""
    found = []
    return found, Reporter(found.append)


def test_the_executor_of_this_process_does_one_task_after_the_other(told):
    before = len(toy_work.PREPARED)
    executor = LocalExecutor(HANDLERS)
    outcomes = list(executor.run((task("echo", value=number) for number in range(5)), told[1]))
    assert [outcome.result["value"] for outcome in outcomes] == [0, 1, 2, 3, 4]
    assert len(toy_work.PREPARED) == before + 1
    assert {outcome.code for outcome in outcomes} == {""}
    executor.close()


def test_what_fails_is_an_outcome_with_its_reason_and_the_rest_is_done(told):
    tasks = [task("damaged"), task("echo", value=1), task("always_full"), task("puzzling"), task("echo", value=2)]
    found, reporter = told
    outcomes = list(LocalExecutor(HANDLERS).run(tasks, reporter))
    assert [outcome.task for outcome in outcomes] == tasks
    assert [outcome.code for outcome in outcomes] == ["imagery", "", "output", "unexpected", ""]
    assert outcomes[0].reason == "scene_7.tif cannot be read."
    assert outcomes[0].remedy == "Repair it."
    assert outcomes[2].reason == "The disk is full."
    assert [outcome.result is None for outcome in outcomes] == [True, False, True, True, False]
    (log,) = [event.message for event in found if isinstance(event, events.Log)]
    assert "KeyError: 'nothing'" in log


def test_a_model_that_cannot_be_used_is_an_error_before_any_work():
    with pytest.raises(ModelFileError, match="engine openvino"):
        LocalExecutor(Handlers(toy_work.perform, toy_work.prepare, {"broken": True}))


def test_a_cancelled_job_begins_no_other_task():
    cancelled = threading.Event()
    outcomes = LocalExecutor(HANDLERS).run([task("echo", value=1)] * 3, Reporter(is_cancelled=cancelled.is_set))
    next(outcomes)
    cancelled.set()
    with pytest.raises(Cancelled):
        next(outcomes)


@pytest.fixture
def without_dask(monkeypatch):
    monkeypatch.setattr("training_core.regions.executors.has_module", lambda name: name != "distributed")


def test_without_dask_one_process_does_the_work_of_several_and_says_so(told, tmp_path, without_dask, monkeypatch):
    monkeypatch.setattr("training_core.system.processor.core_count", lambda: 8)
    reporter = told[1]
    executor = open_executor(HANDLERS, Needs(str(tmp_path)), reporter, workers=4)
    assert isinstance(executor, LocalExecutor)
    (warning,) = reporter.warnings
    assert "One process does the work instead of 4" in warning
    assert "requirement set fleet" in warning
    assert open_executor(HANDLERS, Needs(str(tmp_path)), reporter, workers=1).workers == 1
    assert len(reporter.warnings) == 1


def test_without_dask_a_scheduler_is_an_error_that_says_what_to_install(tmp_path, without_dask):
    with pytest.raises(RuntimeEnvironmentError, match=r"requirement set fleet.*Set up runtime"):
        open_executor(HANDLERS, Needs(str(tmp_path)), Reporter(), scheduler="tcp://127.0.0.1:1")


def test_more_processes_than_cores_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("training_core.system.processor.core_count", lambda: 2)
    with pytest.raises(JobError, match="only 2 cores"):
        open_executor(HANDLERS, Needs(str(tmp_path)), Reporter(), workers=3)


@pytest.fixture
def leader(tmp_path):
    """Return a leader whose model and scene lie in a folder."""
    (tmp_path / "model").write_bytes(b"weights")
    (tmp_path / "scene.tif").touch()
    paths = (str(tmp_path / "scene.tif"), "/vsicurl/https://example.org/scene.tif")
    made = Leader(Needs(str(tmp_path / "region"), (str(tmp_path / "model"),), paths))
    yield made
    made.close()


def test_a_worker_with_the_same_of_all_fits_and_is_seen(leader):
    assert complaints(leader.document, "worker-1") == []
    assert leader.has_answer("worker-1", patience_s=0)
    assert not leader.has_answer("worker-2", patience_s=0)


def test_every_difference_of_a_worker_is_named(leader, tmp_path, monkeypatch):
    (tmp_path / "model").write_bytes(b"other weights")
    (tmp_path / "scene.tif").unlink()
    theirs = {**executors.checked_versions(), "torch": "1.0"}
    del theirs["numpy"]
    own = executors.checked_versions()
    monkeypatch.setattr(executors, "checked_versions", lambda: theirs)
    assert complaints(leader.document, "w") == [
        f"numpy is missing there, and {own['numpy']} here",
        f"torch is 1.0 there, and {own['torch']} here",
        f"{tmp_path / 'model'} is another file there",
        f"{tmp_path / 'scene.tif'} cannot be found there",
    ]
    (tmp_path / "model").unlink()
    assert f"{tmp_path / 'model'} cannot be read (No such file or directory) there" in complaints(leader.document, "w")


def test_a_folder_of_the_same_name_that_is_another_one_is_found_out(leader, tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "SEEN_WITHIN_S", 0.0)
    (tmp_path / "region").rename(tmp_path / "here")
    folder = str(tmp_path / "region")
    assert complaints(leader.document, "w") == [f"the folder {folder} does not exist there"]
    (tmp_path / "region").mkdir()
    assert complaints(leader.document, "w") == [
        f"the folder {folder} is not the same one there (No such file or directory)"
    ]


def test_a_leader_leaves_nothing_behind_and_says_so_without_a_folder_or_a_model(tmp_path):
    leader = Leader(Needs(str(tmp_path)))
    complaints(leader.document, "w")
    leader.close()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file cannot be written to"):
        Leader(Needs(str(tmp_path / "file")))
    with pytest.raises(ModelFileError, match=r"no\.model cannot be read"):
        Leader(Needs(str(tmp_path), (str(tmp_path / "no.model"),)))
