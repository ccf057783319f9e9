"""Several processes of this machine: what they do, and what is lost when they die."""

import os
import random
import subprocess
import sys
import threading
import time
from contextlib import closing

import psutil
import pytest

from tests.core.support.systems import KILL
from tests.core.support.toy_work import preparation, results_in, task, undisturbed
from training_core.errors import Cancelled, RuntimeEnvironmentError, WorkerError
from training_core.events import Log, Reporter
from training_core.fleet import processes
from training_core.fleet.processes import ProcessWorkers
from training_core.fleet.runner import FleetRunner
from training_core.system.machine import places


def start(count=2, **document):
    return FleetRunner(ProcessWorkers(preparation(**document), places(count, count)), Reporter())


def workers_now():
    """Return the processes of workers that this process has started."""
    return [each for each in psutil.Process().children(True) if any("spawn_main" in part for part in _command(each))]


def _command(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.fixture
def two():
    with closing(start()) as runner:
        yield runner
    assert workers_now() == []


def test_two_processes_do_all_tasks_prepared_once_and_listen_to_nobody(two):
    assert two.workers == 2
    results = list(two.run([task("echo", value=number) for number in range(60)], Reporter()))
    assert sorted(result.document["value"] for result in results) == list(range(60))
    assert {result.document["prepared"] for result in results} == {1}
    found = {result.document["process"] for result in results}
    assert len(found) == len({result.worker for result in results}) == 2 and os.getpid() not in found
    connections = [each for process in workers_now() for each in process.net_connections("inet")]
    assert not [each for each in connections if each.status == psutil.CONN_LISTEN]
    # What fails is a result.
    told = []
    tasks = [task("damaged"), task("full"), task("puzzling"), *(task("echo", value=number) for number in range(10))]
    results = {result.task.key: result for result in two.run(tasks, Reporter(told.append))}
    found = [results[each.key] for each in tasks]
    assert [result.code for result in found] == ["imagery", "output", "unexpected"] + [""] * 10
    assert (found[0].reason, found[0].remedy) == ("scene_7.tif cannot be read.", "Repair it.")
    assert any("KeyError: 'nothing'" in event.message for event in told if isinstance(event, Log))


def test_a_worker_that_is_killed_costs_nothing_and_a_task_that_kills_workers_fails_alone(two, tmp_path):
    expected = undisturbed(tmp_path / "plain", 24)
    folder = tmp_path / "region"
    tasks = [task("block", folder=str(folder), seed=seed, seconds=0.05) for seed in range(24)]
    victim = workers_now()[0]
    killer = threading.Timer(0.2, victim.kill)
    killer.start()
    results = list(two.run(tasks, Reporter()))
    killer.join()
    assert not victim.is_running()
    assert sorted(result.document["seed"] for result in results) == list(range(24))
    assert results_in(folder) == expected
    tasks = [task("die"), *(task("echo", value=number) for number in range(12))]
    results = list(two.run(tasks, Reporter()))
    assert len(results) == 13
    (killer,) = [result for result in results if result.code]
    assert killer.task is tasks[0] and killer.code == "worker"
    assert killer.reason == "3 workers died while running this task."


def test_a_cancelled_job_ends_at_once_with_its_processes():
    cancelled, runner = threading.Event(), start()
    before = workers_now()
    threading.Timer(0.3, cancelled.set).start()
    began_s = time.monotonic()
    with pytest.raises(Cancelled), closing(runner):
        list(runner.run([task("sleep", seconds=30)] * 20, Reporter(is_cancelled=cancelled.is_set)))
    assert time.monotonic() - began_s < 10
    assert len(before) == 2 and not any(process.is_running() for process in before)


LEADER = """
import time
from tests.core.fleet.test_processes import start, task, workers_now
from training_core.events import Reporter

if __name__ == "__main__":
    runner = start()
    results = runner.run([task("sleep", seconds=0.1), task("sleep", seconds=0.1), *[task("sleep", seconds=600)] * 2],
                         Reporter())
    next(results)
    print(*(process.pid for process in workers_now()), flush=True)
    next(results)
    next(results)
"""


def test_workers_end_with_the_process_that_started_them(tmp_path):
    (tmp_path / "leader.py").write_text(LEADER)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    leader = subprocess.Popen([sys.executable, tmp_path / "leader.py"], stdout=subprocess.PIPE, env=environment)
    workers = [psutil.Process(int(number)) for number in leader.stdout.readline().split()]
    os.kill(leader.pid, KILL)
    leader.wait()
    leader.stdout.close()
    assert len(workers) == 2 and psutil.wait_procs(workers, timeout=10)[1] == []


def test_what_no_worker_can_be_prepared_with_is_an_error_before_any_work():
    with pytest.raises(RuntimeEnvironmentError, match=r"worker 0 .*The engine openvino cannot be used"):
        start(broken=True)
    assert workers_now() == []


@pytest.mark.slow
def test_where_no_worker_starts_it_is_an_error(monkeypatch):
    monkeypatch.setattr(processes, "MAX_KILLS", 1)
    with pytest.raises(WorkerError, match="2 processes of this machine: no worker has started"):
        start(deadly=True)
    assert workers_now() == []


@pytest.mark.slow
def test_kills_at_random_moments_leave_the_bytes_of_an_undisturbed_run(tmp_path):
    expected, draw = undisturbed(tmp_path / "plain", 60), random.Random(3)
    for turn in range(3):
        folder, stopped = tmp_path / f"region{turn}", threading.Event()
        with closing(start()) as runner:
            killer = threading.Thread(target=_kill_now_and_then, args=(draw, stopped))
            killer.start()
            tasks = [task("block", folder=str(folder), seed=seed, seconds=0.05) for seed in range(60)]
            results = list(runner.run(tasks, Reporter()))
            stopped.set()
            killer.join()
        again = [result.task for result in results if result.code]  # of a task that was hit three times
        for each in again:
            each.function(each.document)
        assert len(results) == 60 and results_in(folder) == expected


def _kill_now_and_then(draw, stopped):
    while not stopped.wait(draw.uniform(0.5, 3.0)):
        for process in draw.sample(workers_now(), 1):
            os.kill(process.pid, KILL)
