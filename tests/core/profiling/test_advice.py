"""Advice: each rule on a run that has its trouble and on such as do not, what a reader gets, and trials of it."""

import pytest

from tests.core.support.profiles import limits_of, primitive, run_of
from training_core import jobs
from training_core.errors import Cancelled, ResourceError
from training_core.events import Reporter
from training_core.profiling.advice import advise, trials_of
from training_core.profiling.profile import Advice, Bound, Counters, Kind, Phase

# Everything is wrong with it.
WORST = run_of(
    phases={Phase.WAITING: 0.1, Phase.FORWARD: 0.2, Phase.OPTIMIZER: 0.1},
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


def only(run, *others, engines=(), **limits):
    """The only advice on a run; None without any."""
    found = advise([run, *others], limits_of(**limits), engines)
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("threads", "facts", "expected"),
    [
        (8, {"container_cores": 2.5}, 2),
        (8, {"container_cores": 0.5}, 1),
        (16, {"cores": 8, "cpus": 16}, 8),
        (16, {"cores": 16, "numa_nodes": 2}, 8),
        (2, {"container_cores": 2.5}, None),
        (1, {"container_cores": 0.5}, None),
        (8, {"container_cores": None}, None),
        (8, {"cores": 8, "cpus": 16}, None),
        (8, {}, None),
        (8, {"cores": 16, "numa_nodes": 2}, None),
        (16, {"cores": 16, "numa_nodes": 1}, None),
    ],
)
def test_threads_beyond_those_that_cores_serve_are_advised_to_be_fewer(threads, facts, expected):
    found = only(run_of(threads=threads), **facts)
    if expected is None:
        assert found is None
    else:
        assert found.options == {"threads": expected}
        assert found.gain == 0 and "unknown" in found.evidence


@pytest.mark.parametrize(
    ("counters", "cpus", "gain"),
    [
        (Counters(page_faults=100_000, system_share=0.1), 4, 0.1),  # 0.18 s on four threads; no more than the system
        (Counters(page_faults=20_000, system_share=0.1), 4, 0.045),  # 0.045 of 0.2 s
        (Counters(page_faults=2_000, system_share=0.1), 4, None),
        (Counters(page_faults=1e6, system_share=0.0), 4, None),
        (Counters(), 4, None),
        (Counters(stolen_share=0.2), 4, 0.2),
        (Counters(stolen_share=0.7), 8, 0.2),  # half of the cores have nothing else to do
        (Counters(stolen_share=0.4), 8, None),
        (Counters(stolen_share=0.02), 4, None),
    ],
)  # fmt: skip
def test_page_faults_cost_at_most_the_systems_time_and_neighbors_what_idle_cores_cannot_give(counters, cpus, gain):
    found = only(run_of(counters=counters), cpus=cpus)
    assert found is None if gain is None else found.gain == pytest.approx(gain)


@pytest.mark.parametrize(
    ("idle_mhz", "load_mhz", "governor", "is_told"),
    [
        (3000, 2000, "performance", True),
        (3000, 2700, "performance", False),
        (800, 3000, "powersave", False),
        (800, 800, "powersave", True),
        (2000, 2000, "schedutil", False),
        (None, 2000, "powersave", False),
        (3000, None, None, False),
    ],
)
def test_a_clock_that_falls_or_is_not_raised_is_told_without_an_estimate(idle_mhz, load_mhz, governor, is_told):
    found = only(run_of(), frequency_idle_mhz=idle_mhz, frequency_load_mhz=load_mhz, governor=governor)
    assert (found is not None) == is_told
    assert not is_told or (found.gain == 0 and ("cpupower" in found.remedy) == (governor == "powersave"))


@pytest.mark.parametrize(
    ("implementation", "is_last_resort"),
    [
        ("ref:any", True), ("gemm:jit", True), ("x64:gemm:jit", True), ("simple:any", True), ("ref_any", True),
        ("brg_conv_fwd:avx512_core_bf16", False), ("jit_1x1:avx2", False), ("brgconv:avx512_core_amx", False),
        ("", False),
    ],
)  # fmt: skip
def test_a_last_resort_of_onednn_is_told(implementation, is_last_resort):
    rows = [
        primitive(Kind.CONVOLUTION, 0.1, implementation=implementation),
        primitive(Kind.COPY, 0.3, implementation="ref:any"),
    ]
    found = only(run_of(primitives=rows))
    assert (found is not None) == is_last_resort
    assert not is_last_resort or (implementation in found.evidence and "10 %" in found.evidence.replace("\u00a0", " "))


