import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.learning.losses import (
    CLASS_WEIGHT,
    class_loss,
    dice_loss,
    focal_loss,
    road_loss,
    training_loss,
    without_classes,
)


def problem():
    """Return logits (4, 3, 24, 20), float64, of road and two classes, and labels (4, 24, 20), uint8."""
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(4, 3, 24, 20, generator=generator, dtype=torch.float64)
    kinds = torch.tensor([BACKGROUND, BACKGROUND, ROAD, ROAD + 1, ROAD + 2, IGNORE], dtype=torch.uint8)
    return logits, kinds[torch.randint(0, len(kinds), (4, 24, 20), generator=generator)]


def loss_and_gradient(loss, logits, labels, joint):
    """Return the value of a loss, and its gradient with respect to the logits."""
    logits = logits.clone().requires_grad_()
    value = loss(logits, labels, joint)
    return value.item(), torch.autograd.grad(value, logits)[0]


def road_only(loss):
    return lambda logits, labels, joint: loss(logits[:, :1], without_classes(labels)[:, None], joint=joint)


LOSSES = {
    "focal": road_only(focal_loss),
    "dice": road_only(dice_loss),
    "classes": lambda logits, labels, joint: class_loss(logits[:, 1:], labels, joint),
    "all": training_loss,
}


def joint_of(count):
    """Return a function that adds up what as many threads pass to it."""
    barrier, sums = threading.Barrier(count, timeout=60), []

    def joint(own):
        assert own.dtype == torch.float64
        sums.append(own)
        barrier.wait()
        total = sum(sums)
        if barrier.wait() == 0:
            sums.clear()
        barrier.wait()
        return total

    return joint


def in_parts(loss, logits, labels, lengths):
    """Return what each part of a batch finds, as (loss, gradient), the parts being computed by threads."""
    parts, joint = list(zip(logits.split(lengths), labels.split(lengths))), joint_of(len(lengths))
    with ThreadPoolExecutor(len(lengths)) as pool:
        return list(pool.map(lambda part: loss_and_gradient(loss, *part, joint), parts))


@pytest.mark.parametrize(("lengths", "unlabeled"), [([2, 2], None), ([1, 2, 1], 0), ([1, 2, 1], 3)])
@pytest.mark.parametrize("name", LOSSES)
def test_parts_have_the_loss_and_the_gradients_of_the_undivided_batch(name, lengths, unlabeled):
    logits, labels = problem()
    if unlabeled is not None:
        labels[unlabeled] = IGNORE
    loss, gradient = loss_and_gradient(LOSSES[name], logits, labels, lambda sums: sums)
    assert loss > 0 and gradient.abs().max() > 0
    found = in_parts(LOSSES[name], logits, labels, lengths)
    assert {value for value, _ in found} == {found[0][0]}
    assert found[0][0] == pytest.approx(loss, abs=1e-12)
    torch.testing.assert_close(torch.cat([part for _, part in found]), gradient, rtol=0, atol=1e-12)


def test_the_training_loss_is_the_sum_of_its_parts():
    logits, labels = problem()
    roads = logits[:, :1], without_classes(labels)[:, None]
    expected = road_loss(*roads) + CLASS_WEIGHT * class_loss(logits[:, 1:], labels)
    assert torch.equal(training_loss(logits, labels), expected)
    assert torch.equal(training_loss(logits[:, :1], labels), road_loss(*roads))
