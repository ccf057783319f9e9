import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from training_core.profiling.compute_peaks import convolution_makers, matrix_makers
from training_core.system import processor

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
MAKERS = {"convolution": convolution_makers, "matrix": matrix_makers}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("threads", [1, 9])
def test_flop_are_those_that_pytorch_counts(kind, threads):
    for work in MAKERS[kind]()["fp32"](threads)[:2]:
        with FlopCounterMode(display=False) as counter, torch.inference_mode():
            work.run()
        assert work.amount == counter.get_total_flops() > 0


@pytest.mark.parametrize("kind", MAKERS)
def test_every_format_does_the_same_work(kind):
    amounts = {name: [work.amount for work in make(1)] for name, make in MAKERS[kind]().items()}
    assert all(each == amounts["fp32"] for each in amounts.values())


@pytest.mark.parametrize("kind", MAKERS)
def test_each_format_is_computed_in_itself(kind):
    made = MAKERS[kind]()
    for name in made.keys() & DTYPES.keys():
        assert made[name](1)[0].run().dtype == DTYPES[name]
    expected = {"convolution": torch.quint8, "matrix": torch.int32}[kind]
    assert made["int8"](1)[0].run().dtype == expected


def test_convolutions_are_in_channels_last():
    for make in convolution_makers().values():
        assert make(1)[0].run().is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(("has_unit", "expected"), [(True, ["fp32", "bf16", "int8"]), (False, ["fp32", "int8"])])
def test_bf16_is_only_measured_with_a_unit_for_it(kind, has_unit, expected, monkeypatch):
    monkeypatch.setattr(processor, "has_bf16_unit", lambda: has_unit)
    assert list(MAKERS[kind]()) == expected
