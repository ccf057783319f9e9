import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from tests.core.support.joint_losses import loss_and_gradient, problem, rank_part
from tests.core.support.ranks import run_ranks
from training_core.geodata.pixel_codes import IGNORE, ROAD
from training_core.learning.class_loss import CLASS_WEIGHT, class_loss, without_classes
from training_core.learning.cldice_loss import REACH_PX, centerline_loss
from training_core.learning.losses import dice_loss, focal_loss, road_loss
from training_core.learning.training_loss import training_loss


def road_only(loss):
    return lambda logits, labels, joint: loss(logits[:, :1], without_classes(labels)[:, None], joint=joint)


LOSSES = {
    "focal": road_only(focal_loss),
    "dice": road_only(dice_loss),
    "cldice": road_only(centerline_loss),
    "classes": lambda logits, labels, joint: class_loss(logits[:, 1:], labels, joint),
    "all": lambda logits, labels, joint: training_loss(logits, labels, 0.3, joint),
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


@pytest.mark.parametrize("unlabeled", [None, 0, 3])
@pytest.mark.parametrize("lengths", [[2, 2], [1, 2, 1]])
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


def test_where_no_part_is_labeled_there_is_neither_loss_nor_gradient():
    logits, labels = problem()
    for loss, gradient in in_parts(LOSSES["all"], logits, torch.full_like(labels, IGNORE), [2, 2]):
        assert loss == 0 and not gradient.any()


def test_ranks_have_the_loss_and_the_gradients_of_the_undivided_batch():
    logits, labels = problem()
    loss, gradient = loss_and_gradient(LOSSES["all"], logits, labels, lambda sums: sums)
    found = run_ranks(rank_part, 2)
    assert [value for value, _ in found] == pytest.approx([loss, loss], abs=1e-12)
    torch.testing.assert_close(torch.cat([part for _, part in found]), gradient, rtol=0, atol=1e-12)


def test_the_training_loss_is_the_sum_of_its_parts():
    logits, labels = problem()
    roads = logits[:, :1], without_classes(labels)[:, None]
    expected = road_loss(*roads, 0.3) + CLASS_WEIGHT * class_loss(logits[:, 1:], labels)
    assert torch.equal(training_loss(logits, labels, 0.3), expected)
    assert torch.equal(training_loss(logits[:, :1], labels, 0.3), road_loss(*roads, 0.3))


def test_an_image_cut_through_has_the_loss_of_the_whole_if_its_parts_overlap():
    logits, labels = problem(height=64)
    logits[:, :1, 20:41] += 12  # just so wide that the last erosion counts
    labels[:, 20:41] = ROAD
    whole, gradient = loss_and_gradient(LOSSES["all"], logits, labels, lambda sums: sums)
    cut, everywhere, joint = 30, slice(None), joint_of(2)
    pieces = [(slice(0, cut + REACH_PX), slice(0, cut)), (slice(cut - REACH_PX, None), slice(REACH_PX, None))]

    def compute(piece):
        rows, counted = piece
        own = (counted, everywhere)
        loss = lambda logits, labels, joint: training_loss(logits, labels, 0.3, joint, own)  # noqa: E731
        return loss_and_gradient(loss, logits[:, :, rows], labels[:, rows], joint)

    total = torch.zeros_like(gradient)
    with ThreadPoolExecutor(2) as pool:
        for (rows, _), (loss, part) in zip(pieces, pool.map(compute, pieces)):
            assert loss == pytest.approx(whole, abs=1e-12)
            total[:, :, rows] += part
    torch.testing.assert_close(total, gradient, rtol=0, atol=1e-12)
