import pytest
import segmentation_models_pytorch
import torch

from training_core.models.architectures import Architecture, build_network


@pytest.mark.parametrize("encoder", ["resnet18", pytest.param("resnet50", marks=pytest.mark.slow)])
def test_the_model_is_that_of_the_library(encoder):
    torch.manual_seed(0)
    ours = build_network(Architecture(encoder=encoder, in_channels=4)).double()
    plain = segmentation_models_pytorch.Unet(encoder, encoder_weights=None, in_channels=4).double()
    plain.load_state_dict(ours.state_dict())
    images = torch.randn(2, 4, 64, 96, dtype=torch.float64)
    outcomes = []
    for unet in (ours, plain):
        logits = unet.train()(images)
        logits.square().mean().backward()
        outcomes.append((logits, {name: parameter.grad for name, parameter in unet.named_parameters()}))
    torch.testing.assert_close(outcomes[0][0], outcomes[1][0], rtol=0, atol=1e-10)
    assert outcomes[0][1].keys() == outcomes[1][1].keys()
    for name, gradient in outcomes[0][1].items():
        torch.testing.assert_close(gradient, outcomes[1][1][name], rtol=1e-6, atol=1e-9, msg=name)
