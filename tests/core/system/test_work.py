import importlib
import sys
import threading
import time

import pytest

from training_core.system.work import ahead, preload


def wait_until(is_so, seconds=5):
    ends = time.monotonic() + seconds
    while not is_so() and time.monotonic() < ends:
        time.sleep(0.01)
    return is_so()


def test_a_library_is_loaded_while_others_work_and_its_error_is_that_of_who_needs_it(tmp_path, monkeypatch, capfd):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "slow_library_of_test.py").write_text("import time; time.sleep(0.5); done = True")
    preload("slow_library_of_test")
    assert wait_until(lambda: "slow_library_of_test" in sys.modules)
    assert not hasattr(sys.modules["slow_library_of_test"], "done")  # this thread has not waited
    assert importlib.import_module("slow_library_of_test").done
    preload("no_such_library_of_test")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_library_of_test")
    assert not capfd.readouterr().err


def test_items_come_in_order_and_the_thread_ends():
    before = set(threading.enumerate())  # a thread that another test left may end meanwhile, so numbers do not do
    assert list(ahead(iter(range(100)), 3)) == list(range(100)) and list(ahead([], 1)) == []
    assert set(threading.enumerate()) <= before


def test_items_are_made_ahead_but_not_without_end():
    made = []

    def items():
        for number in range(100):
            made.append(number)
            yield number

    coming = ahead(items(), 2)
    assert next(coming) == 0
    assert wait_until(lambda: len(made) >= 4)
    time.sleep(0.3)
    assert len(made) == 4  # in use, two that wait, and one that finds no room
    coming.close()


def test_an_error_comes_in_its_place():
    def items():
        yield 1
        raise ValueError("broken")

    coming = ahead(items(), 1)
    assert next(coming) == 1
    with pytest.raises(ValueError, match="broken"):
        next(coming)
    with pytest.raises(StopIteration):
        next(coming)


def test_closing_ends_the_thread_and_closes_what_makes_the_items():
    before, closed = set(threading.enumerate()), []

    def items():
        try:
            while True:
                yield threading.get_ident()
        finally:
            closed.append(threading.get_ident())

    coming = ahead(items(), 1)
    maker = next(coming)
    coming.close()
    assert closed == [maker] and set(threading.enumerate()) <= before
