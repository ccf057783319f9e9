import json
import os
import re
import threading
from types import SimpleNamespace

import psutil
import pytest

from tests.core.support.rank_parts import play
from tests.core.support.systems import needs_posix
from training_core import events
from training_core.distributed import group
from training_core.distributed.launch import launch
from training_core.errors import RoadSegError
from training_core.events import Reporter
from training_core.system.machine import Place


def play_parts(*parts, reporter=None):
    return launch(play, json.dumps(parts), [Place((), 1)] * len(parts), reporter or Reporter())


@pytest.fixture(autouse=True)
def none_is_left():
    yield
    left = [process for process in psutil.Process().children() if "spawn_main" in " ".join(process.cmdline())]
    assert not left


def test_rank_0_reports_for_all_and_its_result_is_the_jobs():
    told = []
    result = play_parts("say", "say", reporter=Reporter(told.append))
    assert result == {"rank": 0, "sum": 3}
    assert told == [events.Log("rank 0 has 1 threads"), events.Warning("beware")]


@pytest.mark.parametrize(
    ("parts", "code", "message"),
    [
        pytest.param(
            ("lose", "die"),
            "worker",
            r"Process \d+ \(rank 1 of 2 on .+\) was killed by SIGKILL\.",
            marks=needs_posix,
        ),
        pytest.param(
            ("lose", "stop"),
            "worker",
            r"\(rank 1 of 2 on .+\) has not answered for \d+ s, and was killed\.",
            marks=[needs_posix, pytest.mark.slow],
        ),
        pytest.param(("lose", "fail"), "labels", r"\(rank 1 of 2 on .+\): No road is drawn\.", marks=pytest.mark.slow),
        pytest.param(("fail", "lose"), "labels", r"^No road is drawn\. Draw some\.$", marks=pytest.mark.slow),
    ],
)
def test_the_rank_that_failed_first_is_named_with_the_cause(parts, code, message):
    told = []
    with pytest.raises(RoadSegError) as failed:
        play_parts(*parts, reporter=Reporter(told.append))
    assert failed.value.code == code and re.search(message, str(failed.value))
    assert (events.Log("Rank 1: last words") in told) == ("die" in parts)


def test_a_stopped_job_stops_all_ranks():
    stopped = threading.Event()
    threading.Timer(1.0, stopped.set).start()
    with pytest.raises(RoadSegError) as failed:
        play_parts("wait", "wait", reporter=Reporter(is_cancelled=stopped.is_set))
    assert failed.value.code == "cancelled" and str(failed.value) == "Stopped."
    assert os.environ["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize("name", ["lo", "lo0", "Loopback Pseudo-Interface 1"])
def test_ranks_meet_on_this_machine_alone_whatever_the_system_calls_that(name, monkeypatch):
    others = {"eth0": "192.168.1.2", name: "127.0.0.1", "wlan0": "10.0.0.1"}
    addresses = {
        each: [SimpleNamespace(address="::1"), SimpleNamespace(address=other)] for each, other in others.items()
    }
    monkeypatch.setattr(group.psutil, "net_if_addrs", lambda: addresses)
    assert group.loopback() == name