def test_a_step_of_many_small_operations_is_advised_a_batch_or_tile_twice_as_large():
    run = run_of(kinds={Kind.PYTHON: 0.08}, primitives=[primitive(Kind.CONVOLUTION, 0.5, calls=1000)])
    found = only(run, region_s=4e-6)  # 4 ms of 200
    assert found.gain == pytest.approx((0.02 + 0.08) / 2)
    assert found.options == {"batch_size": 8}
    assert "1,000 operations" in found.evidence and "4.0 us" in found.evidence
    assert only(run_of(kinds={Kind.PYTHON: 0.04}), region_s=4e-6) is None
    one_thread = run_of(threads=1, primitives=[primitive(Kind.CONVOLUTION, 0.5, calls=10000)])
    assert only(one_thread, region_s=4e-6) is None
    found = only(run_of(what="inference", kinds={Kind.PYTHON: 0.2}, options={"tile_px": 256}))
    assert found.options == {"tile_px": 512}
    assert found.gain == pytest.approx(0.15)  # a quarter of the starts a pixel is left


@pytest.mark.parametrize(("threads", "options"), [(8, {"threads": 7}), (2, {})])
def test_a_step_that_waits_for_data_leaves_it_a_core_where_there_are_several(threads, options):
    found = only(run_of(threads=threads, phases={Phase.WAITING: 0.1}))
    assert found.gain == pytest.approx(0.1)
    assert found.options == options
    assert only(run_of(threads=threads, phases={Phase.WAITING: 0.02})) is None


@pytest.mark.parametrize(
    ("share", "bound", "fields", "is_told"),
    [
        (0.2, Bound.MEMORY, {}, True),
        (0.05, Bound.MEMORY, {}, False),
        (0.2, Bound.COMPUTE, {}, False),
        (0.2, Bound.MEMORY, {"options": {"batch_norm": "frozen"}}, False),
        (0.2, Bound.MEMORY, {"what": "inference"}, False),
    ],
)
def test_live_batch_normalization_bound_by_memory_is_advised_to_be_frozen(share, bound, fields, is_told):
    rows = [primitive(Kind.NORMALIZATION, 0.2, bound=bound)]
    found = only(run_of(kinds={Kind.NORMALIZATION: share}, primitives=rows, **fields))
    assert (found is not None) == is_told
    if is_told:
        assert found.gain == pytest.approx(0.05)  # 2 of 8 passes over the activations
        assert found.options == {"batch_norm": "frozen"} and "changes the training" in found.remedy


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"recompute": "yes"}, {"recompute": "auto"}),
        ({"recompute": "auto", "batch_size": 4}, {"batch_size": 2, "accumulation": 2}),
        ({"recompute": "auto", "batch_size": 1}, {}),
        ({"recompute": "no"}, None),
    ],
)
def test_recomputing_is_advised_to_be_left_to_the_memory_or_to_take_half_the_batch(options, expected):
    found = only(run_of(phases={Phase.FORWARD: 0.25, Phase.BACKWARD: 0.7}, options=options))
    assert found is None if expected is None else (found.options, found.gain) == (expected, pytest.approx(0.25))


def test_an_engine_measured_faster_is_advised_with_its_gain():
    run = run_of()
    found = only(run, run_of(engine="ipex", step_s=0.15))
    assert found.gain == pytest.approx(0.25)
    assert found.options == {"engine": "ipex"}
    assert only(run, run_of(engine="ipex", step_s=0.3, batch_size=8)).gain == pytest.approx(0.25)
    assert only(run, run_of(precision="fp32", step_s=0.1)).options == {"precision": "fp32"}
    for other in (run_of(engine="ipex", step_s=0.192), run_of(what="inference", step_s=0.1)):
        assert only(run, other) is None  # four percent, or another task


def test_advice_is_about_the_first_run_of_a_task_and_engines_at_hand_that_were_not_measured_are_to_be_tried():
    other = run_of(engine="ipex", phases={Phase.WAITING: 0.3})
    assert only(run_of(), other) is None
    assert only(other, run_of()).run == other.name
    run, measured = run_of(what="inference"), run_of(what="inference", engine="ipex", step_s=0.3)
    found = only(run, measured, engines=("native", "ipex", "openvino"))
    assert (found.options, found.gain) == ({"engine": "openvino"}, 0)
    assert only(run_of(), engines=("native", "openvino")) is None  # it does not train


def test_a_reader_gets_eight_pieces_the_largest_first_with_estimates_or_unknown_gains_and_valid_options():
    found = advise([WORST], LIMITS, ("native", "ipex"))
    gains = [piece.gain for piece in found]
    assert len(gains) == 8 and gains == sorted(gains, reverse=True)
    assert gains.count(0) == 4
    for piece in found:
        assert piece.gain >= 0.01 or "unknown" in piece.evidence
        jobs.Profile(**piece.options).validate()
        assert all(name in piece.remedy for name in piece.options)
    inference = run_of(what="inference", counters=Counters(stolen_share=0.5))
    found = [piece for piece in advise([WORST, inference], LIMITS) if piece.rule == "busy neighbor"]
    assert [(piece.run, piece.gain) for piece in found] == [(inference.name, pytest.approx(0.5))]
    assert advise([], LIMITS) == ()


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
    pieces = (piece_of("page faults"), Advice("engine", "inference, native bf16", "", "", 0.1, {"engine": "ipex"}))
    assert trials_of(pieces, {RUN: Machine([], [])}, Reporter()) == pieces  # no options, or another run


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
