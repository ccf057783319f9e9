import itertools
import math
import sys
import time

import pytest
import torch

from training_core.errors import Cancelled
from training_core.events import Reporter
from training_core.profiling import timing
from training_core.profiling.profile import Rate
from training_core.profiling.timing import (
    Work,
    best_rate,
    best_times_s,
    measure_rates,
    thread_counts,
    time_losses,
    using_threads,
)

SHAPE = (2, 1, 32, 32)
NAMES = ["RoadSeg", "torchvision", "segmentation_models_pytorch"]


class Clock:
    """A clock that only operations advance; `calls` lists which ones ran."""

    def __init__(self):
        self.now_s = 0.0
        self.calls = []

    def __call__(self):
        return self.now_s

    def operation(self, name, *durations_s):
        """Return an operation that takes one duration after the other, and the last one from then on."""
        durations_s = itertools.chain(durations_s, itertools.repeat(durations_s[-1]))

        def run():
            self.calls.append(name)
            self.now_s += next(durations_s)

        return run


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        (1, (1,)),
        (2, (1, 2)),
        (6, (1, 2, 4, 6)),
        (16, (1, 2, 4, 8, 16)),
        (24, (1, 2, 4, 16, 24)),
        (64, (1, 4, 8, 16, 64)),
    ],
)
def test_threads_double_up_to_all_in_five_counts_at_most(threads, expected):
    assert thread_counts(threads) == expected


def test_the_threads_are_restored_even_after_a_failure():
    before = torch.get_num_threads()
    with pytest.raises(ValueError), using_threads(before + 1):
        assert torch.get_num_threads() == before + 1
        raise ValueError
    assert torch.get_num_threads() == before


def test_the_best_of_several_timings_counts_but_not_the_first_call_and_operations_take_turns():
    clock = Clock()
    assert best_times_s([clock.operation("a", 0.5, 4, 3, 7, 1)], 14, clock=clock) == [3]
    clock = Clock()
    best_times_s([clock.operation("a", 1), clock.operation("b", 2)], 12, clock=clock)
    assert "".join(clock.calls) == "aabbabab"


def test_after_the_limit_there_is_only_time_for_as_many_operations_as_required():
    clock = Clock()
    assert best_times_s([clock.operation("a", 5), clock.operation("b", 1)], 10, clock=clock) == [5, math.inf]
    assert clock.calls == ["a"] * 4
    clock = Clock()
    operations = [clock.operation(name, 5) for name in "abc"]
    assert best_times_s(operations, 0, required=2, clock=clock) == [5, 5, math.inf]


def test_the_best_rate_is_that_of_the_operation_that_does_most_a_second():
    clock = Clock()
    works = [Work(6, clock.operation("a", 2)), Work(20, clock.operation("b", 4)), Work(1e9, clock.operation("c", 1))]
    assert best_rate(works, 12, clock=clock) == 5  # there is no time left for c


def test_rates_are_measured_by_number_of_threads():
    seen = []

    def make(threads):
        return [Work(1.0, lambda: seen.append((threads, torch.get_num_threads())))]

    before, fractions = torch.get_num_threads(), []
    rates = measure_rates({"a": make}, (1, 2), 0, Reporter(lambda event: fractions.append(event.fraction)))
    assert [rate.threads for rate in rates["a"]] == [1, 2]
    assert all(isinstance(rate, Rate) and rate.per_s > 0 for rate in rates["a"])
    assert set(seen) == {(1, 1), (2, 2)}
    assert torch.get_num_threads() == before
    assert fractions == [0, 0.25, 0.5, 0.75]


def test_what_is_disturbed_once_is_measured_again():
    pauses_s = itertools.chain([0.01], itertools.repeat(0))

    def make(threads):
        pause_s = next(pauses_s)
        return [Work(1.0, lambda: time.sleep(pause_s))]

    (rate,) = measure_rates({"a": make}, (1,), 0.2, Reporter())["a"]
    assert rate.per_s > 1 / 0.01


@pytest.mark.parametrize("error", [RuntimeError, NotImplementedError, AttributeError])
def test_what_cannot_be_computed_is_left_out(error):
    def fails():
        raise error

    before = torch.get_num_threads()
    makers = {"never": lambda threads: [Work(1.0, fails)], "always": lambda threads: [Work(1.0, lambda: None)]}
    assert list(measure_rates(makers, (before + 1,), 0, Reporter())) == ["always"]
    assert torch.get_num_threads() == before


def test_measuring_can_be_cancelled_between_two_rates():
    made = []

    def make(threads):
        made.append(threads)
        return [Work(1.0, lambda: None)]

    with pytest.raises(Cancelled):
        measure_rates({"a": make}, (1, 2, 3), 0, Reporter(is_cancelled=lambda: len(made) == 2))
    assert made == [1, 2]


def test_each_loss_is_timed_and_ours_is_first():
    state = torch.get_rng_state()
    found = time_losses(SHAPE, 0)
    assert torch.equal(torch.get_rng_state(), state)
    assert [loss.name for loss in found] == NAMES
    assert found[0].ratio == 1
    assert all(loss.ratio == pytest.approx(loss.time_s / found[0].time_s) for loss in found)
    assert all(loss.time_s > 0 for loss in found)


def test_all_compute_the_same_loss_and_gradient(monkeypatch):
    computed = []

    def once(steps, limit_s, required):
        for step in steps:
            loss, logits = step.args
            value = loss(logits)
            computed.append((value.detach(), *torch.autograd.grad(value, logits)))
        return [1.0] * len(steps)

    monkeypatch.setattr(timing, "best_times_s", once)
    time_losses(SHAPE, 0)
    (value, gradient), *others = computed
    for other_value, other_gradient in others:
        torch.testing.assert_close(other_value, value)
        torch.testing.assert_close(other_gradient, gradient, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize(("module", "missing"), [("torchvision.ops", 1), ("segmentation_models_pytorch.losses", 2)])
def test_a_library_that_cannot_be_imported_is_left_out(monkeypatch, module, missing):
    monkeypatch.setitem(sys.modules, module, None)
    assert [loss.name for loss in time_losses(SHAPE, 0)] == NAMES[:missing] + NAMES[missing + 1 :]
