"""Advice: which findings a reader gets, and trials of them."""

import pytest

from tests.core.support.profiles import context_of, limits_of, primitive, run_of
from training_core import jobs
from training_core.errors import Cancelled, ResourceError
from training_core.events import Reporter
from training_core.profiling.advice import advise, trials_of
from training_core.profiling.profile import Advice, Counters, Kind, Phase

# Everything is wrong with it.
WORST = run_of(
    phases={Phase.WAITING: 0.1, Phase.FORWARD: 0.2, Phase.OPTIMIZER_STEP: 0.1},
    kinds={Kind.PYTHON: 0.07, Kind.NORMALIZATION: 0.2},
    primitives=[
        primitive(Kind.NORMALIZATION, 0.2, bound="memory", roof_share=0.2),
        primitive(Kind.CONVOLUTION, 0.1, implementation="ref:any"),
    ],
    counters=Counters(page_faults=50_000, system_share=0.2, stolen_share=0.3),
    options={"recompute": "yes"},
)
LIMITS = limits_of(
    container_cores=2,
    cpus=4,
    frequency_idle_mhz=3000,
    frequency_load_mhz=2000,
    instruction_sets_limited_by="ATEN_CPU_CAPABILITY=avx2",
)


def test_a_healthy_step_gets_no_advice_and_a_trouble_is_told_once():
    healthy = run_of(
        phases={Phase.WAITING: 0.01, Phase.FORWARD: 0.3},
        kinds={Kind.CONVOLUTION: 0.75, Kind.PYTHON: 0.01, Kind.NORMALIZATION: 0.08},
        primitives=[primitive(Kind.CONVOLUTION, 0.75, roof_share=0.8, implementation="brgconv:avx2")],
        counters=Counters(page_faults=200, system_share=0.01, stolen_share=0.01),
    )
    machine = {"cores": 4, "cpus": 8, "numa_nodes": 1, "governor": "performance"}
    assert advise([healthy], limits_of(region_s=1e-5, **machine)) == advise([], limits_of()) == ()
    inference = run_of(what="inference", counters=Counters(stolen_share=0.5))
    found = [piece for piece in advise([WORST, inference], LIMITS) if piece.rule == "busy neighbor"]
    assert [(piece.run, piece.gain) for piece in found] == [(inference.name, pytest.approx(0.5))]


def test_a_reader_gets_eight_pieces_the_largest_first_with_estimates_or_unknown_gains_and_valid_options():
    found = advise([WORST], LIMITS, ("native", "ipex"))
    gains = [piece.gain for piece in found]
    assert len(gains) == 8 and gains == sorted(gains, reverse=True)
    assert gains.count(0) == 4
    for piece in found:
        assert piece.gain >= 0.01 or "unknown" in piece.evidence
        jobs.Profile(**piece.options).validate()
        assert all(name in piece.remedy for name in piece.options)


def test_advice_is_about_the_first_run_of_a_task_and_engines_at_hand_that_were_not_measured_are_to_be_tried():
    other = run_of(engine="ipex", phases={Phase.WAITING: 0.3})
    assert advise([run_of(), other], limits_of()) == ()
    assert {piece.run for piece in advise([other, run_of()], limits_of())} == {other.name}
    run, measured = run_of(what="inference"), run_of(what="inference", engine="ipex", step_s=0.3)
    found = advise([run, measured], context_of().limits, ("native", "ipex", "openvino"))
    assert [(piece.options, piece.gain) for piece in found] == [({"engine": "openvino"}, 0)]
    assert advise([run_of()], context_of().limits, ("native", "openvino")) == ()  # it does not train


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


def test_advice_without_options_or_of_another_run_stays_as_it_is():
    pieces = (piece_of("page faults"), Advice("engine", "inference, native bf16", "", "", 0.1, {"engine": "ipex"}))
    assert trials_of(pieces, {RUN: Machine([], [])}, Reporter()) == pieces


def test_a_trial_that_fails_says_why_and_the_rest_goes_on():
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
