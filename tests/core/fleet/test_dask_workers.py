import time
from contextlib import closing
from itertools import count, takewhile
from pathlib import Path

import pytest

from tests.core.support.toy_work import preparation, results_in, task, undisturbed
from training_core.errors import JobError, RuntimeEnvironmentError, WorkerError
from training_core.events import Reporter
from training_core.fleet import dask_workers, runner, worker_checks
from training_core.fleet.dask_workers import DaskWorkers
from training_core.fleet.runner import FleetRunner
from training_core.fleet.worker_checks import Leader

pytest.importorskip("distributed.client", reason="Dask (the requirement set fleet) is not there")

import dask
import distributed

from tests.core.support.dask_processes import Processes, as_variables, end, free_port, write_certificates


def join(scheduler, folder, reporter=None):
    reporter = reporter or Reporter()
    return FleetRunner(DaskWorkers(scheduler, preparation(), Leader(str(folder)), reporter), reporter)


@pytest.fixture
def processes(tmp_path):
    """A scheduler without workers."""
    with Processes(tmp_path) as started:
        started.start_scheduler()
        yield started


def test_a_scheduler_that_cannot_be_reached_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_workers, "CONNECT_S", 1.0)
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(JobError, match=rf"{address} \(scheduler\) cannot be reached.*Connection refused"):
        join(address, tmp_path)
    with pytest.raises(JobError, match=r"no-such-host.invalid:8786 \(scheduler\) cannot be reached"):
        join("tcp://no-such-host.invalid:8786", tmp_path)


@pytest.mark.slow
def test_a_scheduler_without_workers_and_one_that_wants_certificates_are_named(processes, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "WORKERS_S", 0.5)
    monkeypatch.setattr(dask_workers, "CONNECT_S", 2.0)
    with pytest.raises(WorkerError, match=f"{processes.address}: no worker has started"):
        join(processes.address, tmp_path)
    with pytest.raises(JobError, match=r"tls://127.0.0.1:\d+ \(scheduler\) cannot be reached.*(?i:tls)") as why:
        join(processes.address.replace("tcp", "tls"), tmp_path)
    assert "distributed.comm.tls" in why.value.remedy


@pytest.mark.slow
def test_a_scheduler_with_certificates_of_ones_own_wants_them(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_workers, "CONNECT_S", 5.0)
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
    own, other = (write_certificates(tmp_path / name) for name in ("own", "other"))
    with Processes(tmp_path) as processes:
        processes.start_scheduler(arguments=("--protocol", "tls"), variables=as_variables(own))
        assert processes.address.startswith("tls://")
        processes.start_worker(variables=as_variables(own))
        with (
            dask.config.set(own),
            closing(join(processes.address, tmp_path / "region")) as fleet,
        ):
            results = list(fleet.run([task("sleep", "a", seconds=0.01)], Reporter()))
        assert [result.code for result in results] == [""]
        with dask.config.set(other), pytest.raises(JobError, match=r"cannot be reached.*(?i:certificate|ssl)"):
            join(processes.address, tmp_path / "region")


@pytest.mark.slow
def test_workers_of_a_scheduler_also_those_that_come_late_and_not_those_without_roadseg(processes, tmp_path):
    only_dask = str(Path(distributed.__file__).parents[1])
    processes.start_worker(variables={"PYTHONPATH": only_dask})
    processes.start_worker()
    processes.wait_for_workers(2)
    told = Reporter()
    with closing(join(processes.address, tmp_path / "region", told)) as fleet:
        seen = set()
        until_s = time.monotonic() + 60
        endless = (task("sleep", f"s{number}", seconds=0.05) for number in count())
        processes.start_worker()
        for result in fleet.run(takewhile(lambda _: len(seen) < 2, endless), told):
            assert result.code == ""
            assert time.monotonic() < until_s
            seen.add(result.worker)
        assert len(seen) == 2
        assert fleet.workers == 2
    (warning,) = told.warnings
    assert f"1 workers of {processes.address} do not fit" in warning
    assert "it has no RoadSeg (No module named 'training_core')" in warning


@pytest.mark.slow
def test_workers_of_other_versions_are_named_before_any_work(processes, tmp_path, monkeypatch):
    theirs = worker_checks.checked_versions()
    monkeypatch.setattr(worker_checks, "checked_versions", lambda: {**theirs, "torch": "9.9"})
    processes.start_worker()
    words = rf"No worker of {processes.address} fits this job: .*torch is {theirs['torch']}.* there, but 9\.9 here"
    with pytest.raises(RuntimeEnvironmentError, match=words):
        join(processes.address, tmp_path)


@pytest.mark.slow
def test_a_scheduler_that_is_restarted_loses_nothing(tmp_path):
    expected = undisturbed(tmp_path / "plain", 60)
    port = free_port()
    folder = tmp_path / "region"
    with Processes(tmp_path) as processes:
        scheduler = processes.start_scheduler(port)
        processes.start_worker()
        told = Reporter()
        with closing(join(processes.address, folder, told)) as fleet:
            tasks = [task("block", folder=str(folder), seed=seed, seconds=0.1) for seed in range(60)]
            results = []
            for number, result in enumerate(fleet.run(tasks, told)):
                results.append(result)
                if number == 10:
                    end(scheduler)
                    processes.start_scheduler(port)
                    processes.start_worker()
        assert sorted(result.document["seed"] for result in results) == list(range(60))
        assert {result.code for result in results} == {""}
        assert any("is lost. Waiting" in text for text in told.warnings)
    assert results_in(folder) == expected


@pytest.mark.slow
def test_a_scheduler_that_is_gone_is_the_reason_of_what_is_left_and_a_second_run_does_it(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "LOST_S", 3.0)
    monkeypatch.setattr(dask_workers, "CONNECT_S", 2.0)
    folder = tmp_path / "region"
    tasks = [task("block", folder=str(folder), seed=seed, seconds=0.05) for seed in range(40)]
    with Processes(tmp_path) as processes:
        scheduler = processes.start_scheduler()
        processes.start_worker()
        with closing(join(processes.address, folder)) as fleet:
            results = []
            for number, result in enumerate(fleet.run(tasks, Reporter())):
                results.append(result)
                if number == 10:
                    end(scheduler)
    assert len(results) == 40
    failures = [result for result in results if result.code]
    assert len(failures) > 20
    assert {result.code for result in failures} == {"worker"}
    assert all("there has been no worker that fits for 3 s" in result.reason for result in failures)
    for result in failures:
        result.task.function(result.task.document)
    assert results_in(folder) == undisturbed(tmp_path / "plain", 40)
