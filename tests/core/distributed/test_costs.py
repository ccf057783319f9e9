import torch

from training_core.distributed.pipeline_plan import measure_parts
from training_core.models.architectures import Architecture, build_network, freeze_stages, parts_of


def test_parts_are_measured_as_they_train():
    model = build_network(Architecture(encoder="resnet18"))
    freeze_stages(model, 2)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    costs = measure_parts(model, parts_of(model), torch.float32, (2, 3, 64, 64))
    assert sum(each.weight_bytes for each in costs) == sum(each.nbytes for each in model.state_dict().values())
    assert all(each.forward_s > 0 for each in costs)
    assert [each.backward_s > 0 for each in costs] == [False] * 3 + [True] * 12
    stem, first, second, third = (
        2 * 4 * side * side * bands for side, bands in ((32, 64), (16, 64), (8, 128), (4, 256))
    )
    assert [each.received_bytes for each in costs[:3]] == [2 * 4 * 64 * 64 * 3, stem, stem + first]
    assert costs[9].received_bytes == 2 * 4 * 2 * 2 * 512 + stem + first + second + third
    assert costs[1].kept_bytes == first  # frozen: nothing but what it hands on
    # The last decoder block keeps 16 channels at full size: of both convolutions, normalizations and activations.
    full = 2 * 4 * 64 * 64 * 16
    assert 4 * full <= costs[13].kept_bytes <= 6 * full
    assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())
