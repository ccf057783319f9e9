import pytest

from training_core.errors import JobError
from training_core.segmentation.work_plan import memory_budget
from training_core.system import environment, processor
from training_core.system.memory import available_bytes


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    monkeypatch.delenv("ROADSEG_THREADS", raising=False)
    monkeypatch.delenv("ROADSEG_MEMORY_GB", raising=False)


def test_no_more_cores_are_used_than_may_be_and_than_are_there(monkeypatch):
    there = processor.core_count()
    monkeypatch.setenv("ROADSEG_THREADS", "1")
    assert processor.core_count() == 1
    monkeypatch.setenv("ROADSEG_THREADS", str(there + 7))
    assert processor.core_count() == there


def test_tiles_are_fitted_to_the_memory_that_may_be_taken_if_it_is_there(monkeypatch):
    monkeypatch.setenv("ROADSEG_MEMORY_GB", "0.75")
    assert memory_budget(0) == 750_000_000
    monkeypatch.setenv("ROADSEG_MEMORY_GB", "1e6")
    assert memory_budget(0) == pytest.approx(available_bytes(), rel=0.1)


@pytest.mark.parametrize("name", ["ROADSEG_THREADS", "ROADSEG_MEMORY_GB"])
@pytest.mark.parametrize("text", ["many", "0", "-3", "nan", "inf"])
def test_an_invalid_limit_is_refused(monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    with pytest.raises(JobError, match=f"{name} is '{text}'"):
        environment.check()
