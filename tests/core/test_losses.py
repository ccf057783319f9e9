import pytest
import torch
from torchvision.ops import sigmoid_focal_loss

from training_core.labels import IGNORE
from training_core.losses import dice_loss, focal_loss, road_loss


def problem(dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = (4 * torch.randn(2, 1, 6, 6, generator=generator)).to(dtype).requires_grad_()
    labels = torch.tensor([0, 1, IGNORE], dtype=torch.uint8)[torch.randint(0, 3, (2, 1, 6, 6), generator=generator)]
    return logits, labels


@pytest.mark.parametrize("loss", [lambda z, y: focal_loss(z, y, 0.3), dice_loss, road_loss])
def test_gradients_are_those_of_finite_differences(loss):
    logits, labels = problem(torch.float64)
    assert torch.autograd.gradcheck(lambda z: loss(z, labels), (logits,))


def test_focal_loss_equals_the_reference_on_the_labeled_pixels():
    logits, labels = problem(torch.float32)
    known = labels != IGNORE
    reference = sigmoid_focal_loss(logits[known], (labels[known] == 1).float(), 0.3, 2.0, "mean")
    torch.testing.assert_close(focal_loss(logits, labels, 0.3), reference, rtol=0, atol=1e-6)
    (expected,) = torch.autograd.grad(reference, logits)
    (found,) = torch.autograd.grad(focal_loss(logits, labels, 0.3), logits)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_dice_loss_by_hand():
    logits = torch.tensor([100.0, 100.0, -100.0, -100.0])
    labels = torch.tensor([1, 0, 1, IGNORE], dtype=torch.uint8)
    # one hit, two predicted, two true: 1 - (2 + 1) / (2 + 2 + 1)
    assert dice_loss(logits, labels).item() == pytest.approx(0.4)


@pytest.mark.parametrize("loss", [focal_loss, dice_loss, road_loss])
def test_ignored_pixels_have_neither_loss_nor_gradient(loss):
    logits, labels = problem(torch.float32)
    changed = torch.where(labels == IGNORE, logits + 5, logits)
    torch.testing.assert_close(loss(logits, labels), loss(changed, labels))
    (gradient,) = torch.autograd.grad(loss(logits, labels), logits)
    assert (gradient[labels == IGNORE] == 0).all() and (gradient[labels != IGNORE] != 0).all()


@pytest.mark.parametrize("loss", [focal_loss, dice_loss, road_loss])
@pytest.mark.parametrize("value", [-1e4, 1e4])
def test_extreme_logits_and_no_labels_stay_finite(loss, value):
    logits = torch.full((1, 1, 4, 4), value, requires_grad=True)
    for label in (0, 1, IGNORE):
        result = loss(logits, torch.full((1, 1, 4, 4), label, dtype=torch.uint8))
        (gradient,) = torch.autograd.grad(result, logits)
        assert result.isfinite() and gradient.isfinite().all()
