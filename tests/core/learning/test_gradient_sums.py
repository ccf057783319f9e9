import torch
from torch import nn

from training_core.learning.gradient_sums import summed_in_fp32


def test_many_gradients_of_bf16_weights_are_not_rounded_away():
    model = nn.Linear(1, 1).to(torch.bfloat16)
    model.bias.requires_grad_(False)
    ones = torch.ones(1, 1, dtype=torch.bfloat16)
    model(ones).backward()
    with summed_in_fp32(model):
        for _ in range(511):
            model(ones).backward()
    assert model.weight.grad.item() == 512  # BF16 ends at 256, to which it adds 1 in vain
    assert model.weight.grad.dtype == torch.bfloat16 and model.bias.grad is None
    model(ones).backward()
    assert model.weight.grad.item() == 512


def test_gradients_of_fp32_weights_are_left_alone():
    model = nn.Linear(1, 1)
    model(torch.ones(1, 1)).backward()
    gradient = model.weight.grad
    with summed_in_fp32(model):
        model(torch.ones(1, 1)).backward()
    assert model.weight.grad is gradient and gradient.item() == 2
