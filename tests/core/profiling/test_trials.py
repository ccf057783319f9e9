import pytest

from training_core.errors import Cancelled, ResourceError
from training_core.events import Reporter
from training_core.profiling.profile import Advice
from training_core.profiling.trials import trials_of

RUN = "training, native bf16"


def piece_of(rule, **options):
    return Advice(rule, RUN, "Evidence.", "Remedy.", 0.1, options)


class Machine:
    """Takes the times in a list, by the options it is asked for, one after the other."""

    def __init__(self, before_s, after_s):
        self.calls, self._times_s = [], {True: iter(before_s), False: iter(after_s)}

    def __call__(self, options):
        self.calls.append(dict(options))
        return next(self._times_s[not options])


def test_a_trial_takes_turns_and_medians():
    machine = Machine([1.0, 9.0, 2.0], [0.5, 0.7, 8.0])
    (tried,) = trials_of([piece_of("small batch", batch_size=8)], {RUN: machine}, Reporter(), turns=3)
    assert machine.calls == [{}, {"batch_size": 8}] * 3
    assert (tried.trial.before_s, tried.trial.after_s) == (2.0, 0.7)
    assert tried.trial.gain == pytest.approx(0.65)


def test_the_same_options_are_tried_once():
    machine = Machine([1.0, 1.0], [0.5, 0.5])
    pieces = [piece_of("SMT", threads=4), piece_of("container", threads=4)]
    first, second = trials_of(pieces, {RUN: machine}, Reporter())
    assert len(machine.calls) == 4
    assert first.trial == second.trial and first.trial.after_s == 0.5


def test_what_no_option_applies_or_no_function_measures_stays_as_it_is():
    pieces = (piece_of("page faults"), Advice("engine", "inference, native bf16", "", "", 0.1, {"engine": "ipex"}))
    assert trials_of(pieces, {RUN: Machine([], [])}, Reporter()) == pieces


def test_what_cannot_be_measured_says_why_and_the_rest_goes_on():
    def measure(options):
        if "batch_size" in options:
            raise ResourceError("The memory does not suffice.", "Lower the batch size.")
        return 0.5 if options else 1.0

    failed, tried = trials_of([piece_of("a", batch_size=8), piece_of("b", threads=4)], {RUN: measure}, Reporter())
    assert failed.trial is None
    assert failed.remedy == "Remedy. Could not be tried: The memory does not suffice. Lower the batch size."
    assert tried.trial.gain == pytest.approx(0.5)


def test_a_trial_is_cancelled_between_measurements():
    machine = Machine([1.0, 1.0], [0.5, 0.5])
    reporter = Reporter(is_cancelled=lambda: len(machine.calls) == 2)
    with pytest.raises(Cancelled):
        trials_of([piece_of("a", batch_size=8)], {RUN: machine}, reporter)
    assert len(machine.calls) == 2
