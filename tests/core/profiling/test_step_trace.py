"""Traces of steps that PyTorch's profiler saw."""

import torch
from torch import nn

from training_core.profiling.operation_costs import CostRecorder
from training_core.profiling.profile import Kind, Phase
from training_core.profiling.step_trace import PYTHON, end_phase, marked_layer, marked_step, profiled, trace_of

MODEL = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Sequential(nn.ReLU(), nn.Conv2d(8, 2, 3)))
IMAGES = torch.ones(1, 3, 16, 16)


def train():
    """A step of two batches with all its parts, as `subjects` marks them."""
    with marked_step():
        for _ in range(2):
            images = IMAGES.clone()
            end_phase(Phase.WAITING)
            logits = MODEL(images * 2)
            with marked_layer(Kind.LOSS):
                loss = logits.square().sum()
            end_phase(Phase.FORWARD)
            loss.backward()
            end_phase(Phase.BACKWARD)
        torch._foreach_add_([parameter.detach() for parameter in MODEL.parameters()], 0.0)
        end_phase(Phase.OPTIMIZER)


def traced():
    """The trace of two steps with the name of each operation, their seconds, and the operations that touch memory."""
    train()
    with CostRecorder() as recorder:
        train()
    with profiled(MODEL) as profiler:
        for _ in range(2):
            train()
    trace = trace_of(profiler, recorder.costs)
    durations_s = [event.cpu_time_total / 1e6 for event in profiler.events() if event.name == "roadseg.step"]
    names = ["" if number == PYTHON else recorder.costs[number].name for number in trace["operation"]]
    return trace.assign(name=names), durations_s, sorted(cost.name for cost in recorder.costs if cost.bytes)


def test_a_trace_has_every_operation_once_a_step_and_all_of_its_time():
    trace, durations_s, computing = traced()
    assert abs(trace.groupby("step")["time_s"].sum() - durations_s).max() < 1e-5
    for _, step in trace.groupby("step"):
        assert sorted(name for name in step["name"] if name in computing) == computing
    assert (trace["time_s"] >= 0).all() and trace["begin_s"].is_monotonic_increasing
    with profiled(MODEL) as profiler:
        MODEL(IMAGES)
    assert trace_of(profiler, []).empty


def test_operations_have_the_phase_and_layer_of_their_part_and_gradients_those_of_their_forward_operation():
    trace, _, _ = traced()
    step = trace[trace["step"] == 0]
    convolutions = step[step["name"].str.startswith("aten::convolution")]
    changes = convolutions["phase"][convolutions["phase"] != convolutions["phase"].shift()]
    assert changes.tolist() == [Phase.FORWARD, Phase.BACKWARD, Phase.FORWARD, Phase.BACKWARD]
    places = step.set_index("name")[["phase", "layer"]]
    for name, expected in (
        ("aten::clone", {(Phase.WAITING, Phase.WAITING)}),
        ("aten::convolution", {(Phase.FORWARD, "0"), (Phase.FORWARD, "1.1")}),
        ("aten::relu", {(Phase.FORWARD, "1.0")}),
        ("aten::convolution_backward", {(Phase.BACKWARD, "0"), (Phase.BACKWARD, "1.1")}),
        ("aten::threshold_backward", {(Phase.BACKWARD, "1.0")}),
        ("aten::_foreach_add_", {(Phase.OPTIMIZER, Kind.OPTIMIZER)}),
    ):
        assert set(places.loc[[name]].itertuples(index=False, name=None)) == expected, name
    around = {(Phase.FORWARD, "input and output"), (Phase.FORWARD, Kind.LOSS), (Phase.BACKWARD, Kind.LOSS)}
    assert around <= set(places.itertuples(index=False, name=None))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in MODEL.modules())
