import pytest

from tests.core.support.machines import two_sockets_in
from training_core.errors import JobError
from training_core.system import machine
from training_core.system.machine import count_processes, places


@pytest.fixture
def two_sockets(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.processor, "usable_cpus", lambda: tuple(range(8)))
    monkeypatch.setattr(machine.processor, "core_count", lambda: 8)
    return two_sockets_in(tmp_path)


@pytest.mark.parametrize(
    ("wanted", "threads", "most", "count"),
    [("auto", 0, 4, 2), ("auto", 0, 1, 1), ("auto", 1, 4, 1), ("3", 0, 4, 3), ("1", 0, 4, 1)],
)
def test_auto_takes_a_process_a_socket_as_far_as_there_is_work(two_sockets, wanted, threads, most, count):
    assert count_processes(wanted, threads, most, two_sockets) == count


def test_a_small_machine_gets_one_process(tmp_path):
    assert count_processes("auto", 0, 8, tmp_path) == 1


def test_more_processes_than_threads_are_refused_with_both_numbers(two_sockets):
    with pytest.raises(JobError, match=r"9 processes .* only 8 cores"):
        count_processes("9", 0, 16, two_sockets)
    with pytest.raises(JobError, match=r"3 processes .* only 2 threads"):
        count_processes("3", 2, 16, two_sockets)


@pytest.mark.parametrize(
    ("count", "cpus"),
    [
        (2, [{0, 4, 1, 5}, {2, 6, 3, 7}]),
        (4, [{0, 4}, {1, 5}, {2, 6}, {3, 7}]),  # a core each, with both of its threads
        (1, [set(range(8))]),
    ],
)
def test_each_process_has_cores_of_its_own_on_one_node(two_sockets, count, cpus):
    found = places(count, 0, two_sockets)
    assert [(set(place.cpus), place.threads) for place in found] == [(each, 8 // count) for each in cpus]


def test_where_there_are_fewer_cores_than_processes_none_is_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.processor, "usable_cpus", lambda: (0, 1))
    assert [(place.cpus, place.threads) for place in places(3, 3, tmp_path)] == [((), 1)] * 3
