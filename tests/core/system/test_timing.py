import sys
import threading
import time

import pytest

from training_core.system.timing import busy_s, thread_ids

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux'")


def test_a_working_thread_is_busy_and_a_waiting_one_is_not():
    before, done = thread_ids(), threading.Event()
    waiting = threading.Thread(target=done.wait)
    waiting.start()
    (idle,) = thread_ids() - before
    own = threading.get_native_id()
    began_s, busy_before_s = time.thread_time(), busy_s([own])
    while time.thread_time() - began_s < 0.2:
        sum(range(1000))
    assert own in before and 0.19 < busy_s([own]) - busy_before_s < 0.4
    assert busy_s([idle]) < 0.05
    done.set()
    waiting.join()


def test_a_thread_that_has_ended_counts_nothing():
    thread = threading.Thread(target=lambda: sum(range(100_000)))
    before = thread_ids()
    thread.start()
    thread.join()
    assert thread.native_id not in before
    deadline_s = time.monotonic() + 10
    while busy_s([thread.native_id]) and time.monotonic() < deadline_s:  # the system forgets it a little later
        time.sleep(0.001)
    assert busy_s([thread.native_id]) == 0
