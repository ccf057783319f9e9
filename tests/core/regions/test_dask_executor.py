import os
import random
import threading
import time
from contextlib import closing
from itertools import count, takewhile
from pathlib import Path

import psutil
import pytest

from tests.core.support import toy_work
from tests.core.support.systems import KILL
from tests.core.support.toy_work import task

pytest.importorskip("distributed.client", reason="Dask (the requirement set fleet) is not there")

import dask
import distributed

from tests.core.support.dask_processes import Processes, as_variables, end, free_port, write_certificates
from training_core.errors import Cancelled, JobError, RuntimeEnvironmentError, WorkerError
from training_core.events import Log, Reporter
from training_core.regions import dask_executor, dask_pool, executors
from training_core.regions.dask_executor import DaskExecutor
from training_core.regions.executors import Handlers, LocalExecutor, Needs, open_executor

HANDLERS = Handlers(toy_work.perform, toy_work.prepare)


def worker_processes():
    """Return the processes of workers that this process has started."""
    return [each for each in psutil.Process().children(True) if any("spawn_main" in part for part in _command(each))]


def _command(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.fixture
def two(tmp_path):
    """Two processes of this machine."""
    with closing(DaskExecutor(HANDLERS, Needs(str(tmp_path / "region")), Reporter(), workers=2)) as executor:
        yield executor
    assert worker_processes() == []


@pytest.fixture
def processes(tmp_path):
    """A scheduler without workers."""
    with Processes(tmp_path) as started:
        started.start_scheduler()
        yield started


def results_in(folder):
    return {path.name: path.read_bytes() for path in (folder / "work").rglob("*.bin")}


def undisturbed(folder, count):
    """Return the bytes that one process writes, by name."""
    tasks = [task("block", folder=str(folder), seed=seed) for seed in range(count)]
    list(LocalExecutor(HANDLERS).run(tasks, Reporter()))
    return results_in(folder)


def test_two_processes_do_all_tasks_prepared_once_and_seen_by_this_machine_only(two, tmp_path):
    assert two.workers == 2
    outcomes = list(two.run([task("echo", value=number) for number in range(60)], Reporter()))
    assert sorted(outcome.result["value"] for outcome in outcomes) == list(range(60))
    assert {outcome.result["prepared"] for outcome in outcomes} == {1}
    processes = {outcome.result["process"] for outcome in outcomes}
    assert len(processes) == len({outcome.worker for outcome in outcomes}) == 2
    assert os.getpid() not in processes
    listening = [
        connection.laddr.ip
        for process in (psutil.Process(), *worker_processes())
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 3
    assert set(listening) == {"127.0.0.1"}
    # What fails is an outcome, and a full disk is left to another worker.
    told = []
    tasks = [
        task("damaged"),
        task("full", mark=str(tmp_path / "mark")),
        task("always_full"),
        task("puzzling"),
        *(task("echo", value=number) for number in range(10)),
    ]
    outcomes = {outcome.task.key: outcome for outcome in two.run(tasks, Reporter(told.append))}
    found = [outcomes[each.key] for each in tasks]
    assert [outcome.code for outcome in found] == ["imagery", "", "output", "unexpected"] + [""] * 10
    assert found[0].reason == "scene_7.tif cannot be read."
    assert found[0].remedy == "Repair it."
    assert found[1].result["process"] != int((tmp_path / "mark").read_text())
    logs = [event.message for event in told if isinstance(event, Log)]
    assert any("KeyError: 'nothing'" in text for text in logs)
    assert sum("tried on another worker" in text for text in logs) == 2


def test_a_worker_that_is_killed_costs_nothing_and_a_task_that_kills_workers_fails_alone(two, tmp_path):
    expected = undisturbed(tmp_path / "plain", 24)
    folder = tmp_path / "region"
    draw = random.Random(7)
    tasks = [task("block", folder=str(folder), seed=seed, seconds=0.05) for seed in range(24)]
    victim = draw.choice(worker_processes())
    killer = threading.Timer(draw.uniform(0.1, 0.4), victim.kill)
    killer.start()
    outcomes = list(two.run(tasks, Reporter()))
    killer.join()
    assert not victim.is_running()
    assert sorted(outcome.task.document["seed"] for outcome in outcomes) == list(range(24))
    assert {outcome.code for outcome in outcomes} == {""}
    assert results_in(folder) == expected
    tasks = [task("die"), *(task("echo", value=number) for number in range(12))]
    outcomes = list(two.run(tasks, Reporter()))
    assert len(outcomes) == 13
    (killer,) = [outcome for outcome in outcomes if outcome.code]
    assert killer.task is tasks[0]
    assert killer.code == "worker"
    assert killer.reason in ("3 workers have died at it.", "4 workers have died at it.")


def test_a_cancelled_job_ends_at_once_with_its_processes(tmp_path):
    cancelled = threading.Event()
    executor = DaskExecutor(HANDLERS, Needs(str(tmp_path)), Reporter(), workers=2)
    before = worker_processes()
    timer = threading.Timer(0.3, cancelled.set)
    timer.start()
    began_s = time.monotonic()
    with pytest.raises(Cancelled), closing(executor):
        list(executor.run([task("sleep", seconds=30)] * 20, Reporter(is_cancelled=cancelled.is_set)))
    assert time.monotonic() - began_s < 10
    assert len(before) == 2
    assert not any(process.is_running() for process in before)
    assert list((tmp_path / "work" / "partial").iterdir()) == []


def test_a_model_that_no_worker_can_use_is_an_error_before_any_work(tmp_path):
    handlers = Handlers(toy_work.perform, toy_work.prepare, {"broken": True})
    with pytest.raises(RuntimeEnvironmentError, match=r"worker 0 .*The engine openvino cannot be used"):
        DaskExecutor(handlers, Needs(str(tmp_path)), Reporter(), workers=2)
    assert worker_processes() == []


def test_a_scheduler_that_cannot_be_reached_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_pool, "CONNECT_S", 1.0)
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(JobError, match=rf"{address} \(scheduler\) cannot be reached.*Connection refused"):
        open_executor(HANDLERS, Needs(str(tmp_path)), Reporter(), address)
    with pytest.raises(JobError, match=r"no-such-host.invalid:8786 \(scheduler\) cannot be reached"):
        open_executor(HANDLERS, Needs(str(tmp_path)), Reporter(), "tcp://no-such-host.invalid:8786")


@pytest.mark.slow
def test_a_scheduler_without_workers_and_one_that_wants_certificates_are_named(processes, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_pool, "WORKERS_S", 0.5)
    monkeypatch.setattr(dask_pool, "CONNECT_S", 2.0)
    with pytest.raises(WorkerError, match=f"{processes.address} has had no workers"):
        DaskExecutor(HANDLERS, Needs(str(tmp_path)), Reporter(), processes.address)
    with pytest.raises(JobError, match=r"tls://127.0.0.1:\d+ \(scheduler\) cannot be reached.*(?i:tls)") as why:
        DaskExecutor(HANDLERS, Needs(str(tmp_path)), Reporter(), processes.address.replace("tcp", "tls"))
    assert "distributed.comm.tls" in why.value.remedy


@pytest.mark.slow
def test_a_scheduler_with_certificates_of_ones_own_wants_them(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_pool, "CONNECT_S", 5.0)
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
    own, other = (write_certificates(tmp_path / name) for name in ("own", "other"))
    with Processes(tmp_path) as processes:
        processes.start_scheduler(arguments=("--protocol", "tls"), variables=as_variables(own))
        assert processes.address.startswith("tls://")
        processes.start_worker(variables=as_variables(own))
        with (
            dask.config.set(own),
            closing(DaskExecutor(HANDLERS, Needs(str(tmp_path / "region")), Reporter(), processes.address)) as executor,
        ):
            outcomes = list(executor.run([task("sleep", "a", seconds=0.01)], Reporter()))
        assert [outcome.code for outcome in outcomes] == [""]
        with dask.config.set(other), pytest.raises(JobError, match=r"cannot be reached.*(?i:certificate|ssl)"):
            DaskExecutor(HANDLERS, Needs(str(tmp_path / "region")), Reporter(), processes.address)


@pytest.mark.slow
def test_workers_of_a_scheduler_also_those_that_come_late_and_not_those_without_roadseg(processes, tmp_path):
    only_dask = str(Path(distributed.__file__).parents[1])
    processes.start_worker(variables={"PYTHONPATH": only_dask})
    processes.start_worker()
    processes.wait_for_workers(2)
    told = Reporter()
    with closing(DaskExecutor(HANDLERS, Needs(str(tmp_path / "region")), told, processes.address)) as executor:
        seen = set()
        until_s = time.monotonic() + 60
        endless = (task("sleep", f"s{number}", seconds=0.05) for number in count())
        processes.start_worker()
        for outcome in executor.run(takewhile(lambda _: len(seen) < 2, endless), told):
            assert outcome.code == ""
            assert time.monotonic() < until_s
            seen.add(outcome.worker)
        assert len(seen) == 2
        assert executor.workers == 2
    (warning,) = told.warnings
    assert f"1 workers of {processes.address} do not fit" in warning
    assert "it has no RoadSeg (No module named 'training_core')" in warning


@pytest.mark.slow
def test_a_worker_without_roadseg_that_comes_late_is_told_of_and_spoils_no_task(processes, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_executor, "CENSUS_S", 0.5)
    monkeypatch.setattr(dask_pool, "SILENT_S", 5.0)
    processes.start_worker()
    told = Reporter()
    with closing(DaskExecutor(HANDLERS, Needs(str(tmp_path / "region")), told, processes.address)) as executor:
        until_s = time.monotonic() + 60
        endless = (task("sleep", f"s{number}", seconds=0.05) for number in count())
        processes.start_worker(variables={"PYTHONPATH": str(Path(distributed.__file__).parents[1])})
        for outcome in executor.run(takewhile(lambda _: not told.warnings, endless), told):
            assert outcome.code == ""
            assert time.monotonic() < until_s
    (warning,) = told.warnings
    assert "1 workers" in warning and "it has been silent for 5 s, as one without RoadSeg" in warning


@pytest.mark.slow
def test_workers_of_other_versions_are_named_before_any_work(processes, tmp_path, monkeypatch):
    theirs = executors.checked_versions()
    monkeypatch.setattr(executors, "checked_versions", lambda: {**theirs, "torch": "9.9"})
    processes.start_worker()
    words = rf"No worker of {processes.address} fits this job: .*torch is {theirs['torch']}.* there, and 9\.9 here"
    with pytest.raises(RuntimeEnvironmentError, match=words):
        DaskExecutor(HANDLERS, Needs(str(tmp_path)), Reporter(), processes.address)


@pytest.mark.slow
def test_a_scheduler_that_is_restarted_loses_nothing(tmp_path):
    expected = undisturbed(tmp_path / "plain", 60)
    port = free_port()
    folder = tmp_path / "region"
    with Processes(tmp_path) as processes:
        scheduler = processes.start_scheduler(port)
        processes.start_worker()
        told = Reporter()
        with closing(DaskExecutor(HANDLERS, Needs(str(folder)), told, processes.address)) as executor:
            tasks = [task("block", folder=str(folder), seed=seed, seconds=0.1) for seed in range(60)]
            outcomes = []
            for number, outcome in enumerate(executor.run(tasks, told)):
                outcomes.append(outcome)
                if number == 10:
                    end(scheduler)
                    processes.start_scheduler(port)
                    processes.start_worker()
        assert sorted(outcome.task.document["seed"] for outcome in outcomes) == list(range(60))
        assert {outcome.code for outcome in outcomes} == {""}
        assert any("is lost; waiting for it" in text for text in told.warnings)
    assert results_in(folder) == expected


@pytest.mark.slow
def test_a_scheduler_that_is_gone_is_the_reason_of_what_is_left_and_a_second_run_does_it(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_pool, "LOST_S", 3.0)
    monkeypatch.setattr(dask_pool, "CONNECT_S", 2.0)
    folder = tmp_path / "region"
    tasks = [task("block", folder=str(folder), seed=seed, seconds=0.05) for seed in range(40)]
    with Processes(tmp_path) as processes:
        scheduler = processes.start_scheduler()
        processes.start_worker()
        with closing(DaskExecutor(HANDLERS, Needs(str(folder)), Reporter(), processes.address)) as executor:
            outcomes = []
            for number, outcome in enumerate(executor.run(tasks, Reporter())):
                outcomes.append(outcome)
                if number == 10:
                    end(scheduler)
    assert len(outcomes) == 40
    failures = [outcome for outcome in outcomes if outcome.code]
    assert len(failures) > 20
    assert {outcome.code for outcome in failures} == {"worker"}
    assert all(outcome.reason.endswith("is gone.") for outcome in failures)
    again = list(LocalExecutor(HANDLERS).run([outcome.task for outcome in failures], Reporter()))
    assert {outcome.code for outcome in again} == {""}
    assert results_in(folder) == undisturbed(tmp_path / "plain", 40)


@pytest.mark.slow
def test_kills_at_random_moments_leave_the_bytes_of_an_undisturbed_run(tmp_path):
    expected = undisturbed(tmp_path / "plain", 60)
    draw = random.Random(3)
    for turn in range(3):
        folder = tmp_path / f"region{turn}"
        with closing(DaskExecutor(HANDLERS, Needs(str(folder)), Reporter(), workers=2)) as executor:
            stopped = threading.Event()
            killer = threading.Thread(target=_kill_now_and_then, args=(draw, stopped))
            killer.start()
            tasks = [task("block", folder=str(folder), seed=seed, seconds=0.05) for seed in range(60)]
            outcomes = list(executor.run(tasks, Reporter()))
            stopped.set()
            killer.join()
        again = [outcome.task for outcome in outcomes if outcome.code]  # of a task that was hit three times
        list(LocalExecutor(HANDLERS).run(again, Reporter()))
        assert len(outcomes) == 60
        assert results_in(folder) == expected


def _kill_now_and_then(draw, stopped):
    while not stopped.wait(draw.uniform(0.5, 3.0)):
        for process in draw.sample(worker_processes(), 1):
            os.kill(process.pid, KILL)
