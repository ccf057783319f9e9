import pytest

from tests.core.support.profiled_runs import context_of, run_of
from training_core.profiling import choice_rules
from training_core.profiling.advice import advise
from training_core.profiling.profile import CONVOLUTION


def test_an_engine_measured_faster_is_advised_with_what_it_brought():
    run, faster = run_of(), run_of(engine="ipex", step_s=0.15)
    found = choice_rules.faster_choice(run, context_of(run, faster))
    assert found.gain == pytest.approx(0.25)
    assert found.options == {"engine": "ipex"}
    assert "50 ms" in found.evidence and "38 ms" in found.evidence  # a quarter of the step, which has four images


@pytest.mark.parametrize("other", [run_of(engine="ipex", step_s=0.192), run_of(what="inference", step_s=0.1)])
def test_another_engine_s_four_percent_or_another_task_are_no_reason(other):
    run = run_of()
    assert choice_rules.faster_choice(run, context_of(run, other)) is None


def test_a_larger_batch_is_no_slower_engine():
    run, other = run_of(), run_of(engine="ipex", step_s=0.3, batch_size=8)
    assert choice_rules.faster_choice(run, context_of(run, other)).gain == pytest.approx(0.25)


def test_bf16_measured_slower_is_advised_away():
    run, other = run_of(), run_of(precision="fp32", step_s=0.1)
    assert choice_rules.faster_choice(run, context_of(run, other)).options == {"precision": "fp32"}


def test_an_unmeasured_precision_gains_what_its_peak_gives_convolutions():
    run = run_of(precision="fp32", kinds={CONVOLUTION: 0.8})
    found = choice_rules.better_precision(run, context_of(run, fp32=1e12, bf16=4e12))
    assert found.gain == pytest.approx(0.6)
    assert found.options == {"precision": "bf16"}


def test_bf16_without_a_unit_for_it_is_advised_away():
    run = run_of(kinds={CONVOLUTION: 0.8})
    found = choice_rules.better_precision(run, context_of(run, fp32=1e12, bf16=2.5e11))
    assert found.gain == pytest.approx(0.6)
    assert found.options == {"precision": "fp32"}


def test_a_precision_that_was_measured_or_has_no_higher_peak_is_not_advised():
    run, other = run_of(precision="fp32", kinds={CONVOLUTION: 0.8}), run_of()
    assert choice_rules.better_precision(run, context_of(run, other, fp32=1e12, bf16=4e12)) is None
    assert choice_rules.better_precision(run, context_of(run, fp32=1e12, bf16=1.1e12)) is None
    assert choice_rules.better_precision(run, context_of(run, fp32=1e12, bf16=0)) is None


def test_engines_at_hand_that_were_not_measured_are_to_be_tried():
    run, measured = run_of(what="inference"), run_of(what="inference", engine="ipex", step_s=0.3)
    found = advise([run, measured], context_of().limits, ("native", "ipex", "openvino"))
    assert [(piece.options, piece.gain) for piece in found] == [({"engine": "openvino"}, 0)]


def test_openvino_is_not_to_be_tried_for_training():
    assert advise([run_of()], context_of().limits, ("native", "openvino")) == ()
