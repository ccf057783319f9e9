import torch
from torch import nn
from torch.nn import functional

from training_core.jobs.architectures import EFFICIENTNET
from training_core.models.architectures import Architecture, build_network


def test_gradients_of_strided_depthwise_convolutions_are_those_of_fp32_where_training_is_in_bf16():
    torch.manual_seed(0)
    network = build_network(Architecture(encoder=EFFICIENTNET)).train()
    layers = [each for each in network.modules() if isinstance(each, nn.Conv2d)]
    layer = next(each for each in layers if (each.groups, each.stride) == (each.in_channels, (2, 2)))
    features = torch.randn(2, layer.groups, 16, 16, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer(features).float().sum().backward()
    weight = layer.weight.detach().clone().requires_grad_()
    functional.conv2d(features.float(), weight, None, layer.stride, layer.padding, 1, layer.groups).sum().backward()
    assert torch.equal(layer.weight.grad, weight.grad)
    assert layer.state_dict().keys() == {"weight"}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(features).dtype == layer.eval()(features).dtype == torch.bfloat16
