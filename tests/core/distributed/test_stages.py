import copy

import pytest
import torch

from training_core.distributed.stages import Stage, as_images, handed_over, min_first_parts, without_memory
from training_core.models.architectures import Architecture, build_network, freeze_stages, parts_of
from training_core.models.recompute import mix_in_recomputing


# EfficientNet-Lite0 has 16 blocks, the first of which belongs to the stem.
@pytest.mark.parametrize(("encoder", "blocks"), [("resnet18", 8), ("resnet50", 16), ("efficientnet_lite0", 15)])
def test_parts_are_all_of_the_model_under_its_names(encoder, blocks):
    with torch.device("meta"):
        model = build_network(Architecture(encoder=encoder))
    parts = parts_of(model)
    assert len(parts) == 1 + blocks + 5 + 1
    for cuts in ([0, 4, 9, len(parts)], [0, *range(1, len(parts) + 1)]):
        stages = [Stage(model, parts[first:end]) for first, end in zip(cuts, cuts[1:])]
        joint = [name for stage in stages for name in stage.state_dict()]
        assert joint == list(model.state_dict())


@pytest.mark.parametrize("is_recomputing", [False, True])
@pytest.mark.parametrize(("encoder", "cut"), [("resnet18", 6), ("efficientnet_lite0", 2), ("efficientnet_lite0", 13)])
def test_stages_compute_what_the_undivided_model_computes(encoder, cut, is_recomputing):
    """Logits, gradients and running statistics, to the last bit."""
    torch.manual_seed(0)
    model = build_network(Architecture(encoder=encoder)).train()
    cut_model = copy.deepcopy(model)
    if is_recomputing:
        mix_in_recomputing(cut_model)
    parts, images = parts_of(model), torch.randn(2, 3, 64, 96)
    first, last = Stage(cut_model, parts[:cut]), Stage(cut_model, parts[cut:])
    expected = model(images.contiguous(memory_format=torch.channels_last))
    found = as_images(last(*first(images))[0])
    assert torch.equal(found, expected)
    for logits in (expected, found):
        logits.square().sum().backward()
    for own, other in zip(model.parameters(), cut_model.parameters(), strict=True):
        assert torch.equal(own.grad, other.grad)
    assert all(torch.equal(own, other) for own, other in zip(model.buffers(), cut_model.buffers(), strict=True))


def test_what_is_handed_over_shrinks_and_grows_with_the_skip_connections():
    model = without_memory(build_network(Architecture(encoder="resnet18", classes=3)))
    between = handed_over(model, parts_of(model), (2, 3, 64, 96), torch.bfloat16)
    shapes = [[tuple(each.shape) for each in tensors] for tensors in between]
    stem, first, second, third = (2, 32, 48, 64), (2, 16, 24, 64), (2, 8, 12, 128), (2, 4, 6, 256)
    assert shapes[:4] == [[(2, 3, 64, 96)], [stem], [first, stem], [first, stem]]
    assert shapes[9:14] == [
        [(2, 2, 3, 512), stem, first, second, third],  # before the decoder
        [third, stem, first, second],
        [(2, 8, 12, 128), stem, first],
        [(2, 16, 24, 64), stem],
        [(2, 32, 48, 32)],
    ]
    assert shapes[14:] == [[(2, 64, 96, 16)], [(2, 64, 96, 3)]]
    assert {each.dtype for tensors in between[1:-1] for each in tensors} == {torch.bfloat16}
    assert between[-1][0].dtype == torch.float32 and all(each.is_meta for tensors in between for each in tensors)


def test_frozen_parts_are_in_the_first_stage_and_what_they_send_needs_no_gradient():
    model = build_network(Architecture(encoder="resnet18"))
    parts = parts_of(model)
    assert min_first_parts(model, parts) == 1
    freeze_stages(model, 3)  # the stem, two residual blocks, and two more
    assert min_first_parts(model, parts) == 6
    between = handed_over(without_memory(model), parts, (2, 3, 64, 64), torch.float32)
    assert [[each.requires_grad for each in tensors] for tensors in between[4:8]] == [
        [False, False, False],
        [False, False, False],
        [True, False, False, False],
        [True, False, False, False],
    ]
