"""Traces of steps that PyTorch's profiler saw."""

import pytest
import torch
from torch import nn

from training_core.profiling import step_trace
from training_core.profiling.operation_costs import CostRecorder
from training_core.profiling.profile import Kind, Phase
from training_core.profiling.step_trace import PYTHON, marked, marked_step, profiled, trace_of

MODEL = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Sequential(nn.ReLU(), nn.Conv2d(8, 2, 3)))
IMAGES = torch.ones(1, 3, 16, 16)


def train(batches=1):
    """A step with all its parts, as `subjects` marks them."""
    with marked_step():
        for _ in range(batches):
            with marked(step_trace.WAITING):
                images = IMAGES.clone()
            images = images * 2
            with marked(step_trace.TRAINED_MODEL):
                logits = MODEL(images)
            with marked(step_trace.LOSS):
                loss = logits.square().sum()
            loss.backward()
        with marked(step_trace.OPTIMIZER):
            torch._foreach_add_([parameter.detach() for parameter in MODEL.parameters()], 0.0)


def traced(step, count=2):
    """The trace of some steps with the name of each operation, their seconds, and the operations that touch memory."""
    step()
    with CostRecorder() as recorder:
        step()
    operations = list(dict.fromkeys(recorder.costs))
    with profiled(MODEL) as profiler:
        for _ in range(count):
            step()
    trace = trace_of(profiler, recorder.costs, operations)
    durations_s = [event.cpu_time_total / 1e6 for event in profiler.events() if event.name == "roadseg.step"]
    names = ["" if number == PYTHON else operations[number].name for number in trace["operation"]]
    return trace.assign(name=names), durations_s, sorted(cost.name for cost in recorder.costs if cost.bytes)


def test_a_trace_has_every_operation_once_a_step_and_all_of_its_time():
    trace, durations_s, computing = traced(train)
    assert trace.groupby("step")["time_s"].sum().tolist() == pytest.approx(durations_s)
    for _, step in trace.groupby("step"):
        assert sorted(name for name in step["name"] if name in computing) == computing
    assert (trace["time_s"] >= 0).all() and trace["begin_s"].is_monotonic_increasing


def test_operations_have_the_phase_and_layer_of_their_part_and_gradients_those_of_their_forward_operation():
    trace, _, _ = traced(train)
    assert list(dict.fromkeys(trace["phase"])) == [
        Phase.WAITING, Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER_STEP
    ]  # fmt: skip
    places = trace[trace["step"] == 0].set_index("name")[["phase", "layer"]]
    for name, expected in (
        ("aten::clone", {(Phase.WAITING, Phase.WAITING)}),
        ("aten::convolution", {(Phase.FORWARD, "0"), (Phase.FORWARD, "1.1")}),
        ("aten::relu", {(Phase.FORWARD, "1.0")}),
        ("aten::convolution_backward", {(Phase.BACKWARD, "0"), (Phase.BACKWARD, "1.1")}),
        ("aten::threshold_backward", {(Phase.BACKWARD, "1.0")}),
        ("aten::_foreach_add_", {(Phase.OPTIMIZER_STEP, Kind.OPTIMIZER)}),
    ):
        assert set(places.loc[[name]].itertuples(index=False, name=None)) == expected, name
    assert {(Phase.FORWARD, "input"), (Phase.BACKWARD, Kind.LOSS)} <= set(places.itertuples(index=False, name=None))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in MODEL.modules())


def test_several_batches_of_a_step_have_their_phases_each():
    trace, _, _ = traced(lambda: train(batches=2), count=1)
    convolutions = trace[trace["name"].str.startswith("aten::convolution")]
    changes = convolutions["phase"][convolutions["phase"] != convolutions["phase"].shift()]
    assert changes.tolist() == [Phase.FORWARD, Phase.BACKWARD, Phase.FORWARD, Phase.BACKWARD]
    assert len(convolutions) == 2 * 4


def test_a_profiler_without_a_step_has_an_empty_trace():
    with profiled(MODEL) as profiler:
        MODEL(IMAGES)
    assert trace_of(profiler, [], []).empty
