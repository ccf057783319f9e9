import threading

import pytest

from tests.core.support.toy_work import PREPARED, preparation, task
from training_core import events
from training_core.errors import Cancelled, ModelFileError
from training_core.events import Reporter
from training_core.regions.tasks import InProcessRunner


def test_this_process_is_prepared_once_and_does_one_task_after_the_other():
    before = len(PREPARED)
    results = list(InProcessRunner(preparation()).run((task("echo", value=n) for n in range(5)), Reporter()))
    assert [result.document["value"] for result in results] == [0, 1, 2, 3, 4]
    assert len(PREPARED) == before + 1
    with pytest.raises(ModelFileError, match="engine openvino"):
        InProcessRunner(preparation(broken=True))


def test_what_fails_is_a_result_with_its_reason_and_the_rest_is_done():
    tasks = [task("damaged"), task("echo", value=1), task("full"), task("puzzling"), task("echo", value=2)]
    told = []
    results = list(InProcessRunner(preparation()).run(tasks, Reporter(told.append)))
    assert [result.task for result in results] == tasks
    assert [result.code for result in results] == ["imagery", "", "output", "unexpected", ""]
    assert (results[0].reason, results[0].remedy) == ("scene_7.tif cannot be read.", "Repair it.")
    assert results[2].reason == "The disk is full."
    assert [result.document is None for result in results] == [True, False, True, True, False]
    (log,) = [event.message for event in told if isinstance(event, events.Log)]
    assert "KeyError: 'nothing'" in log


def test_a_cancelled_job_begins_no_other_task():
    cancelled = threading.Event()
    results = InProcessRunner(preparation()).run([task("echo", value=1)] * 3, Reporter(is_cancelled=cancelled.is_set))
    next(results)
    cancelled.set()
    with pytest.raises(Cancelled):
        next(results)
