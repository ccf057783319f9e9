import pytest
import torch
from torch.nn import functional

from training_core.geodata.pixel_codes import IGNORE
from training_core.learning.cldice_loss import ITERATIONS, centerline_loss, soft_skeleton


def band(first, last, size=48):
    """Return a road over the whole width of an image: (1, 1, size, size), uint8."""
    labels = torch.zeros(1, 1, size, size, dtype=torch.uint8)
    labels[..., first : last + 1, :] = 1
    return labels


def certain(labels):
    return torch.where(labels == 1, 100.0, -100.0)


def skeleton_of(labels, iterations=ITERATIONS):
    known = (labels != IGNORE).float()
    return soft_skeleton((labels == 1).float(), known, iterations)


@pytest.mark.parametrize(("width", "middle"), [(1, [20]), (5, [22]), (8, [23, 24]), (19, [29]), (20, [29, 30])])
def test_a_straight_road_is_thinned_to_its_middle(width, middle):
    expected = torch.zeros(1, 1, 48, 48)
    expected[..., middle, :] = 1
    assert torch.equal(skeleton_of(band(20, 19 + width)), expected)


def test_what_is_wider_than_the_iterations_reach_has_no_line():
    assert skeleton_of(band(10, 31)).sum() == 0
    assert skeleton_of(band(10, 31), 11).sum() == 2 * 48


def test_the_skeleton_is_that_of_the_paper():
    # The pseudocode of Shit et al., with pooling; soft values, the border included.
    def erode(image):
        return torch.min(
            -functional.max_pool2d(-image, (3, 1), 1, (1, 0)), -functional.max_pool2d(-image, (1, 3), 1, (0, 1))
        )

    def opened(image):
        return functional.max_pool2d(erode(image), 3, 1, 1)

    image = functional.avg_pool2d(torch.rand(2, 1, 40, 30, generator=torch.Generator().manual_seed(0)), 3, 1, 1)
    expected, eroded = functional.relu(image - opened(image)), image
    for _ in range(4):
        eroded = erode(eroded)
        difference = functional.relu(eroded - opened(eroded))
        expected = expected + functional.relu(difference - expected * difference)
    torch.testing.assert_close(soft_skeleton(image, torch.ones_like(image), 5), expected, rtol=0, atol=1e-6)


def test_a_perfect_mask_costs_nothing():
    labels = band(20, 26)
    labels[..., :, 5:9] = 1
    labels[..., 40:, :] = IGNORE
    assert centerline_loss(certain(labels), labels).item() == pytest.approx(0, abs=1e-6)


def test_no_overlap_at_all_costs_nearly_one():
    assert centerline_loss(certain(band(5, 9)), band(30, 34)).item() > 0.95


def test_a_gap_costs_more_than_the_same_number_of_pixels_at_the_roadside():
    labels = band(20, 26)
    broken, nibbled = certain(labels), certain(labels)
    broken[..., 20:27, 10:14] = -100
    nibbled[..., 20, 10:38] = -100
    assert (broken < 0).sum() == (nibbled < 0).sum()
    # Four of 48 pixels of the center-line are not found, and what is left is all on road.
    sensitivity = 45 / 49
    assert centerline_loss(broken, labels).item() == pytest.approx(1 - 2 * sensitivity / (1 + sensitivity), abs=1e-4)
    assert centerline_loss(broken, labels) > 2 * centerline_loss(nibbled, labels)


def test_ignored_ground_is_like_the_ground_beyond_the_border():
    generator = torch.Generator().manual_seed(0)
    labels = band(20, 26)
    logits = 4 * torch.randn(labels.shape, generator=generator)
    partly = labels.clone()
    partly[..., 30:] = IGNORE
    partly[..., :3, :] = IGNORE
    alone = centerline_loss(logits[..., 3:, :30], labels[..., 3:, :30])
    torch.testing.assert_close(centerline_loss(logits, partly), alone)
    assert torch.equal(skeleton_of(partly)[..., :30], skeleton_of(labels)[..., :30])
    assert skeleton_of(partly)[..., 30:].sum() == 0


def test_the_images_of_a_batch_count_by_their_length():
    labels, empty = band(20, 26), torch.zeros(1, 1, 48, 48, dtype=torch.uint8)
    broken = certain(labels)
    broken[..., 10:14] = -100
    both = centerline_loss(torch.cat([broken, certain(empty)]), torch.cat([labels, empty]))
    torch.testing.assert_close(both, centerline_loss(broken, labels))


@pytest.mark.parametrize("iterations", [1, 4])
def test_gradients_are_those_of_finite_differences(iterations):
    generator = torch.Generator().manual_seed(iterations)
    logits = torch.randn(2, 1, 9, 8, generator=generator, dtype=torch.float64).requires_grad_()
    labels = (logits.detach() + torch.randn(logits.shape, generator=generator) > 0).to(torch.uint8)
    labels[..., 6:] = IGNORE
    assert torch.autograd.gradcheck(lambda z: centerline_loss(z, labels, iterations), (logits,))


def test_descending_closes_a_gap():
    labels = band(20, 26)
    logits = torch.where(labels == 1, 2.0, -2.0)
    logits[..., 22:26] = -1
    logits.requires_grad_()
    (gradient,) = torch.autograd.grad(centerline_loss(logits, labels), logits)
    assert (gradient[..., 23, 22:26] < 0).all()
    assert gradient[..., 23, 22:26].mean() < gradient[..., 20, 22:26].mean()
