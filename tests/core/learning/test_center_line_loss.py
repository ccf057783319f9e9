"""The recall of center-lines in the loss of the starter's training."""

import numpy as np
import pytest
import torch

from scripts.starter.center_line_loss import center_line_loss, loss_with_center_lines
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.learning.losses import training_loss

SIDE_PX, GAP_PX = 200, 20


def a_street(width_px):
    """A street from edge to edge, and logits that are sure of all but a gap."""
    labels = np.full((1, SIDE_PX, SIDE_PX), BACKGROUND, dtype=np.uint8)
    labels[:, 100 - width_px // 2 : 101 + width_px // 2] = ROAD
    logits = np.where(labels == ROAD, np.float32(40), np.float32(-40))
    logits[:, :, 90 : 90 + GAP_PX] = -40
    return torch.from_numpy(logits[:, None]), torch.from_numpy(labels)


@pytest.mark.parametrize("width_px", [3, 9, 21])
def test_a_gap_costs_its_share_of_the_length_however_wide_the_road_is(width_px):
    assert center_line_loss(*a_street(width_px)).item() == pytest.approx(GAP_PX / SIDE_PX, abs=0.012)


@pytest.mark.parametrize("code", [BACKGROUND, IGNORE])
def test_without_roads_it_asks_for_none(code):
    logits = torch.full((1, 1, 64, 64), 3.0, requires_grad=True)
    center_line_loss(logits, torch.full((1, 64, 64), code, dtype=torch.uint8)).backward()
    assert logits.grad.count_nonzero() == 0


def test_it_is_added_to_the_usual_loss_by_its_weight():
    logits, labels = a_street(9)
    usual, lines = training_loss(logits, labels).item(), center_line_loss(logits, labels).item()
    for weight in (0.0, 0.2):
        assert loss_with_center_lines(logits, labels, weight).item() == pytest.approx(usual + weight * lines)
