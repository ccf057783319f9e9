import torch
from torch import nn
from torch.nn import functional

from training_core.models.depthwise import speed_up_depthwise


def test_gradients_of_strided_depthwise_convolutions_are_those_of_fp32_where_training_is_in_bf16():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(8, 8, 5, 2, 2, groups=8, bias=False)).train()
    features = torch.randn(2, 8, 16, 16, dtype=torch.bfloat16)
    speed_up_depthwise(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(features).float().sum().backward()
    weight = model[0].weight.detach().clone().requires_grad_()
    functional.conv2d(features.float(), weight, stride=2, padding=2, groups=8).sum().backward()
    assert torch.equal(model[0].weight.grad, weight.grad)
    assert model.state_dict().keys() == {"0.weight"}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(features).dtype == model.eval()(features).dtype == torch.bfloat16
