import re
from pathlib import Path

import pytest

from tests.core.support.profiled_runs import limits_of, primitive, run_of
from training_core import jobs
from training_core.errors import Cancelled, ResourceError
from training_core.events import Reporter
from training_core.profiling.advice import advise, trials_of
from training_core.profiling.profile import Advice, Counters, Kind, Phase

GUIDE = Path(__file__).parents[3] / "docs/guide.md"
# Everything is wrong with it.
WORST = run_of(
    phases={
        Phase.WAITING: 0.1,
        Phase.FORWARD: 0.2,
        Phase.OPTIMIZER_STEP: 0.1,
        Phase.VALIDATION: 0.3,
        Phase.CONVERSION: 0.3,
    },
    kinds={Kind.COPY: 0.12, Kind.PYTHON: 0.07, Kind.NORMALIZATION: 0.2},
    primitives=[
        primitive(Kind.COPY, 0.12),
        primitive(Kind.NORMALIZATION, 0.2, bound="memory", dtype="fp32", roof_share=0.2),
        primitive(Kind.CONVOLUTION, 0.1, roof_share=0.1, layout="contiguous", implementation="ref:any"),
        primitive(Kind.CONVOLUTION, 0.1, roof_share=0.2, layout="contiguous"),
        primitive(Kind.CONVOLUTION, 0.1, roof_share=0.8),
    ],
    counters=Counters(page_faults=50_000, system_share=0.2, stolen_share=0.3),
    options={"recompute": "yes"},
)
LIMITS = limits_of(
    container_cores=2,
    cores=2,
    cpus=4,
    numa_nodes=2,
    huge_pages="never",
    frequency_idle_mhz=3000,
    frequency_load_mhz=2000,
    governor="powersave",
    instruction_sets_limited_by="ATEN_CPU_CAPABILITY=avx2",
)


def all_advice(monkeypatch, runs=(WORST,)):
    """Everything that the rules find, not only what a reader gets."""
    monkeypatch.setattr("training_core.profiling.advice.MAX_PIECES", 99)
    monkeypatch.setattr("training_core.profiling.advice.MAX_UNKNOWN", 99)
    return advise(runs, LIMITS, ("native", "ipex"))


def test_a_healthy_step_gets_no_advice_and_the_same_options_are_told_once():
    healthy = run_of(
        phases={Phase.WAITING: 0.01, Phase.FORWARD: 0.3, Phase.OPTIMIZER_STEP: 0.03, Phase.VALIDATION: 0.08},
        kinds={Kind.CONVOLUTION: 0.75, Kind.COPY: 0.02, Kind.PYTHON: 0.01, Kind.NORMALIZATION: 0.08},
        primitives=[
            primitive(Kind.CONVOLUTION, 0.75, roof_share=0.8, layout="channels last", implementation="brgconv:avx2")
        ],
        counters=Counters(page_faults=200, system_share=0.01, stolen_share=0.01),
    )
    machine = {"cores": 4, "cpus": 8, "numa_nodes": 1, "huge_pages": "madvise", "governor": "performance"}
    assert advise([healthy], limits_of(region_s=1e-5, **machine)) == advise([], limits_of()) == ()
    found = advise([run_of()], limits_of(container_cores=2, cores=2))
    assert [(piece.rule, piece.options) for piece in found] == [("container quota", {"threads": 2})]


def test_a_reader_gets_eight_pieces_the_largest_first_and_half_of_them_may_be_unknown(monkeypatch):
    found = advise([WORST], LIMITS)
    gains = [piece.gain for piece in found]
    assert len(gains) == 8 and gains == sorted(gains, reverse=True)
    assert gains.count(0) == 4
    largest = sorted((piece.gain for piece in all_advice(monkeypatch)), reverse=True)[:4]
    assert gains[:4] == largest


def test_estimates_are_at_least_a_percent_or_unknown_options_those_of_the_job_and_links_lead_to_headings(monkeypatch):
    for piece in all_advice(monkeypatch):
        assert piece.gain >= 0.01 or (piece.gain == 0 and "unknown" in piece.evidence)
        jobs.Profile(**piece.options).validate()
        assert all(name in piece.remedy for name in piece.options)
    headings = re.findall(r"^#+ (.*)$", GUIDE.read_text("utf-8"), re.M)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    links = {piece.link for piece in all_advice(monkeypatch)}
    assert "algorithms/profile.md#advanced-parameters" in links
    assert {link for link in links if link.startswith("guide.md")} <= {f"guide.md#{anchor}" for anchor in anchors}


def test_training_and_inference_share_a_machine_whose_trouble_is_told_once(monkeypatch):
    inference = run_of(what="inference", counters=Counters(stolen_share=0.5))
    found = [piece for piece in all_advice(monkeypatch, (WORST, inference)) if piece.rule == "busy neighbor"]
    assert [(piece.run, piece.gain) for piece in found] == [(inference.name, pytest.approx(0.5))]


def test_the_first_run_of_a_task_is_what_advice_is_about():
    other = run_of(engine="ipex", phases={Phase.WAITING: 0.3})
    assert advise([run_of(), other], limits_of()) == ()
    assert {piece.run for piece in advise([other, run_of()], limits_of())} == {other.name}


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


def test_the_same_options_are_tried_once_and_what_none_applies_stays_as_it_is():
    machine = Machine([1.0, 1.0], [0.5, 0.5])
    pieces = [piece_of("SMT", threads=4), piece_of("container", threads=4)]
    first, second = trials_of(pieces, {RUN: machine}, Reporter())
    assert len(machine.calls) == 4
    assert first.trial == second.trial and first.trial.after_s == 0.5
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
