import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torchvision.ops import sigmoid_focal_loss

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

LOSSES = [focal_loss, dice_loss, road_loss]


def problem(dtype, shape=(2, 1, 6, 6), seed=0, kinds=(0, 1, IGNORE)):
    generator = torch.Generator().manual_seed(seed)
    logits = (4 * torch.randn(shape, generator=generator)).to(dtype).requires_grad_()
    labels = torch.tensor(kinds, dtype=torch.uint8)[torch.randint(0, len(kinds), shape, generator=generator)]
    return logits, labels


def gradient_of(loss, logits):
    return torch.autograd.grad(loss, logits, retain_graph=True)[0]


@pytest.mark.parametrize("kinds", [(0, 1), (0, 1, IGNORE)])
@pytest.mark.parametrize("loss", [*LOSSES, lambda z, y: focal_loss(z, y, 0.3)])
def test_gradients_are_those_of_finite_differences(loss, kinds):
    logits, labels = problem(torch.float64, kinds=kinds)
    assert torch.autograd.gradcheck(lambda z: 3 * loss(z, labels), (logits,))


@pytest.mark.parametrize("alpha", [0.25, 0.5])
@pytest.mark.parametrize("kinds", [(0, 1), (0, 1, IGNORE)])
@pytest.mark.parametrize("shape", [(2, 1, 6, 6), (3, 1, 401, 333)])
def test_focal_loss_equals_the_reference_on_the_labeled_pixels(shape, kinds, alpha):
    logits, labels = problem(torch.float32, shape, kinds=kinds)
    known = labels != IGNORE
    reference = sigmoid_focal_loss(logits[known], (labels[known] == 1).float(), alpha, 2.0, "mean")
    loss = focal_loss(logits, labels, alpha)
    torch.testing.assert_close(loss, reference, rtol=0, atol=1e-6)
    count = known.sum()  # so that each pixel's own gradient is compared
    expected, found = (count * gradient_of(value, logits) for value in (reference, loss))
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 1, 6, 6), (3, 1, 401, 333)])
def test_dice_loss_equals_its_definition_on_the_labeled_pixels(shape):
    logits, labels = problem(torch.float32, shape)
    known = labels != IGNORE
    probability, truth = torch.sigmoid(logits[known].double()), labels[known].double()
    reference = 1 - (2 * (probability * truth).sum() + 1) / (probability.sum() + truth.sum() + 1)
    loss = dice_loss(logits, labels)
    assert loss.item() == pytest.approx(reference.item(), abs=1e-6)
    expected, found = (known.sum() * gradient_of(value, logits) for value in (reference, loss))
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("value", [-1e4, -100.0, 100.0, 1e4])
def test_extreme_logits_stay_finite(loss, value):
    logits = torch.full((1, 1, 4, 4), value, requires_grad=True)
    for label in (0, 1, IGNORE):
        result = loss(logits, torch.full((1, 1, 4, 4), label, dtype=torch.uint8))
        assert result.isfinite() and gradient_of(result, logits).isfinite().all()


def test_focal_loss_of_extreme_logits_by_hand():
    logits = torch.tensor([-100.0, 100.0, -100.0, 100.0, 100.0], requires_grad=True)
    labels = torch.tensor([0, 0, 1, 1, IGNORE], dtype=torch.uint8)
    # Certain and right costs nothing; certain and wrong costs the logit's size, times the weight of the class.
    loss = focal_loss(logits, labels, 0.3)
    assert loss.item() == pytest.approx((0.7 * 100 + 0.3 * 100) / 4)
    torch.testing.assert_close(gradient_of(loss, logits), torch.tensor([0, 0.7, -0.3, 0, 0]) / 4)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_layout_in_memory_does_not_matter(loss):
    logits, labels = problem(torch.float32, (2, 1, 6, 8))
    expected = loss(logits, labels)
    last = logits.detach().permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    spread = torch.zeros(2, 3, 12, 16)[:, 1:2, ::2, 1::2].copy_(logits.detach())
    turned = labels.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    for other in (last, logits.detach().to(memory_format=torch.channels_last), spread):
        other.requires_grad_()
        result = loss(other, turned)
        torch.testing.assert_close(result, expected)
        torch.testing.assert_close(gradient_of(result, other), gradient_of(loss(logits, labels), logits))


def test_labels_and_logits_stay_as_they_are_and_the_way_back_can_be_gone_twice():
    logits, labels = problem(torch.float32)
    before = logits.detach().clone(), labels.clone()
    loss = road_loss(logits, labels)
    first = gradient_of(loss, logits)
    torch.testing.assert_close(gradient_of(2 * loss, logits), 2 * first)
    assert torch.equal(logits, before[0]) and torch.equal(labels, before[1])


def kept_bytes(compute):
    """Return the size of what autograd keeps for the way back."""
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = compute()
    assert loss.requires_grad
    return sum(kept.values())


def test_no_more_is_kept_for_the_way_back_than_a_gradient():
    logits, labels = problem(torch.float32, (2, 1, 64, 64), kinds=(0, 1))
    targets = labels.float()
    reference = kept_bytes(lambda: sigmoid_focal_loss(logits, targets, 0.5, 2.0, "mean"))
    for loss in (focal_loss, dice_loss, road_loss):
        assert kept_bytes(lambda loss=loss: loss(logits, labels)) == logits.nbytes < reference / 2


def problem_with_classes():
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


JOINT_LOSSES = {
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
@pytest.mark.parametrize("name", JOINT_LOSSES)
def test_parts_have_the_loss_and_the_gradients_of_the_undivided_batch(name, lengths, unlabeled):
    logits, labels = problem_with_classes()
    if unlabeled is not None:
        labels[unlabeled] = IGNORE
    loss, gradient = loss_and_gradient(JOINT_LOSSES[name], logits, labels, lambda sums: sums)
    assert loss > 0 and gradient.abs().max() > 0
    found = in_parts(JOINT_LOSSES[name], logits, labels, lengths)
    assert {value for value, _ in found} == {found[0][0]}
    assert found[0][0] == pytest.approx(loss, abs=1e-12)
    torch.testing.assert_close(torch.cat([part for _, part in found]), gradient, rtol=0, atol=1e-12)


def test_the_training_loss_is_the_sum_of_its_parts():
    logits, labels = problem_with_classes()
    roads = logits[:, :1], without_classes(labels)[:, None]
    expected = road_loss(*roads) + CLASS_WEIGHT * class_loss(logits[:, 1:], labels)
    assert torch.equal(training_loss(logits, labels), expected)
    assert torch.equal(training_loss(logits[:, :1], labels), road_loss(*roads))
