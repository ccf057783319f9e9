"""Traces of steps, cut from events with known answers."""

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from training_core.profiling.operation_costs import CostRecorder, OperationCost
from training_core.profiling.step_trace import (
    LAYER_MARK,
    PHASE_MARK,
    Event,
    events_of,
    mark_phase,
    marked_layers,
    traced_steps,
)

CONVOLUTION = OperationCost("aten::convolution", 100, 10, "", "", "fp32")
ADDITION = OperationCost("aten::add", 0, 10, "", "", "fp32")
GRADIENT = "autograd::engine::evaluate_function: ConvolutionBackward0"


def mark(name, at):
    return Event(PHASE_MARK + name, at, at)


def brief(step):
    return [(piece.name, piece.phase, piece.layer, piece.begin_ns, piece.end_ns) for piece in step.pieces]


def test_a_step_is_cut_into_operations_and_the_code_between_them_without_gaps():
    events = [
        mark("end", 0),
        Event("aten::conv2d", 10, 40),
        Event("aten::convolution", 15, 35),
        Event("aten::empty", 16, 18),
        mark("forward", 50),
        mark("end", 60),
    ]
    (step,) = traced_steps(events, "end", [CONVOLUTION])
    assert step.phases == (("forward", 0, 50), ("end", 50, 60))
    assert brief(step) == [
        ("", "forward", "", 0, 10),
        ("", "forward", "", 10, 15),
        ("aten::convolution", "forward", "", 15, 35),
        ("", "forward", "", 35, 40),
        ("", "forward", "", 40, 50),
        ("", "end", "", 50, 60),
    ]
    assert step.duration_s == pytest.approx(60e-9)


def test_gradients_belong_to_the_layer_of_their_forward_operation():
    events = [
        mark("end", 0),
        Event(LAYER_MARK + "a", 0, 20),
        Event("aten::convolution", 5, 15, sequence=7),
        Event(LAYER_MARK + "b", 20, 40),
        Event("aten::convolution", 25, 35, sequence=8),
        mark("forward", 50),
        Event(GRADIENT, 60, 70, sequence=8),
        Event("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 70, 75),
        Event(GRADIENT, 80, 90, sequence=7),
        mark("end", 100),
    ]
    (step,) = traced_steps(events, "end", [CONVOLUTION, CONVOLUTION])
    backward = [piece for piece in brief(step) if piece[1] == "end" and piece[2]]
    assert backward == [("", "end", "b", 60, 70), ("", "end", "b", 70, 75), ("", "end", "a", 80, 90)]


def test_operations_share_their_costs_in_order_and_what_precedes_a_first_step_is_left_out():
    second = OperationCost("aten::add_", 0, 20, "", "", "fp32")
    events = [
        mark("end", 0),
        Event("aten::add_", 1, 2),
        Event("aten::add", 3, 4),
        Event("aten::add", 5, 6),
        mark("end", 9),
    ]
    (step,) = traced_steps(events, "end", [ADDITION, second])
    assert [piece.cost for piece in step.pieces if piece.cost] == [ADDITION, second]
    events = [mark("forward", 5), mark("end", 10), mark("forward", 20), mark("end", 30), mark("forward", 40)]
    steps = traced_steps(events, "end", [])
    assert [step.phases for step in steps] == [(("forward", 10, 20), ("end", 20, 30))]


def test_real_layers_are_found_in_both_directions():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Sequential(nn.ReLU(), nn.Conv2d(8, 2, 3)))
    images = torch.ones(1, 3, 16, 16)

    def step():
        model(images).sum().backward()
        mark_phase("end")

    with CostRecorder() as recorder:
        step()
    with marked_layers(model), profile(activities=[ProfilerActivity.CPU]) as profiler:
        mark_phase("end")
        step()
    step()  # without marks of layers
    (traced,) = traced_steps(events_of(profiler), "end", recorder.costs)
    found = {piece.layer for piece in traced.pieces if piece.name == "aten::convolution"}
    assert found == {"0", "1.1"}
    assert {piece.layer for piece in traced.pieces if piece.name == "aten::convolution_backward"} == found
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    for before, after in zip(traced.pieces, traced.pieces[1:]):
        assert before.end_ns == after.begin_ns
