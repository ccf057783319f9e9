"""A batch of logits and labels, and the training loss of the part that a rank has of it."""

import torch

from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.learning.training_loss import training_loss


def problem(height=24):
    """Return logits (4, 3, height, 20), float64, of road and two classes, and labels (4, height, 20), uint8."""
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(4, 3, height, 20, generator=generator, dtype=torch.float64)
    kinds = torch.tensor([BACKGROUND, BACKGROUND, ROAD, ROAD + 1, ROAD + 2, IGNORE], dtype=torch.uint8)
    return logits, kinds[torch.randint(0, len(kinds), (4, height, 20), generator=generator)]


def loss_and_gradient(loss, logits, labels, joint):
    """Return the value of a loss, and its gradient with respect to the logits."""
    logits = logits.clone().requires_grad_()
    value = loss(logits, labels, joint)
    return value.item(), torch.autograd.grad(value, logits)[0]


def rank_part(group):
    """Return loss and gradient of the own part of the batch."""
    logits, labels = (each.tensor_split(group.size)[group.rank] for each in problem())
    return loss_and_gradient(lambda *part: training_loss(*part[:2], 0.3, part[2]), logits, labels, group.sum)
