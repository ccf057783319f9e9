"""Costs of operations, by hand."""

import pytest
import torch
from torch.autograd.profiler import record_function
from torch.nn import functional

from training_core.profiling.operation_costs import CostRecorder, layout_of


def costs(work):
    with CostRecorder() as recorder:
        work()
    return recorder.costs


@pytest.mark.parametrize("context", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_a_convolution_costs_its_products_and_sums_and_its_tensors_with_gradients_or_without(context):
    images, filters = torch.ones(2, 3, 16, 16), torch.ones(4, 3, 3, 3)
    with context():
        (cost,) = costs(lambda: functional.conv2d(images, filters, padding=1))
    assert cost.flop == 2 * (2 * 4 * 16 * 16) * (3 * 3 * 3)
    assert cost.bytes == 4 * (2 * 3 * 256 + 4 * 27 + 2 * 4 * 256)
    assert cost.name == "aten::convolution"
    assert (cost.shape, cost.layout, cost.dtype) == ("2x3x16x16 4x3x3x3 2x4x16x16", "contiguous", "fp32")


def test_a_bias_is_read_but_not_named():
    images, filters, bias = torch.ones(2, 3, 16, 16), torch.ones(4, 3, 3, 3), torch.ones(4)
    (plain,) = costs(lambda: functional.conv2d(images, filters))
    (biased,) = costs(lambda: functional.conv2d(images, filters, bias))
    assert biased.shape == plain.shape
    assert biased.bytes == plain.bytes + 4 * 4


@pytest.mark.parametrize(("groups", "each_reads"), [(1, 4), (2, 2), (4, 1)])
def test_the_backward_pass_of_a_convolution_costs_both_gradients(groups, each_reads):
    images, filters = torch.ones(1, 4, 8, 8, requires_grad=True), torch.ones(8, each_reads, 3, 3, requires_grad=True)
    result = functional.conv2d(images, filters, padding=1, groups=groups)
    found = costs(lambda: result.backward(torch.ones_like(result)))
    (backward,) = [cost for cost in found if cost.name == "aten::convolution_backward"]
    assert backward.flop == 2 * (2 * 8 * 64 * each_reads * 9)


@pytest.mark.parametrize(
    ("work", "elements"),
    [
        (lambda a, b: a + b, 3 * 100),
        (lambda a, b: a.add_(b), 3 * 100),
        (lambda a, b: torch.add(a, b, out=b), 3 * 100),
        (lambda a, b: torch.neg(a, out=b), 2 * 100),
        (lambda a, b: a.view(4, 25), 0),
        (lambda a, b: a.zero_(), 2 * 100),
        (lambda a, b: torch.empty(100), 0),
        (lambda a, b: a[:1].expand(100) + b, 1 + 2 * 100),
    ],
)
def test_tensors_count_once_for_each_time_that_they_are_read_or_written(work, elements):
    one, other = torch.ones(100), torch.ones(100)
    assert sum(cost.bytes for cost in costs(lambda: work(one, other))) == 4 * elements


def test_layouts_are_told_apart_and_marks_for_a_profiler_cost_nothing():
    def work():
        with record_function("here"):
            return torch.ones(3) + 1

    assert [cost.name for cost in costs(work)] == ["aten::ones", "aten::add"]
    images = torch.zeros(2, 3, 4, 5)
    assert layout_of(images) == "contiguous"
    assert layout_of(images.contiguous(memory_format=torch.channels_last)) == "channels last"
    assert layout_of(images[:, :, ::2]) == "strided"
